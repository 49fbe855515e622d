// SPDX-License-Identifier: GPL-2.0-only
/*
 * Of lists that have a scope: which, and of what kind they are. In their own row they are shadow lists, so that
 * versions that know nothing of scopes ban nobody for more than what was asked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "state/internal.h"

int state_read_scope(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct list_info *list = entry;
	struct scope *scope = malloc(sizeof(*scope));

	if (!scope)
		return -ENOMEM;
	list->row = sqlite3_column_int64(stmt, 0);
	row_text(&row, 1, list->scope, sizeof(list->scope));
	list->kind = (enum list_kind)row_number(&row, 2, LIST_BAN, LIST_SHADOW);
	if (!row.err && (list->kind == LIST_ALLOW || !list->scope[0] || scope_parse(scope, list->scope)))
		row.err = -EUCLEAN;
	free(scope);
	return err_is(row.err, ENOMEM) || !row.err
		       ? row.err
		       : because(-EUCLEAN, "%s: the scope of a list is damaged; see 'xdp-bloom state recover'",
				 s->directory);
}

/* What is damaged is said of its list. */
static int read_any(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct list_info *list = entry;
	int err = state_read_scope(s, stmt, entry);

	list->damaged = err_is(err, EUCLEAN);
	return list->damaged ? 0 : err;
}

int state_scopes_add(struct state *state, struct list_info *lists, size_t n)
{
	struct list_info *scoped = NULL;
	size_t scoped_n = 0;
	int err;

	if (!n || state->version < VERSION_SCOPES)
		return 0;
	err = state_rows(state, state_prepare(state, "SELECT list, scope, kind FROM scope"), read_any, sizeof(*scoped),
			 &scoped, &scoped_n);
	for (size_t i = 0; i < scoped_n && !err; i++) {
		for (size_t j = 0; j < n; j++) {
			if (lists[j].row != scoped[i].row)
				continue;
			memcpy(lists[j].scope, scoped[i].scope, sizeof(lists[j].scope));
			lists[j].kind = scoped[i].kind;
			lists[j].damaged = lists[j].damaged || scoped[i].damaged;
		}
	}
	free(scoped);
	return err;
}

int state_scope_put(struct state *state, int64_t list, const struct list_info *is)
{
	int err = state_put(state, "DELETE FROM scope WHERE list = ?", "I", (sqlite3_int64)list);

	if (err || !is->scope[0])
		return err;
	return state_put(state, "INSERT INTO scope (list, scope, kind) VALUES (?, ?, ?)", "Isi", (sqlite3_int64)list,
			 is->scope, is->kind);
}

int state_scope_kind(struct state *state, const char *name)
{
	return state_put(state,
			 "UPDATE scope SET kind = (SELECT kind FROM list WHERE id = list) WHERE list ="
			 " (SELECT id FROM list WHERE name = ?1)",
			 "s", name)
		       ?: state_put(
				  state,
				  "UPDATE list SET kind = 2 WHERE name = ?1 AND EXISTS (SELECT 1 FROM scope WHERE list = id)",
				  "s", name);
}
