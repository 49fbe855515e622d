// SPDX-License-Identifier: GPL-2.0-only
/* announce: which table, how many, and of which family; word for word. */
#include <errno.h>

#include "change/change.h"
#include "feeds/announce.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_announce_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_announce_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static bool fails;

static int given_announce(struct context *context, const struct announce_options *o)
{
	(void)context;
	printf("  table %u, family %d, at most %zu%s\n", o->table, o->family, o->most, o->clean ? ", clean" : "");
	return fails ? because(-EIO, "it was not to be") : 0;
}

#define announce		given_announce
#define change_check(of, words) ((void)(of), puts((words) ? "  a check of words?" : "  is it a check"))
#include "verbs/announce.c"

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++)
		typed(lines[i]);
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void announces(void)
{
	TYPES("announce", "announce x", "announce --table 667", "announce --table 1", "announce --table 0",
	      "announce --table 252", "announce --table 253", "announce --table 254", "announce --table 255",
	      "announce --table 256", "announce --table 4294967295", "announce --table 4294967296",
	      "announce --table 667 --family 3", "announce --table 667 --family 4", "announce --table 667 --family 5",
	      "announce --table 667 --family 6", "announce --table 667 --family 7",
	      "announce --table 667 --max-entries 0", "announce --table 667 --max-entries 1",
	      "announce --table 667 --max-entries 10000000", "announce --table 667 --max-entries 10000001",
	      "announce --table 667 --clean");
	fails = true;
	TYPES("announce --table 667");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "announces", announces } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
