/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A map's memory, of which only what is touched is brought in. The kernel maps every page of a BPF map at once: for one
 * more address among a million that is the greater part of the work.
 */
#ifndef KERNEL_MAP_WINDOW_H
#define KERNEL_MAP_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

/* As mmap(): the map's memory, to read and to write, or MAP_FAILED. The descriptor stays open until window_close(). */
void *window_open(int fd, size_t size);
/* Nothing where it is no window's. */
void window_close(const void *at);
/* Did some memory of this map not come? */
bool window_failed(int fd);

#endif
