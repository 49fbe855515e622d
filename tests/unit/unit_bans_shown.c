// SPDX-License-Identifier: GPL-2.0-only
/*
 * bans: which of those in force are shown, in which order, and as whose; the state is in a directory of the test's own,
 * detector, clock and networks are made up.
 */
#include "own_state.h"
#include "no_disk.h"

#include <time.h>

#include "kernel/detect_seen.h"
#include "made_networks.h"
#include "state/bans.h"
#include "state/members.h"
#include "state/said.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_bans_shown.txt"
};

static struct shows shows = { .file = "tests/unit/unit_bans_shown.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define NOW 2000000000 /* behind any clock of today */

static size_t detected;
static bool named, no_detector, no_memory, no_sets;
static int looks;

static int given_seen(const struct context *context, struct seen *to)
{
	(void)context;
	*to = (struct seen){ .n = detected };
	looks += !no_detector;
	return no_detector ? -ENOENT : 0;
}

static void given_seen_end(struct seen *seen)
{
	looks -= seen->n == detected;
}

static struct networks *given_networks(const char *where)
{
	(void)where;
	return named ? made_networks() : NULL;
}

static int given_set(struct state *state, const struct list_info *list, struct ranges *set)
{
	return no_sets ? because(-EIO, "its pieces are lost") : state_list_whole_set(state, list, set);
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define kernel_seen	     given_seen
#define seen_banned_n(of)    ((of)->n)
#define seen_free	     given_seen_end
#define networks_open	     given_networks
#define state_list_whole_set given_set
#define time(to)	     ((time_t)NOW)
#define calloc(n, size)	     given_calloc(n, size)
#include "verbs/list_bans.c"
#undef calloc
#undef time
#undef state_list_whole_set

static struct addr addr_of(const char *text)
{
	struct addr addr;

	ENOUGH(!addr_parse(text, strlen(text), &addr));
	return addr;
}

static struct ban made(const char *first, unsigned int length, int ago, int until, const char *why)
{
	struct ban b = {
		.first = addr_of(first), .length = length, .added = NOW - ago, .expires = until ? NOW + until : 0
	};

	snprintf(b.reason, sizeof(b.reason), "%s", why);
	return b;
}

static void put_ban(struct state *s, const char *first, unsigned int length, int ago, int until, const char *why)
{
	struct ban b = made(first, length, ago, until, why);
	bool renewed;

	ENOUGH(!state_ban_put(s, &b, &renewed));
}

static void put_bans(void)
{
	struct state *s = opened(true);

	ENOUGH(s);
	put_ban(s, "45.0.0.0", 24, 100, 0, "web: scan");
	put_ban(s, "45.0.0.1", 32, 300, 60, "mail: flood");
	put_ban(s, "45.0.1.1", 32, 200, 61, "");
	put_ban(s, "192.0.2.7", 32, 400, 3600, "Scan");
	put_ban(s, "2001:db8::", 32, 50, 0, "a: b");
	put_ban(s, "2001:db9::1", 128, 150, 10, "web: flood");
	ENOUGH(!state_commit(s));
	state_close(s);
}

/* With a scope: the second is nobody's by that name. */
static void put_scoped(void)
{
	static const char *const names[] = { "(tcp-22)", "mine", "(udp)" };
	struct state *s = opened(true);

	ENOUGH(s);
	for (size_t i = 0; i < 3; i++) {
		struct list_info list = { .kind = LIST_BAN, .addresses = "3", .source = "add", .loaded = "now" };
		struct ranges set = RANGES_EMPTY;

		snprintf(list.name, sizeof(list.name), "%s", names[i]);
		snprintf(list.scope, sizeof(list.scope), "%s", i == 2 ? "udp" : "tcp/22");
		ENOUGH(!ranges_add4(&set, 0x2d000000 + (uint32_t)i, 0x2d000001 + (uint32_t)i) && !ranges_finish(&set));
		list.prefixes = i == 1 ? 2 : 1;
		ENOUGH(!state_list_put(s, &list, &set));
		ranges_free(&set);
	}
	ENOUGH(!state_commit(s));
	state_close(s);
}

static void put_members(void)
{
	struct state *s = opened(true);
	struct member a = { .name = "alpha", .limits = member_limits_default };
	struct member b = { .name = "beta", .limits = member_limits_default };
	bool fresh;

	ENOUGH(s && !state_member_put(s, &a) && !state_member_put(s, &b));
	for (int i = 0; i < 2; i++) {
		struct said said = { made(i ? "46.0.0.2" : "46.0.0.1", 32, 10 + i, i ? 0 : 500, "said"), a.id };

		ENOUGH(!state_said_put(s, &said, &fresh));
	}
	ENOUGH(!state_commit(s));
	state_close(s);
}

static void begin(void)
{
	detected = 0;
	named = no_detector = no_memory = no_sets = false;
	looks = 0;
	empty_directory();
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		typed(lines[i]);
		if (looks)
			puts("a look is not given back");
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void none(void)
{
	TYPES("bans", "bans --json", "bans --count", "bans --count --json", "bans 45.0.0.1");
	detected = 1;
	TYPES("bans", "bans --json", "bans 45.0.0.1");
	no_detector = true;
	TYPES("bans");
}

static void some(void)
{
	put_bans();
	detected = 2;
	TYPES("bans", "bans --json", "bans --count", "bans --count --json");
	named = true;
	TYPES("bans", "bans --json");
	named = false;
	puts("-- these");
	TYPES("bans 45.0.0.1", "bans 45.0.0.2", "bans 45.0.0.0/16", "bans 45.0.0.7/24", "bans ::/0",
	      "bans 45.0.1.1 2001:db9::1", "bans 47.0.0.0/8", "bans 45.0.0.0/24 --count", "bans 45.0.0.300");
}

static void picked(void)
{
	put_bans();
	TYPES("bans --reason scan", "bans --reason flood", "bans --reason ''", "bans --reason x",
	      "bans --ends-within 60s", "bans --ends-within 61s", "bans --ends-within 9s", "bans --since 100s",
	      "bans --since 99s", "bans --since 400s", "bans --sort prefix", "bans --sort added", "bans --sort end",
	      "bans --sort reason", "bans --sort what", "bans --reason scan --since 100s --count",
	      "bans --sort end --json", "bans --reason flood 45.0.0.0/8");
	empty_directory();
	TYPES("bans --sort end");
}

static void scoped(void)
{
	put_scoped();
	TYPES("bans", "bans --json", "bans --count", "bans 45.0.0.2", "bans 45.0.0.0 --count", "bans --reason x",
	      "bans --since 1h", "bans --ends-within 1h", "bans --sort added");
	put_bans();
	TYPES("bans", "bans --count");
	no_sets = true;
	TYPES("bans", "bans --count");
}

static void from(void)
{
	put_bans();
	put_members();
	TYPES("bans --from alpha", "bans --from alpha --json", "bans --from beta", "bans --from gamma",
	      "bans --from alpha --count", "bans --from alpha --sort end", "bans --from alpha 46.0.0.2");
	no_memory = true;
	TYPES("bans --from alpha");
}

static void failures(void)
{
	FILE *to = fopen(file, "w");

	ENOUGH(to);
	fputs("this is no database", to);
	fclose(to);
	TYPES("bans", "bans --json", "bans --from alpha");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "none", none },     { "some", some }, { "options", picked },
		{ "scoped", scoped }, { "from", from }, { "failures", failures },
	};

	typed_in(directory, &shows);
	typed_context.state = ".";
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	empty_directory();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	setenv("TZ", "UTC", 1);
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
