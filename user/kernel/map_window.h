/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A map's memory, mapped only where it is touched. mmap() maps every page of a BPF map at once: to add one address to a
 * million that would be most of the work.
 */
#ifndef KERNEL_MAP_WINDOW_H
#define KERNEL_MAP_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

/* As mmap(): the map's memory, to read and to write, or MAP_FAILED. The descriptor stays open until window_close(). */
void *window_open(int fd, size_t size);
/* In the place of munmap(), of other mappings too. */
void window_close(void *at, size_t size);
/* Could some of this memory not be mapped? */
bool window_failed(const void *at);

/* From now on they are kept when they are closed, for who opens the same map again: what one has touched is there. */
void windows_keep(void);
/* Lets go of those that are kept. */
void windows_forget(void);

#endif
