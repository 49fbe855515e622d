// SPDX-License-Identifier: GPL-2.0-only
/* What is installed beside the command: where it is looked for, wherever the command is. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "ktap.h"

static const char *us, *there; /* NULL: it is not known; and: nothing is */
static unsigned int looks;

/* As readlink(2): without an end. */
static ssize_t given_readlink(const char *path, char *to, size_t size)
{
	size_t n = us ? strlen(us) : 0;

	if (strcmp(path, "/proc/self/exe") != 0 || size != PATH_MAX - 1) /* and its end */
		abort();
	errno = EACCES;
	memset(to, '#', size);
	memcpy(to, us ?: "", n < size ? n : size);
	return us ? (ssize_t)(n < size ? n : size) : -1;
}

static int given_access(const char *path, int how)
{
	looks++;
	return how == R_OK && there && !strcmp(path, there) ? 0 : -1;
}

#define readlink given_readlink
#define access	 given_access
#include "base/beside.c"

static void found(void)
{
	static const char *const places[] = { "/a", "/../b", "/../share/c", NULL };
	static const struct {
		const char *us, *there, *path;
		unsigned int looks; /* 0: it is not found */
	} cases[] = {
		{ "/usr/bin/us", "/usr/bin/a", "/usr/bin/a", 1 },
		{ "/usr/bin/us", "/usr/bin/../b", "/usr/bin/../b", 2 },
		{ "/usr/bin/us", "/usr/bin/../share/c", "/usr/bin/../share/c", 3 },
		{ "/us", "/a", "/a", 1 },
		{ "us", "us/a", "us/a", 1 },
		{ "", "/a", "/a", 1 },
		{ "/usr/bin/us", NULL, "/usr/bin/a", 0 },
		{ "/usr/bin/us", "/usr/bin/c", "/usr/bin/a", 0 },
	};
	char path[BESIDE_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int err;

		us = cases[i].us;
		there = cases[i].there;
		looks = 0;
		err = beside_find(path, places);
		CHECK(cases[i].looks ? !err && looks == cases[i].looks : err_is(err, ENOENT) && looks == 3,
		      "case %zu: %s, after %u", i, err ? errno_text(err) : "found", looks);
		CHECK(!strcmp(path, cases[i].path), "case %zu: '%s'", i, path);
	}
}

static void unknown(void)
{
	static const char *const places[] = { "/a", NULL };
	char path[BESIDE_MAX] = "before";
	int err;

	us = NULL;
	looks = 0;
	err = beside_find(path, places);
	CHECK(err_is(err, EACCES) && !strcmp(reason(err), "/proc/self/exe: Permission denied") && !*path && !looks,
	      "'%s', '%s'", err ? reason(err) : "found", path);
}

/* As long as any path is. */
static void longest(void)
{
	static const char *const places[] = { "/a", NULL };
	static char one[PATH_MAX + 10], expected[PATH_MAX + 10];
	char path[BESIDE_MAX];

	memset(one, 'x', sizeof(one) - 1);
	one[0] = '/';
	one[PATH_MAX - 3] = '/';
	one[PATH_MAX - 1] = '\0';
	us = one;
	there = NULL;
	snprintf(expected, sizeof(expected), "%.*s/a", PATH_MAX - 3, one);
	CHECK(err_is(beside_find(path, places), ENOENT) && !strcmp(path, expected), "%zu bytes, not %zu", strlen(path),
	      strlen(expected));
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is there", found },
		{ "where it is not known where we are", unknown },
		{ "the longest path", longest },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
