// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "kernel/pins.h"

/* How many are read with one call, from Linux 5.13 on. */
#define BATCH 512

/* One of the maps, with room for the values of all CPUs: the kernel writes them all. */
struct counter_map {
	int fd, cpus;
	struct tally *each;
};

static int map_open(const struct context *context, struct counter_map *m, const char *name, size_t values)
{
	int err = 0;

	*m = (struct counter_map){ .fd = pin_shared_map(context, name), .cpus = libbpf_num_possible_cpus() };
	if (m->fd < 0)
		return m->fd;
	if (m->cpus <= 0)
		err = because(-EIO, "/sys does not say how many CPUs there are");
	else
		m->each = calloc(values * (size_t)m->cpus, sizeof(*m->each));
	return err || m->each ? err : -ENOMEM;
}

/* Without its map nothing was counted yet: no error. */
static int map_close(struct counter_map *m, const char *name, int err)
{
	free(m->each);
	close_fd(m->fd);
	return err && !err_is(err, ENOENT) ? because_kernel(err, name) : 0;
}

static int sum(const struct counter_map *m, __u32 first, __u32 n, struct tally *sums)
{
	bool in_batches = true;
	__u32 keys[BATCH], got;

	memset(sums, 0, n * sizeof(*sums));
	for (__u32 at = 0; at < n; at += got) {
		__u32 key = first + at, before = key - 1, last;

		got = n - at < BATCH ? n - at : BATCH;
		in_batches = in_batches &&
			     (!bpf_map_lookup_batch(m->fd, key ? &before : NULL, &last, keys, m->each, &got, NULL) ||
			      (errno == ENOENT && got));
		if (!in_batches)
			got = 1;
		if (!in_batches && bpf_map_lookup_elem(m->fd, &key, m->each))
			return -errno;
		for (__u32 i = 0; i < got * (__u32)m->cpus; i++)
			tally_add(&sums[at + i / (__u32)m->cpus], &m->each[i]);
	}
	return 0;
}

/* A row that is added to the retired one meanwhile would count twice: read all again. */
static int read_rows(const struct counter_map *m, __u32 row, struct tally *rows)
{
	struct tally retired[COUNTER_ROW];
	int err, attempts = 0;

	do
		err = sum(m, PORT_RETIRED * row, row, retired) ?: sum(m, 0, (PORTS + 1) * row, rows);
	while (!err && memcmp(retired, &rows[PORT_RETIRED * row], row * sizeof(*rows)) != 0 && ++attempts < 100);
	return err;
}

static int read_reasons(const struct context *context, const char *pin, struct tally to[PORTS + 1][REASONS])
{
	static struct tally rows[COUNTERS];
	struct counter_map m;
	int err;

	memset(rows, 0, sizeof(rows));
	err = map_open(context, &m, pin, BATCH) ?: read_rows(&m, COUNTER_ROW, rows);
	err = map_close(&m, pin, err);
	for (unsigned int port = 0; port <= PORTS && !err; port++)
		memcpy(to[port], &rows[COUNTER(port, 0)], COUNTER_ROW * sizeof(*rows));
	return err;
}

static int read_ports(const struct context *context, struct counted *c)
{
	static struct tally policed[POLICED];
	struct counter_map m;
	int err = read_reasons(context, PIN_COUNTERS, c->port) ?: read_reasons(context, PIN_COUNTERS_OUT, c->out);

	if (err)
		return err;
	memset(policed, 0, sizeof(policed));
	err = map_open(context, &m, PIN_POLICED, BATCH) ?: read_rows(&m, 1, policed);
	c->polices = !err;
	err = map_close(&m, PIN_POLICED, err);
	for (unsigned int port = 0; port <= PORTS && !err; port++)
		c->port[port][REASON_POLICED] = policed[port];
	return err;
}

int kernel_counters(const struct context *context, struct counted *c)
{
	struct counter_map m;
	int err;

	memset(c, 0, sizeof(*c));
	err = read_ports(context, c);
	for (unsigned int port = 0; port <= PORTS; port++)
		for (unsigned int why = 0; why < REASONS; why++) {
			tally_add(&c->verdict[reason_verdict(why)], &c->port[port][why]);
			tally_add(&c->verdict[reason_verdict(why)], &c->out[port][why]);
		}
	if (err)
		return err;
	err = map_open(context, &m, PIN_LIST_COUNTERS, BATCH) ?: sum(&m, 0, LABELS, c->list);
	err = map_close(&m, PIN_LIST_COUNTERS, err);
	if (err)
		return err;
	err = map_open(context, &m, PIN_UNREAD, BATCH) ?: sum(&m, 0, LABELS, c->unread);
	return map_close(&m, PIN_UNREAD, err);
}

int kernel_list_packets(const struct context *context, __u64 *packets, int cpus)
{
	__u32 keys[LABELS], last, got = LABELS;
	struct counter_map m;
	int err = map_open(context, &m, PIN_LIST_COUNTERS, LABELS);

	if (!err && m.cpus != cpus)
		err = because(-EIO, "/sys has changed its mind on how many CPUs there are");
	if (!err && bpf_map_lookup_batch(m.fd, NULL, &last, keys, m.each, &got, NULL) && (errno != ENOENT || !got))
		for (__u32 label = 0; label < LABELS && !err; label++)
			err = bpf_map_lookup_elem(m.fd, &label, m.each + label * (__u32)cpus) ? -errno : 0;
	for (size_t i = 0; i < LABELS * (size_t)cpus && !err; i++)
		packets[i] = m.each[i].packets;
	return map_close(&m, PIN_LIST_COUNTERS, err);
}

/* Adds what one key counted to another; no program counts on either meanwhile. */
static int move_tally(const struct counter_map *m, __u32 from, __u32 to)
{
	struct tally *a = m->each, *b = m->each + m->cpus;

	if (bpf_map_lookup_elem(m->fd, &from, a) || bpf_map_lookup_elem(m->fd, &to, b))
		return -errno;
	for (int cpu = 0; cpu < m->cpus; cpu++) {
		tally_add(&b[cpu], &a[cpu]);
		a[cpu] = (struct tally){ 0 };
	}
	return bpf_map_update_elem(m->fd, &to, b, BPF_ANY) || bpf_map_update_elem(m->fd, &from, a, BPF_ANY) ? -errno
													    : 0;
}

int kernel_retire_port(const struct context *context, unsigned int port, bool leaves)
{
	const char *pin = leaves ? PIN_COUNTERS_OUT : PIN_COUNTERS;
	struct counter_map m;
	int err = map_open(context, &m, pin, 2);

	for (__u32 r = 0; r < COUNTER_ROW && !err; r++)
		err = move_tally(&m, COUNTER(port, r), COUNTER(PORT_RETIRED, r));
	err = map_close(&m, pin, err);
	if (err || leaves)
		return err;
	err = map_open(context, &m, PIN_POLICED, 2) ?: move_tally(&m, port, PORT_RETIRED);
	return map_close(&m, PIN_POLICED, err);
}

static int zero(const struct context *context, const char *pin, __u32 key)
{
	struct counter_map m;
	int err = map_open(context, &m, pin, 1);

	if (!err && bpf_map_update_elem(m.fd, &key, m.each, BPF_ANY))
		err = -errno;
	return map_close(&m, pin, err);
}

int kernel_zero_label(const struct context *context, __u8 label)
{
	return zero(context, PIN_LIST_COUNTERS, label) ?: zero(context, PIN_UNREAD, label);
}
