// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a state is opened, to look and to change, and closed: which directories and files are made and taken away, what
 * is waited for, and what is said where a call fails. Each call, word for word.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/errand.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/trusted_dir.h"

#include "state/internal.h"

/* Calls that begin so fail that often, behind so many that do not. */
static struct {
	const char *what;
	int behind, times, error;
} failing;
static bool silent;
static int calls;	    /* that begin so */
static long long wal_bytes; /* how long the log is said to be; 0: as it is */
static int gone;	    /* so many locks are of files that are gone */
static int sqlite_code;	    /* what SQLite says it was; 0: as it is */
static bool parks;

__attribute__((format(printf, 1, 2))) static bool call(const char *fmt, ...);
static int made_stat(const char *path, struct stat *st);
static int made_fstat(int fd, struct stat *st);
static int made_open(const char *path, sqlite3 **to, int flags, const char *vfs);
static bool fails_now(const char *text);

#define calloc(n, size)		   (fails_now("calloc") ? NULL : calloc(n, size))
#define mkdir(path, mode)	   (call("mkdir %s %o", path, mode) ? -1 : mkdir(path, mode))
#define rmdir(path)		   (call("rmdir %s", path) ? -1 : rmdir(path))
#define unlink(path)		   (call("unlink %s", path) ? -1 : unlink(path))
#define link(path, to)		   (call("link %s", to) ? -1 : link(path, to))
#define access(path, how)	   (call("access %s %d", path, how) ? -1 : access(path, how))
#define stat(path, is)		   made_stat(path, is)
#define fstat(fd, is)		   made_fstat(fd, is)
#define trust_directory(path)	   (call("trust %s", path) ? -failing.error : trust_directory(path))
#define trust_file(path, what)	   (call("trust %s", path) ? -failing.error : trust_file(path, what))
#define lock_take(path, seconds)   (call("lock %s, %ld s", path, seconds) ? -failing.error : lock_take(path, seconds))
#define errand_decline(why)	   (call("declined: %s", why), -ECANCELED)
#define sqlite3_open_v2(path, ...) made_open(path, __VA_ARGS__)
#define sqlite3_exec(db, sql, ...) (call("exec %s", sql) ? SQLITE_IOERR : sqlite3_exec(db, sql, __VA_ARGS__))
#define state_run(s, sql)	   (call("run %s", sql) ? -failing.error : state_run(s, sql))
#define sqlite3_errcode(db)	   (sqlite_code ?: sqlite3_errcode(db))
#define sqlite3_db_config(db, what, on, to) \
	(call("at its end the log stays: %d", on), sqlite3_db_config(db, what, on, to))
#define sqlite3_wal_checkpoint_v2(...) call("the log is emptied")
#define sqlite3_busy_timeout(db, ms)   (call("waits %d ms", ms), sqlite3_busy_timeout(db, ms))
#define state_distrust(db, steps, of)  (call("distrust %s", of), state_distrust(db, steps, of))
#define state_park(s)		       (call("park"), parks)
#define state_parked(directory)	       NULL
#include "state/state.c"
#undef rmdir
#undef calloc
#undef unlink
#undef mkdir
#undef stat
#undef access
#undef fstat
#undef sqlite3_exec
#undef sqlite3_open_v2
#undef state_run

#include "own_state.h"
#include "no_disk.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_state_open.txt"
};

static struct shows shows = {
	"tests/unit/unit_state_open.txt", known, sizeof(known) / sizeof(*known), NULL, 0, 0, false
};

static bool fails_now(const char *text)
{
	if (!failing.what || strncmp(text, failing.what, strlen(failing.what)) != 0)
		return false;
	if (calls++ < failing.behind || calls > failing.behind + failing.times)
		return false;
	errno = failing.error;
	return true;
}

/* Without the directory, which has another name each time. */
static const char *plain(const char *text)
{
	static char to[600];
	size_t n = 0;

	while (*text && n < sizeof(to) - 1) {
		if (!strncmp(text, directory, strlen(directory))) {
			to[n++] = 'D';
			text += strlen(directory);
		} else {
			to[n++] = *text++;
		}
	}
	to[n] = '\0';
	return to;
}

__attribute__((format(printf, 1, 2))) static bool call(const char *fmt, ...)
{
	char text[5000];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	memmove(text, plain(text), strlen(plain(text)) + 1);
	/* Those above are whoever's. */
	if (!silent && (strncmp(text, "mkdir", 5) != 0 || !strncmp(text, "mkdir D/", 8)))
		printf("  %.90s%s\n", text, strlen(text) > 90 ? "..." : "");
	return fails_now(text);
}

static int made_stat(const char *path, struct stat *st)
{
	int failed = stat(path, st);

	if (!failed && wal_bytes && strstr(path, "-wal"))
		st->st_size = wal_bytes;
	return failed;
}

static int made_fstat(int fd, struct stat *st)
{
	int failed = fstat(fd, st);

	if (gone) {
		gone--;
		st->st_nlink = 0;
	}
	return failed;
}

static int made_open(const char *path, sqlite3 **to, int flags, const char *vfs)
{
	*to = NULL;
	return call("open %s", path) ? SQLITE_CANTOPEN : sqlite3_open_v2(path, to, flags, vfs);
}

static void fails(const char *what, int behind, int times, int error)
{
	failing.what = what;
	failing.behind = behind;
	failing.times = times;
	failing.error = error;
	calls = 0;
}

static void works(void)
{
	fails(NULL, 0, 0, 0);
	errand.here = parks = silent = false;
	wal_bytes = gone = sqlite_code = 0;
	own_context.wait = 3;
	own_context.state = directory;
}

/* `keeps`: it writes something. */
static int open_it(const char *below, bool change, bool keeps)
{
	static char path[6000];
	struct context context = own_context;
	struct state *s;
	int err;

	snprintf(path, sizeof(path), "%s%s", directory, below);
	context.state = path;
	err = state_open(&s, &context, change);
	if (!silent)
		printf("  = %.120s%s\n", err ? plain(reason(err)) : "open", s && !s->db ? ", nothing is there" : "");
	if (!err && keeps)
		err = state_set(s, "k", 1) ?: state_commit(s);
	if (!silent && err && s)
		printf("  = %.120s\n", plain(reason(err)));
	state_close(s);
	return err;
}

static void there(const char *below)
{
	char path[300];

	snprintf(path, sizeof(path), "%s%s", directory, below);
	printf("  %s is %sthere\n", below, (access)(path, F_OK) ? "not " : "");
}

static void taken_away(const char *below)
{
	static const char *const files[] = { "state.db", "state.db-wal", "state.db-shm", "lock" };
	char path[300];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s%s/%s", directory, below, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s%s", directory, below);
	rmdir(path);
}

/* --- Scenes --- */

static void directories(void)
{
	open_it("/a/b", true, false);
	there("/a");
	open_it("/a//", true, false);
	there("/a");
	open_it("/a/b", true, true);
	there("/a/b");
	open_it("/a/b", true, false);
	taken_away("/a/b");
	taken_away("/a");
	fails("mkdir D/a 755", 0, 1, EACCES);
	open_it("/a/b", true, false);
	there("/a");
	fails("mkdir D/a/b 700", 1, 1, ENOSPC);
	open_it("/a/b", true, false);
	taken_away("/a");
	fails("rmdir D/a", 1, 1, EBUSY);
	open_it("/a/b", true, false);
	taken_away("/a");
}

static void too_long(void)
{
	static char below[5000];

	for (size_t i = 0; i < sizeof(below) - 1; i++)
		below[i] = i % 64 ? 'x' : '/';
	silent = true;
	for (size_t n = PATH_MAX - strlen(directory) - 12; n < PATH_MAX - strlen(directory) + 2; n++) {
		char end = below[n];
		int look, change;

		below[n] = '\0';
		look = open_it(below, false, false);
		change = n + strlen(directory) + 2 > PATH_MAX ? open_it(below, true, false) : 0;
		printf("  %d: %s; %s\n", (int)(n + strlen(directory)) - PATH_MAX,
		       look ? strerror(error_number(look)) : "open", change ? strerror(error_number(change)) : "open");
		below[n] = end;
	}
	silent = false;
}

/* Another command has taken the directory away in between, again and again. */
static void taken_away_meanwhile(void)
{
	static const char *const at[] = { "mkdir D", "lock D" };
	static const int so_often[] = { 1, TRIES, TRIES + 1 };

	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 3; k++) {
			int err;

			silent = true;
			/* mkdir() says that one above is not there, and then that it is not, either. */
			fails(i ? at[i] : "trust D", 0, so_often[k], ENOENT);
			err = open_it("", true, false);
			silent = false;
			printf("  %s, %d times: %s, %d calls\n", at[i], so_often[k], err ? reason(err) : "open", calls);
		}
	fails("lock", 0, 0, 0);
	for (int times = 0; times < 4; times += 3) {
		gone = times;
		open_it("", true, false);
	}
	fails("lock", 0, 1, EBUSY);
	open_it("", true, false);
	fails("lock", 0, 1, EBUSY);
	errand.here = true;
	open_it("", true, false);
	fails("trust D/state.db", 0, 1, EPERM);
	open_it("", true, true);
	open_it("", true, true);
}

static void files(void)
{
	fails("link", 0, 1, EIO);
	open_it("", true, false);
	fails("link", 0, 1, EEXIST);
	open_it("", true, false);
	empty_directory();
	fails("open D/state.db", 0, 1, EIO);
	open_it("", true, false);
	for (int bytes = STATE_PAGE_LEAST - 1; bytes <= STATE_PAGE_LEAST; bytes++) {
		FILE *f = fopen(file, "w");

		ENOUGH(f && (!bytes || !ftruncate(fileno(f), bytes)));
		fclose(f);
		open_it("", true, false);
		open_it("", false, false);
		empty_directory();
	}
}

static void to_look(void)
{
	for (int behind = 0; behind < 2; behind++) {
		fails("calloc", behind, 1, ENOMEM);
		open_it("", behind, false);
	}
	open_it("/nowhere", false, false);
	open_it("", false, false);
	silent = true;
	ENOUGH(!open_it("", true, true));
	silent = false;
	open_it("", false, false);
	fails("access D 0", 0, 1, ENOENT);
	open_it("", false, false);
	fails("access D 0", 0, 1, EACCES);
	open_it("", false, false);
	fails("trust D", 0, 1, ENOENT);
	open_it("", false, false);
	fails("trust D", 0, 1, EPERM);
	open_it("", false, false);
	fails("access D/state.db", 0, 1, EACCES);
	open_it("", false, false);
	fails("access D/state.db", 0, 1, ENOENT);
	open_it("", false, false);
	fails("trust D/state.db", 0, 1, EPERM);
	open_it("", false, false);
	fails("run BEGIN", 0, 1, EIO);
	open_it("", false, false);
}

/* SQLite wants to write even to read. */
static void unwritable(void)
{
	static const int codes[] = { SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_CORRUPT };

	silent = true;
	ENOUGH(!open_it("", true, true));
	silent = false;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		printf(" code %d\n", codes[i]);
		fails("exec SELECT 1", 0, 1, EIO);
		sqlite_code = codes[i];
		open_it("", false, false);
		sqlite_code = 0;
	}
	puts(" nor without a lock");
	sqlite_code = SQLITE_FULL;
	fails("exec SELECT 1", 0, 2, EIO);
	open_it("", false, false);
	fails("exec ", 0, 2, EIO);
	open_it("", false, false);
	/* The first look at it, and each that opens it again. */
	for (int times = 2; times <= 3; times++) {
		printf(" nor open, %d\n", times - 1);
		fails("", 9, times, EIO);
		open_it("", false, false);
	}
}

static void commits(void)
{
	struct state *s;
	int err;

	silent = true;
	ENOUGH(!open_it("", true, true));
	silent = false;
	fails("run COMMIT", 0, 1, EIO);
	open_it("", true, true);
	fails("run COMMIT", 0, 1, ENOSPC);
	open_it("", true, true);
	works();
	for (int how = 0; how < 3; how++) {
		silent = true;
		s = opened(true);
		ENOUGH(s && !state_set(s, "k", 9));
		if (!how)
			ENOUGH(sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
		else
			s->broken = how == 1 ? -EUCLEAN : -EIO;
		err = state_commit(s);
		silent = false;
		printf("  = %s\n", err ? plain(reason(err)) : "done");
		state_close(s);
	}
	silent = true;
	s = opened(true);
	ENOUGH(s && !state_set(s, "k", 9));
	silent = false;
	err = state_again(s);
	printf("  again: %d, %g\n", err, state_setting(s, "k", 0));
	/* What was committed before it was begun again says nothing of what comes. */
	silent = true;
	ENOUGH(!state_commit(s) && !state_again(s));
	CHECK(sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK, "SQLite may commit by itself");
	ENOUGH(!state_again(s));
	silent = false;
	fails("run BEGIN", 0, 1, EIO);
	printf("  again: %s\n", strerror(error_number(state_again(s))));
	state_close(s);
}

/* A log that is long is emptied by who closes it, and one that is longer at once. */
static void the_log(void)
{
	static const long long bytes[] = { LOG_BYTES_MAX, LOG_BYTES_MAX + 1, LOG_BYTES_OPEN, LOG_BYTES_OPEN + 1 };

	silent = true;
	ENOUGH(!open_it("", true, true));
	silent = false;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
		for (int how = 0; how < 3; how++) {
			printf(" %lld bytes, %s\n", bytes[i], how == 2 ? "kept" : how ? "changed" : "looked at");
			wal_bytes = bytes[i];
			open_it("", how > 0, how == 2);
		}
}

/* Of an errand the state stays open; what was not committed does not. */
static void parked(void)
{
	struct state *s;

	silent = true;
	ENOUGH(!open_it("", true, true));
	silent = false;
	parks = true;
	open_it("", true, true);
	errand.here = true;
	parks = false;
	open_it("", true, true);
	open_it("", true, false);
	open_it("/nowhere", false, false);
	puts(" and what is prepared with it");
	parks = true;
	s = opened(true);
	ENOUGH(s && !state_pending_any(s, PENDING_BAN));
	state_close(s);
	printf("  a statement %d, a file %d, a lock %d, to change %d\n", s->cached[CACHED_PENDING_ANY] != NULL,
	       s->db != NULL, s->lock >= 0, s->change);
	errand.here = false;
	state_close(s);
}

/* What is for nothing goes with the directory that was made for it. */
static void for_nothing(void)
{
	static const char *const rows[] = {
		"INSERT INTO list VALUES (1, 'one', 0, 1, 1, '1', '-', '-', '')",
		"INSERT INTO interface VALUES ('eth9', 'native', 0)",
		"INSERT INTO pending (kind, name, deadline) VALUES (1, 'eth9', 1)",
		"INSERT INTO setting VALUES ('k', 1)",
		"INSERT INTO ban (family, length, first, added, reason) VALUES (4, 32, x'01010101', 1, '')",
		"INSERT INTO member VALUES (1, 'a', 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, '')",
		"INSERT INTO strike VALUES (4, 32, x'01010101', 1, 1)",
	};
	struct context context = own_context;
	char path[300];

	silent = true;
	snprintf(path, sizeof(path), "%s/a", directory);
	context.state = path;
	for (size_t i = 0; i <= sizeof(rows) / sizeof(*rows); i++) {
		bool last = i == sizeof(rows) / sizeof(*rows);
		struct state *s;

		ENOUGH(!state_open(&s, &context, true));
		ENOUGH(last ? !state_fleet_tables(s) &&
				       !state_run(
					       s,
					       "INSERT INTO fleet VALUES (1, '', 'a', '', '', '', '', '', 0, 0, '', 0, '')")
			    : !state_run(s, rows[i]));
		s->commits = true;
		ENOUGH(!state_run(s, "COMMIT"));
		state_close(s);
		printf("  %s\n", last ? "a fleet" : rows[i]);
		there("/a");
		taken_away("/a");
	}
	silent = false;
}

static void begin(void)
{
	works();
	empty_directory();
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "directories", directories },
		{ "too long", too_long },
		{ "taken away meanwhile", taken_away_meanwhile },
		{ "files", files },
		{ "to look", to_look },
		{ "unwritable", unwritable },
		{ "commits", commits },
		{ "the log", the_log },
		{ "parked", parked },
		{ "for nothing", for_nothing },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(*scenes), begin);
	works();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "opened and closed, word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
