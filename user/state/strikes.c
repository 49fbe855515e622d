// SPDX-License-Identifier: GPL-2.0-only
#include "state/strikes.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "filter/ladder.h"
#include "state/bans_internal.h"

static bool has_strikes(const struct state *s)
{
	return s->db && s->version >= VERSION_STRIKES;
}

int state_read_strike(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct strike *strike = entry;
	int err;

	*strike = (struct strike){ 0 };
	err = state_read_prefix(&row, &strike->first, &strike->length);
	strike->strikes = (unsigned int)row_number(&row, 3, 0, LADDER_STEPS);
	strike->ended = row_time(&row, 4);
	return err || row.err ? because(-EUCLEAN,
					"%s: how often a source was banned is damaged; see 'xdp-bloom state recover'",
					s->directory)
			      : 0;
}

int state_strike_get(struct state *state, struct addr first, unsigned int length, struct strike *strike)
{
	sqlite3_stmt *stmt;
	int code, err;

	if (!has_strikes(state))
		return -ENOENT;
	stmt = state_cached(state, CACHED_STRIKE_GET,
			    "SELECT * FROM strike WHERE family = ? AND length = ? AND first = ?");
	err = state_bind_prefix(state, stmt, first, length);
	if (err)
		return err;
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		err = state_read_strike(state, stmt, strike);
	else
		err = code == SQLITE_DONE ? -ENOENT : because_sqlite(state, "reading");
	sqlite3_reset(stmt);
	return err;
}

int state_strike_put(struct state *state, const struct strike *strike)
{
	sqlite3_stmt *stmt =
		state_cached(state, CACHED_STRIKE_PUT, "INSERT OR REPLACE INTO strike VALUES (?, ?, ?, ?, ?)");
	int err = state_bind_prefix(state, stmt, strike->first, strike->length);

	if (err)
		return err;
	sqlite3_bind_int(stmt, 4, (int)strike->strikes);
	sqlite3_bind_int64(stmt, 5, strike->ended);
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err;
}

int state_strike_drop(struct state *state, struct addr first, unsigned int length)
{
	sqlite3_stmt *stmt;
	int err;

	if (!has_strikes(state))
		return 0;
	stmt = state_cached(state, CACHED_STRIKE_DROP,
			    "DELETE FROM strike WHERE family = ? AND length = ? AND first = ?");
	err = state_bind_prefix(state, stmt, first, length);
	if (err)
		return err;
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err;
}

int state_strikes_fall(struct state *state, const struct ladder *ladder, int64_t now)
{
	int64_t most = (int64_t)(ladder->seconds[ladder->n - 1] * (1 + LADDER_SPREAD)) + 1;
	int err = state_put(state, "UPDATE strike SET ended = ?1 WHERE ended > ?2", "II", (sqlite3_int64)now,
			    (sqlite3_int64)(now + most));

	for (unsigned int strikes = 0; strikes <= LADDER_STEPS && !err; strikes++)
		err = state_put(state, "DELETE FROM strike WHERE strikes = ?1 AND ended <= ?2", "iI", (int)strikes,
				(sqlite3_int64)(now - (strikes ? ladder_falls(ladder, strikes) : STRIKE_SAID)));
	return err;
}

int state_strikes_bound(struct state *state)
{
	return state_put(state,
			 "DELETE FROM strike WHERE (family, length, first) IN"
			 " (SELECT family, length, first FROM strike ORDER BY ended DESC LIMIT -1 OFFSET ?)",
			 "i", STRIKES_MOST);
}

int state_strikes(struct state *state, struct strike **strikes, size_t *n)
{
	*strikes = NULL;
	*n = 0;
	if (!has_strikes(state))
		return 0;
	return state_rows(state, state_prepare(state, "SELECT * FROM strike ORDER BY family, first, length"),
			  state_read_strike, sizeof(**strikes), strikes, n);
}
