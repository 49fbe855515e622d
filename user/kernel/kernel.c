// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/attach.h"
#include "base/log.h"
#include "bpf/parse.h"
#include "kernel/pins.h"
#include "kernel/programs.h"
#include "kernel/verifier_log.h"
#include "xdp_bloom.skel.h"

int kernel_ready(void)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	verifier_log_ready();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	setrlimit(RLIMIT_MEMLOCK, &unlimited); /* before 5.11 maps count against it */
	return pins_ready();
}

int kernel_root_fd(void)
{
	return pin_get(PIN_ROOT);
}

/* The root's name says whether it takes packets of several buffers. */
static int takes_frags(int root)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(root, &info, &size))
		return because_kernel(-errno, PIN_ROOT);
	return !strcmp(info.name, "xdp_bloom_frags");
}

static int load_root(bool frags)
{
	struct xdp_bloom_bpf *skel;
	struct generation g = { .frags = frags };
	struct bpf_program *program = NULL, *root;
	char path[256];
	int err = programs_open(&skel);

	if (err)
		return err;
	root = frags ? skel->progs.xdp_bloom_frags : skel->progs.xdp_bloom_root;
	while ((program = bpf_object__next_program(skel->obj, program)))
		bpf_program__set_autoload(program, program == root);
	err = programs_load(skel->obj, &g, NULL);
	pin_path(path, sizeof(path), PIN_ROOT);
	/* libbpf asks the kernel whether programs have names, and takes any failure for a no. */
	if (!err && takes_frags(bpf_program__fd(root)) != frags)
		err = -ENOMEM;
	if (!err) {
		unlink(path);
		err = bpf_program__pin(root, path);
		if (!err)
			err = attach_new_root(bpf_program__fd(root));
	}
	xdp_bloom_bpf__destroy(skel);
	return err;
}

int kernel_frags(void)
{
	int fd = kernel_root_fd(), frags;

	if (fd < 0)
		return because_kernel(fd, PIN_ROOT);
	frags = takes_frags(fd);
	close(fd);
	return frags;
}

int kernel_base(void)
{
	int fd = pin_get(PIN_ROOT), err;

	if (fd >= 0) {
		close(fd);
		fd = pin_get(PIN_SLOT);
	}
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	err = load_root(true);
	if (err == -EINVAL)
		err = load_root(false);
	return err ? because_program(err, "loading the root program") : 0;
}

/* The number of the generation whose program is in the slot, or -ENOENT; *in_slot is the program's, 0 for none. */
static int live_number(__u64 *number, __u32 *in_slot)
{
	/* The kernel gives no program the number of another: what was found out once stays true. */
	static __u32 known_id;
	static __u64 known;
	struct bpf_prog_info info;
	__u32 key = 0, id = 0, size = sizeof(info);
	int slot = pin_get(PIN_SLOT), err = -ENOENT;
	struct dirent *entry;
	char path[256];
	DIR *dir;

	*in_slot = 0;
	if (slot < 0)
		return slot;
	if (bpf_map_lookup_elem(slot, &key, &id)) {
		close(slot);
		return -ENOENT;
	}
	close(slot);
	*in_slot = id;
	if (id == known_id) {
		*number = known;
		return 0;
	}
	pin_path(path, sizeof(path), PIN_GENERATIONS);
	dir = opendir(path);
	while (dir && err && (entry = readdir(dir))) {
		__u64 candidate = strtoull(entry->d_name, NULL, 10);
		int fd;

		pin_generation_path(path, sizeof(path), candidate, PIN_PROGRAM);
		fd = entry->d_name[0] == '.' ? -1 : bpf_obj_get(path);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && info.id == id) {
			*number = known = candidate;
			known_id = id;
			err = 0;
		}
		close(fd);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* A rotation a look would have to come in between each time. */
#define LOOKS 10

/* A pin of the generation in force. Whoever holds no lock finds it gone where another has come meanwhile: that one's.
 */
static int live_pin(const char *name)
{
	__u32 id = 0, before;
	int fd, looks = 0;

	do {
		__u64 number;
		char path[256];

		before = id;
		fd = live_number(&number, &id);
		if (fd)
			continue;
		pin_generation_path(path, sizeof(path), number, name);
		fd = bpf_obj_get(path);
		if (fd < 0)
			fd = -errno;
	} while (fd == -ENOENT && id && id != before && ++looks < LOOKS);
	return fd;
}

int kernel_live_meta(void)
{
	return live_pin(PIN_META);
}

int kernel_live_program(void)
{
	return live_pin(PIN_PROGRAM);
}

int kernel_age(double *seconds)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	struct timespec now;
	int fd = kernel_live_program(), err;

	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &size) ? -errno : 0;
	close(fd);
	clock_gettime(CLOCK_BOOTTIME, &now);
	*seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)info.load_time / 1e9;
	return err;
}

int kernel_live(struct generation *g)
{
	struct bpf_map_info info;
	__u32 key = 0, size = sizeof(info);
	int fd = live_pin(PIN_META), err;

	if (fd < 0)
		return fd;
	/* The structure may have had another size then: the kernel would write past ours. */
	memset(&info, 0, sizeof(info));
	err = bpf_obj_get_info_by_fd(fd, &info, &size) ? -errno : 0;
	if (!err && info.value_size == sizeof(*g))
		err = bpf_map_lookup_elem(fd, &key, g) ? -errno : 0;
	if (!err && (info.value_size != sizeof(*g) || g->version != GENERATION_VERSION))
		err = because(
			-EPROTO,
			"another version of xdp-bloom put the filter in force; 'xdp-bloom rotate' builds it anew");
	if (err)
		memset(g, 0, sizeof(*g));
	close(fd);
	return err;
}

unsigned long long kernel_live_generation(void)
{
	struct generation live;

	return kernel_live(&live) ? 0 : live.number;
}

int kernel_live_maps(const struct generation *g, int maps[ARRAYS])
{
	int err = 0;

	for (enum array a = 0; a < ARRAYS; a++) {
		maps[a] = array_bytes(g, a) && !err ? live_pin(array_kinds[a].name) : -1;
		if (maps[a] < -1)
			err = because_kernel(maps[a], array_kinds[a].name);
	}
	return err;
}

void kernel_map_bytes(const struct candidate *c, __u64 bytes[ARRAYS])
{
	for (enum array a = 0; a < ARRAYS; a++) {
		struct bpf_map_info info = { 0 };
		__u32 size = sizeof(info);

		bytes[a] = 0;
		if (c->map[a].fd >= 0 && !bpf_obj_get_info_by_fd(c->map[a].fd, &info, &size))
			bytes[a] = (__u64)info.value_size * info.max_entries;
	}
}

/* A frame from that source, as small as one can be. */
static __u32 made_frame(unsigned char frame[64], const struct addr *addr)
{
	struct ethhdr *eth = (struct ethhdr *)frame;

	memset(frame, 0, 64);
	if (addr->family == 4) {
		struct ipv4_header *ip = (struct ipv4_header *)(eth + 1);

		eth->h_proto = NET16(ETH_P_IP);
		ip->version_ihl = 0x45;
		ip->source = NET32((__u32)addr->num);
	} else {
		struct ipv6_header *ip = (struct ipv6_header *)(eth + 1);

		eth->h_proto = NET16(ETH_P_IPV6);
		ip->version_class = 0x60;
		for (int i = 0; i < 4; i++)
			ip->source[i] = NET32((__u32)(addr->num >> (96 - 32 * i)));
	}
	return 64;
}

int kernel_ask(const struct addr *addrs, size_t n, __u32 *answers)
{
	/* Behind fourteen bytes of Ethernet the address is aligned. */
	_Alignas(4) unsigned char room[2 + 64];
	unsigned char *frame = room + 2;
	int fd = live_pin(PIN_ASK), err = 0;

	if (fd == -ENOENT)
		return because(fd, "nothing is loaded here; load or attach first");
	if (fd < 0)
		return because_kernel(fd, PIN_ASK);
	for (size_t i = 0; i < n && !err; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .repeat = 1);

		run.data_size_in = made_frame(frame, &addrs[i]);
		err = bpf_prog_test_run_opts(fd, &run) ? -errno : 0;
		answers[i] = run.retval;
	}
	close(fd);
	return err ? because_kernel(err, "running the loaded program") : 0;
}

bool kernel_drops(struct addr addr)
{
	__u32 answer = ANSWER_UNPARSED;

	return !kernel_ask(&addr, 1, &answer) && answer != ANSWER_UNPARSED && answer & ANSWER_DROP;
}

/* Room for so many values of all CPUs, which the kernel fills without being told how many those are. */
static int make_room(struct tally **each, size_t values)
{
	int cpus = libbpf_num_possible_cpus();

	*each = cpus > 0 ? calloc(values * (size_t)cpus, sizeof(**each)) : NULL;
	if (cpus <= 0) {
		because(-EIO, "/sys does not say how many CPUs there are");
		return -EIO;
	}
	return *each ? cpus : -ENOMEM;
}

static int sum_tallies(const char *name, __u32 first, struct tally *sums, __u32 n)
{
	struct tally *each;
	int cpus = make_room(&each, 1), fd = pin_get(name), err = 0;

	memset(sums, 0, n * sizeof(*sums));
	if (cpus < 0 || fd < 0)
		err = fd < 0 ? fd : cpus;
	for (__u32 i = 0; i < n && !err; i++) {
		__u32 key = first + i;

		if (bpf_map_lookup_elem(fd, &key, each))
			err = -errno;
		for (int cpu = 0; cpu < cpus && !err; cpu++)
			tally_add(&sums[i], &each[cpu]);
	}
	free(each);
	if (fd >= 0)
		close(fd);
	return err && err != -ENOENT ? because_kernel(err, name) : 0;
}

int kernel_counters(struct counted *c)
{
	struct tally retired[REASONS];
	int err, attempts = 0;

	/* A row that goes onto the last one meanwhile would be read in both places: then all is read again. */
	do {
		err = sum_tallies(PIN_COUNTERS, COUNTER(PORT_RETIRED, 0), retired, REASONS);
		if (!err)
			err = sum_tallies(PIN_COUNTERS, 0, c->port[0], COUNTERS);
	} while (!err && memcmp(retired, c->port[PORT_RETIRED], sizeof(retired)) != 0 && ++attempts < 100);
	memset(c->verdict, 0, sizeof(c->verdict));
	for (unsigned int port = 0; port <= PORTS; port++)
		for (unsigned int why = 0; why < REASONS; why++)
			tally_add(&c->verdict[reason_verdict(why)], &c->port[port][why]);
	return err ? err : sum_tallies(PIN_LIST_COUNTERS, 0, c->list, LABELS);
}

/* What one key counted goes onto another; nobody counts on either. */
static int move_tally(int fd, __u32 from, __u32 to, struct tally *a, struct tally *b, int cpus)
{
	if (bpf_map_lookup_elem(fd, &from, a) || bpf_map_lookup_elem(fd, &to, b))
		return -errno;
	for (int cpu = 0; cpu < cpus; cpu++) {
		tally_add(&b[cpu], &a[cpu]);
		a[cpu] = (struct tally){ 0 };
	}
	return bpf_map_update_elem(fd, &to, b, BPF_ANY) || bpf_map_update_elem(fd, &from, a, BPF_ANY) ? -errno : 0;
}

int kernel_retire_port(unsigned int port)
{
	struct tally *each;
	int cpus = make_room(&each, 2), fd = pin_get(PIN_COUNTERS), err = fd < 0 ? fd : 0;

	if (cpus < 0)
		err = cpus;
	for (__u32 r = 0; r < REASONS && !err; r++)
		err = move_tally(fd, COUNTER(port, r), COUNTER(PORT_RETIRED, r), each, each + cpus, cpus);
	free(each);
	if (fd >= 0)
		close(fd);
	return err && err != -ENOENT ? because_kernel(err, PIN_COUNTERS) : 0;
}

int kernel_zero_label(__u8 label)
{
	struct tally *zero;
	int cpus = make_room(&zero, 1), fd = pin_get(PIN_LIST_COUNTERS), err = 0;
	__u32 key = label;

	if (fd < 0)
		err = fd;
	else if (cpus < 0)
		err = cpus;
	else if (bpf_map_update_elem(fd, &key, zero, BPF_ANY))
		err = -errno;
	free(zero);
	if (fd >= 0)
		close(fd);
	return err == -ENOENT ? 0 : err;
}
