// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/route_writer.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/netlink.h"
#include "feeds/route_source.h"

/* Routes that are changed by one message to the kernel; each is answered. */
#define AT_ONCE	   64
#define ROUTE_MOST 128 /* bytes */

int route_order(const void *a, const void *b)
{
	return prefix_order(a, b);
}

int route_writer_open(struct route_writer *w, unsigned int table, int family)
{
	*w = (struct route_writer){ .table = table, .family = family };
	return netlink_open(&w->socket, NETLINK_ROUTE, 0, 0);
}

void route_writer_close(struct route_writer *w)
{
	if (w->socket)
		nl_close(w->socket);
	free(w->at);
	*w = (struct route_writer){ 0 };
}

/* --- What is there --- */

struct reading {
	struct route_writer *writer;
	int err;
};

static void on_route(void *arg, const struct nlmsghdr *message)
{
	struct reading *r = arg;
	struct route_writer *w = r->writer;
	const struct route_wish wish = { w->table, w->family, 1ULL << RTN_BLACKHOLE };
	struct route route;

	if (r->err || route_read(&route, &wish, message) != SAYS_HERE || route.protocol != ROUTE_WRITER_PROTOCOL)
		return;
	if (!GROW(w->at, w->n)) {
		r->err = -ENOMEM;
		return;
	}
	w->at[w->n++] = (struct prefix){ { route.first, route.family }, route.length };
}

static int ask(struct route_writer *w, struct reading *r, int family)
{
	struct {
		struct rtmsg header;
		struct nlattr at;
		uint32_t table;
	} request = { .header = { .rtm_family = (unsigned char)family },
		      .at = { sizeof(struct nlattr) + sizeof(uint32_t), RTA_TABLE },
		      .table = w->table };
	int err = netlink_dump(w->socket, RTM_GETROUTE, &request, sizeof(request), on_route, r);

	/* There is no such table yet; and a kernel without IPv6 has no such family. */
	return err_is(err, ENOENT) || err_is(err, EAFNOSUPPORT) || err_is(err, EOPNOTSUPP) ? 0 : err;
}

int route_writer_read(struct route_writer *w)
{
	struct reading r = { .writer = w };
	size_t n = 0;
	int err;

	w->n = 0;
	nl_option(w->socket, NETLINK_GET_STRICT_CHK, &(int){ 1 }, sizeof(int));
	err = (w->family == 6 ? 0 : ask(w, &r, AF_INET)) ?: (w->family == 4 ? 0 : ask(w, &r, AF_INET6));
	nl_option(w->socket, NETLINK_GET_STRICT_CHK, &(int){ 0 }, sizeof(int));
	err = err ?: r.err;
	if (err)
		return because(err, "the routes of table %u: %s", w->table, errno_text(err));
	/* Where it was asked again, some came twice. */
	if (w->n)
		qsort(w->at, w->n, sizeof(*w->at), route_order);
	for (size_t i = 0; i < w->n; i++)
		if (!n || route_order(&w->at[n - 1], &w->at[i]) != 0)
			w->at[n++] = w->at[i];
	w->n = n;
	return 0;
}

/* --- Changes --- */

struct order {
	struct prefix prefix;
	bool del;
	int err; /* what the kernel said */
};

static void write_order(struct nlmsghdr *m, const struct route_writer *w, const struct order *o, uint32_t number)
{
	bool four = o->prefix.first.family == 4;
	size_t size = four ? 4 : 16;
	struct rtmsg *header;
	uint8_t bytes[16] = { 0 };

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(o->prefix.first.num >> (8 * (size - 1 - i)));
	m->nlmsg_type = o->del ? RTM_DELROUTE : RTM_NEWROUTE;
	m->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | (o->del ? 0 : NLM_F_CREATE | NLM_F_EXCL));
	m->nlmsg_seq = number;
	header = nl_put_extra(m, sizeof(*header));
	header->rtm_family = four ? AF_INET : AF_INET6;
	header->rtm_dst_len = (unsigned char)o->prefix.length;
	header->rtm_table = RT_TABLE_UNSPEC;
	header->rtm_protocol = ROUTE_WRITER_PROTOCOL;
	header->rtm_scope = o->del ? RT_SCOPE_NOWHERE : RT_SCOPE_UNIVERSE;
	header->rtm_type = RTN_BLACKHOLE;
	nl_put_u32(m, RTA_TABLE, w->table);
	nl_put(m, RTA_DST, size, bytes);
}

/* As many answers as there were orders, each with its number. */
static int read_answers(struct route_writer *w, struct order *orders, size_t n)
{
	char buf[16384] __attribute__((aligned(NLMSG_ALIGNTO)));
	size_t answers = 0;

	while (answers < n) {
		ssize_t got = nl_receive(w->socket, buf, sizeof(buf));
		int left = (int)got;

		if (got < 0)
			return -errno;
		for (const struct nlmsghdr *m = (struct nlmsghdr *)buf; nl_ok(m, left); m = nl_next(m, &left)) {
			if (m->nlmsg_type != NLMSG_ERROR || m->nlmsg_seq >= n ||
			    nl_payload_len(m) < sizeof(struct nlmsgerr))
				continue;
			orders[m->nlmsg_seq].err = ((const struct nlmsgerr *)nl_payload(m))->error;
			answers++;
		}
	}
	return 0;
}

static int send_orders(struct route_writer *w, struct order *orders, size_t n)
{
	char buf[AT_ONCE * ROUTE_MOST] __attribute__((aligned(NLMSG_ALIGNTO)));
	size_t size = 0;

	for (size_t i = 0; i < n; i++) {
		struct nlmsghdr *m = nl_put_header(buf + size);

		write_order(m, w, &orders[i], (uint32_t)i);
		size += NLMSG_ALIGN(m->nlmsg_len);
	}
	return nl_send(w->socket, buf, size) < 0 ? -errno : read_answers(w, orders, n);
}

/* What became of one; what is not there is no less gone, and what somebody else has stays. */
static int note_order(struct route_writer *w, const struct order *o, struct prefix *kept, size_t *kept_n)
{
	if (o->del) {
		w->went += !o->err;
		return err_is(o->err, ESRCH) ? 0 : o->err;
	}
	if (err_is(o->err, EEXIST)) {
		w->taken++;
		return 0;
	}
	if (!o->err) {
		w->came++;
		kept[(*kept_n)++] = o->prefix;
	}
	return o->err;
}

static int make_orders(struct route_writer *w, struct order *orders, size_t n, struct prefix *kept, size_t *kept_n)
{
	int err = 0;

	for (size_t at = 0; at < n && !err; at += AT_ONCE) {
		size_t some = n - at < AT_ONCE ? n - at : AT_ONCE;

		err = send_orders(w, orders + at, some);
		for (size_t i = at; i < at + some && !err; i++)
			err = note_order(w, &orders[i], kept, kept_n);
	}
	return err;
}

int route_writer_make(struct route_writer *w, const struct prefix *wanted, size_t n)
{
	struct order *orders = calloc(w->n + n + 1, sizeof(*orders));
	struct prefix *kept = calloc(w->n + n + 1, sizeof(*kept));
	size_t orders_n = 0, kept_n = 0, i = 0, k = 0;
	int err = orders && kept ? 0 : -ENOMEM;

	w->came = w->went = w->taken = 0;
	while (!err && (i < w->n || k < n)) {
		int order = i == w->n ? 1 : k == n ? -1 : route_order(&w->at[i], &wanted[k]);

		if (!order)
			kept[kept_n++] = wanted[k];
		else
			orders[orders_n++] = (struct order){ order < 0 ? w->at[i] : wanted[k], order < 0, 0 };
		i += order <= 0;
		k += order >= 0;
	}
	err = err ?: make_orders(w, orders, orders_n, kept, &kept_n);
	free(orders);
	if (err) {
		free(kept);
		return because(err, "the routes of table %u: %s", w->table, errno_text(err));
	}
	qsort(kept, kept_n, sizeof(*kept), route_order);
	free(w->at);
	w->at = kept;
	w->n = kept_n;
	return 0;
}
