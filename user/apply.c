// SPDX-License-Identifier: GPL-2.0-only
#include "apply.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "build.h"
#include "kernel.h"
#include "log.h"
#include "owned.h"
#include "plan.h"
#include "state.h"

#define SETTING_GENERATION "generation"

/* New seeds nearly always do; more buckets always do in the end. */
#define ATTEMPTS 8

/* Every list's set, and what is left of them on whose account. */
static int settle(struct state *state, struct owned *owned)
{
	struct list_info *lists;
	struct ranges *sets = NULL, allowed = RANGES_EMPTY, both;
	struct account *accounts = NULL;
	size_t n, banned = 0;
	int err = state_lists(state, &lists, &n);

	if (!err) {
		sets = calloc(n + 1, sizeof(*sets));
		accounts = calloc(n + 1, sizeof(*accounts));
		err = sets && accounts ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n && !err; i++) {
		err = state_list_set(state, lists[i].name, &sets[i]);
		if (err)
			break;
		if (!lists[i].allow) {
			accounts[banned++] = (struct account){ &sets[i], lists[i].label };
			continue;
		}
		err = ranges_union(&both, &allowed, &sets[i]);
		if (!err) {
			ranges_free(&allowed);
			allowed = both;
		}
	}
	if (!err)
		err = owned_settle(owned, accounts, banned, &allowed);
	for (size_t i = 0; sets && i < n; i++)
		ranges_free(&sets[i]);
	ranges_free(&allowed);
	free(sets);
	free(accounts);
	free(lists);
	return err;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int build(struct candidate *c, struct generation *g, const struct owned *owned)
{
	int err = -EAGAIN;

	for (int attempt = 0; attempt < ATTEMPTS && err == -EAGAIN; attempt++) {
		if (attempt >= ATTEMPTS / 2) {
			g->roster4_buckets += g->roster4_buckets / 8;
			g->roster6_buckets += g->roster6_buckets / 8;
		}
		err = build_seeds(g);
		if (!err)
			err = kernel_arrays(c, g);
		if (err)
			return err;
		err = build_arrays(&c->g, owned);
		if (err)
			kernel_release(c);
	}
	return err == -EAGAIN ? because(err, "no seeds were found under which every key has a place") : err;
}

int apply(struct state *state)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct generation g, old = { 0 };
	struct candidate c;
	struct owned owned;
	double number, begin = seconds(), settled, built, checked, loaded;
	int err = kernel_base();

	if (!err)
		err = settle(state, &owned);
	if (err)
		return err;
	settled = seconds();
	kernel_live(&old);
	number = state_setting(state, SETTING_GENERATION, 0);
	err = plan_generation(&g, &owned, &settings);
	g.number = (number > (double)old.number ? (__u64)number : old.number) + 1;
	if (!err)
		err = build(&c, &g, &owned);
	if (err)
		goto out;
	built = seconds();
	err = build_check(&c.g, &owned);
	if (err)
		err = because(err,
			      "a key was not found in the new generation: it does not go live; please report this");
	checked = seconds();
	if (!err)
		err = kernel_load(&c);
	loaded = seconds();
	if (!err)
		err = state_set(state, SETTING_GENERATION, (double)g.number);
	/* The state first: were we killed in between, the next command would see that the kernel lags behind. */
	if (!err)
		err = state_commit(state);
	if (!err)
		err = kernel_switch(&c);
	if (!err)
		note("generation %llu: sets %.1f ms, arrays %.1f ms, check %.1f ms, programs %.1f ms, switch %.1f ms",
		     (unsigned long long)g.number, (settled - begin) * 1e3, (built - settled) * 1e3,
		     (checked - built) * 1e3, (loaded - checked) * 1e3, (seconds() - loaded) * 1e3);
	kernel_release(&c);
out:
	owned_free(&owned);
	return err;
}

int apply_if_needed(struct state *state)
{
	struct generation live;
	int err = kernel_live(&live);

	if (!err && (double)live.number == state_setting(state, SETTING_GENERATION, 0))
		return state_commit(state);
	return apply(state);
}
