// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose entry a dropped source counts for, in which order entries come, and which address a source was dropped for. Of
 * sources who is kept, who is the busiest, and where memory is short.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "ktap.h"
#include "sets/list.h"

static int allocations, allocation_fails_at;
static bool no_random;
static bool drops_mapped, drops_embedded;

#define calloc(n, size)		  (++allocations == allocation_fails_at ? NULL : calloc(n, size))
#define getrandom(to, size, flag) (no_random ? -1 : getrandom(to, size, flag))
#define busier			  busier_source
#include "observe/replay_table.c"
#undef busier
#include "bpf/decide.h"
/* 45.0.0.7 is what is mapped, 46.0.0.7 what is embedded. */
#define decide_carried(g, ipv4) \
	((void)(g),             \
	 ((ipv4) == 0x2d000007 && drops_mapped) || ((ipv4) == 0x2e000007 && drops_embedded) ? ANSWER_DROP : 0)
#include "observe/replay_entries.c"
#undef calloc

#define N 8
static struct replay_source sources[N];
static const struct replay_source *who[N];
static struct addr addrs[N];
static struct hit hits[N][2];
static struct traced traced[N];
static struct list_info lists[3] = { { .name = "a", .kind = LIST_BAN, .label = 1 },
				     { .name = "b", .kind = LIST_ALLOW, .label = 0 },
				     { .name = "c", .kind = LIST_SHADOW, .label = 3 } };
static struct explanation e = { .lists = lists, .n = 3, .traced = traced, .addrs_n = N };

/* The i-th source, that was dropped on account of a label, with so many packets, and what holds it. */
static void source(size_t i, uint8_t label, bool by_filter, uint64_t packets, int family)
{
	sources[i] = (struct replay_source){ .num = 100 + i,
					     .packets = packets,
					     .bytes = 10 * packets,
					     .label = label,
					     .by_filter = by_filter,
					     .family = (uint8_t)family };
	who[i] = &sources[i];
	addrs[i] = (struct addr){ 100 + i, family };
	traced[i] = (struct traced){ .hits = hits[i] };
}

static void held(size_t i, size_t list, ip6 lo, ip6 hi, uint64_t line)
{
	hits[i][traced[i].n++] = (struct hit){ .list = list, .lo = lo, .hi = hi, .line = line };
}

static struct replay_entry *entries;
static size_t n;

static void take(size_t of)
{
	free(entries);
	CHECK(!replay_entries(&e, who, addrs, of, &entries, &n), "no memory");
}

static bool is(size_t at, size_t list, int family, uint64_t line, ip6 lo, uint64_t packets, uint64_t from)
{
	const struct replay_entry *is = &entries[at];

	return CHECK(at < n && is->list == list && is->family == family && is->line == line && is->lo == lo &&
			     is->dropped.packets == packets && is->dropped.bytes == 10 * packets && is->sources == from,
		     "place %zu of %zu: list %zu, family %d, line %llu, %llu packets of %llu", at, n, is->list,
		     is->family, (unsigned long long)is->line, (unsigned long long)is->dropped.packets,
		     (unsigned long long)is->sources);
}

static void whose(void)
{
	take(0);
	CHECK(!n, "%zu entries of nobody", n);
	/* By its label, or by the filter; an allow list has no account. */
	source(0, 3, false, 5, 4);
	held(0, 0, 1, 2, 7);
	held(0, 2, 3, 4, 8);
	source(1, 1, true, 6, 4);
	held(1, 1, 1, 2, 9);
	held(1, 2, 3, 4, 8);
	source(2, 2, false, 7, 4);
	held(2, 0, 1, 2, 7);
	source(3, 0, false, 7, 4);
	held(3, 1, 1, 2, 9);
	source(4, 1, false, 9, 4);
	take(5);
	CHECK(n == 1, "%zu entries", n);
	is(0, 2, 4, 8, 3, 11, 2);
}

/* Those that differ in one thing alone are two, and come in their order where they dropped as much. */
static void order(void)
{
	static const struct {
		size_t list;
		int family;
		uint64_t line;
		ip6 lo, hi;
	} each[] = { { 0, 4, 1, 1, 2 }, { 0, 4, 1, 1, 3 }, { 0, 4, 1, 2, 3 },
		     { 0, 4, 2, 1, 2 }, { 0, 6, 1, 1, 2 }, { 2, 4, 1, 1, 2 } };
	const size_t m = sizeof(each) / sizeof(*each);

	for (size_t i = 0; i < m; i++) {
		size_t at = m - 1 - i;

		source(i, lists[each[at].list].label, false, 4, each[at].family);
		held(i, each[at].list, each[at].lo, each[at].hi, each[at].line);
	}
	take(m);
	CHECK(n == m, "%zu entries", n);
	for (size_t i = 0; i < n; i++)
		is(i, each[i].list, each[i].family, each[i].line, each[i].lo, 4, 1);
	sources[1].packets = 5;
	sources[1].bytes = 50;
	sources[2].packets = 3;
	sources[2].bytes = 30;
	take(m);
	is(0, each[m - 2].list, each[m - 2].family, each[m - 2].line, each[m - 2].lo, 5, 1);
	is(m - 1, each[m - 3].list, each[m - 3].family, each[m - 3].line, each[m - 3].lo, 3, 1);
	/* The same from several sources adds up. */
	for (size_t i = 0; i < 3; i++) {
		source(i, 1, false, 1 + i, 4);
		held(i, 0, 5, 5, 9);
	}
	take(3);
	CHECK(n == 1, "%zu entries", n);
	is(0, 0, 4, 9, 5, 6, 3);
}

static void dropped_for(void)
{
	const struct generation g = { .embedded = 1 }, without = { .embedded = 0 };
	const ip6 mapped = (ip6)0xffff << 32 | 0x2d000007, sixtofour = (ip6)0x20022e00 << 96 | (ip6)0x0007 << 80;

	source(0, 1, false, 1, 4);
	source(1, 1, false, 1, 6);
	source(2, 1, false, 1, 6);
	sources[0].num = 0x2d000007;
	sources[1].num = mapped;
	sources[2].num = sixtofour;
	for (int how = 0; how < 4; how++) {
		drops_mapped = how & 1;
		drops_embedded = how & 2;
		replay_addresses(how ? &g : &without, who, 3, addrs);
		CHECK(addrs[0].family == 4 && addrs[0].num == 0x2d000007, "%d: an IPv4 source is another", how);
		CHECK(drops_mapped ? addrs[1].family == 4 && addrs[1].num == 0x2d000007
				   : addrs[1].family == 6 && addrs[1].num == mapped,
		      "%d: what is mapped is of family %d", how, addrs[1].family);
		CHECK(drops_embedded ? addrs[2].family == 4 && addrs[2].num == 0x2e000007
				     : addrs[2].family == 6 && addrs[2].num == sixtofour,
		      "%d: what is embedded is of family %d", how, addrs[2].family);
	}
	drops_embedded = true;
	replay_addresses(&without, who, 3, addrs);
	CHECK(addrs[2].family == 6, "what is embedded is looked for");
}

static void table(void)
{
	struct replay_table t = { 0 };
	const struct replay_source **top;
	size_t found = 0;

	CHECK(replay_seed() == replay_seed() && replay_seed() & 1, "another seed each time");
	/* Of one number each family and each fate is another source. */
	for (unsigned int i = 0; i < 3000; i++) {
		struct replay_source s = {
			.num = i / 6, .family = i % 2 ? 4 : 6, .fate = (uint8_t)(1 + i % 3), .packets = 99
		};

		for (unsigned int k = 0; k <= i % 5; k++)
			CHECK(!replay_table_count(&t, &s, 10), "no memory");
	}
	CHECK(t.n == 3000 && t.slots == 8192 && !t.floor, "%zu of %zu, floor %llu", t.n, t.slots,
	      (unsigned long long)t.floor);
	for (int fate = FATE_PASSED; fate <= FATE_SHADOW; fate++) {
		CHECK(!replay_table_top(&t, fate, 5000, &top, &found) && found == 1000, "%zu of fate %d", found, fate);
		for (size_t i = 1; i < found; i++) {
			const struct replay_source *a = top[i - 1], *b = top[i];

			if (!CHECK(a->packets > b->packets ||
					   (a->packets == b->packets &&
					    (a->family < b->family || (a->family == b->family && a->num < b->num))),
				   "place %zu is out of order", i))
				break;
		}
		CHECK(top[0]->packets == 5 && top[0]->bytes == 50 && !top[0]->error, "%llu packets",
		      (unsigned long long)top[0]->packets);
		free((void *)top);
	}
	for (size_t most = 999; most < 1002; most++) {
		CHECK(!replay_table_top(&t, FATE_PASSED, most, &top, &found) && found == (most < 1000 ? most : 1000),
		      "%zu of at most %zu", found, most);
		free((void *)top);
	}
	free(t.slot);
}

static void no_memory(void)
{
	struct replay_table t = { 0 };
	const struct replay_source **top;
	struct replay_source s = { .num = 1, .family = 4, .fate = FATE_PASSED };
	size_t found = 0;

	allocations = 0;
	allocation_fails_at = 1;
	CHECK(err_is(replay_table_count(&t, &s, 1), ENOMEM) && !t.n, "without memory it is counted");
	for (unsigned int i = 0; i < 513; i++) {
		s.num = i;
		allocations = 1;
		CHECK(!replay_table_count(&t, &s, 1) == (i < 512), "%u: another end", i);
		allocation_fails_at = 2;
	}
	CHECK(t.n == 512 && t.slots == 1024, "%zu of %zu", t.n, t.slots);
	allocations = 0;
	allocation_fails_at = 1;
	CHECK(err_is(replay_table_top(&t, FATE_PASSED, 1, &top, &found), ENOMEM) && !found,
	      "without memory it is sorted");
	allocations = 0;
	free(entries);
	CHECK(err_is(replay_entries(&e, who, addrs, 1, &entries, &found), ENOMEM) && !found && !entries,
	      "entries without memory");
	allocation_fails_at = 0;
	free(t.slot);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "whose entry it is", whose },
		{ "in which order", order },
		{ "what it was dropped for", dropped_for },
		{ "who sent most", table },
		{ "without memory", no_memory },
	};
	int status;

	/* No randomness: the seed is another, and the table is as good. */
	no_random = ktap_random() & 1;
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	free(entries);
	return status;
}
