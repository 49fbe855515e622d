// SPDX-License-Identifier: GPL-2.0-only
/* Which lines of the config file fail, as the service keeps it and another process takes it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/state_path.h"
#include "ktap.h"
#include "observe/lines_down.h"

static char directory[] = "/tmp/unit_lines_down.XXXXXX", file[64], fresh[64];
static struct context context = CONTEXT_DEFAULT;

static void taken(void)
{
	struct lines_down down = { { "line 3 fails", "line\t4\x1b[2J" }, 2 }, got;
	struct stat is;

	lines_down_keep(&context, STATE_LINES, &down);
	CHECK(!stat(file, &is) && (is.st_mode & 0777) == 0600 && access(fresh, F_OK), "what lies there is %o",
	      is.st_mode);
	lines_down_take(&got, &context, STATE_LINES, true);
	CHECK(got.n == 2 && !strcmp(got.text[0], "line 3 fails") && !strcmp(got.text[1], "line?4?[2J"), "%zu: '%s'",
	      got.n, got.text[1]);
	lines_down_take(&got, &context, STATE_LINES, false);
	CHECK(!got.n, "%zu without a service", got.n);
	down.n = LINES_DOWN_MAX;
	for (size_t i = 0; i < LINES_DOWN_MAX; i++)
		snprintf(down.text[i], LINE_DOWN_MAX, "%0*zu", LINE_DOWN_MAX - 1, i);
	lines_down_keep(&context, STATE_LINES, &down);
	lines_down_take(&got, &context, STATE_LINES, true);
	CHECK(got.n == LINES_DOWN_MAX && !memcmp(got.text, down.text, sizeof(got.text)), "%zu of the longest", got.n);
	down.n = 0;
	lines_down_keep(&context, STATE_LINES, &down);
	lines_down_take(&got, &context, STATE_LINES, true);
	CHECK(!got.n && access(file, F_OK), "%zu where none fails", got.n);
}

static bool says(const char *wanted)
{
	const struct lines_down down = { { "line 3 fails" }, 1 };
	char expected[200];
	FILE *messages = stderr;
	char *said = NULL;
	size_t size;
	bool is;

	stderr = open_memstream(&said, &size);
	lines_down_keep(&context, STATE_LINES, &down);
	fclose(stderr);
	stderr = messages;
	snprintf(expected, sizeof(expected), "%s: %s; 'status' will not show what is wrong\n", fresh, wanted);
	is = CHECK(strstr(said, expected), "'%s'", said);
	free(said);
	return is;
}

/* In the log, as an event and in the file, which goes as it is over. */
static void said(void)
{
	char events[80], line[500] = "", *text = NULL;
	FILE *messages = stderr, *in;
	struct lines_down got;
	size_t size;

	snprintf(events, sizeof(events), "%s/" STATE_EVENTS, directory);
	stderr = open_memstream(&text, &size);
	line_down_say(&context, STATE_LINES, true, "port %d is taken", 9);
	lines_down_take(&got, &context, STATE_LINES, true);
	CHECK(got.n == 1 && !strcmp(got.text[0], "port 9 is taken"), "%zu: '%s'", got.n, got.text[0]);
	line_down_say(&context, STATE_LINES, false, "it listens at port %d", 9);
	fclose(stderr);
	stderr = messages;
	CHECK(access(file, F_OK), "it is there");
	CHECK(!strcmp(text, "xdp-bloom: port 9 is taken\nxdp-bloom: it listens at port 9\n"), "'%s'", text);
	free(text);
	in = fopen(events, "r");
	if (!CHECK(in, "no events"))
		return;
	CHECK(fgets(line, sizeof(line), in) && strstr(line, "\"fault\"") && strstr(line, "port 9 is taken"), "%s",
	      line);
	CHECK(fgets(line, sizeof(line), in) && strstr(line, "\"healed\"") && strstr(line, "it listens at port 9"), "%s",
	      line);
	fclose(in);
	remove(events);
}

static void cannot_be_written(void)
{
	char in_it[80];

	CHECK(!mkdir(fresh, 0700), "no directory");
	says("Is a directory");
	CHECK(!rmdir(fresh) && access(file, F_OK), "it is there");
	snprintf(in_it, sizeof(in_it), "%s/x", file);
	CHECK(!mkdir(file, 0700) && !mkdir(in_it, 0700), "no directory");
	says("Is a directory");
	CHECK(access(fresh, F_OK) && !rmdir(in_it) && !rmdir(file), "something is left behind");
}

int main(void)
{
	static const struct ktap_case cases[] = { { "taken", taken },
						  { "said", said },
						  { "cannot be written", cannot_be_written } };
	int status;

	if (!mkdtemp(directory))
		return KTAP_FAIL;
	context.state = directory;
	snprintf(file, sizeof(file), "%s/" STATE_LINES, directory);
	snprintf(fresh, sizeof(fresh), "%s/" STATE_LINES ".new", directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	if (rmdir(directory))
		printf("# %s stays\n", directory);
	return status;
}
