/* SPDX-License-Identifier: GPL-2.0-only */
/* By which a text is known again: of its beginning alone. No secret, and nobody gains by making two alike. */
#ifndef FETCH_TEXT_HASH_H
#define FETCH_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_HASH_BYTES 65536

struct text_hash {
	uint64_t sum; /* FNV-1a; 0 at first */
	size_t bytes;
};

/* False: more of it does not count. */
static inline int text_hash_add(struct text_hash *h, const char *text, size_t n)
{
	if (!h->bytes)
		h->sum = 0xcbf29ce484222325;
	for (size_t i = 0; i < n && h->bytes < TEXT_HASH_BYTES; i++, h->bytes++)
		h->sum = (h->sum ^ (unsigned char)text[i]) * 0x100000001b3;
	return h->bytes < TEXT_HASH_BYTES;
}

#endif
