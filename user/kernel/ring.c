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
#include "base/context.h"
#include "base/log.h"
#include "base/trusted_dir.h"
#include "base/state_path.h"
#include "kernel/pins.h"

struct ring {
	struct ring_buffer *buffer;
	int map, budget, lock, cpus;
	double per_turn, owed; /* what a CPU may take until the next refill, with fractions */
	__u32 *each;
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
	if (flock(r->lock, LOCK_EX | LOCK_NB))
		return because(-EBUSY, "somebody reads the samples already (%s is locked)", path);
	return 0;
}

int ring_open(const struct context *context, struct ring **ring, double per_second)
{
	struct ring *r = calloc(1, sizeof(*r));
	int err;

	*ring = NULL;
	if (!r)
		return -ENOMEM;
	r->lock = -1;
	r->map = pin_shared_map(context, PIN_SAMPLES);
	r->budget = pin_shared_map(context, PIN_SAMPLE_BUDGET);
	r->cpus = libbpf_num_possible_cpus();
	r->per_turn = per_second * RING_REFILL_MS / 1000;
	r->each = calloc(r->cpus > 0 ? 2 * (size_t)r->cpus : 2, sizeof(*r->each));
	if (err_is(r->map, EBADF) || err_is(r->budget, EBADF))
		err = err_is(r->map, EBADF) ? r->map : r->budget;
	else if (r->map < 0 || r->budget < 0)
		err = because(r->map < 0 ? r->map : r->budget, "nothing is loaded here; load or attach first");
	else if (r->cpus <= 0) /* the kernel fills in a value for each */
		err = because(-EIO, "/sys does not say how many CPUs there are");
	else
		err = r->each ? take_lock(context, r) : -ENOMEM;
	if (!err) {
		r->buffer = ring_buffer__new(r->map, hand_on, r, NULL);
		if (r->buffer)
			ring_buffer__consume(r->buffer); /* samples left by a killed reader: dropped */
		err = r->buffer ? ring_refill(r) : because_kernel(-errno, PIN_SAMPLES);
	}
	if (err) {
		ring_close(r);
		return err;
	}
	*ring = r;
	return 0;
}

/* Values of a per-CPU map are eight bytes each, whatever they hold. */
static int set_budget(struct ring *r, __u32 budget)
{
	__u32 key = 0;

	for (int cpu = 0; cpu < r->cpus; cpu++)
		r->each[2 * cpu] = budget;
	return bpf_map_update_elem(r->budget, &key, r->each, BPF_ANY) ? because_kernel(-errno, PIN_SAMPLE_BUDGET) : 0;
}

int ring_refill(struct ring *r)
{
	__u32 now;

	r->owed += r->per_turn;
	now = (__u32)r->owed;
	r->owed -= now;
	return set_budget(r, now);
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	if (r->lock >= 0 && r->each && r->budget >= 0)
		set_budget(r, 0);
	ring_buffer__free(r->buffer);
	close_fd(r->map);
	close_fd(r->budget);
	close_fd(r->lock);
	free(r->each);
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
