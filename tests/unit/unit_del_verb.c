// SPDX-License-Identifier: GPL-2.0-only
/*
 * del: what it takes out, and what it says of prefixes that stay banned, by a wider ban, a list or something else; the
 * state is in a directory of the test's own, the filter is made up.
 */
#include "own_state.h"
#include "no_disk.h"

#include <time.h>

#include "base/clock.h"
#include "change/apply.h"
#include "change/ban.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "made_change.h"
#include "sets/prefixes.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "typed.h"
#include "verbs/errand.h"

static const struct shown known[] = {
#include "unit_del_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_del_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define NOW 1767225600

static bool elsewhere, terminal, builds, no_memory, no_lists;
/* What is dropped in the end: these, and by which list: 0 has no name. */
static struct {
	struct addr first, last;
	unsigned int list;
} drops[4];
static size_t drops_n;

static bool given_sent(const struct call *call, int *status)
{
	(void)call;
	*status = 42;
	return elsewhere;
}

static int given_del(const struct change *change, const struct prefixes *p, const char *reason,
		     const struct scope *scope, bool *build)
{
	char text[PREFIX_TEXT_MAX];

	(void)change;
	*build = builds;
	for (size_t i = 0; i < p->n; i++)
		printf("  takes out %s%s%s%s\n", prefix_text(text, p->at[i].first, (int)p->at[i].length),
		       reason ? ", of reason " : "", reason ?: "", scope ? ", of a scope" : "");
	return call("they are taken out");
}

static int given_ask(const struct context *context, const struct addr *addrs, size_t n, __u32 *answers)
{
	(void)context;
	for (size_t i = 0; i < n; i++) {
		answers[i] = 0;
		for (size_t k = 0; k < drops_n; k++)
			if (addrs[i].family == drops[k].first.family && addrs[i].num >= drops[k].first.num &&
			    addrs[i].num <= drops[k].last.num)
				answers[i] = 1 + drops[k].list;
	}
	return call("the filter is asked of %zu", n);
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	(void)state;
	*lists = NULL;
	*n = 3;
	return no_lists ? -EIO : 0;
}

static const char *given_list(const struct list_info *lists, size_t n, __u32 answer)
{
	static const char *const names[] = { NULL, "drop", "also" };

	return lists || n != 3 ? "another" : names[answer - 1];
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define errand_prefixes_sent		given_sent
#define ban_del				given_del
#define kernel_ask			given_ask
#define answer_drops(of)		((of) != 0)
#define lists_in_force			given_lists
#define ban_answer_list			given_list
#define kernel_live_generation(context) 7ULL
#define isatty(fd)			((fd) == STDOUT_FILENO && terminal)
#define time(to)			((time_t)NOW)
#define calloc(n, size)			given_calloc(n, size)
#include "verbs/del.c"
#undef calloc
#undef time

static void begin(void)
{
	elsewhere = terminal = builds = no_memory = no_lists = quiet_calls = false;
	calls = fails_at = 0;
	fails_with = -EIO;
	drops_n = 0;
	empty_directory();
}

static struct addr addr_of(const char *text)
{
	struct addr addr;

	ENOUGH(!addr_parse(text, strlen(text), &addr));
	return addr;
}

static void dropped(const char *first, const char *last, unsigned int list)
{
	drops[drops_n].first = addr_of(first);
	drops[drops_n].last = addr_of(last);
	drops[drops_n++].list = list;
}

static void ban(const char *first, unsigned int length)
{
	struct ban b = { .first = addr_of(first), .length = length, .added = NOW - 5 };
	struct state *s = opened(true);
	bool renewed;

	ENOUGH(s && !state_ban_put(s, &b, &renewed) && !state_commit(s));
	state_close(s);
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		calls = 0;
		typed(lines[i]);
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void takes_out(void)
{
	TYPES("del 45.0.0.1", "del 45.0.0.1 45.0.0.1/32 2001:db8::/32", "del 45.0.0.1 --reason x", "del 45.0.0.7/24",
	      "del 45.0.0.1 --only tcp/22", "del 45.0.0.1 --only any", "del 45.0.0.1 --only tcp/22 --reason x",
	      "del 45.0.0.1 --json", "del 45.0.0.1 --quiet", "del 45.0.0.300", "del");
	builds = true;
	TYPES("del 45.0.0.1");
	elsewhere = true;
	TYPES("del 45.0.0.1", "del 45.0.0.1 --only tcp/22");
}

static void stays(void)
{
	dropped("45.0.0.0", "45.0.0.9", 1);
	dropped("45.0.1.255", "45.0.2.0", 0);
	dropped("2001:db8::", "2001:db8::ffff", 2);
	TYPES("del 45.0.0.9", "del 45.0.0.10", "del 45.0.0.0/29", "del 45.0.0.0/28", "del 45.0.1.0/24",
	      "del 45.0.2.0/24", "del 45.0.2.0", "del 45.0.0.0/16", "del 2001:db8::/112", "del 2001:db8::1",
	      "del 45.0.0.9 45.0.0.10 2001:db8::/64", "del 45.0.0.9 45.0.0.10 2001:db8::/64 --json",
	      "del 45.0.0.9 --quiet", "del 45.0.0.9 --quiet --json");
	puts("-- by a wider ban");
	ban("45.0.0.0", 24);
	ban("45.0.2.0", 24);
	TYPES("del 45.0.0.9", "del 45.0.0.9 --json", "del 45.0.2.0", "del 45.0.1.255", "del 45.0.0.0/24");
}

/* A terminal is told of ten. */
static void many(void)
{
	char line[300] = "del";

	dropped("45.0.0.0", "45.0.0.255", 1);
	ban("45.0.0.0", 30);
	terminal = true;
	for (unsigned int i = 1; i <= 11; i++) {
		sprintf(line + strlen(line), " 45.0.0.%u", i);
		if (i >= 9)
			TYPES(line);
	}
	strcat(line, " 45.0.0.12");
	TYPES(line);
	terminal = false;
	TYPES(line);
	terminal = true;
	strcat(line, " --json");
	TYPES(line);
	strcpy(strstr(line, "--json"), "-v");
	TYPES(line);
}

static void failures(void)
{
	for (fails_at = 1; fails_at <= 5; fails_at++)
		TYPES("del 45.0.0.1", "del 45.0.0.1 --json");
	fails_at = 0;
	no_memory = true;
	TYPES("del 45.0.0.1");
	no_memory = false;
	no_lists = true;
	TYPES("del 45.0.0.1");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "takes out", takes_out },
		{ "stays", stays },
		{ "many", many },
		{ "failures", failures },
	};

	typed_in(directory, &shows);
	typed_context.state = ".";
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	empty_directory();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
