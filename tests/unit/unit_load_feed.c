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
#include "change/load_internal.h"
#include "made_change.h"
#include "sets/packed.h"
#include "state/settings.h"

#define URL "https://example.net/a"

static struct load its;
static struct load_options options;
static struct feed feed;
static const char *came; /* NULL: nothing did */
static enum feed_outcome outcome;
static int kept, aged, too_old;

static void given_came(struct feed *row, const struct fetch_answer *answer, enum feed_outcome is, bool by_change,
		       const char *why)
{
	CHECK(row == &feed && answer == &its.answer && by_change, "of another");
	came = why;
	outcome = is;
}

static const struct feed as_begun;

static const struct feed *given_begun(const struct load *l)
{
	return l == &its ? &as_begun : NULL;
}

static void given_row_keep(const struct context *context, const struct feed *row, const struct feed *was)
{
	kept += context == &own_context && row == &feed && was == &as_begun;
}

static int given_age_out(struct context *context, const char *name)
{
	aged += context == &own_context && !strcmp(name, "drop");
	return too_old ? because(too_old, "no room for it") : 0;
}

#define feed_came	given_came
#define load_begun_feed given_begun
#define feed_row_keep	given_row_keep
#define feed_age_out	given_age_out
#include "change/load_feed.c"

static void begin(void)
{
	feed = (struct feed){ .list = "drop", .url = URL, .every = 3600 };
	options = (struct load_options){ 0 };
	own_context.check = 0;
	own_context.unchanged = false;
	its = (struct load){ .context = &own_context,
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
	load_feed_note(&its, err);
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
	begin();
	notes(0);
	CHECK(is_noted(false), "what the change has kept");
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

static const struct ktap_case cases[] = { { "noted", noted }, { "registered", registered } };

int main(void)
{
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
