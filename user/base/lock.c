// SPDX-License-Identifier: GPL-2.0-only
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"

#define MEANWHILE_US 250000

struct lock_meanwhile lock_meanwhile;

static void on_alarm(int signal)
{
	(void)signal;
}

/* The process that holds it, or 0: where nobody does, or there is no file, the kernel leaves it as it is. */
static pid_t holder_of(int fd)
{
	struct flock holder = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	fcntl(fd, F_GETLK, &holder);
	return holder.l_pid;
}

pid_t lock_holder(const char *directory, const char *name)
{
	char path[STATE_PATH_MAX];
	int fd = open(state_path(path, directory, name), O_RDONLY | O_CLOEXEC);
	pid_t holder = holder_of(fd);

	close_fd(fd);
	return holder;
}

bool lock_is_held(const char *directory, const char *name)
{
	return lock_holder(directory, name);
}

/* The beginning of its command line. */
static void command_of(pid_t pid, char *text, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	file = fopen(path, "re");
	if (file) {
		n = fread(text, 1, size - 1, file);
		fclose(file);
	}
	while (n && !text[n - 1])
		n--;
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
}

static int because_held(int fd, const char *path, long seconds)
{
	pid_t pid = holder_of(fd);
	char command[120];

	if (!pid) /* gone this moment, or on another machine that shares the directory */
		return because(-EBUSY, "%s: held by another process for %ld s", path, seconds);
	command_of(pid, command, sizeof(command));
	if (!*command)
		snprintf(command, sizeof(command), "which has ended");
	if (!seconds)
		return because(-EBUSY, "%s is held by process %d, %s", path, (int)pid, command);
	return because(-EBUSY, "another command has held %s for %ld s: process %d, %s", path, seconds, (int)pid,
		       command);
}

static int wait_for(int fd, long seconds)
{
	struct flock want = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	/* Every second from then on: the first signal could come before we wait. */
	struct itimerval limit = { { 1, 0 }, { seconds, 0 } }, off = { 0 };
	int64_t end = clock_ms() + seconds * 1000;
	struct sigaction wake = { .sa_handler = on_alarm }, old;
	sigset_t alarms, blocked;
	int err;

	if (!fcntl(fd, F_SETLK, &want))
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return -errno;
	if (seconds < 1)
		return -EINTR;
	/* Our parent may have blocked SIGALRM, and we inherit that. */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigaction(SIGALRM, &wake, &old);
	sigprocmask(SIG_UNBLOCK, &alarms, &blocked);
	if (lock_meanwhile.call)
		limit.it_value = (struct timeval){ .tv_usec = MEANWHILE_US };
	do {
		if (lock_meanwhile.call)
			lock_meanwhile.call(lock_meanwhile.arg);
		setitimer(ITIMER_REAL, &limit, NULL);
		err = fcntl(fd, F_SETLKW, &want) ? -errno : 0;
		setitimer(ITIMER_REAL, &off, NULL);
	} while (lock_meanwhile.call && err_is(err, EINTR) && clock_ms() < end);
	sigaction(SIGALRM, &old, NULL);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	return err;
}

int lock_take(const char *path, long seconds)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), err;

	if (fd < 0)
		return because(-errno, "%s: %s", path, strerror(errno));
	err = wait_for(fd, seconds);
	if (!err)
		return fd;
	err = err_is(err, EINTR) ? because_held(fd, path, seconds) : because(err, "%s: %s", path, errno_text(err));
	close(fd);
	return err;
}
