// SPDX-License-Identifier: GPL-2.0-only
#include "change/live_scopes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "change/change.h"
#include "change/exceptions.h"
#include "change/revert_timer.h"
#include "state/state.h"

#define NAME_LETTERS 48 /* of its scope */

static bool is_taken(const struct list_info *lists, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(lists[i].name, name))
			return true;
	return false;
}

/* By what it is: a scope that is longer than a name, or looks the same, has a number behind it. */
static void name_it(struct list_info *list, const struct list_info *lists, size_t n)
{
	char words[NAME_LETTERS + 1];
	size_t len;

	snprintf(words, sizeof(words), "%.*s", NAME_LETTERS, list->scope);
	for (len = strspn(words, LIST_NAME_BYTES); words[len]; len += strspn(words + len, LIST_NAME_BYTES))
		words[len] = '-';
	snprintf(list->name, sizeof(list->name), "(%s)", words);
	for (unsigned int i = 2; is_taken(lists, n, list->name); i++)
		snprintf(list->name, sizeof(list->name), "(%s-%u)", words, i);
}

/* The list of that scope; of its own there may be none yet, and then it has no row. */
static int find(struct state *state, const struct scope *scope, struct list_info *list)
{
	struct list_info *lists = NULL;
	size_t n = 0, i = 0;
	int err;

	*list = (struct list_info){ .kind = LIST_BAN, .source = "add" };
	if (!scope_text(list->scope, scope))
		return because(-EINVAL, "--only, --to and --on have no more than %d letters in all",
			       SCOPE_TEXT_MAX - 1);
	err = state_lists(state, &lists, &n);
	while (i < n && !(live_scope_is(&lists[i]) && !strcmp(lists[i].scope, list->scope)))
		i++;
	if (!err && i < n && lists[i].kind != LIST_BAN)
		err = because(-EINVAL, "%s only counts: 'xdp-bloom enforce %s' first", lists[i].name, lists[i].name);
	else if (!err && i < n)
		*list = lists[i];
	else if (!err)
		name_it(list, lists, n);
	free(lists);
	return err;
}

static int put(struct change *change, struct list_info *list, const struct ranges *set, long confirm)
{
	int err = change_pending(change, PENDING_LIST, list->name, confirm) ?: live_list_put(change->state, list, set);

	if (!err && list->label_is_new)
		change_zero_given(change, list->label);
	return err;
}

int live_scopes_add(struct change *change, const struct scope *scope, const struct prefixes *prefixes, long confirm,
		    size_t *added)
{
	struct ranges before = RANGES_EMPTY, given = RANGES_EMPTY, after = RANGES_EMPTY;
	struct list_info list;
	int err = find(change->state, scope, &list);

	*added = 0;
	if (!err && list.row)
		err = state_list_whole_set(change->state, &list, &before);
	for (size_t i = 0; i < prefixes->n && !err; i++) {
		const struct prefix *p = &prefixes->at[i];
		int covered = ranges_covering(&before, p->first);

		*added += covered < 0 || covered > (int)p->length;
		err = ranges_add_prefix(&given, p->first, p->length);
	}
	err = err ?: ranges_finish(&given) ?: ranges_union(&after, &before, &given);
	/* What is banned already may go back. */
	if (!err)
		err = *added ? put(change, &list, &after, confirm) : change_pending(change, PENDING_LIST, list.name, 0);
	ranges_free(&before);
	ranges_free(&given);
	ranges_free(&after);
	return err;
}

/* all: who took it out said no scope. That is no word about what waits, and it is said what goes beside the ban. */
static int take_out(struct change *change, struct list_info *list, const struct prefix *p, bool all, size_t *from)
{
	struct ranges before = RANGES_EMPTY, given = RANGES_EMPTY, after = RANGES_EMPTY;
	int err = state_list_whole_set(change->state, list, &before);
	char text[PREFIX_TEXT_MAX];

	prefix_text(text, p->first, (int)p->length);
	if (!err && ranges_touch(&before, p->first, p->length)) {
		err = ranges_add_prefix(&given, p->first, p->length) ?:
		      ranges_finish(&given) ?:
		      ranges_subtract(&after, &before, &given) ?:
		      put(change, list, &after, 0);
		if (err_is(err, EBUSY) && all) {
			warn("%s: %s stays banned for %s", reason(err), text, list->scope);
			err = 0;
		} else if (!err) {
			if (all)
				warn("%s: not banned for %s any more either", text, list->scope);
			++*from;
		}
	}
	ranges_free(&before);
	ranges_free(&given);
	ranges_free(&after);
	return err;
}

int live_scopes_del(struct change *change, const struct scope *scope, const struct prefix *prefix, size_t *from)
{
	char text[SCOPE_TEXT_MAX] = "";
	struct list_info *lists = NULL;
	size_t n;
	int err = state_lists(change->state, &lists, &n);

	*from = 0;
	if (scope)
		scope_text(text, scope);
	for (size_t i = 0; i < n && !err; i++)
		if (live_scope_is(&lists[i]) && (!scope || !strcmp(lists[i].scope, text)))
			err = take_out(change, &lists[i], prefix, !scope, from);
	free(lists);
	return err;
}
