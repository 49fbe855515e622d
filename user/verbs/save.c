// SPDX-License-Identifier: GPL-2.0-only
/* save, load --image: a generation as a file, and back */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "change/apply.h"
#include "change/live_bans.h"
#include "change/agreement.h"
#include "change/change.h"
#include "image/image.h"
#include "state/kept_image.h"
#include "verbs/print_image.h"
#include "kernel/candidate.h"
#include "base/log.h"
#include "filter/measured_rate.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/bans.h"
#include "verbs/verbs.h"

/* An image in force is saved as what it is; otherwise the rate is that of the settings. */
static double asked_for(struct state *state)
{
	struct settings settings = settings_read(state);
	double asked = rate_asked(&settings);
	struct image image;

	if (!image_kept_open(state, &image, false)) {
		asked = image.header->asked;
		image_close(&image);
	}
	return asked;
}

/* Under the state's lock, so that nobody edits what is being copied. */
static int save(struct context *context, const char *path)
{
	struct image_source source = { 0 };
	struct list_info *lists = NULL;
	struct change *change = NULL;
	struct candidate live;
	char id[IMAGE_ID_MAX];
	int err = change_begin(&change, context);

	if (!err)
		err = lists_in_force(change->state, &lists, &source.lists_n);
	if (!err) {
		err = live_map(&change->live, &live, false);
		if (err_is(err, ENOENT))
			err = because(err, "nothing is loaded here");
	}
	if (!err) {
		if (agreement(change->state, &change->live.g) != AGREED)
			err = because(-EAGAIN, "program and lists disagree; 'xdp-bloom rotate' builds it anew");
		source.g = &live.g;
		source.lists = lists;
		source.asked = asked_for(change->state);
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

int verb_save(const struct call *call)
{
	const char *path = call->operands[0];
	struct image image;
	int err = save(call->context, path), status;

	if (!err)
		err = image_open(&image, path, path, false);
	if (err)
		return fail("%s; nothing was saved", reason(err));
	status = image_report(&image, path, "saved");
	image_close(&image);
	return status;
}

struct options {
	const char *image;
	bool force, ban_own, wide, dry_run;
};

#define AT(member) .target = offsetof(struct options, member)

const struct option_spec load_image_options[] = {
	{ "image", .type = OPTION_FILE, AT(image), .value = "FILE",
	  .does = "what save wrote, in the place of all lists" },
	{ "dry-run", AT(dry_run), .does = "say what would happen" },
	{ "ban-own", AT(ban_own), .does = "even addresses of this machine" },
	{ "wide", AT(wide), .does = "even if it bans a large part of the internet" },
	{ "force", AT(force), .does = "against all guard rails; lists and bans that are there go" },
	OPTIONS_END(struct options),
};

/* The image takes the place of all there is, in one switch. */
static int drop_lists(struct state *state, bool force)
{
	struct list_info *lists;
	size_t n;
	int err = state_lists(state, &lists, &n);

	if (!err && !force && state_bans_any(state))
		err = because(-EPERM, "an image takes the place of live bans, too; --force drops them");
	if (!err && n && !force)
		err = because(-EPERM, "an image takes the place of all lists, and %zu %s loaded; --force drops %s", n,
			      n == 1 ? "is" : "are", n == 1 ? "it" : "them");
	for (size_t i = 0; i < n && !err; i++)
		err = state_list_drop(state, lists[i].name);
	free(lists);
	return err ? err : state_bans_clear(state);
}

static void warn_mode(const char *image_path)
{
	struct stat st;

	if (!stat(image_path, &st) && st.st_mode & 077)
		warn("%s: its seeds are secret, and others may open it (mode %04o)", image_path, st.st_mode & 07777);
}

int verb_load_image(const struct call *call)
{
	const struct options *o = call->options;
	struct apply_options how = { .guarded = !o->force && !o->ban_own,
				     .narrow = !o->force && !o->wide,
				     .dry_run = o->dry_run };
	struct image image = { 0 };
	struct change *change = NULL;
	int err, status;

	change_check(call->context, true);
	err = call->context->check ? image_open(&image, o->image, o->image, true) : 0;
	if (!err)
		err = change_begin(&change, call->context);
	if (!err)
		err = drop_lists(change->state, o->force);
	if (!err)
		err = image_keep(change->state, o->image, &image);
	/* What a label counted was another list's. */
	for (unsigned int label = 0; label < LABELS && !err; label++)
		change_zero(change, (uint8_t)label);
	if (!err)
		err = change_commit(change, &how);
	change_end(change);
	if (!err)
		warn_mode(o->image);
	status = err ? fail("%s; nothing was loaded", reason(err))
		     : image_report(&image, o->image, o->dry_run ? "would load" : "loaded");
	image_close(&image);
	return status;
}
