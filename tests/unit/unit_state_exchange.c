// SPDX-License-Identifier: GPL-2.0-only
/* One state file takes another's place: each call fails, or is the last one of a command that is killed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "naive.h"
#include "shown.h"
#include "state/internal.h"

static const struct shown known[] = {
#include "unit_state_exchange.txt"
};

static struct shows shows = { .file = "tests/unit/unit_state_exchange.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static char folder[200];
static int fails_at, dies_at; /* the call that does, from 1; or 0 */
static jmp_buf killed;

static bool fails(const char *what, const char *of, const char *to)
{
	const char *name = strrchr(of, '/'), *other = to ? strrchr(to, '/') : NULL;

	if (dies_at && !--dies_at)
		longjmp(killed, 1);
	if (!fails_at || --fails_at)
		return false;
	printf("  %s %s%s%s fails\n", what, name + 1, other ? " " : "", other ? other + 1 : "");
	errno = EIO;
	return true;
}

static int given_unlink(const char *path)
{
	return fails("unlink", path, NULL) ? -1 : unlink(path);
}

static int given_rename(const char *from, const char *to)
{
	return fails("rename", from, to) ? -1 : rename(from, to);
}

static int given_link(const char *from, const char *to)
{
	return fails("link", from, to) ? -1 : link(from, to);
}

static int given_mkdir(const char *path, mode_t mode)
{
	return fails("mkdir", path, NULL) ? -1 : mkdir(path, mode);
}

static int given_rmdir(const char *path)
{
	return fails("rmdir", path, NULL) ? -1 : rmdir(path);
}

static unsigned int syncs;

static int given_fsync(int fd)
{
	struct stat is, wanted;

	ENOUGH(!fstat(fd, &is) && !stat(folder, &wanted));
	syncs += is.st_ino == wanted.st_ino;
	return 0;
}

#define unlink given_unlink
#define rename given_rename
#define link   given_link
#define mkdir  given_mkdir
#define rmdir  given_rmdir
#define fsync  given_fsync
#include "state/replace.c"
#undef unlink
#undef rename
#undef link
#undef mkdir
#undef rmdir
#undef fsync

/* --- What happens --- */

static const char *const names[] = { STATE_DATABASE,
				     STATE_DATABASE "-wal",
				     STATE_DATABASE "-shm",
				     STATE_DATABASE ".damaged",
				     STATE_DATABASE ".damaged-wal",
				     STATE_DATABASE ".damaged-shm",
				     STATE_WORKSHOP "/" STATE_DATABASE,
				     STATE_WORKSHOP "/" STATE_DATABASE "-journal",
				     STATE_WORKSHOP "/" STATE_DATABASE "-wal",
				     STATE_WORKSHOP "/" STATE_DATABASE "-shm",
				     STATE_WORKSHOP "/" STATE_LOCK };

static const char *at(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *to = fopen(at(name), "w");

	ENOUGH(to && fputs(text, to) >= 0 && !fclose(to));
}

/* What is there, by what it holds. */
static void look(void)
{
	struct stat st;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[16] = "";
		FILE *from = fopen(at(names[i]), "r");

		if (!from)
			continue;
		ENOUGH(!fgets(text, sizeof(text), from) == !*text && !fclose(from));
		printf("  %s: %s\n", names[i], text);
	}
	if (!stat(at(STATE_WORKSHOP), &st))
		printf("  the workshop, %o\n", st.st_mode & 07777);
}

static void clear(void)
{
	fails_at = dies_at = 0;
	syncs = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(at(names[i]));
	rmdir(at(STATE_WORKSHOP));
}

/* A state with its log, another that was kept before, and a new one. */
static void make(bool logs)
{
	char file[STATE_PATH_MAX];

	clear();
	write_file(STATE_DATABASE, "old");
	if (logs) {
		write_file(STATE_DATABASE "-wal", "old log");
		write_file(STATE_DATABASE "-shm", "old shm");
	}
	write_file(STATE_DATABASE ".damaged", "older");
	write_file(STATE_DATABASE ".damaged-wal", "older log");
	write_file(STATE_DATABASE ".damaged-shm", "older shm");
	ENOUGH(!state_workshop(folder, file));
	write_file(STATE_WORKSHOP "/" STATE_DATABASE, "new");
}

static void said(int err)
{
	const char *text = err ? reason(err) : "";
	size_t length = strlen(folder);

	if (!err)
		puts("  done");
	else
		printf("  %s\n", strncmp(text, folder, length) ? text : text + length);
}

static void each_call(bool logs)
{
	char kept[STATE_PATH_MAX];

	for (int call = 1;; call++) {
		int err;

		make(logs);
		fails_at = call;
		printf("call %d\n", call);
		err = state_exchange(folder, kept);
		said(err);
		printf("  synced %u times\n", syncs);
		if (!err)
			printf("  kept as %s\n", kept + strlen(folder));
		look();
		if (fails_at)
			break;
		puts(" and then");
		state_exchange_undo(folder);
		look();
	}
}

static void calls_fail(void)
{
	each_call(true);
}

static void without_logs(void)
{
	each_call(false);
}

/* Whoever comes next finds the one or the other. */
static void is_killed(void)
{
	char kept[STATE_PATH_MAX];

	for (volatile int call = 1;; call++) {
		bool whole = false;

		make(true);
		dies_at = call;
		if (!setjmp(killed))
			whole = !state_exchange(folder, kept);
		if (whole)
			break;
		dies_at = 0;
		state_exchange_undo(folder);
		printf("at call %d\n", call);
		look();
	}
}

/* What undoes it fails as well: the state is there, and whoever comes next does the rest. */
static void undo_fails(void)
{
	char kept[320];

	for (int call = 1, log = 0; log <= 1; call++) {
		clear();
		write_file(STATE_DATABASE, "old");
		write_file(STATE_DATABASE "-shm", "new shm");
		write_file(STATE_DATABASE ".damaged-shm", "old shm");
		if (log)
			write_file(STATE_DATABASE ".damaged-wal", "old log");
		snprintf(kept, sizeof(kept), "%s.damaged", at(STATE_DATABASE));
		ENOUGH(!link(at(STATE_DATABASE), kept));
		printf("call %d, %s log\n", call, log ? "with a" : "without a");
		fails_at = call;
		state_exchange_undo(folder);
		look();
		if (!fails_at)
			continue;
		log++;
		call = 0;
	}
}

/* What is kept of an exchange that was whole is another file: it stays. */
static void nothing_to_undo(void)
{
	char kept[STATE_PATH_MAX];

	make(true);
	said(state_exchange(folder, kept));
	state_exchange_undo(folder);
	look();
	unlink(at(STATE_DATABASE));
	state_exchange_undo(folder);
	puts("no state");
	look();
}

static void workshop(void)
{
	static const char *const folders[] = { "/a/" STATE_WORKSHOP, "/a/" STATE_WORKSHOP "/", "/a/b", "a",
					       STATE_WORKSHOP };
	char file[STATE_PATH_MAX];

	clear();
	umask(0);
	for (int round = 0; round < 3; round++) {
		fails_at = round == 2;
		said(state_workshop(folder, file));
		printf("  %s\n", round < 2 ? file + strlen(folder) : "");
	}
	look();
	fails_at = 0;
	for (size_t i = 7; i < sizeof(names) / sizeof(names[0]); i++)
		write_file(names[i], "left");
	look();
	puts(" and then");
	state_exchange_undo(folder);
	look();
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		printf("%s: %d\n", folders[i], state_in_workshop(folders[i]));
}

static void shown_as(const char *name, void (*happens)(void))
{
	shows_begin(&shows);
	happens();
	shows_as(&shows, name);
	clear();
}

static void scenes(void)
{
	shown_as("each call fails", calls_fail);
	shown_as("a state without a log", without_logs);
	shown_as("it is killed at each call", is_killed);
	shown_as("each call that undoes it fails", undo_fails);
	shown_as("nothing to undo", nothing_to_undo);
	shown_as("the workshop", workshop);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", scenes } };
	const char *temporary = getenv("TMPDIR");
	int status;

	snprintf(folder, sizeof(folder), "%s/unit-state-exchange-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(folder)) {
		perror(folder);
		return KTAP_FAIL;
	}
	status = ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
	clear();
	rmdir(folder);
	return status;
}
