// SPDX-License-Identifier: GPL-2.0-only
/* add: live bans */
#include <time.h>

#include "base/grow.h"
#include "change/apply.h"
#include "change/ban.h"
#include "change/guard_rails.h"
#include "change/live_scopes.h"
#include "change/ports.h"
#include "kernel/live.h"
#include "base/clock.h"
#include "base/span.h"
#include "sets/prefixes.h"
#include "state/bans.h"
#include "verbs/errand.h"
#include "verbs/verbs.h"

const struct option_spec add_options[] = {
	{ "ttl", .type = OPTION_TIME, AT(ban_options, ttl), .value = "TIME", .does = "how long; without it, until del",
	  .wants = SPAN_EXAMPLES " (without it, a ban stays)",
	  .also = "--timeout --bantime --ban-time --duration --expire --expires --time -t" },
	{ "reason", .type = OPTION_TEXT, AT(ban_options, reason), .value = "TEXT", .does = "why; bans and test show it",
	  .also = "--comment --message --note -m", .most = BAN_REASON_MAX - 1 },
	{ "keep-longer", AT(ban_options, keep_longer), .does = "a ban that ends later stays as it is, without a word" },
	{ "replace", AT(ban_options, replace), .does = "time and reason are these, whatever they were" },
	{ "mask", AT(ban_options, mask), .does = "8.8.8.8/8 means 8.0.0.0/8; refused otherwise" },
	SCOPE_OPTIONS(ban_options, scope),
	CONFIRM_OPTION(ban_options),
	FORCE_OPTION(ban_options),
	OPTIONS_END(struct ban_options),
};

/* `end`: what their ends are called; NULL: their reasons are meant. */
static json_t *met_json(const struct ban *bans, size_t n, const char *end)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		char text[PREFIX_TEXT_MAX], until[UTC_TEXT_MAX];

		prefix_text(text, bans[i].first, (int)bans[i].length);
		json_array_append_new(array, end ? json_pack("{s:s, s:s?}", "prefix", text, end,
							     bans[i].expires ? utc_text(until, bans[i].expires) : NULL)
						 : json_pack("{s:s, s:o}", "prefix", text, "reason",
							     out_text(bans[i].reason)));
	}
	return array;
}

static void say_kept(const struct banned *n)
{
	char text[PREFIX_TEXT_MAX], until[UTC_TEXT_MAX], others[64] = "";

	if (n->longer_n > 1)
		snprintf(others, sizeof(others), ", and so do those of %zu others", n->longer_n - 1);
	if (n->longer_n)
		warn("%s is banned %s%s already: that end stays%s%s; --replace shortens it",
		     prefix_text(text, n->longer->first, (int)n->longer->length),
		     n->longer->expires ? "until " : "without end",
		     n->longer->expires ? utc_text(until, n->longer->expires) : "", others,
		     ban_is_agents(n->longer) ? ", and yours is kept should CrowdSec end it before" : "");
	others[0] = '\0';
	if (n->reasons_n > 1)
		snprintf(others, sizeof(others), ", and so do those of %zu others", n->reasons_n - 1);
	if (n->reasons_n)
		warn("%s is banned for '%s' already: that reason stays%s; --replace puts yours there",
		     prefix_text(text, n->reasons->first, (int)n->reasons->length), n->reasons->reason, others);
	others[0] = '\0';
	if (n->former_n > 1)
		snprintf(others, sizeof(others), ", and so are those of %zu others", n->former_n - 1);
	if (n->former_n)
		warn("%s was banned for '%s': this ban ends later, and that reason is gone%s",
		     prefix_text(text, n->former->first, (int)n->former->length), n->former->reason, others);
}

static void say_shortened(const struct banned *n)
{
	char text[PREFIX_TEXT_MAX], was[UTC_TEXT_MAX], ends[UTC_TEXT_MAX], others[64] = "";
	const struct ban *first = n->shortened;

	if (!n->shortened_n)
		return;
	if (n->shortened_n > 1)
		snprintf(others, sizeof(others), ", and so do %zu others that were banned longer", n->shortened_n - 1);
	prefix_text(text, first->first, (int)first->length);
	warn("%s was banned %s%s; now it ends at %s%s", text, first->expires ? "until " : "without end",
	     first->expires ? utc_text(was, first->expires) : "", utc_text(ends, n->ends), others);
}

/* Warns of prefixes that an allow list exempts, whole or in part. */
static int say_allowed(const struct change *change, const struct prefixes *p, json_t *array)
{
	struct list_info *lists = NULL;
	size_t n = 0, first = 0;
	int err = 0;

	while (first < p->n && !ranges_touch(&change->touched.allowed, p->at[first].first, p->at[first].length))
		first++;
	if (first < p->n)
		err = state_lists(change->state, &lists, &n);
	for (size_t i = 0; i < n && !err; i++) {
		struct ranges set;

		if (lists[i].kind != LIST_ALLOW)
			continue;
		err = state_list_set(change->state, lists[i].name, &set);
		for (size_t k = first; k < p->n && !err; k++) {
			char text[PREFIX_TEXT_MAX];
			int covering;

			if (!ranges_touch(&set, p->at[k].first, p->at[k].length))
				continue;
			covering = ranges_covering(&set, p->at[k].first);
			prefix_text(text, p->at[k].first, (int)p->at[k].length);
			warn("%s%s is allowed by list '%s', and passes",
			     covering >= 0 && covering <= (int)p->at[k].length ? "" : "some of ", text, lists[i].name);
			if (array)
				json_array_append_new(array,
						      json_pack("{s:s, s:s}", "prefix", text, "list", lists[i].name));
		}
		if (!err)
			ranges_free(&set);
	}
	free(lists);
	return err;
}

void say_exempt(const struct change *change)
{
	const struct prefixes *each = &change->touched.each;
	struct prefixes banned = { 0 };
	int err = 0;

	for (size_t i = 0; i < each->n && !err; i++)
		if (ranges_covering(&change->touched.banned, each->at[i].first) >= 0) {
			err = GROW(banned.at, banned.n) ? 0 : -ENOMEM;
			if (!err)
				banned.at[banned.n++] = each->at[i];
		}
	if (err || say_allowed(change, &banned, NULL))
		warn("cannot tell which of these prefixes an allow list exempts");
	prefixes_free(&banned);
}

/* What they have besides their addresses is their scope. */
static int means_nothing(const struct ban_options *o)
{
	if (o->keep_longer && o->replace)
		return because(-EINVAL, "--keep-longer does not go together with --replace");
	if (o->scope.any)
		return because(-EINVAL, "--only any is what a ban is without it: leave it out");
	if (scope_is_all(&o->scope) || (!o->ttl.given && !o->reason && !o->keep_longer && !o->replace))
		return 0;
	return because(-EINVAL, "a ban with --only, --to or --on has no end and no reason: leave out --%s",
		       o->ttl.given	? "ttl"
		       : o->reason	? "reason"
		       : o->keep_longer ? "keep-longer"
					: "replace");
}

/* *anew: they do not go into the generation in force. */
static int add(struct change *change, const struct ban_options *o, const struct prefixes *p, struct banned *n,
	       bool *anew)
{
	int err;

	*anew = o->confirm.given;
	if (scope_is_all(&o->scope))
		return ban_add(change, o, p, n);
	err = live_scopes_add(change, &o->scope, p, (long)o->confirm.value, &n->added);
	n->kept = p->n - n->added;
	*anew = n->added;
	for (size_t i = 0; i < p->n && !err && o->force; i++)
		err = change_force_prefix(change, p->at[i].first, p->at[i].length);
	return err;
}

int verb_add(const struct call *call)
{
	static const struct apply_options anew = { 0 };
	bool json = call->context->json, quiet = call->context->quiet;
	struct prefixes prefixes = { 0 };
	struct change *change = NULL;
	const struct ban_options *o = call->options;
	struct banned n = { 0 };
	bool build = false;
	json_t *allowed;
	int err;

	if (!o->confirm.given && scope_is_all(&o->scope) && errand_prefixes_sent(call, &err))
		return err;
	allowed = json ? json_array() : NULL;
	err = prefixes_read(call->context, &prefixes, call->n, call->operands) ?: means_nothing(o);
	if (!err && !o->mask)
		err = prefixes_exact(&prefixes, "mask");
	if (!err && o->confirm.given)
		err = prefixes_once(&prefixes);
	/* By its words alone, so --check finds it too. */
	for (size_t i = 0; i < prefixes.n && !err && !o->force; i++)
		err = guard_typed(prefixes.at[i].first, prefixes.at[i].length);
	if (!err)
		err = change_begin(&change, call->context);
	if (!err)
		err = add(change, o, &prefixes, &n, &build);
	/* What goes back is the generation before: these must not be written into it. */
	if (!err)
		err = change_commit(change, build ? &anew : NULL);
	for (size_t i = 0; i < o->scope.on_n && !err && n.added; i++)
		ports_say_unfiltered(change->state, o->scope.on[i]);
	if (!err && (json || !quiet) && say_allowed(change, &prefixes, allowed))
		warn("cannot tell which of these prefixes an allow list exempts");
	if (!err) {
		say_shortened(&n);
		say_kept(&n);
	}
	change_end(change);
	prefixes_free(&prefixes);
	if (err)
		err = fail("add: %s; nothing was changed", reason(err));
	else if (json)
		err = out_json(call->context, json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:O}", "generation",
							(json_int_t)kernel_live_generation(call->context), "added",
							(json_int_t)n.added, "renewed", (json_int_t)n.renewed, "kept",
							(json_int_t)n.kept, "shortened",
							met_json(n.shortened, n.shortened_n, "expired"), "kept_ends",
							met_json(n.longer, n.longer_n, "expires"), "kept_reasons",
							met_json(n.reasons, n.reasons_n, NULL), "former_reasons",
							met_json(n.former, n.former_n, NULL), "allowed", allowed));
	else if (o->confirm.given)
		err = out_confirm(call->context, "add", &o->confirm);
	json_decref(allowed);
	banned_free(&n);
	return err;
}
