// SPDX-License-Identifier: GPL-2.0-only
#include "state/feeds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "state/internal.h"

#define AFTER_LIST                                                                                                      \
	"url, options, headers, key, insecure, lan, every, max_age, becomes, etag, modified, dated, signed_at, tried, " \
	"good, good_up, boot, next, failures, refused, changed, aged, result"
#define COLUMNS "list, " AFTER_LIST
#define ENTRY	COLUMNS ", EXISTS (SELECT 1 FROM list WHERE name = feed.list)"

/* Of a list, or of its version that waits beside it. */
static bool is_name(const char *name)
{
	size_t n = strspn(name, LIST_NAME_BYTES);

	return n && (!name[n] || !strcmp(name + n, " before"));
}

int state_read_feed(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct feed *f = entry;

	row_text(&row, 0, f->list, sizeof(f->list));
	row_text(&row, 1, f->url, sizeof(f->url));
	row_text(&row, 2, f->options, sizeof(f->options));
	row_text(&row, 3, f->headers, sizeof(f->headers));
	row_text(&row, 4, f->key, sizeof(f->key));
	f->insecure = row_number(&row, 5, 0, 1);
	f->lan = row_number(&row, 6, 0, 1);
	f->every = row_number(&row, 7, FEED_EVERY_LEAST, FEED_EVERY_MOST);
	f->max_age = row_number(&row, 8, 0, TIME_MOST);
	f->then = (enum feed_then)row_number(&row, 9, FEED_KEEP, FEED_DROP);
	row_text(&row, 10, f->etag, sizeof(f->etag));
	row_text(&row, 11, f->modified, sizeof(f->modified));
	f->dated = row_time(&row, 12);
	f->signed_at = row_time(&row, 13);
	f->tried = row_time(&row, 14);
	f->good = row_time(&row, 15);
	f->good_up = row_number(&row, 16, -TIME_MOST, TIME_MOST);
	f->boot = row_number(&row, 17, 0, INT64_MAX);
	f->next = row_time(&row, 18);
	f->failures = row_number(&row, 19, 0, INT32_MAX);
	f->refused = row_number(&row, 20, INT64_MIN, INT64_MAX);
	f->changed = row_time(&row, 21);
	f->aged = row_time(&row, 22);
	row_text(&row, 23, f->result, sizeof(f->result));
	f->there = sqlite3_column_count(stmt) > 24 && sqlite3_column_int(stmt, 24);
	if (!row.err && is_name(f->list) && !fetch_url_fault(f->url, true) && (!*f->headers || *f->headers == '/'))
		return 0;
	return err_is(row.err, ENOMEM)
		       ? row.err
		       : because(-EUCLEAN, "%s: which lists are fetched is damaged; see 'xdp-bloom state recover'",
				 s->directory);
}

#define ALL "SELECT " ENTRY " FROM feed WHERE ifnull(list, '') NOT LIKE '% before' ORDER BY list"

int state_feeds_each(struct state *state, int (*look)(void *arg, const struct feed *feed), void *arg)
{
	struct feed *row;
	sqlite3_stmt *stmt;
	int code = SQLITE_DONE, err = 0;

	if (!state->db || state->version < VERSION_FEEDS)
		return 0;
	row = malloc(sizeof(*row));
	if (!row)
		return -ENOMEM;
	stmt = state_prepare(state, ALL);
	while (stmt && !err && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		memset(row, 0, sizeof(*row));
		err = state_read_feed(state, stmt, row) ?: look(arg, row);
	}
	free(row);
	if (!err)
		return state_end(state, stmt, code);
	sqlite3_finalize(stmt);
	return err;
}

int state_feeds(struct state *state, struct feed **feeds, size_t *n)
{
	*feeds = NULL;
	*n = 0;
	if (!state->db || state->version < VERSION_FEEDS)
		return 0;
	return state_rows(state, state_prepare(state, ALL), state_read_feed, sizeof(**feeds), feeds, n);
}

int state_feeds_check(struct state *state)
{
	struct feed *feeds = NULL;
	size_t n;
	int err = 0;

	if (state->db && state->version >= VERSION_FEEDS)
		err = state_rows(state, state_prepare(state, "SELECT " COLUMNS " FROM feed"), state_read_feed,
				 sizeof(*feeds), &feeds, &n);
	free(feeds);
	return err;
}

int state_feed_get(struct state *state, const char *list, struct feed *feed)
{
	sqlite3_stmt *stmt;
	int code, err = 0;

	*feed = (struct feed){ 0 };
	if (!state->db || state->version < VERSION_FEEDS || strchr(list, ' '))
		return -ENOENT;
	stmt = state_prepare(state, "SELECT " ENTRY " FROM feed WHERE list = ?");
	if (!stmt)
		return because_sqlite(state, "reading");
	state_bind_text(stmt, 1, list);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		err = state_read_feed(state, stmt, feed);
	if (!err)
		return state_finish(state, stmt, code) ?: code == SQLITE_ROW ? 0 : -ENOENT;
	sqlite3_finalize(stmt);
	return err;
}

int state_feed_put(struct state *state, const struct feed *f)
{
	int err = f->servers_n ? state_feed_servers_put(state, f->list, f->servers, f->servers_n) : 0;

	if (err)
		return err;
	return state_put(state,
			 "INSERT OR REPLACE INTO feed (" COLUMNS ") VALUES"
			 " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			 "sssssiiIIissIIIIIIIIIIIs", f->list, f->url, f->options, f->headers, f->key, (int)f->insecure,
			 (int)f->lan, (sqlite3_int64)f->every, (sqlite3_int64)f->max_age, (int)f->then, f->etag,
			 f->modified, (sqlite3_int64)f->dated, (sqlite3_int64)f->signed_at, (sqlite3_int64)f->tried,
			 (sqlite3_int64)f->good, (sqlite3_int64)f->good_up, (sqlite3_int64)f->boot,
			 (sqlite3_int64)f->next, (sqlite3_int64)f->failures, (sqlite3_int64)f->refused,
			 (sqlite3_int64)f->changed, (sqlite3_int64)f->aged, f->result);
}

int state_feed_drop(struct state *state, const char *list)
{
	return state_feed_servers_put(state, list, NULL, 0)
		       ?: state_put(state, "DELETE FROM feed WHERE list = ?", "s", list);
}

/* What a version that could not be recovered has left there is nobody's. */
int state_feed_wait(struct state *state, const char *list)
{
	return state_feed_forget(state, list)
		       ?: state_put(state,
				    "INSERT INTO feed SELECT ?1 || ' before', " AFTER_LIST " FROM feed WHERE list = ?1",
				    "s", list);
}

/*
 * All of it as it was before, of the version that is in force again; but of the same server it stays known which
 * version was refused, and when it is asked next, so that this is not taken again at once. One whose age ended it is
 * asked at once, as what comes back is no younger.
 */
int state_feed_back(struct state *state, const char *list)
{
	return state_put(state,
			 "UPDATE feed SET (etag, modified, refused, tried, next) ="
			 " (SELECT etag, modified, refused, tried,"
			 "  min(next, tried + CASE WHEN aged AND NOT feed.aged THEN 0 ELSE feed.every END) FROM feed AS trial"
			 "  WHERE trial.list = ?1)"
			 " WHERE list = ?1 || ' before' AND url = (SELECT url FROM feed WHERE list = ?1)",
			 "s", list)
		       ?: state_feed_drop(state, list)
		       ?: state_put(state, "UPDATE feed SET list = ?1 WHERE list = ?1 || ' before'", "s", list);
}

/* Whether it only counts for its age, as it was before. What its age has dropped stays so. */
int state_feed_kind_back(struct state *state, const char *list)
{
	return state_put(state,
			 "UPDATE feed SET aged = coalesce((SELECT aged FROM feed WHERE list = ?1 || ' before'), aged)"
			 " WHERE list = ?1 AND EXISTS (SELECT 1 FROM list WHERE name = ?1 AND prefixes)",
			 "s", list);
}

int state_feed_forget(struct state *state, const char *list)
{
	return state_put(state, "DELETE FROM feed WHERE list = ? || ' before'", "s", list)
		       ?: state_feed_servers_forget(state, list);
}

int64_t feed_left(const struct feed *f, int64_t now)
{
	int64_t planned = f->next - f->tried, left = f->next - now;

	if (!f->tried || left <= 0)
		return 0;
	return left < planned ? left : planned;
}

int64_t feed_age(const struct feed *f, int64_t now)
{
	int64_t age = now - f->good, boot = clock_boot_number();

	if (!f->good)
		return -1;
	if (boot == f->boot && boot != BOOT_UNKNOWN)
		age = clock_boot() / 1000000000 - f->good_up;
	return age > 0 ? age : 0;
}

int feed_is_old(const struct feed *f, int64_t now)
{
	return f->max_age && f->good && feed_age(f, now) >= f->max_age;
}
