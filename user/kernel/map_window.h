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
/* Does nothing if it is not a window. */
void window_close(const void *at);
/* Could some memory of this map not be mapped? */
bool window_failed(int fd);

#endif
