// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who reads the environments of other processes, when, and who is waited for how long: readers, clock and processes are
 * made up, and what is asked of them is compared word for word.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void *made_reallocarray(void *old, size_t n, size_t size);
#define reallocarray made_reallocarray
#include "base/grow.h"
#undef reallocarray

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/helper.h"
#include "change/own_internal.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_session_readers.txt"
};

static struct shows shows = {
	"tests/unit/unit_session_readers.txt", known, sizeof(known) / sizeof(*known), NULL, 0, 0, false
};

enum { FOREVER = -1, GONE = -2, DIES = -3, MANY = 64 };

/* In the order in which they are read. */
struct made {
	int pid, owner, ms;
	const char *ssh;
	bool refused;
};

static struct {
	struct made processes[MANY];
	int n;
	bool quiet;
	bool unseen;		/* there is no /proc */
	int memory_left;	/* allocations; -1: enough */
	int pairs, forks;	/* so many succeed */
	int64_t ms;		/* the clock */
	int starts_ms;		/* until a reader says its first word */
	int polls_fail, cut_at; /* so many in a row; this message has another length */
} world;

static struct made_reader {
	struct part_is {
		size_t at, end;
	} part;
	bool busy, found;
	int64_t due; /* its next word; FOREVER: none, DIES: it is gone */
} readers[MANY];
static int closed, n_readers, shown_now[MANY], n_shown, messages;

static bool no_memory_at(void)
{
	return !world.memory_left || (world.memory_left > 0 && !world.memory_left--);
}

static void *made_reallocarray(void *old, size_t n, size_t size)
{
	return no_memory_at() ? NULL : reallocarray(old, n, size);
}

static int next_entry;
static DIR *made_opendir(const char *path)
{
	printf("  opens %s\n", path);
	next_entry = n_shown = 0;
	return world.unseen ? NULL : (DIR *)&next_entry;
}

static int made_closedir(DIR *dir)
{
	printf("  closes it: %d entries\n", next_entry);
	return dir == (DIR *)&next_entry ? 0 : -1;
}

/* The last come first, behind what is no process. */
static struct dirent *made_readdir(DIR *dir)
{
	static const char *const others[] = { ".", "/", "self", "0", ":", "acpi" };
	static struct dirent entry;
	int i = next_entry - 6;

	(void)dir;
	if (i >= world.n)
		return NULL;
	if (i < 0)
		snprintf(entry.d_name, sizeof(entry.d_name), "%s", others[next_entry]);
	else
		snprintf(entry.d_name, sizeof(entry.d_name), "%d", world.processes[world.n - 1 - i].pid);
	next_entry++;
	return &entry;
}

static int made_lstat(const char *path, struct stat *st)
{
	int i = 0, at = 0;

	while (i < world.n && world.processes[i].pid != atoi(path + strlen("/proc/")))
		i++;
	if (!CHECK(i < world.n && !strncmp(path, "/proc/", 6), "who is %s", path) || world.processes[i].ms == GONE)
		return -1;
	st->st_uid = (uid_t)world.processes[i].owner;
	while (at < n_shown && shown_now[at] < i)
		at++;
	memmove(&shown_now[at + 1], &shown_now[at], (size_t)(n_shown++ - at) * sizeof(*shown_now));
	shown_now[at] = i;
	return 0;
}

static int made_socketpair(int family, int type, int protocol, int pair[2])
{
	if (!CHECK(family == AF_UNIX && type == (SOCK_SEQPACKET | SOCK_CLOEXEC) && !protocol, "another socket") ||
	    !world.pairs) {
		errno = EMFILE;
		return -1;
	}
	world.pairs--;
	pair[0] = 100 + n_readers;
	pair[1] = 200 + n_readers;
	return 0;
}

static pid_t made_fork(void)
{
	if (!world.forks) {
		errno = EAGAIN;
		return -1;
	}
	world.forks--;
	printf("  %d: reader %d\n", (int)world.ms, n_readers);
	readers[n_readers] = (struct made_reader){ .due = FOREVER };
	return 1000 + n_readers++;
}

static int made_close(int fd)
{
	CHECK(fd >= 100, "%d is closed", fd);
	closed += fd >= 200;
	if (fd < 200)
		printf("  %d: %d is closed\n", (int)world.ms, fd);
	return 0;
}

static void made_stop(int fd, pid_t pid)
{
	if (!world.quiet)
		printf("  %d: reader %d ends\n", (int)world.ms, fd - 100);
	CHECK(pid == 1000 + fd - 100, "process %d of %d", pid, fd);
	readers[fd - 100] = (struct made_reader){ .due = FOREVER };
}

static const struct made *process_at(size_t at)
{
	return &world.processes[shown_now[at]];
}

/* --- What a reader is told, and says --- */

/* The child's, whose socket is its standard input. */
static struct child {
	struct part_is parts[3];
	size_t n_parts;
	int sends; /* so many succeed; -1: all */
	int call_fails;
	jmp_buf out;
	bool runs;
} child;

static ssize_t made_send(int fd, const void *what, size_t size, int flags);
static ssize_t made_recv(int fd, void *to, size_t size, int flags);

static int made_poll(struct pollfd *fds, nfds_t n, int ms)
{
	int64_t until = world.ms + ms;
	int ready = 0;

	printf("  %d: waits %d ms", (int)world.ms, ms);
	if (world.polls_fail) {
		world.polls_fail--;
		world.ms++;
		puts(", in vain");
		return -1;
	}
	for (int again = 0; again < 2 && !ready; again++) {
		for (nfds_t i = 0; i < n; i++) {
			const struct made_reader *r = &readers[fds[i].fd < 0 ? 0 : fds[i].fd - 100];

			if (fds[i].fd < 0 || r->due == FOREVER)
				continue;
			CHECK(fds[i].events == POLLIN, "events %d", fds[i].events);
			if (r->due <= world.ms) {
				fds[i].revents = POLLIN;
				printf("%s %d", ready++ ? "," : ":", fds[i].fd - 100);
			} else if (r->due < until) {
				until = r->due;
			}
		}
		if (!ready)
			world.ms = until;
	}
	puts("");
	return ready;
}

static int made_ssh_of(int pid, char text[SSH_TEXT_MAX])
{
	for (int i = 0; i < world.n; i++) {
		const struct made *p = &world.processes[i];

		if (p->pid != pid)
			continue;
		if (p->refused)
			return -EACCES;
		if (p->ssh)
			snprintf(text, SSH_TEXT_MAX, "%s", p->ssh);
		return p->ssh != NULL;
	}
	CHECK(false, "process %d", pid);
	return 0;
}

static int made_dup2(int fd, int to)
{
	CHECK(child.runs, "we are a reader ourselves");
	printf("  %d is %d\n", fd, to);
	return child.call_fails == 1 ? -1 : to;
}

static int made_close_from(int fd)
{
	printf("  all from %d on are closed\n", fd);
	return child.call_fails == 2 ? -EMFILE : 0;
}

static int made_prctl(int what, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	CHECK(what == PR_SET_PDEATHSIG && a == SIGKILL && !b && !c && !d, "prctl %d, %lu", what, a);
	puts("  ends with its parent");
	return child.call_fails == 3 ? -1 : 0;
}

__attribute__((noreturn)) static void made_exit(int status)
{
	printf("  ends with %d\n", status);
	longjmp(child.out, 1);
}

#define warn(...)   (printf("  warns: " __VA_ARGS__), puts(""))
#define clock_ms()  world.ms
#define opendir	    made_opendir
#define closedir    made_closedir
#define readdir	    made_readdir
#define lstat	    made_lstat
#define socketpair  made_socketpair
#define fork	    made_fork
#define close	    made_close
#define helper_stop made_stop
#define send	    made_send
#define recv	    made_recv
#define poll	    made_poll
#define own_ssh_of  made_ssh_of
#define dup2	    made_dup2
#define close_from  made_close_from
#define prctl	    made_prctl
#define _exit	    made_exit

#include "change/own_sessions.c"

#undef fork
#undef dup2
#undef close

static ssize_t made_send(int fd, const void *what, size_t size, int flags)
{
	CHECK(flags == MSG_NOSIGNAL, "a signal comes where nobody listens");
	if (!fd) {
		const struct said *said = what;

		CHECK(size == sizeof(*said), "%zu bytes are said", size);
		printf("  says: at %zu%s%s%s\n", said->at, said->refused ? ", refused" : "", *said->text ? ", " : "",
		       said->text);
		return child.sends-- ? (ssize_t)size : -1;
	}
	CHECK(size == sizeof(struct part), "%zu bytes are sent", size);
	memcpy(&readers[fd - 100].part, what, sizeof(struct part));
	readers[fd - 100].busy = true;
	readers[fd - 100].found = false;
	readers[fd - 100].due = world.ms + world.starts_ms;
	printf("  %d: reader %d has %zu to %zu, of %d\n", (int)world.ms, fd - 100, readers[fd - 100].part.at,
	       readers[fd - 100].part.end, process_at(readers[fd - 100].part.at)->owner);
	return (ssize_t)size;
}

/* It is with that process from now on. */
static void comes_to(struct made_reader *r)
{
	const struct made *p;

	r->found = false;
	if (r->part.at == r->part.end) {
		r->due = FOREVER;
		return;
	}
	p = process_at(r->part.at);
	r->found = p->ssh || p->refused;
	r->due = p->ms == FOREVER ? FOREVER : p->ms == DIES ? DIES : world.ms + p->ms;
	if (!r->found && r->due >= 0)
		r->part.at++;
}

static ssize_t made_recv(int fd, void *to, size_t size, int flags)
{
	struct made_reader *r = &readers[fd ? fd - 100 : 0];
	struct said said = { 0 };

	if (!fd) {
		CHECK(!flags && size == sizeof(struct part), "flags %d, %zu bytes", flags, size);
		if (!child.n_parts)
			return 0;
		memcpy(to, &child.parts[--child.n_parts], size);
		return (ssize_t)size;
	}
	CHECK(flags == MSG_DONTWAIT && size == sizeof(said), "flags %d, %zu bytes", flags, size);
	if (r->due == DIES)
		return 0;
	if (r->due == FOREVER || r->due > world.ms) {
		errno = messages % 2 ? EAGAIN : EINTR;
		return -1;
	}
	if (++messages == world.cut_at)
		return (ssize_t)size - 1;
	said.at = r->part.at;
	if (r->found) {
		const struct made *p = process_at(said.at);

		said.refused = p->refused;
		snprintf(said.text, sizeof(said.text), "%s", p->ssh ? p->ssh : "");
		r->found = false;
		r->part.at++;
	} else {
		comes_to(r);
	}
	memcpy(to, &said, size);
	return (ssize_t)size;
}

/* --- Scenes --- */

static void session_is(void *arg, int pid, const char *ssh)
{
	CHECK(arg == &world, "another argument");
	printf("  %d: process %d: %s\n", (int)world.ms, pid, ssh);
}

static void read_them(void)
{
	bool refused = true;
	int err;

	n_readers = messages = closed = 0;
	err = own_each_session(session_is, &world, &refused);
	printf("  %d: %s, refused %d; %d sockets of readers closed\n", (int)world.ms, err ? reason(err) : "done",
	       refused, closed);
}

static void process(int pid, int owner, int ms, const char *ssh)
{
	world.processes[world.n++] = (struct made){ pid, owner, ms, ssh, false };
}

static void begin(void)
{
	memset(&world, 0, sizeof(world));
	memset(slow, 0, sizeof(slow));
	slow_n = 0;
	world.memory_left = -1;
	world.pairs = world.forks = MANY;
	world.ms = 100000;
}

static void nobody(void)
{
	read_them();
	world.unseen = true;
	read_them();
}

static void all_are_quick(void)
{
	process(7, 0, 1, NULL);
	process(9, 0, 1, "nine");
	process(12, 0, 0, "twelve");
	process(5, 1000, 1, "five");
	process(6, 1001, GONE, "six");
	process(8, 1001, 2, NULL);
	world.processes[5].refused = true;
	read_them();
}

/* One that waits has another reader go on, and who is late is put off with what is his. */
static void one_waits(void)
{
	process(20, 0, 5, NULL);
	process(21, 1000, FOREVER, NULL);
	process(22, 1000, 5, "his own");
	process(11, 1001, 19, "eleven");
	process(12, 1001, 20, "twelve");
	process(13, 1002, 999, "thirteen");
	process(14, 1003, 1000, "fourteen");
	read_them();
	/* It is left out for a while. */
	world.ms += 1000;
	read_them();
	world.ms += SLOW_MS;
	world.n = 2;
	read_them();
}

/* A new reader is not late before it has said where it is. */
static void slow_to_start(void)
{
	world.starts_ms = 1200;
	process(20, 0, 999, NULL);
	process(21, 1000, 5, "other");
	read_them();
	world.starts_ms = ALL_MS;
	read_them();
	world.starts_ms = ALL_MS - 1;
	read_them();
}

static void nobody_answers(void)
{
	for (int i = 0; i < 3; i++) {
		process(30 + 2 * i, 1000 + i, FOREVER, NULL);
		process(31 + 2 * i, 1000 + i, FOREVER, NULL);
	}
	read_them();
}

/* As many wait as there are readers: who is behind them is reached by those that are put off. */
static void as_many_as_there_are_readers(void)
{
	for (int i = 0; i < READERS; i++)
		process(100 + i, 1000 + i, FOREVER, NULL);
	process(200, 2000, 1, "behind them");
	read_them();
}

static void one_is_gone(void)
{
	process(20, 0, 1, "before");
	process(21, 0, DIES, NULL);
	process(22, 0, 1, "behind");
	process(23, 1000, 1, "another's");
	read_them();
	begin();
	process(20, 0, 1, "before");
	process(21, 0, 1, NULL);
	world.cut_at = 2;
	read_them();
}

static void waits_in_vain(void)
{
	process(20, 0, 3, "twenty");
	world.polls_fail = 2;
	read_them();
}

static void few_can_be_started(void)
{
	for (int i = 0; i < 3; i++)
		process(20 + i, 1000 + i, FOREVER, NULL);
	world.forks = 2;
	read_them();
	begin();
	process(20, 0, FOREVER, NULL);
	process(21, 1000, 1, "other");
	world.pairs = 1;
	read_them();
	begin();
	process(20, 0, 1, NULL);
	world.pairs = 0;
	read_them();
	world.pairs = 1;
	world.forks = 0;
	read_them();
}

static void without_memory(void)
{
	process(20, 0, 1, NULL);
	process(21, 1000, 1, NULL);
	for (int left = 0; left < 5; left++) {
		world.memory_left = left;
		read_them();
	}
}

/* So many are remembered, the last ones. */
static void who_is_slow(void)
{
	struct share share = { .at = 0, .end = SLOW_MAX + 2 };
	struct process all[SLOW_MAX + 2];
	struct scan s = { .all = all, .n = SLOW_MAX + 2 };

	world.quiet = true;
	for (int i = 0; i < SLOW_MAX + 2; i++) {
		all[i] = (struct process){ 500 + i, 0 };
		s.readers[0] = (struct reader){ .pid = 1000, .fd = 100, .share = &share };
		s.n_readers = 1;
		share.given = true;
		put_off(&s, &s.readers[0]);
	}
	printf("  missed %zu, %d first; at %zu, delays %u, given %d, %zu readers\n", s.missed, s.first_missed, share.at,
	       share.delays, share.given, s.n_readers);
	printf("  slow: %d %d %d %d, pid 0: %d\n", is_slow(500), is_slow(501), is_slow(502),
	       is_slow(500 + SLOW_MAX + 1), is_slow(0));
	world.ms += SLOW_MS - 1;
	printf("  later: %d", is_slow(502));
	world.ms++;
	printf(" %d\n", is_slow(502));
}

/* Until it is told no more, or nobody hears it. */
static void reads(int fails, int sends)
{
	static struct process all[] = { { 20, 0 }, { 21, 0 }, { 22, 0 } };
	static const struct part_is parts[] = { { 2, 2 }, { 1, 3 }, { 0, 1 } };
	static const struct scan s = { .all = all, .n = 3 };

	memcpy(child.parts, parts, sizeof(parts));
	child.n_parts = 3;
	child.call_fails = fails;
	child.sends = sends;
	child.runs = true;
	if (!setjmp(child.out))
		read_parts(&s, 205);
	child.runs = false;
}

static void a_reader(void)
{
	process(20, 0, 0, NULL);
	process(21, 0, 0, "one");
	process(22, 0, 0, NULL);
	world.processes[2].refused = true;
	for (int fails = 1; fails < 4; fails++)
		reads(fails, -1);
	for (int sends = -1; sends < 8; sends++)
		reads(0, sends);
}

static void scenes(void)
{
	static const struct scene all[] = {
		{ "nobody", nobody },
		{ "all are quick", all_are_quick },
		{ "one waits", one_waits },
		{ "slow to start", slow_to_start },
		{ "nobody answers", nobody_answers },
		{ "as many as there are readers", as_many_as_there_are_readers },
		{ "one is gone", one_is_gone },
		{ "waits in vain", waits_in_vain },
		{ "few can be started", few_can_be_started },
		{ "without memory", without_memory },
		{ "who is slow", who_is_slow },
		{ "a reader", a_reader },
	};

	shows_scenes(&shows, all, sizeof(all) / sizeof(*all), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "readers, word for word", scenes } };

	return ktap_run(cases, 1);
}
