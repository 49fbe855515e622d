// SPDX-License-Identifier: GPL-2.0-only
/* Sets into arrays and back: what the data path's own decision says of them, against a model that asks every range. */
#include "built.h"
#include "filter/plan_sizes.h"
#include "filter/layout.h"

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

static bool ask(const struct naive *m, const struct generation *g, const struct variant *v, int family, ip6 num)
{
	int wanted = naive_label(m, family, num);
	__u32 answer = decide(g, family, num), stage = ANSWER_STAGE(answer);
	uint64_t hi = (uint64_t)(num >> 64), lo = (uint64_t)num;
	bool drop = answer & ANSWER_DROP;

	/* Each answer is some stage's of those that there are. */
	if (!CHECK(stage == STAGE_GATE || stage == STAGE_FILTER ||
			   (stage == STAGE_ROSTER && (family == 4 ? g->roster4 : g->roster6)),
		   "IPv%d %" PRIx64 " %016" PRIx64 ": stage %u", family, hi, lo, stage))
		return false;
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
	if (err_is(plan_generation(&g, &owned, &settings), E2BIG) || g.keys6 > 150000) {
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
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
