// SPDX-License-Identifier: GPL-2.0-only
#include "state/failed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/context.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "state/unshown.h"

/* In its file: "since last\nwhy\n". */
#define FAILURE_FORMAT "%lld %lld\n%s\n"

static bool name_is_sound(const char *name)
{
	return *name && *name != '-' && strlen(name) < LIST_NAME_MAX && !list_name_is_dots(name) &&
	       !name[strspn(name, LIST_NAME_BYTES)];
}

static const char *path_of(char path[STATE_PATH_MAX], const struct context *context, const char *list)
{
	char name[sizeof(STATE_FAILED) + LIST_NAME_MAX + 8];

	snprintf(name, sizeof(name), STATE_FAILED "/%s", list);
	return state_path(path, context->state, name);
}

static bool read_failure(const struct context *context, const char *list, struct list_failure *f)
{
	char path[STATE_PATH_MAX], text[sizeof(f->why) + 64];
	int fd = open(path_of(path, context, list), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	long long since, last;
	int at = 0;

	close_fd(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (sscanf(text, "%lld %lld\n%n", &since, &last, &at) != 2 || !at || since < 0 || last < since ||
	    last > TIME_MOST)
		return false;
	*f = (struct list_failure){ .since = since, .last = last };
	text[at + (int)strcspn(text + at, "\n")] = '\0';
	snprintf(f->list, sizeof(f->list), "%s", list);
	clean_copy(f->why, sizeof(f->why), text + at);
	return true;
}

void list_failed(const struct context *context, const char *list, const char *why)
{
	char path[STATE_PATH_MAX], fresh[STATE_PATH_MAX];
	struct list_failure f;
	int64_t now = time(NULL);
	FILE *out;
	int fd;

	if (!name_is_sound(list) || access(context->state, W_OK) || trust_directory(context->state))
		return;
	if (!read_failure(context, list, &f) || f.since > now)
		f.since = now;
	clean_copy(f.why, sizeof(f.why), why);
	(void)mkdir(state_path(path, context->state, STATE_FAILED), 0700);
	/* A name that no list has. */
	snprintf(fresh, sizeof(fresh), "%.*s/-%d", (int)sizeof(fresh) - 16, path, (int)getpid());
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (out)
		fprintf(out, FAILURE_FORMAT, (long long)f.since, (long long)now, f.why);
	if (!out || fclose(out) || rename(fresh, path_of(path, context, list))) {
		warn("%s: %s; 'status' and 'lists' will not show that the list was refused", fresh, strerror(errno));
		unlink(fresh);
		unshown_note(context->state);
	}
}

void list_succeeded(const struct context *context, const char *list)
{
	char path[STATE_PATH_MAX];

	if (name_is_sound(list) && !unlink(path_of(path, context, list)))
		(void)rmdir(state_path(path, context->state, STATE_FAILED)); /* the last one's */
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct list_failure *)a)->list, ((const struct list_failure *)b)->list);
}

void list_failures(const struct context *context, struct list_failure **failures, size_t *n)
{
	char path[STATE_PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	*failures = NULL;
	*n = 0;
	dir = opendir(state_path(path, context->state, STATE_FAILED));
	while (dir && (entry = readdir(dir))) {
		if (!name_is_sound(entry->d_name))
			continue;
		if (!GROW(*failures, *n))
			break;
		*n += read_failure(context, entry->d_name, &(*failures)[*n]);
	}
	if (dir)
		closedir(dir);
	if (*n)
		qsort(*failures, *n, sizeof(**failures), by_name);
}

const struct list_failure *list_failure_of(const struct list_failure *failures, size_t n, const char *list)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(failures[i].list, list))
			return &failures[i];
	return NULL;
}
