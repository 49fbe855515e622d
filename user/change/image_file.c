// SPDX-License-Identifier: GPL-2.0-only
#include "change/image_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "change/agreement.h"
#include "change/change.h"
#include "change/feed_row.h"
#include "change/revert_timer.h"
#include "filter/measured_rate.h"
#include "image/image.h"
#include "image/write.h"
#include "kernel/generation.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "state/settings.h"

/* An image in force is saved as what it is; otherwise the rate is that of the settings, or of its size. */
static double asked_for(struct state *state, const struct generation *g)
{
	struct settings settings = settings_read(state);
	double asked = rate_asked(&settings, g);
	struct image image;

	if (!image_kept_open(state, &image, false)) {
		asked = image.header->asked;
		image_close(&image);
	}
	return asked;
}

int image_save(struct context *context, const char *path)
{
	struct image_source source = { 0 };
	struct list_info *lists = NULL;
	struct change *change = NULL;
	struct candidate live;
	char id[IMAGE_ID_MAX];
	int err = change_begin(&change, context) ?: lists_in_force(change->state, &lists, &source.lists_n);

	if (!err) {
		err = live_map(&change->live, &live, false);
		if (err_is(err, ENOENT))
			err = because(err, "nothing is loaded here");
	}
	if (!err) {
		if (agreement(change->state, &change->live.g) != AGREED)
			err = because(-EAGAIN, "program and lists disagree; 'xdp-bloom rotate' rebuilds it");
		if (!err && live.g.scoped)
			err = because(-EOPNOTSUPP,
				      "an image has no room for lists with a scope: load them with --only any,"
				      " or unload them");
		source.g = &live.g;
		source.lists = lists;
		source.asked = asked_for(change->state, &live.g);
		if (!err)
			err = image_write(path, &source, id);
		if (!err && state_bans_next(change->state))
			warn("%s: live bans that run out here do not run out where it is loaded", path);
		kernel_release(&live);
	}
	free(lists);
	change_end(change);
	return err;
}

/* What came back beside an image would be lists and bans, and it takes none. */
static int nothing_waits(struct state *state)
{
	struct pending *pending;
	size_t n;
	int err = state_pending(state, &pending, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (pending[i].kind != PENDING_INTERFACE)
			err = because_it_waits(pending[i].name);
	free(pending);
	return err;
}

/* One whose list has not come yet would come beside the image. */
static int no_feed(struct state *state)
{
	struct feed *feeds;
	size_t n;
	int err = state_feeds(state, &feeds, &n);

	if (!err && n)
		err = because(-EPERM,
			      "an image takes the place of all lists, and '%s' is to be fetched; --force drops it",
			      feeds[0].list);
	free(feeds);
	return err;
}

/* Exceptions are a list, too. */
static int nothing_is_dropped(const struct list_info *lists, size_t n, bool bans)
{
	char others[48] = "";

	if (!n)
		return bans ? because(-EPERM, "an image takes the place of live bans, too; --force drops them") : 0;
	if (n > 1)
		snprintf(others, sizeof(others), " and %zu others", n - 1);
	return because(-EPERM, "an image takes the place of all lists%s, and '%s'%s %s loaded; --force drops %s",
		       bans ? " and live bans" : "", lists[0].name, others, n == 1 ? "is" : "are",
		       n == 1 && !bans ? "it" : "them");
}

static int drop_lists(struct change *change, bool force, long confirm)
{
	struct state *state = change->state;
	struct list_info *lists;
	size_t n;
	int err = nothing_waits(state);

	/* What was banned and allowed beside the image in force stays. */
	if (!err && image_kept(state))
		return change_pending(change, PENDING_IMAGE, PENDING_IMAGE_NAME, confirm);
	err = err ?: state_lists(state, &lists, &n);
	if (err)
		return err;
	if (!force)
		err = nothing_is_dropped(lists, n, state_bans_any(state)) ?: no_feed(state);
	for (size_t i = 0; i < n && !err; i++)
		err = confirm ? change_pending_drop(change, lists[i].name, confirm)
			      : state_list_drop(state, lists[i].name);
	free(lists);
	return err ?: feed_rows_drop(change, confirm) ?: change_pending(change, PENDING_IMAGE, PENDING_IMAGE_NAME, confirm) ?: state_bans_clear(state);
}

int image_load(struct context *context, const struct image_load_options *o, struct image *image)
{
	struct apply_options how = { .narrow = !o->force && !o->wide, .arrives = true, .dry_run = o->dry_run };
	struct change *change = NULL;
	int err;

	change_check(context, true);
	err = context->check ? image_open(image, o->image, o->image, true) : 0;
	err = err ?:
	      change_begin(&change, context) ?:
	      drop_lists(change, o->force, o->dry_run ? 0 : (long)o->confirm.value) ?:
	      image_keep(change->state, o->image, image);
	/* The labels counted for other lists so far. */
	for (unsigned int label = 0; label < LABELS && !err; label++)
		change_zero(change, (uint8_t)label);
	if (!err && (o->force || o->ban_own))
		err = change_force(change, NULL);
	err = err ?: change_commit(change, &how);
	change_end(change);
	return err;
}
