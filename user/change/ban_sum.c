// SPDX-License-Identifier: GPL-2.0-only
#include "change/ban_sum.h"

#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "change/guard_rails.h"

/* Narrower ones are not counted, nor paid for: it takes four million of them to ban as much as a list may. */
#define NARROW4 24
#define NARROW6 48

static unsigned int narrow(int family)
{
	return family == 4 ? NARROW4 : NARROW6;
}

static bool counts(const struct ban_order *order, int family)
{
	return order->prefix.first.family == family && order->prefix.length < narrow(family) && !order->del &&
	       !order->much;
}

/* Of the orders those that are at least so long. */
static int ask(const struct ranges *live, const struct ban_order *orders, size_t n, int family, unsigned int least)
{
	struct ranges more = RANGES_EMPTY, all = RANGES_EMPTY;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		if (counts(&orders[i], family) && orders[i].prefix.length >= least)
			err = ranges_add_prefix(&more, orders[i].prefix.first, orders[i].prefix.length);
	err = err ?: ranges_finish(&more) ?: ranges_union(&all, live, &more) ?: guard_live(&all);
	ranges_free(&more);
	ranges_free(&all);
	return err;
}

/* All of them, or else those from the least length on with which they fit. */
static int find_least(const struct ranges *live, const struct ban_order *orders, size_t n, int family,
		      unsigned int *least, char why[256])
{
	unsigned int high = narrow(family);
	int err = 0;

	*least = 0;
	for (unsigned int at = 0; *least < high && !err; at = (*least + high) / 2) {
		err = ask(live, orders, n, family, at);
		if (!err) {
			high = at;
		} else if (err_is(err, GUARD_REFUSED)) {
			if (!at)
				snprintf(why, 256, "%s", reason(err));
			*least = at + 1;
			err = 0;
		}
	}
	return err;
}

static int sum_of(struct state *state, struct ban_order *orders, size_t n, int family, char why[256])
{
	struct ranges live;
	unsigned int least;
	int err = state_bans_wider(state, time(NULL), family, narrow(family), &live);

	if (err)
		return err;
	err = find_least(&live, orders, n, family, &least, why);
	for (size_t i = 0; i < n && !err; i++) {
		const struct prefix *p = &orders[i].prefix;
		int covering;

		if (!counts(&orders[i], family) || p->length >= least)
			continue;
		/* What is banned already may be renewed. */
		covering = ranges_covering(&live, p->first);
		orders[i].much = covering < 0 || covering > (int)p->length;
	}
	ranges_free(&live);
	return err;
}

int ban_sum(struct state *state, struct ban_order *orders, size_t n, char why[256])
{
	bool any4 = false, any6 = false;
	int err;

	for (size_t i = 0; i < n; i++) {
		any4 = any4 || counts(&orders[i], 4);
		any6 = any6 || counts(&orders[i], 6);
	}
	err = any4 ? sum_of(state, orders, n, 4, why) : 0;
	return err ?: any6 ? sum_of(state, orders, n, 6, why) : 0;
}
