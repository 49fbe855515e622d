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

static int ask(const char *ifname, unsigned long what, struct ifreq *request)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	*request = (struct ifreq){ 0 };
	snprintf(request->ifr_name, sizeof(request->ifr_name), "%s", ifname);
	err = fd < 0 || ioctl(fd, what, request) ? -errno : 0;
	close_fd(fd);
	return err;
}

static int hardware_type(const char *ifname)
{
	struct ifreq request;

	return ask(ifname, SIOCGIFHWADDR, &request) ?: request.ifr_hwaddr.sa_family;
}

/*
 * Was it made with one far end? Of any other gre the kernel hands on each packet with the outer header as that of the
 * link (ipgre_header_ops), which never changes; and these flags say so, as the kernel refuses each change of the far
 * end that would change them.
 */
static bool has_far_end(const char *ifname)
{
	struct ifreq request;

	return !ask(ifname, SIOCGIFFLAGS, &request) &&
	       (request.ifr_flags & (IFF_POINTOPOINT | IFF_BROADCAST)) == IFF_POINTOPOINT;
}

/*
 * NULL: a tunnel of that type does not. Until 5.14 what comes out of any had the outer header, or that and the one of
 * Ethernet, before it.
 */
static const char *why_it_shows_outer(const char *ifname, int type)
{
	if (host_kernel() < KERNEL_VERSION(5, 14, 0))
		return "before 5.14 kernels show programs what is around the packets of a tunnel";
	return type == ARPHRD_IPGRE && !has_far_end(ifname)
		       ? "programs are shown what is around the packets of a gre without a fixed far end"
		       : NULL;
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

static size_t bare_kind(const char *kind, int type)
{
	size_t i = 0;

	while (i < BARE_KINDS && (type != bare_kinds[i].type || strcmp(kind, bare_kinds[i].kind) != 0))
		i++;
	return i;
}

static bool has_ethernet(int type)
{
	return type == ARPHRD_ETHER || type == ARPHRD_LOOPBACK;
}

bool link_shows_outer(const char *ifname)
{
	int type = hardware_type(ifname);
	char kind[NETLINK_KIND_MAX];
	size_t i;

	if (type < 0 || has_ethernet(type) || netlink_kind(if_nametoindex(ifname), kind))
		return false;
	i = bare_kind(kind, type);
	return i < BARE_KINDS && bare_kinds[i].is_tunnel && why_it_shows_outer(ifname, type);
}

void link_fit(struct attachment *at)
{
	if (MATCH_BY_TC(at->match) || at->shared || !link_shows_outer(at->name))
		return;
	at->mode = MODE_TC;
	at->match = MATCH_COMING(at->match);
}

int link_header(const struct attachment *at, bool *bare)
{
	int type = hardware_type(at->name), err;
	char kind[NETLINK_KIND_MAX];
	const char *why;
	size_t i;

	*bare = false;
	if (type < 0)
		return because(type, "%s: %s", at->name, errno_text(type));
	err = netlink_kind(if_nametoindex(at->name), kind);
	if (err)
		return because_kernel(err, at->name);
	/* Of these who owns them says the type (TUNSETLINK), without any right, and the kernel delivers by the kind. */
	if (!strcmp(kind, "tap"))
		type = ARPHRD_ETHER;
	else if (!strcmp(kind, "tun"))
		type = ARPHRD_NONE;
	/* What comes in by these is delivered by what the sender's socket said, whatever the frame says. */
	*bare = (!strcmp(kind, "netkit") || !strcmp(kind, "vxlan")) && MATCH_BY_TC(at->match) &&
		!MATCH_LEAVES(at->match);
	if (*bare || has_ethernet(type))
		return 0;
	*bare = MATCH_BY_TC(at->match);
	if (*bare)
		return 0;
	i = bare_kind(kind, type);
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
	why = bare_kinds[i].is_tunnel ? why_it_shows_outer(at->name, type) : NULL;
	return why ? because(-EOPNOTSUPP,
			     "%s: %s, and not these; use --mode tc, or attach to the interface that they come in through",
			     at->name, why)
		   : 0;
}
