// SPDX-License-Identifier: GPL-2.0-only
#include "state/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "state/settings.h"

void limit_setting(char name[SETTING_NAME_MAX], enum packet_class class, const char *what)
{
	snprintf(name, SETTING_NAME_MAX, "limit_%s%s", limit_names[class], what);
}

/* Without a state, what is so by default. */
static double setting(struct state *state, const char *name, double otherwise)
{
	return state ? state_setting(state, name, otherwise) : otherwise;
}

struct limits state_limits(struct state *state)
{
	struct limits limits = { .on = setting(state, SETTING_DETECT, 0) != 0,
				 .networks = (unsigned int)setting(state, SETTING_NETWORKS, 0) };
	char name[SETTING_NAME_MAX];

	for (enum packet_class class = 0; class < LIMITED; class ++) {
		limit_setting(name, class, "");
		limits.of[class].rate = setting(state, name, limit_rates[class]);
		limit_setting(name, class, "_burst");
		limits.of[class].burst = setting(state, name, 0);
		limit_setting(name, class, "_then");
		limits.of[class].then = (enum then)setting(state, name, THEN_WATCH);
	}
	limits.pps = setting(state, SETTING_DETECT_PPS, 0);
	limits.suspects = setting(state, SETTING_DETECT_SUSPECTS, 0);
	return limits;
}

int state_limits_put(struct state *state, const struct limits *limits)
{
	int err = state_set(state, SETTING_DETECT, limits->on) ?:
		  state_set(state, SETTING_NETWORKS, limits->networks) ?:
		  state_set(state, SETTING_DETECT_PPS, limits->pps) ?:
		  state_set(state, SETTING_DETECT_SUSPECTS, limits->suspects);
	char name[SETTING_NAME_MAX];

	for (enum packet_class class = 0; class < LIMITED && !err; class ++) {
		limit_setting(name, class, "");
		err = state_set(state, name, limits->of[class].rate);
		limit_setting(name, class, "_burst");
		err = err ?: state_set(state, name, limits->of[class].burst);
		limit_setting(name, class, "_then");
		err = err ?: state_set(state, name, limits->of[class].then);
	}
	return err;
}

#define HOUR 3600u
#define DAY  (24 * HOUR)

static void ladder_setting(char name[SETTING_NAME_MAX], size_t step)
{
	snprintf(name, SETTING_NAME_MAX, SETTING_LADDER "%zu", step + 1);
}

int state_ladder(struct state *state, unsigned int seconds[LADDER_STEPS], size_t *n)
{
	static const unsigned int otherwise[LADDER_STEPS] = { 60, 10 * 60, HOUR, DAY, 7 * DAY };
	char name[SETTING_NAME_MAX];

	for (size_t step = 0; step < LADDER_STEPS; step++) {
		ladder_setting(name, step);
		seconds[step] = (unsigned int)setting(state, name, 0);
	}
	if (!seconds[0])
		memcpy(seconds, otherwise, sizeof(otherwise));
	for (*n = 0; *n < LADDER_STEPS && seconds[*n]; ++*n)
		if (seconds[*n] < LADDER_LEAST || seconds[*n] > LADDER_MOST || (*n && seconds[*n] <= seconds[*n - 1]))
			return because(-EUCLEAN, "the detector's ladder is damaged; see 'xdp-bloom detect ladder'");
	return state ? state_settings_fault(state) : 0;
}

int state_ladder_put(struct state *state, const unsigned int *seconds, size_t n)
{
	char name[SETTING_NAME_MAX];
	int err = 0;

	for (size_t step = 0; step < LADDER_STEPS && !err; step++) {
		ladder_setting(name, step);
		err = state_set(state, name, step < n ? seconds[step] : 0);
	}
	return err;
}
