/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays that grow by one element at a time. */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stdlib.h>

/*
 * Room for one more than n: twice as much whenever n is a power of two, so the room need not be recorded.
 * NULL where there is no memory; the array stays as it was. It must have been allocated here.
 */
static inline void *grow(void *array, size_t n, size_t size)
{
	return n & (n - 1) ? array : reallocarray(array, n ? 2 * n : 1, size);
}

/* True where there is room. */
#define GROW(array, n)                                                       \
	({                                                                   \
		__typeof__(array) grown_ = grow(array, n, sizeof(*(array))); \
		if (grown_)                                                  \
			(array) = grown_;                                    \
		grown_ != NULL;                                              \
	})

#endif
