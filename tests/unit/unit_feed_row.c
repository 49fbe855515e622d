// SPDX-License-Identifier: GPL-2.0-only
/* Which feed a load is of: a new one, the one that is kept, or none; and what its options make of it. */
#include <sys/mman.h>

#include "own_state.h"

#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/source_file.h"
#include "base/span.h"
#include "change/feed_times.h"
#include "fetch/public_key.h"
#include "fetch/text_hash.h"
#include "state/accepted.h"

#include "made_change.h"

static unsigned int zeroed;

#define change_zero(change, label) (zeroed = (label))
#include "change/feed_row.c"

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

/* What an earlier line of the batch has unloaded is not what is kept. */
static void in_a_batch(void)
{
	const struct feed_options every = { .every = { true, 600 } };
	struct change change = { .context = &own_context };

	keep();
	change.state = opened(true);
	ENOUGH(change.state && !state_feed_drop(change.state, "drop"));
	own_context.joined = &change;
	CHECK(!begin(&every, URL) && row && !known && !*row->etag && !row->max_age && row->then == FEED_KEEP,
	      "it begins with what was unloaded");
	own_context.joined = NULL;
	CHECK(!begin(&every, URL) && row && known && row->max_age == 7200, "without a batch it does not");
	state_close(change.state);
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

static int64_t failures(void)
{
	struct feed is = { .failures = -1 };
	struct state *s = opened(false);
	int err = s ? state_feed_get(s, "drop", &is) : -EIO;

	CHECK(!err || err_is(err, ENOENT), "%s", reason(err));
	state_close(s);
	return is.failures;
}

/* What is said, in a buffer of its own, of one that is kept; or, where there is none, of 'drop', which a signal ended.
 */
static struct feed was_begun; /* as it was begun with */
static bool is_kept;

/* And then its server fails: something may become of it by that alone. */
static void lose(void)
{
	int err;

	feed_lost(&own_context, "drop", "it ended by signal 9");
	err = feed_age_out(&own_context, "drop");
	if (err)
		warn("list 'drop': %s", reason(err));
}

static const char *said_of(const struct feed *is, const char *where)
{
	static char said[400];
	FILE *messages = stderr;
	char *text = NULL;
	size_t size;

	own_context.state = where;
	stderr = open_memstream(&text, &size);
	if (is)
		is_kept = feed_row_keep(&own_context, is, &was_begun);
	else
		lose();
	fclose(stderr);
	stderr = messages;
	own_context.state = directory;
	snprintf(said, sizeof(said), "%s", text);
	free(text);
	return said;
}

/* What came of it is kept, unless another command has ended it, set it otherwise, or renewed it. */
static void put_back(void)
{
	const struct feed_options again = { .again = true };
	int64_t *const numbers[] = { &was_begun.every,	 &was_begun.max_age, &was_begun.tried, &was_begun.good,
				     &was_begun.changed, &was_begun.aged,    &was_begun.dated };
	char *const texts[] = { was_begun.url, was_begun.options, was_begun.etag, was_begun.modified };
	const char *said;

	keep();
	if (!CHECK(!begin(&again, URL) && row, "it is not known"))
		return;
	was_begun = *row;
	row->failures = 7;
	said = said_of(row, directory);
	CHECK(is_kept && !*said && failures() == 7, "%d, said: %s", (int)failures(), said);
	row->failures = 8;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		++*numbers[i];
		said = said_of(row, directory);
		CHECK(!is_kept && !*said && failures() == 7, "number %zu is another: %d, said: %s", i, (int)failures(),
		      said);
		--*numbers[i];
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char one = *texts[i];

		*texts[i] = one ? '\0' : 'x';
		said = said_of(row, directory);
		CHECK(!is_kept && !*said && failures() == 7, "text %zu is another: %d, said: %s", i, (int)failures(),
		      said);
		*texts[i] = one;
	}
	snprintf(row->list, sizeof(row->list), "gone");
	said = said_of(row, directory);
	CHECK(!is_kept && !*said && failures() == 7, "of none: %d, said: %s", (int)failures(), said);
	said = said_of(row, "/dev/null/nowhere");
	CHECK(!is_kept && strstr(said, "list 'gone': what came of it is not kept: ") && failures() == 7, "said: %s",
	      said);
	free(row);
	row = NULL;
}

#define HOURS(n) (3600 * (int64_t)(n))

/* A version of it, of `age` s ago, is in force. */
static void in_force(enum list_kind kind, enum feed_then then, int64_t age)
{
	struct feed is = {
		.list = "drop", .url = URL, .every = 3600, .max_age = 7200, .then = then, .good = time(NULL) - age
	};
	struct ranges set = RANGES_EMPTY;
	struct state *s;

	empty_directory();
	s = opened(true);
	ENOUGH(s && !ranges_add4(&set, 1, 9) && !ranges_finish(&set));
	ENOUGH(!put(s, "other", LIST_BAN, &set) && !put(s, "drop", kind, &set));
	ENOUGH(!state_feed_put(s, &is) && !state_commit(s));
	state_close(s);
	ranges_free(&set);
	calls = fails_at = 0;
	zeroed = 0;
}

/* What is there afterwards. */
static struct list_info left(struct feed *is)
{
	struct list_info list = { .kind = -1 };
	struct state *s = opened(false);
	int err = s ? state_list_get(s, "drop", &list) : -EIO;

	CHECK(!err || err_is(err, ENOENT), "%s", reason(err));
	err = state_feed_get(s, "drop", is);
	CHECK(!err, "its feed: %s", reason(err));
	state_close(s);
	if (list.kind == (enum list_kind) - 1)
		list.label = 0;
	return list;
}

/* Of a fetch that a signal ended, nothing becomes; a list that is too old goes when its server fails then. */
static void lost(void)
{
	static const struct {
		const char *what;
		enum list_kind kind;
		enum feed_then then;
		int64_t age;
		int becomes; /* its kind */
		bool changes;
		const char *says;
	} known_as[] = {
		{ "young", LIST_BAN, FEED_DROP, HOURS(1), LIST_BAN, false, NULL },
		{ "old, and kept", LIST_BAN, FEED_KEEP, HOURS(3), LIST_BAN, false, NULL },
		{ "old, and dropped", LIST_BAN, FEED_DROP, HOURS(3), LIST_BAN, true,
		  "it is dropped until a version comes" },
		{ "old, and counted", LIST_BAN, FEED_SHADOW, HOURS(3), LIST_SHADOW, true,
		  "it only counts until a version comes" },
		{ "old, and counts", LIST_SHADOW, FEED_SHADOW, HOURS(3), LIST_SHADOW, false, NULL },
		{ "old, counts, and dropped", LIST_SHADOW, FEED_DROP, HOURS(3), LIST_SHADOW, true,
		  "it is dropped until" },
		{ "an exception, and dropped", LIST_ALLOW, FEED_DROP, HOURS(3), LIST_ALLOW, true,
		  "it is dropped until" },
	};
	struct feed ended;

	quiet_calls = true;
	for (size_t i = 0; i < sizeof(known_as) / sizeof(*known_as); i++) {
		const char *what = known_as[i].what, *said;
		unsigned int label;
		struct feed before, is;
		struct list_info list;
		char since[UTC_TEXT_MAX];

		in_force(known_as[i].kind, known_as[i].then, known_as[i].age);
		label = left(&before).label;
		said = said_of(NULL, directory);
		list = left(&is);
		CHECK((int)list.kind == known_as[i].becomes, "%s: it is %d", what, (int)list.kind);
		CHECK(!list.prefixes == (known_as[i].changes && known_as[i].then == FEED_DROP), "%s: of %d prefixes",
		      what, (int)list.prefixes);
		CHECK(known_as[i].says
			      ? strstr(said, "list 'drop': nobody has renewed it since ") &&
					strstr(said, utc_text(since, before.good)) && strstr(said, known_as[i].says)
			      : !*said,
		      "%s: said: %s", what, said);
		CHECK(zeroed == (known_as[i].changes ? label : 0), "%s: counter %u of %u is zero", what, zeroed, label);
		CHECK(is.failures == 1 && !strcmp(is.result, "it ended by signal 9") && is.good == before.good,
		      "%s: %d failures, '%s'", what, (int)is.failures, is.result);
		CHECK(is.aged ? known_as[i].changes && is.aged >= is.tried && is.aged - is.tried < 600
			      : !known_as[i].changes,
		      "%s: aged at %lld", what, (long long)is.aged);
	}
	in_force(LIST_BAN, FEED_DROP, HOURS(3));
	feed_lost(&own_context, "drop", "it ended by signal 9");
	CHECK(left(&ended).prefixes && !ended.aged && ended.failures == 1, "what is ended here makes it old");
	/* It is said once. */
	in_force(LIST_BAN, FEED_DROP, HOURS(3));
	CHECK(*said_of(NULL, directory) && !*said_of(NULL, directory) && calls == 2, "it goes twice, %d calls", calls);
}

/*
 * What is dropped holds nothing. What it is stays for the next version; and what waits to be confirmed goes back all
 * the same, to what was in force.
 */
static void stays_what_it_is(void)
{
	const struct pending waits = { .kind = PENDING_LIST, .name = "drop", .deadline = 4000000000 };
	struct accepted given = { .hand = { 9, 0 }, .day = { 9, 0 }, .day_at = 7, .wide = { 3, 0 } }, is = { 0 };
	struct list_info list;
	struct ranges set = RANGES_EMPTY;
	struct state *s;
	struct feed feed;

	in_force(LIST_BAN, FEED_DROP, HOURS(3));
	s = opened(true);
	ENOUGH(s && !state_list_get(s, "drop", &list) && !state_pending_add(s, &waits));
	strcpy(list.scope, "tcp/25");
	ENOUGH(!ranges_add4(&set, 5, 9) && !ranges_finish(&set) && !state_list_put(s, &list, &set));
	ENOUGH(!state_accepted_put(s, "drop", &given) && !state_list_set_kind(s, "drop", LIST_SHADOW) &&
	       !state_commit(s));
	state_close(s);
	ranges_free(&set);
	CHECK(*said_of(NULL, directory), "it stays");
	list = left(&feed);
	CHECK(list.kind == LIST_SHADOW && !strcmp(list.scope, "tcp/25") && !list.prefixes &&
		      !strcmp(list.addresses, "0"),
	      "it is of kind %d, '%s', with %s addresses", list.kind, list.scope, list.addresses);
	s = opened(true);
	ENOUGH(s);
	CHECK(!state_list_set(s, "drop", &set) && !set.n4 && !set.n6, "it holds something");
	ranges_free(&set);
	CHECK(!state_accepted_get(s, "drop", &is) && is.known && is.hand.v4 == 9 && is.day.v4 == 9 && is.day_at == 7 &&
		      is.wide.v4 == 3,
	      "what was accepted is forgotten");
	CHECK(state_pending_has(s, PENDING_LIST, "drop") == 1, "it does not wait any more");
	CHECK(!state_pending_undo(s, &waits) && !state_list_get(s, "drop", &list) && list.kind == LIST_BAN &&
		      !*list.scope && !state_list_set(s, "drop", &set) && ranges_count4(&set) == 9,
	      "of kind %d, '%s', %llu addresses come back", list.kind, list.scope,
	      (unsigned long long)ranges_count4(&set));
	ranges_free(&set);
	CHECK(!state_feed_get(s, "drop", &feed) && !feed.aged && feed.next <= feed.tried,
	      "it is asked %d s later, aged at %d", (int)(feed.next - feed.tried), (int)feed.aged);
	state_close(s);
}

/* Whoever wants it only to count has that also where its age had made it so; what was dropped stays dropped. */
static void counts_by_hand(void)
{
	for (int what = 0; what < 3; what++) {
		struct list_info list;
		struct feed is;
		struct state *s;

		in_force(LIST_BAN, what == 1 ? FEED_DROP : FEED_SHADOW, HOURS(3));
		if (what < 2)
			CHECK(*said_of(NULL, directory), "it stays");
		list = left(&is);
		CHECK(!is.aged == (what == 2), "%d: aged at %d", what, (int)is.aged);
		s = opened(true);
		ENOUGH(s);
		CHECK(!feed_row_counts(s, &list), "%d: %s", what, reason(-EIO));
		CHECK(!state_feed_get(s, "drop", &is) && !is.aged == (what != 1), "%d: now aged at %d", what,
		      (int)is.aged);
		ENOUGH(!state_list_get(s, "other", &list));
		CHECK(!feed_row_counts(s, &list), "one that nobody fetches");
		state_close(s);
	}
}

/* Nobody asks for it any more; it cannot be looked at; what it is to become fails. */
static void lost_and_fails(void)
{
	const char *said;
	struct feed is;

	empty_directory();
	state_close(opened(true));
	said = said_of(NULL, directory);
	CHECK(!*said, "of none: %s", said);
	said = said_of(NULL, "/dev/null/nowhere");
	CHECK(strstr(said, "list 'drop': "), "of a state that is none: %s", said);
	fails_with = -EIO;
	for (int at = 1; at <= 2; at++) {
		in_force(LIST_BAN, FEED_DROP, HOURS(3));
		fails_at = at;
		said = said_of(NULL, directory);
		CHECK(strstr(said, "list 'drop': a call failed\n") && left(&is).kind == LIST_BAN && !is.aged,
		      "call %d fails: %s", at, said);
		CHECK(is.failures == 1, "call %d fails: %d failures", at, (int)is.failures);
	}
	fails_at = 0;
}

static void same(void)
{
	struct feed is = { .url = "u", .options = "o", .headers = "h", .key = "k", .every = 1, .max_age = 2 }, was = is;
	char *const texts[] = { is.url, is.options, is.headers, is.key };
	bool *const flags[] = { &is.insecure, &is.lan };
	int64_t *const numbers[] = { &is.every, &is.max_age };

	CHECK(feed_row_same(&is, &was) && feed_row_asks_same(&is, &was), "it is another");
	for (size_t i = 0; i < 4; i++) {
		char one = *texts[i];

		*texts[i] = 'x';
		CHECK(!feed_row_same(&is, &was) && !feed_row_asks_same(&is, &was), "text %zu is no matter", i);
		*texts[i] = one;
	}
	for (size_t i = 0; i < 2; i++) {
		*flags[i] = true;
		CHECK(!feed_row_same(&is, &was) && !feed_row_asks_same(&is, &was), "flag %zu is no matter", i);
		*flags[i] = false;
		++*numbers[i];
		CHECK(!feed_row_same(&is, &was) && feed_row_asks_same(&is, &was), "number %zu is no matter, or asked",
		      i);
		--*numbers[i];
	}
	is.then = FEED_DROP;
	CHECK(!feed_row_same(&is, &was), "what becomes of it is no matter");
	is.then = was.then;
	is.failures = is.good = 7;
	CHECK(feed_row_same(&is, &was), "what came of it is a matter");
}

/* Only what the server says is older than what is in force. */
static void rolled_back(void)
{
	static const struct {
		const char *modified;
		int64_t dated;
		bool refused;
	} known_as[] = {
		{ "Thu, 01 Jan 2026 00:00:00 GMT", 1767225600, false },
		{ "Thu, 01 Jan 2026 00:00:00 GMT", 1767225601, true },
		{ "Thu, 01 Jan 2026 00:00:00 GMT", 1767225599, false },
		{ "Thu, 01 Jan 2026 00:00:00 GMT", 0, false },
		{ "Thu, 01 Jan 2026 00:00:00 GMTx", 1767225601, false },
		{ "Thu, 01 Jan 1970 00:00:00 GMT", 1767225601, false },
		{ "Thu, 01 Jan 1970 00:00:01 GMT", 1767225601, true },
		{ "Wed, 31 Dec 1969 23:59:59 GMT", 1767225601, false },
		{ "Fri, 01 Jan 2100 00:00:00 GMT", INT64_MAX, false },
		{ "yesterday", 1767225601, false },
		{ "", 1767225601, false },
	};

	for (size_t i = 0; i < sizeof(known_as) / sizeof(*known_as); i++) {
		struct feed is = { .url = URL, .dated = known_as[i].dated };
		struct fetch_answer answer = { 0 };
		int err;

		snprintf(answer.modified, sizeof(answer.modified), "%s", known_as[i].modified);
		err = feed_rollback(&is, &answer);
		CHECK(known_as[i].refused
			      ? err_is(err, EINVAL) && strstr(reason(err), "is newer, of 2026-01-01T00:00:01Z; --force")
			      : !err,
		      "'%s' after %lld: %s", known_as[i].modified, (long long)known_as[i].dated,
		      err ? reason(err) : "taken");
	}
}

/* Clocks may differ by a day; beyond that a date says nothing. */
static void dated_now(void)
{
	static const struct {
		int64_t from_now;
		bool is;
	} known_as[] = { { -3600, true }, { DAY / 2, true }, { DAY + 3600, false } };

	for (size_t i = 0; i < sizeof(known_as) / sizeof(*known_as); i++) {
		time_t at = time(NULL) + known_as[i].from_now;
		struct feed is = { .url = URL, .dated = at + 1 };
		struct fetch_answer answer = { 0 };

		ENOUGH(strftime(answer.modified, sizeof(answer.modified), "%a, %d %b %Y %H:%M:%S GMT", gmtime(&at)));
		CHECK(err_is(feed_rollback(&is, &answer), EINVAL) == known_as[i].is, "%lld s from now: %s",
		      (long long)known_as[i].from_now, known_as[i].is ? "it is taken" : "it is refused");
	}
}

/* The same text that was no list is not read again, however long it is. */
static void same_page(void)
{
	static char text[9000];
	int fd = memfd_create("page", MFD_CLOEXEC);
	struct feed is = { .url = URL };

	memset(text, 'x', sizeof(text));
	ENOUGH(fd >= 0 && write(fd, text, sizeof(text)) == (ssize_t)sizeof(text));
	CHECK(!feed_known_page(&is, fd), "none came before");
	feed_keep_page(&is, fd);
	CHECK(is.refused && err_is(feed_known_page(&is, fd), EINVAL), "it is taken again");
	ENOUGH(pwrite(fd, "y", 1, 8999) == 1);
	CHECK(!feed_known_page(&is, fd), "another last byte is the same");
	ENOUGH(pwrite(fd, "x", 1, 8999) == 1 && pwrite(fd, "y", 1, 0) == 1);
	CHECK(!feed_known_page(&is, fd), "another first byte is the same");
	close(fd);
}

/* The list that its server has is not put into force yet: it is asked in its interval, for what it has then. */
static void waits_here(void)
{
	const struct fetch_answer answer = { .outcome = FETCH_NEW,
					     .etag = "\"b\"",
					     .modified = "Fri, 02 Jan 2026 00:00:00 GMT" };
	struct feed is = { .list = "drop",
			   .every = 3600,
			   .etag = "\"a\"",
			   .good = 1,
			   .failures = 3,
			   .dated = 5,
			   .changed = 6,
			   .refused = 7,
			   .aged = 8 };

	feed_came(&is, &answer, FEED_WAITS, false, "a change of it waits");
	CHECK(is.good >= is.tried && is.boot == clock_boot_number() && !is.failures, "it is no younger, %d failures",
	      (int)is.failures);
	CHECK(is.next - is.tried >= 3540 && is.next - is.tried < 2 * 3600, "it is asked in %d s",
	      (int)(is.next - is.tried));
	CHECK(!strcmp(is.etag, "\"a\"") && !*is.modified && is.dated == 5 && is.changed == 6 && is.refused == 7 &&
		      is.aged == 8,
	      "another version is in force");
	CHECK(!strcmp(is.result, "a change of it waits"), "'%s'", is.result);
}

/* What cannot be done here says nothing of its server, and has it wait no longer each time. */
static void could_not_here(void)
{
	struct feed is = { .list = "drop", .every = 7200, .etag = "\"a\"", .good = 1, .servers_n = 1, .refused = 7 };

	for (int i = 0; i < 3; i++) {
		feed_came(&is, &(struct fetch_answer){ .here = true }, FEED_HERE, false, "the disk is full");
		CHECK(is.failures == 1 && is.good == 1 && is.servers_n == 1 && is.refused == 7 &&
			      is.next - is.tried == 3600 && !strcmp(is.etag, "\"a\""),
		      "%d failures, again in %d s", (int)is.failures, (int)(is.next - is.tried));
	}
	CHECK(!strcmp(is.result, "the disk is full"), "'%s'", is.result);
	feed_came(&is, &(struct fetch_answer){ 0 }, FEED_FAILED, false, "status 500");
	CHECK(is.failures == 2 && is.next - is.tried == 7200, "%d failures", (int)is.failures);
}

static size_t servers_of(const char *way, const char *address, enum feed_outcome outcome, struct feed *is)
{
	struct fetch_answer answer = { .outcome = outcome == FEED_FAILED ? FETCH_FAILED : FETCH_NEW };

	*is = (struct feed){ .list = "drop", .every = 3600 };
	snprintf(answer.way, sizeof(answer.way), "%s", way);
	snprintf(answer.address, sizeof(answer.address), "%s", address);
	feed_came(is, &answer, outcome, false, "why");
	return is->servers_n;
}

/* Whom it takes to renew it: who was asked, and who answered. Not who answered with no list. */
static void came_from(void)
{
	struct feed is;

	CHECK(servers_of("", "192.0.2.1", FEED_CHANGED, &is) == 1 && is.servers[0].num == 0xc0000201, "one");
	CHECK(servers_of("192.0.2.2 192.0.2.3 ", "::ffff:192.0.2.1", FEED_UNCHANGED, &is) == 2 &&
		      is.servers[0].num == 0xc0000202 && is.servers[1].num == 0xc0000201 && is.servers[1].family == 4,
	      "of a way");
	CHECK(servers_of("", "2001:db8::1", FEED_WAITS, &is) == 1 && is.servers[0].family == 6, "what waits here");
	CHECK(!servers_of("", "192.0.2.1", FEED_FAILED, &is), "what failed");
	CHECK(!servers_of("", "", FEED_CHANGED, &is) && !servers_of("nowhere ", "none", FEED_CHANGED, &is), "nobody");
}

static const struct ktap_case cases[] = { { "fresh", fresh },
					  { "came from", came_from },
					  { "could not here", could_not_here },
					  { "kept", kept },
					  { "refused", refused },
					  { "in a batch", in_a_batch },
					  { "unreadable", unreadable },
					  { "put back", put_back },
					  { "lost", lost },
					  { "dropped, it stays what it is", stays_what_it_is },
					  { "it counts by hand", counts_by_hand },
					  { "lost, and what comes of it fails", lost_and_fails },
					  { "the same or not", same },
					  { "rolled back", rolled_back },
					  { "dated now", dated_now },
					  { "the same page", same_page },
					  { "what waits here", waits_here } };

int main(void)
{
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
