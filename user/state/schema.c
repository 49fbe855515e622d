// SPDX-License-Identifier: GPL-2.0-only
/* The tables, and how those of an older version are brought up. */
#include "state/internal.h"

#include <errno.h>
#include <string.h>

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
/* And those whose leaving packets are asked about. */
static const char schema_leaving[] = "CREATE TABLE leaving (name TEXT PRIMARY KEY, match INTEGER NOT NULL);";

/* Those that have ports which are filtered, and these ports: ports.c. */
static const char schema_ports[] =
	"CREATE TABLE ports (name TEXT NOT NULL, leaves INTEGER NOT NULL, mode TEXT NOT NULL, shared INTEGER NOT NULL,"
	"  match INTEGER NOT NULL, PRIMARY KEY (name, leaves));"
	"CREATE TABLE port (name TEXT NOT NULL, leaves INTEGER NOT NULL, of TEXT NOT NULL,"
	"  PRIMARY KEY (name, leaves));";

/* What members said before an image that waits: it comes back with ban_before. */
static const char schema_said_before[] =
	"CREATE TABLE said_before (family INTEGER NOT NULL, length INTEGER NOT NULL, first BLOB NOT NULL,"
	"  member INTEGER NOT NULL, added INTEGER NOT NULL, expires INTEGER, reason TEXT NOT NULL, due INTEGER,"
	"  PRIMARY KEY (family, length, first, member)) WITHOUT ROWID;";

/* This machine's own bans behind an agent's: behind.c. */
static const char schema_behind[] =
	"CREATE TABLE behind (family INTEGER NOT NULL, length INTEGER NOT NULL, first BLOB NOT NULL,"
	"  waits INTEGER NOT NULL, added INTEGER NOT NULL, expires INTEGER, reason TEXT NOT NULL, due INTEGER,"
	"  PRIMARY KEY (family, length, first, waits)) WITHOUT ROWID;"
	"CREATE INDEX behind_due ON behind (due) WHERE expires NOT NULL;";

/* From which version to the next. */
static const char *const upgrades[] = {
	[1] = schema_bans,     [2] = schema_sources,  [3] = schema_packed, [4] = schema_sums,
	[5] = schema_due,      [6] = schema_accepted, [7] = schema_ends,   [8] = schema_strikes,
	[9] = schema_chosen,   [10] = schema_feeds,   [11] = schema_fleet, [12] = schema_scopes,
	[13] = schema_matched, [14] = schema_leaving, [15] = schema_ports, [16] = schema_said_before,
	[17] = schema_behind
};

/*
 * What came later is only more: versions of ours that know nothing of it can go on with the file, so it does not say
 * that it is newer. One that others cannot go on with says 6.
 */
#define VERSION_WRITTEN 5
#define STATE_VERSION	((int)(sizeof(upgrades) / sizeof(upgrades[0])))

/* What each version brought, by which it is known: a table, or a column of one that was there. */
static const struct sign {
	const char *table, *column;
} signs[] = {
	[2] = { "ban", NULL },
	[3] = { "source", NULL },
	[5] = { "chunk", "sum" },
	[VERSION_DUE] = { "pending", "boot" },
	[VERSION_ACCEPTED] = { "accepted", NULL },
	[VERSION_ENDS] = { "ban", "due" },
	[VERSION_STRIKES] = { "strike", NULL },
	[VERSION_CHOSEN] = { "chosen", NULL },
	[VERSION_FEEDS] = { "feed", NULL },
	[VERSION_FLEET] = { "said", NULL },
	[VERSION_SCOPES] = { "scope", NULL },
	[VERSION_MATCHED] = { "matched", NULL },
	[VERSION_LEAVING] = { "leaving", NULL },
	[VERSION_PORTS] = { "ports", NULL },
	[VERSION_SAID_BEFORE] = { "said_before", NULL },
	[VERSION_BEHIND] = { "behind", NULL },
};
_Static_assert(sizeof(signs) / sizeof(signs[0]) == sizeof(upgrades) / sizeof(upgrades[0]) + 1, "one without a sign");

/* What is in the file. */
struct found {
	int version, application, tables;
	bool foreign, joined;
	bool sign[sizeof(signs) / sizeof(signs[0])];
};

/* In the transaction of the command that is about to change something. */
static int bring_up(struct state *s)
{
	int err = 0;

	while (s->change && s->version < STATE_VERSION && !err)
		err = state_run(s, upgrades[s->version++]);
	return err;
}

static bool is_text(sqlite3_stmt *stmt, int column, const char *wanted)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text && !strcmp(text, wanted);
}

static void find_sign(struct found *f, sqlite3_stmt *row)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (signs[i].table && is_text(row, 1, signs[i].table))
			f->sign[i] |= !signs[i].column || is_text(row, 3, signs[i].column);
}

/* A row for each index, and for each column of each table. Ours has nothing else, and nothing that is computed. */
static int find_all(struct state *s, struct found *f)
{
	sqlite3_stmt *stmt = state_prepare(s, "SELECT (SELECT user_version FROM pragma_user_version),"
					      " (SELECT application_id FROM pragma_application_id)");
	int code = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;

	if (code == SQLITE_ROW) {
		f->version = sqlite3_column_int(stmt, 0);
		f->application = sqlite3_column_int(stmt, 1);
	}
	sqlite3_finalize(stmt);
	stmt = code == SQLITE_ROW ? state_prepare(s, "SELECT m.type, m.name, m.rootpage, x.name, x.hidden FROM"
						     " sqlite_master m LEFT JOIN pragma_table_xinfo(m.name) x"
						     " ON m.type = 'table'")
				  : NULL;
	while (stmt && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		bool table = is_text(stmt, 0, "table");

		f->tables++;
		f->foreign |= (!table && !is_text(stmt, 0, "index")) || sqlite3_column_int(stmt, 2) < 2 ||
			      sqlite3_column_int(stmt, 4);
		f->joined |= table && is_text(stmt, 1, "fleet");
		if (table)
			find_sign(f, stmt);
	}
	sqlite3_finalize(stmt);
	return stmt && code == SQLITE_DONE && f->version >= 0 ? 0 : because_sqlite(s, "opening");
}

/* Up to the last one, each version has brought what it brings: otherwise what a list is may be gone. */
static int version_of(struct state *s, const struct found *f)
{
	int last = STATE_VERSION;

	while (last > VERSION_WRITTEN && !f->sign[last])
		last--;
	s->version = f->version < VERSION_WRITTEN ? f->version : last;
	for (int i = 1; i <= STATE_VERSION; i++)
		if (!s->version || (signs[i].table && f->sign[i] != (i <= s->version)))
			return because(-EUCLEAN,
				       "%s: the state file is damaged (its tables are not those of version %d);"
				       " see 'xdp-bloom state recover'",
				       s->directory, f->version);
	return 0;
}

int state_check_version(struct state *s)
{
	struct found f = { 0 };
	int err = find_all(s, &f);

	if (err)
		return err;
	s->joined = f.joined;
	if (!f.tables && !f.version) {
		s->version = 1;
		if (s->change)
			return state_run(s, schema) ?: bring_up(s);
		sqlite3_close(s->db); /* nothing was ever kept there */
		s->db = NULL;
		return 0;
	}
	if (f.application != STATE_APPLICATION || f.foreign)
		return because(-EINVAL, "%s/state.db is not a state file of xdp-bloom", s->directory);
	if (f.version > VERSION_WRITTEN)
		return because(-EINVAL,
			       "%s: the state is of a newer xdp-bloom (version %d; this one"
			       " knows up to %d): use that one, or move state.db away and load the lists again",
			       s->directory, f.version, VERSION_WRITTEN);
	return version_of(s, &f) ?: bring_up(s);
}
