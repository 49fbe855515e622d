// SPDX-License-Identifier: GPL-2.0-only
/* save, load --image: a generation as a file, and back */
#include <sys/stat.h>

#include "change/image_file.h"
#include "image/image.h"
#include "verbs/verbs.h"

int verb_save(const struct call *call)
{
	const char *path = call->operands[0];
	struct image image;
	int err = image_save(call->context, path), status;

	if (!err)
		err = image_open(&image, path, path, false);
	if (err)
		return fail("%s; nothing was saved", reason(err));
	status = image_report(call->context, &image, path, "saved");
	image_close(&image);
	return status;
}

const struct option_spec load_image_options[] = {
	{ "image", .type = OPTION_FILE, AT(image_load_options, image), .value = "FILE",
	  .does = "what save wrote, in the place of all lists" },
	{ "dry-run", AT(image_load_options, dry_run), .does = "say what would happen" },
	CONFIRM_OPTION(image_load_options),
	{ "ban-own", AT(image_load_options, ban_own), .does = "even addresses of this machine" },
	{ "wide", AT(image_load_options, wide), .does = "even if it bans a large part of the internet" },
	{ "force", AT(image_load_options, force), .does = "against all guard rails; lists and bans that are there go" },
	OPTIONS_END(struct image_load_options),
};

static void warn_mode(const char *image_path)
{
	struct stat st;

	if (!stat(image_path, &st) && st.st_mode & 077)
		warn("%s: its seeds are secret, and others may open it (mode %04o)", image_path, st.st_mode & 07777);
}

int verb_load_image(const struct call *call)
{
	const struct image_load_options *o = call->options;
	struct image image = { 0 };
	int err = image_load(call->context, o, &image), status;

	if (!err)
		warn_mode(o->image);
	status = err ? fail("%s; nothing was loaded", reason(err))
		     : image_report(call->context, &image, o->image, o->dry_run ? "would load" : "loaded");
	if (!status && !o->dry_run && !call->context->json)
		status = out_confirm(call->context, o->image, &o->confirm);
	image_close(&image);
	return status;
}
