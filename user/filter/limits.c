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

static const struct limits_on *on_of(const struct limits *limits, size_t slot)
{
	return slot ? &limits->on_interface[slot - 1] : NULL;
}

/* NULL: where no interface has its own. */
struct limit limit_on(const struct limits *limits, const struct limits_on *on, enum packet_class class)
{
	struct limit limit = limits->of[class];

	if (!on || on->of[class].rate <= 0)
		return limit;
	limit.rate = on->of[class].rate;
	limit.burst = on->of[class].burst;
	if (on->of[class].then < THENS)
		limit.then = on->of[class].then;
	return limit;
}

double limits_strictest(const struct limits *limits)
{
	double least = INFINITY;

	for (size_t slot = 0; slot <= limits->interfaces; slot++)
		for (enum packet_class class = 0; class < LIMITED; class ++) {
			double rate = limit_on(limits, on_of(limits, slot), class).rate;

			if (rate > 0)
				least = fmin(least, rate / (class == CLASS_BYTES ? FRAME : 1));
		}
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

static size_t place_of(const struct limits *limits, const char *name)
{
	size_t at = 0;

	while (at < limits->interfaces && strcmp(limits->on_interface[at].name, name) < 0)
		at++;
	return at;
}

struct limits_on *limits_of(const struct limits *limits, const char *name)
{
	size_t at = place_of(limits, name);

	return at < limits->interfaces && !strcmp(limits->on_interface[at].name, name)
		       ? (struct limits_on *)&limits->on_interface[at]
		       : NULL;
}

static bool is_empty(const struct limits_on *on)
{
	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (on->of[class].rate > 0)
			return false;
	return true;
}

bool limits_put_on(struct limits *limits, const char *name, enum packet_class class, struct limit limit)
{
	struct limits_on *on = limits_of(limits, name), *at = &limits->on_interface[place_of(limits, name)];

	if (!on && limit.rate <= 0)
		return true;
	if (!on) {
		if (limits->interfaces == LIMITS_ON_MOST)
			return false;
		on = at;
		memmove(at + 1, at, (size_t)(limits->on_interface + limits->interfaces - at) * sizeof(*at));
		limits->interfaces++;
		*on = (struct limits_on){ 0 };
		strncpy(on->name, name, sizeof(on->name) - 1);
	}
	on->of[class] = limit.rate > 0 ? limit : (struct limit){ 0 };
	if (!is_empty(on))
		return true;
	limits->interfaces--;
	memmove(on, on + 1, (size_t)(limits->on_interface + limits->interfaces - on) * sizeof(*on));
	limits->on_interface[limits->interfaces] = (struct limits_on){ 0 };
	return true;
}

unsigned int limits_do(const struct limits *limits, enum then then)
{
	unsigned int classes = 0;

	for (size_t slot = 0; slot <= limits->interfaces; slot++)
		for (enum packet_class class = 0; class < LIMITED; class ++) {
			struct limit limit = limit_on(limits, on_of(limits, slot), class);

			if (limit.rate > 0 && limit.then >= then)
				classes |= 1u << class;
		}
	return classes;
}

unsigned int limits_look_up(const struct limits *limits)
{
	return limits_do(limits, THEN_WATCH) >> LIMITED_ALONE << LIMITED_ALONE;
}

/* The burst in ns, without the tick that is in it for the clock; a price that is rounded down finds nobody over the
   limit who is not. */
static double price(struct slot_limit *at, const struct limit *limit, enum packet_class class, __u64 tick)
{
	double unit = class == CLASS_BYTES ? 1 << DETECT_BYTE_SHIFT : 1, burst;

	burst = fmax(limit_burst(limit), limit_burst_least(class, limit->rate, (double)tick));
	burst = fmin(ceil(burst * SECOND / limit->rate), LIMIT_BURST_SECONDS * SECOND);
	at->price = (__u64)(unit * SECOND / limit->rate);
	at->burst = (__u64)burst + tick;
	return burst;
}

static void set_then(__u64 then[THENS], const struct limit *limit, enum packet_class class)
{
	for (enum then is = THEN_WATCH; is <= limit->then; is++)
		then[is] |= 1u << class;
}

/* Of what a packet alone does not tell the sketch knows nothing but that it is a part of others. */
static void set_moves(__u64 moves[CLASSES], const __u64 price[CLASSES])
{
	for (enum packet_class class = 0; class < LIMITED_ALONE; class ++)
		moves[class] = price[class];
	moves[CLASS_PACKETS] += price[CLASS_UNANSWERED];
	moves[CLASS_SYN] += price[CLASS_SCAN];
	moves[CLASS_UDP] += price[CLASS_SCAN];
}

void limits_slots(struct slot slots[SLOTS], const struct limits *limits, __u64 tick)
{
	memset(slots, 0, SLOTS * sizeof(*slots));
	for (size_t slot = 0; slot < SLOTS; slot++) {
		const struct limits_on *on = slot <= limits->interfaces ? on_of(limits, slot) : NULL;
		__u64 prices[CLASSES] = { 0 };

		slots[slot].number = slot;
		if (on)
			memcpy(slots[slot].name, on->name, sizeof(on->name));
		for (enum packet_class class = 0; class < CLASSES; class ++) {
			struct limit limit = limit_on(limits, on, class);

			slots[slot].limit[class].burst = SLOT_UNLIMITED;
			if (limit.rate <= 0)
				continue;
			price(&slots[slot].limit[class], &limit, class, tick);
			prices[class] = slots[slot].limit[class].price;
			set_then(slots[slot].then, &limit, class);
		}
		set_moves(slots[slot].moves, prices);
	}
}

void limits_plan(struct detect *detect, const struct limits *limits, __u64 tick)
{
	double least = INFINITY, most = 0;
	__u64 prices[CLASSES] = { 0 };

	*detect = (struct detect){
		.version = DETECT_VERSION, .cells = plan_cells(limits), .buckets = plan_buckets(limits), .tick = tick
	};
	/* The sketch, and how long a place is kept, are the same for all interfaces. */
	for (size_t slot = 0; slot <= limits->interfaces; slot++)
		for (enum packet_class class = 0; class < LIMITED; class ++) {
			struct limit limit = limit_on(limits, on_of(limits, slot), class);
			struct slot_limit at;
			double burst;

			if (limit.rate <= 0)
				continue;
			burst = price(&at, &limit, class, tick);
			least = fmin(least, burst);
			most = fmax(most, burst);
			set_then(detect->then, &limit, class);
			if (slot)
				continue;
			detect->limit[class].price = at.price;
			detect->limit[class].burst = at.burst;
		}
	for (enum packet_class class = 0; class < LIMITED; class ++)
		prices[class] = detect->limit[class].price;
	set_moves(detect->moves, prices);
	/* On any interface. */
	detect->looks_up = detect->then[THEN_WATCH] >> LIMITED_ALONE << LIMITED_ALONE;
	/* Rounded down: nobody has less than the limit. */
	detect->networks = limits->networks ? TRUST_ALL / limits->networks : 0;
	/* Without any limit no packet has a price, and no cell is ever hot. */
	if (most <= 0)
		least = most = SECOND;
	detect->cap = (__u64)least - tick;
	detect->most = detect->cap + (__u64)most + tick;
	detect->keep = (__u64)fmax(KEEP, 4 * most);
}
