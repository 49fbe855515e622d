// SPDX-License-Identifier: GPL-2.0-only
/*
 * follow socket: who is let in, how many lines of each are taken at a time, and when one is seen off; over a real
 * socket, with a clock, users and a batch that are made up; word for word.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sys/resource.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/stop.h"
#include "base/trusted_dir.h"
#include "change/change.h"
#include "feeds/batch.h"
#include "state/state.h"
#include "model_clock.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_door.txt"
};

static struct shows shows = { .file = "tests/unit/unit_door.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define SOCKET	"door"
#define OURS	"state"
#define CLIENTS 80

static int clients[CLIENTS];
static bool crowded; /* what each does is not printed */
static bool no_room; /* for what is told */
static bool no_memory;

/* Who comes next. */
static struct ucred next_is;
static gid_t more_groups[3];
static unsigned int more_n;

static void (*const *step)(void);

static const char *fails = ""; /* this call of all */

static bool works(const char *call)
{
	errno = EIO;
	return strcmp(fails, call) != 0;
}

static int given_directory(const char *directory)
{
	line("%s is there", directory);
	return works("directory") ? 0 : because(-EIO, "no directory");
}

static int given_lock(const char *path, unsigned int wait)
{
	line("lock %s, waits %u", path, wait);
	return !works("lock") ? because(-EBUSY, "it is held") : dup(STDIN_FILENO);
}

static int given_trust(const char *directory)
{
	line("is %s trusted?", directory);
	return 0;
}

static struct group *given_group(const char *name)
{
	static struct group one = { .gr_gid = 500 };

	return strcmp(name, "bans") ? NULL : &one;
}

/* The group is one that the test may not have. */
static int given_chown(const char *path, uid_t uid, gid_t gid)
{
	line("%s is given to user %d and group %d", path, (int)uid, (int)gid);
	return works("chown") ? 0 : -1;
}

static uid_t given_euid(void)
{
	return 7;
}

static int given_getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
	if (fd < 0 || level != SOL_SOCKET)
		abort();
	/* Whoever has come is let in so that nobody waits for him, and no program has him. */
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK && fcntl(fd, F_GETFD) & FD_CLOEXEC,
	      "a client is waited for, or stays open");
	if (!works(option == SO_PEERCRED ? "who" : "groups"))
		return -1;
	if (option == SO_PEERCRED) {
		memcpy(value, &next_is, sizeof(next_is));
		next_is.pid++;
		/* The least that there is. */
		return no_room ? setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ 1 }, sizeof(int)) : 0;
	}
	if (option != SO_PEERGROUPS)
		abort();
	memcpy(value, more_groups, more_n * sizeof(*more_groups));
	*size = more_n * (socklen_t)sizeof(*more_groups);
	return 0;
}

static int given_lstat(const char *path, struct stat *is)
{
	return works("lstat") ? lstat(path, is) : -1;
}

static int given_unlink(const char *path)
{
	return works("unlink") ? unlink(path) : -1;
}

static int given_socket(int domain, int type, int protocol)
{
	if (protocol)
		abort();
	return works("socket") ? socket(domain, type, protocol) : -1;
}

static ssize_t given_send(int fd, const void *bytes, size_t n, int flags)
{
	if (flags != (MSG_NOSIGNAL | MSG_DONTWAIT))
		abort();
	return send(fd, bytes, n, flags);
}

static int given_chmod(const char *path, mode_t mode)
{
	return works("chmod") ? chmod(path, mode) : -1;
}

static int given_listen(int fd, int most)
{
	line("listens for %d", most);
	return works("listen") ? listen(fd, most) : -1;
}

static void *given_calloc(size_t n, size_t size)
{
	return works("calloc") ? calloc(n, size) : NULL;
}

/* --- The batch --- */

static int put_err, begin_err, put_takes;

static int given_begin(struct batch *b, struct context *context)
{
	(void)context;
	*b = (struct batch){ .most = 512 };
	return begin_err ? because(begin_err, "no change can be made") : 0;
}

static void given_end(struct batch *b)
{
	line("the batch of %s ends", b->f.from);
}

static void given_stop(int signal)
{
	line("%s ends it", strsignal(signal));
}

static bool given_collect(struct batch *b, struct stream *s, size_t most)
{
	size_t n = 0, length;
	char *text;

	while (stream_read(s))
		;
	while (n < most && b->n < b->most && (text = stream_line(s, &length))) {
		n++;
		b->n++;
		if (length == 3 && !memcmp(text, "bad", 3)) {
			s->refused = true;
			stream_refuse(s, s->number, NULL, "an address of this machine");
		}
	}
	if (!crowded)
		line("%s: %zu lines of %zu at most%s", s->name, n, most, s->for_us ? ", for this machine alone" : "");
	return false;
}

static int given_put(struct batch *b)
{
	line("%zu lines of %s into force", b->n, b->f.from);
	now_ms += put_takes;
	return put_err;
}

static void given_next(struct batch *b)
{
	b->n = 0;
}

static void given_poll(struct pollfd *fds, nfds_t n, const struct timespec *time)
{
	unsigned int in = 0, out = 0;

	for (nfds_t i = 0; i + 1 < n; i++) {
		if (!fds[i].fd)
			abort();
		in += fds[i].fd >= 0 && fds[i].events & POLLIN;
		out += fds[i].fd >= 0 && fds[i].events & POLLOUT;
	}
	line("waits for lines of %u, tells %u%s%s", in, out, fds[n - 1].fd >= 0 ? ", and whoever comes" : "",
	     !time	    ? ""
	     : time->tv_sec ? ", for a second"
			    : ", not at all");
	if (!time || time->tv_sec) {
		if (*step)
			(*step++)();
		else
			stop_asked = SIGTERM;
	}
}

static int given_share(struct stream *s, const char *name, int fd)
{
	int err = stream_share(s, name, fd);

	return no_memory ? -ENOMEM : err;
}

#define stream_share	     given_share
#define lstat		     given_lstat
#define unlink		     given_unlink
#define socket		     given_socket
#define send		     given_send
#define chmod		     given_chmod
#define listen		     given_listen
#define calloc		     given_calloc
#define state_make_directory given_directory
#define lock_take	     given_lock
#define trust_directory	     given_trust
#define getgrnam	     given_group
#define lchown		     given_chown
#define geteuid		     given_euid
#define getsockopt	     given_getsockopt
#define batch_begin	     given_begin
#define batch_end	     given_end
#define batch_collect	     given_collect
#define batch_put	     given_put
#define batch_next	     given_next
#define clock_ms()	     given_ms()
#define stop_poll	     given_poll
#define stop_on		     given_stop
#define warn		     given_warn
#define note(...)                                \
	do {                                     \
		if (!crowded)                    \
			given_warn(__VA_ARGS__); \
	} while (0)
#include "feeds/door.c"
#undef clock_ms
#undef lstat
#undef unlink
#undef socket
#undef send

/* --- Who comes --- */

static const char *path_now;

static void comes(int i)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(address.sun_path, path_now);
	clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (connect(clients[i], (struct sockaddr *)&address, sizeof(address)))
		line("client %d cannot come: %s", i, strerror(errno));
}

static void sends(int i, const char *text, int times)
{
	size_t length = strlen(text);
	char all[4096];

	if (length * (size_t)times >= sizeof(all))
		abort();
	for (int k = 0; k < times; k++)
		memcpy(all + (size_t)k * length, text, length);
	if (send(clients[i], all, length * (size_t)times, MSG_NOSIGNAL) < 0)
		line("client %d cannot send", i);
}

static void hears(int i)
{
	char text[8192];
	ssize_t n = recv(clients[i], text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n"))
		line("client %d hears: %s", i, at);
	if (!n)
		line("client %d hears the end", i);
}

static void goes(int i)
{
	close_fd(clients[i]);
	clients[i] = -1;
}

static void user(int pid, unsigned int uid, unsigned int gid)
{
	next_is = (struct ucred){ .pid = pid, .uid = uid, .gid = gid };
	more_n = 0;
}

static void nothing(void)
{
	now_ms += 1000;
}

static void root_comes(void)
{
	struct stat is;

	if (!lstat(path_now, &is))
		line("its mode is %o", (unsigned int)is.st_mode & 07777);
	user(100, 0, 0);
	comes(0);
	sends(0, "+192.0.2.1\n", 2);
}

static void hears_and_ends(void)
{
	hears(0);
	sends(0, "+192.0.2.2\n+192", 1);
	shutdown(clients[0], SHUT_WR);
}

static void hears_all(void)
{
	for (int i = 0; i < 4; i++)
		if (clients[i] >= 0)
			hears(i);
}

static void own_user_comes(void)
{
	user(101, 7, 7);
	comes(1);
	sends(1, "+192.0.2.3\n", 1);
}

/* Two at once. */
static void others_come(void)
{
	user(102, 8, 8);
	comes(2);
	comes(3);
}

static void one_of_the_group_comes(void)
{
	struct stat is;

	if (!lstat(path_now, &is))
		line("its mode is %o", (unsigned int)is.st_mode & 07777);
	user(103, 9, 500);
	comes(0);
}

static void another_of_the_group_comes(void)
{
	user(104, 10, 9);
	more_groups[0] = 11;
	more_groups[1] = 500;
	more_n = 2;
	comes(1);
}

static void a_third_of_the_group_comes(void)
{
	user(107, 12, 9);
	more_groups[0] = 500;
	more_n = 1;
	comes(4);
}

static void one_of_others_comes(void)
{
	user(105, 11, 9);
	more_groups[0] = 11;
	more_n = 1; /* less than the one before had */
	comes(2);
}

static void root_comes_too(void)
{
	user(106, 0, 0);
	comes(3);
	sends(3, "+192.0.2.1\n", 2);
}

static void three_send(void)
{
	user(100, 0, 0);
	for (int i = 0; i < 3; i++) {
		comes(i);
		sends(i, "+192.0.2.1\n", 200);
	}
}

static void three_more(void)
{
	for (int i = 0; i < 3; i++)
		sends(i, "+192.0.2.2\n", 20);
}

static void one_is_refused(void)
{
	sends(1, "bad\n", 1);
	sends(1, "+192.0.2.1\n", 20);
}

static void later(void)
{
	now_ms += 1999;
}

static void a_moment(void)
{
	now_ms++;
}

static void takes_long(void)
{
	put_takes = 5;
	one_is_refused();
}

/* Since the end of that. */
static void almost_later(void)
{
	now_ms += 1996;
	three_more();
}

static void ten_send(void)
{
	user(100, 0, 0);
	for (int i = 0; i < 10; i++) {
		comes(i);
		sends(i, "+192.0.2.1\n", 70);
	}
}

static void first_goes(void)
{
	goes(0);
}

/* Nobody reads what is acknowledged, until there is no room. */
static void never_reads(void)
{
	user(100, 0, 0);
	no_room = true;
	comes(0);
	sends(0, "bad\n", 500);
}

static void sends_more(void)
{
	sends(0, "bad\n", 20);
}

static void sends_all(void)
{
	shutdown(clients[0], SHUT_WR);
	now_ms += 100;
}

static void almost(void)
{
	now_ms += 9999;
}

/* 50 users, and 20 of root: 48 at most, and 64 in all. */
static void many_come(void)
{
	crowded = true;
	user(200, 7, 7);
	for (int i = 0; i < 48; i++)
		comes(i);
}

static void one_too_many(void)
{
	user(300, 7, 7);
	comes(48);
	comes(70);
}

static void root_still(void)
{
	hears(48);
	user(301, 0, 0);
	for (int i = 49; i < 64; i++)
		comes(i);
}

static void last_of_root(void)
{
	comes(64);
}

static void beyond(void)
{
	comes(65);
}

static void one_goes(void)
{
	goes(3);
}

static void cannot_put(void)
{
	put_err = -EINTR;
	sends(0, "+192.0.2.9\n", 1);
}

/* It is told so; who comes later finds room. */
static void without_memory(void)
{
	no_memory = true;
	root_comes();
	comes(4);
}

static void with_memory(void)
{
	hears(0);
	hears(0);
	no_memory = false;
	own_user_comes();
}

static void no_guest(void)
{
	fails = "calloc";
	root_comes();
}

static void a_guest(void)
{
	hears(0);
	hears(0);
	fails = "";
	own_user_comes();
}

static struct rlimit files;

static void without_files(void)
{
	if (getrlimit(RLIMIT_NOFILE, &files))
		abort();
	root_comes();
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, files.rlim_max }))
		abort();
}

static void almost_a_second(void)
{
	now_ms += 999;
}

static void with_files(void)
{
	now_ms++;
	if (setrlimit(RLIMIT_NOFILE, &files))
		abort();
}

static void nobody_knows_who(void)
{
	fails = "who";
	root_comes();
}

static void nor_his_groups(void)
{
	hears(0);
	goes(0);
	fails = "groups";
	another_of_the_group_comes();
}

static void (*const no_memory_for_a_guest[])(void) = { no_guest, a_guest, hears_all, NULL };
static void (*const no_files[])(void) = { without_files, almost_a_second, with_files, hears_all, NULL };
static void (*const unknown[])(void) = { nobody_knows_who, nor_his_groups, one_of_the_group_comes, hears_all, NULL };
static void (*const no_memory_at_first[])(void) = { without_memory, with_memory, hears_all, NULL };
static void (*const alone[])(void) = { nothing,	  root_comes,  hears_and_ends, hears_all,  own_user_comes,
				       hears_all, others_come, hears_all,      first_goes, nothing,
				       NULL };
static void (*const in_group[])(void) = { one_of_the_group_comes,
					  another_of_the_group_comes,
					  a_third_of_the_group_comes,
					  one_of_others_comes,
					  root_comes_too,
					  hears_all,
					  NULL };
static void (*const in_turn[])(void) = { three_send, three_more, one_is_refused, three_more, later, three_more,
					 a_moment,   three_more, first_goes,	 nothing,    NULL };
static void (*const long_batch[])(void) = { three_send, takes_long, almost_later, NULL };
static void (*const full_batch[])(void) = { ten_send, NULL };
static void (*const patience[])(void) = { never_reads, sends_more, sends_all, almost, a_moment, nothing, NULL };
static void (*const crowd[])(void) = { many_come, one_too_many, root_still, last_of_root,
				       beyond,	  one_goes,	nothing,    NULL };
static void (*const interrupted[])(void) = { root_comes, cannot_put, NULL };

static void tell(const char *name, void (*const steps[])(void), const char *path, const char *group, bool json)
{
	struct context context = CONTEXT_DEFAULT;
	struct stat is;
	int err;

	context.state = OURS;
	context.json = json;
	path_now = path ?: OURS "/follow.sock";
	now_ms = BEGINS;
	step = steps;
	stop_asked = put_err = 0;
	crowded = no_room = false;
	put_takes = 0;
	shows_begin(&shows);
	errno = EBADF; /* of something before */
	err = follow_door(&context, path, group);
	if (put_err)
		hears(0);
	line("ends: %s%s", err ? reason(err) : "well", lstat(path_now, &is) ? "" : "; something is left");
	for (int i = 0; i < CLIENTS; i++)
		goes(i);
	shows_as(&shows, name);
}

static bool bind_there(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool fails_to = bind(fd, (struct sockaddr *)&address, sizeof(address));

	close_fd(fd);
	return !CHECK(!fails_to, "no socket");
}

static void word_for_word(void)
{
	static const char *const calls[] = { "directory", "lock",  "lstat", "unlink",
					     "socket",	  "chown", "chmod", "listen" };
	char file[PATH_MAX];

	tell("alone", alone, NULL, NULL, false);
	tell("as JSON", alone, SOCKET, NULL, true);
	tell("of a group", in_group, SOCKET, "bans", false);
	tell("each in turn", in_turn, NULL, NULL, false);
	tell("a batch that takes long", long_batch, NULL, NULL, false);
	tell("a batch that is full", full_batch, NULL, NULL, false);
	tell("one that does not read", patience, NULL, NULL, false);
	tell("a crowd", crowd, NULL, NULL, false);
	tell("interrupted", interrupted, NULL, NULL, false);
	tell("a group without a path", alone, NULL, "bans", false);
	tell("an empty path", alone, "", NULL, false);
	tell("no such group", alone, SOCKET, "nobodys", false);
	memset(file, 'x', 108);
	file[108] = '\0';
	tell("a path that is too long", alone, file, NULL, false);
	tell("no memory", no_memory_at_first, NULL, NULL, false);
	tell("no memory for a guest", no_memory_for_a_guest, NULL, NULL, false);
	tell("no descriptor for a guest", no_files, NULL, NULL, false);
	tell("who is unknown", unknown, SOCKET, "bans", false);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		char name[40];

		/* One that was killed has left its socket. */
		if (!strcmp(calls[i], "unlink") && bind_there())
			return;
		fails = calls[i];
		snprintf(name, sizeof(name), "fails: %s", fails);
		tell(name, alone, SOCKET, "bans", false);
		unlink(SOCKET);
	}
	fails = "";
	begin_err = -EPERM;
	tell("no change can be made", alone, NULL, NULL, false);
	begin_err = 0;
	/* What one that was killed has left, and what is something else. */
	if (bind_there())
		return;
	tell("a socket in its place", no_memory_for_a_guest + 3, SOCKET, NULL, false);
	close_fd(open(SOCKET, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	tell("a file in its place", alone, SOCKET, NULL, false);
	unlink(SOCKET);
	tell("no directory", alone, "none/" SOCKET, NULL, false);
}

static void in_directory(void)
{
	static char record[PATH_MAX];
	char own[] = "/tmp/xdp-bloom-door-XXXXXX";

	if (realpath(shows.file, record))
		shows.file = record;
	if (!CHECK(mkdtemp(own) && !chdir(own) && !mkdir(OURS, 0700), "no directory"))
		return;
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = -1;
	word_for_word();
	CHECK(!rmdir(OURS) && !chdir("/") && !rmdir(own), "something is left");
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", in_directory } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
