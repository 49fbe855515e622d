// SPDX-License-Identifier: GPL-2.0-only
/* What ends when: by the kernel's clock since the machine was started, which setting the date does not move. */
#include "state/bans_internal.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "state/behind.h"
#include "state/settings.h"

/* The last date that can be counted in ns, nearly: in the year 2255. */
#define DATE_MOST 9000000000

void state_look_at_clocks(struct state *s)
{
	int64_t before, date, boot;

	if (s->clock_known)
		return;
	s->clock_known = true;
	s->boot_offset = clock_boot() - clock_ns(CLOCK_BOOTTIME);
	do {
		before = clock_ns(CLOCK_BOOTTIME);
		date = clock_ns(CLOCK_REALTIME);
		boot = clock_ns(CLOCK_BOOTTIME);
	} while (boot - before > 1000000);
	s->date_offset = date - boot - s->boot_offset;
	s->same_boot = state_setting(s, SETTING_BOOT, 0) == (double)clock_boot_number();
}

int64_t state_boot_now(const struct state *s)
{
	return clock_ns(CLOCK_BOOTTIME) + s->boot_offset;
}

int64_t state_date_of(const struct state *s, int64_t due)
{
	int64_t date = due / 1000000000 + s->date_offset / 1000000000 +
		       (due % 1000000000 + s->date_offset % 1000000000) / 1000000000;

	return date < 1 ? 1 : date > TIME_MOST ? TIME_MOST : date;
}

int state_give_due(struct state *state)
{
	static const char due[] = "UPDATE ban SET due = min(expires, ?1) * 1000000000 - ?2 WHERE expires NOT NULL";
	char sql[sizeof(due) + sizeof(" AND due IS NULL")];
	int err;

	state_look_at_clocks(state);
	snprintf(sql, sizeof(sql), "%s%s", due, state->same_boot ? " AND due IS NULL" : "");
	err = state_put(state, sql, "II", (sqlite3_int64)DATE_MOST, (sqlite3_int64)state->date_offset)
		      ?: state_said_give_due(state, DATE_MOST)
		      ?: state_behind_give_due(state, DATE_MOST);
	if (err || state->same_boot)
		return err;
	state->same_boot = true;
	return state_put(state, "UPDATE ban_before SET due = NULL", "")
		       ?: state_put(state, "UPDATE said_before SET due = NULL", "")
		       ?: state_set(state, SETTING_BOOT, (double)clock_boot_number());
}

int state_bans_expire(struct state *state, int64_t now, struct ban **bans, size_t *n)
{
	sqlite3_stmt *stmt;
	int64_t boot;
	int err;

	*bans = NULL;
	*n = 0;
	if (!state_has_bans(state))
		return 0;
	err = state_bans_ending_any(state) ? 1 : state_said_any(state) ?: state_behind_any(state);
	if (err <= 0)
		return err;
	err = state_give_due(state);
	if (err)
		return err;
	boot = now == time(NULL) ? state_boot_now(state) : now * 1000000000 - state->date_offset;
	stmt = state_prepare(state, "SELECT * FROM ban WHERE expires NOT NULL AND due <= ?");
	if (stmt)
		sqlite3_bind_int64(stmt, 1, boot);
	err = state_rows(state, stmt, state_read_ban, sizeof(**bans), bans, n) ?:
	      state_said_expire(state, boot) ?:
	      state_behind_expire(state, boot);
	if (!err && *n)
		err = state_put(state, "DELETE FROM ban WHERE expires NOT NULL AND due <= ?", "I", (sqlite3_int64)boot);
	state_bans_more(state, -(int64_t)*n);
	return err;
}

bool state_ends_by_due(struct state *state)
{
	if (!state_has_bans(state) || state->version < VERSION_ENDS)
		return false;
	state_look_at_clocks(state);
	return state->same_boot;
}

/* The first end, in ns by state_boot_now() or in seconds by the date; 0: none. */
static int64_t first_end(struct state *state, bool *by_due)
{
	sqlite3_stmt *stmt = NULL;
	int64_t first = 0;

	*by_due = state_ends_by_due(state);
	/* "NOT NULL" lets SQLite use the index of the bans that end. */
	if (state_has_bans(state))
		stmt = state_prepare(state, *by_due ? "SELECT min(due) FROM ban WHERE expires NOT NULL"
						    : "SELECT min(expires) FROM ban WHERE expires NOT NULL");
	if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		/* One that is damaged is due at once: the command that would end it says so. */
		first = row_number_or_none(&(struct row){ .stmt = stmt }, 0, *by_due ? -INT64_MAX : 1,
					   *by_due ? INT64_MAX : TIME_MOST);
	sqlite3_finalize(stmt);
	return first;
}

int64_t state_bans_next(struct state *state)
{
	bool by_due;
	int64_t first = first_end(state, &by_due);

	return first && by_due ? state_date_of(state, first) : first;
}

bool state_bans_next_left(struct state *state, int64_t *left)
{
	bool by_due;
	int64_t first = first_end(state, &by_due);

	*left = by_due ? (first < 0 ? 0 : first) - state_boot_now(state)
		       : ((first < DATE_MOST ? first : DATE_MOST) - time(NULL)) * 1000000000;
	return first;
}

static size_t number_of(struct state *state, const char *sql)
{
	sqlite3_stmt *stmt = state_has_bans(state) ? state_prepare(state, sql) : NULL;
	size_t n = stmt && sqlite3_step(stmt) == SQLITE_ROW ? (size_t)sqlite3_column_int64(stmt, 0) : 0;

	sqlite3_finalize(stmt);
	return n;
}

bool state_bans_ending_any(struct state *state)
{
	return number_of(state, "SELECT EXISTS (SELECT 1 FROM ban WHERE expires NOT NULL)");
}

bool state_bans_ending_fit(struct state *state, size_t most)
{
	if (state->bans >= 0 && (size_t)state->bans <= most)
		return true;
	return number_of(state, "SELECT count(*) FROM ban WHERE expires NOT NULL") <= most;
}
