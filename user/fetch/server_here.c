// SPDX-License-Identifier: GPL-2.0-only
#include "fetch/server_here.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/netlink.h"
#include "base/users.h"

#define V4_LOOPBACK ((struct addr){ INADDR_LOOPBACK, 4 })
#define V6_LOOPBACK ((struct addr){ 1, 6 })

/* --- Where it is --- */

static bool is_loopback(struct addr addr)
{
	return addr.family == 4 ? addr.num >> 24 == IN_LOOPBACKNET : addr.num == 1;
}

static void take_host(struct server_here *h, const char *host, size_t length)
{
	struct addr addr;

	if (length == strlen("localhost") && !strncasecmp(host, "localhost", length)) {
		h->at[0] = V4_LOOPBACK;
		h->at[1] = V6_LOOPBACK;
		h->n = 2;
		return;
	}
	if (addr_parse(host, length, &addr))
		return;
	addr_unmap(&addr);
	if (!addr.num) /* so the kernel takes them */
		addr = addr.family == 4 ? V4_LOOPBACK : V6_LOOPBACK;
	if (is_loopback(addr))
		h->at[h->n++] = addr;
}

static bool take_port(struct server_here *h)
{
	size_t digits = *h->rest == ':' ? strspn(h->rest + 1, "0123456789") : 0;

	h->port = digits ? (unsigned int)strtoul(h->rest + 1, NULL, 10) : 80;
	return digits <= 5 && h->port && h->port <= UINT16_MAX && !strcspn(h->rest + (*h->rest == ':') + digits, "/?#");
}

int server_here_read(struct server_here *h, const char *url)
{
	const char *host = strstr(url, "://"), *end;
	bool bracket;

	if (!host)
		return 0;
	host += strlen("://");
	bracket = *host == '[';
	host += bracket;
	end = host + strcspn(host, bracket ? "]/?#" : ":/?#");
	take_host(h, host, (size_t)(end - host));
	h->here = h->n;
	h->bare = h->here && !strncasecmp(url, "http://", strlen("http://"));
	h->rest = end + (bracket && *end);
	return h->bare && !take_port(h) ? because(-EINVAL, "%.300s: its port is none", url) : 0;
}

static struct addr addr_of(const void *bytes, unsigned int family)
{
	struct addr addr = { 0, family };
	size_t n = addr_width(family) / 8;
	uint8_t at[sizeof(struct in6_addr)];

	memcpy(at, bytes, n);
	for (size_t i = 0; i < n; i++)
		addr.num = addr.num << 8 | at[i];
	addr_unmap(&addr);
	return addr;
}

void server_here_at(struct server_here *h, const struct sockaddr *to)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)to;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)to;
	bool is_4 = to->sa_family == AF_INET;

	h->at[0] = is_4 ? addr_of(&v4->sin_addr, 4) : addr_of(&v6->sin6_addr, 6);
	if (!h->at[0].num) /* so the kernel takes them */
		h->at[0] = is_4 ? V4_LOOPBACK : V6_LOOPBACK;
	h->n = h->here = h->bare = is_loopback(h->at[0]);
	h->port = ntohs(is_4 ? v4->sin_port : v6->sin6_port);
	h->seen = 0;
	h->strange = false;
}

static const char *address_of(char text[SERVER_HOST_MAX], const struct server_here *h, size_t i)
{
	bool v6 = h->at[i].family == 6;
	char address[PREFIX_TEXT_MAX];

	snprintf(text, SERVER_HOST_MAX, "%s%s%s", v6 ? "[" : "", prefix_text(address, h->at[i], -1), v6 ? "]" : "");
	return text;
}

const char *server_here_host(char host[SERVER_HOST_MAX], const struct server_here *h)
{
	return address_of(host, h, h->chosen);
}

/* --- Whose it is --- */

struct look {
	const struct server_here *here;
	struct addr at;
	size_t n;
	uint64_t seen;
	bool strange;
	uid_t whose;
	struct addr from; /* this end of a connection */
	unsigned int from_port;
};

/* A socket of any IPv6 address has connections by IPv4, too, unless it says otherwise. */
static bool only_v6(const struct nlmsghdr *message)
{
	const struct nlattr *attr;

	nl_each (attr, message, sizeof(struct inet_diag_msg))
		if (nl_attr_type(attr) == INET_DIAG_SKV6ONLY && nl_attr_len(attr))
			return *(const uint8_t *)nl_attr_payload(attr);
	return false;
}

static bool listens_at(const struct inet_diag_msg *m, const struct nlmsghdr *message, struct addr at)
{
	struct addr bound = addr_of(m->id.idiag_src, m->idiag_family == AF_INET ? 4 : 6);

	if (bound.num || bound.family == at.family)
		return bound.family == at.family && (!bound.num || bound.num == at.num);
	return bound.family == 6 && !only_v6(message);
}

static bool is_believed(const struct server_here *h, uid_t uid)
{
	for (size_t i = 0; i < HERE_ALSO; i++)
		if (uid == h->also[i])
			return true;
	return !uid;
}

static void on_socket(void *arg, const struct nlmsghdr *message)
{
	const struct inet_diag_msg *m = nl_payload(message);
	struct look *l = arg;

	if (nl_payload_len(message) < sizeof(*m) || (m->idiag_family != AF_INET && m->idiag_family != AF_INET6) ||
	    m->idiag_state != TCP_LISTEN || ntohs(m->id.idiag_sport) != l->here->port || !listens_at(m, message, l->at))
		return;
	l->n++;
	l->seen += (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0];
	if (is_believed(l->here, m->idiag_uid) || l->strange)
		return;
	l->strange = true;
	l->whose = m->idiag_uid;
}

/* Of those in these states; to: the port at their other end, 0: any. 1: this kernel does not say. */
static int ask_kernel(struct look *l, uint32_t states, unsigned int to, netlink_each_fn *each)
{
	const struct inet_diag_req request = { .idiag_states = states,
					       .id = { .idiag_sport = htons((uint16_t)l->here->port),
						       .idiag_dport = htons((uint16_t)to) } };
	struct nl_socket *own = NULL, *given = l->here->asking;
	int err = given ? 0 : netlink_open(&own, NETLINK_SOCK_DIAG, 0, 0);

	err = err ?: netlink_dump(given ?: own, TCPDIAG_GETSOCK, &request, sizeof(request), each, l);
	if (own)
		nl_close(own);
	if (err_is(err, EPROTONOSUPPORT) || err_is(err, EOPNOTSUPP) || err_is(err, ENOENT))
		return 1;
	return err ? because(err, "the kernel does not say who listens there: %s", reason(err)) : 0;
}

static int refuse(const struct look *l, const char *at, const char *so)
{
	char user[USER_TEXT_MAX], also[USER_TEXT_MAX], others[HERE_ALSO * (USER_TEXT_MAX + 8)] = "";
	const struct server_here *h = l->here;

	for (size_t i = 0; i < HERE_ALSO; i++)
		if (h->also[i])
			sprintf(others + strlen(others), " nor %s", user_text(also, h->also[i]));
	return because(-EPERM, "at %s:%u listens %s, %s%s: %s; %s NAME believes a user", at, h->port,
		       user_text(user, l->whose), *others ? "neither root" : "not root", others, so, h->option);
}

static int look(struct look *l, struct server_here *h, size_t i, const char *so)
{
	char address[SERVER_HOST_MAX];
	int err;

	*l = (struct look){ .here = h, .at = h->at[i] };
	err = ask_kernel(l, 1 << TCP_LISTEN, 0, on_socket);
	if (err)
		return err;
	h->strange = h->strange || l->strange;
	if (l->strange)
		return refuse(l, address_of(address, h, i), so);
	/* Asked all the same, somebody who comes and goes could be met just then. */
	return l->n ? 0 : because(-ECONNREFUSED, "nobody listens at %s:%u: %s", address_of(address, h, i), h->port, so);
}

int server_here_may(struct server_here *h)
{
	int first = 0;

	h->seen = 0;
	h->strange = false;
	for (size_t i = 0; i < h->n && h->bare; i++) {
		struct look l;
		int err = look(&l, h, i, "it is not asked");

		if (err >= 0) {
			h->chosen = i;
			h->seen = l.seen;
			h->strange = false;
			return 0;
		}
		/* That somebody else is there says more than that nobody is. */
		if (!first || (l.strange && err_is(first, ECONNREFUSED)))
			first = err;
	}
	return first;
}

int server_here_same(struct server_here *h)
{
	static const char so[] = "it is not believed";
	char address[SERVER_HOST_MAX];
	struct look l = { 0 };
	int err = h->seen ? look(&l, h, h->chosen, so) : 0;

	if (err < 0)
		return err;
	return l.seen == h->seen ? 0
				 : because(-EAGAIN, "somebody else listens at %s:%u since it was asked: %s",
					   address_of(address, h, h->chosen), h->port, so);
}

bool server_here_whose(const struct sockaddr *at, uid_t *whose)
{
	struct server_here here = { 0 };
	struct look l;

	server_here_at(&here, at);
	l = (struct look){ .here = &here, .at = here.at[0] };
	if (ask_kernel(&l, 1 << TCP_LISTEN, 0, on_socket) || !l.n)
		return false;
	*whose = l.whose;
	return true;
}

static void on_other_end(void *arg, const struct nlmsghdr *message)
{
	const struct inet_diag_msg *m = nl_payload(message);
	struct look *l = arg;
	struct addr src, dst;

	if (nl_payload_len(message) < sizeof(*m) || (m->idiag_family != AF_INET && m->idiag_family != AF_INET6))
		return;
	src = addr_of(m->id.idiag_src, m->idiag_family == AF_INET ? 4 : 6);
	dst = addr_of(m->id.idiag_dst, m->idiag_family == AF_INET ? 4 : 6);
	if (src.family != l->at.family || src.num != l->at.num || dst.num != l->from.num ||
	    ntohs(m->id.idiag_sport) != l->here->port || ntohs(m->id.idiag_dport) != l->from_port)
		return;
	l->n++;
	if (is_believed(l->here, m->idiag_uid))
		return;
	l->strange = true;
	l->whose = m->idiag_uid;
}

/*
 * Who was bound to the port before its server listened, and connects from there to the port that is taken here, has the
 * connection, and the listener does not. What the listener has not accepted yet is root's or its own.
 */
int server_here_connected(struct server_here *h, int fd)
{
	static const char so[] = "it is not believed";
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} from = { 0 };
	socklen_t length = sizeof(from);
	struct look l = { .here = h, .at = h->at[h->chosen] };
	char address[SERVER_HOST_MAX];
	int err = server_here_same(h);
	bool is_4;

	if (err || !h->seen)
		return err;
	if (getsockname(fd, &from.any, &length))
		return because(-errno, "%s", strerror(errno));
	is_4 = from.any.sa_family == AF_INET;
	l.from = is_4 ? addr_of(&from.v4.sin_addr, 4) : addr_of(&from.v6.sin6_addr, 6);
	l.from_port = ntohs(is_4 ? from.v4.sin_port : from.v6.sin6_port);
	err = ask_kernel(&l, 1 << TCP_ESTABLISHED | 1 << TCP_SYN_RECV, l.from_port, on_other_end);
	if (err < 0)
		return err;
	h->strange = l.strange;
	if (l.strange)
		return refuse(&l, address_of(address, h, h->chosen), so);
	return l.n ? 0
		   : because(-EAGAIN, "at %s:%u somebody answers who does not listen there: %s",
			     address_of(address, h, h->chosen), h->port, so);
}
