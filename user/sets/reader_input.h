/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SETS_READER_INPUT_H
#define SETS_READER_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes from a file or standard input, unpacked on the way where they begin as gzip, xz or zstd do. */
struct input;

/* All return a negative errno and a reason in words when they fail. input_begin() finds out how it is packed. */
int input_open(struct input **input, const char *path, const char **reason);
int input_begin(struct input *input, const char **reason);
/* Of a list that was fetched: it unpacks to no more bytes than these. 0: what files may unpack to. */
void input_limit(struct input *input, uint64_t unpacked);
/* Fills buf unless the input ends before: then it returns less than size. */
ssize_t input_read(struct input *input, void *buf, size_t size, const char **reason);
void input_close(struct input *input);

/* Bytes of the file that were taken, as it lies there. */
uint64_t input_taken(const struct input *input);
/* The same, here or in a child; UINT64_MAX: it is a pipe. */
uint64_t input_at(const struct input *input);
/* How much of the file that is, 0 to 1; negative where the size is not known. */
double input_progress(const struct input *input);

int input_fd(const struct input *input);
/* From now on it reads from another descriptor of the same file, which it does not close. */
void input_move(struct input *input, int fd);

#endif
