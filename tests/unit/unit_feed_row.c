// SPDX-License-Identifier: GPL-2.0-only
/* Which feed a load is of: a new one, the one that is kept, or none; and what its options make of it. */
#include "own_state.h"

#include "change/feed_row.h"

#define URL   "https://example.net/a"
#define KEY   "RWQbcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0+"
#define OTHER "RWTbcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0+"

static struct feed *row;
static bool known;

static int begin(const struct feed_options *options, const char *url)
{
	free(row);
	row = (struct feed *)&known; /* what is given back is written, whatever becomes of it */
	known = true;
	return feed_row_begin(&own_context, options, "drop", url, &row, &known);
}

static void keep(void)
{
	struct feed is = { .list = "drop",
			   .url = URL,
			   .headers = "/etc/token",
			   .key = OTHER,
			   .lan = true,
			   .every = 3600,
			   .max_age = 7200,
			   .then = FEED_SHADOW,
			   .etag = "\"a\"" };
	struct state *s;

	empty_directory();
	s = opened(true);
	ENOUGH(s && !state_feed_put(s, &is) && !state_commit(s));
	state_close(s);
}

static void fresh(void)
{
	const struct feed_options once = { 0 }, usual = { .usual = 600 },
				  every = { .every = { true, 300 }, .usual = 600, .insecure = true, .key = KEY };

	empty_directory();
	CHECK(!begin(&once, URL) && !row && !known, "a list that is loaded once has a feed");
	CHECK(!begin(&usual, URL) && row && !known && row->every == 600 && !row->insecure && !*row->key,
	      "not at the usual interval");
	CHECK(access(file, F_OK), "a look has made a state");
	CHECK(!strcmp(row->list, "drop") && !strcmp(row->url, URL), "it is %s of %s", row->list, row->url);
	CHECK(!begin(&every, URL) && row && !known && row->every == 300 && row->insecure && !row->lan &&
		      !strcmp(row->key, KEY) && !*row->headers && !row->max_age && row->then == FEED_KEEP,
	      "not as its options say");
	free(row);
	row = NULL;
}

static void kept(void)
{
	const struct feed_options once = { .insecure = true },
				  other = { .every = { true, 3601 },
					    .max_age = { true, 3601 },
					    .then = FEED_DROP + 1,
					    .key = KEY },
				  again = { .again = true };

	keep();
	CHECK(!begin(&again, URL) && row && known && row->every == 3600 && row->max_age == 7200 && row->lan &&
		      row->then == FEED_SHADOW && !strcmp(row->key, OTHER) && !strcmp(row->headers, "/etc/token"),
	      "not as it is kept");
	CHECK(!begin(&once, URL) && row && known && row->every == 3600 && row->insecure && !row->lan && !*row->key &&
		      !*row->headers && !strcmp(row->etag, "\"a\""),
	      "not with the options that are given now");
	CHECK(!begin(&other, URL) && row && known && row->every == 3601 && row->max_age == 3601 &&
		      row->then == FEED_DROP && !strcmp(row->key, KEY),
	      "not with other times");
	/* Of another URL nothing of it holds. */
	CHECK(!begin(&once, URL "b") && !row && !known, "another URL has a feed");
	CHECK(!begin(&other, URL "b") && row && !known && !*row->etag && !row->insecure && !strcmp(row->url, URL "b"),
	      "another URL has something of it");
	free(row);
	row = NULL;
}

/* No feed, and no word of why, is what is loaded once: a file that is not there is said. */
static void refused(void)
{
	const struct feed_options key = { .every = { true, 300 }, .key = "/nowhere/key" },
				  headers = { .every = { true, 300 }, .header_file = "/nowhere/headers" },
				  ages = { .every = { true, 300 }, .max_age = { true, 299 } },
				  usual = { .usual = 300, .max_age = { true, 300 } };

	for (int there = 0; there < 2; there++) {
		if (there)
			keep();
		else
			empty_directory();
		CHECK(err_is(begin(&key, URL), ENOENT) && !row, "a key that is not there: a row, or no error");
		CHECK(err_is(begin(&headers, URL), ENOENT) && !row, "headers that are not there: a row, or no error");
		CHECK(err_is(begin(&ages, URL), EINVAL) && !row, "too old before the next: a row, or no error");
	}
	empty_directory();
	CHECK(!begin(&usual, URL) && row, "as old as the next is refused");
	free(row);
	row = NULL;
}

/* What cannot be read is no feed that is not there. */
static void unreadable(void)
{
	const struct feed_options once = { 0 },
				  both = { .usual = 300, .key = "/nowhere/key", .header_file = "/nowhere/h" };
	FILE *to;
	int err;

	empty_directory();
	err = begin(&both, URL);
	CHECK(err_is(err, ENOENT) && strstr(reason(err), "--key"), "the first that is not there: %s", reason(err));
	to = fopen(file, "w");
	ENOUGH(to && fputs("this is no database", to) > 0 && !fclose(to));
	err = begin(&once, URL);
	CHECK(err && !err_is(err, ENOENT) && !row, "a state that is none: %d", err);
}

static const struct ktap_case cases[] = {
	{ "fresh", fresh }, { "kept", kept }, { "refused", refused }, { "unreadable", unreadable }
};

int main(void)
{
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
