// SPDX-License-Identifier: GPL-2.0-only
/* add, bans: live bans */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "change/change.h"
#include "base/clean_text.h"
#include "change/guard.h"
#include "state/kept_image.h"
#include "kernel/live.h"
#include "base/log.h"
#include "base/out.h"
#include "verbs/prefixes.h"
#include "state/bans.h"
#include "verbs/verbs.h"

struct options {
	struct number ttl;
	const char *reason;
	bool keep_longer, force;
};

#define AT(member) .target = offsetof(struct options, member)

const struct option_spec add_options[] = {
	{ "ttl", .type = OPTION_TIME, AT(ttl), .value = "TIME", .does = "for so long; without it, until del",
	  .wants = "a time such as 90s, 10m or 2d" },
	{ "reason", .type = OPTION_TEXT, AT(reason), .value = "TEXT", .does = "why; bans and test show it",
	  .most = BAN_REASON_MAX - 1 },
	{ "keep-longer", AT(keep_longer), .does = "a ban that ends later stays" },
	{ "force", AT(force), .does = "even against the guard rails" },
	OPTIONS_END(struct options),
};

struct tally_bans {
	size_t added, renewed, kept, shortened;
	struct ban longer; /* the first of those that end sooner now, as it was */
	int64_t ends;
	json_t *array; /* all of them */
};

/* -EEXIST: the ban that is there stays. One that is to end sooner than it would have is noted. */
static int keep(struct state *state, const struct options *o, const struct ban *ban, struct tally_bans *n)
{
	char text[PREFIX_TEXT_MAX], until[UTC_TEXT_MAX];
	struct ban old;
	int err;

	if (!ban->expires && !o->keep_longer)
		return 0;
	err = state_ban_get(state, ban->first, ban->length, &old);
	if (err || !ban_in_force(&old, ban->added))
		return err_is(err, ENOENT) ? 0 : err;
	if (old.expires && (!ban->expires || old.expires <= ban->expires))
		return 0;
	if (o->keep_longer)
		return -EEXIST;
	if (!n->shortened++)
		n->longer = old;
	n->ends = ban->expires;
	if (n->array)
		json_array_append_new(n->array, json_pack("{s:s, s:s?}", "prefix",
							  prefix_text(text, ban->first, (int)ban->length), "expired",
							  old.expires ? utc_text(until, old.expires) : NULL));
	return 0;
}

static void say_shortened(const struct tally_bans *n)
{
	char text[PREFIX_TEXT_MAX], was[UTC_TEXT_MAX], ends[UTC_TEXT_MAX], others[64] = "";

	if (!n->shortened)
		return;
	if (n->shortened > 1)
		snprintf(others, sizeof(others), ", and so do %zu others that were banned longer", n->shortened - 1);
	prefix_text(text, n->longer.first, (int)n->longer.length);
	warn("%s was banned %s%s; now it ends at %s%s", text, n->longer.expires ? "until " : "without end",
	     n->longer.expires ? utc_text(was, n->longer.expires) : "", utc_text(ends, n->ends), others);
}

static int put_bans(struct change *change, const struct options *o, const struct prefixes *p, struct tally_bans *n)
{
	struct ban ban = { .added = time(NULL) };
	bool renewed;
	int err = image_kept(change->state) ? because(-EBUSY, "an image is in force, and takes no bans beside it:"
							      " 'xdp-bloom flush' ends it")
					    : 0;

	ban.expires = o->ttl.given ? ban.added + (int64_t)o->ttl.value : 0;
	snprintf(ban.reason, sizeof(ban.reason), "%s", o->reason ? o->reason : "");
	clean_text(ban.reason);
	for (size_t i = 0; i < p->n && !err; i++) {
		ban.first = p->at[i].first;
		ban.length = p->at[i].length;
		err = o->force ? 0 : guard_prefix(ban.first, ban.length);
		if (!err)
			err = keep(change->state, o, &ban, n);
		if (err_is(err, EEXIST)) {
			n->kept++;
			err = 0;
			continue;
		}
		if (!err)
			err = state_ban_put(change->state, &ban, &renewed);
		if (!err)
			err = change_touch(change, ban.first, ban.length, !o->force);
		if (!err)
			++*(renewed ? &n->renewed : &n->added);
	}
	return err;
}

/* Which of them an allow list lets through, the whole or a part. */
static int say_allowed(struct state *state, const struct prefixes *p, json_t *array)
{
	struct list_info *lists;
	size_t n;
	int err = state_lists(state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct ranges set;

		if (lists[i].kind != LIST_ALLOW)
			continue;
		err = state_list_set(state, lists[i].name, &set);
		for (size_t k = 0; k < p->n && !err; k++) {
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

int verb_add(const struct call *call)
{
	const struct options *o = call->options;
	struct prefixes prefixes = { 0 };
	struct change *change = NULL;
	struct tally_bans n = { 0 };
	struct generation live;
	json_t *array = NULL;
	int err;

	n.array = opt_json ? json_array() : NULL;
	err = prefixes_read(&prefixes, call->n, call->operands);
	if (!err)
		err = change_begin(&change, call->context);
	if (!err)
		err = put_bans(change, o, &prefixes, &n);
	if (!err)
		err = change_commit(change, NULL);
	if (!err && opt_json)
		array = json_array();
	if (!err && (opt_json || !log_settings.quiet) && say_allowed(change->state, &prefixes, array))
		warn("what of it is allowed cannot be said");
	if (!err)
		say_shortened(&n);
	change_end(change);
	prefixes_free(&prefixes);
	if (err)
		json_decref(n.array);
	if (err)
		return fail("add: %s; nothing was changed", reason(err));
	if (!opt_json)
		return EXIT_DONE;
	return out_json(json_pack("{s:I, s:I, s:I, s:I, s:o, s:o}", "generation",
				  kernel_live(call->context, &live) ? 0 : (json_int_t)live.number, "added",
				  (json_int_t)n.added, "renewed", (json_int_t)n.renewed, "kept", (json_int_t)n.kept,
				  "shortened", n.array, "allowed", array));
}

static json_t *ban_json(const struct ban *ban, int64_t now)
{
	char text[PREFIX_TEXT_MAX], added[UTC_TEXT_MAX], expires[UTC_TEXT_MAX];

	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "prefix", prefix_text(text, ban->first, (int)ban->length),
			 "added", utc_text(added, ban->added), "expires",
			 ban->expires ? json_string(utc_text(expires, ban->expires)) : json_null(), "seconds_left",
			 ban->expires ? json_integer((json_int_t)(ban->expires - now)) : json_null(), "reason",
			 ban->reason[0] ? out_text(ban->reason) : json_null());
}

static void ban_text(const struct ban *ban, int64_t now)
{
	char text[PREFIX_TEXT_MAX], added[UTC_TEXT_MAX], left[32];

	snprintf(left, sizeof(left), ban->expires ? "%lld s" : "-", (long long)(ban->expires - now));
	printf("%-43s %-20s %10s  %s\n", prefix_text(text, ban->first, (int)ban->length), utc_text(added, ban->added),
	       left, ban->reason);
}

int verb_bans(const struct call *call)
{
	int64_t now = time(NULL);
	struct state *state = NULL;
	struct ban *bans = NULL;
	json_t *array = NULL;
	size_t n = 0;
	int err;

	err = state_open(&state, false);
	if (!err)
		err = state_bans(state, &bans, &n);
	state_close(state);
	if (err)
		return fail("%s", reason(err));
	if (call->context->json)
		array = json_array();
	else if (n)
		printf("%-43s %-20s %10s  %s\n", "BAN", "ADDED", "LEFT", "REASON");
	for (size_t i = 0; i < n; i++) {
		if (!ban_in_force(&bans[i], now))
			continue;
		if (call->context->json)
			json_array_append_new(array, ban_json(&bans[i], now));
		else
			ban_text(&bans[i], now);
	}
	free(bans);
	return call->context->json ? out_json(array) : out_end();
}
