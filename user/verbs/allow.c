// SPDX-License-Identifier: GPL-2.0-only
/* allow, disallow: live exceptions, kept as an allow list of their own */
#include "change/apply.h"
#include "change/change.h"
#include "change/exceptions.h"
#include "change/guard_rails.h"
#include "change/revert_timer.h"
#include "sets/prefixes.h"
#include "verbs/verbs.h"
#include "sets/writer.h"

static int set_of(struct ranges *set, const struct prefixes *p)
{
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++)
		err = ranges_add_prefix(set, p->at[i].first, p->at[i].length);
	return err ? err : ranges_finish(set);
}

/* disallow takes back live exceptions, whole or in part; not what a list allows. */
static int any_allowed(const struct ranges *live, const struct prefixes *p)
{
	for (size_t i = 0; i < p->n; i++) {
		char text[PREFIX_TEXT_MAX];

		if (!ranges_touch(live, p->at[i].first, p->at[i].length))
			return because(-ENOENT, "%s is not among the live exceptions",
				       prefix_text(text, p->at[i].first, (int)p->at[i].length));
	}
	return 0;
}

static int put_live(struct change *change, const struct ranges *set, long confirm)
{
	bool none = !set->n4 && !set->n6;
	int err = none && confirm ? change_pending_drop(change, EXCEPTIONS, confirm)
				  : change_pending(change, PENDING_LIST, EXCEPTIONS, confirm);

	return err || (none && confirm) ? err : exceptions_put(change->state, set);
}

static void show_prefix(struct addr first, unsigned int length, void *array)
{
	char text[PREFIX_TEXT_MAX];

	prefix_text(text, first, (int)length);
	if (array)
		json_array_append_new(array, json_pack("{s:s}", "prefix", text));
	else
		puts(text);
}

/* allow alone. */
static int show_live(const struct context *context)
{
	struct ranges live = RANGES_EMPTY;
	struct state *state = NULL;
	json_t *array;
	int err = state_open(&state, context, false);

	if (!err)
		err = exceptions_get(state, &live);
	state_close(state);
	if (err)
		return fail("%s", reason(err));
	array = context->json ? json_array() : NULL;
	writer_prefixes(&live, show_prefix, array);
	ranges_free(&live);
	return array ? out_json(context, array) : out_end();
}

static int change_live(const struct call *call, bool allow)
{
	const struct force_options *o = call->options;
	struct prefixes prefixes = { 0 };
	struct ranges given = RANGES_EMPTY, live = RANGES_EMPTY, after = RANGES_EMPTY;
	struct change *change = NULL;
	int err = prefixes_read(call->context, &prefixes, call->n, call->operands);

	if (!err)
		prefixes_warn_masked(&prefixes);
	if (!err)
		err = set_of(&given, &prefixes);
	for (size_t i = 0; i < prefixes.n && !err && allow && !o->force; i++)
		err = guard_exception(prefixes.at[i].first, prefixes.at[i].length);
	if (!err)
		err = change_begin(&change, call->context);
	/* Also where all is so already: it would go back. */
	if (!err)
		err = change_pending(change, PENDING_LIST, EXCEPTIONS, 0);
	if (!err)
		err = exceptions_get(change->state, &live);
	if (!err && !allow)
		err = any_allowed(&live, &prefixes);
	if (!err)
		err = allow ? ranges_union(&after, &live, &given) : ranges_subtract(&after, &live, &given);
	if (!err && allow && !o->force)
		err = guard_allows(&live, &after);
	/* What the detector bans is banned again when what waits goes back. */
	if (!err && allow && o->confirm.given)
		err = jail_move(change, &given, NULL);
	for (size_t i = 0; i < prefixes.n && !err && allow && !o->confirm.given; i++)
		err = jail_let_go(change, prefixes.at[i].first, prefixes.at[i].length);
	if (!err && ranges_equal(&live, &after))
		err = change_commit(change, NULL);
	else if (!err)
		err = put_live(change, &after, (long)o->confirm.value) ?:
		      (o->force ? change_force(change, &given) : 0) ?:
		      change_commit(change, &(struct apply_options){ 0 });
	change_end(change);
	prefixes_free(&prefixes);
	ranges_free(&given);
	ranges_free(&live);
	ranges_free(&after);
	return err ? fail("%s: %s; nothing was changed", call->verb->name, reason(err))
		   : out_confirm(call->context, call->verb->name, &o->confirm);
}

int verb_allow(const struct call *call)
{
	/* In a file of commands there is nothing to show. */
	if (!call->n && call->context->line)
		return fail("allow: %s", call->verb->asks);
	return call->n ? change_live(call, true) : show_live(call->context);
}

int verb_disallow(const struct call *call)
{
	return change_live(call, false);
}
