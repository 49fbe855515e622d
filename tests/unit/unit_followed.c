// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list that follows something else: what is put into the state, what this machine needs and is left out, when a new
 * generation is built and with how much room, and what becomes of it where a call fails. The state is real; the kernel
 * and what this machine needs are made up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "change/change.h"
#include "change/followed.h"
#include "change/guard_rails.h"
#include "change/guard_until.h"
#include "change/list_edit.h"
#include "change/own_addresses.h"
#include "own_state.h"
#include "shown.h"
#include "state/grants.h"

static const struct shown known_texts[] = {
#include "unit_followed.txt"
};

static struct shows shows = { .file = "tests/unit/unit_followed.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static struct change changes;
static int calls, fails_at, edits_as, held;
static bool no_place, refuses, no_memory;
static const char *machine[4], *without_end, *granted; /* machine: what it needs; the others: one of them */
static uint64_t counts_as[2];
static size_t counted;

static int call(const char *what)
{
	if (++calls != fails_at)
		return 0;
	printf("  %s: fails\n", what);
	return because(-EIO, "a call failed");
}

static struct addr addr_of(const char *text)
{
	struct addr addr = { 0 };

	if (addr_parse(text, strlen(text), &addr))
		abort();
	return addr;
}

static void print_set(const char *what, const struct ranges *set)
{
	char lo[PREFIX_TEXT_MAX], hi[PREFIX_TEXT_MAX];

	printf("  %s:", what);
	for (size_t i = 0; i < set->n4; i++)
		printf(" %s-%s", prefix_text(lo, (struct addr){ set->v4[i].lo, 4 }, -1),
		       prefix_text(hi, (struct addr){ set->v4[i].hi, 4 }, -1));
	for (size_t i = 0; i < set->n6; i++)
		printf(" %s-%s", prefix_text(lo, (struct addr){ set->v6[i].lo, 6 }, -1),
		       prefix_text(hi, (struct addr){ set->v6[i].hi, 6 }, -1));
	putchar('\n');
}

static int given_begin(struct change **change, struct context *context)
{
	int err = call("to begin");

	*change = NULL;
	if (err)
		return err;
	changes = (struct change){ .context = context, .live.g.number = 41 };
	if (state_open(&changes.state, context, true))
		abort();
	*change = &changes;
	held++;
	return 0;
}

static void given_end(struct change *change)
{
	if (!change)
		return;
	state_close(change->state);
	held--;
}

static int given_commit(struct change *change, const struct apply_options *options)
{
	int err = call("to build");

	printf("  builds a generation%s\n", options->filling ? ", which is being filled" : "");
	change->live.g.number++;
	return err ?: state_commit(change->state);
}

static int given_edit(struct change *change, const struct list_info *list, const struct ranges *came,
		      const struct ranges *gone, bool *no_room)
{
	int err = call("to edit");

	printf("  edits '%s'\n", list->name);
	print_set("came", came);
	print_set("gone", gone);
	*no_room = no_place;
	if (err || edits_as)
		return err ?: edits_as;
	return state_commit(change->state);
}

static int given_own(struct state *state, bool destinations, own_wanted_fn *wanted, const void *arg,
		     struct own_address **list, size_t *n)
{
	int err = call("what this machine needs");

	if (state != changes.state || destinations)
		puts("  of others");
	*list = calloc(4, sizeof(**list));
	*n = 0;
	held++;
	for (size_t i = 0; i < 4 && machine[i] && !err; i++)
		if (wanted(arg, addr_of(machine[i])))
			(*list)[(*n)++].addr = addr_of(machine[i]);
	return err;
}

static bool is(const char *text, struct addr addr)
{
	char own[PREFIX_TEXT_MAX];

	return text && !strcmp(text, prefix_text(own, addr, -1));
}

static int given_anyway(struct state *state, const struct own_address *own, size_t n, const char *scope, bool *anyway)
{
	if (state != changes.state)
		puts("  of others");
	if (*scope)
		printf("  asked for %s\n", scope);
	for (size_t i = 0; i < n; i++)
		anyway[i] = is(without_end, own[i].addr);
	return call("which have no end");
}

static bool given_granted(const struct state *state, struct addr addr)
{
	return state == changes.state && is(granted, addr);
}

static int given_much(const char *name, const struct ranges *before, const struct ranges *after)
{
	printf("  is it much for '%s': %zu and then %zu\n", name, before->n4 + before->n6, after->n4 + after->n6);
	return refuses ? because(-GUARD_REFUSED, "it is too much") : call("whether it is much");
}

static void given_zero(const struct change *change, uint8_t label)
{
	printf("  %s label counts from 0%s\n", label ? "its" : "no", change == &changes ? "" : " in another");
}

static int given_take(const char *path, long seconds)
{
	printf("  takes %s%s\n", strncmp(path, directory, strlen(directory)) ? path : path + strlen(directory) + 1,
	       seconds ? ", and waits" : "");
	return fails_at ? because(fails_at, "process 7 has it") : 9;
}

static uint64_t given_count(const struct ranges *set)
{
	uint64_t n = counted < 2 ? counts_as[counted] : 0;

	counted++;
	return n ? n : ranges_count_prefixes(set);
}

static int given_pending(struct state *state, struct pending **pending, size_t *n)
{
	int err = state_pending(state, pending, n);

	held += *pending != NULL;
	return err;
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

static void given_free(void *array)
{
	held -= array != NULL;
	free(array);
}

#define change_begin	      given_begin
#define change_end	      given_end
#define change_commit	      given_commit
#define list_edit	      given_edit
#define own_addresses	      given_own
#define guard_anyway	      given_anyway
#define state_granted	      given_granted
#define guard_much	      given_much
#define change_zero_given     given_zero
#define lock_take	      given_take
#define state_pending	      given_pending
#define ranges_count_prefixes given_count
#define calloc(n, size)	      (held += !no_memory, given_calloc(n, size))
#define free(array)	      given_free(array)
#define time(to)	      ((void)(to), (time_t)1767225600)
#include "change/followed.c"
#undef state_pending
#undef calloc
#undef free
#undef time

static struct followed follows;

static void begin(void)
{
	empty_directory();
	follows = (struct followed){ .list = "routes", .source = "table 254" };
	fails_at = edits_as = 0;
	no_place = refuses = no_memory = false;
	memset(machine, 0, sizeof(machine));
	memset(counts_as, 0, sizeof(counts_as));
	without_end = granted = NULL;
}

static void set_of(struct ranges *set, const char *words)
{
	char copy[400], *next = copy, *word;

	*set = RANGES_EMPTY;
	snprintf(copy, sizeof(copy), "%s", words);
	while ((word = strsep(&next, " "))) {
		char *length = strchr(word, '/');
		unsigned int bits;

		if (!*word)
			continue;
		if (length)
			*length++ = '\0';
		bits = length ? (unsigned int)atoi(length) : addr_width(addr_of(word).family);
		ENOUGH(!ranges_add_prefix(set, addr_of(word), bits));
	}
	ENOUGH(!ranges_finish(set));
}

/* What the state has of it. */
static void kept(void)
{
	struct context context = own_context;
	struct ranges set;
	struct list_info list = { 0 };
	struct state *state = opened(false);
	int err = followed_get(&context, &follows, &set);

	if (state_list_get(state, follows.list, &list))
		puts("  no such list");
	else
		printf("  kept: %s from '%s', %llu prefixes, %s addresses, of %s\n", list_kind_names[list.kind],
		       list.source, (unsigned long long)list.prefixes, list.addresses, list.loaded);
	if (err)
		printf("  %s\n", reason(err));
	else
		print_set("holds", &set);
	ranges_free(&set);
	state_close(state);
}

/* True: a call failed, or would have. */
static bool puts_in(const char *words)
{
	struct context context = own_context;
	struct followed_put put;
	struct ranges set;
	char number[NUMBER_TEXT_MAX], more[NUMBER_TEXT_MAX];
	int err;

	printf("-- %s\n", words);
	set_of(&set, words);
	calls = held = 0;
	counted = 0;
	err = followed_put(&context, &follows, &set, &put);
	printf("= %s%s%s%s, %llu prefixes, %s came, %s went, generation %llu, spared", err ? reason(err) : "done",
	       put.changed ? ", changed" : "", put.too_much ? ", too much" : "",
	       put.waits > 3590000000000 && put.waits < 3600000000000 ? ", waits as long"
	       : put.waits					      ? ", waits"
								      : "",
	       (unsigned long long)put.prefixes, number_text(number, put.came), number_text(more, put.went),
	       put.generation);
	for (size_t i = 0; i < put.spared_n; i++)
		printf(" %s", prefix_text(number, put.spared[i].addr, -1));
	putchar('\n');
	if (!err)
		print_set("it was", &set);
	if (put.spared)
		held--;
	free(put.spared);
	if (held)
		printf("  not given back: %d\n", held);
	ranges_free(&set);
	return calls >= fails_at;
}

static void as_it_comes(void)
{
	kept();
	puts_in("45.0.0.0/24 2001:db8::/32");
	kept();
	puts_in("45.0.0.0/24 2001:db8::/32");
	kept();
	puts_in("45.0.0.0/25 46.0.0.1");
	kept();
	follows.wide = true;
	puts_in("46.0.0.1");
	puts_in("");
	kept();
	puts_in("");
	puts("-- empty, and new");
	empty_directory();
	puts_in("");
	kept();
	puts("-- a shadow list");
	empty_directory();
	follows.wide = false;
	follows.shadow = true;
	puts_in("46.0.0.1");
	kept();
	follows.shadow = false;
	puts_in("46.0.0.2");
	kept();
}

static void holds_of(const char *name, enum list_kind kind, const char *scope, const char *words)
{
	struct list_info list = {
		.kind = kind, .addresses = "1", .source = "a; 'source'", .loaded = "2026-01-01T00:00:00Z"
	};
	struct state *state = opened(true);
	struct ranges set;

	set_of(&set, words);
	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(list.scope, sizeof(list.scope), "%s", scope);
	list.prefixes = set.n4;
	if (state_list_put(state, &list, &set) || state_commit(state))
		puts("it is not kept");
	state_close(state);
	ranges_free(&set);
}

static void holds(const char *name, enum list_kind kind, const char *words)
{
	holds_of(name, kind, "", words);
}

static void of_others(void)
{

	puts_in("45.0.0.1");
	follows.source = "table 255";
	puts_in("45.0.0.2");
	kept();
	follows.source = "a; 'source'";
	for (enum list_kind kind = LIST_BAN; kind <= LIST_TRUST; kind++) {
		empty_directory();
		holds("routes", kind, "45.0.0.7");
		puts_in("45.0.0.7 45.0.0.8");
		kept();
	}
}

static void needed(void)
{
	machine[0] = "45.0.0.1";
	machine[1] = "45.0.0.9";
	machine[2] = "2001:db8::1";
	machine[3] = "9.9.9.9";
	puts_in("45.0.0.0/28 2001:db8::/127");
	kept();
	puts_in("45.0.0.0/28 2001:db8::/127");
	puts("-- granted, with an end and without");
	granted = "45.0.0.9";
	puts_in("45.0.0.0/28");
	without_end = "45.0.0.1";
	puts_in("45.0.0.0/28");
	without_end = "45.0.0.9";
	puts_in("45.0.0.0/28");
	puts("-- allowed");
	holds("ok", LIST_ALLOW, "45.0.0.1");
	puts_in("45.0.0.0/28");
	puts("-- all of it");
	puts_in("2001:db8::1");
	kept();
	puts("-- of a scope");
	empty_directory();
	follows.source = "a; 'source'";
	holds_of("routes", LIST_BAN, "tcp/22", "45.0.0.9");
	puts_in("45.0.0.9");
}

static void built(void)
{
	static const uint64_t of[][2] = {
		{ 1024, 1023 }, { 1024, 1024 }, { 263167, 1027 }, { 263168, 1027 }, { 263168, 1028 }
	};

	puts_in("45.0.0.1");
	edits_as = -EAGAIN;
	for (int i = 0; i < 2; i++) {
		no_place = i;
		puts_in(i ? "45.0.0.2" : "45.0.0.3");
		for (size_t k = 0; k < sizeof(of) / sizeof(*of) && i; k++) {
			empty_directory();
			memcpy(counts_as, of[k], sizeof(counts_as));
			puts_in(k & 1 ? "45.0.0.2" : "45.0.0.3");
		}
	}
	empty_directory();
	memset(counts_as, 0, sizeof(counts_as));
	edits_as = -ENOSPC;
	puts_in("45.0.0.4");
	edits_as = 0;
	refuses = true;
	puts_in("45.0.0.5");
	follows.wide = true;
	puts_in("45.0.0.6");
	follows.wide = false;
	puts("-- a call fails");
	empty_directory();
	refuses = false;
	edits_as = -EAGAIN;
	machine[0] = "45.0.0.1";
	for (fails_at = 1; puts_in("45.0.0.1 45.0.0.2"); fails_at++)
		kept();
	fails_at = 0;
	no_memory = true;
	puts_in("45.0.0.1");
}

/* drop: it goes, or what it is changes, unless that is confirmed. */
static void tries(enum pending_kind kind, bool drop)
{
	struct pending one = { .kind = kind, .deadline = TIME_MOST, .due = clock_boot() + 3600000000000 };
	struct state *state = opened(true);

	snprintf(one.name, sizeof(one.name), "%s", follows.list);
	if ((drop ? state_pending_drop(state, &one) : state_pending_add(state, &one)) ||
	    (kind == PENDING_LIST_KIND && state_list_set_kind(state, follows.list, LIST_SHADOW)) || state_commit(state))
		puts("it does not wait");
	state_close(state);
}

static void goes_back(void)
{
	struct pending *pending;
	size_t n;
	struct state *state = opened(true);

	if (state_pending(state, &pending, &n) || n != 1 || state_pending_undo(state, pending) || state_commit(state))
		puts("it does not go back");
	free(pending);
	state_close(state);
}

static void on_trial(void)
{
	puts_in("45.0.0.1");
	puts("-- without it");
	tries(PENDING_LIST, true);
	puts_in("45.0.0.1 45.0.0.2");
	goes_back();
	kept();
	puts_in("45.0.0.1 45.0.0.2");
	puts("-- it only counts");
	tries(PENDING_LIST_KIND, false);
	puts_in("45.0.0.2");
	refuses = true;
	puts_in("45.0.0.2 45.0.0.3");
	goes_back();
	kept();
}

static void alone(void)
{
	struct context context = own_context;

	for (int i = 0; i < 3; i++) {
		int err;

		fails_at = i == 1 ? -EBUSY : i == 2 ? -EIO : 0;
		err = followed_alone(&context, &follows);
		printf("= %s\n", err ? reason(err) : "alone");
	}
	context.state = "/proc/nowhere";
	printf("= %d\n", followed_alone(&context, &follows) < 0);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "as it comes", as_it_comes }, { "of others", of_others }, { "needed", needed }, { "built", built },
		{ "on trial", on_trial },	{ "alone", alone },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
