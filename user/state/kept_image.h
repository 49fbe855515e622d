/* SPDX-License-Identifier: GPL-2.0-only */
/* The image in force: the state directory holds a copy of it, under a number that the state knows. */
#ifndef STATE_KEPT_IMAGE_H
#define STATE_KEPT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct list_info;
struct state;

/* Its number, or 0: lists are in force. */
uint64_t image_kept(struct state *state);

/* -ENOENT where there is none. whole: as in image_open(). */
int image_kept_open(struct state *state, struct image *image, bool whole);
/* The image that comes back unless the one in force is confirmed; 0, or -ENOENT: none. */
int image_before(const struct state *state, uint64_t *number);
int image_before_open(struct state *state, struct image *image);

/*
 * Copies a file into the state directory, checks the copy from end to end and, in the open state, makes it the image in
 * force. After the commit comes image_sweep(); without one, state_close() removes the copy.
 */
int image_keep(struct state *state, const char *path, struct image *image);
/* Is there memory for it in the kernel? -E2BIG with the reason recorded if not. */
int image_fits(struct state *state, const struct image *image);
/* Lists are in force again. */
int image_leave(struct state *state);
/* Removes every copy but this. */
void image_sweep(const struct state *state, uint64_t kept);

/* The lists in force: those of the image, where there is one; free() the array. */
int lists_in_force(struct state *state, struct list_info **lists, size_t *n);

#endif
