// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/packets_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "observe/pcapng.h"

/* What is not there yet is of its directory. */
static int locate(char real[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char directory[PATH_MAX], found[PATH_MAX];

	if (realpath(path, real))
		return 0;
	if (errno != ENOENT)
		return -errno;
	if (snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".") >=
	    (int)sizeof(directory))
		return -ENAMETOOLONG;
	if (!realpath(directory, found))
		return -errno;
	return snprintf(real, PATH_MAX, "%s/%s", found, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int packets_out_look(struct packets_out *o, const char *path)
{
	struct stat report;
	int err;

	*o = (struct packets_out){ .path = path };
	if (!path)
		return 0;
	o->there = !stat(path, &o->st);
	err = o->there && !S_ISREG(o->st.st_mode) ? 0 : locate(o->real, path);
	if (err)
		return because(err, "%s: %s", path, errno_text(err));
	if (!strcmp(path, "-") ||
	    (!fstat(STDOUT_FILENO, &report) && S_ISREG(report.st_mode) && packets_out_is(o, &report)))
		return because(-EINVAL, "the report goes to standard output; write packets into a file");
	return 0;
}

bool packets_out_is(const struct packets_out *o, const struct stat *st)
{
	return o->there && (S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode)) && o->st.st_dev == st->st_dev &&
	       o->st.st_ino == st->st_ino;
}

bool packets_out_same(const struct packets_out *a, const struct packets_out *b)
{
	if (!a->path || !b->path || a->there != b->there)
		return false;
	return a->there ? packets_out_is(a, &b->st) : !strcmp(a->real, b->real);
}

int packets_out_open(struct packets_out *o)
{
	int fd, err = 0;

	if (!o->path)
		return 0;
	if (o->there && !S_ISREG(o->st.st_mode)) {
		fd = open(o->path, O_WRONLY | O_CLOEXEC);
	} else {
		if (snprintf(o->beside, sizeof(o->beside), "%s.XXXXXX", o->real) >= (int)sizeof(o->beside)) {
			o->beside[0] = '\0';
			return because(-ENAMETOOLONG, "%s: the name is too long", o->path);
		}
		fd = mkostemp(o->beside, O_CLOEXEC); /* other people's packets: only the owner may read them */
	}
	if (fd < 0) {
		err = -errno;
		o->beside[0] = '\0';
	}
	err = err ?: pcapng_open_fd(&o->file, fd);
	return err ? because(err, "%s: %s", o->path, errno_text(err)) : 0;
}

static int drop(struct packets_out *o, int err)
{
	if (err && o->beside[0]) {
		unlink(o->beside);
		o->beside[0] = '\0';
	}
	return err;
}

int packets_out_close(struct packets_out *o, int err)
{
	int closed = o->file ? pcapng_close(o->file) : 0;

	o->file = NULL;
	if (!err && closed)
		err = because(closed, "%s: %s", o->path, errno_text(closed));
	return drop(o, err);
}

int packets_out_keep(struct packets_out *o, int err)
{
	if (!err && o->beside[0] && rename(o->beside, o->real))
		err = because(-errno, "%s: %s", o->path, strerror(errno));
	return drop(o, err);
}
