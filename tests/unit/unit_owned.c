// SPDX-License-Identifier: GPL-2.0-only
/* Who owns what, against a model that asks every range about every address, and the walk by /24 against a count. */
#include <errno.h>

#include "base/log.h"
#include "base/memory.h"
#include "naive.h"

#define UNIVERSE 512U
#define ROUNDS	 6000

/* A universe begins at the first address of all, lies in between, or ends at the last one. */
static ip6 origin(int family, unsigned int place, ip6 size)
{
	if (place == 0)
		return 0;
	if (place == 1)
		return family == 4 ? 0x0a000000 : ((ip6)0x20010db8 << 96) - 256;
	return family == 4 ? ((ip6)1 << 32) - size : -size;
}

static void random_model(struct naive *m, int family, ip6 base, unsigned int size, unsigned int ranges)
{
	m->n = 0;
	for (unsigned int a = 0; a < NAIVE_ACCOUNTS; a++)
		m->label[a] = (uint8_t)(ktap_random() % 4);
	for (unsigned int i = 0; i < ranges; i++) {
		unsigned int lo = (unsigned int)(ktap_random() % size), hi;

		/* Many are single addresses, and many share a border with another. */
		hi = ktap_random() & 1 ? lo : lo + (unsigned int)(ktap_random() % (size - lo));
		if (i && ktap_random() % 4 == 0) {
			lo = (unsigned int)(m->range[i - 1].lo - base);
			hi = lo > hi ? lo : hi;
		}
		if (ktap_random() % 16 == 0)
			hi = size - 1;
		naive_add(m, family, base + lo, base + hi, (unsigned int)(ktap_random() % (NAIVE_ACCOUNTS + 1)));
	}
}

static int owned_label(const struct owned *owned, int family, ip6 num)
{
	size_t n = family == 4 ? owned->n4 : owned->n6;
	ip6 narrowest = 0;
	int label = -1;

	for (size_t i = 0; i < n; i++) {
		ip6 lo = family == 4 ? owned->v4[i].lo : owned->v6[i].lo,
		    hi = family == 4 ? owned->v4[i].hi : owned->v6[i].hi;

		if (num < lo || num > hi)
			continue;
		CHECK(family == 6 || label < 0, "an IPv4 address is in two ranges");
		/* IPv6: the longest prefix has the say, and of equal ones the first. */
		if (label >= 0 && hi - lo >= narrowest)
			continue;
		narrowest = hi - lo;
		label = family == 4 ? owned->label4[i] : owned->label6[i];
	}
	return label;
}

static bool normal(const struct owned *owned)
{
	for (size_t i = 0; i < owned->n4; i++)
		if (!CHECK(owned->v4[i].lo <= owned->v4[i].hi, "IPv4 range %zu is upside down", i))
			return false;
	for (size_t i = 0; i < owned->n6; i++)
		if (!CHECK(owned->v6[i].lo <= owned->v6[i].hi, "IPv6 range %zu is upside down", i))
			return false;
	for (size_t i = 1; i < owned->n4; i++) {
		bool adjacent = owned->v4[i - 1].hi + 1 == owned->v4[i].lo;

		if (!CHECK(owned->v4[i - 1].hi < owned->v4[i].lo, "IPv4 range %zu is out of order", i) ||
		    !CHECK(!adjacent || owned->label4[i - 1] != owned->label4[i], "IPv4 range %zu could be longer",
			   i - 1))
			return false;
	}
	for (size_t i = 0; i < owned->n6; i++) {
		ip6 span = owned->v6[i].hi - owned->v6[i].lo;

		if (!CHECK(!(span & (span + 1)) && !(owned->v6[i].lo & span), "IPv6 range %zu is no prefix", i))
			return false;
	}
	return true;
}

static bool compare(const struct naive *m, int family, ip6 base)
{
	struct owned owned;
	bool ok;

	naive_settle(m, &owned);
	ok = normal(&owned) && CHECK(!(family == 4 ? owned.n6 : owned.n4), "ranges of the other family");
	for (unsigned int i = 0; i < UNIVERSE && ok; i++) {
		int wanted = naive_label(m, family, base + i), got = owned_label(&owned, family, base + i);

		ok = !ktap_failed &&
		     CHECK(got == wanted, "IPv%d, address %u: label %d, not %d", family, i, got, wanted);
	}
	owned_free(&owned);
	return ok;
}

static void against_model(void)
{
	static struct naive m;

	for (int round = 0; round < ROUNDS; round++) {
		int family = round & 1 ? 4 : 6;
		ip6 base = origin(family, (unsigned int)round / 2 % 3, UNIVERSE);

		random_model(&m, family, base, UNIVERSE, (unsigned int)(ktap_random() % 24));
		if (!compare(&m, family, base))
			return;
	}
}

static void whole_space(void)
{
	static struct naive m;

	for (int family = 4; family <= 6; family += 2) {
		ip6 end = addr_mask(family, 0);
		struct owned owned;

		m = (struct naive){ .label = { 7, 8 } };
		naive_add(&m, family, 0, end, 1);
		naive_add(&m, family, 0, 0, 0);
		naive_add(&m, family, end, end, 0);
		naive_settle(&m, &owned);
		/* One ::/0 stays whole around what others hold of it. */
		CHECK(normal(&owned) && (family == 4 ? owned.n4 : owned.n6) == 3, "not three ranges");
		CHECK(owned_label(&owned, family, 0) == 7 && owned_label(&owned, family, 1) == 8,
		      "the first addresses");
		CHECK(owned_label(&owned, family, end) == 7 && owned_label(&owned, family, end - 1) == 8,
		      "the last addresses");
		owned_free(&owned);

		naive_add(&m, family, 0, end, NAIVE_ALLOWED);
		naive_settle(&m, &owned);
		CHECK(!owned.n4 && !owned.n6, "all is allowed, and %zu ranges are left", owned.n4 + owned.n6);
		owned_free(&owned);
	}
}

static void number_of_accounts(void)
{
	struct ranges set = RANGES_EMPTY, none = RANGES_EMPTY;
	struct account accounts[255];
	struct owned owned;

	ENOUGH(!ranges_add4(&set, 5, 9) && !ranges_add6(&set, 6, 6) && !ranges_finish(&set));
	CHECK(!owned_settle(&owned, NULL, 0, &none) && !owned.n4 && !owned.n6, "nothing is not nothing");
	owned_free(&owned);
	for (unsigned int i = 0; i < 255; i++)
		accounts[i] = (struct account){ &set, (uint8_t)(255 - i) };
	for (unsigned int n = 1; n <= 255; n++) {
		CHECK(!owned_settle(&owned, accounts, n, &none) && owned.n4 == 1 && owned.n6 == 1 &&
			      *owned.label4 == 255 && *owned.label6 == 255,
		      "%u accounts of the same set", n);
		owned_free(&owned);
		CHECK(!owned_settle(&owned, accounts, n, &set) && !owned.n4 && !owned.n6,
		      "%u accounts of what is allowed", n);
		owned_free(&owned);
	}
	ranges_free(&set);
}

/* Every step of the walk, against the labels of its 256 addresses one by one. */
static bool walk_nets(const struct naive *m, const struct owned *owned, uint32_t first_net, unsigned int nets)
{
	struct net24_walk walk = { 0 };
	uint32_t done = first_net; /* /24s before this one were walked, or had nothing to walk */

	while (owned_next_net24(owned, &walk)) {
		if (!CHECK(walk.first >= done && walk.last >= walk.first && walk.last < first_net + nets,
			   "/24s %x to %x come after %x", walk.first, walk.last, done) ||
		    !CHECK(walk.from < walk.until && walk.until <= owned->n4, "ranges %zu to %zu", walk.from,
			   walk.until))
			return false;
		for (uint32_t net = done; net < walk.first; net++)
			for (uint32_t host = 0; host < 256; host++)
				if (!CHECK(naive_label(m, 4, net << 8 | host) < 0, "/24 %x was left out", net))
					return false;
		for (uint32_t net = walk.first; net <= walk.last; net++) {
			unsigned int banned = 0, in_major = 0;
			bool one_account = true;
			int label[256];

			for (uint32_t host = 0; host < 256; host++) {
				label[host] = naive_label(m, 4, net << 8 | host);
				banned += label[host] >= 0;
				one_account &= label[host] == label[0];
			}
			if (walk.run) {
				if (!CHECK(banned == 256 && one_account && label[0] == owned->label4[walk.from],
					   "/24 %x is not whole on one account", net))
					return false;
				continue;
			}
			for (size_t i = walk.from; i < walk.until; i++) {
				struct range4 part = owned_clip24(owned, i, net);

				if (!CHECK(part.lo >> 8 == net && part.hi >> 8 == net && part.lo <= part.hi,
					   "a part of /24 %x is %x to %x", net, part.lo, part.hi))
					return false;
				in_major += part.hi - part.lo + 1;
			}
			if (!CHECK(banned == walk.banned && in_major == banned,
				   "/24 %x: %u addresses (%u in parts), not %u", net, walk.banned, in_major, banned) ||
			    !CHECK(walk.first == walk.last && !(banned == 256 && one_account), "/24 %x is a run", net))
				return false;
			if (banned == 256) {
				uint8_t at = owned_majority24(owned, &walk);
				unsigned int held[256] = { 0 };

				for (uint32_t host = 0; host < 256; host++)
					held[label[host]]++;
				for (unsigned int l = 0; l < 256; l++)
					if (!CHECK(held[l] <= held[at],
						   "/24 %x: the gate's label %u has %u addresses, %u %u", net, at,
						   held[at], l, held[l]))
						return false;
			}
		}
		done = walk.last + 1;
	}
	for (uint32_t net = done; net < first_net + nets; net++)
		for (uint32_t host = 0; host < 256; host++)
			if (!CHECK(naive_label(m, 4, net << 8 | host) < 0, "/24 %x was left out at the end", net))
				return false;
	return true;
}

static void by_net24(void)
{
	static struct naive m;
	const unsigned int nets = 8;

	for (int round = 0; round < 3000; round++) {
		ip6 base = origin(4, (unsigned int)round % 3, nets * 256);
		struct owned owned;
		bool ok;

		random_model(&m, 4, base, nets * 256, (unsigned int)(ktap_random() % 12));
		/* Ranges of whole /24s, and such that miss one by an address. */
		for (int i = 0; i < 3; i++) {
			unsigned int net = (unsigned int)(ktap_random() % nets),
				     more = (unsigned int)(ktap_random() % (nets - net));
			ip6 lo = base + net * 256, hi = base + (net + more) * 256 + 255;

			switch (ktap_random() % 4) {
			case 0:
				lo++;
				break;
			case 1:
				hi--;
				break;
			}
			naive_add(&m, 4, lo, hi, (unsigned int)(ktap_random() % NAIVE_ACCOUNTS));
		}
		naive_settle(&m, &owned);
		ok = walk_nets(&m, &owned, (uint32_t)(base >> 8), nets);
		owned_free(&owned);
		if (!ok)
			return;
	}
}

static void million_hosts(void)
{
	uint32_t *hosts = malloc(1000000 * sizeof(*hosts));
	struct net24_walk walk = { 0 };
	uint64_t banned = 0, nets = 0, wanted = 0, wanted_nets = 0;
	struct owned owned;

	ENOUGH(hosts);
	for (size_t i = 0; i < 1000000; i++) /* some twice */
		hosts[i] = (uint32_t)ktap_random() >> 6;
	naive_hosts(&owned, hosts, 1000000, 1);
	qsort(hosts, 1000000, sizeof(*hosts), compare_u32);
	for (size_t i = 0; i < 1000000; i++) {
		wanted += !i || hosts[i] != hosts[i - 1];
		wanted_nets += !i || hosts[i] >> 8 != hosts[i - 1] >> 8;
	}
	while (owned_next_net24(&owned, &walk)) {
		nets += walk.last - walk.first + 1;
		banned += walk.run ? 256ULL * (walk.last - walk.first + 1) : walk.banned;
	}
	CHECK(banned == wanted && nets == wanted_nets,
	      "%" PRIu64 " hosts in %" PRIu64 " /24s, not %" PRIu64 " in %" PRIu64, banned, nets, wanted, wanted_nets);
	owned_free(&owned);
	free(hosts);
}

static uint64_t available = 8ULL << 30;

/* In place of the machine's own. */
uint64_t memory_available(void)
{
	return available;
}

/* 6000 lines that are three quarters of a million prefixes. */
static void more_than_there_is(void)
{
	struct ranges set = RANGES_EMPTY, none = RANGES_EMPTY;
	struct account account = { &set, 1 };
	struct owned owned;
	int err;

	for (unsigned int i = 0; i < 6000; i++) {
		ip6 net = (ip6)0x2a00 << 112 | (ip6)i << 80;

		if (ranges_add6(&set, net + 1, net + ((ip6)1 << 64) - 2))
			return ktap_skip("no memory");
	}
	if (ranges_finish(&set))
		return ktap_skip("no memory");
	CHECK(!owned_settle(&owned, &account, 1, &none) && owned.n6 == 6000 * 126, "%zu prefixes", owned.n6);
	owned_free(&owned);
	available = 40 << 20;
	err = owned_settle(&owned, &account, 1, &none);
	CHECK(err_is(err, E2BIG) && !owned.v6 && !owned.label4, "it takes them");
	err = owned_take(&owned, &set, 1);
	CHECK(err_is(err, E2BIG) && !set.n6, "it takes the set");
	CHECK(strstr(reason(err), "its IPv6 ranges are 756000 prefixes"), "%s", reason(err));
	ranges_free(&set);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "accounts, priorities and exceptions against a model", against_model },
		{ "the whole address space and its ends", whole_space },
		{ "0 to 255 accounts", number_of_accounts },
		{ "by /24, against the labels of every address", by_net24 },
		{ "by /24: 1 M hosts", million_hosts },
		{ "more IPv6 prefixes than there is memory for", more_than_there_is },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
