// SPDX-License-Identifier: GPL-2.0-only
#include "base/path_walk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as many as the kernel follows */

static int join(char to[PATH_MAX], const char *a, const char *b)
{
	return (size_t)snprintf(to, PATH_MAX, "%s/%s", a, b) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Looks up `at`/`name`: goes there, or, where it is a link, puts its target in front of `left` into `rest`. */
static int look_up(char at[PATH_MAX], const char *name, const char *left, char rest[PATH_MAX], int *links)
{
	char whole[PATH_MAX], target[PATH_MAX];
	int err = join(whole, at, name);
	ssize_t length = err ? 0 : readlink(whole, target, sizeof(target) - 1);

	if (!err && length < 0)
		err = errno == EINVAL ? 0 : -errno;
	else if (!err && ++*links > LINKS_MAX)
		err = -ELOOP;
	if (err)
		return err;
	if (length < 0) {
		strcpy(at, whole);
		memmove(rest, left, strlen(left) + 1);
		return 0;
	}
	target[length] = '\0';
	if (*target == '/')
		*at = '\0';
	err = join(whole, target, left);
	if (!err)
		strcpy(rest, whole);
	return err;
}

int way_walk(const char *path, int (*step)(void *arg, const char *directory, const char *name, bool last), void *arg)
{
	char at[PATH_MAX] = "", rest[PATH_MAX], name[NAME_MAX + 1];
	int links = 0, err = 0;

	if (*path != '/' && !getcwd(at, sizeof(at)))
		return -errno;
	if (!strcmp(at, "/"))
		*at = '\0';
	if (strlen(path) >= sizeof(rest))
		return -ENAMETOOLONG;
	strcpy(rest, path);
	while (!err) {
		const char *begin = rest + strspn(rest, "/");
		size_t length = strcspn(begin, "/");
		const char *left = begin + length + strspn(begin + length, "/");

		if (!length)
			break;
		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, begin, length);
		name[length] = '\0';
		if (!strcmp(name, ".") || !strcmp(name, "..")) {
			if (name[1] && *at)
				*strrchr(at, '/') = '\0';
			memmove(rest, left, strlen(left) + 1);
			continue;
		}
		err = step(arg, *at ? at : "/", name, !*left);
		if (!err)
			err = look_up(at, name, left, rest, &links);
	}
	return err;
}
