// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/mapped.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "observe/history_internal.h"

#define HISTORY_MAGIC	0x78626c6f6f6d6831ULL
#define HISTORY_VERSION 4

static bool is_ours(const struct file *f)
{
	return f->magic == HISTORY_MAGIC && f->version == HISTORY_VERSION && f->size == sizeof(*f);
}

static void make_ours(struct file *f)
{
	f->version = HISTORY_VERSION;
	f->size = sizeof(*f);
	f->magic = HISTORY_MAGIC;
}

/* A file of another size or version: a reader gets -EPROTO, a writer empties it. */
static int map_file(int fd, bool write, struct file **file)
{
	struct stat is;
	struct file *f;

	if (fstat(fd, &is))
		return -errno;
	if (is.st_size != sizeof(*f) && !write)
		return -EPROTO;
	/* Allocate all of it now: a full disk is an error here, and would be a signal later. */
	if (is.st_size != sizeof(*f) && (ftruncate(fd, 0) || posix_fallocate(fd, 0, sizeof(*f))))
		return -ENOSPC;
	*file = f = mapped_file(fd, sizeof(*f), write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED);
	if (!f)
		return -errno;
	if (is_ours(f))
		return 0;
	if (!write) {
		mapped_end(f, sizeof(*f));
		return -EPROTO;
	}
	memset(f, 0, sizeof(*f));
	make_ours(f);
	return 0;
}

int history_open(const struct context *context, struct history **history, bool write)
{
	struct history *h = calloc(1, sizeof(*h));
	char path[STATE_PATH_MAX];
	int fd, err;

	*history = NULL;
	if (!h)
		return -ENOMEM;
	if (!*state_path(path, context->state, STATE_HISTORY))
		err = because(-ENAMETOOLONG, "%s: the path is too long", context->state);
	else
		err = access(context->state, F_OK) ? 0 : trust_directory(context->state);
	if (err) {
		free(h);
		return err;
	}
	fd = open(path, write ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : map_file(fd, write, &h->file);
	close_fd(fd);
	if (!err) {
		*history = h;
		return 0;
	}
	free(h);
	if (err_is(err, ENOENT))
		return because(err, "there is no history: the service keeps it (xdp-bloom run)");
	return because(err, "%s: %s", path, err_is(err, EPROTO) ? "of another version" : errno_text(err));
}

int history_private(struct history **history)
{
	struct history *h = calloc(1, sizeof(*h));

	if (h)
		h->file = mmap(NULL, sizeof(*h->file), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (h && h->file == MAP_FAILED) {
		free(h);
		h = NULL;
	}
	if (h)
		make_ours(h->file);
	*history = h;
	return h ? 0 : -ENOMEM;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	mapped_end(h->file, sizeof(*h->file));
	free(h);
}

bool history_is_lost(const struct history *h)
{
	return mapped_is_cut(h->file) || !is_ours(h->file);
}

void history_write_begin(struct history *h)
{
	h->file->sequence |= 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void history_write_end(struct history *h)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	h->file->sequence++;
}
