/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_FREE_MEMORY_H
#define BASE_FREE_MEMORY_H

#include <stdint.h>

/* Bytes that the kernel could give now; 0: unknown. */
uint64_t memory_available(void);

#endif
