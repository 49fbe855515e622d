// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bans with a scope, each scope's in a list of its own: what that is called, what is added and taken out, and what is
 * said where it waits, only counts, or cannot be; over a state in a directory of the test's own, word for word.
 */
#include "own_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "change/change.h"
#include "change/exceptions.h"
#include "change/revert_timer.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_live_scopes.txt"
};

static struct shows shows = { .file = "tests/unit/unit_live_scopes.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static struct change its;
static const char *waiting; /* the list of which a change waits */
static int calls, fails_at; /* 0: none */
static bool silent;

static int call(const char *what)
{
	if (++calls != fails_at)
		return 0;
	printf("  %s fails\n", what);
	return because(-ENOMEM, "no memory");
}

static int given_pending(struct change *c, enum pending_kind kind, const char *name, long seconds)
{
	if (seconds)
		printf("  %s waits for %ld s, kind %d\n", name, seconds, kind);
	if (waiting && !strcmp(waiting, name) && c == &its)
		return because(-EBUSY, "%s waits", name);
	return call("that it waits");
}

static void given_zero(struct change *c, uint8_t label)
{
	if (!silent)
		printf("  label %d is new%s\n", label, c == &its ? "" : ", elsewhere");
}

__attribute__((format(printf, 1, 2))) static void says(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("  ! ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

static int covers(struct ranges *set, struct addr first, unsigned int length)
{
	return call("a prefix") ?: ranges_add_prefix(set, first, length);
}

static int subtracts(struct ranges *to, const struct ranges *a, const struct ranges *b)
{
	return call("what is left") ?: ranges_subtract(to, a, b);
}

static int unites(struct ranges *to, const struct ranges *a, const struct ranges *b)
{
	return call("both together") ?: ranges_union(to, a, b);
}

#define change_pending		  given_pending
#define change_zero_given	  given_zero
#define warn			  says
#define state_lists(s, lists, n)  (call("which lists") ?: state_lists(s, lists, n))
#define state_list_whole_set(...) (call("what it holds") ?: state_list_whole_set(__VA_ARGS__))
#define live_list_put(...)	  (call("that it is put") ?: live_list_put(__VA_ARGS__))
#define ranges_add_prefix	  covers
#define ranges_subtract		  subtracts
#define ranges_union		  unites
#define put			  put_list
#include "change/live_scopes.c"
#undef put
#undef state_lists
#undef state_list_whole_set
#undef ranges_add_prefix
#undef warn

static void ends(void)
{
	state_close(its.state);
	its.state = NULL;
}

static void begins(void)
{
	struct state *s;

	ends();
	empty_directory();
	s = opened(true);
	its = (struct change){ .context = &own_context, .state = s };
	waiting = NULL;
	calls = fails_at = 0;
}

/* "only to on", each - or a word. */
static struct scope scope_of(const char *only, const char *to, const char *on)
{
	struct scope scope = { 0 };

	ENOUGH((!only || !scope_add_only(&scope, only)) && (!to || !scope_add_to(&scope, to)) &&
	       (!on || !scope_add_on(&scope, on)));
	return scope;
}

static struct prefix prefix_of(const char *text)
{
	struct prefix p;

	ENOUGH(!prefix_parse(text, strlen(text), &p.first, &p.length));
	return p;
}

static void print_lists(void)
{
	struct list_info *lists = NULL;
	size_t n = 0;

	ENOUGH(!state_lists(its.state, &lists, &n));
	for (size_t i = 0; i < n; i++) {
		struct ranges set = RANGES_EMPTY;
		char text[64];

		printf("  %s, for '%s', from '%s', kind %d:", lists[i].name, lists[i].scope, lists[i].source,
		       (int)lists[i].kind);
		ENOUGH(!state_list_whole_set(its.state, &lists[i], &set));
		for (size_t j = 0; j < set.n4; j++)
			for (struct cut4 cut = { .lo = set.v4[j].lo, .hi = set.v4[j].hi }; range4_next_prefix(&cut);)
				printf(" %s", prefix_text(text, (struct addr){ cut.first, 4 }, (int)cut.length));
		for (size_t j = 0; j < set.n6; j++)
			for (struct cut6 cut = { .lo = set.v6[j].lo, .hi = set.v6[j].hi }; range6_next_prefix(&cut);)
				printf(" %s", prefix_text(text, (struct addr){ cut.first, 6 }, (int)cut.length));
		putchar('\n');
		ranges_free(&set);
	}
	free(lists);
}

/* Several, with blanks between. */
static int adds(const struct scope *scope, const char *texts, long confirm)
{
	struct prefix at[8];
	struct prefixes all = { .at = at };
	size_t added = 99;
	int err;

	for (const char *text = texts; *text; text += strcspn(text, " "), text += *text == ' ')
		ENOUGH(!prefix_parse(text, strcspn(text, " "), &at[all.n].first, &at[all.n].length) && ++all.n);
	if (!silent)
		printf("add %s\n", texts);
	err = live_scopes_add(&its, scope, &all, confirm, &added);
	if (!silent)
		printf("  = %s, %zu\n", err ? reason(err) : "done", added);
	return err;
}

static int dels(const struct scope *scope, const char *text)
{
	struct prefix p = prefix_of(text);
	size_t from = 99;
	int err;

	printf("del %s%s\n", text, scope ? "" : ", of all");
	err = live_scopes_del(&its, scope, &p, &from);
	printf("  = %s, %zu\n", err ? reason(err) : "done", from);
	return err;
}

static void names(void)
{
	static const struct {
		const char *only, *to, *on;
	} each[] = {
		{ "tcp/22", NULL, NULL },
		{ "tcp/22,udp/53", NULL, NULL },
		{ NULL, "192.0.2.0/28", NULL },
		{ NULL, NULL, "eth0" },
		/* The first 48 letters of these are the same. */
		{ "tcp/1001,tcp/1003,tcp/1005,tcp/1007,tcp/1009,tcp/1011,tcp/1013", NULL, NULL },
		{ "tcp/1001,tcp/1003,tcp/1005,tcp/1007,tcp/1009,tcp/1011,tcp/1015", NULL, NULL },
		{ "tcp/1001,tcp/1003,tcp/1005,tcp/1007,tcp/1009,tcp/1011,tcp/1017", NULL, NULL },
		/* And these look the same. */
		{ NULL, NULL, "a=b" },
		{ NULL, NULL, "a+b" },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		struct scope scope = scope_of(each[i].only, each[i].to, each[i].on);

		adds(&scope, "198.51.100.7", 0);
	}
	print_lists();
}

static void too_long(void)
{
	struct scope scope = { 0 };
	char text[64];

	for (unsigned int i = 0; i < SCOPE_TO; i++) {
		snprintf(text, sizeof(text), "2001:db8:%x:abcd:abcd:abcd:abcd:abcd", 0xa000 + 2 * i);
		ENOUGH(!scope_add_to(&scope, text));
	}
	adds(&scope, "198.51.100.7", 0);
	print_lists();
}

static void added(void)
{
	struct scope scope = scope_of("tcp/22", NULL, NULL), other = scope_of(NULL, NULL, "eth0");

	adds(&scope, "198.51.100.7 2001:db8::/48", 0);
	adds(&scope, "198.51.100.7 2001:db8::/48", 0);
	adds(&scope, "198.51.100.0/24 2001:db8:0:1::/64 198.51.100.9", 60);
	adds(&scope, "198.51.100.0/25 198.51.100.0/23", 0);
	adds(&other, "198.51.100.7", 60);
	print_lists();
	waiting = "(tcp-22)";
	adds(&scope, "198.51.100.128/25", 0);
	adds(&scope, "203.0.113.1", 60);
	/* It is banned already, and may go back. */
	adds(&scope, "198.51.100.7", 0);
	adds(&scope, "198.51.100.7", 60);
	adds(&other, "198.51.100.7", 0);
	waiting = NULL;
	print_lists();
}

static void taken_out(void)
{
	struct scope scope = scope_of("tcp/22", NULL, NULL), other = scope_of(NULL, NULL, "eth0"),
		     third = scope_of(NULL, NULL, "eth1");

	adds(&scope, "198.51.100.0/24 2001:db8::/48", 0);
	adds(&other, "198.51.100.7 198.51.100.9", 0);
	dels(&third, "198.51.100.7");
	dels(&scope, "203.0.113.1");
	dels(NULL, "203.0.113.1");
	dels(&scope, "198.51.100.7");
	dels(&scope, "198.51.100.7");
	print_lists();
	dels(NULL, "198.51.100.9");
	print_lists();
	/* A wider one has parts of it. */
	dels(NULL, "198.51.100.0/28");
	dels(NULL, "2001:db8:0:1::/64");
	print_lists();
	waiting = "(tcp-22)";
	dels(&scope, "198.51.100.64/26");
	dels(NULL, "198.51.100.64/26");
	dels(NULL, "198.51.0.0/16");
	print_lists();
}

static void only_counts(void)
{
	struct scope scope = scope_of("tcp/22", NULL, NULL);
	struct ranges set = RANGES_EMPTY;
	struct list_info list = { .kind = LIST_SHADOW,
				  .name = "(tcp-22)",
				  .scope = "tcp/22",
				  .source = "add",
				  .loaded = "2026-01-01T00:00:00Z",
				  .addresses = "1",
				  .prefixes = 1 };

	ENOUGH(!ranges_add_prefix(&set, prefix_of("198.51.100.7").first, 32) && !ranges_finish(&set) &&
	       !state_list_put(its.state, &list, &set));
	/* A list of that scope that is somebody's own is another. */
	snprintf(list.name, sizeof(list.name), "mine");
	list.kind = LIST_BAN;
	list.row = 0;
	ENOUGH(!state_list_put(its.state, &list, &set));
	ranges_free(&set);
	adds(&scope, "198.51.100.9", 0);
	dels(&scope, "198.51.100.7");
	print_lists();
}

static void each_fails(void)
{
	struct scope scope = scope_of("tcp/22", NULL, NULL), other = scope_of(NULL, NULL, "eth0");
	int err;

	for (int del = 0; del < 3; del++)
		for (int at = 1; at < 20; at++) {
			begins();
			silent = true;
			adds(&scope, "198.51.100.0/24", 0);
			adds(&other, "198.51.100.7", 0);
			silent = false;
			calls = 0;
			fails_at = at;
			err = del ? dels(del == 1 ? &scope : NULL, "198.51.100.7")
				  : adds(&scope, "203.0.113.1 203.0.113.2", 60);
			fails_at = 0;
			if (!err)
				break;
		}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "names", names },	    { "too long", too_long },	    { "added", added },
		{ "taken out", taken_out }, { "only counts", only_counts }, { "each fails", each_fails },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(*scenes), begins);
	ends();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, 1);
}
