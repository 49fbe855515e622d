// SPDX-License-Identifier: GPL-2.0-only
/* The tables, and how those of an older version are brought up. */
#include "state/internal.h"

#include <errno.h>

#include "base/log.h"

#define STATE_APPLICATION 2019846509

static const char schema[] =
	"CREATE TABLE list (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, kind INTEGER NOT NULL,"
	"  label INTEGER UNIQUE, prefixes INTEGER NOT NULL, addresses TEXT NOT NULL, source TEXT NOT NULL,"
	"  loaded TEXT NOT NULL, format TEXT NOT NULL);"
	/* family: what it holds (list_chunks.c) */
	"CREATE TABLE chunk (list INTEGER NOT NULL REFERENCES list (id) ON DELETE CASCADE, family INTEGER NOT NULL,"
	"  part INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (list, family, part));"
	"CREATE TABLE interface (name TEXT PRIMARY KEY, mode TEXT NOT NULL, shared INTEGER NOT NULL);"
	"CREATE TABLE pending (kind INTEGER NOT NULL, name TEXT NOT NULL, deadline INTEGER NOT NULL,"
	"  before INTEGER, PRIMARY KEY (kind, name));"
	"CREATE TABLE setting (name TEXT PRIMARY KEY, value REAL NOT NULL);"
	"PRAGMA application_id = 2019846509;";

/* Each version's own statements, on top of those before. */
static const char schema_bans[] =
	"CREATE TABLE ban (family INTEGER NOT NULL, length INTEGER NOT NULL, first BLOB NOT NULL,"
	"  added INTEGER NOT NULL, expires INTEGER, reason TEXT NOT NULL,"
	"  PRIMARY KEY (family, length, first)) WITHOUT ROWID;"
	"CREATE INDEX ban_expires ON ban (expires) WHERE expires NOT NULL;"
	"PRAGMA user_version = 2;";
static const char schema_sources[] =
	"CREATE TABLE source (list INTEGER PRIMARY KEY REFERENCES list (id) ON DELETE CASCADE, path TEXT NOT NULL,"
	"  stamp TEXT NOT NULL, options TEXT NOT NULL);"
	"PRAGMA user_version = 3;";

/* The tables stay, but a program that knows only version 3 cannot read packed ranges. */
static const char schema_packed[] = "PRAGMA user_version = 4;";

/* SQLite does not notice a changed bit in its file: each piece of a list has a checksum. */
static const char schema_sums[] = "ALTER TABLE chunk ADD COLUMN sum INTEGER; PRAGMA user_version = 5;";

/*
 * What waits to be confirmed has an end that setting the date does not move: `due`, since the start of the machine that
 * `boot` names. And bans can wait, too: ban_before has those that come back.
 */
static const char schema_due[] =
	"ALTER TABLE pending ADD COLUMN due INTEGER;"
	"ALTER TABLE pending ADD COLUMN boot TEXT;"
	"CREATE TABLE ban_before (family INTEGER NOT NULL, length INTEGER NOT NULL, first BLOB NOT NULL,"
	"  added INTEGER NOT NULL, expires INTEGER, reason TEXT NOT NULL,"
	"  PRIMARY KEY (family, length, first)) WITHOUT ROWID;";

static const char schema_accepted[] =
	"CREATE TABLE accepted (list INTEGER PRIMARY KEY REFERENCES list (id) ON DELETE CASCADE,"
	"  hand4 REAL NOT NULL, hand6 REAL NOT NULL, day4 REAL NOT NULL, day6 REAL NOT NULL,"
	"  wide4 REAL NOT NULL, wide6 REAL NOT NULL, day_at INTEGER NOT NULL);";

/* A ban's end by the clock that the kernel asks: since the start of the machine that the setting "boot" names. */
static const char schema_ends[] = "ALTER TABLE ban ADD COLUMN due INTEGER;"
				  "ALTER TABLE ban_before ADD COLUMN due INTEGER;"
				  "CREATE INDEX ban_due ON ban (due) WHERE expires NOT NULL;";

/* How often the detector has banned whom: strikes.c. */
static const char schema_strikes[] =
	"CREATE TABLE strike (family INTEGER NOT NULL, length INTEGER NOT NULL, first BLOB NOT NULL,"
	"  strikes INTEGER NOT NULL, ended INTEGER NOT NULL, PRIMARY KEY (family, length, first)) WITHOUT ROWID;"
	"CREATE INDEX strike_fallen ON strike (strikes, ended);";

/* Of lists that hold some rows of a table: which (sets/where.h). */
static const char schema_chosen[] =
	"CREATE TABLE chosen (list INTEGER PRIMARY KEY REFERENCES list (id) ON DELETE CASCADE, rows TEXT NOT NULL);";

/* Lists that a server keeps fresh: feeds.c. */
static const char schema_feeds[] =
	"CREATE TABLE feed (list TEXT PRIMARY KEY, url TEXT NOT NULL, options TEXT NOT NULL, headers TEXT NOT NULL,"
	"  key TEXT NOT NULL, insecure INTEGER NOT NULL, lan INTEGER NOT NULL, every INTEGER NOT NULL,"
	"  max_age INTEGER NOT NULL, becomes INTEGER NOT NULL, etag TEXT NOT NULL, modified TEXT NOT NULL,"
	"  dated INTEGER NOT NULL, signed_at INTEGER NOT NULL, tried INTEGER NOT NULL, good INTEGER NOT NULL,"
	"  good_up INTEGER NOT NULL, boot INTEGER NOT NULL,"
	"  next INTEGER NOT NULL, failures INTEGER NOT NULL, refused INTEGER NOT NULL,"
	"  changed INTEGER NOT NULL, aged INTEGER NOT NULL, result TEXT NOT NULL);";

/* What each member of a fleet may, and what it says: members.c and said.c. */
static const char schema_fleet[] =
	"CREATE TABLE member (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, rule INTEGER NOT NULL,"
	"  entries INTEGER NOT NULL, ttl INTEGER NOT NULL, wide4 INTEGER NOT NULL, wide6 INTEGER NOT NULL,"
	"  rate REAL NOT NULL, shadow INTEGER NOT NULL, quorum INTEGER NOT NULL, heard INTEGER NOT NULL,"
	"  free_at INTEGER NOT NULL, taken INTEGER NOT NULL, ended INTEGER NOT NULL, refused INTEGER NOT NULL,"
	"  why TEXT NOT NULL);"
	"CREATE TABLE said (family INTEGER NOT NULL, length INTEGER NOT NULL, first BLOB NOT NULL,"
	"  member INTEGER NOT NULL, added INTEGER NOT NULL, expires INTEGER, reason TEXT NOT NULL, due INTEGER,"
	"  PRIMARY KEY (family, length, first, member)) WITHOUT ROWID;"
	"CREATE INDEX said_member ON said (member);"
	"CREATE INDEX said_due ON said (due) WHERE expires NOT NULL;";

/* Lists of which only some packets are dropped: scopes.c. */
static const char schema_scopes[] =
	"CREATE TABLE scope (list INTEGER PRIMARY KEY REFERENCES list (id) ON DELETE CASCADE, scope TEXT NOT NULL,"
	"  kind INTEGER NOT NULL);";
/* Of interfaces where not sources alone are asked about: interfaces.c. */
static const char schema_matched[] = "CREATE TABLE matched (name TEXT PRIMARY KEY, match INTEGER NOT NULL);";

/* From which version to the next. */
static const char *const upgrades[] = {
	[1] = schema_bans,     [2] = schema_sources, [3] = schema_packed,  [4] = schema_sums,	[5] = schema_due,
	[6] = schema_accepted, [7] = schema_ends,    [8] = schema_strikes, [9] = schema_chosen, [10] = schema_feeds,
	[11] = schema_fleet,   [12] = schema_scopes, [13] = schema_matched
};

/*
 * What came later is only more: versions of ours that know nothing of it can go on with the file, so it does not say
 * that it is newer.
 */
#define VERSION_WRITTEN 5
#define STATE_VERSION	((int)(sizeof(upgrades) / sizeof(upgrades[0])))

/* In the transaction of the command that is about to change something. */
static int bring_up(struct state *s)
{
	int err = 0;

	while (s->change && s->version < STATE_VERSION && !err)
		err = state_run(s, upgrades[s->version++]);
	return err;
}

int state_check_version(struct state *s)
{
	/* Ours has tables and indexes of what was put into them, and nothing that is computed. */
	sqlite3_stmt *stmt =
		state_prepare(s, "SELECT (SELECT user_version FROM pragma_user_version),"
				 " (SELECT application_id FROM pragma_application_id),"
				 " (SELECT count(*) FROM sqlite_master),"
				 " (SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')"
				 "  OR rootpage IS NULL OR rootpage < 2) +"
				 " (SELECT count(*) FROM sqlite_master m, pragma_table_xinfo(m.name) x"
				 "  WHERE m.type = 'table' AND x.hidden),"
				 " (SELECT count(*) FROM pragma_table_info('pending') WHERE name = 'boot') +"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'accepted') +"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = 'ban_due') +"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'strike') +"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'chosen') +"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'feed') +"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'said') +"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'scope') +"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'matched'),"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'fleet')");
	int version = -1, application = 0, tables = 0, foreign = 0, more = 0;

	if (!stmt)
		return because_sqlite(s, "opening");
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		version = sqlite3_column_int(stmt, 0);
		application = sqlite3_column_int(stmt, 1);
		tables = sqlite3_column_int(stmt, 2);
		foreign = sqlite3_column_int(stmt, 3);
		more = sqlite3_column_int(stmt, 4);
		s->joined = sqlite3_column_int(stmt, 5);
	}
	sqlite3_finalize(stmt);
	if (version < 0)
		return because_sqlite(s, "opening");
	if (!tables && !version) {
		s->version = 1;
		if (s->change)
			return state_run(s, schema) ?: bring_up(s);
		sqlite3_close(s->db); /* nothing was ever kept there */
		s->db = NULL;
		return 0;
	}
	if (application != STATE_APPLICATION || foreign)
		return because(-EINVAL, "%s/state.db is not a state file of xdp-bloom", s->directory);
	if (version > STATE_VERSION)
		return because(-EINVAL, "%s: the state is of a newer xdp-bloom (version %d)", s->directory, version);
	s->version = version == VERSION_WRITTEN ? version + more : version;
	return bring_up(s);
}
