// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks: who holds one, what is said of that process, how long another waits, and that whoever waited has its signals
 * as they were. A second of this test takes a thousandth of one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "ktap.h"
#include "used_stack.h"

static int look_fails, take_fails; /* with these */
static const char *line;	   /* of any process; NULL: the real one */
static size_t line_length;
static struct itimerval timers[4];
static size_t timers_n;
static int64_t now_ms, free_at; /* made up while free_at is not 0: it is held until then */

static int given_fcntl(int fd, int what, struct flock *lock)
{
	if (free_at && what == F_SETLKW) {
		const struct timeval *rings = &timers[timers_n - 1].it_value;

		now_ms += rings->tv_sec * 1000 + rings->tv_usec / 1000;
		errno = now_ms < free_at ? EINTR : 0;
		return errno ? -1 : 0;
	}
	errno = what == F_GETLK ? look_fails : what == F_SETLK ? take_fails : 0;
	return errno ? -1 : fcntl(fd, what, lock);
}

static int given_setitimer(int which, const struct itimerval *new, struct itimerval *old)
{
	struct itimerval soon = { { 0, new->it_interval.tv_sec * 1000 }, { 0, new->it_value.tv_sec * 1000 } };

	if (free_at)
		timers_n = 0;
	if (which != ITIMER_REAL || old || timers_n == 4)
		abort();
	timers[timers_n++] = *new;
	return free_at ? 0 : setitimer(which, &soon, NULL);
}

static FILE *given_fopen(const char *path, const char *how)
{
	static char room[400];

	if (!line)
		return fopen(path, how);
	if (!line_length)
		return NULL;
	memcpy(room, line, line_length);
	return fmemopen(room, line_length, "r");
}

#define fcntl	   given_fcntl
#define setitimer  given_setitimer
#define fopen	   given_fopen
#define clock_ms() now_ms
#include "base/lock.c"
#undef clock_ms
#undef fcntl
#undef setitimer
#undef fopen

static char directory[200], path[240];
static int holds[2]; /* closed: the holder ends */
static pid_t holder;

/* Another process has it from now on. */
static void hold(void)
{
	int ready[2];
	char one;

	if (pipe2(holds, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		abort();
	fflush(stdout);
	holder = fork();
	if (!holder) {
		close(holds[1]);
		_exit(lock_take(path, 0) < 0 || write(ready[1], "", 1) != 1 || read(holds[0], &one, 1));
	}
	close(holds[0]);
	close(ready[1]);
	CHECK(read(ready[0], &one, 1) == 1, "nobody holds it");
	close(ready[0]);
}

static void let_go(void)
{
	close(holds[1]);
	CHECK(waitpid(holder, NULL, 0) == holder && !lock_holder(directory, "lock"), "it is held still");
}

static void refused(long seconds, int error, const char *text)
{
	int err = lock_take(path, seconds);

	CHECK(err_is(err, error) && !strcmp(reason(err), text), "'%s', not '%s'", err < 0 ? reason(err) : "it has it",
	      text);
}

static void is_free(void)
{
	struct stat st;
	int fd;

	CHECK(!lock_holder(directory, "lock") && !lock_is_held(directory, "lock"), "who holds what is not there?");
	fd = lock_take(path, 0);
	if (!CHECK(fd >= 0, "%s", reason(fd)))
		return;
	CHECK(!fstat(fd, &st) && (st.st_mode & 07777) == 0600, "mode %o", st.st_mode);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "it goes to commands, too");
	close(fd);
	CHECK(!lock_holder(directory, "lock") && !lock_is_held(directory, "lock"), "somebody holds it");
}

static void is_held(void)
{
	char text[700];

	hold();
	CHECK(lock_holder(directory, "lock") == holder && lock_is_held(directory, "lock"), "nobody holds it");
	line = "a command";
	line_length = 10;
	snprintf(text, sizeof(text), "%s is held by process %d, a command", path, (int)holder);
	refused(0, EBUSY, text);
	line_length = 0;
	snprintf(text, sizeof(text), "%s is held by process %d, which has ended", path, (int)holder);
	refused(0, EBUSY, text);
	line = NULL;
	/* As systems differ: either says that another has it. */
	take_fails = EACCES;
	CHECK(err_is(lock_take(path, 0), EBUSY), "another error");
	take_fails = 0;
	/* On another machine. */
	look_fails = EINVAL;
	snprintf(text, sizeof(text), "%s: held by another process for 0 s", path);
	refused(0, EBUSY, text);
	CHECK(!lock_holder(directory, "lock"), "somebody is known");
	look_fails = 0;
	let_go();
}

static void other(int signal)
{
	(void)signal;
}

/* With SIGALRM blocked, and a handler of its own. */
static void waits(void)
{
	struct sigaction own = { .sa_handler = other }, is;
	sigset_t alarms, was;
	char text[700];

	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigaddset(&alarms, SIGUSR1);
	sigprocmask(SIG_BLOCK, &alarms, &was);
	sigaction(SIGALRM, &own, &is);
	signal(SIGUSR1, other);
	hold();
	raise(SIGUSR1);
	use_stack();
	timers_n = 0;
	line = "a\0b";
	line_length = 3;
	snprintf(text, sizeof(text), "another command has held %s for 7 s: process %d, a b", path, (int)holder);
	refused(7, EBUSY, text);
	line = NULL;
	CHECK(timers_n == 2 && !memcmp(&timers[0], &(struct itimerval){ { 1, 0 }, { 7, 0 } }, sizeof(*timers)) &&
		      !memcmp(&timers[1], &(struct itimerval){ 0 }, sizeof(*timers)),
	      "%zu timers", timers_n);
	line = "c";
	line_length = 1;
	snprintf(text, sizeof(text), "another command has held %s for 1 s: process %d, c", path, (int)holder);
	refused(1, EBUSY, text);
	line = NULL;
	CHECK(timers_n == 4 && timers[2].it_value.tv_sec == 1, "%zu timers", timers_n);
	sigaction(SIGALRM, &is, &own);
	CHECK(own.sa_handler == other, "another handler");
	CHECK(!sigpending(&alarms) && sigismember(&alarms, SIGUSR1), "other signals come meanwhile");
	sigprocmask(SIG_SETMASK, &was, &alarms);
	CHECK(sigismember(&alarms, SIGALRM), "signals that were blocked come");
	let_go();
}

static int called;

static void meanwhile(void *arg)
{
	CHECK(arg == &called, "it is called for something else");
	CHECK(!free_at || now_ms == 1000 + called * 250, "call %d comes at %d", called, (int)now_ms);
	called++;
}

/* At once, and then four times a second; and no longer than it waits. Who need not wait does nothing else. */
static void meanwhile_something_is_done(void)
{
	static const struct {
		long seconds, free_at;
		int called;
		bool has;
	} cases[] = { { 7, 1200, 1, true },  { 7, 2000, 4, true },   { 1, 2000, 4, true },
		      { 1, 2001, 4, false }, { 3, 9000, 12, false }, { 0, 9000, 0, false } };
	int fd;

	hold();
	lock_meanwhile = (struct lock_meanwhile){ meanwhile, &called };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		now_ms = 1000;
		free_at = cases[i].free_at;
		called = 0;
		fd = lock_take(path, cases[i].seconds);
		CHECK(called == cases[i].called, "case %zu: it is called %d times", i, called);
		CHECK(cases[i].has ? fd >= 0 : err_is(fd, EBUSY), "case %zu: %d", i, fd);
		if (fd >= 0)
			close(fd);
	}
	free_at = 0;
	let_go();
	called = 0;
	fd = lock_take(path, 7);
	CHECK(fd >= 0 && !called, "it is called %d times, and the lock is free", called);
	close(fd);
	lock_meanwhile = (struct lock_meanwhile){ 0 };
}

/* Whoever holds it ends meanwhile. */
static void waits_and_has_it(void)
{
	int fd, status;

	hold();
	timers_n = 0;
	close(holds[1]);
	fd = lock_take(path, 60000);
	if (!CHECK(fd >= 0, "%s", reason(fd)))
		return;
	CHECK(waitpid(holder, &status, 0) == holder && !status, "the holder's status is %x", (unsigned int)status);
	fflush(stdout);
	holder = fork();
	if (!holder)
		_exit(lock_holder(directory, "lock") != getppid());
	CHECK(waitpid(holder, &status, 0) == holder && !status, "others see another holder");
	close(fd);
}

static void fails(void)
{
	char text[700];

	take_fails = ENOLCK;
	snprintf(text, sizeof(text), "%s: No locks available", path);
	refused(5, ENOLCK, text);
	take_fails = 0;
	unlink(path);
	rmdir(directory);
	snprintf(text, sizeof(text), "%s: No such file or directory", path);
	refused(5, ENOENT, text);
	if (mkdir(directory, 0700))
		abort();
}

/* Words in their order, up to what there is room for. */
static void command_lines(void)
{
	static char long_one[300];
	static const struct {
		const char *bytes;
		size_t n;
		const char *is;
	} cases[] = {
		{ "\0a", 2, " a" },	 { "", 0, "" },	    { "\0\0", 2, "" },
		{ "a", 1, "a" },	 { "a\0", 2, "a" }, { "a\0-b\0c\0\0", 8, "a -b c" },
		{ long_one, 300, NULL },
	};
	char text[121];

	memset(long_one, 'x', sizeof(long_one));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		line = cases[i].bytes;
		line_length = cases[i].n;
		memset(text, '#', sizeof(text));
		command_of(1, text, 120);
		CHECK(text[120] == '#' && (cases[i].is ? !strcmp(text, cases[i].is) : strlen(text) == 119),
		      "case %zu: '%s'", i, text);
	}
	line = NULL;
	command_of(getpid(), text, sizeof(text));
	CHECK(strstr(text, "unit_lock"), "this is '%s'", text);
}

/* One that is too long is none. */
static void paths(void)
{
	static char long_one[STATE_PATH_MAX + 1];
	char to[STATE_PATH_MAX];

	CHECK(!strcmp(state_path(to, "/a/b", "lock"), "/a/b/lock"), "'%s'", to);
	memset(long_one, 'x', STATE_PATH_MAX - 6);
	CHECK(strlen(state_path(to, long_one, "lock")) == STATE_PATH_MAX - 1, "the longest is none");
	long_one[STATE_PATH_MAX - 6] = 'x';
	CHECK(!*state_path(to, long_one, "lock"), "'%s'", to);
	CHECK(!lock_holder(long_one, "lock"), "somebody holds it");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "one that is free", is_free },
		{ "one that is held", is_held },
		{ "whoever waits is told after its time", waits },
		{ "whoever waits has it when it is free", waits_and_has_it },
		{ "meanwhile something is done", meanwhile_something_is_done },
		{ "what fails", fails },
		{ "command lines", command_lines },
		{ "paths", paths },
	};
	int status;

	alarm(60); /* nothing here waits for long */
	snprintf(directory, sizeof(directory), "%s/unit_lock.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		return KTAP_FAIL;
	snprintf(path, sizeof(path), "%s/lock", directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(path);
	rmdir(directory);
	return status;
}
