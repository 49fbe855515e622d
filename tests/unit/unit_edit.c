// SPDX-License-Identifier: GPL-2.0-only
/*
 * Edits of arrays while others look at them: a reader beside it never finds a banned key absent. What comes out of
 * edits is for unit_edits.c.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "edited.h"
#include "filter/roster_table.h"

/* Between any two writes of an edit, every key is looked up. */
static void look(void);
#define value4_set(...)	   (value4_set(__VA_ARGS__), look())
#define value4_clear(...)  (value4_clear(__VA_ARGS__), look())
#define roster6_set(...)   (roster6_set(__VA_ARGS__), look())
#define roster6_clear(...) (roster6_clear(__VA_ARGS__), look())
#define filter_set(...)	   (filter_set(__VA_ARGS__), look())
#define gate4_set(...)	   (gate4_set(__VA_ARGS__), look())
#define gate6_open(...)	   (gate6_open(__VA_ARGS__), look())
/* What the kernel says of membarrier(2), and what it was asked last. */
static long barriers, barrier_asked;
static long given_call(long number, int command, int flags, int cpu)
{
	CHECK(number == SYS_membarrier && !flags && !cpu, "call %ld, %d, %d", number, flags, cpu);
	barrier_asked = command;
	return barriers;
}
#define syscall given_call
#include "filter/edit_write.c"
#undef syscall

/* With room for more. */
static bool generate(struct generation *g, const struct ranges *listed, double headroom)
{
	struct settings settings = SETTINGS_DEFAULT;

	settings.headroom = headroom;
	return generate_with(g, &(struct account){ listed, LABEL_LIST }, 1, &settings);
}

static struct ranges host_set(const uint32_t *hosts, size_t n)
{
	struct ranges set = RANGES_EMPTY;

	for (size_t i = 0; i < n; i++)
		ENOUGH(!ranges_add_host(&set, hosts[i]));
	ENOUGH(!ranges_finish(&set));
	return set;
}

/* --- Write by write --------------------------------------------------------------------------------------------------
 */

/* The keys that are there already, and must be found at any time. */
static struct {
	const struct generation *g;
	const uint32_t *hosts;
	const ip6 *hosts6;
	size_t n, n6;
	uint64_t looks, absent;
} watched;

static void look(void)
{
	watched.looks++;
	for (size_t i = 0; i < watched.n; i++)
		watched.absent += !(decide_ipv4(watched.g, watched.hosts[i]) & ANSWER_DROP);
	for (size_t i = 0; i < watched.n6; i++)
		watched.absent += !is_dropped6(watched.g, watched.hosts6[i]);
}

/* --- Readers ---------------------------------------------------------------------------------------------------------
 */

static struct {
	const struct generation *g;
	const uint32_t *hosts;
	const ip6 *hosts6;
	size_t n, n6;
	uint64_t asked, absent, rounds;
	bool stop;
} reader;

/* The reader's counters in g must be those of the program: constants, while the editor's own copy moves on. */
static void *read_on(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&reader.stop, __ATOMIC_RELAXED)) {
		for (size_t i = 0; i < reader.n; i++)
			reader.absent += !(decide_ipv4(reader.g, reader.hosts[i]) & ANSWER_DROP);
		for (size_t i = 0; i < reader.n6; i++)
			reader.absent += !is_dropped6(reader.g, reader.hosts6[i]);
		reader.asked += reader.n + reader.n6;
		__atomic_fetch_add(&reader.rounds, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static size_t waits;

/* What membarrier() is to packets: a look-up that runs when this begins has ended when it returns. */
static void wait_for_reader(void)
{
	uint64_t from = __atomic_load_n(&reader.rounds, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&reader.rounds, __ATOMIC_SEQ_CST) < from + 2)
		sched_yield();
	waits++;
}

static bool add_all(struct generation *g, const struct ranges *set, size_t *moved, int *err)
{
	struct account account = { set, LABEL_LIVE };
	struct ranges none = RANGES_EMPTY;
	struct owned owned;
	struct edit e;
	size_t moves = 0, waited = waits;

	ENOUGH(!owned_settle(&owned, &account, 1, &none));
	edit_begin(&e, g);
	e.wait = watched.n ? look : wait_for_reader;
	*err = edit_ban(&e, &owned);
	if (!*err) {
		for (size_t i = 0; i < e.n; i++)
			moves += e.steps[i].move;
		edit_make(&e);
		CHECK(!moves || !set->n6 || watched.n || waits > waited,
		      "a key of IPv6 moves, and no packet is waited for");
	}
	*moved += moves;
	edit_end(&e);
	owned_free(&owned);
	return !*err;
}

static void start_reader(pthread_t *thread, const struct generation *g)
{
	reader.g = g;
	reader.asked = reader.absent = reader.rounds = 0;
	reader.stop = false;
	ENOUGH(!pthread_create(thread, NULL, read_on, NULL));
	wait_for_reader();
}

static bool stop_reader(pthread_t thread)
{
	__atomic_store_n(&reader.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return CHECK(reader.asked > 0 && !reader.absent, "%" PRIu64 " of %" PRIu64 " answers let a banned key pass",
		     reader.absent, reader.asked);
}

#define OLD	  20000
#define OLD_CODES 1100000
#define MORE	  200000

/* Until it is full: no key that was there is ever absent, whichever had to move. */
static void readers_beside(size_t old, double headroom, bool codes)
{
	static uint32_t hosts[OLD_CODES + MORE];
	struct generation g, seen;
	struct ranges listed;
	size_t added = 0, moved = 0;
	pthread_t thread;
	int err = 0;

	for (size_t i = 0; i < old + MORE; i++)
		hosts[i] = (uint32_t)(i * 2654435761u);
	listed = host_set(hosts, old);
	if (generate(&g, &listed, headroom)) {
		CHECK(keeps_codes4(&g) == codes, "with %zu hosts it keeps %s", old, codes ? "addresses" : "codes");
		g.capacity = g.capacity4 = UINT32_MAX; /* beyond what it was sized for, for the sake of moves */
		seen = g;
		reader.hosts = hosts;
		reader.n = OLD;
		reader.n6 = 0;
		start_reader(&thread, &seen);
		for (; added < MORE && !err; added++) {
			struct ranges one = host_set(&hosts[old + added], 1);

			add_all(&g, &one, &moved, &err);
			ranges_free(&one);
			if (!(added % 64))
				wait_for_reader(); /* who should see most of what is going on */
		}
		stop_reader(thread);
		/* Where packets must be waited for, fewer move; and of codes all that was planned is used up from the
		 * beginning. */
		CHECK(err_is(err, EAGAIN) && added > (codes ? 4 : OLD / 64) && moved, "%zu added, %zu moved, error %d",
		      added, moved, err);
		for (size_t i = 0; i + 1 < old + added; i++)
			if (!CHECK(decide_ipv4(&g, hosts[i]) & ANSWER_DROP, "host %zu is absent", i))
				break;
		printf("# %zu hosts on top of %zu, %zu moved: the roster is %.1f %% full\n", added, old, moved,
		       100.0 * (double)(old + added) / (double)(buckets4(&g) * slots4(&g)));
	}
	memory_release(&g);
	ranges_free(&listed);
}

static void readers_ipv4(void)
{
	readers_beside(OLD, 0.1, false);
}

static void readers_codes(void)
{
	readers_beside(OLD_CODES, 0, true);
}

#define OLD6 4000

static void readers_ipv6(void)
{
	static ip6 hosts[3 * OLD6];
	struct ranges listed = RANGES_EMPTY;
	struct generation g, seen;
	size_t added = 0, moved = 0;
	pthread_t thread;
	int err = 0;

	for (size_t i = 0; i < 3 * OLD6; i++)
		hosts[i] = (ip6)0x20010db800000000 << 64 | (ip6)(i * 0x9e3779b97f4a7c15) << 8 | 1;
	for (size_t i = 0; i < OLD6; i++)
		ENOUGH(!ranges_add6(&listed, hosts[i], hosts[i]));
	ENOUGH(!ranges_finish(&listed));
	if (generate(&g, &listed, 0.1)) {
		g.capacity = g.capacity6 = UINT32_MAX;
		seen = g;
		reader.hosts6 = hosts;
		reader.n = 0;
		reader.n6 = OLD6;
		start_reader(&thread, &seen);
		for (; added < 2 * OLD6 && !err; added++) {
			struct ranges one = RANGES_EMPTY;

			ENOUGH(!ranges_add6(&one, hosts[OLD6 + added], hosts[OLD6 + added]) && !ranges_finish(&one));
			add_all(&g, &one, &moved, &err);
			ranges_free(&one);
		}
		stop_reader(thread);
		CHECK(moved > 0, "no key moved, %zu added", added);
		for (size_t i = 0; i + 1 < OLD6 + added; i++)
			if (!CHECK(is_dropped6(&g, hosts[i]), "key %zu is absent", i))
				break;
	}
	memory_release(&g);
	ranges_free(&listed);
}

#define FEW	1500
#define FEW_TOP 400

/* Until there is no room, with everybody who is in already watched. */
static void write_by_write(void)
{
	static uint32_t hosts[FEW + FEW_TOP];
	static ip6 hosts6[FEW + FEW_TOP];
	struct ranges listed = RANGES_EMPTY;
	struct generation g;
	size_t moved = 0, added = 0;
	int err = 0;

	for (size_t i = 0; i < FEW + FEW_TOP; i++) {
		hosts[i] = (uint32_t)ktap_random();
		hosts6[i] = (ip6)0x20010db800000000 << 64 | ktap_random();
	}
	for (size_t i = 0; i < FEW; i++)
		ENOUGH(!ranges_add_host(&listed, hosts[i]) && !ranges_add6(&listed, hosts6[i], hosts6[i]));
	ENOUGH(!ranges_finish(&listed));
	if (generate(&g, &listed, 0.1)) {
		g.capacity = g.capacity4 = g.capacity6 = UINT32_MAX;
		memset(&watched, 0, sizeof(watched));
		watched.g = &g;
		watched.hosts = hosts;
		watched.hosts6 = hosts6;
		watched.n = watched.n6 = FEW;
		for (; added < FEW_TOP && !err; added++) {
			struct ranges one = RANGES_EMPTY;

			ENOUGH(!ranges_add_host(&one, hosts[FEW + added]));
			ENOUGH(!ranges_add6(&one, hosts6[FEW + added], hosts6[FEW + added]) && !ranges_finish(&one));
			if (add_all(&g, &one, &moved, &err)) {
				watched.n++;
				watched.n6++;
			}
			ranges_free(&one);
		}
		CHECK(moved > 0 && !watched.absent, "%" PRIu64 " absent in %" PRIu64 " looks", watched.absent,
		      watched.looks);
		printf("# %" PRIu64 " looks, %zu moved\n", watched.looks, moved);
	}
	watched.n = watched.n6 = 0;
	memory_release(&g);
	ranges_free(&listed);
}

static void barrier(void)
{
	static const struct {
		long says;
		bool can;
	} known[] = {
		{ -1, false }, { 0, false }, { MEMBARRIER_CMD_GLOBAL, true }, { MEMBARRIER_CMD_GLOBAL | 8, true },
		{ 8, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		barriers = known[i].says;
		barrier_asked = -1;
		CHECK(edit_can_wait() == known[i].can && barrier_asked == MEMBARRIER_CMD_QUERY, "%ld", known[i].says);
	}
	edit_wait();
	CHECK(barrier_asked == MEMBARRIER_CMD_GLOBAL, "it does not wait: %ld", barrier_asked);
	barriers = 0;
}

static const struct ktap_case cases[] = {
	{ "the kernel is waited for where it can", barrier },
	{ "no key is absent between two writes", write_by_write },
	{ "no key is absent while others move in, IPv4", readers_ipv4 },
	{ "no key is absent while others move in, many of IPv4", readers_codes },
	{ "no key is absent while others move in, IPv6", readers_ipv6 },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
