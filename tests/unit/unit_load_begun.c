// SPDX-License-Identifier: GPL-2.0-only
/* What was done to a list while it was read: by whom it was asked for decides what becomes of that. The state is made
 * up. */
#include <errno.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/log.h"
#include "base/path_walk.h"
#include "change/feed_row.h"
#include "change/load_internal.h"
#include "shown.h"
#include "state/state.h"

static const struct shown known[] = {
#include "unit_load_begun.txt"
};

static struct shows shows = { .file = "tests/unit/unit_load_begun.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

struct known_list {
	enum list_kind kind;
	bool gone;
	const char *url, *path, *stamp, *options; /* NULL: none */
	const char *key, *headers;
	bool insecure, lan;
	int64_t every, changed, dated, aged;
};

static const struct known_list *there;
static struct state *const STATE = (struct state *)&shows;
static struct context its = CONTEXT_DEFAULT;
static int calls, fails_at, fails_as, held;

static int call(void)
{
	return ++calls == fails_at ? because(fails_as, "call %d fails", calls) : 0;
}

static void is_ours(const struct state *state, const char *name)
{
	if (state != STATE || strcmp(name, "drop") != 0)
		puts("another is asked about");
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	int err = call();

	if (context != &its || change)
		puts("opened otherwise");
	*state = err ? NULL : STATE;
	held += !err;
	return err;
}

static int given_list(struct state *state, const char *name, struct list_info *list)
{
	is_ours(state, name);
	*list = (struct list_info){ .kind = there->kind };
	return call() ?: there->gone ? because(-ENOENT, "no such list") : 0;
}

static int given_feed(struct state *state, const char *name, struct feed *feed)
{
	int err = call();

	is_ours(state, name);
	memset(feed, 0x55, sizeof(*feed));
	if (err || !there->url)
		return err ?: because(-ENOENT, "no such feed");
	*feed = (struct feed){ .insecure = there->insecure,
			       .lan = there->lan,
			       .every = there->every,
			       .changed = there->changed,
			       .dated = there->dated,
			       .aged = there->aged };
	snprintf(feed->url, sizeof(feed->url), "%s", there->url);
	snprintf(feed->key, sizeof(feed->key), "%s", there->key ?: "");
	snprintf(feed->headers, sizeof(feed->headers), "%s", there->headers ?: "");
	return 0;
}

static int given_source(struct state *state, const char *list, struct source *source)
{
	int err = call();

	is_ours(state, list);
	*source = (struct source){ 0 };
	if (err || !there->path)
		return err;
	snprintf(source->list, sizeof(source->list), "drop");
	snprintf(source->path, sizeof(source->path), "%s", there->path);
	snprintf(source->stamp, sizeof(source->stamp), "%s", there->stamp);
	snprintf(source->options, sizeof(source->options), "%s", there->options);
	return 0;
}

static const char *file_now; /* NULL: it is gone */

static bool given_is_loaded(struct state *state, const struct source *source)
{
	is_ours(state, source->list);
	return !there->gone && there->path && !strcmp(there->path, source->path) &&
	       !strcmp(there->stamp, source->stamp) && !strcmp(there->options, source->options);
}

static int given_look(char stamp[SOURCE_STAMP_MAX], const char *path)
{
	if (strcmp(path, "/etc/a.txt") != 0 || way_waits_for(KERNEL_ANSWERS) != KERNEL_ANSWERS)
		puts("another file is looked at, or waited for");
	if (!file_now)
		return because(-ENOENT, "no such file");
	snprintf(stamp, SOURCE_STAMP_MAX, "%s", file_now);
	return 0;
}

static void given_close(struct state *state)
{
	held -= state != NULL;
}

static void *allocated(size_t n, size_t size)
{
	void *p = call() ? NULL : calloc(n, size);

	held += p != NULL;
	return p;
}

static void freed(void *p)
{
	held -= p != NULL;
	free(p);
}

#define state_open	       given_open
#define state_list_get	       given_list
#define state_feed_get	       given_feed
#define state_source_get       given_source
#define state_close	       given_close
#define state_source_is_loaded given_is_loaded
#define source_look	       given_look
#define calloc(n, size)	       allocated(n, size)
#define malloc(size)	       allocated(1, size)
#define free		       freed
#include "change/load_begun.c"

static struct load l;
static struct load_options o;
static struct change its_change = { .state = NULL };

/* Between the two looks, `was` becomes `is`. */
static const char *becomes_of_it(const struct known_list *was, const struct known_list *is)
{
	int err;

	calls = 0;
	l.context = &its;
	l.name = "drop";
	l.options = &o;
	l.change = &its_change;
	its_change.state = STATE;
	there = was;
	load_begins(&l);
	there = is;
	err = load_is_as_begun(&l);
	if (load_begun_feed(&l) && (!was->url || strcmp(load_begun_feed(&l)->url, was->url) != 0))
		puts("it was begun with another feed");
	if (!load_begun_feed(&l) && was->url && !fails_at)
		puts("its feed is not known");
	load_begun_free(&l);
	load_begun_free(&l);
	if (held)
		printf("%d are held still\n", held);
	return !err ? "loaded" : err_is(err, EALREADY) ? "is there" : err_is(err, EBUSY) ? "stays" : reason(err);
}

static const struct known_list none = { .gone = true }, file = { .path = "/etc/a.txt", .stamp = "1", .options = "" },
			       row = { .url = "https://example.net/a",
				       .every = 60,
				       .changed = 5,
				       .key = "RW1",
				       .headers = "/etc/h" };

static const struct meanwhile {
	const char *what;
	struct known_list is;
} files[] = {
	{ "nothing", { .path = "/etc/a.txt", .stamp = "1", .options = "" } },
	{ "unloaded", { .gone = true } },
	{ "another version", { .path = "/etc/a.txt", .stamp = "2", .options = "" } },
	{ "other options", { .path = "/etc/a.txt", .stamp = "1", .options = "--only tcp/22" } },
	{ "another file", { .path = "/etc/b.txt", .stamp = "1", .options = "" } },
	{ "standard input", { 0 } },
	{ "a URL", { .url = "https://example.net/a", .every = 60 } },
	{ "only counts", { .kind = LIST_SHADOW, .path = "/etc/a.txt", .stamp = "1", .options = "" } },
	{ "exceptions", { .kind = LIST_ALLOW, .path = "/etc/a.txt", .stamp = "1", .options = "" } },
	{ "another file's exceptions", { .kind = LIST_ALLOW, .path = "/etc/b.txt", .stamp = "1", .options = "" } },
}, rows[] = {
	{ "nothing", { .url = "https://example.net/a", .every = 60, .changed = 5, .key = "RW1", .headers = "/etc/h" } },
	{ "unloaded", { .gone = true } },
	{ "ended", { 0 } },
	{ "another version", { .url = "https://example.net/a", .every = 60, .changed = 6, .key = "RW1",
			       .headers = "/etc/h" } },
	{ "another URL", { .url = "https://example.net/b", .every = 60, .changed = 5, .key = "RW1",
			   .headers = "/etc/h" } },
	{ "more often", { .url = "https://example.net/a", .every = 30, .changed = 5, .key = "RW1",
			  .headers = "/etc/h" } },
	{ "another key", { .url = "https://example.net/a", .every = 60, .changed = 5, .key = "RW2",
			   .headers = "/etc/h" } },
	{ "no key", { .url = "https://example.net/a", .every = 60, .changed = 5, .headers = "/etc/h" } },
	{ "other headers", { .url = "https://example.net/a", .every = 60, .changed = 5, .key = "RW1",
			     .headers = "/etc/i" } },
	{ "no headers", { .url = "https://example.net/a", .every = 60, .changed = 5, .key = "RW1" } },
	{ "http", { .url = "https://example.net/a", .every = 60, .changed = 5, .key = "RW1", .headers = "/etc/h",
		    .insecure = true } },
	{ "the network here", { .url = "https://example.net/a", .every = 60, .changed = 5, .key = "RW1",
				.headers = "/etc/h", .lan = true } },
	{ "a file", { .path = "/etc/a.txt", .stamp = "1", .options = "" } },
	{ "only counts", { .kind = LIST_SHADOW, .url = "https://example.net/a", .every = 60, .changed = 5, .key = "RW1",
			   .headers = "/etc/h" } },
	{ "trusted", { .kind = LIST_TRUST, .url = "https://example.net/a", .every = 60, .changed = 5, .key = "RW1",
		       .headers = "/etc/h" } },
};

static void each(const char *from, const struct known_list *was, const struct meanwhile *all, size_t n)
{
	printf(" %s:\n", from);
	for (size_t i = 0; i < n; i++)
		printf("  %-26s %s\n", all[i].what, becomes_of_it(was, &all[i].is));
}

static void read_version(const char *stamp)
{
	snprintf(l.source.list, sizeof(l.source.list), "drop");
	snprintf(l.source.path, sizeof(l.source.path), "/etc/a.txt");
	snprintf(l.source.stamp, sizeof(l.source.stamp), "%s", stamp);
}

/* Of those who ask for one file, that one has the last word who has read what it holds now. */
static void one_of_several(void)
{
	static const struct meanwhile others[] = {
		{ "version 1", { .path = "/etc/a.txt", .stamp = "1", .options = "" } },
		{ "version 2", { .path = "/etc/a.txt", .stamp = "2", .options = "" } },
		{ "version 3", { .path = "/etc/a.txt", .stamp = "3", .options = "" } },
		{ "version 4", { .path = "/etc/a.txt", .stamp = "4", .options = "" } },
		{ "with other options", { .path = "/etc/a.txt", .stamp = "3", .options = "--only tcp/22" } },
		{ "as exceptions", { .kind = LIST_ALLOW, .path = "/etc/a.txt", .stamp = "2", .options = "" } },
		{ "version 3, as exceptions",
		  { .kind = LIST_ALLOW, .path = "/etc/a.txt", .stamp = "3", .options = "" } },
		{ "unloaded", { .gone = true } },
	};
	static const char *const nows[] = { "3", "4", NULL };

	read_version("3");
	for (int how = 1; how < 3; how++)
		for (int now = 0; now < 3; now++) {
			o = (struct load_options){ .if_changed = true, .renew = how > 1 };
			file_now = nows[now];
			printf("%s has read version 3, the file %s%s\n", how > 1 ? "the service" : "a line",
			       file_now ? "holds " : "is gone", file_now ?: "");
			each("of version 1", &file, others, sizeof(others) / sizeof(others[0]));
			each("of nothing", &none, others, sizeof(others) / sizeof(others[0]));
		}
}

static void asks_for_a_file(void)
{
	static const int kinds[] = { 0, LIST_ALLOW, LIST_SHADOW };
	static const char *const names[] = { "as bans", "as exceptions", "to count" };

	read_version("3");
	file_now = "3";
	for (int how = 0; how < 3; how++)
		for (int k = 0; k < 3; k++) {
			o = (struct load_options){ .if_changed = how > 0, .renew = how > 1, .kind = kinds[k] };
			printf("%s, %s\n",
			       how > 1 ? "by the service, which renews"
			       : how   ? "by a line of the config"
				       : "by hand",
			       names[k]);
			each("of the file", &file, files, sizeof(files) / sizeof(files[0]));
			each("of nothing", &none, files, sizeof(files) / sizeof(files[0]));
		}
}

static void asks_for_a_feed(void)
{
	for (int again = 0; again < 2; again++) {
		o = (struct load_options){ .feed = { .again = again, .key = "RW1", .header_file = "/etc/h" } };
		puts(again ? "again" : "by hand");
		each("of the feed", &row, rows, sizeof(rows) / sizeof(rows[0]));
		each("of nothing", &none, rows, sizeof(rows) / sizeof(rows[0]));
	}
	/* The one that asks had read another row than there was when it began. */
	o.feed.key = NULL;
	printf("asked without a key: %s\n", becomes_of_it(&row, &row));
	o.feed.key = "RW1";
	o.feed.header_file = NULL;
	printf("asked without headers: %s\n", becomes_of_it(&row, &row));
	o.feed.header_file = "/etc/h";
	o.feed.insecure = true;
	printf("asked with http: %s\n", becomes_of_it(&row, &row));
	o.feed.insecure = false;
	o.feed.lan = true;
	printf("asked in the network here: %s\n", becomes_of_it(&row, &row));
	o.feed.again = false;
	printf("the same by hand: %s\n", becomes_of_it(&row, &row));
	o.feed.again = true;
	o.feed.lan = false;
	l.path = "https://example.net/b";
	printf("asked at another URL: %s\n", becomes_of_it(&row, &row));
	l.path = row.url;
	o.feed.kept = "--only tcp/22";
	printf("asked with other options: %s\n", becomes_of_it(&row, &row));
	o.feed.kept = "";
	printf("asked as it is: %s\n", becomes_of_it(&row, &row));
}

/* By hand, beside a version that has come meanwhile, or an end: what that was dated holds, and that it is too old. */
static void by_the_row_of_now(void)
{
	static const char *const names[] = { "by hand", "by hand, from elsewhere", "again" };
	static struct feed feed;
	static struct known_list is;
	const char *becomes;

	l.feed = &feed;
	for (int what = 0; what < 3; what++) {
		o = (struct load_options){ .feed = { .again = what == 2 } };
		is = row;
		is.dated = 20;
		is.aged = 21;
		feed = (struct feed){ .dated = 10, .aged = 11, .etag = "\"x\"", .key = "RW2" };
		snprintf(feed.url, sizeof(feed.url), "%s%s", row.url, what == 1 ? "b" : "");
		o.feed.key = row.key;
		o.feed.header_file = row.headers;
		becomes = becomes_of_it(&row, &is);
		printf("%s: %s, dated %d, aged %d%s\n", names[what], becomes, (int)feed.dated, (int)feed.aged,
		       strcmp(feed.key, "RW2") != 0 || !*feed.etag ? ", and more" : "");
	}
}

/* Of what cannot be read nothing is known, and the change says so itself; a state that is not there has no list. */
static void each_call_fails(void)
{
	static const int errors[] = { -EIO, -EUCLEAN, -ENOENT };

	o = (struct load_options){ 0 };
	for (int e = 0; e < 3; e++)
		for (fails_at = 1; fails_at <= 10; fails_at++) {
			fails_as = errors[e];
			printf("call %d, %d: %s\n", fails_at, fails_as, becomes_of_it(&row, &rows[4].is));
		}
	fails_at = 0;
	its.joined = &its_change;
	l.change = &its_change;
	there = &row;
	load_begins(&l);
	printf("in a batch: %s, %d calls\n",
	       !l.begun && !load_is_as_begun(&l) && !load_begun_feed(&l) ? "not asked" : "asked", calls);
	its.joined = NULL;
}

static void begin(void)
{
	l = (struct load){ .path = "https://example.net/a" };
	calls = fails_at = 0;
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "a file", asks_for_a_file },		{ "one of several", one_of_several },
		{ "a feed", asks_for_a_feed },		{ "by the row of now", by_the_row_of_now },
		{ "each call fails", each_call_fails },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
