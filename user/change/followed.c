// SPDX-License-Identifier: GPL-2.0-only
#include "change/followed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "change/change.h"
#include "change/guard_rails.h"
#include "change/guard_until.h"
#include "change/list_edit.h"
#include "change/own_addresses.h"
#include "change/revert_timer.h"
#include "state/grants.h"
#include "state/state.h"
#include "state/until.h"

/* The list as it is; *known: there is one. */
static int look(struct state *state, const struct followed *f, struct list_info *list, struct ranges *before,
		bool *known)
{
	int err = state_list_get(state, f->list, list);

	*known = !err;
	if (err_is(err, ENOENT))
		return 0;
	if (err)
		return err;
	if (!list_counts(list) || strcmp(list->source, f->source) != 0)
		return because(-EEXIST, "list '%s' is from %s: unload it first, or give another name with --name",
			       f->list, list->source);
	return state_list_whole_set(state, list, before);
}

int followed_get(struct context *context, const struct followed *f, struct ranges *set)
{
	struct state *state = NULL;
	struct list_info list;
	bool known;
	int err;

	*set = RANGES_EMPTY;
	err = state_open(&state, context, false) ?: look(state, f, &list, set, &known);
	state_close(state);
	return err;
}

int followed_alone(const struct context *context, const struct followed *f)
{
	char path[STATE_PATH_MAX], name[sizeof(STATE_FOLLOWS_LOCK) + LIST_NAME_MAX];
	int err = state_make_directory(context->state);

	if (err)
		return err;
	snprintf(name, sizeof(name), STATE_FOLLOWS_LOCK "%s", f->list);
	err = lock_take(state_path(path, context->state, name), 0);
	if (err_is(err, EBUSY))
		return because(err, "list '%s' has a follower: %s", f->list, reason(err));
	return err < 0 ? err : 0;
}

static bool is_in(const void *set, struct addr addr)
{
	return ranges_covering(set, addr) >= 0;
}

/* What is allowed is needed no less, but needs nothing from us; and what was granted was what was dropped. */
static int spare(struct state *state, const char *scope, struct ranges *set, struct followed_put *put)
{
	struct ranges needs = RANGES_EMPTY, allowed = RANGES_EMPTY, left;
	int err = state_allowed_staying(state, &allowed)
			  ?: own_addresses(state, false, is_in, set, &put->spared, &put->spared_n);
	bool *anyway = err ? NULL : calloc(put->spared_n + 1, sizeof(*anyway));
	size_t n = 0;

	err = err ?: (anyway ? guard_anyway(state, put->spared, put->spared_n, scope, anyway) : -ENOMEM);
	for (size_t i = 0; i < put->spared_n && !err; i++) {
		struct own_address *own = &put->spared[i];

		if ((anyway[i] && state_granted(state, own->addr)) || is_in(&allowed, own->addr))
			continue;
		err = ranges_add_prefix(&needs, own->addr, addr_width(own->addr.family));
		put->spared[n++] = *own;
	}
	if (!err)
		put->spared_n = n;
	err = err ?: ranges_finish(&needs);
	if (!err && n) {
		err = ranges_subtract(&left, set, &needs);
		if (!err) {
			ranges_free(set);
			*set = left;
		}
	}
	free(anyway);
	ranges_free(&needs);
	ranges_free(&allowed);
	return err;
}

#define FLOOD_LEAST 1024
#define FLOOD_PART  256

struct delta {
	struct ranges came, gone;
};

static bool is_flood(const struct delta *d, const struct list_info *list)
{
	uint64_t n = ranges_count_prefixes(&d->came);

	return n >= FLOOD_LEAST && n >= list->prefixes / FLOOD_PART;
}

static int compare(struct delta *d, const struct ranges *before, const struct ranges *set)
{
	return ranges_subtract(&d->came, set, before) ?: ranges_subtract(&d->gone, before, set);
}

/* As what it holds goes back, so would this. *left: how long it waits at least. */
static int ask_trial(struct state *state, const char *list, int64_t *left)
{
	struct pending *pending;
	size_t n;
	int err = state_pending(state, &pending, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (pending[i].kind == PENDING_LIST && !strcmp(pending[i].name, list)) {
			*left = pending_left(&pending[i], 0) + 1;
			err = because_it_waits(list);
		}
	free(pending);
	return err;
}

/* Or it may again. */
static int bans(struct state *state, const struct list_info *list)
{
	return list->kind == LIST_BAN ? 1 : state_pending_has(state, PENDING_LIST_KIND, list->name);
}

static int replace(struct change *change, const struct followed *f, struct list_info *list, const struct ranges *before,
		   const struct ranges *set, const struct delta *d, bool *too_much)
{
	char number[NUMBER_TEXT_MAX];
	bool full = false;
	int asks = f->wide ? 0 : bans(change->state, list), err = asks > 0 ? guard_much(f->list, before, set) : asks;

	*too_much = err_is(err, GUARD_REFUSED);
	list->prefixes = ranges_count_prefixes(set);
	snprintf(list->addresses, sizeof(list->addresses), "%s", number_text(number, ranges_count(set)));
	utc_text(list->loaded, time(NULL));
	err = err ?: state_list_put(change->state, list, set);
	/* The label may have counted for another list. */
	if (!err && list->label_is_new)
		change_zero_given(change, list->label);
	err = err ?: list_edit(change, list, &d->came, &d->gone, &full);
	/* Where there was no room for the many that came, more will. */
	return err_is(err, EAGAIN)
		       ? change_commit(change, &(struct apply_options){ .filling = full && is_flood(d, list) })
		       : err;
}

int followed_put(struct context *context, const struct followed *f, struct ranges *set, struct followed_put *put)
{
	struct list_info list = { .kind = f->shadow ? LIST_SHADOW : LIST_BAN };
	struct ranges before = RANGES_EMPTY;
	struct delta delta = { 0 };
	struct change *change = NULL;
	bool known = false;
	int err;

	*put = (struct followed_put){ 0 };
	err = change_begin(&change, context) ?:
	      look(change->state, f, &list, &before, &known) ?:
	      spare(change->state, list.scope, set, put) ?: compare(&delta, &before, set);
	if (!err && !known) {
		snprintf(list.name, sizeof(list.name), "%s", f->list);
		snprintf(list.source, sizeof(list.source), "%s", f->source);
	}
	if (!err) {
		put->came = ranges_count(&delta.came);
		put->went = ranges_count(&delta.gone);
		put->changed = !known || put->came || put->went;
	}
	if (!err && put->changed)
		err = ask_trial(change->state, f->list, &put->waits);
	if (!err && put->changed)
		err = replace(change, f, &list, &before, set, &delta, &put->too_much);
	if (!err && change) {
		put->prefixes = put->changed ? list.prefixes : 0;
		put->generation = change->live.g.number;
	}
	change_end(change);
	ranges_free(&delta.came);
	ranges_free(&delta.gone);
	ranges_free(&before);
	return err;
}

void followed_put_free(struct followed_put *put)
{
	free(put->spared);
	*put = (struct followed_put){ 0 };
}
