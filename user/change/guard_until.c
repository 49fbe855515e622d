// SPDX-License-Identifier: GPL-2.0-only
#include "change/guard_until.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "bpf/decide.h"
#include "change/guard_needs.h"
#include "change/own_addresses.h"
#include "image/image.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/until.h"

/* Ends are counted by the machine's start, and their dates from it each time. */
#define SAME_SECONDS 2

/* When it goes back, if it waits. */
static int image_end(struct state *state, int64_t *end)
{
	struct pending *pending = NULL;
	size_t n;
	int err = state_pending(state, &pending, &n);

	*end = UNTIL_ENDLESS;
	for (size_t i = 0; i < n && !err; i++)
		if (pending[i].kind == PENDING_IMAGE)
			*end = pending[i].deadline;
	free(pending);
	return err;
}

static void by_arrays(struct image *image, const struct own_address *own, size_t n, struct until *until, int64_t from,
		      int64_t to)
{
	for (size_t i = 0; i < n; i++)
		if (decide_shadow(&image->g, guard_decide(&image->g, own[i].addr)) & ANSWER_DROP)
			until_dropped(&until[i], false, from, to);
	image_close(image);
}

/* One that is gone, or damaged, is refused where it is to come into force. */
static int by_image(struct state *state, const struct own_address *own, size_t n, struct until *until)
{
	struct image image;
	int64_t end = UNTIL_ENDLESS;
	int err = image_kept(state) ? image_end(state, &end) ?: image_kept_open(state, &image, false) : -ENOENT;

	if (!err)
		by_arrays(&image, own, n, until, 0, end);
	if (err_is(err, ENOMEM) || end == UNTIL_ENDLESS)
		return err_is(err, ENOMEM) ? err : 0;
	err = image_before_open(state, &image);
	if (!err)
		by_arrays(&image, own, n, until, end, UNTIL_ENDLESS);
	return err_is(err, ENOMEM) ? err : 0;
}

/* For as long as this state drops each of them; free() it. */
static int look(struct state *state, const struct own_address *own, size_t n, struct until **until)
{
	struct addr *addrs = calloc(n, sizeof(*addrs));
	int err = 0;

	*until = calloc(n, sizeof(**until));
	for (size_t i = 0; i < n && addrs; i++)
		addrs[i] = own[i].addr;
	err = addrs && *until ? state_until(state, addrs, n, *until) ?: by_image(state, own, n, *until) : -ENOMEM;
	free(addrs);
	return err;
}

static int64_t last(const struct until *until)
{
	return until->all > until->some ? until->all : until->some;
}

static bool is_later(int64_t end, int64_t before)
{
	return before < UNTIL_ENDLESS - SAME_SECONDS && end > before + SAME_SECONDS;
}

int guard_longer(struct state *state, const struct context *context, const struct own_address *own, size_t n,
		 int64_t *longer)
{
	struct until *is = NULL, *was = NULL;
	struct state *before = NULL;
	int err = n ? look(state, own, n, &is) : 0, known;

	known = err || !n ? -ENOENT : state_open(&before, context, false) ?: look(before, own, n, &was);
	state_close(before);
	for (size_t i = 0; i < n && !err; i++) {
		struct until none = { 0 }, *then = known ? &none : &was[i];

		longer[i] = is_later(is[i].all, then->all) || is_later(is[i].some, last(then)) ? last(&is[i]) : 0;
	}
	free(is);
	free(was);
	return err;
}

int guard_ever(struct state *state, const struct own_address *own, size_t n, bool *ever)
{
	struct until *is = NULL;
	int err = n ? look(state, own, n, &is) : 0;

	for (size_t i = 0; i < n && !err_is(err, ENOMEM); i++)
		ever[i] = err || last(&is[i]);
	free(is);
	return err_is(err, ENOMEM) ? err : 0;
}

int guard_endless(struct state *state, const struct own_address *own, size_t n, bool *endless)
{
	struct until *is = NULL;
	int err = n ? look(state, own, n, &is) : 0;

	for (size_t i = 0; i < n && !err; i++)
		endless[i] = last(&is[i]) == UNTIL_ENDLESS;
	free(is);
	return err;
}
