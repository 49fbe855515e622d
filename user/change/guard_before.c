// SPDX-License-Identifier: GPL-2.0-only
#include "change/guard_before.h"

#include <stdlib.h>
#include <time.h>

#include "change/own_addresses.h"
#include "filter/scopes.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "kernel/scopes.h"
#include "state/bans.h"
#include "state/state.h"

/* Does what is in force drop all that this list is to drop of it? One that does not hold it drops nothing. */
static bool list_dropped(struct state *state, const struct scopes *t, __u64 of, const struct list_info *list,
			 struct addr addr)
{
	struct ranges set = RANGES_EMPTY;
	struct scope scope = { 0 };
	bool is = list->kind != LIST_BAN;

	if (!is)
		is = !state_list_whole_set(state, list, &set) &&
		     (ranges_covering(&set, addr) < 0 ||
		      (!scope_parse(&scope, list->scope) && scopes_drop(t, of, &scope)));
	ranges_free(&set);
	return is;
}

/* Live bans have no scope. Behind one that ends, others may end: for how long is compared elsewhere (guard_until.h). */
static bool bans_dropped(struct state *state, const struct scopes *t, __u64 of, struct addr addr)
{
	struct ranges one = RANGES_EMPTY, lasting = RANGES_EMPTY, ending = RANGES_EMPTY;
	struct scope all = { 0 };
	bool is = !ranges_add_prefix(&one, addr, addr_width(addr.family)) && !ranges_finish(&one) &&
		  !state_bans_sets(state, time(NULL), &one, &lasting, &ending) &&
		  ((ranges_covering(&lasting, addr) < 0 && (of & SCOPE_ENDS || ranges_covering(&ending, addr) < 0)) ||
		   scopes_drop(t, of, &all));

	ranges_free(&one);
	ranges_free(&lasting);
	ranges_free(&ending);
	return is;
}

static bool all_dropped(struct state *state, const struct scopes *t, __u64 of, struct addr addr, bool image)
{
	struct list_info *lists = NULL;
	size_t n = 0;
	bool is;

	if (image)
		return scopes_drop(t, of, &(struct scope){ 0 });
	is = !state_lists(state, &lists, &n) && bans_dropped(state, t, of, addr);
	for (size_t i = 0; i < n && is; i++)
		is = list_dropped(state, t, of, &lists[i], addr);
	free(lists);
	return is;
}

enum dropped_before guard_before(struct state *state, const struct live *live, const struct own_address *own,
				 bool image)
{
	enum dropped_before before = DROPPED_AS_NOW;
	struct scopes *t = NULL;
	__u32 answer = ANSWER_UNPARSED;
	__u64 of;

	if (!live_answer(live, own->source, &answer) || !answer_drops(answer))
		return DROPPED_NOT;
	if (!live->g.scoped)
		return DROPPED_AS_NOW;
	t = malloc(sizeof(*t));
	if (!t || kernel_scopes_read(live, t)) {
		free(t);
		return DROPPED_LESS;
	}
	of = t->of[ANSWER_LABEL(answer)];
	/* Whatever a live ban that ends drops of it until then. */
	if (of && !all_dropped(state, t, of, own->addr, image))
		before = DROPPED_LESS;
	free(t);
	return before;
}
