// SPDX-License-Identifier: GPL-2.0-only
#include "service/file_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/path_walk.h"

#define IN_GONE (IN_MOVED_FROM | IN_DELETE)

/* A name on the path of a file; its directory is watched. */
struct entry {
	int watch;
	char *path, *name; /* its last part */
	size_t number;
	bool last; /* the name of the file, or of a link to it; other names are of directories */
	bool gone; /* also report that it is gone */
};

struct watch {
	int number;
	bool used; /* in this round */
};

struct file_watch {
	int fd; /* -1: there is none, for that reason */
	int err;
	struct entry *entries;
	struct watch *watches;
	size_t n, watches_n;
};

struct file_watch *file_watch_open(void)
{
	struct file_watch *f = calloc(1, sizeof(*f));

	if (f)
		f->fd = -1;
	return f;
}

int file_watch_fd(const struct file_watch *f)
{
	return f->fd;
}

static void forget(struct file_watch *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->entries[i].path);
	f->n = 0;
}

void file_watch_close(struct file_watch *f)
{
	forget(f);
	close_fd(f->fd);
	free(f->entries);
	free(f->watches);
	free(f);
}

void file_watch_begin(struct file_watch *f)
{
	forget(f);
	/* Its instances are counted by user: root of a container may be the same, and have all. */
	if (f->fd < 0) {
		f->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		f->err = f->fd < 0 ? -errno : 0;
	}
	for (size_t i = 0; i < f->watches_n; i++)
		f->watches[i].used = false;
}

static int use(struct file_watch *f, int number)
{
	for (size_t i = 0; i < f->watches_n; i++)
		if (f->watches[i].number == number) {
			f->watches[i].used = true;
			return 0;
		}
	if (!GROW(f->watches, f->watches_n))
		return -ENOMEM;
	f->watches[f->watches_n++] = (struct watch){ number, true };
	return 0;
}

/* A way may come by the same name many times. */
static bool is_kept(const struct file_watch *f, const struct entry *e, const char *name)
{
	for (size_t i = f->n; i > 0 && f->entries[i - 1].number == e->number; i--) {
		const struct entry *kept = &f->entries[i - 1];

		if (kept->watch == e->watch && kept->last == e->last && !strcmp(kept->name, name))
			return true;
	}
	return false;
}

static int keep(struct file_watch *f, struct entry e, const char *directory, const char *name)
{
	if (is_kept(f, &e, name))
		return 0;
	if (!GROW(f->entries, f->n) || asprintf(&e.path, "%s/%s", directory[1] ? directory : "", name) < 0)
		return -ENOMEM;
	e.name = strrchr(e.path, '/') + 1;
	f->entries[f->n++] = e;
	return 0;
}

struct file {
	struct file_watch *watch;
	size_t number;
	bool gone;
};

/* Watched before it is looked up: if another file takes the name in between, that is reported. */
static int on_step(void *arg, int at, const char *directory, const struct stat *is, const char *name, bool last)
{
	const struct file *file = arg;
	struct entry e = { .number = file->number, .last = last, .gone = file->gone };
	char path[FD_PATH_MAX];
	int err;

	(void)is;
	/* Its name may be another's by now. */
	e.watch = inotify_add_watch(file->watch->fd, fd_path(path, at),
				    IN_MOVED_TO | IN_CREATE | IN_ONLYDIR | IN_MASK_ADD | (last ? IN_CLOSE_WRITE : 0) |
					    (file->gone ? IN_GONE : 0));
	/* A directory on the way may be unreadable; only for the file's own directory is that an error. */
	if (e.watch < 0)
		return !last ? 0
			     : because(-errno, "%s: cannot be watched: %s%s", directory, strerror(errno),
				       errno == ENOSPC ? " (fs.inotify.max_user_watches?)" : "");
	err = use(file->watch, e.watch);
	return err ? err : keep(file->watch, e, directory, name);
}

int file_watch_add(struct file_watch *f, const char *path, size_t number, bool gone)
{
	struct file file = { f, number, gone };
	int err;

	if (f->fd < 0)
		return because(f->err, "inotify: %s%s", errno_text(f->err),
			       err_is(f->err, EMFILE) ? " (fs.inotify.max_user_instances?)" : "");
	err = way_walk(path, on_step, &file);

	/* A file that is missing is reported when it comes: the path is watched as far as it leads to one. */
	return err_is(err, ENOENT) || err_is(err, ENOTDIR) || err_is(err, ELOOP) || err_is(err, EXDEV) ? 0 : err;
}

void file_watch_end(struct file_watch *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->watches_n; i++)
		if (f->watches[i].used)
			f->watches[kept++] = f->watches[i];
		else /* fails if the directory is gone */
			inotify_rm_watch(f->fd, f->watches[i].number);
	f->watches_n = kept;
}

/* A new link or directory is complete at once; a new file is still to be written and closed. */
static bool made_whole(const struct entry *e)
{
	enum answers before = way_waits_for(KERNEL_ANSWERS);
	struct stat st;
	bool whole = !e->last || (!way_look(e->path, false, &st) && (S_ISLNK(st.st_mode) || st.st_nlink > 1));

	way_waits_for(before);
	return whole;
}

static bool means(const struct entry *e, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW) /* events were lost: anything may have changed */
		return true;
	return e->watch == event->wd && event->len && !strcmp(e->name, event->name) &&
	       (event->mask & (IN_CLOSE_WRITE | IN_MOVED_TO | (e->gone ? IN_GONE : 0)) ||
		(event->mask & IN_CREATE && made_whole(e)));
}

void file_watch_read(struct file_watch *f, void (*changed)(void *arg, size_t number), void *arg)
{
	char buf[2048] __attribute__((aligned(__alignof__(struct inotify_event))));
	/* Once: what is left comes next. A process that keeps writing files next to ours must not hold us here. */
	ssize_t got = read(f->fd, buf, sizeof(buf));

	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event = (const struct inotify_event *)(buf + at);

		for (size_t i = 0; i < f->n; i++)
			if (means(&f->entries[i], event))
				changed(arg, f->entries[i].number);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
}
