// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/device.h"

#include "base/nl.h"
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/netlink.h"

struct device {
	int index, below; /* the interface under it; 0: none */
	char kind[NETLINK_KIND_MAX], ports[256];
	unsigned int left_out; /* ports that are not in the text */
	bool far;	       /* what is under it is in another network namespace */
	bool l3s;	       /* an ipvlan of that mode */
};

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

static void take(void *arg, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = nl_payload(message);
	const char *name = NULL;
	struct device *d = arg;
	const struct nlattr *attr;
	bool port = false;

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
	}
	/* A dump that changed meanwhile comes twice. */
	if (!port || !name || is_named(d->ports, name))
		return;
	if (strlen(d->ports) + IF_NAMESIZE + 2 >= sizeof(d->ports))
		d->left_out++;
	else
		snprintf(d->ports + strlen(d->ports), sizeof(d->ports) - strlen(d->ports), "%s%s",
			 d->ports[0] ? ", " : "", name);
}

/*
 * Who redirects a packet (tc's mirred, nft's fwd) leaves a mark on it, by which the kernel calls no program of skb mode
 * any more; by way of an ifb another one, by which it calls none of tc. A pair hands on both.
 */
static bool is_gone_round(const struct device *d, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	bool veth = !strcmp(d->kind, "veth");

	if (!d->far || (!veth && strcmp(d->kind, "netkit") != 0) || (mode != MODE_SKB && mode != MODE_TC))
		return false;
	snprintf(text, DEVICE_TEXT_MAX,
		 "packets that its other end, in another network namespace, redirects to it are not seen in %s mode%s",
		 attach_mode_names[mode], veth ? "; native mode sees them" : "");
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
	else if (below[0] && (!strcmp(d->kind, "vlan") || !strcmp(d->kind, "macvlan") || !strcmp(d->kind, "macvtap") ||
			      !strcmp(d->kind, "ipvlan")))
		snprintf(text, DEVICE_TEXT_MAX,
			 "only its own share of what %s receives is seen here; attach to %s for all", below, below);
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
	err = netlink_dump(socket, RTM_GETLINK, NULL, sizeof(struct ifinfomsg), take, d);
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
	struct device d;

	return (mode == MODE_SKB || mode == MODE_TC) && look(ifname, &d) && is_gone_round(&d, mode, text);
}
