// SPDX-License-Identifier: GPL-2.0-only
/* plan --detect: what the detector can hold at a packet rate, and how often it looks closely at someone honest. */
#include <math.h>

#include "filter/formulas.h"
#include "filter/limits.h"
#include "kernel/detect.h"
#include "state/limits.h"
#include "state/state.h"
#include "verbs/verbs.h"

static const double crowds[] = { 1, 10, 100, 1000, 10000, 100000 };
#define CROWDS (sizeof(crowds) / sizeof(*crowds))

struct outlook {
	struct detect d;
	struct detect needed; /* the sizes for what is asked: room */
	struct limits room;
	double bytes;
	double pps, honest, fit; /* honest: sources at a time; fit: suspects */
	struct limits limits;
	struct crowd {
		double attackers, shared, lost;
	} crowd[CROWDS];
	size_t n;
};

static double load_of(const struct outlook *o, enum packet_class class)
{
	return o->pps / o->limits.of[class].rate / (double)o->d.cells;
}

static double hot_of(const struct outlook *o, enum packet_class class)
{
	const struct limit *limit = &o->limits.of[class];
	/* What a cell may be ahead, in packets of this class. */
	double burst = (double)o->d.cap / 1e9 * limit->rate;

	return cell_hot(load_of(o, class), burst);
}

/* Of packets; how large they will be is not known. */
static bool counts_packets(const struct outlook *o, enum packet_class class)
{
	return class != CLASS_BYTES && o->limits.of[class].rate > 0;
}

static void foresee(struct outlook *o, const struct detect_ask *ask)
{
	struct limits need;
	double cells, buckets;

	limits_plan(&o->d, &o->limits, detect_tick());
	cells = (double)o->d.cells;
	buckets = (double)o->d.buckets;
	o->pps = ask->pps;
	o->honest = ask->sources;
	o->bytes = (double)limits_bytes(&o->d);
	o->fit = limits_suspects(&o->d);
	o->n = ask->attackers > 0 ? 1 : CROWDS;
	for (size_t i = 0; i < o->n; i++) {
		struct crowd *crowd = &o->crowd[i];

		crowd->attackers = ask->attackers > 0 ? ask->attackers : crowds[i];
		crowd->shared = cell_shared(crowd->attackers, cells);
		crowd->lost = suspects_lost(crowd->attackers + o->honest * crowd->shared, buckets);
	}
	need = o->limits;
	need.pps = fmax(o->pps, need.pps);
	limits_plan(&o->needed, &need, detect_tick());
	if (ask->attackers > 0) {
		double shared = cell_shared(ask->attackers, (double)o->needed.cells);

		need.suspects = fmax(need.suspects, ceil(ask->attackers + o->honest * shared));
		need.suspects = fmin(need.suspects, LIMIT_SUSPECTS_MOST);
		limits_plan(&o->needed, &need, detect_tick());
	}
	o->room = need;
}

static int print_json(const struct context *context, const struct outlook *o)
{
	json_t *classes = json_object(), *crowd = json_array();

	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (counts_packets(o, class))
			json_object_set_new(classes, limit_names[class],
					    json_pack("{s:f, s:f, s:f, s:f}", "limit", o->limits.of[class].rate, "load",
						      load_of(o, class), "hot_by_chance", hot_of(o, class), "pps_most",
						      CELL_LOAD_MOST * o->limits.of[class].rate * (double)o->d.cells));
	for (size_t i = 0; i < o->n; i++)
		json_array_append_new(crowd,
				      json_pack("{s:f, s:f, s:f}", "attackers", o->crowd[i].attackers, "cell_shared",
						o->crowd[i].shared, "without_place", o->crowd[i].lost));
	return out_json(context,
			json_pack("{s:{s:f, s:f, s:I, s:I, s:f, s:f, s:o, s:o, s:{s:I, s:I, s:f, s:I}}}", "detect",
				  "pps", o->pps, "sources", o->honest, "cells", (json_int_t)o->d.cells, "places",
				  (json_int_t)(o->d.buckets * SUSPECTS_OF_BUCKET), "suspects", o->fit, "bytes",
				  o->bytes, "classes", classes, "crowds", crowd, "needed", "cells",
				  (json_int_t)o->needed.cells, "places",
				  (json_int_t)(o->needed.buckets * SUSPECTS_OF_BUCKET), "suspects",
				  limits_suspects(&o->needed), "bytes", (json_int_t)limits_bytes(&o->needed)));
}

/* What to type for that. */
static void print_needed(const struct outlook *o)
{
	bool cells = o->needed.cells > o->d.cells, places = o->needed.buckets > o->d.buckets;
	char bytes[BYTES_TEXT_MAX];

	if (!cells && !places)
		return;
	fputs("for that   xdp-bloom detect room", stdout);
	if (cells)
		printf(" --pps %.0f", o->room.pps);
	if (places)
		printf(" --suspects %.0f", o->room.suspects);
	printf("  (%s)\n", bytes_text(bytes, limits_bytes(&o->needed)));
}

static int print_text(const struct outlook *o)
{
	char bytes[BYTES_TEXT_MAX], text[LIMIT_TEXT_MAX];

	printf("sketch     %llu cells; with the suspects %s\n", (unsigned long long)o->d.cells,
	       bytes_text(bytes, (uint64_t)o->bytes));
	printf("suspects   %llu places; as good as all find one up to %.0f at a time\n",
	       (unsigned long long)o->d.buckets * SUSPECTS_OF_BUCKET, o->fit);
	print_needed(o);
	printf("\nWith %s packets, and nobody above a limit:\n%-12s %10s %14s %15s %18s\n",
	       limit_text(text, CLASS_PACKETS, o->pps), "ALL OF THEM", "LIMIT", "A CELL IS BUSY", "HOT BY CHANCE",
	       "GOOD UP TO");
	for (enum packet_class class = 0; class < LIMITED; class ++) {
		const struct limit *limit = &o->limits.of[class];
		char most[LIMIT_TEXT_MAX];

		if (!counts_packets(o, class))
			continue;
		limit_text(text, class, limit->rate);
		limit_text(most, class, CELL_LOAD_MOST * limit->rate * (double)o->d.cells);
		printf("%-12s %10s %12.3g %% %15.2g %18s\n", limit_names[class], text, 100 * load_of(o, class),
		       hot_of(o, class), most);
	}
	printf("\nWith attackers, beside %.0f honest sources:\n%-12s %25s %34s\n", o->honest, "ATTACKERS",
	       "HONEST, LOOKED AT CLOSELY", "SUSPECTS WITHOUT PLACE: NOT LIMITED");
	for (size_t i = 0; i < o->n; i++)
		printf("%-12.0f %23.3g %% %33.3g %%\n", o->crowd[i].attackers, 100 * o->crowd[i].shared,
		       100 * o->crowd[i].lost);
	puts("\nWho shares a cell with an attacker is looked at closely, and found honest: that\n"
	     "takes time and a place, and nothing else.");
	return out_end();
}

int plan_detect(const struct context *context, const struct detect_ask *ask)
{
	static const struct limit none = { 0 };
	struct outlook o = { 0 };
	struct state *state = NULL;

	o.limits = state_limits(state_open(&state, context, false) ? NULL : state);
	state_close(state);
	if (ask->limit) {
		struct limit limit = none;

		if (!limit_rate(CLASS_PACKETS, ask->limit, &limit.rate))
			return fail("plan: --limit takes a rate, 1/s to 100M/s, such as 200/s or 1kpps, not '%s'",
				    ask->limit);
		for (enum packet_class class = 0; class < CLASSES; class ++)
			o.limits.of[class] = class == CLASS_PACKETS ? limit : none;
	}
	foresee(&o, ask);
	return context->json ? print_json(context, &o) : print_text(&o);
}
