// SPDX-License-Identifier: GPL-2.0-only
/* What this machine needs and is dropped: when it is looked at, what is said of it, and what is kept; word for word. */
#include <errno.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "change/own_addresses.h"
#include "change/restore.h"
#include "kernel/live.h"
#include "observe/lines_down.h"
#include "state/events.h"
#include "state/grants.h"
#include "state/state.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_needs_watch.txt"
};

static struct shows shows = { .file = "tests/unit/unit_needs_watch.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct context own_context = CONTEXT_DEFAULT;
static struct lines_down kept;
static struct own_address needs[12];
static size_t needs_n;
static const char *fails;
static bool is_early, up;
static unsigned int granted; /* 192.0.2.this */

static int works(const char *what)
{
	return fails && !strcmp(fails, what) ? because(-EIO, "%s fails", what) : 0;
}

static int given_live(const struct context *context, struct generation *g)
{
	(void)g;
	return context == &own_context ? works("what is in force") : -EINVAL;
}

static int given_open(struct live *live, const struct context *context)
{
	(void)context;
	live->g.number = 7;
	return works("the filter");
}

static void given_close(struct live *live)
{
	printf("  closed: %d\n", live->meta);
}

static int given_state(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	return change ? -EINVAL : works("the state");
}

static bool given_drops(const struct live *live, struct addr addr)
{
	return live->g.number == 7 && (addr.num & 1);
}

static int given_needs(struct state *state, own_wanted_fn *wanted, const void *arg, struct own_address **list,
		       size_t *n)
{
	(void)state;
	*n = 0;
	*list = calloc(needs_n + 1, sizeof(**list));
	for (size_t i = 0; i < needs_n; i++)
		if (wanted(arg, needs[i].addr))
			(*list)[(*n)++] = needs[i];
	return works("the needs");
}

static bool given_early(struct state *state)
{
	(void)state;
	return is_early;
}

static bool given_gateway(struct state *state)
{
	(void)state;
	return up;
}

static int64_t given_granted(struct state *state, struct addr addr)
{
	(void)state;
	return (addr.num & 0xff) == granted;
}

static void given_keep(const struct context *context, const char *file, const struct lines_down *down)
{
	(void)context;
	printf("  kept in '%s':%s\n", file, down->n ? "" : " nothing");
	for (size_t i = 0; i < down->n; i++)
		printf("    %s\n", down->text[i]);
	kept = *down;
}

static void given_take(struct lines_down *down, const struct context *context, const char *file, bool served)
{
	(void)context;
	(void)file;
	*down = served ? kept : (struct lines_down){ .n = 0 };
}

#define kernel_live	      given_live
#define live_open	      given_open
#define live_close	      given_close
#define live_drops	      given_drops
#define state_open	      given_state
#define state_close(s)	      ((void)(s))
#define own_addresses_of_root given_needs
#define state_granted	      given_granted
#define restore_is_early      given_early
#define own_has_gateway	      given_gateway
#define lines_down_keep	      given_keep
#define lines_down_take	      given_take
#define warn(...)	      (printf("  ! " __VA_ARGS__), puts(""))
#define note(...)	      (printf("  note: " __VA_ARGS__), puts(""))
#define event(context, of, ...)                                                                         \
	(printf("  event %d of %llu: ", (of).kind == EVENT_FAULT, (unsigned long long)(of).generation), \
	 printf(__VA_ARGS__), puts(""))
#include "service/needs_watch.c"

static void runs(const char *what)
{
	struct needs_watch w = { .next = 60000 };
	int returned;
	bool asks;

	printf("-- %s\n", what);
	returned = needs_watch_run(&own_context, NULL);
	asks = needs_watch_ran(&w, returned, 100);
	if (returned != EXIT_DONE || asks || w.next != 60000)
		printf("  returns %d, next at %lld%s\n", returned, (long long)w.next, asks ? ", asks" : "");
}

static void need(unsigned int last, const char *what)
{
	needs[needs_n++] = (struct own_address){ .addr = { 0xc0000200 + last, 4 }, .what = what };
}

static void due(void)
{
	static const int64_t at[] = { 0, 1, 59999, 60000, 119999, 120000 };
	struct needs_watch w = { 0 };

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		fails = i == 3 ? "what is in force" : NULL;
		printf("at %lld: %s\n", (long long)at[i], needs_watch_due(&w, &own_context, at[i]) ? "due" : "not due");
	}
	fails = NULL;
}

static void said(void)
{
	runs("nothing is needed");
	need(1, "a gateway in use");
	need(2, "a name server in use"); /* not dropped */
	need(5, "a time server in use");
	granted = 5;
	runs("a gateway");
	runs("which is no news");
	need(1, "a name server in use");
	need(1, "a name server in use"); /* another packet's */
	runs("a name server, too");
	for (fails = "the filter"; fails; fails = !strcmp(fails, "the filter")	? "the state"
						  : !strcmp(fails, "the state") ? "the needs"
										: NULL)
		runs(fails);
	granted = 1;
	runs("granted, and the other one not");
	granted = 5;
	needs_n = 0;
	runs("none any more");
	puts("-- the filter was there before the network");
	is_early = true;
	runs("nothing is needed");
	need(1, "a gateway in use");
	runs("a gateway");
	runs("which is no news");
	fails = "the filter";
	runs("it fails");
	fails = NULL;
	granted = 1;
	runs("granted");
	up = true;
	runs("and that is a gateway");
	up = false;
	granted = 5;
	needs_n = 0;
	is_early = false;
	for (unsigned int i = 0; i < 11; i++)
		need(101 + 2 * i, "a gateway in use");
	runs("too many");
	runs("the same");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "due", due }, { "said", said } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
