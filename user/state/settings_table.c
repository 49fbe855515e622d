// SPDX-License-Identifier: GPL-2.0-only
/* Numbers by name. */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/log.h"
#include "state/internal.h"
#include "state/limits.h"
#include "state/line_times.h"
#include "state/settings.h"

#define NUMBER_MOST 0x1p53 /* whole numbers up to there are kept as they are */

/* What a version of ours may have written; none is negative. */
static const struct {
	const char *name;
	double most;
} limits[] = {
#define LIMIT(type, name, option, kind, least, most, ...) { #name, most },
	SETTINGS(LIMIT){ "image", NUMBER_MOST },
	{ SETTING_GENERATION, NUMBER_MOST },
	{ SETTING_EDITS, NUMBER_MOST },
	{ SETTING_BOOT, NUMBER_MOST },
	{ SETTING_PINS, NUMBER_MOST },
	{ SETTING_SLOT, UINT32_MAX },
	{ SETTING_SLOT_BOOT, NUMBER_MOST },
	{ SETTING_NETWORK, NUMBER_MOST },
	{ SETTING_EARLY, NUMBER_MOST },
	{ SETTING_EARLY_UNTIL, NUMBER_MOST },
	{ SETTING_BANS, NUMBER_MOST },
	{ SETTING_BANS_OF, NUMBER_MOST },
	{ SETTING_LINES_OF, NUMBER_MOST },
	{ SETTING_FILTER_BITS, BITS_USUAL },
	{ SETTING_SERVER_USER, UINT32_MAX - 1 },
	{ SETTING_DETECT, 1 },
	{ SETTING_NETWORKS, NETWORKS_MOST },
	{ SETTING_LEARN_FROM, NUMBER_MOST },
	{ SETTING_LEARN_UNTIL, NUMBER_MOST },
	{ SETTING_DETECT_PPS, LIMIT_PPS_MOST },
	{ SETTING_DETECT_SUSPECTS, LIMIT_SUSPECTS_MOST },
#define RATE(class, name, rate)                                                       \
	{ "limit_" name, LIMIT_BYTES_MOST }, { "limit_" name "_burst", NUMBER_MOST }, \
		{ "limit_" name "_then", THENS - 1 },
	LIMIT_CLASSES(RATE)
#define STEP(step)                                \
	{                                         \
		SETTING_LADDER #step, LADDER_MOST \
	}
		STEP(1),
	STEP(2),
	STEP(3),
	STEP(4),
	STEP(5),
	STEP(6),
	STEP(7),
	STEP(8),
};

static bool is_rate_too_small(const char *name, double value)
{
	for (enum packet_class class = 0; class < LIMITED; class ++) {
		char rate[SETTING_NAME_MAX];

		limit_setting(rate, class, "");
		if (!strcmp(name, rate) && value > 0 && value < LIMIT_RATE_LEAST(class))
			return true;
	}
	return false;
}

#define LIMITS (sizeof(limits) / sizeof(limits[0]))

bool state_setting_value_is_sound(const char *name, sqlite3_stmt *stmt, int column)
{
	int type = sqlite3_column_type(stmt, column);
	double value = sqlite3_column_double(stmt, column);

	if (!strncmp(name, SETTING_TRUSTED, strlen(SETTING_TRUSTED)) && !(value >= 1 && value <= TRUST_TIMES_MOST))
		return false;
	if (!strncmp(name, SETTING_LEFT, strlen(SETTING_LEFT)) && !(value > 0 && value <= NUMBER_MOST))
		return false;
	if (!strncmp(name, SETTING_LINE, strlen(SETTING_LINE)) && !(value > 0 && value <= LINE_NS_MOST))
		return false;
	if (!state_limit_on_is_sound(name, value) || is_rate_too_small(name, value))
		return false;
	for (size_t i = 0; i < LIMITS; i++)
		if (!strcmp(name, limits[i].name) && !(value >= 0 && value <= limits[i].most))
			return false;
	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

bool state_setting_is_sound(sqlite3_stmt *stmt)
{
	struct row row = { .stmt = stmt };
	char name[SETTING_ROW_MAX];

	row_text(&row, 0, name, sizeof(name));
	return !row.err && state_grant_is_sound(name) && state_server_is_sound(name) && state_proven_is_sound(name) &&
	       state_setting_value_is_sound(name, stmt, 1);
}

double state_setting(struct state *state, const char *name, double fallback)
{
	sqlite3_stmt *stmt = state_cached(state, CACHED_SETTING, "SELECT value FROM setting WHERE name = ?");
	int code = SQLITE_DONE;

	if (stmt) {
		state_bind_text(stmt, 1, name);
		code = sqlite3_step(stmt);
	}
	if (code == SQLITE_ROW && state_setting_value_is_sound(name, stmt, 0))
		fallback = sqlite3_column_double(stmt, 0);
	else if (code == SQLITE_ROW)
		state->broken = because(-EUCLEAN, "%s: setting '%s' is damaged; see 'xdp-bloom state recover'",
					state->directory, name);
	else if (code != SQLITE_DONE || (!stmt && state->db))
		state->broken = because_sqlite(state, "reading a setting");
	sqlite3_reset(stmt);
	return fallback;
}

int state_settings_fault(const struct state *state)
{
	return state->broken;
}

bool state_setting_damaged(struct state *state, char name[SETTING_ROW_MAX])
{
	sqlite3_stmt *stmt = state_prepare(state, "SELECT name, value FROM setting");
	struct row row = { .stmt = stmt };
	bool damaged = false;
	int code = SQLITE_DONE;

	while (stmt && !damaged && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		damaged = !state_setting_is_sound(stmt);
		if (damaged)
			row_text(&row, 0, name, SETTING_ROW_MAX);
	}
	state_end(state, stmt, damaged ? SQLITE_DONE : code);
	return damaged;
}

int state_set(struct state *state, const char *name, double value)
{
	return state_put(state, "INSERT OR REPLACE INTO setting VALUES (?, ?)", "sf", name, value);
}

struct settings settings_read(struct state *state)
{
	return (struct settings){
#define READ(type, name, option, kind, least, most, value, help) .name = (type)state_setting(state, #name, value),
		SETTINGS(READ)
	};
}

struct settings settings_limited(struct state *state)
{
	struct settings settings = settings_read(state);

	if (!settings.memory_max)
		settings.memory_max = memory_available() / 2;
	return settings;
}
