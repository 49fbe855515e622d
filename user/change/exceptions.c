// SPDX-License-Identifier: GPL-2.0-only
#include "change/exceptions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "state/state.h"

int exceptions_get(struct state *state, struct ranges *set)
{
	struct list_info *lists;
	size_t n, i = 0;
	int err = state_lists(state, &lists, &n);

	*set = RANGES_EMPTY;
	while (i < n && strcmp(lists[i].name, EXCEPTIONS) != 0)
		i++;
	if (!err && i < n)
		err = state_list_whole_set(state, &lists[i], set);
	free(lists);
	return err;
}

static void describe(struct list_info *list, const struct ranges *set)
{
	char number[NUMBER_TEXT_MAX];

	list->prefixes = ranges_count_prefixes(set);
	snprintf(list->addresses, sizeof(list->addresses), "%s", number_text(number, ranges_count(set)));
	utc_text(list->loaded, time(NULL));
}

int live_list_put(struct state *state, struct list_info *list, const struct ranges *set)
{
	if (!set->n4 && !set->n6)
		return state_list_drop(state, list->name);
	describe(list, set);
	return state_list_put(state, list, set);
}

#define LIVE_EXCEPTIONS                                                   \
	{                                                                 \
		.name = EXCEPTIONS, .kind = LIST_ALLOW, .source = "allow" \
	}

int exceptions_put(struct state *state, const struct ranges *set)
{
	struct list_info list = LIVE_EXCEPTIONS;

	return live_list_put(state, &list, set);
}

static int add(struct ranges *set, struct addr addr)
{
	return ranges_add_prefix(set, addr, addr_width(addr.family)) ?: ranges_finish(set);
}

/* What they go back to unless they are confirmed. */
static int add_before(struct state *state, struct addr addr)
{
	struct list_info list = LIVE_EXCEPTIONS;
	struct ranges set = RANGES_EMPTY;
	int err = state_pending_has(state, PENDING_LIST, EXCEPTIONS);

	if (err <= 0)
		return err;
	err = state_before_get(state, EXCEPTIONS, &set) ?: add(&set, addr);
	describe(&list, &set);
	err = err ?: state_before_put(state, &list, &set);
	ranges_free(&set);
	return err;
}

int exceptions_add(struct state *state, struct addr addr)
{
	struct ranges set = RANGES_EMPTY;
	int err = exceptions_get(state, &set) ?: add(&set, addr) ?: exceptions_put(state, &set) ?: add_before(state, addr);

	ranges_free(&set);
	return err;
}
