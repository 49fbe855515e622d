// SPDX-License-Identifier: GPL-2.0-only
/*
 * Range sets against a naive model: one flag for each address of a small universe, which lies at the beginning, in the
 * middle and at the end of either family.
 */
#include <sys/resource.h>

/* A quarter of the real one: as many sorts and merges, of fewer entries. */
#define SETTLE_BYTES ((size_t)16 << 20)
#include "sets/ranges.c"

#include "ktap.h"
#include "ranges_model.h"

#define ROUNDS 4000

static void random_set(struct ranges *set, struct model *model, size_t most)
{
	*set = RANGES_EMPTY;
	*model = (struct model){ .family = ktap_random() % 2 ? 4 : 6, .place = (unsigned int)(ktap_random() % 3) };
	for (size_t n = ktap_random() % (most + 1); n; n--) {
		unsigned int lo = (unsigned int)(ktap_random() % UNIVERSE);
		unsigned int span = ktap_random() % 3 ? (unsigned int)(ktap_random() % 24) : 0;

		model_add(model, set, lo, lo + span < UNIVERSE ? lo + span : UNIVERSE - 1);
		/* A set that was in order may be added to again. */
		if (!(ktap_random() % 8))
			ranges_finish(set);
	}
	ranges_finish(set);
}

static bool holds(const struct ranges *set, const struct model *model, const char *what)
{
	const char *wrong = model_compare(model, set);

	return CHECK(!wrong, "%s: %s (IPv%d)", what, wrong, model->family);
}

static void build(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct ranges set;
		struct model model;
		bool ok;

		random_set(&set, &model, 40);
		ok = holds(&set, &model, "set");
		ranges_free(&set);
		if (!ok)
			return;
	}
}

static void algebra(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct ranges a, b, out[3] = { 0 };
		struct model model_a, model_b, model[3];
		bool ok;

		random_set(&a, &model_a, 20);
		do {
			random_set(&b, &model_b, 20);
			if (model_b.family == model_a.family && model_b.place == model_a.place)
				break;
			ranges_free(&b);
		} while (true);
		for (int k = 0; k < 3; k++)
			model[k] = model_a;
		for (unsigned int k = 0; k < UNIVERSE; k++) {
			model[0].in[k] = model_a.in[k] || model_b.in[k];
			model[1].in[k] = model_a.in[k] && model_b.in[k];
			model[2].in[k] = model_a.in[k] && !model_b.in[k];
		}
		ranges_union(&out[0], &a, &b);
		ranges_intersect(&out[1], &a, &b);
		ranges_subtract(&out[2], &a, &b);
		ok = holds(&out[0], &model[0], "union") && holds(&out[1], &model[1], "intersection") &&
		     holds(&out[2], &model[2], "difference") &&
		     CHECK(ranges_equal(&a, &b) == !memcmp(model_a.in, model_b.in, sizeof(model_a.in)), "equality");
		for (int k = 0; k < 3; k++)
			ranges_free(&out[k]);
		ranges_free(&a);
		ranges_free(&b);
		if (!ok)
			return;
	}
}

static void both_families(void)
{
	struct ranges a = RANGES_EMPTY, b = RANGES_EMPTY, out;

	ranges_add4(&a, 1, 5);
	ranges_add6(&a, 1, 5);
	ranges_add4(&b, 3, 3);
	ranges_finish(&a);
	ranges_finish(&b);
	ranges_subtract(&out, &a, &b);
	CHECK(out.n4 == 2 && out.n6 == 1 && ranges_count4(&out) == 4 && ranges_count6(&out) == 5, "families mix");
	ranges_free(&out);
	ranges_intersect(&out, &a, &b);
	CHECK(out.n4 == 1 && out.n6 == 0, "families mix");
	ranges_free(&out);
	ranges_free(&a);
	ranges_free(&b);
}

static void everything(void)
{
	struct ranges set = RANGES_EMPTY, none = RANGES_EMPTY, out;

	ranges_add_prefix(&set, (struct addr){ .family = 4 }, 0);
	ranges_add_prefix(&set, (struct addr){ .family = 6 }, 0);
	ranges_add4(&set, UINT32_MAX, UINT32_MAX);
	ranges_add6(&set, ~(ip6)0, ~(ip6)0);
	ranges_finish(&set);
	CHECK(set.n4 == 1 && set.n6 == 1, "%zu and %zu ranges", set.n4, set.n6);
	CHECK(ranges_count4(&set) == (uint64_t)1 << 32, "not all of IPv4");
	CHECK(ranges_count6(&set) == ~(ip6)0, "not all of IPv6");
	CHECK(!ranges_covering(&set, (struct addr){ 5, 4 }) && !ranges_covering(&set, (struct addr){ 5, 6 }), "not /0");
	ranges_subtract(&out, &set, &set);
	CHECK(ranges_equal(&out, &none), "something is left");
	ranges_free(&out);
	ranges_free(&set);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Enough hosts for all digits of the radix sort, against qsort(); with prefixes between them. */
static void many_hosts(void)
{
	size_t n = 300000, distinct = 0;
	uint32_t *hosts = malloc(n * sizeof(*hosts));
	struct ranges set = RANGES_EMPTY, prefixes = RANGES_EMPTY, only, rest;

	if (!hosts)
		return ktap_skip("no memory");
	for (size_t i = 0; i < n; i++) {
		hosts[i] = (uint32_t)ktap_random() & (i % 2 ? UINT32_MAX : 0xffff00ff);
		ranges_add4(&set, hosts[i], hosts[i]);
		if (i % 1000 == 0) {
			struct addr first = { .family = 4, .num = hosts[i] & 0xfffff000 };

			ranges_add_prefix(&set, first, 20);
			ranges_add_prefix(&prefixes, first, 20);
		}
	}
	ranges_finish(&set);
	ranges_finish(&prefixes);
	qsort(hosts, n, sizeof(*hosts), by_number);
	for (size_t i = 0; i < n; i++) {
		struct addr addr = { .family = 4, .num = hosts[i] };

		CHECK(ranges_have(&set, addr), "a host is missing");
		distinct += (!i || hosts[i] != hosts[i - 1]) && !ranges_have(&prefixes, addr);
	}
	ranges_subtract(&only, &set, &prefixes);
	ranges_subtract(&rest, &prefixes, &set);
	CHECK(ranges_count4(&only) == distinct, "%" PRIu64 " hosts, not %zu", ranges_count4(&only), distinct);
	CHECK(!rest.n4, "a prefix is missing");
	ranges_free(&only);
	ranges_free(&rest);
	ranges_free(&prefixes);
	ranges_free(&set);
	free(hosts);
}

/* A list that repeats itself without end must not grow without end, and no entry is lost in between. */
static void repetition(void)
{
	size_t rounds = SETTLE_BYTES * 9 / 32, few = 1000;
	struct ranges set = RANGES_EMPTY;

	for (size_t i = 0; i < rounds; i++) {
		if (ranges_add_host(&set, (uint32_t)(i % few) * 2654435761U)) {
			ktap_skip("no memory");
			return;
		}
	}
	CHECK(set.hosts_room <= SETTLE_BYTES / sizeof(*set.hosts), "room for %zu hosts", set.hosts_room);
	ranges_finish(&set);
	CHECK(ranges_count4(&set) == few, "%" PRIu64 " hosts", ranges_count4(&set));
	CHECK(set.duplicates == rounds - few, "%" PRIu64 " duplicates", set.duplicates);
	ranges_free(&set);
	for (size_t i = 0; i < rounds / 2; i++)
		ranges_add4(&set, (uint32_t)(i % few) << 16, (uint32_t)(i % few) << 16 | 0xff);
	CHECK(set.room4 <= SETTLE_BYTES * 9 / 64, "room for %zu ranges", set.room4);
	for (size_t i = 0; i < rounds / 6; i++)
		ranges_add6(&set, (ip6)(i % few) << 64, (ip6)(i % few) << 64 | 0xffff);
	CHECK(set.room6 <= SETTLE_BYTES * 3 / 64, "room for %zu ranges", set.room6);
	ranges_finish(&set);
	CHECK(set.n4 == few && set.n6 == few, "%zu and %zu ranges", set.n4, set.n6);
	ranges_free(&set);
}

/*
 * Distinct entries beyond the point where arrays are put in order before they grow; two and a half times their bytes,
 * and the program's own.
 */
static void growth(void)
{
	uint64_t hosts = SETTLE_BYTES * 13 / 32, nets = SETTLE_BYTES * 3 / 64;
	struct ranges set = RANGES_EMPTY;
	struct rusage usage;

	for (uint64_t i = 0; i < hosts; i++) {
		if (ranges_add_host(&set, (uint32_t)(i * 2654435761U))) {
			ktap_skip("no memory");
			return;
		}
	}
	CHECK(set.hosts_room <= hosts * 3 / 2, "room for %zu hosts", set.hosts_room);
	ranges_finish(&set);
	CHECK(ranges_count4(&set) == hosts, "%" PRIu64 " hosts", ranges_count4(&set));
	CHECK(!set.duplicates, "%" PRIu64 " duplicates", set.duplicates);
	getrusage(RUSAGE_SELF, &usage);
#ifndef __SANITIZE_ADDRESS__
	CHECK((uint64_t)usage.ru_maxrss << 10 < hosts * 4 * 5 / 2 + (8 << 20), "%ld KiB", usage.ru_maxrss);
#endif
	for (size_t i = 1; i < set.n4; i++) {
		if (!CHECK(set.v4[i - 1].hi + 1 < set.v4[i].lo, "not in order"))
			break;
	}
	ranges_free(&set);
	for (uint64_t i = 0; i < nets; i++)
		ranges_add6(&set, (ip6)(i * 0x9e3779b97f4a7c15) << 64, (ip6)(i * 0x9e3779b97f4a7c15) << 64 | 0xff);
	ranges_finish(&set);
	CHECK(set.n6 == nets && ranges_count6(&set) == nets * 256, "%zu ranges", set.n6);
	ranges_free(&set);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "build", build },	      { "algebra", algebra },	    { "both_families", both_families },
		{ "everything", everything }, { "many_hosts", many_hosts }, { "repetition", repetition },
		{ "growth", growth },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
