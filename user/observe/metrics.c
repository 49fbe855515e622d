// SPDX-License-Identifier: GPL-2.0-only
#include "observe/metrics.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "filter/limits.h"
#include "observe/agent_seen.h"
#include "observe/detector.h"
#include "observe/fleet_view.h"
#include "observe/fresh.h"
#include "observe/tallies.h"
#include "observe/in_force.h"
#include "state/bans.h"
#include "state/failed.h"
#include "state/unshown.h"

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP xdp_bloom_%s %s\n# TYPE xdp_bloom_%s %s\n", name, help, name, type);
}

/* Names come from outside: escaped as the text format asks for. */
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
	/* Without "others before": it grows when an interface is detached, which would show as a rate. */
	for (size_t i = 0; i < c->ports_n; i++) {
		const struct tally *row = tallies_port(c, &c->counted, i);
		char buf[64];

		for (unsigned int why = 0; why < tallies_reasons(&c->counted); why++) {
			fprintf(out, "xdp_bloom_%s{interface=\"", name);
			value(out, tallies_port_name(c, i, buf));
			fprintf(out, "\"%s,verdict=\"%s\",stage=\"%s\"} %llu\n",
				MATCH_LEAVES(c->ports[i].match) ? ",direction=\"egress\"" : "",
				verdict_names[reason_verdict(why)], tallies_stage(why),
				(unsigned long long)(bytes ? row[why].bytes : row[why].packets));
		}
	}
}

static void list_line(FILE *out, const char *name, const struct list_info *list, uint64_t number)
{
	fprintf(out, "xdp_bloom_%s{list=\"", name);
	value(out, list->name);
	fprintf(out, "\",kind=\"%s\"} %llu\n", list_kind_names[list->kind], (unsigned long long)number);
}

static void list_lines(FILE *out, const struct tallies *c, bool bytes)
{
	static const struct list_info live = { .name = LIVE_LIST, .kind = LIST_BAN };
	const char *name = bytes ? "list_bytes_total" : "list_packets_total";
	const struct tally *t = &c->counted.list[LABEL_LIVE];

	head(out, name, "counter",
	     bytes ? "Bytes dropped on account of a list; of a shadow list, bytes it would drop."
		   : "Packets dropped on account of a list; of a shadow list, packets it would drop.");
	list_line(out, name, &live, bytes ? t->bytes : t->packets);
	for (size_t i = 0; i < c->lists_n; i++) {
		t = &c->counted.list[c->lists[i].label];
		if (list_counts(&c->lists[i]))
			list_line(out, name, &c->lists[i], bytes ? t->bytes : t->packets);
	}
}

/* Of lists with a scope alone. */
static void unread_lines(FILE *out, const struct tallies *c)
{
	bool any = false;

	for (size_t i = 0; i < c->lists_n; i++) {
		if (!c->lists[i].scope[0])
			continue;
		if (!any)
			head(out, "list_unread_packets_total", "counter",
			     "Packets that a list's scope let pass because their port could not be read.");
		any = true;
		list_line(out, "list_unread_packets_total", &c->lists[i], c->counted.unread[c->lists[i].label].packets);
	}
}

static uint64_t loaded_at(const struct list_info *list)
{
	struct tm utc = { 0 };

	return strptime(list->loaded, "%Y-%m-%dT%H:%M:%SZ", &utc) ? (uint64_t)timegm(&utc) : 0;
}

static void list_gauges(FILE *out, const struct tallies *c, const struct list_failure *failed, size_t failed_n)
{
	head(out, "list_prefixes", "gauge", "Entries of a list, as prefixes.");
	for (size_t i = 0; i < c->lists_n; i++)
		list_line(out, "list_prefixes", &c->lists[i], c->lists[i].prefixes);
	/* For an alert on a feed that has not come for days. */
	head(out, "list_loaded_timestamp_seconds", "gauge", "When a list was last loaded.");
	for (size_t i = 0; i < c->lists_n; i++)
		if (loaded_at(&c->lists[i]))
			list_line(out, "list_loaded_timestamp_seconds", &c->lists[i], loaded_at(&c->lists[i]));
	head(out, "list_last_success_seconds", "gauge", "When a version of a list was last taken.");
	for (size_t i = 0; i < c->lists_n; i++)
		if (loaded_at(&c->lists[i]))
			list_line(out, "list_last_success_seconds", &c->lists[i], loaded_at(&c->lists[i]));
	head(out, "list_refused", "gauge", "Whether the next version of a list was refused, or cannot be read.");
	for (size_t i = 0; i < c->lists_n; i++)
		list_line(out, "list_refused", &c->lists[i],
			  list_failure_of(failed, failed_n, c->lists[i].name) != NULL);
}

static void fresh_line(FILE *out, const char *name, const struct fresh *f, int64_t number)
{
	fprintf(out, "xdp_bloom_%s{list=\"", name);
	value(out, f->list);
	fprintf(out, "\"} %lld\n", (long long)number);
}

/* For an alert on a server that has gone. None of it where no list comes from one. */
static void fresh_gauges(FILE *out, const struct fresh *all, size_t n)
{
	static const struct {
		const char *name, *help;
		size_t at;
		bool sometimes; /* 0: there is none */
	} gauges[] = {
		{ "feed_good_timestamp_seconds", "When the server of a list last had it, changed or as it was.",
		  offsetof(struct fresh, good), true },
		{ "feed_asked_timestamp_seconds", "When the server of a list was last asked.",
		  offsetof(struct fresh, tried), true },
		{ "feed_interval_seconds", "How often a list is to be fetched.", offsetof(struct fresh, every), false },
		{ "feed_failures", "How many requests for a list have failed, since the last that did not.",
		  offsetof(struct fresh, failures), false },
	};

	for (size_t g = 0; g < sizeof(gauges) / sizeof(*gauges) && n; g++) {
		head(out, gauges[g].name, "gauge", gauges[g].help);
		for (size_t i = 0; i < n; i++) {
			int64_t number;

			memcpy(&number, (const char *)&all[i] + gauges[g].at, sizeof(number));
			if (number || !gauges[g].sometimes)
				fresh_line(out, gauges[g].name, &all[i], number);
		}
	}
	if (n)
		head(out, "feed_old", "gauge", "Whether nobody has renewed a list for longer than its --max-age.");
	for (size_t i = 0; i < n; i++)
		fresh_line(out, "feed_old", &all[i], fresh_is_old(&all[i]));
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

/* None of it where there is no detector. */
static void detector_lines(FILE *out, const struct detector_sums *d)
{
	static const char *const found[DETECTEDS] = { [DETECTED_SUSPECT] = "suspect",
						      [DETECTED_OVER] = "above",
						      [DETECTED_UNTRACKED] = "untracked",
						      [DETECTED_DROPPED] = "dropped",
						      [DETECTED_BANNED] = "banned" };

	if (!d->in_force)
		return;
	gauge(out, "detector_places", "Suspects that the detector has room for.", (double)d->room);
	gauge(out, "detector_suspects", "Places of suspects that are taken.", (double)d->tracked);
	gauge(out, "detector_above", "Sources that were above a limit.", (double)d->above);
	head(out, "detector_above_class", "gauge",
	     "Sources that were above the limit of a class, of each that has one.");
	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (d->limited >> class & 1)
			fprintf(out, "xdp_bloom_detector_above_class{class=\"%s\"} %zu\n", limit_names[class],
				d->above_of[class]);
	gauge(out, "detector_banned_sources",
	      "Sources that the detector bans by itself: no ban of the state has taken them over yet.",
	      (double)d->banned);
	head(out, "detector_packets_total", "counter",
	     "Packets of suspects within the limits, those above one that passed, those dropped, those of who is banned, and of whom found no place.");
	for (size_t i = 0; i < DETECTEDS; i++)
		if (found[i])
			fprintf(out, "xdp_bloom_detector_packets_total{found=\"%s\"} %llu\n", found[i],
				(unsigned long long)d->packets[i]);
}

/* A name of ours has nothing in it that would have to be quoted. */
#define MEMBERS_SHOWN 256

static void fleet_lines(FILE *out, const struct fleet_view *f, const struct member *members, size_t n)
{
	const struct fleet_seen *seen = &f->seen;

	if (!f->joined)
		return;
	gauge(out, "fleet_up", "Whether the server of the fleet is reached.", f->known && seen->up);
	gauge(out, "fleet_waiting", "Bans of this machine that its fleet is still to be told of.", (double)f->waiting);
	if (seen->clock_known)
		gauge(out, "fleet_clock_seconds", "The server's clock less this machine's.",
		      (double)seen->offset / 1e3);
	head(out, "fleet_heard_seconds", "gauge", "When a member was heard last, since the epoch.");
	for (size_t i = 0; i < seen->n && i < MEMBERS_SHOWN; i++)
		fprintf(out, "xdp_bloom_fleet_heard_seconds{member=\"%s\"} %lld\n", seen->members[i].name,
			(long long)seen->members[i].heard / 1000);
	head(out, "fleet_latency_seconds", "gauge",
	     "From the server's date of a member's ban to its being in force here.");
	for (size_t i = 0; i < seen->n && i < MEMBERS_SHOWN; i++)
		if (seen->members[i].p50 >= 0)
			fprintf(out,
				"xdp_bloom_fleet_latency_seconds{member=\"%s\",quantile=\"0.5\"} %.3f\n"
				"xdp_bloom_fleet_latency_seconds{member=\"%s\",quantile=\"0.99\"} %.3f\n",
				seen->members[i].name, seen->members[i].p50 / 1e3, seen->members[i].name,
				seen->members[i].p99 / 1e3);
	head(out, "fleet_bans_total", "counter", "Bans that a member asked for, by what became of them.");
	for (size_t i = 0; i < n && i < MEMBERS_SHOWN; i++)
		if (strcmp(members[i].name, MEMBER_ANY) != 0)
			fprintf(out,
				"xdp_bloom_fleet_bans_total{member=\"%s\",became=\"taken\"} %lld\n"
				"xdp_bloom_fleet_bans_total{member=\"%s\",became=\"refused\"} %lld\n",
				members[i].name, (long long)members[i].taken, members[i].name,
				(long long)members[i].refused);
}

static void agent_lines(FILE *out, const struct context *context)
{
	struct agent_seen seen;

	agent_seen_take(&seen, context);
	if (seen.followed)
		gauge(out, "crowdsec_silent_timestamp_seconds",
		      "Since when the CrowdSec agent does not answer, since the epoch; 0: it does.",
		      (double)seen.since);
}

int metrics_write(const struct context *context, FILE *out)
{
	static struct tallies tallies;
	struct inforce inforce;
	struct detector_sums detector;
	struct list_failure *failed;
	struct state *state = NULL;
	struct fresh *fresh = NULL;
	struct fleet_view fleet = { 0 };
	struct member *members = NULL;
	size_t failed_n, fresh_n = 0, members_n = 0;
	int err = tallies_take(context, &tallies);

	if (err)
		return err;
	list_failures(context, &failed, &failed_n);
	err = inforce_take(context, &inforce) ?:
	      detector_sum(context, 0, &detector) ?:
	      state_open(&state, context, false) ?:
	      fresh_take(state, time(NULL), &fresh, &fresh_n) ?:
	      fleet_view_take(&fleet, context, state) ?:
	      (fleet.joined ? state_members(state, &members, &members_n) : 0);
	state_close(state);
	if (!err) {
		head(out, "build_info", "gauge", "The version of xdp-bloom.");
		fprintf(out, "xdp_bloom_build_info{version=\"" VERSION "\"} 1\n");
		for (int bytes = 0; bytes < 2; bytes++)
			port_lines(out, &tallies, bytes);
		for (int bytes = 0; bytes < 2; bytes++)
			list_lines(out, &tallies, bytes);
		unread_lines(out, &tallies);
		list_gauges(out, &tallies, failed, failed_n);
		fresh_gauges(out, fresh, fresh_n);
		force_lines(out, &inforce);
		detector_lines(out, &detector);
		fleet_lines(out, &fleet, members, members_n);
		agent_lines(out, context);
		gauge(out, "unshown_timestamp_seconds",
		      "When something that is wrong could not be kept for who asks, as with a full disk, since the epoch; 0: it could.",
		      (double)unshown_at(context->state, time(NULL)));
	}
	fleet_view_free(&fleet);
	free(members);
	free(fresh);
	free(failed);
	tallies_free(&tallies);
	return err;
}
