// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is overdue when a command begins: changes that nobody confirmed, bans that ran out, a commit that never reached
 * the kernel; with a state and a kernel that are made up, word for word.
 */
#include <errno.h>

#include "base/errand.h"
#include "base/log.h"
#include "change/agreement.h"
#include "change/apply.h"
#include "change/guard_needs.h"
#include "change/live_bans.h"
#include "change/revert_timer.h"
#include "change/stepped_back.h"
#include "kernel/attach.h"
#include "kernel/counters.h"
#include "kernel/dispatcher_refresh.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "shown.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"

static const struct shown known[] = {
#include "unit_catch_up.txt"
};

static struct shows shows = { .file = "tests/unit/unit_catch_up.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define STATE ((struct state *)&shows) /* nobody looks into it */
#define AGAIN ((struct state *)&known)

static struct context given_context = CONTEXT_DEFAULT;
static struct live in_force;
static struct pending pending[4];
static size_t waiting, expired_n, mended_n;
static bool gone;		/* what was in force */
static enum agreement is, then; /* then: once what was on trial is kept */
static struct {
	int pending, undo, expire, behind, stepped, apply, needs, divide, bans, keep, open, take_back, over, commit;
	bool declines;
} fails;
static int kept, freed;
static int64_t date; /* has come at least */

__attribute__((format(printf, 1, 2))) static void line(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("  ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

static int failed_with(int err)
{
	return err ? because(err, "that failed") : 0;
}

static enum agreement given_agreement(struct state *state, const struct generation *g)
{
	CHECK(state == STATE && g == &in_force.g, "it is asked of another");
	return kept ? then : is;
}

static int given_pending(struct state *state, struct pending **all, size_t *n)
{
	(void)state;
	*all = calloc(waiting + 1, sizeof(**all));
	if (!*all)
		abort();
	memcpy(*all, pending, waiting * sizeof(**all));
	*n = waiting;
	return failed_with(fails.pending);
}

static int given_until(struct state *state, __u64 *until)
{
	(void)state;
	*until = 0;
	for (size_t i = 0; i < waiting; i++)
		if (pending[i].kind != PENDING_INTERFACE && !pending[i].rebooted)
			*until = 1;
	return failed_with(fails.pending);
}

static int given_over(struct state *state)
{
	CHECK(state == STATE, "of another");
	line("the time of what waits is over");
	for (size_t i = 0; i < waiting; i++)
		pending[i].rebooted = pending[i].rebooted || pending[i].kind != PENDING_INTERFACE;
	return failed_with(fails.over);
}

static int given_commit(struct state *state)
{
	CHECK(state == STATE, "another is committed");
	line("committed");
	return failed_with(fails.commit);
}

static int given_again(struct state *state)
{
	CHECK(state == STATE, "another begins again");
	return 0;
}

static int64_t given_left(const struct pending *one, int64_t at_least)
{
	CHECK(at_least == date, "at least %lld", (long long)at_least);
	return one->rebooted ? 0 : one->due;
}

static int given_take_back(const struct context *in, const char *label)
{
	CHECK(in == &given_context, "in another context");
	line("%s is detached", label);
	return failed_with(fails.take_back);
}

static int given_undo(struct state *state, const struct pending *one)
{
	(void)state;
	line("%s goes back in the state", one->name);
	return failed_with(fails.undo);
}

static int given_keep(struct live *of)
{
	CHECK(of == &in_force, "another is kept");
	line("what was on trial stays");
	kept = 1;
	return failed_with(fails.keep);
}

static void given_sweep(struct live *of)
{
	(void)of;
	line("swept");
}

static void given_attached(const struct context *in)
{
	(void)in;
	line("interfaces catch up");
}

static int given_expire(struct state *state, int64_t now, struct ban **bans, size_t *n)
{
	(void)state;
	CHECK(now > 1000000000, "it is %lld", (long long)now);
	*bans = calloc(expired_n + 1, sizeof(**bans));
	if (!*bans)
		abort();
	for (size_t i = 0; i < expired_n; i++)
		(*bans)[i] = (struct ban){ .first = { 0xc0000201 + i, 4 }, .length = 32 - (unsigned int)i };
	*n = expired_n;
	return failed_with(fails.expire);
}

static int given_touch(struct touched *t, struct addr first, unsigned int length)
{
	char text[PREFIX_TEXT_MAX];

	(void)t;
	line("%s is touched", prefix_text(text, first, (int)length));
	return 0;
}

/* Whatever it was an end of is known, and touched. */
static int given_behind(struct state *state, const struct ban *bans, size_t n, struct touched *t)
{
	(void)state;
	(void)t;
	CHECK(n == expired_n && (!n || bans[n - 1].first.num == 0xc0000201 + n - 1), "%zu have run out", n);
	return failed_with(fails.behind);
}

static void given_free(struct touched *t)
{
	(void)t;
	freed++;
}

static int given_stepped(struct state *state, struct touched *t, size_t *n)
{
	(void)state;
	(void)t;
	*n = mended_n;
	return failed_with(fails.stepped);
}

static int given_divide(struct touched *t, struct state *state)
{
	(void)t;
	(void)state;
	line("divided");
	return failed_with(fails.divide);
}

static int given_bans(struct state *state, struct live *of, const struct touched *t, struct guard *guard)
{
	(void)state;
	(void)of;
	(void)t;
	CHECK(guard->again && !guard->everything && !guard->spare, "it is guarded otherwise");
	line("bans into force");
	return failed_with(fails.bans);
}

static int given_apply(struct state *state, struct live *of, const struct apply_options *options)
{
	(void)state;
	(void)of;
	CHECK(options->guard->again && !options->narrow && !options->dry_run && !options->discard_unknown &&
		      !options->filling && !options->arrives && !options->before_commit,
	      "it is built otherwise");
	line("built%s", options->reverting ? ", to go back" : "");
	errand.declined = fails.declines;
	return fails.declines ? -ECANCELED : failed_with(fails.apply);
}

static int given_needs(struct guard *guard, struct state *state, const struct live *of)
{
	CHECK(state == STATE && of == &in_force, "of another");
	CHECK(guard->spare && guard->tells && guard->afresh && guard->fixed && !guard->again,
	      "it is guarded otherwise");
	CHECK(guard->until && guard->until <= time(NULL), "it is asked about %lld", (long long)guard->until);
	line("whom it bans is said");
	return failed_with(fails.needs);
}

__attribute__((format(printf, 1, 2))) static void given_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("  (");
	vprintf(fmt, args);
	puts(")");
	va_end(args);
}

static int given_list(struct state *state, const char *name, struct list_info *list)
{
	(void)state;
	list->label = 9;
	return strcmp(name, "gone") ? 0 : -ENOENT;
}

static void given_succeeded(const struct context *in, const char *list)
{
	CHECK(in == &given_context, "in another context");
	line("nothing was refused of %s", list);
}

static int given_zero(const struct context *in, __u8 label)
{
	(void)in;
	line("label %u counts anew", label);
	return 0;
}

static void given_close(struct state *state)
{
	CHECK(state == STATE, "another is closed");
	line("closed");
}

static int given_open(struct state **state, const struct context *in, bool change)
{
	CHECK(in == &given_context && change, "it is opened otherwise");
	line("opened again");
	*state = AGAIN;
	return failed_with(fails.open);
}

static int given_look(struct live *of)
{
	(void)of;
	line("looked again");
	return 0;
}

__attribute__((format(printf, 1, 2))) static void given_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("  ! ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *in, struct event e, const char *fmt,
							      ...)
{
	va_list args;

	CHECK(in == &given_context && e.generation == 5, "generation %llu", e.generation);
	printf("  event, %s: ", e.kind == EVENT_REVERTED  ? "reverted"
				: e.kind == EVENT_EXPIRED ? "expired"
				: e.kind == EVENT_HEALED  ? "healed"
							  : "another");
	va_start(args, fmt);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

#define agreement(...)		given_agreement(__VA_ARGS__)
#define live_is_gone(state, of) (CHECK(state == STATE && (of) == &in_force, "it is asked of another"), gone)
#define trial_until		given_until
#define state_pending_over	given_over
#define state_commit		given_commit
#define state_again		given_again
#define state_pending		given_pending
#define pending_left		given_left
#define attach_take_back	given_take_back
#define state_pending_undo	given_undo
#define change_keep		given_keep
#define kernel_sweep		given_sweep
#define attach_catch_up		given_attached
#define state_bans_expire	given_expire
#define touched_add		given_touch
#define behind_expired		given_behind
#define touched_free		given_free
#define touched_divide		given_divide
#define stepped_back		given_stepped
#define bans_into_force		given_bans
#define apply_with		given_apply
#define guard_in_force		given_needs
#define note			given_note
#define state_list_get		given_list
#define kernel_zero_label	given_zero
#define list_succeeded		given_succeeded
#define image_kept(state)	(CHECK(state == STATE, "of another"), 7u)
#define state_close		given_close
#define state_open		given_open
#define live_look		given_look
#define warn			given_warn
#define event(...)		given_event(__VA_ARGS__)
#include "change/catch_up.c"

static void wait_for(size_t at, enum pending_kind kind, const char *name, int64_t left, int64_t deadline)
{
	pending[at] = (struct pending){ .kind = kind, .due = left, .deadline = deadline };
	snprintf(pending[at].name, sizeof(pending[at].name), "%s", name);
	waiting = at + 1;
}

static void begins(const char *what)
{
	struct state *state = STATE;
	int err;

	printf("%s\n", what);
	in_force.context = &given_context;
	in_force.g.number = 5;
	kept = freed = 0;
	errand.declined = false;
	date = 4711;
	err = catch_up(&state, &in_force, date);
	line("%s%s", err ? reason(err) : "done", state == AGAIN ? ", with another state" : "");
	CHECK(freed == 1, "freed %d times", freed);
}

static void again(void)
{
	memset(pending, 0, sizeof(pending));
	memset(&fails, 0, sizeof(fails));
	waiting = expired_n = mended_n = 0;
	is = then = AGREED;
	gone = false;
	in_force = (struct live){ 0 };
}

static void little(void)
{
	static const char *const names[] = { [NOTHING_LIVE] = "nothing is in force",
					     [AGREED] = "they agree",
					     [BEHIND] = "the kernel is behind",
					     [UNKNOWN] = "it is unknown" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		is = (enum agreement)i;
		begins(names[i]);
	}
	is = BEHIND;
	fails.apply = -ENOMEM;
	begins("it cannot be built");
	fails.open = -EIO;
	begins("nor opened again");
}

static void overdue(void)
{
	wait_for(0, PENDING_INTERFACE, "eth0", 0, 1000);
	begins("an interface");
	pending[0].deadline = PENDING_IN_PROGRESS;
	begins("an interface, half attached");
	fails.take_back = -EIO;
	begins("it cannot be detached");
	pending[0].deadline = 1000;
	in_force.on_trial = 5;
	begins("nor in time, while a filter is on trial that was confirmed");
	in_force.on_trial = 0;
	fails.take_back = 0;
	fails.undo = -EIO;
	begins("it does not go back");
	fails.undo = 0;
	fails.bans = -EIO;
	begins("it does not come into force");
	again();
	wait_for(0, PENDING_LIST, "drop", 0, 1000);
	wait_for(1, PENDING_LIST_KIND, "shadow", 0, 1000);
	wait_for(2, PENDING_LIST_KIND, "gone", 0, 1000);
	wait_for(3, PENDING_IMAGE, PENDING_IMAGE_NAME, 1, 1000);
	begins("three, and one has time left");
	fails.needs = -EIO;
	begins("whom they ban is not known");
	fails.needs = 0;
	fails.apply = -E2BIG;
	begins("they cannot go back");
	fails.apply = 0;
	fails.declines = true;
	begins("it is somebody else's errand");
	again();
	wait_for(0, PENDING_LIST, "gone", 0, 1000);
	begins("a list that was new");
	again();
	wait_for(0, PENDING_SETTING, "fpr", 0, 1000);
	is = BEHIND;
	begins("a setting, and the kernel is behind");
	again();
	wait_for(0, PENDING_INTERFACE, "eth0", 0, 1000);
	wait_for(1, PENDING_BAN, "192.0.2.1", 0, 1000);
	begins("an interface and a ban");
}

/* What waits is over then, whatever time it has left, but for an interface; each waits once more. */
static void nothing_to_go_back_to(void)
{
	gone = true;
	in_force.err = -ENOENT;
	is = NOTHING_LIVE;
	begins("nothing waits");
	wait_for(0, PENDING_INTERFACE, "eth0", 1, 1000);
	begins("an interface waits");
	wait_for(1, PENDING_LIST, "drop", 1, 1000);
	wait_for(2, PENDING_BAN, "192.0.2.1", 1, 1000);
	begins("a list and a ban wait, too");
	begins("since another start");
	wait_for(1, PENDING_LIST, "drop", 1, 1000);
	fails.apply = -E2BIG;
	begins("it cannot go back");
	wait_for(1, PENDING_LIST, "drop", 1, 1000);
	fails.commit = -ENOSPC;
	begins("nor be over");
	wait_for(1, PENDING_LIST, "drop", 1, 1000);
	fails.over = -EIO;
	begins("nor be said to be");
	fails.pending = -EIO;
	begins("nor be read");
	wait_for(1, PENDING_LIST, "drop", 1, 1000);
	fails.pending = 0;
	in_force.err = -EPERM;
	begins("what is in force cannot be read");
	in_force.err = -ENOENT;
	in_force.program = 5;
	begins("its pins cannot be read");
}

static void on_trial(void)
{
	in_force.on_trial = 5;
	then = BEHIND;
	begins("nothing waits, and the kernel is behind once it is kept");
	then = AGREED;
	is = BEHIND;
	begins("nothing waits, and the kernel was behind");
	is = AGREED;
	fails.keep = -EIO;
	begins("it cannot be kept");
	fails.keep = 0;
	wait_for(0, PENDING_LIST, "drop", 1, 1000);
	begins("a list waits");
	wait_for(0, PENDING_INTERFACE, "eth0", 1, 1000);
	begins("an interface waits");
	wait_for(0, PENDING_LIST, "drop", 1, 1000);
	wait_for(1, PENDING_INTERFACE, "eth0", 1, 1000);
	begins("a list and an interface wait");
	again();
	in_force.on_trial = 5;
	wait_for(0, PENDING_LIST, "drop", 0, 1000);
	begins("its time is over");
	fails.pending = -EIO;
	begins("what waits is not to be read");
}

static void runs_out(void)
{
	expired_n = 1;
	begins("one");
	expired_n = 3;
	begins("three");
	fails.bans = -EIO;
	begins("they stay in force");
	fails.bans = 0;
	fails.divide = -EIO;
	begins("they are not found");
	fails.divide = 0;
	fails.expire = -EIO;
	begins("they are not read");
	is = BEHIND;
	fails.expire = 0;
	begins("and the kernel is behind");
	is = AGREED;
	fails.behind = -EIO;
	begins("what is behind them is not read");
	again();
	mended_n = 2;
	begins("an older version was here");
	expired_n = 1;
	begins("and one ran out");
	fails.stepped = -EIO;
	begins("that cannot be mended");
}

/* A damaged state is for whoever called. */
static void damaged(void)
{
	wait_for(0, PENDING_LIST, "drop", 0, 1000);
	fails.pending = -EUCLEAN;
	begins("what waits");
	fails.pending = 0;
	fails.undo = -EUCLEAN;
	begins("what goes back");
	again();
	expired_n = 1;
	fails.expire = -EUCLEAN;
	begins("bans");
	fails.expire = 0;
	fails.stepped = -EUCLEAN;
	begins("what another version left");
	fails.stepped = 0;
	fails.bans = -EUCLEAN;
	begins("what comes into force");
}

static void commits(const char *what, int64_t own_due, int err)
{
	struct overdue overdue = { 0 };
	int failed;

	printf("%s\n", what);
	in_force.context = &given_context;
	in_force.g.number = 5;
	date = 0;
	failed = overdue_undo(&overdue, STATE, own_due);
	line("%zu go back", overdue.n);
	failed = overdue_end(&overdue, &in_force, failed ?: err ? because(err, "no room") : 0);
	line("%s", failed ? reason(failed) : "done");
}

static void with_a_change(void)
{
	struct overdue overdue = { 0 };

	commits("nothing waits", 0, 0);
	commits("nothing waits, and it fails", 0, -ENOMEM);
	wait_for(0, PENDING_INTERFACE, "eth0", 0, 1000);
	wait_for(1, PENDING_SETTING, "exact", 0, 1000);
	wait_for(2, PENDING_LIST, "own", 7, 1000);
	wait_for(3, PENDING_LIST, "late", 8, 1000);
	pending[2].rebooted = pending[3].rebooted = true;
	commits("two are overdue", 7, 0);
	commits("and it fails", 7, -ENOMEM);
	commits("three are overdue", 0, 0);
	fails.undo = -EIO;
	commits("one cannot go back", 7, 0);
	fails.undo = 0;
	pending[2].rebooted = pending[3].rebooted = false;
	commits("one is", 7, 0);
	fails.pending = -EIO;
	commits("what waits is not to be read", 7, 0);
	fails.pending = 0;
	printf("somebody else's errand\n");
	CHECK(!overdue_undo(&overdue, STATE, 0), "it fails");
	errand.declined = true;
	line("%s", reason(overdue_end(&overdue, &in_force, because(-ECANCELED, "declined"))));
	errand.declined = false;
	printf("a dry run\n");
	overdue = (struct overdue){ 0 };
	CHECK(!overdue_undo(&overdue, STATE, 0), "it fails");
	CHECK(!overdue_end(&overdue, NULL, 0), "it fails");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "little", little },
					       { "overdue", overdue },
					       { "on trial", on_trial },
					       { "nothing to go back to", nothing_to_go_back_to },
					       { "runs out", runs_out },
					       { "damaged", damaged },
					       { "with a change", with_a_change } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), again);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
