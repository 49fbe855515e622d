// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/route_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define LOG2_LEAST 8

enum entry_is { IS_NONE, IS_FREE, IS_HERE, IS_GONE };

/* In half of the room that the time takes: what has gone stays for no 49 days. */
static int64_t gone_for(const struct route *e, int64_t now)
{
	return (uint32_t)now - e->went;
}

int routes_begin(struct route_table *t, int64_t grace)
{
	*t = (struct route_table){ .log2 = LOG2_LEAST, .grace = grace };
	if (getrandom(&t->seed, sizeof(t->seed), 0) != sizeof(t->seed))
		return -errno;
	t->at = calloc((size_t)1 << t->log2, sizeof(*t->at));
	return t->at ? 0 : -ENOMEM;
}

void routes_end(struct route_table *t)
{
	free(t->at);
	t->at = NULL;
}

/* Who sends routes must not be able to aim at one place. */
static size_t place_of(const struct route_table *t, const struct route *r)
{
	uint64_t low = (uint64_t)r->first ^ (uint64_t)t->seed,
		 high = (uint64_t)(r->first >> 64) ^ (uint64_t)r->length << 48 ^ (uint64_t)(t->seed >> 64);
	ip6 mixed = (ip6)low * 0x9e3779b97f4a7c15 + (ip6)high * 0xc2b2ae3d27d4eb4f;
	uint64_t once = (uint64_t)mixed ^ (uint64_t)(mixed >> 64) ^ (uint64_t)t->seed;

	mixed = (ip6)once * 0xd6e8feb86659fd93;
	return (size_t)(((uint64_t)mixed ^ (uint64_t)(mixed >> 64)) >> (64 - t->log2));
}

static bool same_prefix(const struct route *a, const struct route *b)
{
	return a->first == b->first && a->length == b->length && a->family == b->family;
}

static bool same_place(const struct route *a, const struct route *b)
{
	return same_prefix(a, b) && a->metric == b->metric && a->tos == b->tos;
}

static bool same(const struct route *a, const struct route *b)
{
	return same_place(a, b) && a->type == b->type && a->protocol == b->protocol;
}

static struct route *next_of(const struct route_table *t, struct route *e)
{
	return ++e == t->at + ((size_t)1 << t->log2) ? t->at : e;
}

static struct route *find(const struct route_table *t, const struct route *r)
{
	struct route *e = t->at + place_of(t, r);

	while (e->is != IS_NONE && (e->is == IS_FREE || !same(e, r)))
		e = next_of(t, e);
	return e->is == IS_NONE ? NULL : e;
}

/* Half full at most. */
static int make_room(struct route_table *t)
{
	struct route *old = t->at;
	size_t n = (size_t)1 << t->log2, live = t->here + t->gone;

	if (2 * (t->used + 1) <= n)
		return 0;
	if (3 * (live + 1) > n)
		t->log2++;
	t->at = calloc((size_t)1 << t->log2, sizeof(*t->at));
	if (!t->at) {
		t->at = old;
		t->log2 -= 3 * (live + 1) > n;
		return -ENOMEM;
	}
	t->used = 0;
	for (size_t i = 0; i < n; i++) {
		struct route *e;

		if (old[i].is < IS_HERE)
			continue;
		e = t->at + place_of(t, &old[i]);
		while (e->is)
			e = next_of(t, e);
		*e = old[i];
		t->used++;
	}
	free(old);
	return 0;
}

/* A new entry; what it is, the caller says. */
static struct route *add(struct route_table *t, const struct route *r)
{
	struct route *e;

	if (make_room(t))
		return NULL;
	e = t->at + place_of(t, r);
	while (e->is > IS_FREE)
		e = next_of(t, e);
	t->used += e->is == IS_NONE;
	*e = *r;
	e->read = t->reading;
	return e;
}

static void note_high(struct route_table *t, size_t n)
{
	if (n > t->high)
		t->high = n;
	if (n > t->most[0])
		t->most[0] = n;
}

int routes_put(struct route_table *t, const struct route *r, int64_t now)
{
	struct route *e = find(t, r);

	if (e && e->is == IS_HERE) {
		if (t->reads && e->read != t->reading)
			e->has &= ~ROUTE_TWIN;
		else if (t->reads || r->has & ROUTE_TWIN)
			e->has |= ROUTE_TWIN;
		e->read = t->reading;
		return 0;
	}
	if (!e)
		e = add(t, r);
	if (!e)
		return -ENOMEM;
	if (e->is == IS_GONE) {
		t->gone--;
		t->back_at = now;
	} else {
		t->changed = true;
	}
	e->is = IS_HERE;
	e->has &= ~ROUTE_TWIN;
	e->read = t->reading;
	t->here++;
	note_high(t, t->here);
	t->came = now;
	return 0;
}

static void go(struct route_table *t, struct route *e, int64_t now)
{
	if (!t->gone)
		t->first_went = now;
	e->is = IS_GONE;
	e->went = (uint32_t)now;
	t->here--;
	t->gone++;
	/* Where others come in their place, it does not get lower. */
	if (t->gone == 1 || t->here < t->low) {
		t->low = t->here;
		t->low_at = now;
	}
}

bool routes_drop(struct route_table *t, const struct route *r, int64_t now)
{
	struct route *e = find(t, r);

	if (!e || e->is != IS_HERE)
		return true;
	go(t, e, now);
	return !(e->has & ROUTE_TWIN);
}

size_t routes_replaced(struct route_table *t, const struct route *r, int64_t now)
{
	struct route *e = t->at + place_of(t, r), *found = NULL;
	size_t n = 0;

	for (; e->is != IS_NONE; e = next_of(t, e)) {
		if (e->is != IS_HERE || !same_place(e, r))
			continue;
		n += e->has & ROUTE_TWIN ? 2 : 1;
		found = e;
	}
	if (n == 1)
		go(t, found, now);
	return n;
}

int routes_were(struct route_table *t, struct addr first, unsigned int length, int64_t now)
{
	struct route was = { .first = first.num, .family = (uint8_t)first.family, .length = (uint8_t)length };
	struct route *e = t->at + place_of(t, &was);

	while (e->is != IS_NONE && (e->is == IS_FREE || !same_prefix(e, &was)))
		e = next_of(t, e);
	if (e->is != IS_NONE)
		return 0;
	e = add(t, &was);
	if (!e)
		return -ENOMEM;
	t->here++;
	go(t, e, now);
	note_high(t, t->here + t->gone);
	t->changed = true;
	return 0;
}

void routes_read_begin(struct route_table *t)
{
	t->reading++;
	t->reads = true;
}

void routes_read_end(struct route_table *t, bool whole, int64_t now)
{
	size_t n = (size_t)1 << t->log2;

	t->reads = false;
	for (size_t i = 0; i < n && whole; i++)
		if (t->at[i].is == IS_HERE && t->at[i].read != t->reading)
			go(t, &t->at[i], now);
}

/* What has gone for so long at least is not in force any more. */
static void let_go(struct route_table *t, int64_t least, int64_t now)
{
	size_t n = (size_t)1 << t->log2;
	int64_t longest = 0;

	for (size_t i = 0; i < n && t->gone; i++) {
		struct route *e = &t->at[i];

		if (e->is != IS_GONE)
			continue;
		if (gone_for(e, now) < least) {
			if (gone_for(e, now) > longest)
				longest = gone_for(e, now);
			continue;
		}
		e->is = IS_FREE;
		t->gone--;
		t->changed = true;
	}
	t->first_went = now - longest;
	t->high = t->low = t->here;
}

size_t routes_most(const struct route_table *t)
{
	return t->most[0] > t->most[1] ? t->most[0] : t->most[1];
}

/* Others may have come in their place. */
static bool is_lost(const struct route_table *t)
{
	return t->gone >= ROUTES_LOST_LEAST && routes_most(t) - t->here > t->here;
}

/* So long it is waited whether more go, or come back. */
static int64_t quiet(const struct route_table *t)
{
	if (t->gone < ROUTES_PART_LEAST || t->gone * ROUTES_PART <= routes_most(t) || t->grace < ROUTES_QUIET_MS)
		return ROUTES_QUIET_MS;
	return t->grace < ROUTES_PART_QUIET_MS ? t->grace : ROUTES_PART_QUIET_MS;
}

/* Until when what has gone is kept, where so many go that it is waited where that ends; 0: they are few. */
static int64_t going_until(const struct route_table *t)
{
	int64_t wait = t->gone <= t->here && t->grace > ROUTES_WAIT_MS ? t->grace : ROUTES_WAIT_MS,
		last = t->low_at > t->back_at ? t->low_at : t->back_at;

	if (t->gone < ROUTES_LOST_LEAST || t->gone * ROUTES_MANY <= routes_most(t) || 2 * (t->high - t->here) < t->gone)
		return 0;
	return last + quiet(t) < t->first_went + wait ? last + quiet(t) : t->first_went + wait;
}

/* As of now. */
static void forget_most(struct route_table *t, size_t before, int64_t now)
{
	t->most[1] = before;
	t->most[0] = t->here;
	t->most_since = now;
}

enum routes_news routes_settle(struct route_table *t, int64_t now)
{
	if (!t->held && now - t->most_since >= (t->grace > ROUTES_MEMORY_MS ? t->grace : ROUTES_MEMORY_MS))
		forget_most(t, t->most[0], now);
	if (!t->gone) {
		bool back = t->held;

		t->held = 0;
		t->high = t->here;
		return back ? ROUTES_BACK : ROUTES_NO_NEWS;
	}
	if (t->held) {
		bool back = !is_lost(t) && now - t->came >= ROUTES_BACK_MS;

		if (!back && now - t->held < t->grace)
			return ROUTES_NO_NEWS;
		t->held = 0;
		let_go(t, back ? ROUTES_LINGER_MS : 0, now);
		if (!back)
			forget_most(t, t->here, now);
		return back ? ROUTES_BACK : ROUTES_OVER;
	}
	if (is_lost(t) && t->grace) {
		t->held = now;
		return ROUTES_HELD;
	}
	if (now >= going_until(t) && now - t->first_went >= ROUTES_LINGER_MS)
		let_go(t, ROUTES_LINGER_MS, now);
	return ROUTES_NO_NEWS;
}

int64_t routes_due(const struct route_table *t)
{
	int64_t due;

	if (!t->gone)
		return INT64_MAX;
	if (t->held) {
		due = t->held + t->grace;
		if (!is_lost(t) && t->came + ROUTES_BACK_MS < due)
			due = t->came + ROUTES_BACK_MS;
		return due;
	}
	due = t->first_went + ROUTES_LINGER_MS;
	return going_until(t) > due ? going_until(t) : due;
}

int routes_to_be(struct route_table *t, struct ranges *set, routes_leave_out_fn *leave_out, void *arg)
{
	size_t n = (size_t)1 << t->log2;
	int err = 0;

	t->changed = false;
	for (size_t i = 0; i < n && !err; i++) {
		const struct route *e = &t->at[i];
		struct addr first = { e->first, e->family };

		if (e->is < IS_HERE || leave_out(arg, first, e->length))
			continue;
		err = first.family == 4 && e->length == 32 ? ranges_add_host(set, (uint32_t)first.num)
							   : ranges_add_prefix(set, first, e->length);
	}
	if (err)
		t->changed = true;
	return err;
}
