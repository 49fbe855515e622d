// SPDX-License-Identifier: GPL-2.0-only
#include "change/accounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "change/accounts_internal.h"
#include "change/change.h"
#include "change/own_addresses.h"
#include "state/behind.h"
#include "state/fleet.h"
#include "state/grants.h"

/* --- Members ------------------------------------------------------------------------------------------------------ */

static int by_id(const void *a, const void *b)
{
	const struct account_held *x = a, *y = b;

	return (x->is.id > y->is.id) - (x->is.id < y->is.id);
}

int accounts_know(struct change *change)
{
	struct accounts *a = &change->accounts;
	struct member *members = NULL;
	size_t n = 0;
	int err = a->known ? 0 : state_members(change->state, &members, &n);

	if (a->known)
		return 0;
	a->at = err ? NULL : calloc(n + 1, sizeof(*a->at));
	if (!err && !a->at)
		err = -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		a->at[a->n++].is = members[i];
	free(members);
	a->known = !err;
	if (!err && a->n)
		qsort(a->at, a->n, sizeof(*a->at), by_id);
	return err;
}

static struct account_held *find(struct accounts *a, const char *name)
{
	if (a->last < a->n && !strcmp(a->at[a->last].is.name, name))
		return &a->at[a->last];
	for (a->last = 0; a->last < a->n; a->last++)
		if (!strcmp(a->at[a->last].is.name, name))
			return &a->at[a->last];
	return NULL;
}

struct account_held *account_of_id(const struct accounts *a, int64_t id)
{
	struct account_held key = { .is.id = id };

	return a->n ? bsearch(&key, a->at, a->n, sizeof(key), by_id) : NULL;
}

/* -ENOENT: it is not known, and there are so many already. One that is new gets a number: numbers grow, so it comes
 * last. */
static int find_or_add(struct change *change, const char *name, size_t most, struct account_held **found)
{
	struct accounts *a = &change->accounts;
	struct member fresh = { .limits = member_limits_default };
	struct account_held *grown;
	int err = accounts_know(change);

	*found = err ? NULL : find(a, name);
	if (err || *found)
		return err;
	if (a->n >= most)
		return -ENOENT;
	snprintf(fresh.name, sizeof(fresh.name), "%s", name);
	err = state_member_put(change->state, &fresh);
	grown = err ? NULL : realloc(a->at, (a->n + 1) * sizeof(*a->at));
	if (!err && !grown)
		err = -ENOMEM;
	if (err)
		return err;
	a->at = grown;
	a->at[a->n] = (struct account_held){ .is = fresh };
	a->last = a->n++;
	*found = &a->at[a->last];
	return 0;
}

const struct member_limits *member_limits_of(const struct member *m, const struct member *any, bool *accepted)
{
	const struct member *rules = m->rule == MEMBER_BY_ANY && any ? any : m;

	*accepted = rules->rule == MEMBER_ACCEPTED;
	return &rules->limits;
}

static const struct member_limits *limits_of(struct accounts *a, const struct account_held *held, bool *accepted)
{
	size_t last = a->last;
	const struct account_held *any = find(a, MEMBER_ANY);

	a->last = last;
	return member_limits_of(&held->is, any ? &any->is : NULL, accepted);
}

/* --- What is in force --------------------------------------------------------------------------------------------- */

/* The members' word of one prefix, in the order of their ends, the latest first. */
static int latest_first(const void *a, const void *b)
{
	const struct said *x = a, *y = b;

	return ban_ends_later(&y->ban, &x->ban) - ban_ends_later(&x->ban, &y->ban);
}

void account_in_words(struct ban *ban, const struct account_held *by)
{
	char text[MEMBER_NAME_MAX + 2 + BAN_REASON_MAX];

	snprintf(text, sizeof(text), "%s%s%s", by->is.name, ban->reason[0] ? ": " : "", ban->reason);
	text[BAN_REASON_MAX - 1] = '\0';
	memcpy(ban->reason, text, BAN_REASON_MAX);
	clean_text(ban->reason);
}

/*
 * A member's word holds as long as it says it, and as many say it as its rule wants: the end of the ban is the latest
 * of these. What this machine says itself holds alone.
 */
bool account_judge_all(struct accounts *a, struct said *said, size_t n, int64_t now, struct ban *is)
{
	const struct ban *own = NULL;
	struct said *others = said;
	size_t counts = 0;
	bool any = false, accepted;

	if (n && !said->member) {
		own = &said->ban;
		others = said + 1;
		n--;
	}
	for (size_t i = 0; i < n; i++) {
		const struct account_held *by = account_of_id(a, others[i].member);

		if (by && !said_waits(&others[i]) && !limits_of(a, by, &accepted)->shadow &&
		    ban_in_force(&others[i].ban, now))
			others[counts++] = others[i];
	}
	if (counts)
		qsort(others, counts, sizeof(*others), latest_first);
	for (size_t i = 0; i < counts; i++) {
		const struct account_held *by = account_of_id(a, others[i].member);
		size_t quorum = limits_of(a, by, &accepted)->quorum;
		struct ban ban = others[i].ban;

		if (quorum > counts)
			continue;
		if (quorum > i + 1) {
			ban.expires = others[quorum - 1].ban.expires;
			ban.due = others[quorum - 1].ban.due;
		}
		if (any && !ban_ends_later(&ban, is))
			continue;
		any = true;
		*is = ban;
		account_in_words(is, by);
	}
	if (!own || !ban_in_force(own, now))
		return any;
	/* It is called what it will be called when this machine's own ban has ended. */
	if (!any || !ban_ends_later(is, own))
		*is = *own;
	return true;
}

/* What this machine tries holds what members say, too, and goes back: then theirs is to be in what comes back. */
static int touch_behind_trial(struct change *change, struct addr first, unsigned int length)
{
	char name[PREFIX_TEXT_MAX];
	struct said *said;
	struct ban is;
	size_t n;
	int waits = state_pending_has(change->state, PENDING_BAN, prefix_text(name, first, (int)length)), err;

	if (waits <= 0)
		return waits;
	err = state_said_of(change->state, first, length, &said, &n);
	if (!err && n && !said->member && account_judge_all(&change->accounts, said + 1, n - 1, time(NULL), &is))
		err = change_touch(change, first, length);
	free(said);
	return err;
}

int account_judge(struct change *change, struct addr first, unsigned int length)
{
	struct state *state = change->state;
	struct said *said = NULL;
	struct ban is, was;
	bool wanted, there, renewed;
	size_t n = 0;
	int err = accounts_know(change) ?: state_said_of(state, first, length, &said, &n);
	/* What only this machine says needs no row but that of bans. */
	bool alone = n == 1 && !said->member;

	wanted = !err && account_judge_all(&change->accounts, said, n, time(NULL), &is);
	free(said);
	if (!err && alone)
		err = state_said_drop(state, first, length, MEMBER_OWN);
	if (err)
		return err;
	err = state_ban_get(state, first, length, &was);
	there = !err;
	if (err && !err_is(err, ENOENT))
		return err;
	if (!wanted)
		return there ? state_ban_drop(state, first, length) ?: change_touch(change, first, length) : 0;
	if (there && is.expires == was.expires && is.due == was.due && !strcmp(is.reason, was.reason))
		return alone ? 0 : touch_behind_trial(change, first, length);
	return state_ban_put(state, &is, &renewed) ?: change_touch(change, first, length);
}

/* --- This machine's own ------------------------------------------------------------------------------------------- */

/* What is said of exactly this prefix, where anybody says anything. */
static int said_of(struct state *state, struct addr first, unsigned int length, struct said **said, size_t *n)
{
	int any = state_said_any(state);

	*said = NULL;
	*n = 0;
	return any <= 0 ? any : state_said_of(state, first, length, said, n);
}

int account_own(struct state *state, struct addr first, unsigned int length, struct ban *own)
{
	struct said *said;
	size_t n;
	int err = said_of(state, first, length, &said, &n);

	if (!err && !n)
		return state_ban_get(state, first, length, own);
	if (!err && said->member)
		err = -ENOENT;
	if (!err)
		*own = said->ban;
	free(said);
	return err;
}

int account_beside(struct state *state, struct addr first, unsigned int length)
{
	struct said *said;
	size_t n;
	int err = said_of(state, first, length, &said, &n);

	free(said);
	return err ?: n > 0;
}

int account_others(struct state *state, struct addr first, unsigned int length)
{
	struct said *said;
	size_t n;
	int err = said_of(state, first, length, &said, &n), others = n && said[n - 1].member;

	free(said);
	return err ?: others;
}

int account_own_changed(struct change *change, const struct ban *own, bool fresh)
{
	/* Nothing is behind what is no agent's, nor behind what was not there. */
	return (fresh || !ban_is_agents(own) ? state_behind_drop(change->state, own->first, own->length) : 0)
		       ?: state_own_changed(change->state, &(struct prefix){ own->first, own->length }, own, fresh);
}

int account_own_put(struct change *change, const struct ban *own)
{
	bool renewed, fresh;
	int beside = account_beside(change->state, own->first, own->length), err;

	if (beside < 0)
		return beside;
	if (!beside)
		return state_ban_put(change->state, own, &renewed) ?:
		       change_touch(change, own->first, own->length) ?:
		       account_own_changed(change, own, !renewed);
	err = state_said_put(change->state, &(struct said){ *own, MEMBER_OWN }, &fresh);
	return err ?: account_judge(change, own->first, own->length) ?: account_own_changed(change, own, fresh);
}

int account_own_drop(struct change *change, struct addr first, unsigned int length)
{
	struct state *state = change->state;
	int beside = account_beside(state, first, length), err;

	if (beside < 0)
		return beside;
	err = beside ? state_said_drop(state, first, length, MEMBER_OWN) ?: account_judge(change, first, length)
		     : state_ban_drop(state, first, length);
	return err ?:
	       state_behind_drop(state, first, length) ?:
	       state_own_changed(state, &(struct prefix){ first, length }, NULL, false);
}

/* Before the first member's word: what this machine says becomes a row beside it. */
static int own_beside(struct state *state, const struct prefix *p)
{
	struct said own = { .member = MEMBER_OWN };
	bool fresh;
	int beside = account_beside(state, p->first, p->length), err;

	if (beside)
		return beside < 0 ? beside : 0;
	err = state_ban_get(state, p->first, p->length, &own.ban);
	if (!err && ban_in_force(&own.ban, time(NULL)))
		err = state_said_put(state, &own, &fresh);
	return err_is(err, ENOENT) ? 0 : err;
}

/* --- What members say --------------------------------------------------------------------------------------------- */

static bool is_asked(const void *accounts, struct addr addr)
{
	return ranges_covering(&((const struct accounts *)accounts)->asked, addr) >= 0;
}

int account_asked(struct change *change, const struct prefix *p)
{
	return ranges_add_prefix(&change->accounts.asked, p->first, p->length);
}

int account_asked_all(struct change *change)
{
	struct accounts *a = &change->accounts;

	free(a->needs);
	a->needs = NULL;
	a->needs_n = 0;
	return ranges_finish(&a->asked) ?: own_addresses(change->state, false, is_asked, a, &a->needs, &a->needs_n);
}

const struct own_address *account_need(const struct accounts *a, const struct prefix *p)
{
	for (size_t i = 0; i < a->needs_n; i++) {
		const struct own_address *need = &a->needs[i];

		if (need->addr.family == p->first.family &&
		    !((need->addr.num ^ p->first.num) & ~addr_mask(p->first.family, p->length)))
			return need;
	}
	return NULL;
}

/* A bucket as large as all that it may have at a time. */
static bool within_rate(struct member *m, const struct member_limits *limits, int64_t now)
{
	double each = 1e6 / limits->rate, most = each * (double)limits->entries;
	int64_t at = m->free_at > now ? m->free_at : now;

	/* The clock was set back. */
	if ((double)(at - now) > most + each)
		at = now + (int64_t)most;
	if ((double)(at - now) > most)
		return false;
	m->free_at = at + (int64_t)(each + 0.5);
	return true;
}

/* NULL: it may. */
static const char *refusal(struct change *change, struct account_held *held, const struct prefix *p, char why[256])
{
	bool accepted;
	const struct member_limits *limits = limits_of(&change->accounts, held, &accepted);
	char text[PREFIX_TEXT_MAX];

	if (!accepted)
		return "it is not accepted";
	if (p->length < limits->wide[p->first.family == 6]) {
		snprintf(why, 256, "%s is wider than /%u", prefix_text(text, p->first, (int)p->length),
			 limits->wide[p->first.family == 6]);
		return why;
	}
	if (!within_rate(&held->is, limits, clock_ns(CLOCK_REALTIME) / 1000))
		return "it says more than its rate";
	return NULL;
}

static int count(struct change *change, struct account_held *held)
{
	int err = held->counted ? 0 : state_said_count(change->state, held->is.id, &held->held);

	held->counted = !err;
	return err;
}

/* What it says of it; -ENOENT. */
static int has_said(struct state *state, const struct prefix *p, int64_t id, struct said *is)
{
	struct said *said = NULL;
	size_t n = 0, i = 0;
	int err = state_said_of(state, p->first, p->length, &said, &n);

	while (i < n && said[i].member != id)
		i++;
	if (!err && i < n)
		*is = said[i];
	free(said);
	return err ?: i < n ? 0 : -ENOENT;
}

static int refuse(struct account_held *held, const char *why)
{
	held->is.refused++;
	snprintf(held->is.why, sizeof(held->is.why), "%.*s", MEMBER_WHY_MAX - 1, why);
	clean_text(held->is.why);
	return 0;
}

/* -ENOENT: it is not known, and is not to be. */
static int heard(struct change *change, const char *member, struct account_held **held)
{
	struct accounts *a = &change->accounts;
	const struct account_held *any;
	int err = accounts_know(change);

	any = err ? NULL : find(a, MEMBER_ANY);
	err = err
		      ?: find_or_add(change, member,
				     any && any->is.rule == MEMBER_ACCEPTED ? MEMBERS_MOST : STRANGERS_MOST, held);
	if (err)
		return err;
	(*held)->is.heard = time(NULL);
	(*held)->changed = true;
	return 0;
}

int account_say(struct change *change, const char *member, const struct prefix *p, double seconds, const char *reason,
		bool *taken, bool *fresh)
{
	struct accounts *a = &change->accounts;
	bool waits = a->holds || account_need(a, p), accepted;
	struct account_held *held;
	const struct member_limits *limits;
	const char *why;
	char text[256];
	struct said said;
	int err = heard(change, member, &held);

	*taken = *fresh = a->holds = a->waits = false;
	/* No room for another name: nobody is told, but nothing else stops for it. */
	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	why = refusal(change, held, p, text);
	if (why)
		return refuse(held, why);
	limits = limits_of(a, held, &accepted);
	err = count(change, held);
	if (!err && (waits || held->held >= limits->entries)) {
		err = has_said(change->state, p, held->is.id, &said);
		if (err_is(err, ENOENT) && held->held >= limits->entries)
			return refuse(held, "it has as many bans as it may have");
		/* No more of it is dropped than was. */
		waits = waits && (err || said_waits(&said) || !ban_in_force(&said.ban, time(NULL)));
		err = err_is(err, ENOENT) ? 0 : err;
	}
	if (err)
		return err;
	if (seconds <= 0 || seconds > (double)limits->ttl)
		seconds = (double)limits->ttl;
	said = (struct said){ .ban = { .first = p->first, .length = p->length }, .member = held->is.id };
	said.ban.expires = time(NULL) + (int64_t)seconds;
	said.ban.due = clock_boot() + (int64_t)seconds * 1000000000;
	said.ban.added = waits ? SAID_WAITS : time(NULL);
	snprintf(said.ban.reason, sizeof(said.ban.reason), "%s", reason ? reason : "");
	clean_text(said.ban.reason);
	err = own_beside(change->state, p) ?: state_said_put(change->state, &said, fresh);
	if (err)
		return err;
	held->held += *fresh;
	held->is.taken++;
	a->waits = waits;
	*taken = !waits;
	return account_judge(change, p->first, p->length);
}

int account_again(struct change *change, const char *member, const struct prefix *p, bool *taken)
{
	struct accounts *a = &change->accounts;
	const struct account_held *held;
	struct said said;
	bool fresh;
	int err = accounts_know(change);

	*taken = false;
	a->waits = a->holds || account_need(a, p);
	a->holds = false;
	held = err ? NULL : find(a, member);
	if (err || !held || a->waits)
		return err;
	err = has_said(change->state, p, held->is.id, &said);
	if (err || !said_waits(&said))
		return err_is(err, ENOENT) ? 0 : err;
	said.ban.added = time(NULL);
	*taken = true;
	return state_said_put(change->state, &said, &fresh) ?: account_judge(change, p->first, p->length);
}

int account_unsay(struct change *change, const char *member, const struct prefix *p)
{
	struct account_held *held;
	int err = accounts_know(change);

	held = err ? NULL : find(&change->accounts, member);
	if (err || !held)
		return err ?: -ENOENT;
	err = heard(change, member, &held) ?: count(change, held) ?:
	      state_said_no_more(change->state, p, held->is.id) ?:
	      state_said_drop(change->state, p->first, p->length, held->is.id);
	if (err)
		return err;
	held->held--;
	held->is.ended++;
	return account_judge(change, p->first, p->length);
}

/* `id` 0: all. */
static int judge_by(struct change *change, int64_t id, bool drop, size_t *n)
{
	struct said *said = NULL;
	int err = id ? state_said_by(change->state, id, &said, n) : state_said(change->state, &said, n);

	for (size_t i = 0; i < *n && !err; i++) {
		const struct ban *ban = &said[i].ban;

		/* With all of them a prefix may come several times. */
		if (i && !id && said[i - 1].ban.first.num == ban->first.num &&
		    said[i - 1].ban.first.family == ban->first.family && said[i - 1].ban.length == ban->length)
			continue;
		if (drop)
			err = state_said_drop(change->state, ban->first, ban->length, id);
		err = err ?: account_judge(change, ban->first, ban->length);
	}
	free(said);
	return err;
}

int account_judge_returned(struct change *change)
{
	size_t n;
	int err;

	if (!state_said_came_back(change->state))
		return 0;
	err = accounts_know(change) ?: judge_by(change, 0, false, &n);
	if (!err)
		state_said_is_judged(change->state);
	return err;
}

int account_forget(struct change *change, const char *member, size_t *n)
{
	struct account_held *held;
	int err = accounts_know(change);

	*n = 0;
	held = err ? NULL : find(&change->accounts, member);
	if (err || !held || !strcmp(member, MEMBER_ANY))
		return err ?: -ENOENT;
	held->held = 0;
	held->counted = held->changed = true;
	err = state_said_no_more(change->state, NULL, held->is.id) ?: judge_by(change, held->is.id, true, n);
	/* Whom no rule names is not known any more. */
	held = find(&change->accounts, member);
	if (err || held->is.rule != MEMBER_BY_ANY)
		return err;
	err = state_member_drop(change->state, held->is.id);
	if (!err)
		*held = change->accounts.at[--change->accounts.n];
	qsort(change->accounts.at, change->accounts.n, sizeof(*held), by_id);
	return err;
}

int account_rule(struct change *change, const char *member, const struct member_limits *limits)
{
	struct account_held *held;
	bool accepted;
	size_t n;
	int err = find_or_add(change, member, SIZE_MAX, &held);

	if (err)
		return err;
	/* What it said before stays what it was. */
	if (!limits && held->is.rule == MEMBER_BY_ANY)
		held->is.limits = *limits_of(&change->accounts, held, &accepted);
	held->is.rule = limits ? MEMBER_ACCEPTED : MEMBER_REFUSED;
	if (limits)
		held->is.limits = *limits;
	held->changed = true;
	return judge_by(change, strcmp(member, MEMBER_ANY) ? held->is.id : 0, false, &n);
}

int accounts_put(struct change *change)
{
	struct accounts *a = &change->accounts;
	int err = 0;

	for (size_t i = 0; i < a->n && !err; i++) {
		if (a->at[i].changed)
			err = state_member_put(change->state, &a->at[i].is);
		a->at[i].changed = a->at[i].changed && err;
	}
	return err;
}

void accounts_free(struct accounts *a)
{
	ranges_free(&a->asked);
	free(a->needs);
	free(a->at);
	*a = (struct accounts){ 0 };
}
