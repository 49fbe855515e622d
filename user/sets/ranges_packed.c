// SPDX-License-Identifier: GPL-2.0-only
#include "sets/ranges_packed.h"

#include <errno.h>

static unsigned char *put(unsigned char *to, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		*to++ = (unsigned char)(number | 0x80);
	*to++ = (unsigned char)number;
	return to;
}

/* What a number of 33 bits takes, and no more; NULL where it does not end. */
static const unsigned char *get(const unsigned char *from, const unsigned char *end, uint64_t *number)
{
	unsigned int shift = 0;

	*number = 0;
	for (; from < end && shift < 35; shift += 7) {
		*number |= (uint64_t)(*from & 0x7f) << shift;
		if (!(*from++ & 0x80))
			return from;
	}
	return NULL;
}

size_t packed4_put(const struct range4 *from, size_t n, size_t *done, unsigned char *to, size_t room)
{
	unsigned char *at = to;
	uint64_t next = 0; /* the first address that the range may begin with */
	size_t i;

	for (i = 0; i < n && (size_t)(at - to) + PACKED4_MAX <= room; i++) {
		uint64_t more = from[i].hi - from[i].lo;

		at = put(at, (from[i].lo - next) << 1 | (more > 0));
		if (more)
			at = put(at, more);
		next = (uint64_t)from[i].hi + 1;
	}
	*done = i;
	return (size_t)(at - to);
}

ssize_t packed4_get(const unsigned char *from, size_t bytes, struct range4 *to)
{
	const unsigned char *end = from + bytes;
	uint64_t next = 0;
	ssize_t n = 0;

	for (; from < end; n++) {
		uint64_t gap, more = 0;

		from = get(from, end, &gap);
		if (from && gap & 1)
			from = get(from, end, &more);
		next += gap >> 1;
		if (!from || next + more > UINT32_MAX)
			return -EUCLEAN;
		if (to)
			to[n] = (struct range4){ (uint32_t)next, (uint32_t)(next + more) };
		next += more + 1;
	}
	return n;
}
