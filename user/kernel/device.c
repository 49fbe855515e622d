// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/device.h"

#include "base/nl.h"
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/netlink.h"
#include "kernel/link_header.h"

struct device {
	int index, below; /* the interface under it; 0: none */
	char kind[NETLINK_KIND_MAX], ports[256];
	unsigned int left_out;	 /* ports that are not in the text */
	bool far;		 /* what is under it is in another network namespace */
	bool l3s;		 /* an ipvlan of that mode */
	char above[IF_NAMESIZE]; /* one that has a share of what it receives, and talks to others that have */
};

static const char *const shares[] = { "macvlan", "macvtap", "ipvlan", "ipvtap", NULL };

static bool is_one_of(const char *kind, const char *const *kinds)
{
	while (*kinds && strcmp(kind, *kinds) != 0)
		kinds++;
	return *kinds;
}

static void take_kind(struct device *d, const struct nlattr *info)
{
	const struct nlattr *data, *attr;

	netlink_kind_in(info, d->kind);
	if (strcmp(d->kind, "ipvlan") != 0)
		return;
	nl_each_nested (data, info)
		if (nl_attr_type(data) == IFLA_INFO_DATA)
			nl_each_nested (attr, data)
				if (nl_attr_type(attr) == IFLA_IPVLAN_MODE && nl_attr_len(attr) >= sizeof(uint16_t))
					d->l3s = nl_attr_u16(attr) == IPVLAN_MODE_L3S;
}

/* "edge1" is not in "edge10, edge11". */
static bool is_named(const char *names, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = names; (at = strstr(at, name)); at += length)
		if ((at == names || at[-1] == ' ') && (!at[length] || !strncmp(at + length, ", ", 2)))
			return true;
	return false;
}

static void take_above(struct device *d, const char *name, const struct nlattr *info)
{
	char kind[NETLINK_KIND_MAX] = "";

	netlink_kind_in(info, kind);
	if (is_one_of(kind, shares))
		snprintf(d->above, sizeof(d->above), "%s", name);
}

static void take(void *arg, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = nl_payload(message);
	const char *name = NULL;
	struct device *d = arg;
	const struct nlattr *attr, *info = NULL;
	bool port = false, above = false, elsewhere = false;

	nl_each (attr, message, sizeof(*link)) {
		if (nl_attr_type(attr) == IFLA_IFNAME)
			name = nl_attr_text(attr);
		else if (nl_attr_type(attr) == IFLA_MASTER)
			port = (int)nl_attr_u32(attr) == d->index;
		else if (link->ifi_index == d->index && nl_attr_type(attr) == IFLA_LINK)
			d->below = (int)nl_attr_u32(attr);
		else if (link->ifi_index == d->index && nl_attr_type(attr) == IFLA_LINK_NETNSID)
			d->far = true;
		else if (link->ifi_index == d->index && nl_attr_type(attr) == IFLA_LINKINFO)
			take_kind(d, attr);
		else if (nl_attr_type(attr) == IFLA_LINK)
			above = (int)nl_attr_u32(attr) == d->index;
		else if (nl_attr_type(attr) == IFLA_LINK_NETNSID)
			elsewhere = true;
		else if (nl_attr_type(attr) == IFLA_LINKINFO)
			info = attr;
	}
	if (above && !elsewhere && info && name && link->ifi_index != d->index)
		take_above(d, name, info);
	/* A dump that changed meanwhile comes twice. */
	if (!port || !name || is_named(d->ports, name))
		return;
	if (strlen(d->ports) + IF_NAMESIZE + 2 >= sizeof(d->ports))
		d->left_out++;
	else
		snprintf(d->ports + strlen(d->ports), sizeof(d->ports) - strlen(d->ports), "%s%s",
			 d->ports[0] ? ", " : "", name);
}

static const char *const pairs[] = { "veth", "netkit", NULL };
/* Whose end hands on the packet that it came in. WireGuard's does not: it takes all marks off. */
static const char *const tunnels[] = { "geneve",    "gre",  "gretap", "erspan", "ip6gre", "ip6gretap",
				       "ip6erspan", "ipip", "sit",    "ip6tnl", NULL };

/* So many of a kind are looked at: where none of them has its other end elsewhere, another one may. */
#define PAIRS_MOST 1024

struct pairs {
	const char *kind;
	unsigned int n;
	bool away;
};

static void take_pair(void *arg, const struct nlmsghdr *message)
{
	struct device d = { .index = ((const struct ifinfomsg *)nl_payload(message))->ifi_index };
	struct pairs *found = arg;

	take(&d, message);
	if (strcmp(d.kind, found->kind) != 0)
		return;
	found->n++;
	found->away = found->away || d.far;
}

/* Has any pair here its other end in another network namespace? The kernel leaves out other kinds, if it has this one.
 */
static bool any_pair_is_away(void)
{
	struct {
		struct ifinfomsg link;
		struct nlattr info, kind;
		char name[8];
	} ask = { .info = { sizeof(ask) - sizeof(ask.link), IFLA_LINKINFO },
		  .kind = { NLA_HDRLEN + sizeof(ask.name), IFLA_INFO_KIND } };
	struct nl_socket *socket;
	bool away = false, all;

	for (const char *const *kind = pairs; *kind && !away && !netlink_open(&socket, NETLINK_ROUTE, 0, 0); kind++) {
		struct pairs found = { .kind = *kind };

		snprintf(ask.name, sizeof(ask.name), "%s", *kind);
		netlink_dump_first(socket, RTM_GETLINK, &ask, sizeof(ask), PAIRS_MOST, take_pair, &found, &all);
		nl_close(socket);
		away = found.away || found.n == PAIRS_MOST;
	}
	return away;
}

/*
 * Who redirects a packet (tc's mirred, nft's fwd) leaves a mark on it, by which the kernel calls no program of skb mode
 * any more; by way of an ifb another one, by which it calls none of tc. A pair hands on both. Of who sets both the
 * first one is still there where a tunnel ends. A netkit hands on, too, what its sender's packet socket says that the
 * packet is, and the kernel delivers by that; programs of XDP do not see it. So does a VXLAN, to which any other of
 * this network namespace sends by a short way (vxlan_encap_bypass); nothing here tells whether another namespace has
 * one of these.
 */
static bool is_gone_round(const struct device *d, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	bool veth = !strcmp(d->kind, "veth"), netkit = !strcmp(d->kind, "netkit");

	if (mode == MODE_SKB && !strcmp(d->kind, "vxlan")) {
		snprintf(text, DEVICE_TEXT_MAX,
			 "packets in this tunnel that another network namespace of this machine redirects, or sends as"
			 " what they are not, are not seen in skb mode; tc mode sees them: --mode tc");
		return true;
	}
	if (mode == MODE_SKB && is_one_of(d->kind, tunnels) && any_pair_is_away()) {
		snprintf(text, DEVICE_TEXT_MAX,
			 "packets in this tunnel that another network namespace redirects to its end of a veth are not"
			 " seen in skb mode; tc mode sees them: --mode tc");
		return true;
	}
	if (!d->far || !is_one_of(d->kind, pairs) || (mode != MODE_SKB && mode != MODE_TC))
		return false;
	snprintf(
		text, DEVICE_TEXT_MAX,
		"packets that its other end, in another network namespace, redirects to it%s are not seen in %s mode%s",
		netkit && mode == MODE_SKB ? ", or sends as what they are not," : "", attach_mode_names[mode],
		veth			     ? "; native mode sees them"
		: netkit && mode == MODE_SKB ? "; tc mode sees the latter: --mode tc"
					     : "");
	return true;
}

static bool describe(const struct device *d, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	char ports[sizeof(d->ports) + 32], below[IF_NAMESIZE] = "";

	snprintf(ports, sizeof(ports), "%s", d->ports[0] ? d->ports : "none yet");
	if (d->left_out)
		snprintf(ports + strlen(ports), 32, " and %u more", d->left_out);
	if (d->below && !d->far)
		if_indextoname((unsigned int)d->below, below);
	if (!strcmp(d->kind, "bridge"))
		snprintf(text, DEVICE_TEXT_MAX,
			 "packets between the bridge's ports (%s) are not seen here, only those for this machine;"
			 " attach to the ports for all: --ports",
			 ports);
	else if (!strcmp(d->kind, "bond") || !strcmp(d->kind, "team"))
		snprintf(text, DEVICE_TEXT_MAX,
			 "what a port (%s) does not hand on is not seen here, such as a standby's packets; attach to"
			 " the ports for all: --ports",
			 ports);
	else if (!strcmp(d->kind, "vrf"))
		snprintf(text, DEVICE_TEXT_MAX,
			 "what the VRF's ports (%s) receive is not seen here; attach to the ports: --ports", ports);
	else if (!strcmp(d->kind, "ifb"))
		snprintf(text, DEVICE_TEXT_MAX,
			 "no packet is seen here, as the interface that it came in by goes on with it; attach to that"
			 " one");
	else if (d->l3s)
		snprintf(text, DEVICE_TEXT_MAX,
			 "no packet is seen here, as the ipvlan is in mode l3s; attach to %s, or use mode l3",
			 below[0] ? below : "the interface under it");
	else if (below[0] && !strcmp(d->kind, "vlan"))
		snprintf(text, DEVICE_TEXT_MAX,
			 "only its own share of what %s receives is seen here; attach to %s for all", below, below);
	else if (below[0] && is_one_of(d->kind, shares))
		snprintf(text, DEVICE_TEXT_MAX,
			 "only its own share of what %s receives is seen here, and of what other %ss of %s send%s;"
			 " attach to %s for the rest",
			 below, d->kind, below,
			 mode == MODE_SKB ? ", but for what these redirect, which tc mode sees: --mode tc" : "", below);
	else if (d->above[0])
		snprintf(
			text, DEVICE_TEXT_MAX,
			"what others that share this interface, as containers do by macvlan and ipvlan, send to %s is not"
			" seen here; attach to %s as well: --mode tc",
			d->above, d->above);
	else
		return is_gone_round(d, mode, text);
	return true;
}

static bool look(const char *ifname, struct device *d)
{
	struct nl_socket *socket;
	int err;

	*d = (struct device){ .index = (int)if_nametoindex(ifname) };
	if (!d->index || netlink_open(&socket, NETLINK_ROUTE, 0, 0))
		return false;
	err = netlink_links(socket, take, d);
	nl_close(socket);
	return !err;
}

bool device_misses(const char *ifname, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	struct device d;

	return look(ifname, &d) && describe(&d, mode, text);
}

bool device_gone_round(const char *ifname, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	struct device d = { .index = (int)if_nametoindex(ifname) };

	if (mode == MODE_SKB && link_shows_outer(ifname)) {
		snprintf(text, DEVICE_TEXT_MAX,
			 "in skb mode what is around the packets of this tunnel is judged, and not these: 'restore'"
			 " puts tc mode in its place");
		return true;
	}
	return (mode == MODE_SKB || mode == MODE_TC) && d.index && !netlink_link((unsigned int)d.index, take, &d) &&
	       is_gone_round(&d, mode, text);
}
