// SPDX-License-Identifier: GPL-2.0-only
#include "change/list_edit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "change/agreement.h"
#include "change/change.h"
#include "change/ends.h"
#include "change/guard_needs.h"
#include "change/live_bans.h"
#include "filter/edit.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "sets/owned.h"
#include "sets/ranges.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/state.h"

/* Beyond so much of a list a new generation costs no more. */
#define PART 4

/*
 * Is any of these addresses another list's, or a live ban's? Then the arrays do not say whose it is afterwards. What
 * has just ended is in them, too, until somebody takes it out.
 */
static int others_have(struct state *state, const struct list_info *list, const struct ranges *these)
{
	struct ranges lasting = RANGES_EMPTY, ending = RANGES_EMPTY;
	struct list_info *lists = NULL;
	size_t n = 0;
	int err = state_bans_sets(state, 0, these, &lasting, &ending) ?: state_lists(state, &lists, &n);

	if (!err && (lasting.n4 || lasting.n6 || ending.n4 || ending.n6))
		err = -EAGAIN;
	for (size_t i = 0; i < n && !err; i++) {
		struct ranges other, both;

		if (lists[i].kind != LIST_BAN || lists[i].label == list->label)
			continue;
		err = state_list_whole_set(state, &lists[i], &other);
		if (err)
			break;
		err = ranges_intersect(&both, &other, these) ?: both.n4 || both.n6 ? -EAGAIN : 0;
		ranges_free(&both);
		ranges_free(&other);
	}
	ranges_free(&lasting);
	ranges_free(&ending);
	free(lists);
	return err;
}

static int unlist(struct edit *e, const struct list_info *list, const struct ranges *gone)
{
	int err;

	e->list = list->label;
	err = edit_unban4(e, gone);
	for (size_t i = 0; i < gone->n6 && !err; i++)
		for (struct cut6 cut = { .lo = gone->v6[i].lo, .hi = gone->v6[i].hi };
		     !err && range6_next_prefix(&cut);)
			err = edit_unlist6(e, cut.first, cut.length);
	return err;
}

static int put_in(struct edit *e, const struct list_info *list, const struct ranges *came, const struct ranges *allowed)
{
	struct account account = { .label = list->label, .banned = came };
	struct owned wanted = { 0 };
	int err = owned_settle(&wanted, &account, 1, allowed) ?: edit_ban(e, &wanted);

	owned_free(&wanted);
	return err;
}

/* What is allowed was taken out of what is in force, and out of these. */
static int plan(struct change *change, struct edit *e, const struct list_info *list, const struct ranges *came,
		const struct ranges *gone)
{
	struct ranges allowed = RANGES_EMPTY, open = RANGES_EMPTY, these = RANGES_EMPTY;
	int err = state_allowed(change->state, &allowed) ?:
		  ranges_union(&these, came, gone) ?:
		  others_have(change->state, list, &these) ?:
		  ranges_subtract(&open, gone, &allowed) ?:
		  guard_gone(change->state, gone) ?:
		  unlist(e, list, &open) ?: put_in(e, list, came, &allowed) ?: edit_worthwhile(e);

	ranges_free(&allowed);
	ranges_free(&open);
	ranges_free(&these);
	return err;
}

/* Without a roster an edit says neither whose an address is, nor what else it hits; and a shadow may lie in what goes.
 */
static bool may(struct change *change, const struct list_info *list)
{
	const struct generation *g = &change->live.g;

	return !change->live.on_trial && list->kind == LIST_BAN && !list->label_is_new && !g->shadows && !g->scoped &&
	       agreement(change->state, g) == AGREED && !image_kept(change->state) &&
	       settings_read(change->state).exact && (!g->filter || g->roster4 || g->roster6);
}

static bool is_small(const struct list_info *list, const struct ranges *came, const struct ranges *gone)
{
	return PART * (ranges_count_prefixes(came) + ranges_count_prefixes(gone)) < list->prefixes;
}

int list_edit(struct change *change, const struct list_info *list, const struct ranges *came, const struct ranges *gone,
	      bool *full)
{
	struct candidate c;
	struct ends none = { 0 };
	struct edit e = { 0 };
	int err;

	*full = false;
	if (change->context->joined || !is_small(list, came, gone) || !may(change, list) ||
	    live_map(&change->live, &c, true))
		return -EAGAIN;
	edit_begin(&e, &c.g);
	err = plan(change, &e, list, came, gone);
	if (!err)
		edit_bring_in(&e);
	if (live_map_failed(&c))
		err = -EAGAIN;
	*full = e.full;
	err = err ?: edit_commit(change->state, &change->live, &c, &e, &none);
	if (!err)
		note("generation %llu: %zu %s of it changed", (unsigned long long)c.g.number, e.n,
		     e.n == 1 ? "place" : "places");
	edit_end(&e);
	kernel_release(&c);
	return err;
}
