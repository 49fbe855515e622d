// SPDX-License-Identifier: GPL-2.0-only
/* The frame of every command that changes something: what it calls, in which order, and what becomes of it where a call
 * fails. All that it calls is made up; word for word.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/errand.h"
#include "base/grow.h"
#include "base/log.h"
#include "change/accounts_internal.h"
#include "change/attachments.h"
#include "change/catch_up.h"
#include "change/change.h"
#include "change/home.h"
#include "change/own_names.h"
#include "change/ports.h"
#include "kernel/counters.h"
#include "kernel/pins.h"
#include "kernel/root.h"
#include "kernel/scopes.h"
#include "state/failed.h"

#include "shown.h"

static const struct shown known[] = {
#include "unit_change.txt"
};

static struct shows shows = { "tests/unit/unit_change.txt", known, sizeof(known) / sizeof(*known), NULL, 0, 0, false };

static const char *fails; /* that call does */
static bool silent;	  /* how it begins and ends is said elsewhere */
static int fails_with, pins, generation, overdue_n, scoped;
static bool abroad;
static jmp_buf out;

static int call(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int call(const char *fmt, ...)
{
	char text[200];
	va_list args;
	bool is;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	is = fails && !strncmp(text, fails, strlen(fails));
	if (!silent || is)
		printf("  %s%s\n", text, is ? ": fails" : "");
	return is ? fails_with : 0;
}

static int made_open(struct state **state, const struct context *context, bool change)
{
	static int any;
	int err = call("the state is opened, to change: %d", change);

	(void)context;
	*state = err ? NULL : (struct state *)(void *)&any;
	return err;
}

static void made_look(struct live *live)
{
	call("the kernel is looked at, meta %d", live->meta);
	live->g.number = (unsigned long long)generation;
	live->g.scoped = scoped;
}

static int made_overdue(struct overdue *overdue)
{
	overdue->n = (size_t)overdue_n;
	return call("what is overdue goes back");
}

static int made_touch(struct touched *t, const char *whose, struct addr first, unsigned int length)
{
	int err = call("touched%s, of IPv%d, /%u", whose, first.family, length);

	if (err || !GROW(t->each.at, t->each.n))
		return err ?: -ENOMEM;
	t->each.at[t->each.n++] = (struct prefix){ first, length };
	return 0;
}

static void made_free(struct touched *t)
{
	prefixes_free(&t->each);
	call("what is touched is freed");
}

static void made_before(const struct touched *t, bool more)
{
	char text[PREFIX_TEXT_MAX];

	call("what was before has it%s", more ? ", and lacks more" : "");
	for (size_t i = 0; i < t->each.n && !silent; i++)
		printf("    %s\n", prefix_text(text, t->each.at[i].first, (int)t->each.at[i].length));
}

static __u64 on_trial_until; /* of a new generation */

static int made_apply(const struct change *c, const struct apply_options *o)
{
	CHECK(o->guard == &c->guard, "another guard");
	return call("a generation: narrow %d, arrives %d, discard %d, dry %d, reverting %d", o->narrow, o->arrives,
		    o->discard_unknown, o->dry_run, o->reverting);
}

static int made_overdue_end(const struct live *live, int err)
{
	return call("and stays back%s, %d", live ? "" : ", for nobody to see", err) ?: err;
}

__attribute__((noreturn)) static void made_exit(int status)
{
	printf("  ends with %d\n", status);
	longjmp(out, 1);
}

#define kernel_ready(context)				 call("the kernel is made ready")
#define state_open(state, context, change)		 made_open(state, context, change)
#define state_close(state)				 ((void)call("the state is closed"))
#define pins_leave(context)				 ((void)call("pins are left"))
#define pins_are_there(context)				 (call("are pins there?"), pins)
#define live_open(live, context)			 made_look(live)
#define live_close(live)				 ((void)call("the kernel is left"))
#define home_look(change)				 (((change)->context->abroad = abroad), call("is the filter here?"))
#define catch_up(state, live, at_least)			 call("caught up, at least %d", (int)(at_least))
#define attachments_complete(change)			 ((void)call("attached, completely"))
#define kernel_scopes_follow(context)			 call("scopes follow their interfaces")
#define warn(...)					 (printf("  warns: " __VA_ARGS__), putchar(10))
#define own_names_settle(context, state)		 call("names are settled")
#define ports_settle(change)				 call("ports are settled")
#define ports_attach(change)				 ((void)call("ports are attached"))
#define whose(touched)					 (strcmp(#touched, "rest") ? "" : " for good")
#define touched_add(touched, first, length)		 made_touch(touched, whose(touched), first, length)
#define touched_divide(touched, state)			 call("what is touched%s is divided", whose(touched))
#define touched_free(touched)				 made_free(touched)
#define for_good(set)					 ((set) == &change->guard.lasts ? " for good" : "")
#define guard_force(forced, set)			 call("forced%s: a set", for_good(forced))
#define guard_force_prefix(forced, first, n)		 call("forced%s: of IPv%d, /%u", for_good(forced), (first).family, n)
#define guard_free(guard)				 ((void)call("the guard is freed"))
#define kernel_zero_label(context, label)		 call("label %d is 0 again", label)
#define list_succeeded(context, list)			 ((void)call("'%s' has succeeded", list))
#define overdue_undo(overdue, state, due)		 made_overdue(overdue)
#define overdue_end(overdue, live, err)			 made_overdue_end(live, err)
#define account_judge_returned(change)			 call("words that came back are judged")
#define accounts_put(change)				 call("accounts are put")
#define accounts_free(accounts)				 ((void)call("accounts are freed"))
#define apply_goes_back(state, live)			 call("can it go back?")
#define apply_with(state, live, options)		 ((live)->trial.until = on_trial_until, made_apply(change, options))
#define bans_into_force(state, live, ...)		 call("bans into force")
#define before_has_it(state, live, touched, guard, more) made_before(touched, more)
#define jail_made(context, jail, number)		 ((void)call("the detector's are said, of %d", (int)(number)))
#define jail_free(jail)					 ((void)call("the detector's are freed"))
#define signal(which, how)				 ((void)call("signal %d is ignored: %d", which == SIGPIPE, how == SIG_IGN))
#define grow(array, n, size)				 (call("grow") ? NULL : grow(array, n, size))
#define calloc(n, size)					 (call("calloc") ? NULL : calloc(n, size))
#define _exit(status)					 made_exit(status)
#include "change/change.c"

static struct context context;

static void works(void)
{
	scoped = 0;
	context = (struct context)CONTEXT_DEFAULT;
	errand.declined = false;
	fails = NULL;
	pins = 1;
	generation = 3;
	overdue_n = 0;
}

static struct change *begun(void)
{
	struct change *change;
	int err = change_begin_at(&change, &context, 77);

	printf("  = %s\n", err ? reason(err) : "begun");
	return change;
}

static struct change *begun_silently(void)
{
	struct change *change;

	silent = true;
	CHECK(!change_begin(&change, &context), "it does not begin");
	silent = false;
	return change;
}

static void ends_silently(struct change *change)
{
	silent = true;
	change_end(change);
	silent = false;
}

static void ends(struct change *change)
{
	context.generation = 99;
	change_end(change);
	printf("  = generation %d\n", (int)context.generation);
}

static void begins(void)
{
	static const struct {
		const char *fails;
		int with;
	} each[] = {
		{ NULL, 0 },
		{ "calloc", 1 },
		{ "the kernel is made ready", -EPERM },
		{ "the kernel is made ready", -ENOENT },
		{ "the state is opened", -EBUSY },
		{ "the state is opened", -EIO },
		{ "caught up", -EIO },
		{ "names", -EIO },
		{ "ports", -EIO },
		{ "scopes", -EIO },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		for (pins = 1; pins >= 0; pins--) {
			printf(" %s fails; pins %d\n", each[i].fails ?: "nothing", pins);
			scoped = i + 1 == sizeof(each) / sizeof(*each);
			fails = each[i].fails;
			fails_with = each[i].with;
			ends(begun());
		}
	works();
	scoped = abroad = true;
	puts(" in another network");
	ends(begun());
	abroad = false;
	puts(" where the filter is not");
	fails = "is the filter here?";
	fails_with = -EXDEV;
	ends(begun());
	fails_with = -EIO;
	works();
	puts(" an errand that is declined");
	errand.declined = true;
	ends(begun());
	errand.declined = false;
	puts(" as it is called");
	CHECK(!change_join(&context) && context.joined, "it is not joined");
	ends(context.joined);
	ends(begun());
	ends(context.joined);
	CHECK(!change_join_end(&context, -EIO, NULL) || !context.joined, "it is joined still");
	fails = "caught up";
	printf("  = %s\n", errno_text(change_join(&context)));
	CHECK(!context.joined, "it is joined");
}

static void check_as(int check, bool words)
{
	context.check = check;
	printf(" check %d, words %d\n", check, words);
	if (!setjmp(out))
		change_check(&context, words);
}

static void checks(void)
{
	struct change *change;

	for (int check = CHECK_NOT; check <= CHECK_WORDS; check++) {
		check_as(check, false);
		check_as(check, true);
	}
	context.check = CHECK_FILES;
	if (!setjmp(out))
		change_begin(&change, &context);
}

static void print_force(const struct change *change, const char *what, int err)
{
	printf("  %s: %d, everything %d%s\n", what, err, change->guard.everything,
	       change->guard.all_lasts ? " for good" : "");
}

static void by_force(void)
{
	static const struct ranges set;
	struct change *change;

	for (generation = 0; generation < 2; generation++) {
		change = begun_silently();

		print_force(change, "a prefix", change_force_prefix(change, (struct addr){ 0, 4 }, 24));
		print_force(change, "a set", change_force(change, &set));
		print_force(change, "whatever it needs", change_force(change, NULL));
		print_force(change, "a set again", change_force(change, &set));
		print_force(change, "a prefix again", change_force_prefix(change, (struct addr){ 0, 6 }, 48));
		ends_silently(change);
	}
	fails = "forced";
	fails_with = -EIO;
	change = begun_silently();
	print_force(change, "a set", change_force(change, &set));
	print_force(change, "a prefix", change_force_prefix(change, (struct addr){ 0, 4 }, 24));
	ends_silently(change);
}

/* Whose line waits, and whose does not: that is known when it forces something. */
static void by_force_of_lines(void)
{
	static const struct ranges set;

	for (int everything = 0; everything < 3; everything++) {
		struct change *change = begun_silently();

		context.joined = change;
		for (int line = 0; line < 4; line++) {
			change->line_waits = line & 1;
			printf("  %s\n", change->line_waits ? "waits" : "lasts");
			if (line == everything)
				print_force(change, "whatever it needs", change_force(change, NULL));
			print_force(change, "a set", change_force(change, &set));
			print_force(change, "a prefix", change_force_prefix(change, (struct addr){ 0, 4 }, 24));
		}
		context.joined = NULL;
		ends_silently(change);
	}
}

static void bans_less(void)
{
	for (generation = 0; generation < 2; generation++) {
		struct change *change = begun_silently();

		change_bans_less(change);
		printf("  again %d\n", change->guard.again);
		context.joined = change;
		change->guard.again = false;
		change_bans_less(change);
		printf("  joined, again %d\n", change->guard.again);
		change->guard.again = true;
		change_bans_less(change);
		printf("  as before, again %d\n", change->guard.again);
		context.joined = NULL;
		ends_silently(change);
	}
}

static void commits(void)
{
	static const char *const each[] = {
		NULL,	     "what is overdue", "words",	 "accounts are put", "what is touched is d",
		"bans into", "a generation",	"and stays back"
	};
	static const struct apply_options plain, dry = { .dry_run = true },
						 all = { .narrow = true, .arrives = true, .discard_unknown = true };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		for (int how = 0; how < 5; how++) {
			struct change *change;
			int err;

			printf(" %s fails, way %d\n", each[i] ?: "nothing", how);
			fails = NULL;
			overdue_n = how == 1;
			change = begun_silently();
			change_zero(change, 0);
			change_zero(change, LABELS - 1);
			change_zero_given(change, 7);
			change->ports_came = how == 2;
			fails = each[i];
			fails_with = -EIO;
			err = change_commit(change, how < 2 ? NULL : how == 2 ? &plain : how == 3 ? &dry : &all);
			printf("  = %s, build %d\n", err ? errno_text(err) : "done", change->build);
			fails = NULL;
			change_succeeded(change, "one");
			ends_silently(change);
		}
	works();
	for (int i = 0; i < 4; i++) {
		struct change *change;

		generation = i % 2;
		change = begun_silently();
		change->ports_came = i > 1;
		printf(" of generation %d, ports came %d\n", generation, change->ports_came);
		printf("  = %d\n", change_touch(change, (struct addr){ 0, 4 }, 9));
		ends(change);
	}
}

static int more(struct state *state, void *arg)
{
	return call("more into the state, %d %d", state != NULL, arg == &context);
}

static void made(const struct change *change)
{
	call("what is said of it, of %d", (int)change->live.g.number);
}

static void joined(void)
{
	static const struct apply_options narrow = { .narrow = true }, arrives = { .arrives = true },
					  discards = { .discard_unknown = true }, dry = { .dry_run = true };
	struct apply_options with = { .before_commit = more, .arg = &context };

	for (int how = 0; how < 4; how++) {
		struct change *change;
		int err;

		works();
		change = context.joined = begun_silently();
		printf(" way %d\n", how);
		change_zero_given(change, 7);
		change_succeeded(change, "one");
		fails = how == 1 ? "grow" : NULL;
		fails_with = -EIO;
		change_succeeded(change, "two");
		change_succeeded(change, "three");
		fails = NULL;
		printf("  %d\n", change_commit(change, NULL));
		printf("  build %d, %d have succeeded\n", change->build, (int)change->succeeded_n);
		printf("  %d\n", change_commit(change, &narrow));
		printf("  build %d, narrow %d, arrives %d, discard %d\n", change->build, change->options.narrow,
		       change->options.arrives, change->options.discard_unknown);
		printf("  %d\n", change_commit(change, &arrives));
		printf("  narrow %d, arrives %d, discard %d\n", change->options.narrow, change->options.arrives,
		       change->options.discard_unknown);
		printf("  %d\n", change_commit(change, &discards));
		printf("  %s\n", reason(change_commit(change, &dry)));
		printf("  %d\n", change_commit(change, &with));
		fails = "more";
		printf("  %d\n", change_commit(change, &with));
		fails = how == 2 ? "a generation" : NULL;
		err = change_join_end(&context, how == 3 ? -EPERM : 0, made);
		printf("  = %s, joined %d\n", err ? errno_text(err) : "done", context.joined != NULL);
	}
}

/* Of what waits only what does not is for what comes back. */
static void partly_waits(void)
{
	static const struct apply_options plain;

	for (int lines = 1; lines < 4; lines++)
		for (int waiting = 0; waiting <= lines; waiting++) {
			struct change *change = context.joined = begun_silently();

			printf(" %d of %d lines wait\n", waiting, lines);
			for (int line = 0; line < lines; line++) {
				CHECK(!change_begin(&change, &context), "it is another");
				change->line_waits = change->line_waits || line < waiting;
				change->waits = waiting ? 60 : 0;
				CHECK(!change_commit(change, &plain), "it fails");
			}
			CHECK(!change_join_end(&context, 0, made), "it fails");
		}
}

/* The kernel goes back with the first of all that waits: what waits for longer is not in force from then on. */
static void waits_for_longer(void)
{
	static const struct apply_options plain;

	for (int64_t due = 9; due < 12; due++) {
		struct change *change = begun_silently();

		printf(" due at %d, beside what is due at 10\n", (int)due);
		change->waits = 60;
		change->last_due = due;
		change->live.on_trial = 3;
		change->live.trial.until = 10;
		on_trial_until = due < 10 ? (__u64)due : 10;
		CHECK(!change_commit(change, &plain), "it fails");
		ends_silently(change);
	}
	on_trial_until = 0;
}

/* Each word a line: '~' waits, '=' is of lists. */
static void batch(const char *lines)
{
	static const struct apply_options plain;
	struct change *change = context.joined = begun_silently();
	bool waits = strchr(lines, '~') != NULL;
	int err = 0;

	printf(" %s\n", lines);
	silent = true;
	for (const char *at = lines; *at && !err; at += strspn(at, " ")) {
		size_t n = strcspn(at, " "), mark = strspn(at, "~=");
		struct addr first;
		unsigned int length;

		CHECK(!change_begin(&change, &context), "it is another");
		change->waits = waits ? 60 : 0;
		change->line_waits = *at == '~';
		if (n > mark)
			err = CHECK(!prefix_parse(at + mark, n - mark, &first, &length), "%s", lines)
				      ? change_touch(change, first, length)
				      : -EINVAL;
		err = err ?: change_commit(change, mark ? &plain : NULL);
		at += n;
	}
	silent = false;
	err = change_join_end(&context, err, made);
	printf("  = %s\n", err ? errno_text(err) : "done");
}

/* A ban that waits is not in what comes back, and one that does not is, or it is said. */
static void bans_that_wait(void)
{
	static const char *const all[] = {
		"10.0.0.1 ~",
		"10.0.0.1 =",
		"~10.0.0.1",
		"~10.0.0.1 10.0.0.2",
		"10.0.0.2 ~10.0.0.1",
		"~10.0.0.1 10.0.0.2 ~10.0.0.3 2001:db8::1 ~2001:db8:1::/48 10.0.0.4",
		"10.0.0.2 ~10.0.0.1 =",
		"= ~10.0.0.1 10.0.0.2",
		"~10.0.0.0/24 10.0.0.1 10.0.1.1",
		"10.0.0.0/24 ~10.0.0.1",
		"~2001:db8::1 2001:db8::/32",
		"10.0.0.1 ~10.0.0.1",
	};
	static const char *const failing[] = { "touched for good", "what is touched for good is divided", "grow" };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		batch(all[i]);
	for (size_t i = 0; i < sizeof(failing) / sizeof(*failing); i++) {
		fails = failing[i];
		fails_with = -EIO;
		batch("~10.0.0.1 10.0.0.2 10.0.0.3");
		fails = NULL;
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "begins", begins },
		{ "checks", checks },
		{ "by force", by_force },
		{ "by force of lines", by_force_of_lines },
		{ "bans less", bans_less },
		{ "commits", commits },
		{ "joined", joined },
		{ "a part of it waits", partly_waits },
		{ "it waits for longer", waits_for_longer },
		{ "bans that wait", bans_that_wait },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(*scenes), works);
	works();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "each call, word for word", word_for_word } };

	return ktap_run(cases, 1);
}
