// SPDX-License-Identifier: GPL-2.0-only
#include "change/guard_needs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/close_fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "bpf/decide.h"
#include "change/exceptions.h"
#include "change/guard_culprit.h"
#include "change/guard_rails.h"
#include "change/guard_until.h"
#include "change/own_addresses.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "state/events.h"
#include "state/grants.h"
#include "state/state.h"
#include "state/until.h"

int guard_force(struct ranges *forced, const struct ranges *set)
{
	struct ranges both;
	int err = ranges_finish(forced) ?: ranges_union(&both, forced, set);

	if (err)
		return err;
	ranges_free(forced);
	*forced = both;
	return 0;
}

int guard_force_prefix(struct ranges *forced, struct addr first, unsigned int length)
{
	return ranges_add_prefix(forced, first, length);
}

void guard_free(struct guard *guard)
{
	ranges_free(&guard->forced);
	ranges_free(&guard->lasts);
}

struct asked {
	struct guard *guard;
	struct state *state;
	const struct live *live;
	guard_covering_fn *covering;
	const void *arg;
	const char *who;
};

static bool is_dropped(const void *arg, struct addr addr)
{
	const struct asked *a = arg;

	return a->covering(a->arg, addr) >= 0;
}

static bool lasts(const struct guard *guard, struct addr addr)
{
	return guard->all_lasts || ranges_covering(&guard->lasts, addr) >= 0;
}

static bool is_forced(const struct guard *guard, struct addr addr)
{
	return guard->everything || ranges_covering(&guard->forced, addr) >= 0 || lasts(guard, addr);
}

static void name(const struct asked *a, const struct own_address *own, char entry[PREFIX_TEXT_MAX],
		 char host[PREFIX_TEXT_MAX])
{
	int length = a->covering(a->arg, own->addr);
	struct addr first = own->addr;

	prefix_text(host, own->addr, -1);
	first.num &= ~addr_mask(first.family, (unsigned int)length);
	prefix_text(entry, first, length);
}

#define THAT_MAX 384

static int tell(const struct asked *a, const char *that)
{
	struct event fault = { EVENT_FAULT, .generation = a->live->g.number };

	if (a->guard->told)
		return 0;
	warn("%s", that);
	event(a->live->context, fault, "%s", that);
	return 0;
}

/* A guest is not worth a hole that stays. */
static int spare(const struct asked *a, const struct own_address *own, const char *that)
{
	struct event guard = { EVENT_GUARD, .generation = a->live->g.number };
	char host[PREFIX_TEXT_MAX];

	if (a->guard->fixed || a->guard->tells || own->guest)
		return tell(a, that);
	a->guard->spared = true;
	warn("%s: it is allowed now; 'disallow %s --force' ends that", that, prefix_text(host, own->addr, -1));
	event(a->live->context, guard, "%s: it is allowed now", that);
	return exceptions_add(a->state, own->addr);
}

static bool is_in(const void *set, struct addr addr)
{
	return ranges_covering(set, addr) >= 0;
}

/* Else anybody who can make himself look needed keeps a list from what it bans beside him. */
static bool may_leave(const struct asked *a, const struct own_address *own)
{
	const struct guard_leaves *l = a->guard->leaves;

	return l && own->guest && !a->guard->fixed && is_in(l->version, own->addr);
}

static int leave(struct guard_leaves *l, const struct own_address *own)
{
	if (l->left)
		return 0;
	if (!GROW(l->own, l->n))
		return -ENOMEM;
	l->own[l->n++] = *own;
	return 0;
}

static int leave_out(struct guard *guard)
{
	struct guard_leaves *l = guard->leaves;

	if (!l || !l->n || l->left)
		return 0;
	l->left = guard->spared = true;
	return l->leave(l->arg);
}

/*
 * It is news that this is dropped; begins: here, while no more is banned. Better a list that nobody renews than an
 * interface that is not filtered.
 */
static int judge(const struct asked *a, const struct own_address *own, bool begins)
{
	char entry[PREFIX_TEXT_MAX], host[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX], culprit[CULPRIT_TEXT_MAX];
	char that[THAT_MAX];

	if (may_leave(a, own))
		return leave(a->guard->leaves, own);
	name(a, own, entry, host);
	snprintf(that, sizeof(that), "%s bans %s, %s", a->who ?: entry, host, own_text(what, own));
	if (begins && own->fetched)
		return tell(a, that);
	if (a->guard->spare)
		return spare(a, own, that);
	if (a->guard->fixed)
		return guard_because("%s; --force bans it", that);
	culprit_text(culprit, a->guard, a->state, own->addr);
	return guard_because("%s%s%s; 'xdp-bloom allow %s' first lets it through and the rest into force; --force bans"
			     " it",
			     that, culprit[0] ? "; " : "", culprit, host);
}

/* Beside what waits, what outlasts that does not, nor what was forced for good: it may have been banned before. */
static int grant(const struct asked *a, const struct own_address *own, int64_t longer)
{
	bool waits = longer <= a->guard->waits && !lasts(a->guard, own->addr);

	return state_grant(a->state, own->addr, waits ? a->guard->waits : 0);
}

/* What was granted on trial is until that goes back: what begins to filter, and drops it, must be over by then. */
static bool is_granted(const struct asked *a, const struct own_address *own)
{
	int64_t until = state_granted(a->state, own->addr);

	return until && (!a->guard->afresh || (a->guard->until ?: GRANTED_ENDLESS) <= until ||
			 !guard_after(a->state, own, until));
}

static int ask(const struct asked *a, const struct own_address *own, int64_t longer)
{
	if (is_forced(a->guard, own->addr))
		return grant(a, own, longer);
	/* No more of it is dropped than was, at any time; and that was granted, or is in force already. */
	if (!longer && (is_granted(a, own) || (!a->guard->afresh && live_drops(a->live, own->source))))
		return 0;
	return judge(a, own, !longer);
}

/* The first that it bans is the one that is named. */
static int ask_each(const struct asked *a, const struct own_address *own, size_t n)
{
	int64_t *longer = calloc(n + 1, sizeof(*longer));
	int err = longer ? guard_longer(a->state, a->live->context, own, n, longer) : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		err = ask(a, &own[i], longer[i]);
	free(longer);
	return err;
}

/* Better a filter that may drop too much than none. */
static int unasked(const struct guard *guard, int err, size_t *n)
{
	if (!err || !guard->spare || err_is(err, ENOMEM))
		return err;
	warn("%s", reason(err));
	*n = 0;
	return 0;
}

/* Who is let through only until what waits goes back. */
static int judge_later(const struct asked *a, const struct own_address *own)
{
	char that[THAT_MAX], host[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX];

	if (may_leave(a, own))
		return leave(a->guard->leaves, own);
	snprintf(that, sizeof(that), "%s, %s, would be banned when what waits for confirmation goes back",
		 prefix_text(host, own->addr, -1), own_text(what, own));
	return a->guard->spare ? spare(a, own, that)
			       : guard_because("%s: 'xdp-bloom confirm' prevents that; --force bans it", that);
}

struct later {
	struct own_address *own;
	size_t n;
	int64_t *longer;
	bool *ever; /* is it dropped by something that was not in force here so far? */
};

/* Where it begins to filter, all counts. Else an edit in place has no part in what comes back. */
static int find_later(const struct asked *a, bool whole, struct later *l)
{
	struct ranges set = RANGES_EMPTY;
	int err = state_later(a->state, whole || a->guard->afresh, &set);

	if (!err && (set.n4 || set.n6))
		err = own_addresses(a->state, a->guard->destinations, is_in, &set, &l->own, &l->n);
	ranges_free(&set);
	if (err || !l->n)
		return err;
	l->longer = calloc(l->n, sizeof(*l->longer));
	l->ever = calloc(l->n, sizeof(*l->ever));
	if (!l->longer || !l->ever)
		return -ENOMEM;
	err = guard_longer(a->state, a->live->context, l->own, l->n, l->longer);
	return err || !a->guard->afresh ? err : guard_ever(a->state, l->own, l->n, l->ever);
}

/* What is dropped now has been asked about. */
static bool is_news(const struct asked *a, const struct later *l, size_t i)
{
	const struct own_address *own = &l->own[i];

	return l->longer[i] || (l->ever[i] && !own->fetched && !is_dropped(a, own->addr) && !is_granted(a, own));
}

/* What waits goes back: an exception, or what is not banned now. */
static int ask_later(const struct asked *a, bool whole)
{
	const struct guard *guard = a->guard;
	struct later l = { 0 };
	/* What goes back tells of itself then. */
	bool asks = guard->spare ? guard->afresh && !guard->tells : !guard->again;
	int err = asks ? unasked(guard, find_later(a, whole, &l), &l.n) : 0;

	for (size_t i = 0; i < l.n && !err; i++) {
		if (!is_news(a, &l, i))
			continue;
		if (is_forced(guard, l.own[i].addr))
			err = grant(a, &l.own[i], l.longer[i]);
		else
			err = judge_later(a, &l.own[i]);
	}
	free(l.own);
	free(l.longer);
	free(l.ever);
	return err;
}

static bool is_not_dropped(const void *arg, struct addr addr)
{
	return !is_dropped(arg, addr);
}

/* Of these, those whose ban something else has, or which comes back when what waits goes back, do not end. */
static int end_grants(struct state *state, own_wanted_fn *these, const void *arg)
{
	struct own_address *over = NULL;
	struct addr *grants = NULL;
	bool *ever = NULL;
	size_t n = 0, over_n = 0;
	int err = state_grants(state, &grants, &n);

	if (!err && n) {
		over = calloc(n, sizeof(*over));
		ever = calloc(n, sizeof(*ever));
		err = over && ever ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n && !err; i++)
		if (these(arg, grants[i]))
			over[over_n++].addr = grants[i];
	err = err ?: guard_ever(state, over, over_n, ever);
	for (size_t i = 0; i < over_n && !err; i++)
		if (!ever[i])
			err = state_grant_drop(state, over[i].addr);
	free(grants);
	free(over);
	free(ever);
	return err;
}

int guard_needs(struct guard *guard, struct state *state, const struct live *live, guard_covering_fn *covering,
		const void *arg, const char *who, bool whole)
{
	struct asked a = { guard, state, live, covering, arg, who };
	struct own_address *own = NULL;
	size_t n = 0;
	int err = ranges_finish(&guard->forced) ?: ranges_finish(&guard->lasts);

	guard->told = guard->spared; /* what is no reason for an exception comes once more with those that are */
	guard->spared = false;
	if (!err && !guard->again)
		err = own_addresses(state, guard->destinations, is_dropped, &a, &own, &n);
	err = unasked(guard, err, &n) ?: ask_each(&a, own, n) ?: ask_later(&a, whole) ?: leave_out(guard);
	free(own);
	/* Of a batch's lines that wait, not all bring what is granted. */
	err = err ?: guard->waits ? state_grants_undo(state, NULL) : 0;
	return err || !whole ? err : end_grants(state, is_not_dropped, &a);
}

static int covering_set(const void *set, struct addr addr)
{
	return ranges_covering(set, addr);
}

int guard_set(struct guard *guard, struct state *state, const struct live *live, const struct ranges *set, bool whole)
{
	return guard_needs(guard, state, live, covering_set, set, NULL, whole);
}

static int covering_asked(const void *asked, struct addr addr)
{
	return ask_drops(*(const int *)asked, addr) ? (int)addr_width(addr.family) : -1;
}

int guard_in_force(struct guard *guard, struct state *state, const struct live *live)
{
	int asked = live_ask(live);
	int err = guard_needs(guard, state, live, covering_asked, &asked, "what is loaded", false);

	close_fd(asked);
	return err;
}

int guard_gone(struct state *state, const struct ranges *gone)
{
	return gone->n4 || gone->n6 ? end_grants(state, is_in, gone) : 0;
}

int guard_all(const struct guard *guard, struct state *state, struct own_address **needs, size_t *n)
{
	int err = own_addresses(state, guard->destinations, NULL, NULL, needs, n);

	/* Going back, and a filter after a reboot, do not fail for that. */
	if (!err || (!guard->again && !guard->spare))
		return err;
	free(*needs);
	*needs = NULL;
	return *n = 0;
}

__u32 guard_decide(const struct generation *g, struct addr addr)
{
	return addr.family == 4 ? decide_ipv4(g, (__u32)addr.num)
				: decide_ipv6(g, (__u64)(addr.num >> 64), (__u64)addr.num);
}
