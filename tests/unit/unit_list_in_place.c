// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a list that changes is edited in place, and when it takes a new generation: each condition alone, in which order
 * it is planned, made and committed, and what is left where a call fails. The arrays are made up.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "change/agreement.h"
#include "change/change.h"
#include "change/ends.h"
#include "change/guard_needs.h"
#include "change/live_bans.h"
#include "filter/edit.h"
#include "kernel/generation.h"
#include "sets/owned.h"
#include "sets/ranges.h"
#include "shown.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/state.h"

static const struct shown known[] = {
#include "unit_list_in_place.txt"
};

static struct shows shows = { .file = "tests/unit/unit_list_in_place.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static unsigned int calls, fails_at;

/* What there is. */
static struct {
	enum agreement agrees;
	bool image, inexact, no_map, unmapped, full, other_is_there, bans;
	size_t places;
} is;

__attribute__((format(printf, 1, 2))) static int call(const char *format, ...)
{
	bool fails = ++calls == fails_at;
	va_list args;

	printf("  ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	puts(fails ? ": fails" : "");
	return fails ? -EIO : 0;
}

static const char *texts_of(const struct ranges *set)
{
	static char texts[4][300];
	static unsigned int next;
	char *text = texts[next++ % 4];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < set->n4; i++)
		n += (size_t)snprintf(text + n, sizeof(texts[0]) - n, "%s%x-%x", n ? " " : "", set->v4[i].lo,
				      set->v4[i].hi);
	for (size_t i = 0; i < set->n6; i++)
		n += (size_t)snprintf(text + n, sizeof(texts[0]) - n, "%s%llx...-%llx", n ? " " : "",
				      (unsigned long long)(set->v6[i].lo >> 64), (unsigned long long)set->v6[i].hi);
	return n ? text : "nothing";
}

static struct ranges set_of(const char *text)
{
	struct ranges set = RANGES_EMPTY;

	for (size_t n; *text; text += n + (text[n] == ' ')) {
		struct addr first;
		unsigned int length;

		n = strcspn(text, " ");
		if (prefix_parse(text, n, &first, &length) || ranges_add_prefix(&set, first, length))
			abort();
	}
	if (ranges_finish(&set))
		abort();
	return set;
}

static int given_bans(struct state *state, int64_t now, const struct ranges *within, struct ranges *lasting,
		      struct ranges *ending)
{
	int err = call("bans within %s%s", texts_of(within), state || now ? ", of another" : "");

	if (err)
		return err;
	*lasting = *ending = RANGES_EMPTY;
	if (is.bans)
		*lasting = set_of("45.9.9.9");
	return 0;
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	static const struct list_info all[] = {
		{ .name = "its-own", .kind = LIST_BAN, .label = 2 },
		{ .name = "allowed", .kind = LIST_ALLOW, .label = 5 },
		{ .name = "third", .kind = LIST_BAN, .label = 3 },
		{ .name = "fourth", .kind = LIST_BAN, .label = 4 },
	};
	int err = call("lists%s", state ? " of another" : "");

	if (err)
		return err;
	*lists = malloc(sizeof(all));
	if (!*lists)
		abort();
	memcpy(*lists, all, sizeof(all));
	*n = sizeof(all) / sizeof(all[0]);
	return 0;
}

static int given_set(struct state *state, const struct list_info *list, struct ranges *set)
{
	int err = call("what '%s'%s has", list->name, state ? " of another" : "");

	if (err)
		return err;
	*set = set_of(is.other_is_there && list->label == 4 ? "45.1.0.0" : "45.200.0.0/24");
	return 0;
}

static int given_allowed(struct state *state, struct ranges *allowed)
{
	int err = call("what is allowed%s", state ? " of another" : "");

	if (err)
		return err;
	*allowed = set_of("45.2.0.96/27 45.1.0.1");
	return 0;
}

static int given_gone(struct state *state, const struct ranges *gone)
{
	return call("grants of %s end%s", texts_of(gone), state ? ", of another" : "");
}

static bool given_kept(struct state *state)
{
	(void)state;
	return is.image;
}

static struct settings given_settings(struct state *state)
{
	struct settings settings = SETTINGS_DEFAULT;

	(void)state;
	settings.exact = !is.inexact;
	return settings;
}

static enum agreement given_agreement(struct state *state, const struct generation *g)
{
	(void)state;
	(void)g;
	return is.agrees;
}

static int given_map(const struct live *live, struct candidate *c, bool edit)
{
	memset(c, 0, sizeof(*c));
	c->g.number = live->g.number;
	return call("the arrays are mapped%s", edit ? " to edit" : "") ?: is.no_map ? -EIO : 0;
}

static bool given_map_failed(const struct candidate *c)
{
	(void)c;
	return is.unmapped;
}

static void given_begin(struct edit *e, struct generation *g)
{
	*e = (struct edit){ .g = g, .n = is.places, .full = is.full };
}

static int given_unban4(struct edit *e, const struct ranges *gone)
{
	return call("out of account %u: %s", e->list, texts_of(gone));
}

static int given_unlist6(struct edit *e, ip6 first, unsigned int length)
{
	return call("out of account %u: %llx.../%u", e->list, (unsigned long long)(first >> 64), length);
}

static int given_ban(struct edit *e, const struct owned *wanted)
{
	(void)e;
	printf("  ban on account %u:", wanted->n4 ? wanted->label4[0] : 0);
	for (size_t i = 0; i < wanted->n4; i++)
		printf(" %x-%x", wanted->v4[i].lo, wanted->v4[i].hi);
	puts("");
	return call("banned");
}

static int given_worthwhile(const struct edit *e)
{
	(void)e;
	return call("is it worthwhile");
}

static void given_bring_in(const struct edit *e)
{
	(void)e;
	call("brought in");
}

static void given_end(struct edit *e)
{
	(void)e;
	printf("  the edit ends\n");
}

static int given_commit(struct state *state, struct live *live, struct candidate *c, struct edit *e,
			const struct ends *ends)
{
	return call("committed%s%s", ends->n || ends->at ? ", with ends" : "",
		    state || live->g.number != c->g.number || !e->g ? ", of another" : "");
}

static void given_release(struct candidate *c)
{
	(void)c;
	printf("  let go\n");
}

static void given_note(const char *format, ...)
{
	va_list args;

	printf("  note: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	puts("");
}

#define state_bans_sets	     given_bans
#define state_lists	     given_lists
#define state_list_whole_set given_set
#define state_allowed	     given_allowed
#define guard_gone	     given_gone
#define image_kept	     given_kept
#define settings_read	     given_settings
#define agreement(s, g)	     given_agreement(s, g)
#define live_map	     given_map
#define live_map_failed	     given_map_failed
#define edit_begin	     given_begin
#define edit_unban4	     given_unban4
#define edit_unlist6	     given_unlist6
#define edit_ban	     given_ban
#define edit_worthwhile	     given_worthwhile
#define edit_bring_in	     given_bring_in
#define edit_end	     given_end
#define edit_commit	     given_commit
#define kernel_release	     given_release
#undef note
#define note given_note
#include "change/list_edit.c"

static struct context context;
static struct change change;
static struct list_info list;
static const char *came_text, *gone_text;

static void begin(void)
{
	memset(&is, 0, sizeof(is));
	is.agrees = AGREED;
	is.places = 3;
	context = (struct context){ 0 };
	change = (struct change){ .context = &context };
	change.live.g = (struct generation){ .number = 12, .filter = 1, .roster4 = 1 };
	list = (struct list_info){ .name = "its-own", .kind = LIST_BAN, .label = 2, .prefixes = 1000 };
	came_text = "45.1.0.0/31 45.2.0.0/24";
	gone_text = "45.2.0.64/26 45.3.0.9 2001:db8:0:4::/62";
}

static int edits(void)
{
	struct ranges came = set_of(came_text), gone = set_of(gone_text);
	bool full = !is.full;
	int err = list_edit(&change, &list, &came, &gone, &full);

	printf("  = %s%s\n", err ? errno_text(err) : "done", full ? ", it is full" : "");
	ranges_free(&came);
	ranges_free(&gone);
	return err;
}

static void does(const char *what)
{
	printf("%s:\n", what);
	calls = 0;
	edits();
	begin();
}

static void made(void)
{
	does("three places");
	is.places = 1;
	does("one place");
	is.places = 0;
	is.full = true;
	does("none, and full");
	came_text = "";
	does("nothing comes");
	gone_text = "";
	does("nothing goes");
	gone_text = "2001:db8::1 2001:db8:0:8::/61 2001:db8:0:10::/64";
	does("IPv6 goes");
}

static void fails_once(void)
{
	for (unsigned int at = 1; at < 100; at++) {
		fails_at = at;
		printf("%u:\n", at);
		calls = 0;
		edits();
		begin();
		if (calls < at)
			break;
	}
	fails_at = 0;
}

static void each_condition(void)
{
	context.joined = (struct change *)(void *)&change;
	does("one of several changes");
	change.live.on_trial = 1;
	does("one is on trial");
	list.kind = LIST_SHADOW;
	does("a shadow");
	list.kind = LIST_ALLOW;
	does("an allow list");
	list.label_is_new = true;
	does("its label is new");
	change.live.g.shadows = 1;
	does("beside a shadow");
	change.live.g.scoped = 1;
	does("beside a scope");
	for (enum agreement a = NOTHING_LIVE; a <= UNKNOWN; a++) {
		is.agrees = a;
		if (a != AGREED)
			does("kernel and state disagree");
	}
	is.image = true;
	does("there is an image");
	is.inexact = true;
	does("it is not exact");
	change.live.g.roster4 = 0;
	does("a filter without a roster");
	change.live.g.filter = change.live.g.roster4 = 0;
	does("nothing of either");
	change.live.g.roster4 = 0;
	change.live.g.roster6 = 1;
	does("a roster of IPv6");
	is.no_map = true;
	does("it cannot be mapped");
	is.unmapped = true;
	does("something of it could not");
	is.bans = true;
	does("a ban has some of it");
	is.other_is_there = true;
	does("another list has some of it");
}

/* Of one prefix less than four times as many, of so many, and of one more. */
static void sizes(void)
{
	static const struct {
		const char *came, *gone;
	} each[] = { { "45.1.0.0/31", "" },
		     { "", "2001:db8::/64" },
		     { "45.1.0.0/31", "45.5.0.0/30" },
		     { "45.1.0.0/31 45.1.1.0/31 45.1.2.0/31", "45.5.0.0/30 2001:db8::/64" } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct ranges came = set_of(each[i].came), gone = set_of(each[i].gone);

		for (list.prefixes = 0; list.prefixes < 64 && !is_small(&list, &came, &gone); list.prefixes++)
			;
		printf("%s and %s: of %llu\n", each[i].came, each[i].gone, (unsigned long long)list.prefixes);
		ranges_free(&came);
		ranges_free(&gone);
	}
	begin();
	list.prefixes = 16;
	does("too much of it");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "it is made", made },
					       { "each call fails once", fails_once },
					       { "each condition", each_condition },
					       { "how much of it", sizes } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
