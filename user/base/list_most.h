/* SPDX-License-Identifier: GPL-2.0-only */
/* What a list may bring, wherever it comes from. */
#ifndef BASE_LIST_MOST_H
#define BASE_LIST_MOST_H

#include <stdint.h>

#ifndef LIST_TEXT_MOST			     /* a test has less */
#define LIST_PACKED_MOST ((uint64_t)1 << 30) /* as it lies in its file, where that is packed, and as it is kept */
#define LIST_TEXT_MOST	 ((uint64_t)16 << 30)
#endif

#endif
