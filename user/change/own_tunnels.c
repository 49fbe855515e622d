// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the kernel: with whom WireGuard and IPsec speak, and tunnels that have more than one other end. Without these
 * parts of the kernel, with nobody.
 */
#include <netinet/in.h>

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/wireguard.h>
#include <linux/xfrm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/netlink.h"
#include "change/own_internal.h"
#include "state/far_ends.h"

static const char wireguard_is[] = "a WireGuard peer's endpoint", ipsec_is[] = "an IPsec endpoint";

static void on_family(void *arg, const struct nlmsghdr *message)
{
	const struct nlattr *at;
	uint16_t id = 0;
	bool is = false;

	nl_each (at, message, sizeof(struct genlmsghdr)) {
		if (nl_attr_type(at) == CTRL_ATTR_FAMILY_ID)
			id = nl_attr_u16(at);
		if (nl_attr_type(at) == CTRL_ATTR_FAMILY_NAME)
			is = !strcmp(nl_attr_text(at), WG_GENL_NAME);
	}
	if (is)
		*(uint16_t *)arg = id;
}

struct device {
	struct learned *l;
	const char *name;
};

static void on_endpoint(const struct device *d, const struct nlattr *at)
{
	const struct sockaddr_in *v4 = nl_attr_payload(at);
	const struct sockaddr_in6 *v6 = nl_attr_payload(at);
	size_t size = nl_attr_len(at);
	struct addr addr = { 0 };

	if (size >= sizeof(*v4) && v4->sin_family == AF_INET)
		addr = own_bytes(AF_INET, &v4->sin_addr, 4);
	if (size >= sizeof(*v6) && v6->sin6_family == AF_INET6)
		addr = own_bytes(AF_INET6, &v6->sin6_addr, 16);
	own_learn(d->l, addr, wireguard_is, "interface %s", d->name);
}

static void on_device(void *arg, const struct nlmsghdr *message)
{
	const struct nlattr *at, *peer, *of;

	nl_each (at, message, sizeof(struct genlmsghdr))
		if (nl_attr_type(at) == WGDEVICE_A_PEERS)
			nl_each_nested (peer, at)
				nl_each_nested (of, peer)
					if (nl_attr_type(of) == WGPEER_A_ENDPOINT)
						on_endpoint(arg, of);
}

/* What the kernel does not have, and what an ordinary user may not ask, nobody needs. */
static void end(struct learned *l, int err, const char *what)
{
	if (err && !l->err && !err_is(err, EPROTONOSUPPORT) && !err_is(err, EOPNOTSUPP) && !err_is(err, ENODEV) &&
	    !err_is(err, EPERM))
		l->err = because(err, "the guard rails cannot ask for the endpoints of %s: %s", what, errno_text(err));
}

void own_from_wireguard(struct learned *l, unsigned int index, const char *name)
{
	static const struct genlmsghdr families = { .cmd = CTRL_CMD_GETFAMILY, .version = 2 };
	struct {
		struct genlmsghdr header;
		struct nlattr at;
		uint32_t index;
	} device = { { .cmd = WG_CMD_GET_DEVICE, .version = WG_GENL_VERSION },
		     { sizeof(struct nlattr) + sizeof(uint32_t), WGDEVICE_A_IFINDEX },
		     index };
	struct device to = { l, name };
	struct nl_socket *socket;
	uint16_t family = 0;
	int err = netlink_open(&socket, NETLINK_GENERIC, 0, 0);

	if (!err) {
		err = netlink_dump(socket, GENL_ID_CTRL, &families, sizeof(families), on_family, &family);
		if (!err && family)
			err = netlink_dump(socket, family, &device, sizeof(device), on_device, &to);
		nl_close(socket);
	}
	end(l, err, name);
}

static void learn_pair(struct learned *l, int family, const xfrm_address_t *a, const xfrm_address_t *b,
		       const char *where)
{
	own_learn(l, own_bytes(family, a, sizeof(*a)), ipsec_is, "%s", where);
	own_learn(l, own_bytes(family, b, sizeof(*b)), ipsec_is, "%s", where);
}

static void on_state(void *arg, const struct nlmsghdr *message)
{
	const struct xfrm_usersa_info *sa = nl_payload(message);

	if (nl_payload_len(message) >= sizeof(*sa))
		learn_pair(arg, sa->family, &sa->id.daddr, &sa->saddr, "XFRM state");
}

static void on_policy(void *arg, const struct nlmsghdr *message)
{
	const struct nlattr *at;

	nl_each (at, message, sizeof(struct xfrm_userpolicy_info)) {
		const struct xfrm_user_tmpl *way = nl_attr_payload(at);

		if (nl_attr_type(at) != XFRMA_TMPL)
			continue;
		for (size_t n = nl_attr_len(at) / sizeof(*way); n; n--, way++)
			learn_pair(arg, way->family, &way->id.daddr, &way->saddr, "XFRM policy");
	}
}

/*
 * Opening a socket of a family loads its module: none is loaded for a question. But any user may have sockets by the
 * ten thousand, for each page of which the kernel begins at the first: where there are so many, it may be loaded.
 */
#define LINES_MOST 1024

static bool has_xfrm(void)
{
	FILE *file = fopen("/proc/net/netlink", "re");
	bool found = !file;
	char line[256];

	for (int n = 0; file && !found && fgets(line, sizeof(line), file); n++) {
		char *family = strchr(line, ' ');

		found = n == LINES_MOST || (family && strtol(family, NULL, 10) == NETLINK_XFRM);
	}
	if (file)
		fclose(file);
	return found;
}

void own_from_xfrm(struct learned *l)
{
	struct nl_socket *socket;
	int err;

	if (!has_xfrm())
		return;
	err = netlink_open(&socket, NETLINK_XFRM, 0, 0);
	if (!err) {
		err = netlink_dump(socket, XFRM_MSG_GETSA, NULL, sizeof(struct xfrm_usersa_id), on_state, l)
			      ?: netlink_dump(socket, XFRM_MSG_GETPOLICY, NULL, sizeof(struct xfrm_userpolicy_id),
					      on_policy, l);
		nl_close(socket);
	}
	end(l, err, "IPsec");
}

/* --- Tunnels of processes: OpenVPN's and others' that write to a tun device --- */

static void on_way(void *arg, const struct nlmsghdr *message)
{
	const struct nlattr *at;

	nl_each (at, message, sizeof(struct rtmsg))
		if (nl_attr_type(at) == RTA_OIF)
			*(unsigned int *)arg = nl_attr_u32(at);
}

bool own_leaves_by_process(struct addr addr, char name[IF_NAMESIZE])
{
	size_t n = addr_width(addr.family) / 8;
	struct {
		struct rtmsg header;
		struct nlattr at;
		unsigned char to[16];
	} way = { { .rtm_family = addr.family == 4 ? AF_INET : AF_INET6, .rtm_dst_len = (unsigned char)(8 * n) },
		  { (uint16_t)(sizeof(way.at) + n), RTA_DST },
		  { 0 } };
	char kind[NETLINK_KIND_MAX] = "";
	struct nl_socket *socket;
	unsigned int index = 0;

	for (size_t i = 0; i < n; i++)
		way.to[i] = (unsigned char)(addr.num >> 8 * (n - 1 - i));
	if (netlink_open(&socket, NETLINK_ROUTE, 0, 0))
		return false;
	netlink_one(socket, RTM_GETROUTE, &way, sizeof(way) - sizeof(way.to) + n, on_way, &index);
	nl_close(socket);
	/* The kernel carries OpenVPN's packets itself where it can, between ends that the process tells it. */
	return index && if_indextoname(index, name) && !netlink_kind(index, kind) &&
	       (!strcmp(kind, "tun") || !strncmp(kind, "ovpn", 4));
}

/* --- Tunnels with many ends: the kernel has a table of each, a neighbour a line --- */

static void learn_end(const struct device *d, const struct nlattr *at, const char *table)
{
	struct addr end = own_attr(nl_attr_len(at) == 4 ? AF_INET : AF_INET6, at);
	struct learned *l = d->l;

	addr_unmap(&end);
	own_learn(l, end, own_tunnel_is, "%s of %s", table, d->name);
	if (end.family && ranges_add_prefix(&l->ends, end, addr_width(end.family)) && !l->err)
		l->err = -ENOMEM;
}

/* What packets taught it says nothing: anybody may send some, and could not be banned for it. */
static void on_forwarding(void *arg, const struct nlmsghdr *message)
{
	const struct ndmsg *header = nl_payload(message);
	const struct nlattr *at;

	if (!(header->ndm_state & (NUD_PERMANENT | NUD_NOARP)) && !(header->ndm_flags & NTF_EXT_LEARNED))
		return;
	nl_each (at, message, sizeof(*header))
		if (nl_attr_type(at) == NDA_DST)
			learn_end(arg, at, "forwarding table");
}

/* What the kernel makes up where it was told of no neighbour is NOARP: an address of ours, or a group. */
static void on_neighbour(void *arg, const struct nlmsghdr *message)
{
	const struct ndmsg *header = nl_payload(message);
	const struct nlattr *at;

	if (header->ndm_state & NUD_NOARP)
		return;
	nl_each (at, message, sizeof(*header))
		if (nl_attr_type(at) == NDA_LLADDR)
			learn_end(arg, at, "neighbours");
}

/*
 * To go on in a long table the kernel begins at its first line: 100,000 neighbours of a VXLAN take it a second, as many
 * as here 100 ms. It can leave out none of those that packets taught it, and anybody may send so many; and to more than
 * one: behind each that is too long, the next may have half as many.
 */
#define ENDS_MOST     32768
#define HALVINGS_MOST 7

static void say_more(const char *name, size_t most)
{
	static bool said;

	if (!said)
		warn("not all far ends of tunnels may be known: %s has more than %zu neighbours; those that were found"
		     " before stay known",
		     name, most);
	said = true;
}

static void ask_for_ends(struct device *d, const void *request, size_t size, netlink_each_fn *each)
{
	size_t most = ENDS_MOST >> d->l->long_tables;
	struct nl_socket *socket;
	bool all = true;
	int err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);

	if (!err) {
		err = netlink_dump_first(socket, RTM_GETNEIGH, request, size, most, each, d, &all);
		nl_close(socket);
	}
	if (!all)
		say_more(d->name, most);
	if (!all && d->l->long_tables < HALVINGS_MOST)
		d->l->long_tables++;
	d->l->tables = true;
	d->l->cut_off = d->l->cut_off || !all || err;
	end(d->l, err, d->name);
}

/* The kernel shows those of one device, so that a large table of another costs nothing. */
void own_from_forwarding(struct learned *l, unsigned int index, const char *name)
{
	/* Kernels of every version take this header for that, though a neighbour's is the other one. */
	const struct ifinfomsg of = { .ifi_family = AF_BRIDGE, .ifi_index = (int)index };

	ask_for_ends(&(struct device){ l, name }, &of, sizeof(of), on_forwarding);
}

void own_from_neighbours(struct learned *l, unsigned int index, const char *name)
{
	const struct {
		struct ndmsg header;
		struct nlattr at;
		uint32_t index;
	} of = { .at = { sizeof(struct nlattr) + sizeof(uint32_t), NDA_IFINDEX }, .index = index };

	ask_for_ends(&(struct device){ l, name }, &of, sizeof(of), on_neighbour);
}

/*
 * While a table is read what packets taught it grows old: lines go, and as many others are passed over. So what seems
 * to be gone is looked for twice.
 */
bool own_ends_missed(struct learned *l)
{
	struct ranges gone = RANGES_EMPTY;
	bool missed;

	if (!l->tables || l->err)
		return false;
	l->err = ranges_finish(&l->ends) ?:
		 far_ends_kept(l->state, &l->ends_before) ?:
		 ranges_subtract(&gone, &l->ends_before, &l->ends);
	missed = !l->err && !l->cut_off && (gone.n4 || gone.n6);
	ranges_free(&gone);
	return missed;
}

static void learn_before(void *l, struct addr end)
{
	own_learn(l, end, own_tunnel_is, "found before: a table was not read to its end");
}

void own_ends_settle(struct learned *l)
{
	struct ranges all = RANGES_EMPTY;

	if (!l->tables || l->err)
		return;
	if (l->cut_off)
		far_ends_each(&l->ends_before, learn_before, l);
	l->err = l->err ?:
		 ranges_finish(&l->ends) ?:
		 ranges_union(&all, &l->ends, l->cut_off ? &l->ends_before : &l->ends);
	if (!l->err && !ranges_equal(&all, &l->ends_before))
		far_ends_keep(l->state, &all);
	ranges_free(&all);
}
