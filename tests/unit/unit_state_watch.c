// SPDX-License-Identifier: GPL-2.0-only
/* Who is told that a command of the state has ended: by its lock, and by nothing else that is written beside it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/state_path.h"
#include "feeds/state_watch.h"
#include "ktap.h"

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
	CHECK(!state_watch_ended(watch), "nobody was there");
	writes("state.db", O_WRONLY);
	CHECK(!state_watch_ended(watch), "the database is the lock");
	writes(STATE_LOCK, O_RDONLY);
	CHECK(!state_watch_ended(watch), "one who looks has ended");
	writes(STATE_LOCK, O_WRONLY);
	writes("state.db", O_WRONLY);
	CHECK(state_watch_ended(watch), "none has ended");
	CHECK(!state_watch_ended(watch), "the same has ended twice");
	close(watch);
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
	static const struct ktap_case cases[] = { { "ended", ended }, { "refused", refused } };
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
