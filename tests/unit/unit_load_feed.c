// SPDX-License-Identifier: GPL-2.0-only
/* What is kept of a fetch that came to nothing, and a line of a file that only says what is to be kept fresh. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own_state.h"
#include "no_disk.h"

#include "base/log.h"
#include "base/words.h"
#include "change/feed_row.h"
#include "change/guard_culprit.h"
#include "change/load_internal.h"
#include "made_change.h"
#include "sets/packed.h"
#include "sets/where.h"
#include "state/settings.h"
#include "state/sources.h"

#define URL "https://example.net/a"

static struct load its;
static struct load_options options;
static struct feed feed;
static struct loaded loaded;
static const char *came; /* NULL: nothing did */
static enum feed_outcome outcome;
static int kept, aged, too_old;
static bool is_late, noted_late;

static void given_came(struct feed *row, const struct fetch_answer *answer, enum feed_outcome is, bool by_change,
		       const char *why)
{
	CHECK(row == &feed && answer == &its.answer && by_change, "of another");
	came = why;
	outcome = is;
}

static struct feed as_begun;
static bool begun_otherwise;

static const struct feed *given_begun(const struct load *l)
{
	return l == &its && !begun_otherwise ? &as_begun : NULL;
}

/* What is set of it is as it was begun with, whatever this load would have set. */
static bool given_row_keep(const struct context *context, const struct feed *row, const struct feed *was)
{
	kept += context == &own_context && row == &feed && was == &as_begun && feed_row_same(row, was) &&
		!strcmp(row->etag, was->etag) && row->refused == 77;
	return !is_late;
}

static int given_age_out(struct context *context, const char *name)
{
	aged += context == &own_context && !strcmp(name, "drop");
	return too_old ? because(too_old, "no room for it") : 0;
}

static const char *given_dropped(char text[DROPPED_TEXT_MAX], const struct context *context, const char *address)
{
	/* What is asked for has reasons of its own. */
	(void)because(-EACCES, "the state cannot be read");
	snprintf(text, DROPPED_TEXT_MAX, "%s",
		 context == &own_context && !strcmp(address, "192.0.2.1") ? "; dropped" : "");
	return text;
}

#define dropped_text	given_dropped
#define feed_came	given_came
#define load_begun_feed given_begun
#define feed_row_keep	given_row_keep
#define feed_age_out	given_age_out
#include "change/load_feed.c"

static void begin(void)
{
	feed = (struct feed){ .list = "drop", .url = URL, .every = 3600 };
	as_begun = feed;
	feed.refused = 77;
	is_late = begun_otherwise = false;
	options = (struct load_options){ 0 };
	own_context.check = 0;
	own_context.unchanged = false;
	loaded = (struct loaded){ .replaces = true };
	its = (struct load){ .context = &own_context,
			     .out = &loaded,
			     .options = &options,
			     .name = "drop",
			     .path = URL,
			     .feed = &feed,
			     .feed_asked = true,
			     .by_change = true };
	came = NULL;
	kept = aged = too_old = 0;
	quiet_calls = true;
	calls = fails_at = 0;
}

/* In a buffer of its own. */
static const char *notes(int err)
{
	static char said[300];
	FILE *messages = stderr;
	char *text = NULL;
	size_t size;

	stderr = open_memstream(&text, &size);
	noted_late = !load_feed_note(&its, err);
	fclose(stderr);
	stderr = messages;
	snprintf(said, sizeof(said), "%s", text);
	free(text);
	return said;
}

static bool is_noted(bool wanted)
{
	return !!came == wanted && kept == wanted && aged <= kept;
}

static void noted(void)
{
	const char *said;

	begin();
	said = notes(because(-EIO, "its server is gone"));
	CHECK(is_noted(true) && aged && outcome == FEED_FAILED && !strcmp(came, "its server is gone") && !*said &&
		      !own_context.unchanged,
	      "'%s', said: %s", came, said);
	begin();
	too_old = -EROFS;
	said = notes(because(-EIO, "its server is gone"));
	CHECK(is_noted(true) && aged &&
		      strstr(said, "list 'drop': it is too old, and stays in force: no room for it\n"),
	      "said: %s", said);
	begin();
	too_old = -EROFS;
	said = notes(-EALREADY);
	CHECK(is_noted(true) && !aged && outcome == FEED_UNCHANGED && own_context.unchanged && !*said, "said: %s",
	      said);
	/* Its server is well, and what waits here is in its way; or that was never asked. */
	for (int fetched = 0; fetched < 2; fetched++) {
		begin();
		its.fetched = fetched;
		said = notes(because(-EBUSY, "a change of it waits"));
		CHECK(is_noted(true) && aged == !fetched && outcome == (fetched ? FEED_WAITS : FEED_FAILED) &&
			      !strcmp(came, "a change of it waits") && !own_context.unchanged && !*said,
		      "fetched %d: outcome %d, aged %d, said: %s", fetched, (int)outcome, aged, said);
	}
	/* This machine could not do it: the process that fetches says so, or the call that failed. */
	for (int fetched = 0; fetched < 2; fetched++) {
		static const int here[] = { ENOMEM, E2BIG, ENOSPC, EDQUOT, EMFILE, ENFILE, EAGAIN };

		for (size_t i = 0; i <= sizeof(here) / sizeof(here[0]); i++) {
			begin();
			its.fetched = fetched;
			its.answer.here = !i;
			said = notes(because(i ? -here[i - 1] : -EIO, "there is no room"));
			CHECK(is_noted(true) && !aged && outcome == FEED_HERE && !strcmp(came, "there is no room") &&
				      !*said,
			      "fetched %d, %zu: outcome %d, aged %d, said: %s", fetched, i, (int)outcome, aged, said);
		}
	}
	begin();
	its.fetched = true;
	notes(because(-EINVAL, "it is no list"));
	CHECK(is_noted(true) && aged && outcome == FEED_FAILED, "what is refused is no failure");
	/* Somebody has renewed it meanwhile: it is no older by this. */
	begin();
	is_late = true;
	too_old = -EROFS;
	said = notes(because(-EIO, "its server is gone"));
	CHECK(is_noted(true) && noted_late && !aged && !*said, "late, said: %s", said);
	begin();
	notes(0);
	CHECK(is_noted(false) && !noted_late, "what the change has kept");
	begin();
	its.feed = NULL;
	notes(-EIO);
	CHECK(is_noted(false), "of no feed");
	begin();
	its.feed_asked = false;
	notes(-EIO);
	CHECK(is_noted(false), "of no server");
	begin();
	own_context.check = CHECK_FILES;
	notes(-EIO);
	CHECK(is_noted(false), "of a check");
	begin();
	options.dry_run = true;
	notes(-EIO);
	CHECK(is_noted(false), "of a try");
}

/* A load that fails has set nothing; and what was asked otherwise says nothing of what is kept. */
static void sets_nothing(void)
{
	struct feed wanted;

	begin();
	snprintf(as_begun.etag, sizeof(as_begun.etag), "\"x\"");
	feed.every = 7200;
	feed.max_age = 86400;
	feed.then = FEED_DROP;
	notes(because(-EIO, "its server is gone"));
	CHECK(is_noted(true) && aged && !noted_late, "with other times");
	for (int what = 0; what < 6; what++) {
		begin();
		begun_otherwise = what == 5;
		if (what < 3)
			strcpy(((char *[]){ feed.options, feed.headers, feed.key })[what], "/x");
		feed.insecure = what == 3;
		feed.lan = what == 4;
		wanted = feed;
		notes(because(-EIO, "its server is gone"));
		CHECK(is_noted(false) && !aged && !noted_late && feed_row_same(&wanted, &feed), "asked otherwise, %d",
		      what);
	}
}

static void kept_as(struct feed *is)
{
	struct state *s = opened(false);
	int err = s ? state_feed_get(s, "drop", is) : -EIO;

	CHECK(!err || err_is(err, ENOENT), "%s", reason(err));
	if (err)
		*is = (struct feed){ 0 };
	state_close(s);
}

static void waits(void)
{
	struct state *s = opened(true);
	struct pending one = { .kind = PENDING_LIST, .name = "drop", .deadline = 4000000000 };

	CHECK(s && !state_pending_add(s, &one) && !state_commit(s), "%s", "the state");
	state_close(s);
}

/* Why it is not there: where the filter drops its answers, that is said. */
static void not_answered(void)
{
	static const struct {
		const char *address;
		uint64_t status;
		int outcome;
		const char *says;
	} known[] = {
		{ "192.0.2.1", 0, FETCH_FAILED, "no connection; dropped" },
		{ "192.0.2.2", 0, FETCH_FAILED, "no connection" },
		{ "192.0.2.1", 404, FETCH_FAILED, "no connection" },
		{ "192.0.2.1", 0, FETCH_NEW, "no connection" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		int err;

		begin();
		its.answer = (struct fetch_answer){ .outcome = known[i].outcome, .status = known[i].status };
		snprintf(its.answer.address, sizeof(its.answer.address), "%s", known[i].address);
		its.text = because(-EIO, "no connection");
		err = unanswered(&its);
		CHECK(err_is(err, EIO) && !strcmp(reason(err), known[i].says), "%zu: %s", i, reason(err));
	}
	its.text = -EALREADY;
	its.answer = (struct fetch_answer){ .address = "192.0.2.1" };
	CHECK(err_is(unanswered(&its), EALREADY), "what is as it was");
}

static void registered(void)
{
	struct feed is;
	int err;

	empty_directory();
	begin();
	its.path = "http://example.net/a";
	err = register_feed(&its);
	CHECK(err_is(err, EINVAL) && strstr(reason(err), "http://example.net/a: ") && !calls, "%s", reason(err));
	options.feed.insecure = true;
	CHECK(err_is(register_feed(&its), EALREADY) && !own_context.unchanged, "insecure, as it is wanted");
	kept_as(&is);
	CHECK(is.every == 3600, "it is not kept");
	begin();
	CHECK(err_is(register_feed(&its), EALREADY) && own_context.unchanged, "the same is another");
	begin();
	feed.every = 7200;
	strcpy(feed.etag, "\"x\"");
	feed.next = 5;
	CHECK(err_is(register_feed(&its), EALREADY) && !own_context.unchanged, "another is the same");
	kept_as(&is);
	CHECK(is.every == 7200 && !*is.etag && !is.next, "every %d, next %d", (int)is.every, (int)is.next);
	begin();
	feed.every = 300;
	fails_at = 1;
	fails_with = -EIO;
	CHECK(err_is(register_feed(&its), EIO), "no change begins");
	kept_as(&is);
	CHECK(is.every == 7200, "it is kept");
	/* What it says, or has said already, would go back. */
	waits();
	for (int i = 0; i < 2; i++) {
		begin();
		feed.every = i ? 7200 : 300;
		err = register_feed(&its);
		CHECK(err_is(err, EBUSY) && strstr(reason(err), "drop: a change of it waits"), "%d: %s", i,
		      reason(err));
		kept_as(&is);
		CHECK(is.every == 7200, "%d: it is kept", i);
	}
}

/* What came meanwhile stays, what is set is as the line says; and while the list waits, nothing is. */
static void registers_what_is_set(void)
{
	struct pending pending = { .kind = PENDING_LIST, .name = "drop", .deadline = 4000000000 };
	struct feed is = { .list = "drop", .url = URL, .every = 3600, .good = 5, .changed = 6, .dated = 7, .aged = 8 };
	struct state *s;
	int err;

	empty_directory();
	s = opened(true);
	ENOUGH(s && !state_feed_put(s, &is) && !state_pending_add(s, &pending) && !state_commit(s));
	state_close(s);
	begin();
	feed.good = 1;
	CHECK(err_is(register_feed(&its), EBUSY), "what is so already goes back");
	begin();
	feed.every = 7200;
	err = register_feed(&its);
	CHECK(err_is(err, EBUSY) && strstr(reason(err), "drop: a change of it waits for confirmation"), "%s",
	      reason(err));
	kept_as(&is);
	CHECK(is.every == 3600, "what waits is set otherwise");
	s = opened(true);
	ENOUGH(s && !state_pending_forget(s, PENDING_LIST, "drop") && !state_commit(s));
	state_close(s);
	begin();
	feed.every = 7200;
	CHECK(err_is(register_feed(&its), EALREADY), "it waits on");
	kept_as(&is);
	CHECK(is.every == 7200 && is.good == 5 && is.changed == 6 && is.dated == 7 && is.aged == 8,
	      "what came of it is gone: every %d, good %d", (int)is.every, (int)is.good);
	/* It was at this URL when the line was read, and is at another one by now: nothing has come of this. */
	s = opened(true);
	snprintf(is.url, sizeof(is.url), URL "b");
	ENOUGH(s && !state_feed_put(s, &is) && !state_commit(s));
	state_close(s);
	begin();
	feed.good = 1;
	CHECK(err_is(register_feed(&its), EALREADY), "it is not moved back");
	kept_as(&is);
	CHECK(!strcmp(is.url, URL) && !strcmp(is.list, "drop") && !is.changed && !is.dated,
	      "it has what came of another");
	CHECK(is.good == 5, "the list is not as old as it was");
}

static void put_a_list(enum list_kind kind, const char *scope)
{
	struct list_info list = { .name = "drop", .kind = kind, .addresses = "0", .loaded = "2026-01-01T00:00:00Z" };
	struct state *s;

	empty_directory();
	s = opened(true);
	strcpy(list.scope, scope);
	ENOUGH(s && !state_list_put(s, &list, &RANGES_EMPTY) && !state_commit(s));
	state_close(s);
}

/* A line that says what the list is not is refused as one of a file is; nothing of it is kept. */
static void another_list(void)
{
	static const struct {
		enum list_kind is;
		int asked;
		const char *only, *says;
	} known_as[] = {
		{ LIST_BAN, 0, NULL, NULL },
		{ LIST_BAN, 0, "tcp/25", NULL },
		{ LIST_BAN, LIST_SHADOW, NULL, "'drop' is a ban list; unload it first, or use enforce and shadow" },
		{ LIST_BAN, LIST_ALLOW, NULL, "'drop' is a ban list; unload it first" },
		{ LIST_SHADOW, LIST_SHADOW, NULL, NULL },
		{ LIST_SHADOW, LIST_TRUST, NULL, "'drop' is a shadow list; unload it first" },
		{ LIST_ALLOW, 0, "tcp/25", "an allow list bans nobody: leave them out" },
	};

	for (size_t i = 0; i < sizeof(known_as) / sizeof(*known_as); i++) {
		struct feed is;
		int err;

		put_a_list(known_as[i].is, "");
		begin();
		options.kind = known_as[i].asked;
		if (known_as[i].only)
			ENOUGH(!scope_add_only(&options.scope, known_as[i].only));
		err = register_feed(&its);
		kept_as(&is);
		if (known_as[i].says)
			CHECK(err && !err_is(err, EALREADY) && strstr(reason(err), known_as[i].says) && !*is.url,
			      "%zu: %s", i, reason(err));
		else
			CHECK(err_is(err, EALREADY) && *is.url, "%zu: %s", i, reason(err));
	}
	/* The same row is no change, whatever became of the list since. */
	put_a_list(LIST_BAN, "");
	begin();
	CHECK(err_is(register_feed(&its), EALREADY), "it is not kept");
	options.kind = LIST_SHADOW;
	CHECK(err_is(register_feed(&its), EALREADY) && own_context.unchanged, "the same is refused");
	feed.every = 7200;
	CHECK(err_is(register_feed(&its), EEXIST), "another is taken");
}

/* The same addresses are no new version, unless they are to be for other packets, or were read otherwise. */
static void same_again(void)
{
	static const struct {
		const char *is, *only;
		bool same;
	} known_as[] = {
		{ "", NULL, true },	    { "tcp/25", NULL, true },	   { "tcp/25", "tcp/25", true },
		{ "tcp/25", "any", false }, { "tcp/25", "tcp/22", false }, { "", "tcp/25", false },
		{ "", "any", true },
	};

	for (size_t i = 0; i < sizeof(known_as) / sizeof(*known_as); i++) {
		put_a_list(LIST_BAN, known_as[i].is);
		begin();
		options.feed.again = true;
		if (known_as[i].only)
			ENOUGH(!scope_add_only(&options.scope, known_as[i].only));
		CHECK(wants_any(&its) == !known_as[i].same && load_feed_is_same(&its) == known_as[i].same,
		      "only '%s', and is to be '%s'", known_as[i].is, known_as[i].only ?: "as it is");
		its.otherwise = true;
		CHECK(!load_feed_is_same(&its), "read otherwise it is the same");
		its.otherwise = false;
		loaded.added4 = 1;
		CHECK(!load_feed_is_same(&its), "with another address it is the same");
	}
}

/* As words of a command line, each condition in its own. */
static void described(void)
{
	char text[sizeof(feed.options)];

	begin();
	ENOUGH(!scope_add_only(&options.scope, "tcp/22"));
	its.reading.format = "csv";
	strcpy(its.reading.where, "a = 'b c'&d = e");
	options.bogons = BOGONS_KEEP;
	load_describe(&its, text, sizeof(text));
	CHECK(!strcmp(text, "--format=csv --bogons=keep --where \"a = 'b c'\" --where \"d = e\" --only tcp/22"), "%s",
	      text);
}

/* The longest are kept in full, of a file's list, too: as words of a command line they are the same again. */
static void described_in_full(void)
{
	static char text[sizeof(feed.options)];
	const size_t rooms[] = { sizeof(feed.options), sizeof(((struct source *)NULL)->options) };
	char where[WHERE_MAX], rule[WHERE_MAX], known[SCOPE_TEXT_MAX], is[SCOPE_TEXT_MAX];

	begin();
	/* Nothing but what is quoted, and each interface a name of such letters. */
	memset(rule, '"', sizeof(rule));
	memcpy(rule, "a=", 2);
	rule[WHERE_MAX - 30] = '\0';
	ENOUGH(!where_add(its.reading.where, rule));
	for (int i = 0; i < SCOPE_ON; i++) {
		snprintf(rule, sizeof(rule), "\"\"\"\"\"\"\"\"\"\"\"\"\"\"%c", 'a' + i);
		ENOUGH(!scope_add_on(&options.scope, rule));
	}
	for (int i = 0; i < SCOPE_RULES; i++) {
		snprintf(rule, sizeof(rule), "tcp/%d", 10001 + 2 * i);
		ENOUGH(!scope_add_only(&options.scope, rule));
	}
	ENOUGH(scope_text(known, &options.scope));
	for (size_t i = 0; i < 2; i++) {
		struct scope scope = { 0 };
		struct words words;

		load_describe(&its, text, rooms[i]);
		*where = '\0';
		ENOUGH(!words_split(&words, text));
		for (int k = 0; k + 1 < words.n; k += 2)
			if (!strcmp(words.words[k], "--where"))
				ENOUGH(!where_add(where, words.words[k + 1]));
			else
				ENOUGH(!(!strcmp(words.words[k], "--on") ? scope_add_on
									 : scope_add_only)(&scope, words.words[k + 1]));
		CHECK(!strcmp(where, its.reading.where) && scope_text(is, &scope) && !strcmp(is, known),
		      "into %zu bytes: %s", rooms[i], text);
		words_free(&words);
	}
}

/* A line fetches nothing: what is for the version that is fetched would be taken without a word. */
static void for_now(void)
{
	static const char *const words[] = { "confirm", "dry-run", "force", "ban-own", "wide", "big-change", NULL };
	const size_t n = sizeof(words) / sizeof(*words);

	empty_directory();
	for (size_t i = 0; i < 2 * n; i++) {
		const char *word = words[i % n];
		char says[40];
		int err;

		begin();
		its.feed = NULL;
		options.feed.every = (typeof(options.feed.every)){ true, 3600 };
		options.if_changed = i >= n;
		own_context.line = i < n;
		options.confirm.given = i % n == 0;
		options.dry_run = i % n == 1;
		options.force = i % n == 2;
		options.ban_own = i % n == 3;
		options.wide = i % n == 4;
		options.big_change = i % n == 5;
		snprintf(says, sizeof(says), ": --%s is for a version", word);
		err = load_feed(&its);
		CHECK(word ? err_is(err, EINVAL) && strstr(reason(err), says) && !calls : err_is(err, EALREADY),
		      "%zu, --%s: %s", i, word ?: "every", reason(err));
		free(its.feed);
	}
	own_context.line = false;
}

static const struct ktap_case cases[] = { { "noted", noted },
					  { "sets nothing", sets_nothing },
					  { "not answered", not_answered },
					  { "registered", registered },
					  { "registers what is set", registers_what_is_set },
					  { "another list", another_list },
					  { "the same again", same_again },
					  { "for now", for_now },
					  { "described", described },
					  { "described in full", described_in_full } };

int main(void)
{
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
