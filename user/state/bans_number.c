// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many bans there are. To count them, every page of the table has to be touched: a million with ends and reasons
 * take 15 ms. So each commit keeps the number among the settings, with the generation and the edit that it is of: where
 * these have moved on without it, by a version that knows nothing of it, it is counted. A new generation counts, too.
 */
#include "state/bans_internal.h"

#include <math.h>

#include "state/fleet.h"
#include "state/settings.h"

#define NOT_KNOWN  -1
#define EDITS_MOST 0x1p20
#define BUILT_MOST 0x1p32

/* One that is damaged is as good as none: whoever needs it asks for it. */
static double setting(struct state *s, const char *name, double fallback)
{
	int broken = s->broken;
	double value = state_setting(s, name, fallback);

	s->broken = broken;
	return value;
}

/* The generation and the edit as one number. */
static double of_what(struct state *s)
{
	double generation = setting(s, SETTING_GENERATION, 0), edits = setting(s, SETTING_EDITS, 0);

	return generation < BUILT_MOST && edits < EDITS_MOST ? generation * EDITS_MOST + edits : NOT_KNOWN;
}

static bool same_generation(double of, double other)
{
	return floor(of / EDITS_MOST) == floor(other / EDITS_MOST);
}

void state_bans_look(struct state *s)
{
	double n;

	s->bans = NOT_KNOWN;
	s->bans_kept = s->stepped_back = false;
	if (!state_has_bans(s))
		return;
	n = setting(s, SETTING_BANS, NOT_KNOWN);
	s->bans_kept = n >= 0;
	s->bans_of = of_what(s);
	if (s->bans_kept && s->bans_of >= 0 && setting(s, SETTING_BANS_OF, NOT_KNOWN) == s->bans_of)
		s->bans = (int64_t)n;
	s->bans_before = s->bans;
	s->stepped_back =
		s->bans_kept && s->bans == NOT_KNOWN && s->bans_of >= 0 && (state_joined(s) || state_said_any(s) != 0);
}

bool state_stepped_back(const struct state *s)
{
	return s->stepped_back;
}

void state_bans_agree(struct state *s)
{
	s->stepped_back = false;
}

bool state_bans_miscounted(struct state *s, size_t n)
{
	state_bans_look(s);
	return s->bans != NOT_KNOWN && s->bans != (int64_t)n;
}

void state_bans_more(struct state *s, int64_t n)
{
	if (s->bans != NOT_KNOWN)
		s->bans += n;
}

void state_bans_uncounted(struct state *s)
{
	s->bans = NOT_KNOWN;
}

/* The table's, page by page. */
static int count(struct state *s, int64_t *n)
{
	sqlite3_stmt *stmt = state_prepare(s, "SELECT count(*) FROM ban");
	int err;

	if (!stmt)
		return because_sqlite(s, "reading");
	/* Of each page only the head is looked at: copying all of it would take four times as long. */
	err = s->change ? 0 : state_run(s, "PRAGMA mmap_size = 1073741824");
	err = err ?: sqlite3_step(stmt) == SQLITE_ROW ? 0 : because_sqlite(s, "reading");
	if (!err)
		*n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	/* A file that is cut short under a mapping would end the process. */
	return s->change ? err : state_run(s, "PRAGMA mmap_size = 0") ?: err;
}

int state_bans_keep(struct state *s)
{
	double of;
	int err;

	/* It is to be seen still that an older version was here. */
	if (!state_has_bans(s) || s->stepped_back)
		return 0;
	of = of_what(s);
	if (s->bans != NOT_KNOWN && s->bans == s->bans_before && of == s->bans_of)
		return 0;
	err = s->bans == NOT_KNOWN || !same_generation(of, s->bans_of) ? count(s, &s->bans) : 0;
	/* Those of a fleet have to know whether an older version was here. */
	if (err || (!s->bans && !s->bans_kept && !state_joined(s) && state_said_any(s) <= 0))
		return err;
	return state_set(s, SETTING_BANS, (double)s->bans) ?: state_set(s, SETTING_BANS_OF, of < 0 ? 0 : of);
}

/* Those whose time is over have an index. */
static int over(struct state *s, int64_t now, uint64_t *n)
{
	bool by_due = state_ends_by_due(s);
	sqlite3_stmt *stmt =
		state_prepare(s, by_due ? "SELECT count(*) FROM ban WHERE expires NOT NULL AND due <= ?"
					: "SELECT count(*) FROM ban WHERE expires NOT NULL AND expires <= ?");
	int err;

	if (!stmt)
		return because_sqlite(s, "reading");
	sqlite3_bind_int64(stmt, 1, by_due ? state_boot_now(s) : now);
	err = sqlite3_step(stmt) == SQLITE_ROW ? 0 : because_sqlite(s, "reading");
	if (!err)
		*n = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return err;
}

int state_bans_count(struct state *state, int64_t now, uint64_t *n)
{
	uint64_t past = 0;
	int64_t all;
	int err;

	*n = 0;
	if (!state_has_bans(state))
		return 0;
	if (!state->change)
		state_bans_look(state);
	all = state->bans;
	err = all != NOT_KNOWN ? (state_next_length(state, 4, -1) == -2 ? because_sqlite(state, "reading") : 0)
			       : count(state, &all);
	err = err ?: over(state, now, &past);
	if (!err)
		*n = (uint64_t)all > past ? (uint64_t)all - past : 0;
	return err;
}
