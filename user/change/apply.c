// SPDX-License-Identifier: GPL-2.0-only
#include "change/apply_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "change/agreement.h"
#include "change/guard_rails.h"
#include "filter/build.h"
#include "filter/verify.h"
#include "kernel/dispatcher_refresh.h"
#include "kernel/live.h"
#include "kernel/root.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/settle.h"
#include "state/state.h"

struct building {
	struct candidate *c;
	const struct settled *s;
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

/* Without a roster the filter decides alone: then it must not hit any allowed address by accident. */
static int spare_allowed(void *arg, const struct generation *g)
{
	return g->roster4 || g->roster6 || !g->filter ? 0 : check_allowed(g, &((struct building *)arg)->s->allowed);
}

static int build(struct candidate *c, struct generation *g, const struct settled *s)
{
	struct building b = { c, s };
	int err = build_until_placed(g, &s->owned,
				     &(struct build_how){ false, take_maps, release_maps, spare_allowed, &b });

	if (!err_is(err, EAGAIN))
		return err;
	if (g->roster4_buckets || g->roster6_buckets)
		return because(err, "no seeds were found under which every key has a place");
	return because(err, "the allow lists are too wide for --exact=off: some allowed address would be dropped");
}

uint64_t apply_next_number(struct state *state, const struct live *live)
{
	double number = state_setting(state, SETTING_GENERATION, 0);

	return (number > (double)live->g.number ? (uint64_t)number : live->g.number) + 1;
}

static int plan(struct generation *g, struct state *state, const struct live *live, const struct settled *s,
		bool reverting)
{
	struct settings settings = settings_limited(state);
	uint64_t all = reverting ? memory_available() : 0;
	int err;

	if (settings.memory_max < all)
		settings.memory_max = all;
	if (s->shadows && !settings.exact)
		return because(-EINVAL, "a shadow list needs the roster: tune --exact=on, or enforce it");
	settings.labels = settings.labels || s->shadows;
	err = plan_generation(g, &s->owned, &settings);
	g->number = apply_next_number(state, live);
	g->shadows = s->shadows;
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

/* Of what will be dropped: bans less exceptions, without shadow lists. */
static int guard(const struct settled *s, const struct live *live)
{
	struct ranges banned = RANGES_EMPTY;
	int err = 0;

	if (s->plain) {
		banned = (struct ranges){ .v4 = s->owned.v4, .v6 = s->owned.v6, .n4 = s->owned.n4, .n6 = s->owned.n6 };
		return guard_own(&banned, live);
	}

	for (size_t i = 0; i < s->owned.n4 && !err; i++)
		if (!settled_shadow(s, s->owned.label4[i]))
			err = ranges_add4(&banned, s->owned.v4[i].lo, s->owned.v4[i].hi);
	for (size_t i = 0; i < s->owned.n6 && !err; i++)
		if (!settled_shadow(s, s->owned.label6[i]))
			err = ranges_add6(&banned, s->owned.v6[i].lo, s->owned.v6[i].hi);
	err = err ?: ranges_finish(&banned) ?: guard_own(&banned, live);
	ranges_free(&banned);
	return err;
}

struct laps {
	double clock, sets, arrays, check;
};

/* From the lists to arrays that hold them, every key of them checked. */
static int apply_lists(struct state *state, const struct live *live, const struct apply_options *options,
		       struct candidate *c, struct laps *t)
{
	struct generation g;
	struct settled s;
	int err = settle(&s, state);

	if (err)
		return err;
	t->sets = lap(&t->clock);
	err = (options->guarded ? guard(&s, live) : 0) ?: plan(&g, state, live, &s, options->reverting);
	if (!err && !options->dry_run)
		err = build(c, &g, &s);
	t->arrays = lap(&t->clock);
	if (!err && !options->dry_run) {
		err = check_arrays(&c->g, &s.owned);
		t->check = lap(&t->clock);
		if (err) {
			kernel_release(c);
			err = because(err, "a key was not found in the new generation: it does not go live; please"
					   " report this");
		}
	}
	settled_free(&s);
	return err;
}

/* From the arrays to the switch. */
static int go_live(struct state *state, struct live *live, const struct apply_options *options, struct candidate *c,
		   struct laps *t)
{
	uint64_t image = image_kept(state);
	struct attachment *on = NULL;
	size_t on_n = 0;
	int err = kernel_load(live->context, c);
	double loaded = lap(&t->clock);

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
	kernel_release(c);
	return err;
}

int apply_with(struct state *state, struct live *live, const struct apply_options *options)
{
	struct laps t = { .clock = clock_seconds() };
	struct candidate c;
	int err = kernel_base(live->context);

	/* Otherwise this would silently replace a filter of which the state knows nothing. */
	if (!err && !options->discard_unknown)
		err = agreement_known(live->context, state, &live->g);
	if (!err)
		err = image_kept(state) ? apply_image(state, live, options, &c)
					: apply_lists(state, live, options, &c, &t);
	return err || options->dry_run ? err : go_live(state, live, options, &c, &t);
}

int apply(struct state *state, struct live *live)
{
	return apply_with(state, live, &(struct apply_options){ 0 });
}

int apply_if_needed(struct state *state, struct live *live)
{
	return agreement(state, &live->g) == AGREED ? state_commit(state) : apply(state, live);
}
