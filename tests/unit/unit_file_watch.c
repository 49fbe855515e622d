// SPDX-License-Identifier: GPL-2.0-only
/* What happens beside a file, on its path and to it, and what of that is told: by a real kernel, one thing at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktap.h"
#include "base/log.h"
#include "naive.h"
#include "service/file_watch.h"

enum { FILES = 4 };

static char root[200];
static struct file_watch *watch;
static unsigned int told[FILES];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static int begin(void)
{
	int err;

	snprintf(root, sizeof(root), "/tmp/unit_file_watch.XXXXXX");
	ENOUGH(mkdtemp(root) && !chdir(root) && getcwd(root, sizeof(root)));
	watch = file_watch_open(&err);
	return CHECK(watch, "%s", reason(err)) ? 0 : -1;
}

static void end(void)
{
	if (watch)
		file_watch_close(watch);
	watch = NULL;
	if (chdir("/"))
		return;
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void changed(void *arg, size_t number)
{
	(void)arg;
	if (CHECK(number < FILES, "%zu is told of", number))
		told[number]++;
}

static bool tells(const char *what, unsigned int file, bool wanted)
{
	memset(told, 0, sizeof(told));
	file_watch_read(watch, changed, NULL);
	for (unsigned int i = 0; i < FILES; i++)
		if (!CHECK(!told[i] == !(i == file && wanted), "%s: file %u is told of %u times", what, i, told[i]))
			return false;
	return true;
}

static void add(const char *name, size_t number, bool gone)
{
	char path[300];
	int err;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	err = file_watch_add(watch, path, number, gone);
	CHECK(!err, "%s: %s", name, reason(err));
}

static int made(const char *name)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0600);

	ENOUGH(fd >= 0);
	return fd;
}

static void written(const char *name)
{
	int fd = made(name);

	ENOUGH(write(fd, "1", 1) == 1);
	close(fd);
}

/* A file is whole when it is closed, linked or renamed into place; that it is gone is told to who asked for that. */
static void what_is_told(void)
{
	int fd;

	if (begin())
		goto out;
	file_watch_begin(watch);
	add("file", 0, false);
	add("other", 1, true);
	file_watch_end(watch);
	fd = made("file");
	tells("made, still empty", 0, false);
	ENOUGH(write(fd, "1", 1) == 1);
	tells("written, still open", 0, false);
	close(fd);
	tells("closed", 0, true);
	tells("nothing more", 0, false);
	fd = open("file", O_RDONLY);
	close(fd);
	tells("read by others", 0, false);
	chmod("file", 0644);
	tells("its mode", 0, false);
	unlink("file");
	tells("gone, nobody asked", 0, false);
	written("beside");
	written("fil");
	written("file2");
	tells("others are written", 0, false);
	rename("beside", "file");
	tells("renamed into place", 0, true);
	rename("file", "beside");
	tells("renamed away, nobody asked", 0, false);
	ENOUGH(!link("beside", "file"));
	tells("a second name of a file", 0, true);
	unlink("file");
	ENOUGH(!symlink("beside", "file"));
	tells("a link", 0, true);
	written("other");
	tells("the other is written", 1, true);
	unlink("other");
	tells("gone, as asked", 1, true);
	written("other");
	tells("again", 1, true);
	rename("other", "third");
	tells("renamed away, as asked", 1, true);
out:
	end();
}

/* A directory or link on the way may be changed; each name is watched once per file, and no more than asked for. */
static void the_way_there(void)
{
	if (begin())
		goto out;
	ENOUGH(!mkdir("a", 0700) && !mkdir("b", 0700) && !symlink("a", "way"));
	written("a/file");
	written("b/file");
	file_watch_begin(watch);
	add("way/file", 2, false);
	file_watch_end(watch);
	written("b/file");
	tells("not where the way leads", 2, false);
	written("a/file");
	tells("where the way leads", 2, true);
	ENOUGH(!symlink("b", "new") && !rename("new", "way"));
	tells("the way leads elsewhere", 2, true);
	file_watch_begin(watch);
	add("way/file", 2, false);
	file_watch_end(watch);
	written("a/file");
	tells("what is not on the way any more", 2, false);
	written("b/file");
	tells("where it leads now", 2, true);
	rename("b", "c");
	tells("nobody asked whether it is gone", 2, false);
	ENOUGH(!mkdir("b", 0700));
	tells("a directory on the way is made", 2, true);
out:
	end();
}

/* More happens than the kernel keeps: then everybody is told, for nobody knows. */
static void too_much(void)
{
	unsigned int most = 16384;
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");

	if (f && fscanf(f, "%u", &most) != 1)
		most = 16384;
	if (f)
		fclose(f);
	if (most > 1000000) {
		ktap_skip("the kernel keeps very many events");
		return;
	}
	if (begin())
		goto out;
	file_watch_begin(watch);
	for (unsigned int i = 0; i < FILES; i++)
		add(i & 1 ? "one" : "two", i, i & 2);
	file_watch_end(watch);
	/* Two that differ: the same again is one event. */
	for (unsigned int i = 0; i < most; i++) {
		close(made("x"));
		unlink("x");
	}
	memset(told, 0, sizeof(told));
	for (unsigned int rounds = 0; rounds < 1000 && !told[0]; rounds++)
		file_watch_read(watch, changed, NULL);
	for (unsigned int i = 0; i < FILES; i++)
		CHECK(told[i], "file %u is told of %u times", i, told[i]);
out:
	end();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is told", what_is_told },
		{ "the way there", the_way_there },
		{ "too much", too_much },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
