// SPDX-License-Identifier: GPL-2.0-only
/* The files that lists came from. */
#include <stdlib.h>
#include <string.h>

#include "state/sources.h"
#include "state/internal.h"

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
	struct source *source = entry;

	(void)s;
	state_column_text(source->list, sizeof(source->list), stmt, 0);
	state_column_text(source->path, sizeof(source->path), stmt, 1);
	state_column_text(source->stamp, sizeof(source->stamp), stmt, 2);
	state_column_text(source->options, sizeof(source->options), stmt, 3);
	return 0;
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
	bool found = false;
	size_t n = 0;

	if (!state_open(&state, context, false) && !state_sources(state, &sources, &n))
		for (size_t i = 0; i < n && !found; i++)
			found = !strcmp(sources[i].list, source->list) && !strcmp(sources[i].path, source->path) &&
				!strcmp(sources[i].stamp, source->stamp) &&
				!strcmp(sources[i].options, source->options);
	free(sources);
	state_close(state);
	return found;
}
