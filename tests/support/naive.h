/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the unit tests share: a deliberately naive model of who bans what, plain memory in place of the kernel's maps,
 * and seeds that a run can repeat.
 */
#ifndef NAIVE_H
#define NAIVE_H

#include <math.h>

#include "filter/arrays.h"
#include "bpf/hash.h"
#include "ktap.h"
#include "sets/owned.h"
#include "sets/ranges.h"

#define NAIVE_RANGES   4096
#define NAIVE_ACCOUNTS 8
#define NAIVE_ALLOWED  NAIVE_ACCOUNTS

/* Every range that anybody ever named, in no order. Of the accounts the first counts most; allowed beats them all. */
struct naive {
	struct naive_range {
		ip6 lo, hi;
		int family;
		unsigned int account;
	} range[NAIVE_RANGES];
	size_t n;
	uint8_t label[NAIVE_ACCOUNTS];
};

/* Tests stop where memory ends. */
#define ENOUGH(pointer)                                   \
	do {                                              \
		if (!(pointer)) {                         \
			fputs("out of memory\n", stderr); \
			exit(KTAP_FAIL);                  \
		}                                         \
	} while (0)

__attribute__((unused)) static void naive_add(struct naive *m, int family, ip6 lo, ip6 hi, unsigned int account)
{
	ENOUGH(m->n < NAIVE_RANGES);
	m->range[m->n++] = (struct naive_range){ lo, hi, family, account };
}

/* Whose it is: a label, or -1 where the address may pass. */
__attribute__((unused)) static int naive_label(const struct naive *m, int family, ip6 num)
{
	unsigned int first = NAIVE_ACCOUNTS;

	for (size_t i = 0; i < m->n; i++) {
		const struct naive_range *r = &m->range[i];

		if (r->family != family || num < r->lo || num > r->hi)
			continue;
		if (r->account == NAIVE_ALLOWED)
			return -1;
		if (r->account < first)
			first = r->account;
	}
	return first < NAIVE_ACCOUNTS ? m->label[first] : -1;
}

/* The same through the real thing: range sets, and owned_settle(). */
__attribute__((unused)) static void naive_settle(const struct naive *m, struct owned *out)
{
	struct ranges set[NAIVE_ACCOUNTS + 1] = { 0 };
	struct account accounts[NAIVE_ACCOUNTS];
	int err = 0;

	for (size_t i = 0; i < m->n && !err; i++) {
		const struct naive_range *r = &m->range[i];

		err = r->family == 4 ? ranges_add4(&set[r->account], (uint32_t)r->lo, (uint32_t)r->hi)
				     : ranges_add6(&set[r->account], r->lo, r->hi);
	}
	for (unsigned int a = 0; a <= NAIVE_ACCOUNTS && !err; a++)
		err = ranges_finish(&set[a]);
	for (unsigned int a = 0; a < NAIVE_ACCOUNTS; a++)
		accounts[a] = (struct account){ &set[a], m->label[a] };
	if (!err)
		err = owned_settle(out, accounts, NAIVE_ACCOUNTS, &set[NAIVE_ALLOWED]);
	for (unsigned int a = 0; a <= NAIVE_ACCOUNTS; a++)
		ranges_free(&set[a]);
	ENOUGH(!err);
}

/* Single IPv4 addresses, of one account. */
__attribute__((unused)) static void naive_hosts(struct owned *out, const uint32_t *hosts, size_t n, uint8_t label)
{
	struct ranges set = RANGES_EMPTY, none = RANGES_EMPTY;
	struct account account = { &set, label };
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = ranges_add_host(&set, hosts[i]);
	if (!err)
		err = ranges_finish(&set);
	if (!err)
		err = owned_settle(out, &account, 1, &none);
	ranges_free(&set);
	ENOUGH(!err);
}

__attribute__((unused)) static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* In a sorted array: for sets that are too large to be looked through. */
__attribute__((unused)) static bool naive_has(const uint32_t *sorted, size_t n, uint32_t value)
{
	return bsearch(&value, sorted, n, sizeof(*sorted), compare_u32);
}

/* --- A generation in plain memory ------------------------------------------------------------------------------------
 */

/* Each array ends where its memory ends, for the sanitizers. */
__attribute__((unused)) static void memory_take(struct generation *g)
{
	for (enum array a = 0; a < ARRAYS; a++) {
		uint64_t bytes = array_bytes(g, a);
		void *memory = NULL;

		if (bytes) {
			ENOUGH(!posix_memalign(&memory, 4096, bytes));
			memset(memory, 0, bytes);
		}
		*generation_member(g, array_kinds[a].member) = (uintptr_t)memory;
	}
}

__attribute__((unused)) static void memory_clear(struct generation *g)
{
	for (enum array a = 0; a < ARRAYS; a++)
		if (array_bytes(g, a))
			memset((void *)(uintptr_t)*generation_member(g, array_kinds[a].member), 0, array_bytes(g, a));
}

__attribute__((unused)) static void memory_release(struct generation *g)
{
	for (enum array a = 0; a < ARRAYS; a++) {
		free((void *)(uintptr_t)*generation_member(g, array_kinds[a].member));
		*generation_member(g, array_kinds[a].member) = 0;
	}
}

__attribute__((unused)) static struct hash_seeds seeds_draw(void)
{
	return (struct hash_seeds){ ktap_random(), ktap_random() | 1, ktap_random() | 1, ktap_random() | 1 };
}

/* What build_seeds() does, but repeatable. */
__attribute__((unused)) static void seeds_set(struct generation *g)
{
	g->hash = seeds_draw();
	g->tag = seeds_draw();
	g->gate6_add = ktap_random();
	g->gate6_mul = ktap_random() | 1;
	for (unsigned int i = 0; i < g->rungs; i++)
		g->rung[i].salt = salt_for(ktap_random(), g->rung[i].length);
}

/* --- Bounds ----------------------------------------------------------------------------------------------------------
 */

/*
 * A count is judged against what theory expects by five standard deviations: a right program is called wrong once in
 * 1.7 million checks. One is added for counts so small that the normal distribution is not theirs yet.
 */
#define SIGMAS 5

__attribute__((unused)) static double binomial_bound(double n, double p)
{
	return SIGMAS * sqrt(n * p * (1 - p)) + 1;
}

#endif
