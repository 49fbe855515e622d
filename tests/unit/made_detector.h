/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A detector in a kernel that is memory (made_maps.h), and one in force that has seen somebody: what units of
 * kernel/detect*.c, which are included here, have their scenarios begin with.
 */
#ifndef MADE_DETECTOR_H
#define MADE_DETECTOR_H

#include "made_maps.h"

#include <endian.h>
#include <net/if.h>

#include <bpf/btf.h>

#include "base/clock.h"
#include "base/ports.h"
#include "bpf/detect.h"
#include "filter/build.h"
#include "kernel/detect.h"
#include "kernel/detect_in_force.h"
#include "kernel/detect_maps.h"
#include "kernel/detect_seen.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "sets/ranges.h"

#define TICK 4000000ULL

static const struct context own_context = { .bpffs = "PINS" };

/* The generation in force: its pins by their maps, and how often another one comes into force meanwhile. */
static struct made_map *pinned[MAPS], *shared;
static int live_err, live_errno;
static unsigned int overtaken;
static struct made_map *pinned_next[MAPS];

static int given_live_pin(const struct live *live, const char *name)
{
	(void)live;
	if (fails("live_pin"))
		return -errno;
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		if (!strcmp(name, detect_pin(map)) && pinned[map])
			return made_fd(pinned[map]);
	return -ENOENT;
}

static int given_live_open(struct live *live, const struct context *context)
{
	*live = (struct live){ .context = context };
	live->err = fails("live_open") ? -errno : live_err;
	return live->err;
}

static bool given_overtaken(struct live *live)
{
	if (!overtaken) {
		live->err = live_errno;
		return false;
	}
	overtaken--;
	does("overtaken");
	live->err = live_errno;
	memcpy(pinned, pinned_next, sizeof(pinned));
	return true;
}

static void given_live_close(struct live *live)
{
	(void)live;
	does("live is closed");
}

static int given_shared(const struct context *context, const char *name)
{
	(void)context;
	if (fails("pin_shared_map"))
		return -errno;
	if (strcmp(name, PIN_POLICED) != 0)
		printf(" not one that is shared: %s\n", name);
	return shared ? made_fd(shared) : -ENOENT;
}

static int given_pin(int fd, const char *path)
{
	if (fails("bpf_obj_pin"))
		return -errno;
	does("pin %s at %s", made_text(fd), path);
	return 0;
}

static int given_seeds(struct generation *g)
{
	if (fails("build_seeds"))
		return -errno;
	does("new seeds");
	g->hash = (struct hash_seeds){ 0x1111111111111111, 0x3333333333333333, 0x5555555555555555, 0x7777777777777777 };
	return 0;
}

/* What this kernel's programs cannot call. */
static enum bpf_func_id lacks[2];

static int given_probe(enum bpf_prog_type type, enum bpf_func_id id, const void *opts)
{
	(void)opts;
	does("probe helper %d%s", (int)id, type == BPF_PROG_TYPE_XDP ? "" : ", not of XDP");
	return id != lacks[0] && id != lacks[1];
}

/* How the kernel says that its sockets are laid out. */
static enum { LAID_OUT, LAID_DEEP, LAID_ODD, LAID_WITHOUT, NO_SOCKETS, NO_LAYOUT } layout;

static struct btf *given_btf(void)
{
	static const char *const names[] = {
		"first", "rcv_wnd", "snd_una", "snd_nxt", "max_window", "sk_uid", "rcv_nxt"
	};
	struct btf *btf = layout == NO_LAYOUT ? NULL : btf__new_empty();
	unsigned int n = layout == LAID_WITHOUT ? 6 : 7;
	int word;

	does("ask for the layout");
	if (!btf || fails("btf__load_vmlinux_btf")) {
		btf__free(btf);
		errno = ENOENT;
		return NULL;
	}
	word = btf__add_int(btf, "unsigned int", 4, 0);
	/* Another of that name is no structure, and has no such members. */
	btf__add_typedef(btf, "tcp_sock", word);
	if (layout == LAID_DEEP) {
		/* One within the first of the first; the last three within one without a name; a named one is not
		   looked into. */
		int in = btf__add_struct(btf, "", 12), named, socket, connection;

		for (unsigned int i = 3; i < 7; i++)
			if (i != 5)
				btf__add_field(btf, names[i], word, (i - (i > 5) - 3) * 32, 0);
		named = btf__add_struct(btf, "named", 8);
		btf__add_field(btf, "none", word, 0, 0);
		btf__add_field(btf, "snd_nxt", word, 32, 0);
		socket = btf__add_struct(btf, "socket", 8);
		btf__add_field(btf, "none", word, 0, 0);
		btf__add_field(btf, "sk_uid", word, 32, 0);
		connection = btf__add_struct(btf, "connection", 8);
		btf__add_field(btf, "socket", socket, 0, 0);
		btf__add_struct(btf, "tcp_sock", 64);
		btf__add_field(btf, "connection", connection, 0, 0);
		btf__add_field(btf, "named", named, 288, 0);
		btf__add_field(btf, "", word, 64, 0);
		btf__add_field(btf, "rcv_wnd", word, 96, 0);
		btf__add_field(btf, "snd_una", word, 128, 0);
		btf__add_field(btf, "", in, 192, 0);
		return btf;
	}
	if (layout != NO_SOCKETS) {
		btf__add_struct(btf, "tcp_sock", 28);
		for (unsigned int i = 0; i < n; i++)
			btf__add_field(btf, names[i], word, (layout == LAID_ODD ? (i + 6) % 7 : i) * 32, 0);
	}
	return btf;
}

static const char *const names_there[] = { "eth0", "eth1", "wan" };

static unsigned int given_nametoindex(const char *name)
{
	for (unsigned int i = 0; i < sizeof(names_there) / sizeof(names_there[0]); i++)
		if (!strcmp(names_there[i], name))
			return i + 2;
	return 0;
}

/* Numbers 40 and 41 are of a bond that is eth0, and 42 is of one within it; eth1 is a port itself. */
static bool has_ports;

static int given_look(struct port_of **ports, size_t *n)
{
	static const struct port_of are[] = {
		{ .ifindex = 42, .above = 41, .hands_on = true },
		{ .ifindex = 40, .above = 2, .hands_on = true },
		{ .ifindex = 41, .above = 2, .hands_on = true },
		{ .ifindex = 3, .above = 2, .hands_on = true },
		{ .ifindex = 43, .above = 2 },
		{ .ifindex = 44, .above = 9, .hands_on = true },
	};

	if (fails("ports_look"))
		return -errno;
	*n = has_ports ? sizeof(are) / sizeof(are[0]) : 0;
	*ports = *n ? malloc(sizeof(are)) : NULL;
	if (*n && !*ports)
		abort();
	if (*n)
		memcpy(*ports, are, sizeof(are));
	return 0;
}

static int given_getres(clockid_t clock, struct timespec *tick)
{
	*tick = (struct timespec){ 0, clock == CLOCK_MONOTONIC_COARSE ? (long)TICK : 1 };
	return 0;
}

static int64_t since_boot;
static __u32 jiffies_now;

static int64_t given_clock(clockid_t clock)
{
	return clock == CLOCK_MONOTONIC ? since_boot : 0;
}

static int given_load(enum bpf_prog_type type, const char *name, const char *license, const struct bpf_insn *insns,
		      size_t n, const void *opts)
{
	(void)opts;
	if (fails("bpf_prog_load"))
		return -errno;
	does("load %s: %d, %s, %zu instructions, calls %d, then %#x", name, (int)type, license, n, insns[0].imm,
	     insns[1].code);
	return MADE_FD + 1000;
}

static int given_test_run(int fd, struct bpf_test_run_opts *run)
{
	if (fails("bpf_prog_test_run_opts"))
		return -errno;
	does("run %d, %u times on %u bytes", fd - MADE_FD, run->repeat, run->data_size_in);
	run->retval = jiffies_now;
	return 0;
}

static int cpus_there = MADE_CPUS;

static int given_cpus(void)
{
	return cpus_there;
}

static void put_end_key(const struct end_key *key)
{
	printf("%u bits of %u %08x %08x %08x %08x", key->bits, key->family, be32toh(key->addr[0]),
	       be32toh(key->addr[1]), be32toh(key->addr[2]), be32toh(key->addr[3]));
}

static void put_key(const struct made_map *map, const void *key)
{
	if (map->key_size == sizeof(struct end_key))
		put_end_key(key);
	else
		printf("%u", *(const __u32 *)key);
}

static void put_detect(const struct detect *d)
{
	printf("version %llu, number %llu, seeds %llx %llx %llx %llx, %llu cells, %llu buckets, tick %llu\n"
	       "  packets %llu, unanswered %llu, scan %llu, looks up %llx, then %llx %llx %llx, jail %llu, networks %llu\n"
	       "  sockets %llu %llu %llu %llu %llu %llu, hosts %llu, account %llu",
	       d->version, d->number, d->hash.add, d->hash.mul1, d->hash.mul2, d->hash.mul3, d->cells, d->buckets,
	       d->tick, d->limit[CLASS_PACKETS].price, d->limit[CLASS_UNANSWERED].price, d->limit[CLASS_SCAN].price,
	       d->looks_up, d->then[0], d->then[1], d->then[2], d->jail, d->networks, d->tcp_rcv_nxt, d->tcp_rcv_wnd,
	       d->tcp_snd_una, d->tcp_snd_nxt, d->tcp_max_window, d->tcp_sk_uid, d->trusts_hosts, d->account);
}

static void put_slots(const struct slot *slots)
{
	printf("slots");
	for (size_t i = 0; i < SLOTS; i++)
		if (slots[i].name[0] || !i)
			printf(" %llu %s (packets %llu, unanswered %llu)", slots[i].number, slots[i].name,
			       slots[i].limit[CLASS_PACKETS].price, slots[i].limit[CLASS_UNANSWERED].price);
}

static void put_value(const struct made_map *map, const void *value)
{
	if (map->value_size == sizeof(struct detect))
		put_detect(value);
	else if (map->value_size == SLOTS * sizeof(struct slot))
		put_slots(value);
	else if (map->value_size == sizeof(__u32))
		printf("%u", *(const __u32 *)value);
	else
		printf("%#llx", *(const __u64 *)value);
}

#define bpf_map_create		     given_map_create
#define bpf_map_lookup_elem	     given_lookup
#define bpf_map_update_elem	     given_update
#define bpf_map_delete_elem	     given_delete
#define bpf_map_get_next_key	     given_next_key
#define bpf_obj_pin		     given_pin
#define bpf_prog_load(...)	     (made_keeps(&fd), given_load(__VA_ARGS__))
#define bpf_prog_test_run_opts	     given_test_run
#define libbpf_num_possible_cpus     given_cpus
#define libbpf_probe_bpf_helper(...) (made_keeps(&known), given_probe(__VA_ARGS__))
#define btf__load_vmlinux_btf	     given_btf
#define pinned_info		     given_info
#define live_pin		     given_live_pin
#define live_open		     given_live_open
#define live_close		     given_live_close
#define live_overtaken		     given_overtaken
#define pin_shared_map		     given_shared
#define build_seeds		     given_seeds
#define if_nametoindex		     given_nametoindex
#define ports_look		     given_look
#define mmap			     given_mmap
#define munmap			     given_munmap
#define sysconf			     given_sysconf
#define close			     given_close
#define dup			     given_dup
#define clock_getres		     given_getres
#define clock_ns		     given_clock
#define calloc			     given_calloc
#define malloc			     given_malloc
#define warn			     given_warn

#include "kernel/detect_maps.c"

#include "kernel/detect.c"
#include "kernel/detect_in_force.c"
#include "kernel/detect_seen.c"

#undef mmap
#undef munmap
#undef close
#undef dup
#undef calloc
#undef malloc

/* --- A detector of the next generation ---------------------------------------------------------------------------- */

static struct detector detector;
static struct live live;
static const struct live *in_force;
static const struct context *context;
static struct candidate candidate;
static struct trusted trusted[] = {
	{ { END_KEY_BITS(24), 4, { 0 } }, 0 },
	{ { END_KEY_BITS(128), 6, { 0 } }, TRUST_ALL / 2 },
};
static struct proven proven[] = { { "eth1" }, { "gone" }, { "wan" } };

static void begin(void)
{
	memset(pinned, 0, sizeof(pinned));
	memset(pinned_next, 0, sizeof(pinned_next));
	memset(lacks, 0, sizeof(lacks));
	shared = NULL;
	live_err = live_errno = 0;
	overtaken = 0;
	layout = LAID_OUT;
	since_boot = 0;
	jiffies_now = 0;
	cpus_there = MADE_CPUS;
	detector = (struct detector){ 0 };
	live = (struct live){ 0 };
	in_force = NULL;
	context = NULL;
	candidate = (struct candidate){ 0 };
}

static void plain(void)
{
	detector = (struct detector){ .limits = { .on = true, .suspects = 16 } };
	for (enum packet_class class = 0; class < LIMITED_ALONE; class ++)
		detector.limits.of[class] = (struct limit){ .rate = limit_rates[class] };
}

static void with_context(void)
{
	plain();
	context = &own_context;
}

static void all_of_it(void)
{
	with_context();
	shared = made_new(PIN_POLICED, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), POLICED);
	shared->old = true;
	trusted[0].key.addr[0] = htobe32(0xc0000200);
	trusted[1].key.addr[0] = htobe32(0x20010db8);
	trusted[1].key.addr[3] = htobe32(1);
	detector.trusted = trusted;
	detector.trusted_n = 2;
	detector.trusts_hosts = true;
	detector.account = true;
	detector.jail_ns = 7000000000;
	detector.proven = proven;
	detector.proven_n = 3;
	detector.limits.networks = 16;
	detector.limits.of[CLASS_PACKETS].then = THEN_BAN;
	detector.limits.of[CLASS_UNANSWERED] = (struct limit){ .rate = 50, .then = THEN_POLICE };
	limits_put_on(&detector.limits, "wan", CLASS_PACKETS, (struct limit){ .rate = 1000, .then = THENS });
	limits_put_on(&detector.limits, "lost", CLASS_UNANSWERED, (struct limit){ .rate = 10, .then = THEN_WATCH });
	limits_put_on(&detector.limits, "eth0", CLASS_SYN, (struct limit){ .rate = 10, .then = THEN_WATCH });
}

static struct made_map *put_pin(unsigned int map, __u32 type, __u32 key_size, __u32 value_size, __u32 max_entries)
{
	struct made_map *new = made_new(detect_pin(map), type, key_size, value_size, max_entries);

	new->old = true;
	pinned[map] = new;
	return new;
}

static struct detect *detect_in_force(void)
{
	return (struct detect *)(void *)pinned[MAP_DETECT]->value;
}

static struct suspects *suspects_in_force(void)
{
	return (struct suspects *)(void *)pinned[MAP_SUSPECTS]->value;
}

static __u64 *cells_in_force(void)
{
	return (__u64 *)(void *)pinned[MAP_SKETCH]->value;
}

/* Maps as the detector that is given makes them, with what they hold. */
static void pin_detector(void)
{
	struct limits limits = detector.limits;
	struct detect detect;
	__u32 key = 0;

	limits_plan(&detect, &limits, TICK);
	detect.hash = (struct hash_seeds){ 0x0101010101010101, 0x0303030303030303, 0x0505050505050505, 0 };
	put_pin(MAP_DETECT, BPF_MAP_TYPE_ARRAY, 4, sizeof(detect), 1);
	made_put(pinned[MAP_DETECT], &key, &detect);
	put_pin(MAP_SKETCH, BPF_MAP_TYPE_ARRAY, 4, (__u32)(detect.cells + 1) * 8, 1);
	put_pin(MAP_SUSPECTS, BPF_MAP_TYPE_ARRAY, 4, (__u32)(detect.buckets * sizeof(struct suspects)), 1);
	put_pin(MAP_CLAIMS, BPF_MAP_TYPE_HASH, 4, 4, 256);
	put_pin(MAP_DETECTED, BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, DETECTEDS);
	put_pin(MAP_TRUSTED, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct end_key), 8, 1024);
	put_pin(MAP_POLICED, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), POLICED);
	put_pin(MAP_PROVEN, BPF_MAP_TYPE_HASH, 4, 4, 7);
	if (limits.interfaces) {
		struct slot slots[SLOTS];

		limits_slots(slots, &limits, TICK);
		put_pin(MAP_SLOTS, BPF_MAP_TYPE_ARRAY, 4, sizeof(slots), 1);
		made_put(pinned[MAP_SLOTS], &key, slots);
		put_pin(MAP_SLOT_OF, BPF_MAP_TYPE_HASH, 4, 4, 65);
	}
	in_force = &live;
}

static void same_limits(void)
{
	all_of_it();
	pin_detector();
}

static void same_plain(void)
{
	with_context();
	pin_detector();
}

__attribute__((unused)) static void all_interfaces(void)
{
	same_plain();
	for (unsigned int i = 0; i < LIMITS_ON_MOST; i++) {
		char name[SLOT_NAME];

		snprintf(name, sizeof(name), i + 1 < LIMITS_ON_MOST ? "a%u" : "wan", i);
		limits_put_on(&detector.limits, name, CLASS_PACKETS, (struct limit){ .rate = 1000, .then = THENS });
	}
	pin_detector();
}

/* --- One that has seen somebody ----------------------------------------------------------------------------------- */

#define NOW (20000ULL * TICK)

/* It began five minutes before the end of 32 bits: jiffies are of this machine's clock and that. */
static void clock_at(__u64 ticks, int64_t away)
{
	since_boot = (int64_t)(ticks * TICK);
	jiffies_now = (__u32)(ticks + (__u64)away);
}

static struct suspect *suspect_at(unsigned int place, __u64 key, __u64 mark)
{
	struct suspects *bucket = suspects_in_force() + place / SUSPECTS_OF_BUCKET;

	bucket->place[place % SUSPECTS_OF_BUCKET].key = key;
	bucket->place[place % SUSPECTS_OF_BUCKET].mark = mark;
	return &bucket->suspect[place % SUSPECTS_OF_BUCKET];
}

#define NOW_SEEN ((1ULL << 32) * TICK + NOW)

__attribute__((unused)) static void suspects_there(void)
{
	struct detect *d;
	__u64 keep, now;

	context = &own_context;
	same_limits();
	d = detect_in_force();
	clock_at(20000, 0);
	now = NOW_SEEN;
	/* So that a mark can be exactly so old. */
	keep = d->keep = (d->keep >> 16 << 16) + (now & 0xffff);
	for (__u32 i = 0; i < DETECTEDS * MADE_CPUS; i++)
		((__u64 *)(void *)pinned[MAP_DETECTED]->value)[i] = 1ULL << i;
	suspect_at(0, 0xc0000201, MARK(SUSPECT_IPV4, now))->until = now + 5;
	suspect_at(1, 0xc0000202, MARK(SUSPECT_IPV4 | 2 << 8, now))->until = now;
	suspect_at(2, 0xc0000201, MARK(SUSPECT_IPV4 | 1 << 8, now))->since = 3;
	suspect_at(3, 0x20010db800000001, MARK(SUSPECT_IPV6, now))->until = now + 1;
	/* Away for as long as a place is kept, and for a little less. */
	suspect_at(4, 4, MARK(SUSPECT_IPV4, now - keep));
	suspect_at(5, 5, MARK(SUSPECT_IPV4, now - keep + 65536));
	suspect_at(6, 6, MARK(0, now));
	suspect_at(7, 0xc00002, MARK(SUSPECT_NET4, now))->until = now + 9;
	suspect_at((unsigned int)d->buckets * SUSPECTS_OF_BUCKET - 1, 0xffffffffffffffff, MARK(SUSPECT_IPV6, now))
		->until = now + 7;
	cells_in_force()[0] = 11;
	cells_in_force()[d->cells - 1] = 12;
	cells_in_force()[d->cells] = 13;
	for (__u32 i = 2; i < 5; i++)
		made_put(pinned[MAP_SLOT_OF], &i, &i);
}

__attribute__((unused)) static void live_is_gone(void)
{
	live_err = -ENOENT;
}

__attribute__((unused)) static void live_is_broken(void)
{
	live_err = -EIO;
}

__attribute__((unused)) static void nothing_is_pinned(void)
{
}

__attribute__((unused)) static void slots_read_badly(void)
{
	suspects_there();
	pinned[MAP_SLOTS]->value_size += 8;
}

__attribute__((unused)) static void no_slots(void)
{
	suspects_there();
	pinned[MAP_SLOTS] = pinned[MAP_SLOT_OF] = NULL;
}

static const int errnos[] = { EIO, ENOENT, E2BIG };

#endif
