// SPDX-License-Identifier: GPL-2.0-only
#include "state/line_times.h"

#include <stdio.h>

#include "state/internal.h"
#include "state/settings.h"

#define LINE_NAME_MAX 32

static const char *name_of(char name[LINE_NAME_MAX], unsigned int i)
{
	snprintf(name, LINE_NAME_MAX, SETTING_LINE "%llu", (unsigned long long)LINE_SIZE(i) >> 10);
	return name;
}

bool state_line_times_tried(struct state *state)
{
	return state_setting(state, SETTING_LINES_OF, -1) == (double)line_machine();
}

struct line_times state_line_times(struct state *state)
{
	struct line_times usual = line_times_usual(), times = { .measured = true };
	char name[LINE_NAME_MAX];

	usual.kept = times.kept = line_times_round(state_setting(state, SETTING_FILTER_BITS, BITS_USUAL));
	if (!state_line_times_tried(state))
		return usual;
	for (; times.n < LINE_SIZES; times.n++) {
		times.ns[times.n] = state_setting(state, name_of(name, times.n), 0);
		if (!(times.ns[times.n] > 0))
			break;
	}
	return times.n > 1 ? times : usual;
}

int state_line_times_put(struct state *state, const struct line_times *times)
{
	int err = state_put(state, "DELETE FROM setting WHERE name GLOB '" SETTING_LINE "*'", "")
			  ?: state_set(state, SETTING_LINES_OF, (double)line_machine());
	char name[LINE_NAME_MAX];

	for (unsigned int i = 0; times->measured && i < times->n && !err; i++)
		err = state_set(state, name_of(name, i), times->ns[i]);
	return err;
}

int state_filter_bits_put(struct state *state, double bits_per_key)
{
	double bits = line_times_round(bits_per_key);

	return state_setting(state, SETTING_FILTER_BITS, BITS_USUAL) == bits
		       ? 0
		       : state_set(state, SETTING_FILTER_BITS, bits);
}
