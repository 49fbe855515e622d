// SPDX-License-Identifier: GPL-2.0-only
/* Whose an open file is: a pipe is its owner's, a regular file is looked at by its path. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/trusted_dir.h"
#include "ktap.h"

static char directory[200], fifo[220], file[220], other[220], moved[220];

static void make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0, "no %s", path);
	close(fd);
}

static void refused(const char *what, int fd, const char *path, int wanted, const char *words)
{
	int err = trust_open_file(fd, path, "what is tested");

	CHECK(wanted ? err_is(err, wanted) && strstr(reason(err), words) && strstr(reason(err), path) : !err, "%s: %s",
	      what, err ? reason(err) : "trusted");
}

static void pipes(void)
{
	int fd;

	CHECK(!mkfifo(fifo, 0600), "no pipe");
	fd = open(fifo, O_RDWR | O_CLOEXEC);
	refused("a pipe of ours", fd, fifo, 0, NULL);
	if (fchown(fd, 4711, 4711))
		ktap_skip("needs root");
	else
		refused("a pipe of another user", fd, fifo, EPERM,
			"belongs to user 4711, who could change what is tested");
	close(fd);
	refused("one that is closed", fd, fifo, EBADF, "Bad file descriptor");
	unlink(fifo);
}

static void files(void)
{
	int fd;

	make(file);
	make(other);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	refused("a file of ours", fd, file, 0, NULL);
	refused("another file of that name", fd, other, EAGAIN, "it is another file now; try again");
	CHECK(!chmod(file, 0620), "mode");
	refused("a file that the group may write to", fd, file, EPERM, "others may write to it");
	CHECK(!chmod(file, 0602), "mode");
	refused("a file that others may write to", fd, file, EPERM, "others may write to it");
	CHECK(!chmod(file, 0600), "mode");
	if (fchown(fd, 4711, 4711))
		ktap_skip("needs root");
	else
		refused("a file of another user", fd, file, EPERM, "belongs to user 4711");
	CHECK(!unlink(file), "there is none");
	refused("a file that is gone", fd, file, ENOENT, "No such file");
	close(fd);
	unlink(other);
}

static void trusted(const char *what, int err, int wanted)
{
	CHECK(wanted ? err_is(err, wanted) : !err, "%s: %s", what, err ? reason(err) : "trusted");
}

/* What was found to be trusted once is looked at again. */
static void again(void)
{
	make(file);
	CHECK(!symlink(file, other), "no link");
	for (int i = 0; i < 2; i++) {
		trusted("a directory of ours", trust_directory(directory), 0);
		trusted("a file in it", trust_file(file, "it"), 0);
		trusted("a link to it", trust_file(other, "it"), 0);
		trusted("a file as a directory", trust_directory(file), ENOTDIR);
		CHECK(!chmod(file, 0602), "mode");
		trusted("a file that others may write to", trust_file(file, "it"), EPERM);
		trusted("a link to that", trust_file(other, "it"), EPERM);
		CHECK(!chmod(file, 0600) && !chmod(directory, 0707), "mode");
		trusted("a directory that others may write to", trust_directory(directory), EPERM);
		trusted("a file in that", trust_file(file, "it"), EPERM);
		CHECK(!chmod(directory, 0700), "mode");
	}
	CHECK(!unlink(other) && !unlink(file), "gone");
	trusted("a file that is gone", trust_file(file, "it"), ENOENT);
	/* Another directory of the same name. */
	CHECK(!rename(directory, moved) && !mkdir(directory, 0700) && !chmod(directory, 0707), "moved");
	trusted("another directory", trust_directory(directory), EPERM);
	make(file);
	trusted("a file in it", trust_file(file, "it"), EPERM);
	CHECK(!unlink(file) && !rmdir(directory) && !rename(moved, directory), "moved back");
}

/* One that is trusted says nothing of others, however like its name is theirs. */
static void beside(void)
{
	static const char *const others[] = { "b/in", "a/im", "a/inn", "a/i" };
	char good[sizeof(directory) + 8], a[sizeof(good)], b[sizeof(good)], bad[sizeof(good)], within[sizeof(good) + 8];

	snprintf(a, sizeof(a), "%s/a", directory);
	snprintf(b, sizeof(b), "%s/b", directory);
	snprintf(good, sizeof(good), "%s/a/in", directory);
	CHECK(!mkdir(a, 0700) && !mkdir(b, 0700) && !mkdir(good, 0700), "made");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		snprintf(bad, sizeof(bad), "%s/%s", directory, others[i]);
		snprintf(within, sizeof(within), "%s/file", bad);
		CHECK(!mkdir(bad, 0700) && !chmod(bad, 0707), "made");
		make(within);
		for (int again = 0; again < 2; again++) {
			trusted("a directory of ours", trust_directory(good), 0);
			trusted(others[i], trust_directory(bad), EPERM);
			trusted("a file in that", trust_file(within, "it"), EPERM);
		}
		CHECK(!unlink(within) && !rmdir(bad), "gone");
	}
	CHECK(!rmdir(good) && !rmdir(a) && !rmdir(b), "gone");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "pipes", pipes },
		{ "files", files },
		{ "again", again },
		{ "one beside another", beside },
	};
	int status;

	snprintf(directory, sizeof(directory), "%s/unit_trusted.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		return KTAP_FAIL;
	snprintf(fifo, sizeof(fifo), "%s/pipe", directory);
	snprintf(file, sizeof(file), "%s/file", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	snprintf(moved, sizeof(moved), "%s.moved", directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	rmdir(directory);
	return status;
}
