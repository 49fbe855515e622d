// SPDX-License-Identifier: GPL-2.0-only
/* What the state keeps of lists that are fetched: with their list, beside it, before it, and in a state of before. */
#include <sqlite3.h>

#include "base/log.h"
#include "own_state.h"
#include "state/feeds.h"
#include "state/recover.h"

#define LIST "drop"

static struct feed made(const char *list, const char *url)
{
	struct feed feed = { .options = "--format=plain --skip-bad",
			     .headers = "/etc/token",
			     .key = "RWQ",
			     .insecure = true,
			     .every = 3600,
			     .max_age = 7 * 86400,
			     .then = FEED_SHADOW,
			     .etag = "\"a'b\"",
			     .modified = "Mon, 23 Nov 2026 10:00:00 GMT",
			     .dated = 1,
			     .signed_at = 2,
			     .tried = 3,
			     .good = 4,
			     .good_up = 9,
			     .boot = (1LL << 52) + 1,
			     .next = 5,
			     .failures = 6,
			     .refused = INT64_MIN,
			     .changed = 7,
			     .aged = 8,
			     .result = "it; says so" };

	snprintf(feed.list, sizeof(feed.list), "%s", list);
	snprintf(feed.url, sizeof(feed.url), "%s", url);
	return feed;
}

static bool same(const struct feed *a, const struct feed *b)
{
	return !strcmp(a->list, b->list) && !strcmp(a->url, b->url) && !strcmp(a->options, b->options) &&
	       !strcmp(a->headers, b->headers) && !strcmp(a->key, b->key) && a->insecure == b->insecure &&
	       a->lan == b->lan && a->every == b->every && a->max_age == b->max_age && a->then == b->then &&
	       !strcmp(a->etag, b->etag) && !strcmp(a->modified, b->modified) && a->dated == b->dated &&
	       a->signed_at == b->signed_at && a->tried == b->tried && a->good == b->good && a->good_up == b->good_up &&
	       a->boot == b->boot && a->next == b->next && a->failures == b->failures && a->refused == b->refused &&
	       a->changed == b->changed && a->aged == b->aged && !strcmp(a->result, b->result);
}

static void put_list(struct state *s)
{
	struct ranges set = RANGES_EMPTY;

	ENOUGH(!ranges_add4(&set, 1, 1) && !ranges_finish(&set) && !put(s, LIST, LIST_BAN, &set));
	ranges_free(&set);
}

/* The URL of the list's feed; "": it has none. */
static const char *url_of(struct state *s)
{
	static struct feed feed;
	int err = state_feed_get(s, LIST, &feed);

	ENOUGH(!err || err_is(err, ENOENT));
	return err ? "" : feed.url;
}

static void kept(void)
{
	struct feed one = made(LIST, "https://example.net/a"), two = made("a", "http://192.0.2.1/"), *all, is;
	struct state *s = opened(true);
	size_t n;

	two.insecure = false;
	two.lan = true;
	ENOUGH(s && !state_feed_put(s, &one) && !state_feed_put(s, &two) && !state_commit(s));
	state_close(s);
	s = opened(false);
	ENOUGH(s && !state_feeds(s, &all, &n));
	CHECK(n == 2 && same(&all[0], &two) && same(&all[1], &one), "%zu feeds, or others", n);
	free(all);
	CHECK(!state_feed_get(s, LIST, &is) && same(&is, &one) && !is.there, "another feed, or a list");
	CHECK(err_is(state_feed_get(s, "b", &is), ENOENT), "one that is not there");
	state_close(s);
	s = opened(true);
	two = made(LIST, "https://example.net/b");
	ENOUGH(s && !state_feed_put(s, &two) && !state_feeds(s, &all, &n));
	CHECK(n == 2 && same(&all[1], &two), "it is not replaced");
	free(all);
	CHECK(!state_list_drop(s, LIST) && !*url_of(s), "one without a list does not go");
	CHECK(err_is(state_list_drop(s, LIST), ENOENT), "it goes twice");
	put_list(s);
	ENOUGH(!state_feed_put(s, &one) && !state_feeds(s, &all, &n));
	CHECK(n == 2 && !all[0].there && all[1].there, "whose list is there is not known");
	free(all);
	CHECK(!state_list_drop(s, LIST) && !*url_of(s), "it does not go with its list");
	state_close(s);
	empty_directory();
}

/* With a version that waits to be confirmed. */
static void goes_back(void)
{
	struct pending pending = { .kind = PENDING_LIST, .name = LIST, .deadline = 4000000000 };
	struct feed a = made(LIST, "https://example.net/a"), b = made(LIST, "https://example.net/b"), is, *all;
	struct state *s = opened(true);
	size_t n;

	/* A list that was fetched for the first time. */
	ENOUGH(s && !state_pending_add(s, &pending));
	put_list(s);
	ENOUGH(!state_feed_put(s, &a) && !state_pending_undo(s, &pending));
	CHECK(!*url_of(s), "the feed of a list that was taken back stays");
	/* From another place: the one before comes back. */
	put_list(s);
	ENOUGH(!state_feed_put(s, &a) && !state_pending_add(s, &pending));
	put_list(s);
	ENOUGH(!state_feed_put(s, &b) && !state_feeds(s, &all, &n));
	CHECK(n == 1, "what waits is one more feed");
	free(all);
	ENOUGH(!state_pending_undo(s, &pending));
	CHECK(!strcmp(url_of(s), a.url), "now it is '%s'", url_of(s));
	/* From a file. */
	ENOUGH(!state_pending_add(s, &pending));
	put_list(s);
	ENOUGH(!state_feed_drop(s, LIST) && !state_pending_undo(s, &pending));
	CHECK(!strcmp(url_of(s), a.url), "after a file it is '%s'", url_of(s));
	/* From the same place, all set otherwise: what was refused is not fetched again at once, and nothing of it is
	 * kept. */
	ENOUGH(!state_pending_add(s, &pending));
	put_list(s);
	b = (struct feed){ .list = LIST,
			   .options = "--only tcp/22",
			   .headers = "/etc/other",
			   .key = "RWT",
			   .lan = true,
			   .every = 7200,
			   .max_age = 1,
			   .then = FEED_DROP,
			   .etag = "\"newer\"",
			   .modified = "newer",
			   .dated = 101,
			   .signed_at = 102,
			   .tried = 103,
			   .good = 104,
			   .good_up = 109,
			   .boot = 110,
			   .next = 7303,
			   .failures = 106,
			   .refused = 111,
			   .changed = 107,
			   .aged = 0,
			   .result = "it came" };
	strcpy(b.url, a.url);
	ENOUGH(!state_feed_put(s, &b) && !state_pending_undo(s, &pending));
	strcpy(a.etag, b.etag);
	strcpy(a.modified, b.modified);
	a.refused = b.refused;
	a.tried = b.tried;
	a.next = b.tried + a.every;
	CHECK(!state_feed_get(s, LIST, &is) && same(&is, &a), "what was refused is kept, or forgotten");
	/* The next request is no later than that, and no earlier than it was to be. */
	ENOUGH(!state_pending_add(s, &pending));
	put_list(s);
	b.next = a.next = b.tried + 5;
	ENOUGH(!state_feed_put(s, &b) && !state_pending_undo(s, &pending));
	CHECK(!state_feed_get(s, LIST, &is) && same(&is, &a), "it is asked at %lld", (long long)is.next);
	/* Unloaded, and that goes back. */
	ENOUGH(!state_pending_drop(s, &pending));
	CHECK(!*url_of(s), "the feed of a list that is unloaded stays");
	ENOUGH(!state_pending_undo(s, &pending));
	CHECK(!state_feed_get(s, LIST, &is) && same(&is, &a), "it does not come back with its list");
	/* Confirmed: nothing waits any more. */
	ENOUGH(!state_pending_add(s, &pending));
	put_list(s);
	ENOUGH(!state_feed_put(s, &b) && !state_pending_confirm(s));
	CHECK(!strcmp(url_of(s), b.url), "confirmed it is '%s'", url_of(s));
	CHECK(!state_feed_back(s, LIST) && !*url_of(s), "something waits on");
	/* One that is left there from another time does not come back. */
	strcpy(is.list, LIST " before");
	ENOUGH(!state_feed_put(s, &is) && !state_pending_add(s, &pending) && !state_pending_undo(s, &pending));
	CHECK(!*url_of(s), "what was left comes back");
	/* One that was there before its list was: loaded from there or from elsewhere, or unloaded. */
	ENOUGH(!state_list_drop(s, LIST));
	strcpy(b.url, "https://example.net/b");
	for (int how = 0; how < 3; how++) {
		ENOUGH(!state_feed_put(s, &a));
		if (how == 2) {
			ENOUGH(!state_pending_drop(s, &pending));
			CHECK(!*url_of(s), "the feed that is unloaded stays");
		} else {
			ENOUGH(!state_pending_add(s, &pending));
			put_list(s);
			ENOUGH(!state_feed_put(s, how ? &b : &a));
		}
		ENOUGH(!state_pending_undo(s, &pending));
		CHECK(!state_feed_get(s, LIST, &is) && same(&is, &a), "%d: a feed without a list does not come back",
		      how);
		CHECK(err_is(state_list_find(s, LIST, &(int64_t){ 0 }, &(uint8_t){ 0 }), ENOENT), "%d: a list is there",
		      how);
	}
	state_close(s);
	empty_directory();
}

/* With the list's kind, whether its age made it that; but not what its age drops meanwhile. */
static void kind_goes_back(void)
{
	static const struct {
		enum list_kind kind;
		int64_t aged;	   /* before the trial */
		enum list_kind on; /* the trial; then its age makes this of it */
		enum list_kind then;
		int64_t becomes;
		bool dropped;
		int64_t is; /* in the end */
	} each[] = {
		{ LIST_SHADOW, 0, LIST_BAN, LIST_BAN, 0, false, 0 },
		{ LIST_SHADOW, 0, LIST_BAN, LIST_SHADOW, 9, false, 0 },
		{ LIST_SHADOW, 0, LIST_BAN, LIST_BAN, 9, true, 9 },
		{ LIST_SHADOW, 8, LIST_SHADOW, LIST_SHADOW, 0, false, 8 },
		{ LIST_SHADOW, 8, LIST_BAN, LIST_BAN, 8, false, 8 },
		{ LIST_BAN, 0, LIST_SHADOW, LIST_SHADOW, 0, false, 0 },
	};
	struct pending pending = { .kind = PENDING_LIST_KIND, .name = LIST, .deadline = 4000000000 };
	struct ranges none = RANGES_EMPTY;
	struct state *s = opened(true);

	for (size_t i = 0; i < sizeof(each) / sizeof(*each) && s; i++)
		for (int confirmed = 0; confirmed < 2; confirmed++) {
			struct feed feed = made(LIST, "https://example.net/a"), is;
			struct list_info list;

			put_list(s);
			feed.aged = each[i].aged;
			ENOUGH(!state_list_set_kind(s, LIST, each[i].kind) && !state_feed_put(s, &feed));
			ENOUGH(!state_pending_add(s, &pending) && !state_list_set_kind(s, LIST, each[i].on));
			feed.aged = each[i].becomes;
			ENOUGH(!state_list_set_kind(s, LIST, each[i].then) && !state_list_get(s, LIST, &list));
			list.prefixes = 0;
			ENOUGH(!each[i].dropped || !state_list_put(s, &list, &none));
			ENOUGH(!state_feed_put(s, &feed));
			ENOUGH(!(confirmed ? state_pending_confirm(s) : state_pending_undo(s, &pending)));
			ENOUGH(!state_list_get(s, LIST, &list));
			CHECK(list.kind == (confirmed ? each[i].then : each[i].kind), "%zu: it is of kind %d", i,
			      list.kind);
			feed.aged = confirmed ? each[i].becomes : each[i].is;
			CHECK(!state_feed_get(s, LIST, &is) && same(&is, &feed), "%zu: aged at %d, %d", i, (int)is.aged,
			      confirmed);
			CHECK(!state_feed_back(s, LIST) && !*url_of(s), "%zu: something waits on", i);
		}
	state_close(s);
	empty_directory();
}

static void run_sql(const char *text)
{
	sqlite3 *db = NULL;

	ENOUGH(sqlite3_open(file, &db) == SQLITE_OK && sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
}

/* Of version 10, which had no feeds. */
static void of_before(void)
{
	struct feed feed = made(LIST, "https://example.net/a"), *all;
	struct list_info list;
	struct state *s = opened(true);
	size_t n;

	ENOUGH(s);
	put_list(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	run_sql("DROP TABLE feed; DROP TABLE said; DROP TABLE said_before; DROP TABLE behind; DROP TABLE member; DROP TABLE scope; DROP TABLE matched; DROP TABLE leaving; DROP TABLE ports; DROP TABLE port");
	s = opened(false);
	ENOUGH(s);
	CHECK(!state_feeds(s, &all, &n) && !n && !*url_of(s) && !state_feeds_check(s), "it has feeds");
	CHECK(s->version == VERSION_FEEDS - 1, "it is of version %d", s->version);
	state_close(s);
	s = opened(true);
	ENOUGH(s && !state_feed_put(s, &feed) && !state_commit(s));
	state_close(s);
	s = opened(false);
	ENOUGH(s);
	CHECK(!state_list_get(s, LIST, &list) && !strcmp(url_of(s), feed.url) && s->version >= VERSION_FEEDS,
	      "it was not brought up");
	state_close(s);
	empty_directory();
}

/* A damaged row goes; the others, and every list, stay. A list that is lost is fetched again. */
static void recovered(void)
{
	struct feed a = made(LIST, "https://example.net/a"), b = made("a", "https://example.net/b"), *all;
	struct recovered r;
	struct state *s = opened(true);
	size_t n;

	ENOUGH(s && !state_feed_put(s, &a) && !state_feed_put(s, &b));
	put_list(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	run_sql("UPDATE feed SET every = 1 WHERE list = 'a'; DELETE FROM chunk");
	s = opened(false);
	CHECK(s && err_is(state_feeds(s, &all, &n), EUCLEAN), "a damaged row is read");
	CHECK(s && err_is(state_feeds_check(s), EUCLEAN), "a damaged row is not found");
	state_close(s);
	ENOUGH(!state_recover(&own_context, file, NULL, &r));
	CHECK(!r.whole && r.lost_n == 1, "%zu lists were lost", r.lost_n);
	s = opened(false);
	ENOUGH(s && !state_feeds(s, &all, &n));
	CHECK(n == 1 && same(&all[0], &a), "%zu feeds were saved", n);
	free(all);
	state_close(s);
	empty_directory();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is put is kept, and goes", kept },
		{ "with what waits to be confirmed", goes_back },
		{ "with its kind, which waits", kind_goes_back },
		{ "a state of version 10", of_before },
		{ "recovered", recovered },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
