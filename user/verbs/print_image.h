/* SPDX-License-Identifier: GPL-2.0-only */
/* What there is to say of an image. */
#ifndef VERBS_PRINT_IMAGE_H
#define VERBS_PRINT_IMAGE_H

struct image;

/* On one line, or as JSON: the file, what the command did, what is in it. Returns the exit status. */
int image_report(const struct image *image, const char *path, const char *did);

#endif
