// SPDX-License-Identifier: GPL-2.0-only
/* A file in the place of another: all of it or nothing, whichever call fails, and nothing is left beside it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktap.h"

static const char *fails = "";
static char synced[200]; /* what was, in its order */

static bool works(const char *call)
{
	errno = EIO;
	return strcmp(call, fails) != 0;
}

static int given_make(char *path, int flags)
{
	if (flags != O_CLOEXEC)
		abort();
	return works("make") ? mkostemp(path, flags) : -1;
}

static int given_fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		abort();
	strcat(synced, S_ISDIR(st.st_mode) ? "directory " : "file ");
	return works(S_ISDIR(st.st_mode) ? "sync of the directory" : "sync") ? 0 : -1;
}

static int given_fchmod(int fd, mode_t mode)
{
	return works("chmod") ? fchmod(fd, mode) : -1;
}

static int given_close(int fd)
{
	close(fd);
	return works("close") ? 0 : -1;
}

static int given_rename(const char *from, const char *to)
{
	strcat(synced, "renamed ");
	return works("rename") ? rename(from, to) : -1;
}

static char opened[PATH_MAX];

static int given_open(const char *path, int how)
{
	if (how != (O_RDONLY | O_DIRECTORY | O_CLOEXEC))
		abort();
	snprintf(opened, sizeof(opened), "%s", path);
	return works("open") ? open(path, how) : -1;
}

#define mkostemp	given_make
#define fsync		given_fsync
#define fchmod		given_fchmod
#define close		given_close
#define rename		given_rename
#define open(path, how) given_open(path, how)
#include "base/new_file.c"
#undef close
#undef open
#undef mkostemp

static char directory[200], path[240];

/* What lies there: so many files, and this is in the one. */
static void there(const char *what, int n, const char *text, mode_t mode)
{
	char is[40] = "";
	struct stat st = { 0 };
	struct dirent *e;
	DIR *dir = opendir(directory);
	int files = 0, fd;

	while (dir && (e = readdir(dir)))
		files += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		CHECK(read(fd, is, sizeof(is) - 1) >= 0 && !fstat(fd, &st), "it cannot be read");
		close(fd);
	}
	CHECK(files == n && !strcmp(is, text) && (!mode || (st.st_mode & 07777) == mode), "%s: %d files, '%s', mode %o",
	      what, files, is, st.st_mode & 07777);
}

static int written(const char *text, mode_t mode, int err)
{
	struct new_file file;
	int begun = new_file_begin(&file, path);

	synced[0] = opened[0] = '\0';
	if (begun)
		return begun;
	CHECK(fcntl(file.fd, F_GETFD) == FD_CLOEXEC && !strncmp(file.beside, path, strlen(path)), "'%s'", file.beside);
	CHECK(write(file.fd, text, strlen(text)) == (ssize_t)strlen(text), "it takes nothing");
	return new_file_end(&file, mode, err);
}

static void replaced(void)
{
	CHECK(!written("one", 0640, 0) && !strcmp(synced, "file renamed directory ") && !strcmp(opened, directory),
	      "'%s', of '%s'", synced, opened);
	there("a new one", 1, "one", 0640);
	CHECK(!written("two", 0600, 0), "another is not written");
	there("another", 1, "two", 0600);
	unlink(path);
}

/* The one before stays; only when the directory is not synced, the new one is there. */
static void nothing_is_left(void)
{
	static const char *const calls[] = {
		"make", "sync", "chmod", "close", "rename", "open", "sync of the directory"
	};
	char text[300];

	CHECK(!written("one", 0640, 0), "it is not written");
	snprintf(text, sizeof(text), "%s: Input/output error", path);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		int err;

		fails = calls[i];
		err = written("two", 0600, 0);
		CHECK(err_is(err, EIO) && !strcmp(reason(err), text), "%s: '%s'", fails,
		      err ? reason(err) : "no error");
		fails = "";
		there(calls[i], 1, i < 5 ? "one" : "two", 0);
	}
	/* An error of whoever writes is told already. */
	CHECK(err_is(written("three", 0600, -ENOSPC), ENOSPC) && !strcmp(synced, ""), "synced: '%s'", synced);
	there("an error before", 1, "two", 0);
	fails = "close";
	CHECK(err_is(written("three", 0600, -ENOSPC), ENOSPC), "another error");
	fails = "";
	there("two errors", 1, "two", 0);
	unlink(path);
}

static void no_files(void)
{
	char text[400];
	int err;

	CHECK(!mkdir(path, 0700), "no directory");
	snprintf(text, sizeof(text), "%s is a directory, and no file: name one that may be written over, or a new one",
		 path);
	err = written("one", 0600, 0);
	CHECK(err_is(err, EEXIST) && !strcmp(reason(err), text), "'%s'", err ? reason(err) : "no error");
	rmdir(path);
	CHECK(!symlink("/nonexistent", path), "no link");
	err = written("one", 0600, 0);
	snprintf(text, sizeof(text),
		 "%s is a device, a pipe or a link, and no file: name one that may be written over, or a new one",
		 path);
	CHECK(err_is(err, EEXIST) && !strcmp(reason(err), text), "'%s'", err ? reason(err) : "no error");
	unlink(path);
}

static void names(void)
{
	static char long_one[PATH_MAX + 10];
	struct new_file file;

	/* With a dot and six more, and its end. */
	fails = "make";
	memset(long_one, 'x', sizeof(file.beside) - 8);
	CHECK(err_is(new_file_begin(&file, long_one), EIO), "the longest is too long");
	long_one[sizeof(file.beside) - 8] = 'x';
	CHECK(err_is(new_file_begin(&file, long_one), ENAMETOOLONG), "one that is too long is not");
	fails = "";
	CHECK(!sync_directory_of("/name") && !strcmp(opened, "/"), "'%s'", opened);
	CHECK(!sync_directory_of("name") && !strcmp(opened, "."), "'%s'", opened);
	CHECK(!sync_directory_of("./name") && !strcmp(opened, "."), "'%s'", opened);
	CHECK(err_is(sync_directory_of("/none/name"), ENOENT) && !strcmp(opened, "/none"), "'%s'", opened);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "one in the place of another", replaced },
		{ "nothing is left where a call fails", nothing_is_left },
		{ "what is no file stays", no_files },
		{ "names", names },
	};
	int status;

	snprintf(directory, sizeof(directory), "%s/unit_new_file.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		return KTAP_FAIL;
	snprintf(path, sizeof(path), "%s/file", directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(path);
	rmdir(directory);
	return status;
}
