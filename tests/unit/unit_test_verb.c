// SPDX-License-Identifier: GPL-2.0-only
/*
 * test: what the program's answer and the lists come to, in words and as JSON, where they agree and where they do not.
 * The kernel, the lists and the clock are made up.
 */
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/span.h"
#include "bpf/decide.h"
#include "change/change.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "observe/documents.h"
#include "observe/explain.h"
#include "observe/suspects.h"
#include "sets/networks.h"
#include "state/bans.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_test_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_test_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define NOW    1767225600 /* 2026-01-01T00:00:00Z */
#define DROPS  ANSWER_DROP | ANSWER
#define COUNTS ANSWER_SHADOW | ANSWER
#define MOST   5
#define SCOPED (SCOPE_LABELS + 1)

/* The lists in force; the live bans are the last. */
static const struct list_info lists[] = {
	{ .name = "mine", .kind = LIST_BAN, .label = 5, .source = "/etc/mine" },
	{ .name = "seen", .kind = LIST_SHADOW, .label = 6, .source = "/etc/seen" },
	{ .name = "ok", .kind = LIST_ALLOW, .label = 7, .source = "/etc/ok" },
	{ .name = "ssh", .kind = LIST_BAN, .label = 8, .source = "/etc/ssh", .scope = "tcp/22" },
	{ .name = "web", .kind = LIST_SHADOW, .label = 9, .source = "/etc/web", .scope = "tcp/80" },
	{ .name = "friends", .kind = LIST_TRUST, .label = 10, .source = "/etc/friends" },
	{ .name = LIVE_LIST, .kind = LIST_BAN, .label = LABEL_LIVE },
};
#define LISTS (sizeof(lists) / sizeof(lists[0]))
enum { MINE, SEEN, OK, SSH, WEB, FRIENDS, LIVE };

static struct entry {
	size_t list;
	const char *prefix, *last; /* last: of a range */
	unsigned int line;
	struct ban ban;
	struct said said[3];
	size_t said_n;
	bool ran_out;
} held[] = {
	{ MINE, "45.0.0.0/24", .line = 3 },
	{ SEEN, "45.0.1.0/24", .line = 4 },
	{ OK, "45.0.0.7/32", .line = 5 },
	{ SSH, "45.0.2.0/24", .line = 0 },
	{ WEB, "45.0.3.0/24", .line = 1 },
	{ FRIENDS, "45.0.0.8/32", .line = 2 },
	{ LIVE, "46.0.0.1/32", .ban = { .added = NOW - 60, .expires = NOW + 60, .reason = "too much" } },
	{ LIVE, "46.0.0.2/32", .ban = { .added = NOW - 60 }, .said_n = 3,
	  .said = { { .ban = { .added = NOW - 60 } },
		    { .ban = { .added = NOW - 180, .expires = NOW + 1, .reason = "41 k SYN/s" }, .member = 1 },
		    { .ban = { .added = NOW - 180, .expires = NOW - 1 }, .member = 1 } } },
	{ LIVE, "46.0.0.4/32", .ban = { .added = NOW + 60 }, .said_n = 1,
	  .said = { { .ban = { .added = NOW + 60 }, .member = 9 } } },
	{ LIVE, "46.0.0.3/32", .ran_out = true },
	{ MINE, "47.0.0.1/32", "47.0.0.9", .line = 0 },
	{ MINE, "2001:db8::/32", .line = 9 },
};

static struct member members[] = { { .id = 1, .name = "edge-7" } };

static __u32 says[MOST]; /* of the addresses, in order */
static __u32 says_of_packet;
static bool image, no_memory, sees;
static int64_t bans_next;
static uint64_t generation, explained_generation, edits, explained_edits;
static int becomes_known; /* after so many rounds */
static int calls, fails_at, rounds, moves, asked_networks;
static FILE *input;

static int call(const char *what)
{
	bool fails = ++calls == fails_at;

	if (fails)
		printf("  %s: fails\n", what);
	return fails ? because(-EIO, "a call failed") : 0;
}

static struct addr addr_of(const char *text, unsigned int *length)
{
	const char *slash = strchr(text, '/');
	struct addr addr = { 0 };

	if (addr_parse(text, slash ? (size_t)(slash - text) : strlen(text), &addr))
		abort();
	*length = slash ? (unsigned int)atoi(slash + 1) : addr_width(addr.family);
	return addr;
}

static void trace_one(struct explanation *e, struct traced *t, struct addr addr)
{
	for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++) {
		const struct entry *entry = &held[i];
		unsigned int length, unused;
		struct addr first = addr_of(entry->prefix, &length);
		ip6 last = entry->last	  ? addr_of(entry->last, &unused).num
			   : length < 128 ? first.num | (((ip6)1 << (addr_width(first.family) - length)) - 1)
					  : first.num;
		struct hit hit = { .list = entry->list, .lo = first.num, .hi = last, .line = entry->line };

		if (first.family != addr.family || addr.num < first.num || addr.num > last)
			continue;
		t->ran_out = entry->ran_out;
		if (entry->ran_out || (e->image && entry->list != LIVE && entry->list != OK))
			continue;
		if (entry->list == LIVE) {
			hit.ban = malloc(sizeof(*hit.ban));
			*hit.ban = entry->ban;
			hit.said = malloc(sizeof(entry->said));
			memcpy(hit.said, entry->said, sizeof(entry->said));
			hit.said_n = entry->said_n;
		}
		t->hits[t->n++] = hit;
	}
}

static int given_explain(const struct context *context, struct explanation *e, const struct addr *addrs, size_t n)
{
	(void)context;
	*e = (struct explanation){ .generation = explained_generation, .edits = explained_edits, .image = image };
	if (call("explains"))
		return because(-EIO, "a call failed");
	e->lists = malloc(sizeof(lists));
	memcpy(e->lists, lists, sizeof(lists));
	e->n = LISTS;
	e->sets = calloc(LISTS, sizeof(*e->sets));
	e->traced = calloc(n, sizeof(*e->traced));
	e->addrs_n = n;
	e->members = malloc(sizeof(members));
	memcpy(e->members, members, sizeof(members));
	e->members_n = 1;
	for (size_t i = 0; i < n; i++) {
		e->traced[i].hits = calloc(MOST, sizeof(*e->traced[i].hits));
		trace_one(e, &e->traced[i], addrs[i]);
	}
	return 0;
}

static int given_ask(const struct context *context, const struct addr *addrs, size_t n, __u32 *answers)
{
	(void)context;
	(void)addrs;
	rounds++;
	if (rounds == becomes_known)
		generation = explained_generation;
	for (size_t i = 0; i < n; i++)
		answers[i] = says[i];
	return call("asks");
}

static int given_packet(const struct context *context, const struct addr *addr, const struct asked_packet *packet,
			__u32 *answer)
{
	char text[PREFIX_TEXT_MAX], to[PREFIX_TEXT_MAX];

	(void)context;
	printf("  asks of %s: protocol %d, port %d, to %s, by %d\n", prefix_text(text, *addr, -1), packet->protocol,
	       packet->port, packet->to.family ? prefix_text(to, packet->to, -1) : "anywhere", (int)packet->ifindex);
	*answer = says_of_packet;
	return call("asks of a packet");
}

static int given_live(const struct context *context, struct generation *g)
{
	(void)context;
	*g = (struct generation){ .number = generation, .edits = edits };
	if (moves > 0) {
		moves--;
		g->edits += (unsigned int)moves % 2 + 1;
	}
	return 0;
}

static int given_seen(const struct context *context, struct seen *seen)
{
	(void)context;
	*seen = (struct seen){ .n = 77 };
	if (call("looks at the detector"))
		return -EIO;
	*seen = (struct seen){ .now = 9000000000, .n = sees ? 3 : 0 };
	seen->suspect = calloc(3, sizeof(*seen->suspect));
	seen->suspect[0].key = 0x2d000001;
	seen->suspect[0].mark = SUSPECT_IPV4;
	seen->suspect[0].is.over[0] = sees ? 4 : 0;
	seen->suspect[0].is.over_at = 6000000000;
	for (unsigned int i = 1; i < 3; i++) {
		seen->suspect[i] = seen->suspect[0];
		seen->suspect[i].key = 0x2e000002 + i; /* 46.0.0.3: banned; 46.0.0.4: no more */
		seen->suspect[i].is.until = seen->now + 2 - i;
	}
	return 0;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	return call(change ? "opens to change" : "opens");
}

static int64_t given_next(struct state *state)
{
	(void)state;
	return bans_next;
}

static int given_begin(struct change **change, struct context *context)
{
	(void)context;
	*change = NULL;
	puts("  passes by");
	return 0;
}

static void given_end(void)
{
	puts("  and ends");
}

/* There are none. */
static struct networks *given_networks(const char *state)
{
	if (strcmp(state, typed_context.state) != 0)
		puts("  networks of elsewhere");
	asked_networks++;
	return NULL;
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (fds || n || ms != 10)
		puts("  waits otherwise");
	return 0;
}

static unsigned int given_index(const char *name)
{
	return !strcmp(name, "eth0") ? 7 : 0;
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define explain		   given_explain
#define kernel_ask	   given_ask
#define kernel_ask_packet  given_packet
#define kernel_live	   given_live
#define kernel_seen	   given_seen
#define state_open	   given_open
#define state_bans_next	   given_next
#define state_close(state) ((void)(state))
#define change_begin	   given_begin
#define change_end(change) given_end()
#define networks_open(of)  given_networks(of)
#undef stdin
#define stdin		input
#define poll		given_poll
#define if_nametoindex	given_index
#define time(to)	((void)(to), (time_t)NOW)
#define calloc(n, size) given_calloc(n, size)
#include "observe/suspects.c"
#include "verbs/test.c"
#undef calloc
#undef time

static void begin(void)
{
	memset(says, 0, sizeof(says));
	says_of_packet = 0;
	image = no_memory = sees = false;
	bans_next = 0;
	generation = explained_generation = 3;
	edits = explained_edits = 2;
	becomes_known = calls = fails_at = rounds = moves = asked_networks = 0;
}

/* In both forms; the answers are of the addresses in order. */
static void tests(const char *line, __u32 first, __u32 second, __u32 third)
{
	char json[300];

	snprintf(json, sizeof(json), "%s --json", line);
	for (int i = 0; i < 2; i++) {
		calls = rounds = 0;
		says[0] = first;
		says[1] = second;
		says[2] = third;
		typed(i ? json : line);
	}
}

static void answers_of_lists(void)
{
	__u32 pass = ANSWER(STAGE_GATE, 0, 0);

	tests("test 45.0.0.1", DROPS(STAGE_GATE, 0, 5), 0, 0);
	tests("test 45.0.0.7", ANSWER(STAGE_ROSTER, 0, 0), 0, 0);
	tests("test 45.0.0.8", DROPS(STAGE_ROSTER, 0, 5), 0, 0);
	tests("test 45.0.1.1", COUNTS(STAGE_ROSTER, 0, 6), 0, 0);
	tests("test 9.9.9.9", pass, 0, 0);
	tests("test 46.0.0.1 46.0.0.2 46.0.0.4", DROPS(STAGE_ROSTER, 0, 0), DROPS(STAGE_ROSTER, 0, 0),
	      DROPS(STAGE_ROSTER, 0, 0));
	tests("test 47.0.0.5", DROPS(STAGE_ROSTER, 0, 5), 0, 0);
	tests("test 2001:db8::1 ::ffff:45.0.0.1", DROPS(STAGE_FILTER, 1, 5), DROPS(STAGE_GATE, 0, 5), 0);
	tests("test 45.0.0.1 9.9.9.9", DROPS(STAGE_GATE, 0, 5), pass, 0);
	tests("test 9.9.9.9 45.0.0.1", pass, DROPS(STAGE_GATE, 0, 5), 0);
	puts("-- an address within another");
	tests("test 2002:2d00:1::1", DROPS(STAGE_GATE, 0, 5), 0, 0);
	tests("test 2002:2d00:1::1", pass, 0, 0);
	tests("test ::ffff:9.9.9.9", DROPS(STAGE_FILTER, 0, 0), 0, 0);
	puts("-- false positives, and disagreement");
	tests("test 9.9.9.9", DROPS(STAGE_FILTER, 0, 0), 0, 0);
	tests("test 9.9.9.9", DROPS(STAGE_ROSTER, 0, 0), 0, 0);
	tests("test 45.0.0.1", pass, 0, 0);
	tests("test 45.0.0.7 45.0.0.1", DROPS(STAGE_ROSTER, 0, 5), DROPS(STAGE_GATE, 0, 5), 0);
	tests("test 46.0.0.3", DROPS(STAGE_ROSTER, 0, 0), 0, 0);
	tests("test 9.9.9.9", ANSWER_UNPARSED, 0, 0);
	tests("test 45.0.0.1", ANSWER_HIDDEN, 0, 0);
	tests("test 2002:2d00:1::1 9.9.9.9", DROPS(STAGE_GATE, 0, 5), DROPS(STAGE_ROSTER, 0, 0), 0);
	puts("-- the detector");
	sees = true;
	tests("test 45.0.0.1 45.0.0.2", DROPS(STAGE_GATE, 0, 5), DROPS(STAGE_GATE, 0, 5), 0);
	tests("test 46.0.0.3 46.0.0.4", pass, pass, 0);
	tests("test 46.0.0.3", pass, 0, 0);
	sees = false;
}

/* Of an image's lists there are labels alone. */
static void answers_of_an_image(void)
{
	image = true;
	tests("test 45.0.0.1", DROPS(STAGE_GATE, 0, 5), 0, 0);
	tests("test 45.0.0.1", DROPS(STAGE_GATE, 0, 99), 0, 0);
	tests("test 45.0.1.1", COUNTS(STAGE_ROSTER, 0, 6), 0, 0);
	tests("test 45.0.0.7", ANSWER(STAGE_ROSTER, 0, 0), 0, 0);
	tests("test 46.0.0.1", DROPS(STAGE_ROSTER, 0, 0), 0, 0);
	tests("test 46.0.0.1", ANSWER(STAGE_ROSTER, 0, 0), 0, 0);
	tests("test 9.9.9.9", DROPS(STAGE_ROSTER, 0, 0), 0, 0);
	tests("test 9.9.9.9", DROPS(STAGE_GATE, 0, 0), 0, 0);
	tests("test 9.9.9.9", DROPS(STAGE_FILTER, 0, 0), 0, 0);
	tests("test 9.9.9.9", ANSWER(STAGE_ROSTER, 0, 5), 0, 0);
	tests("test 9.9.9.9", ANSWER_UNPARSED, 0, 0);
	tests("test 45.0.2.1 --dport 22", DROPS(STAGE_ROSTER, 0, SCOPED), 0, 0);
}

static void answers_of_packets(void)
{
	__u32 scoped = DROPS(STAGE_ROSTER, 0, SCOPED);

	says_of_packet = ANSWER(STAGE_ROSTER, 0, 0);
	tests("test 45.0.2.1", scoped, 0, 0);
	tests("test 45.0.2.1 --proto tcp", scoped, 0, 0);
	tests("test 45.0.2.1 --proto tcp --dport 22", scoped, 0, 0);
	tests("test 45.0.2.1 --proto tcp --dport 23", scoped, 0, 0);
	tests("test 45.0.2.1 --proto udp --to 192.0.2.1 --on eth0", scoped, 0, 0);
	tests("test 45.0.2.1 --proto 17 --to ::ffff:192.0.2.1 --on eth9", scoped, 0, 0);
	tests("test 45.0.3.1", scoped, 0, 0);
	tests("test 45.0.3.1 --proto tcp --dport 80", scoped, 0, 0);
	tests("test 45.0.3.1 --proto tcp --dport 81", scoped, 0, 0);
	tests("test 45.0.2.1 --proto tcp --dport 23", DROPS(STAGE_ROSTER, 0, SCOPE_LABELS - 1), 0, 0);
	tests("test 45.0.2.1 --proto tcp --dport 23", DROPS(STAGE_ROSTER, 0, SCOPE_LABELS), 0, 0);
	puts("-- words");
	tests("test 45.0.2.1 --proto x", scoped, 0, 0);
	tests("test 45.0.2.1 --dport 65536", scoped, 0, 0);
	tests("test 45.0.2.1 --proto tcp --dport 65535", scoped, 0, 0);
	tests("test 45.0.2.1 --to x", scoped, 0, 0);
	tests("test 45.0.2.1 --on a/b", scoped, 0, 0);
	tests("test x", scoped, 0, 0);
	tests("test 45.0.2.1 45.0.0.0/24", scoped, 0, 0);
	tests("test", scoped, 0, 0);
}

/* The program may be a moment behind the lists, or before them. */
static void rounds_of_it(void)
{
	static const struct {
		uint64_t generation, edits, explained, explained_edits;
	} all[] = { { 3, 2, 3, 2 }, { 3, 2, 3, 1 }, { 3, 2, 3, 3 }, { 3, 2, 4, 0 }, { 3, 2, 2, 9 } };
	__u32 drop = DROPS(STAGE_GATE, 0, 5);

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		generation = all[i].generation;
		edits = all[i].edits;
		explained_generation = all[i].explained;
		explained_edits = all[i].explained_edits;
		tests("test 45.0.0.1", drop, 0, 0);
		printf("  %d rounds\n", rounds);
	}
	begin();
	explained_generation = 4;
	explained_edits = 0;
	becomes_known = 5;
	tests("test 45.0.0.1", drop, 0, 0);
	begin();
	for (moves = 1; moves <= 7; moves += 3) {
		int from = moves;

		rounds = calls = 0;
		says[0] = drop;
		typed("test 45.0.0.1");
		printf("  %d rounds, where it moved %d times\n", rounds, from);
		moves = from;
	}
	puts("-- bans that have run out");
	moves = 0;
	for (bans_next = NOW - 1; bans_next <= NOW + 1; bans_next++)
		tests("test 45.0.0.1", drop, 0, 0);
	puts("-- calls that fail");
	says[0] = DROPS(STAGE_ROSTER, 0, SCOPED);
	for (fails_at = 1; fails_at <= 7; fails_at++) {
		calls = 0;
		bans_next = NOW;
		typed("test 45.0.2.1 --proto udp");
		calls = 0;
		typed("test ::ffff:9.9.9.9");
	}
	fails_at = 0;
	no_memory = true;
	typed("test 45.0.0.1");
}

static void types_lines(const char *text)
{
	input = *text ? fmemopen((char *)(uintptr_t)text, strlen(text), "r") : fopen("/", "r");
	calls = 0;
	says[0] = says[1] = DROPS(STAGE_GATE, 0, 5);
	typed("test -");
	fclose(input);
}

static void from_lines(void)
{
	types_lines("45.0.0.1\n");
	types_lines("\n45.0.0.1 \t\r\n \n45.0.0.2");
	types_lines("45.0.0.1\nx\n45.0.0.2\n");
	types_lines(" \n");
	types_lines(" 45.0.0.1\n");
	types_lines("");
	printf("the networks were asked %d times\n", asked_networks);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "lists", answers_of_lists },	   { "an image", answers_of_an_image },
		{ "packets", answers_of_packets }, { "rounds", rounds_of_it },
		{ "lines", from_lines },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
