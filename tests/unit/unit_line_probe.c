// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is measured of a machine's memory: as many sizes as there is time and memory for, each read as often; and which
 * machine that is. Its time, its memory and its CPU are made up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/line_probe.h"
#include "base/memory.h"
#include "ktap.h"

static unsigned int advices, opened, closed;
static int64_t now_ns, step; /* each look at the clock takes so long */
static unsigned int looks;
static uint64_t free_now;
static bool no_map;
static size_t mapped, unmapped;
static const char *cpu; /* NULL: nothing is said of it */

/*
 * The lines of a round: all in their order, then, while the clock runs, some at random, each by what the one before has
 * in it. x: of the random ones, as Knuth's MMIX has them.
 */
static struct {
	uint64_t bytes, n, x, wrong;
	unsigned int has;
	unsigned int rounds, begun;
} chase;

static unsigned int given_read(const volatile unsigned char *memory, uint64_t at)
{
	uint64_t lines = chase.bytes / 64, expected = 64 * chase.n;

	if (chase.n >= lines) {
		chase.x = (chase.x + chase.has) * 6364136223846793005ULL + 1442695040888963407ULL;
		expected = (uint64_t)((unsigned __int128)(chase.x >> 32) * lines >> 32) * 64;
	}
	chase.wrong += at != expected || memory[at] != (at % 4096 ? 0xff : 0);
	if (chase.n++ < lines) {
		chase.has = 14; /* of all of them together */
		return 2U << chase.n % 3;
	}
	chase.has = (unsigned int)(at / 64 % 250);
	return chase.has;
}

/* Two looks a round: before the random ones, and behind them. */
static void looked(void)
{
	if (!chase.n)
		return;
	if (!chase.begun) {
		chase.wrong += chase.n != chase.bytes / 64;
		chase.begun = 1;
		return;
	}
	chase.wrong += chase.n != chase.bytes / 64 + 1024;
	chase.rounds++;
	if (chase.rounds % LINE_ROUNDS == 0)
		chase.bytes *= 2;
	chase.n = chase.begun = 0;
	chase.x = chase.rounds + 1;
}

static int64_t given_ns(clockid_t clock)
{
	if (clock != CLOCK_THREAD_CPUTIME_ID)
		abort();
	looks++;
	looked();
	return now_ns += step;
}

static uint64_t given_available(void)
{
	return free_now;
}

static void *given_map(void *at, size_t n, int access, int kind, int fd, off_t from)
{
	void *is = no_map ? MAP_FAILED : mmap(at, n, access, kind, fd, from);

	if (!no_map)
		memset(is, 0xff, n);
	mapped = n;
	return is;
}

static int given_unmap(void *at, size_t n)
{
	unmapped = n;
	return munmap(at, n);
}

static int given_advice(void *at, size_t n, int what)
{
	advices++;
	CHECK(at && n == mapped && what == MADV_NOHUGEPAGE, "%zu bytes: %d", n, what);
	return 0;
}

static FILE *given_open(const char *path, const char *how)
{
	static char text[2000];

	if (strcmp(path, "/proc/cpuinfo") != 0 || strcmp(how, "re") != 0)
		abort();
	if (!cpu)
		return NULL;
	snprintf(text, sizeof(text), "%s", cpu);
	opened++;
	return fmemopen(text, strlen(text), "r");
}

static int given_close(FILE *file)
{
	closed++;
	return fclose(file);
}

#define READ		   given_read
#define fclose		   given_close
#define clock_ns	   given_ns
#define memory_available() given_available()
#define mmap		   given_map
#define munmap		   given_unmap
#define madvise		   given_advice
#define fopen		   given_open
#include "base/line_probe.c"
#undef mmap
#undef munmap

/* How many sizes were measured, and that each round of them was. */
static void probed(unsigned int expected)
{
	line_rounds ns[LINE_SIZES];
	unsigned int n;

	for (int i = 0; i < LINE_SIZES; i++)
		for (int k = 0; k < LINE_ROUNDS; k++)
			ns[i][k] = -1;
	unmapped = 0;
	looks = 0;
	now_ns = 1000;
	advices = 0;
	memset(&chase, 0, sizeof(chase));
	chase.bytes = LINE_SIZE(0);
	chase.x = 1;
	n = line_probe(ns);
	CHECK(n == expected, "%u sizes, not %u", n, expected);
	CHECK(!chase.wrong && chase.rounds == n * LINE_ROUNDS && !chase.n, "%llu other lines are read",
	      (unsigned long long)chase.wrong);
	CHECK(advices == !no_map, "%u advices", advices);
	for (unsigned int i = 0; i < LINE_SIZES; i++)
		for (int k = 0; k < LINE_ROUNDS; k++)
			CHECK(ns[i][k] == (i < n ? (double)step / 1024 : -1), "size %u, round %d: %f", i, k, ns[i][k]);
	CHECK(no_map || (mapped == LINE_SIZE(LINE_SIZES - 1) && unmapped == mapped), "%zu bytes, and %zu", mapped,
	      unmapped);
}

static void measured(void)
{
	free_now = 1ULL << 40;
	step = 1024;
	probed(LINE_SIZES);
	/* Of what is free, a sixteenth. */
	for (unsigned int i = 0; i < LINE_SIZES; i++) {
		free_now = LINE_SIZE(i) * 16;
		probed(i + 1);
		free_now--;
		probed(i);
	}
	free_now = 1ULL << 40;
	no_map = true;
	probed(0);
	no_map = false;
	/* A look before each size, and two for each of its rounds: the second size is begun before the time is over, or
	 * not. */
	step = LINE_BUDGET / 10;
	probed(1);
	step = (LINE_BUDGET - 1) / 10;
	probed(2);
}

static uint64_t fnv_1a(const char *text)
{
	uint64_t hash = 14695981039346656037ULL;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 1099511628211ULL;
	return hash;
}

static void machines(void)
{
	static const char one[] = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
				  "model name\t: A CPU\nstepping\t: 7\ncpu MHz\t\t: 2000.1\ncache size\t: 1024 KB\n\n"
				  "processor\t: 1\nvendor_id\t: another\n";
	static const struct {
		const char *from, *to;
		bool other;
	} changes[] = {
		{ "GenuineIntel", "AuthenticAMD", true },
		{ "6\n", "7\n", true },
		{ ": 85", ": 86", true },
		{ "A CPU", "B CPU", true },
		{ ": 7", ": 8", true },
		{ "1024 KB", "512 KB", true },
		{ "2000.1", "2400.3", false },
		{ ": another", ": one", false },
		{ "processor\t: 0", "processor\t: 9", false },
		{ "cpu MHz", "isa", true },
		{ "cpu MHz", "CPU implementer", true },
		{ "cpu MHz", "CPU part", true },
		{ "cpu MHz", "cpu\t", true },
	};
	char text[1000];
	uint64_t first;

	cpu = one;
	first = line_machine();
	CHECK(first && first < LINE_MACHINES, "%" PRIx64, first);
	cpu = "vendor_id: a\nflags: b\n";
	CHECK(line_machine() == fnv_1a("vendor_id: a\n") >> 11, "%" PRIx64, line_machine());
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		const char *at = strstr(one, changes[i].from);

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - one), one, changes[i].to,
			 at + strlen(changes[i].from));
		cpu = text;
		CHECK((line_machine() != first) == changes[i].other, "'%s' is %s", changes[i].to,
		      changes[i].other ? "the same" : "another");
	}
	cpu = "processor\t: 0\nfeatures: none\n";
	CHECK(!line_machine(), "what says nothing is a machine");
	cpu = NULL;
	CHECK(!line_machine(), "what is not there is a machine");
	CHECK(opened && opened == closed, "%u opened, %u closed", opened, closed);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is measured", measured },
		{ "which machine it is", machines },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
