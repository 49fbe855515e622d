// SPDX-License-Identifier: GPL-2.0-only
#include "observe/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "base/log.h"
#include "kernel/pins.h"
#include "observe/relay.h"

struct samples {
	struct ring_buffer *ring; /* NULL: they come from the service */
	int relay, map, budget, lock, cpus;
	double per_turn, owed; /* what a CPU may take until the next refill, with fractions */
	__u32 *each;
	void (*call)(void *arg, const struct sample *sample);
	void *arg;
};

static int hand_on(void *context, void *data, size_t size)
{
	struct samples *s = context;

	if (s->call && size >= sizeof(struct sample))
		s->call(s->arg, data);
	return 0;
}

/* A ring buffer has one reader: two would take each other's samples. */
static int take_lock(struct samples *s)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/samples.lock", opt_state);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return because(-errno, "%s: %s", path, strerror(errno));
	if (flock(s->lock, LOCK_EX | LOCK_NB))
		return because(-EBUSY, "somebody reads the samples already (%s is locked)", path);
	return 0;
}

int samples_open_ring(struct samples **samples, double per_second)
{
	struct samples *s = calloc(1, sizeof(*s));
	int err;

	*samples = NULL;
	if (!s)
		return -ENOMEM;
	s->lock = s->relay = -1;
	s->map = pin_get(PIN_SAMPLES);
	s->budget = pin_get(PIN_SAMPLE_BUDGET);
	s->cpus = libbpf_num_possible_cpus();
	s->per_turn = per_second * SAMPLES_EVERY / 1000;
	s->each = calloc(s->cpus > 0 ? 2 * (size_t)s->cpus : 2, sizeof(*s->each));
	if (s->map < 0 || s->budget < 0)
		err = because(s->map < 0 ? s->map : s->budget, "nothing is loaded here; load or attach first");
	else if (s->cpus <= 0) /* the kernel fills in a value for each */
		err = because(-EIO, "/sys does not say how many CPUs there are");
	else
		err = s->each ? take_lock(s) : -ENOMEM;
	if (!err) {
		s->ring = ring_buffer__new(s->map, hand_on, s, NULL);
		if (s->ring)
			ring_buffer__consume(
				s->ring); /* what a reader that was killed left behind: nobody's call yet */
		err = s->ring ? samples_refill(s) : because_kernel(-errno, PIN_SAMPLES);
	}
	if (err) {
		samples_close(s);
		return err;
	}
	*samples = s;
	return 0;
}

static int open_relay(struct samples **samples)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct samples *s = calloc(1, sizeof(*s));
	int err = s && !relay_path(address.sun_path, sizeof(address.sun_path)) ? 0 : -ENOMEM;

	if (err) {
		free(s);
		return err;
	}
	s->lock = s->map = s->budget = -1;
	s->relay = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s->relay < 0 || connect(s->relay, (struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	if (err) {
		samples_close(s);
		return err;
	}
	*samples = s;
	return 0;
}

int samples_open(struct samples **samples, double per_second)
{
	return open_relay(samples) ? samples_open_ring(samples, per_second) : 0;
}

/* Values of a per-CPU map are eight bytes each, whatever they hold. */
static int set_budget(struct samples *s, __u32 budget)
{
	__u32 key = 0;

	for (int cpu = 0; cpu < s->cpus; cpu++)
		s->each[2 * cpu] = budget;
	return bpf_map_update_elem(s->budget, &key, s->each, BPF_ANY) ? because_kernel(-errno, PIN_SAMPLE_BUDGET) : 0;
}

int samples_refill(struct samples *s)
{
	__u32 now;

	if (!s->ring)
		return 0;
	s->owed += s->per_turn;
	now = (__u32)s->owed;
	s->owed -= now;
	return set_budget(s, now);
}

void samples_close(struct samples *s)
{
	if (!s)
		return;
	if (s->lock >= 0 && s->each && s->budget >= 0)
		set_budget(s, 0);
	ring_buffer__free(s->ring);
	if (s->relay >= 0)
		close(s->relay);
	if (s->map >= 0)
		close(s->map);
	if (s->budget >= 0)
		close(s->budget);
	if (s->lock >= 0)
		close(s->lock);
	free(s->each);
	free(s);
}

int samples_fd(const struct samples *s)
{
	return s->ring ? ring_buffer__epoll_fd(s->ring) : s->relay;
}

static int read_relay(struct samples *s)
{
	struct sample sample;
	ssize_t n;

	while ((n = recv(s->relay, &sample, sizeof(sample), MSG_DONTWAIT)) == sizeof(sample))
		s->call(s->arg, &sample);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return because(-EPIPE, "the service has gone");
}

int samples_read(struct samples *s, void (*each)(void *arg, const struct sample *sample), void *arg)
{
	int n;

	s->call = each;
	s->arg = arg;
	if (!s->ring)
		return read_relay(s);
	n = ring_buffer__consume(s->ring);
	return n < 0 ? because_kernel(n, PIN_SAMPLES) : 0;
}
