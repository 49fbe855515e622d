// SPDX-License-Identifier: GPL-2.0-only
#include "state/settle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image/contents.h"
#include "image/image.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "state/bans.h"
#include "state/settings.h"

/* Live bans after the lists: what a list bans stays on its account. Shadow lists last: they count what nothing bans. */
static size_t order(struct account *accounts, const struct list_info *lists, const struct ranges *sets, size_t n,
		    const struct ranges *live, const struct ranges *ending)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (lists[i].kind == LIST_BAN)
			accounts[count++] = (struct account){ &sets[i], lists[i].label };
	if (live->n4 || live->n6)
		accounts[count++] = (struct account){ live, LABEL_LIVE };
	if (ending->n4 || ending->n6)
		accounts[count++] = (struct account){ ending, LABEL_ENDS };
	for (size_t i = 0; i < n; i++)
		if (lists[i].kind == LIST_SHADOW)
			accounts[count++] = (struct account){ &sets[i], lists[i].label };
	return count;
}

void settled_free(struct settled *s)
{
	owned_free(&s->owned);
	ranges_free(&s->allowed);
}

/* Only the roster says which drop is whose. And a list has that label where there are as many lists. */
bool settle_ends(struct state *state)
{
	bool is = settings_read(state).exact;
	struct list_info *lists = NULL;
	struct image image;
	size_t n = 0;

	if (!image_kept_open(state, &image, false)) {
		is = image_is_exact(&image);
		image_close(&image);
	}
	is = is && !lists_in_force(state, &lists, &n);
	for (size_t i = 0; i < n && is; i++)
		is = lists[i].kind == LIST_ALLOW || lists[i].label != LABEL_ENDS;
	free(lists);
	return is;
}

int settle(struct settled *s, struct state *state)
{
	struct list_info *lists;
	struct ranges *sets = NULL, live = RANGES_EMPTY, ending = RANGES_EMPTY;
	struct account *accounts = NULL;
	size_t n, count = 0;
	int err;

	memset(s, 0, sizeof(*s));
	err = state_lists(state, &lists, &n);
	if (!err) {
		sets = calloc(n + 1, sizeof(*sets));
		accounts = calloc(n + 3, sizeof(*accounts));
		err = sets && accounts ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n && !err; i++) {
		if (list_counts(&lists[i]))
			err = state_list_whole_set(state, &lists[i], &sets[i]);
		if (lists[i].kind == LIST_SHADOW) {
			s->shadows = 1;
			s->shadow[lists[i].label / 64] |= 1ULL << (lists[i].label % 64);
		}
	}
	s->ends = !err && settle_ends(state);
	if (!err && s->ends)
		err = state_bans_sets(state, time(NULL), NULL, &live, &ending);
	else if (!err)
		err = state_bans_set(state, time(NULL), NULL, &live);
	s->ends = ending.n4 || ending.n6;
	err = err ?: state_allowed(state, &s->allowed);
	if (!err)
		count = order(accounts, lists, sets, n, &live, &ending);
	/* The usual case, and that of the largest sets, without a copy. */
	if (!err && count == 1 && !s->allowed.n4 && !s->allowed.n6)
		err = owned_take(&s->owned, (struct ranges *)accounts->banned, accounts->label);
	else if (!err)
		err = owned_settle(&s->owned, accounts, count, &s->allowed);
	s->plain = count == 1 && !s->shadows;
	ranges_free(&live);
	ranges_free(&ending);
	for (size_t i = 0; sets && i < n; i++)
		ranges_free(&sets[i]);
	free(sets);
	free(accounts);
	free(lists);
	if (err)
		settled_free(s);
	return err;
}

bool settled_shadow(const struct settled *s, uint8_t label)
{
	return s->shadow[label / 64] >> (label % 64) & 1;
}
