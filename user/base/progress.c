// SPDX-License-Identifier: GPL-2.0-only
#include "base/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/context.h"

#define BAR   40
#define AFTER 1.0 /* s */
#define AGAIN 0.1

static double began, drawn;

__attribute__((constructor)) static void begin(void)
{
	began = clock_seconds();
}

void progress_show(const char *what, double part)
{
	double now = clock_seconds(), to = part > 1 ? 1 : part;
	int full = (int)(to * BAR);

	if (now - began < AFTER || now - drawn < AGAIN || !isatty(STDERR_FILENO))
		return;
	if (part < 0)
		fprintf(stderr, "\r%s ...\033[K", what);
	else
		fprintf(stderr, "\r[%.*s%*s] %3.0f %% %s\033[K", full, "########################################",
			BAR - full, "", to * 100, what);
	drawn = now;
}

void progress(const struct context *context, const char *what, double part)
{
	if (!context->quiet && !context->json)
		progress_show(what, part);
}

double progress_of(int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	return at < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size ? -1 : (double)at / (double)st.st_size;
}

void progress_end(void)
{
	if (drawn > 0)
		fputs("\r\033[K", stderr);
	drawn = 0;
}
