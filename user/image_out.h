/* SPDX-License-Identifier: GPL-2.0-only */
/* What there is to say of an image. */
#ifndef IMAGE_OUT_H
#define IMAGE_OUT_H

struct image;

/* On one line, or as JSON: the file, what the command did, what is in it. Returns the exit status. */
int image_report(const struct image *image, const char *path, const char *did);

#endif
