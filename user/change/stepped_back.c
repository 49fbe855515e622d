// SPDX-License-Identifier: GPL-2.0-only
#include "change/stepped_back.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "change/accounts_internal.h"
#include "change/change.h"
#include "state/fleet.h"
#include "state/state.h"

/* Ends are kept by two clocks, one of them in whole seconds. */
static bool is_same(const struct ban *a, const struct ban *b)
{
	return !a->expires == !b->expires && llabs(a->expires - b->expires) <= 1 && !strcmp(a->reason, b->reason);
}

static bool is_of_member(const struct accounts *a, const struct said *said, size_t n, const struct ban *is)
{
	for (size_t i = 0; i < n; i++) {
		const struct account_held *by = account_of_id(a, said[i].member);
		struct ban named = said[i].ban;

		if (!by)
			continue;
		account_in_words(&named, by);
		if (!strcmp(named.reason, is->reason))
			return true;
	}
	return false;
}

/* All that is said of one prefix. */
static int mend(struct change *change, struct said *said, size_t n, size_t *mended)
{
	struct state *state = change->state;
	struct said own = said[0];
	bool has_own = !own.member, wanted, fresh;
	struct ban is, was;
	int64_t now = time(NULL);
	int err = state_ban_get(state, own.ban.first, own.ban.length, &was);
	bool there = !err && ban_in_force(&was, now), theirs = there && is_of_member(&change->accounts, said, n, &was);

	if (err && !err_is(err, ENOENT))
		return err;
	wanted = account_judge_all(&change->accounts, said, n, now, &is);
	if (wanted == there && (!there || is_same(&is, &was)))
		return 0;
	++*mended;
	err = 0;
	if (there && !theirs)
		err = state_said_put(state, &(struct said){ was, MEMBER_OWN }, &fresh);
	else if (!there && has_own)
		err = state_said_drop(state, own.ban.first, own.ban.length, MEMBER_OWN);
	return err ?: account_judge(change, own.ban.first, own.ban.length);
}

static int mend_all(struct change *change, size_t *mended)
{
	struct said *said = NULL;
	size_t n = 0, next;
	int err = accounts_know(change) ?: state_said(change->state, &said, &n);

	for (size_t i = 0; i < n && !err; i = next) {
		const struct ban *ban = &said[i].ban;

		for (next = i + 1;
		     next < n && said[next].ban.first.num == ban->first.num &&
		     said[next].ban.first.family == ban->first.family && said[next].ban.length == ban->length;
		     next++)
			;
		err = mend(change, said + i, next - i, mended);
	}
	free(said);
	return err;
}

static int mend_what_stepped_back(struct change *change, size_t *n)
{
	struct state *state = change->state;
	int err = mend_all(change, n) ?: state_joined(state) ? state_fleet_say_all(state) : 0;

	if (!err)
		state_bans_agree(state);
	return err;
}

int stepped_back(struct state *state, struct touched *touched, size_t *n)
{
	struct change change = { .state = state, .touched = *touched };
	int err;

	*n = 0;
	err = state_stepped_back(state) ? mend_what_stepped_back(&change, n) : 0;
	err = err ?: account_judge_returned(&change);
	*touched = change.touched;
	accounts_free(&change.accounts);
	return err;
}
