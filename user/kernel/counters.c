// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "kernel/pins.h"

/* Room for so many values of all CPUs, which the kernel fills without being told how many those are. */
static int make_room(struct tally **each, size_t values)
{
	int cpus = libbpf_num_possible_cpus();

	*each = cpus > 0 ? calloc(values * (size_t)cpus, sizeof(**each)) : NULL;
	if (cpus <= 0)
		return because(-EIO, "/sys does not say how many CPUs there are");
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
	return err && !err_is(err, ENOENT) ? because_kernel(err, name) : 0;
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
	return err && !err_is(err, ENOENT) ? because_kernel(err, PIN_COUNTERS) : 0;
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
	return err_is(err, ENOENT) ? 0 : err;
}
