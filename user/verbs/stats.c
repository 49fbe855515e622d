// SPDX-License-Identifier: GPL-2.0-only
/* stats: packets and bytes by verdict, stage, interface and list; metrics: the same for a textfile collector */
#include <math.h>
#include <poll.h>

#include "change/change.h"
#include "observe/metrics.h"
#include "observe/tallies.h"
#include "base/stop.h"
#include "state/bans.h"
#include "verbs/verbs.h"

struct options {
	struct number interval, count;
};

const struct option_spec stats_options[] = {
	{ "interval", .type = OPTION_TIME, AT(options, interval), .least = 0.1, .most = 86400, .value = "TIME",
	  .does = "a line of rates each time" },
	{ "count", .type = OPTION_WHOLE, AT(options, count), .least = 1, .value = "N", .does = "so many lines",
	  .wants = "a number of lines" },
	OPTIONS_END(struct options),
};

/* A count, or with `per` seconds a rate. */
static json_t *number(uint64_t value, double per)
{
	return per > 0 ? json_real((double)value / per) : json_integer((json_int_t)value);
}

/* Three verdicts: packets or bytes, a second where there is an interval. */
static json_t *three(const struct tally v[VERDICTS], bool bytes, double per)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < VERDICTS; i++)
		json_object_set_new(object, verdict_names[i], number(bytes ? v[i].bytes : v[i].packets, per));
	return object;
}

static json_t *tally_json(json_t *name, const char *kind, const struct tally *tally, double per)
{
	return json_pack("{s:o, s:s, s:o, s:o}", "name", name, "kind", kind, "packets", number(tally->packets, per),
			 "bytes", number(tally->bytes, per));
}

static json_t *lists_json(const struct tallies *c, const struct counted *n, double per)
{
	json_t *lists = json_array();

	for (size_t i = 0; i < c->lists_n; i++)
		if (list_counts(&c->lists[i]))
			json_array_append_new(lists, tally_json(json_string(c->lists[i].name),
								list_kind_names[c->lists[i].kind],
								&n->list[c->lists[i].label], per));
	if (n->list[LABEL_LIVE].packets)
		json_array_append_new(lists, tally_json(c->live_label_is_exact ? json_string(LIVE_LIST) : json_null(),
							"ban", &n->list[LABEL_LIVE], per));
	return lists;
}

static void all_rows(struct tally rows[REASONS], const struct counted *n)
{
	for (unsigned int why = 0; why < REASONS; why++) {
		rows[why] = (struct tally){ 0 };
		for (unsigned int port = 0; port <= PORTS; port++) {
			tally_add(&rows[why], &n->port[port][why]);
			tally_add(&rows[why], &n->out[port][why]);
		}
	}
}

static json_t *stages_json(const struct counted *n, double per)
{
	json_t *stages = json_array();
	struct tally rows[REASONS];

	all_rows(rows, n);
	for (unsigned int why = 0; why < tallies_reasons(n); why++)
		json_array_append_new(stages,
				      json_pack("{s:s, s:s, s:o, s:o}", "verdict", verdict_names[reason_verdict(why)],
						"stage", tallies_stage(why), "packets", number(rows[why].packets, per),
						"bytes", number(rows[why].bytes, per)));
	return stages;
}

static void port_verdicts(struct tally v[VERDICTS], const struct tally row[REASONS])
{
	for (enum verdict i = 0; i < VERDICTS; i++)
		v[i] = tallies_row(row, i);
}

static json_t *ports_json(const struct tallies *c, const struct counted *n, double per)
{
	json_t *ports = json_array();

	for (size_t i = 0; i <= c->ports_n; i++) {
		struct tally v[VERDICTS];
		char name[64];

		port_verdicts(v, tallies_port(c, n, i));
		json_array_append_new(
			ports,
			json_pack("{s:o, s:s?, s:o, s:o}", "name",
				  i < c->ports_n ? out_text(tallies_port_name(c, i, name)) : json_null(), "direction",
				  i < c->ports_n ? direction_names[MATCH_LEAVES(c->ports[i].match)] : NULL, "packets",
				  three(v, false, per), "bytes", three(v, true, per)));
	}
	return ports;
}

static json_t *stats_json(const struct tallies *c, const struct counted *n, double per)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "packets", three(n->verdict, false, per), "bytes",
			 three(n->verdict, true, per), "lists", lists_json(c, n, per), "interfaces",
			 ports_json(c, n, per), "stages", stages_json(n, per));
}

static void line_text(const char *what, const char *name, const struct tally *t)
{
	char buf[BYTES_TEXT_MAX];

	printf("%-10s %-20s %16llu packets %12s\n", what, name, (unsigned long long)t->packets,
	       bytes_text(buf, t->bytes));
}

static void stages_text(const struct counted *n, enum verdict verdict)
{
	struct tally rows[REASONS];

	all_rows(rows, n);
	for (unsigned int why = 0; why < REASONS; why++)
		if (reason_verdict(why) == verdict && rows[why].packets)
			line_text("", tallies_stage(why), &rows[why]);
}

static int stats_text(const struct tallies *c)
{
	const struct counted *n = &c->counted;

	for (enum verdict v = 0; v < VERDICTS; v++) {
		line_text(verdict_names[v], "", &n->verdict[v]);
		if (v != UNPARSED)
			stages_text(n, v);
	}
	for (size_t i = 0; i <= c->ports_n && c->ports_n; i++) {
		struct tally v[VERDICTS];
		char buf[64];
		const char *name = i < c->ports_n ? tallies_port_label(c, i, buf) : "others before";

		port_verdicts(v, tallies_port(c, n, i));
		if (i < c->ports_n || v[PASSED].packets || v[DROPPED].packets) {
			line_text("passed on", name, &v[PASSED]);
			line_text("dropped on", name, &v[DROPPED]);
		}
	}
	for (size_t i = 0; i < c->lists_n; i++)
		if (list_counts(&c->lists[i]))
			line_text(c->lists[i].kind == LIST_SHADOW ? "would drop" : "dropped by", c->lists[i].name,
				  &n->list[c->lists[i].label]);
	if (n->list[LABEL_LIVE].packets)
		line_text(c->live_label_is_exact ? "dropped by" : "dropped,",
			  c->live_label_is_exact ? LIVE_LIST : "no list named", &n->list[LABEL_LIVE]);
	return out_end();
}

static int rates_text(const struct counted *n, double per, long line)
{
	double dropped = (double)n->verdict[DROPPED].packets, all = dropped + (double)n->verdict[PASSED].packets;

	if (line % 20 == 0)
		printf("%12s %12s %12s %12s %8s   a second\n", "passed", "dropped", "unparsed", "dropped Mb/s",
		       "share");
	printf("%12.0f %12.0f %12.0f %12.1f %7.1f%%\n", (double)n->verdict[PASSED].packets / per, dropped / per,
	       (double)n->verdict[UNPARSED].packets / per, (double)n->verdict[DROPPED].bytes * 8 / 1e6 / per,
	       all > 0 ? 100 * dropped / all : 0);
	return out_end();
}

/* A line an interval, as vmstat does, until --count or a signal, behind which the last look begins: it has all before.
 */
static int stats_rates(const struct call *call, struct tallies *before)
{
	const struct options *o = call->options;
	static struct counted between;
	int status = EXIT_DONE;
	bool last = false;

	stop_on(SIGINT);
	stop_on(SIGTERM);
	for (long line = 0; !last && !status && (!o->count.given || line < (long)o->count.value); line++) {
		static struct tallies now;
		double seconds;
		int err;

		if (!stop_asked)
			poll(NULL, 0, (int)lround(o->interval.value * 1000));
		last = stop_asked;
		err = tallies_take(call->context, &now);
		if (err)
			return fail("%s", reason(err));
		seconds = tallies_seconds(before, &now);
		tallies_since(&between, &before->counted, &now.counted);
		if (call->context->json)
			status = out_json(call->context, json_pack("{s:f, s:o}", "seconds", seconds, "rate",
								   stats_json(&now, &between, seconds)));
		else
			status = rates_text(&between, seconds, line);
		tallies_free(before);
		*before = now;
	}
	return status;
}

int verb_stats(const struct call *call)
{
	const struct options *o = call->options;
	static struct tallies tallies;
	int err, status;

	if (o->count.given && !o->interval.given)
		return fail("stats: --count goes with --interval");
	change_check(call->context, false);
	err = tallies_take(call->context, &tallies);
	if (err)
		return fail("%s", reason(err));
	if (o->interval.given)
		status = stats_rates(call, &tallies);
	else
		status = call->context->json ? out_json(call->context, stats_json(&tallies, &tallies.counted, 0))
					     : stats_text(&tallies);
	tallies_free(&tallies);
	return status;
}

int verb_metrics(const struct call *call)
{
	int err = metrics_write(call->context, stdout);

	return err ? fail("%s", reason(err)) : out_end();
}
