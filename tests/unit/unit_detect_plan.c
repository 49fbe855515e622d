// SPDX-License-Identifier: GPL-2.0-only
/*
 * What plan --detect foretells against the detector's own code, with packets and sources at random.
 * XDP_BLOOM_RATES=full takes ten times as many of them (make rates).
 */
#include <math.h>

#include "bpf/detect.h"
#include "filter/formulas.h"
#include "filter/limits.h"
#include "ktap.h"
#include "naive.h"

/* A limit of one packet in so many ns. */
#define PRICE 1000000

static size_t rounds = 1;

static double uniform(void)
{
	return ((double)(ktap_random() >> 11) + 0.5) / 9007199254740992.0;
}

static bool foretold(const char *what, double expected, double found, double error)
{
	printf("# %s: %.3g foretold, %.3g found, %+.1f errors\n", what, expected, found, (found - expected) / error);
	return CHECK(fabs(found - expected) <= SIGMAS * error, "%s: %g instead of %g +- %g", what, found, expected,
		     error);
}

/* As one cell, each time beginning without a past; a run's packets are not independent, so the error is that of runs.
 */
static double hot_share(double load, double burst, double *error)
{
	enum { RUNS = 200, SKIP = 2000, PACKETS = 20000 };
	double sum = 0, squares = 0;

	for (size_t run = 0; run < RUNS * rounds; run++) {
		__u64 cell = 1ULL << 40;
		struct detect d = { .cells = 1,
				    .cap = (__u64)(burst * PRICE),
				    .most = (__u64)(1000 * burst * PRICE),
				    .sketch = (uintptr_t)&cell };
		double now = (double)cell, share;
		size_t hot = 0;

		for (size_t i = 0; i < SKIP + PACKETS; i++) {
			now += -log(uniform()) * PRICE / load;
			hot += (size_t)(sketch_charge(&d, 0, (__u64)now, PRICE) && i >= SKIP);
		}
		share = (double)hot / PACKETS;
		sum += share;
		squares += share * share;
	}
	*error = sqrt((squares - sum * sum / (double)(RUNS * rounds)) / (double)(RUNS * rounds)) /
		 sqrt((double)(RUNS * rounds));
	return sum / (double)(RUNS * rounds);
}

static void hot_cells(void)
{
	static const struct {
		double load, burst;
	} cases[] = { { 0.3, 5 }, { 0.5, 5 }, { 0.5, 8 }, { 0.7, 10 }, { 0.8, 20 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char what[64];
		double error, found = hot_share(cases[i].load, cases[i].burst, &error);

		snprintf(what, sizeof(what), "a cell %.0f %% busy, %.0f at once", cases[i].load * 100, cases[i].burst);
		if (!foretold(what, cell_hot(cases[i].load, cases[i].burst), found, error))
			return;
	}
	CHECK(cell_hot(0, 10) == 0 && cell_hot(1, 10) == 1 && cell_hot(2, 10) == 1, "no load, and too much");
	CHECK(cell_hot(0.01, 200) < 1e-300, "a hundredth of the limit: %g", cell_hot(0.01, 200));
}

/* Attackers make their cells hot; honest sources ask whether theirs is. */
static void shared_cells(void)
{
	static const unsigned int attackers[] = { 1, 30, 1000, 5000 };
	enum { CELLS = 4096, HONEST = 100000 };

	for (size_t i = 0; i < sizeof(attackers) / sizeof(*attackers); i++) {
		struct hash_seeds seeds = { ktap_random(), ktap_random() | 1, ktap_random() | 1, 0 };
		static __u64 cells[CELLS];
		struct detect d = { .cells = CELLS, .cap = PRICE, .most = 10 * PRICE, .sketch = (uintptr_t)cells };
		__u64 now = 1ULL << 40;
		double expected = cell_shared(attackers[i], CELLS), taken, error;
		size_t shared = 0;
		char what[64];

		memset(cells, 0, sizeof(cells));
		for (unsigned int a = 0; a < attackers[i]; a++)
			for (unsigned int n = 0; n < 2; n++)
				sketch_charge(&d, hash_ipv4(seeds, 0x0a000000 + a), now, PRICE);
		for (unsigned int h = 0; h < HONEST * rounds; h++)
			shared += (size_t)sketch_charge(&d, hash_ipv4(seeds, 0x40000000 + h * 7), now, 0);
		/* By how many cells are taken, and by who asks. */
		taken = CELLS * expected * (1 - expected) / (CELLS * (double)CELLS);
		error = sqrt(taken + expected * (1 - expected) / (double)(HONEST * rounds)) + 1e-9;
		snprintf(what, sizeof(what), "one of %u attackers in the cell", attackers[i]);
		if (!foretold(what, expected, (double)shared / (double)(HONEST * rounds), error))
			return;
	}
}

/* So many suspects at the same time: those who find no place. */
static void places(void)
{
	enum { BUCKETS = 256, RUNS = 200 };
	static const unsigned int suspects[] = { 200, 512, 1024, 10240 };

	for (size_t i = 0; i < sizeof(suspects) / sizeof(*suspects); i++) {
		double sum = 0, squares = 0, error;
		size_t runs = RUNS / (suspects[i] / 512 + 1) * rounds;
		char what[64];

		for (size_t run = 0; run < runs; run++) {
			static struct suspects table[BUCKETS];
			static __u8 claims[BUCKETS];
			struct detect d = { .hash = { ktap_random(), ktap_random() | 1, ktap_random() | 1,
						      ktap_random() | 1 },
					    .buckets = BUCKETS,
					    .keep = 1ULL << 50,
					    .suspects = (uintptr_t)table,
					    .claims = (uintptr_t)claims };
			double lost = 0;

			memset(table, 0, sizeof(table));
			for (unsigned int s = 0; s < suspects[i]; s++) {
				__u32 addr = 0x0a000000 + s;
				struct detect_packet packet = {
					.key = addr, .kind = SUSPECT_IPV4, .hash = hash_ipv4(d.hash, addr), .bytes = 100
				};

				lost += suspect_packet(&d, &packet, 1ULL << 40, 0) == DETECTED_UNTRACKED;
			}
			lost /= suspects[i];
			sum += lost;
			squares += lost * lost;
		}
		error = sqrt(fmax(squares - sum * sum / (double)runs, 0)) / (double)runs + 1e-9;
		snprintf(what, sizeof(what), "%.2g suspects a place", (double)suspects[i] / BUCKETS / 4);
		/* A binomial is narrower than Poisson by 1 / BUCKETS. */
		error = fmax(error, suspects_lost(suspects[i], BUCKETS) / BUCKETS);
		if (!foretold(what, suspects_lost(suspects[i], BUCKETS), sum / (double)runs, error))
			return;
	}
	CHECK(fabs(suspects_lost(suspects_fit(0.01, BUCKETS), BUCKETS) - 0.01) < 1e-9, "there and back");
	CHECK(suspects_lost(0, BUCKETS) == 0 && suspects_lost(1e9, BUCKETS) > 0.99999, "none, and far too many");
}

static struct detect planned(double pps, double suspects, const struct limits *of)
{
	struct limits limits = *of;
	struct detect d;

	limits.pps = pps;
	limits.suspects = suspects;
	limits_plan(&d, &limits, 4000000);
	return d;
}

/* What is asked for has room, in no more than it takes; and what is not asked for is as without. */
static void room_for_what_is_asked(void)
{
	static const struct limits none;
	struct limits limits = none;
	const struct detect usual = planned(0, 0, &none);

	limits.of[CLASS_PACKETS].rate = 20000;
	limits.of[CLASS_SYN].rate = 250;
	limits.of[CLASS_BYTES].rate = 125e6;
	CHECK(limits_strictest(&limits) == 250, "the strictest: %g", limits_strictest(&limits));
	for (double pps = LIMIT_PPS_LEAST; pps <= 2e9; pps *= 1.7) {
		struct detect d = planned(pps, 0, &limits);
		double least = 1.4 * pps / 250;
		bool asked = d.cells > usual.cells;

		if (!CHECK(d.buckets == usual.buckets && !(d.cells % 8), "%.0f packets: %llu buckets, %llu cells", pps,
			   (unsigned long long)d.buckets, (unsigned long long)d.cells) ||
		    !CHECK((double)d.cells >= fmin(least, 1 << 24) && (!asked || (double)d.cells <= 1.03 * least + 8),
			   "%.0f packets: %llu cells", pps, (unsigned long long)d.cells) ||
		    !CHECK(pps > 1e9 || d.cells == 1 << 24 || limits_pps(&d, &limits) >= pps, "good up to %g of %g",
			   limits_pps(&d, &limits), pps))
			return;
	}
	for (double suspects = LIMIT_SUSPECTS_LEAST; suspects <= LIMIT_SUSPECTS_MOST;
	     suspects = floor(suspects * 1.3)) {
		struct detect d = planned(0, suspects, &limits);

		if (!CHECK(d.cells == usual.cells && suspects_lost(suspects, (double)d.buckets) <= 0.01 &&
				   (d.buckets == 1 || suspects_lost(suspects, (double)d.buckets - 1) > 0.01),
			   "%.0f suspects: %llu buckets", suspects, (unsigned long long)d.buckets) ||
		    !CHECK(limits_suspects(&d) >= suspects, "%g of %g", limits_suspects(&d), suspects))
			return;
	}
	/* What a verifier lets a program reach. */
	CHECK(planned(0, LIMIT_SUSPECTS_MOST, &none).buckets * sizeof(struct suspects) < 1u << 29, "too large");
	CHECK(planned(LIMIT_PPS_MOST, 0, &none).cells == usual.cells, "cells without a limit");
}

int main(void)
{
	const char *full = getenv("XDP_BLOOM_RATES");
	static const struct ktap_case cases[] = {
		{ "hot by chance", hot_cells },
		{ "cells shared with attackers", shared_cells },
		{ "places of suspects", places },
		{ "room for what is asked", room_for_what_is_asked },
	};

	rounds = full && !strcmp(full, "full") ? 10 : 1;
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
