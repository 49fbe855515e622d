// SPDX-License-Identifier: GPL-2.0-only
/* How far a command is, as a terminal sees it: by a clock of ours, through a terminal of ours. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "ktap.h"
#include "base/close_fd.h"
#include "base/context.h"
#include "base/progress.h"
#include "naive.h"

static double now, first; /* the time, and when the case began */

int __wrap_clock_gettime(clockid_t clock, struct timespec *is);
int __wrap_clock_gettime(clockid_t clock, struct timespec *is)
{
	(void)clock;
	is->tv_sec = (time_t)now;
	is->tv_nsec = (long)((now - (double)is->tv_sec) * 1e9);
	return 0;
}

static int terminal, other, own;

static void begin(bool is_terminal)
{
	struct termios raw;
	int pair[2];

	if (is_terminal) {
		terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
		ENOUGH(terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal));
		other = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
		ENOUGH(!tcgetattr(other, &raw));
		cfmakeraw(&raw);
		ENOUGH(!tcsetattr(other, TCSANOW, &raw));
	} else {
		ENOUGH(!pipe(pair));
		terminal = pair[0];
		other = pair[1];
	}
	fflush(stderr);
	ENOUGH(dup2(other, STDERR_FILENO) == STDERR_FILENO);
	now = first += 1000;
}

static void end(void)
{
	ENOUGH(dup2(own, STDERR_FILENO) == STDERR_FILENO);
	close_fd(terminal);
	close_fd(other);
}

#define MARK '\1'

static void came(const char *wanted)
{
	const char mark = MARK;
	char text[512] = "";
	size_t n = 0;

	fflush(stderr);
	ENOUGH(write(other, &mark, 1) == 1);
	do
		ENOUGH(n < sizeof(text) && read(terminal, text + n, 1) == 1);
	while (text[n++] != mark);
	text[n - 1] = '\0';
	CHECK(!strcmp(text, wanted), "%f s: '%s', not '%s'", now - first, text, wanted);
}

#define TENTH	"####"
#define EMPTY	"    "
#define HALF	TENTH TENTH TENTH TENTH TENTH
#define NOTHING EMPTY EMPTY EMPTY EMPTY EMPTY

static void bars(void)
{
	begin(true);
	progress_show("reading", 0);
	came("\r[" NOTHING NOTHING "]   0 % reading\033[K");
	now += 0.09;
	progress_show("reading", 0.3);
	came("");
	now += 0.02;
	progress_show("reading", 0.1);
	came("\r[" TENTH EMPTY EMPTY EMPTY EMPTY NOTHING "]  10 % reading\033[K");
	now += 1;
	progress_show("filling", 0.5);
	came("\r[" HALF NOTHING "]  50 % filling\033[K");
	now += 1;
	progress_show("filling", 0.999);
	came("\r[" HALF TENTH TENTH TENTH TENTH "### ] 100 % filling\033[K");
	now += 1;
	progress_show("filling", 1.5);
	came("\r[" HALF HALF "] 100 % filling\033[K");
	now += 1;
	progress_show("loading", -1);
	came("\rloading ...\033[K");
	progress_end();
	came("\r\033[K");
	progress_end();
	came("");
	/* Nothing is on the screen: it need not wait for its turn. */
	progress_show("loading", -1);
	came("\rloading ...\033[K");
	progress_end();
	came("\r\033[K");
	end();
}

/* The first second counts from the start of the process. */
static void at_once(void)
{
	double later = first;

	begin(true);
	now = 0.9;
	progress_show("reading", 0);
	progress_end();
	came("");
	now = 1.1;
	progress_show("reading", -1);
	came("\rreading ...\033[K");
	progress_end();
	came("\r\033[K");
	first = later;
	end();
}

static void asked_for(void)
{
	static const struct context quiet = { .quiet = true }, json = { .json = true }, neither = { 0 };

	begin(true);
	progress(&quiet, "reading", 0);
	progress(&json, "reading", 0);
	progress_end();
	came("");
	progress(&neither, "reading", -1);
	came("\rreading ...\033[K");
	progress_end();
	end();
}

static void no_terminal(void)
{
	begin(false);
	progress_show("reading", 0);
	progress_show("reading", -1);
	progress_end();
	came("");
	end();
}

static void of_files(void)
{
	int fd = memfd_create("progress", MFD_CLOEXEC), pair[2];

	CHECK(progress_of(fd) < 0, "of an empty file");
	ENOUGH(!ftruncate(fd, 4096) && lseek(fd, 1024, SEEK_SET) == 1024);
	CHECK(progress_of(fd) == 0.25, "%f, not a quarter", progress_of(fd));
	close_fd(fd);
	ENOUGH(!pipe(pair));
	CHECK(progress_of(pair[0]) < 0, "of a pipe");
	CHECK(progress_of(-1) < 0, "of nothing");
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	CHECK(fd < 0 || progress_of(fd) < 0, "of a device");
	close_fd(fd);
	close_fd(pair[0]);
	close_fd(pair[1]);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "a second passes first", at_once },	     { "bars", bars },
		{ "not with --quiet or --json", asked_for }, { "not where there is no terminal", no_terminal },
		{ "how much of a file was read", of_files },
	};

	own = dup(STDERR_FILENO);
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
