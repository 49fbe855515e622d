// SPDX-License-Identifier: GPL-2.0-only
#include "change/behind.h"

#include <errno.h>
#include <time.h>

#include "base/log.h"
#include "change/accounts.h"
#include "change/change.h"
#include "state/fleet.h"

int behind_of(struct state *state, struct addr first, unsigned int length, struct ban *behind)
{
	int err = state_behind_get(state, first, length, behind);

	return err ?: ban_in_force(behind, time(NULL)) ? 0 : -ENOENT;
}

int behind_keep(struct change *change, const struct ban *ban)
{
	/* Those of a fleet hear of it there, too. */
	return state_behind_put(change->state, ban)
		       ?: state_own_changed(change->state, &(struct prefix){ ban->first, ban->length }, ban, false);
}

int behind_drop(struct change *change, const struct prefix *p)
{
	return state_behind_drop(change->state, p->first, p->length)
		       ?: state_own_changed(change->state, p, NULL, false);
}

int behind_comes(struct change *change, const struct ban *behind)
{
	return state_behind_drop(change->state, behind->first, behind->length) ?: account_own_put(change, behind);
}

int behind_expired(struct state *state, const struct ban *bans, size_t n, struct touched *touched)
{
	struct change change = { .state = state, .touched = *touched };
	int any = n ? state_behind_any(state) : 0, err = any < 0 ? any : 0;
	struct ban behind;

	for (size_t i = 0; i < n && any && !err; i++) {
		err = behind_of(state, bans[i].first, bans[i].length, &behind);
		err = err_is(err, ENOENT) ? 0 : err ?: behind_comes(&change, &behind);
	}
	*touched = change.touched;
	accounts_free(&change.accounts);
	return err;
}
