// SPDX-License-Identifier: GPL-2.0-only
/* What lasts is said once in so many seconds, by whichever process comes first. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ktap.h"
#include "state/due.h"
#include "state/internal.h"

#define SECONDS 600

static char directory[200], path[220];
static struct state *state;

static bool due(void)
{
	return state_due(state, "word", SECONDS);
}

static bool is_due(void)
{
	return state_is_due(state, "word", SECONDS);
}

/* As if it had been said then. */
static void said(int seconds_ago)
{
	struct timespec then[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - seconds_ago } };

	CHECK(!utimensat(AT_FDCWD, path, then, 0), "no such time");
}

static void now_and_then(void)
{
	struct stat st;

	CHECK(is_due() && access(path, F_OK) && due(), "it was never said");
	CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0600, "whoever may write there");
	CHECK(!due() && !due() && !is_due(), "it was said just now");
	said(SECONDS - 60);
	CHECK(!due() && !is_due(), "it was said nine minutes ago");
	said(SECONDS + 1);
	CHECK(is_due() && is_due() && due(), "it was said ten minutes ago");
	CHECK(!due(), "again");
	/* The date was set back. */
	said(-1000);
	CHECK(is_due() && due() && !due(), "it will be said");
	unlink(path);
}

/* What it cannot keep is said each time. */
static void not_kept(void)
{
	static char nowhere[] = "/nowhere";
	char other[240];

	CHECK(!mkdir(path, 0700) && due() && due() && is_due(), "a directory in its place");
	rmdir(path);
	CHECK(!mkfifo(path, 0600) && due() && due() && is_due(), "a pipe in its place");
	unlink(path);
	snprintf(other, sizeof(other), "%s.other", path);
	CHECK(!symlink(other, path) && due() && due() && is_due() && access(other, F_OK), "a link in its place");
	unlink(path);
	state->directory = nowhere;
	CHECK(due() && due() && is_due(), "no directory");
	state->directory = directory;
}

int main(void)
{
	static const struct ktap_case cases[] = { { "now and then", now_and_then }, { "not kept", not_kept } };
	int status;

	snprintf(directory, sizeof(directory), "%s/unit_due.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	state = calloc(1, sizeof(*state));
	if (!state || !mkdtemp(directory))
		return KTAP_FAIL;
	state->directory = directory;
	snprintf(path, sizeof(path), "%s/word", directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	rmdir(directory);
	free(state);
	return status;
}
