// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/trusted_dir.h"
#include "base/state_path.h"
#include "kernel/counters.h"
#include "kernel/pins.h"

struct ring {
	const struct context *context;
	struct ring_buffer *buffer;
	int map, shares, lock, cpus;
	int budget; /* of programs of 0.1; -1: there are none */
	double rate;
	int64_t refilled;
	__u64 *before, *now;	    /* what each list dropped on each CPU until the last refill, and until this one */
	struct sample_share *share; /* of one list, on each CPU */
	void (*call)(void *arg, const struct sample *sample);
	void *arg;
};

static int hand_on(void *context, void *data, size_t size)
{
	struct ring *r = context;

	if (r->call && size >= sizeof(struct sample))
		r->call(r->arg, data);
	return 0;
}

/* Two readers would take each other's samples. */
static int take_lock(const struct context *context, struct ring *r)
{
	char path[STATE_PATH_MAX];
	int err = trust_directory(context->state);

	if (err)
		return err;
	r->lock = open(state_path(path, context->state, STATE_SAMPLES_LOCK), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (r->lock < 0)
		return because(-errno, "%s: %s", path, strerror(errno));
	if (flock(r->lock, LOCK_EX | LOCK_NB)) {
		/* Not ours: nor are the shares, which ring_close() takes back. */
		close_fd(r->lock);
		r->lock = -1;
		return because(-EBUSY, "somebody reads the samples already (%s is locked)", path);
	}
	return 0;
}

static int open_maps(struct ring *r)
{
	r->map = pin_shared_map(r->context, PIN_SAMPLES);
	r->shares = pin_shared_map(r->context, PIN_SAMPLE_SHARES);
	r->budget = pin_shared_map(r->context, PIN_SAMPLE_BUDGET);
	if (err_is(r->map, EBADF) || err_is(r->shares, EBADF))
		return err_is(r->map, EBADF) ? r->map : r->shares;
	if (r->map < 0 || (r->shares < 0 && r->budget < 0))
		return because(r->map < 0 ? r->map : r->shares, "nothing is loaded here; load or attach first");
	return 0;
}

static int open_counts(struct ring *r)
{
	size_t n;

	r->cpus = libbpf_num_possible_cpus();
	if (r->cpus <= 0) /* the kernel fills in a value for each */
		return because(-EIO, "/sys does not say how many CPUs there are");
	n = (size_t)r->cpus;
	r->before = calloc(LABELS * n, sizeof(*r->before));
	r->now = calloc(LABELS * n, sizeof(*r->now));
	r->share = calloc(n, sizeof(*r->share));
	return r->before && r->now && r->share ? kernel_list_packets(r->context, r->before, r->cpus) : -ENOMEM;
}

static int put_share(const struct ring *r, __u32 label)
{
	return r->shares < 0 || !bpf_map_update_elem(r->shares, &label, r->share, BPF_ANY)
		       ? 0
		       : because_kernel(-errno, PIN_SAMPLE_SHARES);
}

/* The last of its samples are for more packets than last time: six reach for four thousand times as many. */
static __u32 share_growing(__u32 samples)
{
	return samples / 4 > 6 ? samples / 4 : samples < 12 ? samples / 2 : 6;
}

/* The size of blocks, as a logarithm, for which as many packets as last time leave those. */
static __u8 share_block(__u64 packets, __u32 samples)
{
	__u32 planned = samples - share_growing(samples);
	__u8 block = 0;

	while (block < SAMPLE_BLOCK_MAX && ((__u64)planned << block) < packets)
		block++;
	return block;
}

/* The same for all lists and CPUs. */
static int set_shares(struct ring *r, __u32 samples)
{
	int err = 0;

	for (int cpu = 0; cpu < r->cpus; cpu++)
		r->share[cpu] = (struct sample_share){ .left = samples, .growing = (__u16)share_growing(samples) };
	for (__u32 label = 0; label < LABELS && !err; label++)
		err = put_share(r, label);
	return err;
}

/* A program of 0.1 takes what it gets for all lists. Values of a per-CPU map are eight bytes each, whatever they hold.
 */
static void set_budget(const struct ring *r, __u32 budget)
{
	__u32 key = 0, *each = r->budget < 0 ? NULL : calloc(2 * (size_t)r->cpus, sizeof(*each));

	for (int cpu = 0; each && cpu < r->cpus; cpu++)
		each[2 * cpu] = budget;
	if (each)
		bpf_map_update_elem(r->budget, &key, each, BPF_ANY);
	free(each);
}

/* Of so many lists that drop, each has as much; but a few, where that would be hardly one. */
#define SHARE_LEAST 4
#define SHARE_MOST  60000

static __u32 samples_each(const struct ring *r, unsigned int lists)
{
	double each = r->rate / (lists ? lists : 1), least = r->rate < SHARE_LEAST ? r->rate : SHARE_LEAST;

	each = each < least ? least : each > SHARE_MOST ? SHARE_MOST : each;
	return each < 1 ? 1 : (__u32)each;
}

int ring_open(const struct context *context, struct ring **ring, double per_second)
{
	struct ring *r = calloc(1, sizeof(*r));
	int err;

	*ring = NULL;
	if (!r)
		return -ENOMEM;
	*r = (struct ring){ .context = context, .map = -1, .shares = -1, .budget = -1, .lock = -1, .rate = per_second };
	err = open_maps(r) ?: open_counts(r) ?: take_lock(context, r);
	if (!err) {
		r->buffer = ring_buffer__new(r->map, hand_on, r, NULL);
		if (r->buffer)
			ring_buffer__consume(r->buffer); /* samples left by a killed reader: dropped */
		err = r->buffer ? set_shares(r, samples_each(r, 0)) : because_kernel(-errno, PIN_SAMPLES);
	}
	if (err) {
		ring_close(r);
		return err;
	}
	set_budget(r, samples_each(r, 0));
	r->refilled = clock_ms();
	*ring = r;
	return 0;
}

int ring_refill(struct ring *r)
{
	int64_t now = clock_ms();
	double turns = now > r->refilled + RING_REFILL_MS ? (double)(now - r->refilled) / RING_REFILL_MS : 1;
	size_t cpus = (size_t)r->cpus;
	unsigned int lists = 0;
	bool counted[LABELS];
	int err = kernel_list_packets(r->context, r->now, r->cpus);
	__u32 samples;

	for (unsigned int label = 0; label < LABELS && !err; label++) {
		size_t at = label * cpus;

		counted[label] = memcmp(&r->now[at], &r->before[at], cpus * sizeof(*r->now)) != 0;
		lists += counted[label];
	}
	samples = samples_each(r, lists);
	for (__u32 label = 0; label < LABELS && !err; label++) {
		for (size_t cpu = 0; cpu < cpus && counted[label]; cpu++) {
			__u64 is = r->now[label * cpus + cpu], was = r->before[label * cpus + cpu];
			__u64 more = is < was ? is : is - was; /* a list that went: its label begins again at 0 */

			r->share[cpu] = (struct sample_share){
				.left = samples,
				.growing = (__u16)share_growing(samples),
				.next = share_block((__u64)((double)more / turns), samples),
			};
		}
		if (counted[label])
			err = put_share(r, label);
	}
	if (err)
		return err;
	set_budget(r, samples_each(r, 0));
	memcpy(r->before, r->now, LABELS * cpus * sizeof(*r->now));
	r->refilled = now;
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	if (r->lock >= 0 && r->share) {
		set_shares(r, 0);
		set_budget(r, 0);
	}
	ring_buffer__free(r->buffer);
	close_fd(r->map);
	close_fd(r->shares);
	close_fd(r->budget);
	close_fd(r->lock);
	free(r->before);
	free(r->now);
	free(r->share);
	free(r);
}

int ring_fd(const struct ring *r)
{
	return ring_buffer__epoll_fd(r->buffer);
}

int ring_read(struct ring *r, void (*each)(void *arg, const struct sample *sample), void *arg)
{
	int n;

	r->call = each;
	r->arg = arg;
	n = ring_buffer__consume(r->buffer);
	return n < 0 ? because_kernel(n, PIN_SAMPLES) : 0;
}
