// SPDX-License-Identifier: GPL-2.0-only
#include "service/arrivals.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/attach.h"
#include "service/netlink_links.h"
#include "state/state.h"

/* What could not be attached may be another's for a moment, or its driver's for good. */
#define OPEN_AGAIN     5000 /* ms */
#define OPEN_AGAIN_MAX 600000

struct expected {
	char name[IF_NAMESIZE];
	unsigned int told; /* the interface's number when it was told */
};

struct arrivals {
	struct expected *expected;
	size_t n;
	int fd;
	bool came;
	int64_t again_at, again_ms;
};

int arrivals_open(struct arrivals **arrivals)
{
	struct arrivals *a = calloc(1, sizeof(*a));

	*arrivals = a;
	if (!a)
		return -ENOMEM;
	a->again_at = INT64_MAX;
	a->fd = links_open();
	return a->fd < 0 ? a->fd : 0;
}

void arrivals_close(struct arrivals *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	free(a->expected);
	free(a);
}

int arrivals_fd(const struct arrivals *a)
{
	return a->fd;
}

static bool is_attached(const char *name)
{
	struct attachment *list;
	bool found = false;
	size_t n;

	if (attach_list(&list, &n))
		return true; /* nothing can be done about it here */
	for (size_t i = 0; i < n; i++)
		found = found || (!list[i].gone && !list[i].moved && !strcmp(list[i].name, name));
	free(list);
	return found;
}

static void on_link(void *arg, const char *name)
{
	struct arrivals *a = arg;

	for (size_t i = 0; i < a->n; i++) {
		struct expected *e = &a->expected[i];
		unsigned int number = name && strcmp(name, e->name) != 0 ? 0 : if_nametoindex(e->name);

		if (!number || number == e->told || is_attached(e->name))
			continue;
		e->told = number;
		a->came = true;
	}
}

int arrivals_expect(struct arrivals *a, struct state *state)
{
	struct interface_info *kept;
	struct expected *expected;
	size_t n;
	int err = state_interfaces(state, &kept, &n);

	expected = err ? NULL : calloc(n + 1, sizeof(*expected));
	for (size_t i = 0; expected && i < n; i++) {
		memcpy(expected[i].name, kept[i].name, sizeof(expected[i].name));
		for (size_t j = 0; j < a->n; j++)
			if (!strcmp(a->expected[j].name, kept[i].name))
				expected[i].told = a->expected[j].told;
	}
	free(kept);
	if (!expected)
		return err ? err : -ENOMEM;
	free(a->expected);
	a->expected = expected;
	a->n = n;
	on_link(a, NULL); /* it may have come before anybody looked */
	return 0;
}

void arrivals_read(struct arrivals *a)
{
	links_read(a->fd, on_link, a);
}

bool arrivals_left_open(struct arrivals *a, int64_t now)
{
	bool open = false;

	for (size_t i = 0; i < a->n; i++)
		open = open || (if_nametoindex(a->expected[i].name) && !is_attached(a->expected[i].name));
	a->again_ms = !open ? 0 : !a->again_ms ? OPEN_AGAIN : 2 * a->again_ms;
	if (a->again_ms > OPEN_AGAIN_MAX)
		a->again_ms = OPEN_AGAIN_MAX;
	a->again_at = open ? now + a->again_ms : INT64_MAX;
	return open;
}

int64_t arrivals_due(const struct arrivals *a)
{
	return a->again_at;
}

bool arrivals_came(struct arrivals *a, int64_t now)
{
	bool came;

	if (now >= a->again_at) {
		a->again_at = INT64_MAX;
		for (size_t i = 0; i < a->n; i++)
			a->expected[i].told = 0;
		on_link(a, NULL);
	}
	came = a->came;
	a->came = false;
	return came;
}

size_t arrivals_expected(const struct arrivals *a)
{
	return a->n;
}

size_t arrivals_attached(const struct arrivals *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		n += is_attached(a->expected[i].name);
	return n;
}
