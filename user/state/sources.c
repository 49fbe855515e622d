// SPDX-License-Identifier: GPL-2.0-only
/* The files that lists came from. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "state/internal.h"
#include "state/sources.h"

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
	return err_is(row.err, ENOMEM)
		       ? row.err
		       : because(-EUCLEAN, "%s: where list '%s' came from is damaged; see 'xdp-bloom state recover'",
				 s->directory, source->list);
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

int state_sources(struct state *state, struct source **sources, size_t *n)
{
	*sources = NULL;
	*n = 0;
	if (!state->db || state->version < 3) /* no version before kept them */
		return 0;
	return state_rows(state,
			  state_prepare(state, "SELECT name, path, stamp, options FROM source JOIN list"
					       " ON list.id = source.list WHERE name NOT LIKE '% %' ORDER BY list.id"),
			  read_source, sizeof(**sources), sources, n);
}

bool source_is_loaded(const struct context *context, const struct source *source)
{
	struct source *sources = NULL;
	struct state *state = NULL;
	struct list_info list;
	bool found = false;
	size_t n = 0;

	/* One whose entry is damaged is not loaded: whoever loads it is told. */
	if (!state_open(&state, context, false) && !state_list_get(state, source->list, &list) &&
	    !state_sources(state, &sources, &n))
		for (size_t i = 0; i < n && !found; i++)
			found = !strcmp(sources[i].list, source->list) && !strcmp(sources[i].path, source->path) &&
				!strcmp(sources[i].stamp, source->stamp) &&
				!strcmp(sources[i].options, source->options);
	free(sources);
	state_close(state);
	return found;
}
