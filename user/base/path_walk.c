// SPDX-License-Identifier: GPL-2.0-only
#include "base/path_walk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as many as the kernel follows */

static int join(char to[PATH_MAX], const char *a, const char *b)
{
	return (size_t)snprintf(to, PATH_MAX, "%s/%s", a, b) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Where we are, and what that is: without a mode where it is not known yet. */
struct place {
	char at[PATH_MAX];
	struct stat is;
};

/* Looks up `name` there: goes to it, or, where it is a link, puts its target in front of `left` into `rest`. */
static int look_up(struct place *here, const char *name, const char *left, char rest[PATH_MAX], int *links)
{
	char whole[PATH_MAX], target[PATH_MAX];
	int err = join(whole, here->at, name);
	struct stat is;
	ssize_t length;

	if (err || lstat(whole, &is))
		return err ?: -errno;
	if (!S_ISLNK(is.st_mode)) {
		strcpy(here->at, whole);
		here->is = is;
		memmove(rest, left, strlen(left) + 1);
		return 0;
	}
	length = readlink(whole, target, sizeof(target) - 1);
	if (length < 0)
		return -errno;
	if (++*links > LINKS_MAX)
		return -ELOOP;
	target[length] = '\0';
	if (*target == '/')
		*here = (struct place){ 0 };
	err = join(whole, target, left);
	if (!err)
		strcpy(rest, whole);
	return err;
}

int way_walk(const char *path, way_step *step, void *arg)
{
	char rest[PATH_MAX], name[NAME_MAX + 1];
	struct place here = { 0 };
	int links = 0, err = 0;

	if (*path != '/' && !getcwd(here.at, sizeof(here.at)))
		return -errno;
	if (!strcmp(here.at, "/"))
		*here.at = '\0';
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
			if (here.is.st_mode && !S_ISDIR(here.is.st_mode))
				return -ENOTDIR;
			if (name[1] && *here.at) {
				*strrchr(here.at, '/') = '\0';
				here.is.st_mode = 0;
			}
			memmove(rest, left, strlen(left) + 1);
			continue;
		}
		if (!here.is.st_mode && stat(*here.at ? here.at : "/", &here.is))
			return -errno;
		err = step(arg, *here.at ? here.at : "/", &here.is, name, !*left);
		if (!err)
			err = look_up(&here, name, left, rest, &links);
	}
	return err;
}
