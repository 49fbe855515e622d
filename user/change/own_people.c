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
#include <unistd.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/grow.h"
#include "base/netlink.h"
#include "base/rights.h"
#include "base/state_path.h"
#include "change/own_internal.h"
#include "change/own_utmp.h"
#include "state/due.h"
#include "state/grants.h"

static const char ssh_is[] = "the peer of this SSH session", others_is[] = "the peer of an SSH session",
		  login_is[] = "somebody who is logged in", guest_is[] = "somebody who is connected",
		  clock_is[] = "a time server in use", resolver_is[] = "a name server in use", bgp_is[] = "a BGP peer";

struct connection {
	struct addr peer;
	unsigned int peer_port, port;
	bool udp, ssh;	       /* it may be an SSH session */
	const char *server_is; /* NULL: by its port it is none that we use */
};

struct people {
	struct learned *l;
	bool *named;	 /* TCP ports whose guests are guarded */
	bool *serves[2]; /* ports where somebody may come to us: of TCP, of UDP */
	struct connection *at;
	size_t n;
	bool udp;
};

/* That some environments may not be read is so for long, and is said so often. */
#define UNSEEN_SECONDS 600
static int64_t unseen_again;

/* From here on users are people: what they connect to is not what the machine needs. sshd's sockets are root's. */
#define PEOPLE 1000

static int take(struct people *p, const struct connection *c)
{
	if (!GROW(p->at, p->n))
		return -ENOMEM;
	p->at[p->n++] = *c;
	return 0;
}

static const char *server_of(const struct people *p, const struct inet_diag_msg *m, unsigned int port)
{
	/* What nobody has accepted yet is nobody's, and has come to us: older kernels call it root's. */
	if (m->idiag_uid >= PEOPLE || !m->idiag_inode)
		return NULL;
	/* Who comes to us says by that nothing of who he is. */
	if (port == 179 && !p->udp)
		return bgp_is;
	return port == 53 || port == 853 ? resolver_is : port == 123 && p->udp ? clock_is : NULL;
}

static void on_socket(void *arg, const struct nlmsghdr *message)
{
	const struct inet_diag_msg *m = nl_payload(message);
	struct people *p = arg;
	struct connection c = { .udp = p->udp };

	if (nl_payload_len(message) < sizeof(*m))
		return;
	c.port = ntohs(m->id.idiag_sport);
	/* People may listen, at another address, at the port that the system asks from: by that nobody comes to it. */
	if (m->idiag_state != TCP_ESTABLISHED) {
		p->serves[p->udp][c.port] |= m->idiag_uid < PEOPLE;
		return;
	}
	c.peer = own_bytes(m->idiag_family, m->id.idiag_dst, sizeof(m->id.idiag_dst));
	c.peer_port = ntohs(m->id.idiag_dport);
	addr_unmap(&c.peer);
	if (!c.peer.family || !own_wanted(p->l, c.peer))
		return;
	c.server_is = server_of(p, m, c.peer_port);
	if (p->named[c.port] && !p->udp)
		own_learn(p->l, c.peer, guest_is, "TCP port %u", c.port);
	else
		c.ssh = !p->udp && !m->idiag_uid;
	if ((c.server_is || c.ssh) && take(p, &c) && !p->l->err)
		p->l->err = -ENOMEM;
}

/* Who comes to a listener of ours chooses the port that he comes from, and is no server by that. */
static void learn_servers(const struct people *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct connection *c = &p->at[i];

		if (c->server_is && !p->serves[c->udp][c->port])
			own_learn(p->l, c->peer, c->server_is, "a socket to its port %u", c->peer_port);
	}
}

/*
 * Without that part of the kernel, sockets are not known; leases, sessions and files are. The old question for TCP is
 * about both families: walking the kernel's table of connections takes a millisecond where it is large.
 */
static int ask_sockets(struct people *p)
{
	static const struct inet_diag_req tcp = { .idiag_states = 1 << TCP_ESTABLISHED | 1 << TCP_LISTEN };
	struct inet_diag_req_v2 udp = { .sdiag_protocol = IPPROTO_UDP,
					.idiag_states = 1 << TCP_ESTABLISHED | 1 << TCP_CLOSE };
	struct nl_socket *socket;
	int err = netlink_open(&socket, NETLINK_SOCK_DIAG, 0, 0);

	if (!err)
		err = netlink_dump(socket, TCPDIAG_GETSOCK, &tcp, sizeof(tcp), on_socket, p);
	p->udp = true;
	for (int i = 0; i < 2 && !err; i++) {
		udp.sdiag_family = i ? AF_INET6 : AF_INET;
		err = netlink_dump(socket, SOCK_DIAG_BY_FAMILY, &udp, sizeof(udp), on_socket, p);
		if (err_is(err, ENOENT)) /* without IPv6 */
			err = 0;
	}
	if (socket)
		nl_close(socket);
	learn_servers(p);
	return err_is(err, EPROTONOSUPPORT) || err_is(err, EOPNOTSUPP) || err_is(err, ENOENT) ? 0 : err;
}

static struct addr first_word(const char *text)
{
	struct addr addr;

	if (addr_parse(text, strcspn(text, "% "), &addr))
		return (struct addr){ 0 };
	addr_unmap(&addr);
	return addr;
}

static void ask_ancestors(struct learned *l)
{
	char text[SSH_TEXT_MAX];
	int pid = errand.here ? errand.ssh_pid : own_session(text);
	const char *session = errand.here ? errand.ssh : text;

	own_learn(l, first_word(session), ssh_is, "environment of process %d", pid);
}

/* The processes of a session may live on in screen or tmux: its connection must be there, too. */
static void on_session(void *arg, int pid, const char *text)
{
	const struct people *p = arg;
	unsigned int peer_port, port;
	struct addr addr;

	if (sscanf(text, "%*s %u %*s %u", &peer_port, &port) != 2)
		return;
	addr = first_word(text);
	for (size_t i = 0; i < p->n; i++) {
		const struct connection *c = &p->at[i];

		if (c->ssh && c->peer.num == addr.num && c->peer.family == addr.family && c->peer_port == peer_port &&
		    c->port == port)
			own_learn(p->l, addr, others_is, "environment of process %d", pid);
	}
}

/* Whoever is known for another reason needs no session. */
static bool is_known(const struct learned *l, struct addr addr)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].addr.num == addr.num && l->at[i].addr.family == addr.family)
			return true;
	return false;
}

/* Of the service's processes one says it for all. */
static void say_unseen(const struct people *p, const struct state *state)
{
	bool unknown = false;

	for (size_t i = 0; i < p->n && !unknown; i++)
		unknown = p->at[i].ssh && !is_known(p->l, p->at[i].peer);
	if (!unknown || clock_ms() < unseen_again)
		return;
	unseen_again = clock_ms() + UNSEEN_SECONDS * 1000;
	if (!log_settings.kept || state_due(state, STATE_UNSEEN, UNSEEN_SECONDS))
		warn("not all SSH sessions may be known: this process may not read the environments of all others, which"
		     " %s",
		     rights_read_others(rights_in_effect(), false) ? "SELinux, AppArmor or a user namespace forbids"
								   : "takes " READING_OTHERS);
}

static int ask_processes(struct people *p, const struct state *state)
{
	bool any = false, refused;
	int err;

	for (size_t i = 0; i < p->n && !any; i++)
		any = p->at[i].ssh;
	if (!any)
		return 0;
	/* The service has no right to see other processes. */
	if (errand.here)
		return errand_decline("there is a connection that may be an SSH session");
	err = own_each_session(on_session, p, &refused);
	if (!err && (refused || own_processes_hidden()))
		say_unseen(p, state);
	return err;
}

/* mosh writes "192.0.2.1 via mosh [123]": it has no TCP connection. */
static void ask_utmp(struct learned *l)
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
		own_learn(l, addr.num ? addr : first_word(host), login_is, "%s, %s", LOGINS, line);
	}
	if (file)
		fclose(file);
}

void own_from_people(struct learned *l, struct state *state)
{
	bool *ports = calloc(3 * TCP_PORTS, sizeof(*ports));
	struct people p = { .l = l, .named = ports, .serves = { ports + TCP_PORTS, ports + 2 * TCP_PORTS } };
	int err = ports ? state_guarded_ports(state, ports) : -ENOMEM;

	l->guests = true;
	err = err ?: ask_sockets(&p);
	if (err && !l->err)
		l->err = because(err, "the guard rails cannot ask who is connected: %s", reason(err));
	ask_ancestors(l);
	ask_utmp(l);
	if (!l->err)
		l->err = ask_processes(&p, state);
	l->guests = false;
	free(ports);
	free(p.at);
}
