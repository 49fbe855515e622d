// SPDX-License-Identifier: GPL-2.0-only
#include "change/guard_until.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "bpf/decide.h"
#include "change/guard_needs.h"
#include "change/own_addresses.h"
#include "image/image.h"
#include "sets/scope.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "state/until.h"

/*
 * Ends are counted by the machine's start, and their dates from it each time. Two that are counted so are compared by
 * that: what they may differ by could be asked for each time anew.
 */
#define SAME_SECONDS 2

static int by_arrays(struct image *image, const struct own_address *own, struct untils *untils, int64_t from,
		     int64_t to)
{
	int err = 0;

	for (size_t i = 0; i < untils->n && !err; i++)
		if (decide_shadow(&image->g, guard_decide(&image->g, own[i].addr)) & ANSWER_DROP)
			err = until_dropped(&untils->of[i], (struct period){ from, to, 0, 0 });
	image_close(image);
	return err;
}

/* One that is gone, or damaged, is refused where it is to come into force. */
static int by_image(struct state *state, const struct own_address *own, struct untils *untils)
{
	struct image image;
	int err = image_kept(state) ? image_kept_open(state, &image, false) : -ENOENT;

	if (!err)
		err = by_arrays(&image, own, untils, 0, untils->image);
	if (!err_is(err, ENOMEM) && untils->image != UNTIL_ENDLESS) {
		err = image_before_open(state, &image);
		if (!err)
			err = by_arrays(&image, own, untils, untils->image, UNTIL_ENDLESS);
	}
	return err_is(err, ENOMEM) ? err : 0;
}

/* When this state drops each of them; untils_free() it, also after an error. */
static int look(struct state *state, const struct own_address *own, size_t n, int64_t first_kept, struct untils *untils)
{
	struct addr *addrs = calloc(n, sizeof(*addrs));
	int err;

	*untils = (struct untils){ 0 };
	for (size_t i = 0; i < n && addrs; i++)
		addrs[i] = own[i].addr;
	err = addrs ? state_until(state, addrs, n, first_kept, untils) ?: by_image(state, own, untils) : -ENOMEM;
	free(addrs);
	return err;
}

static bool ends_later(const struct period *p, const struct period *than)
{
	return p->due && than->due ? p->due > than->due : p->to > than->to;
}

/* All these packets, all that time: by one after the other. */
static bool is_dropped(const struct untils *untils, size_t i, const struct scope *scope, const struct period *that)
{
	struct period so_far = { .to = that->from };
	bool more;

	do {
		more = false;
		for (size_t k = 0; k < untils->of[i].n; k++) {
			const struct period *p = &untils->of[i].periods[k];

			if (p->from - SAME_SECONDS > so_far.to || !ends_later(p, &so_far) ||
			    !scope_covers(&untils->scopes[p->scope], scope))
				continue;
			so_far.to = p->to > so_far.to ? p->to : so_far.to;
			so_far.due = p->due;
			more = true;
		}
	} while (more);
	return that->due && so_far.due ? that->due <= so_far.due : that->to - so_far.to <= SAME_SECONDS;
}

/* was: NULL, if it is not known. */
static int64_t longer_of(const struct untils *is, const struct untils *was, size_t i)
{
	int64_t longer = 0;

	for (size_t k = 0; k < is->of[i].n; k++) {
		const struct period *p = &is->of[i].periods[k];

		if (p->to > longer && p->to - p->from > SAME_SECONDS &&
		    (!was || !is_dropped(was, i, &is->scopes[p->scope], p)))
			longer = p->to;
	}
	return longer;
}

/* before: NULL, if it is not known. */
static int compare(struct state *state, struct state *before, const struct own_address *own, size_t n,
		   int64_t first_kept, int64_t *longer)
{
	struct untils is = { 0 }, was = { 0 };
	int err = look(state, own, n, first_kept, &is);
	bool known = !err && before && !look(before, own, n, first_kept, &was);

	for (size_t i = 0; i < n && !err; i++) {
		int64_t to = longer_of(&is, known ? &was : NULL, i);

		/* What is so only where it is confirmed waits, too. */
		longer[i] = longer[i] ?: first_kept == UNTIL_ENDLESS ? to : to != 0;
	}
	untils_free(&is);
	untils_free(&was);
	return err;
}

int guard_longer(struct state *state, const struct context *context, const struct own_address *own, size_t n,
		 int64_t *longer)
{
	struct state *before = NULL;
	int64_t *first = NULL;
	size_t first_n = 0;
	int err = n ? state_first_kept(state, &first, &first_n) : 0, unknown;

	unknown = err || !n ? -ENOENT : state_open(&before, context, false);
	for (size_t i = 0; i < n; i++)
		longer[i] = 0;
	for (size_t i = 0; i < first_n && !err; i++)
		err = compare(state, unknown ? NULL : before, own, n, first[i], longer);
	state_close(before);
	free(first);
	return err;
}

int guard_ever(struct state *state, const struct own_address *own, size_t n, bool *ever)
{
	struct untils is = { 0 };
	int err = n ? look(state, own, n, UNTIL_ENDLESS, &is) : 0;

	for (size_t i = 0; i < n && !err_is(err, ENOMEM); i++)
		ever[i] = err || is.of[i].n;
	untils_free(&is);
	return err_is(err, ENOMEM) ? err : 0;
}

bool guard_after(struct state *state, const struct own_address *own, int64_t after)
{
	struct untils is = { 0 };
	bool dropped = look(state, own, 1, UNTIL_ENDLESS, &is);

	for (size_t k = 0; !dropped && k < is.of->n; k++)
		dropped = is.of->periods[k].to - after > SAME_SECONDS;
	untils_free(&is);
	return dropped;
}

static int anyway_if(struct state *state, const struct own_address *own, size_t n, const struct scope *scope,
		     int64_t first_kept, bool *anyway)
{
	struct untils is = { 0 };
	int err = look(state, own, n, first_kept, &is);

	/* Where an exception lets it through, the list would not drop it. */
	for (size_t i = 0; i < n && !err; i++) {
		struct period all = { .from = is.of[i].excepted, .to = is.of[i].again ?: UNTIL_ENDLESS };

		anyway[i] = anyway[i] && is_dropped(&is, i, scope, &all);
	}
	untils_free(&is);
	return err;
}

int guard_anyway(struct state *state, const struct own_address *own, size_t n, const char *scope, bool *anyway)
{
	int64_t *first = NULL;
	size_t first_n = 0;
	struct scope of;
	int err = n ? scope_parse(&of, scope) ?: state_first_kept(state, &first, &first_n) : 0;

	for (size_t i = 0; i < n; i++)
		anyway[i] = !err;
	for (size_t i = 0; i < first_n && !err; i++)
		err = anyway_if(state, own, n, &of, first[i], anyway);
	for (size_t i = 0; i < n && err; i++)
		anyway[i] = false;
	free(first);
	return err;
}
