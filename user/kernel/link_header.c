// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/link_header.h"

#include <errno.h>
#include <net/if.h>
#include <linux/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/netlink.h"
#include "kernel/attachment.h"
#include "kernel/host.h"

static int hardware_type(const char *ifname)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	err = fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request) ? -errno : 0;
	close_fd(fd);
	return err ? because(err, "%s: %s", ifname, errno_text(err)) : request.ifr_hwaddr.sa_family;
}

/* Until 5.14 what comes out of them still had the outer header, or that and the one of Ethernet, before it. */
static int tunnels_are_clean(const char *ifname)
{
	if (host_kernel() >= KERNEL_VERSION(5, 14, 0))
		return 0;
	return because(-EOPNOTSUPP,
		       "%s: before 5.14 kernels show programs what is around the packets of a tunnel, and"
		       " not these; use --mode tc, or attach to the interface that they come in through",
		       ifname);
}

/* Those that were tried: what programs see of others (xfrm, vti, ...) begins now with this and now with that. */
static const struct {
	const char *kind;
	int type;
	bool is_tunnel;
} bare_kinds[] = {
	{ "tun", ARPHRD_NONE, false },	   { "wireguard", ARPHRD_NONE, false }, { "ipip", ARPHRD_TUNNEL, true },
	{ "sit", ARPHRD_SIT, true },	   { "gre", ARPHRD_IPGRE, true },	{ "ip6tnl", ARPHRD_TUNNEL6, true },
	{ "ip6gre", ARPHRD_IP6GRE, true },
};
#define BARE_KINDS (sizeof(bare_kinds) / sizeof(bare_kinds[0]))

int link_header(const struct attachment *at, bool *bare)
{
	int type = hardware_type(at->name), err;
	char kind[NETLINK_KIND_MAX];
	size_t i = 0;

	*bare = false;
	if (type < 0)
		return type;
	err = netlink_kind(if_nametoindex(at->name), kind);
	if (err)
		return because_kernel(err, at->name);
	/* Of these who owns them says the type (TUNSETLINK), without any right, and the kernel delivers by the kind. */
	if (!strcmp(kind, "tap"))
		type = ARPHRD_ETHER;
	else if (!strcmp(kind, "tun"))
		type = ARPHRD_NONE;
	if (type == ARPHRD_ETHER || type == ARPHRD_LOOPBACK)
		return 0;
	*bare = MATCH_BY_TC(at->match);
	if (*bare)
		return 0;
	while (i < BARE_KINDS && (type != bare_kinds[i].type || strcmp(kind, bare_kinds[i].kind) != 0))
		i++;
	if (i == BARE_KINDS)
		return because(
			-EOPNOTSUPP,
			"%s: its packets have no Ethernet header, and it is none of those that are read without"
			" (tun, WireGuard, ipip, sit, gre, ip6tnl, ip6gre); use --mode tc, or attach to the interface"
			" that they come in through",
			at->name);
	if (at->shared)
		return because(-EOPNOTSUPP, "%s: --shared is for interfaces with an Ethernet header", at->name);
	*bare = true;
	return bare_kinds[i].is_tunnel ? tunnels_are_clean(at->name) : 0;
}
