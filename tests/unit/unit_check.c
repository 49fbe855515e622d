// SPDX-License-Identifier: GPL-2.0-only
/* The proof before a generation goes live: whatever is wrong in an array is noticed. And what needs no array. */
#include <errno.h>
#include <pthread.h>

/* A second thread, which there may be none of. */
static int given_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*begin)(void *), void *arg);
#define pthread_create given_thread
#include "filter/verify.c"
#undef pthread_create

#include "built.h"
#include "filter/by_place.h"
#include "filter/plan_sizes.h"

static bool no_threads;
static unsigned int threads;

static int given_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*begin)(void *), void *arg)
{
	int err = no_threads ? EAGAIN : pthread_create(thread, attr, begin, arg);

	threads += !err;
	return err;
}

/* An array's byte that is wrong, and right again. */
static void mutate(struct generation *g, const struct owned *owned, void *at, __u64 value, size_t size,
		   const char *what)
{
	__u64 before = 0;
	int err;

	memcpy(&before, at, size);
	memcpy(at, &value, size);
	err = check_arrays(g, owned);
	CHECK(err_is(err, EILSEQ), "%s, and check_arrays says %d", what, err);
	memcpy(at, &before, size);
}

static void *slot4(const struct generation *g, uint32_t addr)
{
	struct bucket4 *buckets = (struct bucket4 *)g->roster4;

	for (__u64 b = 0; b < g->roster4_buckets; b++)
		for (unsigned int i = 0; i < ROSTER4_SLOTS; i++)
			if (buckets[b].addr[i] == addr)
				return &buckets[b].addr[i];
	return NULL;
}

static void check_notices(void)
{
	static const uint32_t host = 0x0a000007, mixed = 0x0b0000ff, whole = 0x0c000000;
	const ip6 first = ((ip6)0x20010db8 << 96) + 1;
	struct settings settings = SETTINGS_DEFAULT;
	static struct naive m;
	struct generation g;
	struct owned owned;
	__u64 hash, word, *block, *flag;
	struct bucket6 *bucket6;
	__u32 *slot;
	__u8 *byte;

	m = (struct naive){ .label = { 1, 2 } };
	naive_add(&m, 4, host, host, 0);
	for (unsigned int i = 1; i < 500; i++) /* it must find the one among many */
		naive_add(&m, 4, host + i * 0x10001, host + i * 0x10001, 1);
	naive_add(&m, 4, mixed - 255, mixed - 1, 0);
	naive_add(&m, 4, mixed, mixed, 1);
	naive_add(&m, 4, whole, whole + 511, 1);
	naive_add(&m, 6, first, first, 0);
	naive_add(&m, 6, first << 1, first << 1 | 1, 1);
	naive_settle(&m, &owned);
	if (!CHECK(!plan_generation(&g, &owned, &settings), "no plan") || !build(&g, &owned))
		return;

	hash = hash_ipv4(g.hash, host);
	word = hash_more(g.hash, hash);
	block = (__u64 *)g.filter + lanes_block(hash, g.filter_blocks) * FILTER_LANES;
	for (unsigned int lane = 0; lane < FILTER_LANES; lane++)
		mutate(&g, &owned, &block[lane], block[lane] & ~(1ULL << (LANES_BIT(lanes_of(hash, word), lane) & 63)),
		       8, "a bit of the filter is missing");
	slot = slot4(&g, host);
	if (CHECK(slot, "the host is not in the roster")) {
		struct bucket4 *bucket = (struct bucket4 *)((uintptr_t)slot & ~(sizeof(*bucket) - 1));
		unsigned int label = roster4_label_index(roster4_slot_bit((unsigned int)(slot - bucket->addr)));

		mutate(&g, &owned, slot, host ^ 0x80000000, 4, "a host is missing in the roster");
		mutate(&g, &owned, &bucket->label[label], 2, 1, "a host has another's label");
	}
	slot = slot4(&g, mixed);
	if (CHECK(slot, "the host of a mixed /24 is not in the roster"))
		mutate(&g, &owned, slot, 1, 4, "a host of a mixed /24 is missing in the roster");

	byte = (__u8 *)g.gate4 + (host >> 10);
	mutate(&g, &owned, byte, *byte & ~(3U << (host >> 7 & 6)), 1, "the gate clears a /24 with hosts");
	byte = (__u8 *)g.gate4 + (mixed >> 10);
	mutate(&g, &owned, byte, 0, 1, "the gate clears a mixed /24");
	mutate(&g, &owned, byte, GATE4_ALL << (mixed >> 7 & 6), 1, "the gate knows one list of a mixed /24");
	byte = (__u8 *)g.gate4 + (whole >> 10);
	mutate(&g, &owned, byte, *byte & ~3U, 1, "the gate clears a banned /24");
	mutate(&g, &owned, byte, (*byte & ~12U) | GATE4_SOME << 2, 1, "the gate asks the filter about a banned /24");
	if (CHECK(g.gate4_labels, "no labels of /24s"))
		mutate(&g, &owned, (__u8 *)g.gate4_labels + (whole >> 8), 1, 1, "a /24 has another's label");

	byte = (__u8 *)g.gate6;
	for (uint64_t i = 0; i < 1ULL << g.gate6_log2; i++)
		if (byte[i])
			mutate(&g, &owned, &byte[i], 0, 1, "a bit of the IPv6 gate is missing");
	bucket6 = (struct bucket6 *)g.roster6;
	for (uint64_t b = 0; b < g.roster6_buckets; b++) {
		for (unsigned int i = 0; i < ROSTER6_SLOTS; i++) {
			if (!bucket6[b].key[i])
				continue;
			mutate(&g, &owned, &bucket6[b].key[i], 0, 8, "a prefix is missing in the IPv6 roster");
			mutate(&g, &owned, &bucket6[b].label[roster6_label_index(1ULL << i)], 77, 1,
			       "a prefix has another's label");
		}
	}
	flag = &g.hash.mul1;
	mutate(&g, &owned, flag, *flag + 2, 8, "the arrays are of another seed");
	flag = &g.rung[0].salt;
	mutate(&g, &owned, flag, *flag + 1, 8, "a rung is of another salt");
	CHECK(!check_arrays(&g, &owned), "it was all put right again, and check_arrays does not see it");
	memory_release(&g);
	owned_free(&owned);
}

/* Where there is no roster the filter alone has the hosts. */
static void notices_without_roster(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	static struct naive m;
	struct generation g;
	struct owned owned;

	m = (struct naive){ .label = { 1 } };
	for (uint32_t i = 0; i < 3 * AHEAD; i++)
		naive_add(&m, 4, 0x0a000007 + i * 0x10001, 0x0a000007 + i * 0x10001, 0);
	naive_settle(&m, &owned);
	settings.exact = false;
	if (!CHECK(!plan_generation(&g, &owned, &settings) && !g.roster4, "no such plan") || !build(&g, &owned))
		return;
	/* Those that come first, those that wait to the end, and one in between. */
	for (size_t i = 0; i < owned.n4; i += owned.n4 / 2 - 1) {
		__u64 hash = hash_ipv4(g.hash, owned.v4[i].lo);
		__u64 *lane = (__u64 *)g.filter + lanes_block(hash, g.filter_blocks) * FILTER_LANES;

		mutate(&g, &owned, lane,
		       *lane & ~(1ULL << (LANES_BIT(lanes_of(hash, hash_more(g.hash, hash)), 0) & 63)), 8,
		       "a bit of the filter is missing");
	}
	CHECK(!check_arrays(&g, &owned), "it was all put right again, and check_arrays does not see it");
	memory_release(&g);
	owned_free(&owned);
}

/* So many that threads share the work: each host, wherever it is, is asked for by one of them. */
static void notices_in_many(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges set = RANGES_EMPTY, none = RANGES_EMPTY;
	struct account account = { &set, 1 };
	struct generation g;
	struct owned owned;
	size_t middle;

	for (int i = 0; i < 60000; i++)
		ENOUGH(!ranges_add_host(&set, (uint32_t)ktap_random()));
	ENOUGH(!ranges_finish(&set) && !owned_settle(&owned, &account, 1, &none));
	if (CHECK(!plan_generation(&g, &owned, &settings), "no plan") && build(&g, &owned)) {
		middle = owned.n4 / 2;
		for (int i = -6; i < 20; i++) {
			size_t at = i < -3  ? owned.n4 + 3 + (size_t)i /* the last three */
				    : i < 0 ? (size_t)(i + 3)	       /* the first */
				    : i < 6 ? middle - 3 + (size_t)i
					    : (size_t)(ktap_random() % owned.n4);
			void *slot = slot4(&g, owned.v4[at].lo);

			if (!CHECK(slot, "range %zu of %zu is not there", at, owned.n4))
				break;
			mutate(&g, &owned, slot, 0, 4, "one of many hosts is missing");
		}
		CHECK(!check_arrays(&g, &owned), "it was all put right again, and check_arrays does not see it");
		memory_release(&g);
	}
	owned_free(&owned);
	ranges_free(&set);
}

static void check_notices_in_many(void)
{
	__u64 usual = by_place_from;

	threads = 0;
	notices_in_many();
	CHECK(threads > 20, "%u threads", threads);
	no_threads = true;
	notices_in_many();
	no_threads = false;
	by_place_from = 1; /* and where they are put in the arrays' order */
	notices_in_many();
	check_notices();
	by_place_from = usual;
}

#define PLACES_MOST 100000

static struct by_place by_place;
static uint64_t used, sum;

/* Keys of 32 bits, whose upper half is their place. */
static int use(void *arg, __u64 key)
{
	unsigned int part = (unsigned int)(key >> 32 >> by_place.shift);
	unsigned int *last = arg;

	if (by_place.came && by_place.ordered[0] == key)
		*last = 0;
	if (!CHECK(part < BY_PLACE_PARTS && part >= *last, "part %u behind %u", part, *last))
		return -EILSEQ;
	*last = part;
	used++;
	sum += key;
	return 0;
}

static int refuse(void *arg, __u64 key)
{
	(void)key;
	return ++*(unsigned int *)arg == 7 ? -EAGAIN : 0;
}

/* Each key is used once, and those that were put together in the order of their parts. */
static void by_their_place(void)
{
	static const uint64_t counts[] = { 1, 255, 256, 257, 511, 512, 65536, 65537, PLACES_MOST };
	unsigned int last = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		uint64_t keys = 300 + ktap_random() % 3000000, wanted = 0;

		used = sum = last = 0;
		by_place_begin(&by_place, counts[i], by_place_from);
		for (uint64_t k = 0; k < keys && !ktap_failed; k++) {
			__u64 place = k < 2 ? k * (counts[i] - 1) : ktap_random() % counts[i];
			__u64 key = place << 32 | k;

			wanted += key;
			if (by_place_put(&by_place, key, place, use, &last))
				return;
		}
		by_place_flush(&by_place, use, &last);
		by_place_end(&by_place);
		if (!CHECK(used == keys && sum == wanted, "%" PRIu64 " of %" PRIu64 " keys", used, keys))
			return;
	}
	by_place_begin(&by_place, 1, by_place_from - 1);
	CHECK(!by_place.came, "a small array's keys are put together");
	last = 0;
	by_place_begin(&by_place, 1, by_place_from);
	for (int i = 0; i < 10; i++)
		CHECK(!by_place_put(&by_place, 1, 0, refuse, &last), "one that was not used yet is refused");
	CHECK(err_is(by_place_flush(&by_place, refuse, &last), EAGAIN) && last == 7, "it goes on after an error");
	by_place_end(&by_place);
}

/* The same of arrays that nobody has the sets of, as an image holds them: a value of this size that is wrong. */
static void mutate_stored(struct generation *g, void *at, __u64 value, size_t size, const char *wanted)
{
	bool known[LABELS] = { [1] = true, [2] = true };
	const char *fault;
	__u64 before = 0;

	memcpy(&before, at, size);
	memcpy(at, &value, size);
	fault = check_stored(g, known);
	CHECK(fault && !strcmp(fault, wanted), "check_stored says '%s', not '%s'", fault ? fault : "nothing", wanted);
	memcpy(at, &before, size);
	fault = check_stored(g, known);
	CHECK(!fault, "right again, and check_stored says '%s'", fault);
}

/* An address that belongs into another bucket. */
static uint32_t stranger(const struct generation *g, uint64_t bucket)
{
	uint32_t addr = 0x2d000001;

	while (is_bucket_of(g, bucket, addr) || addr == vacant4(g, bucket))
		addr++;
	return addr;
}

static void stored_notices(void)
{
	static const uint32_t host = 0x0a000007, whole = 0x0c000000;
	const ip6 first = ((ip6)0x20010db8 << 96) + 1;
	struct settings settings = SETTINGS_DEFAULT;
	struct bucket6 *bucket6;
	static struct naive m;
	struct generation g;
	struct owned owned;
	unsigned int keys = 0;
	uint32_t *slot;

	m = (struct naive){ .label = { 1, 2 } };
	naive_add(&m, 4, host, host, 0);
	naive_add(&m, 4, whole, whole + 255, 1);
	naive_add(&m, 4, whole + 0x100, whole + 0x1ff, 0);
	naive_add(&m, 6, first, first, 0);
	naive_add(&m, 6, first << 1, first << 1 | 1, 1);
	naive_settle(&m, &owned);
	if (!CHECK(!plan_generation(&g, &owned, &settings), "no plan") || !build(&g, &owned))
		return;
	slot = slot4(&g, host);
	if (CHECK(slot, "the host is not in the roster")) {
		struct bucket4 *bucket = (struct bucket4 *)((uintptr_t)slot & ~(sizeof(*bucket) - 1));
		unsigned int label = roster4_label_index(roster4_slot_bit((unsigned int)(slot - bucket->addr)));

		mutate_stored(&g, &bucket->label[label], 3, 1,
			      "an address is on the account of a list that is not there");
	}
	if (CHECK(g.gate4_labels, "no labels of /24s"))
		mutate_stored(&g, (__u8 *)g.gate4_labels + (whole >> 8), 3, 1,
			      "a /24 is on the account of a list that is not there");
	bucket6 = (struct bucket6 *)g.roster6;
	for (uint64_t b = 0; b < g.roster6_buckets; b++) {
		for (unsigned int i = 0; i < ROSTER6_SLOTS; i++) {
			__u64 key = bucket6[b].key[i];

			if (!key)
				continue;
			keys++;
			mutate_stored(&g, &bucket6[b].key[i], key | 1ULL << 63, 8, "an IPv6 tag is none");
			mutate_stored(&g, &bucket6[b].key[i], key & ~1ULL, 8, "an IPv6 tag is none");
			mutate_stored(&g, &bucket6[b].label[roster6_label_index(1ULL << i)], 3, 1,
				      "a prefix is on the account of a list that is not there");
		}
	}
	CHECK(keys > 1, "%u keys", keys);
	for (uint64_t b = 0; b < g.roster6_buckets; b += g.roster6_buckets - 1)
		for (unsigned int i = 0; i < ROSTER6_SLOTS; i += ROSTER6_SLOTS - 1)
			mutate_stored(&g, &bucket6[b].key[i], 2, 8, "an IPv6 tag is none");
	for (uint64_t b = 0; b < g.roster4_buckets; b += g.roster4_buckets - 1)
		for (unsigned int i = 0; i < ROSTER4_SLOTS; i += ROSTER4_SLOTS - 1)
			mutate_stored(&g, &((struct bucket4 *)g.roster4)[b].addr[i], stranger(&g, b), 4,
				      "an address is in a bucket that is not its own");
	memset((void *)(uintptr_t)g.filter, 0, g.filter_blocks * BLOCK_BYTES);
	CHECK(check_stored(&g, (bool[LABELS]){ [1] = true, [2] = true }), "an empty filter goes by");
	memory_release(&g);
	owned_free(&owned);
}

/* Without a roster: an allowed address that is dropped by accident, against asking about each. */
static void allowed_by_accident(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	int hit = 0, clean = 0;

	settings.exact = false;
	settings.bits_per_key = 6; /* so that accidents happen */
	for (int round = 0; round < 20; round++) {
		struct ranges set = RANGES_EMPTY, allowed = RANGES_EMPTY;
		struct account account = { &set, 1 };
		bool accident = false;
		struct generation g;
		struct owned owned;
		int err;

		for (int i = 0; i < 4000; i++) {
			ip6 even = ((ip6)0x20010db8 << 96) + (ktap_random() & 0xfffe);

			ENOUGH(!ranges_add_host(&set, 0x0a000000 | (uint32_t)(ktap_random() & 0xffff)));
			ENOUGH(!ranges_add6(&set, even, even));
		}
		for (uint64_t i = ktap_random() % 4; i; i--) {
			ENOUGH(!ranges_add_host(&allowed, 0x0a000000 | (uint32_t)(ktap_random() & 0xffff)));
			ENOUGH(!ranges_add6(&allowed, ((ip6)0x20010db8 << 96) + (ktap_random() & 0xff),
					    ((ip6)0x20010db8 << 96) + (ktap_random() & 3) + 0xff));
		}
		ENOUGH(!ranges_add4(&allowed, 0x0b000000, 0x0c000000)); /* wide, but clear by the gate */
		ENOUGH(!ranges_finish(&set) && !ranges_finish(&allowed) &&
		       !owned_settle(&owned, &account, 1, &allowed));
		if (!CHECK(!plan_generation(&g, &owned, &settings), "no plan") || !build(&g, &owned))
			return;
		for (size_t i = 0; i < allowed.n4; i++)
			for (uint32_t a = allowed.v4[i].lo; a <= allowed.v4[i].hi; a++)
				accident |= !!(decide_ipv4(&g, a) & ANSWER_DROP);
		for (size_t i = 0; i < allowed.n6; i++)
			for (ip6 a = allowed.v6[i].lo; a <= allowed.v6[i].hi; a++)
				accident |= !!(decide(&g, 6, a) & ANSWER_DROP);
		err = check_allowed(&g, &allowed);
		if (!CHECK(accident ? err_is(err, EAGAIN) : !err, "accident %d, but error %d", accident, err))
			return;
		*(accident ? &hit : &clean) += 1;
		memory_release(&g);
		owned_free(&owned);
		ranges_free(&set);
		ranges_free(&allowed);
	}
	printf("# %d generations hit an allowed address, %d did not\n", hit, clean);
}

/* What is allowed is looked at address by address, so there is an end to it; what a gate clears costs nothing. */
static void allowed_too_wide(void)
{
	static const struct {
		ip6 lo, more;
		int err;
	} known[] = {
		{ (ip6)0x20010db8 << 96 | (ip6)1 << 64, 999999, 0 },
		{ (ip6)0x20010db8 << 96 | (ip6)1 << 64, 1000000, E2BIG },
		{ (ip6)0x20010db8 << 96, 0, EAGAIN },		  /* banned */
		{ ((ip6)0x20010db8 << 96) - 1000, 2000, EAGAIN }, /* on its way out of what is clear */
		{ (ip6)0x20010db7 << 96, ((ip6)1 << 96) - 1, 0 }, /* clear as a whole */
		{ (ip6)0x20010db0 << 96, ((ip6)8 << 96) - 1, 0 }, /* and several */
		{ (ip6)0x20010db7 << 96, (ip6)1 << 96, EAGAIN },
		{ 0, ~(ip6)0, E2BIG },
	};
	static const struct {
		__u32 lo, hi;
		int err;
	} known4[] = {
		{ 0x0a000002, 0x0a0000ff, 0 },	    { 0x0a000000, 0x0a000000, 0 },
		{ 0x0a000000, 0x0a000001, EAGAIN }, { 0x0a000001, 0x0a0000ff, EAGAIN },
		{ 0x08000000, 0x09ffffff, 0 }, /* clear as a whole */
		{ 0x08000080, 0x0a000000, 0 },	    { 0x08000080, 0x0a000001, EAGAIN },
	};
	struct ranges set = RANGES_EMPTY;
	struct account account = { &set, 1 };
	struct settings settings = SETTINGS_DEFAULT;
	struct generation g;
	struct owned owned;
	__u64 gate4;

	settings.exact = false;
	settings.bits_per_key = 60;
	ENOUGH(!ranges_add_host(&set, 0x0a000001) && !ranges_add6(&set, (ip6)0x20010db8 << 96, (ip6)0x20010db8 << 96));
	ENOUGH(!ranges_finish(&set) && !owned_settle(&owned, &account, 1, &RANGES_EMPTY));
	if (!CHECK(!plan_generation(&g, &owned, &settings) && g.gate6_log2, "no plan") || !build(&g, &owned))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct ranges allowed = RANGES_EMPTY;
		int err;

		ENOUGH(!ranges_add6(&allowed, known[i].lo, known[i].lo + known[i].more) && !ranges_finish(&allowed));
		err = check_allowed(&g, &allowed);
		CHECK(known[i].err ? err_is(err, known[i].err) : !err, "%zu: error %d", i, err);
		ranges_free(&allowed);
	}
	for (size_t i = 0; i < sizeof(known4) / sizeof(*known4); i++) {
		struct ranges allowed = RANGES_EMPTY;
		int err;

		ENOUGH(!ranges_add4(&allowed, known4[i].lo, known4[i].hi) && !ranges_finish(&allowed));
		err = check_allowed(&g, &allowed);
		CHECK(known4[i].err ? err_is(err, known4[i].err) : !err, "IPv4, %zu: error %d", i, err);
		ranges_free(&allowed);
	}
	/* Without a gate each address counts, and behind one that clears all of them each /32 does. */
	gate4 = g.gate4;
	g.gate4 = 0;
	memset((void *)(uintptr_t)g.gate6, 0, (size_t)1 << g.gate6_log2);
	for (int more = 0; more < 2; more++) {
		struct ranges four = RANGES_EMPTY, six = RANGES_EMPTY;
		int err4, err6;

		ENOUGH(!ranges_add4(&four, 0x0b000000, 0x0b000000 + ALLOWED_MAX - 1 + more) && !ranges_finish(&four));
		ENOUGH(!ranges_add6(&six, 0, ((ip6)(GATE6_NETS + more) << 96) - 1) && !ranges_finish(&six));
		err4 = check_allowed(&g, &four);
		err6 = check_allowed(&g, &six);
		CHECK(more ? err_is(err4, E2BIG) && err_is(err6, E2BIG) : !err4 && !err6, "%d more: %d, %d", more, err4,
		      err6);
		ranges_free(&four);
		ranges_free(&six);
	}
	g.gate4 = gate4;
	memory_release(&g);
	owned_free(&owned);
	ranges_free(&set);
}

/* --- Odds and ends ---------------------------------------------------------------------------------------------------
 */

static void seeds(void)
{
	struct generation a = { .rungs = 3 }, b = { .rungs = 3 };
	const __u64 *one = &a.hash.add, *two = &b.hash.add;

	CHECK(!build_seeds(&a) && !build_seeds(&b), "no seeds");
	CHECK(a.hash.mul1 & a.hash.mul2 & a.hash.mul3 & a.tag.mul1 & a.tag.mul2 & a.tag.mul3 & a.gate6_mul & 1,
	      "an even multiplier loses keys");
	for (size_t i = 0; i < sizeof(struct hash_seeds) / 8 * 2; i++)
		CHECK(one[i] != two[i] && one[i] >> 8, "seed %zu is the same, or small", i);
	CHECK(a.gate6_add != b.gate6_add && a.gate6_mul != b.gate6_mul, "the gate's seeds are the same");
	for (int i = 0; i < 3; i++)
		CHECK(a.rung[i].salt != b.rung[i].salt && a.rung[i].salt != a.rung[(i + 1) % 3].salt,
		      "salt %d is the same", i);
}

static void shadows(void)
{
	for (int round = 0; round < 100; round++) {
		struct generation g = { .shadows = 1 };
		bool shadow[LABELS];

		for (unsigned int label = 0; label < LABELS; label++) {
			shadow[label] = ktap_random() & 1;
			g.shadow[label / 64] |= (__u64)shadow[label] << label % 64;
		}
		for (unsigned int label = 0; label < LABELS; label++) {
			__u32 answer = ANSWER(STAGE_ROSTER, 5, label), got = decide_shadow(&g, answer | ANSWER_DROP);

			if (!CHECK(decide_shadow(&g, answer) == answer, "a pass is changed") ||
			    !CHECK(got == (answer | (shadow[label] ? ANSWER_SHADOW : ANSWER_DROP)), "label %u: %x",
				   label, got))
				return;
		}
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "the check notices whatever is missing", check_notices },
		{ "so it does without a roster", notices_without_roster },
		{ "so it does of many", check_notices_in_many },
		{ "keys by their place", by_their_place },
		{ "so it does without the sets", stored_notices },
		{ "allowed addresses that are hit by accident", allowed_by_accident },
		{ "allowed lists that are too wide", allowed_too_wide },
		{ "seeds", seeds },
		{ "shadow lists", shadows },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
