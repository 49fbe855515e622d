/* SPDX-License-Identifier: GPL-2.0-only */
/* Large memory in large pages: a page fault each 2 MiB, and places that are found without walking page tables. */
#ifndef LARGE_H
#define LARGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

/* Only a wish: a kernel without large pages, or with none left, gives small ones. */
static inline void large_pages(void *at, size_t bytes)
{
	uintptr_t first = ((uintptr_t)at + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	uintptr_t end = ((uintptr_t)at + bytes) & ~(LARGE_PAGE - 1);

	if (at && first < end)
		madvise((void *)first, end - first, MADV_HUGEPAGE);
}

#endif
