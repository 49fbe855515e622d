// SPDX-License-Identifier: GPL-2.0-only
/* fleet alone: what is printed of members and of the server, from a state that is made up; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "change/accounts.h"
#include "change/waiting.h"
#include "observe/fleet_view.h"
#include "state/state.h"
#include "typed.h"
#include "verbs/fleet.h"

static const struct shown known[] = {
#include "unit_fleet_shown.txt"
};

static struct shows shows = { .file = "tests/unit/unit_fleet_shown.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define DATE 1767225600LL /* 2026-01-01T00:00:00Z */

static int calls, fails_at;
static struct member members[4];
static size_t members_n;
static struct member_seen heard_of[4];
static struct fleet_view view_is;

static int call(const char *what)
{
	return ++calls == fails_at ? because(-EIO, "%s: it was not to be", what) : 0;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	return call(change ? "to change" : "the state");
}

static int given_members(struct state *state, struct member **to, size_t *n)
{
	(void)state;
	*n = members_n;
	*to = calloc(members_n + 1, sizeof(**to));
	memcpy(*to, members, members_n * sizeof(**to));
	return call("the members");
}

static int given_counts(struct state *state, struct said_count **counts, size_t *n)
{
	(void)state;
	*n = 3;
	*counts = calloc(3, sizeof(**counts));
	for (size_t i = 0; i < 3; i++) {
		(*counts)[i].member = (int64_t)i;
		(*counts)[i].n = 100 + (int64_t)i;
	}
	return call("what they say");
}

static size_t waiting_n;

/* Every second of them is needed still. */
static int given_waiting(struct state *state, struct waiting **to, size_t *n)
{
	(void)state;
	*n = waiting_n;
	*to = calloc(waiting_n + 1, sizeof(**to));
	for (size_t i = 0; i < waiting_n; i++) {
		snprintf((*to)[i].member, sizeof((*to)[i].member), "m%zu", 1 + i / 3);
		if (i % 2)
			snprintf((*to)[i].need, sizeof((*to)[i].need), "192.0.2.%zu bans it", i);
	}
	return call("what waits");
}

static int given_view(struct fleet_view *v, const struct context *context, struct state *state)
{
	(void)context, (void)state;
	*v = view_is;
	v->seen.members = heard_of;
	return call("the fleet");
}

#define state_open	   given_open
#define state_close(of)	   ((void)(of))
#define state_members	   given_members
#define state_said_counts  given_counts
#define waiting_read	   given_waiting
#define fleet_view_take	   given_view
#define fleet_view_free(v) ((void)(v))
#define time(to)	   ((void)(to), (time_t)DATE)
#define shown		   shown_member /* there is one in shown.h */
#include "verbs/fleet_show.c"
#undef shown
#undef time

static void anew(void)
{
	fails_at = 0;
	waiting_n = 0;
	memset(heard_of, 0, sizeof(heard_of));
	memset(&view_is, 0, sizeof(view_is));
	memset(members, 0, sizeof(members));
	members_n = 3;
	for (size_t i = 0; i < 4; i++) {
		members[i] = (struct member){ .id = (int64_t)i, .limits = member_limits_default };
		snprintf(members[i].name, sizeof(members[i].name), "m%zu", i);
		snprintf(heard_of[i].name, sizeof(heard_of[i].name), "m%zu", i + 1);
	}
	strcpy(members[0].name, MEMBER_ANY);
	members[0].rule = MEMBER_ACCEPTED;
}

/* True: a call failed, or would have. */
static bool types(const char *line)
{
	calls = 0;
	typed(line);
	return calls >= fails_at;
}

static void both(const char *what)
{
	printf("-- %s\n", what);
	types("fleet");
	types("fleet --json");
}

static void rules(void)
{
	members_n = 0;
	both("nobody");
	members_n = 3;
	both("all are accepted");
	members[0].rule = MEMBER_REFUSED;
	members[1].rule = MEMBER_ACCEPTED;
	members[1].limits.shadow = true;
	members[2].rule = MEMBER_REFUSED;
	both("one is");
	strcpy(members[0].name, "m");
	members[0].rule = MEMBER_BY_ANY;
	members[2].rule = MEMBER_BY_ANY;
	both("no rule");
}

static void words(void)
{
	static const int64_t each[] = { DATE, DATE - 1, DATE - 59, DATE - 3600, DATE + 5, 0, 1 };

	members_n = 2;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		members[1].heard = each[i];
		printf("-- %lld\n", (long long)(each[i] - DATE));
		types("fleet");
	}
	members[1].taken = 11;
	members[1].ended = 222;
	members[1].refused = 3333;
	strcpy(members[1].why, "too many");
	both("what became of it");
	waiting_n = 1;
	both("one of it waits");
	members_n = 3;
	waiting_n = 5;
	both("several wait");
	members_n = 2;
	waiting_n = 0;
	view_is.seen.n = 1;
	heard_of[0].p50 = heard_of[0].p99 = -1;
	heard_of[0].heard = (DATE - 7) * 1000 + 999;
	members[1].heard = DATE - 8;
	both("heard by the server last");
	members[1].heard = DATE - 6;
	both("heard as a ban last");
}

static void servers(void)
{
	static const double each[] = { -1, 0, 0.4, 9999.4, 9999.5, 123456 };

	members_n = 2;
	view_is.joined = true;
	strcpy(view_is.is.name, "me");
	strcpy(view_is.is.url, "redis://h");
	strcpy(view_is.is.say, "all");
	view_is.is.n = 7;
	view_is.waiting = 3;
	both("nobody takes part");
	view_is.runs = true;
	both("it begins");
	view_is.known = true;
	view_is.seen.since = DATE - 60;
	strcpy(view_is.seen.why, "refused");
	strcpy(view_is.is.say, "add");
	both("down");
	view_is.seen.up = true;
	view_is.seen.offset = -5;
	view_is.seen.rtt = 9;
	strcpy(view_is.seen.version, "8.0");
	strcpy(view_is.is.say, "detector");
	view_is.is.all = 2;
	both("up");
	strcpy(view_is.is.say, "ssh");
	view_is.seen.offset = 5;
	view_is.seen.lost_at = DATE - 7;
	strcpy(view_is.seen.lost, "it began anew");
	strcpy(view_is.seen.unsaid, "full");
	both("it refuses");
	view_is.known = false;
	types("fleet");
	view_is.known = true;
	view_is.seen.n = 3;
	heard_of[0].gaps = 1;
	strcpy(heard_of[0].why, "a gap");
	heard_of[1].bad = 2;
	heard_of[1].entries = 44;
	strcpy(heard_of[1].why, "not a ban");
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		heard_of[0].p50 = heard_of[1].p99 = each[i];
		heard_of[0].p99 = heard_of[1].p50 = each[sizeof(each) / sizeof(*each) - 1 - i];
		printf("-- %g\n", each[i]);
		types("fleet");
	}
	types("fleet --json");
	members_n = 0;
	both("none that is known has said anything");
}

static void cannot(void)
{
	for (fails_at = 1; types("fleet"); fails_at++)
		;
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "rules", rules }, { "words", words }, { "servers", servers }, { "cannot", cannot }
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
