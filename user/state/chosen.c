// SPDX-License-Identifier: GPL-2.0-only
/* Of lists that hold some rows of a table: which. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "state/internal.h"

int state_read_chosen(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct list_info *list = entry;
	struct where *where = malloc(sizeof(*where));

	if (!where)
		return -ENOMEM;
	list->row = sqlite3_column_int64(stmt, 0);
	row_text(&row, 1, list->where, sizeof(list->where));
	if (!row.err && where_compile(where, list->where))
		row.err = -EUCLEAN;
	free(where);
	return err_is(row.err, ENOMEM) || !row.err
		       ? row.err
		       : because(-EUCLEAN, "%s: which rows a list has is damaged", s->directory);
}

/* What is damaged is said of its list. */
static int read_any(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct list_info *list = entry;
	int err = state_read_chosen(s, stmt, entry);

	list->damaged = err_is(err, EUCLEAN);
	if (list->damaged)
		list->where[0] = '\0';
	return list->damaged ? 0 : err;
}

int state_chosen_add(struct state *state, struct list_info *lists, size_t n)
{
	struct list_info *chosen = NULL;
	size_t chosen_n = 0;
	int err;

	if (!n || state->version < VERSION_CHOSEN)
		return 0;
	err = state_rows(state, state_prepare(state, "SELECT list, rows FROM chosen"), read_any, sizeof(*chosen),
			 &chosen, &chosen_n);
	for (size_t i = 0; i < chosen_n && !err; i++) {
		for (size_t j = 0; j < n; j++) {
			if (lists[j].row != chosen[i].row)
				continue;
			memcpy(lists[j].where, chosen[i].where, sizeof(lists[j].where));
			lists[j].damaged = lists[j].damaged || chosen[i].damaged;
		}
	}
	free(chosen);
	return err;
}

int state_chosen_put(struct state *state, int64_t list, const char *where)
{
	int err = state_put(state, "DELETE FROM chosen WHERE list = ?", "I", (sqlite3_int64)list);

	return err || !*where ? err
			      : state_put(state, "INSERT INTO chosen (list, rows) VALUES (?, ?)", "Is",
					  (sqlite3_int64)list, where);
}
