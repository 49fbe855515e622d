/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files in memory that another process may cut at any time: what is no longer there reads as zeros, where the kernel
 * would kill us (SIGBUS).
 */
#ifndef BASE_MAPPED_H
#define BASE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

/* As mmap() with PROT_READ (and PROT_WRITE) of a whole file; NULL with errno. */
void *mapped_file(int fd, size_t bytes, int protection, int flags);
void mapped_end(void *memory, size_t bytes);
/*
 * The first bytes of one that is read: they stay as they are from now on, whatever becomes of the file, but that all of
 * one that is cut reads as zeros. 0 or -errno.
 */
int mapped_own(void *memory, size_t bytes);
/* It was cut, and none of it is the file's any more. */
bool mapped_is_cut(const void *memory);

#endif
