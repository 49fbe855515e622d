// SPDX-License-Identifier: GPL-2.0-only
#include "state/limits.h"

#include <stdio.h>

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
	struct limits limits = { .on = setting(state, SETTING_DETECT, 0) != 0 };
	char name[SETTING_NAME_MAX];

	for (enum packet_class class = 0; class < LIMITED; class ++) {
		limit_setting(name, class, "");
		limits.of[class].rate = setting(state, name, limit_rates[class]);
		limit_setting(name, class, "_burst");
		limits.of[class].burst = setting(state, name, 0);
		limit_setting(name, class, "_then");
		limits.of[class].then = (enum then)setting(state, name, THEN_WATCH);
	}
	return limits;
}

int state_limits_put(struct state *state, const struct limits *limits)
{
	int err = state_set(state, SETTING_DETECT, limits->on);
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
