/* SPDX-License-Identifier: GPL-2.0-only */
/* Standard input: one reader reads all of it. */
#ifndef BASE_STDIN_H
#define BASE_STDIN_H

#include <stdint.h>
#include <stdio.h>

struct context;

/* 0 for the first reader, then -EBUSY; -EINVAL for a line of a file of commands. Records the reason. */
int standard_input(const struct context *context);
/* It is another one now. */
void standard_again(void);

/*
 * On the disk, as it may be large; in half of the memory that is free where that is more room. *most: so many bytes, at
 * most, are to be put into it. NULL: neither; errno says why.
 */
FILE *file_without_name(uint64_t *most);

/*
 * A copy of what can be read only once, as a descriptor at its beginning; or -errno, with the reason recorded where it
 * is too long: 1 GiB is the most. Call it before taking a lock: the writer may be slow.
 */
int standard_keep(int from);

#endif
