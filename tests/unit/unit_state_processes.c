// SPDX-License-Identifier: GPL-2.0-only
/* One state, and several processes that look and write at once, or are killed at it. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "own_state.h"

static size_t list_count(void)
{
	struct list_info *lists = NULL;
	struct state *s = opened(false);
	size_t n = 0;

	if (s)
		CHECK(!state_lists(s, &lists, &n), "no lists");
	free(lists);
	state_close(s);
	return n;
}

/* A child that has put one list, says so, and waits to be told to commit (or is killed). */
static pid_t start_writer(const char *name, int *told, int *tell)
{
	int up[2], down[2];
	char byte;
	pid_t pid;

	ENOUGH(!pipe(up) && !pipe(down));
	fflush(stdout);
	pid = fork();
	ENOUGH(pid >= 0);
	if (pid == 0) {
		struct ranges none = RANGES_EMPTY;
		struct state *s;

		close(up[0]);
		close(down[1]);
		if (state_open(&s, &own_context, true) || put(s, name, LIST_BAN, &none))
			_exit(1);
		if (write(up[1], "x", 1) != 1 || read(down[0], &byte, 1) != 1)
			_exit(2);
		_exit(state_commit(s) ? 3 : 0);
	}
	close(up[1]);
	close(down[0]);
	*told = up[0];
	*tell = down[1];
	return pid;
}

static int end_writer(pid_t pid, int told, int tell)
{
	int status = -1;

	close(told);
	close(tell);
	waitpid(pid, &status, 0);
	return status;
}

static void readers_and_writers(void)
{
	int told[2], tell[2];
	pid_t first, second;
	char byte;

	empty_directory();
	first = start_writer("one", &told[0], &tell[0]);
	if (!CHECK(read(told[0], &byte, 1) == 1, "the first writer has not written"))
		goto out;
	CHECK(list_count() == 0, "what is not committed is seen");
	/* Waits for the first, and then finds what that one has put. */
	second = start_writer("two", &told[1], &tell[1]);
	CHECK(list_count() == 0, "what is not committed is seen");
	CHECK(write(tell[0], "x", 1) == 1, "no word to the first writer");
	CHECK(read(told[1], &byte, 1) == 1, "the second writer has not written");
	CHECK(list_count() == 1, "%zu lists after the first commit", list_count());
	CHECK(write(tell[1], "x", 1) == 1, "no word to the second writer");
	CHECK(end_writer(second, told[1], tell[1]) == 0, "the second writer failed");
	CHECK(list_count() == 2, "%zu lists after both commits", list_count());
out:
	CHECK(end_writer(first, told[0], tell[0]) == 0, "the first writer failed");
}

#define COMMITS 200
#define READERS 3

/* Until the last commit: each look has at least what was committed before it began. Ends with 1 where one had less. */
static void look_on(const atomic_int *committed)
{
	int before = 0, seen = 0;

	while (before < COMMITS) {
		struct state *s;

		before = *committed;
		if (state_open(&s, &own_context, false))
			_exit(2);
		seen = (int)state_setting(s, "n", 0);
		state_close(s);
		if (seen < before)
			_exit(1);
	}
	_exit(0);
}

static void nothing_old(void)
{
	atomic_int *committed =
		mmap(NULL, sizeof(*committed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t readers[READERS];

	ENOUGH(committed != MAP_FAILED);
	empty_directory();
	fflush(stdout);
	for (int i = 0; i < READERS; i++) {
		readers[i] = fork();
		ENOUGH(readers[i] >= 0);
		if (!readers[i])
			look_on(committed);
	}
	for (int n = 1; n <= COMMITS; n++) {
		struct state *s = opened(true);

		int err = s ? state_set(s, "n", n) : -EIO;

		if (!err)
			err = state_commit(s);
		CHECK(!err, "commit %d: %s", n, reason(err));
		*committed = n; /* what it is acknowledged with */
		state_close(s);
	}
	for (int i = 0; i < READERS; i++) {
		int status = -1;

		waitpid(readers[i], &status, 0);
		CHECK(!status, "reader %d ended with %d: it %s", i, status,
		      WEXITSTATUS(status) == 1 ? "saw what was older than what was committed" : "could not read");
	}
	munmap(committed, sizeof(*committed));
}

static void killed_writer(void)
{
	int told, tell;
	pid_t pid;
	char byte;

	empty_directory();
	for (int round = 0; round < 5; round++) {
		struct ranges set;
		struct state *s;
		char name[16];

		pid = start_writer("killed", &told, &tell);
		CHECK(read(told, &byte, 1) == 1, "the writer has not written");
		kill(pid, SIGKILL);
		end_writer(pid, told, tell);
		CHECK(list_count() == (size_t)round, "%zu lists, not %d", list_count(), round);
		s = opened(true);
		if (!s)
			return;
		random_ranges(&set, 0, 20);
		snprintf(name, sizeof(name), "list-%d", round);
		CHECK(!put(s, name, LIST_BAN, &set) && !state_commit(s), "cannot write after it");
		ranges_free(&set);
		state_close(s);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "looking while another process writes, and two writers", readers_and_writers },
		{ "who looks sees all that is acknowledged", nothing_old },
		{ "a writer is killed", killed_writer },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
