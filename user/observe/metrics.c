// SPDX-License-Identifier: GPL-2.0-only
#include "observe/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "observe/tallies.h"
#include "observe/in_force.h"
#include "base/context.h"
#include "base/log.h"

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP xdp_bloom_%s %s\n# TYPE xdp_bloom_%s %s\n", name, help, name, type);
}

/* A label's value: names come from outside. */
static void value(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text == '\n' ? ' ' : *text, out);
	}
}

static void port_lines(FILE *out, const struct tallies *c, bool bytes)
{
	const char *name = bytes ? "bytes_total" : "packets_total";

	head(out, name, "counter",
	     bytes ? "Bytes by interface, verdict and the stage that came to it."
		   : "Packets by interface, verdict and the stage that came to it.");
	/* Not what others counted before: it grows when one is detached, and would be a rate that never was. */
	for (size_t i = 0; i < c->ports_n; i++) {
		const struct tally *row = tallies_port(c, &c->counted, i);
		char buf[64];

		for (unsigned int why = 0; why < REASONS; why++) {
			if (why == REASON_DROPPED) /* no stage of that number drops */
				continue;
			fprintf(out, "xdp_bloom_%s{interface=\"", name);
			value(out, tallies_port_name(c, i, buf));
			fprintf(out, "\",verdict=\"%s\",stage=\"%s\"} %llu\n", verdict_names[reason_verdict(why)],
				tallies_stage(why), (unsigned long long)(bytes ? row[why].bytes : row[why].packets));
		}
	}
}

static void list_lines(FILE *out, const struct tallies *c, bool bytes)
{
	const char *name = bytes ? "list_bytes_total" : "list_packets_total";

	head(out, name, "counter",
	     bytes ? "Bytes dropped on account of a list; of a shadow list, bytes it would drop."
		   : "Packets dropped on account of a list; of a shadow list, packets it would drop.");
	fprintf(out, "xdp_bloom_%s{list=\"live\",kind=\"ban\"} %llu\n", name,
		(unsigned long long)(bytes ? c->counted.list[LABEL_LIVE].bytes : c->counted.list[LABEL_LIVE].packets));
	for (size_t i = 0; i < c->lists_n; i++) {
		const struct tally *t = &c->counted.list[c->lists[i].label];

		if (c->lists[i].kind == LIST_ALLOW)
			continue;
		fprintf(out, "xdp_bloom_%s{list=\"", name);
		value(out, c->lists[i].name);
		fprintf(out, "\",kind=\"%s\"} %llu\n", list_kind_names[c->lists[i].kind],
			(unsigned long long)(bytes ? t->bytes : t->packets));
	}
}

/* When each list was read: an alert on a feed that has not come for days. */
static void list_gauges(FILE *out, const struct tallies *c)
{
	head(out, "list_prefixes", "gauge", "Entries of a list, as prefixes.");
	for (size_t i = 0; i < c->lists_n; i++) {
		fprintf(out, "xdp_bloom_list_prefixes{list=\"");
		value(out, c->lists[i].name);
		fprintf(out, "\",kind=\"%s\"} %llu\n", list_kind_names[c->lists[i].kind],
			(unsigned long long)c->lists[i].prefixes);
	}
	head(out, "list_loaded_timestamp_seconds", "gauge", "When a list was last loaded.");
	for (size_t i = 0; i < c->lists_n; i++) {
		struct tm utc = { 0 };

		if (!strptime(c->lists[i].loaded, "%Y-%m-%dT%H:%M:%SZ", &utc))
			continue;
		fprintf(out, "xdp_bloom_list_loaded_timestamp_seconds{list=\"");
		value(out, c->lists[i].name);
		fprintf(out, "\",kind=\"%s\"} %lld\n", list_kind_names[c->lists[i].kind], (long long)timegm(&utc));
	}
}

static void gauge(FILE *out, const char *name, const char *help, double number)
{
	head(out, name, "gauge", help);
	fprintf(out, "xdp_bloom_%s %.10g\n", name, number);
}

static void force_lines(FILE *out, const struct inforce *f)
{
	const struct {
		const char *array;
		__u64 bytes;
	} arrays[] = { { "gate", f->bytes.gate },
		       { "filter", f->bytes.filter },
		       { "roster", f->bytes.roster },
		       { "labels", f->bytes.labels } };

	gauge(out, "generation", "The number of the generation in force; 0 where there is none.", (double)f->g.number);
	head(out, "keys", "gauge", "Keys that the filter holds.");
	fprintf(out, "xdp_bloom_keys{family=\"ipv4\"} %llu\nxdp_bloom_keys{family=\"ipv6\"} %llu\n",
		(unsigned long long)f->g.keys4, (unsigned long long)f->g.keys6);
	head(out, "memory_bytes", "gauge", "What the arrays hold in the kernel.");
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		fprintf(out, "xdp_bloom_memory_bytes{array=\"%s\"} %llu\n", arrays[i].array,
			(unsigned long long)arrays[i].bytes);
	gauge(out, "filter_fill_ratio", "The share of the filter's bits that are set.", f->rate.fill);
	gauge(out, "filter_false_positive_ratio",
	      "How many keys that it does not hold the filter says yes to, by its bits.", f->rate.fpr);
	gauge(out, "verdict_false_positive_ratio", "How many innocent addresses are dropped: 0 with the roster.",
	      f->verdict);
}

int metrics_write(const struct context *context, FILE *out)
{
	static struct tallies tallies;
	struct inforce inforce;
	int err = tallies_take(context, &tallies);

	if (err)
		return err;
	err = inforce_take(context, &inforce);
	if (!err) {
		head(out, "build_info", "gauge", "The version of xdp-bloom.");
		fprintf(out, "xdp_bloom_build_info{version=\"" VERSION "\"} 1\n");
		for (int bytes = 0; bytes < 2; bytes++)
			port_lines(out, &tallies, bytes);
		for (int bytes = 0; bytes < 2; bytes++)
			list_lines(out, &tallies, bytes);
		list_gauges(out, &tallies);
		force_lines(out, &inforce);
	}
	tallies_free(&tallies);
	return err;
}
