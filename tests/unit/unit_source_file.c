// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that something was read from: where they are, which version of them, and whether somebody writes them still.
 * What kind of file system it is, and what a lease is answered by, is made up.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/path_walk.h"
#include "ktap.h"

static long magic;
static const char *here_is; /* NULL: where we really are */
static bool no_here, no_magic, no_open;
static int lease, leases, opened; /* lease: what it fails with */
static time_t now;

static char *given_getcwd(char *text, size_t size)
{
	errno = ENOENT;
	if (here_is)
		return strcpy(text, here_is);
	return no_here ? NULL : getcwd(text, size);
}

static int given_fstatfs(int fd, struct statfs *fs)
{
	fs->f_type = fd < 0 || no_magic ? PROC_SUPER_MAGIC : magic;
	return no_magic ? -1 : 0;
}

static int given_open(const char *path, enum way_end end, bool theirs)
{
	opened++;
	if (end != WAY_FILE || theirs)
		abort();
	return no_open ? -EACCES : way_open(path, end, theirs);
}

static int given_fcntl(int fd, int what, int kind)
{
	struct sigaction is;

	/* Whoever wants to write breaks it, and the kernel says so by that signal. */
	if (fd < 0 || what != F_SETLEASE || sigaction(SIGIO, NULL, &is) || is.sa_handler != SIG_IGN)
		abort();
	errno = lease;
	leases += kind == F_RDLCK ? 1 : kind == F_UNLCK ? 10 : 100;
	return lease ? -1 : 0;
}

static time_t given_time(time_t *to)
{
	if (to)
		abort();
	return now;
}

#define getcwd		   given_getcwd
#define fstatfs(fd, fs)	   given_fstatfs(fd, fs)
#define way_open	   given_open
#define fcntl(fd, a, kind) given_fcntl(fd, a, kind)
#define time(to)	   given_time(to)
#include "base/source_file.c"
#undef getcwd
#undef way_open
#undef fcntl
#undef time

static char directory[200], file[240];

static void located(const char *path, const char *is)
{
	char at[PATH_MAX] = "";
	int err = source_locate(at, path);

	CHECK(!err && !strcmp(at, is), "'%s' is '%s', not '%s'", path, err ? reason(err) : at, is);
}

static void not_located(const char *path, const char *text)
{
	char at[PATH_MAX];
	int err = source_locate(at, path);

	CHECK(err && !strcmp(reason(err), text), "'%s': '%s', not '%s'", path, err ? reason(err) : "found", text);
}

static void where_it_is(void)
{
	char from_here[260], expected[300];

	located("file", file);
	located("./file", file);
	located("././file", file);
	located(file, file);
	snprintf(from_here, sizeof(from_here), "%s/./file", directory);
	located("/etc/..", "/etc/..");
	located(from_here, from_here);
	not_located(".none", ".none: No such file or directory");
	not_located("none", "none: No such file or directory");
	magic = PROC_SUPER_MAGIC;
	snprintf(expected, sizeof(expected), "%s: Invalid cross-device link", file);
	not_located(file, expected);
	no_magic = true;
	located(file, file);
	no_magic = false;
	magic = 0;
	no_here = true;
	not_located("file", "file: No such file or directory");
	located(file, file);
	no_here = false;
	here_is = "/-";
	not_located("etc", "etc: No such file or directory");
	here_is = NULL;
	/* From the root it is the path alone. */
	if (chdir("/"))
		abort();
	located(file + 1, file);
	located("etc", "/etc");
	if (chdir(directory))
		abort();
}

/* With a slash before it, and its end. */
static void longest(void)
{
	static char path[PATH_MAX + 1];
	char at[PATH_MAX];

	if (chdir("/"))
		abort();
	memset(path, '/', PATH_MAX - 2);
	CHECK(!source_locate(at, path) && strlen(at) == PATH_MAX - 2, "the longest is too long");
	path[PATH_MAX - 2] = '/';
	CHECK(err_is(source_locate(at, path), ENAMETOOLONG), "one that is too long is not");
	/* One that is not from the root stands behind where we are. */
	if (chdir(directory))
		abort();
	memset(path, '/', PATH_MAX);
	memcpy(path, "a/", 2);
	path[PATH_MAX - 2 - strlen(directory)] = '\0';
	CHECK(err_is(source_locate(at, path), ENOENT), "the longest is too long");
	path[PATH_MAX - 2 - strlen(directory)] = '/';
	path[PATH_MAX - 1 - strlen(directory)] = '\0';
	CHECK(err_is(source_locate(at, path), ENAMETOOLONG), "one that is too long is not");
}

static void stamps(void)
{
	const struct stat st = {
		.st_ino = 7, .st_size = 1 << 20, .st_mtim = { 1700000001, 5 }, .st_ctim = { -3, 999999999 }
	};
	char stamp[SOURCE_STAMP_MAX], other[SOURCE_STAMP_MAX], expected[300];
	struct stat is;
	int err;

	source_stamp(stamp, &st);
	CHECK(!strcmp(stamp, "7:1048576:1700000001.000000005:-3.999999999"), "'%s'", stamp);
	CHECK(!source_look(stamp, file) && !stat(file, &is), "it is not there");
	source_stamp(other, &is);
	CHECK(!strcmp(stamp, other), "'%s', and '%s'", stamp, other);
	snprintf(expected, sizeof(expected), "%s/none", directory);
	err = source_look(stamp, expected);
	strcat(expected, ": No such file or directory");
	CHECK(err_is(err, ENOENT) && !strcmp(reason(err), expected), "'%s'", err ? reason(err) : "it is there");
}

/* --- Who may have led us there --- */

#define OF_SOMEBODY_ELSE 4711

static void shown(const char *what, const char *path, mode_t mode, mode_t above, bool is)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && !fchmod(fd, mode) && !chmod(directory, above) && source_is_hidden(fd, path) == !is,
	      "%s, mode %o in %o: %s", what, mode, above, is ? "hidden" : "shown");
	close(fd);
}

static void hidden(void)
{
	char link[300], closed[300];
	int fd;

	snprintf(link, sizeof(link), "%s/link", directory);
	snprintf(closed, sizeof(closed), "%s (deleted)", file);
	shown("by its name", file, 0600, 0700, true);
	shown("by a link", link, 0600, 0700, false);
	shown("by a link", link, 0600, 0755, false);
	shown("by a link", link, 0644, 0700, false);
	CHECK(source_is_hidden(-1, file), "one that is not open is shown");
	fd = open(file, O_RDONLY | O_CLOEXEC);
	CHECK(!rename(file, link) && source_is_hidden(fd, file) && !source_is_hidden(fd, link),
	      "by a name that it had");
	CHECK(!unlink(link) && source_is_hidden(fd, closed), "one that is gone is shown");
	close(fd);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fchown(fd, OF_SOMEBODY_ELSE, OF_SOMEBODY_ELSE)) {
		ktap_skip("needs root");
	} else {
		shown("one of somebody else's", file, 0600, 0700, false);
		CHECK(!fchown(fd, 0, 0), "back");
	}
	close(fd);
}

static void everybodys(void)
{
	static const struct {
		mode_t mode, above;
		bool shown;
	} each[] = {
		{ 0644, 0755, true },  { 0644, 0711, true },  { 0604, 0755, false },
		{ 0640, 0755, false }, { 0600, 0755, false }, { 0644, 0710, false },
		{ 0644, 0701, false }, { 0644, 0700, false }, { 0644, 0766, false },
	};
	char link[300], above[sizeof(directory)];
	struct stat is;

	snprintf(link, sizeof(link), "%s/link", directory);
	strcpy(above, directory);
	while (*above) {
		*strrchr(above, '/') = '\0';
		if (stat(*above ? above : "/", &is) || (is.st_mode & 0011) != 0011) {
			ktap_skip("not everybody may enter TMPDIR");
			return;
		}
	}
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		chmod(directory, 0700);
		chmod(file, 0600);
		shown("by a link", link, each[i].mode, each[i].above, each[i].shown);
	}
	CHECK(!chmod(directory, 0700) && !chmod(file, 0600), "back");
}

static void written(void)
{
	static const struct {
		int lease;
		bool written;
		int leases;
	} cases[] = { { 0, false, 11 }, { EAGAIN, true, 1 }, { EACCES, false, 1 }, { EINVAL, false, 1 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		leases = opened = 0;
		lease = cases[i].lease;
		signal(SIGIO, SIG_DFL);
		CHECK(source_is_written(file) == cases[i].written && leases == cases[i].leases && opened == 1,
		      "case %zu: %d leases", i, leases);
	}
	opened = 0;
	CHECK(!source_is_written("/dev/null") && !source_is_written(directory) && !source_is_written("/none"),
	      "what is no file is written");
	no_open = true;
	lease = EAGAIN;
	CHECK(!source_is_written(file) && opened == 4, "one that cannot be opened is written");
	no_open = false;
}

static void young(void)
{
	static const struct {
		long ago;
		bool young;
	} cases[] = { { 0, true },	 { 9, true },  { 10, false },  { 11, false },
		      { 100000, false }, { -9, true }, { -10, false }, { -11, false } };
	struct stat is;

	if (stat(file, &is))
		abort();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		now = is.st_mtime + cases[i].ago;
		CHECK(source_is_young(file, 10) == cases[i].young, "%ld s ago: %s", cases[i].ago,
		      cases[i].young ? "old" : "young");
	}
	CHECK(!source_is_young("/none", 10), "what is not there is young");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "where it is", where_it_is },
		{ "the longest path", longest },
		{ "which version it is", stamps },
		{ "files that are written", written },
		{ "files that were written a moment ago", young },
		{ "who may read it", hidden },
		{ "files that everybody may read", everybodys },
	};
	char made[200];
	int status, fd;

	snprintf(made, sizeof(made), "%s/unit_source_file.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(made) || !realpath(made, directory) || chdir(directory))
		return KTAP_FAIL;
	snprintf(file, sizeof(file), "%s/file", directory);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return KTAP_FAIL;
	close(fd);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(file);
	rmdir(directory);
	return status;
}
