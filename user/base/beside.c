// SPDX-License-Identifier: GPL-2.0-only
#include "base/beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

int beside_find(char path[BESIDE_MAX], const char *const *places)
{
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	path[0] = '\0';
	if (n < 0)
		return because(-errno, "/proc/self/exe: %s", strerror(errno));
	own[n] = '\0';
	slash = strrchr(own, '/');
	if (slash)
		*slash = '\0';
	for (const char *const *place = places; *place; place++) {
		snprintf(path, BESIDE_MAX, "%s%s", own, *place);
		if (!access(path, R_OK))
			return 0;
	}
	snprintf(path, BESIDE_MAX, "%s%s", own, places[0]);
	return -ENOENT;
}
