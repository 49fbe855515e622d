// SPDX-License-Identifier: GPL-2.0-only
/* show, stats */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach.h"
#include "cmd.h"
#include "filter.h"
#include "kernel.h"
#include "log.h"
#include "out.h"
#include "plan.h"
#include "state.h"

static json_t *interfaces_json(const struct attachment *list, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_pack("{s:o, s:s, s:b, s:b}", "name", out_text(list[i].name), "mode",
						       attach_mode_names[list[i].mode], "shared", list[i].shared,
						       "gone", list[i].gone));
	return array;
}

static json_t *stages_json(const struct generation *g)
{
	json_t *array = json_array();

	if (g->gate4)
		json_array_append_new(array, json_string("gate4"));
	if (g->gate6)
		json_array_append_new(array, json_string("gate6"));
	if (g->filter)
		json_array_append_new(array, json_string("filter"));
	if (g->roster4 || g->roster6)
		json_array_append_new(array, json_string("roster"));
	return array;
}

static json_t *rungs_json(const struct generation *g)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < g->rungs; i++)
		json_array_append_new(array, json_integer((json_int_t)g->rung[i].length));
	return array;
}

struct shown {
	struct generation g;
	__u64 bytes[ARRAYS], gate, roster, labels, total;
	double bits_per_key, fill, fpr, verdict;
};

static int measure(struct shown *s)
{
	__u64 keys, bits;
	int err = kernel_live(&s->g);

	if (err == -ENOENT)
		memset(s, 0, sizeof(*s));
	else if (!err)
		err = kernel_map_bytes(&s->g, s->bytes);
	if (err)
		return err == -ENOENT ? 0 : err;
	keys = s->g.keys4 + s->g.keys6;
	bits = s->g.filter_blocks * BLOCK_BYTES * 8;
	s->gate = s->bytes[ARRAY_GATE4] + s->bytes[ARRAY_GATE6];
	s->roster = s->bytes[ARRAY_ROSTER4] + s->bytes[ARRAY_ROSTER6];
	s->labels = s->bytes[ARRAY_GATE4_LABELS];
	s->total = s->gate + s->roster + s->labels + s->bytes[ARRAY_FILTER];
	if (keys) {
		s->bits_per_key = (double)bits / (double)keys;
		s->fill = 1 - pow(1 - 1.0 / 64, (double)keys / (double)s->g.filter_blocks);
		s->fpr = plan_lanes_fpr((double)keys, (double)s->g.filter_blocks);
	}
	s->verdict = s->g.roster4 || s->g.roster6 ? 0 : s->fpr;
	return 0;
}

static int show_json(const struct shown *s, const struct attachment *list, size_t n)
{
	return out_json(json_pack(
		"{s:I, s:o, s:o, s:{s:I, s:I}, s:I, s:o, s:{s:I, s:I, s:I, s:I, s:I}, s:{s:s, s:i, s:f, s:f}, s:{s:f, s:f}}",
		"generation", (json_int_t)s->g.number, "interfaces", interfaces_json(list, n), "stages",
		stages_json(&s->g), "keys", "ipv4", (json_int_t)s->g.keys4, "ipv6", (json_int_t)s->g.keys6, "banned24",
		(json_int_t)s->g.all24, "rungs", rungs_json(&s->g), "memory", "gate", (json_int_t)s->gate, "filter",
		(json_int_t)s->bytes[ARRAY_FILTER], "roster", (json_int_t)s->roster, "labels", (json_int_t)s->labels,
		"total", (json_int_t)s->total, "filter", "layout", "lanes", "k", FILTER_LANES, "bits_per_key",
		s->bits_per_key, "fill", s->fill, "fpr", "filter", s->fpr, "verdict", s->verdict));
}

static int show_text(const struct shown *s, const struct attachment *list, size_t n)
{
	const struct generation *g = &s->g;
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX], c[NUMBER_TEXT_MAX], d[NUMBER_TEXT_MAX], e[NUMBER_TEXT_MAX];

	if (!n)
		puts("interfaces  none");
	for (size_t i = 0; i < n; i++)
		printf("%-11s %s (%s%s)%s\n", i ? "" : "interfaces", list[i].name, attach_mode_names[list[i].mode],
		       list[i].shared ? ", shared" : "", list[i].gone ? " - the interface is gone" : "");
	if (!g->number) {
		puts("generation  none: nothing is loaded");
		return out_end();
	}
	printf("generation  %llu\n", (unsigned long long)g->number);
	printf("stages      parse%s%s%s%s\n", g->gate4 ? " -> gate4" : "", g->gate6 ? " -> gate6" : "",
	       g->filter ? " -> filter" : "", g->roster4 || g->roster6 ? " -> roster" : "");
	printf("keys        %llu IPv4 hosts, %llu IPv4 /24 whole, %llu IPv6", (unsigned long long)g->keys4,
	       (unsigned long long)g->all24, (unsigned long long)g->keys6);
	for (unsigned int i = 0; i < g->rungs; i++)
		printf("%s/%llu", i ? ", " : " on rungs ", (unsigned long long)g->rung[i].length);
	printf("\nmemory      %s: gate %s, filter %s, roster %s, labels %s\n", bytes_text(a, s->total),
	       bytes_text(b, s->gate), bytes_text(c, s->bytes[ARRAY_FILTER]), bytes_text(d, s->roster),
	       bytes_text(e, s->labels));
	if (g->filter)
		printf("filter      lanes, k = %d, %.1f bits a key, %.0f %% full, lets %.4f %% of others through to the %s\n",
		       FILTER_LANES, s->bits_per_key, s->fill * 100, s->fpr * 100,
		       s->verdict > 0 ? "verdict" : "roster");
	if (s->verdict > 0)
		printf("verdict     NOT EXACT: %.4f %% of innocent addresses are dropped\n", s->verdict * 100);
	else
		puts("verdict     exact");
	return out_end();
}

int cmd_show(int argc, char **argv)
{
	struct attachment *list = NULL;
	struct shown s = { 0 };
	size_t n = 0;
	int err, status;

	if (options_read(&argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("show: takes no '%s'", argv[1]);
	err = attach_list(&list, &n);
	if (!err)
		err = measure(&s);
	if (err)
		status = fail("%s", reason(err));
	else
		status = opt_json ? show_json(&s, list, n) : show_text(&s, list, n);
	free(list);
	return status;
}

static double interval;

static int stats_option(int option, const char *value)
{
	char *end;

	(void)option;
	interval = strtod(value, &end);
	if (*end || !(interval >= 0.1) || interval > 86400)
		return fail("stats: --interval takes seconds from 0.1, not '%s'", value);
	return 0;
}

struct sample {
	struct tally verdicts[VERDICTS], lists[LABELS];
	struct list_info *names;
	size_t n;
};

static int take_sample(struct sample *s)
{
	struct state *state = NULL;
	int err = kernel_counters(s->verdicts, s->lists);

	s->names = NULL;
	s->n = 0;
	if (!err)
		err = state_open(&state, false);
	if (!err)
		err = state_lists(state, &s->names, &s->n);
	state_close(state);
	return err;
}

static json_t *verdicts_json(const struct sample *s, bool bytes)
{
	const struct tally *v = s->verdicts;

	return json_pack("{s:I, s:I, s:I}", "passed", (json_int_t)(bytes ? v[PASSED].bytes : v[PASSED].packets),
			 "dropped", (json_int_t)(bytes ? v[DROPPED].bytes : v[DROPPED].packets), "unparsed",
			 (json_int_t)(bytes ? v[UNPARSED].bytes : v[UNPARSED].packets));
}

static json_t *tally_json(json_t *name, const char *kind, const struct tally *tally)
{
	return json_pack("{s:o, s:s, s:I, s:I}", "name", name, "kind", kind, "packets", (json_int_t)tally->packets,
			 "bytes", (json_int_t)tally->bytes);
}

static int stats_json(const struct sample *s)
{
	json_t *lists = json_array();

	for (size_t i = 0; i < s->n; i++)
		if (s->names[i].kind != LIST_ALLOW)
			json_array_append_new(lists, tally_json(json_string(s->names[i].name),
								list_kind_names[s->names[i].kind],
								&s->lists[s->names[i].label]));
	/* Without the roster, or without labels, nobody can say whose they were. */
	if (s->lists[LABEL_LIVE].packets)
		json_array_append_new(lists, tally_json(json_null(), "ban", &s->lists[LABEL_LIVE]));
	return out_json(json_pack("{s:o, s:o, s:o}", "packets", verdicts_json(s, false), "bytes",
				  verdicts_json(s, true), "lists", lists));
}

static int stats_text(const struct sample *s)
{
	static const char *const names[VERDICTS] = { "passed", "dropped", "unparsed" };
	char buf[NUMBER_TEXT_MAX];

	for (int v = 0; v < VERDICTS; v++)
		printf("%-20s %14llu packets %12s\n", names[v], (unsigned long long)s->verdicts[v].packets,
		       bytes_text(buf, s->verdicts[v].bytes));
	for (size_t i = 0; i < s->n; i++) {
		const struct tally *t = &s->lists[s->names[i].label];

		if (s->names[i].kind != LIST_ALLOW)
			printf("  %s %-20s %7llu packets %12s\n",
			       s->names[i].kind == LIST_SHADOW ? "would drop" : "dropped by", s->names[i].name,
			       (unsigned long long)t->packets, bytes_text(buf, t->bytes));
	}
	if (s->lists[LABEL_LIVE].packets)
		printf("  dropped, no list named %15llu packets %12s\n",
		       (unsigned long long)s->lists[LABEL_LIVE].packets, bytes_text(buf, s->lists[LABEL_LIVE].bytes));
	return out_end();
}

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

/* A line an interval, as vmstat does, until a signal. */
static int stats_rates(void)
{
	struct tally last[VERDICTS], now[VERDICTS], lists[LABELS];
	int err = kernel_counters(last, lists), lines = 0;

	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	while (!err && !stop) {
		double rate[VERDICTS];

		poll(NULL, 0, (int)(interval * 1000));
		err = kernel_counters(now, lists);
		for (int v = 0; v < VERDICTS; v++)
			rate[v] = (double)(now[v].packets - last[v].packets) / interval;
		if (opt_json) {
			if (out_json(json_pack("{s:{s:f, s:f, s:f}}", "rate", "passed", rate[PASSED], "dropped",
					       rate[DROPPED], "unparsed", rate[UNPARSED])))
				return EXIT_ERROR;
		} else {
			if (lines++ % 20 == 0)
				printf("%14s %14s %14s   packets a second\n", "passed", "dropped", "unparsed");
			printf("%14.0f %14.0f %14.0f\n", rate[PASSED], rate[DROPPED], rate[UNPARSED]);
			if (out_end())
				return EXIT_ERROR;
		}
		memcpy(last, now, sizeof(last));
	}
	return err ? fail("%s", reason(err)) : EXIT_DONE;
}

int cmd_stats(int argc, char **argv)
{
	static const struct option own[] = { { "interval", required_argument, NULL, 'i' }, { 0 } };
	struct sample s;
	int err, status;

	if (options_read(&argc, argv, own, stats_option))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("stats: takes no '%s'", argv[1]);
	if (interval > 0)
		return stats_rates();
	err = take_sample(&s);
	if (err)
		status = fail("%s", reason(err));
	else
		status = opt_json ? stats_json(&s) : stats_text(&s);
	free(s.names);
	return status;
}
