// SPDX-License-Identifier: GPL-2.0-only
/* Names of ports in a text that names some; and what is said of each kind of interface, where the kernel is made up. */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/netlink.h"
#include "shown.h"

static char handle;
static int open_err, dump_err;
static bool is_open;
/* What it says, one behind the other. */
static char said[131072] __attribute__((aligned(NLMSG_ALIGNTO)));
static int said_n;

static int given_open(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	if (family != NETLINK_ROUTE || flags || groups)
		abort();
	*socket = (struct nl_socket *)&handle;
	is_open = !open_err;
	return open_err;
}

static void given_close(struct nl_socket *socket)
{
	if (socket != (struct nl_socket *)&handle || !is_open)
		abort();
	is_open = false;
}

static int given_links(struct nl_socket *socket, netlink_each_fn *each, void *arg)
{
	int left = said_n;

	if (socket != (struct nl_socket *)&handle)
		abort();
	for (const struct nlmsghdr *m = (struct nlmsghdr *)said; nl_ok(m, left); m = nl_next(m, &left))
		each(arg, m);
	return dump_err;
}

static int given_link(unsigned int ifindex, netlink_each_fn *each, void *arg)
{
	int left = said_n;

	for (const struct nlmsghdr *m = (struct nlmsghdr *)said; nl_ok(m, left); m = nl_next(m, &left))
		if (((const struct ifinfomsg *)nl_payload(m))->ifi_index == (int)ifindex)
			each(arg, m);
	return open_err ?: dump_err;
}

static unsigned int dumps;
static int first_err;

/* By kind: a kernel that does not know it answers with all. */
static int given_first(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, size_t most,
		       netlink_each_fn *each, void *arg, bool *all)
{
	const struct ifinfomsg *link = request;
	const struct nlattr *info = (const struct nlattr *)(link + 1), *of = nl_attr_payload(info);
	int left = said_n;

	if (socket != (struct nl_socket *)&handle || kind != RTM_GETLINK || size != sizeof(*link) + info->nla_len ||
	    nl_attr_type(info) != IFLA_LINKINFO || nl_attr_type(of) != IFLA_INFO_KIND || !nl_attr_is_text(of) ||
	    (strcmp(nl_attr_text(of), "veth") != 0 && strcmp(nl_attr_text(of), "netkit") != 0))
		abort();
	dumps++;
	for (const struct nlmsghdr *m = (struct nlmsghdr *)said; nl_ok(m, left) && most; m = nl_next(m, &left), most--)
		each(arg, m);
	*all = most;
	return first_err;
}

/* edge9 is the one that is asked of. */
static unsigned int given_number(const char *name)
{
	return strcmp(name, "edge9") ? 0 : 9;
}

static char *given_name(unsigned int number, char *name)
{
	if (number != 2)
		return NULL;
	return strcpy(name, "edge2");
}

static bool outer;

static bool given_outer(const char *name)
{
	return outer && !strcmp(name, "edge9");
}

#define netlink_open   given_open
#define nl_close       given_close
#define netlink_link   given_link
#define netlink_links  given_links
#define if_nametoindex given_number
#define if_indextoname given_name

#define netlink_dump_first given_first
#define link_shows_outer   given_outer
#include "kernel/device.c"

static const struct shown known[] = {
#include "unit_device.txt"
};

static struct shows shows = { .file = "tests/unit/unit_device.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* --- What the kernel says --- */

static struct nlmsghdr *says(int index, const char *name)
{
	struct nlmsghdr *m = nl_put_header(said + said_n);
	struct ifinfomsg *link = nl_put_extra(m, sizeof(*link));

	link->ifi_index = index;
	if (name)
		nl_put(m, IFLA_IFNAME, strlen(name) + 1, name);
	return m;
}

static void end(const struct nlmsghdr *m)
{
	said_n += (int)NLMSG_ALIGN(m->nlmsg_len);
	if (said_n > (int)sizeof(said) - 512)
		abort();
}

static void port(int index, const char *name, uint32_t of)
{
	struct nlmsghdr *m = says(index, name);

	nl_put_u32(m, IFLA_MASTER, of);
	end(m);
}

static void put_kind(struct nlmsghdr *m, const char *kind, int mode)
{
	struct nlattr *info = nl_nest_begin(m, IFLA_LINKINFO), *data;

	nl_put(m, IFLA_INFO_KIND, strlen(kind), kind);
	if (mode >= 0) {
		data = nl_nest_begin(m, IFLA_INFO_DATA);
		nl_put(m, IFLA_IPVLAN_FLAGS, sizeof(uint16_t), &(uint16_t){ IPVLAN_MODE_L3S });
		nl_put(m, IFLA_IPVLAN_MODE, sizeof(uint16_t), &(uint16_t){ (uint16_t)mode });
		nl_nest_end(m, data);
	}
	nl_nest_end(m, info);
}

/* below: the interface under it, 0: none; far: that is in another network namespace. */
static void is_of(const char *kind, uint32_t below, bool far, int mode)
{
	struct nlmsghdr *m = says(9, "edge9");

	if (below)
		nl_put_u32(m, IFLA_LINK, below);
	if (far)
		nl_put_u32(m, IFLA_LINK_NETNSID, 0);
	put_kind(m, kind, mode);
	end(m);
}

static void asked(const char *name)
{
	char text[DEVICE_TEXT_MAX];

	printf("%s: %s\n", name, device_misses(name, MODE_NATIVE, text) ? text : "nothing is said");
	if (is_open)
		abort();
}

/* --- What is asked --- */

static void kinds(void)
{
	static const char *const all[] = { "bridge",  "bond",	 "team",   "vrf",  "ifb",   "vlan",
					   "macvlan", "macvtap", "ipvlan", "veth", "dummy", "" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		said_n = 0;
		is_of(all[i], 2, false, -1);
		printf("%s, ", all[i]);
		asked("edge9");
		said_n = 0;
		is_of(all[i], 2, true, -1);
		printf("%s, of which one end is elsewhere, ", all[i]);
		asked("edge9");
		said_n = 0;
		is_of(all[i], 0, false, -1);
		port(3, "edge3", 9);
		printf("%s, with a port, ", all[i]);
		asked("edge9");
	}
}

/* Of a pair, by modes. */
static void ends_of_pairs(void)
{
	static const char *const all[] = { "veth", "netkit", "vxlan", "veth1" };
	char text[DEVICE_TEXT_MAX];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (int far = 0; far < 2; far++)
			for (enum attach_mode mode = MODE_AUTO; mode <= MODE_TC; mode++) {
				said_n = 0;
				is_of(all[i], 2, far, -1);
				printf("%s, %s, %s: %s; ", all[i], far ? "away" : "here", attach_mode_names[mode],
				       device_misses("edge9", mode, text) ? text : "nothing is said");
				puts(device_gone_round("edge9", mode, text) ? text : "nothing");
			}
	said_n = 0;
	is_of("bridge", 2, true, -1);
	printf("a bridge: %s\n", device_gone_round("edge9", MODE_SKB, text) ? text : "nothing");
	dump_err = -ENOMEM;
	is_of("veth", 2, true, -1);
	printf("no memory: %s\n", device_gone_round("edge9", MODE_SKB, text) ? text : "nothing");
}

/* The end of a tunnel, and others: where a pair is here, where one is of which the other end is away, and where there
 * are many. */
static void tunnel(const char *what, const char *kind)
{
	char text[DEVICE_TEXT_MAX];
	bool said_so;

	is_of(kind, 2, false, -1);
	for (enum attach_mode mode = MODE_NATIVE; mode <= MODE_TC; mode++) {
		dumps = 0;
		said_so = device_gone_round("edge9", mode, text);
		printf("%s, %s, %s: %s; asked %u times", kind, what, attach_mode_names[mode],
		       said_so ? text : "nothing", dumps);
		printf("; %s\n", device_misses("edge9", mode, text) ? "so says attach" : "nothing");
		if (is_open)
			abort();
	}
}

static void other(int index, const char *kind, bool far)
{
	struct nlmsghdr *m = says(index, "other");

	if (far)
		nl_put_u32(m, IFLA_LINK_NETNSID, 0);
	put_kind(m, kind, -1);
	end(m);
}

static void tunnel_ends(void)
{
	static const char *const all[] = { "vxlan",	"geneve", "gre", "gretap", "erspan",	"ip6gre", "ip6gretap",
					   "ip6erspan", "ipip",	  "sit", "ip6tnl", "wireguard", "dummy",  "" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		said_n = 0;
		other(3, "veth", true);
		tunnel("a pair's end away", all[i]);
	}
	said_n = 0;
	other(3, "veth", false);
	other(4, "vlan", true);
	tunnel("pairs here", "geneve");
	said_n = 0;
	other(3, "veth", false);
	other(4, "netkit", true);
	tunnel("a netkit's end away", "geneve");
	said_n = 0;
	other(3, "veth", true);
	first_err = -ENOMEM;
	tunnel("no memory behind it", "geneve");
	said_n = 0;
	tunnel("no memory", "geneve");
	first_err = 0;
	open_err = -EMFILE;
	tunnel("no socket", "geneve");
}

/* A gre that a version before took in skb mode, though it shows programs what is around its packets. */
static void outer_header(void)
{
	said_n = 0;
	open_err = 0;
	outer = true;
	tunnel("without a far end", "gre");
	outer = false;
}

/* More pairs than are looked at: some may be. More others: not. */
static void many(void)
{
	static const struct {
		const char *kind;
		unsigned int n;
	} each[] = { { "veth", PAIRS_MOST }, { "veth", PAIRS_MOST - 1 }, { "vlan", PAIRS_MOST } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		said_n = 0;
		for (unsigned int n = 0; n < each[i].n; n++)
			other((int)n + 20, each[i].kind, false);
		printf("%u of %s: ", each[i].n, each[i].kind);
		tunnel("many", "geneve");
	}
}

/* Who has a share of what it receives, here or in another network namespace. */
static void shared(void)
{
	static const char *const all[] = { "macvlan", "macvtap", "ipvlan", "ipvtap", "vlan", "veth" };
	char text[DEVICE_TEXT_MAX];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (int k = 0; k < 3; k++) {
			struct nlmsghdr *m;

			said_n = 0;
			is_of(k < 2 ? "dummy" : "bridge", 0, false, -1);
			m = says(12, "edge12");
			nl_put_u32(m, IFLA_LINK, 9);
			if (k == 1)
				nl_put_u32(m, IFLA_LINK_NETNSID, 0);
			put_kind(m, all[i], -1);
			end(m);
			printf("%s %s, ", all[i], k == 0 ? "above it" : k == 1 ? "of another's" : "above a bridge");
			asked("edge9");
		}
	said_n = 0;
	is_of("macvlan", 2, false, -1);
	printf("a macvlan in skb mode: %s\n", device_misses("edge9", MODE_SKB, text) ? text : "nothing is said");
}

static void ipvlans(void)
{
	for (int mode = IPVLAN_MODE_L2; mode < IPVLAN_MODE_MAX; mode++) {
		said_n = 0;
		is_of("ipvlan", 2, false, mode);
		printf("mode %d, ", mode);
		asked("edge9");
	}
	said_n = 0;
	is_of("ipvlan", 2, true, IPVLAN_MODE_L3S);
	printf("elsewhere, ");
	asked("edge9");
	said_n = 0;
	is_of("macvlan", 2, false, IPVLAN_MODE_L3S);
	printf("no ipvlan, ");
	asked("edge9");
}

static void ports(void)
{
	char name[IF_NAMESIZE];

	is_of("bridge", 0, false, -1);
	port(3, "edge3", 9);
	port(4, "edge4", 8);
	port(5, NULL, 9);
	port(6, "edge30", 9);
	port(3, "edge3", 9);
	asked("edge9");
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "edge-long-%d", 10000 + i);
		port(10 + i, name, 9);
	}
	asked("edge9");
}

static void not_known(void)
{
	is_of("ifb", 0, false, -1);
	asked("edge8");
	open_err = -EMFILE;
	asked("edge9");
	open_err = 0;
	dump_err = -ENOMEM;
	asked("edge9");
	dump_err = 0;
	asked("edge9");
	/* Another's. */
	said_n = 0;
	end(says(9, "edge9"));
	put_kind(says(8, "edge8"), "ifb", -1);
	end((struct nlmsghdr *)(said + said_n));
	asked("edge9");
}

static void begin(void)
{
	said_n = open_err = dump_err = 0;
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "kinds", kinds },
					       { "pairs", ends_of_pairs },
					       { "ends of tunnels", tunnel_ends },
					       { "outer header", outer_header },
					       { "shared", shared },
					       { "many pairs", many },
					       { "ipvlans", ipvlans },
					       { "ports", ports },
					       { "not known", not_known } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

static void names(void)
{
	static const struct {
		const char *names, *name;
		bool is;
	} each[] = {
		{ "edge1", "edge1", true },
		{ "edge10", "edge1", false },
		{ "edge10, edge1", "edge1", true },
		{ "edge1, edge10", "edge1", true },
		{ "edge10, edge11", "edge1", false },
		{ "an-edge1, edge2", "edge1", false },
		{ "edge1edge1, edge1", "edge1", true },
		{ "edge1 and 2 more", "edge1", false },
		{ "edge1,edge2", "edge1", false },
		{ "", "edge1", false },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		CHECK(is_named(each[i].names, each[i].name) == each[i].is, "'%s' in '%s'", each[i].name, each[i].names);
}

/* --- The kernel itself -----------------------------------------------------------------------------------------------
 */

#undef netlink_open
#undef nl_close
#undef netlink_link
#undef netlink_links

static void count_links(void *arg, const struct nlmsghdr *message)
{
	*(size_t *)arg += message->nlmsg_type == RTM_NEWLINK;
}

/* A message that the room is too small for, a family that there is not, and a question that has no answer. */
static void kernel_says_no(void)
{
	const struct ifinfomsg all = { 0 };
	char buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *m = nl_put_header(buf);
	struct nl_socket *socket;
	size_t links = 0;
	int err;

	err = netlink_open(&socket, 31, 0, 0);
	CHECK(err_is(err, EPROTONOSUPPORT) && !socket && !strcmp(reason(err), "netlink: Protocol not supported"), "%s",
	      err ? reason(err) : "open");
	err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);
	if (!CHECK(!err, "%s", reason(err)))
		return;
	m->nlmsg_type = RTM_GETLINK;
	m->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nl_put_extra(m, sizeof(all));
	CHECK(nl_send(socket, m, m->nlmsg_len) == (ssize_t)m->nlmsg_len, "%s", strerror(errno));
	CHECK(nl_receive(socket, buf, 20) == -1 && errno == EMSGSIZE, "cut, and taken for all of it");
	nl_close(socket);

	/* There is lo, at least. */
	err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);
	CHECK(!err && !netlink_links(socket, count_links, &links) && links, "%zu interfaces", links);
	err = netlink_dump(socket, RTM_GETLINK + 400, &all, sizeof(all), count_links, &links);
	CHECK(err_is(err, EOPNOTSUPP), "what nobody knows: %d", err);
	nl_close(socket);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "names", names },
						  { "word for word", word_for_word },
						  { "what the kernel says no to", kernel_says_no } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
