// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is made of the kernel's answers about an interface: of links and of XDP's features by netlink, of the driver by
 * ethtool, of the device by /sys; where it says nothing, and where a question fails. All answers are made up.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "kernel/port.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_port.txt"
};

static struct shows shows = { .file = "tests/unit/unit_port.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define MOST	 8
#define FEATURES 300
#define FD	 40 /* of ethtool; of a file the one above it */

#define NO_MODE 99 /* it says of XDP, but not how it is attached */

/* What there is; 0 or NULL: the kernel says nothing of it. */
static struct link {
	unsigned int ifindex;
	const char *name, *kind;
	unsigned int mtu, link, away, master, mode, program; /* mode: of XDP, 1 more than the kernel's number */
	unsigned int programs[3];			     /* by the driver, the stack and the device */
} there[MOST];
static struct {
	const char *driver, *functions, *joined;
	bool lro, channels, no_names;
	struct ethtool_channels queues, peers; /* the peer's, where .combined_count is not 0 there */
	unsigned int features;		       /* so many names; "rx-gro-hw" is the one of this number */
	int gro_at;
	bool gro;
	unsigned int family; /* of netdev; 0: an older kernel */
	unsigned int xdp;
	int links_asked;   /* so many times on this socket */
	const char *fails; /* this call does */
	bool twice;	   /* every message comes twice */
	bool no_socket;
} is;

static bool fails(const char *call)
{
	return is.fails && !strcmp(is.fails, call);
}

static void put(struct nlmsghdr *m, unsigned int type, const void *value, size_t size)
{
	struct nlattr *at = (struct nlattr *)((char *)m + NLMSG_ALIGN(m->nlmsg_len));

	at->nla_type = (uint16_t)type;
	at->nla_len = (uint16_t)(NLA_HDRLEN + size);
	memcpy((char *)at + NLA_HDRLEN, value, size);
	m->nlmsg_len = NLMSG_ALIGN(m->nlmsg_len) + (uint32_t)NLA_ALIGN(at->nla_len);
}

static void put_number(struct nlmsghdr *m, unsigned int type, unsigned int value)
{
	if (value)
		put(m, type, &value, sizeof(value));
}

static struct nlattr *nest(struct nlmsghdr *m, unsigned int type)
{
	struct nlattr *at = (struct nlattr *)((char *)m + NLMSG_ALIGN(m->nlmsg_len));

	put(m, type, "", 0);
	return at;
}

static void nest_end(struct nlmsghdr *m, struct nlattr *at)
{
	at->nla_len = (uint16_t)((char *)m + m->nlmsg_len - (char *)at);
}

static void put_link(struct nlmsghdr *m, const struct link *link)
{
	struct ifinfomsg *info = nl_put_extra(m, sizeof(*info));
	struct nlattr *at;

	info->ifi_index = (int)link->ifindex;
	put(m, IFLA_IFNAME, link->name, strlen(link->name) + 1);
	put_number(m, IFLA_MTU, link->mtu);
	put_number(m, IFLA_LINK, link->link);
	put_number(m, IFLA_LINK_NETNSID, link->away);
	put_number(m, IFLA_MASTER, link->master);
	if (link->kind) {
		at = nest(m, IFLA_LINKINFO);
		put(m, IFLA_INFO_KIND, link->kind, strlen(link->kind) + 1);
		nest_end(m, at);
	}
	if (link->mode) {
		const unsigned char mode = (unsigned char)(link->mode - 1);

		at = nest(m, IFLA_XDP);
		put_number(m, IFLA_XDP_PROG_ID, link->program);
		if (link->mode != NO_MODE)
			put(m, IFLA_XDP_ATTACHED, &mode, sizeof(mode));
		put_number(m, IFLA_XDP_DRV_PROG_ID, link->programs[0]);
		put_number(m, IFLA_XDP_SKB_PROG_ID, link->programs[1]);
		put_number(m, IFLA_XDP_HW_PROG_ID, link->programs[2]);
		nest_end(m, at);
	}
}

static int given_open(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	if (flags || groups)
		abort();
	printf("; netlink %s%s", family == NETLINK_ROUTE ? "of routes" : "of families",
	       fails(family == NETLINK_ROUTE ? "route" : "generic") ? ": fails" : "");
	if (fails(family == NETLINK_ROUTE ? "route" : "generic"))
		return -EPERM;
	*socket = (struct nl_socket *)(void *)&is;
	is.links_asked = 0;
	return 0;
}

static void given_close(struct nl_socket *socket)
{
	if (socket != (struct nl_socket *)(void *)&is)
		abort();
	printf("; closed");
}

static int give(uint32_t *room, size_t n, netlink_each_fn *each, void *arg)
{
	struct nlmsghdr *m = (struct nlmsghdr *)(void *)room;

	if (m->nlmsg_len > n)
		abort();
	for (int i = 0; i < 1 + is.twice; i++)
		each(arg, m);
	return 0;
}

static int give_link(const struct link *link, netlink_each_fn *each, void *arg)
{
	uint32_t room[256] = { 0 };

	put_link(nl_put_header(room), link);
	return give(room, sizeof(room), each, arg);
}

static int dump_links(netlink_each_fn *each, void *arg)
{
	for (size_t i = 0; i < MOST && there[i].ifindex; i++)
		give_link(&there[i], each, arg);
	return 0;
}

static int given_link(unsigned int ifindex, netlink_each_fn *each, void *arg)
{
	if (fails("link"))
		return -ENOBUFS;
	for (size_t i = 0; i < MOST && there[i].ifindex; i++)
		if (there[i].ifindex == ifindex)
			return give_link(&there[i], each, arg);
	return -ENODEV;
}

static int dump_families(netlink_each_fn *each, void *arg)
{
	static const char *const names[] = { "nlctrl", "netdev", "netdev2" };
	uint32_t room[256];

	for (unsigned int i = 0; i < 3; i++) {
		struct nlmsghdr *m = nl_put_header(memset(room, 0, sizeof(room)));
		uint16_t id = (uint16_t)(is.family + i - 1);

		if (i == 1 && !is.family)
			continue;
		nl_put_extra(m, GENL_HDRLEN);
		put(m, CTRL_ATTR_FAMILY_ID, &id, sizeof(id));
		put(m, CTRL_ATTR_FAMILY_NAME, names[i], strlen(names[i]) + 1);
		give(room, sizeof(room), each, arg);
	}
	return 0;
}

static int dump_features(netlink_each_fn *each, void *arg)
{
	uint32_t room[256];

	for (unsigned int i = 0; i < 3; i++) {
		struct nlmsghdr *m = nl_put_header(memset(room, 0, sizeof(room)));

		nl_put_extra(m, GENL_HDRLEN);
		put_number(m, 1, there[0].ifindex + i - 1);
		put_number(m, 3, is.xdp + i - 1);
		give(room, sizeof(room), each, arg);
	}
	return 0;
}

static int given_dump(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg)
{
	const struct genlmsghdr *asks = request;
	const char *what;

	if (socket != (struct nl_socket *)(void *)&is || size != (asks ? sizeof(*asks) : sizeof(struct ifinfomsg)))
		abort();
	if (asks && asks->version != 1)
		abort();
	is.links_asked = kind == RTM_GETLINK ? is.links_asked + 1 : 0;
	what = kind == RTM_GETLINK && !asks ? (is.links_asked > 1 ? "links again" : "links")
	       : kind == GENL_ID_CTRL && asks->cmd == CTRL_CMD_GETFAMILY ? "families"
	       : kind == is.family && asks->cmd == 1			 ? "features"
									 : "?";
	printf(", %s%s", what, fails(what) ? ": fails" : "");
	if (fails(what))
		return -ENOBUFS;
	return kind == RTM_GETLINK    ? dump_links(each, arg)
	       : kind == GENL_ID_CTRL ? dump_families(each, arg)
				      : dump_features(each, arg);
}

static int given_links(struct nl_socket *socket, netlink_each_fn *each, void *arg)
{
	return given_dump(socket, RTM_GETLINK, NULL, sizeof(struct ifinfomsg), each, arg);
}

static int given_socket(int family, int type, int protocol)
{
	if (family != AF_UNIX || type != (SOCK_DGRAM | SOCK_CLOEXEC) || protocol)
		abort();
	return is.no_socket ? -1 : FD;
}

static bool answer(const char *name, void *question)
{
	struct ethtool_sset_info *count = question;
	struct ethtool_gstrings *names = question;
	struct ethtool_gfeatures *has = question;

	switch (*(__u32 *)question) {
	case ETHTOOL_GDRVINFO:
		if (is.driver)
			memcpy(((struct ethtool_drvinfo *)question)->driver, is.driver, strlen(is.driver));
		return is.driver;
	case ETHTOOL_GFLAGS:
		((struct ethtool_value *)question)->data = is.lro ? ETH_FLAG_LRO : ETH_FLAG_NTUPLE;
		return !fails("flags");
	case ETHTOOL_GCHANNELS:
		*(struct ethtool_channels *)question = strcmp(name, "eth1") ? is.peers : is.queues;
		return is.channels;
	case ETHTOOL_SCHANNELS:
		printf(", set to receive on %u", ((struct ethtool_channels *)question)->rx_count);
		if (fails("set"))
			return false;
		is.queues = *(struct ethtool_channels *)question;
		return true;
	case ETHTOOL_GSSET_INFO:
		if (count->sset_mask != 1 << ETH_SS_FEATURES)
			abort();
		count->data[0] = is.features;
		if (!is.features)
			count->sset_mask = 0;
		return !fails("count");
	case ETHTOOL_GSTRINGS:
		if (names->string_set != ETH_SS_FEATURES || names->len != is.features)
			abort();
		for (__u32 i = 0; i < names->len; i++)
			strcpy((char *)names->data + (size_t)i * ETH_GSTRING_LEN, (int)i == is.gro_at ? "rx-gro-hw"
										  : i & 1	      ? "rx-gro"
												      : "rx-gro-hw-2");
		return !fails("names");
	case ETHTOOL_GFEATURES:
		if (has->size != 8)
			abort();
		for (__u32 i = 0; i < has->size; i++)
			has->features[i].active = is.gro ? 0 : ~0U;
		if (is.gro_at >= 0 && is.gro_at / 32 < 8)
			has->features[is.gro_at / 32].active ^= 1U << is.gro_at % 32;
		return !fails("features");
	}
	abort();
}

static int given_ioctl(int fd, unsigned long request, struct ifreq *of)
{
	if (fd != FD || request != SIOCETHTOOL)
		abort();
	return answer(of->ifr_name, of->ifr_data) ? 0 : -1;
}

static const char *reads;

static int given_file(const char *path, int flags)
{
	if (flags != (O_RDONLY | O_CLOEXEC))
		abort();
	reads = !strcmp(path, "/sys/class/net/eth1/device/sriov_numvfs") ? is.functions
		: !strcmp(path, "/sys/class/net/eth1/device/features")	 ? is.joined
									 : NULL;
	printf("; %s%s", path, reads ? "" : " is not there");
	return reads ? FD + 1 : -1;
}

static ssize_t given_read(int fd, void *to, size_t size)
{
	size_t n = reads ? strlen(reads) : 0;

	if (fd != FD + 1 || size != 129)
		abort();
	if (fails("read"))
		return -1;
	n = n < size ? n : size;
	memcpy(to, reads, n);
	return (ssize_t)n;
}

static void given_close_fd(int fd)
{
	printf("; %s closed", fd == FD ? "ethtool" : fd < 0 ? "nothing" : "the file");
}

static unsigned int given_index(const char *name)
{
	for (size_t i = 0; i < MOST && there[i].ifindex; i++)
		if (!strcmp(name, there[i].name))
			return there[i].ifindex;
	return 0;
}

#define calloc(n, size)		       (fails("calloc") ? NULL : calloc(n, size))
#define netlink_open		       given_open
#define netlink_dump		       given_dump
#define netlink_links		       given_links
#define netlink_link		       given_link
#define nl_close		       given_close
#define socket(family, type, protocol) given_socket(family, type, protocol)
#define ioctl(fd, what, of)	       given_ioctl(fd, what, of)
#define open(path, flags)	       given_file(path, flags)
#define read(fd, to, size)	       given_read(fd, to, size)
#define close_fd		       given_close_fd
#define if_nametoindex		       given_index
#include "kernel/port.c"
#undef calloc
#undef read
#undef open

static void begin(void)
{
	memset(there, 0, sizeof(there));
	memset(&is, 0, sizeof(is));
	is.gro_at = -1;
	there[0] = (struct link){ .ifindex = 5, .name = "eth1", .mtu = 1500 };
}

static void look(const char *what)
{
	struct port port;
	int err;

	printf("%s", what);
	memset(&port, 0xff, sizeof(port));
	err = port_look(&port, "eth1");
	putchar('\n');
	if (err) {
		printf("  = %s\n", err_is(err, ENODEV)	? "there is none"
				   : err_is(err, EPERM) ? "not permitted"
							: "another");
		return;
	}
	printf("  = %s, %u, mtu %u, driver '%s', kind '%s', rx %u", port.name, port.ifindex, port.mtu, port.driver,
	       port.kind, port.rx);
	if (port.rx_most)
		printf(" of %u", port.rx_most);
	printf(", tx %u of %u%s\n", port.tx, port.tx_most, port.combined ? ", combined" : "");
	printf("  = program %d, above '%s'%s, peer '%s'%s, mtu %u, tx %u, features %d%s%s%s%s\n", (int)port.program,
	       port.above, port.above_filtered ? " filtered" : "", port.peer, port.peer_is_away ? " away" : "",
	       port.peer_mtu, port.peer_tx, port.features, port.lro ? ", lro" : "", port.gro_hw ? ", gro" : "",
	       port.host_joins ? ", the host joins" : "", port.has_functions ? ", functions" : "");
}

static void none(void)
{
	look("one of which nothing else is known");
	there[0].name = "eth0";
	look("none of that name");
	begin();
	is.no_socket = true;
	look("no socket");
}

static void netlink_fails(void)
{
	static const char *const each[] = { "route", "links", "links again", "generic", "families", "features" };

	there[0].kind = "veth";
	there[0].link = 6;
	there[1] = (struct link){ .ifindex = 6, .name = "other", .mtu = 900 };
	is.family = 30;
	is.xdp = 35;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		is.fails = each[i];
		look(each[i]);
	}
}

static void runs(unsigned int ifindex)
{
	struct port_xdp on;
	int err;

	memset(&on, 0xff, sizeof(on));
	err = port_xdp(ifindex, &on);
	printf("  = %u: %s%s, programs %u, %u, %u\n", ifindex,
	       !err		     ? "0"
	       : err_is(err, ENODEV) ? "there is none"
				     : "another",
	       on.skb ? ", by the stack alone" : "", on.programs[0], on.programs[1], on.programs[2]);
}

static void of_xdp(void)
{
	runs(5);
	for (unsigned int mode = XDP_ATTACHED_NONE; mode <= XDP_ATTACHED_MULTI; mode++) {
		there[0].mode = mode + 1;
		there[0].programs[0] = mode == XDP_ATTACHED_DRV || mode == XDP_ATTACHED_MULTI ? 70 : 0;
		there[0].programs[1] = mode == XDP_ATTACHED_SKB ? 71 : 0;
		there[0].programs[2] = mode == XDP_ATTACHED_HW || mode == XDP_ATTACHED_MULTI ? 72 : 0;
		runs(5);
	}
	there[0].mode = NO_MODE;
	runs(5);
	runs(6);
	is.fails = "link";
	runs(5);
}

static void of_links(void)
{
	for (unsigned int mode = XDP_ATTACHED_NONE; mode <= XDP_ATTACHED_MULTI; mode++) {
		there[0].mode = mode + 1;
		there[0].program = mode == XDP_ATTACHED_MULTI ? 0 : 70 + mode;
		look("XDP");
	}
	there[0].mode = NO_MODE;
	there[0].program = 79;
	look("XDP, and not how");
	begin();
	there[0].master = 9;
	there[1] = (struct link){ .ifindex = 9, .name = "a-long-name-br0", .mtu = 1400, .mode = 2, .program = 3 };
	look("a port of a bridge that is filtered");
	there[1].mode = 1;
	there[2] = there[1];
	there[2].ifindex = 10;
	there[2].name = "another";
	look("of one that is not");
	is.twice = true;
	look("and all comes twice");
}

static void of_peers(void)
{
	/* The peer comes before it. */
	there[1] = there[0];
	there[0] = (struct link){ .ifindex = 6, .name = "other", .mtu = 900, .mode = 3, .program = 8 };
	there[1].kind = "veth";
	there[1].link = 6;
	is.channels = true;
	is.queues = (struct ethtool_channels){ .rx_count = 2, .combined_count = 3, .tx_count = 4, .max_combined = 8 };
	is.peers = (struct ethtool_channels){ .tx_count = 5, .combined_count = 1, .max_tx = 9 };
	look("a pair");
	there[1].away = 1;
	look("the other end is in another namespace");
	there[1].away = 0;
	there[1].kind = "vlan";
	look("it stands on one");
	there[1].kind = "a-kind-of-many-letters";
	there[1].master = 6;
	look("it is a port of that");
	is.queues.max_tx = 7;
	is.queues.combined_count = 0;
	look("queues for each way");
}

static void receives(const char *what, unsigned int queues)
{
	unsigned int before;

	printf("%s", what);
	before = port_receive_on("eth1", queues);
	printf("\n  = %u before\n", before);
}

static void of_queues(void)
{
	is.driver = "veth";
	is.channels = true;
	is.queues = (struct ethtool_channels){ .rx_count = 2, .tx_count = 3, .max_rx = 8, .max_tx = 8 };
	receives("on all", 0);
	CHECK(is.queues.tx_count == 3, "it sends from %u now", is.queues.tx_count);
	receives("on all, as it does", 0);
	receives("back", 2);
	is.fails = "set";
	receives("it does not let that be set", 0);
	is.fails = NULL;
	is.channels = false;
	receives("it does not say on how many", 0);
	is.channels = true;
	is.driver = "veth2";
	receives("no veth", 0);
	is.driver = NULL;
	receives("of no name", 0);
	is.driver = "veth";
	is.no_socket = true;
	receives("no socket", 0);
}

static void of_features(void)
{
	is.family = 30;
	is.xdp = 35;
	look("it says its features");
	is.xdp = 1;
	is.family = 31;
	look("less");
	is.xdp = 0;
	look("none");
	is.family = 0;
	look("an older kernel");
}

static void of_drivers(void)
{
	static const int at[] = { 0, 31, 32, 255, 256, 299 };

	is.driver = "a-driver-with-the-longest-name-x";
	is.lro = true;
	is.functions = "4\n";
	is.features = 3;
	look("a driver");
	is.lro = false;
	is.functions = "0\n";
	is.driver = "i40e";
	is.gro = true;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		is.features = FEATURES;
		is.gro_at = at[i];
		look("it joins packets");
	}
	is.gro_at = 40;
	is.gro = false;
	look("it does not");
	is.gro = true;
	is.fails = "count";
	look("it counts no features");
	is.fails = "names";
	look("it names none");
	is.fails = "features";
	look("it does not say which it has");
	is.fails = "calloc";
	look("without memory for their names");
	is.features = 0;
	is.fails = "flags";
	is.lro = true;
	look("it has none, and no flags");
}

static void of_virtio(void)
{
	static const unsigned int each[] = { 0, 1, 2, 7, 8, 9, 10, 17 };
	char digits[70] = "";

	is.driver = "virtio_net";
	look("it says nothing");
	is.joined = digits;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		memset(digits, '0', 64);
		digits[each[i]] = '1';
		look("the host has one feature");
	}
	digits[1] = '1';
	digits[10] = '1';
	look("and two more");
	digits[2] = '1';
	look("it can be told not to");
	digits[2] = '0';
	digits[63] = '\0';
	look("too short");
	memset(digits, '1', 64);
	is.fails = "read";
	look("it cannot be read");
	is.fails = NULL;
	digits[VIRTIO_NET_F_CTRL_GUEST_OFFLOADS] = '0';
	is.driver = "virtio_nex";
	look("another driver");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "none", none },	  { "netlink fails", netlink_fails },
					       { "links", of_links },	  { "peers", of_peers },
					       { "queues", of_queues },	  { "features", of_features },
					       { "drivers", of_drivers }, { "virtio", of_virtio },
					       { "what runs", of_xdp } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
