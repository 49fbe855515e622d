// SPDX-License-Identifier: GPL-2.0-only
/* What waits to be confirmed, and the versions to go back to: rows of the list table named "NAME before". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/label.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "state/bans_internal.h"
#include "state/feeds.h"
#include "state/fleet.h"
#include "state/grants.h"
#include "sets/prefixes.h"

#define BEFORE " || ' before'"

/* How an interface was to be filtered: its mode, whether shared, its match. */
static bool read_interface(const char *text, const char *label, struct interface_info *was)
{
	bool leaves = label_split(label, was->name);
	unsigned int shared, match;
	int end = 0;

	if (!text || sscanf(text, "%7[a-z] %1u %1u%n", was->mode, &shared, &match, &end) != 3 || text[end] ||
	    shared > 1 || match >= MATCHES)
		return false;
	was->shared = shared;
	was->match = leaves ? MATCH_LEAVING(match) : match;
	return true;
}

/* What comes back: a list by its row, a setting by its value, an image by its number, a list's kind, an interface. */
static bool before_is_sound(const struct pending *one, struct row *row)
{
	struct interface_info was = { 0 };
	char text[32];

	if (sqlite3_column_type(row->stmt, 3) == SQLITE_NULL)
		return true;
	switch (one->kind) {
	case PENDING_LIST:
		row_number(row, 3, 1, INT64_MAX);
		return !row->err;
	case PENDING_LIST_KIND:
		row_number(row, 3, LIST_BAN, LIST_SHADOW);
		return !row->err;
	case PENDING_SETTING:
		return state_setting_value_is_sound(one->name, row->stmt, 3);
	case PENDING_IMAGE:
		return state_setting_value_is_sound("image", row->stmt, 3);
	case PENDING_INTERFACE:
		row_text(row, 3, text, sizeof(text));
		return !row->err && read_interface(text, one->name, &was);
	default:
		return false;
	}
}

int state_read_pending(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct pending *one = entry;
	char now[BOOT_ID_MAX], boot[BOOT_ID_MAX] = "";

	one->kind = (enum pending_kind)row_number(&row, 0, PENDING_LIST, PENDING_KINDS - 1);
	row_text(&row, 1, one->name, sizeof(one->name));
	one->deadline = row_time(&row, 2);
	if (sqlite3_column_count(stmt) > 4) {
		one->due = row_number_or_none(&row, 4, 0, INT64_MAX);
		if (sqlite3_column_type(stmt, 5) != SQLITE_NULL)
			row_text(&row, 5, boot, sizeof(boot));
	}
	if (*boot && *clock_boot_id(now)) {
		one->rebooted = strcmp(boot, now) != 0;
		one->undated = one->due && !one->rebooted;
	}
	if (!row.err && *one->name && before_is_sound(one, &row))
		return 0;
	return err_is(row.err, ENOMEM)
		       ? row.err
		       : because(-EUCLEAN, "%s: what waits for confirmation is damaged; see 'xdp-bloom state recover'",
				 s->directory);
}

int state_pending(struct state *state, struct pending **pending, size_t *n)
{
	const char *sql = state->version < VERSION_DUE
				  ? "SELECT kind, name, deadline, before FROM pending ORDER BY deadline"
				  : "SELECT kind, name, deadline, before, due, boot FROM pending ORDER BY deadline";

	return state_rows(state, state_prepare(state, sql), state_read_pending, sizeof(**pending), pending, n);
}

int state_pending_any(struct state *state, enum pending_kind kind)
{
	sqlite3_stmt *stmt = state_cached(state, CACHED_PENDING_ANY, "SELECT 1 FROM pending WHERE kind = ? LIMIT 1");
	int code;

	if (!stmt)
		return state->db ? because_sqlite(state, "reading") : 0;
	sqlite3_bind_int(stmt, 1, (int)kind);
	code = sqlite3_step(stmt);
	sqlite3_reset(stmt);
	return code == SQLITE_ROW ? 1 : code == SQLITE_DONE ? 0 : because_sqlite(state, "reading");
}

int state_pending_has(struct state *state, enum pending_kind kind, const char *name)
{
	int any = state_pending_any(state, kind), code;
	sqlite3_stmt *stmt;

	if (any <= 0)
		return any;
	stmt = state_prepare(state, "SELECT 1 FROM pending WHERE kind = ? AND name = ?");
	if (!stmt)
		return because_sqlite(state, "reading");
	sqlite3_bind_int(stmt, 1, (int)kind);
	state_bind_text(stmt, 2, name);
	code = sqlite3_step(stmt);
	return state_finish(state, stmt, code) ?: code == SQLITE_ROW;
}

int64_t pending_left(const struct pending *pending, int64_t at_least)
{
	int64_t now = time(NULL), boot = clock_boot();

	if (now < at_least)
		now = at_least;
	if (pending->rebooted || (!pending->undated && pending->deadline <= now))
		return 0;
	if (!pending->due)
		return pending->deadline - now < INT32_MAX ? (pending->deadline - now) * 1000000000 : INT64_MAX;
	return pending->due > boot ? pending->due - boot : 0;
}

int state_pending_over(struct state *state)
{
	return state_put(state, "UPDATE pending SET boot = 'another' WHERE kind <> 1", "");
}

static int ban_of(const struct state *s, const char *name, struct prefix *p)
{
	if (prefix_parse(name, strlen(name), &p->first, &p->length))
		return because(-EUCLEAN, "%s: '%s' waits for confirmation, and is no prefix", s->directory, name);
	return 0;
}

/* What the ban was before, if it was one: a key of the table that waits. */
static int keep_ban(struct state *s, const char *name, const char *sql)
{
	struct prefix p;

	return ban_of(s, name, &p) ?: state_ban_statement(s, sql, p.first, p.length);
}

/* And what was behind it. */
static int behind(struct state *s, const char *name, int (*what)(struct state *state, const struct prefix *p))
{
	struct prefix p;
	int err = ban_of(s, name, &p);

	return err ?: what(s, &p);
}

static int bans_before_drop(struct state *s)
{
	return state_put(s, "DELETE FROM ban_before", "") ?: state_said_back_drop(s) ?: state_behind_back_drop(s);
}

/* Those of the fleet hear what has become of it. */
static int undo_ban(struct state *s, const char *name)
{
	struct prefix p;
	int err = ban_of(s, name, &p);

	state_bans_uncounted(s);
	return err ?:
	       state_ban_statement(s, "DELETE FROM ban WHERE family = ? AND length = ? AND first = ?", p.first,
				   p.length) ?:
	       state_ban_statement(s,
				   "INSERT INTO ban SELECT * FROM ban_before"
				   " WHERE family = ? AND length = ? AND first = ?",
				   p.first, p.length) ?:
	       state_behind_ban_back(s, &p) ?:
	       state_said_own_back(s, &p) ?:
	       state_own_changed(s, &p, NULL, false);
}

int state_ban_stays(struct state *s, const struct ban *ban)
{
	char name[PREFIX_TEXT_MAX];
	int waits = state_pending_has(s, PENDING_BAN, prefix_text(name, ban->first, (int)ban->length)), err;
	sqlite3_stmt *stmt;

	if (waits <= 0)
		return waits;
	err = ban->due && !s->same_boot ? state_give_due(s) : 0;
	if (err)
		return err;
	stmt = state_prepare(s, "INSERT INTO ban_before (family, length, first, added, expires, reason, due)"
				" VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (family, length, first) DO UPDATE SET"
				" added = excluded.added, expires = excluded.expires, reason = excluded.reason,"
				" due = excluded.due WHERE " ROW_ENDS_LATER("excluded", "ban_before"));
	err = state_write_ban(s, stmt, ban);
	sqlite3_finalize(stmt);
	return err ?: state_behind_ban_stays(s, ban);
}

/* The ban of that prefix, or what a change of it that waits goes back to: of the two, the one that ends sooner. */
static int ban_at_least(struct state *s, struct addr first, unsigned int length, struct ban *ban)
{
	char name[PREFIX_TEXT_MAX];
	struct ban before;
	sqlite3_stmt *stmt;
	int err = state_ban_get(s, first, length, ban), code;

	if (!err)
		err = state_pending_has(s, PENDING_BAN, prefix_text(name, first, (int)length));
	if (err <= 0)
		return err;
	stmt = state_prepare(s, "SELECT * FROM ban_before WHERE family = ? AND length = ? AND first = ?");
	err = state_bind_prefix(s, stmt, first, length);
	code = err ? SQLITE_DONE : sqlite3_step(stmt);
	err = err ?: code == SQLITE_ROW ? state_read_ban(s, stmt, &before) : -ENOENT;
	if (!err && ban_ends_later(ban, &before))
		*ban = before;
	return state_finish(s, stmt, code) ?: err;
}

int state_ban_held(struct state *s, const struct ban *ban, int64_t now)
{
	int at = -1, family = ban->first.family;

	while (state_has_bans(s) && (at = state_next_length(s, family, at)) >= 0 && (unsigned int)at <= ban->length) {
		struct addr first = { ban->first.num & ~addr_mask(family, (unsigned int)at), family };
		struct ban other;
		int err = ban_at_least(s, first, (unsigned int)at, &other);

		if (err && !err_is(err, ENOENT))
			return err;
		if (!err && ban_in_force(&other, now) &&
		    (!ban_ends_later(ban, &other) || ((unsigned int)at == ban->length && ban_is_detectors(&other))))
			return 1;
	}
	return at == -2 ? because_sqlite(s, "reading") : 0;
}

/* One that is to be filtered already, and is not. */
static int keep_interface(struct state *s, const char *label)
{
	char name[IF_NAMESIZE];
	bool leaves = label_split(label, name);

	if (label_ports(label))
		return 0;
	return state_put(s,
			 leaves ? "UPDATE pending SET before = (SELECT 'tc 0 ' || match FROM leaving WHERE name = ?2)"
				  " WHERE kind = 1 AND name = ?1"
				: "UPDATE pending SET before = (SELECT mode || ' ' || shared || ' ' ||"
				  " coalesce((SELECT match FROM matched WHERE name = ?2), 0) FROM interface"
				  " WHERE name = ?2) WHERE kind = 1 AND name = ?1",
			 "ss", label, name);
}

static int undo_interface(struct state *s, const char *label)
{
	sqlite3_stmt *stmt =
		state_prepare(s, "SELECT before FROM pending WHERE kind = 1 AND name = ? AND before NOT NULL");
	struct interface_info was = { 0 };
	bool there = false;
	int code;

	if (!stmt)
		return because_sqlite(s, "reading");
	state_bind_text(stmt, 1, label);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		there = read_interface((const char *)sqlite3_column_text(stmt, 0), label, &was);
	return state_finish(s, stmt, code) ?: there ? state_interface_put(s, &was) : state_interface_drop(s, label);
}

static int keep_before(struct state *s, const struct pending *pending)
{
	const char *name = pending->name;

	switch (pending->kind) {
	case PENDING_SETTING:
		return state_put(s,
				 "UPDATE pending SET before = (SELECT value FROM setting WHERE name = ?1)"
				 " WHERE kind = 2 AND name = ?1",
				 "s", name);
	case PENDING_LIST_KIND:
		return state_put(
			       s,
			       "UPDATE pending SET before = (SELECT coalesce((SELECT kind FROM scope WHERE list = id), kind)"
			       " FROM list WHERE name = ?1)"
			       " WHERE kind = 5 AND name = ?1",
			       "s", name)
			       ?: state_feed_wait(s, name);
	case PENDING_INTERFACE:
		return keep_interface(s, name);
	case PENDING_BAN:
		return keep_ban(s, name,
				"INSERT OR REPLACE INTO ban_before SELECT * FROM ban"
				" WHERE family = ? AND length = ? AND first = ?")
			       ?: behind(s, name, state_behind_ban_wait);
	case PENDING_IMAGE: /* beside another image bans stay */
		return state_put(s,
				 "UPDATE pending SET before = (SELECT value FROM setting WHERE name = 'image')"
				 " WHERE kind = 4",
				 "")
			       ?: state_put(s,
					    "INSERT INTO ban_before SELECT * FROM ban"
					    " WHERE NOT EXISTS (SELECT 1 FROM setting WHERE name = 'image' AND value)",
					    "")
			       ?: state_said_wait(s)
			       ?: state_behind_wait(s);
	default:
		return 0;
	}
}

static int comes_back(struct state *s, const char *name)
{
	return state_put(s,
			 "UPDATE pending SET before = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
			 " WHERE kind = 0 AND name = ?1",
			 "s", name);
}

int state_before_get(struct state *state, const char *name, struct ranges *set)
{
	char before[LIST_NAME_MAX + sizeof(" before")];

	snprintf(before, sizeof(before), "%s before", name);
	return state_list_set(state, before, set);
}

int state_before_put(struct state *state, const struct list_info *list, const struct ranges *set)
{
	struct list_info was = *list;

	snprintf(was.name, sizeof(was.name), "%.*s before", (int)(sizeof(was.name) - sizeof(" before")), list->name);
	return state_list_put(state, &was, set) ?: comes_back(state, list->name);
}

int state_pending_add(struct state *state, const struct pending *pending)
{
	const char *name = pending->name;
	char boot[BOOT_ID_MAX];
	int err = state_put(state, "INSERT INTO pending (kind, name, deadline, due, boot) VALUES (?, ?, ?, ?, ?)",
			    "isIIs", pending->kind, name, (sqlite3_int64)pending->deadline, (sqlite3_int64)pending->due,
			    clock_boot_id(boot));

	if (err || pending->kind != PENDING_LIST)
		return err ?: keep_before(state, pending);
	/* It may be there before its list is. */
	err = state_feed_wait(state, name);
	if (err)
		return err;
	err = state_change(state,
			   "INSERT INTO list (name, kind, prefixes, addresses, source, loaded, format)"
			   " SELECT name" BEFORE
			   ", kind, prefixes, addresses, source, loaded, format FROM list WHERE name = ?",
			   name);
	if (err)
		return err_is(err, ENOENT) ? 0 : err; /* a new list: to take it back is to drop it */
	return state_put(state,
			 "UPDATE chunk SET list = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1)", "s", name) ?:
	       state_put(state,
			 "INSERT INTO source (list, path, stamp, options)"
			 " SELECT (SELECT id FROM list WHERE name = ?1" BEFORE "), path, stamp, options FROM source"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1)", "s", name) ?:
	       state_put(state,
			 "INSERT INTO accepted SELECT (SELECT id FROM list WHERE name = ?1" BEFORE "),"
			 " hand4, hand6, day4, day6, wide4, wide6, day_at FROM accepted"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1)",
			 "s", name) ?:
	       state_put(state,
			 "INSERT INTO chosen SELECT (SELECT id FROM list WHERE name = ?1" BEFORE "), rows FROM chosen"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1)", "s", name) ?:
	       state_put(state,
			 "INSERT INTO scope SELECT (SELECT id FROM list WHERE name = ?1" BEFORE "), scope, kind FROM scope"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1)", "s", name) ?:
	       state_put(state,
			 "UPDATE pending SET before = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
			 " WHERE kind = 0 AND name = ?1", "s", name);
}

int state_pending_drop(struct state *state, const struct pending *pending)
{
	if (strchr(pending->name, ' '))
		return because_no_list(state, pending->name);
	return state_pending_add(state, pending) ?: state_list_delete(state, pending->name);
}

/*
 * Back to the file of before; of the same file the version of now stays: it was refused and is not loaded again. The
 * time of a signature, which stands in its place, goes back: the next version is judged by that of the one in force.
 */
static int undo_source(struct state *s, const char *name)
{
	return state_put(s,
			 "DELETE FROM source WHERE list = (SELECT id FROM list WHERE name = ?1) AND"
			 " (path = '" SIGNED_PATH "' OR path IS NOT"
			 "  (SELECT path FROM source WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")))",
			 "s", name)
		       ?: state_put(s,
				    "INSERT INTO source (list, path, stamp, options)"
				    " SELECT (SELECT id FROM list WHERE name = ?1), path, stamp, options FROM source"
				    " WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
				    " ON CONFLICT (list) DO UPDATE SET options = excluded.options",
				    "s", name);
}

/* One that was dropped by what goes back. */
static int undo_drop(struct state *s, const char *name)
{
	uint8_t label = 0;
	int64_t id = 0;
	char before[LIST_NAME_MAX + sizeof(" before")];
	enum list_kind kind = LIST_BAN;
	sqlite3_stmt *stmt;
	int code, err = state_list_find(s, name, &id, &label);

	snprintf(before, sizeof(before), "%s before", name);
	err = !err ? -ENOENT : err_is(err, ENOENT) ? state_list_find(s, before, &id, &label) : err;
	if (err)
		return err;
	stmt = state_prepare(
		s, "SELECT coalesce((SELECT kind FROM scope WHERE list = id), kind) FROM list WHERE name = ?");
	if (!stmt)
		return because_sqlite(s, "reading");
	state_bind_text(stmt, 1, before);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		kind = (enum list_kind)sqlite3_column_int(stmt, 0);
	/* Under another name first: a list's kind is set by name. */
	return state_finish(s, stmt, code)
		       ?: state_put(s, "UPDATE list SET name = ? WHERE id = ?", "sI", name, (sqlite3_int64)id)
		       ?: state_list_set_kind(s, name, kind)
		       ?: state_feed_back(s, name);
}

/* The list keeps its id and label: its place, and its counters. */
static int undo_list(struct state *s, const char *name)
{
	static const char before[] = "UPDATE list SET (kind, prefixes, addresses, source, loaded, format) ="
				     " (SELECT kind, prefixes, addresses, source, loaded, format FROM list"
				     "  WHERE name = ?1" BEFORE ")"
				     " WHERE name = ?1 AND EXISTS (SELECT 1 FROM list WHERE name = ?1" BEFORE ")";
	int err = undo_drop(s, name);

	if (!err_is(err, ENOENT))
		return err;
	err = state_change(s, before, name);
	if (err_is(err, ENOENT)) /* there was none before, or the list has been dropped since */
		return state_feed_back(s, name)
			       ?: state_put(
					  s,
					  "DELETE FROM list WHERE name = ?1 AND"
					  " EXISTS (SELECT 1 FROM pending WHERE kind = 0 AND name = ?1 AND before IS NULL)",
					  "s", name);
	return err ?:
	       state_put(s, "DELETE FROM chunk WHERE list = (SELECT id FROM list WHERE name = ?)", "s", name) ?:
	       state_put(s,
			 "UPDATE chunk SET list = (SELECT id FROM list WHERE name = ?1)"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")", "s", name) ?:
	       undo_source(s, name) ?:
	       state_put(s, "DELETE FROM accepted WHERE list = (SELECT id FROM list WHERE name = ?)", "s", name) ?:
	       state_put(s,
			 "UPDATE accepted SET list = (SELECT id FROM list WHERE name = ?1)"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")",
			 "s", name) ?:
	       state_put(s, "DELETE FROM chosen WHERE list = (SELECT id FROM list WHERE name = ?)", "s", name) ?:
	       state_put(s,
			 "UPDATE chosen SET list = (SELECT id FROM list WHERE name = ?1)"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")",
			 "s", name) ?:
	       state_put(s, "DELETE FROM scope WHERE list = (SELECT id FROM list WHERE name = ?)", "s", name) ?:
	       state_put(s,
			 "UPDATE scope SET list = (SELECT id FROM list WHERE name = ?1)"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")",
			 "s", name) ?:
	       state_feed_back(s, name);
}

int state_pending_forget(struct state *s, enum pending_kind kind, const char *name)
{
	int err = state_put(s, "DELETE FROM pending WHERE kind = ? AND name = ?", "is", kind, name)
			  ?: state_grants_undo(s, kind == PENDING_BAN ? name : NULL);

	if (!err && kind == PENDING_BAN)
		err = keep_ban(s, name, "DELETE FROM ban_before WHERE family = ? AND length = ? AND first = ?")
			      ?: behind(s, name, state_behind_ban_forget);
	if (!err && kind == PENDING_IMAGE)
		err = bans_before_drop(s);
	if (!err && (kind == PENDING_LIST || kind == PENDING_LIST_KIND))
		err = state_feed_forget(s, name);
	if (err || kind != PENDING_LIST)
		return err;
	return state_put(s, "DELETE FROM list WHERE name = ?" BEFORE, "s", name);
}

static int undo_image(struct state *s)
{
	state_bans_uncounted(s);
	return state_put(s, "DELETE FROM setting WHERE name = 'image'", "") ?:
	       state_put(s,
			 "INSERT INTO setting SELECT 'image', before FROM pending WHERE kind = 4"
			 " AND before NOT NULL", "") ?:
	       state_said_beside(s) ?:
	       state_behind_back(s) ?:
	       state_said_back(s) ?:
	       /* What was banned since stays; of the same prefix what ends later. */
	       state_put(s,
			 "INSERT INTO ban SELECT * FROM ban_before WHERE true"
			 " ON CONFLICT (family, length, first) DO UPDATE SET added = excluded.added,"
			 " expires = excluded.expires, reason = excluded.reason, due = excluded.due"
			 " WHERE " ROW_ENDS_LATER("excluded", "ban"), "") ?:
	       state_joined(s) ? state_fleet_say_all(s) : 0;
}

static int undo(struct state *s, const struct pending *pending)
{
	const char *name = pending->name;

	switch (pending->kind) {
	case PENDING_LIST:
		return undo_list(s, name);
	case PENDING_INTERFACE:
		return undo_interface(s, name);
	case PENDING_SETTING:
		return state_put(s, "DELETE FROM setting WHERE name = ?", "s", name)
			       ?: state_put(s,
					    "INSERT INTO setting SELECT name, before FROM pending"
					    " WHERE kind = 2 AND name = ? AND before NOT NULL",
					    "s", name);
	case PENDING_LIST_KIND:
		return state_put(s,
				 "UPDATE list SET kind = (SELECT before FROM pending WHERE kind = 5 AND name = ?1)"
				 " WHERE name = ?1 AND EXISTS"
				 " (SELECT 1 FROM pending WHERE kind = 5 AND name = ?1 AND before NOT NULL)",
				 "s", name)
			       ?: state_scope_kind(s, name)
			       ?: state_feed_kind_back(s, name);
	case PENDING_BAN:
		return undo_ban(s, name);
	case PENDING_IMAGE:
	case PENDING_KINDS: /* no row has it */
		break;
	}
	return undo_image(s);
}

int state_pending_undo(struct state *state, const struct pending *pending)
{
	int err = undo(state, pending);

	if (err && !err_is(err, ENOENT))
		return err;
	return state_pending_forget(state, pending->kind, pending->name);
}

/* When it goes back, for the order of those that do: a time of before this start is over. */
static int64_t when(const struct pending *one)
{
	return one->rebooted ? 0 : one->due;
}

/* For these no filter is planned that could not be. */
static bool is_edited(const struct pending *one)
{
	return one->kind == PENDING_INTERFACE || one->kind == PENDING_BAN;
}

/* All of one time, with `at` the time before. -ENOENT: there is none later. */
static int undo_next(struct state *s, const struct pending *waiting, size_t n, int64_t *at, char name[LIST_NAME_MAX])
{
	int64_t next = INT64_MAX;
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_edited(&waiting[i]) || when(&waiting[i]) <= *at || when(&waiting[i]) >= next)
			continue;
		next = when(&waiting[i]);
		snprintf(name, LIST_NAME_MAX, "%s", waiting[i].name);
	}
	*at = next;
	for (size_t i = 0; i < n && !err && next < INT64_MAX; i++)
		if (!is_edited(&waiting[i]) && when(&waiting[i]) == next)
			err = state_pending_undo(s, &waiting[i]);
	return next == INT64_MAX ? -ENOENT : err;
}

int state_pending_undone(struct state *state, int (*judge)(struct state *, void *), void *arg, char name[LIST_NAME_MAX])
{
	const struct state before = *state;
	struct pending *waiting = NULL;
	int64_t at = -1;
	size_t n = 0;
	int err = state_pending(state, &waiting, &n), undo;

	if (err || !n) {
		free(waiting);
		return err;
	}
	err = state_run(state, "SAVEPOINT undone");
	while (!err)
		err = undo_next(state, waiting, n, &at, name) ?: judge(state, arg);
	err = at == INT64_MAX ? 0 : err;
	free(waiting);
	undo = state_run(state, "ROLLBACK TO undone; RELEASE undone");
	/* What was known of the tables is known again. */
	state->bans = before.bans;
	state->said = before.said;
	state->said_back = before.said_back;
	state->stepped_back = before.stepped_back;
	state->out_known = false;
	return err ?: undo;
}

int state_pending_confirm(struct state *state)
{
	return state_grants_confirm(state) ?:
	       /* It is none from now on. */
	       state_put(state, "DELETE FROM port WHERE " PORT_WAITS_FOR_ITSELF, "") ?:
	       state_put(state, "DELETE FROM pending", "") ?:
	       state_put(state, "DELETE FROM list WHERE name LIKE '% before'", "") ?:
	       state_put(state, "DELETE FROM feed WHERE list LIKE '% before'", "") ?:
	       bans_before_drop(state);
}

int state_pending_flush(struct state *state)
{
	return state_put(state, "DELETE FROM pending WHERE kind NOT IN (1, 2)", "") ?:
	       state_put(state, "DELETE FROM list WHERE name LIKE '% before'", "") ?:
	       state_put(state, "DELETE FROM feed WHERE list LIKE '% before'", "") ?:
	       bans_before_drop(state);
}
