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
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/magic.h>

#include "ktap.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/mounts.h"
#include "base/trusted_dir.h"
#include "naive.h"

static int no_link; /* an error */

static ssize_t given_readlinkat(int at, const char *path, char *to, size_t n)
{
	errno = no_link;
	return no_link ? -1 : readlinkat(at, path, to, n);
}

/* What belongs to another user, and a directory that is a file system of the kernel's, in which one has looked. */
static ino_t his, kernels;
static unsigned int magic = PROC_SUPER_MAGIC, looks;
static int opens_not; /* what opening it once more fails with */
static unsigned int opens_again;

static ino_t number_of(int fd)
{
	struct stat is;

	return fstat(fd, &is) ? 0 : is.st_ino;
}

/* A directory on a mount of its own, and who answers for that; nobody may ask it for anything else. */
static ino_t served;
static enum answers who_answers;
static unsigned int asked_for;

static unsigned long given_mount_of(int fd)
{
	return served && number_of(fd) == served ? 7 : 1;
}

static enum answers given_answers(unsigned long mount)
{
	return mount == 7 ? who_answers : KERNEL_ANSWERS;
}

static int given_fstat(int fd, struct stat *is)
{
	int err = fstat(fd, is);

	asked_for += !err && is->st_ino == served;
	if (!err && is->st_ino == his)
		is->st_uid = 4711;
	return err;
}

static int given_fstatfs(int fd, struct statfs *fs)
{
	if (fd >= 0 && number_of(fd) != kernels)
		return fstatfs(fd, fs);
	fs->f_type = magic;
	return magic ? 0 : -1;
}

static unsigned int mounts; /* what may be mounted when it is asked for */

static int given_openat(int at, const char *name, int how)
{
	looks += kernels && number_of(at) == kernels;
	mounts += how & O_DIRECTORY && strcmp(name, "..") != 0;
	return openat(at, name, how);
}

static int given_open(const char *path, int how)
{
	bool is_again = !strncmp(path, "/proc/self/fd/", 14);

	bool named = how & O_NOCTTY;

	if (how != (named      ? O_RDONLY | O_CLOEXEC | O_NOCTTY
		    : is_again ? O_RDONLY | O_CLOEXEC | O_NONBLOCK
			       : O_PATH | O_DIRECTORY | O_CLOEXEC))
		abort();
	opens_again += is_again;
	errno = opens_not;
	return is_again && opens_not ? -1 : open(path, how);
}

#define readlinkat	      given_readlinkat
#define mount_of(fd)	      given_mount_of(fd)
#define mount_answers(mount)  given_answers(mount)
#define fstat(fd, is)	      given_fstat(fd, is)
#define fstatfs(fd, fs)	      given_fstatfs(fd, fs)
#define openat(at, name, how) given_openat(at, name, how)
#define open(path, how)	      given_open(path, how)
#include "base/path_walk.c"
#undef fstat
#undef fstatfs
#undef open

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

static int on_step(void *arg, int at, const char *directory, const struct stat *is, const char *name, bool last)
{
	size_t length = strlen(root);
	struct seen *seen = arg;
	struct stat now;

	CHECK(!stat(directory, &now) && now.st_ino == is->st_ino && now.st_dev == is->st_dev, "%s: not what it is",
	      directory);
	CHECK(number_of(at) == is->st_ino, "%s: not its descriptor", directory);
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
			path[i] = i ? '/' : '.';
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

static int count(void *arg, int at, const char *directory, const struct stat *is, const char *name, bool last)
{
	unsigned int *steps = arg;

	(void)at, (void)directory, (void)is, (void)name, (void)last;
	++*steps;
	return 0;
}

/* A path may have as many names as it likes; behind the first link there are 256, and not one more is looked up. */
static void round_and_round(void)
{
	static const struct {
		const char *part;
		unsigned int path, links,
			target; /* the part so often in the path, and so often in each of so many links */
		unsigned int steps;
		int end;
	} each[] = {
		{ "a/../", 800, 0, 0, 801, 0 }, { "a/../", 800, 1, 0, 802, 0 },	   { "./", 0, 1, 255, 2, 0 },
		{ "./", 0, 1, 256, 1, ELOOP },	{ "a/../", 0, 1, 127, 129, 0 },	   { "a/../", 0, 1, 128, 129, ELOOP },
		{ "a/../", 0, 36, 3, 145, 0 },	{ "a/../", 0, 37, 3, 147, ELOOP }, { "a/../", 0, 39, 800, 129, ELOOP },
	};

	make_tree();
	ENOUGH(!mkdir("a", 0700) && !close(creat("0", 0600)));
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		unsigned int steps = 0;
		char path[PATH_MAX];
		int err;

		/* "2" leads to "1", that to the file "0". */
		for (unsigned int link = 0; link <= each[i].links; link++) {
			unsigned int n = link < each[i].links ? each[i].target : each[i].path;
			char name[16], *end = path;

			while (n--)
				end = stpcpy(end, each[i].part);
			sprintf(end, "%u", link);
			sprintf(name, "%u", link + 1);
			ENOUGH(link == each[i].links || !symlink(path, name));
		}
		err = way_walk(path, count, &steps);
		CHECK(error_number(err) == each[i].end, "case %zu: %d, not %d", i, err, each[i].end);
		CHECK(steps == each[i].steps, "case %zu: %u steps, not %u", i, steps, each[i].steps);
		for (unsigned int link = 1; link <= each[i].links; link++) {
			sprintf(path, "%u", link);
			unlink(path);
		}
	}
	remove_tree();
}

/* In a directory beneath one that may not be entered: what is called from there is found as the kernel finds it. */
static void closed_above(void)
{
	pid_t child;
	int status;

	make_tree();
	ENOUGH(!mkdir("in", 0777) && !mkdir("in/here", 0777) && !chdir("in/here") && !close(creat("list", 0644)) &&
	       !chmod(".", 0755) && !chmod("..", 0));
	fflush(stdout);
	child = fork();
	if (!child) {
		/* Whom nothing is closed to becomes somebody else; without rights it is closed to its owner, too. */
		(void)!setresuid(65534, 65534, 65534);
		_exit(way_open_named("list") < 0 || !err_is(way_open_named("../here/list"), EACCES));
	}
	ENOUGH(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", (unsigned int)status);
	ENOUGH(!chmod("..", 0700) && !chdir(root));
	remove_tree();
}

/* --- Who leads there --- */

static ino_t ino_of(const char *path)
{
	struct stat is;

	return lstat(path, &is) ? 0 : is.st_ino;
}

static int nothing(void *arg, int at, const char *directory, const struct stat *is, const char *name, bool last)
{
	(void)arg, (void)at, (void)directory, (void)is, (void)name, (void)last;
	return 0;
}

/* Refused before one has looked there; else as it is. */
static void leads(const char *what, const char *path, bool theirs, int wanted)
{
	struct stat is;
	int fd, err;

	looks = 0;
	err = way_look(path, true, &is) ?: way_walk(path, nothing, NULL);
	fd = way_open(path, WAY_FILE, theirs);
	if (wanted && theirs) {
		CHECK(err_is(fd, EXDEV), "%s: opened", what);
	} else if (wanted) {
		CHECK(err_is(err, wanted) && err_is(fd, wanted) && !looks, "%s: %u looks, %d", what, looks, err);
	} else {
		CHECK(!err && fd >= 0 && looks && is.st_ino == ino_of("kernels/file"), "%s: %s", what,
		      reason(err ?: fd));
	}
	close_fd(fd);
}

static void another_leads(void)
{
	char wanted[300];
	struct stat is;
	int err;

	make_tree();
	ENOUGH(!mkdir("kernels", 0755) && !mkdir("dir", 0755) && !close(creat("kernels/file", 0600)) &&
	       !close(creat("dir/file", 0600)) && !symlink("../kernels/file", "dir/link") &&
	       !symlink("kernels/file", "link") && !symlink("dir/link", "two") &&
	       !symlink("../kernels", "dir/kernels"));
	kernels = ino_of("kernels");
	leads("by its name", "kernels/file", false, 0);
	leads("by links of ours", "two", false, 0);
	leads("as another file says", "kernels/file", true, EXDEV);
	his = ino_of("dir");
	leads("his directory", "dir/link", false, EXDEV);
	leads("a directory from his", "dir/kernels/file", false, EXDEV);
	leads("a link of ours into his directory", "two", false, EXDEV);
	leads("up again from his directory", "dir/../kernels/file", false, 0);
	leads("past it", "link", false, 0);
	his = ino_of("link");
	leads("his link", "link", false, EXDEV);
	leads("beside it", "two", false, 0);
	his = ino_of("kernels/file");
	leads("his file, by ours", "link", false, 0);
	his = 0;
	for (mode_t others = 0020; others; others >>= 3) {
		ENOUGH(!chmod("dir", 0755 | others));
		leads("where others may write", "dir/link", false, EXDEV);
		ENOUGH(!chmod("dir", 01755 | others));
		leads("where they may not take away", "dir/link", false, 0);
		his = ino_of("dir/link");
		/* Where all may write, that is the kernel's own rule. */
		leads("where they may not take away, his", "dir/link", false, others & S_IWOTH ? EACCES : EXDEV);
		his = 0;
	}
	his = ino_of("link");
	err = way_look("link", true, &is);
	snprintf(wanted, sizeof(wanted), "another user's link leads to %s/kernels, where a look may last for ever",
		 root);
	CHECK(!strcmp(reason(err), wanted), "'%s'", reason(err));
	CHECK(!way_look("link", false, &is) && S_ISLNK(is.st_mode), "the link itself may not be seen");
	his = ino_of("dir");
	CHECK(!way_look("dir/file", true, &is) && is.st_ino == ino_of("dir/file"), "what is his cannot be seen");
	his = kernels = 0;
	remove_tree();
}

static void of_the_kernel(void)
{
	static const unsigned int of_it[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC,	    DEBUGFS_MAGIC,
					      TRACEFS_MAGIC,	SECURITYFS_MAGIC,   AAFS_MAGIC,
					      BPF_FS_MAGIC,	CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC },
				  others[] = { EXT4_SUPER_MAGIC, TMPFS_MAGIC, 0 };

	for (size_t i = 0; i < sizeof(of_it) / sizeof(of_it[0]); i++) {
		magic = of_it[i];
		CHECK(way_is_of_the_kernel(-1), "%x is not", magic);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		magic = others[i];
		CHECK(!way_is_of_the_kernel(-1), "%x is", magic);
	}
	magic = PROC_SUPER_MAGIC;
}

/* Only what it is to be. */
static void opened(void)
{
	static const struct {
		const char *path;
		enum way_end end;
		int error, again;
		const char *why;
	} each[] = {
		{ "file", WAY_FILE, 0, 0, NULL },
		{ "link", WAY_FILE, 0, 0, NULL },
		{ "dir", WAY_DIRECTORY, 0, 0, NULL },
		{ "dir/", WAY_DIRECTORY, 0, 0, NULL },
		{ "none", WAY_FILE, ENOENT, 0, "No such file or directory" },
		{ "dir", WAY_FILE, EISDIR, 0, "Is a directory" },
		{ "file", WAY_DIRECTORY, ENOTDIR, 0, "Not a directory" },
		{ "pipe", WAY_FILE, EINVAL, 0, "not a regular file" },
		{ "/dev/null", WAY_FILE, EINVAL, 0, "not a regular file" },
		{ "file", WAY_FILE, EACCES, EACCES, "Permission denied" },
		{ "file", WAY_FILE, EIO, ENOENT, "Input/output error" },
		{ "file", WAY_FILE, EAGAIN, EAGAIN,
		  "another process holds it (a lease), and was told to let it go; try again" },
	};
	int before, after;

	make_tree();
	ENOUGH(!mkdir("dir", 0755) && !close(creat("file", 0600)) && !symlink("file", "link") && !mkfifo("pipe", 0600));
	before = dup(0);
	close(before);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		int fd;

		opens_not = each[i].again;
		fd = way_open(each[i].path, each[i].end, false);
		opens_not = 0;
		if (each[i].error)
			CHECK(err_is(fd, each[i].error) && !strcmp(reason(fd), each[i].why), "%zu: %s", i,
			      fd < 0 ? reason(fd) : "opened");
		else
			CHECK(fd >= 0 && !(fcntl(fd, F_GETFL) & O_PATH), "%zu: %s", i, reason(fd));
		close_fd(fd);
	}
	after = dup(0);
	close(after);
	CHECK(before == after, "%d is open", before);
	remove_tree();
}

/* What a command line names, by a way of root's alone and by one of another user's. */
static void opened_by_name(void)
{
	static const struct {
		const char *path;
		int error, error_led;
	} each[] = {
		{ "dir/file", 0, 0 },		{ "dir/pipe", 0, 0 },
		{ "dir/device", 0, EPERM },	{ "dir", 0, 0 },
		{ "dir/none", ENOENT, ENOENT }, { "dir/file/", ENOTDIR, ENOTDIR },
		{ "", ENOENT, ENOENT },		{ "/dev/null", 0, 0 },
		{ "dir/descriptor", 0, EXDEV }, /* by no name: only the kernel follows */
	};
	struct stat is;
	int pipes[2], writer;
	char link[64];

	make_tree();
	ENOUGH(!mkdir("dir", 0755) && !close(creat("dir/file", 0600)) && !mkfifo("dir/pipe", 0600) &&
	       !symlink("/dev/null", "dir/device") && !pipe(pipes) && !stat("dir", &is));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", pipes[0]);
	ENOUGH(!symlink(link, "dir/descriptor"));
	/* A writer is there. */
	writer = (open)("dir/pipe", O_RDWR);

	for (int led = 0; led < 2; led++) {
		his = led ? is.st_ino : 0;
		for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
			int wanted = led ? each[i].error_led : each[i].error, fd;

			opens_again = 0;
			fd = way_open_named(each[i].path);
			CHECK(wanted ? err_is(fd, wanted) : fd >= 0 && !(fcntl(fd, F_GETFL) & O_PATH), "%s%s: %s",
			      each[i].path, led ? ", another user's" : "", fd < 0 ? reason(fd) : "opened");
			CHECK(fd < 0 || opens_again, "%s: it is looked up once more", each[i].path);
			close_fd(fd);
		}
	}
	/* His link, or his file that may be a link a moment later, in a directory of all. */
	ENOUGH(!chmod("dir", 01777));
	his = ino_of("dir/device");
	opens_again = 0;
	CHECK(err_is(way_open_named("dir/device"), EACCES), "a link that was put there leads to a device");
	his = ino_of("dir/file");
	close_fd(way_open_named("dir/file"));
	CHECK(opens_again == 1, "it is looked up once more where all may put links");
	his = 0;
	close(writer);
	close(pipes[0]);
	close(pipes[1]);
	remove_tree();
}

/* What a process has, by the kernel's own links: not by what they say, which may be the name of another file. */
static void of_a_process(void)
{
	char gone[32], of_dir[32], wanted[300], self[16] = "";
	struct seen seen = { 0 };
	struct stat is, link;
	int fd, dir, err;

	make_tree();
	ENOUGH(!mkdir("dir", 0755) && !close(creat("dir/file", 0600)) && !close(creat("gone (deleted)", 0600)) &&
	       !symlink("/dev/null", "dir/device"));
	fd = (open)("gone", O_CREAT | O_RDWR, 0600);
	dir = (open)("dir", O_RDONLY | O_DIRECTORY);
	ENOUGH(fd >= 0 && dir >= 0 && !unlink("gone") && !fstat(fd, &link));
	snprintf(gone, sizeof(gone), "/proc/self/fd/%d", fd);
	snprintf(of_dir, sizeof(of_dir), "/proc/self/fd/%d/../dir/", dir);
	err = way_look(gone, true, &is);
	CHECK(!err && is.st_ino == link.st_ino, "another file than what is open: %s", reason(err));
	close(fd);
	for (int i = 0; i < 2; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%sfile", i ? of_dir : "/proc/self/cwd/dir/");
		err = way_walk(path, on_step, &seen);
		CHECK(!err && !way_look(path, true, &is) && is.st_ino == ino_of("dir/file"), "%s: %s", path,
		      reason(err));
		fd = way_open(path, WAY_FILE, false);
		CHECK(fd >= 0, "%s: %s", path, reason(fd));
		close_fd(fd);
		way_waits_for(SERVER_ANSWERS);
		err = way_look(path, true, &is);
		way_waits_for(USER_ANSWERS);
		CHECK(err_is(err, EXDEV), "who waits for no user looks there: %s", reason(err));
	}
	/* As /proc calls us, which may be of those outside. */
	ENOUGH((readlink)("/proc/self", self, sizeof(self) - 1) > 0);
	snprintf(wanted, sizeof(wanted), "/proc/%s/fd/%d leads where a process is, which may not answer", self, dir);
	CHECK(!strcmp(reason(err), wanted), "'%s'", reason(err));

	/* Another user's process: its directory leads nobody, what it has may. */
	for (enum answers most = KERNEL_ANSWERS; most <= USER_ANSWERS; most++) {
		way_waits_for(most);
		CHECK(!way_look("/proc/mounts", true, &is) && !way_look("/proc/net/dev", true, &is), "ours");
		ENOUGH(!stat("/proc/self", &is));
		his = is.st_ino;
		err = way_look("/proc/self/status", true, &is);
		CHECK(most < USER_ANSWERS ? err_is(err, EXDEV) : !err, "%d: %s", most, reason(err));
		his = 0;
	}
	ENOUGH(!lstat("/proc/self/cwd", &link));
	his = link.st_ino;
	fd = way_open("/proc/self/cwd/dir/file", WAY_FILE, false);
	CHECK(fd >= 0, "what his process has: %s", reason(fd));
	close_fd(fd);
	err = way_open_named("/proc/self/cwd/dir/device");
	CHECK(err_is(err, EPERM), "his process leads to a device: %d", err);
	his = 0;
	close(dir);
	remove_tree();
}

/* For whom nobody waits, he is not asked, and the way ends before that. */
static void may_not_answer(void)
{
	static const char *const each[] = { "served", "served/file", "link", "served/../file", "../file" };
	char wanted[300];
	struct stat is;
	int err;

	make_tree();
	ENOUGH(!mkdir("served", 0755) && !close(creat("served/file", 0600)) && !close(creat("file", 0600)) &&
	       !symlink("served/file", "link") && !mkdir("sub", 0755));
	for (enum answers most = KERNEL_ANSWERS; most <= USER_ANSWERS; most++)
		for (who_answers = KERNEL_ANSWERS; who_answers <= USER_ANSWERS; who_answers++)
			for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
				bool up = *each[i] == '.';
				int fd;

				ENOUGH(!chdir(up ? "sub" : "."));
				served = ino_of(up ? "." : "served");
				if (up)
					served = ino_of("..");
				asked_for = mounts = 0;
				CHECK(way_waits_for(most) == USER_ANSWERS, "it waited for others before");
				err = way_look(each[i], true, &is);
				fd = way_open(each[i], i ? WAY_FILE : WAY_DIRECTORY, false);
				CHECK(way_waits_for(USER_ANSWERS) == most, "it waits for others than it was told");
				if (who_answers <= most)
					CHECK(!err && fd >= 0 && asked_for, "%s: %s", each[i], reason(err ?: fd));
				else
					CHECK(err_is(err, EREMOTE) && err_is(fd, EREMOTE) && !asked_for,
					      "%s: %d, %d, %u asked for", each[i], err, fd, asked_for);
				CHECK(most > KERNEL_ANSWERS ? mounts || up : !mounts, "%s: %u were mounted", each[i],
				      mounts);
				close_fd(fd);
				ENOUGH(!chdir(root));
			}
	way_waits_for(SERVER_ANSWERS);
	err = way_look("served/file", true, &is);
	way_waits_for(USER_ANSWERS);
	CHECK(!err, "where all is the root's: %s", reason(err));
	who_answers = USER_ANSWERS;
	served = ino_of("served");
	way_waits_for(SERVER_ANSWERS);
	err = way_look("link", true, &is);
	way_waits_for(USER_ANSWERS);
	snprintf(wanted, sizeof(wanted), "%s/served is of a file system that may not answer", root);
	CHECK(!strcmp(reason(err), wanted), "'%s'", reason(err));
	served = 0;
	remove_tree();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "every name is reported before it is looked up", steps },
		{ "it leads where realpath leads", random_trees },
		{ "from the root, and from nowhere", from_elsewhere },
		{ "names and paths that are too long", long_ones },
		{ "links that lead on and on", round_and_round },
		{ "beneath a directory that is closed", closed_above },
		{ "where another user leads", another_leads },
		{ "files of the kernel", of_the_kernel },
		{ "what is opened", opened },
		{ "what is opened by its name", opened_by_name },
		{ "what a process has", of_a_process },
		{ "where nobody may answer", may_not_answer },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
