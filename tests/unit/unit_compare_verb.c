// SPDX-License-Identifier: GPL-2.0-only
/* compare: what it takes for a list, a file or an image, and what it prints of what they share; word for word. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/compare.h"
#include "sets/reader.h"
#include "state/state.h"
#include "typed.h"

static const struct shown known_texts[] = {
#include "unit_compare_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_compare_verb.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static int calls, fails_at;
static struct comparison is;

static int call(const char *what)
{
	bool fails = ++calls == fails_at;

	printf("  %s%s\n", what, fails ? ": fails" : "");
	return fails ? because(-EIO, "%s: it was not to be", what) : 0;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	return call(change ? "opens to change" : "opens the state");
}

/* "one" is a list alone, "two" a list and a file, "file" a file, "image" an image. */
static int given_list(struct state *state, const char *name, struct list_info *list)
{
	(void)state;
	if (call(name))
		return because(-EIO, "%s: it was not to be", name);
	*list = (struct list_info){ .kind = LIST_BAN };
	return strcmp(name, "one") != 0 && strcmp(name, "two") != 0 ? -ENOENT : 0;
}

static int given_set(struct state *state, const struct list_info *list, struct ranges *set)
{
	(void)state, (void)list, (void)set;
	return call("its set");
}

static int given_access(const char *path, int how)
{
	return how == F_OK && (strstr(path, "two") || strstr(path, "file") || strstr(path, "image")) ? 0 : -1;
}

static int given_read(const char *path, const struct reader_options *options, struct ranges *set,
		      struct reader_report *report, char error[READER_TEXT_MAX])
{
	(void)set;
	memset(report, 0, sizeof(*report));
	printf("  reads %s%s%s\n", path, options->format ? " as " : "", options->format ?: "");
	snprintf(error, READER_TEXT_MAX, "%s: it is no list", path);
	return call("a file");
}

static int given_compare(struct comparison *c)
{
	struct side a = c->a, b = c->b;

	*c = is;
	c->a = a;
	c->b = b;
	return call("compares");
}

#define state_open	     given_open
#define state_close(state)   ((void)(state))
#define state_list_get	     given_list
#define state_list_whole_set given_set
#define access		     given_access
#define image_is(name)	     (strstr(name, "image") != NULL)
#define side_image(side)     (call("an image"))
#define side_free(side)	     ((void)(side))
#define reader_read	     given_read
#define compare_sides	     given_compare
#include "verbs/compare.c"
#undef access

static void anew(void)
{
	fails_at = 0;
	memset(&is, 0, sizeof(is));
	is.exact4 = is.exact6 = true;
	is.v4 = (struct overlap){ .a = 10, .b = 40, .both = 5 };
}

static bool types(const char *line)
{
	calls = 0;
	typed(line);
	return calls >= fails_at;
}

static void sides(void)
{
	static const char *const each[] = {
		"compare one two",  "compare one ./one",    "compare ./two ./file",
		"compare two file", "compare file image",   "compare ./image image",
		"compare - one",    "compare one -",	    "compare - -",
		"compare none one", "compare one none",	    "compare ./none one",
		"compare one",	    "compare one two more", "compare one file --format csv",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		types(each[i]);
	puts("-- a call fails");
	for (fails_at = 1; types("compare one file"); fails_at++)
		;
	for (fails_at = 1; types("compare two image"); fails_at++)
		;
}

static void both(const char *what)
{
	printf("-- %s\n", what);
	types("compare one two");
	types("compare one two --json");
}

static void said(void)
{
	both("in part");
	is.v4 = (struct overlap){ .a = 3, .b = 3, .both = 3 };
	both("the same");
	is.v4 = (struct overlap){ .a = 3 };
	both("one is empty");
	is.v4 = (struct overlap){ .b = 3 };
	both("the other is empty");
	is.v4 = (struct overlap){ 0 };
	both("both are empty");
	is.v6 = (struct overlap){ .a = (ip6)1 << 100, .b = (ip6)1 << 64, .both = 1 };
	both("of IPv6");
	is.keys6 = true;
	both("keys");
	is.v6.a = 0;
	is.v6.both = 0;
	both("one alone");
	is.v6 = (struct overlap){ .a = 8, .both = 2, .from_a = true };
	both("asked of B");
	is.v6 = (struct overlap){ .b = 8, .both = 2, .from_b = true };
	both("asked of A");
	is.exact6 = false;
	both("not known");
	is.exact4 = false;
	is.estimated = true;
	is.keys_a = (struct estimate){ 100.4, 10 };
	is.keys_b = (struct estimate){ 200.4, 20 };
	is.keys_both = (struct estimate){ 50.4, 5 };
	is.keys_any = (struct estimate){ INFINITY, NAN };
	both("estimated");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "sides", sides }, { "what is said", said } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
