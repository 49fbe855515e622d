// SPDX-License-Identifier: GPL-2.0-only
#include "state/until.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "base/log.h"
#include "sets/scope.h"
#include "state/bans_internal.h"
#include "state/internal.h"
#include "state/kept_image.h"

struct look {
	struct state *state;
	const struct addr *addrs;
	struct untils *untils;
	struct pending *pending;
	size_t pending_n;
	int64_t first_kept;
};

static int64_t order(const struct pending *pending)
{
	return pending->due ?: pending->deadline;
}

/* The end of a period. */
struct end {
	int64_t to, due;
};

static const struct end endless = { UNTIL_ENDLESS, 0 };

/* When that goes back, if it waits, and is not confirmed; otherwise never. */
static struct end deadline(const struct look *l, enum pending_kind kind, const char *name)
{
	const struct pending *p = l->pending, *end = p + l->pending_n;
	int64_t left;

	while (p < end && (p->kind != kind || strcmp(p->name, name) != 0))
		p++;
	left = p < end ? pending_left(p, 0) : 0;
	if (p == end || (left && order(p) >= l->first_kept))
		return endless;
	/* The date may have been set since. */
	if (left && p->due)
		return (struct end){ time(NULL) + left / 1000000000, p->due };
	return (struct end){ left ? p->deadline : 0, 0 };
}

static struct end earlier(struct end a, struct end b)
{
	return (a.due && b.due ? a.due < b.due : a.to < b.to) ? a : b;
}

int until_dropped(struct until *until, struct period period)
{
	if (period.from < until->excepted)
		period.from = until->excepted;
	if (until->again && period.to > until->again) {
		period.to = until->again;
		period.due = 0;
	}
	if (period.from >= period.to)
		return 0;
	if (!GROW(until->periods, until->n))
		return -ENOMEM;
	until->periods[until->n++] = period;
	return 0;
}

static int dropped(struct until *until, size_t scope, int64_t from, struct end end)
{
	return until_dropped(until, (struct period){ from, end.to, end.due, scope });
}

static void excepted(struct until *until, int64_t from, int64_t to)
{
	if (from && (!until->again || until->again > from))
		until->again = from;
	else if (!from && until->excepted < to)
		until->excepted = to;
}

static int add_scope(struct untils *untils, const char *text)
{
	return GROW(untils->scopes, untils->scopes_n) ? scope_parse(&untils->scopes[untils->scopes_n++], text)
						      : -ENOMEM;
}

static int by_set(const struct look *l, const char *name, const struct list_info *list, int64_t from, struct end end)
{
	struct ranges set = RANGES_EMPTY;
	size_t scope = list->scope[0] ? l->untils->scopes_n : 0;
	int err = state_list_set(l->state, name, &set) ?: scope ? add_scope(l->untils, list->scope) : 0;

	for (size_t i = 0; i < l->untils->n && !err; i++) {
		if (ranges_covering(&set, l->addrs[i]) < 0)
			continue;
		if (list->kind == LIST_ALLOW)
			excepted(&l->untils->of[i], from, end.to);
		else
			err = dropped(&l->untils->of[i], scope, from, end);
	}
	ranges_free(&set);
	return err;
}

/* A list that waits to be none that bans does so again. */
static int by_lists(const struct look *l, bool exceptions)
{
	struct list_info *lists = NULL;
	size_t n;
	int err = state_lists(l->state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct end kind = deadline(l, PENDING_LIST_KIND, lists[i].name);
		struct end end = deadline(l, PENDING_LIST, lists[i].name);

		if ((lists[i].kind == LIST_ALLOW) != exceptions)
			continue;
		if (lists[i].kind == LIST_BAN || exceptions)
			err = by_set(l, lists[i].name, &lists[i], 0, earlier(kind, end));
		else if (lists[i].kind == LIST_SHADOW && kind.to != UNTIL_ENDLESS)
			err = by_set(l, lists[i].name, &lists[i], kind.to, endless);
	}
	free(lists);
	return err;
}

static int by_lists_before(const struct look *l, bool exceptions)
{
	struct list_info *lists = NULL;
	char name[LIST_NAME_MAX + sizeof(" before")];
	size_t n;
	int err = state_entries_before(l->state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		snprintf(name, sizeof(name), "%s before", lists[i].name);
		if (lists[i].kind == (exceptions ? LIST_ALLOW : LIST_BAN))
			err = by_set(l, name, &lists[i], deadline(l, PENDING_LIST, lists[i].name).to, endless);
	}
	free(lists);
	return err;
}

static struct end end_of(const struct ban *ban)
{
	return ban->expires ? (struct end){ ban->expires, ban->due } : endless;
}

static int by_bans(const struct look *l, struct addr addr, struct until *until)
{
	char name[PREFIX_TEXT_MAX];
	int64_t now = time(NULL);
	struct ban ban;
	int err = 0, at = -1;

	while (!err && (at = state_next_length(l->state, addr.family, at)) >= 0) {
		struct addr first = { addr.num & ~addr_mask(addr.family, (unsigned int)at), addr.family };

		err = state_ban_get(l->state, first, (unsigned int)at, &ban);
		if (!err && ban_in_force(&ban, now))
			err = dropped(until, 0, 0,
				      earlier(end_of(&ban), deadline(l, PENDING_BAN, prefix_text(name, first, at))));
		if (err_is(err, ENOENT))
			err = 0;
	}
	return at == -2 ? because_sqlite(l->state, "reading") : err;
}

/* One that is over when it could come back does not. */
static int64_t back(const struct look *l, const struct ban *ban)
{
	char name[PREFIX_TEXT_MAX];

	return earlier(deadline(l, PENDING_BAN, prefix_text(name, ban->first, (int)ban->length)),
		       deadline(l, PENDING_IMAGE, PENDING_IMAGE_NAME))
		.to;
}

static int bans_before(struct state *state, struct ban **bans, size_t *n)
{
	*bans = NULL;
	*n = 0;
	if (state->version < VERSION_DUE)
		return 0;
	return state_rows(state, state_prepare(state, "SELECT * FROM ban_before"), state_read_ban, sizeof(**bans), bans,
			  n);
}

static int by_bans_before(const struct look *l)
{
	struct ban *bans;
	size_t n;
	int err = bans_before(l->state, &bans, &n);

	for (size_t i = 0; i < n && !err; i++)
		for (size_t j = 0; j < l->untils->n && !err; j++)
			if (ban_covers(&bans[i], l->addrs[j]))
				err = dropped(&l->untils->of[j], 0, back(l, &bans[i]), end_of(&bans[i]));
	free(bans);
	return err;
}

int state_until(struct state *state, const struct addr *addrs, size_t n, int64_t first_kept, struct untils *untils)
{
	struct look l = { .state = state, .addrs = addrs, .untils = untils, .first_kept = first_kept };
	int err = state_pending(state, &l.pending, &l.pending_n);

	*untils = (struct untils){ .of = calloc(n, sizeof(*untils->of)),
				   .n = n,
				   .image = deadline(&l, PENDING_IMAGE, PENDING_IMAGE_NAME).to };
	err = err ?: (untils->of ? add_scope(untils, "") : -ENOMEM);
	err = err ?: by_lists(&l, true) ?: l.pending_n ? by_lists_before(&l, true) : 0;
	err = err ?: by_lists(&l, false);
	for (size_t i = 0; i < n && !err && state_has_bans(state); i++)
		err = by_bans(&l, addrs[i], &untils->of[i]);
	if (!err && l.pending_n)
		err = by_lists_before(&l, false) ?: by_bans_before(&l);
	free(l.pending);
	return err;
}

int state_first_kept(struct state *state, int64_t **first, size_t *n)
{
	struct pending *pending = NULL;
	size_t pending_n = 0;
	int err = state_pending(state, &pending, &pending_n);

	*n = 0;
	*first = err ? NULL : malloc((pending_n + 1) * sizeof(**first));
	if (*first)
		(*first)[(*n)++] = UNTIL_ENDLESS;
	for (size_t i = 0; i < pending_n && *first; i++)
		if (pending[i].kind != PENDING_INTERFACE && pending[i].kind != PENDING_SETTING &&
		    pending_left(&pending[i], 0) && order(&pending[i]) != (*first)[*n - 1])
			(*first)[(*n)++] = order(&pending[i]);
	free(pending);
	return err || *first ? err : -ENOMEM;
}

void untils_free(struct untils *untils)
{
	for (size_t i = 0; i < untils->n && untils->of; i++)
		free(untils->of[i].periods);
	free(untils->of);
	free(untils->scopes);
	*untils = (struct untils){ 0 };
}

static int add_list(struct state *state, const char *name, struct ranges *all)
{
	struct ranges one = RANGES_EMPTY, both = RANGES_EMPTY;
	int err = state_list_set(state, name, &one) ?: ranges_union(&both, all, &one);

	ranges_free(&one);
	if (err)
		return err;
	ranges_free(all);
	*all = both;
	return 0;
}

/* What will be allowed then. */
static int allowed_after(struct state *state, struct ranges *all)
{
	struct list_info *lists = NULL;
	char name[LIST_NAME_MAX + sizeof(" before")];
	size_t n;
	int err = state_lists(state, &lists, &n), waits;

	for (size_t i = 0; i < n && !err; i++) {
		waits = lists[i].kind == LIST_ALLOW ? state_pending_has(state, PENDING_LIST, lists[i].name) : 1;
		err = waits < 0 ? waits : waits ? 0 : add_list(state, lists[i].name, all);
	}
	free(lists);
	lists = NULL;
	err = err ?: state_entries_before(state, &lists, &n);
	for (size_t i = 0; i < n && !err; i++) {
		snprintf(name, sizeof(name), "%s before", lists[i].name);
		if (lists[i].kind == LIST_ALLOW)
			err = add_list(state, name, all);
	}
	free(lists);
	return err;
}

int state_allowed_waiting(struct state *state, struct ranges *waiting)
{
	struct ranges now = RANGES_EMPTY, after = RANGES_EMPTY;
	int err = state_pending_any(state, PENDING_LIST);

	*waiting = RANGES_EMPTY;
	if (err <= 0)
		return err;
	err = state_allowed(state, &now) ?: allowed_after(state, &after) ?: ranges_subtract(waiting, &now, &after);
	ranges_free(&now);
	ranges_free(&after);
	return err;
}

int state_allowed_staying(struct state *state, struct ranges *staying)
{
	struct ranges now = RANGES_EMPTY, waiting = RANGES_EMPTY;
	int err;

	*staying = RANGES_EMPTY;
	err = state_allowed(state, &now) ?: state_allowed_waiting(state, &waiting) ?: ranges_subtract(staying, &now, &waiting);
	ranges_free(&now);
	ranges_free(&waiting);
	return err;
}

/* Exceptions that go, and lists that ban again or come back and do. */
static int lists_later(struct state *state, bool bans, struct ranges *later)
{
	struct list_info *lists = NULL;
	char name[LIST_NAME_MAX + sizeof(" before")];
	size_t n;
	int err = state_lists(state, &lists, &n), waits;

	for (size_t i = 0; i < n && !err; i++) {
		waits = lists[i].kind == LIST_ALLOW ? state_pending_has(state, PENDING_LIST, lists[i].name)
			: lists[i].kind == LIST_SHADOW && bans
				? state_pending_has(state, PENDING_LIST_KIND, lists[i].name)
				: 0;
		err = waits > 0 ? add_list(state, lists[i].name, later) : waits;
	}
	free(lists);
	lists = NULL;
	n = 0;
	err = err ?: bans ? state_entries_before(state, &lists, &n) : 0;
	for (size_t i = 0; i < n && !err; i++) {
		snprintf(name, sizeof(name), "%s before", lists[i].name);
		if (lists[i].kind == LIST_BAN)
			err = add_list(state, name, later);
	}
	free(lists);
	return err;
}

int state_later(struct state *state, bool bans, struct ranges *later)
{
	struct pending *pending = NULL;
	struct ban *before = NULL;
	size_t pending_n = 0, n = 0;
	uint64_t image = 0;
	int err = state_pending(state, &pending, &pending_n);

	free(pending);
	*later = RANGES_EMPTY;
	if (err || !pending_n)
		return err;
	/* What an image holds, no set has. */
	err = bans ? image_before(state, &image) : 0;
	if (!err && image)
		err = ranges_add_prefix(later, (struct addr){ 0, 4 }, 0)
			      ?: ranges_add_prefix(later, (struct addr){ 0, 6 }, 0) ?: ranges_finish(later);
	err = err ?: lists_later(state, bans, later) ?: bans ? bans_before(state, &before, &n) : 0;
	for (size_t i = 0; i < n && !err; i++)
		err = ranges_add_prefix(later, before[i].first, before[i].length);
	free(before);
	err = err ?: ranges_finish(later);
	if (err)
		ranges_free(later);
	return err;
}
