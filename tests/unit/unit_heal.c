// SPDX-License-Identifier: GPL-2.0-only
/*
 * What makes the filter whole again: what it does with the lock and without it, with a state that is gone or cannot be
 * read, and which interfaces it attaches again; with a kernel, a state and other commands that are made up, word for
 * word.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/label.h"
#include "base/log.h"
#include "base/state_path.h"
#include "bpf/abi.h"
#include "change/agreement.h"
#include "change/attachments.h"
#include "change/change.h"
#include "change/heal.h"
#include "kernel/attach.h"
#include "kernel/held.h"
#include "shown.h"
#include "state/settings.h"

static const struct shown known[] = {
#include "unit_heal.txt"
};

static struct shows shows = { .file = "tests/unit/unit_heal.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define STATE ((struct state *)&shows) /* nobody looks into it */
#define HELD  ((struct held *)&known)

static const struct context its = { .state = "/s", .wait = 60 };
static unsigned int finding[4], looks; /* by each look, the last one for all that follow */
static const char *failing;
static int failing_with;
static int locked_for, locked_err; /* so many tries to get it fail */
static int tries, waited;	   /* for the lock, ms */
static bool is_gone, unreadable, is_live;
static enum agreement agrees;

static struct {
	struct attachment at[4];
	bool by_force[4];
	size_t n;
} off, in_state;

__attribute__((format(printf, 1, 2))) static int step(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	printf("  %s\n", text);
	return failing && !strncmp(text, failing, strlen(failing)) ? because(failing_with, "no: %s", text) : 0;
}

static int given_access(const char *path, int how)
{
	step("is there %s?%s", path, how == F_OK ? "" : " And more");
	return is_gone ? -1 : 0;
}

static int given_state_open(struct state **state, const struct context *context, bool change)
{
	int err = 0;

	if (strcmp(context->state, its.state) != 0 || (change && context->wait))
		printf("  of another context\n");
	if (change && locked_for && locked_for--)
		err = locked_err;
	else if (!change && unreadable)
		err = -EUCLEAN;
	*state = err ? NULL : STATE;
	tries += err_is(err, EBUSY);
	if (err_is(err, EBUSY))
		return err;
	if (tries)
		printf("  the lock is tried %d times, for %d ms\n", tries, waited);
	tries = waited = 0;
	step("the state is opened %s: %s", change ? "for change" : "to read", err ? errno_text(err) : "yes");
	return err;
}

static void given_state_close(struct state *state)
{
	step("the state is closed%s", state ? "" : ", which was not open");
}

static struct committed given_committed(struct state *state)
{
	return (struct committed){ .number = state == STATE ? 5 : 6, .on_trial = true };
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (fds || n)
		printf("  it waits for something\n");
	waited += ms;
	return 0;
}

static void given_expect(struct held *held, struct committed committed)
{
	step("%llu is expected%s%s", committed.number, committed.on_trial ? ", on trial" : "",
	     held == HELD ? "" : ", elsewhere");
}

static unsigned int given_look(struct held *held)
{
	unsigned int bits = finding[looks];

	step("look:%s%s%s%s%s%s", held == HELD ? "" : " elsewhere", bits & HELD_GAP ? " gap" : "",
	     bits & HELD_PINS ? " pins" : "", bits & HELD_DETACHED ? " detached" : "",
	     bits & HELD_TWICE ? " twice" : "", bits ? "" : " all is there");
	looks += looks < 3;
	return bits;
}

static const char *given_faults(const struct held *held)
{
	return held == HELD ? "slot is gone" : "?";
}

static int given_close_gap(struct held *held)
{
	return held == HELD ? step("the gap is closed") : -EINVAL;
}

static int given_repair(struct held *held)
{
	return held == HELD ? step("pins are made") : -EINVAL;
}

static const struct attachment *given_detached(const struct held *held, size_t n, bool *by_force)
{
	if (held != HELD || n >= off.n)
		return NULL;
	*by_force = off.by_force[n];
	return &off.at[n];
}

static void given_forget(struct held *held)
{
	step("who was detached is forgotten%s", held == HELD ? "" : " elsewhere");
}

static int given_kept(struct state *state, struct attachment **list, size_t *n)
{
	int err = step("who is kept?");

	*list = NULL;
	*n = 0;
	if (err || state != STATE)
		return err ?: -EINVAL;
	*list = calloc(in_state.n + 1, sizeof(**list));
	if (!*list)
		abort();
	memcpy(*list, in_state.at, in_state.n * sizeof(in_state.at[0]));
	*n = in_state.n;
	return 0;
}

static int given_attach(const struct context *context, struct attachment *at)
{
	char label[LABEL_MAX];

	return step("attach %s, mode %d%s, until %lld%s%s", label_of(label, at->name, at->match), at->mode,
		    at->shared ? ", shared" : "", (long long)at->until, at->as[0] || at->ifindex ? ", as it was" : "",
		    context == &its ? "" : ", elsewhere");
}

static void given_said(const struct attachment *at)
{
	step("said of %s, mode %d", at->name, at->mode);
}

static int given_ready(const struct context *context)
{
	return context == &its ? step("directories are made") : -EINVAL;
}

static int given_settle(const struct context *context, struct state *state)
{
	return context == &its && state == STATE ? step("one of two goes") : -EINVAL;
}

static int given_live(const struct context *context, struct generation *g)
{
	*g = (struct generation){ .number = 5 };
	step("what is in force? %s", is_live ? "5" : "nothing");
	return context == &its && is_live ? 0 : -ENOENT;
}

static enum agreement given_agreement(struct state *state, const struct generation *live)
{
	return state == STATE && live->number == 5 ? agrees : UNKNOWN;
}

static int given_begin(struct change **change, struct context *context)
{
	*change = (struct change *)&finding;
	return step("a change begins%s", context->wait || strcmp(context->state, "/s") != 0 ? ", and waits" : "");
}

static void given_end(struct change *change)
{
	step("and ends%s", change == (struct change *)&finding ? "" : ", another");
}

#define access		     given_access
#define state_open	     given_state_open
#define state_close	     given_state_close
#define committed(state)     given_committed(state)
#define poll		     given_poll
#define held_expect	     given_expect
#define held_look	     given_look
#define held_faults	     given_faults
#define held_close_gap	     given_close_gap
#define held_repair	     given_repair
#define held_detached	     given_detached
#define held_forget_detached given_forget
#define attachments_kept     given_kept
#define kernel_ready	     given_ready
#define attach_one	     given_attach
#define attachment_warn	     given_said
#define attachments_settle   given_settle
#define kernel_live	     given_live
#define agreement(state, g)  given_agreement(state, g)
#define change_begin	     given_begin
#define change_end	     given_end
#include "change/heal.c"

/* --- What happens --- */

static void begins(void)
{
	memset(finding, 0, sizeof(finding));
	memset(&off, 0, sizeof(off));
	memset(&in_state, 0, sizeof(in_state));
	looks = 0;
	failing = NULL;
	locked_for = 0;
	locked_err = -EBUSY;
	is_gone = unreadable = false;
	is_live = true;
	agrees = AGREED;
}

static void finds(unsigned int first, unsigned int second, unsigned int third, unsigned int fourth)
{
	finding[0] = first;
	finding[1] = second;
	finding[2] = third;
	finding[3] = fourth;
}

static int heals(void)
{
	static const char *const how[] = { "nothing", "done", "later" };
	int err = heal(&its, HELD);

	printf("%s\n", err < 0 ? reason(err) : how[err]);
	looks = 0;
	return err;
}

static void each_fault(void)
{
	static const unsigned int each[] = {
		0, HELD_GAP, HELD_PINS, HELD_DETACHED, HELD_TWICE, HELD_PINS | HELD_TWICE
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		for (int of_another = 0; of_another < 2; of_another++) {
			printf("%x, %s\n", each[i], of_another ? "and a command has the lock" : "by nobody");
			finds(each[i], each[i], 0, 0);
			locked_for = of_another ? 100 : 0;
			heals();
		}
}

/* What comes between two looks. */
static void meanwhile(void)
{
	finds(0, HELD_GAP, 0, 0);
	heals();
	finds(0, HELD_GAP | HELD_PINS, 0, 0);
	locked_for = 100;
	heals();
	finds(HELD_GAP, 0, 0, 0);
	heals();
	/* Who had the lock has made it again; or not. */
	finds(HELD_PINS, HELD_PINS, HELD_PINS, 0);
	locked_for = 100;
	heals();
	locked_for = 0;
	heals();
}

static void lock_comes(void)
{
	finds(HELD_PINS, HELD_PINS, 0, 0);
	for (int i = 1; i < 16; i += 7) {
		printf("after %d tries\n", i);
		locked_for = i;
		heals();
	}
	locked_for = 100;
	unreadable = true;
	heals();
	is_gone = true;
	heals();
	is_gone = false;
	locked_for = 1;
	locked_err = -EUCLEAN;
	heals();
}

static void detaches(const char *name, unsigned int match, bool by_force)
{
	struct attachment *at = &off.at[off.n];

	*at = (struct attachment){ .mode = MODE_NATIVE, .shared = by_force, .match = match, .ifindex = 9, .until = 7 };
	memcpy(at->name, name, strlen(name));
	memcpy(at->as, name, strlen(name));
	off.by_force[off.n++] = by_force;
}

static void keeps(const char *name, unsigned int match)
{
	struct attachment *at = &in_state.at[in_state.n++];

	*at = (struct attachment){ .mode = MODE_SKB, .match = match, .until = 3 };
	memcpy(at->name, name, strlen(name));
}

static void all_are_detached(void)
{
	detaches("eth0", MATCH_SOURCE, true);
	detaches("eth1", MATCH_SOURCE, false);
	detaches("eth2", MATCH_SOURCE, true);
	keeps("eth0", MATCH_SOURCE);
	keeps("eth1", MATCH_LEAVING(MATCH_SOURCE));
	keeps("eth1", MATCH_SOURCE);
	finds(HELD_DETACHED, HELD_DETACHED, 0, 0);
}

static void attaches(void)
{
	all_are_detached();
	puts("with the lock");
	heals();
	puts("without it");
	locked_for = 100;
	heals();
	puts("without a state that can be read");
	locked_for = 100;
	unreadable = true;
	heals();
	puts("without a state");
	locked_for = 0;
	is_gone = true;
	heals();
	begins();
	all_are_detached();
	in_state.n = 0;
	puts("none is kept");
	heals();
	failing = "who";
	failing_with = -EIO;
	puts("nobody knows who is");
	heals();
}

static void attach_fails(void)
{
	static const int errs[] = { -EEXIST, -ENOMEM };
	static const char *const each[] = { "attach eth0", "attach eth1", "attach" };

	for (int i = 0; i < 6; i++) {
		begins();
		all_are_detached();
		failing = each[i % 3];
		failing_with = errs[i / 3];
		printf("%s: %s\n", failing, errno_text(failing_with));
		heals();
	}
	finds(HELD_DETACHED, HELD_DETACHED, HELD_DETACHED, 0);
	heals();
}

static void each_fails(void)
{
	static const char *const each[] = { "the gap", "pins", "one of two", "directories", "attach" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begins();
		all_are_detached();
		finds(HELD_GAP, HELD_GAP | HELD_PINS | HELD_TWICE, HELD_DETACHED, 0);
		failing = each[i];
		failing_with = -ENOMEM;
		agrees = BEHIND;
		heals();
	}
	puts("the first of two");
	begins();
	all_are_detached();
	finds(HELD_GAP, HELD_GAP | HELD_TWICE, 0, 0);
	failing = "";
	failing_with = -ENOMEM;
	heals();
}

static void brought_up(void)
{
	static const enum agreement each[] = { NOTHING_LIVE, AGREED, BEHIND, UNKNOWN };
	static const unsigned int faults[] = { HELD_GAP, HELD_PINS, HELD_TWICE };

	for (int i = 0; i < 4; i++) {
		printf("agreement %d\n", i);
		agrees = each[i];
		finds(HELD_GAP, 0, 0, 0);
		heals();
	}
	agrees = BEHIND;
	for (int i = 0; i < 3; i++) {
		printf("%x\n", faults[i]);
		finds(0, faults[i], 0, 0);
		heals();
	}
	finds(HELD_GAP, HELD_GAP, HELD_GAP, HELD_GAP);
	heals();
	finds(HELD_GAP, 0, 0, 0);
	failing = "a change";
	failing_with = -EBUSY;
	heals();
	is_live = false;
	heals();
	is_live = true;
	is_gone = true;
	heals();
	is_gone = false;
	locked_for = 100;
	heals();
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "each fault", each_fault }, { "meanwhile", meanwhile },	{ "the lock comes", lock_comes },
		{ "attaches", attaches },     { "attach fails", attach_fails }, { "each fails", each_fails },
		{ "brought up", brought_up },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begins);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
