// SPDX-License-Identifier: GPL-2.0-only
/* What Prometheus reads, of counters, a state and a detector that are made up; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "base/log.h"
#include "filter/limits.h"
#include "kernel/attachment.h"
#include "observe/agent_seen.h"
#include "observe/detector.h"
#include "observe/fleet_view.h"
#include "observe/fresh.h"
#include "observe/in_force.h"
#include "observe/tallies.h"
#include "shown.h"
#include "state/bans.h"
#include "state/failed.h"

static const struct shown known[] = {
#include "unit_metrics.txt"
};

static struct shows shows = { .file = "tests/unit/unit_metrics.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define DATE 1767225600 /* 2026-01-01T00:00:00Z */

static const struct context own = CONTEXT_DEFAULT;
static int calls, fails_at, held;
static unsigned int ports_are, lists_are, fresh_are, members_are, seen_are;
static bool polices, in_force, joined, known_fleet, up, clock_known, followed;
static struct member_seen seen_members[300];

static int call(const char *what)
{
	return ++calls == fails_at ? because(-EIO, "%s: it was not to be", what) : 0;
}

static int given_take(const struct context *context, struct tallies *t)
{
	struct counted *n = &t->counted;

	memset(t, 0, sizeof(*t));
	if (call(context == &own ? "counts" : "of another"))
		return because(-EIO, "counts: it was not to be");
	held++;
	t->lists = calloc(5, sizeof(*t->lists));
	t->lists_n = lists_are;
	for (unsigned int i = 0; i < lists_are; i++) {
		t->lists[i].kind = (enum list_kind[]){ LIST_BAN, LIST_SHADOW, LIST_ALLOW, LIST_TRUST, LIST_BAN }[i];
		t->lists[i].label = (uint8_t)(i + 1);
		t->lists[i].prefixes = 10 + i;
		snprintf(t->lists[i].name, LIST_NAME_MAX, i == 4 ? "a\"b\\c\nd" : "list%u", i);
		snprintf(t->lists[i].scope, SCOPE_TEXT_MAX, "%s", i == 1 || i == 4 ? "tcp/22" : "");
		snprintf(t->lists[i].loaded, sizeof(t->lists[i].loaded), i == 3 ? "never" : "2025-12-31T23:59:0%uZ", i);
	}
	t->ports = calloc(4, sizeof(*t->ports));
	t->ports_n = ports_are;
	for (unsigned int i = 0; i < ports_are; i++) {
		t->ports[i].ifindex = i + 2;
		snprintf(t->ports[i].name, IF_NAMESIZE, i == 2 ? "e\"\\" : "eth%u", i);
		t->ports[i].match = i == 1 ? MATCH_LEAVING(MATCH_DESTINATION) : MATCH_SOURCE;
	}
	n->polices = polices;
	for (unsigned int why = 0; why < REASONS; why++) {
		n->port[2][why] = (struct tally){ why + 1, 100 * why };
		n->out[3][why] = (struct tally){ (why + 1) * 10, 1000 * why };
		n->port[PORT_RETIRED][why].packets = 77777;
	}
	for (unsigned int i = 0; i < 6; i++) {
		n->list[i] = (struct tally){ 11 * i + 1, 1100 * i + 1 };
		n->unread[i].packets = 5 * i;
	}
	return 0;
}

static void given_free(struct tallies *t)
{
	held--;
	free(t->lists);
	free(t->ports);
}

static int given_force(const struct context *context, struct inforce *f)
{
	(void)context;
	memset(f, 0, sizeof(*f));
	f->g.number = 12;
	f->g.keys4 = 1000;
	f->g.keys6 = 10;
	f->bytes.gate = 1;
	f->bytes.filter = 22;
	f->bytes.roster = 333;
	f->bytes.labels = 4444;
	f->rate.fill = 0.25;
	f->rate.fpr = 0.001234567891234;
	f->verdict = 1e-7;
	return call("what is in force");
}

static int given_detector(const struct context *context, __u64 since, struct detector_sums *d)
{
	(void)context;
	memset(d, 0, sizeof(*d));
	d->in_force = in_force;
	d->room = 64;
	d->tracked = 5;
	d->above = since ? 77 : 3;
	d->banned = 2;
	d->limited = 1 << CLASS_PACKETS | 1 << CLASS_SYN | 1 << (LIMITED - 1);
	for (unsigned int i = 0; i < CLASSES; i++)
		d->above_of[i] = i + 1;
	for (unsigned int i = 0; i < DETECTEDS; i++)
		d->packets[i] = 1000 + i;
	return call("the detector");
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	if (call(change ? "to change" : "the state"))
		return because(-EIO, "the state: it was not to be");
	*state = (struct state *)&held;
	held++;
	return 0;
}

static void given_close(struct state *state)
{
	held -= state != NULL;
}

static int given_fresh(struct state *state, int64_t now, struct fresh **all, size_t *n)
{
	(void)state;
	if (now != DATE)
		return -EINVAL;
	*n = fresh_are;
	*all = calloc(4, sizeof(**all));
	for (unsigned int i = 0; i < fresh_are; i++) {
		snprintf((*all)[i].list, LIST_NAME_MAX, "list%u", i);
		(*all)[i].is = i == 1 ? "old" : "fresh";
		(*all)[i].good = i == 1 ? 0 : DATE - 60;
		(*all)[i].tried = i == 2 ? 0 : DATE - 7;
		(*all)[i].every = 3600 * i;
		(*all)[i].failures = i;
		(*all)[i].age = i == 1 ? 100 : 1;
		(*all)[i].max_age = i == 2 ? 0 : 50;
	}
	return call("what is fresh");
}

static int given_fleet(struct fleet_view *v, const struct context *context, struct state *state)
{
	(void)context, (void)state;
	*v = (struct fleet_view){ .joined = joined, .known = known_fleet, .waiting = 7 };
	v->seen = (struct fleet_seen){
		.up = up, .clock_known = clock_known, .offset = -1500, .n = seen_are, .members = seen_members
	};
	for (unsigned int i = 0; i < seen_are; i++) {
		snprintf(seen_members[i].name, MEMBER_NAME_MAX, "m%u", i);
		seen_members[i].heard = DATE * 1000LL + 999;
		seen_members[i].p50 = i == 1 ? -1 : i ? 1234.5 : 0;
		seen_members[i].p99 = 4321;
	}
	return call("the fleet");
}

static int given_members(struct state *state, struct member **members, size_t *n)
{
	(void)state;
	*n = members_are;
	*members = calloc(members_are + 1, sizeof(**members));
	for (unsigned int i = 0; i < members_are; i++) {
		snprintf((*members)[i].name, MEMBER_NAME_MAX, "m%u", i);
		(*members)[i].taken = 100 + i;
		(*members)[i].refused = 200 + i;
	}
	if (members_are > 1)
		strcpy((*members)[1].name, MEMBER_ANY);
	return call("the members");
}

static void given_failures(const struct context *context, struct list_failure **failures, size_t *n)
{
	(void)context;
	*n = 1;
	*failures = calloc(1, sizeof(**failures));
	strcpy((*failures)[0].list, "list1");
}

#define tallies_take	      given_take
#define tallies_free	      given_free
#define inforce_take	      given_force
#define detector_sum	      given_detector
#define state_open	      given_open
#define state_close	      given_close
#define fresh_take	      given_fresh
#define fleet_view_take	      given_fleet
#define fleet_view_free(v)    ((void)(v))
#define state_members	      given_members
#define list_failures	      given_failures
#define agent_seen_take(s, c) ((void)(c), *(s) = (struct agent_seen){ .followed = followed, .since = DATE })
#define time(to)	      ((void)(to), (time_t)DATE)
#undef VERSION
#define VERSION "1"
#include "observe/metrics.c"
#undef time

static void anew(void)
{
	fails_at = 0;
	ports_are = 3;
	lists_are = 5;
	fresh_are = 3;
	members_are = 3;
	seen_are = 3;
	polices = in_force = joined = known_fleet = up = clock_known = followed = true;
}

static void writes(void)
{
	int err;

	calls = held = 0;
	err = metrics_write(&own, stdout);
	printf("= %s\n", err ? reason(err) : "written");
	if (held)
		printf("not given back: %d\n", held);
}

static void all(void)
{
	writes();
}

static void little(void)
{
	ports_are = lists_are = fresh_are = members_are = seen_are = 0;
	polices = in_force = joined = known_fleet = up = clock_known = followed = false;
	writes();
	puts("-- joined, and nothing is known");
	joined = true;
	lists_are = 1;
	fresh_are = 1;
	writes();
}

static void fails(void)
{
	for (fails_at = 1; fails_at < 8; fails_at++)
		writes();
}

/* No more members than can be shown. */
static void many(void)
{
	char *text;
	size_t size, n = 0;
	FILE *out = open_memstream(&text, &size);

	anew();
	seen_are = members_are = 257;
	calls = 0;
	CHECK(out && !metrics_write(&own, out) && !fclose(out), "not written");
	for (const char *at = text; (at = strstr(at, "member=\"m25")); at++)
		n += at[11] == '5' && at[12] == '"';
	CHECK(n == 5 && !strstr(text, "m256"), "the 256th is there %zu times", n);
	free(text);
	joined = false;
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "all", all }, { "little", little }, { "each fails", fails } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word }, { "many members", many } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
