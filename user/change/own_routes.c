// SPDX-License-Identifier: GPL-2.0-only
/* From rtnetlink: this machine's addresses, gateways, and the far ends of its links and tunnels. */
#include <errno.h>
#include <net/if.h> /* before the kernel's own of that name */

#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/lwtunnel.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "base/netlink.h"
#include "change/own_internal.h"

static const char peer_is[] = "a point-to-point peer", broadcast_is[] = "a broadcast address of this machine",
		  group_is[] = "a multicast group of this machine";

const char own_gateway_is[] = "a gateway in use";
const char own_interface_is[] = "an address of this machine";
const char own_tunnel_is[] = "the far end of a tunnel";

static const char *name_of(unsigned int index, char name[IF_NAMESIZE])
{
	if (!if_indextoname(index, name))
		snprintf(name, IF_NAMESIZE, "%u", index);
	return name;
}

static void learn_at(struct learned *l, struct addr addr, const char *what, unsigned int index)
{
	char name[IF_NAMESIZE];

	addr_unmap(&addr);
	if (addr.family && own_wanted(l, addr))
		own_learn(l, addr, what, "interface %s", name_of(index, name));
}

static void on_address(void *arg, const struct nlmsghdr *message)
{
	const struct ifaddrmsg *header = nl_payload(message);
	const struct nlattr *at, *local = NULL, *address = NULL;
	const struct learned *l = arg;
	struct addr ours, peer;

	nl_each (at, message, sizeof(*header)) {
		if (nl_attr_type(at) == IFA_BROADCAST && l->groups)
			learn_at(arg, own_attr(header->ifa_family, at), broadcast_is, header->ifa_index);
		if (nl_attr_type(at) == IFA_LOCAL)
			local = at;
		if (nl_attr_type(at) == IFA_ADDRESS)
			address = at;
	}
	if (header->ifa_scope == RT_SCOPE_HOST || (!local && !address))
		return;
	ours = own_attr(header->ifa_family, local ?: address);
	learn_at(arg, ours, own_interface_is, header->ifa_index);
	if (!local || !address)
		return;
	/* Where both are present and differ, IFA_ADDRESS is the peer's. */
	peer = own_attr(header->ifa_family, address);
	if (peer.num != ours.num)
		learn_at(arg, peer, peer_is, header->ifa_index);
}

static void on_group(void *arg, const struct nlmsghdr *message)
{
	const struct ifaddrmsg *header = nl_payload(message);
	const struct nlattr *at;

	nl_each (at, message, sizeof(*header))
		if (nl_attr_type(at) == IFA_MULTICAST)
			learn_at(arg, own_attr(header->ifa_family, at), group_is, header->ifa_index);
}

/* Any user may join as many as he likes, and to go on the kernel begins at an interface's first. */
#define GROUPS_MS 200

static void say_more_groups(void)
{
	static bool said;

	if (!said)
		warn("not all multicast groups of this machine may be known: they could not all be looked at in time");
	said = true;
}

/* Who has addresses is in those of all hosts; of IPv4 the kernel tells since 6.15 which others an interface is in. */
static int groups(struct learned *l)
{
	const struct ifaddrmsg of[] = { { .ifa_family = AF_INET }, { .ifa_family = AF_INET6 } };
	struct nl_socket *socket;
	bool all = true;
	int err = 0;

	own_learn(l, (struct addr){ 0xffffffff, 4 }, broadcast_is, "each network");
	own_learn(l, (struct addr){ 0xe0000001, 4 }, group_is, "each network");
	for (int i = 0; i < 2 && !err; i++) {
		err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);
		if (err)
			return err;
		err = netlink_dump_within(socket, RTM_GETMULTICAST, &of[i], sizeof(of[i]), GROUPS_MS, on_group, l,
					  &all);
		if (err_is(err, EOPNOTSUPP))
			err = 0;
		nl_close(socket);
		if (!all)
			say_more_groups();
	}
	return err;
}

/* Which attribute of which kind of link is the other end. */
static const struct {
	const char *kind;
	int attribute;
} far_ends[] = {
	{ "ipip", IFLA_IPTUN_REMOTE },	  { "sit", IFLA_IPTUN_REMOTE },	    { "ip6tnl", IFLA_IPTUN_REMOTE },
	{ "gre", IFLA_GRE_REMOTE },	  { "gretap", IFLA_GRE_REMOTE },    { "ip6gre", IFLA_GRE_REMOTE },
	{ "ip6gretap", IFLA_GRE_REMOTE }, { "erspan", IFLA_GRE_REMOTE },    { "ip6erspan", IFLA_GRE_REMOTE },
	{ "vti", IFLA_VTI_REMOTE },	  { "vti6", IFLA_VTI_REMOTE },	    { "vxlan", IFLA_VXLAN_GROUP },
	{ "vxlan", IFLA_VXLAN_GROUP6 },	  { "geneve", IFLA_GENEVE_REMOTE }, { "geneve", IFLA_GENEVE_REMOTE6 },
};

static void on_tunnel(struct learned *l, const char *kind, const struct nlattr *data, unsigned int index)
{
	char name[IF_NAMESIZE];
	const struct nlattr *at;
	bool has_end = false;

	nl_each_nested (at, data) {
		struct addr end = own_attr(nl_attr_len(at) == 4 ? AF_INET : AF_INET6, at);

		for (size_t i = 0; i < sizeof(far_ends) / sizeof(far_ends[0]); i++)
			if (nl_attr_type(at) == far_ends[i].attribute && !strcmp(kind, far_ends[i].kind)) {
				has_end = has_end || end.num;
				learn_at(l, end, own_tunnel_is, index);
			}
	}
	if (!strcmp(kind, "vxlan"))
		own_from_forwarding(l, index, name_of(index, name));
	else if (!has_end && (!strcmp(kind, "gre") || !strcmp(kind, "ip6gre")))
		own_from_neighbours(l, index, name_of(index, name));
}

static void on_link(void *arg, const struct nlmsghdr *message)
{
	const struct ifinfomsg *header = nl_payload(message);
	const struct nlattr *at, *in, *data = NULL;
	char name[IF_NAMESIZE], kind[NETLINK_KIND_MAX] = "";

	nl_each (at, message, sizeof(*header)) {
		if ((at->nla_type & NLA_TYPE_MASK) != IFLA_LINKINFO)
			continue;
		netlink_kind_in(at, kind);
		nl_each_nested (in, at)
			if (nl_attr_type(in) == IFLA_INFO_DATA)
				data = in;
	}
	if (!strcmp(kind, "wireguard"))
		own_from_wireguard(arg, (unsigned int)header->ifi_index,
				   name_of((unsigned int)header->ifi_index, name));
	else if (data)
		on_tunnel(arg, kind, data, (unsigned int)header->ifi_index);
}

/* --- Gateways and tunnels of routes, which need not be asked for again while nothing has changed --- */

#define GATEWAYS_MOST 1024

static struct {
	uint64_t version, asked; /* as of which they are, and are wanted; 0: none */
	struct gateway {
		struct addr addr;
		const char *what;
		unsigned int table;
	} at[GATEWAYS_MOST];
	size_t n;
} known;

void own_routes_are(uint64_t version)
{
	known.asked = version;
}

static void remember(struct addr addr, const char *what, unsigned int table)
{
	if (!known.asked || !addr.family)
		return;
	for (size_t i = 0; i < known.n && i < GATEWAYS_MOST; i++)
		if (known.at[i].addr.num == addr.num && known.at[i].addr.family == addr.family &&
		    known.at[i].what == what && known.at[i].table == table)
			return;
	if (known.n < GATEWAYS_MOST)
		known.at[known.n] = (struct gateway){ addr, what, table };
	known.n++;
}

/* What packets are wrapped in on their way. */
struct wrap {
	const struct nlattr *in; /* of that kind; NULL: nothing */
	unsigned int kind;
};

static void on_wrap(struct wrap *wrap, const struct nlattr *at, int in, int kind)
{
	if (nl_attr_type(at) == in)
		wrap->in = at;
	if (nl_attr_type(at) == kind)
		wrap->kind = nl_attr_u16(at);
}

/* Family 0 where that is no address. */
static struct addr wrapped_for(const struct wrap *wrap)
{
	bool ipv4 = wrap->kind == LWTUNNEL_ENCAP_IP;
	struct addr addr = { 0 };
	const struct nlattr *at;

	if (!wrap->in || (!ipv4 && wrap->kind != LWTUNNEL_ENCAP_IP6))
		return addr;
	nl_each_nested (at, wrap->in)
		if (nl_attr_type(at) == (ipv4 ? (int)LWTUNNEL_IP_DST : (int)LWTUNNEL_IP6_DST))
			addr = own_attr(ipv4 ? AF_INET : AF_INET6, at);
	return addr;
}

static void learn_way(struct learned *l, struct addr addr, const char *what, unsigned int table)
{
	remember(addr, what, table);
	own_learn(l, addr, what, "route table %u", table);
}

static void on_gateway(struct learned *l, int family, const struct nlattr *at, unsigned int table)
{
	const struct rtvia *via = nl_attr_payload(at);
	size_t size = nl_attr_len(at);
	struct addr addr = { 0 };

	if (nl_attr_type(at) == RTA_GATEWAY)
		addr = own_attr(family, at);
	if (nl_attr_type(at) == RTA_VIA && size > sizeof(*via))
		addr = own_bytes(via->rtvia_family, via->rtvia_addr, size - sizeof(*via));
	learn_way(l, addr, own_gateway_is, table);
}

static void on_paths(struct learned *l, int family, const struct nlattr *paths, unsigned int table)
{
	const struct rtnexthop *path = nl_attr_payload(paths);
	const struct nlattr *at;

	for (int left = (int)nl_attr_len(paths); left > 0 && RTNH_OK(path, left); path = RTNH_NEXT(path)) {
		struct wrap wrap = { 0 };

		nl_each_in (at, RTNH_DATA(path), path->rtnh_len - sizeof(*path)) {
			on_gateway(l, family, at, table);
			on_wrap(&wrap, at, RTA_ENCAP, RTA_ENCAP_TYPE);
		}
		learn_way(l, wrapped_for(&wrap), own_tunnel_is, table);
		left -= RTNH_ALIGN(path->rtnh_len);
	}
}

static void on_route(void *arg, const struct nlmsghdr *message)
{
	const struct rtmsg *header = nl_payload(message);
	unsigned int table = header->rtm_table;
	const struct nlattr *at;
	struct wrap wrap = { 0 };

	nl_each (at, message, sizeof(*header)) {
		if (nl_attr_type(at) == RTA_TABLE) /* it comes first */
			table = nl_attr_u32(at);
		if (nl_attr_type(at) == RTA_MULTIPATH)
			on_paths(arg, header->rtm_family, at, table);
		else
			on_gateway(arg, header->rtm_family, at, table);
		on_wrap(&wrap, at, RTA_ENCAP, RTA_ENCAP_TYPE);
	}
	learn_way(arg, wrapped_for(&wrap), own_tunnel_is, table);
}

static void on_nexthop(void *arg, const struct nlmsghdr *message)
{
	const struct nhmsg *header = nl_payload(message);
	const struct nlattr *at;
	struct wrap wrap = { 0 };
	unsigned int id = 0;

	nl_each (at, message, sizeof(*header)) {
		if (nl_attr_type(at) == NHA_ID) /* it comes first */
			id = nl_attr_u32(at);
		if (nl_attr_type(at) == NHA_GATEWAY)
			own_learn(arg, own_attr(header->nh_family, at), own_gateway_is, "nexthop %u", id);
		on_wrap(&wrap, at, NHA_ENCAP, NHA_ENCAP_TYPE);
	}
	own_learn(arg, wrapped_for(&wrap), own_tunnel_is, "nexthop %u", id);
}

/*
 * Only such routes have gateways or tunnels. Of the others, which lists of bans may be, the kernel then copies none;
 * one that does not know such questions (before 4.20), or refuses this one, says all.
 */
static int ask_for_routes(struct nl_socket *socket, struct learned *l)
{
	static const struct rtmsg unicast = { .rtm_type = RTN_UNICAST };
	int err = nl_option(socket, NETLINK_GET_STRICT_CHK, &(int){ 1 }, sizeof(int)) ? -EINVAL : 0;

	err = err ?: netlink_dump(socket, RTM_GETROUTE, &unicast, sizeof(unicast), on_route, l);
	nl_option(socket, NETLINK_GET_STRICT_CHK, &(int){ 0 }, sizeof(int));
	return err ? netlink_dump(socket, RTM_GETROUTE, NULL, sizeof(struct rtmsg), on_route, l) : 0;
}

static int gateways(struct nl_socket *socket, struct learned *l)
{
	int err;

	if (known.asked && known.asked == known.version) {
		for (size_t i = 0; i < known.n; i++)
			own_learn(l, known.at[i].addr, known.at[i].what, "route table %u", known.at[i].table);
		return 0;
	}
	known.version = known.n = 0;
	err = ask_for_routes(socket, l);
	if (!err && known.n <= GATEWAYS_MOST)
		known.version = known.asked;
	return err;
}

int own_from_routes(struct learned *l)
{
	struct nl_socket *socket;
	int err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);

	if (err)
		return err;
	err = netlink_dump(socket, RTM_GETADDR, NULL, sizeof(struct ifaddrmsg), on_address, l)
		      ?: l->groups ? groups(l)
				   : 0;
	err = err ?: gateways(socket, l);
	if (!err) {
		/* Nexthops came with 5.3. With net.ipv4.nexthop_compat_mode=0 routes do not show the gateways of
		 * theirs. */
		err = netlink_dump(socket, RTM_GETNEXTHOP, NULL, sizeof(struct nhmsg), on_nexthop, l);
		if (err_is(err, EOPNOTSUPP))
			err = 0;
	}
	err = err ?: netlink_links(socket, on_link, l);
	if (!err && own_ends_missed(l))
		err = netlink_links(socket, on_link, l);
	nl_close(socket);
	if (!err) {
		own_ends_settle(l);
		own_from_xfrm(l);
	}
	return err ? because(err, "the guard rails cannot ask for this machine's addresses: %s", errno_text(err)) : 0;
}
