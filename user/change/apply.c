// SPDX-License-Identifier: GPL-2.0-only
#include "change/apply_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "bpf/abi.h"
#include "change/agreement.h"
#include "change/detector.h"
#include "change/ends.h"
#include "change/guard_needs.h"
#include "change/own_addresses.h"
#include "change/revert_timer.h"
#include "filter/arrays.h"
#include "filter/build.h"
#include "filter/layout.h"
#include "filter/verify.h"
#include "kernel/detect.h"
#include "kernel/dispatcher_refresh.h"
#include "kernel/live.h"
#include "kernel/root.h"
#include "kernel/scopes.h"
#include "state/kept_image.h"
#include "state/line_times.h"
#include "state/settings.h"
#include "state/settle.h"
#include "state/state.h"

struct building {
	struct candidate *c;
	const struct settled *s;
	const struct ranges *banned;
	struct own_address *needs; /* without a roster */
	size_t needs_n;
	bool hits_need;
};

static int take_maps(void *arg, struct generation *g)
{
	struct building *b = arg;
	int err = kernel_arrays(b->c, g);

	*g = b->c->g;
	return err;
}

static void release_maps(void *arg)
{
	kernel_release(((struct building *)arg)->c);
}

/* Without a roster the filter decides alone: then it must not hit what is allowed, or needed, by accident. */
static int spare(void *arg, const struct generation *g)
{
	struct building *b = arg;

	if (g->roster4 || g->roster6 || !g->filter)
		return 0;
	b->hits_need = false;
	for (size_t i = 0; i < b->needs_n && !b->hits_need; i++)
		b->hits_need = guard_decide(g, b->needs[i].addr) & ANSWER_DROP &&
			       ranges_covering(b->banned, b->needs[i].addr) < 0;
	return b->hits_need ? -EAGAIN : check_allowed(g, &b->s->allowed);
}

/* Few needs are cheap to judge: with ten of them, and a fifth of all addresses hit, one draw in ten is right. */
#define SEEDS_FOR_NEEDS 16

/* Into the candidate's maps; without one into memory of our own. */
static int build(struct candidate *c, struct generation *g, const struct settled *s, const struct ranges *banned,
		 struct state *state, const struct guard *guard)
{
	struct building b = { .c = c, .s = s, .banned = banned };
	struct build_how how = {
		.take = c ? take_maps : NULL, .release = c ? release_maps : NULL, .judge = spare, .arg = &b
	};
	int err = g->roster4_buckets || g->roster6_buckets ? 0 : guard_all(guard, state, &b.needs, &b.needs_n);

	for (int i = 0; i < SEEDS_FOR_NEEDS && (!i || (err_is(err, EAGAIN) && b.hits_need)); i++)
		err = (i ? 0 : err) ?: build_until_placed(g, &s->owned, &how);
	free(b.needs);
	if (!err_is(err, EAGAIN))
		return err;
	if (g->roster4_buckets || g->roster6_buckets)
		return because(err, "no seeds were found under which every key has a place");
	if (b.hits_need)
		return because(err,
			       "no seeds were found for --exact=off under which all that this machine needs passes:"
			       " a lower --fpr has some");
	return because(err, "the allow lists are too wide for --exact=off: some allowed address would be dropped");
}

uint64_t apply_next_number(struct state *state, const struct live *live)
{
	double number = state_setting(state, SETTING_GENERATION, 0);

	return (number > (double)live->g.number ? (uint64_t)number : live->g.number) + 1;
}

/* How long a line takes is measured once in each machine, and only where a filter is large enough for that to matter.
 */
static int time_lines(struct settings *settings, struct state *state, const struct counts *n)
{
	line_rounds ns[LINE_SIZES];
	double keys = (double)n->hosts;

	settings->lines = state_line_times(state);
	for (unsigned int length = 0; length <= 128; length++)
		keys += (double)n->v6[length];
	keys *= 1 + settings->headroom;
	if (!settings_auto(settings) || !line_times_matter(keys) || state_line_times_tried(state))
		return 0;
	if (!line_times_judge(&settings->lines, (const line_rounds *)ns, line_probe(ns)))
		note("how long a line of memory takes could not be measured: the usual times decide");
	return state_line_times_put(state, &settings->lines);
}

/* A generation costs as much as it has bans: one for half as many again is a small part of what each costs. */
#define HEADROOM_FILLING 0.5

static int plan(struct generation *g, struct state *state, const struct live *live, const struct settled *s,
		bool reverting, bool filling)
{
	struct settings settings = settings_limited(state);
	uint64_t all = reverting ? memory_available() : 0;
	struct counts n;
	double kept;
	int err;

	if (settings.memory_max < all)
		settings.memory_max = all;
	if (s->shadows && !settings.exact)
		return because(-EINVAL, "a shadow list needs the roster: tune --exact=on, or enforce it");
	if (s->scopes && !settings.exact)
		return because(-EINVAL,
			       "a list with a scope needs the roster: tune --exact=on, or load it with --only any");
	settings.labels = settings.labels || s->shadows || s->ends || s->scopes;
	kept = settings.headroom;
	if (filling && kept < HEADROOM_FILLING)
		settings.headroom = HEADROOM_FILLING;
	plan_count(&n, &s->owned);
	err = time_lines(&settings, state, &n);
	if (err)
		return err;
	err = plan_sizes(g, &n, &settings);
	if (err_is(err, E2BIG) && settings.headroom > kept) {
		settings.headroom = kept;
		err = plan_sizes(g, &n, &settings);
	}
	if (!err && settings_auto(&settings) && g->capacity && g->filter_layout == LAYOUT_LANES)
		err = state_filter_bits_put(state, layout_bits(g));
	g->number = apply_next_number(state, live);
	g->shadows = s->shadows;
	g->ends = s->ends;
	g->scoped = s->scopes != NULL;
	memcpy(g->shadow, s->shadow, sizeof(g->shadow));
	return err;
}

/* Milliseconds since the last lap, for --verbose. */
static double lap(double *since)
{
	double before = *since;

	*since = clock_seconds();
	return (*since - before) * 1e3;
}

/* What will be dropped: bans less exceptions, without shadow lists. A loan where that is all of the set. */
static int dropped(const struct settled *s, struct ranges *banned)
{
	int err = 0;

	*banned = RANGES_EMPTY;
	if (s->plain) {
		*banned = (struct ranges){ .v4 = s->owned.v4, .v6 = s->owned.v6, .n4 = s->owned.n4, .n6 = s->owned.n6 };
		return 0;
	}
	for (size_t i = 0; i < s->owned.n4 && !err; i++)
		if (!settled_shadow(s, s->owned.label4[i]))
			err = ranges_add4(banned, s->owned.v4[i].lo, s->owned.v4[i].hi);
	for (size_t i = 0; i < s->owned.n6 && !err; i++)
		if (!settled_shadow(s, s->owned.label6[i]))
			err = ranges_add6(banned, s->owned.v6[i].lo, s->owned.v6[i].hi);
	return err ?: ranges_finish(banned);
}

static void free_sets(struct settled *s, struct ranges *banned)
{
	if (!s->plain)
		ranges_free(banned);
	settled_free(s);
}

/* What the state has come to, as the guard accepts it: what that spares is an exception, and settled once more. */
static int settle_guarded(struct settled *s, struct ranges *banned, struct state *state, const struct live *live,
			  struct guard *guard)
{
	int err;

	for (int i = 0; i < 2; i++) {
		err = settle(s, state);
		if (err)
			return err;
		err = dropped(s, banned) ?: guard_set(guard, state, live, banned, true);
		if (!err && !guard->spared)
			return 0;
		free_sets(s, banned);
		if (err)
			return err;
	}
	return because(-EAGAIN, "what this machine needs changes too fast");
}

struct laps {
	double clock, sets, arrays, check;
};

/* From the lists to arrays that hold them, every key of them checked. */
static int apply_lists(struct state *state, const struct live *live, const struct apply_options *options,
		       struct candidate *c, struct laps *t)
{
	struct generation g = { 0 };
	struct ranges banned;
	struct settled s;
	int err = settle_guarded(&s, &banned, state, live, options->guard);

	if (err)
		return err;
	t->sets = lap(&t->clock);
	progress(live->context, "building the arrays", -1);
	err = plan(&g, state, live, &s, options->reverting, options->filling);
	if (!err && !options->dry_run)
		err = build(c, &g, &s, &banned, state, options->guard);
	t->arrays = lap(&t->clock);
	progress(live->context, "checking every key", -1);
	if (!err && !options->dry_run) {
		err = check_arrays(&c->g, &s.owned);
		t->check = lap(&t->clock);
		if (err) {
			err = because(err, "a key was not found in the new generation: it does not go live; please"
					   " report this");
		}
		if (!err && s.scopes)
			err = kernel_scopes(live->context, c, s.scopes);
		if (err)
			kernel_release(c);
	}
	free_sets(&s, &banned);
	return err;
}

static bool is_over(__u64 when)
{
	return when && when <= (__u64)clock_boot();
}

/* From the arrays to the switch. */
static int go_live(struct state *state, struct live *live, const struct apply_options *options, struct candidate *c,
		   struct laps *t)
{
	uint64_t image = image_kept(state);
	double loaded;
	struct attachment *on = NULL;
	struct ends ends = { 0 };
	struct detector detector = { 0 };
	size_t on_n = 0;
	int err = trial_until(state, &c->trial.until) ?: c->g.ends ? ends_read(&ends, state, NULL) : 0;

	/* It would be on trial with nothing to go back to. */
	if (c->trial.until && live_is_gone(state, live))
		c->trial.until = 0;
	if (c->trial.until)
		c->trial.before = live_before(live);
	/* The kernel would not let it into force. */
	if (!err && !options->guard->waits && is_over(c->trial.until))
		err = because(-EBUSY, "what waits for confirmation goes back just now: do it again");
	progress(live->context, "loading the programs", -1);
	err = err ?:
	      detector_fill(&detector, state) ?:
	      kernel_detect(live->context, c, live, &detector) ?:
	      kernel_load(live->context, c, &ends);
	loaded = lap(&t->clock);
	err = err ?: attach_list(live->context, &on, &on_n) ?: attach_may_refresh(on, on_n);
	if (!err && options->before_commit)
		err = options->before_commit(state, options->arg);
	/* The state first: if we are killed in between, the next command sees that the kernel is behind. */
	err = err ?:
	      state_set(state, SETTING_GENERATION, (double)c->g.number) ?:
	      state_set(state, SETTING_EDITS, 0) ?:
	      state_commit(state);
	if (!err) {
		image_sweep(state, image);
		err = kernel_switch(live->context, c);
	}
	if (!err) {
		live_look(live);
		attach_refresh(live->context, on, on_n);
		note("generation %llu: sets %.1f ms, arrays %.1f ms, check %.1f ms, programs %.1f ms, switch %.1f ms",
		     (unsigned long long)c->g.number, t->sets, t->arrays, t->check, loaded, lap(&t->clock));
	}
	free(on);
	ends_free(&ends);
	detector_free(&detector);
	kernel_release(c);
	return err;
}

int apply_with(struct state *state, struct live *live, const struct apply_options *given)
{
	struct apply_options with = *given, *options = &with;
	struct guard strict = { 0 };
	struct laps t = { .clock = clock_seconds() };
	struct candidate c;
	int err;

	if (errand.here)
		return errand_decline("it takes a new generation");
	err = kernel_base(live->context, committed(state));
	progress(live->context, "settling whose each address is", -1);
	options->guard = given->guard ?: &strict;
	/* Otherwise this would silently replace a filter of which the state knows nothing. */
	if (!err && !options->discard_unknown)
		err = agreement_known(live->context, state, &live->g);
	if (!err)
		err = image_kept(state) ? apply_image(state, live, options, &c)
					: apply_lists(state, live, options, &c, &t);
	err = err || options->dry_run ? err : go_live(state, live, options, &c, &t);
	progress_end();
	return err;
}

/* Of what the sets are. What is wrong with the memory now, or with the state, is for whoever reads it. */
static int contradiction(int err)
{
	return err_is(err, EINVAL) || err_is(err, EAGAIN) || err_is(err, E2BIG) ? err : 0;
}

/* Has any list a scope? Then they may be too many for one program. */
static bool any_scope(struct state *state)
{
	struct list_info *lists = NULL;
	bool any = false;
	size_t n = 0;

	if (!state_lists(state, &lists, &n))
		for (size_t i = 0; i < n && !any; i++)
			any = lists[i].scope[0] != '\0';
	free(lists);
	return any;
}

/* Then there may be no plan, and no seeds that let through what is to pass. What memory there is, nobody knows. */
static int without_roster(struct state *state, const struct live *live, const struct settled *s)
{
	struct guard guard = { .again = true };
	struct generation g = { 0 };
	struct ranges banned;
	int err = dropped(s, &banned) ?: plan(&g, state, live, s, true, false);

	if (!err) {
		err = build(NULL, &g, s, &banned, state, &guard);
		if (!err)
			arrays_release(&g);
	} else if (err_is(err, E2BIG)) {
		err = 0;
	}
	if (!s->plain)
		ranges_free(&banned);
	return err;
}

static int contradicts(struct state *state, void *live)
{
	bool exact = settings_limited(state).exact;
	struct settled s;
	int err;

	if (image_kept(state) || (exact && !any_scope(state)))
		return 0;
	err = settle(&s, state);
	if (!err && !exact)
		err = without_roster(state, live, &s);
	settled_free(&s);
	return contradiction(err);
}

int apply_goes_back(struct state *state, struct live *live)
{
	char name[LIST_NAME_MAX];
	int err = state_pending_undone(state, contradicts, live, name);

	return err ? because(err, "%s waits for 'confirm', and would not go back together with this: %s", name,
			     reason(err))
		   : 0;
}

int apply(struct state *state, struct live *live, struct guard *guard)
{
	return apply_with(state, live, &(struct apply_options){ .guard = guard });
}

int apply_if_needed(struct state *state, struct live *live, struct guard *guard)
{
	int err = 0;

	if (agreement(state, &live->g) != AGREED)
		return apply(state, live, guard);
	if (guard->afresh) {
		guard->fixed = image_kept(state);
		err = guard_in_force(guard, state, live);
	}
	return err || guard->spared ? err ?: apply(state, live, guard) : state_commit(state);
}
