// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verdicts are never guesses: a million random hosts in arrays of the production builder, the production decision in a
 * loop in the kernel, a hundred million random addresses (EXACT_ASKS changes that), and a bitmap that knows the truth.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "filter/build.h"
#include "exact.h"
#include "kernel/generation.h"
#include "ktap.h"
#include "base/log.h"
#include "sets/owned.h"
#include "filter/plan_sizes.h"
#include "kernel/programs.h"

#define ROUNDS_MAX (1u << 23) /* of one bpf_loop() */

static struct bpf_object *object;
static struct candidate candidate;

static int fd_of(const char *map)
{
	return bpf_object__find_map_fd_by_name(object, map);
}

static void *mapped(const char *map, size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_of(map), 0);

	return mem == MAP_FAILED ? NULL : mem;
}

/* Draws the hosts, into the bitmap, the keys and a set. */
static bool draw(struct ranges *set)
{
	__u64 *banned = mapped("banned", EXACT_BITMAP_WORDS * sizeof(*banned));
	__u64 *keys = mapped("keys", EXACT_KEYS * sizeof(*keys));
	int err = 0;

	if (!CHECK(banned && keys, "mmap: %s", strerror(errno)))
		return false;
	for (__u32 n = 0; n < EXACT_KEYS && !err;) {
		__u32 addr = (__u32)ktap_random();

		if (banned[addr >> 6] >> (addr & 63) & 1)
			continue;
		banned[addr >> 6] |= 1ULL << (addr & 63);
		keys[n++] = addr;
		err = ranges_add4(set, addr, addr);
	}
	munmap(banned, EXACT_BITMAP_WORDS * sizeof(*banned));
	munmap(keys, EXACT_KEYS * sizeof(*keys));
	return CHECK(!err && !ranges_finish(set), "out of memory");
}

static int build(const struct ranges *set)
{
	struct account account = { set, 1 };
	struct ranges none = RANGES_EMPTY;
	struct settings settings = SETTINGS_DEFAULT;
	struct generation g;
	struct owned owned;
	int err = owned_settle(&owned, &account, 1, &none);

	if (!err)
		err = plan_generation(&g, &owned, &settings);
	if (!err)
		err = build_seeds(&g);
	if (!err)
		err = kernel_arrays(&candidate, &g);
	if (!err)
		err = build_arrays(&candidate.g, &owned);
	owned_free(&owned);
	return err;
}

/* The maps are there before the programs are loaded: a second object shares them. */
static int load(const char *path, struct bpf_object *first)
{
	struct bpf_map *map, *shared;
	int maps[MAPS];

	object = bpf_object__open(path);
	if (!object)
		return -errno;
	bpf_object__for_each_map(map, first)
	{
		shared = bpf_object__find_map_by_name(object, bpf_map__name(map));
		if (shared)
			bpf_map__reuse_fd(shared, bpf_map__fd(map));
	}
	for (unsigned int m = 0; m < MAPS; m++)
		maps[m] = m < ARRAYS ? candidate.map[m].fd : -1;
	return programs_load(object, &candidate.g, maps);
}

static struct exact_run ask(const char *program, __u64 rounds)
{
	unsigned char frame[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame), .repeat = 1);
	int fd = bpf_program__fd(bpf_object__find_program_by_name(object, program));
	struct exact_run run = { .state = ktap_random() };
	__u32 zero = 0;

	for (__u64 left = rounds; left; left -= run.rounds) {
		run.rounds = left < ROUNDS_MAX ? left : ROUNDS_MAX;
		if (!CHECK(!bpf_map_update_elem(fd_of("run"), &zero, &run, BPF_ANY) &&
				   !bpf_prog_test_run_opts(fd, &opts) &&
				   !bpf_map_lookup_elem(fd_of("run"), &zero, &run),
			   "%s: %s", program, strerror(errno)))
			break;
	}
	return run;
}

static void check(const struct exact_run *run, __u64 asked)
{
	CHECK(run->asked == asked, "%llu asked", (unsigned long long)run->asked);
	CHECK(!run->wrong[0], "%llu innocent addresses dropped, one is %08llx", (unsigned long long)run->wrong[0],
	      (unsigned long long)run->last_wrong);
	CHECK(!run->wrong[1], "%llu banned addresses let through, one is %08llx", (unsigned long long)run->wrong[1],
	      (unsigned long long)run->last_wrong);
	printf("# %llu asked, %llu of them banned\n", (unsigned long long)run->asked, (unsigned long long)run->banned);
}

static void every_key(void)
{
	struct exact_run run = ask("exact_keys", 1);

	check(&run, EXACT_KEYS);
	CHECK(run.banned == EXACT_KEYS, "the bitmap does not hold them");
}

static void random_addresses(void)
{
	const char *asks = getenv("EXACT_ASKS");
	__u64 rounds = asks ? strtoull(asks, NULL, 0) : 100000000;
	struct exact_run run = ask("exact_random", rounds);

	check(&run, rounds);
}

int main(int argc, char **argv)
{
	static const struct ktap_case cases[] = {
		{ "every one of a million hosts is dropped", every_key },
		{ "of a hundred million random addresses no other is", random_addresses },
	};
	struct ranges set = RANGES_EMPTY;
	struct bpf_object *first;
	char path[512];
	int status;

	(void)argc;
	snprintf(path, sizeof(path), "%.*s/exact.bpf.o", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
	libbpf_set_print(NULL);
	if (geteuid() || libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, BPF_FUNC_loop, NULL) != 1) {
		puts("TAP version 13\n1..0 # SKIP needs root and bpf_loop()");
		return KTAP_SKIP;
	}
	ktap_seed();
	first = object = bpf_object__open(path);
	if (!object || programs_register())
		return KTAP_FAIL;
	/* Only its maps: the programs need arrays that are built from what the maps hold. */
	struct bpf_program *program;

	bpf_object__for_each_program(program, first) bpf_program__set_autoload(program, false);
	status = !bpf_object__load(first) && draw(&set) && !build(&set) && !load(path, first);
	if (!status) {
		printf("Bail out! %s\n", reason(-errno));
		return KTAP_FAIL;
	}
	status = ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
	kernel_release(&candidate);
	bpf_object__close(object);
	bpf_object__close(first);
	ranges_free(&set);
	return status;
}
