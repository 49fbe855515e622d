/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KTAP as the kernel's selftests print it. A test program names its cases in one table and hands it to ktap_run(); a
 * case returns after its first failed check, so that it can clean up with what it has.
 */
#ifndef KTAP_H
#define KTAP_H

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KTAP_PASS = 0, KTAP_FAIL = 1, KTAP_SKIP = 4 };

struct ktap_case {
	const char *name;
	void (*run)(void);
};

static bool ktap_failed;
static char ktap_skip_reason[128];
static uint64_t ktap_state;
static bool ktap_seeded;

/* True when the check held; says what did not. Use: if (!CHECK(n == 3, "n is %zu", n)) return; */
#define CHECK(condition, ...) ktap_check((condition), #condition, __FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 5, 6), unused)) static bool ktap_check(bool ok, const char *what, const char *file,
								     int line, const char *fmt, ...)
{
	va_list args;

	if (ok)
		return true;
	ktap_failed = true;
	printf("# %s:%d: '%s' does not hold: ", file, line, what);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	return false;
}

__attribute__((unused)) static void ktap_skip(const char *reason)
{
	snprintf(ktap_skip_reason, sizeof(ktap_skip_reason), "%s", reason);
}

/* Random numbers for tests: the seed is printed, and XDP_BLOOM_SEED repeats a run. */
__attribute__((unused)) static uint64_t ktap_random(void)
{
	uint64_t x = (ktap_state += 0x9e3779b97f4a7c15ULL);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* ktap_run() does this; only who draws before it must. */
static void ktap_seed(void)
{
	const char *seed = getenv("XDP_BLOOM_SEED");

	if (!ktap_seeded)
		ktap_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 1000003;
	ktap_seeded = true;
}

/* How many there are; one is the look itself. Not where /proc is not mounted. */
static int ktap_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Of a case that fails, nobody wants to know what it left open; nor of the first ones that a library keeps for all. */
static void ktap_leaves_open(void (*run)(void), int before)
{
	int left = ktap_descriptors() - before;

	if (ktap_failed || left <= 0 || getenv("SHOWN")) /* what is recorded stays open */
		return;
	before = ktap_descriptors();
	run();
	left = ktap_descriptors() - before;
	if (left > 0)
		CHECK(false, "%d descriptors are left open", left);
}

__attribute__((unused)) static int ktap_run(const struct ktap_case *cases, size_t count)
{
	size_t failed = 0, skipped = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ktap_seed();
	printf("TAP version 13\n1..%zu\n# seed: XDP_BLOOM_SEED=%" PRIu64 "\n", count, ktap_state);
	for (size_t i = 0; i < count; i++) {
		int before = ktap_descriptors();

		ktap_failed = false;
		ktap_skip_reason[0] = '\0';
		cases[i].run();
		ktap_leaves_open(cases[i].run, before);
		if (ktap_failed)
			failed++;
		else if (ktap_skip_reason[0])
			skipped++;
		printf("%s %zu %s%s%s\n", ktap_failed ? "not ok" : "ok", i + 1, cases[i].name,
		       !ktap_failed && ktap_skip_reason[0] ? " # SKIP " : "", ktap_failed ? "" : ktap_skip_reason);
	}
	printf("# Totals: pass:%zu fail:%zu xfail:0 xpass:0 skip:%zu error:0\n", count - failed - skipped, failed,
	       skipped);
	if (failed)
		return KTAP_FAIL;
	return skipped == count ? KTAP_SKIP : KTAP_PASS;
}

#endif
