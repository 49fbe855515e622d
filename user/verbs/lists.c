// SPDX-License-Identifier: GPL-2.0-only
/* unload, lists, enforce, shadow */
#include "base/clock.h"
#include "change/apply.h"
#include "change/change.h"
#include "change/feed_row.h"
#include "change/revert_timer.h"
#include "change/guard_rails.h"
#include "observe/documents.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "verbs/verbs.h"

const struct option_spec force_options[] = {
	CONFIRM_OPTION(force_options),
	FORCE_OPTION(force_options),
	OPTIONS_END(struct force_options),
};

/* By what happens to this list, what it holds may become banned. */
static int force_list(struct change *change, const char *name)
{
	struct ranges set = RANGES_EMPTY;
	int err = state_list_set(change->state, name, &set) ?: change_force(change, &set);

	ranges_free(&set);
	return err;
}

static bool is_of_image(struct state *state, const char *name)
{
	struct list_info *lists = NULL;
	bool is = false;
	size_t n = 0;

	if (image_kept(state) && !lists_in_force(state, &lists, &n))
		for (size_t i = 0; i < n && !is; i++)
			is = !strcmp(lists[i].name, name);
	free(lists);
	return is;
}

/* A list that is not found may be one of an image. */
static int because_taken_whole(struct state *state, int err, const char *name, const char *instead)
{
	if (!err_is(err, ENOENT) || !is_of_image(state, name))
		return err;
	return because(err, "'%s' is a list of the image in force, which is taken whole: %s", name, instead);
}

/* One that is gone may come back. */
static int drop_now(struct change *change, const char *name)
{
	struct list_info list;
	bool gone = err_is(state_list_get(change->state, name, &list), ENOENT);

	return (gone ? change_pending(change, PENDING_LIST, name, 0) : 0) ?: state_list_drop(change->state, name);
}

/* Of a list that was never loaded only the refusal goes. */
static int drop(struct change *change, const struct force_options *o, const char *name, bool refused, bool *build)
{
	struct ranges set = RANGES_EMPTY;
	int err = o->force ? state_list_set(change->state, name, &set) : 0;

	err = err
		      ?: o->confirm.given ? change_pending_drop(change, name, (long)o->confirm.value)
					  : drop_now(change, name);
	*build = *build || !err;
	err = err ?: o->force ? change_force(change, &set) : 0;
	ranges_free(&set);
	if (err_is(err, ENOENT) && refused && !o->confirm.given)
		return 0;
	return because_taken_whole(change->state, err, name,
				   "'image make' makes one without it, and 'xdp-bloom flush' ends this one");
}

/* Without an allow list addresses may become banned: the guard rails are asked. */
int verb_unload(const struct call *call)
{
	const struct force_options *o = call->options;
	struct list_info *lists = NULL;
	struct change *change = NULL;
	struct apply_options apply = { 0 };
	struct list_failure *failed;
	size_t n = 0, failed_n;
	bool build = false;
	int err = change_begin(&change, call->context);

	list_failures(call->context, &failed, &failed_n);
	if (!err)
		err = state_lists(change->state, &lists, &n);
	for (int i = 0; i < call->n && !err; i++)
		err = drop(change, o, call->operands[i], list_failure_of(failed, failed_n, call->operands[i]), &build);
	for (size_t i = 0; i < n && !err; i++)
		for (int j = 0; j < call->n; j++)
			if (!strcmp(lists[i].name, call->operands[j]) && lists[i].label)
				change_zero(change, lists[i].label);
	if (!err)
		err = change_commit(change, build ? &apply : NULL);
	for (int i = 0; i < call->n && !err; i++)
		change_succeeded(change, call->operands[i]);
	free(failed);
	free(lists);
	change_end(change);
	return err ? fail("%s; nothing was unloaded", reason(err)) : out_confirm(call->context, "unload", &o->confirm);
}

static void say_failure(const struct list_failure *f, const char *what)
{
	char since[UTC_TEXT_MAX];

	out_line("%-20s %s, since %s: %s", f->list, what, utc_text(since, f->since), f->why);
}

static bool is_listed(const struct list_info *lists, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(lists[i].name, name))
			return true;
	return false;
}

int verb_lists(const struct call *call)
{
	struct list_failure *failed;
	struct list_info *lists = NULL;
	struct state *state = NULL;
	json_t *array = NULL;
	size_t n = 0, failed_n;
	int err;

	if (call->n)
		return one_list(call->context, call->operands[0]);
	err = state_open(&state, call->context, false);

	if (!err)
		err = lists_in_force(state, &lists, &n);
	state_close(state);
	if (err)
		return fail("%s", reason(err));
	list_failures(call->context, &failed, &failed_n);
	if (call->context->json)
		array = json_array();
	else if (n)
		printf("%-20s %-6s %10s %20s  %-20s  %s\n", "LIST", "KIND", "PREFIXES", "ADDRESSES", "LOADED",
		       "SOURCE");
	for (size_t i = 0; i < n; i++) {
		const struct list_info *l = &lists[i];
		const struct list_failure *failure = list_failure_of(failed, failed_n, l->name);
		const char *kind = list_kind_names[l->kind];

		if (call->context->json)
			json_array_append_new(array,
					      json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name",
							l->name, "kind", kind, "prefixes", (json_int_t)l->prefixes,
							"addresses", l->addresses, "source", l->source, "loaded",
							l->loaded, "refused", out_failure(failure), "times",
							l->times ? json_integer(l->times) : json_null(), "where",
							out_where(l), "scope", scope_json(l->scope)));
		else
			printf("%-20s %-6s %10llu %20s  %-20s  %s%s%s%s%s\n", l->name, kind,
			       (unsigned long long)l->prefixes, l->addresses, l->loaded, l->source,
			       l->where[0] ? " where " : "", l->where, l->scope[0] ? "; only " : "", l->scope);
		if (!call->context->json && failure)
			say_failure(failure, "  its next version was refused");
	}
	for (size_t i = 0; i < failed_n && !call->context->json; i++)
		if (!is_listed(lists, n, failed[i].list))
			say_failure(&failed[i], "never loaded");
	free(failed);
	free(lists);
	return call->context->json ? out_json(call->context, array) : out_end();
}

static int check_wide(struct state *state, const struct list_info *list)
{
	struct ranges set, nothing = RANGES_EMPTY;
	int err = state_list_whole_set(state, list, &set);

	if (!err)
		err = guard_wide(LIST_BAN, list->name, &nothing, &set, (struct amounts){ 0 });
	ranges_free(&set);
	return err;
}

static int change_kind(const struct call *call, enum list_kind kind)
{
	const struct force_options *o = call->options;
	struct change *change = NULL;
	struct list_info list;
	int err = change_begin(&change, call->context);

	for (int i = 0; i < call->n && !err; i++) {
		const char *name = call->operands[i];

		err = state_list_get(change->state, name, &list);
		err = because_taken_whole(change->state, err, name,
					  "do that where the lists are, and load the image that is saved then");
		if (!err && list.kind == LIST_ALLOW)
			err = because(-EINVAL, "'%s' is an allow list", name);
		if (!err && list.kind == LIST_TRUST)
			err = because(-EINVAL, "'%s' is a trust list", name);
		if (!err && kind == LIST_BAN && list.kind == LIST_SHADOW && !o->force)
			err = check_wide(change->state, &list);
		if (!err)
			err = change_pending(change, PENDING_LIST_KIND, name, (long)o->confirm.value);
		if (!err && o->force)
			err = force_list(change, name);
		if (!err)
			err = state_list_set_kind(change->state, name, kind);
		if (!err && kind == LIST_SHADOW)
			err = feed_row_counts(change->state, &list);
		/* What it dropped and what it would have dropped are different counts. */
		if (!err && list.kind != kind)
			change_zero(change, list.label);
	}
	if (!err)
		err = change_commit(change, &(struct apply_options){ 0 });
	change_end(change);
	return err ? fail("%s; nothing was changed", reason(err))
		   : out_confirm(call->context, call->verb->name, &o->confirm);
}

int verb_enforce(const struct call *call)
{
	return change_kind(call, LIST_BAN);
}

int verb_shadow(const struct call *call)
{
	return change_kind(call, LIST_SHADOW);
}
