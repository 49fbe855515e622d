// SPDX-License-Identifier: GPL-2.0-only
#include "follow.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

/* A name in a directory that is watched. */
struct entry {
	int watch;
	char *path, *name; /* its last part */
	size_t number;
	bool old; /* of the round before */
};

struct follow {
	int fd;
	struct entry *entries;
	size_t n;
};

struct follow *follow_open(int *err)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (f)
		f->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	*err = !f ? -ENOMEM : f->fd < 0 ? because(-errno, "inotify: %s", strerror(errno)) : 0;
	if (*err) {
		free(f);
		f = NULL;
	}
	return f;
}

int follow_fd(const struct follow *f)
{
	return f->fd;
}

void follow_close(struct follow *f)
{
	if (!f)
		return;
	follow_begin(f);
	follow_end(f);
	close(f->fd);
	free(f->entries);
	free(f);
}

void follow_begin(struct follow *f)
{
	for (size_t i = 0; i < f->n; i++)
		f->entries[i].old = true;
}

static int add(struct follow *f, const char *path, size_t number)
{
	int length = (int)(strrchr(path, '/') - path);
	char directory[PATH_MAX];
	struct entry *grown = reallocarray(f->entries, f->n + 1, sizeof(*grown));
	struct entry e = { .number = number };

	if (!grown)
		return -ENOMEM;
	f->entries = grown;
	snprintf(directory, sizeof(directory), "%.*s", length ? length : 1, path);
	e.watch = inotify_add_watch(f->fd, directory, IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR);
	if (e.watch < 0)
		return because(-errno, "%s: cannot be watched: %s", directory, strerror(errno));
	e.path = strdup(path);
	if (!e.path)
		return -ENOMEM;
	e.name = e.path + length + 1;
	f->entries[f->n++] = e;
	return 0;
}

int follow_add(struct follow *f, const char *path, size_t number)
{
	char real[PATH_MAX];
	int err = add(f, path, number);

	/* What it points at may be written where it is, too. */
	if (!err && realpath(path, real) && strcmp(real, path) != 0)
		err = add(f, real, number);
	return err;
}

void follow_end(struct follow *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		bool used = false;

		for (size_t j = 0; f->entries[i].old && j < f->n; j++)
			used = used || (!f->entries[j].old && f->entries[j].watch == f->entries[i].watch);
		/* Twice, or gone with its directory: that is an error nobody minds. */
		if (f->entries[i].old && !used)
			inotify_rm_watch(f->fd, f->entries[i].watch);
	}
	for (size_t i = 0; i < f->n; i++) {
		if (f->entries[i].old)
			free(f->entries[i].path);
		else
			f->entries[kept++] = f->entries[i];
	}
	f->n = kept;
}

/* A link that is made is whole at once; a file that is made will be written and closed. */
static bool made_whole(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && (S_ISLNK(st.st_mode) || st.st_nlink > 1);
}

static bool means(const struct entry *e, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW) /* some were lost: anything may have changed */
		return true;
	return e->watch == event->wd && event->len && !strcmp(e->name, event->name) &&
	       (event->mask & (IN_CLOSE_WRITE | IN_MOVED_TO) || (event->mask & IN_CREATE && made_whole(e->path)));
}

void follow_read(struct follow *f, void (*changed)(void *arg, size_t number), void *arg)
{
	char buf[8192] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t got;

	while ((got = read(f->fd, buf, sizeof(buf))) > 0)
		for (char *at = buf; at < buf + got;) {
			const struct inotify_event *event = (const struct inotify_event *)at;

			for (size_t i = 0; i < f->n; i++)
				if (means(&f->entries[i], event))
					changed(arg, f->entries[i].number);
			at += sizeof(*event) + event->len;
		}
}
