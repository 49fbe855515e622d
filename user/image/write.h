/* SPDX-License-Identifier: GPL-2.0-only */
/* A generation into a file. */
#ifndef IMAGE_WRITE_H
#define IMAGE_WRITE_H

#include "image/image.h"

/* What becomes an image: the members of g that stand for maps are addresses. */
struct image_source {
	const struct generation *g;
	const struct list_info *lists; /* those without a label are left out */
	size_t lists_n;
	double asked;
};

/* Writes it beside the name and renames it into place, mode 0600, on the disk when it returns; id names it. */
int image_write(const char *path, const struct image_source *source, char id[IMAGE_ID_MAX]);

#endif
