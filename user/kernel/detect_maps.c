// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/detect_maps.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/other_name.h"
#include "base/ports.h"
#include "filter/limits.h"
#include "kernel/live.h"
#include "kernel/pins.h"

static const char *const pins[MAPS_DETECT - MAP_DETECT] = {
	[MAP_DETECT - MAP_DETECT] = PIN_DETECT,	    [MAP_SKETCH - MAP_DETECT] = PIN_SKETCH,
	[MAP_SUSPECTS - MAP_DETECT] = PIN_SUSPECTS, [MAP_CLAIMS - MAP_DETECT] = PIN_CLAIMS,
	[MAP_DETECTED - MAP_DETECT] = PIN_DETECTED, [MAP_TRUSTED - MAP_DETECT] = PIN_TRUSTED,
	[MAP_POLICED - MAP_DETECT] = PIN_POLICED,   [MAP_PROVEN - MAP_DETECT] = PIN_PROVEN,
	[MAP_SLOTS - MAP_DETECT] = PIN_SLOTS,	    [MAP_SLOT_OF - MAP_DETECT] = PIN_SLOT_OF,
};

const char *detect_pin(unsigned int map)
{
	return pins[map - MAP_DETECT];
}

int live_detect(const struct live *live, int *maps)
{
	int err = 0;

	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		maps[map] = -1;
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT && !err; map++) {
		maps[map] = live_pin(live, detect_pin(map));
		if (maps[map] >= 0)
			continue;
		if (map == MAP_DETECT && err_is(maps[map], ENOENT))
			return 0;
		if (map >= MAP_SLOTS && err_is(maps[map], ENOENT)) {
			maps[map] = -1;
			continue;
		}
		err = because_kernel(maps[map], detect_pin(map));
	}
	return err;
}

int detect_read(int fd, struct detect *detect)
{
	struct pinned is;
	__u32 key = 0;
	int err = pinned_info(fd, &is);

	if (!err && (is.kind != PINNED_MAP || is.value_size != sizeof(*detect)))
		err = -EPROTO;
	if (!err && bpf_map_lookup_elem(fd, &key, detect))
		err = -errno;
	if (!err && (detect->version != DETECT_VERSION || !detect->tick || !detect->cells || !detect->buckets))
		err = -EPROTO;
	return err;
}

int detect_because(int err)
{
	return err_is(err, EPROTO) ? because(err, PIN_DETECT ": of another version") : because_kernel(err, PIN_DETECT);
}

/* One cell more than is used: verifiers forget that where a cell begins is a multiple of eight. */
__u64 detect_sketch_bytes(const struct detect *detect)
{
	return (detect->cells + 1) * sizeof(__u64);
}

bool detect_fits(const struct detect *detect, const int *maps)
{
	struct pinned sketch, suspects;

	return !pinned_info(maps[MAP_SKETCH], &sketch) && !pinned_info(maps[MAP_SUSPECTS], &suspects) &&
	       sketch.value_size == detect_sketch_bytes(detect) &&
	       suspects.value_size == detect->buckets * sizeof(struct suspects);
}

void detect_let_go(int *maps, unsigned int first, unsigned int last)
{
	for (unsigned int map = first; map <= last; map++) {
		close_fd(maps[map]);
		maps[map] = -1;
	}
}

void detect_close(int *maps)
{
	detect_let_go(maps, MAP_DETECT, MAPS_DETECT - 1);
}

/* Where there is a detector in force, maps[MAP_DETECT] is not -1. */
int detect_open(const struct context *context, int *maps, struct detect *with)
{
	struct live live;
	int err;

	memset(maps, -1, sizeof(*maps) * MAPS);
	live_open(&live, context);
	do {
		detect_close(maps);
		err = live.err ?: live_detect(&live, maps);
	} while (err_is(err, ENOENT) && live_overtaken(&live));
	if (live.err)
		err = live.err;
	live_close(&live);
	if (err || maps[MAP_DETECT] < 0)
		return err;
	err = detect_read(maps[MAP_DETECT], with);
	if (!err && !detect_fits(with, maps))
		err = -EPROTO;
	return err ? detect_because(err) : 0;
}

/* The clock is nowhere to be read but in a program. Its lower half is enough: what is compared is near. */
int detect_clock(__u64 tick, __u64 *now)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_jiffies64 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	unsigned char frame[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof(frame), .repeat = 1);
	static int fd = -1; /* for as long as the process runs: each load would be in the audit log */
	__u64 about, jiffies;
	int err;

	if (!tick)
		return detect_because(-EPROTO);
	if (fd < 0)
		fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "clock", "GPL", insns, 2, NULL);
	if (fd < 0)
		return because_kernel(-errno, "the detector's clock");
	err = bpf_prog_test_run_opts(fd, &run) ? -errno : 0;
	if (err)
		return because_kernel(err, "the detector's clock");
	/* It begins five minutes before the end of 32 bits, so that what cannot bear that end shows at once. */
	about = (1ULL << 32) + (__u64)clock_ns(CLOCK_MONOTONIC) / tick;
	jiffies = about + (__u64)(__s64)(__s32)(run.retval - (__u32)about);
	*now = jiffies * tick;
	return 0;
}

static int map_whole(int map, const char *pin, size_t bytes, int protection, void **at, size_t *size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*size = (bytes + page - 1) / page * page;
	*at = mmap(NULL, *size, protection, MAP_SHARED, map, 0);
	return *at == MAP_FAILED ? because_kernel(-errno, pin) : 0;
}

int detect_map_suspects(int map, const struct detect *with, int protection, struct suspects **buckets, size_t *bytes)
{
	return map_whole(map, PIN_SUSPECTS, with->buckets * sizeof(struct suspects), protection, (void **)buckets,
			 bytes);
}

/* The first so many cells. */
int detect_map_sketch(int map, size_t cells, int protection, __u64 **at, size_t *bytes)
{
	return map_whole(map, PIN_SKETCH, cells * sizeof(__u64), protection, (void **)at, bytes);
}

bool detect_read_slots(int fd, struct slot slots[SLOTS])
{
	struct pinned is;
	__u32 key = 0;

	return !pinned_info(fd, &is) && is.value_size == SLOTS * sizeof(*slots) &&
	       !bpf_map_lookup_elem(fd, &key, slots);
}

/* --- Interfaces: by their numbers in the kernel, by their names everywhere else ----------------------------------- */

struct numbered {
	__u32 index, value;
};

/* As it is to be: only of those that are there. Those that have gone first, so that there is room. */
static int number_map(int map, const char *pin, const struct numbered *interfaces, size_t n)
{
	__u32 key, next, *last = NULL, was;

	for (int more = bpf_map_get_next_key(map, last, &key); !more; key = next) {
		size_t i = 0;

		more = bpf_map_get_next_key(map, &key, &next);
		while (i < n && interfaces[i].index != key)
			i++;
		if (i == n)
			bpf_map_delete_elem(map, &key);
	}
	for (size_t i = 0; i < n; i++)
		if ((bpf_map_lookup_elem(map, &interfaces[i].index, &was) || was != interfaces[i].value) &&
		    bpf_map_update_elem(map, &interfaces[i].index, &interfaces[i].value, BPF_ANY))
			return because_kernel(-errno, pin);
	return 0;
}

/* By its own name: others whoever has an interface gives it, also that of one that is away. */
static unsigned int number_of(const char *name)
{
	char own[IF_NAMESIZE];

	return is_other_name(name, own) ? 0 : if_nametoindex(name);
}

/* And the numbers of what hands on to them, where that is none of them itself. */
static int number_all(int map, const char *pin, const struct numbered *own, size_t n)
{
	struct port_of *ports = NULL;
	struct numbered *all = NULL;
	size_t ports_n = 0, found = n;
	int err = n ? ports_look(&ports, &ports_n) : 0;

	all = err ? NULL : calloc(n + ports_n + 1, sizeof(*all));
	err = err ?: all ? 0 : -ENOMEM;
	if (all && n)
		memcpy(all, own, n * sizeof(*all));
	for (size_t i = 0; i < ports_n && !err; i++) {
		size_t of = 0, is = 0;

		if (!ports[i].hands_on)
			continue;
		while (is < n && own[is].index != ports[i].ifindex)
			is++;
		while (of < n && !ports_hand_on(ports, ports_n, ports[i].ifindex, own[of].index))
			of++;
		if (is == n && of < n)
			all[found++] = (struct numbered){ ports[i].ifindex, own[of].value };
	}
	err = err ?: number_map(map, pin, all, found);
	free(all);
	free(ports);
	return err;
}

int detect_number_proven(int map, const struct proven *names, size_t n)
{
	struct numbered *there = calloc(n + 1, sizeof(*there));
	size_t found = 0;
	int err;

	for (size_t i = 0; there && i < n; i++) {
		there[found] = (struct numbered){ number_of(names[i].name), 1 };
		found += there[found].index != 0;
	}
	err = there ? number_all(map, PIN_PROVEN, there, found) : -ENOMEM;
	free(there);
	return err;
}

int detect_number_slots(int map, const struct slot slots[SLOTS])
{
	struct numbered there[SLOTS];
	size_t found = 0;

	for (__u32 i = 1; i < SLOTS; i++) {
		there[found] = (struct numbered){ *slots[i].name ? if_nametoindex(slots[i].name) : 0, i };
		found += there[found].index != 0;
	}
	return number_all(map, PIN_SLOT_OF, there, found);
}
