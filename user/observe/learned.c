// SPDX-License-Identifier: GPL-2.0-only
#include "observe/learned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/log.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"

/* A class has ten sources. */
#define LEARNED_MAX (64 << 10)

#define FRESH STATE_LEARNED ".new"

int learned_write(const struct context *context, const json_t *document)
{
	char fresh[STATE_PATH_MAX], path[STATE_PATH_MAX];
	int err = trust_directory(context->state), fd;

	if (err)
		return err;
	state_path(fresh, context->state, FRESH);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || json_dumpfd(document, fd, JSON_COMPACT) || fsync(fd) ||
	    rename(fresh, state_path(path, context->state, STATE_LEARNED)))
		err = because(-(errno ?: EIO), "%s: %s", fresh, strerror(errno ?: EIO));
	close_fd(fd);
	if (err)
		unlink(fresh);
	return err;
}

json_t *learned_read(const struct context *context)
{
	char path[STATE_PATH_MAX], text[LEARNED_MAX];
	int fd = open(state_path(path, context->state, STATE_LEARNED), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	json_t *document = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;

	close_fd(fd);
	if (json_is_string(json_object_get(document, "from")) && json_is_string(json_object_get(document, "until")) &&
	    json_is_object(json_object_get(json_object_get(document, "detect"), "classes")))
		return document;
	json_decref(document);
	return NULL;
}
