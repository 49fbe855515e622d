/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IMAGE_VALIDATE_H
#define IMAGE_VALIDATE_H

struct generation;

/* What is wrong with a generation's numbers, which may come from anywhere, or NULL. */
const char *image_fault(const struct generation *g);

#endif
