// SPDX-License-Identifier: GPL-2.0-only
/* The way to a file, against realpath(3): in trees of directories and links at random, and in one drawn by hand. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "base/log.h"
#include "naive.h"

static int no_link; /* an error */

static ssize_t given_readlink(const char *path, char *to, size_t n)
{
	errno = no_link;
	return no_link ? -1 : readlink(path, to, n);
}

#define readlink given_readlink
#include "base/path_walk.c"
#undef readlink

static char root[200];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void remove_tree(void)
{
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_tree(void)
{
	const char *temporary = getenv("TMPDIR");

	snprintf(root, sizeof(root), "%s/xdp-bloom-way-XXXXXX", temporary ? temporary : "/tmp");
	ENOUGH(mkdtemp(root) && !chdir(root) && realpath(".", root));
}

struct seen {
	char steps[4096]; /* beneath the root: "directory:name", with a '!' where it is the last */
	char end[PATH_MAX];
	int stop; /* after so many */
};

static int on_step(void *arg, const char *directory, const struct stat *is, const char *name, bool last)
{
	size_t length = strlen(root);
	struct seen *seen = arg;
	struct stat now;

	CHECK(!stat(directory, &now) && now.st_ino == is->st_ino && now.st_dev == is->st_dev, "%s: not what it is",
	      directory);
	snprintf(seen->end, sizeof(seen->end), "%s/%s", directory[1] ? directory : "", name);
	if (!strncmp(directory, root, length))
		snprintf(seen->steps + strlen(seen->steps), sizeof(seen->steps) - strlen(seen->steps), "%s%s:%s%s",
			 seen->steps[0] ? " " : "", directory[length] ? directory + length + 1 : "", name,
			 last ? "!" : "");
	return --seen->stop == 0 ? -ECANCELED : 0;
}

static void steps(void)
{
	static const struct {
		const char *path, *steps;
		int end;
	} wanted[] = {
		{ "list", ":list!", 0 },
		{ "./list", ":list!", 0 },
		{ "two//list", ":two two:list!", 0 },
		{ "current/list", ":current :two two:list!", 0 },
		{ "link", ":link! :two two:list!", 0 },
		{ "two/back", ":two two:back! :list!", 0 },
		{ "two/../current/./list", ":two :current :two two:list!", 0 },
		{ "two/missing", ":two two:missing!", -ENOENT },
		{ "missing/list", ":missing", -ENOENT },
		{ "list/list", ":list list:list!", -ENOTDIR },
		{ "astray", ":astray! :nowhere!", -ENOENT },
	};

	make_tree();
	ENOUGH(!mkdir("two", 0700) && !close(creat("list", 0600)) && !close(creat("two/list", 0600)) &&
	       !symlink("two", "current") && !symlink("two/list", "link") && !symlink("../list", "two/back") &&
	       !symlink("nowhere", "astray"));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char path[PATH_MAX];

		/* From where we are, and from the root. */
		for (int whole = 0; whole < 2; whole++) {
			struct seen seen = { 0 };
			int err;

			snprintf(path, sizeof(path), "%s%s%s", whole ? root : "", whole ? "/" : "", wanted[i].path);
			err = way_walk(path, on_step, &seen);
			CHECK(error_number(err) == -wanted[i].end, "%s: %d, not %d", path, err, wanted[i].end);
			CHECK(!strcmp(seen.steps, wanted[i].steps), "%s: '%s', not '%s'", path, seen.steps,
			      wanted[i].steps);
		}
	}
	no_link = EIO;
	CHECK(err_is(way_walk("link", on_step, &(struct seen){ 0 }), EIO), "a link that cannot be read leads on");
	no_link = 0;
	CHECK(way_walk("two/list", on_step, &(struct seen){ .stop = 2 }) != 0, "a step's error does not end it");
	remove_tree();
}

/* Somewhere in the tree. It ends in a name, so that the last step is where it leads. */
static void random_path(char *path, size_t size)
{
	static const char *const names[] = { "a", "b", "c", "a", "b", "c", "..", "." };
	size_t at = 0;

	if (!(ktap_random() % 4))
		at = (size_t)snprintf(path, size, "%s/", root);
	for (uint64_t n = ktap_random() % 4; n; n--)
		at += (size_t)snprintf(path + at, size - at, "%s/", names[ktap_random() % 8]);
	snprintf(path + at, size - at, "%s", names[ktap_random() % 3]);
}

/* Not where links lead out of the tree. */
static bool is_within(const char *path)
{
	char directory[PATH_MAX], real[PATH_MAX];

	snprintf(directory, sizeof(directory), "%s", path);
	return realpath(dirname(directory), real) && !strncmp(real, root, strlen(root));
}

/* A link, a directory or a file; most of these fail, which is all the same. */
static void make_one(const char *path, const char *target)
{
	uint64_t kind = ktap_random() % 6;
	int fd = -1;

	if (kind ? kind == 1 ? mkdir(path, 0700) : symlink(target, path)
		 : (fd = open(path, O_CREAT | O_EXCL, 0600)) < 0)
		return;
	if (fd >= 0)
		close(fd);
}

static void random_trees(void)
{
	unsigned int files = 0, circles = 0;

	for (unsigned int tree = 0; tree < 100; tree++) {
		make_tree();
		for (int i = 0; i < 30; i++) {
			char path[PATH_MAX], target[PATH_MAX];

			random_path(path, sizeof(path));
			random_path(target, sizeof(target));
			if (is_within(path))
				make_one(path, target);
		}
		for (int i = 0; i < 100; i++) {
			char path[PATH_MAX], real[PATH_MAX];
			struct seen seen = { 0 };
			int wanted, err;

			random_path(path, sizeof(path));
			wanted = realpath(path, real) ? 0 : -errno;
			err = way_walk(path, on_step, &seen);
			files += !wanted;
			circles += err_is(wanted, ELOOP);
			CHECK(error_number(err) == -wanted, "%s: %d, not %d", path, err, wanted);
			CHECK(wanted || !strcmp(seen.end, real), "%s: ends at %s, not %s", path, seen.end, real);
		}
		remove_tree();
	}
	CHECK(files > 100 && circles > 10, "%u files, %u circles: the trees are poor", files, circles);
}

/* Relative to the root of all, and where nobody can say where that is. */
static void from_elsewhere(void)
{
	struct seen seen = { 0 };
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), err;

	make_tree();
	ENOUGH(here >= 0 && !chdir("/"));
	err = way_walk(root + 1, on_step, &seen);
	CHECK(!err && !strcmp(seen.end, root), "%d: it ends at '%s', not %s", err, seen.end, root);
	err = way_walk("..", on_step, &seen);
	CHECK(!err, "above the root: %d", err);
	ENOUGH(!chdir(root) && !mkdir("gone", 0700) && !chdir("gone") && !rmdir("../gone"));
	seen = (struct seen){ 0 };
	err = way_walk("list", on_step, &seen);
	CHECK(err_is(err, ENOENT) && !*seen.end, "%d: it ends at '%s'", err, seen.end);
	err = way_walk("/", on_step, &seen);
	CHECK(!err && !*seen.end, "%d: of the root alone, '%s'", err, seen.end);
	ENOUGH(!fchdir(here));
	close(here);
	remove_tree();
}

/* Names and paths as long as they may be, and longer. */
static void long_ones(void)
{
	static char path[PATH_MAX + 2];
	struct seen seen = { 0 };
	char name[NAME_MAX + 2];
	int err;

	make_tree();
	for (size_t length = NAME_MAX; length <= NAME_MAX + 1; length++) {
		memset(name, 'n', length);
		name[length] = '\0';
		seen.stop = 0;
		*seen.steps = '\0';
		err = way_walk(name, on_step, &seen);
		CHECK(err_is(err, length > NAME_MAX ? ENAMETOOLONG : ENOENT), "%zu bytes: %d", length, err);
		CHECK(!*seen.steps == (length > NAME_MAX), "%zu bytes: '%s'", length, seen.steps);
	}
	memset(path, '/', sizeof(path));
	path[PATH_MAX - 1] = '\0';
	CHECK(!way_walk(path, on_step, &seen), "a path of %zu bytes", strlen(path));
	path[PATH_MAX - 1] = '/';
	path[PATH_MAX] = '\0';
	CHECK(err_is(way_walk(path, on_step, &seen), ENAMETOOLONG), "a path of %zu bytes", strlen(path));
	/* And one that is only with what a link has. */
	for (size_t length = PATH_MAX - 8; length <= PATH_MAX - 6; length++) {
		char left[PATH_MAX];

		for (size_t i = 0; i < length; i++)
			path[i] = i % 2 ? '/' : '.';
		path[length] = '\0';
		snprintf(left, sizeof(left), "to/%s", path);
		ENOUGH(!symlink("./././", "to"));
		err = way_walk(left, on_step, &seen);
		CHECK(error_number(err) == (length + 7 < PATH_MAX ? 0 : ENAMETOOLONG), "with a link's %zu bytes: %d",
		      length + 7, err);
		unlink("to");
	}
	remove_tree();
}

/* In a directory beneath one that may not be entered. */
static void closed_above(void)
{
	pid_t child;
	int status;

	make_tree();
	ENOUGH(!mkdir("in", 0777) && !mkdir("in/here", 0777) && !chdir("in/here") && !chmod("..", 0));
	fflush(stdout);
	child = fork();
	if (!child) {
		/* Whom nothing is closed to becomes somebody else; without rights it is closed to its owner, too. */
		(void)!setresuid(65534, 65534, 65534);
		_exit(error_number(way_walk("list", on_step, &(struct seen){ 0 })));
	}
	ENOUGH(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EACCES, "status %x", (unsigned int)status);
	ENOUGH(!chmod("..", 0700) && !chdir(root));
	remove_tree();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "every name is reported before it is looked up", steps },
		{ "it leads where realpath leads", random_trees },
		{ "from the root, and from nowhere", from_elsewhere },
		{ "names and paths that are too long", long_ones },
		{ "beneath a directory that is closed", closed_above },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
