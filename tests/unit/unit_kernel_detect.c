// SPDX-License-Identifier: GPL-2.0-only
/*
 * The maps of a detector: what is made, what is taken over, what becomes of whom it has seen, and what is said where
 * the kernel refuses. The kernel is memory here (made_maps.h).
 */
#include "made_maps.h"

#include <endian.h>
#include <net/if.h>

#include <bpf/btf.h>

#include "base/clock.h"
#include "bpf/detect.h"
#include "filter/build.h"
#include "kernel/detect.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "sets/ranges.h"

static const struct shown known_texts[] = {
#include "unit_kernel_detect.txt"
};

static struct shows shows = { .file = "tests/unit/unit_kernel_detect.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

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
	static const char *const names[] = { "first", "rcv_wnd", "snd_una", "snd_nxt", "max_window", "rcv_nxt" };
	struct btf *btf = layout == NO_LAYOUT ? NULL : btf__new_empty();
	unsigned int n = layout == LAID_WITHOUT ? 5 : 6;
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
		/* The last three within one without a name, in one with a name; that one is not looked into. */
		int in = btf__add_struct(btf, "", 12), named;

		for (unsigned int i = 3; i < 6; i++)
			btf__add_field(btf, names[i], word, (i - 3) * 32, 0);
		named = btf__add_struct(btf, "named", 8);
		btf__add_field(btf, "none", word, 0, 0);
		btf__add_field(btf, "snd_nxt", word, 32, 0);
		btf__add_struct(btf, "tcp_sock", 64);
		btf__add_field(btf, "named", named, 0, 0);
		btf__add_field(btf, "", word, 64, 0);
		btf__add_field(btf, "rcv_wnd", word, 96, 0);
		btf__add_field(btf, "snd_una", word, 128, 0);
		btf__add_field(btf, "", in, 192, 0);
		return btf;
	}
	if (layout != NO_SOCKETS) {
		btf__add_struct(btf, "tcp_sock", 24);
		for (unsigned int i = 0; i < n; i++)
			btf__add_field(btf, names[i], word, (layout == LAID_ODD ? (i + 5) % 6 : i) * 32, 0);
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
	       "  sockets %llu %llu %llu %llu %llu, hosts %llu, account %llu",
	       d->version, d->number, d->hash.add, d->hash.mul1, d->hash.mul2, d->hash.mul3, d->cells, d->buckets,
	       d->tick, d->limit[CLASS_PACKETS].price, d->limit[CLASS_UNANSWERED].price, d->limit[CLASS_SCAN].price,
	       d->looks_up, d->then[0], d->then[1], d->then[2], d->jail, d->networks, d->tcp_rcv_nxt, d->tcp_rcv_wnd,
	       d->tcp_snd_una, d->tcp_snd_nxt, d->tcp_max_window, d->trusts_hosts, d->account);
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

#include "kernel/detect.c"

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

static int made_detector(void)
{
	int err;

	candidate.g.number = 7;
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		candidate.detect[map - MAP_DETECT] = -1;
	err = kernel_detect(context, &candidate, in_force, &detector);
	if (!fail_at && !quiet) {
		printf(" candidate:");
		for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
			printf("%s %s", map == MAP_DETECT ? "" : ",", made_text(candidate.detect[map - MAP_DETECT]));
		putchar('\n');
	}
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		if (candidate.detect[map - MAP_DETECT] >= 0)
			given_close(candidate.detect[map - MAP_DETECT]);
	return err;
}

static void off(void)
{
	plain();
	detector.limits.on = false;
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

static void policed_lost(void)
{
	same_plain();
	shared = NULL;
}

static void nothing_in_force(void)
{
	with_context();
	live.err = -ENOENT;
	in_force = &live;
}

static void none_in_force(void)
{
	with_context();
	in_force = &live;
}

static void other_tick(void)
{
	same_plain();
	detect_in_force()->tick++;
}

static void of_another_version(void)
{
	same_plain();
	detect_in_force()->version++;
}

static void without_cells(void)
{
	same_plain();
	detect_in_force()->cells = 0;
}

static void no_map(void)
{
	same_plain();
	pinned[MAP_DETECT]->program = true;
}

static void short_description(void)
{
	same_plain();
	pinned[MAP_DETECT]->value_size -= 8;
}

static void small_sketch(void)
{
	same_plain();
	pinned[MAP_SKETCH]->value_size -= 8;
}

static void small_suspects(void)
{
	same_plain();
	pinned[MAP_SUSPECTS]->value_size -= 8;
}

static void claims_lost(void)
{
	same_plain();
	pinned[MAP_CLAIMS] = NULL;
}

static void proven_lost(void)
{
	same_plain();
	pinned[MAP_PROVEN] = NULL;
}

static void slots_are_new(void)
{
	same_plain();
	limits_put_on(&detector.limits, "eth0", CLASS_SYN, (struct limit){ .rate = 10, .then = THENS });
}

static void slots_are_gone(void)
{
	same_limits();
	detector.limits.interfaces = 0;
}

/* Those that only say what becomes of what is above. */
static void slots_do_more(void)
{
	same_limits();
	limits_of(&detector.limits, "wan")->of[CLASS_PACKETS].then = THEN_POLICE;
}

static void all_interfaces(void)
{
	same_plain();
	for (unsigned int i = 0; i < LIMITS_ON_MOST; i++) {
		char name[SLOT_NAME];

		snprintf(name, sizeof(name), i + 1 < LIMITS_ON_MOST ? "a%u" : "wan", i);
		limits_put_on(&detector.limits, name, CLASS_PACKETS, (struct limit){ .rate = 1000, .then = THENS });
	}
	pin_detector();
}

static void all_do_more(void)
{
	all_interfaces();
	limits_of(&detector.limits, "wan")->of[CLASS_PACKETS].then = THEN_POLICE;
	detector.limits.of[CLASS_UDP].then = THEN_POLICE;
	detect_in_force()->then[THEN_POLICE] = 9;
}

static void slots_of_others(void)
{
	same_limits();
	((struct slot *)(void *)pinned[MAP_SLOTS]->value)[31].limit[CLASS_PACKETS].burst++;
}

static void slots_of_another_size(void)
{
	same_limits();
	pinned[MAP_SLOTS]->value_size -= 8;
}

static void slots_lost(void)
{
	same_limits();
	pinned[MAP_SLOTS] = NULL;
	pinned[MAP_SLOT_OF] = NULL;
}

/* Each word of the description another one: is all of it made anew? */
static int each_word(void)
{
	for (size_t word = 0; word < sizeof(struct detect) / 8; word++) {
		__u64 *at = (__u64 *)(void *)pinned[MAP_DETECT]->value + word, was = *at;
		size_t before = made_n;

		quiet = true;
		*at ^= 2;
		made_detector();
		*at = was;
		quiet = false;
		for (size_t i = before; i < made_n; i++)
			free(made_maps[i].value);
		printf(" %zu: %s\n", word, made_n - before > 5 ? "anew" : "taken over");
		made_n = before;
	}
	return 0;
}

static void bans(void)
{
	plain();
	detector.limits.of[CLASS_PACKETS].then = THEN_BAN;
}

#define LAID(name, how)        \
	static void name(void) \
	{                      \
		bans();        \
		layout = how;  \
	}

LAID(laid_odd, LAID_ODD)
LAID(laid_deep, LAID_DEEP)
LAID(laid_without, LAID_WITHOUT)
LAID(no_sockets, NO_SOCKETS)
LAID(no_layout, NO_LAYOUT)

static void polices(void)
{
	plain();
	detector.limits.of[CLASS_PACKETS].then = THEN_POLICE;
}

static void no_proof_at_all(void)
{
	bans();
	lacks[0] = BPF_FUNC_skc_lookup_tcp;
}

static void half_a_proof(void)
{
	bans();
	lacks[0] = BPF_FUNC_skc_to_tcp_sock;
}

static void scans(void)
{
	plain();
	detector.limits.of[CLASS_SCAN] = (struct limit){ .rate = 20, .then = THEN_POLICE };
	limits_put_on(&detector.limits, "eth0", CLASS_UNANSWERED, (struct limit){ .rate = 10, .then = THENS });
	limits_put_on(&detector.limits, "wan", CLASS_PACKETS, (struct limit){ .rate = 10, .then = THENS });
	limits_put_on(&detector.limits, "wan", CLASS_SCAN, (struct limit){ .rate = 10, .then = THENS });
}

#define SCANS(name, without)                   \
	static void scans_without_##name(void) \
	{                                      \
		scans();                       \
		lacks[0] = without;            \
	}

SCANS(tcp, BPF_FUNC_skc_lookup_tcp)
SCANS(udp, BPF_FUNC_sk_lookup_udp)
SCANS(cookies, BPF_FUNC_tcp_check_syncookie)
SCANS(routes, BPF_FUNC_fib_lookup)

static int asked_twice(void)
{
	int looks = kernel_looks_up(), proves = kernel_proves();

	printf(" %d %d\n", looks, proves);
	return kernel_looks_up() == looks && kernel_proves() == proves;
}

static void lacks_both(void)
{
	lacks[0] = BPF_FUNC_fib_lookup;
	lacks[1] = BPF_FUNC_skc_to_tcp_sock;
}

/* --- What it has seen --------------------------------------------------------------------------------------------- */

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

static void suspects_there(void)
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

static void put_seen(const struct seen *seen)
{
	if (fail_at)
		return;
	printf(" %s, now %lld, packets", seen->on ? "on" : "off", seen->on ? (long long)(seen->now - NOW_SEEN) : 0);
	for (size_t i = 0; i < DETECTEDS; i++)
		printf(" %llx", seen->packets[i]);
	printf(", %zu suspects, room %zu, %zu cells%s\n", seen->n, seen->room, seen->cells,
	       seen->cell ? "" : " that were not read");
	for (size_t i = 0; i < seen->n; i++)
		printf(" %llx, %llu by %llu %s%s\n", seen->suspect[i].key, MARK_KIND(seen->suspect[i].mark),
		       MARK_SLOT(seen->suspect[i].mark), seen->interface[MARK_SLOT(seen->suspect[i].mark)],
		       seen_banned(seen, &seen->suspect[i]) ? ", banned" : "");
	if (seen->cell)
		printf(" cells %llu ... %llu\n", seen->cell[0], seen->cell[seen->cells - 1]);
	for (size_t i = 0; i < SLOTS; i++)
		if (seen->interface[i][0])
			printf(" %zu is %s\n", i, seen->interface[i]);
	if (seen->n)
		printf(" %zu are banned\n", seen_banned_n(seen));
}

static int seen_with(int (*see_it)(const struct context *context, struct seen *seen))
{
	struct seen seen;
	int err = see_it(&own_context, &seen);

	put_seen(&seen);
	seen_free(&seen);
	if (seen.suspect || seen.cell || seen.on || seen.n)
		printf(" not freed\n");
	return err;
}

static int seen_all(void)
{
	return seen_with(kernel_seen_all);
}

static int seen_twice(void)
{
	return seen_with(kernel_seen) ?: seen_with(kernel_seen);
}

static int seen_once_only(void)
{
	return seen_with(kernel_seen);
}

static void live_is_gone(void)
{
	live_err = -ENOENT;
}

static void live_is_broken(void)
{
	live_err = -EIO;
}

static void nothing_is_pinned(void)
{
}

/* Another has come into force while its pins were looked up. */
static void replaced(void)
{
	suspects_there();
	memcpy(pinned_next, pinned, sizeof(pinned));
	pinned[MAP_PROVEN] = NULL;
	overtaken = 1;
}

static void replaced_by_none(void)
{
	replaced();
	live_errno = -EIO;
}

static void gone_without_another(void)
{
	suspects_there();
	pinned[MAP_TRUSTED] = NULL;
}

/* Nor can it be told which is in force now. */
static void gone_and_unreadable(void)
{
	gone_without_another();
	live_errno = -EIO;
}

static void without_tick(void)
{
	suspects_there();
	detect_in_force()->tick = 0;
}

static void without_buckets(void)
{
	suspects_there();
	detect_in_force()->buckets = 0;
}

static void does_not_fit(void)
{
	suspects_there();
	pinned[MAP_SKETCH]->value_size += 8;
}

static void no_cpus(void)
{
	suspects_there();
	cpus_there = 0;
}

static void slots_read_badly(void)
{
	suspects_there();
	pinned[MAP_SLOTS]->value_size += 8;
}

static void no_slots(void)
{
	suspects_there();
	pinned[MAP_SLOTS] = pinned[MAP_SLOT_OF] = NULL;
}

static void large_sketch(void)
{
	suspects_there();
	detect_in_force()->cells = (1u << 17) + 1;
	put_pin(MAP_SKETCH, BPF_MAP_TYPE_ARRAY, 4, ((1u << 17) + 2) * 8, 1);
	cells_in_force()[(1u << 17) - 1] = 14;
	cells_in_force()[1u << 17] = 15;
}

static int clocks(void)
{
	static const struct {
		__u64 ticks;
		int64_t away;
	} at[] = { { 20000, 0 },	   { 20000, 3 },       { 20000, -3 },	       { 1, -7 },
		   { 0xffffffff, 2 },	   { 0xffffffff, -2 }, { 0x1ffffffff, 75000 }, { 1000, 0x7fffffff },
		   { 1000, -0x80000000LL } };

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		__u64 now = 0;
		int err;

		clock_at(at[i].ticks, at[i].away);
		err = read_clock(TICK, &now);
		printf(" %llx and %lld: %lld, %d\n", at[i].ticks, (long long)at[i].away,
		       (long long)(now / TICK - at[i].ticks - (1ULL << 32)), err);
	}
	return 0;
}

/* --- What is done to one in force --------------------------------------------------------------------------------- */

static void put_numbers(unsigned int map)
{
	if (fail_at)
		return;
	printf(" %s:", detect_pin(map));
	for (size_t i = 0; pinned[map] && i < pinned[map]->n; i++)
		printf(" %u is %llu", *(const __u32 *)(const void *)pinned[map]->key[i], pinned[map]->of[i]);
	putchar('\n');
}

static int followed(void)
{
	int err = kernel_follow(&own_context, proven, 3);

	put_numbers(MAP_PROVEN);
	put_numbers(MAP_SLOT_OF);
	return err;
}

/* One that stays, one that has gone, one that goes behind it, and one of another value. */
static void numbers_there(void)
{
	static const struct numbered before[] = { { 3, 1 }, { 9, 1 }, { 8, 1 }, { 4, 2 } };

	suspects_there();
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		made_put(pinned[MAP_PROVEN], &before[i].index, &before[i].value);
}

static void put_changes(const struct suspects *before, const __u64 *cells_before)
{
	const struct detect *d = detect_in_force();

	for (unsigned int i = 0; i < d->buckets * SUSPECTS_OF_BUCKET && !fail_at; i++) {
		const struct suspects *was = &before[i / 4], *is = &suspects_in_force()[i / 4];
		unsigned int stamps = 0, proofs = 0;

		if (!memcmp(&was->place[i % 4], &is->place[i % 4], sizeof(was->place[0])) &&
		    !memcmp(&was->suspect[i % 4], &is->suspect[i % 4], sizeof(was->suspect[0])))
			continue;
		for (size_t class = 0; class < CLASSES; class ++) {
			stamps += is->suspect[i % 4].stamp[class] == NOW_SEEN;
			proofs += is->suspect[i % 4].proven[class] == NOW_SEEN;
		}
		printf(" place %u: %llx, mark %llx of %llu, until %llu, asked %llu, %u stamps, %u proven\n", i,
		       is->place[i % 4].key, MARK_IS(is->place[i % 4].mark),
		       (NOW_SEEN >> 16) - (MARK_SEEN(is->place[i % 4].mark) >> 16), is->suspect[i % 4].until,
		       is->suspect[i % 4].asked, stamps, proofs);
	}
	for (__u64 i = 0; i <= d->cells && !fail_at; i++)
		if (cells_before[i] != cells_in_force()[i])
			printf(" cell %llu is %s\n", i, cells_in_force()[i] == NOW_SEEN ? "now" : "another");
}

static struct suspects suspects_before[64];
static __u64 cells_before[1 << 15];

static void remember(void)
{
	if (detect_in_force()->buckets > 64 || detect_in_force()->cells >= 1 << 15)
		abort();
	memcpy(suspects_before, suspects_in_force(), detect_in_force()->buckets * sizeof(struct suspects));
	memcpy(cells_before, cells_in_force(), (detect_in_force()->cells + 1) * 8);
}

static void jailed(void)
{
	suspects_there();
	/* Both of one address, in slot 0 and 1: until later; and another of the same /64. */
	suspect_at(2, 0xc0000201, MARK(SUSPECT_IPV4 | 1 << 8, NOW_SEEN + 90))->until = NOW_SEEN + 90;
	suspect_at(5, 0xc0000203, MARK(SUSPECT_IPV4, NOW_SEEN + 90))->until = NOW_SEEN + 1;
	suspect_at(6, 0xc0000203, MARK(SUSPECT_NET6, NOW_SEEN + 90))->until = NOW_SEEN + 1;
	remember();
}

static struct addr ipv4(__u32 address)
{
	return (struct addr){ address, 4 };
}

static int let_out_range(void)
{
	int err = kernel_unjail(&own_context, ipv4(0xc0000200), 24);

	put_changes(suspects_before, cells_before);
	return err;
}

static int let_out_one(void)
{
	int err = kernel_unjail(&own_context, ipv4(0xc0000203), 32);

	put_changes(suspects_before, cells_before);
	return err;
}

static int let_out_6(void)
{
	int err = kernel_unjail(&own_context, (struct addr){ ((ip6)0x20010db800000001 << 64) + 5, 6 }, 128);

	put_changes(suspects_before, cells_before);
	return err;
}

static int let_out_all_6(void)
{
	int err = kernel_unjail(&own_context, (struct addr){ 0, 6 }, 0);

	put_changes(suspects_before, cells_before);
	return err;
}

static int let_out_nobody(void)
{
	struct ranges none = RANGES_EMPTY;

	return kernel_unjail_set(&own_context, &none);
}

static int let_out_badly(void)
{
	return kernel_unjail(&own_context, ipv4(1), 32);
}

/* The cells of who was let out are those that the program charges. */
static int let_out_cells(void)
{
	const struct detect *d = detect_in_force();
	struct slot one = { .number = 1 };

	for (int in = 0; in < 2; in++) {
		struct detect_packet packet = { .key = 0xc0000201, .kind = SUSPECT_IPV4, .by = in ? &one : NULL };

		packet.hash = hash_in_slot(d, source_hash(d->hash, packet.kind, packet.key), packet.by);
		printf(" slot %d: cell %llu\n", in, reduce(packet.hash >> 32, d->cells));
	}
	return 0;
}

static struct end_key net_key(__u32 address, unsigned int length)
{
	return (struct end_key){ END_KEY_BITS(length), 4, { htobe32(address) } };
}

static void trusted_there(void)
{
	const struct {
		struct end_key key;
		__u64 scale;
	} at[] = { { net_key(0x0a000000, 8), TRUST_ALL }, { net_key(0x0a010200, 24), 0 },
		   { net_key(0x0a010203, 32), 5 },	  { net_key(0x0a010300, 24), 6 },
		   { net_key(0x0b000000, 8), 7 },	  { net_key(0x0c000001, 32), 0 } };

	suspects_there();
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		made_put(pinned[MAP_TRUSTED], &at[i].key, &at[i].scale);
	for (unsigned int i = 0; i < detect_in_force()->buckets * 4; i++)
		suspects_in_force()[i / 4].suspect[i % 4].asked =
			i < 6 || i > detect_in_force()->buckets * 4 - 3 ? i : 0;
	remember();
}

static int spared(void)
{
	const struct spared who[] = { { net_key(0x0a010000, 16), true },
				      { net_key(0x0c000001, 32), false },
				      { net_key(0x0b000000, 8), false } };
	int err = kernel_spare(&own_context, who, 3);

	put_changes(suspects_before, cells_before);
	return err;
}

/* Guests find room for two more. */
static void little_room(void)
{
	trusted_there();
	pinned[MAP_TRUSTED]->max_entries = (__u32)pinned[MAP_TRUSTED]->n + 256 + 2;
}

static void no_room(void)
{
	trusted_there();
	pinned[MAP_TRUSTED]->max_entries = 3;
}

static int spared_guests(void)
{
	const struct spared who[] = { { net_key(0xcb007101, 32), true },
				      { net_key(0xcb007102, 32), true },
				      { net_key(0xcb007103, 32), true },
				      { net_key(0xcb007104, 32), false },
				      { net_key(0xcb007105, 32), true } };

	return kernel_spare(&own_context, who, 5);
}

static struct end_key key_6(unsigned int length, __u32 host)
{
	return (struct end_key){ END_KEY_BITS(length), 6, { htobe32(0x20010db8), htobe32(5), 0, htobe32(host) } };
}

/* Some were needed that lists have, or have a network around of. */
static void spared_there(void)
{
	const struct {
		struct end_key key;
		__u64 scale;
	} at[] = { { net_key(0x0a010203, 32), 5 | TRUST_NO_BAN },
		   { net_key(0x0a010305, 32), 6 | TRUST_NO_BAN },
		   { net_key(0x0b010101, 32), 7 | TRUST_NO_BAN },
		   { net_key(0xcb007107, 32), TRUST_ALL | TRUST_NO_BAN },
		   { net_key(0xcb007108, 32), TRUST_ALL | TRUST_NO_BAN },
		   { key_6(64, 0), TRUST_ALL | TRUST_NO_BAN },
		   { key_6(128, 9), 8 | TRUST_NO_BAN },
		   { key_6(128, 10), 0 } };

	trusted_there();
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		made_put(pinned[MAP_TRUSTED], &at[i].key, &at[i].scale);
}

static int who_is_spared(void)
{
	struct end_key *keys;
	size_t n;
	int err = kernel_spared(&own_context, &keys, &n);

	for (size_t i = 0; i < n; i++) {
		putchar(' ');
		put_end_key(&keys[i]);
		putchar('\n');
	}
	free(keys);
	return err;
}

/* Whichever comes first; one is not there any more, and one stays. */
static int end_most(void)
{
	const struct end_key keys[] = { net_key(0x0a010203, 32),
					net_key(0x0a010305, 32),
					net_key(0x0b010101, 32),
					net_key(0xcb007107, 32),
					net_key(0xcb007109, 32),
					key_6(128, 9),
					key_6(64, 0) };

	return kernel_unspare(&own_context, keys, 7);
}

static int unspared(void)
{
	int err = end_most();

	put_changes(suspects_before, cells_before);
	return err;
}

static int spared_still(void)
{
	return end_most() ?: who_is_spared();
}

/* What a packet may have kept meanwhile is asked again. */
static int unspared_nobody(void)
{
	int err = kernel_unspare(&own_context, NULL, 0);

	put_changes(suspects_before, cells_before);
	return err;
}

static int spared_nobody(void)
{
	return kernel_spare(&own_context, NULL, 0);
}

static int spared_one(void)
{
	const struct spared one = { net_key(0x0a010000, 16), false };

	return kernel_spare(&own_context, &one, 1);
}

static int owned(void)
{
	const struct end_key keys[] = { net_key(0x0a010001, 32), net_key(0x0a010002, 32) };
	const struct end_key gone[] = { net_key(0x0b000000, 8), net_key(0x0b000000, 9), net_key(0x0c000001, 32) };

	return kernel_own(&own_context, keys, 2, gone, 3);
}

static void looks_at_none(void)
{
	trusted_there();
	detect_in_force()->looks_up = 0;
}

static const struct scenario all[] = {
	{ "off", off, made_detector, ONCE },
	{ "a plain one, without pins", plain, made_detector, EACH_FAILS },
	{ "a plain one, with pins", with_context, made_detector, EACH_FAILS },
	{ "all of it", all_of_it, made_detector, BY_EACH_ERRNO },
	{ "the same limits are in force", same_limits, made_detector, BY_EACH_ERRNO },
	{ "the same limits, without interfaces", same_plain, made_detector, EACH_FAILS },
	{ "the same limits, a pin was lost", policed_lost, made_detector, EACH_FAILS },
	{ "nothing is in force", nothing_in_force, made_detector, ONCE },
	{ "no detector is in force", none_in_force, made_detector, ONCE },
	{ "another tick", other_tick, made_detector, ONCE },
	{ "of another version", of_another_version, made_detector, ONCE },
	{ "without cells", without_cells, made_detector, ONCE },
	{ "no map", no_map, made_detector, ONCE },
	{ "a short description", short_description, made_detector, ONCE },
	{ "a small sketch", small_sketch, made_detector, ONCE },
	{ "few suspects", small_suspects, made_detector, ONCE },
	{ "claims are lost", claims_lost, made_detector, ONCE },
	{ "what is proven is lost", proven_lost, made_detector, ONCE },
	{ "slots are new", slots_are_new, made_detector, ONCE },
	{ "slots are gone", slots_are_gone, made_detector, ONCE },
	{ "slots do more", slots_do_more, made_detector, ONCE },
	{ "each slot has an interface", all_interfaces, made_detector, ONCE },
	{ "each slot has an interface, and does more", all_do_more, made_detector, ONCE },
	{ "slots of others", slots_of_others, made_detector, ONCE },
	{ "slots of another size", slots_of_another_size, made_detector, ONCE },
	{ "slots are lost", slots_lost, made_detector, ONCE },
	{ "each word another", same_plain, each_word, ONCE },
	{ "bans", bans, made_detector, ONCE },
	{ "bans, a member at the beginning", laid_odd, made_detector, ONCE },
	{ "bans, members within another", laid_deep, made_detector, ONCE },
	{ "bans, without a member", laid_without, made_detector, ONCE },
	{ "bans, without sockets", no_sockets, made_detector, ONCE },
	{ "bans, without a layout", no_layout, made_detector, ONCE },
	{ "polices", polices, made_detector, ONCE },
	{ "bans, no socket is looked up", no_proof_at_all, made_detector, ONCE },
	{ "bans, no socket is read", half_a_proof, made_detector, ONCE },
	{ "scans", scans, made_detector, ONCE },
	{ "scans, without TCP", scans_without_tcp, made_detector, ONCE },
	{ "scans, without UDP", scans_without_udp, made_detector, ONCE },
	{ "scans, without cookies", scans_without_cookies, made_detector, ONCE },
	{ "scans, without routes", scans_without_routes, made_detector, ONCE },
	{ "asked twice", NULL, asked_twice, ONCE },
	{ "asked twice, neither", lacks_both, asked_twice, ONCE },
	{ "seen, all of it", suspects_there, seen_all, EACH_FAILS },
	{ "seen, twice", suspects_there, seen_twice, ONCE },
	{ "seen, nothing in force", live_is_gone, seen_once_only, ONCE },
	{ "seen, what is in force cannot be read", live_is_broken, seen_once_only, ONCE },
	{ "seen, no detector", nothing_is_pinned, seen_all, ONCE },
	{ "seen, another comes into force", replaced, seen_once_only, ONCE },
	{ "seen, another that cannot be read", replaced_by_none, seen_once_only, ONCE },
	{ "seen, a pin is lost", gone_without_another, seen_once_only, ONCE },
	{ "seen, a pin is lost, and what is in force cannot be read", gone_and_unreadable, seen_once_only, ONCE },
	{ "seen, without a tick", without_tick, seen_once_only, ONCE },
	{ "seen, without buckets", without_buckets, seen_once_only, ONCE },
	{ "seen, it does not fit", does_not_fit, seen_once_only, ONCE },
	{ "seen, without CPUs", no_cpus, seen_once_only, ONCE },
	{ "seen, slots of another size", slots_read_badly, seen_once_only, ONCE },
	{ "seen, without slots", no_slots, seen_once_only, ONCE },
	{ "seen, of a large sketch a part", large_sketch, seen_all, ONCE },
	{ "the clock", NULL, clocks, ONCE },
	{ "follow", numbers_there, followed, EACH_FAILS },
	{ "follow, each slot has an interface", all_interfaces, followed, ONCE },
	{ "seen, each slot has an interface", all_interfaces, seen_all, ONCE },
	{ "follow, without slots", no_slots, followed, ONCE },
	{ "follow, slots of another size", slots_read_badly, followed, ONCE },
	{ "follow, no detector", nothing_is_pinned, followed, ONCE },
	{ "follow, nothing in force", live_is_gone, followed, ONCE },
	{ "follow, what is in force cannot be read", live_is_broken, followed, ONCE },
	{ "let out a network", jailed, let_out_range, EACH_FAILS },
	{ "let out one", jailed, let_out_one, ONCE },
	{ "let out one of IPv6", jailed, let_out_6, ONCE },
	{ "let out all of IPv6", jailed, let_out_all_6, ONCE },
	{ "let out nobody", jailed, let_out_nobody, ONCE },
	{ "let out, no detector", nothing_is_pinned, let_out_badly, ONCE },
	{ "let out, nothing in force", live_is_gone, let_out_badly, ONCE },
	{ "let out, what is in force cannot be read", live_is_broken, let_out_badly, ONCE },
	{ "the cells of who is let out", jailed, let_out_cells, ONCE },
	{ "spare", trusted_there, spared, EACH_FAILS },
	{ "spare nobody", trusted_there, spared_nobody, ONCE },
	{ "spare, no detector", nothing_is_pinned, spared_one, ONCE },
	{ "spare, nothing in force", live_is_gone, spared_one, ONCE },
	{ "spare, what is in force cannot be read", live_is_broken, spared_one, ONCE },
	{ "spare, little room", little_room, spared_guests, ONCE },
	{ "spare, no room", no_room, spared_guests, ONCE },
	{ "who is spared", spared_there, who_is_spared, ONCE },
	{ "who is spared, no detector", nothing_is_pinned, who_is_spared, ONCE },
	{ "who is spared, nothing in force", live_is_gone, who_is_spared, ONCE },
	{ "who is spared, what is in force cannot be read", live_is_broken, who_is_spared, ONCE },
	{ "spare no more", spared_there, unspared, EACH_FAILS },
	{ "who is spared still", spared_there, spared_still, ONCE },
	{ "spare nobody less", spared_there, unspared_nobody, ONCE },
	{ "spare no more, no detector", nothing_is_pinned, end_most, ONCE },
	{ "spare no more, nothing in force", live_is_gone, end_most, ONCE },
	{ "spare no more, what is in force cannot be read", live_is_broken, end_most, ONCE },
	{ "own", trusted_there, owned, EACH_FAILS },
	{ "own, nothing is looked up", looks_at_none, owned, ONCE },
	{ "own, no detector", nothing_is_pinned, owned, ONCE },
	{ "own, nothing in force", live_is_gone, owned, ONCE },
	{ "own, what is in force cannot be read", live_is_broken, owned, ONCE },
};

static const int errnos[] = { EIO, ENOENT, E2BIG };

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

/* --- In order, against what is naive ------------------------------------------------------------------------------ */

static struct suspect_seen random_suspect(void)
{
	static const __u64 kinds[] = { SUSPECT_IPV4, SUSPECT_IPV6, SUSPECT_NET4 };
	struct suspect_seen one = { .key = ktap_random() % 4,
				    .mark = kinds[ktap_random() % 3] | (ktap_random() % 3) << 8 |
					    (ktap_random() % 3) << 16 };

	one.is.since = ktap_random() % 3;
	one.is.until = ktap_random() % 2 ? 0 : 90 + ktap_random() % 20;
	for (enum packet_class class = 0; class < CLASSES; class ++)
		one.is.over[class] = ktap_random() % 3 ? 0 : ktap_random() % 8;
	return one;
}

static __u64 worst_of(const struct suspect_seen *one)
{
	__u64 worst = 0;

	for (size_t i = 0; i < 8; i++)
		worst = one->is.over[i] > worst ? one->is.over[i] : worst;
	return worst;
}

static bool is_same(const struct suspect_seen *a, const struct suspect_seen *b)
{
	return a->key == b->key && (a->mark & 255) == (b->mark & 255);
}

static void each_once(void)
{
	for (int round = 0; round < 300; round++) {
		struct suspect_seen list[24];
		const struct suspect_seen *who[24];
		size_t n = ktap_random() % 25, sources = 0, banned = 0, is;
		struct seen seen = { .suspect = list, .n = n, .now = 100 };

		for (size_t i = 0; i < n; i++) {
			bool known = false, banned_before = false;
			bool is_banned = false;

			list[i] = random_suspect();
			who[i] = &list[i];
			is_banned = list[i].is.until > 100 && (list[i].mark & 255) != SUSPECT_NET4;
			for (size_t k = 0; k < i; k++) {
				known = known || is_same(&list[k], &list[i]);
				banned_before =
					banned_before || (is_same(&list[k], &list[i]) && list[k].is.until > 100);
			}
			sources += !known;
			banned += is_banned && !banned_before;
			if (!CHECK(suspect_over(&list[i]) == worst_of(&list[i]), "over") ||
			    !CHECK(seen_banned(&seen, &list[i]) == is_banned, "banned until %llu", list[i].is.until))
				return;
		}
		if (!CHECK(seen_banned_n(&seen) == banned, "%zu banned, not %zu", seen_banned_n(&seen), banned))
			return;
		is = seen_once(who, n);
		if (!CHECK(is == sources, "%zu sources, not %zu", is, sources))
			return;
		for (size_t i = 0; i < n; i++) {
			size_t at = 0;

			while (at < n && who[at] != &list[i])
				at++;
			if (!CHECK(at < n, "%zu is lost", i))
				return;
			for (size_t k = 0; k < sources; k++)
				if (is_same(who[k], &list[i]) &&
				    !CHECK(who[k]->is.until > list[i].is.until ||
						   (who[k]->is.until == list[i].is.until &&
						    worst_of(who[k]) >= worst_of(&list[i])),
					   "%zu is worse than who stands for it", i))
					return;
		}
		for (size_t k = 1; k < sources; k++)
			if (!CHECK(seen_by_source(who[k - 1], who[k]) < 0 && !is_same(who[k - 1], who[k]), "order"))
				return;
	}
}

/* Of all suspects one is enough that was above a limit just now, and is not banned only as it was needed. */
static void spared_above(void)
{
	static const __u64 second = 1000000000, now = 100 * second;
	static const struct {
		__u64 kind, scale, over_at;
		bool is;
	} of[] = {
		{ SUSPECT_IPV4, TRUST_ALL | TRUST_NO_BAN, now, true },
		{ SUSPECT_IPV6, 5 | TRUST_NO_BAN, now - 9 * second, true },
		{ SUSPECT_IPV4, TRUST_ALL | TRUST_NO_BAN, now - 10 * second, false },
		{ SUSPECT_IPV4, TRUST_ALL | TRUST_NO_BAN, now + 1, true }, /* since the clock was read */
		{ SUSPECT_IPV4, TRUST_ALL | TRUST_NO_BAN, 0, false },
		{ SUSPECT_IPV4, TRUST_ALL, now, false },
		{ SUSPECT_NET4, TRUST_ALL | TRUST_NO_BAN, now, false },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct suspect_seen list[2] = { { .mark = SUSPECT_IPV4, .is = { .scale = TRUST_ALL, .over_at = now } },
						{ .mark = of[i].kind,
						  .is = { .scale = of[i].scale, .over_at = of[i].over_at } } };
		struct seen seen = { .suspect = list, .n = 2, .now = now };

		CHECK(seen_spared(&seen) == of[i].is, "case %zu", i);
		seen.n = 1;
		CHECK(!seen_spared(&seen), "case %zu, without it", i);
	}
}

/* By key, kind, slot, and since when. */
static void by_source(void)
{
	for (int round = 0; round < 2000; round++) {
		struct suspect_seen a = random_suspect(), b = random_suspect();
		__u64 x[] = { a.key, a.mark & 255, a.mark >> 8 & 255, a.is.since };
		__u64 y[] = { b.key, b.mark & 255, b.mark >> 8 & 255, b.is.since };
		int want = 0, is = seen_by_source(&a, &b);

		for (size_t i = 0; i < 4 && !want; i++)
			want = x[i] < y[i] ? -1 : x[i] > y[i];
		if (!CHECK((is > 0) - (is < 0) == want, "%d, not %d", is, want))
			return;
	}
}

static bool bit_of(const struct end_key *key, unsigned int bit)
{
	return be32toh(key->addr[bit / 32]) >> (31 - bit % 32) & 1;
}

static void keys_within(void)
{
	static const unsigned int lengths[] = { 0, 1, 8, 24, 31, 32, 33, 63, 64, 65, 96, 127, 128 };

	for (int round = 0; round < 4000; round++) {
		struct end_key wide = { .family = ktap_random() % 8 ? 6 : 4 }, narrow = { .family = 6 };
		unsigned int a = lengths[ktap_random() % 13], b = lengths[ktap_random() % 13];
		bool want = wide.family == 6 && a <= b, is;

		wide.bits = END_KEY_BITS(a);
		narrow.bits = END_KEY_BITS(b);
		for (size_t i = 0; i < 4; i++)
			wide.addr[i] = narrow.addr[i] = (__u32)ktap_random();
		if (ktap_random() % 2) {
			unsigned int bit = ktap_random() % 3 ? (a + 127 + ktap_random() % 2) % 128
							     : (unsigned int)(ktap_random() % 128);

			narrow.addr[bit / 32] ^= htobe32(1U << (31 - bit % 32));
		}
		for (unsigned int bit = 0; bit < a; bit++)
			want = want && bit_of(&wide, bit) == bit_of(&narrow, bit);
		is = end_key_holds(&wide, &narrow);
		if (!CHECK(is == want, "/%u in /%u: %d", b, a, is))
			return;
	}
}

static void no_memory(void)
{
	struct suspect_seen list[3] = { { .key = 1, .mark = SUSPECT_IPV4, .is = { .until = 200 } },
					{ .key = 1, .mark = SUSPECT_IPV4, .is = { .until = 200 } },
					{ .key = 2, .mark = SUSPECT_IPV4, .is = { .until = 99 } } };
	struct seen seen = { .suspect = list, .n = 3, .now = 100 };
	size_t n;

	calls = 0;
	fail_at = 1;
	fail_errno = ENOMEM;
	n = seen_banned_n(&seen);
	fail_at = 0;
	CHECK(n == 2, "%zu without memory", n);
	CHECK(detect_tick() == TICK, "a tick of %llu", detect_tick());
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what becomes of a detector's maps", happens },    { "each source once, the worst of it", each_once },
		{ "who was needed is above a limit", spared_above }, { "suspects in order", by_source },
		{ "prefixes within others", keys_within },	     { "without memory, and the tick", no_memory },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
