// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/detect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "bpf/detect.h"
#include "filter/build.h"
#include "kernel/detect_maps.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "kernel/pins.h"

/* Places are given away rarely, and one at a time on each CPU. */
#define CLAIMS 256

/* The first step of the ladder, where nobody says otherwise. */
#define JAIL_NS 60000000000ULL

/* The kernel's clock with the grain of a tick has that for its resolution. */
__u64 detect_tick(void)
{
	struct timespec tick = { 0 };

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return (__u64)tick.tv_sec * 1000000000 + (__u64)tick.tv_nsec;
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
	of_a.tcp_sk_uid = b->tcp_sk_uid;
	return !memcmp(&of_a, b, sizeof(of_a));
}

/* Slots stand for the same interfaces, with the same limits, whatever becomes of what is above them. */
static bool same_slots(int fd, const struct limits *limits, __u64 tick)
{
	struct slot now[SLOTS], then[SLOTS];

	if (fd < 0 || !limits->interfaces)
		return fd < 0 && !limits->interfaces;
	if (!detect_read_slots(fd, now))
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
		err = detect_read(maps[MAP_DETECT], &now);
		if (!err && !detect_fits(&now, maps))
			err = -EPROTO;
		if (err)
			err = detect_because(err);
	}
	is = !err && maps[MAP_DETECT] >= 0 && same(&now, detect) && same_slots(maps[MAP_SLOTS], limits, detect->tick);
	if (is)
		detect->hash = now.hash;
	detect_let_go(maps, MAP_DETECT, MAP_DETECT);
	detect_let_go(maps, MAP_TRUSTED, MAP_TRUSTED);
	detect_let_go(maps, MAP_PROVEN, MAP_SLOT_OF);
	if (!is)
		detect_let_go(maps, MAP_SKETCH, MAP_DETECTED);
	if (!err_is(err, ENOENT) && !err_is(err, EPROTO))
		return err;
	warn("the detector has forgotten what it saw: %s", reason(err));
	return 0;
}

static int make_maps(const struct detect *detect, int *maps)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	__u32 cells = (__u32)detect_sketch_bytes(detect), suspects = (__u32)(detect->buckets * sizeof(struct suspects));

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

/* So many more can be put in while the generation lives: kernel_spare(). */
#define SPARED_MOST 1024

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

#define PORTS_ROOM 64 /* of bonds */

/* While one goes and another comes, both may be in it. */
static int make_numbers(const char *pin, size_t most)
{
	__u32 room = 2 * (__u32)most + (most ? PORTS_ROOM : 1);
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, pin, sizeof(__u32), sizeof(__u32), room, NULL);

	return map < 0 ? because_kernel(map, pin) : map;
}

static int make_proven(const struct detector *detector, int *map)
{
	*map = make_numbers(PIN_PROVEN, detector->proven_n);
	return *map < 0 ? *map : detect_number_proven(*map, detector->proven, detector->proven_n);
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
	return maps[MAP_SLOT_OF] < 0 ? maps[MAP_SLOT_OF] : detect_number_slots(maps[MAP_SLOT_OF], slots);
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

/*
 * Adds where a member is, in bytes; false: there is none. It may be within a member that has no name, or within the
 * first: so the kernel writes that a connection is a socket.
 */
static bool find_member(const struct btf *btf, const struct btf_type *type, const char *name, __u64 *at)
{
	const struct btf_member *member = btf_members(type);

	for (__u32 i = 0; i < btf_vlen(type); i++, member++) {
		const char *is = btf__name_by_offset(btf, member->name_off);
		__u32 bytes = btf_member_bit_offset(type, i) / 8;
		const struct btf_type *within = btf__type_by_id(btf, member->type);

		if ((is && !strcmp(is, name)) ||
		    ((!i || !is || !*is) && within && btf_is_composite(within) && find_member(btf, within, name, at))) {
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
		{ "sk_uid", &detect->tcp_sk_uid },   { "rcv_nxt", &detect->tcp_rcv_nxt },
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
