// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/port.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/nl.h"

/* --- The driver, by ethtool ------------------------------------------------------------------------------------------
 */

static bool ask(int fd, const char *name, void *question)
{
	struct ifreq request = { .ifr_data = question };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	return fd >= 0 && !ioctl(fd, SIOCETHTOOL, &request);
}

static void find_queues(int fd, struct port *port)
{
	struct ethtool_channels queues = { .cmd = ETHTOOL_GCHANNELS };

	if (!ask(fd, port->name, &queues))
		return;
	port->rx = queues.rx_count + queues.combined_count;
	port->rx_most = queues.max_rx ?: queues.max_combined;
	port->tx = queues.tx_count + queues.combined_count;
	port->tx_most = queues.max_tx ?: queues.max_combined;
	port->combined = queues.combined_count;
}

/* How many features all devices have; 0: who knows? */
static __u32 count_features(int fd, const char *name)
{
	__u64 room[(sizeof(struct ethtool_sset_info) + sizeof(__u32) + 7) / 8] = { 0 };
	struct ethtool_sset_info *info = (struct ethtool_sset_info *)room;

	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = 1ULL << ETH_SS_FEATURES;
	return ask(fd, name, info) && info->sset_mask ? info->data[0] : 0;
}

/* Where among them this one stands; -1: this kernel has none of that name. */
static int feature_number(int fd, const char *name, const char *feature)
{
	__u32 n = count_features(fd, name);
	struct ethtool_gstrings *strings = calloc(1, sizeof(*strings) + (size_t)n * ETH_GSTRING_LEN);
	int found = -1;

	if (!strings)
		return -1;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	strings->len = n;
	if (n && ask(fd, name, strings))
		for (__u32 i = 0; i < n && found < 0; i++)
			if (!strncmp((const char *)strings->data + (size_t)i * ETH_GSTRING_LEN, feature,
				     ETH_GSTRING_LEN))
				found = (int)i;
	free(strings);
	return found;
}

#define FEATURE_BLOCKS 8

static bool has_feature(int fd, const char *name, const char *feature)
{
	__u32 room[(sizeof(struct ethtool_gfeatures) + FEATURE_BLOCKS * sizeof(struct ethtool_get_features_block)) /
		   4] = { 0 };
	struct ethtool_gfeatures *has = (struct ethtool_gfeatures *)room;
	int number = feature_number(fd, name, feature);

	has->cmd = ETHTOOL_GFEATURES;
	has->size = FEATURE_BLOCKS;
	return number >= 0 && number < 32 * FEATURE_BLOCKS && ask(fd, name, has) &&
	       has->features[number / 32].active >> number % 32 & 1;
}

unsigned int port_receive_on(const char *name, unsigned int n)
{
	struct ethtool_drvinfo driver = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_channels queues = { .cmd = ETHTOOL_GCHANNELS };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned int before = 0;

	if (ask(fd, name, &driver) && !strcmp(driver.driver, "veth") && ask(fd, name, &queues)) {
		before = queues.rx_count;
		queues.cmd = ETHTOOL_SCHANNELS;
		queues.rx_count = n ?: queues.max_rx;
		if (queues.rx_count == before || !ask(fd, name, &queues))
			before = 0;
	}
	close_fd(fd);
	return before;
}

static void find_driver(struct port *port)
{
	struct ethtool_drvinfo driver = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (ask(fd, port->name, &driver))
		snprintf(port->driver, sizeof(port->driver), "%.31s", driver.driver);
	port->lro = ask(fd, port->name, &flags) && flags.data & ETH_FLAG_LRO;
	port->gro_hw = has_feature(fd, port->name, "rx-gro-hw");
	find_queues(fd, port);
	close_fd(fd);
}

/* --- The device, by /sys ---------------------------------------------------------------------------------------------
 */

static void device_file(const struct port *port, const char *file, char *text, size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/%s", port->name, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	text[n < 0 ? 0 : n] = '\0';
	close_fd(fd);
}

static void find_device(struct port *port)
{
	static const unsigned int joined[] = { VIRTIO_NET_F_GUEST_CSUM, VIRTIO_NET_F_GUEST_TSO4,
					       VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_GUEST_ECN,
					       VIRTIO_NET_F_GUEST_UFO };
	char text[130] = "";

	device_file(port, "sriov_numvfs", text, sizeof(text));
	port->has_functions = strtoul(text, NULL, 10) > 0;
	if (strcmp(port->driver, "virtio_net") != 0)
		return;
	/* A digit for each of the features that device and driver agreed on. */
	device_file(port, "features", text, sizeof(text));
	for (size_t i = 0; strlen(text) >= 64 && i < sizeof(joined) / sizeof(joined[0]); i++)
		port->host_joins =
			port->host_joins || (text[joined[i]] == '1' && text[VIRTIO_NET_F_CTRL_GUEST_OFFLOADS] == '0');
}

/* --- Links, by netlink -----------------------------------------------------------------------------------------------
 */

/* Through all links for this one, and then once more for its other end, and for the one that it is a port of. */
struct links {
	struct port *port;
	unsigned int peer, above;
	bool found;
};

static bool is_filtered(const struct nlattr *xdp, unsigned int *program)
{
	const struct nlattr *attr;
	bool attached = false;

	nl_each_nested (attr, xdp) {
		if (nl_attr_type(attr) == IFLA_XDP_ATTACHED)
			attached = *(const unsigned char *)nl_attr_payload(attr) != XDP_ATTACHED_NONE;
		else if (nl_attr_type(attr) == IFLA_XDP_PROG_ID)
			*program = nl_attr_u32(attr);
	}
	return attached;
}

static void take_port(struct links *links, const struct nlmsghdr *message)
{
	struct port *port = links->port;
	unsigned int program = 0;
	const struct nlattr *attr;

	links->found = true;
	nl_each (attr, message, sizeof(struct ifinfomsg))
		switch (nl_attr_type(attr)) {
		case IFLA_MTU:
			port->mtu = nl_attr_u32(attr);
			break;
		case IFLA_LINK:
			links->peer = nl_attr_u32(attr);
			break;
		case IFLA_LINK_NETNSID:
			port->peer_is_away = true;
			break;
		case IFLA_MASTER:
			links->above = nl_attr_u32(attr);
			break;
		case IFLA_LINKINFO:
			netlink_kind_in(attr, port->kind);
			break;
		case IFLA_XDP:
			/* With several modes there is no number for all of them. */
			port->program = is_filtered(attr, &program) ? program ?: ~0U : 0;
			break;
		}
}

static void take_other(struct links *links, const struct nlmsghdr *message, bool is_above)
{
	char *name = is_above ? links->port->above : links->port->peer;
	unsigned int program;
	const struct nlattr *attr;

	nl_each (attr, message, sizeof(struct ifinfomsg)) {
		if (nl_attr_type(attr) == IFLA_IFNAME)
			snprintf(name, IF_NAMESIZE, "%.*s", (int)nl_attr_len(attr), nl_attr_text(attr));
		else if (is_above && nl_attr_type(attr) == IFLA_XDP)
			links->port->above_filtered = is_filtered(attr, &program);
		else if (!is_above && nl_attr_type(attr) == IFLA_MTU)
			links->port->peer_mtu = nl_attr_u32(attr);
	}
}

static void take_link(void *arg, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = nl_payload(message);
	unsigned int ifindex = (unsigned int)link->ifi_index;
	struct links *links = arg;

	if (!links->found && ifindex == links->port->ifindex)
		take_port(links, message);
	else if (links->found && ifindex == links->above)
		take_other(links, message, true);
	else if (links->found && ifindex == links->peer && !links->port->peer_is_away)
		take_other(links, message, false);
}

/* What an interface stands on is another end only of a pair. */
static void find_peer(struct port *port)
{
	struct port other = { 0 };
	int fd;

	if (strcmp(port->kind, "veth") != 0) {
		port->peer[0] = '\0';
		port->peer_is_away = false;
	}
	if (!port->peer[0]) {
		port->peer_mtu = 0;
		return;
	}
	memcpy(other.name, port->peer, sizeof(other.name));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	find_queues(fd, &other);
	close_fd(fd);
	port->peer_tx = other.tx;
}

static void take_xdp(void *arg, const struct nlmsghdr *message)
{
	const struct nlattr *attr, *in;
	struct port_xdp *on = arg;

	nl_each (attr, message, sizeof(struct ifinfomsg)) {
		if (nl_attr_type(attr) != IFLA_XDP)
			continue;
		nl_each_nested (in, attr)
			switch (nl_attr_type(in)) {
			case IFLA_XDP_ATTACHED:
				on->skb = *(const unsigned char *)nl_attr_payload(in) == XDP_ATTACHED_SKB;
				break;
			case IFLA_XDP_DRV_PROG_ID:
			case IFLA_XDP_SKB_PROG_ID:
			case IFLA_XDP_HW_PROG_ID:
				on->programs[nl_attr_type(in) - IFLA_XDP_DRV_PROG_ID] = nl_attr_u32(in);
				break;
			}
	}
}

int port_xdp(unsigned int ifindex, struct port_xdp *on)
{
	*on = (struct port_xdp){ 0 };
	return netlink_link(ifindex, take_xdp, on);
}

static int find_links(struct port *port)
{
	struct links links = { .port = port };
	struct nl_socket *socket;
	int err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);

	if (err)
		return err;
	err = netlink_links(socket, take_link, &links);
	if (!err && links.found)
		err = netlink_links(socket, take_link, &links);
	nl_close(socket);
	find_peer(port);
	return err ?: links.found ? 0 : -ENODEV;
}

/* --- What XDP the driver has, which kernels say since 6.3 ------------------------------------------------------------
 */

/* As <linux/netdev.h> has them; the distribution's headers may be older than the kernel. */
enum { NETDEV_DEV_GET = 1, NETDEV_IFINDEX = 1, NETDEV_XDP_FEATURES = 3 };

static void take_family(void *arg, const struct nlmsghdr *message)
{
	const struct nlattr *attr;
	uint16_t *family = arg, id = 0;
	bool is_it = false;

	nl_each (attr, message, GENL_HDRLEN) {
		if (nl_attr_type(attr) == CTRL_ATTR_FAMILY_ID)
			id = nl_attr_u16(attr);
		else if (nl_attr_type(attr) == CTRL_ATTR_FAMILY_NAME)
			is_it = nl_attr_is_text(attr) && !strcmp(nl_attr_text(attr), "netdev");
	}
	if (is_it)
		*family = id;
}

static void take_features(void *arg, const struct nlmsghdr *message)
{
	unsigned int ifindex = 0, features = 0;
	struct port *port = arg;
	const struct nlattr *attr;

	nl_each (attr, message, GENL_HDRLEN) {
		if (nl_attr_type(attr) == NETDEV_IFINDEX)
			ifindex = nl_attr_u32(attr);
		else if (nl_attr_type(attr) == NETDEV_XDP_FEATURES)
			features = nl_attr_u32(attr);
	}
	if (ifindex == port->ifindex)
		port->features = (int)features;
}

static void find_features(struct port *port)
{
	const struct genlmsghdr families = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	const struct genlmsghdr devices = { .cmd = NETDEV_DEV_GET, .version = 1 };
	struct nl_socket *socket;
	uint16_t family = 0;

	if (netlink_open(&socket, NETLINK_GENERIC, 0, 0))
		return;
	if (!netlink_dump(socket, GENL_ID_CTRL, &families, sizeof(families), take_family, &family) && family)
		netlink_dump(socket, family, &devices, sizeof(devices), take_features, port);
	nl_close(socket);
}

int port_look(struct port *port, const char *name)
{
	int err;

	*port = (struct port){ .ifindex = if_nametoindex(name), .features = -1 };
	snprintf(port->name, sizeof(port->name), "%s", name);
	err = port->ifindex ? find_links(port) : -ENODEV;
	if (err)
		return err;
	find_driver(port);
	find_device(port);
	find_features(port);
	return 0;
}
