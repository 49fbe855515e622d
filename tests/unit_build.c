// SPDX-License-Identifier: GPL-2.0-only
/* Sets into arrays and back: what the data path's own decision says of them, against a model that asks every range. */
#include <errno.h>

#include "build.h"
#include "check.h"
#include "decide.h"
#include "ktap.h"
#include "log.h"
#include "naive.h"
#include "plan.h"

static __u32 decide(const struct generation *g, int family, ip6 num)
{
	return family == 4 ? decide_ipv4(g, (__u32)num) : decide_ipv6(g, (__u64)(num >> 64), (__u64)num);
}

/* --- Random sets against the model -----------------------------------------------------------------------------------
 */

/* What a plan may leave out, left out by force. */
struct variant {
	bool exact, labels, gate4, gate6;
	int only; /* a family, or 0 for both */
};

/* Sizes for every host in the filter: what the planner does where nearly every /24 has some. */
static void without_gate4(struct generation *g, const struct settings *settings)
{
	struct layout_plan layout = layout_choose(settings);

	g->keys4 += g->all24 * 256;
	g->all24 = 0;
	g->gate4 = g->gate4_labels = 0;
	ENOUGH(!layout_size(g, &layout, (double)(g->keys4 + g->keys6)));
	g->roster4 = settings->exact && g->keys4;
	g->roster4_buckets = g->roster4 ? 128 + g->keys4 / 5 : 0;
}

static bool build(struct generation *g, const struct owned *owned)
{
	int err = -EAGAIN;

	memory_take(g);
	for (int attempt = 0; err == -EAGAIN && attempt < 8; attempt++) {
		if (attempt)
			memory_clear(g);
		seeds_set(g);
		err = build_arrays(g, owned);
	}
	if (!CHECK(!err, "not built: error %d", err))
		return false;
	err = check_arrays(g, owned);
	return CHECK(!err, "check_arrays says %d; exact %d, %llu rungs, gates %d and %d", err, g->roster4 || g->roster6,
		     g->rungs, !!g->gate4, !!g->gate6);
}

static bool ask(const struct naive *m, const struct generation *g, const struct variant *v, int family, ip6 num)
{
	int wanted = naive_label(m, family, num);
	__u32 answer = decide(g, family, num), stage = ANSWER_STAGE(answer);
	uint64_t hi = (uint64_t)(num >> 64), lo = (uint64_t)num;
	bool drop = answer & ANSWER_DROP;

	/* Without a roster the filter may be wrong, in one direction. */
	if (!v->exact && drop && wanted < 0)
		return CHECK(stage == STAGE_FILTER, "IPv%d %" PRIx64 " %016" PRIx64 ": dropped by stage %u", family, hi,
			     lo, stage);
	if (!CHECK(drop == (wanted >= 0), "IPv%d %" PRIx64 " %016" PRIx64 ": answer %x of stage %u, label %d expected",
		   family, hi, lo, answer, stage, wanted))
		return false;
	if (!drop || stage == STAGE_FILTER || (stage == STAGE_GATE && !v->labels) || (!v->exact && v->labels))
		return true;
	return CHECK((int)ANSWER_LABEL(answer) == wanted,
		     "IPv%d %" PRIx64 " %016" PRIx64 ": label %u of stage %u, not %d", family, hi, lo,
		     ANSWER_LABEL(answer), stage, wanted);
}

/* Places where there is much going on: both ends of the address space, and three in between. */
static ip6 somewhere(int family)
{
	ip6 end = addr_mask(family, 0);
	uint64_t r = ktap_random();
	unsigned int bits = (unsigned int)(r >> 8) % (family == 4 ? 13 : 70);
	ip6 offset = ((ip6)ktap_random() << 64 | ktap_random()) & (((ip6)1 << bits) - 1);
	ip6 base = family == 4 ? 0x0a000000 : (ip6)0x20010db8 << 96;

	switch (r % 8) {
	case 0:
		return offset;
	case 1:
		return end - offset;
	case 2:
		return base - offset - 1;
	case 3:
		return ((ip6)ktap_random() << 64 | ktap_random()) & end;
	default:
		return base + offset;
	}
}

static void random_ranges(struct naive *m, int family, unsigned int ranges, bool short_too)
{
	unsigned int width = addr_width(family);

	while (ranges--) {
		ip6 first = somewhere(family), mask;
		/* Mostly around a /24 (or a /64); now and then of any length. */
		unsigned int length = family == 4 ? 20 + (unsigned int)(ktap_random() % 13)
						  : 32 + 4 * (unsigned int)(ktap_random() % 25);

		if (ktap_random() % 4 == 0)
			length = (unsigned int)(ktap_random() % (width + 1));
		if (!short_too && length < 18)
			length = 18 + length % (width - 17);
		if (ktap_random() % 8 == 0 && m->n) /* beside another */
			first = m->range[m->n - 1].hi + 1;
		first &= addr_mask(family, 0);
		mask = addr_mask(family, length);
		naive_add(m, family, first & ~mask, first | mask,
			  ktap_random() % 12 ? (unsigned int)(ktap_random() % NAIVE_ACCOUNTS) : NAIVE_ALLOWED);
	}
}

static bool ask_all(const struct naive *m, const struct generation *g, const struct variant *v)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct naive_range *r = &m->range[i];
		ip6 end = addr_mask(r->family, 0),
		    inside = r->lo + (((ip6)ktap_random() << 64 | ktap_random()) & (r->hi - r->lo));

		if (!ask(m, g, v, r->family, r->lo) || !ask(m, g, v, r->family, r->hi) ||
		    !ask(m, g, v, r->family, inside) || !ask(m, g, v, r->family, (r->lo - 1) & end) ||
		    !ask(m, g, v, r->family, (r->hi + 1) & end))
			return false;
	}
	for (int i = 0; i < 600; i++)
		if (!ask(m, g, v, 4, somewhere(4)) || !ask(m, g, v, 6, somewhere(6)))
			return false;
	/* Every address around the middle: hosts of mixed /24s. */
	for (ip6 i = 0x09ffff00; i < 0x0a000400; i++)
		if (!ask(m, g, v, 4, i))
			return false;
	return true;
}

static bool random_set(const struct variant *v, unsigned int ranges)
{
	struct settings settings = SETTINGS_DEFAULT;
	static struct naive m;
	struct generation g;
	struct owned owned;
	bool ok;

	m.n = 0;
	for (unsigned int a = 0; a < NAIVE_ACCOUNTS; a++)
		m.label[a] = (uint8_t)(ktap_random() % (a & 1 ? 256 : 3));
	if (v->only != 6)
		random_ranges(&m, 4, ranges, v->gate4 && !(ktap_random() & 7));
	if (v->only != 4)
		random_ranges(&m, 6, ranges, true);
	settings.exact = v->exact;
	settings.labels = v->labels;
	settings.layout = (enum layout)(ktap_random() % (LAYOUTS + 1));
	settings.k = (unsigned int)(ktap_random() % (CLASSIC_K_MAX + 1));
	naive_settle(&m, &owned);
	/* Many lengths on few rungs can be more keys than a quick test wants. */
	if (plan_generation(&g, &owned, &settings) == -E2BIG || g.keys6 > 150000) {
		owned_free(&owned);
		return true;
	}
	if (!v->gate4)
		without_gate4(&g, &settings);
	if (!v->gate6)
		g.gate6 = g.gate6_log2 = 0;
	ok = build(&g, &owned) && ask_all(&m, &g, v);
	if (!ok)
		printf("# exact %d, labels %d, gates %d and %d, %s with k = %llu, %zu ranges\n", v->exact, v->labels,
		       v->gate4, v->gate6, layout_names[g.filter_layout], g.filter_k, m.n);
	memory_release(&g);
	owned_free(&owned);
	return ok;
}

static void variants(bool exact, int rounds)
{
	for (int round = 0; round < rounds; round++) {
		struct variant v = { .exact = exact,
				     .labels = round % 4 != 3,
				     .gate4 = round % 3 != 2,
				     .gate6 = round % 5 != 4,
				     .only = round % 7 == 5   ? 4
					     : round % 7 == 6 ? 6
							      : 0 };

		if (!random_set(&v, 1 + (unsigned int)(ktap_random() % 24)))
			return;
	}
}

static void random_sets(void)
{
	variants(true, 105);
}

static void random_sets_inexact(void)
{
	variants(false, 42);
}

/* --- Sets of a certain kind ------------------------------------------------------------------------------------------
 */

/* Plans, builds and asks a model that was made by hand. */
static void by_hand(const struct naive *m, bool exact)
{
	struct variant v = { exact, true, true, true, 0 };
	struct settings settings = SETTINGS_DEFAULT;
	struct generation g;
	struct owned owned;

	settings.exact = exact;
	naive_settle(m, &owned);
	if (CHECK(!plan_generation(&g, &owned, &settings), "no plan")) {
		if (build(&g, &owned))
			ask_all(m, &g, &v);
		memory_release(&g);
	}
	owned_free(&owned);
}

static void empty_and_single(void)
{
	static struct naive m;

	for (int exact = 0; exact <= 1; exact++) {
		m = (struct naive){ .label = { 17 } };
		by_hand(&m, exact);
		for (int family = 4; family <= 6; family += 2) {
			ip6 end = addr_mask(family, 0), one[] = { 0, end, 0x0a000001, end / 2, end / 2 + 1 };

			for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++) {
				m.n = 0;
				naive_add(&m, family, one[i], one[i], 0);
				by_hand(&m, exact);
				naive_add(&m, family, one[i], one[i], 0); /* twice */
				naive_add(&m, family, one[i], one[i], 1);
				by_hand(&m, exact);
			}
			m.n = 0;
			naive_add(&m, family, 0, end, 0);
			by_hand(&m, exact);
			naive_add(&m, family, one[2], one[2], NAIVE_ALLOWED);
			if (family == 4) /* of IPv6 too many keys are left */
				by_hand(&m, exact);
		}
	}
}

/* A /24 that two lists share, while all others are of one: the minority's drops are its own. */
static void two_lists_in_one_net(void)
{
	static struct naive m;

	for (int others = 0; others < 3; others++) {
		m = (struct naive){ .label = { 1, 2, 3 } };
		naive_add(&m, 4, 0x0a000000, 0x0a0000bf, 0);
		naive_add(&m, 4, 0x0a0000c0, 0x0a0000ff, 1);
		if (others)
			naive_add(&m, 4, 0x0a000100, 0x0a0002ff, others == 1 ? 0 : 2);
		by_hand(&m, true);
		if (ktap_failed) {
			printf("# %s\n", others == 0   ? "alone"
					 : others == 1 ? "others of the same list"
						       : "others of a third list");
			return;
		}
	}
}

/* Every length of prefix at once, and each alone. */
static void every_length(void)
{
	static struct naive m;

	for (int family = 4; family <= 6; family += 2) {
		unsigned int width = addr_width(family);

		m = (struct naive){ .label = { 1, 2, 3, 4 } };
		for (unsigned int length = 0; length <= width; length += family == 4 ? 1 : 3) {
			ip6 first = family == 4 ? 0x0a000000 : (ip6)0x20010db8 << 96, mask = addr_mask(family, length);
			size_t n = m.n;

			m.n = 0;
			naive_add(&m, family, first & ~mask, first | mask, length & 3);
			by_hand(&m, true);
			m.n = n;
			if (ktap_failed) {
				printf("# IPv%d /%u alone\n", family, length);
				return;
			}
			/* Behind one another, so that none covers another. */
			if (length > (family == 4 ? 1 : 16))
				naive_add(&m, family, ((ip6)1 << (width - length)) & addr_mask(family, 0),
					  ((ip6)1 << (width - length)) | mask, length & 3);
		}
		by_hand(&m, true);
	}
}

/*
 * Prefixes on several rungs, many enough that without a roster the filter says yes to some on a rung before theirs:
 * they are dropped, which is all that is asked for.
 */
static void several_rungs(void)
{
	static struct naive m;

	for (int exact = 1; exact >= 0; exact--) {
		m = (struct naive){ .label = { 1, 2 } };
		for (unsigned int i = 0; i < 4000; i++) {
			unsigned int length = 32 + i % 3 * 16;
			ip6 first = ((ip6)1 << 125) + ((ip6)i << 104) + ((ip6)ktap_random() << 40),
			    mask = addr_mask(6, length);

			naive_add(&m, 6, first & ~mask, first | mask, i & 1);
		}
		by_hand(&m, exact);
	}
}

/* The first list's key stands for both, however far behind the other's comes. */
static void one_key_of_two_lists(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct range6 v6[260];
	uint8_t labels[260];

	for (size_t n = 1; n <= 130; n++) {
		struct owned owned = { .v6 = v6, .label6 = labels, .n6 = 2 * n };
		struct generation g;

		for (size_t i = 0; i < 2 * n; i++) {
			v6[i] = (struct range6){ ((ip6)1 << 125) + i % n, ((ip6)1 << 125) + i % n };
			labels[i] = (uint8_t)(1 + i / n);
		}
		if (!CHECK(!plan_generation(&g, &owned, &settings), "no plan"))
			return;
		if (!build(&g, &owned))
			n = 130;
		memory_release(&g);
	}
}

/* --- 1 M keys --------------------------------------------------------------------------------------------------------
 */

static void million(void)
{
	const size_t n = 1000000;
	uint32_t *hosts = malloc(n * sizeof(*hosts));
	struct settings settings = SETTINGS_DEFAULT;
	size_t lost = 0, wrong = 0, asked = 0;
	struct generation g;
	struct owned owned;

	ENOUGH(hosts);
	for (size_t i = 0; i < n; i++) /* dense in parts, and the ends are there */
		hosts[i] = i < 3 ? (uint32_t)(i - 1) : (uint32_t)ktap_random() >> (i & 1 ? 0 : 8);
	naive_hosts(&owned, hosts, n, 77);
	qsort(hosts, n, sizeof(*hosts), compare_u32);
	if (CHECK(!plan_generation(&g, &owned, &settings), "no plan")) {
		if (build(&g, &owned)) {
			for (size_t i = 0; i < n; i++) {
				uint32_t other = i & 1 ? hosts[i] + 1 : (uint32_t)ktap_random();

				lost += decide_ipv4(&g, hosts[i]) != (ANSWER_DROP | ANSWER(STAGE_ROSTER, 0, 77));
				if (naive_has(hosts, n, other))
					continue;
				asked++;
				wrong += !!(decide_ipv4(&g, other) & ANSWER_DROP);
			}
			CHECK(!lost && !wrong, "%zu of %zu hosts pass, %zu of %zu others are dropped", lost, n, wrong,
			      asked);
		}
		memory_release(&g);
	}
	owned_free(&owned);
	free(hosts);
}

/* --- The proof before a generation goes live -------------------------------------------------------------------------
 */

/* An array's byte that is wrong, and right again. */
static void mutate(struct generation *g, const struct owned *owned, void *at, __u64 value, size_t size,
		   const char *what)
{
	__u64 before = 0;
	int err;

	memcpy(&before, at, size);
	memcpy(at, &value, size);
	err = check_arrays(g, owned);
	CHECK(err == -EILSEQ, "%s, and check_arrays says %d", what, err);
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

/* So many that threads share the work: each host, wherever it is, is asked for by one of them. */
static void check_notices_in_many(void)
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
		if (!CHECK(err == (accident ? -EAGAIN : 0), "accident %d, but error %d", accident, err))
			return;
		*(accident ? &hit : &clean) += 1;
		memory_release(&g);
		owned_free(&owned);
		ranges_free(&set);
		ranges_free(&allowed);
	}
	printf("# %d generations hit an allowed address, %d did not\n", hit, clean);
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
		{ "no key, one key, the same key twice, every key", empty_and_single },
		{ "two lists in one /24", two_lists_in_one_net },
		{ "prefixes of every length", every_length },
		{ "IPv6 prefixes on several rungs", several_rungs },
		{ "one key of two lists", one_key_of_two_lists },
		{ "random sets", random_sets },
		{ "random sets, without a roster", random_sets_inexact },
		{ "1 M hosts", million },
		{ "the check notices whatever is missing", check_notices },
		{ "so it does of many", check_notices_in_many },
		{ "allowed addresses that are hit by accident", allowed_by_accident },
		{ "seeds", seeds },
		{ "shadow lists", shadows },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
