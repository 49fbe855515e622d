// SPDX-License-Identifier: GPL-2.0-only
#include "state/accepted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "state/internal.h"
#include "state/settings.h"

static double amount(struct row *row, int column, double most)
{
	int type = sqlite3_column_type(row->stmt, column);
	double value = sqlite3_column_double(row->stmt, column);

	if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && value >= 0 && value <= most)
		return value;
	row->err = -EUCLEAN;
	return 0;
}

static struct amounts amounts(struct row *row, int column)
{
	return (struct amounts){ amount(row, column, 0x1p32), amount(row, column + 1, 0x1p128) };
}

int state_read_accepted(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct accepted *a = entry;

	a->hand = amounts(&row, 1);
	a->day = amounts(&row, 3);
	a->wide = amounts(&row, 5);
	a->day_at = row_time(&row, 7);
	a->known = !row.err;
	return row.err ? because(-EUCLEAN,
				 "%s: how much of a list was accepted is damaged; see 'xdp-bloom state recover'",
				 s->directory)
		       : 0;
}

/* Rows of the settings, which older versions leave alone. One that they leave behind is of no more than needs are. */
static const char *left_name(char name[SETTING_ROW_MAX], const char *list, int family)
{
	snprintf(name, SETTING_ROW_MAX, SETTING_LEFT "%d %s", family, list);
	return name;
}

static int put_left(struct state *state, const char *list, int family, double n)
{
	char name[SETTING_ROW_MAX];

	if (state_setting(state, left_name(name, list, family), 0) == n)
		return 0;
	return n > 0 ? state_set(state, name, n) : state_put(state, "DELETE FROM setting WHERE name = ?", "s", name);
}

int state_left_put(struct state *state, const char *list, struct amounts left)
{
	return put_left(state, list, 4, left.v4) ?: put_left(state, list, 6, left.v6);
}

int state_accepted_get(struct state *state, const char *list, struct accepted *accepted)
{
	char name[SETTING_ROW_MAX];
	sqlite3_stmt *stmt;
	int code, err = 0;

	*accepted = (struct accepted){ 0 };
	if (!state->db || state->version < VERSION_ACCEPTED)
		return 0;
	stmt = state_prepare(state, "SELECT * FROM accepted WHERE list = (SELECT id FROM list WHERE name = ?)");
	if (!stmt)
		return because_sqlite(state, "reading");
	state_bind_text(stmt, 1, list);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW) {
		err = state_read_accepted(state, stmt, accepted);
		accepted->left.v4 = state_setting(state, left_name(name, list, 4), 0);
		accepted->left.v6 = state_setting(state, left_name(name, list, 6), 0);
	}
	if (!err)
		return state_finish(state, stmt, code);
	sqlite3_finalize(stmt);
	return err;
}

int state_accepted_check(struct state *state)
{
	struct accepted *all = NULL;
	size_t n;
	int err = 0;

	if (state->db && state->version >= VERSION_ACCEPTED)
		err = state_rows(state, state_prepare(state, "SELECT * FROM accepted"), state_read_accepted,
				 sizeof(*all), &all, &n);
	free(all);
	return err;
}

int state_accepted_put(struct state *state, const char *list, const struct accepted *a)
{
	return state_put(state,
			 "INSERT OR REPLACE INTO accepted SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM list"
			 " WHERE name = ?1",
			 "sffffffI", list, a->hand.v4, a->hand.v6, a->day.v4, a->day.v6, a->wide.v4, a->wide.v6,
			 (sqlite3_int64)a->day_at)
		       ?: state_left_put(state, list, a->left);
}
