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

#include <stdint.h>
#include <sys/inotify.h>

#include "base/grow.h"
#include "base/log.h"
#include "ktap.h"
#include "naive.h"

/* The n-th of them fails; 0: none. How many there are. */
static struct made_call {
	int calls, fails_at;
} opens, watches, rooms, texts, memory;
static int fails_with, let_go;

static bool fails(struct made_call *of)
{
	errno = fails_with;
	return ++of->calls == of->fails_at;
}

static int given_open(int flags)
{
	return fails(&opens) ? -1 : inotify_init1(flags);
}

static int given_add(int fd, const char *path, uint32_t mask)
{
	return fails(&watches) ? -1 : inotify_add_watch(fd, path, mask);
}

static int given_rm(int fd, int number)
{
	let_go++;
	return inotify_rm_watch(fd, number);
}

#define inotify_init1	  given_open
#define inotify_add_watch given_add
#define inotify_rm_watch  given_rm
#define calloc(n, size)	  (fails(&memory) ? NULL : calloc(n, size))
#define asprintf(...)	  (fails(&texts) ? -1 : asprintf(__VA_ARGS__))
#undef GROW
#define GROW(array, n) (!fails(&rooms) && ((array) = grow(array, n, sizeof(*(array)))))
#include "service/file_watch.c"
#undef calloc

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
	opens = watches = rooms = texts = memory = (struct made_call){ 0 };
	fails_with = ENOSPC;
	let_go = 0;
	snprintf(root, sizeof(root), "/tmp/unit_file_watch.XXXXXX");
	ENOUGH(mkdtemp(root) && !chdir(root) && getcwd(root, sizeof(root)));
	watch = file_watch_open();
	ENOUGH(watch);
	file_watch_begin(watch);
	return CHECK(file_watch_fd(watch) >= 0, "%s", reason(file_watch_add(watch, root, 0, false))) ? 0 : -1;
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
	add("other", 1, true); /* for which that is asked */
	file_watch_end(watch);
	written("a/file");
	tells("what is not on the way any more", 2, false);
	written("b/file");
	tells("where it leads now", 2, true);
	rename("b", "c");
	tells("nobody asked whether it is gone", 2, false);
	ENOUGH(!mkdir("b", 0700));
	tells("a directory on the way is made", 2, true);
	/* A file is on the way. */
	file_watch_begin(watch);
	add("a/file/below", 3, false);
	file_watch_end(watch);
	ENOUGH(!unlink("a/file") && !mkdir("a/file", 0700));
	tells("a directory in its place", 3, true);
out:
	end();
}

/* What is on no way any more is not watched any more; what is on it is, all the time. */
static void no_more_than_needed(void)
{
	if (begin())
		goto out;
	ENOUGH(!mkdir("a", 0700) && !mkdir("b", 0700));
	for (int round = 0; round < 3; round++) {
		file_watch_begin(watch);
		add("a/file", 0, false);
		add("b/file", 1, false);
		file_watch_end(watch);
		CHECK(!let_go, "round %d: %d are let go", round, let_go);
		written("a/file");
		tells("it is watched", 0, true);
	}
	file_watch_begin(watch);
	add("b/file", 1, false);
	file_watch_end(watch);
	CHECK(let_go == 1, "%d are let go", let_go);
	file_watch_begin(watch);
	file_watch_end(watch);
	CHECK(let_go > 2, "%d are let go", let_go);
	written("b/file");
	tells("nothing is watched", 1, false);
out:
	end();
}

/* A way may come by a name again and again, behind links as long as any: it is watched once, by what it is. */
static void again_and_again(void)
{
	char target[600] = "";
	size_t before;

	if (begin())
		goto out;
	ENOUGH(!mkdir("a", 0700));
	for (int i = 0; i < 100; i++)
		strcat(target, "a/../");
	strcat(target, "end");
	written("end");
	ENOUGH(!symlink(target, "file"));
	file_watch_begin(watch);
	add("here", 0, false);
	before = watch->n;
	add("file", 1, false);
	CHECK(watch->n == before * 2 + 2, "%zu names are kept, then %zu", before, watch->n);
	file_watch_end(watch);
	written("end");
	tells("where the way leads", 1, true);
	ENOUGH(!rename("a", "b"));
	ENOUGH(!mkdir("a", 0700));
	tells("a directory on the way is made", 1, true);
	/* By links in a circle it is the last name, and never ends. */
	ENOUGH(!symlink("loop", "loop"));
	file_watch_begin(watch);
	add("loop", 1, false);
	CHECK(watch->n == before, "%zu names are kept of a circle", watch->n);
	file_watch_end(watch);
	ENOUGH(!unlink("loop") && !rename("end", "loop"));
	tells("a file in its place", 1, true);
out:
	end();
}

/* Only the file's own directory has to be watched; no memory is an error wherever it is missing. */
static void cannot_be(void)
{
	static struct made_call *const of[] = { &watches, &rooms, &texts };
	int steps, err;

	if (begin())
		goto out;
	ENOUGH(!mkdir("a", 0700));
	watches.calls = 0;
	add("a/file", 0, false);
	steps = watches.calls;
	CHECK(steps >= 3, "%d steps", steps);
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		for (int at = 1; at <= steps; at++) {
			char path[300], wanted[300];

			file_watch_close(watch);
			watch = file_watch_open();
			ENOUGH(watch);
			file_watch_begin(watch);
			snprintf(path, sizeof(path), "%s/a/file", root);
			*of[i] = (struct made_call){ .fails_at = at };
			err = file_watch_add(watch, path, 0, false);
			of[i]->fails_at = 0;
			if (of[i] != &watches) {
				CHECK(err_is(err, ENOMEM), "call %d: %s", at, err ? errno_text(err) : "no error");
				continue;
			}
			snprintf(wanted, sizeof(wanted),
				 "%s/a: cannot be watched: No space left on device (fs.inotify.max_user_watches?)",
				 root);
			CHECK(at < steps ? !err : err_is(err, ENOSPC) && !strcmp(reason(err), wanted), "step %d: %s",
			      at, err ? reason(err) : "no error");
			written("a/file");
			tells("beside a way that cannot be watched", 0, at < steps);
		}
out:
	end();
	memory = (struct made_call){ .fails_at = 1 };
	CHECK(!file_watch_open(), "without memory");
}

/* Somebody has all there is: each says so, nothing is told, and each begin tries again. */
static void none_left(void)
{
	static const struct {
		int fails;
		const char *why;
	} each[] = {
		{ EMFILE, "inotify: Too many open files (fs.inotify.max_user_instances?)" },
		{ ENFILE, "inotify: Too many open files in system" },
	};
	int err;

	if (begin())
		goto out;
	file_watch_close(watch);
	watch = file_watch_open();
	ENOUGH(watch);
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		opens = (struct made_call){ .fails_at = 1 };
		fails_with = each[i].fails;
		file_watch_begin(watch);
		err = file_watch_add(watch, root, 0, false);
		file_watch_end(watch);
		CHECK(err_is(err, each[i].fails) && !strcmp(reason(err), each[i].why), "%s", reason(err));
		CHECK(file_watch_fd(watch) == -1, "it has %d", file_watch_fd(watch));
		tells("none", 0, false);
	}
	file_watch_begin(watch);
	add("file", 0, false);
	file_watch_end(watch);
	CHECK(opens.calls == 2 && file_watch_fd(watch) >= 0, "%d calls", opens.calls);
	file_watch_begin(watch);
	add("file", 0, false);
	file_watch_end(watch);
	CHECK(opens.calls == 2, "it has one, and opens another");
	written("file");
	tells("written", 0, true);
out:
	end();
}

/* How many events the kernel keeps. */
static unsigned int kept(void)
{
	unsigned int most = 16384;
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");

	if (f && fscanf(f, "%u", &most) != 1)
		most = 16384;
	if (f)
		fclose(f);
	return most;
}

/* One who keeps writing does not hold whoever reads: of 32 bytes each, 2 KB are read at once, and not one more. */
static void never_ends(void)
{
	if (begin())
		goto out;
	file_watch_begin(watch);
	add("x", 0, true);
	file_watch_end(watch);
	/* Of each there are two, that it is written and that it is gone; that it is made is none. */
	for (int n = 0; n < 100; n++) {
		written("x");
		unlink("x");
	}
	memset(told, 0, sizeof(told));
	file_watch_read(watch, changed, NULL);
	CHECK(told[0] > 40 && told[0] < 45, "%u are told at once", told[0]);
	for (int reads = 0; reads < 10; reads++)
		file_watch_read(watch, changed, NULL);
	CHECK(told[0] == 200, "%u are told in all", told[0]);
out:
	end();
}

/* More happens than the kernel keeps: then everybody is told, for nobody knows. */
static void too_much(void)
{
	unsigned int most = kept();

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
	for (unsigned int rounds = 0; rounds < most && !told[0]; rounds++)
		file_watch_read(watch, changed, NULL);
	for (unsigned int i = 0; i < FILES; i++)
		CHECK(told[i], "file %u is told of %u times", i, told[i]);
out:
	end();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is told", what_is_told },	 { "the way there", the_way_there },
		{ "again and again", again_and_again },	 { "no more than needed", no_more_than_needed },
		{ "what cannot be watched", cannot_be }, { "none is left", none_left },
		{ "it never ends", never_ends },	 { "too much", too_much },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
