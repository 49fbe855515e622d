// SPDX-License-Identifier: GPL-2.0-only
/* The files that lists came from. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "state/internal.h"
#include "state/sources.h"

static int because_damaged(const struct state *s, const char *list)
{
	return because(-EUCLEAN, "%s: where list '%s' came from is damaged; see 'xdp-bloom state recover'",
		       s->directory, list);
}

int state_source_put(struct state *state, const struct source *source)
{
	int err = state_put(state, "DELETE FROM source WHERE list = (SELECT id FROM list WHERE name = ?)", "s",
			    source->list);

	if (err || !*source->path)
		return err;
	return state_put(
		state,
		"INSERT INTO source (list, path, stamp, options) SELECT id, ?2, ?3, ?4 FROM list WHERE name = ?1",
		"ssss", source->list, source->path, source->stamp, source->options);
}

#define SIGNED_FORMAT "signed %llu"

int state_signed_put(struct state *state, const char *list, uint64_t when)
{
	struct source source = { .path = SIGNED_PATH };

	snprintf(source.list, sizeof(source.list), "%s", list);
	snprintf(source.stamp, sizeof(source.stamp), SIGNED_FORMAT, (unsigned long long)when);
	return state_source_put(state, &source);
}

int state_signed_get(struct state *state, const char *list, uint64_t *when)
{
	char stamp[SOURCE_STAMP_MAX] = "";
	unsigned long long number = 0;
	struct row row = { 0 };
	int code, err = 0;

	*when = 0;
	if (!state->db || state->version < 3)
		return 0;
	row.stmt = state_prepare(state, "SELECT stamp FROM source JOIN list ON list.id = source.list"
					" WHERE name = ? AND path = '" SIGNED_PATH "'");
	if (!row.stmt)
		return because_sqlite(state, "reading");
	state_bind_text(row.stmt, 1, list);
	code = sqlite3_step(row.stmt);
	if (code == SQLITE_ROW) {
		row_text(&row, 0, stamp, sizeof(stamp));
		err = row.err ?: sscanf(stamp, SIGNED_FORMAT, &number) == 1 ? 0 : because_damaged(state, list);
	}
	*when = number;
	if (!err)
		return state_finish(state, row.stmt, code);
	sqlite3_finalize(row.stmt);
	return err;
}

static int read_source(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct source *source = entry;

	row_text(&row, 0, source->list, sizeof(source->list));
	row_text(&row, 1, source->path, sizeof(source->path));
	row_text(&row, 2, source->stamp, sizeof(source->stamp));
	row_text(&row, 3, source->options, sizeof(source->options));
	if (!row.err && *source->path == '/')
		return 0;
	return err_is(row.err, ENOMEM) ? row.err : because_damaged(s, source->list);
}

bool state_source_is_sound(sqlite3_stmt *stmt)
{
	struct row row = { .stmt = stmt };
	struct source source = { 0 };

	row_text(&row, 1, source.path, sizeof(source.path));
	row_text(&row, 2, source.stamp, sizeof(source.stamp));
	row_text(&row, 3, source.options, sizeof(source.options));
	return !row.err && *source.path == '/';
}

/* No version before 3 kept them. */
#define ALL                                                                                \
	"SELECT name, path, stamp, options FROM source JOIN list ON list.id = source.list" \
	" WHERE name NOT LIKE '% %' AND path != '" SIGNED_PATH "'"

int state_sources(struct state *state, struct source **sources, size_t *n)
{
	*sources = NULL;
	*n = 0;
	if (!state->db || state->version < 3)
		return 0;
	return state_rows(state, state_prepare(state, ALL " ORDER BY list.id"), read_source, sizeof(**sources), sources,
			  n);
}

int state_source_get(struct state *state, const char *list, struct source *source)
{
	struct source *found = NULL;
	sqlite3_stmt *stmt;
	size_t n = 0;
	int err;

	*source = (struct source){ 0 };
	if (!state->db || state->version < 3)
		return 0;
	stmt = state_prepare(state, ALL " AND name = ?");
	if (stmt)
		state_bind_text(stmt, 1, list);
	err = state_rows(state, stmt, read_source, sizeof(*found), &found, &n);
	if (n)
		*source = *found;
	free(found);
	return err;
}

bool state_source_is_loaded(struct state *state, const struct source *source)
{
	struct list_info list;
	struct source is;

	/* One whose entry is damaged, or that goes back, is not loaded: whoever loads it is told. */
	return !state_list_get(state, source->list, &list) &&
	       state_pending_has(state, PENDING_LIST, source->list) <= 0 &&
	       !state_source_get(state, source->list, &is) && *is.path && !strcmp(is.path, source->path) &&
	       !strcmp(is.stamp, source->stamp) && !strcmp(is.options, source->options);
}

bool source_is_loaded(const struct context *context, const struct source *source)
{
	struct state *state = NULL;
	bool found = !state_open(&state, context, false) && state_source_is_loaded(state, source);

	state_close(state);
	return found;
}
