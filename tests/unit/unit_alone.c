// SPDX-License-Identifier: GPL-2.0-only
/* What each of several sets holds alone, against sets minus the union of the others. */
#include <errno.h>

#include "base/log.h"
#include "ktap.h"
#include "sets/alone.h"

#define SETS 12

static void made(struct ranges *set)
{
	static const uint32_t bases[] = { 0, 0x0a000000, 0xffffff00 };

	*set = RANGES_EMPTY;
	for (uint64_t i = ktap_random() % 12; i; i--) {
		uint32_t lo = bases[ktap_random() % 3] + (uint32_t)(ktap_random() % 200),
			 hi = lo + (uint32_t)(ktap_random() % 30);
		ip6 lo6 = (ktap_random() % 2 ? -(ip6)256 : (ip6)1 << 100) + ktap_random() % 200;

		if (hi < lo)
			hi = UINT32_MAX;
		CHECK(!ranges_add4(set, lo, hi), "no memory");
		CHECK(!ranges_add6(set, lo6, lo6 + ktap_random() % 30), "no memory");
	}
	/* The last address, which has none behind it. */
	if (ktap_random() % 3 == 0)
		CHECK(!ranges_add6(set, -(ip6)2, -(ip6)1) && !ranges_add4(set, UINT32_MAX, UINT32_MAX), "no memory");
	CHECK(!ranges_finish(set), "no memory");
}

static void at_random(void)
{
	for (int round = 0; round < 3000; round++) {
		struct ranges sets[SETS];
		struct alone alone[SETS];
		size_t n = ktap_random() % (SETS + 1);
		bool good = true;

		for (size_t i = 0; i < n; i++)
			made(&sets[i]);
		CHECK(!ranges_alone(sets, n, alone), "no memory");
		for (size_t i = 0; i < n && good; i++) {
			struct ranges others = RANGES_EMPTY, both, own;

			for (size_t j = 0; j < n; j++) {
				if (j == i)
					continue;
				CHECK(!ranges_union(&both, &others, &sets[j]), "no memory");
				ranges_free(&others);
				others = both;
			}
			CHECK(!ranges_subtract(&own, &sets[i], &others), "no memory");
			good = CHECK(ranges_count4(&own) == alone[i].v4 && ranges_count6(&own) == alone[i].v6,
				     "round %d, set %zu of %zu: %llu and %llu IPv4, %llu and %llu IPv6", round, i, n,
				     (unsigned long long)ranges_count4(&own), (unsigned long long)alone[i].v4,
				     (unsigned long long)ranges_count6(&own), (unsigned long long)alone[i].v6);
			ranges_free(&own);
			ranges_free(&others);
		}
		for (size_t i = 0; i < n; i++)
			ranges_free(&sets[i]);
		if (!good)
			return;
	}
}

/* As many sets as there may be: each has one address of its own, and one that all have. */
static void many(void)
{
	static struct ranges sets[ALONE_MOST + 1];
	static struct alone alone[ALONE_MOST + 1];
	bool good = true;

	for (size_t i = 0; i <= ALONE_MOST; i++)
		CHECK(!ranges_add4(&sets[i], 5, 5) &&
			      !ranges_add4(&sets[i], (uint32_t)(100 + 2 * i), (uint32_t)(100 + 2 * i)) &&
			      !ranges_add6(&sets[i], 100 + 2 * i, 100 + 2 * i) && !ranges_finish(&sets[i]),
		      "no memory");
	CHECK(!ranges_alone(sets, ALONE_MOST, alone), "%d are too many", ALONE_MOST);
	for (size_t i = 0; i < ALONE_MOST; i++)
		good &= alone[i].v4 == 1 && alone[i].v6 == 1;
	CHECK(good, "each has another number");
	CHECK(err_is(ranges_alone(sets, ALONE_MOST + 1, alone), E2BIG), "%d are not too many", ALONE_MOST + 1);
	for (size_t i = 0; i <= ALONE_MOST; i++) {
		ranges_free(&sets[i]);
		sets[i] = RANGES_EMPTY;
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "sets at random", at_random }, { "as many as may be", many } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
