// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/detect.h"

#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/other_name.h"
#include "bpf/detect.h"
#include "filter/build.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "kernel/pins.h"
#include "sets/ranges.h"

/* Places are given away rarely, and one at a time on each CPU. */
#define CLAIMS 256

/* The first step of the ladder, where nobody says otherwise. */
#define JAIL_NS 60000000000ULL

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

/* The kernel's clock with the grain of a tick has that for its resolution. */
__u64 detect_tick(void)
{
	struct timespec tick = { 0 };

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return (__u64)tick.tv_sec * 1000000000 + (__u64)tick.tv_nsec;
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

static int read_detect(int fd, struct detect *detect)
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

static int because_detect(int err)
{
	return err_is(err, EPROTO) ? because(err, PIN_DETECT ": of another version") : because_kernel(err, PIN_DETECT);
}

/* The same but for the seeds, and what is this generation's: then stamps and places mean the same. */
static bool same(const struct detect *a, const struct detect *b)
{
	struct detect of_a = *a;

	of_a.hash = b->hash;
	of_a.number = b->number;
	of_a.trusts_hosts = b->trusts_hosts;
	of_a.account = b->account;
	memcpy(of_a.then, b->then, sizeof(of_a.then));
	of_a.jail = b->jail;
	of_a.networks = b->networks;
	of_a.tcp_rcv_nxt = b->tcp_rcv_nxt;
	of_a.tcp_rcv_wnd = b->tcp_rcv_wnd;
	of_a.tcp_snd_una = b->tcp_snd_una;
	of_a.tcp_snd_nxt = b->tcp_snd_nxt;
	of_a.tcp_max_window = b->tcp_max_window;
	return !memcmp(&of_a, b, sizeof(of_a));
}

/* One cell more than is used: verifiers forget that where a cell begins is a multiple of eight. */
static __u64 sketch_bytes(const struct detect *detect)
{
	return (detect->cells + 1) * sizeof(__u64);
}

static bool fits(const struct detect *detect, const int *maps)
{
	struct pinned sketch, suspects;

	return !pinned_info(maps[MAP_SKETCH], &sketch) && !pinned_info(maps[MAP_SUSPECTS], &suspects) &&
	       sketch.value_size == sketch_bytes(detect) &&
	       suspects.value_size == detect->buckets * sizeof(struct suspects);
}

static void let_go(int *maps, unsigned int first, unsigned int last)
{
	for (unsigned int map = first; map <= last; map++) {
		close_fd(maps[map]);
		maps[map] = -1;
	}
}

static void close_maps(int *maps)
{
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++) {
		close_fd(maps[map]);
		maps[map] = -1;
	}
}

static bool read_slots(int fd, struct slot slots[SLOTS])
{
	struct pinned is;
	__u32 key = 0;

	return !pinned_info(fd, &is) && is.value_size == SLOTS * sizeof(*slots) &&
	       !bpf_map_lookup_elem(fd, &key, slots);
}

/* Slots stand for the same interfaces, with the same limits, whatever becomes of what is above them. */
static bool same_slots(int fd, const struct limits *limits, __u64 tick)
{
	struct slot now[SLOTS], then[SLOTS];

	if (fd < 0 || !limits->interfaces)
		return fd < 0 && !limits->interfaces;
	if (!read_slots(fd, now))
		return false;
	limits_slots(then, limits, tick);
	for (size_t i = 0; i < SLOTS; i++)
		memcpy(now[i].then, then[i].then, sizeof(now[i].then));
	return !memcmp(now, then, sizeof(now));
}

/* But for what each generation has of its own. What cannot be taken over is not in the way of a change, and is said. */
static int take_over(const struct live *live, struct detect *detect, const struct limits *limits, int *maps)
{
	struct detect now = { 0 };
	int err = live_detect(live, maps);
	bool is;

	if (!err && maps[MAP_DETECT] >= 0) {
		err = read_detect(maps[MAP_DETECT], &now);
		if (!err && !fits(&now, maps))
			err = -EPROTO;
		if (err)
			err = because_detect(err);
	}
	is = !err && maps[MAP_DETECT] >= 0 && same(&now, detect) && same_slots(maps[MAP_SLOTS], limits, detect->tick);
	if (is)
		detect->hash = now.hash;
	let_go(maps, MAP_DETECT, MAP_DETECT);
	let_go(maps, MAP_TRUSTED, MAP_TRUSTED);
	let_go(maps, MAP_PROVEN, MAP_SLOT_OF);
	if (!is)
		let_go(maps, MAP_SKETCH, MAP_DETECTED);
	if (!err_is(err, ENOENT) && !err_is(err, EPROTO))
		return err;
	warn("the detector has forgotten what it saw: %s", reason(err));
	return 0;
}

static int make_maps(const struct detect *detect, int *maps)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	__u32 cells = (__u32)sketch_bytes(detect), suspects = (__u32)(detect->buckets * sizeof(struct suspects));

	maps[MAP_SKETCH] = bpf_map_create(BPF_MAP_TYPE_ARRAY, PIN_SKETCH, 4, cells, 1, &opts);
	maps[MAP_SUSPECTS] = bpf_map_create(BPF_MAP_TYPE_ARRAY, PIN_SUSPECTS, 4, suspects, 1, &opts);
	maps[MAP_CLAIMS] = bpf_map_create(BPF_MAP_TYPE_HASH, PIN_CLAIMS, 4, 4, CLAIMS, NULL);
	maps[MAP_DETECTED] = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, PIN_DETECTED, 4, 8, DETECTEDS, NULL);
	for (unsigned int map = MAP_SKETCH; map <= MAP_DETECTED; map++)
		if (err_is(maps[map], E2BIG))
			return because(maps[map],
				       "%s: the kernel takes no array that large, before Linux 6.8 none above 4 MiB; "
				       "type 'xdp-bloom detect room' with less",
				       detect_pin(map));
		else if (maps[map] < 0)
			return because_kernel(maps[map], detect_pin(map));
	return 0;
}

/*
 * So many more can be put in while the generation lives: kernel_spare(). The last of them are not for guests, who may
 * be as many as they like: what the operator needs, and addresses that this machine gets, have room then.
 */
#define SPARED_MOST    1024
#define NOT_FOR_GUESTS 256

static int make_trusted(const struct detector *detector, int *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	__u32 room = (__u32)detector->trusted_n + SPARED_MOST;

	*map = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, PIN_TRUSTED, sizeof(struct end_key), sizeof(__u64), room, &opts);
	if (*map < 0)
		return because_kernel(*map, PIN_TRUSTED);
	for (size_t i = 0; i < detector->trusted_n; i++)
		if (bpf_map_update_elem(*map, &detector->trusted[i].key, &detector->trusted[i].scale, BPF_ANY))
			return because_kernel(-errno, PIN_TRUSTED);
	return 0;
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

static int number_proven(int map, const struct proven *names, size_t n)
{
	struct numbered *there = calloc(n + 1, sizeof(*there));
	size_t found = 0;
	int err;

	for (size_t i = 0; there && i < n; i++) {
		there[found] = (struct numbered){ number_of(names[i].name), 1 };
		found += there[found].index != 0;
	}
	err = there ? number_map(map, PIN_PROVEN, there, found) : -ENOMEM;
	free(there);
	return err;
}

static int number_slots(int map, const struct slot slots[SLOTS])
{
	struct numbered there[SLOTS];
	size_t found = 0;

	for (__u32 i = 1; i < SLOTS; i++) {
		there[found] = (struct numbered){ *slots[i].name ? if_nametoindex(slots[i].name) : 0, i };
		found += there[found].index != 0;
	}
	return number_map(map, PIN_SLOT_OF, there, found);
}

/* While one goes and another comes, both may be in it. */
static int make_numbers(const char *pin, size_t most)
{
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, pin, sizeof(__u32), sizeof(__u32), 2 * (__u32)most + 1, NULL);

	return map < 0 ? because_kernel(map, pin) : map;
}

static int make_proven(const struct detector *detector, int *map)
{
	*map = make_numbers(PIN_PROVEN, detector->proven_n);
	return *map < 0 ? *map : number_proven(*map, detector->proven, detector->proven_n);
}

static int make_slots(const struct limits *limits, __u64 tick, int *maps)
{
	struct slot slots[SLOTS];
	__u32 key = 0;

	if (!limits->interfaces)
		return 0;
	limits_slots(slots, limits, tick);
	maps[MAP_SLOTS] = bpf_map_create(BPF_MAP_TYPE_ARRAY, PIN_SLOTS, 4, sizeof(slots), 1, NULL);
	if (maps[MAP_SLOTS] < 0)
		return because_kernel(maps[MAP_SLOTS], PIN_SLOTS);
	if (bpf_map_update_elem(maps[MAP_SLOTS], &key, slots, BPF_ANY))
		return because_kernel(-errno, PIN_SLOTS);
	maps[MAP_SLOT_OF] = make_numbers(PIN_SLOT_OF, SLOTS);
	return maps[MAP_SLOT_OF] < 0 ? maps[MAP_SLOT_OF] : number_slots(maps[MAP_SLOT_OF], slots);
}

static int make_detect(const struct detect *detect, int *map)
{
	__u32 key = 0;

	*map = bpf_map_create(BPF_MAP_TYPE_ARRAY, PIN_DETECT, 4, sizeof(*detect), 1, NULL);
	return *map < 0						  ? because_kernel(*map, PIN_DETECT)
	       : bpf_map_update_elem(*map, &key, detect, BPF_ANY) ? because_kernel(-errno, PIN_DETECT)
								  : 0;
}

/* One for all generations. Where its pin was lost, that of the generation in force is it. */
static int open_policed(const struct context *context, int *map)
{
	char path[PIN_PATH_MAX];
	int fd = context ? pin_shared_map(context, PIN_POLICED) : -ENOENT;

	if (err_is(fd, ENOENT)) {
		fd = *map >= 0 ? dup(*map)
			       : bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, PIN_POLICED, 4, sizeof(struct tally),
						POLICED, NULL);
		fd = fd < 0 ? -errno : fd;
		if (context)
			pin_path(context, path, PIN_POLICED);
		if (context && fd >= 0 && bpf_obj_pin(fd, path)) {
			int err = -errno;

			close(fd);
			fd = err;
		}
	}
	close_fd(*map);
	*map = fd;
	return fd < 0 ? because_kernel(fd, PIN_POLICED) : 0;
}

/* --- Proof ---------------------------------------------------------------------------------------------------------
 */

/* Adds where a member is, in bytes; false: there is none. It may be within a member that has no name. */
static bool find_member(const struct btf *btf, const struct btf_type *type, const char *name, __u64 *at)
{
	const struct btf_member *member = btf_members(type);

	for (__u32 i = 0; i < btf_vlen(type); i++, member++) {
		const char *is = btf__name_by_offset(btf, member->name_off);
		__u32 bytes = btf_member_bit_offset(type, i) / 8;
		const struct btf_type *within = btf__type_by_id(btf, member->type);

		if ((is && !strcmp(is, name)) ||
		    ((!is || !*is) && within && btf_is_composite(within) && find_member(btf, within, name, at))) {
			*at += bytes;
			return true;
		}
	}
	return false;
}

bool kernel_proves(void)
{
	static int known = -1;

	if (known < 0)
		known = libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, BPF_FUNC_skc_lookup_tcp, NULL) > 0 &&
			libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, BPF_FUNC_skc_to_tcp_sock, NULL) > 0;
	return known > 0;
}

bool kernel_looks_up(void)
{
	static const enum bpf_func_id needed[] = { BPF_FUNC_skc_lookup_tcp, BPF_FUNC_sk_lookup_udp,
						   BPF_FUNC_tcp_check_syncookie, BPF_FUNC_fib_lookup };
	static int known = -1;

	for (size_t i = 0; known < 0 && i < sizeof(needed) / sizeof(needed[0]); i++)
		if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, needed[i], NULL) <= 0)
			known = 0;
	known = known != 0;
	return known;
}

/* Without what it takes these classes are never seen; so their limits are none. */
static struct limits limits_known(const struct limits *limits)
{
	struct limits known = *limits;

	if (!limits_look_up(limits) || kernel_looks_up())
		return known;
	for (enum packet_class class = LIMITED_ALONE; class < LIMITED; class ++) {
		known.of[class].rate = 0;
		for (size_t i = 0; i < known.interfaces; i++)
			known.on_interface[i].of[class].rate = 0;
	}
	return known;
}

/* The kernel says itself how its sockets are laid out; where it does not, they prove nothing. */
static void find_proof(struct detect *detect)
{
	struct {
		const char *name;
		__u64 *offset;
	} fields[] = {
		{ "rcv_wnd", &detect->tcp_rcv_wnd }, { "snd_una", &detect->tcp_snd_una },
		{ "snd_nxt", &detect->tcp_snd_nxt }, { "max_window", &detect->tcp_max_window },
		{ "rcv_nxt", &detect->tcp_rcv_nxt },
	};
	const struct btf_type *type;
	struct btf *btf = NULL;
	bool all = true;
	int id;

	if (!detect->then[THEN_BAN] || !kernel_proves())
		return;
	btf = btf__load_vmlinux_btf();
	id = btf ? btf__find_by_name_kind(btf, "tcp_sock", BTF_KIND_STRUCT) : -1;
	type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	for (size_t i = 0; type && i < sizeof(fields) / sizeof(fields[0]); i++) {
		find_member(btf, type, fields[i].name, fields[i].offset);
		all = all && *fields[i].offset;
	}
	if (!all)
		detect->tcp_rcv_nxt = 0;
	btf__free(btf);
}

int kernel_detect(const struct context *context, struct candidate *c, const struct live *live,
		  const struct detector *detector)
{
	struct generation drawn = { 0 };
	struct limits limits;
	struct detect detect;
	int maps[MAPS], err = 0;

	if (!detector->limits.on)
		return 0;
	limits = limits_known(&detector->limits);
	limits_plan(&detect, &limits, detect_tick());
	detect.number = c->g.number;
	detect.trusts_hosts = detector->trusts_hosts;
	detect.account = detector->account;
	detect.jail = detector->jail_ns ?: JAIL_NS;
	find_proof(&detect);
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		maps[map] = -1;
	if (live && !live->err)
		err = take_over(live, &detect, &limits, maps);
	if (!err && maps[MAP_SKETCH] < 0) {
		err = build_seeds(&drawn);
		detect.hash = drawn.hash;
		err = err ?: make_maps(&detect, maps);
	}
	err = err ?:
	      make_detect(&detect, &maps[MAP_DETECT]) ?:
	      make_trusted(detector, &maps[MAP_TRUSTED]) ?:
	      make_proven(detector, &maps[MAP_PROVEN]) ?:
	      make_slots(&limits, detect.tick, maps) ?:
	      open_policed(context, &maps[MAP_POLICED]);
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		c->detect[map - MAP_DETECT] = maps[map];
	return err;
}

/* --- What it sees --------------------------------------------------------------------------------------------------
 */

/* The clock is nowhere to be read but in a program. Its lower half is enough: what is compared is near. */
static int read_clock(__u64 tick, __u64 *now)
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
		return because_detect(-EPROTO);
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

static int read_counts(int map, __u64 packets[DETECTEDS])
{
	int cpus = libbpf_num_possible_cpus();
	__u64 *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	int err = each ? 0 : -ENOMEM;

	for (__u32 i = 0; i < DETECTEDS && !err; i++) {
		packets[i] = 0;
		if (bpf_map_lookup_elem(map, &i, each))
			err = because_kernel(-errno, PIN_DETECTED);
		for (int cpu = 0; cpu < cpus && !err; cpu++)
			packets[i] += each[cpu];
	}
	free(each);
	return err;
}

int seen_by_source(const void *a, const void *b)
{
	const struct suspect_seen *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (MARK_KIND(x->mark) != MARK_KIND(y->mark))
		return MARK_KIND(x->mark) < MARK_KIND(y->mark) ? -1 : 1;
	if (MARK_SLOT(x->mark) != MARK_SLOT(y->mark))
		return MARK_SLOT(x->mark) < MARK_SLOT(y->mark) ? -1 : 1;
	return (x->is.since > y->is.since) - (x->is.since < y->is.since);
}

static int map_whole(int map, const char *pin, size_t bytes, int protection, void **at, size_t *size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*size = (bytes + page - 1) / page * page;
	*at = mmap(NULL, *size, protection, MAP_SHARED, map, 0);
	return *at == MAP_FAILED ? because_kernel(-errno, pin) : 0;
}

static int map_suspects(int map, const struct detect *with, int protection, struct suspects **buckets, size_t *bytes)
{
	return map_whole(map, PIN_SUSPECTS, with->buckets * sizeof(struct suspects), protection, (void **)buckets,
			 bytes);
}

/* The first so many cells. */
static int map_sketch(int map, size_t cells, int protection, __u64 **at, size_t *bytes)
{
	return map_whole(map, PIN_SKETCH, cells * sizeof(__u64), protection, (void **)at, bytes);
}

static int read_suspects(int map, struct seen *seen)
{
	struct suspects *buckets;
	size_t bytes;
	int err = map_suspects(map, &seen->with, PROT_READ, &buckets, &bytes);

	if (err)
		return err;
	seen->room = seen->with.buckets * SUSPECTS_OF_BUCKET;
	seen->suspect = calloc(seen->room, sizeof(*seen->suspect));
	for (size_t i = 0; seen->suspect && i < seen->room; i++) {
		const struct suspects *bucket = &buckets[i / SUSPECTS_OF_BUCKET];
		__u64 mark = bucket->place[i % SUSPECTS_OF_BUCKET].mark;

		if (!MARK_KIND(mark) || MARK_AGE(mark, seen->now) >= (__s64)seen->with.keep)
			continue;
		seen->suspect[seen->n++] = (struct suspect_seen){ bucket->place[i % SUSPECTS_OF_BUCKET].key, mark,
								  bucket->suspect[i % SUSPECTS_OF_BUCKET] };
	}
	munmap(buckets, bytes);
	if (seen->suspect)
		qsort(seen->suspect, seen->n, sizeof(*seen->suspect), seen_by_source);
	return seen->suspect ? 0 : -ENOMEM;
}

/* Where there is a detector in force, maps[MAP_DETECT] is not -1. */
static int open_maps(const struct context *context, int *maps, struct detect *with)
{
	struct live live;
	int err;

	memset(maps, -1, sizeof(*maps) * MAPS);
	live_open(&live, context);
	do {
		close_maps(maps);
		err = live.err ?: live_detect(&live, maps);
	} while (err_is(err, ENOENT) && live_overtaken(&live));
	if (live.err)
		err = live.err;
	live_close(&live);
	if (err || maps[MAP_DETECT] < 0)
		return err;
	err = read_detect(maps[MAP_DETECT], with);
	if (!err && !fits(with, maps))
		err = -EPROTO;
	return err ? because_detect(err) : 0;
}

/* A MiB: of a larger one a part tells as much. */
#define SKETCH_LOOK (1u << 17)

static int read_sketch(int map, struct seen *seen)
{
	size_t n = seen->with.cells < SKETCH_LOOK ? seen->with.cells : SKETCH_LOOK, bytes;
	__u64 *cells;
	int err = map_sketch(map, n, PROT_READ, &cells, &bytes);

	if (err)
		return err;
	seen->cell = malloc(n * sizeof(__u64));
	if (seen->cell)
		memcpy(seen->cell, cells, n * sizeof(__u64));
	seen->cells = n;
	munmap(cells, bytes);
	return seen->cell ? 0 : -ENOMEM;
}

static int read_names(int map, struct seen *seen)
{
	struct slot slots[SLOTS];

	if (map >= 0 && !read_slots(map, slots))
		return because(-EPROTO, PIN_SLOTS ": of another version");
	for (size_t i = 1; map >= 0 && i < SLOTS; i++)
		memcpy(seen->interface[i], slots[i].name, sizeof(seen->interface[i]));
	return 0;
}

static int see(const struct context *context, struct seen *seen, bool sketch)
{
	int maps[MAPS], err;

	*seen = (struct seen){ 0 };
	err = open_maps(context, maps, &seen->with);
	seen->on = !err && maps[MAP_DETECT] >= 0;
	if (seen->on)
		err = read_counts(maps[MAP_DETECTED], seen->packets) ?:
		      read_clock(seen->with.tick, &seen->now) ?:
		      read_suspects(maps[MAP_SUSPECTS], seen) ?:
		      read_names(maps[MAP_SLOTS], seen) ?:
		      sketch ? read_sketch(maps[MAP_SKETCH], seen) : 0;
	close_maps(maps);
	if (err)
		seen_free(seen);
	return err;
}

int kernel_seen(const struct context *context, struct seen *seen)
{
	return see(context, seen, false);
}

int kernel_seen_all(const struct context *context, struct seen *seen)
{
	return see(context, seen, true);
}

int kernel_follow(const struct context *context, const struct proven *proven, size_t n)
{
	struct slot slots[SLOTS];
	struct detect with;
	int maps[MAPS], err = open_maps(context, maps, &with);

	if (!err && maps[MAP_DETECT] >= 0)
		err = number_proven(maps[MAP_PROVEN], proven, n);
	if (!err && maps[MAP_SLOT_OF] >= 0 && read_slots(maps[MAP_SLOTS], slots))
		err = number_slots(maps[MAP_SLOT_OF], slots);
	close_maps(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

static bool is_source(__u64 mark)
{
	return MARK_KIND(mark) == SUSPECT_IPV4 || MARK_KIND(mark) == SUSPECT_IPV6;
}

bool seen_banned(const struct seen *seen, const struct suspect_seen *suspect)
{
	return is_source(suspect->mark) && stamp_ahead(suspect->is.until, seen->now);
}

/* So long after the last such packet: a need that comes and goes is over by then, before more of them come. */
#define SPARED_NS 10000000000ULL

bool seen_spared(const struct seen *seen)
{
	for (size_t i = 0; i < seen->n; i++) {
		const struct suspect *is = &seen->suspect[i].is;

		if (is_source(seen->suspect[i].mark) && is->scale & TRUST_NO_BAN && is->over_at &&
		    stamp_ahead(is->over_at + SPARED_NS, seen->now))
			return true;
	}
	return false;
}

__u64 suspect_over(const struct suspect_seen *suspect)
{
	__u64 over = 0;

	for (enum packet_class class = 0; class < LIMITED; class ++)
		over = suspect->is.over[class] > over ? suspect->is.over[class] : over;
	return over;
}

bool seen_same_source(const struct suspect_seen *a, const struct suspect_seen *b)
{
	return a->key == b->key && MARK_KIND(a->mark) == MARK_KIND(b->mark);
}

/* A ban says more than any number of packets. Banned or not: that changes with the clock alone. */
static int by_source_and_worst(const void *a, const void *b)
{
	const struct suspect_seen *x = *(const struct suspect_seen *const *)a,
				  *y = *(const struct suspect_seen *const *)b;
	__u64 x_over = suspect_over(x), y_over = suspect_over(y);

	if (!seen_same_source(x, y))
		return seen_by_source(x, y);
	if (x->is.until != y->is.until)
		return x->is.until > y->is.until ? -1 : 1;
	return (x_over < y_over) - (x_over > y_over);
}

size_t seen_once(const struct suspect_seen **who, size_t n)
{
	size_t sources = 0;

	qsort(who, n, sizeof(*who), by_source_and_worst);
	for (size_t i = 0; i < n; i++) {
		const struct suspect_seen *one = who[i];

		if (sources && seen_same_source(who[sources - 1], one))
			continue;
		who[i] = who[sources];
		who[sources++] = one;
	}
	return sources;
}

size_t seen_banned_n(const struct seen *seen)
{
	const struct suspect_seen **who = calloc(seen->n + 1, sizeof(*who));
	size_t n = 0, all = 0;

	for (size_t i = 0; i < seen->n; i++)
		if (seen_banned(seen, &seen->suspect[i]) && ++all && who)
			who[n++] = &seen->suspect[i];
	/* Without memory, as many as there are entries: 0 only if there is none. */
	n = who ? seen_once(who, n) : all;
	free(who);
	return n;
}

static bool is_touched(const struct ranges *set, __u64 key, __u64 mark)
{
	bool is4 = MARK_KIND(mark) == SUSPECT_IPV4;
	struct addr first = { is4 ? (ip6)key : (ip6)key << 64, is4 ? 4 : 6 };

	return is_source(mark) && ranges_touch(set, first, is4 ? 32 : 64);
}

/* As one that was never seen: by what it used up until then, its next packet would have it banned again. */
static void let_one_out(const struct detect *with, struct suspects *bucket, size_t i, __u64 *cells, __u64 now)
{
	__u64 mark = bucket->place[i].mark, key = bucket->place[i].key;
	struct slot by = { .number = MARK_SLOT(mark) };
	struct detect in_memory = *with;
	struct suspect *suspect = &bucket->suspect[i];
	__u64 hash = hash_in_slot(with, source_hash(with->hash, MARK_KIND(mark), key), by.number ? &by : NULL);

	for (enum packet_class class = 0; class < LIMITED; class ++) {
		detect_store(&suspect->stamp[class], now);
		detect_store(&suspect->proven[class], now);
	}
	__atomic_store_n(&suspect->until, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&bucket->place[i].mark, MARK(MARK_IS(mark), now), __ATOMIC_RELEASE);
	/* At last: as long as it is banned, its packets make that hot. */
	in_memory.sketch = (uintptr_t)cells;
	detect_store(sketch_cell(&in_memory, hash), now);
}

static int let_out(const int *maps, const struct detect *with, const struct ranges *set)
{
	size_t suspects_size = 0, cells_size = 0;
	struct suspects *buckets = MAP_FAILED;
	__u64 *cells = MAP_FAILED;
	__u64 now = 0;
	int err = read_clock(with->tick, &now) ?:
		  map_suspects(maps[MAP_SUSPECTS], with, PROT_READ | PROT_WRITE, &buckets, &suspects_size) ?:
		  map_sketch(maps[MAP_SKETCH], with->cells, PROT_READ | PROT_WRITE, &cells, &cells_size);

	for (size_t i = 0; i < with->buckets * SUSPECTS_OF_BUCKET && !err; i++) {
		struct suspects *bucket = &buckets[i / SUSPECTS_OF_BUCKET];
		size_t at = i % SUSPECTS_OF_BUCKET;

		if (stamp_ahead(bucket->suspect[at].until, now) &&
		    is_touched(set, bucket->place[at].key, bucket->place[at].mark))
			let_one_out(with, bucket, at, cells, now);
	}
	if (buckets != MAP_FAILED)
		munmap(buckets, suspects_size);
	if (cells != MAP_FAILED)
		munmap(cells, cells_size);
	return err;
}

bool end_key_holds(const struct end_key *wide, const struct end_key *narrow)
{
	unsigned int left = wide->bits - END_KEY_BITS(0);

	if (wide->family != narrow->family || wide->bits > narrow->bits)
		return false;
	for (unsigned int i = 0; left; i++) {
		unsigned int bits = left < 32 ? left : 32;

		if (be32toh(wide->addr[i] ^ narrow->addr[i]) >> (32 - bits))
			return false;
		left -= bits;
	}
	return true;
}

/* With the trust around it, and within it. */
static int spare(int map, const struct end_key *key)
{
	__u64 scale = TRUST_ALL, within;
	struct end_key at, *last = NULL;

	bpf_map_lookup_elem(map, key, &scale);
	if (!scale)
		return 0;
	scale |= TRUST_NO_BAN;
	if (bpf_map_update_elem(map, key, &scale, BPF_ANY))
		return because_kernel(-errno, PIN_TRUSTED);
	for (; !bpf_map_get_next_key(map, last, &at); last = &at)
		if (end_key_holds(key, &at) && !bpf_map_lookup_elem(map, &at, &within) && within) {
			within |= TRUST_NO_BAN;
			bpf_map_update_elem(map, &at, &within, BPF_EXIST);
		}
	return 0;
}

/* The answer that each suspect has kept is asked for again. */
static int ask_again(int map, const struct detect *with)
{
	struct suspects *buckets;
	size_t bytes;
	int err = map_suspects(map, with, PROT_READ | PROT_WRITE, &buckets, &bytes);

	if (err)
		return err;
	for (size_t i = 0; i < with->buckets * SUSPECTS_OF_BUCKET; i++)
		__atomic_store_n(&buckets[i / SUSPECTS_OF_BUCKET].suspect[i % SUSPECTS_OF_BUCKET].asked, 0,
				 __ATOMIC_RELAXED);
	munmap(buckets, bytes);
	return 0;
}

/* For so many more there is room. */
static size_t room_left(int map)
{
	struct end_key at, *last = NULL;
	struct pinned is;
	size_t n = 0;

	for (; !bpf_map_get_next_key(map, last, &at); last = &at)
		n++;
	return !pinned_info(map, &is) && is.max_entries > n ? is.max_entries - n : 0;
}

/* What fails for one of them is in no other's way. */
static int spare_each(int map, const struct spared *who, size_t n)
{
	size_t left = room_left(map);
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		int one = who[i].guest && left <= NOT_FOR_GUESTS
				  ? because(-ENOSPC,
					    PIN_TRUSTED ": no more room for needs that others than root can make")
				  : spare(map, &who[i].key);

		left -= !one && left;
		err = err ?: one;
	}
	return err;
}

int kernel_spare(const struct context *context, const struct spared *who, size_t n)
{
	int maps[MAPS], err, again;
	struct detect with = { 0 };

	if (!n)
		return 0;
	err = open_maps(context, maps, &with);
	if (!err && maps[MAP_DETECT] >= 0) {
		err = spare_each(maps[MAP_TRUSTED], who, n);
		again = ask_again(maps[MAP_SUSPECTS], &with);
		err = err ?: again;
	}
	close_maps(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

static int read_spared(int map, struct end_key **keys, size_t *n)
{
	struct end_key at, *last = NULL;
	__u64 scale;

	for (; !bpf_map_get_next_key(map, last, &at); last = &at) {
		if (bpf_map_lookup_elem(map, &at, &scale) || !(scale & TRUST_NO_BAN))
			continue;
		if (!GROW(*keys, *n))
			return -ENOMEM;
		(*keys)[(*n)++] = at;
	}
	return 0;
}

int kernel_spared(const struct context *context, struct end_key **keys, size_t *n)
{
	struct detect with = { 0 };
	int maps[MAPS], err = open_maps(context, maps, &with);

	*keys = NULL;
	*n = 0;
	if (!err && maps[MAP_DETECT] >= 0)
		err = read_spared(maps[MAP_TRUSTED], keys, n);
	close_maps(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

/* An entry that says the same as the one around it is none that a list has made. */
static int unspare(int map, const struct end_key *key)
{
	__u64 wide = TRUST_ALL, scale;
	struct end_key around = *key;
	int err;

	if (bpf_map_lookup_elem(map, key, &scale))
		return 0;
	around.bits--;
	bpf_map_lookup_elem(map, &around, &wide);
	scale &= ~TRUST_NO_BAN;
	err = scale == (wide & ~TRUST_NO_BAN) ? bpf_map_delete_elem(map, key)
					      : bpf_map_update_elem(map, key, &scale, BPF_EXIST);
	return err && errno != ENOENT ? because_kernel(-errno, PIN_TRUSTED) : 0;
}

int kernel_unspare(const struct context *context, const struct end_key *keys, size_t n)
{
	struct detect with = { 0 };
	int maps[MAPS], err = open_maps(context, maps, &with), again;

	if (!err && maps[MAP_DETECT] >= 0) {
		for (size_t i = 0; i < n; i++) {
			int one = unspare(maps[MAP_TRUSTED], &keys[i]);

			err = err ?: one;
		}
		again = ask_again(maps[MAP_SUSPECTS], &with);
		err = err ?: again;
	}
	close_maps(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

int kernel_own(const struct context *context, const struct end_key *keys, size_t n, const struct end_key *gone,
	       size_t gone_n)
{
	struct detect with = { 0 };
	int maps[MAPS], err = open_maps(context, maps, &with);
	bool asks = !err && maps[MAP_DETECT] >= 0 && with.looks_up;
	__u64 is = 1;

	/* First, so that there is room. */
	for (size_t i = 0; i < gone_n && asks; i++)
		bpf_map_delete_elem(maps[MAP_TRUSTED], &gone[i]);
	for (size_t i = 0; i < n && asks && !err; i++)
		if (bpf_map_update_elem(maps[MAP_TRUSTED], &keys[i], &is, BPF_ANY))
			err = because_kernel(-errno, PIN_TRUSTED);
	close_maps(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

int kernel_unjail_set(const struct context *context, const struct ranges *set)
{
	int maps[MAPS], err = 0;
	struct detect with = { 0 };

	if (!set->n4 && !set->n6)
		return 0;
	err = open_maps(context, maps, &with);
	if (!err && maps[MAP_DETECT] >= 0)
		err = let_out(maps, &with, set);
	close_maps(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

int kernel_unjail(const struct context *context, struct addr first, unsigned int length)
{
	struct ranges set = RANGES_EMPTY;
	int err = ranges_add_prefix(&set, first, length) ?: ranges_finish(&set) ?: kernel_unjail_set(context, &set);

	ranges_free(&set);
	return err;
}

void seen_free(struct seen *seen)
{
	free(seen->cell);
	free(seen->suspect);
	*seen = (struct seen){ 0 };
}
