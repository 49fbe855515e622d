// SPDX-License-Identifier: GPL-2.0-only
#include "service/arrivals.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/netlink.h"
#include "base/other_name.h"
#include "base/ports.h"
#include "change/ahead.h"
#include "kernel/attach.h"
#include "kernel/detect_in_force.h"
#include "kernel/pins.h"
#include "kernel/scopes.h"
#include "observe/unfiltered.h"
#include "service/retry.h"
#include "state/limits.h"
#include "state/ports.h"
#include "state/proven.h"
#include "state/reserve.h"
#include "state/state.h"

/* Why an interface cannot be attached may pass (another program is on it) or not (its driver): back off. */
#define OPEN_AGAIN     5000 /* ms */
#define OPEN_AGAIN_MAX 600000
#define FULL_AGAIN_MAX 20000 /* with a full disk: nobody tells that there is room */

/*
 * Who has the other end of one, as a container has, makes the kernel speak of it as often as he likes: that takes the
 * service from nobody else. A few looks in a row are usual.
 */
#define LOOK_MS 100 /* in the long run no more than one look in this time */
#define USUAL	8
#define READS	1024 /* messages that are read before one look: some ms */

struct expected {
	char name[IF_NAMESIZE];
	unsigned int match;    /* as in struct attachment */
	unsigned int reported; /* the interface's number when it was reported */
	unsigned int in_vain;  /* and when restore could not attach it */
	bool heard;	       /* the kernel has spoken of it since it was looked at */
};

struct arrivals {
	const struct context *context;
	struct expected *expected;
	size_t n;
	struct proven *proven; /* of the detector, which has to know their numbers */
	size_t proven_n;
	bool follows;
	struct ports_kept ports;
	uint64_t ports_reported; /* which of them were due when it was reported; 0: none */
	uint64_t ports_in_vain;	 /* and when restore could not attach them */
	bool scoped;		 /* so have lists that ask for interfaces */
	int failed;		 /* to follow, with that errno; 0: it did not */
	struct nl_socket *socket;
	bool lost;	/* messages were, or may be as long as there are more */
	int64_t rested; /* ms of CLOCK_MONOTONIC: not read before that */
	bool came;
	struct retry retry;
};

int arrivals_open(struct arrivals **arrivals, const struct context *context)
{
	struct arrivals *a = calloc(1, sizeof(*a));

	*arrivals = a;
	if (!a)
		return -ENOMEM;
	a->retry = (struct retry){ .first = OPEN_AGAIN, .most = OPEN_AGAIN_MAX, .at = INT64_MAX };
	a->context = context;
	return netlink_open(&a->socket, NETLINK_ROUTE, SOCK_NONBLOCK, RTMGRP_LINK);
}

void arrivals_close(struct arrivals *a)
{
	if (!a)
		return;
	if (a->socket)
		nl_close(a->socket);
	ports_kept_free(&a->ports);
	free(a->expected);
	free(a->proven);
	free(a);
}

int arrivals_fd(const struct arrivals *a, int64_t now)
{
	return a->rested > now ? -1 : nl_fd(a->socket);
}

/* What is filtered; with an error nothing is known. */
struct attached {
	struct attachment *list;
	size_t n;
	int err;
};

static struct attached look(const struct arrivals *a)
{
	struct attached on;

	on.err = attach_list(a->context, &on.list, &on.n);
	return on;
}

static bool may_be_attached(const struct attached *on, const struct expected *e)
{
	return on->err || is_filtered(on->list, on->n, e->name, e->match);
}

/* Its number, or 0. *other: it is remembered by another name, which no other interface was attached as. */
static unsigned int number_of(const struct attached *on, const struct expected *e, bool *other)
{
	char own[IF_NAMESIZE];

	*other = is_other_name(e->name, own);
	if (*other && !on->err && attach_is_anothers(on->list, on->n, e->name, e->match, own))
		return *other = false;
	return if_nametoindex(e->name);
}

/*
 * Its number, where it is there and not attached, or else 0. Once it was gone or attached, whatever comes has come
 * anew: the kernel gives a number again, and an interface takes it along to another namespace and back.
 */
static unsigned int is_open(const struct attached *on, struct expected *e)
{
	bool other;
	unsigned int number = number_of(on, e, &other);
	bool is = number && may_be_attached(on, e);

	/* Whatever changes the state puts its own name there, where it is remembered by another. */
	if (!number || (is && !on->err && !other))
		e->reported = e->in_vain = 0;
	return is ? 0 : number;
}

/*
 * A number may be another interface's by now, and a name, too. It takes effect in the generation in force, and the next
 * one asks for the names itself.
 */
static void follow(struct arrivals *a)
{
	int err = a->follows ? kernel_follow(a->context, a->proven, a->proven_n) : 0;

	err = err ?: a->scoped ? kernel_scopes_follow(a->context) : 0;
	if (err && error_number(err) != a->failed)
		warn("the filter does not follow interfaces: %s", reason(err));
	a->failed = error_number(err);
}

/* name: the interface's own. NULL: any. */
static void hear(struct arrivals *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++) {
		struct expected *e = &a->expected[i];

		e->heard = e->heard || !name || !strcmp(name, e->name);
	}
}

/* At those of which the kernel has spoken, and at those that are remembered by another name: it says their own. */
static void look_at_heard(struct arrivals *a)
{
	struct attached on = look(a);

	for (size_t i = 0; i < a->n; i++) {
		struct expected *e = &a->expected[i];
		bool other;
		unsigned int number = number_of(&on, e, &other);

		if (!e->heard && !other)
			continue;
		e->heard = false;
		number = other ? number : is_open(&on, e);
		if (!number || number == e->reported)
			continue;
		e->reported = number;
		a->came = true;
	}
	free(on.list);
}

/* Another may have its name, or its number, already. */
static void on_gone(struct arrivals *a, unsigned int number)
{
	for (size_t i = 0; i < a->n; i++) {
		struct expected *e = &a->expected[i];

		e->reported = e->reported == number ? 0 : e->reported;
		e->in_vain = e->in_vain == number ? 0 : e->in_vain;
	}
}

static uint64_t mix(uint64_t sum, const char *name, unsigned int what)
{
	for (const char *c = name; c == name || c[-1]; c++)
		sum = (sum + (unsigned char)*c + what) * 0x100000001b3;
	return sum;
}

/* Which ports have come or gone, and what has ports and is remembered by another name, as a number; 0: none. */
static uint64_t ports_due(const struct arrivals *a)
{
	struct ports_due *due = NULL;
	struct port_of *ports = NULL;
	char own[IF_NAMESIZE];
	uint64_t sum = 0;
	size_t n = 0;
	int err = ports_compare(&a->ports, &ports, &due, &n);

	for (size_t i = 0; i < n && !err; i++)
		sum = mix(sum, due[i].name, 2 * due[i].leaves + !!due[i].of + 1);
	for (size_t i = 0; i < a->ports.rules_n && !err; i++)
		if (is_other_name(a->ports.rules[i].name, own) && ports_may(own))
			sum = mix(sum, own, 5);
	free(due);
	free(ports);
	return sum;
}

/* What was reported is not reported again: restore could not do it. */
static void on_ports(struct arrivals *a)
{
	uint64_t due = ports_due(a);

	if (due && due != a->ports_reported)
		a->came = true;
	a->ports_reported = due;
}

/* Does a list ask where packets came in? */
static bool any_on(struct state *state)
{
	struct list_info *lists = NULL;
	size_t n = 0;
	bool any = false;

	if (!state_lists(state, &lists, &n))
		for (size_t i = 0; i < n; i++)
			any = any || !strncmp(lists[i].scope, "on ", 3) || strstr(lists[i].scope, " on ");
	free(lists);
	return any;
}

static int expect_detector(struct arrivals *a, struct state *state)
{
	struct limits limits = state_limits(state);
	struct proven *proven = NULL;
	size_t n = 0;
	int err = limits.on ? state_proven(state, &proven, &n) : 0;

	if (err)
		return err;
	a->scoped = any_on(state);
	free(a->proven);
	a->proven = proven;
	a->proven_n = n;
	a->follows = limits.on && (n || limits.interfaces);
	follow(a); /* one may have come before we looked */
	return 0;
}

int arrivals_expect(struct arrivals *a, struct state *state)
{
	struct interface_info *kept = NULL;
	struct expected *expected;
	size_t n = 0;
	int err = expect_detector(a, state) ?: state_interfaces(state, &kept, &n);

	expected = err ? NULL : calloc(n + 1, sizeof(*expected));
	for (size_t i = 0; expected && i < n; i++) {
		memcpy(expected[i].name, kept[i].name, sizeof(expected[i].name));
		expected[i].match = kept[i].match;
		for (size_t j = 0; j < a->n; j++)
			if (!strcmp(a->expected[j].name, kept[i].name) &&
			    MATCH_LEAVES(a->expected[j].match) == MATCH_LEAVES(kept[i].match)) {
				expected[i].reported = a->expected[j].reported;
				expected[i].in_vain = a->expected[j].in_vain;
			}
	}
	free(kept);
	if (!expected)
		return err ? err : -ENOMEM;
	ports_kept_free(&a->ports);
	err = ports_kept_take(&a->ports, state);
	if (err) {
		free(expected);
		return err;
	}
	free(a->expected);
	a->expected = expected;
	a->n = n;
	hear(a, NULL); /* one may have come before we looked */
	look_at_heard(a);
	on_ports(a);
	return 0;
}

/* A message that is cut short or has no name says nothing. */
static void on_message(struct arrivals *a, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = nl_payload(message);
	const struct nlattr *attr;

	if (nl_payload_len(message) < sizeof(*link))
		return;
	/* A bridge says so, too, of a port that it has let go. */
	if (message->nlmsg_type == RTM_DELLINK && link->ifi_family == AF_UNSPEC)
		on_gone(a, (unsigned int)link->ifi_index);
	if (message->nlmsg_type != RTM_NEWLINK)
		return;
	nl_each (attr, message, sizeof(*link)) {
		if (nl_attr_type(attr) == IFLA_IFNAME && nl_attr_is_text(attr))
			hear(a, nl_attr_text(attr));
	}
}

/* False: there are no more. One that is longer than its room, as somebody gave the link many names, is of anybody. */
static bool read_some(struct arrivals *a)
{
	char buf[16384] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t got = nl_receive(a->socket, buf, sizeof(buf));
	bool lost = got < 0 && (errno == ENOBUFS || errno == EMSGSIZE);
	int left = (int)got;

	for (const struct nlmsghdr *m = (struct nlmsghdr *)buf; nl_ok(m, left); m = nl_next(m, &left))
		on_message(a, m);
	a->lost = a->lost || lost;
	return got > 0 || lost;
}

static void rest(struct arrivals *a, int64_t now)
{
	int64_t usual = now - USUAL * LOOK_MS;

	a->rested = (a->rested > usual ? a->rested : usual) + LOOK_MS;
}

void arrivals_read(struct arrivals *a, int64_t now)
{
	bool more = true;

	rest(a, now);
	/* Whoever it is from, it only makes us look. */
	for (int i = 0; i < READS && more; i++)
		more = read_some(a);
	if (a->lost)
		hear(a, NULL);
	/* Until all that wait were read the kernel does not say again that it loses some. */
	a->lost = a->lost && more;
	look_at_heard(a);
	/* Whatever it was: that one has gone is said of it by its number alone. */
	follow(a);
	on_ports(a);
}

bool arrivals_left_open(struct arrivals *a, int64_t now)
{
	struct attached on = look(a);
	uint64_t due = ports_due(a);
	bool open = due || ahead_waits(a->context);

	/* What came while it ran it may not have seen. */
	if (!a->came && due == a->ports_reported)
		a->ports_in_vain = due;
	for (size_t i = 0; i < a->n; i++) {
		struct expected *e = &a->expected[i];
		unsigned int number = is_open(&on, e);

		if (!number)
			continue;
		if (!a->came && number == e->reported)
			e->in_vain = number;
		open = true;
	}
	free(on.list);
	a->retry.most = reserve_is_needed(a->context->state) ? FULL_AGAIN_MAX : OPEN_AGAIN_MAX;
	if (open)
		retry_later(&a->retry, now);
	else
		retry_forget(&a->retry);
	return open;
}

int64_t arrivals_due(const struct arrivals *a, int64_t now)
{
	return a->rested > now && a->rested < a->retry.at ? a->rested : a->retry.at;
}

bool arrivals_came(struct arrivals *a, int64_t now)
{
	bool came;

	if (now >= a->retry.at) {
		a->retry.at = INT64_MAX;
		for (size_t i = 0; i < a->n; i++)
			a->expected[i].reported = 0;
		hear(a, NULL);
		look_at_heard(a);
		a->ports_reported = 0;
		on_ports(a);
		a->came = a->came || ahead_waits(a->context);
	}
	came = a->came;
	a->came = false;
	return came;
}

struct all_unfiltered {
	struct attachment *on;
	size_t on_n;
	struct unfiltered *list;
	size_t n;
};

static int add(const struct arrivals *a, struct all_unfiltered *all, const char *name, unsigned int match,
	       const char *of)
{
	if (!GROW(all->list, all->n))
		return -ENOMEM;
	all->n += unfiltered(a->context, all->on, all->on_n, name, match, of, &all->list[all->n]) &&
		  !all->list[all->n].missing;
	return 0;
}

static int add_ports(const struct arrivals *a, struct all_unfiltered *all)
{
	struct ports_due *due = NULL;
	struct port_of *ports = NULL;
	size_t n = 0;
	int err = ports_compare(&a->ports, &ports, &due, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (due[i].of)
			err = add(a, all, due[i].name, due[i].of->match, due[i].of->name);
	free(due);
	free(ports);
	return err;
}

/* Without any pin nothing is known of what is on an interface, and that is a fault of its own. */
int arrivals_unfiltered(const struct arrivals *a, struct unfiltered **list, size_t *n)
{
	struct all_unfiltered all = { 0 };
	bool known = pins_are_there(a->context);
	int err = attach_list(a->context, &all.on, &all.on_n);

	for (size_t i = 0; i < a->n && !err && known; i++) {
		const struct expected *e = &a->expected[i];

		if (e->in_vain && e->in_vain == if_nametoindex(e->name))
			err = add(a, &all, e->name, e->match, NULL);
	}
	if (!err && known && a->ports_in_vain && a->ports_in_vain == ports_due(a))
		err = add_ports(a, &all);
	free(all.on);
	if (err) {
		free(all.list);
		return err;
	}
	*list = all.list;
	*n = all.n;
	return 0;
}

size_t arrivals_attached(const struct arrivals *a, size_t *expected)
{
	struct attached on = look(a);
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		n += may_be_attached(&on, &a->expected[i]);
	free(on.list);
	*expected = a->n;
	return n;
}
