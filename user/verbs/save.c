// SPDX-License-Identifier: GPL-2.0-only
/* save, load --image: a generation as a file, and back */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "change/apply.h"
#include "change/live_bans.h"
#include "change/change.h"
#include "verbs/cmd.h"
#include "image/image.h"
#include "state/kept_image.h"
#include "verbs/print_image.h"
#include "kernel/candidate.h"
#include "base/log.h"
#include "filter/measured_rate.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/bans.h"

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
		err = kernel_open_live(&live);
		if (err_is(err, ENOENT))
			err = because(err, "nothing is loaded here");
	}
	if (!err) {
		if (!bans_agree(change->state))
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

int cmd_save(struct context *context, int argc, char **argv)
{
	struct image image;
	int err, status;

	if (options_read(context, &argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc != 2)
		return fail("save: into which file?");
	err = save(context, argv[1]);
	if (!err)
		err = image_open(&image, argv[1], argv[1], false);
	if (err)
		return fail("%s; nothing was saved", reason(err));
	status = image_report(&image, argv[1], "saved");
	image_close(&image);
	return status;
}

static const char *image_path;
static bool force, ban_own, wide, dry_run;

static int image_option(int option, const char *value)
{
	switch (option) {
	case 'i':
		image_path = value;
		return 0;
	case 'o':
		ban_own = true;
		return 0;
	case 'w':
		wide = true;
		return 0;
	case 'n':
		dry_run = true;
		return 0;
	default:
		force = true;
		return 0;
	}
}

/* The image takes the place of all there is, in one switch. */
static int drop_lists(struct state *state)
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

static void warn_mode(void)
{
	struct stat st;

	if (!stat(image_path, &st) && st.st_mode & 077)
		warn("%s: its seeds are secret, and others may open it (mode %04o)", image_path, st.st_mode & 07777);
}

int cmd_load_image(struct context *context, int argc, char **argv)
{
	static const struct option own[] = {
		{ "image", required_argument, NULL, 'i' }, { "force", no_argument, NULL, 'F' },
		{ "ban-own", no_argument, NULL, 'o' },	   { "wide", no_argument, NULL, 'w' },
		{ "dry-run", no_argument, NULL, 'n' },	   { 0 },
	};
	struct apply_options options = { 0 };
	struct image image = { 0 };
	struct change *change = NULL;
	int err, status;

	force = ban_own = wide = dry_run = false;
	if (options_read(context, &argc, argv, own, image_option))
		return EXIT_ERROR;
	if (argc != 1)
		return fail("load: an image has its lists' names in it; '%s' is not wanted", argv[1]);
	options.guarded = !force && !ban_own;
	options.narrow = !force && !wide;
	options.dry_run = dry_run;
	change_check(context, true);
	err = opt_check ? image_open(&image, image_path, image_path, true) : 0;
	if (!err)
		err = change_begin(&change, context);
	if (!err)
		err = drop_lists(change->state);
	if (!err)
		err = image_keep(change->state, image_path, &image);
	/* What a label counted was another list's. */
	for (unsigned int label = 0; label < LABELS && !err; label++)
		change_zero(change, (uint8_t)label);
	if (!err)
		err = change_commit(change, &options);
	change_end(change);
	if (!err)
		warn_mode();
	status = err ? fail("%s; nothing was loaded", reason(err))
		     : image_report(&image, image_path, dry_run ? "would load" : "loaded");
	image_close(&image);
	return status;
}
