// SPDX-License-Identifier: GPL-2.0-only
/* feeds check and known: what is printed of a list that was tried, and of the catalog; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change/catalog.h"
#include "change/feed_check.h"
#include "observe/documents.h"
#include "sets/networks.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_feeds_check.txt"
};

static struct shows shows = { .file = "tests/unit/unit_feeds_check.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static struct feed_checked is;
static int err_is_now, read_err;
static bool table_is, nothing_known;

static int given_check(struct context *context, const struct load_options *options, const char *from,
		       struct feed_checked *checked)
{
	(void)context, (void)options;
	printf("  checks %s\n", from);
	*checked = is;
	return err_is_now ? because(err_is_now, "it is not to be believed") : 0;
}

static struct networks *given_table(const char *state)
{
	(void)state;
	return table_is ? (struct networks *)&is : NULL;
}

static const char *given_network(char *text, const struct networks *n, struct addr first, unsigned int length)
{
	snprintf(text, NETWORK_TEXT_MAX, "%s", n ? first.family == 4 && length == 32 ? "CN AS4134" : "of IPv6" : "");
	return text;
}

static void given_put(json_t *object, const struct networks *n, struct addr first, unsigned int length)
{
	if (n)
		json_object_set_new(object, "network", json_integer(first.family * 1000 + (int)length));
}

static int given_catalog(struct catalog *catalog, const char *path)
{
	static struct catalog_feed feeds[] = {
		{ .name = "one",
		  .by = "them",
		  .holds = "what they saw",
		  .family = "4",
		  .url = "https://h/one",
		  .every = 3600,
		  .every_by = "its page",
		  .terms = "free",
		  .size = "1000",
		  .written = "2026" },
		{ .name = "two",
		  .by = "others",
		  .holds = "all",
		  .family = "4 6",
		  .url = "https://h/two",
		  .every = 86400,
		  .every_by = "them",
		  .terms = "none",
		  .size = "2",
		  .written = "2025",
		  .was = { "https://a", "https://b" },
		  .account = "ask",
		  .format = "csv",
		  .where = "a = b",
		  .note = "slow" },
		{ .name = "three",
		  .by = "o",
		  .holds = "h",
		  .family = "6",
		  .url = "u",
		  .every = 300,
		  .every_by = "e",
		  .terms = "t",
		  .size = "s",
		  .written = "w",
		  .was = { "1", "2", "3", "4" } },
	};

	*catalog = (struct catalog){ .feeds = feeds, .n = path || nothing_known ? 0 : 3 };
	return read_err ? because(read_err, "no catalog") : 0;
}

#define feed_check	  given_check
#define loaded_free(l)	  ((void)(l))
#define networks_open	  given_table
#define networks_close(n) ((void)(n))
#define networks_text	  given_network
#define put_network	  given_put
#define catalog_read	  given_catalog
#define catalog_free(c)	  ((void)(c))
#include "verbs/feeds_check.c"
#define text_or_null text_or_nothing
#include "verbs/feeds_known.c"

static void anew(void)
{
	memset(&is, 0, sizeof(is));
	err_is_now = read_err = 0;
	table_is = nothing_known = false;
}

static void both(const char *what)
{
	printf("-- %s\n", what);
	typed("feeds check @one");
	typed("feeds check @one --json");
}

static void checks(void)
{
	struct ranges set = RANGES_EMPTY;

	both("nothing is known");
	err_is_now = -EPROTO;
	both("refused before anything was asked");
	strcpy(is.loaded.answer.url, "https://h/one");
	both("refused by its server");
	strcpy(is.loaded.answer.address, "192.0.2.1");
	is.loaded.answer.status = 404;
	is.loaded.answer.bytes = 12;
	both("not there");
	err_is_now = 0;
	is.loaded.answer.status = 200;
	strcpy(is.loaded.answer.type, "text/plain");
	both("there");
	strcpy(is.loaded.answer.etag, "tag");
	strcpy(is.loaded.answer.modified, "yesterday");
	strcpy(is.loaded.answer.date, "today");
	strcpy(is.loaded.signed_comment, "by them");
	table_is = true;
	both("of a known network");
	strcpy(is.loaded.answer.address, "2001:db8::1");
	is.loaded.read.format = "plain";
	is.loaded.read.lines = 1;
	is.loaded.read.entries = 22;
	is.loaded.read.duplicates = 333;
	is.loaded.read.bad = 4444;
	both("read");
	strcpy(is.loaded.answer.address, "nowhere");
	if (ranges_add4(&set, 1, 5) || ranges_finish(&set))
		abort();
	is.loaded.set = set;
	is.in_force = true;
	is.new4 = 3;
	both("of IPv4");
	ranges_free(&set);
	if (ranges_add6(&set, 1, 2) || ranges_finish(&set))
		abort();
	is.loaded.set = set;
	is.new4 = 0;
	is.new6 = 2;
	both("of IPv6");
	ranges_free(&set);
}

static void catalogs(void)
{
	static const char *const each[] = { "feeds known",	  "feeds known ONE",  "feeds known h/two",
					    "feeds known none",	  "feeds known @two", "feeds known @one",
					    "feeds known @three", "feeds known @none" };
	char line[100];

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		typed(each[i]);
		snprintf(line, sizeof(line), "%s --json", each[i]);
		typed(line);
	}
	nothing_known = true;
	typed("feeds known");
	read_err = -ENOENT;
	typed("feeds known");
	typed("feeds known @one");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "checks", checks }, { "known ones", catalogs } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
