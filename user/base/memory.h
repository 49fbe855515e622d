/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory: how much is free, and large pages. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE ((size_t)2 << 20)

/* Bytes that are free; 0: unknown. */
uint64_t memory_available(void);
/* Half of what is free, and no more than this. */
uint64_t memory_half(uint64_t most);

/*
 * A hint: one page fault for 2 MiB, and fewer page tables to walk. It covers all pages that malloc mapped for this
 * array: a hint for a part would split the mapping, mremap(2) refuses to move the pieces, and each realloc(3) from then
 * on would hold the old and the new array at once.
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
