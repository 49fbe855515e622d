// SPDX-License-Identifier: GPL-2.0-only
/* Who is logged in or connected, and what servers are in use: from sockets, environments and utmp of the test's own. */
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

#define netlink_open	      open_given
#define netlink_dump_within   dump_given
#define netlink_one	      one_given
#define nl_close	      close_given
#define fopen		      file_given
#define open		      proc_given
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

/* Where all are to be found there is time enough, however busy the machine is. */
static int64_t all_ms = 60000;
#define ALL_MS all_ms

#include "change/own_environment.c"
#include "change/own_people.c"
#include "change/own_sessions.c"

#undef fork
#undef fopen
#undef open
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

/* Who has come to it has been accepted by nobody. */
enum { NOT_ACCEPTED = 40099 };

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

static void give(netlink_each_fn *each, void *arg, const struct socket_is *is)
{
	char room[512] = { 0 };
	struct nlmsghdr *m = nl_put_header(room);
	struct inet_diag_msg *d = nl_put_extra(m, sizeof(*d) - is->cut);

	d->idiag_family = (uint8_t)is->family;
	d->idiag_state = (uint8_t)is->state;
	d->id.idiag_sport = htons((uint16_t)is->port);
	d->id.idiag_dport = htons((uint16_t)is->peer_port);
	if (!is->cut) {
		d->idiag_uid = is->uid;
		d->idiag_inode = is->port != NOT_ACCEPTED;
	}
	put_address(d->id.idiag_dst, is->family, peer_of(is));
	put_address(d->id.idiag_src, is->family, local_of(is));
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

	*all = true;
	if (socket != (struct nl_socket *)&opened || opened != closed + 1 || ms != 200)
		return -EBADF;
	if (size != (size_t)((const char *)at - (const char *)request) + at->nla_len ||
	    at->nla_type != INET_DIAG_REQ_BYTECODE || !is_sound(nl_attr_payload(at), nl_attr_len(at)) ||
	    (!is_tcp && kind != SOCK_DIAG_BY_FAMILY) || (!is_tcp && udp->sdiag_protocol != IPPROTO_UDP))
		return -EINVAL;
	asked++;
	if (fails && fails_at == kind && (is_tcp || !fails_family || fails_family == udp->sdiag_family))
		return fails;
	*all = cut_off-- <= 0;
	for (size_t i = 0; i < n_sockets && *all; i++) {
		const struct socket_is *is = &sockets[i];
		__u32 states = is_tcp ? tcp->idiag_states : udp->idiag_states;

		if ((is->protocol == IPPROTO_TCP) == is_tcp && (states & 1u << is->state) &&
		    (is_tcp || udp->sdiag_family == is->family) && is_shown(is, nl_attr_payload(at), nl_attr_len(at)))
			give(each, arg, is);
	}
	return 0;
}

static bool is_same_address(struct addr a, struct addr b)
{
	addr_unmap(&a);
	addr_unmap(&b);
	return a.num == b.num && (!a.num || a.family == b.family);
}

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
	    of->id.idiag_cookie[1] != INET_DIAG_NOCOOKIE || of->id.idiag_if)
		return -EINVAL;
	looked_up++;
	for (int rank = 0; rank < 3; rank++)
		for (size_t i = 0; i < n_sockets; i++) {
			const struct socket_is *is = &sockets[i];
			bool is_peer = is->peer ? peer.num && is_same_address(peer_of(is), peer) &&
							  is->peer_port == (unsigned int)peer_port
						: true;

			if ((is->protocol == IPPROTO_UDP) == udp && is->port == (unsigned int)port && is_peer &&
			    (is->peer	 ? 0
			     : is->local ? 1
					 : 2) == rank &&
			    (rank == 2 || is_same_address(local_of(is), local))) {
				give(each, arg, is);
				return 0;
			}
		}
	return -ENOENT;
}

static FILE *file_given(const char *path, const char *mode)
{
	bool mounts = !strcmp(path, "/proc/self/mountinfo");
	char given[96];

	snprintf(given, sizeof(given), "%s/%s", proc, mounts ? "mountinfo" : "utmp");
	return mounts || !strcmp(path, LOGINS) ? fopen(given, mode) : NULL;
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

static void put_login(FILE *file, short type, int pid, const char *line, const char *host, const char *address)
{
	struct login_record u = { .ut_type = type, .ut_pid = pid };
	struct addr addr = { 0 };

	memcpy(u.ut_line, line, strlen(line));
	memcpy(u.ut_host, host, strlen(host));
	if (address && !addr_parse(address, strlen(address), &addr))
		for (size_t i = 0; i < (addr.family == 6 ? 16 : 4); i++)
			((uint8_t *)u.ut_addr_v6)[i] = (uint8_t)(addr.num >> 8 * ((addr.family == 6 ? 15 : 3) - i));
	fwrite(&u, sizeof(u), 1, file);
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
	ok = CHECK(opened == closed && !directories, "%d are opened, and %d closed; %d directories are left open",
		   opened, closed, directories) &&
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

#define GUESTS                                                  \
	"192.0.2.5 somebody who is connected (TCP port 8443)\n" \
	"192.0.2.6 somebody who is connected (TCP port 65535)\n"
#define SERVERS_TCP                                                    \
	"192.0.2.10 a name server in use (a socket to its port 53)\n"  \
	"192.0.2.11 a name server in use (a socket to its port 853)\n" \
	"192.0.2.17 a BGP peer (a socket to its port 179)\n"
#define SERVERS                                                          \
	SERVERS_TCP                                                      \
	"192.0.2.20 a name server in use (a socket to its port 53)\n"    \
	"2001:db8::20 a time server in use (a socket to its port 123)\n" \
	"192.0.2.21 a time server in use (a socket to its port 123)\n"

static void connected(void)
{
	sockets = many;
	n_sockets = sizeof(many) / sizeof(many[0]);
	names_asked = 0;
	learns(GUESTS SERVERS, NULL, (struct learned){ 0 });
	CHECK(asked == 4 && names_asked == 6, "%d questions, %d of users", asked, names_asked);
	nameless = true;
	learns(GUESTS SERVERS "192.0.2.80 a name server in use (a socket to its port 53)\n"
			      "192.0.2.81 a name server in use (a socket to its port 853)\n"
			      "192.0.2.82 a BGP peer (a socket to its port 179)\n"
			      "192.0.2.83 a name server in use (a socket to its port 53)\n"
			      "192.0.2.84 a time server in use (a socket to its port 123)\n",
	       NULL, (struct learned){ 0 });
	nameless = false;
	n_sockets = 0;
	learns("", NULL, (struct learned){ 0 });
}

/*
 * As many sockets as a user likes: what he can have at no cost is not even shown to us, and what he has beside one of
 * ours hides it not.
 */
static void crowds(void)
{
	static const struct socket_is his[] = {
		{ AF_INET, IPPROTO_UDP, TCP_CLOSE, NULL, 0, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET, IPPROTO_UDP, TCP_CLOSE, NULL, 0, 40002, 12345, 0, NULL },
		{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "127.0.0.3", 53, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET6, IPPROTO_UDP, TCP_ESTABLISHED, "127.0.0.3", 53, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET6, IPPROTO_UDP, TCP_ESTABLISHED, "::1", 123, 40000, 12345, 0, "::1" },
		{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.70", 54, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET, IPPROTO_TCP, TCP_LISTEN, NULL, 0, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "127.0.0.2", 53, 8443, 12345, 0, "127.0.0.2" },
		{ AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, "127.0.0.2", 53, 8443, 12345, 0, "127.0.0.2" },
		{ AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, "::1", 53, 8443, 12345, 0, "::1" },
		{ AF_INET, IPPROTO_TCP, TCP_CLOSE_WAIT, "192.0.2.71", 53, 8443, 12345, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_TIME_WAIT, "192.0.2.71", 53, 8443, 12345, 0, NULL },
	};
	static const struct socket_is ours = { AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.20", 53, 40000, 0,
					       0,	NULL };
	enum { CROWD = 12000 };
	struct socket_is *all = malloc((CROWD + 1) * sizeof(*all));

	if (!CHECK(all, "no memory"))
		return;
	for (size_t i = 0; i < CROWD; i++)
		all[i] = his[i % (sizeof(his) / sizeof(his[0]))];
	all[CROWD] = ours;
	sockets = all;
	n_sockets = CROWD + 1;
	learns("192.0.2.20 a name server in use (a socket to its port 53)\n", NULL, (struct learned){ 0 });
	CHECK(shown_n <= 2 && looked_up == 1, "%zu sockets are shown, %zu are looked for", shown_n, looked_up);
	free(all);
}

static void learns_in_time(const char *wanted, const char *said_wanted);

/* Where there are more than can be looked at in time, that is said; sessions are found by what they say. */
static void too_many(void)
{
	sockets = many;
	n_sockets = 5;
	PUT(600, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0HOME=/root");
	PUT(601, "environ", "SSH_CONNECTION=2001:db8::1%eth0 50001 2001:db8::99%eth0 22\0");
	PUT(602, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22\0");
	PUT(603, "environ", "SSH_CONNECTION=192.0.2.4 50004 192.0.2.99 22\0"); /* of a server that is not root's */
	PUT(604, "environ", "SSH_CONNECTION=192.0.2.3 50009 192.0.2.99 22\0"); /* of before: the listener is there */
	PUT(605, "environ", "SSH_CONNECTION=192.0.2.3 50003 192.0.2.98 22\0");
	PUT(606, "environ", "SSH_CONNECTION=192.0.2.3 50003 2001:db8::99 22\0");
	PUT(607, "environ", "SSH_CONNECTION=192.0.2.3 50003 nowhere 22\0");
	cut_off = 1;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 600)\n"
		       "2001:db8::1 the peer of an SSH session (environment of process 601)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 602)\n",
		       NULL);
	for (int pid = 600; pid < 608; pid++)
		remove_process(pid);
	n_sockets = sizeof(many) / sizeof(many[0]);
	cut_off = 3;
	learns_in_time("2001:db8::20 a time server in use (a socket to its port 123)\n"
		       "192.0.2.21 a time server in use (a socket to its port 123)\n",
		       "xdp-bloom: not all servers and guests of this machine may be known: its sockets that may be to"
		       " such could not all be looked at in time");
	CHECK(opened == 4, "%d sockets were opened", opened);
	/* It is said once. */
	cut_off = 4;
	learns_in_time("", NULL);
}

/* More ports are named than the kernel is told of. */
static void many_ports(void)
{
	sockets = many;
	n_sockets = sizeof(many) / sizeof(many[0]);
	for (named_more = 56; named_more < 59; named_more++) {
		size_t fewer = shown_n;

		learns(GUESTS SERVERS, NULL, (struct learned){ 0 });
		CHECK(named_more == 56 || (shown_n > fewer) == (named_more == 58), "with %d: %zu are shown", named_more,
		      shown_n);
	}
	named_more = 0;
}

/* sshd's own processes say whose they are; those of others do not count. */
static void sessions(void)
{
	sockets = many;
	n_sockets = 5;
	PUT(610, "environ", "SSH_CONNECTION=192.0.2.4 50004 192.0.2.99 22\0"); /* of a server that is not root's */
	PUT(600, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0HOME=/root");
	PUT(601, "environ", "HOME=/root\0SSH_CONNECTION=2001:db8::1%eth0 50001 2001:db8::99 22\0");
	PUT(602, "environ", "X=SSH_CONNECTION=192.0.2.3 50003 192.0.2.99 22\0NOT_SSH_CONNECTION=1 2 3 4\0");
	PUT(603, "environ", "SSH_CONNECTION=192.0.2.2 50009 192.0.2.99 22\0");	/* another connection of his */
	PUT(604, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 222\0"); /* another server's */
	PUT(605, "environ", "SSH_CONNECTION=192.0.2.2 50002\0");
	PUT(606, "environ", "SSH_CONNECTION=");
	PUT(607, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22"); /* cut off */
	PUT(608, "status", "nothing else");
	learns("192.0.2.1 the peer of an SSH session (environment of process 600)\n"
	       "2001:db8::1 the peer of an SSH session (environment of process 601)\n",
	       NULL, (struct learned){ 0 });
	PUT(609, "environ", "SSH_CONNECTION=::ffff:192.0.2.2 50002 192.0.2.99 22\0");
	n_sockets = 3;
	sockets = many + 1;
	learns("2001:db8::1 the peer of an SSH session (environment of process 601)\n"
	       "192.0.2.2 the peer of an SSH session (environment of process 609)\n",
	       NULL, (struct learned){ 0 });
	n_sockets = 0;
	learns("", NULL, (struct learned){ 0 });
	for (int pid = 600; pid < 611; pid++)
		remove_process(pid);
}

/* A pipe that nobody writes to is not even opened. */
static void put_stuck(int pid)
{
	char path[128];

	PUT(pid, "status", "");
	snprintf(path, sizeof(path), "%s/%d/environ", proc, pid);
	if (mkfifo(path, 0600))
		abort();
}

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

#define NOT_ALL "xdp-bloom: not all SSH sessions may be known: of "

/* Whoever has the reading of his environment take for ever hides nobody else's session. */
static void stuck(void)
{
	sockets = many;
	n_sockets = 5;
	put_stuck(701);
	PUT(801, "environ", "SSH_CONNECTION=192.0.2.3 50003 192.0.2.99 22\0");
	PUT(702, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0");
	PUT(703, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22\0");
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 702)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 703)\n"
		       "192.0.2.3 the peer of an SSH session (environment of process 801)\n",
		       NOT_ALL
		       "4 processes the environments of 1 could not be read in time, that of process 701 first");
	/* That is said once: nor does it delay what comes next. */
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 702)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 703)\n"
		       "192.0.2.3 the peer of an SSH session (environment of process 801)\n",
		       NULL);
	CHECK(is_slow(701) && !is_slow(702), "who is left out is another");
	memset(slow, 0, sizeof(slow));
	remove_process(801);
	for (int pid = 901; pid < 2001; pid += 100)
		put_stuck(pid);
	all_ms = 6000;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 702)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 703)\n",
		       NOT_ALL "14 processes the environments of 12 could not be read in time, that of process ");
	all_ms = 60000;
	/* Nor is one waited for where no connection is asked about. */
	n_sockets = 0;
	learns("", NULL, (struct learned){ 0 });
	memset(slow, 0, sizeof(slow));
	for (int pid = 701; pid < 704; pid++)
		remove_process(pid);
	for (int pid = 901; pid < 2001; pid += 100)
		remove_process(pid);
}

/* Nor do many of them hide whoever has a number above theirs; and root they hide never. */
static void many_stuck(void)
{
	sockets = many;
	n_sockets = 5;
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0");
	for (int pid = 701; pid < 741; pid++)
		put_stuck(pid);
	PUT(799, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22\0");
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 799)\n",
		       NOT_ALL "42 processes the environments of 40 could not be read in time, that of process ");
	memset(slow, 0, sizeof(slow));
	remove_process(799);
	for (int pid = 741; pid < 800; pid++)
		put_stuck(pid);
	all_ms = 3000;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n",
		       NOT_ALL "100 processes the environments of 99 could not be read in time, that of process ");
	all_ms = 60000;
	memset(slow, 0, sizeof(slow));
	for (int pid = 700; pid < 800; pid++)
		remove_process(pid);
}

/* Where no more processes can be started, those that are there go on. */
static void few_readers(void)
{
	sockets = many;
	n_sockets = 5;
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0");
	for (int pid = 701; pid < 704; pid++)
		put_stuck(pid);
	PUT(799, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22\0");
	forks_left = 2;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 799)\n",
		       NOT_ALL "5 processes the environments of 3 could not be read in time, that of process ");
	memset(slow, 0, sizeof(slow));
	forks_left = 0;
	learns("", "no process could be started", (struct learned){ 0 });
	for (int pid = 700; pid < 800; pid++)
		remove_process(pid);
}

#define UNSEEN \
	"xdp-bloom: not all SSH sessions may be known: this process may not read the environments of all others, which "
#define WITHOUT_RIGHTS UNSEEN "takes CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"

/* What may not be read is said, if somebody is there whom nothing else knows. */
static void refused_to_us(void)
{
	sockets = many;
	n_sockets = 2;
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0");
	for (refused_pid = 601; refused_pid <= 602; refused_pid++) {
		PUT(refused_pid, "statm", "2210 519 410 7 0 300 0\n");
		unseen_again = 0;
		for (int i = 0; i < 2; i++)
			learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n",
				       i	? NULL
				       : rights ? UNSEEN "SELinux, AppArmor or a user namespace forbids"
						: WITHOUT_RIGHTS);
		remove_process(refused_pid);
		rights = 0;
	}
	/* A thread of the kernel has no environment, and who is gone has none any more. */
	PUT(refused_pid, "statm", "0 0 0 0 0 0 0\n");
	unseen_again = 0;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	PUT(604, "status", "");
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	refused_pid = 1;
	PUT(1, "statm", "2210");
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	remove_process(1);
	refused_pid = 603;
	/* All are known. */
	PUT(refused_pid, "statm", "2210");
	n_sockets = 1;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	n_sockets = 0;
	learns_in_time("", NULL);
	/* In the service's log one of its processes says it. */
	n_sockets = 2;
	log_settings.kept = true;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", WITHOUT_RIGHTS);
	unseen_again = 0;
	due = false;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	log_settings.kept = false;
	due = true;
	remove_process(refused_pid);
	refused_pid = 0;
	rights = ~(uint64_t)0;
	remove_process(604);
	remove_process(700);
}

#define TEN	 "xxxxxxxxxx"
#define HUNDRED	 TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED

/* Nor are processes read that are not shown. */
static void hidden_from_us(void)
{
	static const uint64_t all = ~(uint64_t)0, trace = 1ULL << CAP_SYS_PTRACE, search = 1ULL << CAP_DAC_READ_SEARCH,
			      override = 1ULL << CAP_DAC_OVERRIDE;
	static const struct {
		const char *mounts;
		uint64_t rights;
		bool said;
	} each[] = {
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=invisible\n", 0, true },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=2\n", ~trace, true },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=ptraceable\n", search | override, true },
		{ "21 1 0:20 / /proc rw - proc proc rw,gid=4,hidepid=4,subset=pid\n", 0, true },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=invisible\n", all, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=invisible\n", trace, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=noaccess\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=1\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=off\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw\n", 0, false },
		{ "21 1 0:20 / /mnt/proc rw - proc proc rw,hidepid=invisible\n", 0, false },
		{ "21 1 0:20 / /proc/sys ro - proc proc rw,hidepid=invisible\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=2\n22 21 0:21 / /proc rw - proc proc rw\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw\n22 21 0:21 / /proc rw - proc proc rw,hidepid=2\n", 0, true },
		{ "", 0, false },
		/* As anybody may mount something: his line is no two. */
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=2\n22 1 0:21 / /home/" THOUSAND
		  " rw,nosuid shared:1 - fuse.x /proc rw\n",
		  0, true },
	};
	char path[96];

	sockets = many;
	n_sockets = 2;
	snprintf(path, sizeof(path), "%s/mountinfo", proc);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		FILE *file = fopen(path, "we");

		if (!file)
			return (void)CHECK(false, "%s cannot be written", path);
		fputs(each[i].mounts, file);
		fclose(file);
		rights = each[i].rights;
		unseen_again = 0;
		learns_in_time("", each[i].said ? WITHOUT_RIGHTS : NULL);
		if (i == 0) {
			n_sockets = 0;
			unseen_again = 0;
			learns_in_time("", NULL);
			n_sockets = 2;
		}
	}
	rights = ~(uint64_t)0;
	unlink(path);
}

/* Our own: in our environment, or that of the nearest process above. */
static void ancestors(void)
{
	static char large[70000];

	n_sockets = 0;
	setenv("SSH_CONNECTION", "192.0.2.30 50000 192.0.2.99 22", 1);
	PUT(500, "environ", "SSH_CONNECTION=192.0.2.31 50000 192.0.2.99 22\0");
	learns("192.0.2.30 the peer of this SSH session (environment of process me)\n", NULL, (struct learned){ 0 });
	setenv("SSH_CONNECTION", "", 1);
	learns("192.0.2.31 the peer of this SSH session (environment of process 500)\n", NULL, (struct learned){ 0 });
	unsetenv("SSH_CONNECTION");
	PUT(500, "environ", "HOME=/root\0");
	PUT(500, "status", "Name:\tPPid: 9\nUmask:\t0022\nPPid:\t400\nTracerPid:\t0\n");
	PUT(400, "status", "Name:\tx\nPPid:\t300\n");
	PUT(300, "environ", "SSH_CONNECTION=2001:db8::31%eth0 50000 2001:db8::99 22\0");
	PUT(300, "status", "Name:\tx\nPPid:\t200\n");
	PUT(200, "environ", "SSH_CONNECTION=192.0.2.39 50000 192.0.2.99 22\0");
	learns("2001:db8::31 the peer of this SSH session (environment of process 300)\n", NULL, (struct learned){ 0 });
	/* It stands at the beginning, if anywhere. */
	memset(large, 'x', sizeof(large));
	memcpy(large + 65500, "\0SSH_CONNECTION=192.0.2.38 50000 192.0.2.99 22", 46);
	put(300, "environ", large, sizeof(large));
	learns("192.0.2.39 the peer of this SSH session (environment of process 200)\n", NULL, (struct learned){ 0 });
	PUT(200, "environ", "SSH_CONNECTION=nobody 50000 192.0.2.99 22\0");
	learns("", NULL, (struct learned){ 0 });
	/* init has none of its own. */
	PUT(200, "environ", "");
	PUT(200, "status", "Name:\tx\nPPid:\t1\n");
	PUT(1, "environ", "SSH_CONNECTION=192.0.2.37 50000 192.0.2.99 22\0");
	learns("", NULL, (struct learned){ 0 });
	remove_process(1);
	for (int pid = 200; pid <= 500; pid += 100)
		remove_process(pid);
}

#define OTHER_LOGINS                                                                            \
	"192.0.2.41 somebody who is logged in (" LOGINS ", :10)\n"                              \
	"2001:db8::40 somebody who is logged in (" LOGINS ", web console)\n"                    \
	"2001:db8::41 somebody who is logged in (" LOGINS ", :12)\n"                            \
	"192.0.2.45 somebody who is logged in (" LOGINS ", a-line-of-thirty-two-characters.)\n" \
	"2001:db8:1:: somebody who is logged in (" LOGINS ", :15)\n"                            \
	"::1:0:0 somebody who is logged in (" LOGINS ", :16)\n"

static void logins(void)
{
	char path[96];
	FILE *file;

	n_sockets = 0;
	snprintf(path, sizeof(path), "%s/utmp", proc);
	file = fopen(path, "we");
	if (!file)
		return (void)CHECK(false, "%s cannot be written", path);
	/* What is no pty no user has written. */
	put_login(file, USER_PROCESS, 10, ":10", "192.0.2.40", "192.0.2.41");
	put_login(file, USER_PROCESS, 10, "web console", "2001:db8::40%eth0", NULL);
	put_login(file, USER_PROCESS, 10, ":12", "elsewhere.example", "2001:db8::41");
	put_login(file, USER_PROCESS, 7, ":13", "192.0.2.43", NULL); /* gone */
	put_login(file, DEAD_PROCESS, 10, ":14", "192.0.2.44", NULL);
	put_login(file, USER_PROCESS, 10, "tty1", "", NULL);
	put_login(file, USER_PROCESS, 10, "a-line-of-thirty-two-characters.", "192.0.2.45", NULL);
	put_login(file, USER_PROCESS, 10, ":15", "x", "2001:db8:1::");
	put_login(file, USER_PROCESS, 10, ":16", "x", "0:0:0:0:0:1::");
	/* Of sshd's there is a connection. */
	put_login(file, USER_PROCESS, 10, "pts/0", "192.0.2.1", NULL);
	put_login(file, USER_PROCESS, 10, "pts/1", "::ffff:192.0.2.2", NULL);
	put_login(file, USER_PROCESS, 10, "pts/2", "a.name", "2001:db8::1");
	put_login(file, USER_PROCESS, 10, "pts/3", "192.0.2.46", NULL);
	put_login(file, USER_PROCESS, 10, "pts/4", "192.0.2.4", NULL); /* to another server */
	put_login(file, USER_PROCESS, 10, "pts/5", "192.0.2.42 via mosh [123]", NULL);
	put_login(file, USER_PROCESS, 10, "pts/901", "192.0.2.47 via mosh [123]", NULL);
	fwrite("cut off", 7, 1, file);
	fclose(file);
	sockets = many;
	n_sockets = 5;
	learns(OTHER_LOGINS "192.0.2.1 somebody who is logged in (" LOGINS ", pts/0)\n"
			    "192.0.2.2 somebody who is logged in (" LOGINS ", pts/1)\n"
			    "2001:db8::1 somebody who is logged in (" LOGINS ", pts/2)\n"
			    "192.0.2.42 somebody who is logged in (" LOGINS ", pts/5)\n",
	       NULL, (struct learned){ 0 });
	/* Where nobody knows of connections, that is taken from users, too. */
	fails = -ENOENT;
	learns(OTHER_LOGINS "192.0.2.1 somebody who is logged in (" LOGINS ", pts/0)\n"
			    "192.0.2.2 somebody who is logged in (" LOGINS ", pts/1)\n"
			    "2001:db8::1 somebody who is logged in (" LOGINS ", pts/2)\n"
			    "192.0.2.46 somebody who is logged in (" LOGINS ", pts/3)\n"
			    "192.0.2.4 somebody who is logged in (" LOGINS ", pts/4)\n"
			    "192.0.2.42 somebody who is logged in (" LOGINS ", pts/5)\n",
	       NULL, (struct learned){ 0 });
	unlink(path);
}

static bool is_no_other(const void *arg, struct addr addr)
{
	return addr.num == *(const unsigned int *)arg;
}

#define TUNNEL(from)                                                                                                   \
	"xdp-bloom: this SSH session (" from ") comes through a tunnel of a process, whose far end the guard rails do" \
	" not know: 'xdp-bloom allow ADDRESS' lets it through, whatever is banned"
#define PEER	 " the peer of this SSH session (environment of process me)\n"
#define ANOTHERS "10.8.0.2 the peer of this SSH session (environment of process 0)\n"

/* Once in a day, where what carries it is not known; a log has it from nobody. */
static void tunnels(void)
{
	static const struct {
		const char *from, *known, *said;
	} each[] = {
		{ "127.0.0.1 40000 127.0.0.1 22", "", TUNNEL("127.0.0.1, lo") },
		{ "::1 40000 ::1 22", "", TUNNEL("::1, lo") },
		{ "::ffff:127.0.0.2 40000 ::1 22", "", TUNNEL("127.0.0.2, lo") },
		{ "10.8.0.2 40000 10.8.0.1 22", "10.8.0.2" PEER, TUNNEL("10.8.0.2, tun0") },
		{ "192.0.2.30 40000 192.0.2.99 22", "192.0.2.30" PEER, NULL },
		{ "2001:db8::1 40000 2001:db8::99 22", "2001:db8::1" PEER, NULL },
		{ "nobody 40000 192.0.2.99 22", "", NULL },
	};

	n_sockets = 0;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		setenv("SSH_CONNECTION", each[i].from, 1);
		log_settings.kept = true;
		learns_in_time(each[i].known, NULL);
		log_settings.kept = false;
		log_settings.quiet = true;
		learns_in_time(each[i].known, NULL);
		log_settings.quiet = false;
		CHECK(due, "whoever does not say it keeps others from it");
		learns_in_time(each[i].known, each[i].said);
		learns_in_time(each[i].known, NULL);
		CHECK(due == !each[i].said, "%s: it is said that it was said", each[i].from);
		due = true;
	}
	/* Of what is done for another process. */
	unsetenv("SSH_CONNECTION");
	errand = (struct errand){ .here = true, .ssh = "10.8.0.2 40000 10.8.0.1 22" };
	learns(ANOTHERS, "its SSH session comes through a tunnel", (struct learned){ 0 });
	CHECK(due && errand.declined, "it says that itself");
	due = false;
	errand = (struct errand){ .here = true, .ssh = "10.8.0.2 40000 10.8.0.1 22" };
	learns_in_time(ANOTHERS, NULL);
	CHECK(!errand.declined, "once in a day is enough");
	errand = (struct errand){ 0 };
	due = true;
}

#define SSH_SERVER "192.0.2.60 an SSH server in use (a socket to its port 22)\n"

/* What root is connected to may bring a session back, as `ssh -R` does; nobody else's is, nor who comes to us. */
static void jump_hosts(void)
{
	static const struct socket_is to[] = {
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.60", 22, 40010, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.61", 22, 40011, 33, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.62", 22, 40012, 1000, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.63", 22, 80, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.64", 22, NOT_ACCEPTED, 0, 0, NULL },
		{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.65", 22, 40013, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_LISTEN, NULL, 0, 80, 0, 0, NULL },
	};
	unsigned int another = 0xc0000201;

	sockets = to;
	n_sockets = sizeof(to) / sizeof(to[0]);
	setenv("SSH_CONNECTION", "127.0.0.1 40000 127.0.0.1 22", 1);
	learns_in_time(SSH_SERVER, NULL);
	/* Also where nobody asks about it; nor is any process looked at for that. */
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.60 22 192.0.2.99 40010\0");
	learns("", NULL, (struct learned){ .wanted = is_no_other, .arg = &another });
	CHECK(due, "a tunnel is said to be unknown");
	setenv("SSH_CONNECTION", "10.8.0.2 40000 10.8.0.1 22", 1);
	sockets = to + 1;
	n_sockets--;
	learns_in_time("10.8.0.2" PEER, TUNNEL("10.8.0.2, tun0"));
	due = true;
	setenv("SSH_CONNECTION", "127.0.0.1 40000 127.0.0.1 22", 1);
	learns_in_time("", TUNNEL("127.0.0.1, lo"));
	due = true;
	unsetenv("SSH_CONNECTION");
	remove_process(700);
}

#define NOT_COUNTED "xdp-bloom: a login from 203.0.113.9 does not count: in " LOGINS " user 1"

/* By utempter a user says what he likes, and hides nobody who is another's. */
static void many_words(void)
{
	const unsigned int ninth = 0xcb007109, second = 0xcb007102;
	char path[96], line[16], host[64];
	FILE *file;

	n_sockets = 0;
	snprintf(path, sizeof(path), "%s/utmp", proc);
	file = fopen(path, "we");
	if (!file)
		return (void)CHECK(false, "%s cannot be written", path);
	for (int i = 0; i < 24; i++) {
		snprintf(line, sizeof(line), "pts/%d", 101 + 100 * i);
		snprintf(host, sizeof(host), "203.0.113.%d via mosh [10]", 1 + i / 2);
		put_login(file, USER_PROCESS, 10, line, host, NULL);
	}
	put_login(file, USER_PROCESS, 10, "pts/2", "203.0.113.12 via mosh [10]", NULL);
	fclose(file);
	unheard_again = 0;
	for (int kept = 0; kept < 4; kept++) {
		log_settings.kept = kept;
		unheard_again = kept == 1 ? unheard_again : 0;
		due = kept != 2;
		due_name = STATE_UNHEARD;
		learns_in_time("203.0.113.1 somebody who is logged in (" LOGINS ", pts/101)\n"
			       "203.0.113.2 somebody who is logged in (" LOGINS ", pts/301)\n"
			       "203.0.113.3 somebody who is logged in (" LOGINS ", pts/501)\n"
			       "203.0.113.4 somebody who is logged in (" LOGINS ", pts/701)\n"
			       "203.0.113.5 somebody who is logged in (" LOGINS ", pts/1001)\n"
			       "203.0.113.6 somebody who is logged in (" LOGINS ", pts/1101)\n"
			       "203.0.113.7 somebody who is logged in (" LOGINS ", pts/1301)\n"
			       "203.0.113.8 somebody who is logged in (" LOGINS ", pts/1501)\n"
			       "203.0.113.12 somebody who is logged in (" LOGINS ", pts/2)\n",
			       kept == 0 || kept == 3 ? NOT_COUNTED : NULL);
	}
	log_settings.kept = false;
	/* He who is asked about alone counts no more for that; and of whom nobody asked nothing is said. */
	unheard_again = 0;
	learns("", NULL, (struct learned){ .wanted = is_no_other, .arg = &ninth });
	unheard_again = 0;
	learns("203.0.113.2 somebody who is logged in (" LOGINS ", pts/301)\n", NULL,
	       (struct learned){ .wanted = is_no_other, .arg = &second });
	CHECK(!unheard_again, "what nobody asked about is said");
	due_name = STATE_UNSEEN;
	unlink(path);
}

/* Only what is asked for is looked at. */
static void wanted(void)
{
	unsigned int one = 0xc0000206;

	sockets = many;
	n_sockets = sizeof(many) / sizeof(many[0]);
	learns("192.0.2.6 somebody who is connected (TCP port 65535)\n", NULL,
	       (struct learned){ .wanted = is_no_other, .arg = &one });
}

/* What the kernel does not have, nobody is connected by; all else is said, and what is known stays. */
static void refused(void)
{
	static const int none[] = { -EPROTONOSUPPORT, -EOPNOTSUPP, -ENOENT };

	sockets = many;
	n_sockets = sizeof(many) / sizeof(many[0]);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		fails = none[i];
		learns("", NULL, (struct learned){ 0 });
		fails = none[i];
		fails_at = TCPDIAG_GETSOCK;
		learns("", NULL, (struct learned){ 0 });
	}
	fails = -EPERM;
	learns("", "cannot ask who is connected: Operation not permitted", (struct learned){ 0 });
	fails = -ENOENT;
	fails_at = SOCK_DIAG_BY_FAMILY;
	fails_family = AF_INET6;
	learns(GUESTS SERVERS_TCP "192.0.2.20 a name server in use (a socket to its port 53)\n", NULL,
	       (struct learned){ 0 });
	fails = -EOPNOTSUPP;
	fails_at = SOCK_DIAG_BY_FAMILY;
	learns(GUESTS SERVERS_TCP, NULL, (struct learned){ 0 });
	fails = -EINTR;
	fails_at = SOCK_DIAG_BY_FAMILY;
	learns(GUESTS SERVERS_TCP, "cannot ask who is connected: Interrupted", (struct learned){ 0 });
	fails = -EINTR;
	fails_at = TCPDIAG_GETSOCK;
	learns("", "cannot ask who is connected: Interrupted", (struct learned){ 0 });
	fails = -EINTR;
	fails_at = TCPDIAG_GETSOCK;
	learns("", "Cannot allocate", (struct learned){ .err = -ENOMEM });
	fails = -EIO;
	fails_at = 1;
	learns("", "cannot ask who is connected: the state cannot be read", (struct learned){ 0 });
}

int main(void)
{
	static const struct ktap_case run[] = {
		{ "who is connected", connected },
		{ "of a crowd", crowds },
		{ "too many", too_many },
		{ "of many ports", many_ports },
		{ "sessions of sshd", sessions },
		{ "in time", stuck },
		{ "in time, of many", many_stuck },
		{ "by few", few_readers },
		{ "what may not be read", refused_to_us },
		{ "what is not shown", hidden_from_us },
		{ "our own session", ancestors },
		{ "who is logged in", logins },
		{ "who says that he is logged in", many_words },
		{ "who is asked for", wanted },
		{ "a session through a tunnel", tunnels },
		{ "where root is connected by SSH", jump_hosts },
		{ "what is refused", refused },
	};
	int status;

	snprintf(proc, sizeof(proc), "%s/unit_people.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(proc))
		return KTAP_FAIL;
	unsetenv("SSH_CONNECTION");
	status = ktap_run(run, sizeof(run) / sizeof(*run));
	rmdir(proc);
	return status;
}
