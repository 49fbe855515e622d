// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SSH_CONNECTION of other processes. To read an environment the kernel waits for what the process does with its
 * memory, and its owner can make that last for ever. So a child reads, which can be killed while it waits.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/grow.h"
#include "base/helper.h"
#include "change/own_internal.h"

#define SSH_VARIABLE "SSH_CONNECTION="
/* sshd puts it at the beginning. What a process calls its environment may be terabytes, and without an end. */
#define ENVIRONMENT_MAX 65536

/* Text of that process's, as much as fits; "" where there is none. The kernel gives less than was asked for at its end.
 */
static size_t read_of_process(int pid, const char *what, char *text, size_t size)
{
	ssize_t got = -1;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		got = read(fd, text, size - 1);
	close_fd(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

/* What SSH_CONNECTION is in that process's environment, in `text`: "192.0.2.1 50000 192.0.2.2 22". */
static bool ssh_of(int pid, char text[SSH_TEXT_MAX])
{
	static char all[ENVIRONMENT_MAX + 1];
	size_t got = read_of_process(pid, "environ", all, sizeof(all));
	bool found = false;

	for (const char *entry = all; entry < all + got && !found; entry += strlen(entry) + 1) {
		found = !strncmp(entry, SSH_VARIABLE, strlen(SSH_VARIABLE)) && entry[strlen(SSH_VARIABLE)] &&
			entry + strlen(entry) < all + got;
		if (found)
			snprintf(text, SSH_TEXT_MAX, "%s", entry + strlen(SSH_VARIABLE));
	}
	return found;
}

static int parent_of(int pid)
{
	static const char field[] = "\nPPid:";
	char text[512];
	const char *found;

	read_of_process(pid, "status", text, sizeof(text));
	found = strstr(text, field); /* among the first lines; a name's line feed is escaped */
	return found ? atoi(found + strlen(field)) : 0;
}

/* sudo and su remove SSH_CONNECTION, but a process above us still has it. */
int own_session(char text[SSH_TEXT_MAX])
{
	const char *own = getenv("SSH_CONNECTION");
	int pid = getppid();

	if (own && *own) {
		snprintf(text, SSH_TEXT_MAX, "%s", own);
		return getpid();
	}
	while (pid > 1 && !ssh_of(pid, text))
		pid = parent_of(pid);
	if (pid <= 1)
		*text = '\0';
	return pid;
}

/* For one environment, and for all of them. */
#define ONE_MS 1000
#define ALL_MS 3000

/* A command asks more than once, and one that follows others for ever: who took too long is left out for so long. */
#define SLOW_MS	 10000
#define SLOW_MAX 16

static struct {
	int pid;
	int64_t until;
} slow[SLOW_MAX];
static size_t slow_n;

static bool is_slow(int pid)
{
	for (size_t i = 0; i < SLOW_MAX; i++)
		if (slow[i].pid == pid && clock_ms() < slow[i].until)
			return true;
	return false;
}

struct scan {
	int *pids;
	size_t n, at; /* those before `at` are done with */
	size_t missed;
	int first_missed;
	int64_t until;
};

/* Before each process it says where it is, and then what was found. */
struct said {
	size_t at;
	char text[SSH_TEXT_MAX];
};

static bool say(int fd, const struct said *said)
{
	return send(fd, said, sizeof(*said), MSG_NOSIGNAL) == (ssize_t)sizeof(*said);
}

/* Without our locks, and not for longer than we are there: who is gone already hears nothing. */
__attribute__((noreturn)) static void read_all(const struct scan *s, int fd)
{
	struct said said = { .at = s->at };

	if (dup2(fd, 0) < 0 || close_from(3) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		_exit(1);
	while (say(0, &said) && said.at < s->n) {
		if (ssh_of(s->pids[said.at], said.text) && !say(0, &said))
			break;
		said = (struct said){ .at = said.at + 1 };
	}
	_exit(0);
}

static int start(const struct scan *s, pid_t *pid)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return because(-errno, "environments of processes cannot be read: %s", strerror(errno));
	*pid = fork();
	if (!*pid)
		read_all(s, pair[1]);
	err = *pid < 0 ? because(-errno, "no process could be started: %s", strerror(errno)) : 0;
	close(pair[1]);
	if (err)
		close(pair[0]);
	return err ?: pair[0];
}

/* Until it is through, or stays where it is. */
static void hear(struct scan *s, int fd, own_session_fn *each, void *arg)
{
	int64_t end = 0;

	while (s->at < s->n) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		int64_t now = clock_ms();
		struct said said;
		int ready;

		if (!end)
			end = now + ONE_MS < s->until ? now + ONE_MS : s->until;
		ready = poll(&poll_fd, 1, end > now ? (int)(end - now) : 0);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0 || recv(fd, &said, sizeof(said), 0) != (ssize_t)sizeof(said))
			return;
		end = 0;
		s->at = said.at;
		if (*said.text)
			each(arg, s->pids[said.at], said.text);
	}
}

static bool owner_of(int pid, uid_t *owner)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (lstat(path, &st))
		return false;
	*owner = st.st_uid;
	return true;
}

/* Whose process took too long has his others read last: he delays nobody but himself. */
static void put_off(struct scan *s)
{
	size_t last = s->n;
	uid_t whose, other;

	if (!s->missed++)
		s->first_missed = s->pids[s->at];
	slow[slow_n].pid = s->pids[s->at];
	slow[slow_n].until = clock_ms() + SLOW_MS;
	slow_n = (slow_n + 1) % SLOW_MAX;
	if (!owner_of(s->pids[s->at++], &whose))
		return;
	for (size_t i = s->at; i < last;) {
		int pid = s->pids[i];

		if (owner_of(pid, &other) && other == whose) {
			s->pids[i] = s->pids[--last];
			s->pids[last] = pid;
		} else {
			i++;
		}
	}
}

static int list_processes(struct scan *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		if (*entry->d_name < '1' || *entry->d_name > '9' || is_slow(atoi(entry->d_name)))
			continue;
		if (GROW(s->pids, s->n))
			s->pids[s->n++] = atoi(entry->d_name);
		else
			err = -ENOMEM;
	}
	if (dir)
		closedir(dir);
	return err;
}

int own_each_session(own_session_fn *each, void *arg)
{
	struct scan s = { .until = clock_ms() + ALL_MS };
	int err = list_processes(&s);

	while (!err && s.at < s.n && clock_ms() < s.until) {
		pid_t pid = 0;
		int fd = err = start(&s, &pid);

		if (fd < 0)
			break;
		err = 0;
		hear(&s, fd, each, arg);
		helper_stop(fd, pid);
		if (s.at < s.n)
			put_off(&s);
	}
	s.missed += s.n - s.at;
	if (!err && s.missed)
		warn("not all SSH sessions may be known: of %zu processes the environments of %zu could not be read in"
		     " time, that of process %d first",
		     s.n, s.missed, s.first_missed ?: s.pids[s.at]);
	free(s.pids);
	return err;
}
