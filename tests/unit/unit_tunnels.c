// SPDX-License-Identifier: GPL-2.0-only
/* With whom WireGuard and IPsec speak, from the kernel's messages: few kernels at hand have these parts. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>

#include "base/netlink.h"

#define netlink_open	   open_given
#define netlink_dump	   dump_given
#define netlink_dump_first dump_first_given
#define netlink_one	   one_given
#define netlink_kind	   kind_given
#define if_indextoname	   name_given
#define nl_close	   close_given
#define fopen		   file_given
#define fgets		   line_given
#define far_ends_kept	   kept_given
#define far_ends_keep	   keep_given

static int open_given(struct nl_socket **socket, int family, int flags, unsigned int groups);
static int dump_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg);
static int dump_first_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, size_t most,
			    netlink_each_fn *each, void *arg, bool *all);
static int one_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		     void *arg);
static int kind_given(unsigned int ifindex, char kind[NETLINK_KIND_MAX]);
static char *name_given(unsigned int ifindex, char *name);
static int close_given(struct nl_socket *socket);
static FILE *file_given(const char *path, const char *mode);
static char *line_given(char *line, int size, FILE *file);
struct state;
struct ranges;
static int kept_given(const struct state *state, struct ranges *ends);
static void keep_given(const struct state *state, const struct ranges *ends);

#include "change/own_tunnels.c"

#undef fopen
#undef fgets
#include "ktap.h"
#include "naive.h"

#define WIREGUARD 31

static const char *families[] = { "nlctrl", WG_GENL_NAME, "ethtool", NULL };
static const char *sockets;
static int fails, fails_at, opened, closed;
static char room[8192];

static int open_given(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	opened = family;
	closed = -1;
	*socket = NULL;
	return flags || groups ? -EINVAL : fails_at ? 0 : fails;
}

static int close_given(struct nl_socket *socket)
{
	closed = opened;
	return socket ? -1 : 0;
}

static FILE *file_given(const char *path, const char *mode)
{
	return !strcmp(path, "/proc/net/netlink") && sockets ? fmemopen((void *)sockets, strlen(sockets), mode) : NULL;
}

static int lines_read;

static char *line_given(char *line, int size, FILE *file)
{
	lines_read++;
	return fgets(line, size, file);
}

static struct nlmsghdr *message(size_t header)
{
	struct nlmsghdr *m;

	memset(room, 0, sizeof(room));
	m = nl_put_header(room);
	nl_put_extra(m, header);
	return m;
}

/* To whom there is a way is asked for, and by what kind of link that one is. */
static const char *way_to, *way_kind;

static int one_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		     void *arg)
{
	const struct rtmsg *way = request;
	struct addr wanted;
	struct nlmsghdr *m;

	(void)socket;
	addr_parse(way_to, strlen(way_to), &wanted);
	if (kind != RTM_GETROUTE || size != sizeof(*way) + sizeof(struct nlattr) + way->rtm_dst_len / 8u ||
	    way->rtm_dst_len != addr_width(wanted.family))
		return -EINVAL;
	wanted.num ^= own_attr(way->rtm_family, (const struct nlattr *)(way + 1)).num;
	if (((const struct nlattr *)(way + 1))->nla_type != RTA_DST || wanted.num)
		return -ENETUNREACH;
	m = message(sizeof(*way));
	nl_put_u32(m, RTA_TABLE, 254);
	nl_put_u32(m, RTA_OIF, 7);
	each(arg, m);
	return 0;
}

static int kind_given(unsigned int ifindex, char kind[NETLINK_KIND_MAX])
{
	snprintf(kind, NETLINK_KIND_MAX, "%s", way_kind);
	return ifindex == 7 && !fails ? 0 : -ENODEV;
}

static char *name_given(unsigned int ifindex, char *name)
{
	return ifindex == 7 ? strcpy(name, "tun0") : NULL;
}

static void put_peer(struct nlmsghdr *m, const void *endpoint, size_t size)
{
	struct nlattr *peer = nl_nest_begin(m, 0);

	nl_put(m, WGPEER_A_PUBLIC_KEY, 32, "\x02\0\xc6\x33\x64\x63 a key that looks like one");
	if (size)
		nl_put(m, WGPEER_A_ENDPOINT, size, endpoint);
	nl_nest_end(m, peer);
}

static void give_device(netlink_each_fn *each, void *arg)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } };
	struct nlmsghdr *m = message(sizeof(struct genlmsghdr));
	struct nlattr *peers;

	nl_put(m, WGDEVICE_A_IFNAME, strlen("wg0") + 1, "wg0");
	peers = nl_nest_begin(m, WGDEVICE_A_PEERS);
	put_peer(m, &v4, sizeof(v4));
	put_peer(m, NULL, 0);
	put_peer(m, &v6, sizeof(v6));
	v4.sin_addr.s_addr = htonl(0xc0000263);
	put_peer(m, &v4, 8); /* cut off */
	v6.sin6_addr.s6_addr[15] = 99;
	put_peer(m, &v6, 27);
	v4.sin_family = AF_UNIX;
	put_peer(m, &v4, sizeof(v4));
	nl_nest_end(m, peers);
	each(arg, m);
}

static void give_families(netlink_each_fn *each, void *arg)
{
	for (uint16_t i = 0; families[i]; i++) {
		struct nlmsghdr *m = message(sizeof(struct genlmsghdr));

		nl_put(m, CTRL_ATTR_FAMILY_ID, 2, &(uint16_t){ (uint16_t)(WIREGUARD - 1 + i) });
		nl_put(m, CTRL_ATTR_FAMILY_NAME, strlen(families[i]) + 1, families[i]);
		nl_put_u32(m, CTRL_ATTR_VERSION, 1);
		each(arg, m);
	}
}

static void give_states(netlink_each_fn *each, void *arg)
{
	struct xfrm_usersa_info sa = { .family = AF_INET,
				       .id.daddr.a4 = htonl(0xc0000202),
				       .saddr.a4 = htonl(0xc0000203) };
	struct nlmsghdr *m = message(sizeof(sa));

	memcpy(nl_payload(m), &sa, sizeof(sa));
	each(arg, m);
	m = message(sizeof(sa) - 8);
	sa.saddr.a4 = htonl(0xc0000264);
	memcpy(nl_payload(m), &sa, sizeof(sa) - 8);
	each(arg, m);
}

static void give_policies(netlink_each_fn *each, void *arg)
{
	struct xfrm_user_tmpl way[] = { { .family = AF_INET, .id.daddr.a4 = htonl(0xc0000204), .saddr.a4 = 0 },
					{ .family = AF_INET6,
					  .id.daddr.a6 = { htonl(0x20010db8), 0, 0, htonl(2) },
					  .saddr.a6 = { htonl(0x20010db8), 0, 0, htonl(3) } } };
	struct nlmsghdr *m = message(sizeof(struct xfrm_userpolicy_info));

	way[0].saddr.a4 = htonl(0xc0000265);
	nl_put(m, XFRMA_MARK, sizeof(way), way); /* no way to anybody */
	each(arg, m);
	way[0].saddr.a4 = 0;
	m = message(sizeof(struct xfrm_userpolicy_info));
	nl_put_u32(m, XFRMA_IF_ID, 1);
	nl_put(m, XFRMA_TMPL, sizeof(way), way);
	each(arg, m);
}

static void give_neighbour(netlink_each_fn *each, void *arg, uint16_t state, uint16_t type, size_t size,
			   const void *bytes)
{
	struct nlmsghdr *m = message(sizeof(struct ndmsg));

	((struct ndmsg *)nl_payload(m))->ndm_state = state;
	((struct ndmsg *)nl_payload(m))->ndm_flags = NTF_SELF | (state == NUD_DELAY ? NTF_EXT_LEARNED : 0);
	nl_put_u32(m, NDA_VNI, 0xc0000266);
	if (type)
		nl_put(m, type, size, bytes);
	each(arg, m);
}

static const unsigned char ipv4[] = { 192, 0, 2, 6 }, other[] = { 192, 0, 2, 7 }, new[] = { 192, 0, 2, 8 },
			   wrong[6] = { 192, 0, 2, 99 }, ipv6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 6 };

static void give_forwarding(netlink_each_fn *each, void *arg)
{
	give_neighbour(each, arg, NUD_PERMANENT, NDA_DST, 4, ipv4);
	give_neighbour(each, arg, NUD_PERMANENT, 0, 0, NULL);
	give_neighbour(each, arg, NUD_PERMANENT, NDA_LLADDR, 4, wrong);
	give_neighbour(each, arg, NUD_PERMANENT, NDA_DST, 3, wrong);
	give_neighbour(each, arg, NUD_NOARP, NDA_DST, 16, ipv6);
	give_neighbour(each, arg, NUD_PERMANENT, NDA_DST, 4, ipv4);
	/* Packets taught it, and a routing daemon. */
	give_neighbour(each, arg, NUD_REACHABLE, NDA_DST, 4, wrong);
	give_neighbour(each, arg, NUD_STALE, NDA_DST, 4, wrong);
	give_neighbour(each, arg, NUD_DELAY, NDA_DST, 4, other);
}

static void give_neighbours(netlink_each_fn *each, void *arg)
{
	give_neighbour(each, arg, NUD_PERMANENT, NDA_LLADDR, 4, ipv4);
	give_neighbour(each, arg, NUD_PERMANENT, NDA_DST, 4, wrong);
	give_neighbour(each, arg, NUD_NOARP, NDA_LLADDR, 4, wrong);
	give_neighbour(each, arg, NUD_PERMANENT, NDA_LLADDR, 6, wrong); /* a MAC address begins so, too */
	give_neighbour(each, arg, NUD_STALE, NDA_LLADDR, 4, other);
	give_neighbour(each, arg, NUD_PERMANENT, NDA_LLADDR, 16, ipv6);
}

/* As `ip` and `bridge` ask of one device. */
static int give_ends(const void *request, size_t size, netlink_each_fn *each, void *arg)
{
	const struct ifinfomsg *link = request;
	const struct ndmsg *neighbour = request;
	const struct nlattr *at = (const void *)(neighbour + 1);

	if (size == sizeof(*link) && link->ifi_family == AF_BRIDGE && link->ifi_index == 7)
		give_forwarding(each, arg);
	else if (size == sizeof(*neighbour) + 8 && neighbour->ndm_family == AF_UNSPEC &&
		 nl_attr_type(at) == NDA_IFINDEX && nl_attr_len(at) == 4 && nl_attr_u32(at) == 7)
		give_neighbours(each, arg);
	else
		return -EINVAL;
	return 0;
}

/* As asked for, and only so. */
static int dump_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg)
{
	const struct genlmsghdr *header = request;
	const struct nlattr *at = (const void *)(header + 1);

	if (socket || closed != -1)
		return -EBADF;
	if (kind == fails_at)
		return fails;
	if (opened == NETLINK_GENERIC && kind == GENL_ID_CTRL && size == sizeof(*header) &&
	    header->cmd == CTRL_CMD_GETFAMILY && header->version == 2)
		give_families(each, arg);
	else if (opened == NETLINK_GENERIC && kind == WIREGUARD && size == sizeof(*header) + 8 &&
		 header->cmd == WG_CMD_GET_DEVICE && header->version == WG_GENL_VERSION &&
		 nl_attr_type(at) == WGDEVICE_A_IFINDEX && nl_attr_len(at) == 4 && nl_attr_u32(at) == 7)
		give_device(each, arg);
	else if (opened == NETLINK_XFRM && kind == XFRM_MSG_GETSA && !request && size == sizeof(struct xfrm_usersa_id))
		give_states(each, arg);
	else if (opened == NETLINK_XFRM && kind == XFRM_MSG_GETPOLICY && !request &&
		 size == sizeof(struct xfrm_userpolicy_id))
		give_policies(each, arg);
	else
		return -EINVAL;
	return 0;
}

/* --- What is kept of far ends --- */

static struct ranges kept_ends;
static bool cut_off; /* the table is too long, and what is asked for does not come first */
static size_t wanted_most = ENDS_MOST;
static int passed_over; /* so many times it seems to be empty */
static int kept, kept_err;

static int kept_given(const struct state *state, struct ranges *ends)
{
	CHECK(!state, "of another state");
	return kept_err ?: ranges_union(ends, &kept_ends, &kept_ends);
}

static void keep_given(const struct state *state, const struct ranges *ends)
{
	CHECK(!state, "of another state");
	ranges_free(&kept_ends);
	ENOUGH(!ranges_union(&kept_ends, ends, ends));
	kept++;
}

static int dump_first_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, size_t most,
			    netlink_each_fn *each, void *arg, bool *all)
{
	*all = !cut_off;
	if (socket || closed != -1 || opened != NETLINK_ROUTE || kind != RTM_GETNEIGH || most != wanted_most)
		return -EBADF;
	if (kind == fails_at)
		return fails;
	if (passed_over)
		passed_over--;
	else if (cut_off)
		give_neighbour(each, arg, NUD_PERMANENT, NDA_DST, 4, new);
	else
		return give_ends(request, size, each, arg);
	return 0;
}

/* "192.0.2.1 a WireGuard peer's endpoint (interface wg0)", one a line. */
static bool learns(struct learned *l, const char *wanted, int err)
{
	char text[1024] = "", address[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX];
	bool ok;

	for (size_t i = 0; i < l->n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s\n",
			 prefix_text(address, l->at[i].addr, -1), own_text(what, &l->at[i]));
	ok = CHECK(!strcmp(text, wanted), "'%s', not '%s'", text, wanted);
	ok = CHECK(l->err == err || err_is(l->err, -err), "the error is %d", l->err) && ok;
	ok = CHECK(opened == closed, "%d is left open", opened) && ok;
	free(l->at);
	free(l->slots);
	ranges_free(&l->ends);
	ranges_free(&l->ends_before);
	*l = (struct learned){ 0 };
	opened = closed = fails = fails_at = 0;
	return ok;
}

#define PEERS                                                     \
	"192.0.2.1 a WireGuard peer's endpoint (interface wg0)\n" \
	"2001:db8::1 a WireGuard peer's endpoint (interface wg0)\n"

static void wireguard(void)
{
	struct learned l = { 0 };

	own_from_wireguard(&l, 7, "wg0");
	learns(&l, PEERS, 0);
	families[1] = "wireguard2";
	own_from_wireguard(&l, 7, "wg0");
	learns(&l, "", 0);
	families[1] = WG_GENL_NAME;
}

#define STATES "192.0.2.2 an IPsec endpoint (XFRM state)\n192.0.2.3 an IPsec endpoint (XFRM state)\n"
#define POLICIES                                        \
	"192.0.2.4 an IPsec endpoint (XFRM policy)\n"   \
	"2001:db8::2 an IPsec endpoint (XFRM policy)\n" \
	"2001:db8::3 an IPsec endpoint (XFRM policy)\n"

static void ipsec(void)
{
	struct learned l = { 0 };

	sockets = "sk Eth Pid\n00 0 6\n00 6 0\n00 16 6\n";
	own_from_xfrm(&l);
	learns(&l, STATES POLICIES, 0);
	sockets = NULL; /* without /proc */
	own_from_xfrm(&l);
	learns(&l, STATES POLICIES, 0);
	sockets = "sk Eth Pid\n00 0 6\n00 16 6\n";
	own_from_xfrm(&l);
	CHECK(!opened, "a module is loaded for a question");
	learns(&l, "", 0);
}

/* So many that they are not all read: IPsec is asked about. No more than so many are. */
static void many_sockets(void)
{
	static char many[8 * 2000];
	struct learned l = { 0 };

	for (int others = LINES_MOST - 1; others <= LINES_MOST + 900; others += 900) {
		strcpy(many, "sk Eth Pid\n");
		for (int i = 0; i < others; i++)
			strcat(many, "00 0 6\n");
		sockets = many;
		lines_read = 0;
		own_from_xfrm(&l);
		CHECK((opened != 0) == (others >= LINES_MOST), "of %d others it is %sasked", others,
		      opened ? "" : "not ");
		CHECK(lines_read <= LINES_MOST + 2, "%d lines are read", lines_read);
		learns(&l, others >= LINES_MOST ? STATES POLICIES : "", 0);
	}
}

static void many_ends(void)
{
	struct learned l = { 0 };

	own_from_forwarding(&l, 7, "vx");
	learns(&l,
	       "192.0.2.6 the far end of a tunnel (forwarding table of vx)\n"
	       "2001:db8::6 the far end of a tunnel (forwarding table of vx)\n"
	       "192.0.2.7 the far end of a tunnel (forwarding table of vx)\n",
	       0);
	own_from_neighbours(&l, 7, "gre1");
	learns(&l,
	       "192.0.2.6 the far end of a tunnel (neighbours of gre1)\n"
	       "192.0.2.7 the far end of a tunnel (neighbours of gre1)\n"
	       "2001:db8::6 the far end of a tunnel (neighbours of gre1)\n",
	       0);
	fails = -ENOBUFS;
	fails_at = RTM_GETNEIGH;
	own_from_forwarding(&l, 7, "vx");
	CHECK(strstr(reason(l.err), "endpoints of vx:"), "'%s'", reason(l.err));
	learns(&l, "", -ENOBUFS);
}

#define FOUND                                                          \
	"192.0.2.6 the far end of a tunnel (forwarding table of vx)\n" \
	"2001:db8::6 the far end of a tunnel (forwarding table of vx)\n"
#define SECOND "192.0.2.7 the far end of a tunnel (forwarding table of vx)\n"
#define ADDED  "192.0.2.8 the far end of a tunnel (forwarding table of vx)\n"
#define BEFORE "192.0.2.6 the far end of a tunnel (found before: a table was not read to its end)\n"
#define AS_BEFORE                                                                             \
	"192.0.2.7 the far end of a tunnel (found before: a table was not read to its end)\n" \
	"2001:db8::6 the far end of a tunnel (found before: a table was not read to its end)\n"

/* Is the table asked for so many times, and so many ends kept, if they are? */
static void looks(const char *wanted, int times, int keeps, size_t n, int err)
{
	struct learned l = { 0 };
	int asked = 1;

	kept = 0;
	own_from_forwarding(&l, 7, "vx");
	if (own_ends_missed(&l)) {
		own_from_forwarding(&l, 7, "vx");
		asked++;
	}
	own_ends_settle(&l);
	learns(&l, wanted, err);
	CHECK(asked == times && kept == keeps, "asked %d times, kept %d times", asked, kept);
	CHECK(ranges_count4(&kept_ends) + ranges_count6(&kept_ends) == n, "%llu ends are kept",
	      (unsigned long long)(ranges_count4(&kept_ends) + ranges_count6(&kept_ends)));
}

/* Whoever fills a table, or has it change while it is read, hides nothing that was found before. */
static void far_ends_stay(void)
{
	struct learned l = { 0 };

	looks(FOUND SECOND, 1, 1, 3, 0);
	looks(FOUND SECOND, 1, 0, 3, 0);
	passed_over = 1;
	looks(FOUND SECOND, 2, 0, 3, 0);
	cut_off = true;
	looks(ADDED BEFORE AS_BEFORE, 1, 1, 4, 0);
	looks(ADDED BEFORE AS_BEFORE, 1, 0, 4, 0);
	cut_off = false;
	looks(FOUND SECOND, 2, 1, 3, 0);
	/* What cannot be asked for is no empty table. */
	fails = -EOPNOTSUPP;
	fails_at = RTM_GETNEIGH;
	looks(BEFORE AS_BEFORE, 1, 0, 3, 0);
	fails = -ENOBUFS;
	fails_at = RTM_GETNEIGH;
	looks("", 1, 0, 3, -ENOBUFS);
	kept_err = -ENOMEM;
	looks(FOUND SECOND, 1, 0, 3, -ENOMEM);
	/* Without such tunnels none is asked about. */
	CHECK(!own_ends_missed(&l) && !l.err, "it is asked what was kept");
	own_ends_settle(&l);
	CHECK(!l.err && !l.n, "%zu are known", l.n);
	kept_err = 0;
	passed_over = 2;
	looks("", 2, 1, 0, 0);
	CHECK(!passed_over, "it was not looked for twice");
}

/* Whoever makes many tables long has each of them cost less, and no other one is read for less than 256. */
static void long_tables(void)
{
	struct learned l = { 0 };

	cut_off = true;
	for (int i = 0; i < 10; i++) {
		own_from_forwarding(&l, 7, "vx");
		CHECK(!l.err, "table %d may have other than %zu lines", i, wanted_most);
		wanted_most = wanted_most > 256 ? wanted_most / 2 : 256;
	}
	cut_off = false;
	own_from_forwarding(&l, 7, "vx");
	CHECK(!l.err && l.cut_off && l.long_tables == HALVINGS_MOST, "%u are too long", l.long_tables);
	learns(&l, ADDED FOUND SECOND, 0);
	wanted_most = ENDS_MOST;
	own_from_forwarding(&l, 7, "vx");
	CHECK(!l.err, "the next time begins with less");
	learns(&l, FOUND SECOND, 0);
}

/* What the kernel does not have, and what an ordinary user may not ask, nobody needs; all else is said. */
static void refused(void)
{
	static const int at[] = { 0, GENL_ID_CTRL, WIREGUARD, XFRM_MSG_GETSA, XFRM_MSG_GETPOLICY };
	static const struct {
		int err;
		bool said;
	} errors[] = { { -EPROTONOSUPPORT, false }, { -EOPNOTSUPP, false }, { -ENODEV, false },
		       { -EPERM, false },	    { -ENOBUFS, true },	    { -ENOMEM, true } };

	sockets = NULL;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		for (size_t e = 0; e < sizeof(errors) / sizeof(*errors); e++) {
			bool is_ipsec = at[i] == XFRM_MSG_GETSA || at[i] == XFRM_MSG_GETPOLICY;
			int err = errors[e].said ? errors[e].err : 0;
			struct learned l = { 0 };

			fails = errors[e].err;
			fails_at = at[i];
			if (is_ipsec)
				own_from_xfrm(&l);
			else
				own_from_wireguard(&l, 7, "wg0");
			if (!err)
				CHECK(!l.err, "%d is an error", errors[e].err);
			else
				CHECK(strstr(reason(l.err), is_ipsec ? "endpoints of IPsec:" : "endpoints of wg0:"),
				      "'%s'", reason(l.err));
			opened = at[i] ? opened : closed;
			if (!learns(&l, at[i] == XFRM_MSG_GETPOLICY ? STATES : "", err))
				return;
		}
}

/* Of these the kernel does not know where they lead. */
static void of_processes(void)
{
	static const struct {
		const char *to, *kind;
		bool is;
	} each[] = {
		{ "10.8.0.2", "tun", true },   { "2001:db8::2", "tun", true }, { "10.8.0.2", "ovpn", true },
		{ "10.8.0.2", "veth", false }, { "10.8.0.2", "", false },      { "10.8.0.2", "wireguard", false },
		{ "10.8.0.2", "tap", false }, /* a guest's of this machine */
	};
	char name[IF_NAMESIZE] = "";
	struct addr to;

	fails_at = fails = 0;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		way_to = each[i].to;
		way_kind = each[i].kind;
		addr_parse(way_to, strlen(way_to), &to);
		CHECK(own_leaves_by_process(to, name) == each[i].is && !strcmp(name, "tun0") && opened == closed,
		      "%s by '%s', of kind %s", way_to, name, way_kind);
	}
	way_kind = "tun";
	to.num++;
	CHECK(!own_leaves_by_process(to, name), "there is no way");
	to.num--;
	CHECK(own_leaves_by_process(to, name), "there is one");
	fails = -EPERM;
	CHECK(!own_leaves_by_process(to, name), "that could not be asked");
	fails = 0;
}

static void first_error_stays(void)
{
	struct learned l = { .err = -ENOMEM };

	fails = -ENOBUFS;
	fails_at = GENL_ID_CTRL;
	own_from_wireguard(&l, 7, "wg0");
	learns(&l, "", -ENOMEM);
}

int main(void)
{
	static const struct ktap_case run[] = {
		{ "the peers of WireGuard", wireguard },  { "the ends of IPsec", ipsec },
		{ "of many sockets", many_sockets },	  { "tunnels with many ends", many_ends },
		{ "far ends stay", far_ends_stay },	  { "many long tables", long_tables },
		{ "what is refused", refused },		  { "the first error stays", first_error_stays },
		{ "tunnels of processes", of_processes },
	};

	return ktap_run(run, sizeof(run) / sizeof(*run));
}
