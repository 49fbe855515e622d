// SPDX-License-Identifier: GPL-2.0-only
/* del: takes live bans back, and says what bans still */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "change/change.h"
#include "base/context.h"
#include "base/clean_text.h"
#include "kernel/live.h"
#include "kernel/ask.h"
#include "base/log.h"
#include "base/out.h"
#include "verbs/prefixes.h"
#include "state/bans.h"
#include "verbs/verbs.h"

struct options {
	const char *reason;
};

const struct option_spec del_options[] = {
	/* What is too long is no ban's. */
	{ "reason", .type = OPTION_TEXT, .target = offsetof(struct options, reason), .value = "TEXT",
	  .does = "only bans that were given that reason" },
	OPTIONS_END(struct options),
};

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
	if (kernel_ask(context_ambient(), &p->first, 1, &answer) || !is_drop(answer) ||
	    ANSWER_LABEL(answer) == LABEL_LIVE)
		return because(-ENOENT, "%s is not banned", text);
	list = state_lists(state, &lists, &n) ? NULL : answer_list(lists, n, answer);
	err = because(-ENOENT, "%s is not among the live bans; %s%s%s bans it", text,
		      list ? "list '" : "something else", list ? list : "", list ? "'" : "");
	free(lists);
	return err;
}

/* Who takes back only what was banned for a reason leaves a ban that somebody has put in its place. */
static int check_reason(struct state *state, const struct prefix *p, const char *why)
{
	char text[PREFIX_TEXT_MAX], wanted[BAN_REASON_MAX];
	struct ban ban;
	int err = why ? state_ban_get(state, p->first, p->length, &ban) : -ENOENT;

	if (err)
		return err_is(err, ENOENT) ? 0 : err; /* there is more to say of one that is not there */
	if (!strcmp(ban.reason, clean_copy(wanted, sizeof(wanted), why)))
		return 0;
	return because(-EPERM, "%s was banned for another reason, '%s'", prefix_text(text, p->first, (int)p->length),
		       ban.reason);
}

static int drop_bans(struct change *change, const struct prefixes *p, const char *why)
{
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		err = check_reason(change->state, &p->at[i], why);
		if (!err)
			err = state_ban_drop(change->state, p->at[i].first, p->at[i].length);
		if (err_is(err, ENOENT))
			err = because_not_banned(change->state, &p->at[i]);
		if (!err)
			err = change_touch(change, p->at[i].first, p->at[i].length, false);
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
	if (!ends || !answers || kernel_ask(context_ambient(), ends, 2 * p->n, answers) ||
	    state_lists(state, &lists, &lists_n))
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

int verb_del(const struct call *call)
{
	const struct options *o = call->options;
	struct prefixes prefixes = { 0 };
	struct change *change = NULL;
	struct generation live;
	json_t *array = NULL;
	int err;

	err = prefixes_read(&prefixes, call->n, call->operands);
	if (!err)
		err = prefixes_once(&prefixes);
	if (!err)
		err = change_begin(&change, call->context);
	if (!err)
		err = drop_bans(change, &prefixes, o->reason);
	if (!err)
		err = change_commit(change, NULL);
	if (!err && opt_json)
		array = json_array();
	if (!err && prefixes.n && (opt_json || !log_settings.quiet))
		still_banned(change->state, &prefixes, array);
	change_end(change);
	if (err) {
		prefixes_free(&prefixes);
		return fail("del: %s; nothing was changed", reason(err));
	}
	err = opt_json ? out_json(json_pack("{s:I, s:I, s:o}", "generation",
					    kernel_live(call->context, &live) ? 0 : (json_int_t)live.number, "deleted",
					    (json_int_t)prefixes.n, "still_banned", array))
		       : out_end();
	prefixes_free(&prefixes);
	return err;
}
