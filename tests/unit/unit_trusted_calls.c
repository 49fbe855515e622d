// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whom files and the way to them belong to, one look at a time: owners, modes and the map of users are made up, so that
 * nobody has to be root for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "ktap.h"

static uid_t us = 1000;
static const char *users; /* the map; NULL: there is none */
static int maps_open;
static struct stat seen, linked; /* by stat(2) and fstat(2), and by lstat(2) */
static int stat_err, link_err;
static ino_t other_file;   /* what a name leads to is another file, */
static dev_t other_device; /* or on another device */
static char looked_at[PATH_MAX];
static int opened_how;

static FILE *given_file(const char *path, const char *how)
{
	if (strcmp(path, "/proc/self/uid_map") != 0 || strcmp(how, "re") != 0)
		abort();
	maps_open += users != NULL;
	return users ? fmemopen((void *)(uintptr_t)users, strlen(users), "r") : NULL;
}

static int given_close(FILE *file)
{
	maps_open--;
	return fclose(file);
}

static int given_stat(const char *path, struct stat *to)
{
	snprintf(looked_at, sizeof(looked_at), "%s", path);
	*to = seen;
	to->st_ino += other_file;
	to->st_dev += other_device;
	errno = stat_err;
	return errno ? -1 : 0;
}

static int given_lstat(const char *path, struct stat *to)
{
	snprintf(looked_at, sizeof(looked_at), "%s", path);
	*to = linked;
	errno = link_err;
	return errno ? -1 : 0;
}

static int given_fstat(int fd, struct stat *to)
{
	*to = seen;
	errno = fd < 0 ? EBADF : 0;
	return errno ? -1 : 0;
}

static int given_open(const char *path, int how)
{
	opened_how = how;
	return open(path, how);
}

static int walk_err;

static int given_walk(const char *path, int (*step)(void *, int, const char *, const struct stat *, const char *, bool),
		      void *arg)
{
	(void)path;
	(void)step;
	(void)arg;
	return walk_err;
}

#define geteuid()	us
#define fopen		given_file
#define fclose		given_close
#define stat(path, to)	given_stat(path, to)
#define lstat(path, to) given_lstat(path, to)
#define fstat(fd, to)	given_fstat(fd, to)
#define open(path, how) given_open(path, how)
#define way_walk	given_walk
#include "base/trusted_dir.c"
#undef open

static void is_result(const char *what, int err, int expected, const char *text)
{
	CHECK(expected ? err_is(err, expected) && !strcmp(reason(err), text) : !err, "%s: '%s', not '%s'", what,
	      err ? reason(err) : "trusted", expected ? text : "trusted");
}

static void unknown_users(void)
{
	static const struct {
		const char *map;
		bool unknown;
	} cases[] = {
		{ "0 0 4294967295\n", false },
		{ "0 1000 1\n", true },
		{ "0 100000 65534\n", true },
		{ "0 100000 65535\n", false },
		{ "65534 5 1\n", false },
		{ "65535 5 100\n", true },
		{ "0 1000 1\n1 100000 65534\n", false },
		{ "0 1000 1\n1 100000 65533\n", true },
		{ "1 100000 65534\n0 1000 1\n", false },
		{ "", true },
		{ "0 1000\n", true },
		{ NULL, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		users = cases[i].map && !*cases[i].map ? "\n" : cases[i].map;
		CHECK(is_unknown(65534) == cases[i].unknown, "case %zu", i);
		CHECK(!maps_open, "case %zu: %d maps stay open", i, maps_open);
		CHECK(!is_unknown(65533) && !is_unknown(0), "another user is unknown");
		CHECK(trust_user(0) && trust_user(1000) && !trust_user(1001) && trust_user(65534) == cases[i].unknown,
		      "case %zu: another is trusted", i);
	}
	users = NULL;
}

static struct stat of(uid_t uid, mode_t mode)
{
	struct stat st = { .st_uid = uid, .st_mode = mode };

	return st;
}

static int step(const char *at, uid_t uid, mode_t mode, const char *name)
{
	struct stat st = of(uid, S_IFDIR | mode);
	char what[] = "it";

	looked_at[0] = '\0';
	return check_step(what, -1, at, &st, name, false);
}

static void steps(void)
{
	static char name[PATH_MAX];

	linked = of(1000, S_IFREG);
	is_result("ours", step("/a", 1000, 0755, "b"), 0, NULL);
	is_result("root's", step("/a", 0, 0755, "b"), 0, NULL);
	is_result("another's", step("/a", 1001, 0755, "b"), EPERM,
		  "/a belongs to user 1001, who could change it; chown root");
	is_result("a group's", step("/a", 0, 0775, "b"), EPERM,
		  "/a: others may write there, and so change it; chmod go-w");
	is_result("everybody's", step("/a", 0, 0757, "b"), EPERM,
		  "/a: others may write there, and so change it; chmod go-w");
	CHECK(!*looked_at, "it looks at '%s'", looked_at);
	/* Where nobody may take away what is not his, the name decides. */
	is_result("ours there", step("/a", 0, 01777, "b"), 0, NULL);
	CHECK(!strcmp(looked_at, "/a/b"), "it looks at '%s'", looked_at);
	is_result("ours in the root", step("/", 0, 01777, "b"), 0, NULL);
	CHECK(!strcmp(looked_at, "/b"), "it looks at '%s'", looked_at);
	linked = of(1001, S_IFREG);
	is_result("another's there", step("/a", 0, 01777, "b"), EPERM,
		  "/a/b belongs to user 1001, who could change it; chown root");
	is_result("another's sticky one", step("/a", 1001, 01777, "b"), EPERM,
		  "/a belongs to user 1001, who could change it; chown root");
	link_err = ENOENT;
	is_result("none there", step("/a", 0, 01777, "b"), 0, NULL);
	link_err = 0;
	linked = of(1000, S_IFREG);
	memset(name, 'x', PATH_MAX - 4);
	is_result("the longest", step("/a", 0, 01777, name), 0, NULL);
	name[PATH_MAX - 4] = 'x';
	CHECK(err_is(step("/a", 0, 01777, name), ENAMETOOLONG), "one that is too long is not");
}

static void remembered(void)
{
	static char long_one[PATH_MAX + 1];
	struct stat st;

	seen = of(1000, S_IFDIR | 0700);
	seen.st_ino = 5;
	seen.st_dev = 6;
	remember("/a/b", &seen);
	CHECK(is_remembered("/a/b", 4) && !is_remembered("/a/b", 3) && !is_remembered("/a/c", 4) &&
		      !is_remembered("", 0),
	      "another is remembered");
	seen.st_ino++;
	CHECK(!is_remembered("/a/b", 4), "another file");
	seen.st_ino--;
	seen.st_dev++;
	CHECK(!is_remembered("/a/b", 4), "another device");
	seen.st_dev--;
	seen.st_uid++;
	CHECK(!is_remembered("/a/b", 4), "another owner");
	seen.st_uid--;
	seen.st_mode ^= 020;
	CHECK(!is_remembered("/a/b", 4), "another mode");
	seen.st_mode ^= 020;
	stat_err = EACCES;
	CHECK(!is_remembered("/a/b", 4), "one that cannot be seen");
	stat_err = 0;
	/* Straight in it. */
	linked = of(1000, S_IFREG);
	CHECK(is_in_remembered("/a/b/c", &st) && is_in_remembered("/a/b/.c", &st) && is_in_remembered("/a/b/...", &st),
	      "what is in it is not");
	CHECK(!is_in_remembered("/a/b/", &st) && !is_in_remembered("/a/b/.", &st) &&
		      !is_in_remembered("/a/b/..", &st) && !is_in_remembered("/a/b", &st) &&
		      !is_in_remembered("/a/b/c/d", &st) && !is_in_remembered("b", &st),
	      "what is not in it is");
	linked = of(1000, S_IFLNK);
	CHECK(!is_in_remembered("/a/b/c", &st), "a link");
	linked = of(1000, S_IFREG);
	link_err = ENOENT;
	CHECK(!is_in_remembered("/a/b/c", &st), "nothing");
	link_err = 0;
	/* The longest that there is room for. */
	memset(long_one, 'x', PATH_MAX);
	remember(long_one, &seen);
	CHECK(is_remembered("/a/b", 4), "one that is too long took its place");
	long_one[PATH_MAX - 1] = '\0';
	remember(long_one, &seen);
	CHECK(is_remembered(long_one, PATH_MAX - 1), "the longest is not remembered");
	trusted.path[0] = '\0';
}

/* What was looked at is not looked at again while it is the same. */
static void looks(void)
{
	seen = of(1000, S_IFDIR | 0700);
	is_result("a directory", trust_directory("/a"), 0, NULL);
	walk_err = -EIO;
	is_result("once more", trust_directory("/a"), 0, NULL);
	linked = of(1000, S_IFREG | 0600);
	is_result("a file in it", trust_file("/a/b", "it"), 0, NULL);
	linked = of(1000, S_IFREG | 0620);
	is_result("one of a group", trust_file("/a/b", "it"), EPERM,
		  "/a/b: others may write to it, and so change it; chmod go-w");
	linked = of(1001, S_IFREG | 0600);
	is_result("one of another", trust_file("/a/b", "it"), EPERM,
		  "/a/b belongs to user 1001, who could change it; chown root");
	is_result("elsewhere", trust_file("/c/b", "it"), EIO, "/c/b: Input/output error");
	walk_err = because(-EPERM, "its own words");
	is_result("elsewhere, with words", trust_file("/c/b", "it"), EPERM, "its own words");
	walk_err = 0;
	stat_err = ENOENT;
	is_result("it goes meanwhile", trust_file("/c/b", "it"), ENOENT, "/c/b: No such file or directory");
	stat_err = 0;
	seen = of(1000, S_IFREG | 0700);
	is_result("no directory", trust_directory("/c"), ENOTDIR, "/c: Not a directory");
	seen = of(1000, S_IFDIR | 0707);
	is_result("one of all", trust_directory("/c"), EPERM, "/c: others may write there; chmod go-w");
	seen = of(1001, S_IFDIR | 0700);
	is_result("another's", trust_directory("/c"), EPERM,
		  "/c belongs to user 1001, who could change what is kept there; chown root");
	/* One below it does not take its place. */
	seen = of(1000, S_IFDIR | 0700);
	linked = of(1000, S_IFDIR | 0700);
	is_result("a directory", trust_directory("/a"), 0, NULL);
	is_result("one in it", trust_directory("/a/b"), 0, NULL);
	CHECK(!strcmp(trusted.path, "/a"), "'%s' is remembered", trusted.path);
	trusted.path[0] = '\0';
}

static void open_ones(void)
{
	int fd;

	seen = of(1000, S_IFREG | 0600);
	fd = open_trusted("/dev/null", "it");
	CHECK(fd >= 0 && opened_how == (O_RDONLY | O_CLOEXEC | O_NONBLOCK), "%s", fd < 0 ? reason(fd) : "otherwise");
	close(fd);
	is_result("none", open_trusted("/none", "it"), ENOENT, "/none: No such file or directory");
	seen = of(1000, S_IFIFO | 0600);
	is_result("a pipe", open_trusted("/dev/null", "it"), EINVAL, "/dev/null: not a regular file");
	seen = of(1001, S_IFREG | 0600);
	is_result("another's", open_trusted("/dev/null", "it"), EPERM,
		  "/dev/null belongs to user 1001, who could change it; chown root");
	is_result("another's that is open", trust_open_file(0, "/dev/null", "it"), EPERM,
		  "/dev/null belongs to user 1001, who could change it; chown root");
	is_result("one that is closed", trust_open_file(-1, "/a", "it"), EBADF, "/a: Bad file descriptor");
	/* Another has its name meanwhile: by its number, or by where it is. */
	seen = of(1000, S_IFREG | 0600);
	is_result("the same", trust_open_file(0, "/dev/null", "it"), 0, NULL);
	other_file = 1;
	is_result("another file", trust_open_file(0, "/dev/null", "it"), EAGAIN,
		  "/dev/null: it is another file now; try again");
	other_file = 0;
	other_device = 1;
	is_result("on another device", trust_open_file(0, "/dev/null", "it"), EAGAIN,
		  "/dev/null: it is another file now; try again");
	other_device = 0;
}

static void secrets(void)
{
	static const mode_t good[] = { 0600, 0400, 0700 }, bad[] = { 0640, 0620, 0610, 0604, 0602, 0601 };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		seen = of(1000, S_IFREG | good[i]);
		is_result("a secret", trust_secret(0, "/a"), 0, NULL);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		seen = of(1000, S_IFREG | bad[i]);
		is_result("no secret", trust_secret(0, "/a"), EACCES,
			  "/a: others may read it, and passwords are in it; chmod 600");
	}
	is_result("one that is closed", trust_secret(-1, "/a"), EBADF, "/a: Bad file descriptor");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "users of another namespace", unknown_users },
		{ "directories on the way", steps },
		{ "what is remembered", remembered },
		{ "what is looked at", looks },
		{ "open files", open_ones },
		{ "secrets", secrets },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
