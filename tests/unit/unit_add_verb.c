// SPDX-License-Identifier: GPL-2.0-only
/*
 * add: what it asks for, what it says of bans that were there already and of prefixes that are allowed, in words and as
 * JSON, and what it says where it cannot. The change and the state are made up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/span.h"
#include "change/apply.h"
#include "change/ban.h"
#include "change/change.h"
#include "change/guard_rails.h"
#include "change/live_scopes.h"
#include "kernel/live.h"
#include "sets/prefixes.h"
#include "state/bans.h"
#include "typed.h"
#include "verbs/errand.h"

static const struct shown known_texts[] = {
#include "unit_add_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_add_verb.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

#define THEN 1767225600 /* 2026-01-01T00:00:00Z */

static struct change made;
static int calls, fails_at, held;
static bool elsewhere, waits;
static struct banned done;
static size_t scoped_new;

/* The lists that there are. */
static struct {
	const char *name;
	enum list_kind kind;
	const char *holds[2];
} there[] = {
	{ "ok", LIST_ALLOW, { "45.0.0.0/25", "2001:db8::1/128" } },
	{ "drop", LIST_BAN, { "45.0.0.0/16" } },
	{ "also", LIST_ALLOW, { "45.0.0.1/32", "47.0.0.0/8" } },
};
#define THERE (sizeof(there) / sizeof(*there))

static int call(const char *what)
{
	if (++calls != fails_at)
		return 0;
	printf("  %s: fails\n", what);
	return because(-EIO, "a call failed");
}

static struct prefix prefix_of(const char *text)
{
	struct prefix is = { 0 };
	const char *slash = strchr(text, '/');

	if (addr_parse(text, (size_t)(slash - text), &is.first))
		abort();
	is.length = (unsigned int)atoi(slash + 1);
	return is;
}

static void hold(struct ranges *set, size_t list)
{
	for (size_t i = 0; i < 2 && there[list].holds[i]; i++) {
		struct prefix p = prefix_of(there[list].holds[i]);

		if (ranges_add_prefix(set, p.first, p.length))
			abort();
	}
}

static int given_begin(struct change **to, struct context *context)
{
	int err = call("to begin");

	*to = NULL;
	if (err)
		return err;
	made = (struct change){ .context = context, .state = (struct state *)&made };
	hold(&made.touched.allowed, 0);
	hold(&made.touched.allowed, 2);
	if (ranges_finish(&made.touched.allowed))
		abort();
	*to = &made;
	held++;
	return 0;
}

static void given_end(const struct change *of)
{
	if (!of)
		return;
	ranges_free(&made.touched.allowed);
	held--;
}

static int given_commit(const struct change *of, const struct apply_options *options)
{
	if (of != &made)
		puts("  of another");
	made.context->waits = waits;
	printf("  commits%s\n", options ? ", to a new generation" : "");
	return call("to commit");
}

static int given_add(const struct change *of, const struct ban_options *o, const struct prefixes *p, struct banned *n)
{
	char text[PREFIX_TEXT_MAX];

	printf("  bans %zu%s, for %g s, '%s'%s%s%s\n", p->n, of == &made ? "" : " elsewhere", o->ttl.value,
	       o->reason ?: "(none)", o->keep_longer ? ", longer ones stay" : "", o->replace ? ", in their place" : "",
	       o->force ? ", by force" : "");
	for (size_t i = 0; i < p->n; i++)
		printf("    %s\n", prefix_text(text, p->at[i].first, (int)p->at[i].length));
	*n = done;
	held++;
	return call("to ban");
}

static int given_scopes(const struct change *of, const struct scope *scope, const struct prefixes *p, long confirm,
			size_t *added)
{
	char text[SCOPE_TEXT_MAX];

	if (!scope_text(text, scope))
		abort();
	printf("  bans %zu of %s for %ld s%s\n", p->n, text, confirm, of == &made ? "" : " elsewhere");
	*added = scoped_new;
	return call("to ban with a scope");
}

static int given_force(const struct change *of, struct addr first, unsigned int length)
{
	char text[PREFIX_TEXT_MAX];

	printf("  by force %s%s\n", prefix_text(text, first, (int)length), of == &made ? "" : " elsewhere");
	return call("force");
}

static int given_lists(const struct state *state, struct list_info **lists, size_t *n)
{
	int err = call("the lists");

	if (state != made.state)
		puts("  of another");
	if (err)
		return err;
	*lists = calloc(THERE, sizeof(**lists));
	*n = THERE;
	held++;
	for (size_t i = 0; i < THERE; i++) {
		snprintf((*lists)[i].name, sizeof((*lists)[i].name), "%s", there[i].name);
		(*lists)[i].kind = there[i].kind;
	}
	return 0;
}

static int given_set(const struct state *state, const char *name, struct ranges *set)
{
	int err = call("a list");

	if (state != made.state)
		puts("  of another");
	*set = RANGES_EMPTY;
	for (size_t i = 0; i < THERE && !err; i++)
		if (!strcmp(there[i].name, name))
			hold(set, i);
	held += !err;
	return err ?: ranges_finish(set);
}

static void given_set_free(struct ranges *set)
{
	held--;
	ranges_free(set);
}

static void given_free(void *array)
{
	held -= array != NULL;
	free(array);
}

static bool given_errand(const struct call *of, int *status)
{
	printf("  may be asked of another: %d words\n", of->n);
	*status = 77;
	return elsewhere;
}

#define change_begin		   given_begin
#define change_end		   given_end
#define change_commit		   given_commit
#define ban_add			   given_add
#define banned_free(n)		   (held -= (n)->added == done.added && (n)->kept == done.kept && (n)->ends)
#define live_scopes_add		   given_scopes
#define change_force_prefix	   given_force
#define state_lists		   given_lists
#define state_list_set		   given_set
#define ranges_free		   given_set_free
#define free(array)		   given_free(array)
#define errand_prefixes_sent	   given_errand
#define kernel_live_generation(of) ((void)(of), 7ULL)
#include "verbs/bans.c"
#undef free
#undef ranges_free

static struct ban ban_of(const char *prefix, int64_t expires, const char *reason)
{
	struct prefix p = prefix_of(prefix);
	struct ban ban = { .first = p.first, .length = p.length, .expires = expires };

	snprintf(ban.reason, sizeof(ban.reason), "%s", reason);
	return ban;
}

static void begin(void)
{
	fails_at = 0;
	elsewhere = waits = false;
	done = (struct banned){ .added = 1, .ends = THEN };
	scoped_new = 1;
}

/* True: a call failed, or would have. */
static bool types(const char *line)
{
	calls = held = 0;
	typed(line);
	if (held)
		printf("  not given back: %d\n", held);
	return calls >= fails_at;
}

static void in_both(const char *line)
{
	char json[300];

	snprintf(json, sizeof(json), "%s --json", line);
	types(line);
	types(json);
}

static void plain(void)
{
	in_both("add 46.0.0.1");
	types("add 46.0.0.1 2001:db8:1::/48 46.0.0.1 --ttl 1h --reason 'too much' --keep-longer");
	types("add 46.0.0.1 --replace --force --quiet");
	types("add 46.0.0.1 46.0.0.1 --confirm 60s");
	waits = true;
	in_both("add 46.0.0.1 46.0.0.1 --confirm 60s");
	elsewhere = true;
	types("add 46.0.0.1");
	types("add 46.0.0.1 --confirm 60s");
	types("add 46.0.0.1 --only tcp/22");
	elsewhere = false;
	types("add 46.0.0.1 --check");
	puts("-- words");
	types("add");
	types("add x");
	types("add 46.0.0.1/8");
	types("add 46.0.0.1/8 --mask");
	types("add 127.0.0.1");
	types("add 46.0.0.1 0.0.0.0");
	types("add :: --check");
	types("add 224.0.0.251 fe80::1");
	types("add 46.0.0.1 0.0.0.0/0");
	types("add ::/0 46.0.0.1");
	types("add 127.0.0.1 --force");
	types("add 46.0.0.1 --keep-longer --replace");
	types("add 46.0.0.1 --only any");
	for (int n = BAN_REASON_MAX - 1; n <= BAN_REASON_MAX; n++) {
		char line[300];

		snprintf(line, sizeof(line), "add 46.0.0.1 --reason %0*d", n, 7);
		types(line);
	}
}

static void scopes(void)
{
	in_both("add 46.0.0.1 46.0.0.2 --only tcp/22");
	scoped_new = 0;
	in_both("add 46.0.0.1 46.0.0.2 --only tcp/22 --confirm 9s");
	types("add 46.0.0.1 46.0.0.2 --to 192.0.2.0/24 --force");
	types("add 46.0.0.1 --only udp --ttl 1h");
	types("add 46.0.0.1 --only udp --reason x");
	types("add 46.0.0.1 --only udp --keep-longer");
	types("add 46.0.0.1 --only udp --replace");
	for (fails_at = 1; types("add 46.0.0.1 46.0.0.2 --only tcp/22 --force"); fails_at++)
		;
}

static void were_there(void)
{
	struct ban bans[3];

	bans[0] = ban_of("46.0.0.1/32", THEN + 60, "what \x1b[ was");
	bans[1] = ban_of("2001:db8:1::/48", 0, "");
	bans[2] = ban_of("46.0.0.3/32", THEN - 1, "x");
	for (int i = 0; i < 2; i++)
		for (size_t n = 1; n <= 3 - (size_t)i; n++) {
			printf("-- %zu\n", n);
			done = (struct banned){
				.renewed = 3, .kept = 4, .ends = THEN, .shortened = bans + i, .shortened_n = n
			};
			in_both("add 46.0.0.1");
			done = (struct banned){ .kept = 4, .ends = THEN, .longer = bans + i, .longer_n = n };
			in_both("add 46.0.0.1");
			done = (struct banned){ .kept = 4, .ends = THEN, .reasons = bans + i, .reasons_n = n };
			in_both("add 46.0.0.1");
			done = (struct banned){ .renewed = 4, .ends = THEN, .former = bans + i, .former_n = n };
			in_both("add 46.0.0.1");
		}
	types("add 46.0.0.1 --quiet");
}

static void are_allowed(void)
{
	in_both("add 45.0.0.0/24 45.0.0.1 45.0.0.2 46.0.0.1 2001:db8::1 47.0.0.0/8 45.0.0.0/16");
	in_both("add 46.0.0.1 45.0.0.200");
	types("add 45.0.0.1 --quiet");
	types("add 45.0.0.1 --quiet --json");
	for (fails_at = 1; types("add 46.0.0.1 45.0.0.1"); fails_at++)
		;
}

/* Of a whole change: what is banned in it and allowed. */
static void exempts(void)
{
	static const char *const each[] = { "45.0.0.1/32", "46.0.0.1/32", "47.0.0.0/9", "45.0.0.0/24" };
	struct context context = CONTEXT_DEFAULT;
	struct change *of;
	int before = dup(STDERR_FILENO);

	dup2(STDOUT_FILENO, STDERR_FILENO);
	for (fails_at = 0; fails_at <= 5; fails_at++) {
		calls = 0;
		if (given_begin(&of, &context))
			continue;
		for (size_t i = 0; i < 4; i++) {
			struct prefix p = prefix_of(each[i]);

			if (!GROW(of->touched.each.at, of->touched.each.n))
				abort();
			of->touched.each.at[of->touched.each.n++] = p;
			if (i && ranges_add_prefix(&of->touched.banned, p.first, p.length))
				abort();
		}
		if (ranges_finish(&of->touched.banned))
			abort();
		fflush(stdout);
		say_exempt(of);
		fflush(stdout);
		prefixes_free(&of->touched.each);
		ranges_free(&of->touched.banned);
		given_end(of);
	}
	dup2(before, STDERR_FILENO);
	close(before);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "plain", plain },	    { "scopes", scopes },   { "were there", were_there },
		{ "allowed", are_allowed }, { "exempts", exempts },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
