/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Bloom filter, in one of three layouts. All of them take a key as its hash, and what more they need from the chain
 * of hash_more() that begins with it.
 *
 * lanes: a key picks one block of eight 64-bit words, and one bit in each: k = 8, one cache line.
 * lanes2: it does so in two blocks: k = 16; a "no" is nearly always settled by the first.
 * classic: k bits anywhere: the least memory, up to k cache lines.
 *
 * A generation's layout is in its constants: lanes_blocks is 0 for classic, and k tells lanes from lanes2. The lanes
 * need lanes_blocks anyway, so that on the way of a packet that passes the choice costs no instruction.
 *
 * The rates of wrong yeses are in user/filter/formulas.h, and docs/design.md says why there are three.
 */
#ifndef FILTER_H
#define FILTER_H

#include "hash.h"

#define FILTER_LANES 8

/* --- Lanes -------------------------------------------------------------------------------------------------------- */

inline_always __u64 lanes_block(__u64 hash, __u64 blocks)
{
	return reduce(hash >> 32, blocks);
}

/*
 * Six bits a lane: the first four lanes are chosen by that half of the hash that did not choose the block, the others
 * by the top of the second word, which a "no" does not need. Each shift brings the next lane's bits to the front.
 */
#define LANES_FIRST(hash) ((hash) >> 8)
#define LANES_REST(word)  ((word) >> 40)

#define LANES_ONE(i)                      \
	do {                              \
		__u64 bits_ = block[i];   \
		SHIFT_LEFT(bits_, lanes); \
		all &= bits_;             \
	} while (0)

#define LANES_NEXT(i)             \
	do {                      \
		KEEP(all, lanes); \
		lanes >>= 6;      \
		LANES_ONE(i);     \
	} while (0)

/* The sign is where the bits meet: a test of its own costs nothing. */
inline_always int lanes_test_half(const __u64 *block, __u64 lanes)
{
	__u64 all = ~0ULL;

	LANES_ONE(0);
	LANES_NEXT(1);
	LANES_NEXT(2);
	LANES_NEXT(3);
	return (__s64)all < 0;
}

/*
 * Half of the lanes settle nearly every "no" (at the usual fill of a third, all but one in fifty), and a branch that
 * goes one way is free; so the other half, and the word that chooses it, cost only packets about to be dropped.
 */
#define LANES_TEST(block, hash, word) \
	(lanes_test_half(block, LANES_FIRST(hash)) && lanes_test_half((block) + FILTER_LANES / 2, LANES_REST(word)))

/* --- Classic ------------------------------------------------------------------------------------------------------ */

/* A probe's word: the high half picks the block, nine bits of the other half the bit. */
#define CLASSIC_WORD(word) ((word) >> 29 & 7)
#define CLASSIC_BIT(word)  ((word) >> 23)

/*
 * The i-th probe's word is hash_more(hash + i * step): none waits for the one before. The sum alone (double hashing)
 * would save a multiplication, but two keys that share two probes may share all: with 200 keys and k = 24 it said yes
 * four times in 1e7 where 2e-3 are expected.
 */
#define CLASSIC_STEP(g, hash) HASH_MORE(g, hash)

#define CLASSIC_PROBE(n)                                                                                           \
	do {                                                                                                       \
		if (i + (n) < k) {                                                                                 \
			__u64 word_ = HASH_MORE(g, x), at_ = CLASSIC_WORD(word_), bits_;                           \
			const __u64 *block_ =                                                                      \
				BLOCK_AT(g, filter, filter_flat, reduce(word_ >> 32, GEN_LATE(g, filter_blocks))); \
                                                                                                                   \
			if (!block_)                                                                               \
				return 0;                                                                          \
			/* The two offsets made one would leave the verifier with a bound too wide. */             \
			KEEP(block_, at_);                                                                         \
			bits_ = block_[at_];                                                                       \
			SHIFT_LEFT(bits_, CLASSIC_BIT(word_));                                                     \
			all &= bits_;                                                                              \
			x += step;                                                                                 \
		}                                                                                                  \
	} while (0)

/* Four at once: the first four settle all but one in sixteen, so that the branch behind them is well predicted. */
inline_always int classic_test(const struct generation *g, __u64 hash)
{
	__u64 k = GEN_LATE(g, filter_k), step = CLASSIC_STEP(g, hash), x = hash;

	for (__u64 i = 0; i < k; i += 4) {
		__u64 all = ~0ULL;

		CLASSIC_PROBE(0);
		CLASSIC_PROBE(1);
		CLASSIC_PROBE(2);
		CLASSIC_PROBE(3);
		if ((__s64)all >= 0)
			return 0;
	}
	return 1;
}

/* The second block of lanes2: word is the first one's second. */
inline_always int lanes_test_second(const struct generation *g, __u64 word)
{
	__u64 hash = HASH_MORE(g, word);
	const __u64 *block = BLOCK_AT(g, filter, filter_flat, lanes_block(hash, GEN_LATE(g, lanes_blocks)));

	return block && LANES_TEST(block, hash, HASH_MORE(g, hash));
}

/* --- The one that a generation has -------------------------------------------------------------------------------- */

/* What a "no" of the first block does not settle. */
inline_never int filter_rest(const struct generation *g, __u64 hash)
{
	if (GEN_LATE(g, filter_layout) == LAYOUT_CLASSIC)
		return classic_test(g, hash);
	return lanes_test_second(g, HASH_MORE(g, hash));
}

inline_always int filter_test(const struct generation *g, __u64 hash)
{
	__u64 blocks = GEN(g, lanes_blocks);

	const __u64 *block;

	if (!blocks) {
		BRANCH_APART();
	} else {
		block = BLOCK_AT(g, filter, filter_flat, lanes_block(hash, blocks));
		if (!block || !LANES_TEST(block, hash, HASH_MORE(g, hash)))
			return 0;
	}
	return GEN_LATE(g, filter_layout) == LAYOUT_LANES || filter_rest(g, hash);
}

#ifndef __bpf__

/* All eight in one word, the first lane's bits in front; and which bit of its word a lane means. */
inline_always __u64 lanes_of(__u64 hash, __u64 word)
{
	return (LANES_FIRST(hash) & 0xffffff) | LANES_REST(word) << 24;
}

#define LANES_BIT(lanes, i) (~((lanes) >> 6 * (i)))

/* Packets may be looking: then each word changes in one go. */
inline_always void filter_or(__u64 *to, __u64 bit, int fresh)
{
	if (fresh)
		*to |= 1ULL << (bit & 63);
	else
		__atomic_fetch_or(to, 1ULL << (bit & 63), __ATOMIC_RELAXED);
}

inline_always void lanes_put(__u64 *block, __u64 lanes, int fresh)
{
	for (int i = 0; i < FILTER_LANES; i++)
		filter_or(&block[i], LANES_BIT(lanes, i), fresh);
}

inline_always __u64 *filter_line(const struct generation *g, __u64 word)
{
	return (__u64 *)(g->filter + reduce(word >> 32, g->filter_blocks) * BLOCK_BYTES);
}

inline_always void filter_put(const struct generation *g, __u64 hash, int fresh)
{
	__u64 step = CLASSIC_STEP(g, hash);

	for (__u64 i = 0; i < g->filter_k && !g->lanes_blocks; i++, hash += step) {
		__u64 word = hash_more(g->hash, hash);

		filter_or(filter_line(g, word) + CLASSIC_WORD(word), ~CLASSIC_BIT(word), fresh);
	}
	for (__u64 i = 0; i < g->filter_k && g->lanes_blocks; i += FILTER_LANES) {
		__u64 more = hash_more(g->hash, hash);

		lanes_put(filter_line(g, hash), lanes_of(hash, more), fresh);
		hash = hash_more(g->hash, more);
	}
}

inline_always void filter_set(const struct generation *g, __u64 hash)
{
	filter_put(g, hash, 0);
}

/* No packet is looking yet. */
inline_always void filter_set_fresh(const struct generation *g, __u64 hash)
{
	filter_put(g, hash, 1);
}

inline_always void filter_visit(const struct generation *g, __u64 hash, int touch)
{
	__u64 step = CLASSIC_STEP(g, hash);

	for (__u64 i = 0; i < g->filter_k; i += g->lanes_blocks ? FILTER_LANES : 1) {
		const __u64 *line = filter_line(g, g->lanes_blocks ? hash : hash_more(g->hash, hash));

		if (touch)
			(void)*(const volatile __u64 *)line;
		else
			__builtin_prefetch(line, 1);
		hash = g->lanes_blocks ? hash_more(g->hash, hash_more(g->hash, hash)) : hash + step;
	}
}

/* On its way into the cache before it is set or asked. */
inline_always void filter_prefetch(const struct generation *g, __u64 hash)
{
	filter_visit(g, hash, 0);
}

/* In memory that comes when it is touched (user/kernel/map_window.h). */
inline_always void filter_touch(const struct generation *g, __u64 hash)
{
	filter_visit(g, hash, 1);
}

#endif

#endif
