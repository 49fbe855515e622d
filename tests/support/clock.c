// SPDX-License-Identifier: GPL-2.0-only
/* To be preloaded: the clock is as many seconds ahead as the file CLOCK_AHEAD says. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

time_t time(time_t *now)
{
	const char *path = getenv("CLOCK_AHEAD");
	FILE *file = path ? fopen(path, "re") : NULL;
	struct timespec is;
	long ahead = 0;

	if (file && fscanf(file, "%ld", &ahead) != 1)
		ahead = 0;
	if (file)
		fclose(file);
	clock_gettime(CLOCK_REALTIME, &is);
	is.tv_sec += ahead;
	if (now)
		*now = is.tv_sec;
	return is.tv_sec;
}
