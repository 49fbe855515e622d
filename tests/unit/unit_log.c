// SPDX-License-Identifier: GPL-2.0-only
/* A failure is reported with its own reason: never with that of another one that was got over. */
#include <errno.h>

#include "ktap.h"
#include "base/log.h"

static bool reads(int err, const char *text)
{
	return CHECK(!strcmp(reason(err), text), "'%s', not '%s'", reason(err), text);
}

static void own_text(void)
{
	int err = because(-ENOENT, "%s: there is no list '%s'", "unload", "drop");

	reads(err, "unload: there is no list 'drop'");
	reads(err, "unload: there is no list 'drop'");
}

/* As add does: the edit in place finds no memory for its map, and the generation built instead finds none either. */
static void swallowed(void)
{
	int first = because(-ENOMEM, "filter: Cannot allocate memory");

	reads(-ENOMEM, strerror(ENOMEM));
	reads(first, "filter: Cannot allocate memory");
}

/* A failure on the way back must not take the place of what it goes back for. */
static void on_the_way_back(void)
{
	int err = because(-EBUSY, "eth1: another program is attached there");

	for (int i = 0; i < 200; i++)
		because(-EBUSY, "eth%d: it cannot be detached", i);
	because(-EIO, "state.db: cannot be written");
	reads(err, "eth1: another program is attached there");
}

/* What nobody was told, as there was no -v, is not the reason of the next failure. */
static void not_said(void)
{
	FILE *messages = stderr;

	stderr = fopen("/dev/null", "we");
	note("%s", reason(-EPERM));
	fail("the words are wrong");
	CHECK(!log_last_errno(), "after a note: %d", log_last_errno());
	log_settings.quiet = true;
	warn("%s", reason(-EIO));
	fail("the words are wrong");
	CHECK(!log_last_errno(), "after a warning: %d", log_last_errno());
	fail("%s", reason(-ENOSPC));
	CHECK(log_last_errno() == ENOSPC, "its own: %d", log_last_errno());
	fclose(stderr);
	stderr = messages;
}

/* Of each kind the first, and how many more there are. */
static void by_kind(void)
{
	static const char wanted[] = "xdp-bloom: list 'a' is empty\nxdp-bloom: 'b' is not shown\n"
				     "xdp-bloom: 2 more like this: list 'a' is empty\n"
				     "xdp-bloom: list 'e' is empty\nxdp-bloom: list 'f' is empty\n"
				     "xdp-bloom: list 'g' is empty\nxdp-bloom: 1 more like this: list 'g' is empty\n";
	static const char names[] = "abcdefgh";
	FILE *messages = stderr;
	char *said;
	size_t size;

	log_settings.quiet = false;
	stderr = open_memstream(&said, &size);
	log_by_kind(true);
	for (int i = 0; i < 8; i++) {
		if (i == 4)
			log_by_kind(false);
		if (i == 6)
			log_by_kind(true);
		warn(i == 1 ? "'%c' is not shown" : "list '%c' is empty", names[i]);
	}
	log_by_kind(false);
	fclose(stderr);
	stderr = messages;
	CHECK(!strcmp(said, wanted), "'%s', not '%s'", said, wanted);
	free(said);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "a failure has its own text", own_text },
		{ "an error without a text does not take an older one", swallowed },
		{ "a failure on the way back does not hide the first", on_the_way_back },
		{ "what was not said is no reason", not_said },
		{ "warnings by their kinds", by_kind },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
