// SPDX-License-Identifier: GPL-2.0-only
#include "base/netlink.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"

/* Routes that change faster than that are found over so many dumps, each of which has most of them. */
#define DUMPS 8

#define MORE E2BIG /* which the kernel does not answer */

#define LONGEST (1 << 20) /* an answer: what is longer is no link's */

struct nl_socket {
	int fd;
};

void nl_close(struct nl_socket *socket)
{
	close(socket->fd);
	free(socket);
}

int nl_fd(const struct nl_socket *socket)
{
	return socket->fd;
}

int nl_option(const struct nl_socket *socket, int option, const void *value, size_t size)
{
	return setsockopt(socket->fd, SOL_NETLINK, option, value, (socklen_t)size);
}

ssize_t nl_send(const struct nl_socket *socket, const void *bytes, size_t size)
{
	static const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	return sendto(socket->fd, bytes, size, 0, (const struct sockaddr *)&kernel, sizeof(kernel));
}

ssize_t nl_receive(const struct nl_socket *socket, void *room, size_t size)
{
	ssize_t got = recv(socket->fd, room, size, MSG_TRUNC);

	if (got <= (ssize_t)size)
		return got;
	errno = EMSGSIZE;
	return -1;
}

int netlink_open(struct nl_socket **s, int family, int flags, unsigned int groups)
{
	const struct sockaddr_nl us = { .nl_family = AF_NETLINK, .nl_groups = groups };
	struct nl_socket *opened = calloc(1, sizeof(*opened));
	int err;

	*s = NULL;
	if (!opened)
		return -ENOMEM;
	opened->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, family);
	if (opened->fd >= 0 && !bind(opened->fd, (const struct sockaddr *)&us, sizeof(us))) {
		*s = opened;
		return 0;
	}
	err = because(-errno, "netlink: %s", strerror(errno));
	close_fd(opened->fd);
	free(opened);
	return err ?: -EIO; /* never 0, which clang-tidy cannot see */
}

struct nl_socket *netlink_given(int fd)
{
	struct nl_socket *given = calloc(1, sizeof(*given));

	if (given)
		given->fd = fd;
	return given;
}

struct room {
	char *longer; /* allocated; NULL: not needed yet */
	size_t size;
	char usual[32768] __attribute__((aligned(NLMSG_ALIGNTO))); /* the kernel fills no more at once, */
};

/* but for what is longer by itself, as a link is that somebody gave hundreds of names. */
static ssize_t receive_whole(const struct nl_socket *socket, struct room *room)
{
	ssize_t length = recv(socket->fd, NULL, 0, MSG_PEEK | MSG_TRUNC);

	if (length > (ssize_t)room->size && length <= LONGEST) {
		free(room->longer);
		room->longer = malloc((size_t)length);
		if (!room->longer)
			return -1;
		room->size = (size_t)length;
	}
	return length < 0 ? length : nl_receive(socket, room->longer ?: room->usual, room->size);
}

/* So many objects, and until this thread has had so much of a CPU: what is asked for is done in its name. */
struct most {
	size_t n;
	int64_t until;
};
static const struct most no_end = { SIZE_MAX, INT64_MAX };

static bool is_late(const struct most *most)
{
	return most->until != INT64_MAX && clock_ns(CLOCK_THREAD_CPUTIME_ID) >= most->until;
}

static int ask_in(struct room *room, struct nl_socket *socket, uint16_t kind, uint16_t flags, const void *request,
		  size_t size, struct most most, netlink_each_fn *each, void *arg, bool *whole)
{
	struct nlmsghdr *m = nl_put_header(room->usual);
	ssize_t got;
	void *extra;

	m->nlmsg_type = kind;
	m->nlmsg_flags = NLM_F_REQUEST | flags;
	extra = nl_put_extra(m, size);
	if (request)
		memcpy(extra, request, size);
	*whole = true;
	if (nl_send(socket, m, m->nlmsg_len) < 0)
		return -errno;
	while ((got = receive_whole(socket, room)) >= 0) {
		int left = (int)got;

		for (m = (struct nlmsghdr *)(room->longer ?: room->usual); nl_ok(m, left); m = nl_next(m, &left)) {
			*whole = *whole && !(m->nlmsg_flags & NLM_F_DUMP_INTR);
			/* Both begin with 0 or -errno. */
			if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR)
				return *(int *)nl_payload(m);
			if (!most.n--)
				return -MORE;
			each(arg, m);
		}
		if (is_late(&most))
			return -MORE;
	}
	return -errno;
}

static int ask(struct nl_socket *socket, uint16_t kind, uint16_t flags, const void *request, size_t size,
	       struct most most, netlink_each_fn *each, void *arg, bool *whole)
{
	struct room room;
	int err;

	room.longer = NULL;
	room.size = sizeof(room.usual);
	err = ask_in(&room, socket, kind, flags, request, size, most, each, arg, whole);
	free(room.longer);
	return err;
}

int netlink_dump_once(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg, bool *whole)
{
	return ask(socket, kind, NLM_F_DUMP, request, size, no_end, each, arg, whole);
}

static int ask_within(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, struct most most,
		      netlink_each_fn *each, void *arg, bool *all)
{
	bool whole;
	int err = ask(socket, kind, NLM_F_DUMP, request, size, most, each, arg, &whole);

	*all = !err_is(err, MORE);
	return *all ? err : 0;
}

int netlink_dump_first(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, size_t most,
		       netlink_each_fn *each, void *arg, bool *all)
{
	return ask_within(socket, kind, request, size, (struct most){ most, INT64_MAX }, each, arg, all);
}

int netlink_dump_within(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, unsigned int ms,
			netlink_each_fn *each, void *arg, bool *all)
{
	struct most most = { SIZE_MAX, clock_ns(CLOCK_THREAD_CPUTIME_ID) + (int64_t)ms * 1000000 };

	return ask_within(socket, kind, request, size, most, each, arg, all);
}

int netlink_one(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		void *arg)
{
	bool whole;

	return ask(socket, kind, NLM_F_ACK, request, size, no_end, each, arg, &whole);
}

int netlink_dump(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		 void *arg)
{
	bool whole = false;
	int err = 0;

	for (int i = 0; i < DUMPS && !whole && !err; i++)
		err = netlink_dump_once(socket, kind, request, size, each, arg, &whole);
	return err;
}

/*
 * The kernel makes room for the longest link where it is asked for parts of links. Otherwise it ends before one that is
 * too long, without an error, and all behind that are missing.
 */
int netlink_links(struct nl_socket *socket, netlink_each_fn *each, void *arg)
{
	static const struct {
		struct ifinfomsg header;
		struct nlattr at;
		__u32 mask;
	} links = { .at = { sizeof(struct nlattr) + sizeof(__u32), IFLA_EXT_MASK }, .mask = RTEXT_FILTER_SKIP_STATS };

	return netlink_dump(socket, RTM_GETLINK, &links, sizeof(links), each, arg);
}

int netlink_link(unsigned int ifindex, netlink_each_fn *each, void *arg)
{
	const struct ifinfomsg link = { .ifi_index = (int)ifindex };
	struct nl_socket *socket;
	int err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);

	if (err)
		return err;
	err = netlink_one(socket, RTM_GETLINK, &link, sizeof(link), each, arg);
	nl_close(socket);
	return err;
}

void netlink_kind_in(const struct nlattr *info, char kind[NETLINK_KIND_MAX])
{
	const struct nlattr *attr, *data;
	bool is_tap = false;

	nl_each_nested (attr, info)
		if (nl_attr_type(attr) == IFLA_INFO_KIND)
			snprintf(kind, NETLINK_KIND_MAX, "%.*s", (int)nl_attr_len(attr), nl_attr_text(attr));
		else if (nl_attr_type(attr) == IFLA_INFO_DATA)
			nl_each_nested (data, attr)
				if (nl_attr_type(data) == IFLA_TUN_TYPE && nl_attr_len(data))
					is_tap = *nl_attr_text(data) == IFF_TAP;
	if (is_tap && !strcmp(kind, "tun"))
		strcpy(kind, "tap");
}

struct kind_of {
	unsigned int ifindex;
	char *kind;
};

static void look_for_kind(void *arg, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = nl_payload(message);
	const struct kind_of *of = arg;
	const struct nlattr *attr;

	if ((unsigned int)link->ifi_index != of->ifindex)
		return;
	nl_each (attr, message, sizeof(*link))
		if (nl_attr_type(attr) == IFLA_LINKINFO)
			netlink_kind_in(attr, of->kind);
}

int netlink_kind(unsigned int ifindex, char kind[NETLINK_KIND_MAX])
{
	struct kind_of of = { ifindex, kind };

	kind[0] = '\0';
	return netlink_link(ifindex, look_for_kind, &of);
}
