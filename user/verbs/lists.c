// SPDX-License-Identifier: GPL-2.0-only
/* unload, lists, enforce, shadow */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change/apply.h"
#include "change/change.h"
#include "change/revert_timer.h"
#include "verbs/cmd.h"
#include "change/guard.h"
#include "state/kept_image.h"
#include "base/log.h"
#include "base/out.h"
#include "verbs/answer.h"
#include "state/state.h"

/* What was shadowed or excepted may be banned from now on: that asks for the guard rails. */
int cmd_unload(struct context *context, int argc, char **argv)
{
	struct list_info *lists = NULL;
	struct change *change = NULL;
	size_t n = 0;
	int err;

	if (options_read(context, &argc, argv, options_force, options_force_fn))
		return EXIT_ERROR;
	if (argc < 2)
		return fail("unload: which list?");
	err = change_begin(&change, context);
	if (!err)
		err = state_lists(change->state, &lists, &n);
	for (int i = 1; i < argc && !err; i++)
		err = state_list_drop(change->state, argv[i]);
	for (size_t i = 0; i < n && !err; i++)
		for (int j = 1; j < argc; j++)
			if (!strcmp(lists[i].name, argv[j]) && lists[i].label)
				change_zero(change, lists[i].label);
	if (!err)
		err = change_commit(change, &(struct apply_options){ .guarded = !opt_force });
	free(lists);
	change_end(change);
	return err ? fail("%s; nothing was unloaded", reason(err)) : out_done();
}

int cmd_lists(struct context *context, int argc, char **argv)
{
	struct list_info *lists = NULL;
	struct state *state = NULL;
	json_t *array = NULL;
	size_t n = 0;
	int err;

	if (options_read(context, &argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("lists: takes no '%s'", argv[1]);
	err = state_open(&state, false);
	if (!err)
		err = lists_in_force(state, &lists, &n);
	state_close(state);
	if (err)
		return fail("%s", reason(err));
	if (opt_json)
		array = json_array();
	else if (n)
		printf("%-20s %-6s %10s %20s  %-20s  %s\n", "LIST", "KIND", "PREFIXES", "ADDRESSES", "LOADED",
		       "SOURCE");
	for (size_t i = 0; i < n; i++) {
		const struct list_info *l = &lists[i];
		const char *kind = list_kind_names[l->kind];

		if (opt_json)
			json_array_append_new(array,
					      json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "name", l->name, "kind", kind,
							"prefixes", (json_int_t)l->prefixes, "addresses", l->addresses,
							"source", l->source, "loaded", l->loaded));
		else
			printf("%-20s %-6s %10llu %20s  %-20s  %s\n", l->name, kind, (unsigned long long)l->prefixes,
			       l->addresses, l->loaded, l->source);
	}
	free(lists);
	return opt_json ? out_json(array) : out_end();
}

static int check_wide(struct state *state, const char *name)
{
	struct ranges set, nothing = RANGES_EMPTY;
	int err = state_list_set(state, name, &set);

	if (!err)
		err = guard_wide(name, &nothing, &set);
	ranges_free(&set);
	return err;
}

/* A list that counts begins to drop, or the other way round. */
static int change_kind(struct context *context, int argc, char **argv, enum list_kind kind)
{
	struct change *change = NULL;
	struct list_info list;
	int err;

	if (options_read(context, &argc, argv, options_force, options_force_fn))
		return EXIT_ERROR;
	if (argc < 2)
		return fail("%s: which list?", argv[0]);
	err = change_begin(&change, context);
	for (int i = 1; i < argc && !err; i++) {
		err = state_list_get(change->state, argv[i], &list);
		if (!err && list.kind == LIST_ALLOW)
			err = because(-EINVAL, "'%s' is an allow list", argv[i]);
		if (!err && kind == LIST_BAN && list.kind == LIST_SHADOW && !opt_force)
			err = check_wide(change->state, argv[i]);
		if (!err)
			err = change_pending(change, PENDING_LIST, argv[i], 0);
		if (!err)
			err = state_list_set_kind(change->state, argv[i], kind);
		/* What it dropped and what it would have dropped are different counts. */
		if (!err && list.kind != kind)
			change_zero(change, list.label);
	}
	if (!err)
		err = change_commit(change, &(struct apply_options){ .guarded = !opt_force });
	change_end(change);
	return err ? fail("%s; nothing was changed", reason(err)) : out_done();
}

int cmd_enforce(struct context *context, int argc, char **argv)
{
	return change_kind(context, argc, argv, LIST_BAN);
}

int cmd_shadow(struct context *context, int argc, char **argv)
{
	return change_kind(context, argc, argv, LIST_SHADOW);
}
