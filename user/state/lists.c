// SPDX-License-Identifier: GPL-2.0-only
/* The lists, a row each: what they are. What they hold is in list_chunks.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/log.h"
#include "base/nearest.h"
#include "state/feeds.h"
#include "state/internal.h"
#include "state/settings.h"

#define LABELS_MAX 255

#define LIST_COLUMNS "name, kind, label, prefixes, addresses, source, loaded, format"
#define LIST_ENTRY   LIST_COLUMNS ", id, (SELECT value FROM setting WHERE name = '" SETTING_TRUSTED "' || list.name)"

/*
 * A trust list is kept as a shadow list, with a setting that says how often: so versions that know nothing of it
 * neither ban nor allow anybody for it.
 */
static void read_trust(sqlite3_stmt *stmt, struct list_info *list)
{
	double times;

	if (list->kind != LIST_SHADOW || sqlite3_column_count(stmt) < 10 || sqlite3_column_type(stmt, 9) == SQLITE_NULL)
		return;
	times = sqlite3_column_double(stmt, 9);
	list->damaged = list->damaged || !(times >= 1 && times <= TRUST_TIMES_MOST);
	list->kind = LIST_TRUST;
	list->label = 0;
	list->times = list->damaged ? 1 : (unsigned int)times;
}

/* The kind and the label index arrays, and the texts are shown: damage must be found here. */
static int read_entry(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct list_info *list = entry;

	(void)s;
	row_text(&row, 0, list->name, sizeof(list->name));
	list->kind = (enum list_kind)row_number(&row, 1, LIST_BAN, LIST_SHADOW);
	list->label = (uint8_t)row_number_or_none(&row, 2, 1, LABELS_MAX);
	list->prefixes = (uint64_t)row_number(&row, 3, 0, INT64_MAX);
	row_text(&row, 4, list->addresses, sizeof(list->addresses));
	row_text(&row, 5, list->source, sizeof(list->source));
	row_text(&row, 6, list->loaded, sizeof(list->loaded));
	row_text(&row, 7, list->format, sizeof(list->format));
	list->row = sqlite3_column_int64(stmt, 8);
	list->damaged = row.err || (!list->label && list->kind != LIST_ALLOW) || !*list->name ||
			list->name[strspn(list->name, LIST_NAME_BYTES "()")] || !*list->addresses ||
			list->addresses[strspn(list->addresses, "0123456789")];
	read_trust(stmt, list);
	clean_text(list->name);
	clean_text(list->addresses);
	clean_text(list->source);
	clean_text(list->loaded);
	clean_text(list->format);
	return err_is(row.err, ENOMEM) ? row.err : 0;
}

static int because_entry(const struct state *s, const char *name)
{
	return because(-EUCLEAN, "%s: the entry of list '%s' is damaged; see 'xdp-bloom state recover'", s->directory,
		       name);
}

int state_entries(struct state *state, struct list_info **lists, size_t *n)
{
	/*
	 * No name that a user gives has a blank: those are versions that wait beside their list (pending.c). Such a
	 * name that nothing waits for is damage: the list would vanish without a word.
	 */
	int err = state_rows(
		state,
		state_prepare(state,
			      "SELECT " LIST_ENTRY " FROM list WHERE name NOT LIKE '% before' OR"
			      " NOT EXISTS (SELECT 1 FROM pending WHERE kind = 0 AND before = list.id) ORDER BY id"),
		read_entry, sizeof(**lists), lists, n);

	err = err ?: state_chosen_add(state, *lists, *n) ?: state_scopes_add(state, *lists, *n);
	if (err) {
		free(*lists);
		*lists = NULL;
		*n = 0;
	}
	return err;
}

int state_entries_before(struct state *state, struct list_info **lists, size_t *n)
{
	int err = state_rows(
		state,
		state_prepare(
			state,
			"SELECT substr(name, 1, length(name) - 7), kind, CASE WHEN label IS NULL THEN 255 ELSE 0 END, prefixes, addresses,"
			" source, loaded, format, id FROM list WHERE name LIKE '% before' AND"
			" EXISTS (SELECT 1 FROM pending WHERE kind = 0 AND before = list.id) ORDER BY id"),
		read_entry, sizeof(**lists), lists, n);

	err = err ?: state_scopes_add(state, *lists, *n);
	if (err) {
		free(*lists);
		*lists = NULL;
		*n = 0;
	}
	return err;
}

int state_lists(struct state *state, struct list_info **lists, size_t *n)
{
	int err = state_entries(state, lists, n);

	for (size_t i = 0; i < *n && !err; i++)
		if ((*lists)[i].damaged)
			err = because_entry(state, (*lists)[i].name);
	return err;
}

int because_no_list(struct state *state, const char *name)
{
	struct nearest near = { .word = name };
	struct list_info *lists = NULL;
	size_t n = 0;

	/* Where they cannot be read, there is no help. */
	if (!state_lists(state, &lists, &n))
		for (size_t i = 0; i < n; i++)
			nearest_try(&near, lists[i].name);
	free(lists);
	return because(-ENOENT, "there is no list '%s'%s", name, nearest_text(&near, n ? "; see xdp-bloom lists" : ""));
}

int state_list_get(struct state *state, const char *name, struct list_info *list)
{
	sqlite3_stmt *stmt;
	int code, err = 0, end;

	if (!state->db || strchr(name, ' ')) /* as in state_entries() */
		return because_no_list(state, name);
	stmt = state_prepare(state, "SELECT " LIST_ENTRY " FROM list WHERE name = ?");
	if (!stmt)
		return because_sqlite(state, "reading");
	state_bind_text(stmt, 1, name);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		err = read_entry(state, stmt, memset(list, 0, sizeof(*list)))
			      ?: state_chosen_add(state, list, 1) ?: state_scopes_add(state, list, 1);
	end = state_finish(state, stmt, code);
	if (end || err)
		return end ?: err;
	if (code != SQLITE_ROW)
		return because_no_list(state, name);
	return list->damaged ? because_entry(state, name) : 0;
}

int state_allowed(struct state *state, struct ranges *allowed)
{
	struct list_info *lists;
	size_t n;
	int err = state_lists(state, &lists, &n);

	*allowed = RANGES_EMPTY;
	for (size_t i = 0; i < n && !err; i++) {
		struct ranges one, both;

		if (lists[i].kind != LIST_ALLOW)
			continue;
		err = state_list_whole_set(state, &lists[i], &one) ?: ranges_union(&both, allowed, &one);
		ranges_free(&one);
		if (!err) {
			ranges_free(allowed);
			*allowed = both;
		}
	}
	free(lists);
	if (err)
		ranges_free(allowed);
	return err;
}

int state_list_find(struct state *s, const char *name, int64_t *id, uint8_t *label)
{
	sqlite3_stmt *stmt = state_prepare(s, "SELECT id, label FROM list WHERE name = ?");
	int code;

	if (!stmt)
		return because_sqlite(s, "reading");
	state_bind_text(stmt, 1, name);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW) {
		*id = sqlite3_column_int64(stmt, 0);
		*label = (uint8_t)sqlite3_column_int(stmt, 1);
	}
	return state_finish(s, stmt, code) ?: code == SQLITE_ROW ? 0 : -ENOENT;
}

static int free_label(struct state *s, uint8_t *label)
{
	sqlite3_stmt *stmt = state_prepare(s, "SELECT label FROM list WHERE label NOT NULL ORDER BY label");
	int next = 1, code, err;

	if (!stmt)
		return because_sqlite(s, "reading");
	while ((code = sqlite3_step(stmt)) == SQLITE_ROW && sqlite3_column_int(stmt, 0) == next)
		next++;
	err = state_finish(s, stmt, code);
	if (err)
		return err;
	if (next > LABELS_MAX)
		return because(-ENOSPC, "there are %d lists already, and no room for more", LABELS_MAX);
	*label = (uint8_t)next;
	return 0;
}

int state_trust(struct state *state, const char *name, unsigned int times)
{
	char setting[sizeof(SETTING_TRUSTED) + LIST_NAME_MAX];

	snprintf(setting, sizeof(setting), SETTING_TRUSTED "%s", name);
	return times ? state_set(state, setting, times)
		     : state_put(state, "DELETE FROM setting WHERE name = ?", "s", setting);
}

int state_list_put(struct state *state, struct list_info *list, const struct ranges *set)
{
	int64_t id = 0;
	int err;

	list->label = 0;
	err = state_list_find(state, list->name, &id, &list->label);
	if (err && !err_is(err, ENOENT))
		return err;
	list->label_is_new = list->kind != LIST_ALLOW && !list->label;
	err = list->label_is_new ? free_label(state, &list->label) : 0;
	if (err)
		return err;
	return state_put(state,
			 "INSERT INTO list (" LIST_COLUMNS ") VALUES (?1, ?2, nullif(?3, 0), ?4, ?5, ?6, ?7, ?8)"
			 " ON CONFLICT (name) DO UPDATE SET kind = ?2, label = nullif(?3, 0), prefixes = ?4,"
			 " addresses = ?5, source = ?6, loaded = ?7, format = ?8",
			 "siiIssss", list->name, list->kind == LIST_TRUST || list->scope[0] ? LIST_SHADOW : list->kind, list->label, (sqlite3_int64)list->prefixes,
			 list->addresses, list->source, list->loaded, list->format) ?:
	       state_list_find(state, list->name, &id, &list->label) ?:
	       state_trust(state, list->name, list->kind == LIST_TRUST ? list->times : 0) ?:
	       state_put(state, "DELETE FROM chunk WHERE list = ?", "I", (sqlite3_int64)id) ?:
	       state_chosen_put(state, id, list->where) ?:
	       state_scope_put(state, id, list) ?:
	       state_chunks_put(state, id, set);
}

int state_list_set_kind(struct state *state, const char *name, enum list_kind kind)
{
	uint8_t label = 0;
	int64_t id = 0;
	int err = state_list_find(state, name, &id, &label);

	if (err_is(err, ENOENT))
		return because_no_list(state, name);
	if (!err && kind != LIST_ALLOW && !label)
		err = free_label(state, &label);
	return err
		       ?: state_put(state, "UPDATE list SET kind = ?, label = nullif(?, 0) WHERE id = ?", "iiI", kind,
				    label, (sqlite3_int64)id)
		       ?: state_scope_kind(state, name);
}

int state_list_delete(struct state *state, const char *name)
{
	bool feed;
	int err = state_feed_drop(state, name);

	/* It may have no list yet. */
	feed = !err && sqlite3_changes(state->db);
	err = err ?: state_change(state, "DELETE FROM list WHERE name = ?", name);
	if (err_is(err, ENOENT) && feed)
		return 0;
	return err_is(err, ENOENT) ? because_no_list(state, name) : err;
}

int state_list_drop(struct state *state, const char *name)
{
	if (strchr(name, ' '))
		return because_no_list(state, name);
	return state_pending_forget(state, PENDING_LIST, name) ?:
	       state_pending_forget(state, PENDING_LIST_KIND, name) ?:
	       state_trust(state, name, 0) ?: state_left_put(state, name, (struct amounts){ 0 }) ?:
	       state_list_delete(state, name);
}
