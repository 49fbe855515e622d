/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is logged in or connected: from sockets, environments and utmp of the test's own. */
#ifndef MADE_PEOPLE_H
#define MADE_PEOPLE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interfaces.h"
#include "base/netlink.h"
#include "base/rights.h"
#include "state/due.h"
#include "change/own_internal.h"
#include "ktap.h"

struct state;
static int open_given(struct nl_socket **socket, int family, int flags, unsigned int groups);
static int dump_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, unsigned int ms,
		      netlink_each_fn *each, void *arg, bool *all);
static int one_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		     void *arg);
static int close_given(struct nl_socket *socket);
static FILE *file_given(const char *path, const char *mode);
static int access_given(const char *path, int mode);
static int proc_given(const char *path, int flags);
static int stat_given(const char *path, struct stat *st);
static DIR *directory_given(const char *path);
static int directory_closed(DIR *dir);
static pid_t parent_given(void);
static int kill_given(pid_t pid, int signal);
static int ports_given(struct state *state, bool *ports);
static pid_t fork_given(void);
static bool due_given(const struct state *state, const char *name, int seconds);
static bool is_due_given(const struct state *state, const char *name, int seconds);
static uint64_t rights_given(void);
static const char *name_given(uid_t uid);
static bool leaves_given(struct addr addr, char name[IF_NAMESIZE]);
static struct if_nameindex *links_given(void);
static void links_freed(struct if_nameindex *all);

#define netlink_open	      open_given
#define netlink_dump_within   dump_given
#define netlink_one	      one_given
#define nl_close	      close_given
#define fopen		      file_given
#define open		      proc_given
#define access		      access_given
#define lstat		      stat_given
#define opendir		      directory_given
#define closedir	      directory_closed
#define getppid		      parent_given
#define kill		      kill_given
#define state_guarded_ports   ports_given
#define fork		      fork_given
#define state_due	      due_given
#define state_is_due	      is_due_given
#define rights_in_effect      rights_given
#define own_leaves_by_process leaves_given
#define user_name	      name_given
#define interfaces_all	      links_given
#define interfaces_free	      links_freed

/* Where all are to be found there is time enough, however busy the machine is. */
static int64_t all_ms = 60000;
#define ALL_MS all_ms

#include "change/own_environment.c"
#include "change/own_sockets.c"
#include "change/own_people.c"
#include "change/own_sessions.c"

#undef fork
#undef fopen
#undef open
#undef access
#undef lstat
#undef opendir
#undef closedir

/* What a command of another C library reads is what programs of glibc write. */
#ifdef __GLIBC__
#define SAME(member) \
	_Static_assert(offsetof(struct glibc_login, member) == offsetof(struct utmp, member), "not where glibc has it")
SAME(ut_type);
SAME(ut_pid);
SAME(ut_line);
SAME(ut_host);
SAME(ut_addr_v6);
_Static_assert(sizeof(struct glibc_login) == sizeof(struct utmp), "not as long as glibc's");
#endif

static char proc[64];
static int fails, opened, closed, asked, directories;
static uint16_t fails_at;
static int fails_family;

struct socket_is {
	int family, protocol, state;
	const char *peer;
	unsigned int peer_port, port, uid;
	size_t cut;
	const char *local; /* NULL: ours, where it is connected; else any */
};

/*
 * Who has come to it has been accepted by nobody; what has this port is bound to device 7, and that one is MPTCP's: one
 * connection for each thousand of the peers' ports.
 */
enum { NOT_ACCEPTED = 40099, BOUND = 2222, JOINED = 2223, MPTCP = 262 };

static unsigned int device_of(const struct socket_is *is)
{
	return is->port == BOUND ? 7 : 0;
}

static const struct socket_is *sockets;
static size_t n_sockets, shown_n, looked_up;
static int cut_off; /* so many questions are not answered to their end */

static int open_given(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	*socket = NULL;
	if (family != NETLINK_SOCK_DIAG || flags || groups)
		return -EINVAL;
	if (fails && !fails_at)
		return fails;
	*socket = (struct nl_socket *)&opened;
	opened++;
	return 0;
}

static int close_given(struct nl_socket *socket)
{
	closed += socket == (struct nl_socket *)&opened;
	return 0;
}

static struct addr address_is(const char *text, int family)
{
	struct addr addr = { 0 };

	if (text && !addr_parse(text, strlen(text), &addr) && family == AF_INET6 && addr.family == 4)
		addr = (struct addr){ addr.num | (ip6)0xffff << 32, 6 };
	return addr;
}

static struct addr peer_of(const struct socket_is *is)
{
	return address_is(is->peer, is->family);
}

static struct addr local_of(const struct socket_is *is)
{
	const char *ours = is->family == AF_INET6 && !strchr(is->peer ?: "", '.') ? "2001:db8::99" : "192.0.2.99";

	return address_is(is->local ?: is->peer ? is->local ?: ours : NULL, is->family);
}

static void put_address(__be32 to[4], int family, struct addr addr)
{
	for (size_t i = 0; i < (family == AF_INET6 ? 16 : 4); i++)
		((uint8_t *)to)[i] = (uint8_t)(addr.num >> 8 * ((family == AF_INET6 ? 15 : 3) - i));
}

static void put_token(struct nlmsghdr *m, const struct socket_is *is)
{
	uint32_t info[4] = { 1, 1, 1, is->peer_port / 1000 };
	struct nlattr *layer, *part;

	/* Also of TCP, which has something else there. */
	nl_put(m, INET_DIAG_INFO, sizeof(info), info);
	if (is->port != JOINED || is->protocol == MPTCP)
		return;
	layer = nl_nest_begin(m, INET_DIAG_ULP_INFO);
	nl_put(m, INET_ULP_INFO_NAME, sizeof("mptcp"), "mptcp");
	part = nl_nest_begin(m, INET_ULP_INFO_MPTCP);
	nl_put_u32(m, 1, 12345); /* the other end's */
	nl_put_u32(m, 2, info[3]);
	nl_nest_end(m, part);
	nl_nest_end(m, layer);
}

static void give(netlink_each_fn *each, void *arg, const struct socket_is *is, bool more)
{
	char room[512] = { 0 };
	struct nlmsghdr *m = nl_put_header(room);
	struct inet_diag_msg *d = nl_put_extra(m, sizeof(*d) - is->cut);

	d->idiag_family = (uint8_t)is->family;
	d->idiag_state = (uint8_t)is->state;
	d->id.idiag_if = device_of(is);
	d->id.idiag_sport = htons((uint16_t)is->port);
	d->id.idiag_dport = htons((uint16_t)is->peer_port);
	if (!is->cut) {
		d->idiag_uid = is->uid;
		d->idiag_inode = is->port != NOT_ACCEPTED;
	}
	put_address(d->id.idiag_dst, is->family, peer_of(is));
	put_address(d->id.idiag_src, is->family, local_of(is));
	if (more)
		put_token(m, is);
	shown_n++;
	each(arg, m);
}

/* --- As the kernel takes instructions: each is checked, and can be come to by `yes`; its end says yes --- */

static bool is_at(const char *code, size_t size, size_t to)
{
	size_t at = 0;

	while (at < size && at < to)
		at += ((const struct inet_diag_bc_op *)(code + at))->yes;
	return at == to;
}

static bool is_sound(const char *code, size_t size)
{
	size_t at = 0;

	while (at < size) {
		const struct inet_diag_bc_op *op = (const void *)(code + at);
		const struct inet_diag_hostcond *of = (const void *)(op + 1);
		size_t left = size - at, least = sizeof(*op);

		if (op->code == INET_DIAG_BC_D_COND) {
			least += sizeof(*of) + (of->family == AF_INET6 ? 16 : 4);
			if (of->family != AF_INET && of->family != AF_INET6)
				return false;
		} else if (op->code == INET_DIAG_BC_D_EQ || op->code == INET_DIAG_BC_S_EQ) {
			least += sizeof(*op);
		} else if (op->code != INET_DIAG_BC_JMP) {
			return false;
		}
		if (left < least || op->yes < least || op->yes > left + 4 || op->yes % 4 || op->no < least ||
		    op->no > left + 4 || op->no % 4 || (op->no < left && !is_at(code, size, at + op->no)))
			return false;
		at += op->yes;
	}
	return at == size;
}

static bool is_within(const struct socket_is *is, const struct inet_diag_hostcond *of)
{
	struct addr peer = peer_of(is);
	__be32 bytes[4] = { 0 };

	addr_unmap(&peer);
	if ((is->family != AF_INET && is->family != AF_INET6) || (peer.family == 4) != (of->family == AF_INET))
		return false;
	put_address(bytes, of->family, peer);
	return !memcmp(bytes, of->addr, of->prefix_len / 8);
}

static bool is_shown(const struct socket_is *is, const char *code, size_t size)
{
	size_t at = 0;

	while (at < size) {
		const struct inet_diag_bc_op *op = (const void *)(code + at);
		bool yes = op->code == INET_DIAG_BC_D_EQ ? op[1].no == is->peer_port
			   : op->code == INET_DIAG_BC_S_EQ
				   ? op[1].no == is->port
				   : op->code == INET_DIAG_BC_D_COND && is_within(is, (const void *)(op + 1));

		at += yes ? op->yes : op->no;
	}
	return at == size;
}

/* As asked for, and only so: what is connected, TCP of both families. */
static int dump_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, unsigned int ms,
		      netlink_each_fn *each, void *arg, bool *all)
{
	const struct inet_diag_req *tcp = request;
	const struct inet_diag_req_v2 *udp = request;
	bool is_tcp = kind == TCPDIAG_GETSOCK;
	const struct nlattr *at = (const void *)((const char *)request + (is_tcp ? sizeof(*tcp) : sizeof(*udp)));
	int protocol = is_tcp ? IPPROTO_TCP : udp->sdiag_protocol;

	*all = true;
	if (!is_tcp && at->nla_type == INET_DIAG_REQ_PROTOCOL) {
		protocol = (int)nl_attr_u32(at);
		at = nl_attr_next(at);
	}
	if (socket != (struct nl_socket *)&opened || opened != closed + 1 || ms != 200)
		return -EBADF;
	if (size != (size_t)((const char *)at - (const char *)request) + at->nla_len ||
	    at->nla_type != INET_DIAG_REQ_BYTECODE || !is_sound(nl_attr_payload(at), nl_attr_len(at)) ||
	    (!is_tcp && kind != SOCK_DIAG_BY_FAMILY) || (!is_tcp && protocol != IPPROTO_UDP && protocol != MPTCP))
		return -EINVAL;
	asked++;
	if (fails && fails_at == kind && (is_tcp || !fails_family || fails_family == udp->sdiag_family))
		return fails;
	*all = cut_off-- <= 0;
	for (size_t i = 0; i < n_sockets && *all; i++) {
		const struct socket_is *is = &sockets[i];
		__u32 states = is_tcp ? tcp->idiag_states : udp->idiag_states;

		if (is->protocol == protocol && (states & 1u << is->state) &&
		    (is_tcp || udp->sdiag_family == is->family) && is_shown(is, nl_attr_payload(at), nl_attr_len(at)))
			give(each, arg, is, is_tcp ? tcp->idiag_ext : udp->idiag_ext);
	}
	return 0;
}

static bool is_same_address(struct addr a, struct addr b)
{
	addr_unmap(&a);
	addr_unmap(&b);
	return a.num == b.num && (!a.num || a.family == b.family);
}

static unsigned int slow_device;

/* As the kernel hands packets out: who is connected with that other end comes first, then who waits at this one. */
static int one_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		     void *arg)
{
	const struct inet_diag_req_v2 *of = request;
	bool udp = of->sdiag_protocol == IPPROTO_UDP;
	int family = of->sdiag_family, port = ntohs(udp ? of->id.idiag_dport : of->id.idiag_sport),
	    peer_port = ntohs(udp ? of->id.idiag_sport : of->id.idiag_dport);
	struct addr local = own_bytes(family, udp ? of->id.idiag_dst : of->id.idiag_src, 16),
		    peer = own_bytes(family, udp ? of->id.idiag_src : of->id.idiag_dst, 16);

	if (socket != (struct nl_socket *)&opened || opened != closed + 1 || kind != SOCK_DIAG_BY_FAMILY ||
	    size != sizeof(*of) || of->id.idiag_cookie[0] != INET_DIAG_NOCOOKIE ||
	    of->id.idiag_cookie[1] != INET_DIAG_NOCOOKIE)
		return -EINVAL;
	looked_up++;
	/* Whatever is asked by that device takes long. */
	for (int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 201 * 1000000;
	     of->id.idiag_if == slow_device && slow_device && clock_ns(CLOCK_THREAD_CPUTIME_ID) < until;)
		;
	for (int rank = 0; rank < 3; rank++)
		for (size_t i = 0; i < n_sockets; i++) {
			const struct socket_is *is = &sockets[i];
			bool is_peer = is->peer ? peer.num && is_same_address(peer_of(is), peer) &&
							  is->peer_port == (unsigned int)peer_port
						: true;

			if (is->protocol == (udp ? IPPROTO_UDP : IPPROTO_TCP) && is->port == (unsigned int)port &&
			    is_peer && (!device_of(is) || device_of(is) == of->id.idiag_if) &&
			    (is->peer	 ? 0
			     : is->local ? 1
					 : 2) == rank &&
			    (rank == 2 || is_same_address(local_of(is), local))) {
				give(each, arg, is, false);
				return 0;
			}
		}
	return -ENOENT;
}

static bool endless; /* the kernel's table of connections */

static ssize_t read_endless(void *cookie, char *to, size_t size)
{
	(void)cookie;
	memset(to, '\n', size);
	return (ssize_t)size;
}

static FILE *file_given(const char *path, const char *mode)
{
	const char *name = !strcmp(path, "/proc/self/mountinfo") ? "mountinfo"
			   : !strcmp(path, LOGINS)		 ? "utmp"
			   : !strcmp(path, "/proc/net/tcp")	 ? "tcp"
			   : !strcmp(path, "/proc/net/tcp6")	 ? "tcp6"
								 : NULL;
	char given[96];

	if (endless && name && !strcmp(name, "tcp"))
		return fopencookie(NULL, "r", (cookie_io_functions_t){ .read = read_endless });
	if (!name)
		return NULL;
	snprintf(given, sizeof(given), "%s/%s", proc, name);
	return fopen(given, mode);
}

static bool has_mptcp;

static int access_given(const char *path, int mode)
{
	return has_mptcp && !strcmp(path, "/proc/sys/net/mptcp") && mode == F_OK ? 0 : -1;
}

static int refused_pid; /* nobody may read its environment */

/* /proc is a directory of ours. */
static int proc_given(const char *path, int flags)
{
	char given[128];

	if (refused_pid && atoi(path + strlen("/proc/")) == refused_pid && strstr(path, "environ")) {
		errno = refused_pid % 2 ? EACCES : EPERM;
		return -1;
	}
	snprintf(given, sizeof(given), "%s%s", proc, path + strlen("/proc"));
	return strncmp(path, "/proc/", 6) || !(flags & O_CLOEXEC) ? -1 : open(given, flags);
}

/* Whose a process is says its number: 1 of 701, 2 of 702; so do those of terminals, of which one is gone. */
static int stat_given(const char *path, struct stat *st)
{
	char given[128];

	if (!strncmp(path, "/dev/pts/", 9)) {
		*st = (struct stat){ .st_uid = (uid_t)atoi(path + 9) % 100 };
		return strcmp(path, "/dev/pts/901") ? 0 : -1;
	}
	snprintf(given, sizeof(given), "%s%s", proc, path + strlen("/proc"));
	if (strncmp(path, "/proc/", 6) || lstat(given, st))
		return -1;
	st->st_uid = (uid_t)atoi(path + strlen("/proc/")) % 100;
	return 0;
}

static DIR *directory_given(const char *path)
{
	directories += !strcmp(path, "/proc");
	return strcmp(path, "/proc") ? NULL : opendir(proc);
}

static int directory_closed(DIR *dir)
{
	directories--;
	return closedir(dir);
}

static pid_t parent_given(void)
{
	return 500;
}

static int kill_given(pid_t pid, int signal)
{
	errno = pid == 7 ? ESRCH : EPERM;
	return signal ? 0 : -(pid > 1);
}

static bool due = true;
static const char *due_name = STATE_UNSEEN;

static bool due_given(const struct state *state, const char *name, int seconds)
{
	bool is = due;

	if (!strcmp(name, due_name))
		return !state && seconds == 600 && due;
	due = false;
	return is_due_given(state, name, seconds) || is;
}

static bool is_due_given(const struct state *state, const char *name, int seconds)
{
	return !state && !strcmp(name, STATE_CARRIED) && seconds == 86400 && due;
}

static uint64_t rights = ~(uint64_t)0;

static uint64_t rights_given(void)
{
	return rights;
}

/* 10.0.0.0/8 is behind an OpenVPN. */
static bool leaves_given(struct addr addr, char name[IF_NAMESIZE])
{
	strcpy(name, "tun0");
	return addr.family == 4 && addr.num >> 24 == 10;
}

static struct if_nameindex links[] = { { 1, NULL }, { 7, NULL }, { 9, NULL }, { 0 } };
static int links_held;
static bool no_links;

static struct if_nameindex *links_given(void)
{
	links_held += !no_links;
	return no_links ? NULL : links;
}

static void links_freed(struct if_nameindex *all)
{
	links_held -= all == links;
}

static int names_asked;
static bool nameless;

static const char *name_given(uid_t uid)
{
	names_asked++;
	if (nameless)
		return NULL;
	return uid == 33    ? "www-data"
	       : uid == 101 ? "systemd-resolve"
	       : uid == 105 ? "frr"
	       : uid == 999 ? "unbound"
	       : uid	    ? NULL
			    : "root";
}

static int forks_left = -1; /* before one that fails; -1: none does */

static pid_t fork_given(void)
{
	if (!forks_left--) {
		errno = EAGAIN;
		return -1;
	}
	forks_left = forks_left < 0 ? -1 : forks_left;
	return fork();
}

static int named_more;

static int ports_given(struct state *state, bool *ports)
{
	(void)state;
	if (err_is(fails, EIO) && fails_at == 1)
		return because(fails, "the state cannot be read");
	ports[8443] = true;
	ports[65535] = true;
	for (int i = 0; i < named_more; i++)
		ports[1000 + 2 * i] = true;
	return 0;
}

/* --- Processes --- */

static void put(int pid, const char *what, const void *text, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, what);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	close(fd);
}

#define PUT(pid, what, text) put(pid, what, text, sizeof(text) - 1)

static void remove_process(int pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d/environ", proc, pid);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d/status", proc, pid);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d/statm", proc, pid);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	rmdir(path);
}

/* --- What is learned --- */

static int by_line(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	return strncmp(x, y, strcspn(x, "\n") + 1);
}

/* Processes come as the directory has them. */
static void sort_lines(const char *text, char to[4096])
{
	const char *lines[64];
	size_t n = 0;

	for (; *text; text = strchr(text, '\n') + 1)
		lines[n++] = text;
	qsort(lines, n, sizeof(lines[0]), by_line);
	*to = '\0';
	for (size_t i = 0; i < n; i++)
		strncat(to, lines[i], strcspn(lines[i], "\n") + 1);
}

static bool learns(const char *wanted, const char *error, struct learned l)
{
	char text[4096] = "", sorted[4096], sorted_wanted[4096], address[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX], mine[32];
	char *at;
	bool ok;

	asked = opened = closed = 0;
	shown_n = looked_up = 0;
	own_from_people(&l, NULL);
	for (size_t i = 0; i < l.n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s\n",
			 prefix_text(address, l.at[i].addr, -1), own_text(what, &l.at[i]));
	snprintf(mine, sizeof(mine), "process %d)", getpid());
	at = strstr(text, mine);
	if (at) {
		memmove(at + 11, at + strlen(mine), strlen(at + strlen(mine)) + 1);
		memcpy(at, "process me)", 11);
	}
	sort_lines(text, sorted);
	sort_lines(wanted, sorted_wanted);
	ok = CHECK(!strcmp(sorted, sorted_wanted), "'%s', not '%s'", sorted, sorted_wanted);
	ok = CHECK(error ? l.err && strstr(reason(l.err), error) : !l.err, "the error is '%s'",
		   l.err ? reason(l.err) : "none") &&
	     ok;
	ok = CHECK(opened == closed && !directories && !links_held,
		   "%d are opened, and %d closed; %d directories are left open, %d lists of links are kept", opened,
		   closed, directories, links_held) &&
	     ok;
	ok = CHECK(!l.guests, "whoever comes next is a guest, too") && ok;
	free(l.slots);
	free(l.at);
	fails = fails_at = fails_family = 0;
	return ok;
}

static const struct socket_is many[] = {
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.1", 50000, 22, 0, 0, NULL },	  /* a session of sshd */
	{ AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, "2001:db8::1", 50001, 22, 0, 0, NULL }, /* the same */
	{ AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.2", 50002, 22, 0, 0,
	  NULL }, /* by a socket of both families */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.3", 50003, 22, 0, 0, NULL },	    /* who has no process */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.4", 50004, 22, 1000, 0, NULL },   /* somebody's own server */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.5", 50005, 8443, 1000, 0, NULL }, /* guests of a named port */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.6", 50006, 65535, 33, 0, NULL },
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.7", 50007, 8442, 33, 0, NULL },
	{ AF_INET, IPPROTO_TCP, TCP_LISTEN, NULL, 0, 22, 0, 0, NULL },
	{ AF_INET, IPPROTO_TCP, TCP_SYN_RECV, "192.0.2.8", 50008, 8443, 0, 0, NULL }, /* not asked for */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "127.0.0.1", 53, 40000, 0, 0, NULL },
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.10", 53, 40001, 0, 0, NULL }, /* name servers */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.11", 853, 40002, 999, 0, NULL },
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.12", 853, 40003, 1000, 0, NULL }, /* a person's */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.13", 123, 40004, 0, 0, NULL },    /* no time by TCP */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.17", 179, 40008, 105, 0, NULL },
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.18", 40009, 179, 105, 0, NULL }, /* it came to us */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.14", 53, 22, 0, 0, NULL }, /* comes to us, from that port */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.19", 53, NOT_ACCEPTED, 0, 0,
	  NULL }, /* and to a person's listener */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.15", 853, 40005, 0, 4, NULL }, /* cut off */
	{ AF_UNIX, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.16", 853, 40006, 0, 0, NULL },
	{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.20", 53, 40000, 101, 0, NULL },
	{ AF_INET6, IPPROTO_UDP, TCP_ESTABLISHED, "2001:db8::20", 123, 40001, 0, 0, NULL },
	{ AF_INET6, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.21", 123, 40002, 0, 0, NULL },
	{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.22", 124, 40003, 0, 0, NULL },
	{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.23", 123, 123, 0, 0, NULL }, /* 123 is open for everybody */
	{ AF_INET, IPPROTO_UDP, TCP_CLOSE, NULL, 0, 123, 0, 0, NULL },
	{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.24", 50000, 8443, 0, 0, NULL }, /* ports are of TCP */
	/* Of whom may be told whom to speak to. */
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.80", 53, 40020, 33, 0, NULL },
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.81", 853, 40021, 33, 0, NULL },
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.82", 179, 40022, 33, 0, NULL },
	{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.83", 53, 40023, 33, 0, NULL },
	{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.84", 123, 40024, 34, 0, NULL }, /* without a name */
	/* People's, at another address or at all: by these nobody comes to the system. */
	{ AF_INET, IPPROTO_TCP, TCP_LISTEN, NULL, 0, 40008, 1000, 0, "192.0.2.98" },
	{ AF_INET, IPPROTO_UDP, TCP_CLOSE, NULL, 0, 40000, 1000, 0, NULL },
	/* The system's own, at another address; and at this one, where it is IPv6's, too. */
	{ AF_INET, IPPROTO_TCP, TCP_LISTEN, NULL, 0, 40001, 0, 0, "192.0.2.98" },
	{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.24", 53, 40010, 0, 0, NULL },
	{ AF_INET6, IPPROTO_TCP, TCP_LISTEN, NULL, 0, 40010, 0, 0, NULL },
	{ AF_INET6, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.25", 53, 40011, 0, 0, NULL },
	{ AF_INET, IPPROTO_UDP, TCP_CLOSE, NULL, 0, 40011, 0, 0, "192.0.2.99" },
};

/* Learns, and what is said of it. */
static void learns_in_time(const char *wanted, const char *said_wanted)
{
	FILE *messages = stderr;
	char *said = NULL;
	size_t size = 0;
	int64_t began = clock_ms();

	stderr = open_memstream(&said, &size);
	learns(wanted, NULL, (struct learned){ 0 });
	fclose(stderr);
	stderr = messages;
	CHECK(clock_ms() - began < ALL_MS + 60000, "it took %lld ms", (long long)(clock_ms() - began));
	CHECK(said_wanted ? !strncmp(said, said_wanted, strlen(said_wanted)) && strcspn(said, "\n") == strlen(said) - 1
			  : !*said,
	      "said: '%s'", said);
	free(said);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
}

static bool is_no_other(const void *arg, struct addr addr)
{
	return addr.num == *(const unsigned int *)arg;
}

static int people_run(const struct ktap_case *run, size_t n)
{
	int status;

	snprintf(proc, sizeof(proc), "%s/unit_people.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(proc))
		return KTAP_FAIL;
	unsetenv("SSH_CONNECTION");
	status = ktap_run(run, n);
	rmdir(proc);
	return status;
}

#endif
