// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who is logged in, and who is connected. A connection alone makes nobody a guest of sshd: otherwise whoever tries
 * passwords could not be banned while he does. A process that sshd started for it does.
 */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/grow.h"
#include "base/interfaces.h"
#include "base/netlink.h"
#include "base/rights.h"
#include "base/state_path.h"
#include "base/users.h"
#include "change/own_internal.h"
#include "change/own_scan.h"
#include "change/own_utmp.h"
#include "state/due.h"
#include "state/grants.h"

static const char ssh_is[] = "the peer of this SSH session", others_is[] = "the peer of an SSH session",
		  login_is[] = "somebody who is logged in", guest_is[] = "somebody who is connected",
		  resolver_is[] = "a name server in use", bgp_is[] = "a BGP peer",
		  ssh_server_is[] = "an SSH server in use";

struct connection {
	struct addr peer, local;
	unsigned int peer_port, port, device;
	bool udp, ssh;	       /* it may be an SSH session */
	const char *server_is; /* NULL: by its port it is none that we use */
	uint32_t token;	       /* of MPTCP's connection that it is of; 0: none */
};

/* That user says that somebody is logged in from there. */
struct word {
	uid_t user;
	struct addr addr;
};

/* From here on users are people: what they connect to is not what the machine needs. sshd's sockets are root's. */
#define PEOPLE 1000

enum use { NOT_LOOKED_UP, USES_SERVERS, USES_NONE };

struct people {
	struct learned *l;
	struct nl_socket *socket;
	bool *named; /* TCP ports whose guests are guarded */
	struct connection *at;
	size_t n;
	bool udp, sessions, mptcp; /* what is asked about now */
	bool joins;		   /* MPTCP carries what may be a session */
	bool cut_off, more_ssh;	   /* not all servers and guests were seen; not all that may be SSH sessions */
	bool reaches;		   /* an SSH server, by which sessions may come back */
	bool unseen;		   /* it may have a connection that was not */
	struct if_nameindex *links;
	int64_t looked_ns;    /* so long for sessions that are bound to one */
	bool late;	      /* not for all of them */
	uint8_t uses[PEOPLE]; /* enum use, of the system's users */
	struct word *words;
	size_t words_n;
	struct word unheard; /* the first that does not count; family 0: none */
};

/* What is so for long is said so often. */
#define AGAIN_SECONDS 600
static int64_t unseen_again, unheard_again, unasked_again;
/* And what carries a session. */
#define CARRIED_SECONDS 86400
/* What other processes have a say in, once. */
static bool said_late, said_cut_off;

static bool is_due(int64_t *again, const struct state *state, const char *name)
{
	if (clock_ms() < *again)
		return false;
	*again = clock_ms() + AGAIN_SECONDS * 1000;
	return !log_settings.kept || state_due(state, name, AGAIN_SECONDS);
}

static int take(struct people *p, const struct connection *c)
{
	if (!GROW(p->at, p->n))
		return -ENOMEM;
	p->at[p->n++] = *c;
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

static bool uses_servers(struct people *p, uid_t user)
{
	if (!user || user >= PEOPLE)
		return !user;
	if (p->uses[user] == NOT_LOOKED_UP)
		p->uses[user] = has_name_of_one(user) ? USES_SERVERS : USES_NONE;
	return p->uses[user] == USES_SERVERS;
}

static const char *server_by_port(const struct people *p, unsigned int port)
{
	/* Who comes to us says by that nothing of who he is. */
	if (port == 179 && !p->udp)
		return bgp_is;
	/* As `ssh -R` is that brings sessions from a jump host. */
	if (port == 22 && !p->udp)
		return ssh_server_is;
	return port == 53 || port == 853 ? resolver_is : port == 123 && p->udp ? own_clock_is : NULL;
}

static const char *server_of(struct people *p, const struct inet_diag_msg *m, unsigned int port)
{
	const char *is = server_by_port(p, port);

	/* Who is no root may be told whom to ask. */
	if (is == ssh_server_is && m->idiag_uid)
		return NULL;
	/* What nobody has accepted yet is nobody's, and has come to us: older kernels call it root's. */
	return is && m->idiag_inode && uses_servers(p, m->idiag_uid) ? is : NULL;
}

static void take_socket(struct people *p, const struct inet_diag_msg *m, uint32_t token)
{
	struct connection c = { .udp = p->udp, .token = token };

	c.peer = own_bytes(m->idiag_family, m->id.idiag_dst, sizeof(m->id.idiag_dst));
	c.local = own_bytes(m->idiag_family, m->id.idiag_src, sizeof(m->id.idiag_src));
	c.peer_port = ntohs(m->id.idiag_dport);
	c.port = ntohs(m->id.idiag_sport);
	c.device = m->id.idiag_if;
	addr_unmap(&c.peer);
	addr_unmap(&c.local);
	if (!p->sessions)
		c.server_is = server_of(p, m, c.peer_port);
	if (!c.peer.family || (!own_wanted(p->l, c.peer) && c.server_is != ssh_server_is && !token))
		return;
	c.ssh = p->sessions && !m->idiag_uid && !p->named[c.port];
	if (!p->udp && p->named[c.port])
		own_learn(p->l, c.peer, guest_is, "TCP port %u", c.port);
	p->joins = p->joins || (c.ssh && token);
	if ((c.server_is || c.ssh) && take(p, &c) && !p->l->err)
		p->l->err = -ENOMEM;
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
	struct people *p = arg;

	if (nl_payload_len(message) >= sizeof(struct inet_diag_msg))
		take_socket(p, nl_payload(message), p->sessions ? token_of(message, p->mptcp) : 0);
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
static void show_peers(struct shown *s, const struct people *p)
{
	static const unsigned int servers[] = { 53, 853, 123, 179, 22 };
	size_t n = sizeof(servers) / sizeof(servers[0]);

	begin(s);
	for (size_t i = 0; i < n; i++)
		show_port(s, INET_DIAG_BC_D_EQ, servers[i]);
	for (unsigned int port = 0; port < TCP_PORTS && !p->udp && n <= SHOWN_PORTS; port++)
		if (p->named[port] && n++ < SHOWN_PORTS)
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

static int ask_for(struct people *p, uint16_t kind, const void *question, size_t size, struct shown *shown)
{
	struct nlattr at = { (uint16_t)(sizeof(at) + 4 * shown->n), INET_DIAG_REQ_BYTECODE };
	char all[sizeof(struct mptcp_question) + sizeof(at) + sizeof(shown->ops)]; /* the longest */
	bool seen = true;
	int err;

	settle(shown);
	memcpy(all, question, size);
	memcpy(all + size, &at, sizeof(at));
	memcpy(all + size + sizeof(at), shown->ops, 4 * shown->n);
	err = netlink_dump_within(p->socket, kind, all, size + at.nla_len, LOOK_MS, on_socket, p, &seen);
	if (seen)
		return err;
	*(p->sessions ? &p->more_ssh : &p->cut_off) = true;
	nl_close(p->socket);
	return netlink_open(&p->socket, NETLINK_SOCK_DIAG, 0, 0);
}

static int ask_udp(struct people *p, int family)
{
	const struct inet_diag_req_v2 udp = { .sdiag_family = (uint8_t)family,
					      .sdiag_protocol = IPPROTO_UDP,
					      .idiag_states = 1 << TCP_ESTABLISHED };
	struct shown shown;
	int err;

	p->udp = true;
	show_peers(&shown, p);
	err = ask_for(p, SOCK_DIAG_BY_FAMILY, &udp, sizeof(udp), &shown);
	return err_is(err, ENOENT) && family == AF_INET6 ? 0 : err; /* without IPv6 */
}

/* The old question is about both families: walking the kernel's table of connections takes a millisecond where it is
 * large. */
static int ask_tcp(struct people *p, bool sessions)
{
	const struct inet_diag_req tcp = { .idiag_ext = sessions && p->joins ? 1 << (INET_DIAG_INFO - 1) : 0,
					   .idiag_states = 1 << TCP_ESTABLISHED };
	struct shown shown;

	p->udp = false;
	p->sessions = sessions;
	if (sessions)
		begin(&shown);
	else
		show_peers(&shown, p);
	return ask_for(p, TCPDIAG_GETSOCK, &tcp, sizeof(tcp), &shown);
}

static bool is_without_diag(int err)
{
	return err_is(err, EPROTONOSUPPORT) || err_is(err, EOPNOTSUPP) || err_is(err, ENOENT);
}

/*
 * A session by MPTCP says the ends of its first connection for as long as it lives. Once that is over, these are known
 * to MPTCP's own socket alone; which others belong to it, TCP says where it is asked for more of each.
 */
static int ask_mptcp(struct people *p)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	const bool more = p->more_ssh;
	int err = 0;

	if ((!p->n && !more) || access("/proc/sys/net/mptcp", F_OK))
		return 0;
	p->more_ssh = false;
	p->mptcp = true;
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
		err = ask_for(p, SOCK_DIAG_BY_FAMILY, &question, sizeof(question), &shown);
	}
	p->mptcp = false;
	if (!err && p->joins)
		err = ask_tcp(p, true);
	p->late = p->late || p->more_ssh;
	p->more_ssh = p->more_ssh || more;
	return is_without_diag(err) ? 0 : err;
}

/*
 * TCP's as text, for which the kernel needs no module. Who listens is not found at once there, so who is a server is
 * not learned.
 */
static void read_sockets(struct people *p, const char *path, uint8_t family)
{
	const int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + LOOK_NS;
	FILE *file = fopen(path, "re");
	bool seen = file || (family == AF_INET6 && errno == ENOENT); /* without IPv6 */
	char line[512];

	p->sessions = true;
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
			take_socket(p, &m, 0);
	}
	if (!seen)
		p->more_ssh = p->late = true;
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
static bool has_one(const struct people *p, const struct connection *c, uint8_t state, uid_t below)
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
	return p->socket && !netlink_one(p->socket, SOCK_DIAG_BY_FAMILY, &of, sizeof(of), on_found, &found) &&
	       found.idiag_state == state && found.idiag_uid < below;
}

/*
 * Who comes to a listener of ours chooses the port that he comes from, and is no server by that. Anybody may come to
 * what has a packet from nowhere. People may listen, at another address, at the port that the system asks from: by that
 * nobody comes to it.
 */
static void learn_servers(struct people *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct connection *c = &p->at[i];
		struct connection any = { .local = c->local, .port = c->port, .device = c->device, .udp = c->udp };

		if (!c->server_is || has_one(p, &any, c->udp ? TCP_CLOSE : TCP_LISTEN, PEOPLE))
			continue;
		p->reaches = p->reaches || c->server_is == ssh_server_is;
		own_learn(p->l, c->peer, c->server_is, "a socket to its port %u", c->peer_port);
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
	if (is_due(&unasked_again, state, STATE_UNASKED))
		warn(MAY_BE_OTHERS
		     "the kernel does not say whom its sockets are connected to, as it lacks the module tcp_diag or"
		     " udp_diag (of OpenWrt's kmod-inet-diag)");
}

static int ask_sockets(struct people *p, const struct state *state)
{
	int err = netlink_open(&p->socket, NETLINK_SOCK_DIAG, 0, 0)
			  ?: ask_tcp(p, true)
			  ?: ask_mptcp(p)
			  ?: ask_tcp(p, false);

	if (is_without_diag(err)) {
		read_sockets(p, "/proc/net/tcp", AF_INET);
		read_sockets(p, "/proc/net/tcp6", AF_INET6);
	}
	err = err ?: ask_udp(p, AF_INET) ?: ask_udp(p, AF_INET6);
	if (p->socket)
		learn_servers(p);
	if (p->cut_off)
		say_cut_off();
	if (is_without_diag(err)) {
		say_unasked(state);
		err = 0;
	}
	p->unseen = err || p->more_ssh;
	return err;
}

static struct addr first_word(const char *text)
{
	struct addr addr;

	if (addr_parse(text, strcspn(text, "% "), &addr))
		return (struct addr){ 0 };
	addr_unmap(&addr);
	return addr;
}

static bool is_loopback(struct addr addr)
{
	return addr.family == 4 ? addr.num >> 24 == 127 : addr.num == 1;
}

/*
 * A process carries it, and with whom that one speaks, nothing here knows. Said by the command itself: one that is done
 * for it may yet be declined, and what it says is lost.
 */
static void say_tunnel(const struct people *p, const struct state *state, struct addr peer)
{
	char name[IF_NAMESIZE] = "lo", text[PREFIX_TEXT_MAX];

	if (!peer.family || log_settings.kept || log_settings.quiet ||
	    !state_is_due(state, STATE_CARRIED, CARRIED_SECONDS) ||
	    (is_loopback(peer) ? p->reaches : !own_leaves_by_process(peer, name)))
		return;
	if (errand.here)
		p->l->err = p->l->err ?: errand_decline("its SSH session comes through a tunnel");
	else if (state_due(state, STATE_CARRIED, CARRIED_SECONDS))
		warn("this SSH session (%s, %s) comes through a tunnel of a process, whose far end the guard rails do not know:"
		     " 'xdp-bloom allow ADDRESS' lets it through, whatever is banned",
		     prefix_text(text, peer, -1), name);
}

static void ask_ancestors(const struct people *p, const struct state *state)
{
	char text[SSH_TEXT_MAX];
	int pid = errand.here ? errand.ssh_pid : own_session(text);
	struct addr peer = first_word(errand.here ? errand.ssh : text);

	own_learn(p->l, peer, ssh_is, "environment of process %d", pid);
	say_tunnel(p, state, peer);
}

/*
 * What is bound to a device, as in a VRF or between link-local addresses, is found with that alone. How many processes
 * name a session that is not there, is for their users to say.
 */
static bool has_bound(struct people *p, struct connection is)
{
	int64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID) - p->looked_ns;
	bool found = false;

	p->links = p->links ?: interfaces_all();
	for (const struct if_nameindex *i = p->links; i && i->if_index && !found && p->looked_ns < LOOK_NS; i++) {
		is.device = i->if_index;
		found = has_one(p, &is, TCP_ESTABLISHED, 1);
		p->looked_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	}
	p->late = p->late || !p->links || p->looked_ns >= LOOK_NS;
	return found;
}

/* The processes of a session may live on in screen or tmux: its connection must be there, too. */
static void on_session(void *arg, int pid, const char *text)
{
	struct people *p = arg;
	struct connection is = { 0 };
	char local[SSH_TEXT_MAX];
	uint32_t token = 0;
	bool found = false;

	if (sscanf(text, "%*s %u %127s %u", &is.peer_port, local, &is.port) != 3)
		return;
	is.peer = first_word(text);
	is.local = first_word(local);
	for (size_t i = 0; i < p->n && (!found || (p->joins && !token)); i++) {
		const struct connection *c = &p->at[i];

		if (!c->ssh || c->peer.num != is.peer.num || c->peer.family != is.peer.family ||
		    c->peer_port != is.peer_port || c->port != is.port)
			continue;
		found = true;
		token = c->token;
	}
	if (!found && p->more_ssh && is.peer.family && is.peer.family == is.local.family && own_wanted(p->l, is.peer))
		found = has_one(p, &is, TCP_ESTABLISHED, 1) || has_bound(p, is);
	if (found)
		own_learn(p->l, is.peer, others_is, "environment of process %d", pid);
	for (size_t i = 0; i < p->n && token; i++)
		if (p->at[i].ssh && p->at[i].token == token)
			own_learn(p->l, p->at[i].peer, others_is, "environment of process %d", pid);
}

/* Whoever is known for another reason needs no session. */
static bool is_known(const struct learned *l, struct addr addr)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].addr.num == addr.num && l->at[i].addr.family == addr.family)
			return true;
	return false;
}

static void say_late(void)
{
	if (!said_late)
		warn("not all SSH sessions may be known: of those that processes name not all could be looked for");
	said_late = true;
}

/* Of the service's processes one says it for all. */
static void say_unseen(const struct people *p, const struct state *state)
{
	bool unknown = p->more_ssh;

	for (size_t i = 0; i < p->n && !unknown; i++)
		unknown = p->at[i].ssh && own_wanted(p->l, p->at[i].peer) && !is_known(p->l, p->at[i].peer);
	if (unknown && is_due(&unseen_again, state, STATE_UNSEEN))
		warn("not all SSH sessions may be known: this process may not read the environments of all others, which"
		     " %s",
		     rights_read_others(rights_in_effect(), false) ? "SELinux, AppArmor or a user namespace forbids"
								   : "takes " READING_OTHERS);
}

static int ask_processes(struct people *p, const struct state *state)
{
	bool any = p->more_ssh, refused;
	int err;

	for (size_t i = 0; i < p->n && !any; i++)
		any = p->at[i].ssh;
	if (!any)
		return 0;
	/* The service has no right to see other processes. */
	if (errand.here)
		return errand_decline("there is a connection that may be an SSH session");
	err = own_each_session(on_session, p, &refused);
	if (p->late)
		say_late();
	if (!err && (refused || own_processes_hidden()))
		say_unseen(p, state);
	return err;
}

/*
 * By utempter any user has rows in utmp, with what text he likes: of each pty that is his. So a pty's count by what is
 * there besides: the connection to sshd. mosh has none, "192.0.2.1 via mosh [123]": that is taken from its user, for so
 * many addresses.
 */
#define WORDS_MOST 8

static bool is_connected(const struct people *p, struct addr addr)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->at[i].ssh && p->at[i].peer.num == addr.num && p->at[i].peer.family == addr.family)
			return true;
	return false;
}

static bool is_heard(struct people *p, uid_t user, struct addr addr)
{
	size_t of_his = 0;

	for (size_t i = 0; i < p->words_n; i++) {
		const struct word *w = &p->words[i];

		if (w->user == user && w->addr.num == addr.num && w->addr.family == addr.family)
			return true;
		of_his += w->user == user;
	}
	if (of_his < WORDS_MOST && GROW(p->words, p->words_n)) {
		p->words[p->words_n++] = (struct word){ user, addr };
		return true;
	}
	if (!p->unheard.addr.family && own_wanted(p->l, addr) && !is_known(p->l, addr))
		p->unheard = (struct word){ user, addr };
	return false;
}

static bool counts(struct people *p, const char *line, const char *host, struct addr addr)
{
	char path[64];
	struct stat st;

	if (strncmp(line, "pts/", 4) || is_connected(p, addr))
		return true;
	snprintf(path, sizeof(path), "/dev/%s", line);
	return (p->unseen || strstr(host, " via mosh [")) && !lstat(path, &st) && is_heard(p, st.st_uid, addr);
}

static void say_unheard(const struct people *p, const struct state *state)
{
	const struct word *w = &p->unheard;
	char text[PREFIX_TEXT_MAX], user[USER_TEXT_MAX];

	if (w->addr.family && is_due(&unheard_again, state, STATE_UNHEARD))
		warn("a login from %s does not count: in %s %s has logins from more than %d addresses without a"
		     " connection to sshd",
		     prefix_text(text, w->addr, -1), LOGINS, user_text(user, w->user), WORDS_MOST);
}

static void ask_utmp(struct people *p, const struct state *state)
{
	FILE *file = fopen(LOGINS, "re");
	struct login_record u;

	while (file && fread(&u, sizeof(u), 1, file) == 1) {
		char host[sizeof(u.ut_host) + 1], line[sizeof(u.ut_line) + 1];
		bool v4 = !u.ut_addr_v6[1] && !u.ut_addr_v6[2] && !u.ut_addr_v6[3];
		struct addr addr = own_bytes(v4 ? AF_INET : AF_INET6, u.ut_addr_v6, sizeof(u.ut_addr_v6));

		if (u.ut_type != USER_PROCESS || (kill(u.ut_pid, 0) && errno == ESRCH))
			continue;
		snprintf(host, sizeof(host), "%.*s", (int)sizeof(u.ut_host), u.ut_host);
		snprintf(line, sizeof(line), "%.*s", (int)sizeof(u.ut_line), u.ut_line);
		addr = addr.num ? addr : first_word(host);
		addr_unmap(&addr);
		if (addr.family && counts(p, line, host, addr))
			own_learn(p->l, addr, login_is, "%s, %s", LOGINS, line);
	}
	if (file)
		fclose(file);
	say_unheard(p, state);
}

void own_from_people(struct learned *l, struct state *state)
{
	bool *ports = calloc(TCP_PORTS, sizeof(*ports));
	struct people p = { .l = l, .named = ports };
	int err = ports ? state_guarded_ports(state, ports) : -ENOMEM;

	l->guests = true;
	err = err ?: ask_sockets(&p, state);
	if (err && !l->err)
		l->err = because(err, "the guard rails cannot ask who is connected: %s", reason(err));
	ask_ancestors(&p, state);
	ask_utmp(&p, state);
	if (!l->err)
		l->err = ask_processes(&p, state);
	l->guests = false;
	if (p.socket)
		nl_close(p.socket);
	interfaces_free(p.links);
	free(ports);
	free(p.at);
	free(p.words);
}
