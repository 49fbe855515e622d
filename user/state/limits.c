// SPDX-License-Identifier: GPL-2.0-only
#include "state/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "state/internal.h"
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

/* --- Of interfaces: rows of the settings' table, as those of proven.c -------------------------------------------- */

enum of_limit { OF_RATE, OF_BURST, OF_THEN, OF_LIMIT };

static const char *const of_limit[OF_LIMIT] = { "", "_burst", "_then" };
static const double of_most[OF_LIMIT] = { LIMIT_BYTES_MOST, 0x1p53, THENS - 1 };

struct kept {
	char name[IF_NAMESIZE];
	enum packet_class class;
	enum of_limit what;
	double value;
};

/* "on eth1 limit_syn_burst" */
static bool read_name(const char *name, struct kept *kept)
{
	const char *space = name + strlen(SETTING_ON) + strcspn(name + strlen(SETTING_ON), " ");
	char setting[SETTING_NAME_MAX];
	size_t length = (size_t)(space - name) - strlen(SETTING_ON);

	if (!*space || length >= sizeof(kept->name))
		return false;
	memcpy(kept->name, name + strlen(SETTING_ON), length);
	kept->name[length] = '\0';
	for (kept->class = 0; kept->class < LIMITED; kept->class ++)
		for (kept->what = 0; kept->what < OF_LIMIT; kept->what++) {
			limit_setting(setting, kept->class, of_limit[kept->what]);
			if (!strcmp(setting, space + 1))
				return is_interface_name(kept->name);
		}
	return false;
}

bool state_limit_on_is_sound(const char *name, double value)
{
	struct kept kept;

	return strncmp(name, SETTING_ON, strlen(SETTING_ON)) != 0 ||
	       (read_name(name, &kept) && value <= of_most[kept.what] &&
		value >= (kept.what == OF_RATE ? LIMIT_RATE_LEAST(kept.class) : 0));
}

static int read_kept(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct kept *kept = entry;
	char name[128];

	row_text(&row, 0, name, sizeof(name));
	if (err_is(row.err, ENOMEM))
		return row.err;
	kept->value = sqlite3_column_double(stmt, 1);
	if (!row.err && state_setting_value_is_sound(name, stmt, 1) && read_name(name, kept))
		return 0;
	return because(-EUCLEAN, "%s: setting '%s' is damaged; see 'xdp-bloom state recover'", s->directory, name);
}

static int read_interfaces(struct state *state, struct limits *limits)
{
	struct kept *kept = NULL;
	size_t n;
	int err = state_rows(state,
			     state_prepare(state, "SELECT name, value FROM setting WHERE name GLOB '" SETTING_ON "*'"
						  " ORDER BY name"),
			     read_kept, sizeof(*kept), &kept, &n);

	/* In this order the rate comes first. */
	for (size_t i = 0; i < n && !err; i++) {
		struct limits_on *on = limits_of(limits, kept[i].name);
		struct limit limit = on ? on->of[kept[i].class] : (struct limit){ 0 };

		if (kept[i].what == OF_RATE)
			limit = (struct limit){ .rate = kept[i].value, .then = THENS };
		else if (kept[i].what == OF_BURST)
			limit.burst = kept[i].value;
		else
			limit.then = (__u64)kept[i].value;
		if (!limits_put_on(limits, kept[i].name, kept[i].class, limit))
			err = because(-EUCLEAN, "%s: limits of more than %d interfaces; see 'xdp-bloom state recover'",
				      state->directory, LIMITS_ON_MOST);
	}
	free(kept);
	return err;
}

static int put_one(struct state *state, const char *interface, enum packet_class class, enum of_limit what,
		   double value)
{
	char name[SETTING_NAME_MAX], row[sizeof(SETTING_ON) + IF_NAMESIZE + SETTING_NAME_MAX];

	limit_setting(name, class, of_limit[what]);
	snprintf(row, sizeof(row), SETTING_ON "%s %s", interface, name);
	return state_set(state, row, value);
}

static int put_interfaces(struct state *state, const struct limits *limits)
{
	int err = state_put(state, "DELETE FROM setting WHERE name GLOB '" SETTING_ON "*'", "");

	for (size_t i = 0; i < limits->interfaces; i++)
		for (enum packet_class class = 0; class < LIMITED && !err; class ++) {
			const struct limits_on *on = &limits->on_interface[i];
			const struct limit *limit = &on->of[class];

			if (limit->rate <= 0)
				continue;
			err = put_one(state, on->name, class, OF_RATE, limit->rate);
			if (!err && limit->burst > 0)
				err = put_one(state, on->name, class, OF_BURST, limit->burst);
			if (!err && limit->then < THENS)
				err = put_one(state, on->name, class, OF_THEN, (double)limit->then);
		}
	return err;
}

struct limits state_limits(struct state *state)
{
	struct limits limits = { .on = setting(state, SETTING_DETECT, 0) != 0,
				 .networks = (unsigned int)setting(state, SETTING_NETWORKS, 0) };
	char name[SETTING_NAME_MAX];
	int err;

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
	err = state ? read_interfaces(state, &limits) : 0;
	if (err)
		state->broken = err;
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
	return err ?: put_interfaces(state, limits);
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
