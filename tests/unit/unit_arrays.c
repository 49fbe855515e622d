// SPDX-License-Identifier: GPL-2.0-only
/* How large a generation's arrays are, and their memory: each that cannot be had leaves none of the others. */
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "ktap.h"

static unsigned int maps, fails_at;
static size_t taken;

static void *given_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (++maps == fails_at)
		return MAP_FAILED;
	if (at || protection != (PROT_READ | PROT_WRITE) || flags != (MAP_PRIVATE | MAP_ANONYMOUS) || fd != -1 ||
	    offset)
		CHECK(false, "memory is taken otherwise");
	taken += size;
	return (void *)(uintptr_t)(0x1000 * maps);
}

static void given_munmap(void *at, size_t size)
{
	CHECK((uintptr_t)at >= 0x1000 && (uintptr_t)at <= 0x6000, "%p is given back", at);
	taken -= size;
}

#define mmap   given_mmap
#define munmap given_munmap
#include "filter/arrays.c"

#define GATE6	(1 << 12)
#define FILTER	(3 * BLOCK_BYTES)
#define ROSTER4 (4 * BLOCK_BYTES)
#define ROSTER6 (5 * BLOCK_BYTES)

static struct generation all(void)
{
	return (struct generation){ .gate4 = 1,
				    .gate4_labels = 1,
				    .gate6 = 1,
				    .gate6_log2 = 12,
				    .filter = 1,
				    .filter_blocks = 3,
				    .roster4 = 1,
				    .roster4_buckets = 7,
				    .roster6 = 1,
				    .roster6_buckets = 5 };
}

static void bytes(void)
{
	static const uint64_t wanted[ARRAYS] = { GATE4_BYTES, GATE4_LABEL_BYTES, GATE6, FILTER, ROSTER4, ROSTER6 };
	const struct generation g = all(), none = { 0 };
	__u64 is[ARRAYS];
	struct stage_bytes s;

	for (enum array a = 0; a < ARRAYS; a++) {
		is[a] = array_bytes(&g, a);
		CHECK(is[a] == wanted[a] && !array_bytes(&none, a), "%s: %llu bytes", array_kinds[a].name, is[a]);
	}
	CHECK(arrays_total(&g) == GATE4_BYTES + GATE4_LABEL_BYTES + GATE6 + FILTER + ROSTER4 + ROSTER6 &&
		      !arrays_total(&none),
	      "%llu bytes in all", (unsigned long long)arrays_total(&g));
	CHECK(arrays_rosters(&g) == ROSTER4 + ROSTER6, "%llu bytes of rosters", (unsigned long long)arrays_rosters(&g));
	s = stage_bytes(is);
	CHECK(s.gate == GATE4_BYTES + GATE6 && s.filter == FILTER && s.roster == ROSTER4 + ROSTER6 &&
		      s.labels == GATE4_LABEL_BYTES && s.total == arrays_total(&g),
	      "stages of %llu bytes", (unsigned long long)s.total);
}

static void each_fails(void)
{
	for (fails_at = 0; fails_at <= ARRAYS; fails_at++) {
		struct generation g = all();
		int err;

		maps = 0;
		err = arrays_take(&g);
		CHECK(err == (fails_at ? -ENOMEM : 0) && taken == (err ? 0 : arrays_total(&g)),
		      "call %u fails: %d, %zu bytes are taken", fails_at, err, taken);
		for (enum array a = 0; a < ARRAYS && !err; a++)
			CHECK(*generation_member(&g, array_kinds[a].member) == 0x1000 * (a + 1), "%s lies elsewhere",
			      array_kinds[a].name);
		for (int twice = 0; twice < 2; twice++) {
			arrays_release(&g);
			CHECK(!taken, "%zu bytes are left", taken);
		}
		for (enum array a = 0; a < ARRAYS; a++)
			CHECK(*generation_member(&g, array_kinds[a].member) == 1, "%s still has an address",
			      array_kinds[a].name);
	}
}

static void of_none(void)
{
	struct generation g = { .filter = 1, .filter_blocks = 3 };

	maps = fails_at = 0;
	CHECK(!arrays_take(&g) && maps == 1 && g.filter == 0x1000 && !g.gate4 && !g.roster6, "%u are taken", maps);
	arrays_release(&g);
	CHECK(!taken && g.filter == 1 && !g.gate4, "%zu bytes are left", taken);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "how large they are", bytes },
		{ "each that cannot be had", each_fails },
		{ "one alone", of_none },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
