/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory: how much is free, and large pages. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE ((size_t)2 << 20)

/* Bytes that the kernel could give now; 0: unknown. */
uint64_t memory_available(void);

/*
 * A page fault each 2 MiB only, and fewer page tables to walk.
 * Only a wish: a kernel without large pages, or with none left, gives small ones. Asked for all that malloc mapped for
 * this array, its first small page to its last: a wish for a part would make two mappings of one, which mremap(2)
 * refuses to move, so that each realloc(3) from then on would hold the old and the new at once.
 */
static inline void large_pages(void *at, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t first = (uintptr_t)at & ~page;
	uintptr_t end = ((uintptr_t)at + bytes + page) & ~page;

	if (at && bytes >= 2 * LARGE_PAGE)
		madvise((void *)first, end - first, MADV_HUGEPAGE);
}

#endif
