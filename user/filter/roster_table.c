// SPDX-License-Identifier: GPL-2.0-only
#include "filter/roster_table.h"

/* What undoes the multiplication: each step doubles the bits that are right, of which an odd number has three. */
static __u32 inverse(__u32 odd)
{
	__u32 x = odd;

	for (int bits = 3; bits < 32; bits *= 2)
		x *= 2 - odd * x;
	return x;
}

/* The mixed number of that place in its bucket; false: none has it. */
static bool unplace(__u64 shape, __u64 bucket, __u64 place, __u32 *mixed)
{
	__u64 buckets = CODES4_BUCKETS(shape), first = ((bucket << 32) + buckets - 1) / buckets;
	__u64 guess = (place << 32) / CODES4_SHARE(shape) / buckets;

	for (__u64 x = first + guess - (guess > 0); x <= first + guess + 1 && x >> 32 == 0; x++) {
		struct code4 at = codes4_place(shape, (__u32)x);

		*mixed = (__u32)x;
		if (at.bucket == bucket && at.code == place)
			return true;
	}
	return false;
}

bool codes4_addr(const struct generation *g, __u64 bucket, __u32 code, __u32 *addr)
{
	bool second = codes4_is_second(g->roster4_buckets, code);
	__u32 mixed;

	if (!code || !unplace(g->roster4_buckets, bucket, second ? CODES4_TOP - code : code - 1, &mixed))
		return false;
	if (second)
		mixed = fold32(mixed * inverse((__u32)g->hash.mul3));
	*addr = fold32(mixed * inverse((__u32)g->hash.mul2)) * inverse((__u32)g->hash.mul1) - (__u32)g->hash.add;
	return true;
}

bool addr4_at(const struct generation *g, __u64 at, unsigned int slot, __u32 *addr)
{
	__u32 value = value4_at(g, at, slot);

	if (keeps_codes4(g))
		return codes4_addr(g, at, value, addr);
	*addr = value;
	return is_bucket_of(g, at, value);
}
