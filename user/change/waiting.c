// SPDX-License-Identifier: GPL-2.0-only
#include "change/waiting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change/accounts_internal.h"
#include "change/change.h"

static void describe(struct waiting *w, const struct accounts *a, const struct said *said)
{
	char text[PREFIX_TEXT_MAX], host[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX];
	const struct account_held *by = account_of_id(a, said->member);
	const struct own_address *need;

	w->prefix = (struct prefix){ said->ban.first, said->ban.length };
	if (by)
		memcpy(w->member, by->is.name, sizeof(w->member));
	need = account_need(a, &w->prefix);
	if (need)
		snprintf(w->need, sizeof(w->need), "%s bans %s, %s",
			 prefix_text(text, w->prefix.first, (int)w->prefix.length), prefix_text(host, need->addr, -1),
			 own_text(what, need));
}

/* But for what has ended meanwhile. */
static int read_said(struct state *state, struct said **said, size_t *n)
{
	size_t all = 0;
	int err = state_said_waiting(state, said, &all);

	*n = 0;
	for (size_t i = 0; i < all && !err; i++)
		if (!(*said)[i].ban.over)
			(*said)[(*n)++] = (*said)[i];
	return err;
}

int waiting_read(struct state *state, struct waiting **waiting, size_t *n)
{
	struct change change = { .state = state };
	struct said *said = NULL;
	int err = read_said(state, &said, n);

	*waiting = NULL;
	for (size_t i = 0; i < *n && !err; i++)
		err = account_asked(&change, &(struct prefix){ said[i].ban.first, said[i].ban.length });
	if (!err && *n)
		err = accounts_know(&change) ?: account_asked_all(&change);
	if (!err && *n)
		*waiting = calloc(*n, sizeof(**waiting));
	if (!err && *n && !*waiting)
		err = -ENOMEM;
	for (size_t i = 0; i < *n && !err; i++)
		describe(&(*waiting)[i], &change.accounts, &said[i]);
	free(said);
	accounts_free(&change.accounts);
	return err;
}
