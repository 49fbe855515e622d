// SPDX-License-Identifier: GPL-2.0-only
#include "change/own_sockets.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/interfaces.h"
#include "base/netlink.h"
#include "base/state_path.h"
#include "base/users.h"
#include "change/own_scan.h"
#include "state/grants.h"

static const char guest_is[] = "somebody who is connected", resolver_is[] = "a name server in use",
		  bgp_is[] = "a BGP peer", ssh_server_is[] = "an SSH server in use";

static int64_t unasked_again;
/* What other processes have a say in, once. */
static bool said_cut_off;

static int take(struct sockets *sockets, const struct connection *c)
{
	if (!GROW(sockets->at, sockets->n))
		return -ENOMEM;
	sockets->at[sockets->n++] = *c;
	return 0;
}

/*
 * Whoever resolves names, sets the clock or speaks BGP, by the name that distributions give his user. Another daemon
 * may be had to speak to anybody, as one that fetches what a stranger names: http://192.0.2.1:53/. Where not even root
 * has a name, as in an image from scratch, it may be any.
 */
static bool has_name_of_one(uid_t user)
{
	static const char all[] =
		" systemd-resolve unbound bind named dnsmasq pdns pdns-recursor knot knot-resolver nsd stubby dnsdist _dnsdist"
		" pihole dnscrypt-proxy _dnscrypt-proxy"
		" systemd-timesync chrony _chrony ntp _ntp ntpsec openntpd"
		" bird frr quagga _bgpd exabgp gobgp gobgpd ";
	const char *name = user_name(user);
	char word[64];

	if (!name)
		return !user_name(0);
	return (size_t)snprintf(word, sizeof(word), " %s ", name) < sizeof(word) && strstr(all, word);
}

static bool uses_servers(struct sockets *sockets, uid_t user)
{
	if (!user || user >= PEOPLE)
		return !user;
	if (sockets->uses[user] == NOT_LOOKED_UP)
		sockets->uses[user] = has_name_of_one(user) ? USES_SERVERS : USES_NONE;
	return sockets->uses[user] == USES_SERVERS;
}

static const char *server_by_port(const struct sockets *sockets, unsigned int port)
{
	/* Who comes to us says by that nothing of who he is. */
	if (port == 179 && !sockets->udp)
		return bgp_is;
	/* As `ssh -R` is that brings sessions from a jump host. */
	if (port == 22 && !sockets->udp)
		return ssh_server_is;
	return port == 53 || port == 853 ? resolver_is : port == 123 && sockets->udp ? own_clock_is : NULL;
}

static const char *server_of(struct sockets *sockets, const struct inet_diag_msg *m, unsigned int port)
{
	const char *is = server_by_port(sockets, port);

	/* Who is no root may be told whom to ask. */
	if (is == ssh_server_is && m->idiag_uid)
		return NULL;
	/* What nobody has accepted yet is nobody's, and has come to us: older kernels call it root's. */
	return is && m->idiag_inode && uses_servers(sockets, m->idiag_uid) ? is : NULL;
}

static void take_socket(struct sockets *sockets, const struct inet_diag_msg *m, uint32_t token)
{
	struct connection c = { .udp = sockets->udp, .token = token };

	c.peer = own_bytes(m->idiag_family, m->id.idiag_dst, sizeof(m->id.idiag_dst));
	c.local = own_bytes(m->idiag_family, m->id.idiag_src, sizeof(m->id.idiag_src));
	c.peer_port = ntohs(m->id.idiag_dport);
	c.port = ntohs(m->id.idiag_sport);
	c.device = m->id.idiag_if;
	addr_unmap(&c.peer);
	addr_unmap(&c.local);
	if (!sockets->sessions)
		c.server_is = server_of(sockets, m, c.peer_port);
	if (!c.peer.family || (!own_wanted(sockets->l, c.peer) && c.server_is != ssh_server_is && !token))
		return;
	c.ssh = sockets->sessions && !m->idiag_uid && !sockets->named[c.port];
	if (!sockets->udp && sockets->named[c.port])
		own_learn(sockets->l, c.peer, guest_is, "TCP port %u", c.port);
	sockets->joins = sockets->joins || (c.ssh && token);
	if ((c.server_is || c.ssh) && take(sockets, &c) && !sockets->l->err)
		sockets->l->err = -ENOMEM;
}

/* linux/mptcp.h, which not every C library's headers go with */
#define PROTOCOL_MPTCP	 262
#define MPTCP_INFO_TOKEN 12 /* where it is in struct mptcp_info */
#define MPTCP_ATTR_TOKEN 2  /* MPTCP_SUBFLOW_ATTR_TOKEN_LOC */

/* Of MPTCP's own, or of one of TCP's that is a part of it. */
static uint32_t token_of(const struct nlmsghdr *message, bool mptcp)
{
	const struct nlattr *at, *layer, *part;
	uint32_t token = 0;

	nl_each (at, message, sizeof(struct inet_diag_msg))
		if (mptcp && nl_attr_type(at) == INET_DIAG_INFO && nl_attr_len(at) >= MPTCP_INFO_TOKEN + sizeof(token))
			memcpy(&token, nl_attr_text(at) + MPTCP_INFO_TOKEN, sizeof(token));
		else if (nl_attr_type(at) == INET_DIAG_ULP_INFO)
			nl_each_nested (layer, at)
				if (nl_attr_type(layer) == INET_ULP_INFO_MPTCP)
					nl_each_nested (part, layer)
						if (nl_attr_type(part) == MPTCP_ATTR_TOKEN &&
						    nl_attr_len(part) >= sizeof(token))
							token = nl_attr_u32(part);
	return token;
}

static void on_socket(void *arg, const struct nlmsghdr *message)
{
	struct sockets *sockets = arg;

	if (nl_payload_len(message) >= sizeof(struct inet_diag_msg))
		take_socket(sockets, nl_payload(message), sockets->sessions ? token_of(message, sockets->mptcp) : 0);
}

/* --- What the kernel shows --- */

/*
 * How many sockets there are, and in what row of the kernel's table, any user may decide: it may take them all, and to
 * go on after a message begins with the first of the row. What it passes over costs little. So it is asked for no other
 * sockets than these: the other end is on no loopback address, and one of the ports is one of these, if there are any.
 */
#define SHOWN_PORTS 64

struct shown {
	size_t n; /* in units of 4 bytes */
	struct inet_diag_bc_op ops[2 * (1 + 2 + 4 + 1) + 3 * SHOWN_PORTS + 1];
};

/* Where to go on from a step is how many bytes further on: so many where they end, and that they are not shown, beyond.
 */
enum { SHOW = 1, HIDE = 5 };

static void put_step(struct shown *s, uint8_t code, size_t units, size_t otherwise)
{
	s->ops[s->n] = (struct inet_diag_bc_op){ code, (uint8_t)(4 * units), (uint16_t)otherwise };
	s->n += units;
}

static void put_jump(struct shown *s, size_t to)
{
	put_step(s, INET_DIAG_BC_JMP, 1, to);
}

static void hide_network(struct shown *s, uint8_t family, uint8_t bits, struct in6_addr addr)
{
	size_t length = family == AF_INET ? 4 : 16, at = s->n + 1;
	struct inet_diag_hostcond of = { .family = family, .prefix_len = bits, .port = -1 };

	put_step(s, INET_DIAG_BC_D_COND, 1 + (sizeof(of) + length) / 4, 4 * (2 + (sizeof(of) + length) / 4));
	memcpy(&s->ops[at], &of, sizeof(of));
	memcpy(&s->ops[at + sizeof(of) / 4], &addr, length);
	put_jump(s, HIDE);
}

static void show_port(struct shown *s, uint8_t code, unsigned int port)
{
	put_step(s, code, 2, 4 * 3);
	s->ops[s->n - 1].no = (uint16_t)port;
	put_jump(s, SHOW);
}

/* Steps follow one another by `yes`. */
static void settle(struct shown *s)
{
	for (size_t i = 0; i < s->n; i += s->ops[i].yes / 4)
		if (s->ops[i].no == SHOW || s->ops[i].no == HIDE)
			s->ops[i].no = (uint16_t)(s->ops[i].no - 1 + 4 * (s->n - i));
}

static void begin(struct shown *s)
{
	memset(s, 0, sizeof(*s));
	/* of IPv4, and what is mapped from it */
	hide_network(s, AF_INET, 8, (struct in6_addr){ .s6_addr = { IN_LOOPBACKNET } });
	hide_network(s, AF_INET6, 128, (struct in6_addr)IN6ADDR_LOOPBACK_INIT);
}

/* Servers, and guests of the ports that are named. Where these are too many, sockets of all ports are shown. */
static void show_peers(struct shown *s, const struct sockets *sockets)
{
	static const unsigned int servers[] = { 53, 853, 123, 179, 22 };
	size_t n = sizeof(servers) / sizeof(servers[0]);

	begin(s);
	for (size_t i = 0; i < n; i++)
		show_port(s, INET_DIAG_BC_D_EQ, servers[i]);
	for (unsigned int port = 0; port < TCP_PORTS && !sockets->udp && n <= SHOWN_PORTS; port++)
		if (sockets->named[port] && n++ < SHOWN_PORTS)
			show_port(s, INET_DIAG_BC_S_EQ, port);
	if (n > SHOWN_PORTS)
		begin(s);
	else
		put_jump(s, HIDE);
}

/* Each time; what cannot be seen within that is passed over. */
#define LOOK_MS 200
#define LOOK_NS (LOOK_MS * (int64_t)1000000)

struct mptcp_question {
	struct inet_diag_req_v2 of;
	struct nlattr at;
	__u32 protocol;
};

static int ask_for(struct sockets *sockets, uint16_t kind, const void *question, size_t size, struct shown *shown)
{
	struct nlattr at = { (uint16_t)(sizeof(at) + 4 * shown->n), INET_DIAG_REQ_BYTECODE };
	char all[sizeof(struct mptcp_question) + sizeof(at) + sizeof(shown->ops)]; /* the longest */
	bool seen = true;
	int err;

	settle(shown);
	memcpy(all, question, size);
	memcpy(all + size, &at, sizeof(at));
	memcpy(all + size + sizeof(at), shown->ops, 4 * shown->n);
	err = netlink_dump_within(sockets->socket, kind, all, size + at.nla_len, LOOK_MS, on_socket, sockets, &seen);
	if (seen)
		return err;
	*(sockets->sessions ? &sockets->more_ssh : &sockets->cut_off) = true;
	nl_close(sockets->socket);
	return netlink_open(&sockets->socket, NETLINK_SOCK_DIAG, 0, 0);
}

static int ask_udp(struct sockets *sockets, int family)
{
	const struct inet_diag_req_v2 udp = { .sdiag_family = (uint8_t)family,
					      .sdiag_protocol = IPPROTO_UDP,
					      .idiag_states = 1 << TCP_ESTABLISHED };
	struct shown shown;
	int err;

	sockets->udp = true;
	show_peers(&shown, sockets);
	err = ask_for(sockets, SOCK_DIAG_BY_FAMILY, &udp, sizeof(udp), &shown);
	return err_is(err, ENOENT) && family == AF_INET6 ? 0 : err; /* without IPv6 */
}

/* The old question is about both families: walking the kernel's table of connections takes a millisecond where it is
 * large. */
static int ask_tcp(struct sockets *sockets, bool sessions)
{
	const struct inet_diag_req tcp = { .idiag_ext = sessions && sockets->joins ? 1 << (INET_DIAG_INFO - 1) : 0,
					   .idiag_states = 1 << TCP_ESTABLISHED };
	struct shown shown;

	sockets->udp = false;
	sockets->sessions = sessions;
	if (sessions)
		begin(&shown);
	else
		show_peers(&shown, sockets);
	return ask_for(sockets, TCPDIAG_GETSOCK, &tcp, sizeof(tcp), &shown);
}

static bool is_without_diag(int err)
{
	return err_is(err, EPROTONOSUPPORT) || err_is(err, EOPNOTSUPP) || err_is(err, ENOENT);
}

/*
 * A session by MPTCP says the ends of its first connection for as long as it lives. Once that is over, these are known
 * to MPTCP's own socket alone; which others belong to it, TCP says where it is asked for more of each.
 */
static int ask_mptcp(struct sockets *sockets)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	const bool more = sockets->more_ssh;
	int err = 0;

	if ((!sockets->n && !more) || access("/proc/sys/net/mptcp", F_OK))
		return 0;
	sockets->more_ssh = false;
	sockets->mptcp = true;
	for (size_t i = 0; i < 2 && !err; i++) {
		const struct mptcp_question question = {
			{ .sdiag_family = families[i],
			  .idiag_ext = 1 << (INET_DIAG_INFO - 1),
			  .idiag_states = 1 << TCP_ESTABLISHED },
			{ sizeof(struct nlattr) + sizeof(__u32), INET_DIAG_REQ_PROTOCOL },
			PROTOCOL_MPTCP,
		};
		struct shown shown;

		begin(&shown);
		err = ask_for(sockets, SOCK_DIAG_BY_FAMILY, &question, sizeof(question), &shown);
	}
	sockets->mptcp = false;
	if (!err && sockets->joins)
		err = ask_tcp(sockets, true);
	sockets->late = sockets->late || sockets->more_ssh;
	sockets->more_ssh = sockets->more_ssh || more;
	return is_without_diag(err) ? 0 : err;
}

/*
 * TCP's as text, for which the kernel needs no module. Who listens is not found at once there, so who is a server is
 * not learned.
 */
static void read_sockets(struct sockets *sockets, const char *path, uint8_t family)
{
	const int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + LOOK_NS;
	FILE *file = fopen(path, "re");
	bool seen = file || (family == AF_INET6 && errno == ENOENT); /* without IPv6 */
	char line[512];

	sockets->sessions = true;
	while (file && seen && fgets(line, sizeof(line), file)) {
		struct inet_diag_msg m = { .idiag_family = family };
		__be32 *to = m.id.idiag_dst;
		unsigned int port, peer_port, state;

		seen = clock_ns(CLOCK_THREAD_CPUTIME_ID) < until;
		if (family == AF_INET ? sscanf(line, "%*s %*[0-9A-F]:%x %8x:%x %x %*s %*s %*s %u", &port, to,
					       &peer_port, &state, &m.idiag_uid) != 5
				      : sscanf(line, "%*s %*[0-9A-F]:%x %8x%8x%8x%8x:%x %x %*s %*s %*s %u", &port, to,
					       to + 1, to + 2, to + 3, &peer_port, &state, &m.idiag_uid) != 8)
			continue;
		m.id.idiag_sport = htons((uint16_t)port);
		m.id.idiag_dport = htons((uint16_t)peer_port);
		if (state == TCP_ESTABLISHED)
			take_socket(sockets, &m, 0);
	}
	if (!seen)
		sockets->more_ssh = sockets->late = true;
	if (file)
		fclose(file);
}

/* --- One socket --- */

static void on_found(void *arg, const struct nlmsghdr *message)
{
	if (nl_payload_len(message) >= sizeof(struct inet_diag_msg))
		*(struct inet_diag_msg *)arg = *(const struct inet_diag_msg *)nl_payload(message);
}

static void write_addr(__be32 to[4], struct addr addr)
{
	for (size_t i = addr_width(addr.family) / 32; i--; addr.num >>= 32)
		to[i] = htonl((uint32_t)addr.num);
}

/*
 * Has one of such a user, in this state, what comes from c's other end? It is found at once, however many there are.
 */
static bool has_one(const struct sockets *sockets, const struct connection *c, uint8_t state, uid_t below)
{
	struct inet_diag_req_v2 of = { .sdiag_family = c->local.family == 4 ? AF_INET : AF_INET6,
				       .sdiag_protocol = c->udp ? IPPROTO_UDP : IPPROTO_TCP,
				       .id = { .idiag_if = c->device,
					       .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } };
	struct inet_diag_msg found = { .idiag_uid = below };

	/* Of UDP the kernel takes one end for the other. */
	write_addr(c->udp ? of.id.idiag_dst : of.id.idiag_src, c->local);
	write_addr(c->udp ? of.id.idiag_src : of.id.idiag_dst, c->peer);
	*(c->udp ? &of.id.idiag_dport : &of.id.idiag_sport) = htons((uint16_t)c->port);
	*(c->udp ? &of.id.idiag_sport : &of.id.idiag_dport) = htons((uint16_t)c->peer_port);
	return sockets->socket &&
	       !netlink_one(sockets->socket, SOCK_DIAG_BY_FAMILY, &of, sizeof(of), on_found, &found) &&
	       found.idiag_state == state && found.idiag_uid < below;
}

/*
 * Who comes to a listener of ours chooses the port that he comes from, and is no server by that. Anybody may come to
 * what has a packet from nowhere. People may listen, at another address, at the port that the system asks from: by that
 * nobody comes to it.
 */
static void learn_servers(struct sockets *sockets)
{
	for (size_t i = 0; i < sockets->n; i++) {
		const struct connection *c = &sockets->at[i];
		struct connection any = { .local = c->local, .port = c->port, .device = c->device, .udp = c->udp };

		if (!c->server_is || has_one(sockets, &any, c->udp ? TCP_CLOSE : TCP_LISTEN, PEOPLE))
			continue;
		sockets->reaches = sockets->reaches || c->server_is == ssh_server_is;
		own_learn(sockets->l, c->peer, c->server_is, "a socket to its port %u", c->peer_port);
	}
}

#define MAY_BE_OTHERS "not all servers and guests of this machine may be known: "

static void say_cut_off(void)
{
	if (!said_cut_off)
		warn(MAY_BE_OTHERS "its sockets that may be to such could not all be looked at in time");
	said_cut_off = true;
}

static void say_unasked(const struct state *state)
{
	if (own_is_due(&unasked_again, state, STATE_UNASKED))
		warn(MAY_BE_OTHERS
		     "the kernel does not say whom its sockets are connected to, as it lacks the module tcp_diag or"
		     " udp_diag (of OpenWrt's kmod-inet-diag)");
}

int own_sockets_ask(struct sockets *sockets, const struct state *state)
{
	int err = netlink_open(&sockets->socket, NETLINK_SOCK_DIAG, 0, 0)
			  ?: ask_tcp(sockets, true)
			  ?: ask_mptcp(sockets)
			  ?: ask_tcp(sockets, false);

	if (is_without_diag(err)) {
		read_sockets(sockets, "/proc/net/tcp", AF_INET);
		read_sockets(sockets, "/proc/net/tcp6", AF_INET6);
	}
	err = err ?: ask_udp(sockets, AF_INET) ?: ask_udp(sockets, AF_INET6);
	if (sockets->socket)
		learn_servers(sockets);
	if (sockets->cut_off)
		say_cut_off();
	if (is_without_diag(err)) {
		say_unasked(state);
		err = 0;
	}
	sockets->unseen = err || sockets->more_ssh;
	return err;
}

/*
 * What is bound to a device, as in a VRF or between link-local addresses, is found with that alone. How many processes
 * name a session that is not there, is for their users to say.
 */
static bool has_bound(struct sockets *sockets, struct connection is)
{
	int64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID) - sockets->looked_ns;
	bool found = false;

	sockets->links = sockets->links ?: interfaces_all();
	for (const struct if_nameindex *i = sockets->links; i && i->if_index && !found && sockets->looked_ns < LOOK_NS;
	     i++) {
		is.device = i->if_index;
		found = has_one(sockets, &is, TCP_ESTABLISHED, 1);
		sockets->looked_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	}
	sockets->late = sockets->late || !sockets->links || sockets->looked_ns >= LOOK_NS;
	return found;
}

bool own_sockets_has(struct sockets *sockets, const struct connection *session)
{
	return has_one(sockets, session, TCP_ESTABLISHED, 1) || has_bound(sockets, *session);
}

void own_sockets_free(struct sockets *sockets)
{
	if (sockets->socket)
		nl_close(sockets->socket);
	interfaces_free(sockets->links);
	free(sockets->at);
}
