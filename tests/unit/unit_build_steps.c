// SPDX-License-Identifier: GPL-2.0-only
/*
 * Building, step by step: seeds of a kernel that gives less, and what is tried again with more room; and the order that
 * keys of a large array are brought into.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "filter/arrays.h"
#include "filter/fill_roster.h"
#include "filter/roster_table.h"
#include "ktap.h"
#include "naive.h"
#include "sets/owned.h"

static bool no_memory;

static void *given_malloc(size_t size)
{
	return no_memory ? NULL : malloc(size);
}

#define malloc given_malloc
#include "filter/by_place.c"
#undef malloc
#undef MANY
#undef BYTES

/* The call of that number gets so many bytes less, or fails. */
static int draws, draw_fails;
static ssize_t draw_gets;

static ssize_t given_random(void *to, size_t size, unsigned int flags)
{
	(void)flags;
	memset(to, 0x5a, size);
	if (++draws != draw_fails)
		return (ssize_t)size;
	errno = EPERM;
	return draw_gets;
}

/* How many attempts find no place, and with how many buckets each was made. */
static int enrols, enrols_fail, threads;
static __u64 buckets_of4[40], buckets_of6[40];

static int given_enrol(const struct generation *g, const struct owned *owned)
{
	(void)owned;
	buckets_of4[enrols] = buckets4(g);
	buckets_of6[enrols] = g->roster6_buckets;
	return enrols++ < enrols_fail ? -EAGAIN : 0;
}

static int given_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *arg)
{
	threads++;
	return pthread_create(thread, how, run, arg);
}

#define getrandom      given_random
#define enrol	       given_enrol
#define pthread_create given_thread
#include "filter/build.c"
#undef pthread_create

/* Each number that is drawn, in its turn. */
static void seeds(void)
{
	struct generation g = { .rungs = 2, .rung = { { .length = 48 }, { .length = 64 } } };
	int all;

	draws = draw_fails = 0;
	CHECK(!build_seeds(&g) && draws == 6, "%d numbers are drawn", draws);
	CHECK(g.hash.mul1 & g.hash.mul2 & g.hash.mul3 & g.tag.mul1 & g.tag.mul2 & g.tag.mul3 & g.gate6_mul & 1,
	      "a factor is even");
	CHECK(g.hash.add && g.tag.add && g.gate6_add && g.rung[0].salt && g.rung[1].salt, "one is not drawn");
	CHECK(g.hash.add == 0x5a5a5a5a5a5a5a5aULL && g.gate6_mul == 0x5a5a5a5a5a5a5a5bULL, "another is");
	all = draws;
	for (draw_fails = 1; draw_fails <= all; draw_fails++) {
		static const struct {
			ssize_t gets;
			int err;
		} known[] = { { -1, EPERM }, { 0, EIO }, { 1, EIO } };

		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
			int err;

			draws = 0;
			draw_gets = known[i].gets;
			err = build_seeds(&g);
			CHECK(err_is(err, known[i].err) && draws == draw_fails, "number %d, %zd bytes: %d, %d drawn",
			      draw_fails, known[i].gets, err, draws);
		}
	}
	draw_fails = 0;
}

static int judged, judges_fail, taken, released;

static int judge(void *arg, const struct generation *g)
{
	CHECK(arg == &judged && g->version == 4, "another is judged");
	return judged++ < judges_fail ? -EAGAIN : 0;
}

static int take(void *arg, struct generation *g)
{
	(void)g;
	CHECK(arg == &judged, "for another");
	taken++;
	return taken == 9 ? -ENOSPC : 0;
}

static void release(void *arg)
{
	CHECK(arg == &judged, "of another");
	released++;
}

/* New seeds at first; then more buckets each time, but of IPv6 only where it is free to choose. */
static void attempts(void)
{
	struct owned none = { .n4 = 0 };

	for (int given = 0; given < 2; given++) {
		const struct build_how how = {
			.given_seeds = given, .judge = judge, .take = take, .release = release, .arg = &judged
		};

		for (int i = 0; i < 8; i++) {
			struct generation g = { .version = 4, .roster4_buckets = 800, .roster6_buckets = 1600 };
			int err, more = i - (given ? 0 : 3);
			__u64 now4 = 800, now6 = 1600;

			enrols = judged = taken = released = draws = 0;
			enrols_fail = i / 2;
			judges_fail = i - i / 2;
			err = build_until_placed(&g, &none, &how);
			CHECK(!err && enrols == i + 1 && taken == i + 1 && released == i && judged == i - i / 2 + 1,
			      "%d: %d, %d times; %d are taken, %d released, %d judged", i, err, enrols, taken, released,
			      judged);
			CHECK(draws == (given ? 0 : 4 * (i + 1)), "%d: %d draws", i, draws);
			for (int k = 0; k < more; k++) {
				now4 += now4 / 8;
				now6 += given ? 0 : now6 / 8;
			}
			CHECK(buckets_of4[i] == now4 && buckets_of6[i] == now6 && g.roster4_buckets == now4 &&
				      g.roster6_buckets == now6,
			      "%d: %llu and %llu buckets, not %llu and %llu", i, (unsigned long long)buckets_of4[i],
			      (unsigned long long)buckets_of6[i], (unsigned long long)now4, (unsigned long long)now6);
		}
		enrols = judged = taken = released = 0;
		enrols_fail = 40;
		CHECK(err_is(build_until_placed(&(struct generation){ .version = 4 }, &none, &how), ENOSPC) &&
			      enrols == 8 && released == 8,
		      "what cannot be taken: %d attempts, %d released", enrols, released);
	}
}

/* In the end it gives up; what was taken for an attempt is given back. */
static void no_place(void)
{
	const struct build_how how = { .arg = NULL };
	struct generation g = { .version = 4, .roster6_buckets = 8, .filter_blocks = 1 };
	struct owned none = { .n4 = 0 };
	int err;

	enrols = 0;
	enrols_fail = 40;
	err = build_until_placed(&g, &none, &how);
	CHECK(err_is(err, EAGAIN) && enrols == 32 && g.filter <= 1, "%d after %d attempts", err, enrols);
	enrols = draws = 0;
	draw_fails = 2;
	draw_gets = 0;
	err = build_until_placed(&g, &none, &how);
	CHECK(err_is(err, EIO) && !enrols, "without seeds: %d, %d attempts", err, enrols);
	draw_fails = 0;
}

/* For many keys, where a roster is filled at the same time. */
static void apart(void)
{
	static const struct {
		__u64 keys4, keys6;
		bool roster4, roster6;
		int threads;
	} known[] = {
		{ 20000, 0, true, false, 0 },  { 20001, 0, true, false, 1 },	{ 0, 20001, false, true, 1 },
		{ 20001, 0, false, false, 0 }, { 10000, 10001, true, true, 1 }, { 10000, 10000, true, true, 0 },
	};
	struct owned none = { .n4 = 0 };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct generation g = { .keys4 = known[i].keys4,
					.keys6 = known[i].keys6,
					.roster4 = known[i].roster4,
					.roster6 = known[i].roster6 };

		threads = enrols = enrols_fail = 0;
		CHECK(!build_arrays(&g, &none) && threads == known[i].threads, "%zu: %d threads", i, threads);
	}
}

static __u64 used[2000];
static size_t used_n, use_fails = SIZE_MAX;

static int use(void *arg, __u64 key)
{
	CHECK(arg == used, "for another");
	if (used_n == use_fails)
		return -EIO;
	used[used_n++] = key;
	return 0;
}

/* By parts of the array; within a part as they came. */
static void in_order(void)
{
	static const struct {
		__u64 places;
		unsigned int shift;
	} known[] = { { 1, 0 }, { 255, 0 }, { 256, 0 }, { 257, 1 }, { 512, 1 }, { 513, 2 }, { 1 << 20, 12 } };
	__u64 small = by_place_from;
	struct by_place p;

	CHECK(by_place_from == 64 << 20, "from %llu bytes on", (unsigned long long)by_place_from);
	by_place_begin(&p, 1000, by_place_from - 1);
	CHECK(!p.came && !by_place_put(&p, 7, 999, use, used) && used_n == 1 && used[0] == 7, "a small one waits");
	by_place_begin(&p, 1000, by_place_from);
	CHECK(p.came && p.ordered && p.part, "a large one does not");
	by_place_end(&p);
	CHECK(!p.came, "an end");
	no_memory = true;
	by_place_begin(&p, 1000, by_place_from);
	CHECK(!p.came && !p.ordered && !p.part, "without memory");
	no_memory = false;
	by_place_from = 1;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t at = 0;

		by_place_begin(&p, known[i].places, 1);
		CHECK(p.shift == known[i].shift, "%llu places: by 2^%u", (unsigned long long)known[i].places, p.shift);
		used_n = 0;
		use_fails = SIZE_MAX;
		for (__u64 k = 0; k < 1000; k++)
			CHECK(!by_place_put(&p, k, k * 7919 % known[i].places, use, used) && !used_n, "one is used");
		CHECK(!by_place_flush(&p, use, used) && used_n == 1000, "%zu are used", used_n);
		for (__u64 part = 0; part < BY_PLACE_PARTS; part++)
			for (__u64 k = 0; k < 1000; k++)
				if (k * 7919 % known[i].places >> p.shift == part && used[at++] != k) {
					CHECK(false, "%zu: another is number %zu", i, at);
					break;
				}
		used_n = 0;
		CHECK(!by_place_flush(&p, use, used) && !used_n, "they are used twice");
		ENOUGH(!by_place_put(&p, 1, 0, use, used) && !by_place_put(&p, 2, 0, use, used));
		use_fails = 1;
		CHECK(err_is(by_place_flush(&p, use, used), EIO) && used_n == 1, "it goes on after a failure");
		by_place_end(&p);
	}
	by_place_from = small;
}

/* A million at a time. */
static void full(void)
{
	__u64 small = by_place_from;
	struct by_place p;

	by_place_from = 1;
	by_place_begin(&p, 1, 1);
	used_n = use_fails = 0;
	for (__u64 k = 0; k + 1 < 1 << 20; k++)
		if (by_place_put(&p, k, 0, use, used) || by_place_full(&p)) {
			CHECK(false, "it is full with %llu", (unsigned long long)k);
			break;
		}
	CHECK(err_is(by_place_put(&p, 9, 0, use, used), EIO) && !p.n, "it is never full");
	by_place_end(&p);
	by_place_from = small;
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "each number is drawn, or it says why not", seeds },
		{ "what finds no place is tried again, in the end with more room", attempts },
		{ "it gives up in the end", no_place },
		{ "many keys are filled in by a thread", apart },
		{ "keys come in the order of a large array", in_order },
		{ "a million wait at a time", full },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
