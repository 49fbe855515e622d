// SPDX-License-Identifier: GPL-2.0-only
#include "filter/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/formulas.h"

const char *const limit_names[LIMITED + 1] = {
#define NAME(class, name, rate) [class] = name,
	LIMIT_CLASSES(NAME)
};

const double limit_rates[LIMITED] = {
#define RATE(class, name, rate) [class] = rate,
	LIMIT_CLASSES(RATE)
};

const char *const limit_thens[THENS + 1] = { [THEN_WATCH] = "watch", [THEN_POLICE] = "police", [THEN_BAN] = "ban" };

#define SECOND 1e9

/* 128 KiB: real packets take 35 ns for the detector; out of 256 KiB a line alone takes 20 more, out of 4 MiB 80. */
#define CELLS	   (2048 * 8)
#define CELLS_MOST (1 << 24)
/* With four places each. */
#define BUCKETS 1024

/* A full frame, without what no one counts. */
#define FRAME 1514.0

/* A suspect that sends nothing for so long has no place of its own any more. */
#define KEEP (10 * SECOND)

/* The largest packet that is counted at once. */
#define PACKET_MOST 65536.0
/* The pairs that a suspect remembers, and one. */
#define SCAN_LEAST 5

double limit_burst(const struct limit *limit)
{
	return limit->burst > 0 ? limit->burst : limit->rate;
}

double limit_burst_least(enum packet_class class, double rate, double tick)
{
	return ceil(2 * rate * tick / SECOND) + (class == CLASS_BYTES  ? PACKET_MOST
						 : class == CLASS_SCAN ? SCAN_LEAST
								       : 1);
}

/* Thousands by a letter; where the unit begins, or NULL. */
static const char *scaled(const char *text, double *number)
{
	static const char letters[] = "kMG";
	const char *letter;
	char *end;

	if (*text < '0' || *text > '9' || strspn(text, "0123456789.") != strcspn(text, "kMGpsbB/i"))
		return NULL;
	*number = strtod(text, &end);
	letter = *end ? strchr(letters, *end) : NULL;
	if (!letter)
		return end;
	*number *= pow(1000, (double)(letter - letters) + 1);
	return end + 1;
}

static bool is_one_of(const char *unit, const char *const *units)
{
	while (*units && strcmp(*units, unit) != 0)
		units++;
	return *units;
}

bool limit_number(const char *text, double *number)
{
	const char *unit = scaled(text, number);

	return unit && !*unit;
}

bool limit_rate(enum packet_class class, const char *text, double *rate)
{
	static const char *const packets[] = { "", "/s", "pps", NULL }, *const bits[] = { "bit", "bit/s", "bps", NULL },
				 *const bytes[] = { "/s", "B/s", NULL };
	const char *unit = scaled(text, rate);

	if (!unit)
		return false;
	if (class != CLASS_BYTES)
		return is_one_of(unit, packets) && *rate >= LIMIT_LEAST && *rate <= LIMIT_MOST;
	if (is_one_of(unit, bits))
		*rate /= 8;
	else if (!is_one_of(unit, bytes))
		return false;
	return *rate >= LIMIT_BYTES_LEAST && *rate <= LIMIT_BYTES_MOST;
}

const char *limit_text(char text[LIMIT_TEXT_MAX], enum packet_class class, double rate)
{
	static const char *const letters[] = { "", "k", "M", "G" };
	unsigned int power = 0;

	if (class == CLASS_BYTES)
		rate *= 8;
	while (rate >= 1000 && power < 3) {
		rate /= 1000;
		power++;
	}
	snprintf(text, LIMIT_TEXT_MAX, "%.4g%s%s", rate, letters[power], class == CLASS_BYTES ? "bit" : "/s");
	return text;
}

double limits_strictest(const struct limits *limits)
{
	double least = INFINITY;

	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (limits->of[class].rate > 0)
			least = fmin(least, limits->of[class].rate / (class == CLASS_BYTES ? FRAME : 1));
	return least;
}

double limits_pps(const struct detect *detect, const struct limits *limits)
{
	return CELL_LOAD_MOST * (double)detect->cells * limits_strictest(limits);
}

double limits_suspects(const struct detect *detect)
{
	return floor(suspects_fit(LIMIT_SUSPECTS_LOST, (double)detect->buckets));
}

__u64 limits_bytes(const struct detect *detect)
{
	return detect->cells * sizeof(__u64) + detect->buckets * sizeof(struct suspects);
}

/* Never fewer cells than are as fast: the fewer there are, the more honest sources share one with an attacker. */
static __u64 plan_cells(const struct limits *limits)
{
	double line = BLOCK_BYTES / sizeof(__u64), cells = cells_for(limits->pps, limits_strictest(limits));

	return (__u64)(ceil(fmin(fmax(cells, CELLS), CELLS_MOST) / line) * line);
}

static __u64 plan_buckets(const struct limits *limits)
{
	return limits->suspects > 0 ? (__u64)suspects_buckets(LIMIT_SUSPECTS_LOST, limits->suspects) : BUCKETS;
}

void limits_plan(struct detect *detect, const struct limits *limits, __u64 tick)
{
	double least = INFINITY, most = 0;

	*detect = (struct detect){
		.version = DETECT_VERSION, .cells = plan_cells(limits), .buckets = plan_buckets(limits), .tick = tick
	};
	for (enum packet_class class = 0; class < LIMITED; class ++) {
		const struct limit *limit = &limits->of[class];
		double unit = class == CLASS_BYTES ? 1 << DETECT_BYTE_SHIFT : 1, burst;

		if (limit->rate <= 0)
			continue;
		burst = fmax(limit_burst(limit), limit_burst_least(class, limit->rate, (double)tick));
		burst = ceil(burst * SECOND / limit->rate);
		least = fmin(least, burst);
		most = fmax(most, burst);
		/* A price that is rounded down finds nobody over the limit who is not. */
		detect->limit[class].price = (__u64)(unit * SECOND / limit->rate);
		detect->limit[class].burst = (__u64)burst + tick;
		for (enum then then = THEN_WATCH; then <= limit->then; then++)
			detect->then[then] |= 1u << class;
	}
	/* Of these the sketch knows nothing but that they are a part of others. */
	for (enum packet_class class = 0; class < LIMITED_ALONE; class ++)
		detect->moves[class] = detect->limit[class].price;
	detect->moves[CLASS_PACKETS] += detect->limit[CLASS_UNANSWERED].price;
	detect->moves[CLASS_SYN] += detect->limit[CLASS_SCAN].price;
	detect->moves[CLASS_UDP] += detect->limit[CLASS_SCAN].price;
	for (enum packet_class class = LIMITED_ALONE; class < LIMITED; class ++)
		detect->looks_up |= (__u64)(detect->limit[class].price > 0) << class;
	/* Rounded down: nobody has less than the limit. */
	detect->networks = limits->networks ? TRUST_ALL / limits->networks : 0;
	/* Without any limit no packet has a price, and no cell is ever hot. */
	if (most <= 0)
		least = most = SECOND;
	detect->cap = (__u64)least - tick;
	detect->most = detect->cap + (__u64)most + tick;
	detect->keep = (__u64)fmax(KEEP, 4 * most);
}
