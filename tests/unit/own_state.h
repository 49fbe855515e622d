/* SPDX-License-Identifier: GPL-2.0-only */
/* A state in a directory of the test's own, which goes with it: the cases run in a process of their own beneath it. */
#ifndef OWN_STATE_H
#define OWN_STATE_H

#include <endian.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

/* The lists in pieces of a few ranges, and none of them a whole number of ranges: no library holds them like this. */
#define CHUNK_BYTES 100
/* The machine's, or what a case has it be. */
static int byte_order = BYTE_ORDER;
#undef BYTE_ORDER
#define BYTE_ORDER byte_order
#include "state/list_chunks.c"
#undef BYTE_ORDER
#define BYTE_ORDER __BYTE_ORDER
#include "state/settings.h"
#include "base/context.h"

#include "ktap.h"
#include "naive.h"

static char directory[200], file[220];

static void empty_directory(void)
{
	static const char *const names[] = { "state.db", "state.db-wal", "state.db-shm", "lock", "events", "ahead" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[220];

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		if (unlink(path) && errno == EISDIR)
			rmdir(path);
	}
}

static void remove_directory(void)
{
	empty_directory();
	rmdir(directory);
}

static struct context own_context = CONTEXT_DEFAULT;

/* Opens or ends the case; `change` as state_open() has it. */
__attribute__((unused)) static struct state *opened(bool change)
{
	struct state *s;
	int err = state_open(&s, &own_context, change);

	return CHECK(!err, "state_open: %s", reason(err)) ? s : NULL;
}

__attribute__((unused)) static int put(struct state *s, const char *name, enum list_kind kind, const struct ranges *set)
{
	struct list_info list = { .kind = kind,
				  .prefixes = set->n4 + 3,
				  .addresses = "340282366920938463463374607431768211456",
				  .source = "a; 'source'",
				  .loaded = "2026-01-01T00:00:00Z" };

	snprintf(list.name, sizeof(list.name), "%s", name);
	return state_list_put(s, &list, set);
}

__attribute__((unused)) static void random_ranges(struct ranges *set, unsigned int least, unsigned int most)
{
	*set = RANGES_EMPTY;
	for (uint64_t n = least + ktap_random() % (most - least + 1); n; n--) {
		uint32_t lo = (uint32_t)ktap_random();

		ENOUGH(!ranges_add4(set, lo, lo | (ktap_random() & 255)));
		if (n & 1)
			ENOUGH(!ranges_add6(set, (ip6)lo << 90, (ip6)lo << 90 | (ktap_random() >> 1)));
	}
	ENOUGH(!ranges_finish(set));
}

static int own_state_run(const struct ktap_case *cases, size_t count)
{
	const char *temporary = getenv("TMPDIR");
	int status = -1;
	pid_t pid;

	snprintf(directory, sizeof(directory), "%s/xdp-bloom-state-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(directory)) {
		perror(directory);
		return KTAP_FAIL;
	}
	snprintf(file, sizeof(file), "%s/state.db", directory);
	own_context.state = directory;
	/* The directory goes even where a case crashes. */
	pid = fork();
	if (pid == 0)
		exit(ktap_run(cases, count));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	remove_directory();
	if (WIFSIGNALED(status))
		printf("Bail out! killed by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : KTAP_FAIL;
}

#endif
