// SPDX-License-Identifier: GPL-2.0-only
/*
 * guards, allow and disallow: what each shows and changes, and what is said where a part fails; the state is in a
 * directory of the test's own, the filter is made up. Word for word.
 */
#include "own_state.h"
#include "no_disk.h"

#include "change/apply.h"
#include "change/exceptions.h"
#include "change/guard_rails.h"
#include "change/jail.h"
#include "change/own_addresses.h"
#include "change/revert_timer.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "made_change.h"
#include "state/grants.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_guards_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_guards_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static size_t needed_n;
static bool no_memory;
static int opened_live;

static struct addr addr_of(const char *text)
{
	struct addr addr;

	ENOUGH(!addr_parse(text, strlen(text), &addr));
	return addr;
}

static int given_own(struct state *state, bool destinations, own_wanted_fn *wanted, const void *arg,
		     struct own_address **list, size_t *n)
{
	static const struct {
		const char *addr, *what, *where;
	} all[] = {
		{ "45.0.0.1", "a gateway in use", "route table 254" },
		{ "2001:db8::1", "a name server", "/etc/resolv.conf" },
		{ "45.0.0.2", "logged in", "sshd\n" },
		{ "45.0.0.3", "an address of its own", "" },
	};

	if (!state || destinations || wanted || arg)
		puts("  of whom?");
	*list = calloc(needed_n + 1, sizeof(**list));
	ENOUGH(*list);
	for (size_t i = 0; i < needed_n; i++) {
		(*list)[i].addr = addr_of(all[i].addr);
		(*list)[i].what = all[i].what;
		snprintf((*list)[i].where, sizeof((*list)[i].where), "%s", all[i].where);
	}
	*n = needed_n;
	return call("who is needed");
}

static int given_jailed(const struct context *context, struct ranges *jailed)
{
	(void)context;
	ENOUGH(!ranges_add4(jailed, 0x2d000003, 0x2d000003) && !ranges_finish(jailed));
	return call("whom the detector bans");
}

static int given_live_open(struct live *live, const struct context *context)
{
	live->context = context;
	opened_live++;
	return 0;
}

static void given_live_close(struct live *live)
{
	opened_live -= live->context != NULL;
}

/* All that ends with 2 or :1. */
static bool given_drops(const struct live *live, struct addr addr)
{
	return live->context && (addr.family == 4 ? (addr.num & 255) == 2 : addr.num & 1);
}

static void *given_memory(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

static int given_go(struct change *change, struct addr first, unsigned int length)
{
	char text[PREFIX_TEXT_MAX];

	(void)change;
	return call("let go %s", prefix_text(text, first, (int)length));
}

static int given_move(struct change *change, const struct ranges *only, const struct ranges *needed)
{
	(void)change;
	(void)needed;
	return call("of %zu and %zu ranges the detector's bans are live ones", only->n4, only->n6);
}

static int given_force(struct change *change, const struct ranges *set)
{
	(void)change;
	return call("it is forced for %zu and %zu ranges", set->n4, set->n6);
}

static int given_pending(struct change *change, enum pending_kind kind, const char *name, long confirm)
{
	(void)change;
	return call("%s '%s' would go back after %ld s", kind == PENDING_LIST ? "list" : "another", name, confirm);
}

static int given_pending_drop(struct change *change, const char *name, long confirm)
{
	(void)change;
	return call("'%s' goes, and would come back after %ld s", name, confirm);
}

#define own_addresses		  given_own
#define jail_set		  given_jailed
#define live_open		  given_live_open
#define live_close		  given_live_close
#define live_drops		  given_drops
#define jail_let_go		  given_go
#define jail_move		  given_move
#define change_force		  given_force
#define change_pending		  given_pending
#define change_pending_drop	  given_pending_drop
#define kernel_live_generation(c) ((void)(c), 7ULL)
#define calloc			  given_memory
#define shown			  guards_shown
#include "verbs/guards.c"
#undef shown
#undef calloc
#include "verbs/allow.c"

static void begin(void)
{
	no_memory = false;
	calls = fails_at = opened_live = 0;
	fails_with = -EIO;
	needed_n = 0;
	empty_directory();
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		calls = 0;
		typed(lines[i]);
		if (opened_live)
			puts("  the filter is not closed");
		opened_live = 0;
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void grant(const char *addr)
{
	struct state *s = opened(true);

	ENOUGH(s && !state_grant(s, addr_of(addr), 0) && !state_commit(s));
	state_close(s);
}

static void damage(void)
{
	FILE *to = fopen(file, "w");

	ENOUGH(to);
	fputs("no database", to);
	fclose(to);
	unlink("state.db-wal");
	unlink("state.db-shm");
}

static void guards(void)
{
	for (needed_n = 0; needed_n <= 4; needed_n += 2)
		TYPES("guards", "guards --json");
	needed_n = 4;
	TYPES("guards x", "guards --quiet");
	grant("45.0.0.2");
	TYPES("guards", "guards --json");
	for (fails_at = 1; fails_at <= 2; fails_at++)
		TYPES("guards", "guards --json");
	fails_at = 0;
	no_memory = true;
	TYPES("guards");
	no_memory = false;
	damage();
	TYPES("guards");
}

static void ports(void)
{
	TYPES("guards --port 0", "guards --port 65536", "guards --port x", "guards --no-port 0",
	      "guards --no-port 65536", "guards --port 1", "guards", "guards --port 65535 --json", "guards",
	      "guards --json", "guards --no-port 1", "guards", "guards --port 22 --no-port 65535", "guards",
	      "guards --port 22", "guards --no-port 80", "guards");
	for (fails_at = 1; fails_at <= 3; fails_at++)
		TYPES("guards --port 443", "guards --no-port 22");
	fails_at = 0;
	TYPES("guards");
}

static void allows(void)
{
	TYPES("allow", "allow --json", "allow 45.0.0.1", "allow", "allow 45.0.0.1", "allow 45.0.0.0/31 2001:db8::/32",
	      "allow", "allow --json", "allow 45.0.0.77/24", "disallow 45.0.0.1", "allow", "disallow 45.1.0.0/16",
	      "disallow 45.0.0.2 46.0.0.0", "disallow 45.0.0.2", "disallow 45.0.0.0/24", "disallow 2001:db8:1::/48",
	      "allow", "disallow 2001:db8::/32", "allow", "disallow", "allow 45.0.0.300", "disallow x", "allow - x");
	TYPES("allow 45.0.0.1 --confirm 60s", "disallow 45.0.0.1 --confirm 60s", "allow 45.0.0.1 --json",
	      "allow 45.0.0.1 --confirm 60s", "disallow 45.0.0.1 --json", "allow");
	typed_context.line = true;
	TYPES("allow", "allow 45.0.0.1", "disallow 45.0.0.1");
	typed_context.line = false;
}

/* What is as wide as half of the internet takes --force. */
static void wide(void)
{
	TYPES("allow 0.0.0.0/0", "allow ::/0", "allow 64.0.0.0/2", "allow 2000::/3", "allow 0.0.0.0/0 --force", "allow",
	      "disallow 0.0.0.0/1", "disallow 0.0.0.0/1 --force", "allow", "disallow 0.0.0.0/0 --force");
	for (int i = 0; i < 96; i += 16) {
		char line[400] = "allow";

		for (int k = i; k < i + 16; k++)
			sprintf(line + strlen(line), " %d.0.0.0/8", k);
		quiet_calls = true;
		TYPES(line);
		quiet_calls = false;
	}
	TYPES("allow");
}

static void failures(void)
{
	TYPES("allow 45.0.0.9");
	for (fails_at = 1; fails_at <= 5; fails_at++)
		TYPES("allow 45.0.0.1 45.0.0.2 --force", "disallow 45.0.0.9", "allow 45.0.0.9");
	fails_at = 0;
	TYPES("allow 45.0.0.9");
	for (fails_at = 2; fails_at <= 4; fails_at++)
		TYPES("disallow 45.0.0.9 --confirm 9s");
	fails_at = 0;
	TYPES("allow");
	damage();
	TYPES("allow", "allow --json", "allow 45.0.0.1");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "guards", guards }, { "ports", ports },	{ "allows", allows },
		{ "wide", wide },     { "failures", failures },
	};

	typed_in(directory, &shows);
	typed_context.state = ".";
	typed_context.bpffs = "none";
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	empty_directory();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
