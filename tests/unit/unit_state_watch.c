// SPDX-License-Identifier: GPL-2.0-only
/* Who is told that a command of the state has ended: by its lock, and by nothing else that is written beside it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/log.h"
#include "base/state_path.h"
#include "ktap.h"

static int init_fails;

static int given_init(int flags)
{
	errno = init_fails;
	return init_fails ? -1 : inotify_init1(flags);
}

#define inotify_init1 given_init
#define warn(...)     ((void)0)
#include "feeds/state_watch.c"

static char directory[] = "/tmp/unit_state_watch.XXXXXX";

static void writes(const char *name, int flags)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, flags | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0, "%s cannot be opened", path);
	close(fd);
}

static void removes(const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
}

static void ended(void)
{
	int watch = state_watch_open(directory);

	if (!CHECK(watch >= 0, "%s", reason(watch)))
		return;
	CHECK(!state_watch_ended(watch, directory), "nobody was there");
	writes("state.db", O_WRONLY);
	CHECK(!state_watch_ended(watch, directory), "the database is the lock");
	writes(STATE_LOCK, O_RDONLY);
	CHECK(!state_watch_ended(watch, directory), "one who looks has ended");
	writes(STATE_LOCK, O_WRONLY);
	writes("state.db", O_WRONLY);
	CHECK(state_watch_ended(watch, directory), "none has ended");
	CHECK(!state_watch_ended(watch, directory), "the same has ended twice");
	close(watch);
}

/* Whoever is the same user has all: each second counts, and once there is one it is as ever, by the same number. */
static void none_left(void)
{
	struct pollfd told = { .events = POLLIN };
	char link[40], is[80] = "";

	init_fails = EMFILE;
	told.fd = state_watch_open(directory);
	if (!CHECK(told.fd >= 0, "%s", reason(told.fd)))
		return;
	CHECK(!state_watch_ended(told.fd, directory), "at once");
	CHECK(poll(&told, 1, 10000) == 1 && state_watch_ended(told.fd, directory), "not after a second");
	CHECK(!state_watch_ended(told.fd, directory), "twice");
	init_fails = 0;
	CHECK(poll(&told, 1, 10000) == 1 && state_watch_ended(told.fd, directory), "not after another");
	writes("state.db", O_WRONLY);
	CHECK(!state_watch_ended(told.fd, directory), "the database is the lock");
	writes(STATE_LOCK, O_WRONLY);
	CHECK(poll(&told, 1, 10000) == 1 && state_watch_ended(told.fd, directory), "none has ended");
	CHECK(fcntl(told.fd, F_GETFD) == FD_CLOEXEC, "it is inherited");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", told.fd);
	CHECK(readlink(link, is, sizeof(is) - 1) > 0 && strstr(is, "inotify"), "it is '%s'", is);
	close(told.fd);
	init_fails = EACCES;
	CHECK(err_is(state_watch_open(directory), EACCES), "whatever fails");
	init_fails = 0;
}

static void refused(void)
{
	char path[80], wanted[160];
	int next = dup(0), err;

	close(next);
	snprintf(path, sizeof(path), "%s/nowhere", directory);
	err = state_watch_open(path);
	snprintf(wanted, sizeof(wanted), "%s: No such file or directory", path);
	CHECK(err_is(err, ENOENT) && !strcmp(reason(err), wanted), "%s", reason(err));
	writes("nowhere", O_WRONLY);
	err = state_watch_open(path);
	snprintf(wanted, sizeof(wanted), "%s: Not a directory", path);
	CHECK(err_is(err, ENOTDIR) && !strcmp(reason(err), wanted), "%s", reason(err));
	err = dup(0);
	CHECK(err == next, "a descriptor is left open");
	close(err);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "ended", ended },
						  { "none left", none_left },
						  { "refused", refused } };
	int status;

	if (!mkdtemp(directory))
		return KTAP_FAIL;
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	removes("nowhere");
	removes("state.db");
	removes(STATE_LOCK);
	if (rmdir(directory))
		printf("# %s stays\n", directory);
	return status;
}
