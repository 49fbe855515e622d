// SPDX-License-Identifier: GPL-2.0-only
/* The far ends of tunnels, as a file of the state directory keeps them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktap.h"
#include "naive.h"
#include "state/far_ends.h"
#include "state/internal.h"

static char directory[200], path[220];
static struct state *state;

/* "192.0.2.1 192.0.2.2 2001:db8::1 " */
static void say(void *text, struct addr end)
{
	char one[PREFIX_TEXT_MAX];

	prefix_text(one, end, -1);
	snprintf((char *)text + strlen(text), 300 - strlen(text), "%s ", one);
}

static void holds(const char *wanted)
{
	struct ranges ends;
	char text[300] = "";

	ENOUGH(!far_ends_kept(state, &ends));
	far_ends_each(&ends, say, text);
	CHECK(!strcmp(text, wanted), "'%s', not '%s'", text, wanted);
	ranges_free(&ends);
}

static void keep(const char *const *ends)
{
	struct ranges set = RANGES_EMPTY;

	for (; *ends; ends++) {
		struct addr end;

		ENOUGH(!addr_parse(*ends, strlen(*ends), &end));
		ENOUGH(!ranges_add_prefix(&set, end, addr_width(end.family)));
	}
	ENOUGH(!ranges_finish(&set));
	far_ends_keep(state, &set);
	ranges_free(&set);
}

static void put(const char *text)
{
	FILE *file = fopen(path, "w");

	ENOUGH(file);
	fputs(text, file);
	fclose(file);
}

static void kept(void)
{
	static const char *const ends[] = { "192.0.2.2",       "2001:db8::1", "192.0.2.1",
					    "255.255.255.255", "2001:db8::",  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
					    "0.0.0.1",	       "192.0.2.2",   NULL },
				 *const none[] = { NULL };
	struct stat st;

	holds("");
	keep(ends);
	CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0600, "whoever may write there");
	holds("0.0.0.1 192.0.2.1 192.0.2.2 255.255.255.255 2001:db8:: 2001:db8::1 "
	      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ");
	keep(none);
	holds("");
}

/* A damaged file says what is left of it; of a prefix nothing, as it would be many. */
static void damaged(void)
{
	put("192.0.2.1\n\n0.0.0.0/0\n192.0.2.\n::/0\nnobody\n192.0.2.2");
	holds("192.0.2.1 192.0.2.2 ");
}

static void not_kept(void)
{
	static const char *const ends[] = { "192.0.2.9", NULL };
	char other[240];

	unlink(path);
	ENOUGH(!mkdir(path, 0700));
	keep(ends);
	holds("");
	rmdir(path);
	ENOUGH(!mkfifo(path, 0600));
	holds("");
	unlink(path);
	snprintf(other, sizeof(other), "%s/other", directory);
	ENOUGH(!symlink(other, path));
	holds("");
	keep(ends);
	CHECK(access(other, F_OK), "it is written elsewhere");
	unlink(path);
	state->directory = "/nowhere";
	keep(ends);
	holds("");
	state->directory = directory;
}

int main(void)
{
	static const struct ktap_case cases[] = { { "kept", kept }, { "damaged", damaged }, { "not kept", not_kept } };
	int status;

	snprintf(directory, sizeof(directory), "%s/unit_far_ends.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	state = calloc(1, sizeof(*state));
	if (!state || !mkdtemp(directory))
		return KTAP_FAIL;
	state->directory = directory;
	snprintf(path, sizeof(path), "%s/tunnels", directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	if (rmdir(directory)) {
		printf("# something is left in %s\n", directory);
		status = KTAP_FAIL;
	}
	free(state);
	return status;
}
