// SPDX-License-Identifier: GPL-2.0-only
#include "state/until.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "state/bans_internal.h"
#include "state/internal.h"

struct look {
	struct state *state;
	const struct addr *addrs;
	size_t n;
	struct until *until;
	struct pending *pending;
	size_t pending_n;
};

static void at_least(int64_t *end, int64_t this)
{
	if (*end < this)
		*end = this;
}

/* When that goes back, if it waits; otherwise never. */
static int64_t deadline(const struct look *l, enum pending_kind kind, const char *name)
{
	for (size_t i = 0; i < l->pending_n; i++)
		if (l->pending[i].kind == kind && !strcmp(l->pending[i].name, name))
			return l->pending[i].deadline;
	return UNTIL_ENDLESS;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int by_set(const struct look *l, const char *name, bool scoped, int64_t end)
{
	struct ranges set = RANGES_EMPTY;
	int err = state_list_set(l->state, name, &set);

	for (size_t i = 0; i < l->n && !err; i++)
		if (ranges_covering(&set, l->addrs[i]) >= 0)
			at_least(scoped ? &l->until[i].some : &l->until[i].all, end);
	ranges_free(&set);
	return err;
}

/* A list that waits to be none that bans does so again. */
static int by_lists(const struct look *l)
{
	struct list_info *lists = NULL;
	size_t n;
	int err = state_lists(l->state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		int64_t kind = deadline(l, PENDING_LIST_KIND, lists[i].name);
		int64_t end = deadline(l, PENDING_LIST, lists[i].name);

		if (lists[i].kind == LIST_BAN)
			err = by_set(l, lists[i].name, lists[i].scope[0], earlier(kind, end));
		else if (lists[i].kind == LIST_SHADOW && kind != UNTIL_ENDLESS)
			err = by_set(l, lists[i].name, lists[i].scope[0], UNTIL_ENDLESS);
	}
	free(lists);
	return err;
}

static int by_lists_before(const struct look *l)
{
	struct list_info *lists = NULL;
	char name[LIST_NAME_MAX + sizeof(" before")];
	size_t n;
	int err = state_entries_before(l->state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		snprintf(name, sizeof(name), "%s before", lists[i].name);
		if (lists[i].kind == LIST_BAN)
			err = by_set(l, name, lists[i].scope[0], UNTIL_ENDLESS);
	}
	free(lists);
	return err;
}

static int64_t end_of(const struct ban *ban)
{
	return ban->expires ?: UNTIL_ENDLESS;
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
			at_least(&until->all,
				 earlier(end_of(&ban), deadline(l, PENDING_BAN, prefix_text(name, first, at))));
		if (err_is(err, ENOENT))
			err = 0;
	}
	return at == -2 ? because_sqlite(l->state, "reading") : err;
}

static bool is_within(struct addr addr, const struct ban *ban)
{
	return addr.family == ban->first.family &&
	       !((addr.num ^ ban->first.num) & ~addr_mask(addr.family, ban->length));
}

/* One that is over when it could come back does not. */
static bool comes_back(const struct look *l, const struct ban *ban)
{
	char name[PREFIX_TEXT_MAX];
	int64_t back = earlier(deadline(l, PENDING_BAN, prefix_text(name, ban->first, (int)ban->length)),
			       deadline(l, PENDING_IMAGE, PENDING_IMAGE_NAME));

	return end_of(ban) > back;
}

static int by_bans_before(const struct look *l)
{
	struct ban *bans = NULL;
	size_t n;
	int err = state_rows(l->state, state_prepare(l->state, "SELECT * FROM ban_before"), state_read_ban,
			     sizeof(*bans), &bans, &n);

	for (size_t i = 0; i < n && !err; i++)
		for (size_t j = 0; j < l->n && comes_back(l, &bans[i]); j++)
			if (is_within(l->addrs[j], &bans[i]))
				at_least(&l->until[j].all, end_of(&bans[i]));
	free(bans);
	return err;
}

int state_until(struct state *state, const struct addr *addrs, size_t n, struct until *until)
{
	struct look l = { .state = state, .addrs = addrs, .n = n, .until = until };
	int err = state_pending(state, &l.pending, &l.pending_n);

	memset(until, 0, n * sizeof(*until));
	err = err ?: by_lists(&l);
	for (size_t i = 0; i < n && !err && state_has_bans(state); i++)
		err = by_bans(&l, addrs[i], &until[i]);
	if (!err && l.pending_n)
		err = by_lists_before(&l) ?: state->version < VERSION_DUE ? 0 : by_bans_before(&l);
	free(l.pending);
	return err;
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
