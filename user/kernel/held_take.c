// SPDX-License-Identifier: GPL-2.0-only
/* What is pinned now. */
#include "kernel/held_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/close_fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "kernel/dispatcher.h"
#include "kernel/match.h"

static const char *const base_names[] = {
	PIN_COUNTERS,	   PIN_COUNTERS_OUT,  PIN_LIST_COUNTERS, PIN_SAMPLES,
	PIN_SAMPLE_SHARES, PIN_SAMPLE_BUDGET, PIN_POLICED,	 PIN_UNREAD,
};

/* Who waits by select(), as the page's library does, has only numbers below FD_SETSIZE: of many some are left free. */
static int out_of_the_way(int fd)
{
	int high = fd < FD_SETSIZE / 2 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int take_pin(struct held *h, const char *name, enum group group)
{
	struct part part = { .group = group };
	struct stat st;

	snprintf(part.name, sizeof(part.name), "%s", name);
	part.fd = out_of_the_way(held_get(h, &part, &st));
	if (err_is(part.fd, EAGAIN))
		return -EAGAIN;
	if (part.fd < 0)
		return 0;
	if (pinned_info(part.fd, &part.is) || !GROW(h->parts, h->n)) {
		close(part.fd);
		return -EAGAIN;
	}
	part.dev = st.st_dev;
	part.ino = st.st_ino;
	h->parts[h->n++] = part;
	return 0;
}

static int take_directory(struct held *h, const char *directory, enum group group)
{
	DIR *dir = pin_directory(h->context, directory);
	char name[sizeof(h->parts->name)];
	const char *pin;
	int err = 0;

	while ((pin = pin_next(&dir))) {
		struct attachment at;

		if (err || (size_t)snprintf(name, sizeof(name), "%s/%s", directory, pin) >= sizeof(name) ||
		    (group == LINK && !attachment_of_pin(pin, &at)))
			continue;
		err = take_pin(h, name, group);
		if (err || group != LINK || !held_find(h, name))
			continue;
		h->parts[h->n - 1].at = at;
		h->parts[h->n - 1].where = held_filters_where(h, &h->parts[h->n - 1]);
	}
	return err;
}

__u32 held_program_of(const struct held *h, __u64 number, const char *pin)
{
	char path[PIN_PATH_MAX];

	pin_generation_path(h->context, path, number, pin);
	return shared_id(path);
}

static int take_number(struct held *h, __u64 number)
{
	char name[sizeof(h->parts->name)];

	snprintf(name, sizeof(name), "%s/%llu", PIN_GENERATIONS, (unsigned long long)number);
	return number ? take_directory(h, name, GENERATION) : 0;
}

/* The generation whose program is in the slot, or else is expected there; and what comes back if it is on trial. */
static int take_generation(struct held *h)
{
	DIR *dir = h->in_slot[MATCH_SOURCE] ? pin_directory(h->context, PIN_GENERATIONS) : NULL;
	const struct committed *expected = &h->expected;
	struct trial trial = { 0 };
	const struct part *term;
	const char *name;
	__u32 key = 0;
	int err;

	while ((name = pin_next(&dir))) {
		__u64 number = h->number ? 0 : strtoull(name, NULL, 10);

		if (number && (held_program_of(h, number, PIN_PROGRAM) == h->in_slot[MATCH_SOURCE] ||
			       held_program_of(h, number, PIN_TRIAL) == h->in_slot[MATCH_SOURCE]))
			h->number = number;
	}
	if (!h->number && expected->number &&
	    held_program_of(h, expected->number, expected->on_trial ? PIN_TRIAL : PIN_PROGRAM)) {
		h->number = expected->number;
		for (unsigned int m = 0; m < MATCH_KINDS; m++) {
			h->in_slot[m] = held_program_of(h, h->number, match_pins[m].trial);
			if (!h->in_slot[m] && !expected->on_trial)
				h->in_slot[m] = held_program_of(h, h->number, match_pins[m].program);
		}
	}
	err = take_number(h, h->number);
	term = held_generation_part(h, PIN_TRIAL_TERM);
	if (!err && term && term->is.value_size == sizeof(trial) && !bpf_map_lookup_elem(term->fd, &key, &trial))
		err = take_number(h, trial.before);
	return err;
}

/* What a look opens for a moment: a directory, a pin in it, a socket. */
#define MOMENTS 3

/* Is a descriptor left for each of these? Else what looked as if it were not there may only not have been opened. */
static int has_seen(void)
{
	int fds[MOMENTS], err = 0;

	for (int i = 0; i < MOMENTS; i++) {
		fds[i] = open("/", O_PATH | O_CLOEXEC);
		if (fds[i] < 0)
			err = -errno;
	}
	for (int i = 0; i < MOMENTS; i++)
		close_fd(fds[i]);
	return err;
}

int held_take(struct held *h)
{
	unsigned int uses = match_uses(h->context);
	int err = 0;

	/* What nobody uses any more goes with the next rotation. */
	for (unsigned int m = 0; m < MATCH_KINDS && !err; m++)
		if (m == MATCH_SOURCE || (uses & (MATCH_BIT(m, false) | MATCH_BIT(m, true))))
			err = take_pin(h, match_pins[m].root, BASE)
			      ?: take_pin(h, match_pins[m].slot, BASE)
			      ?: take_pin(h, match_pins[m].bare, BASE);
	for (size_t i = 0; i < sizeof(base_names) / sizeof(base_names[0]) && !err; i++)
		err = take_pin(h, base_names[i], BASE);
	for (unsigned int m = 0; m < MATCH_KINDS && !err; m++)
		h->in_slot[m] = held_in_slot(h, m);
	err = err ?: take_generation(h) ?: take_directory(h, PIN_LINKS, LINK);
	return has_seen() ?: err;
}
