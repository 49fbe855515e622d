// SPDX-License-Identifier: GPL-2.0-only
/* Live bans, one row each. The key has the length before the address: one look a length in use finds what covers a
 * prefix. */
#include "state/bans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "state/internal.h"
#include "state/settings.h"

/* For more ranges than that, one pass over all bans is faster. */
#define WITHIN_MAX 256

#define BAN_COLUMNS "family, length, first, added, expires, reason, due"

/* The last date that can be counted in ns, nearly: in the year 2255. */
#define DATE_MOST 9000000000

/* This start of the machine as a number that the table of settings keeps exactly; never 0. */
static double this_boot(void)
{
	char id[BOOT_ID_MAX], digits[BOOT_ID_MAX] = "";
	size_t n = 0;

	clock_boot_id(id);
	for (const char *at = id; *at && n < 13; at++)
		if (*at != '-')
			digits[n++] = *at;
	return (double)(strtoull(digits, NULL, 16) | 1);
}

/* One look at both clocks holds for all that a command does with the state. */
static void look_at_clocks(struct state *s)
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
	s->same_boot = state_setting(s, SETTING_BOOT, 0) == this_boot();
}

static int64_t boot_now(const struct state *s)
{
	return clock_ns(CLOCK_BOOTTIME) + s->boot_offset;
}

/* By the date as it is now. */
static int64_t date_of(const struct state *s, int64_t due)
{
	int64_t date = due / 1000000000 + s->date_offset / 1000000000 +
		       (due % 1000000000 + s->date_offset % 1000000000) / 1000000000;

	return date < 1 ? 1 : date > TIME_MOST ? TIME_MOST : date;
}

/* Version 1 had no such table, and only a change brings a state to this version. */
static bool has_bans(const struct state *s)
{
	return s->db && s->version >= 2;
}

/* Binding copies, and may fail; the statement would then find nothing. */
static int bind_addr(const struct state *s, sqlite3_stmt *stmt, int at, struct addr addr)
{
	unsigned char bytes[16];
	int n = addr.family == 4 ? 4 : 16;

	for (int i = 0; i < n; i++)
		bytes[i] = (unsigned char)(addr.num >> 8 * (n - 1 - i));
	return sqlite3_bind_blob(stmt, at, bytes, n, SQLITE_TRANSIENT) == SQLITE_OK ? 0 : because_sqlite(s, "a ban");
}

static int bind_prefix(const struct state *s, sqlite3_stmt *stmt, struct addr first, unsigned int length)
{
	if (!stmt)
		return because_sqlite(s, "a ban");
	sqlite3_bind_int(stmt, 1, first.family);
	sqlite3_bind_int(stmt, 2, (int)length);
	return bind_addr(s, stmt, 3, first);
}

static void read_due(const struct state *s, struct ban *ban, int64_t due)
{
	if (!due)
		return;
	look_at_clocks((struct state *)s);
	if (!s->same_boot)
		return;
	ban->due = due;
	ban->over = due <= boot_now(s);
	ban->expires = date_of(s, due);
}

int state_read_ban(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	const unsigned char *bytes = sqlite3_column_blob(stmt, 2);
	int n = sqlite3_column_bytes(stmt, 2);
	struct ban *ban = entry;

	memset(ban, 0, sizeof(*ban));
	ban->first.family = (int)row_number(&row, 0, 4, 6);
	ban->length = (unsigned int)row_number(&row, 1, 0, addr_width(ban->first.family == 6 ? 6 : 4));
	ban->added = row_time(&row, 3);
	/* A ban without an end has NULL. */
	if (sqlite3_column_type(stmt, 4) != SQLITE_NULL)
		ban->expires = row_number(&row, 4, 1, TIME_MOST);
	if (ban->expires && sqlite3_column_count(stmt) > 6)
		read_due(s, ban, row_number_or_none(&row, 6, -INT64_MAX, INT64_MAX));
	row_text(&row, 5, ban->reason, sizeof(ban->reason));
	clean_text(ban->reason);
	if (err_is(row.err, ENOMEM))
		return row.err;
	for (int i = 0; i < n && i < 16 && bytes; i++)
		ban->first.num = ban->first.num << 8 | bytes[i];
	if (row.err || ban->first.family == 5 || sqlite3_column_type(stmt, 2) != SQLITE_BLOB ||
	    n != (ban->first.family == 4 ? 4 : 16) || ban->first.num & addr_mask(ban->first.family, ban->length))
		return because(-EUCLEAN, "%s: a ban is damaged; see 'xdp-bloom state recover'", s->directory);
	return 0;
}

int state_ban_get(struct state *state, struct addr first, unsigned int length, struct ban *ban)
{
	sqlite3_stmt *stmt;
	int code, err;

	if (!has_bans(state))
		return -ENOENT;
	stmt = state_cached(state, CACHED_BAN_GET, "SELECT * FROM ban WHERE family = ? AND length = ? AND first = ?");
	err = bind_prefix(state, stmt, first, length);
	if (err)
		return err;
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		err = state_read_ban(state, stmt, ban);
	else
		err = code == SQLITE_DONE ? -ENOENT : because_sqlite(state, "reading");
	sqlite3_reset(stmt);
	return err;
}

static int write_ban(struct state *state, sqlite3_stmt *stmt, const struct ban *ban)
{
	int err = bind_prefix(state, stmt, ban->first, ban->length);

	if (err)
		return err;
	sqlite3_bind_int64(stmt, 4, ban->added);
	sqlite3_bind_null(stmt, 5);
	if (ban->expires)
		sqlite3_bind_int64(stmt, 5, ban->expires);
	state_bind_text(stmt, 6, ban->reason);
	sqlite3_bind_null(stmt, 7);
	if (ban->due)
		sqlite3_bind_int64(stmt, 7, ban->due);
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err;
}

/* Once after each start of the machine, and for what an older version of ours has added. */
static int give_due(struct state *state)
{
	static const char due[] = "UPDATE ban SET due = min(expires, ?1) * 1000000000 - ?2 WHERE expires NOT NULL";
	char sql[sizeof(due) + sizeof(" AND due IS NULL")];
	int err;

	look_at_clocks(state);
	snprintf(sql, sizeof(sql), "%s%s", due, state->same_boot ? " AND due IS NULL" : "");
	err = state_put(state, sql, "II", (sqlite3_int64)DATE_MOST, (sqlite3_int64)state->date_offset);
	if (err || state->same_boot)
		return err;
	state->same_boot = true;
	return state_put(state, "UPDATE ban_before SET due = NULL", "") ?: state_set(state, SETTING_BOOT, this_boot());
}

/* Most bans are new: one statement is enough for them. */
int state_ban_new(struct state *state, const struct ban *ban, bool *added)
{
	int err = ban->due && !state->same_boot ? give_due(state) : 0;

	*added = false;
	err = err
		      ?: write_ban(state,
				   state_cached(state, CACHED_BAN_NEW,
						"INSERT OR IGNORE INTO ban (" BAN_COLUMNS
						") VALUES (?, ?, ?, ?, ?, ?, ?)"),
				   ban);

	*added = !err && sqlite3_changes(state->db);
	return err;
}

int state_ban_put(struct state *state, const struct ban *ban, bool *renewed)
{
	bool added;
	int err = state_ban_new(state, ban, &added);

	*renewed = !err && !added;
	if (err || !*renewed)
		return err;
	return write_ban(state,
			 state_cached(state, CACHED_BAN_PUT,
				      "INSERT OR REPLACE INTO ban (" BAN_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)"),
			 ban);
}

int state_ban_statement(struct state *s, const char *sql, struct addr first, unsigned int length)
{
	sqlite3_stmt *stmt = state_prepare(s, sql);
	int err = bind_prefix(s, stmt, first, length);

	if (err) {
		sqlite3_finalize(stmt);
		return err;
	}
	return state_finish(s, stmt, sqlite3_step(stmt));
}

int state_ban_drop(struct state *state, struct addr first, unsigned int length)
{
	sqlite3_stmt *stmt =
		state_cached(state, CACHED_BAN_DROP, "DELETE FROM ban WHERE family = ? AND length = ? AND first = ?");
	int err = bind_prefix(state, stmt, first, length);

	if (err)
		return err;
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err ?: sqlite3_changes(state->db) ? 0 : -ENOENT;
}

/* The next length that bans of a family have, beyond this one; -1: none, -2: an error. */
static int next_length(struct state *s, int family, int length)
{
	sqlite3_stmt *stmt =
		state_cached(s, CACHED_BAN_LENGTH, "SELECT min(length) FROM ban WHERE family = ? AND length > ?");
	int next = -2;

	if (!stmt)
		return next;
	sqlite3_bind_int(stmt, 1, family);
	sqlite3_bind_int(stmt, 2, length);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		next = sqlite3_column_type(stmt, 0) == SQLITE_NULL ? -1 : sqlite3_column_int(stmt, 0);
	sqlite3_reset(stmt);
	return next;
}

int state_ban_around(struct state *state, struct addr first, unsigned int length, int64_t now, struct ban *ban)
{
	int at = -1;

	while (has_bans(state) && (at = next_length(state, first.family, at)) >= 0 && (unsigned int)at < length) {
		struct addr wider = { first.num & ~addr_mask(first.family, (unsigned int)at), first.family };
		int err = state_ban_get(state, wider, (unsigned int)at, ban);

		if (!err && ban_in_force(ban, now))
			return 0;
		if (err && !err_is(err, ENOENT))
			return err;
	}
	return at == -2 ? because_sqlite(state, "reading") : -ENOENT;
}

int state_bans(struct state *state, struct ban **bans, size_t *n)
{
	*bans = NULL;
	*n = 0;
	if (!has_bans(state))
		return 0;
	return state_rows(state, state_prepare(state, "SELECT * FROM ban ORDER BY family, first, length"),
			  state_read_ban, sizeof(**bans), bans, n);
}

/* What becomes of each row that is in force. */
typedef int each_ban(void *arg, const struct ban *ban);

static int each_row(struct state *state, sqlite3_stmt *stmt, int64_t now, each_ban *each, void *arg)
{
	int code = SQLITE_DONE, err = 0;
	struct ban ban;

	while (!err && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		err = state_read_ban(state, stmt, &ban);
		if (!err && ban_in_force(&ban, now))
			err = each(arg, &ban);
	}
	if (!err && code != SQLITE_DONE)
		err = because_sqlite(state, "reading");
	sqlite3_reset(stmt);
	return err;
}

/* Of each length, the bans that begin between the range's own block and its end. */
static int each_touching(struct state *state, int64_t now, struct addr lo, ip6 hi, bool ending, each_ban *each,
			 void *arg)
{
	int length = -1, err = 0;

	while (!err && (length = next_length(state, lo.family, length)) >= 0) {
		struct addr from = { lo.num & ~addr_mask(lo.family, (unsigned int)length), lo.family };
		sqlite3_stmt *stmt = ending ? state_cached(state, CACHED_BAN_ENDING,
							   "SELECT * FROM ban WHERE family = ?1 AND length = ?2"
							   " AND first BETWEEN ?3 AND ?4 AND expires NOT NULL")
					    : state_cached(state, CACHED_BAN_TOUCHING,
							   "SELECT * FROM ban WHERE family = ?1 AND length = ?2"
							   " AND first BETWEEN ?3 AND ?4");

		err = bind_prefix(state, stmt, from, (unsigned int)length) ?:
		      bind_addr(state, stmt, 4, (struct addr){ hi, lo.family }) ?:
		      each_row(state, stmt, now, each, arg);
	}
	return err || length != -2 ? err : because_sqlite(state, "reading");
}

static int each_within(struct state *state, int64_t now, const struct ranges *within, bool ending, each_ban *each,
		       void *arg)
{
	sqlite3_stmt *stmt;
	int err = 0;

	if (!has_bans(state))
		return 0;
	if (!within || within->n4 + within->n6 > WITHIN_MAX) {
		stmt = ending ? state_cached(state, CACHED_BAN_ENDING_ALL, "SELECT * FROM ban WHERE expires NOT NULL")
			      : state_cached(state, CACHED_BAN_ALL, "SELECT * FROM ban");
		return stmt ? each_row(state, stmt, now, each, arg) : because_sqlite(state, "reading");
	}
	for (size_t i = 0; i < within->n4 && !err; i++)
		err = each_touching(state, now, (struct addr){ within->v4[i].lo, 4 }, within->v4[i].hi, ending, each,
				    arg);
	for (size_t i = 0; i < within->n6 && !err; i++)
		err = each_touching(state, now, (struct addr){ within->v6[i].lo, 6 }, within->v6[i].hi, ending, each,
				    arg);
	return err;
}

struct sets {
	struct ranges *lasting, *ending;
};

static int into_sets(void *arg, const struct ban *ban)
{
	const struct sets *sets = arg;

	return ranges_add_prefix(ban->expires ? sets->ending : sets->lasting, ban->first, ban->length);
}

int state_bans_sets(struct state *state, int64_t now, const struct ranges *within, struct ranges *lasting,
		    struct ranges *ending)
{
	struct sets sets = { lasting, ending };
	int err;

	*lasting = *ending = RANGES_EMPTY;
	err = each_within(state, now, within, false, into_sets, &sets) ?:
	      ranges_finish(lasting) ?:
	      ranges_finish(ending);
	if (err) {
		ranges_free(lasting);
		ranges_free(ending);
	}
	return err;
}

int state_bans_set(struct state *state, int64_t now, const struct ranges *within, struct ranges *set)
{
	struct sets sets = { set, set };
	int err;

	*set = RANGES_EMPTY;
	err = each_within(state, now, within, false, into_sets, &sets) ?: ranges_finish(set);
	if (err)
		ranges_free(set);
	return err;
}

struct ban_array {
	struct ban *at;
	size_t n;
};

static int into_array(void *arg, const struct ban *ban)
{
	struct ban_array *bans = arg;

	if (!GROW(bans->at, bans->n))
		return -ENOMEM;
	bans->at[bans->n++] = *ban;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct ban *x = a, *y = b;

	if (x->first.family != y->first.family)
		return x->first.family < y->first.family ? -1 : 1;
	if (x->first.num != y->first.num)
		return x->first.num < y->first.num ? -1 : 1;
	return x->length < y->length ? -1 : x->length > y->length;
}

int state_bans_ending(struct state *state, int64_t now, const struct ranges *within, struct ban **bans, size_t *n)
{
	struct ban_array all = { 0 };
	int err = each_within(state, now, within, true, into_array, &all);

	if (err) {
		free(all.at);
		all = (struct ban_array){ 0 };
	}
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), by_place);
	*bans = all.at;
	*n = all.n;
	return err;
}

int state_bans_expire(struct state *state, int64_t now, struct ban **bans, size_t *n)
{
	sqlite3_stmt *stmt;
	int64_t boot;
	int err;

	*bans = NULL;
	*n = 0;
	if (!has_bans(state) || !state_bans_ending_n(state))
		return 0;
	err = give_due(state);
	if (err)
		return err;
	boot = now == time(NULL) ? boot_now(state) : now * 1000000000 - state->date_offset;
	stmt = state_prepare(state, "SELECT * FROM ban WHERE expires NOT NULL AND due <= ?");
	if (stmt)
		sqlite3_bind_int64(stmt, 1, boot);
	err = state_rows(state, stmt, state_read_ban, sizeof(**bans), bans, n);
	if (!err && *n)
		err = state_put(state, "DELETE FROM ban WHERE expires NOT NULL AND due <= ?", "I", (sqlite3_int64)boot);
	if (err) {
		free(*bans);
		*bans = NULL;
		*n = 0;
	}
	return err;
}

/* Does the column of that name decide? Not after a reboot, before some command has changed something. */
static bool ends_by_due(struct state *state)
{
	if (!has_bans(state) || state->version < VERSION_ENDS)
		return false;
	look_at_clocks(state);
	return state->same_boot;
}

/* All less those whose time is over: the first is counted by whole pages, the others have an index. */
int state_bans_count(struct state *state, int64_t now, uint64_t *n)
{
	sqlite3_stmt *stmt;
	bool by_due;
	int err;

	*n = 0;
	if (!has_bans(state))
		return 0;
	by_due = ends_by_due(state);
	stmt = state_prepare(state, by_due ? "SELECT (SELECT count(*) FROM ban) -"
					     " (SELECT count(*) FROM ban WHERE expires NOT NULL AND due <= ?)"
					   : "SELECT (SELECT count(*) FROM ban) -"
					     " (SELECT count(*) FROM ban WHERE expires NOT NULL AND expires <= ?)");
	if (!stmt)
		return because_sqlite(state, "reading");
	sqlite3_bind_int64(stmt, 1, by_due ? boot_now(state) : now);
	/* Of each page only the head is looked at: copying all of it would take four times as long. */
	err = state_run(state, "PRAGMA mmap_size = 1073741824");
	err = err ?: sqlite3_step(stmt) == SQLITE_ROW ? 0 : because_sqlite(state, "reading");
	if (!err)
		*n = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	/* A file that is cut short under a mapping would end the process. */
	return state_run(state, "PRAGMA mmap_size = 0") ?: err;
}

/* Rows of those that end are looked at in their order, so that a million of them take no longer than a few. */
int state_bans_first(struct state *state, int64_t now, unsigned int most, struct ban **bans, size_t *n)
{
	static const char *const which[] = { "expires NOT NULL ORDER BY due", "expires NOT NULL ORDER BY expires",
					     "expires IS NULL" };
	struct ban_array first = { 0 };
	char sql[128];
	int err = 0;

	for (int i = ends_by_due(state) ? 0 : 1; i < 3 && !err && has_bans(state) && first.n < most; i = 2 + (i == 2)) {
		sqlite3_stmt *stmt;

		snprintf(sql, sizeof(sql), "SELECT * FROM ban WHERE %s LIMIT %u", which[i],
			 most - (unsigned int)first.n);
		stmt = state_prepare(state, sql);
		err = stmt ? each_row(state, stmt, now, into_array, &first) : because_sqlite(state, "reading");
		sqlite3_finalize(stmt);
	}
	if (err) {
		free(first.at);
		first = (struct ban_array){ 0 };
	}
	*bans = first.at;
	*n = first.n;
	return err;
}

/* The first end, in ns by boot_now() or in seconds by the date; 0: none. */
static int64_t first_end(struct state *state, bool *by_due)
{
	sqlite3_stmt *stmt = NULL;
	int64_t first = 0;

	*by_due = ends_by_due(state);
	/* "NOT NULL" lets SQLite use the index of the bans that end. */
	if (has_bans(state))
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

	return first && by_due ? date_of(state, first) : first;
}

bool state_bans_next_left(struct state *state, int64_t *left)
{
	bool by_due;
	int64_t first = first_end(state, &by_due);

	*left = by_due ? (first < 0 ? 0 : first) - boot_now(state)
		       : ((first < DATE_MOST ? first : DATE_MOST) - time(NULL)) * 1000000000;
	return first;
}

size_t state_bans_ending_n(struct state *state)
{
	sqlite3_stmt *stmt =
		has_bans(state) ? state_prepare(state, "SELECT count(*) FROM ban WHERE expires NOT NULL") : NULL;
	size_t n = stmt && sqlite3_step(stmt) == SQLITE_ROW ? (size_t)sqlite3_column_int64(stmt, 0) : 0;

	sqlite3_finalize(stmt);
	return n;
}

int state_bans_clear(struct state *state)
{
	return has_bans(state) ? state_put(state, "DELETE FROM ban", "") : 0;
}

bool state_bans_any(struct state *state)
{
	return has_bans(state) && (next_length(state, 4, -1) >= 0 || next_length(state, 6, -1) >= 0);
}
