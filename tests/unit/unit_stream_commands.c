// SPDX-License-Identifier: GPL-2.0-only
/* Commands that lines come from: how they are found and started, what they have open, and how they end. */
#include "made_stream.h"

#include <sys/prctl.h>
#include <sys/resource.h>

static void commands(void)
{
	char *const reads[] = { "sh", "-c",
				"echo one; echo two; read a; read b; test \"$a $b\" = 'ok 1 ok 2' && exit 7", NULL };
	char *const deaf[] = { "sh", "-c", "exec <&-; echo one; exit 3", NULL };
	char *const none[] = { "/nonexistent/command", NULL };
	char *const no_command[] = { directory, NULL };
	struct stream s = opened(NULL, reads, 0);
	int status;

	expect(&s, "one");
	stream_acknowledge(&s, 1);
	CHECK(s.told == 1, "it is told later, where there is room");
	expect(&s, "two");
	stream_acknowledge(&s, 2);
	expect(&s, NULL);
	CHECK(!strcmp(s.name, "sh") && s.child > 0 && !stream_tell(&s), "it is called %s", s.name);
	status = closed(&s);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x", (unsigned int)status);
	s = opened(NULL, deaf, 0);
	expect(&s, "one");
	expect(&s, NULL);
	stream_acknowledge(&s, 1);
	status = closed(&s);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3, "status %x", (unsigned int)status);
	s = opened(NULL, none, 0);
	expect(&s, NULL);
	status = closed(&s);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 127, "status %x", (unsigned int)status);
	s = opened(NULL, no_command, 0);
	expect(&s, NULL);
	status = closed(&s);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 126, "status %x", (unsigned int)status);
}

static int status_of(const char *script)
{
	char *const command[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct stream s = opened(NULL, command, 0);

	expect(&s, NULL);
	interrupted = 2;
	return closed(&s);
}

/* What this process ignores and blocks, a command does not. */
static void signals(void)
{
	sigset_t ends, was;
	int status;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &was);
	status = status_of("kill -PIPE $$; exit 3");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE && !interrupted, "status %x", (unsigned int)status);
	status = status_of("kill -TERM $$; exit 3");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %x", (unsigned int)status);
	sigprocmask(SIG_SETMASK, &was, NULL);
}

/* Without a process or a pipe nothing is left open, and nobody is waited for, or killed, at its end. */
static void no_command(void)
{
	char *const command[] = { "true", NULL };
	int free_one = next_fd(), err;
	struct rlimit was, few;
	struct stream s;

	no_process = true;
	s = opened(NULL, command, EAGAIN);
	no_process = false;
	CHECK(next_fd() == free_one && !s.child && s.in == -1, "%d is the next, child %d", next_fd(), (int)s.child);
	CHECK(!stream_close(&s), "a status");
	NEEDED(!getrlimit(RLIMIT_NOFILE, &was));
	for (int n = 0; n < 4; n++) {
		few = (struct rlimit){ (rlim_t)(free_one + n), was.rlim_max };
		NEEDED(!setrlimit(RLIMIT_NOFILE, &few));
		s = (struct stream){ 0 };
		err = stream_open(&s, NULL, command);
		NEEDED(!setrlimit(RLIMIT_NOFILE, &was));
		CHECK(err_is(err, EMFILE) && !strcmp(reason(err), "true: Too many open files"), "'%s'",
		      err ? reason(err) : "no error");
		CHECK(next_fd() == free_one && !s.child, "with %d: %d is the next, not %d", n, next_fd(), free_one);
		CHECK(!stream_close(&s), "a status");
	}
}

static int may_open(const char *command)
{
	char *const words[] = { (char *)command, NULL };

	return stream_may_open(NULL, words);
}

/* As a shell looks for a program: by PATH, where an empty part is the directory that it is in, or by its own path. */
static void programs(void)
{
	static const struct {
		const char *path, *name;
		bool is;
	} each[] = {
		{ "/usr/bin:/bin", "true", true },
		{ "/nowhere:/bin", "true", true },
		{ "/nowhere:/bin", "/bin/true", true },
		{ "/nowhere", "true", false },
		{ "/nowhere", "/bin/true", true },
		{ NULL, "true", true },
		{ "/bin", "no-program-of-that-name", false },
		{ "/bin", "/bin/no-program-of-that-name", false },
		{ "/bin", "./program", true },
		{ "/bin", "./text", false },
		{ "/bin", "program", false },
		{ "", "program", true },
		{ ":/bin", "program", true },
		{ "/bin:", "program", true },
		{ "/bin::/nowhere", "program", true },
		{ "/bin::/nowhere", "text", false },
	};
	char before[PATH_MAX], *path = getenv("PATH") ? strdup(getenv("PATH")) : NULL;
	int fd;

	NEEDED(getcwd(before, sizeof(before)) && !chdir(directory));
	for (int i = 0; i < 2; i++) {
		NEEDED((fd = open(i ? "program" : "text", O_CREAT | O_WRONLY | O_CLOEXEC, i ? 0700 : 0600)) >= 0);
		close(fd);
	}
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		int err;

		NEEDED(!(each[i].path ? setenv("PATH", each[i].path, 1) : unsetenv("PATH")));
		err = may_open(each[i].name);
		CHECK(each[i].is ? !err : err_is(err, ENOENT) && strstr(reason(err), "there is no such program"),
		      "%s with PATH=%s: %s", each[i].name, each[i].path ?: "(none)", err ? reason(err) : "there is");
	}
	NEEDED(!(path ? setenv("PATH", path, 1) : unsetenv("PATH")));
	free(path);
	NEEDED(!unlink("program") && !unlink("text") && !chdir(before));
}

/* Of its pipes this end alone is kept: otherwise neither would see the other's end. */
static void ends_of_pipes(void)
{
	char *const command[] = { "true", NULL };
	int first = next_fd();
	struct stream s = opened(NULL, command, 0);
	struct stat in, out, at;
	int n = 0;

	NEEDED(!fstat(s.in, &in) && !fstat(s.out, &out) && in.st_ino != out.st_ino);
	for (int fd = first; fd < first + 8; fd++)
		n += is_open(fd) && !fstat(fd, &at) && (at.st_ino == in.st_ino || at.st_ino == out.st_ino);
	CHECK(n == 2, "%d ends are open", n);
	CHECK((fcntl(s.in, F_GETFL) & O_ACCMODE) == O_RDONLY && (fcntl(s.out, F_GETFL) & O_ACCMODE) == O_WRONLY,
	      "another end");
	expect(&s, NULL);
	CHECK(!closed(&s) && !is_open(s.in) && !is_open(s.out) && next_fd() == first, "something is left");
}

/* Who is told to end waits for nobody, and ends the command. */
static void stopped(void)
{
	char *const command[] = { "sh", "-c", "echo one; exec sleep 1000", NULL };
	int ends[2];
	struct stream s = deaf(ends);

	stream_acknowledge(&s, 12);
	stop_asked = SIGTERM;
	waits = 0;
	hush();
	CHECK(!closed(&s) && !waits, "it waits %u times", waits);
	said_is("xdp-bloom: name: all lines up to 12 are in force, and nobody reads that\n");
	close(ends[0]);
	close(ends[1]);
	stop_asked = 0;
	s = opened(NULL, command, 0);
	expect(&s, "one");
	stop_asked = SIGTERM;
	CHECK(!closed(&s), "its status is another's doing");
	stop_asked = 0;
	CHECK(waitpid(s.child, NULL, WNOHANG) < 0 && errno == ECHILD, "it is still there");
}

static pid_t number(struct stream *s)
{
	size_t length;
	char *line = next_line(s, &length);

	return line ? (pid_t)strtol(line, NULL, 10) : 0;
}

static struct stream runs(const char *script)
{
	char *const command[] = { "sh", "-c", (char *)(uintptr_t)script, NULL };

	return opened(NULL, command, 0);
}

static void ends_it(struct stream *s)
{
	int64_t began = clock_ms();

	stop_asked = SIGTERM;
	CHECK(!closed(s), "its status is another's doing");
	stop_asked = 0;
	CHECK(waitpid(s->child, NULL, WNOHANG) < 0 && errno == ECHILD, "it is still there");
	CHECK(clock_ms() - began < 20000, "it takes %d ms", (int)(clock_ms() - began));
}

/* It is ended by that signal. */
static void ended_by(pid_t pid, int signal)
{
	int status = 0;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == signal,
	      "process %d, status %x", (int)pid, (unsigned int)status);
}

static void asks_to_end(void)
{
	stop_asked = SIGTERM;
}

/* A command that does not end when it is asked to is killed, and what it has started with it. */
static void does_not_end(void)
{
	siginfo_t info;
	struct stream s;
	pid_t started;
	int status;

	NEEDED(!prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	for (terminal = false;; terminal = true) {
		s = runs("trap '' TERM; echo one; exec sleep 1000");
		expect(&s, "one");
		CHECK((getpgid(s.child) == s.child) == !terminal, "it is in another group");
		ends_it(&s);
		s = runs("echo one; exec sleep 1000");
		expect(&s, "one");
		kill(s.child, SIGSTOP);
		CHECK(!waitid(P_PID, (id_t)s.child, &info, WSTOPPED | WNOWAIT), "it does not stop");
		ends_it(&s);
		if (terminal)
			break;
	}
	terminal = false;
	s = runs("trap '' TERM; sleep 1000 & echo $!; wait");
	started = number(&s);
	ends_it(&s);
	ended_by(started, SIGKILL);
	/* It has time to end, also where the shell has ended. */
	s = runs(
		"trap 'exit 1' TERM; sh -c 'trap \"sleep 0.1; kill -HUP $$\" TERM; echo $$; while :; do sleep 0.02; done' & wait");
	started = number(&s);
	ends_it(&s);
	ended_by(started, SIGHUP);
	/* It has said all, and runs on. */
	s = runs("exec >&-; trap '' TERM; exec sleep 1000");
	expect(&s, NULL);
	on_wait = asks_to_end;
	CHECK(!closed(&s) && stop_asked, "its status is another's doing");
	on_wait = NULL;
	stop_asked = 0;
	CHECK(waitpid(s.child, NULL, WNOHANG) < 0 && errno == ECHILD, "it is still there");
	/* It goes on, and nobody reads it any more. */
	s = runs("echo one; exec sleep 1000");
	expect(&s, "one");
	status = closed(&s);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %x", (unsigned int)status);
	no_pidfd = true;
	s = runs("exec >&-; exit 3");
	expect(&s, NULL);
	CHECK(WEXITSTATUS(closed(&s)) == 3, "another status");
	s = runs("trap '' TERM; echo one; exec sleep 1000");
	expect(&s, "one");
	ends_it(&s);
	no_pidfd = false;
	NEEDED(!prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0));
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "commands", commands },     { "programs", programs },
		{ "no command", no_command }, { "ends of pipes", ends_of_pipes },
		{ "stopped", stopped },	      { "does not end", does_not_end },
		{ "signals", signals },
	};

	return stream_run(cases, sizeof(cases) / sizeof(*cases));
}
