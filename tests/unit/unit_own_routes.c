// SPDX-License-Identifier: GPL-2.0-only
/*
 * What this machine's addresses, gateways and tunnels are made of: each message of the kernel's, with attributes in any
 * order, cut short, and of kinds that nobody asked for; and what is asked again. Word for word.
 */
#include <errno.h>
#include <net/if.h>

#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/lwtunnel.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "base/netlink.h"
#include "change/own_internal.h"
#include "shown.h"

static const struct shown known_texts[] = {
#include "unit_own_routes.txt"
};

static struct shows shows = { .file = "tests/unit/unit_own_routes.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

#define SOCKET ((struct nl_socket *)&shows) /* nobody looks into it */

/* What the kernel has: messages one behind the other, each of what it is an answer to. */
static char kernel[1 << 18] __attribute__((aligned(8)));
static size_t kernel_n;
static struct nlmsghdr *now; /* the one that is written */
static const char *failing;
static int failing_with;
static bool strict, quiet, missed;
static size_t learned_n;

static int said(const char *what)
{
	printf("  %s\n", what);
	return failing && !strcmp(what, failing) ? because(failing_with, "no %s", what) : 0;
}

static int given_open(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	*socket = family == NETLINK_ROUTE && !flags && !groups ? SOCKET : NULL;
	return said("open");
}

static void given_close(struct nl_socket *socket)
{
	printf("  closed%s\n", socket == SOCKET ? "" : ", another");
}

static int given_option(const struct nl_socket *socket, int option, const void *value, size_t size)
{
	bool on = size == sizeof(int) && *(const int *)value == 1;

	if (socket != SOCKET || option != NETLINK_GET_STRICT_CHK)
		return -1;
	strict = on;
	return said(on ? "strict" : "not strict") ? -1 : 0;
}

static int given_dump(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg)
{
	static const struct {
		uint16_t kind;
		const char *name;
	} names[] = { { RTM_GETADDR, "addresses" },
		      { RTM_GETMULTICAST, "groups" },
		      { RTM_GETROUTE, "routes" },
		      { RTM_GETNEXTHOP, "nexthops" },
		      { RTM_GETLINK, "links" } };
	const unsigned char *bytes = request;
	char what[200], of[64] = "all";
	int left = (int)kernel_n, err;
	size_t k = 0;

	while (names[k].kind != kind)
		k++;
	if (bytes && kind == RTM_GETROUTE)
		snprintf(of, sizeof(of), "type %u", ((const struct rtmsg *)request)->rtm_type);
	else if (bytes)
		snprintf(of, sizeof(of), "family %u", bytes[0]);
	snprintf(what, sizeof(what), "%s%s of %s, %zu bytes", strict ? "strictly " : "", names[k].name, of, size);
	if (socket != SOCKET)
		return -EBADF;
	err = said(what);
	for (struct nlmsghdr *m = (struct nlmsghdr *)kernel; !err && nl_ok(m, left); m = nl_next(m, &left))
		if (m->nlmsg_type == kind && (kind != RTM_GETMULTICAST || *(unsigned char *)nl_payload(m) == bytes[0]))
			each(arg, m);
	return err;
}

static bool cut_off; /* groups are too many */

static int given_within(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, unsigned int ms,
			netlink_each_fn *each, void *arg, bool *all)
{
	printf("  within %u ms\n", ms);
	*all = !cut_off;
	return given_dump(socket, kind, request, size, each, arg);
}

static int given_links(struct nl_socket *socket, netlink_each_fn *each, void *arg)
{
	return given_dump(socket, RTM_GETLINK, NULL, sizeof(struct ifinfomsg), each, arg);
}

static void given_learn(struct learned *l, struct addr addr, const char *what, const char *where, ...)
{
	char text[PREFIX_TEXT_MAX], at[80];
	va_list args;

	(void)l;
	learned_n++;
	if (quiet || !addr.family)
		return;
	va_start(args, where);
	vsnprintf(at, sizeof(at), where, args);
	va_end(args);
	printf("  %s: %s, %s\n", prefix_text(text, addr, -1), what, at);
}

static bool given_wanted(const struct learned *l, struct addr addr)
{
	(void)l;
	return addr.family != 4 || addr.num >> 24 != 127;
}

static void given_wireguard(struct learned *l, unsigned int index, const char *name)
{
	(void)l;
	printf("  WireGuard of %u, %s\n", index, name);
}

static void given_forwarding(struct learned *l, unsigned int index, const char *name)
{
	(void)l;
	printf("  forwarding table of %u, %s\n", index, name);
}

static void given_neighbours(struct learned *l, unsigned int index, const char *name)
{
	(void)l;
	printf("  neighbours of %u, %s\n", index, name);
}

static bool given_missed(struct learned *l)
{
	(void)l;
	if (missed)
		printf("  far ends are missed\n");
	return missed;
}

static void given_settle(struct learned *l)
{
	(void)l;
	if (missed)
		printf("  far ends are settled\n");
}

static void given_xfrm(struct learned *l)
{
	(void)l;
	printf("  IPsec\n");
}

static char *given_name(unsigned int index, char *name)
{
	if (index == 99)
		return NULL;
	snprintf(name, IF_NAMESIZE, "eth%u", index);
	return name;
}

#define netlink_open	    given_open
#define netlink_dump	    given_dump
#define netlink_dump_within given_within
#define netlink_links	    given_links
#define nl_close	    given_close
#define nl_option	    given_option
#define own_learn	    given_learn
#define own_wanted	    given_wanted
#define own_from_wireguard  given_wireguard
#define own_from_xfrm	    given_xfrm
#define if_indextoname	    given_name
#define own_from_forwarding given_forwarding
#define own_from_neighbours given_neighbours
#define own_ends_missed	    given_missed
#define own_ends_settle	    given_settle
#include "change/own_routes.c"

/* --- What the kernel has --- */

static void *begin(uint16_t answers, size_t size)
{
	now = nl_put_header(kernel + kernel_n);
	now->nlmsg_type = answers;
	return nl_put_extra(now, size);
}

static void end(void)
{
	kernel_n += NLMSG_ALIGN(now->nlmsg_len);
	if (kernel_n > sizeof(kernel) - 4096)
		abort();
}

static void attr4(uint16_t type, uint32_t addr)
{
	const uint8_t bytes[4] = { (uint8_t)(addr >> 24), (uint8_t)(addr >> 16), (uint8_t)(addr >> 8), (uint8_t)addr };

	nl_put(now, type, 4, bytes);
}

/* Of 2001:db8::, or one that has an address of IPv4 in it. */
static void attr6(uint16_t type, uint8_t last, bool mapped)
{
	uint8_t bytes[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = last };

	if (mapped)
		memcpy(bytes, (uint8_t[]){ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2 }, 15);
	nl_put(now, type, 16, bytes);
}

static void address(uint8_t family, uint8_t scope, uint32_t index)
{
	*(struct ifaddrmsg *)begin(RTM_GETADDR, sizeof(struct ifaddrmsg)) =
		(struct ifaddrmsg){ .ifa_family = family, .ifa_scope = scope, .ifa_index = index };
}

static void has_addresses(void)
{
	address(AF_INET, RT_SCOPE_UNIVERSE, 1);
	attr4(IFA_ADDRESS, 0xc0000201);
	attr4(IFA_LOCAL, 0xc0000201);
	attr4(IFA_BROADCAST, 0xc00002ff);
	end();
	address(AF_INET, RT_SCOPE_LINK, 2); /* point to point */
	attr4(IFA_LOCAL, 0xc0000202);
	attr4(IFA_ADDRESS, 0xc6336401);
	end();
	address(AF_INET, RT_SCOPE_HOST, 3);
	attr4(IFA_LOCAL, 0xcb007101);
	attr4(IFA_BROADCAST, 0xcb0071ff);
	end();
	address(AF_INET6, RT_SCOPE_UNIVERSE, 4);
	attr6(IFA_ADDRESS, 1, false);
	end();
	address(AF_INET6, RT_SCOPE_UNIVERSE, 99);
	attr6(IFA_LOCAL, 2, false);
	end();
	address(AF_INET6, RT_SCOPE_UNIVERSE, 4);
	attr6(IFA_ADDRESS, 9, true);
	end();
	address(AF_INET, RT_SCOPE_UNIVERSE, 5);
	attr4(IFA_LABEL, 0xc0000203);
	end();
	address(AF_INET, RT_SCOPE_UNIVERSE, 5);
	nl_put(now, IFA_LOCAL, 3, "abc");
	end();
	address(AF_INET, RT_SCOPE_UNIVERSE, 5);
	attr4(IFA_LOCAL, 0x7f000001);
	attr4(IFA_ADDRESS, 0xc6336402);
	end();
	address(0, RT_SCOPE_UNIVERSE, 5);
	attr4(IFA_LOCAL, 0xc0000204);
	end();
}

static void group(uint8_t family)
{
	*(struct ifaddrmsg *)begin(RTM_GETMULTICAST, sizeof(struct ifaddrmsg)) =
		(struct ifaddrmsg){ .ifa_family = family, .ifa_index = 6 };
	if (family == AF_INET)
		attr4(IFA_MULTICAST, 0xe00000fb);
	else
		attr6(IFA_MULTICAST, 0xfb, false);
	attr4(IFA_LOCAL, 0xc0000205);
	end();
}

static void has_groups(void)
{
	group(AF_INET);
	group(AF_INET6);
}

static struct rtmsg *route(uint8_t family, uint8_t table)
{
	struct rtmsg *header = begin(RTM_GETROUTE, sizeof(*header));

	*header = (struct rtmsg){ .rtm_family = family, .rtm_table = table };
	return header;
}

static void via6(uint8_t last, size_t size)
{
	uint8_t bytes[2 + 16] = { [2] = 0x20, [3] = 0x01, [4] = 0x0d, [5] = 0xb8, [17] = last };
	const uint16_t family = AF_INET6;

	memcpy(bytes, &family, sizeof(family));
	nl_put(now, RTA_VIA, size, bytes);
}

static void path(uint32_t gateway)
{
	struct rtnexthop *at = (struct rtnexthop *)((char *)now + NLMSG_ALIGN(now->nlmsg_len));

	memset(at, 0, sizeof(*at));
	now->nlmsg_len += sizeof(*at);
	attr4(RTA_GATEWAY, gateway);
	at->rtnh_len = (unsigned short)((char *)now + now->nlmsg_len - (char *)at);
}

/* In what packets are wrapped, and what the kernel says of that behind it. */
static void wrap4(uint16_t in, uint16_t kind_is, unsigned int kind, uint32_t to)
{
	struct nlattr *wrap = nl_nest_begin(now, in);

	nl_put(now, LWTUNNEL_IP_ID, 8, "\0\0\0\0\0\0\0d");
	attr4(LWTUNNEL_IP_DST, to);
	attr4(LWTUNNEL_IP_SRC, 0xc6336563);
	nl_nest_end(now, wrap);
	nl_put(now, kind_is, 2, &(uint16_t){ (uint16_t)kind });
}

static void wrap6(uint16_t in, uint16_t kind_is, uint8_t last)
{
	struct nlattr *wrap = nl_nest_begin(now, in);

	attr6(LWTUNNEL_IP6_DST, last, false);
	attr6(LWTUNNEL_IP6_SRC, 99, false);
	nl_nest_end(now, wrap);
	nl_put(now, kind_is, 2, &(uint16_t){ LWTUNNEL_ENCAP_IP6 });
}

static void wrapped_path(uint32_t to)
{
	struct rtnexthop *at = (struct rtnexthop *)((char *)now + NLMSG_ALIGN(now->nlmsg_len));

	memset(at, 0, sizeof(*at));
	now->nlmsg_len += sizeof(*at);
	wrap4(RTA_ENCAP, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_IP, to);
	at->rtnh_len = (unsigned short)((char *)now + now->nlmsg_len - (char *)at);
}

static void has_wrapped(void)
{
	struct nlattr *paths;

	route(AF_INET, RT_TABLE_MAIN);
	wrap4(RTA_ENCAP, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_IP, 0xc6336501);
	end();
	route(AF_INET6, RT_TABLE_MAIN);
	wrap4(RTA_ENCAP, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_IP, 0xc6336502);
	nl_put_u32(now, RTA_TABLE, 1001);
	end();
	route(AF_INET, RT_TABLE_MAIN);
	wrap6(RTA_ENCAP, RTA_ENCAP_TYPE, 0x13);
	attr4(RTA_GATEWAY, 0xc0000407);
	end();
	route(AF_INET, RT_TABLE_MAIN);
	paths = nl_nest_begin(now, RTA_MULTIPATH);
	wrapped_path(0xc6336504);
	path(0xc0000408);
	wrapped_path(0xc6336505);
	nl_nest_end(now, paths);
	end();
	/* Of another kind, of none, and only a kind. */
	route(AF_INET, RT_TABLE_MAIN);
	wrap4(RTA_ENCAP, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_MPLS, 0xc6336561);
	end();
	route(AF_INET, RT_TABLE_MAIN);
	wrap4(RTA_ENCAP, RTA_MARK, LWTUNNEL_ENCAP_IP, 0xc6336562);
	end();
	route(AF_INET, RT_TABLE_MAIN);
	nl_put(now, RTA_ENCAP_TYPE, 2, &(uint16_t){ LWTUNNEL_ENCAP_IP });
	end();
	*(struct nhmsg *)begin(RTM_GETNEXTHOP, sizeof(struct nhmsg)) = (struct nhmsg){ .nh_family = AF_INET };
	nl_put_u32(now, NHA_ID, 8);
	wrap4(NHA_ENCAP, NHA_ENCAP_TYPE, LWTUNNEL_ENCAP_IP, 0xc6336506);
	end();
	*(struct nhmsg *)begin(RTM_GETNEXTHOP, sizeof(struct nhmsg)) = (struct nhmsg){ .nh_family = AF_INET6 };
	nl_put_u32(now, NHA_ID, 9);
	wrap6(NHA_ENCAP, NHA_ENCAP_TYPE, 0x17);
	end();
}

static void has_routes(void)
{
	struct nlattr *paths;

	route(AF_INET, RT_TABLE_MAIN);
	nl_put_u32(now, RTA_TABLE, 1000);
	attr4(RTA_DST, 0xc0000300);
	attr4(RTA_GATEWAY, 0xc0000401);
	end();
	route(AF_INET, RT_TABLE_MAIN);
	via6(1, 18);
	end();
	route(AF_INET, RT_TABLE_MAIN);
	via6(2, 17);
	via6(3, 2);
	via6(4, 1);
	end();
	route(AF_INET6, RT_TABLE_LOCAL);
	attr6(RTA_GATEWAY, 5, false);
	end();
	route(AF_INET, RT_TABLE_MAIN);
	paths = nl_nest_begin(now, RTA_MULTIPATH);
	path(0xc0000402);
	path(0xc0000403);
	nl_nest_end(now, paths);
	end();
	/* The last one is longer than what is there. */
	route(AF_INET, RT_TABLE_MAIN);
	paths = nl_nest_begin(now, RTA_MULTIPATH);
	path(0xc0000404);
	path(0xc0000405);
	nl_nest_end(now, paths);
	paths->nla_len -= 4;
	end();
	route(AF_INET, RT_TABLE_MAIN);
	nl_put(now, RTA_MULTIPATH, 0, "");
	end();
}

static void has_nexthops(void)
{
	*(struct nhmsg *)begin(RTM_GETNEXTHOP, sizeof(struct nhmsg)) = (struct nhmsg){ .nh_family = AF_INET };
	nl_put_u32(now, NHA_ID, 7);
	nl_put_u32(now, NHA_OIF, 1);
	attr4(NHA_GATEWAY, 0xc0000501);
	end();
	*(struct nhmsg *)begin(RTM_GETNEXTHOP, sizeof(struct nhmsg)) = (struct nhmsg){ .nh_family = AF_INET6 };
	attr6(NHA_GATEWAY, 6, false);
	end();
}

static void link_of(int index, const char *kind, uint16_t attribute, unsigned int family)
{
	struct nlattr *info, *data;

	((struct ifinfomsg *)begin(RTM_GETLINK, sizeof(struct ifinfomsg)))->ifi_index = index;
	nl_put(now, IFLA_IFNAME, 3, "t0");
	info = nl_nest_begin(now, IFLA_LINKINFO);
	if (*kind)
		nl_put(now, IFLA_INFO_KIND, strlen(kind) + 1, kind);
	if (attribute) {
		data = nl_nest_begin(now, IFLA_INFO_DATA);
		nl_put_u32(now, IFLA_MAX, 1);
		if (family != 6)
			attr4(attribute, family ? 0xc6336400 + (uint32_t)index : 0);
		else
			attr6(attribute, (uint8_t)index, false);
		nl_nest_end(now, data);
	}
	nl_nest_end(now, info);
	end();
}

static void has_links(void)
{
	static const char *const kinds[] = { "ipip",   "sit",	    "ip6tnl", "gre",  "gretap", "ip6gre", "ip6gretap",
					     "erspan", "ip6erspan", "vti",    "vti6", "vxlan",	"geneve", "bridge" };
	static const uint16_t ends[] = { IFLA_IPTUN_REMOTE, IFLA_GRE_REMOTE,	IFLA_VTI_REMOTE,    IFLA_VXLAN_GROUP,
					 IFLA_VXLAN_GROUP6, IFLA_GENEVE_REMOTE, IFLA_GENEVE_REMOTE6 };
	int index = 10;

	/* Some of these numbers are the same: each kind has its own. */
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (size_t j = 0; j < sizeof(ends) / sizeof(ends[0]); j++)
			link_of(index++, kinds[i], ends[j], j == 4 || j == 6 ? 6 : 4);
	link_of(98, "wireguard", 0, 4);
	link_of(99, "wireguard", IFLA_GRE_REMOTE, 4);
	link_of(1, "", IFLA_GRE_REMOTE, 4);
	link_of(2, "gre", 0, 4);
	link_of(3, "gre", IFLA_GRE_REMOTE, 0); /* any */
	link_of(4, "ip6gre", IFLA_GRE_REMOTE, 0);
	link_of(5, "gretap", IFLA_GRE_REMOTE, 0);
}

/* --- What happens --- */

static struct learned learned;

static void begins(void)
{
	kernel_n = 0;
	failing = NULL;
	failing_with = -EIO;
	strict = missed = false;
	learned = (struct learned){ 0 };
	memset(&known, 0, sizeof(known));
}

static void learns(void)
{
	int err = own_from_routes(&learned);

	printf("%s\n", err ? reason(err) : "all is known");
}

static void addresses(void)
{
	has_addresses();
	has_groups();
	learns();
	learned.groups = true;
	learns();
}

/* Any user may have joined more than there is time for: that is said once, and ends nothing. */
static void many_groups(void)
{
	FILE *messages = stderr;
	char *text = NULL;
	size_t size;

	has_groups();
	learned.groups = cut_off = true;
	stderr = open_memstream(&text, &size);
	learns();
	learns();
	fclose(stderr);
	stderr = messages;
	cut_off = false;
	printf("said: %s", text);
	free(text);
}

static void routes(void)
{
	has_routes();
	has_nexthops();
	learns();
}

/* Where they go is as well known when it is not asked again. */
static void wrapped(void)
{
	has_wrapped();
	own_routes_are(7);
	learns();
	learns();
}

static void links(void)
{
	has_links();
	learns();
}

static void links_again(void)
{
	link_of(1, "vxlan", IFLA_VXLAN_GROUP, 4);
	missed = true;
	learns();
	failing = "links of all, 16 bytes";
	learns();
}

static void each_fails(void)
{
	static const char *const each[] = { "open",
					    "addresses of all, 8 bytes",
					    "groups of family 2, 8 bytes",
					    "groups of family 10, 8 bytes",
					    "strict",
					    "strictly routes of type 1, 12 bytes",
					    "not strict",
					    "nexthops of all, 8 bytes",
					    "links of all, 16 bytes" };

	route(AF_INET, RT_TABLE_MAIN);
	attr4(RTA_GATEWAY, 0xc0000401);
	end();
	learned.groups = true;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		for (int how = 0; how < 2; how++) {
			failing = each[i];
			failing_with = how ? -EOPNOTSUPP : -EIO;
			printf("%s: %s\n", failing, errno_text(failing_with));
			learns();
		}
}

static void all_routes(void)
{
	has_routes();
	own_routes_are(3);
	failing = "strict";
	learns();
	failing = "routes of all, 12 bytes";
	learns();
	own_routes_are(4);
	strict = false;
	failing = "strictly routes of type 1, 12 bytes";
	learns();
	learns();
}

static void asked_again(void)
{
	has_routes();
	has_routes();
	puts("of no version");
	learns();
	learns();
	own_routes_are(7);
	puts("of version 7");
	learns();
	puts("the same");
	learns();
	own_routes_are(8);
	kernel_n = 0;
	puts("of version 8");
	learns();
	learns();
	own_routes_are(0);
	puts("of none again");
	learns();
}

/* As many as there is room for, and one more: then they are asked for each time. */
static void many(void)
{
	for (uint32_t more = 0; more < 2; more++) {
		begins();
		own_routes_are(5);
		for (uint32_t i = 0; i < GATEWAYS_MOST + more; i++) {
			route(AF_INET, i % 2 ? 100 : 200);
			attr4(RTA_GATEWAY, 0x0a000001 + i / 2);
			end();
		}
		quiet = true;
		learns();
		printf("%zu are known, of version %d\n", known.n, (int)known.version);
		quiet = false;
		kernel_n = 0;
		learned_n = 0;
		quiet = true;
		learns();
		printf("%zu were learned again\n", learned_n);
		quiet = false;
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "addresses", addresses },
					       { "many groups", many_groups },
					       { "routes", routes },
					       { "wrapped", wrapped },
					       { "links", links },
					       { "links again", links_again },
					       { "each fails", each_fails },
					       { "all routes", all_routes },
					       { "asked again", asked_again },
					       { "many", many } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begins);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
