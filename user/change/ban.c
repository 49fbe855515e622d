// SPDX-License-Identifier: GPL-2.0-only
#include "change/ban.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/progress.h"
#include "change/behind.h"
#include "change/live_scopes.h"
#include "change/revert_timer.h"
#include "kernel/ask.h"
#include "state/kept_image.h"
#include "state/strikes.h"

#define FAR_EACH 4096 /* so many bans, and it is looked whether somebody waits */

static int note_one(struct ban **list, size_t *n, const struct ban *ban)
{
	if (!GROW(*list, *n))
		return -ENOMEM;
	(*list)[(*n)++] = *ban;
	return 0;
}

/*
 * Who bans again knows seldom what there is already: its end is not lost. Of two reasons that of the longer ban stays,
 * as whoever takes the other one back must not end that with it.
 */
static void join(struct ban *ban, const struct ban *old)
{
	bool longer = ban_ends_later(old, ban);

	if (longer) {
		ban->expires = old->expires;
		ban->due = old->due;
	}
	if (longer || (old->reason[0] && !ban_ends_later(ban, old)))
		memcpy(ban->reason, old->reason, sizeof(ban->reason));
}

/* Nor is anything else in silence. */
static int say_met(const struct ban_options *o, const struct ban *old, const struct ban *ban, struct banned *n)
{
	int err = ban_ends_later(old, ban) ? note_one(&n->longer, &n->longer_n, old) : 0;

	if (err || !old->reason[0] || !strcmp(old->reason, ban->reason))
		return err;
	if (ban_ends_later(ban, old))
		return note_one(&n->former, &n->former_n, old);
	return o->reason || !ban_ends_later(old, ban) ? note_one(&n->reasons, &n->reasons_n, old) : 0;
}

static int merge(const struct ban_options *o, const struct ban *old, struct ban *ban, struct banned *n)
{
	int err = say_met(o, old, ban, n);

	join(ban, old);
	if (!err && !o->force && ban->expires == old->expires && !strcmp(ban->reason, old->reason))
		err = -EEXIST;
	return err;
}

static bool stays_longer(const struct ban *old, const struct ban *ban)
{
	return ban_ends_later(old, ban) || (!old->expires && !ban->expires);
}

/* The agent bans that prefix: what ends no later than its ban is kept behind it, together with what is there. */
static int meet_agents(struct change *change, const struct ban_options *o, const struct ban *agents, struct ban *ban,
		       struct banned *n)
{
	struct ban asked = *ban, behind;
	int err = behind_of(change->state, ban->first, ban->length, &behind);
	bool is_behind = !err;

	if (err && !err_is(err, ENOENT))
		return err;
	if (is_behind && o->keep_longer && stays_longer(&behind, ban))
		return -EEXIST;
	if (is_behind && !o->keep_longer)
		join(ban, &behind);
	if (ban_ends_later(ban, agents))
		return is_behind && !o->keep_longer ? say_met(o, &behind, &asked, n) : 0;
	return (o->keep_longer ? 0 : say_met(o, agents, &asked, n)) ?:
	       behind_keep(change, ban) ?:
	       (o->force ? change_force_prefix(change, ban->first, ban->length) : 0) ?:
	       -EEXIST;
}

/* There is a ban of that prefix. -EEXIST: it stays as it is; 0: it becomes *ban. */
static int meet(struct change *change, const struct ban_options *o, struct ban *ban, struct banned *n)
{
	struct ban old;
	int err = account_own(change->state, ban->first, ban->length, &old);

	if (err || !ban_in_force(&old, ban->added))
		return err;
	if (!o->replace && ban_is_agents(&old) && !ban_is_agents(ban))
		return meet_agents(change, o, &old, ban, n);
	if (o->keep_longer)
		return stays_longer(&old, ban) ? -EEXIST : 0;
	if (!o->replace)
		return merge(o, &old, ban, n);
	if (!ban_ends_later(&old, ban))
		return 0;
	n->ends = ban->expires;
	return note_one(&n->shortened, &n->shortened_n, &old);
}

void banned_free(struct banned *n)
{
	free(n->shortened);
	free(n->longer);
	free(n->reasons);
	free(n->former);
}

/* Two hundred years: the kernel can count them in ns, and their end is a date. Orders come with any time. */
#define TTL_MOST 6000000000

/* Each has a row of its own, and a line in the log when it goes back. */
#define CONFIRM_MOST 256

/* Of bans that are added or deleted: does an earlier change of one wait? With `seconds` it does from now on. */
static int confirm_bans(struct change *change, const struct prefixes *p, long seconds)
{
	int any = seconds ? 1 : state_pending_any(change->state, PENDING_BAN), err = any < 0 ? any : 0;
	char text[PREFIX_TEXT_MAX];

	if (!err && seconds && p->n > CONFIRM_MOST)
		err = because(-E2BIG, "--confirm takes %d prefixes at most; load them as a list", CONFIRM_MOST);
	/* Both would keep the bans of before in one place. */
	if (!err && seconds) {
		err = state_pending_any(change->state, PENDING_IMAGE);
		if (err > 0)
			err = because_it_waits(PENDING_IMAGE_NAME);
	}
	for (size_t i = 0; i < p->n && seconds && !err; i++) {
		err = account_others(change->state, p->at[i].first, p->at[i].length);
		if (err > 0)
			err = because(-EBUSY,
				      "members of the fleet ban %s, too: --confirm is for what only this machine bans",
				      prefix_text(text, p->at[i].first, (int)p->at[i].length));
	}
	for (size_t i = 0; i < p->n && any && !err; i++)
		err = change_pending(change, PENDING_BAN, prefix_text(text, p->at[i].first, (int)p->at[i].length),
				     seconds);
	return err;
}

static void far(const struct change *change, const char *what, size_t done, size_t n)
{
	if (done && !(done % FAR_EACH))
		progress(change->context, what, (double)done / (double)n);
}

/* A batch of single bans says itself how far it is. */
static void far_end(size_t n)
{
	if (n > FAR_EACH)
		progress_end();
}

/* What each of them is but its prefix. `clock`: as clock_boot() said when the first was asked for. */
static struct ban ban_asked(int64_t now, int64_t clock, double ttl, const char *why)
{
	struct ban asked = { .added = now };
	int64_t seconds = ttl < TTL_MOST ? (int64_t)ttl : TTL_MOST;

	if (ttl > 0) {
		asked.expires = now + seconds;
		asked.due = clock + seconds * 1000000000;
	}
	snprintf(asked.reason, sizeof(asked.reason), "%s", why ? why : "");
	clean_text(asked.reason);
	return asked;
}

/* Whoever made a ban longer has made it their own. */
#define SAME_END 10

static double seconds_left(const struct ban *ban)
{
	if (ban->due)
		return (double)(ban->due - clock_boot()) / 1e9;
	return ban->expires ? (double)(ban->expires - time(NULL)) : HUGE_VAL;
}

/* Another's ban of that prefix that ends sooner is behind this one from now on. 1: it stays, and this one is not made.
 */
static int check_whose(struct change *change, const struct ban *ban, const char *whose)
{
	struct ban old;
	int err = whose ? account_own(change->state, ban->first, ban->length, &old) : -ENOENT;

	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	if (!ban_in_force(&old, ban->added) || !strncmp(old.reason, whose, strlen(whose)))
		return 0;
	return ban_ends_later(ban, &old) ? behind_keep(change, &old) : 1;
}

/* 1: there is no such ban to take out, which has `left` s; or it is another's. */
static int check_whose_out(struct state *state, const struct prefix *p, const char *whose, double left)
{
	struct ban old;
	int err = account_own(state, p->first, p->length, &old);

	if (err)
		return err_is(err, ENOENT) ? 1 : err;
	return strncmp(old.reason, whose, strlen(whose)) != 0 || seconds_left(&old) > left + SAME_END;
}

/* Members of the fleet say it, too. */
static int add_beside(struct change *change, const struct ban_options *o, const char *whose, struct ban *ban,
		      struct banned *n)
{
	int err = check_whose(change, ban, whose) ?: meet(change, o, ban, n);
	bool fresh = err_is(err, ENOENT);

	if (err_is(err, EEXIST)) {
		n->kept++;
		return 0;
	}
	err = fresh ? 0 : err;
	err = err ?:
	      account_own_put(change, ban) ?:
	      (o->force ? change_force_prefix(change, ban->first, ban->length) : 0);
	if (!err)
		++*(fresh ? &n->added : &n->renewed);
	return err;
}

/* 1: there is another's. */
static int add_one(struct change *change, const struct ban_options *o, const char *whose, const struct ban *asked,
		   const struct prefix *p, struct banned *n)
{
	struct ban ban = *asked;
	bool fresh, renewed;
	int err = account_beside(change->state, p->first, p->length);

	ban.first = p->first;
	ban.length = p->length;
	if (err)
		return err < 0 ? err : add_beside(change, o, whose, &ban, n);
	err = state_ban_new(change->state, &ban, &fresh);
	if (!err && !fresh)
		err = check_whose(change, &ban, whose) ?:
		      meet(change, o, &ban, n) ?:
		      state_ban_put(change->state, &ban, &renewed);
	if (err_is(err, EEXIST)) {
		n->kept++;
		return 0;
	}
	err = err ?:
	      change_touch(change, ban.first, ban.length) ?:
	      account_own_changed(change, &ban, fresh) ?:
	      (o->force ? change_force_prefix(change, ban.first, ban.length) : 0);
	if (!err)
		++*(fresh ? &n->added : &n->renewed);
	return err;
}

int ban_add(struct change *change, const struct ban_options *o, const struct prefixes *p, struct banned *n)
{
	struct ban asked = ban_asked(time(NULL), clock_boot(), o->ttl.given ? o->ttl.value : 0, o->reason);
	int err = confirm_bans(change, p, (long)o->confirm.value);

	for (size_t i = 0; i < p->n && !err; i++) {
		far(change, "keeping the bans", i, p->n);
		err = add_one(change, o, NULL, &asked, &p->at[i], n);
	}
	far_end(p->n);
	return err;
}

const char *ban_answer_list(const struct list_info *lists, size_t n, __u32 answer)
{
	for (size_t i = 0; i < n && ANSWER_LABEL(answer) != LABEL_LIVE; i++)
		if (lists[i].kind == LIST_BAN && lists[i].label == ANSWER_LABEL(answer))
			return lists[i].name;
	return NULL;
}

static int because_not_banned(struct change *change, const struct prefix *p)
{
	char text[PREFIX_TEXT_MAX], other[PREFIX_TEXT_MAX];
	struct list_info *lists = NULL;
	__u32 answer = ANSWER_UNPARSED;
	const char *list;
	struct ban wider;
	size_t n = 0;
	int err;

	prefix_text(text, p->first, (int)p->length);
	if (account_others(change->state, p->first, p->length) > 0 &&
	    !state_ban_get(change->state, p->first, p->length, &wider) && ban_in_force(&wider, time(NULL)))
		return because(-ENOENT,
			       "%s is not banned by this machine, but by members of the fleet (%s): allow %s, or"
			       " see 'xdp-bloom fleet'",
			       text, wider.reason, text);
	if (!state_ban_around(change->state, p->first, p->length, time(NULL), &wider))
		return because(-ENOENT, "%s is part of the ban of %s; del that, or allow %s", text,
			       prefix_text(other, wider.first, (int)wider.length), text);
	/* The kernel still has bans that earlier lines of a batch took out. */
	if (kernel_ask(change->context, &p->first, 1, &answer) || !answer_drops(answer) ||
	    (ANSWER_LABEL(answer) == LABEL_LIVE && !image_kept(change->state)))
		return because(-ENOENT, "%s is not banned", text);
	if (ANSWER_LABEL(answer) == LABEL_LIVE)
		return because(-ENOENT, "%s is not among the live bans; the image in force bans it: allow %s", text,
			       text);
	list = lists_in_force(change->state, &lists, &n) ? NULL : ban_answer_list(lists, n, answer);
	err = because(-ENOENT, "%s is not among the live bans; %s%s%s bans it", text,
		      list ? "list '" : "something else", list ? list : "", list ? "'" : "");
	free(lists);
	return err;
}

/* 1: it is done. A ban that was replaced since, for another reason, stays. */
static int take_out_reason(struct change *change, const struct prefix *p, const char *why)
{
	char text[PREFIX_TEXT_MAX], wanted[BAN_REASON_MAX];
	struct ban ban, behind;
	int err = why ? account_own(change->state, p->first, p->length, &ban) : -ENOENT;

	if (err)
		return err_is(err, ENOENT) ? 0 : err; /* because_not_banned() has a better message */
	clean_copy(wanted, sizeof(wanted), why);
	if (ban_is_agents(&ban))
		err = behind_of(change->state, p->first, p->length, &behind);
	else
		err = -ENOENT;
	if (!strcmp(ban.reason, wanted))
		return err_is(err, ENOENT) ? 0 : err ?: behind_comes(change, &behind) ?: 1;
	if (!err && !strcmp(behind.reason, wanted))
		return behind_drop(change, p) ?: 1;
	if (err && !err_is(err, ENOENT))
		return err;
	return because(-EPERM, "%s was banned for another reason, '%s'", prefix_text(text, p->first, (int)p->length),
		       ban.reason);
}

/* -ENOENT: there is none. */
static int take_out(struct change *change, const struct prefix *p)
{
	int err = account_own_drop(change, p->first, p->length);

	/* What the detector bans by itself is not in the state yet. */
	if (err_is(err, ENOENT) && jail_has(change->context, p->first, p->length))
		err = 0;
	return err ?:
	       change_touch(change, p->first, p->length) ?:
	       state_strike_drop(change->state, p->first, p->length) ?:
	       jail_let_go(change, p->first, p->length);
}

/* In force, or by an earlier line. */
static bool may_have_scopes(const struct change *change)
{
	return change->live.err || change->live.g.scoped || change->build;
}

/* The detector's word is another's, too: nothing of it is taken back. */
static int take_out_whose(struct change *change, const char *whose, const struct ban_order *order)
{
	const struct prefix *p = &order->prefix;
	struct ban behind;
	int err = check_whose_out(change->state, p, whose, order->ttl)
			  ?: behind_of(change->state, p->first, p->length, &behind);

	if (!err_is(err, ENOENT))
		return err ?: behind_comes(change, &behind);
	return account_own_drop(change, p->first, p->length) ?: change_touch(change, p->first, p->length);
}

/* 1: what is behind the agent's ban would end later than this, and is there again. */
static int give_back(struct change *change, const char *whose, const struct ban_order *order, const struct ban *asked)
{
	const struct prefix *p = &order->prefix;
	struct ban behind;
	int err = whose ? behind_of(change->state, p->first, p->length, &behind) : -ENOENT;

	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	if (!ban_ends_later(&behind, asked))
		return 0;
	err = check_whose_out(change->state, p, whose, HUGE_VAL);
	return err > 0 ? 0 : err ?: behind_comes(change, &behind) ?: 1;
}

/* Those with a scope, too: whoever says none means all; and they have no reasons. */
static int take_out_all(struct change *change, const struct prefix *p, const char *why, const struct scope *scope,
			bool *build)
{
	char prefix[PREFIX_TEXT_MAX], text[SCOPE_TEXT_MAX];
	size_t from = 0;
	int err = !why && may_have_scopes(change) ? live_scopes_del(change, scope, p, &from) : 0;

	*build = *build || from;
	if (err)
		return err;
	if (!scope) {
		err = take_out_reason(change, p, why) ?: take_out(change, p);
		return err > 0 || (err_is(err, ENOENT) && from) ? 0 : err;
	}
	if (from)
		return 0;
	scope_text(text, scope);
	return because(-ESRCH, "%s is not banned for %s alone", prefix_text(prefix, p->first, (int)p->length), text);
}

int ban_del(struct change *change, const struct prefixes *p, const char *why, const struct scope *scope, bool *build)
{
	int err = confirm_bans(change, p, 0);

	*build = false;
	change_bans_less(change);
	for (size_t i = 0; i < p->n && !err; i++) {
		far(change, "taking the bans out", i, p->n);
		err = take_out_all(change, &p->at[i], why, scope, build);
		if (err_is(err, ENOENT))
			err = because_not_banned(change, &p->at[i]);
	}
	far_end(p->n);
	return err;
}

/* As the table has them; those of one prefix as they came. */
static int by_place(const void *a, const void *b)
{
	const struct ban_order *p = *(struct ban_order *const *)a, *q = *(struct ban_order *const *)b;
	const struct addr *x = &p->prefix.first, *y = &q->prefix.first;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	if (p->prefix.length != q->prefix.length)
		return p->prefix.length < q->prefix.length ? -1 : 1;
	if (x->num != y->num)
		return x->num < y->num ? -1 : 1;
	return (p > q) - (p < q);
}

/* Whether there is room for what a member says depends on that. */
static bool any_takes_back(const struct ban_order *orders, size_t n)
{
	size_t i = 0;

	while (i < n && !(orders[i].account && orders[i].del))
		i++;
	return i < n;
}

/* What members want banned, and this machine needs, must be known before the first of them. */
static int look_at_members(struct change *change, const struct ban_order *orders, size_t n)
{
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		if (orders[i].account && !orders[i].del) {
			any = true;
			err = account_asked(change, &orders[i].prefix);
		}
	return err || !any ? err : account_asked_all(change);
}

static int member_order(struct change *change, struct ban_order *order, struct banned *banned)
{
	bool taken = true, fresh = true;
	int err;

	if (order->del) {
		err = account_unsay(change, order->account, &order->prefix);
		order->missed = err_is(err, ENOENT);
		return order->missed ? 0 : err;
	}
	change->accounts.holds = order->waits;
	err = order->again
		      ? account_again(change, order->account, &order->prefix, &taken)
		      : account_say(change, order->account, &order->prefix, order->ttl, order->reason, &taken, &fresh);
	order->waits = change->accounts.waits;
	if (!err && taken)
		++*(fresh ? &banned->added : &banned->renewed);
	else if (!err && !order->waits && !order->again)
		banned->refused++;
	return err;
}

static int own_order(struct change *change, const struct ban_options *o, const char *whose, struct ban_order *order,
		     const struct ban *asked, struct banned *banned)
{
	struct prefixes one = { .at = &order->prefix, .n = 1 };
	int err = confirm_bans(change, &one, 0);

	/* It may wait for days, and what comes behind it may not. */
	if (err_is(err, EBUSY))
		err = guard_because("%s", reason(err));
	if (!err && !order->del)
		err = give_back(change, whose, order, asked)
			      ?: add_one(change, o, whose, asked, &order->prefix, banned);
	else if (!err)
		err = whose ? take_out_whose(change, whose, order) : take_out(change, &order->prefix);
	order->missed = err == 1 || (order->del && err_is(err, ENOENT));
	return order->missed ? 0 : err;
}

int ban_orders(struct change *change, const struct ban_options *o, const char *whose, struct ban_order *orders,
	       size_t n, struct banned *banned)
{
	struct ban_order **sorted = calloc(n + 1, sizeof(*sorted));
	struct ban_options each = *o;
	int64_t now = time(NULL), clock = clock_boot();
	bool adds = false;
	int err = sorted ? look_at_members(change, orders, n) : -ENOMEM;

	each.replace = o->replace || whose;
	for (size_t i = 0; i < n && !err; i++)
		sorted[i] = &orders[i];
	/* So each page of the table is had once. */
	if (!err && !any_takes_back(orders, n))
		qsort(sorted, n, sizeof(*sorted), by_place);
	for (size_t i = 0; i < n && !err; i++) {
		struct ban_order *order = sorted[i];
		struct ban asked = ban_asked(now, clock, order->ttl, order->reason);

		if (order->much)
			continue;
		each.reason = order->reason;
		adds = adds || !order->del;
		order->missed = false;
		err = order->account ? member_order(change, order, banned)
				     : own_order(change, &each, whose, order, &asked, banned);
	}
	free(sorted);
	if (!adds)
		change_bans_less(change);
	return err;
}
