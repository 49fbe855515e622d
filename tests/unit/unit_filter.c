// SPDX-License-Identifier: GPL-2.0-only
/*
 * The filter: never a no to a key that it holds, and as many wrong yeses as the layout's formula says, whatever the
 * keys look like.
 *
 * So two things are checked, each against five standard deviations (naive.h): the filter's own rate against the
 * expected one, which shows whether keys spread over blocks and lanes as random ones would, and what questions find
 * against the filter's own rate, which shows whether other keys of the same kind do.
 */
#include "expected.h"
#include "bpf/filter.h"
#include "filter/formulas.h"
#include "ktap.h"
#include "naive.h"

#define MILLION 1000000

/*
 * Under a seed in a thousand a regular list spreads more evenly than chance has it, and now and then less. A rate that
 * is off says something of the code where it is off under three draws in a row.
 */
#define DRAWS 3

/* --- Keys of several shapes ------------------------------------------------------------------------------------------
 */

enum shape { RANDOM, SEQUENTIAL, ONE_A_NET24, ANY_OF_NET24, SHAPES };

static const char *const shape_names[] = { "random", "sequential", "one a /24, the same", "one a /24, any" };

static uint32_t mix32(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352d;
	x = (x ^ x >> 15) * 0x846ca68b;
	return x ^ x >> 16;
}

/* A permutation of 32 bits for each shape: no key comes twice, and keys from n on are not in a set of n. */
static uint32_t key4(enum shape shape, uint32_t salt, uint32_t i)
{
	switch (shape) {
	case RANDOM:
		return mix32(i + salt);
	case SEQUENTIAL:
		return salt + i;
	case ONE_A_NET24:
		return (i << 8 | i >> 24) + salt;
	default:
		return i << 8 | ((i >> 24) ^ (mix32((i & 0xffffff) ^ salt) & 255));
	}
}

/* Where the lanes of a key are. */
struct place {
	uint64_t block, lanes;
};

static struct place place_of(const struct generation *g, uint64_t hash)
{
	return (struct place){ lanes_block(hash, g->lanes_blocks), lanes_of(hash, hash_more(g->hash, hash)) };
}

/* An empty filter of lanes, under seeds of its own. */
static struct generation filter_take(uint64_t blocks)
{
	struct generation g = { .hash = seeds_draw(), .filter_blocks = blocks, .lanes_blocks = blocks };
	void *filter;

	ENOUGH(!posix_memalign(&filter, BLOCK_BYTES, blocks * BLOCK_BYTES));
	memset(filter, 0, blocks * BLOCK_BYTES);
	g.filter = (uintptr_t)filter;
	g.filter_k = FILTER_LANES;
	return g;
}

static void filter_drop(const struct generation *g)
{
	free((void *)(uintptr_t)g->filter);
}

static uint64_t hash4(const struct generation *g, uint32_t key)
{
	return hash_ipv4(g->hash, key);
}

static uint64_t hash6(const struct generation *g, uint64_t salt, ip6 key)
{
	return hash_ipv6(g->hash, salt, (uint64_t)(key >> 64), (uint64_t)key);
}

/* --- What is expected ------------------------------------------------------------------------------------------------
 */

static double own_rate(const struct generation *g)
{
	const __u64 *filter = (const __u64 *)g->filter;
	uint64_t blocks = g->filter_blocks;
	double sum = 0;

	for (uint64_t b = 0; b < blocks; b++) {
		double rate = 1;

		for (unsigned int lane = 0; lane < FILTER_LANES; lane++)
			rate *= __builtin_popcountll(filter[b * FILTER_LANES + lane]) / 64.0;
		sum += rate;
	}
	return sum / (double)blocks;
}

static bool judge(const char *what, const struct generation *g, double keys, double yes, double asked, bool last)
{
	double blocks = (double)g->filter_blocks;
	struct expected expected = expect(g, keys);
	double own = own_rate(g), planned = lanes_fpr(keys, blocks);
	double off = sqrt(expected.variance), bound = SIGMAS * off + 1e-9;

	if (off > 0 && asked >= MILLION)
		printf("# %s, %.0f keys in %.0f blocks: expected %.4e, this filter %.4e (%+.1f sigma), measured %.4e "
		       "(%+.1f sigma)\n",
		       what, keys, blocks, expected.rate, own, (own - expected.rate) / off, yes / asked,
		       (yes - asked * own) / sqrt(asked * own * (1 - own)));
	if (!last && (fabs(own - expected.rate) > bound || fabs(yes - asked * own) > binomial_bound(asked, own))) {
		printf("# %s, %.0f keys in %.0f blocks: expected %.4e, this filter %.4e, measured %.4e: drawn again\n",
		       what, keys, blocks, expected.rate, own, yes / asked);
		return false;
	}
	return CHECK(fabs(own - expected.rate) <= bound,
		     "%s, %.0f keys in %.0f blocks: its rate is %.4e, not %.4e +- %.1e", what, keys, blocks, own,
		     expected.rate, bound) &&
	       CHECK(fabs(yes - asked * own) <= binomial_bound(asked, own),
		     "%s, %.0f keys in %.0f blocks: %.0f of %.0f say yes, not %.0f +- %.0f", what, keys, blocks, yes,
		     asked, asked * own, binomial_bound(asked, own)) &&
	       /* Poisson stands in for the binomial distribution there: off by less than one part in B. */
	       CHECK(fabs(planned - expected.rate) <= expected.rate / blocks, "lanes_fpr(%.0f, %.0f) is %.6e, not %.6e",
		     keys, blocks, planned, expected.rate);
}

/* --- IPv4 ------------------------------------------------------------------------------------------------------------
 */

static bool draw4(enum shape shape, uint32_t n, uint64_t blocks, uint32_t questions, bool last)
{
	struct generation g = filter_take(blocks);
	uint32_t salt = (uint32_t)ktap_random(), lost = 0, yes = 0;
	bool ok;

	for (uint32_t i = 0; i < n; i++) {
		/* Either way of setting a key. */
		if (i & 1)
			filter_set(&g, hash4(&g, key4(shape, salt, i)));
		else
			filter_set_fresh(&g, hash4(&g, key4(shape, salt, i)));
	}
	for (uint32_t i = 0; i < n; i++)
		lost += !filter_test(&g, hash4(&g, key4(shape, salt, i)));
	for (uint32_t i = n; i < n + questions; i++)
		yes += !!filter_test(&g, hash4(&g, key4(shape, salt, i)));
	ok = CHECK(!lost, "%u of %u %s keys were lost", lost, n, shape_names[shape]) &&
	     judge(shape_names[shape], &g, n, yes, questions, last);
	filter_drop(&g);
	return ok;
}

static bool measure4(enum shape shape, uint32_t n, uint64_t blocks, uint32_t questions)
{
	for (int draw = 1; draw <= DRAWS && !ktap_failed; draw++)
		if (draw4(shape, n, blocks, questions, draw == DRAWS))
			return true;
	return false;
}

static uint64_t blocks_for(double keys, double bits_per_key)
{
	return (uint64_t)ceil(keys * bits_per_key / 512);
}

static void ipv4_shapes(void)
{
	/* Two block counts that are no powers of two, and one that is. */
	for (enum shape shape = 0; shape < SHAPES; shape++)
		if (!measure4(shape, MILLION, blocks_for(MILLION, 16), MILLION) ||
		    !measure4(shape, MILLION, blocks_for(MILLION, 12), MILLION) ||
		    !measure4(shape, MILLION / 4, 1 << 12, MILLION))
			return;
}

static void ipv4_seeds(void)
{
	for (enum shape shape = 0; shape < SHAPES; shape++)
		for (int seed = 0; seed < 12; seed++)
			if (!measure4(shape, 100000, 1500 + (uint64_t)(ktap_random() % 3000), 200000))
				return;
}

static void ten_million(void)
{
	measure4(SEQUENTIAL, 10 * MILLION, blocks_for(10e6, 12), MILLION);
}

static void few_keys(void)
{
	struct generation g = filter_take(64);
	__u64 *filter = (__u64 *)g.filter, before[64 * FILTER_LANES];

	for (int round = 0; round < 2000 && !ktap_failed; round++) {
		uint64_t hash = hash4(&g, (uint32_t)ktap_random());
		struct place at;
		unsigned int bits = 0;
		__u64 *block;

		g.hash = seeds_draw();
		at = place_of(&g, hash);
		block = filter + at.block * FILTER_LANES;
		memset(filter, 0, sizeof(before));
		CHECK(at.block < 64, "block %" PRIu64 " of 64", at.block);
		CHECK(!filter_test(&g, hash), "an empty filter holds a key");
		filter_set(&g, hash);
		for (size_t i = 0; i < 64 * FILTER_LANES; i++)
			bits += (unsigned int)__builtin_popcountll(filter[i]);
		for (unsigned int lane = 0; lane < FILTER_LANES; lane++)
			CHECK(__builtin_popcountll(block[lane]) == 1, "lane %u has not one bit", lane);
		CHECK(bits == FILTER_LANES, "one key set %u bits", bits);
		CHECK(filter_test(&g, hash), "the only key was lost");
		memcpy(before, filter, sizeof(before));
		filter_set_fresh(&g, hash);
		CHECK(!memcmp(before, filter, sizeof(before)), "a key set twice leaves more than once");
		/* Any of its bits missing is a no. */
		block[round % FILTER_LANES] = ~block[round % FILTER_LANES];
		CHECK(!filter_test(&g, hash), "yes without the bit of lane %d", round % FILTER_LANES);
	}
	filter_drop(&g);
}

/*
 * With many blocks no wrong yes is to be seen; what can be seen is whether two keys of one block share a lane's bit as
 * often as chance has it, one in 64, and whether a block is met as often as chance has it.
 */
static void many_blocks(void)
{
	for (enum shape shape = 0; shape < SHAPES; shape++) {
		uint64_t blocks = (1u << 21) + (shape & 1 ? 12347 : 0), pairs = 0, same[FILTER_LANES] = { 0 };
		struct generation g = { .hash = seeds_draw(), .lanes_blocks = blocks };
		uint32_t salt = (uint32_t)ktap_random();
		uint64_t *met = calloc(blocks, sizeof(*met)); /* the lanes of the last key there, never all zero */
		double empty, wanted;

		ENOUGH(met);
		for (uint32_t i = 0; i < MILLION; i++) {
			struct place at = place_of(&g, hash4(&g, key4(shape, salt, i)));
			uint64_t differ = met[at.block] ^ at.lanes;

			if (met[at.block]) {
				pairs++;
				for (unsigned int lane = 0; lane < FILTER_LANES; lane++)
					same[lane] += LANES_BIT(differ, lane) % 64 == 63;
			}
			met[at.block] = at.lanes | 1ULL << 63;
		}
		free(met);
		for (unsigned int lane = 0; lane < FILTER_LANES; lane++)
			if (!CHECK(fabs((double)same[lane] - (double)pairs / 64) <=
					   binomial_bound((double)pairs, 1.0 / 64),
				   "%s: of %" PRIu64 " pairs in one block %" PRIu64
				   " share the bit of lane %u, not %.0f",
				   shape_names[shape], pairs, same[lane], lane, (double)pairs / 64))
				return;
		/* The variance of the number of empty blocks: blocks (e^-m - (1 + m) e^-2m). */
		wanted = MILLION / (double)blocks;
		empty = sqrt((double)blocks * (exp(-wanted) - (1 + wanted) * exp(-2 * wanted)));
		wanted = MILLION - (double)blocks * (1 - exp(-wanted));
		printf("# %s, 1 M keys in %" PRIu64 " blocks: %" PRIu64 " meet another, %.0f expected (%+.1f sigma)\n",
		       shape_names[shape], blocks, pairs, wanted, ((double)pairs - wanted) / empty);
		if (!CHECK(fabs((double)pairs - wanted) <= SIGMAS * empty,
			   "%s: %" PRIu64 " keys meet another, not %.0f", shape_names[shape], pairs, wanted))
			return;
	}
}

/* --- IPv6 ------------------------------------------------------------------------------------------------------------
 */

static const char *const shape6_names[] = { "random", "sequential", "every 256th", "sequential from the top" };

/* The i-th key of a rung: the bits behind its length are zero. */
static ip6 key6(enum shape shape, unsigned int length, uint64_t salt, uint64_t i)
{
	unsigned int down = 128 - length;

	switch (shape) {
	case RANDOM:
		/* The lowest bits of the rung count, so that no key comes twice; the others are random but fixed. */
		return (((ip6)(i * 0x9e3779b97f4a7c15ULL + salt) << 64 | mix32((uint32_t)i)) << 32 |
			mix32((uint32_t)(i + salt)))
		       << down;
	case SEQUENTIAL:
		return ((ip6)salt << 32 | i) << down;
	case ONE_A_NET24:
		return ((ip6)salt << 32 | i << 8) << down;
	default:
		return ((ip6)i << 108 ^ (ip6)salt << 20) >> down << down;
	}
}

static bool draw6(enum shape shape, unsigned int length, uint32_t n, uint64_t blocks, uint32_t questions, bool last)
{
	struct generation g = filter_take(blocks);
	uint64_t salt = salt_for(ktap_random(), length), number = ktap_random();
	uint32_t lost = 0, yes = 0, others = 0;
	char what[64];
	bool ok;

	snprintf(what, sizeof(what), "IPv6 /%u, %s", length, shape6_names[shape]);
	for (uint32_t i = 0; i < n; i++)
		filter_set_fresh(&g, hash6(&g, salt, key6(shape, length, number, i)));
	for (uint32_t i = 0; i < n; i++) {
		lost += !filter_test(&g, hash6(&g, salt, key6(shape, length, number, i)));
		/* The same bits on another rung are another key. */
		others += !!filter_test(&g, hash6(&g, salt_for(salt ^ number, length), key6(shape, length, number, i)));
	}
	for (uint32_t i = n; i < n + questions; i++)
		yes += !!filter_test(&g, hash6(&g, salt, key6(shape, length, number, i)));
	ok = CHECK(!lost, "%s: %u keys were lost", what, lost) && judge(what, &g, n, yes, questions, last) &&
	     judge("the same keys on another rung", &g, n, others, n, last);
	filter_drop(&g);
	return ok;
}

static bool measure6(enum shape shape, unsigned int length, uint32_t n, uint64_t blocks, uint32_t questions)
{
	for (int draw = 1; draw <= DRAWS && !ktap_failed; draw++)
		if (draw6(shape, length, n, blocks, questions, draw == DRAWS))
			return true;
	return false;
}

static void ipv6_rungs(void)
{
	/* Keys that stay apart need 2^20 of them, and 28 bits where only every 256th is one. */
	for (unsigned int length = 28; length <= 128; length++)
		for (enum shape shape = 0; shape < SHAPES; shape++)
			if ((length >= 32 || shape == SEQUENTIAL) && !measure6(shape, length, 10000, 157, 10000))
				return;
}

static void ipv6_million(void)
{
	measure6(RANDOM, 128, MILLION, blocks_for(MILLION, 12), MILLION);
	measure6(SEQUENTIAL, 64, MILLION, blocks_for(MILLION, 12), MILLION);
	measure6(ONE_A_NET24, 48, MILLION, blocks_for(MILLION, 16), MILLION);
}

/* Rungs of a few bits: every key there can be. */
static void ipv6_short_rungs(void)
{
	for (unsigned int length = 0; length <= 12; length++) {
		struct generation g = filter_take(64);
		uint32_t all = 1u << length;
		uint64_t salt = salt_for(ktap_random(), length);

		for (uint32_t i = 0; i < all; i += 2)
			filter_set(&g, hash6(&g, salt, length ? (ip6)i << (128 - length) : 0));
		for (uint32_t i = 0; i < all; i += 2)
			CHECK(filter_test(&g, hash6(&g, salt, length ? (ip6)i << (128 - length) : 0)),
			      "/%u: key %u was lost", length, i);
		filter_drop(&g);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "no key, one key, the same key twice", few_keys },
		{ "IPv4: the rate for keys of several shapes", ipv4_shapes },
		{ "IPv4: the rate under many seeds", ipv4_seeds },
		{ "IPv4: 10 M keys", ten_million },
		{ "very many blocks: block and lanes are independent", many_blocks },
		{ "IPv6: the rate on each rung", ipv6_rungs },
		{ "IPv6: the rate for 1 M keys", ipv6_million },
		{ "IPv6: short rungs", ipv6_short_rungs },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
