// SPDX-License-Identifier: GPL-2.0-only
/* add, del, bans: live bans */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "change.h"
#include "clean.h"
#include "cmd.h"
#include "guard.h"
#include "image_kept.h"
#include "kernel.h"
#include "log.h"
#include "out.h"
#include "prefixes.h"
#include "state_bans.h"

static long ttl;
static const char *why;

static int add_option(int option, const char *value)
{
	switch (option) {
	case 't':
		ttl = change_seconds(value);
		return ttl < 0 ? fail("--ttl takes a time such as 90s, 10m or 2d, not '%s'", value) : 0;
	case 'r':
		why = value;
		return strlen(value) < BAN_REASON_MAX ? 0 : fail("--reason takes at most %d bytes", BAN_REASON_MAX - 1);
	default:
		return options_force_fn(option, value);
	}
}

struct tally_bans {
	size_t added, renewed;
};

static int put_bans(struct state *state, const struct prefixes *p, struct tally_bans *n)
{
	struct ban ban = { .added = time(NULL) };
	bool renewed;
	int err = image_kept(state) ? because(-EBUSY, "an image is in force, and takes no bans beside it:"
						      " 'xdp-bloom flush' ends it")
				    : 0;

	ban.expires = ttl ? ban.added + ttl : 0;
	snprintf(ban.reason, sizeof(ban.reason), "%s", why ? why : "");
	clean_text(ban.reason);
	for (size_t i = 0; i < p->n && !err; i++) {
		ban.first = p->at[i].first;
		ban.length = p->at[i].length;
		err = opt_force ? 0 : guard_prefix(ban.first, ban.length);
		if (!err)
			err = state_ban_put(state, &ban, &renewed);
		if (!err)
			err = change_touch(ban.first, ban.length, !opt_force);
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

int cmd_add(int argc, char **argv)
{
	static const struct option own[] = { { "ttl", required_argument, NULL, 't' },
					     { "reason", required_argument, NULL, 'r' },
					     { "force", no_argument, NULL, 'F' },
					     { 0 } };
	struct prefixes prefixes = { 0 };
	struct state *state = NULL;
	struct tally_bans n = { 0 };
	struct generation live;
	json_t *array = NULL;
	int err;

	ttl = 0;
	why = NULL;
	if (options_read(&argc, argv, own, add_option))
		return EXIT_ERROR;
	if (argc < 2)
		return fail("add: which address or prefix? (- reads them from standard input)");
	err = prefixes_read(&prefixes, argc, argv);
	if (!err)
		err = change_begin(&state);
	if (!err)
		err = put_bans(state, &prefixes, &n);
	if (!err)
		err = change_commit(state, NULL);
	if (!err && opt_json)
		array = json_array();
	if (!err && (opt_json || !opt_quiet) && say_allowed(state, &prefixes, array))
		warn("what of it is allowed cannot be said");
	change_end(state);
	prefixes_free(&prefixes);
	if (err)
		return fail("add: %s; nothing was changed", reason(err));
	if (!opt_json)
		return EXIT_DONE;
	return out_json(json_pack("{s:I, s:I, s:I, s:o}", "generation",
				  kernel_live(&live) ? 0 : (json_int_t)live.number, "added", (json_int_t)n.added,
				  "renewed", (json_int_t)n.renewed, "allowed", array));
}

/* The list on whose account an answer drops; NULL where the arrays cannot tell. */
static const char *answer_list(const struct list_info *lists, size_t n, __u32 answer)
{
	for (size_t i = 0; i < n && ANSWER_LABEL(answer) != LABEL_LIVE; i++)
		if (lists[i].kind == LIST_BAN && lists[i].label == ANSWER_LABEL(answer))
			return lists[i].name;
	return NULL;
}

static bool is_drop(__u32 answer)
{
	return answer != ANSWER_UNPARSED && answer & ANSWER_DROP;
}

/* Why there is nothing to take out. */
static int because_not_banned(struct state *state, const struct prefix *p)
{
	char text[PREFIX_TEXT_MAX], other[PREFIX_TEXT_MAX];
	struct list_info *lists = NULL;
	__u32 answer = ANSWER_UNPARSED;
	const char *list;
	struct ban wider;
	size_t n = 0;
	int err;

	prefix_text(text, p->first, (int)p->length);
	if (!state_ban_around(state, p->first, p->length, time(NULL), &wider))
		return because(-ENOENT, "%s is part of the ban of %s; del that, or allow %s", text,
			       prefix_text(other, wider.first, (int)wider.length), text);
	/* What a line before took back, the kernel has still. */
	if (kernel_ask(&p->first, 1, &answer) || !is_drop(answer) || ANSWER_LABEL(answer) == LABEL_LIVE)
		return because(-ENOENT, "%s is not banned", text);
	list = state_lists(state, &lists, &n) ? NULL : answer_list(lists, n, answer);
	err = because(-ENOENT, "%s is not among the live bans; %s%s%s bans it", text,
		      list ? "list '" : "something else", list ? list : "", list ? "'" : "");
	free(lists);
	return err;
}

static int drop_bans(struct state *state, const struct prefixes *p)
{
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		err = state_ban_drop(state, p->at[i].first, p->at[i].length);
		if (err == -ENOENT)
			err = because_not_banned(state, &p->at[i]);
		if (!err)
			err = change_touch(p->at[i].first, p->at[i].length, false);
	}
	return err;
}

static void say_still_banned(const struct prefix *p, const struct ban *wider, const char *list, json_t *array)
{
	char text[PREFIX_TEXT_MAX], other[PREFIX_TEXT_MAX] = "";

	prefix_text(text, p->first, (int)p->length);
	if (wider)
		prefix_text(other, wider->first, (int)wider->length);
	if (array)
		json_array_append_new(array, json_pack("{s:s, s:s, s:s?}", "prefix", text, "list",
						       wider  ? LIVE_LIST
						       : list ? list
							      : "",
						       "by", wider ? other : NULL));
	else if (wider)
		printf("%s stays banned: the ban of %s holds it\n", text, other);
	else
		printf("%s%s stays banned by %s%s%s\n", addr_width(p->first.family) == p->length ? "" : "some of ",
		       text, list ? "list '" : "another entry", list ? list : "", list ? "'" : "");
}

/* What is dropped still: by a wider ban, or a list. Asked at its first address and at its last. */
static void still_banned(struct state *state, const struct prefixes *p, json_t *array)
{
	struct addr *ends = calloc(2 * p->n + 1, sizeof(*ends));
	__u32 *answers = calloc(2 * p->n + 1, sizeof(*answers));
	struct list_info *lists = NULL;
	int64_t now = time(NULL);
	size_t lists_n = 0;
	struct ban wider;

	for (size_t i = 0; ends && i < p->n; i++) {
		ends[2 * i] = ends[2 * i + 1] = p->at[i].first;
		ends[2 * i + 1].num |= addr_mask(p->at[i].first.family, p->at[i].length);
	}
	if (!ends || !answers || kernel_ask(ends, 2 * p->n, answers) || state_lists(state, &lists, &lists_n))
		warn("what stays banned cannot be said");
	else
		for (size_t i = 0; i < p->n; i++) {
			bool first = is_drop(answers[2 * i]);

			if (!first && !is_drop(answers[2 * i + 1]))
				continue;
			if (!state_ban_around(state, p->at[i].first, p->at[i].length, now, &wider))
				say_still_banned(&p->at[i], &wider, NULL, array);
			else
				say_still_banned(&p->at[i], NULL,
						 answer_list(lists, lists_n, answers[first ? 2 * i : 2 * i + 1]),
						 array);
		}
	free(lists);
	free(ends);
	free(answers);
}

int cmd_del(int argc, char **argv)
{
	struct prefixes prefixes = { 0 };
	struct state *state = NULL;
	struct generation live;
	json_t *array = NULL;
	int err;

	if (options_read(&argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc < 2)
		return fail("del: which address or prefix? (- reads them from standard input)");
	err = prefixes_read(&prefixes, argc, argv);
	if (!err)
		err = prefixes_once(&prefixes);
	if (!err)
		err = change_begin(&state);
	if (!err)
		err = drop_bans(state, &prefixes);
	if (!err)
		err = change_commit(state, NULL);
	if (!err && opt_json)
		array = json_array();
	if (!err && prefixes.n && (opt_json || !opt_quiet))
		still_banned(state, &prefixes, array);
	change_end(state);
	if (err) {
		prefixes_free(&prefixes);
		return fail("del: %s; nothing was changed", reason(err));
	}
	err = opt_json ? out_json(json_pack("{s:I, s:I, s:o}", "generation",
					    kernel_live(&live) ? 0 : (json_int_t)live.number, "deleted",
					    (json_int_t)prefixes.n, "still_banned", array))
		       : out_end();
	prefixes_free(&prefixes);
	return err;
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

int cmd_bans(int argc, char **argv)
{
	int64_t now = time(NULL);
	struct state *state = NULL;
	struct ban *bans = NULL;
	json_t *array = NULL;
	size_t n = 0;
	int err;

	if (options_read(&argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("bans: takes no '%s'", argv[1]);
	err = state_open(&state, false);
	if (!err)
		err = state_bans(state, &bans, &n);
	state_close(state);
	if (err)
		return fail("%s", reason(err));
	if (opt_json)
		array = json_array();
	else if (n)
		printf("%-43s %-20s %10s  %s\n", "BAN", "ADDED", "LEFT", "REASON");
	for (size_t i = 0; i < n; i++) {
		if (!ban_in_force(&bans[i], now))
			continue;
		if (opt_json)
			json_array_append_new(array, ban_json(&bans[i], now));
		else
			ban_text(&bans[i], now);
	}
	free(bans);
	return opt_json ? out_json(array) : out_end();
}
