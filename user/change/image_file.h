/* SPDX-License-Identifier: GPL-2.0-only */
/* A generation as a file, and back. Both: 0 or -errno with the reason recorded. */
#ifndef CHANGE_IMAGE_FILE_H
#define CHANGE_IMAGE_FILE_H

#include <stdbool.h>

#include "base/options.h"

struct context;
struct image;

struct image_load_options {
	const char *image;
	bool force, ban_own, wide, dry_run;
	struct number confirm;
};

/* Under the state's lock, so that no command edits the arrays while they are copied. */
int image_save(struct context *context, const char *path);
/* Replaces all lists and bans in one switch. */
int image_load(struct context *context, const struct image_load_options *options, struct image *image);

#endif
