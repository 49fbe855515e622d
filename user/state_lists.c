// SPDX-License-Identifier: GPL-2.0-only
/* The lists: what they are, and their ranges in pieces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "large.h"
#include "log.h"
#include "packed.h"
#include "packer.h"
#include "state_room.h"

#define LABELS_MAX 255
/* A value in SQLite is at most 10^9 bytes: a set is kept in pieces of whole ranges. */
#ifndef CHUNK_BYTES
#define CHUNK_BYTES (64u << 20)
#endif

/* What a chunk holds. IPv4 ranges came as they are until version 3, packed from then on. */
enum { CHUNK_TEXT = 0, CHUNK_RANGES4 = 4, CHUNK_PACKED4 = 5, CHUNK_RANGES6 = 6 };

const char *const list_kind_names[] = { "ban", "allow", "shadow" };

#define LIST_COLUMNS "name, kind, label, prefixes, addresses, source, loaded, format"

/* Is it an entry as a version of ours writes them? The kind and the label are places in arrays. */
static bool read_columns(struct list_info *list, sqlite3_stmt *stmt)
{
	int kind = sqlite3_column_int(stmt, 1), label = sqlite3_column_int(stmt, 2);

	memset(list, 0, sizeof(*list));
	state_column_text(list->name, sizeof(list->name), stmt, 0);
	list->kind = (enum list_kind)kind;
	list->label = (uint8_t)label;
	list->prefixes = (uint64_t)sqlite3_column_int64(stmt, 3);
	state_column_text(list->addresses, sizeof(list->addresses), stmt, 4);
	state_column_text(list->source, sizeof(list->source), stmt, 5);
	state_column_text(list->loaded, sizeof(list->loaded), stmt, 6);
	state_column_text(list->format, sizeof(list->format), stmt, 7);
	return kind >= LIST_BAN && kind <= LIST_SHADOW && label >= 0 && label <= LABELS_MAX &&
	       (label || kind == LIST_ALLOW);
}

static int because_entry(const char *name)
{
	return because(-EUCLEAN, "%s: the entry of list '%s' is damaged; see 'xdp-bloom state recover'", opt_state,
		       name);
}

int state_entries(struct state *state, struct list_info **lists, bool **sound, size_t *n)
{
	/* No name that a user gives has a blank: those are versions that wait beside their list (state_pending.c). */
	sqlite3_stmt *stmt =
		state_prepare(state, "SELECT " LIST_COLUMNS " FROM list WHERE name NOT LIKE '% %' ORDER BY id");
	int code = SQLITE_DONE;

	*lists = NULL;
	*sound = NULL;
	*n = 0;
	while (stmt && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		*lists = state_grow(*lists, *n, sizeof(**lists));
		*sound = state_grow(*sound, *n, sizeof(**sound));
		if (!*lists || !*sound) {
			sqlite3_finalize(stmt);
			return -ENOMEM;
		}
		(*sound)[*n] = read_columns(&(*lists)[*n], stmt);
		++*n;
	}
	return state_end(state, stmt, code);
}

int state_lists(struct state *state, struct list_info **lists, size_t *n)
{
	bool *sound;
	int err = state_entries(state, lists, &sound, n);

	for (size_t i = 0; i < *n && !err; i++)
		if (!sound[i])
			err = because_entry((*lists)[i].name);
	free(sound);
	return err;
}

int state_list_get(struct state *state, const char *name, struct list_info *list)
{
	sqlite3_stmt *stmt = state_prepare(state, "SELECT " LIST_COLUMNS " FROM list WHERE name = ?");
	int code = SQLITE_DONE;
	bool sound = true;

	if (stmt) {
		state_bind_text(stmt, 1, name);
		code = sqlite3_step(stmt);
		if (code == SQLITE_ROW)
			sound = read_columns(list, stmt);
	}
	if (code != SQLITE_DONE && code != SQLITE_ROW)
		return state_finish(state, stmt, code);
	sqlite3_finalize(stmt);
	if (!sound)
		return because_entry(name);
	return code == SQLITE_ROW ? 0 : because(-ENOENT, "there is no list '%s'", name);
}

/* Appends a blob of ranges to one side of the set. */
static int append(void **at, size_t *n, size_t *room, size_t size, const void *blob, size_t bytes)
{
	void *grown;

	if (bytes % size)
		return -EUCLEAN;
	grown = realloc(*at, *n * size + bytes + 1);
	if (!grown)
		return -ENOMEM;
	large_pages(grown, *n * size + bytes);
	*at = grown;
	memcpy((char *)grown + *n * size, blob, bytes);
	*n += bytes / size;
	*room = *n;
	return 0;
}

static int append_packed4(struct ranges *set, const void *blob, size_t bytes)
{
	ssize_t more = packed4_get(blob, bytes, NULL);
	struct range4 *grown;

	if (more < 0)
		return (int)more;
	grown = realloc(set->v4, (set->n4 + (size_t)more + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	large_pages(grown, (set->n4 + (size_t)more) * sizeof(*grown));
	set->v4 = grown;
	packed4_get(blob, bytes, grown + set->n4);
	set->n4 += (size_t)more;
	set->room4 = set->n4;
	return 0;
}

/* What everything that follows relies on: sorted, disjoint, right way up. */
static bool are_normal(const struct ranges *set)
{
	for (size_t i = 0; i < set->n4; i++)
		if (set->v4[i].lo > set->v4[i].hi || (i && set->v4[i].lo <= set->v4[i - 1].hi))
			return false;
	for (size_t i = 0; i < set->n6; i++)
		if (set->v6[i].lo > set->v6[i].hi || (i && set->v6[i].lo <= set->v6[i - 1].hi))
			return false;
	return true;
}

int state_list_set(struct state *state, const char *name, struct ranges *set)
{
	/* Only looking at a state does not bring it to this version. */
	sqlite3_stmt *stmt =
		state_prepare(state, state->version < 5
					     ? "SELECT family, data, NULL FROM chunk JOIN list ON list.id = chunk.list"
					       " WHERE name = ? AND family > 0 ORDER BY family, part"
					     : "SELECT family, data, sum FROM chunk JOIN list ON list.id = chunk.list"
					       " WHERE name = ? AND family > 0 ORDER BY family, part");
	int code = SQLITE_DONE, err = 0;

	*set = RANGES_EMPTY;
	if (!stmt)
		return because_sqlite(state, "reading");
	state_bind_text(stmt, 1, name);
	while (!err && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		const void *blob = sqlite3_column_blob(stmt, 1);
		size_t bytes = (size_t)sqlite3_column_bytes(stmt, 1);
		int kind = sqlite3_column_int(stmt, 0);

		if (sqlite3_column_type(stmt, 2) != SQLITE_NULL &&
		    sqlite3_column_int64(stmt, 2) != (sqlite3_int64)crc32_z(0, blob, bytes))
			err = -EUCLEAN;
		else if (kind == CHUNK_PACKED4)
			err = append_packed4(set, blob, bytes);
		else if (kind == CHUNK_RANGES4)
			err = append((void **)&set->v4, &set->n4, &set->room4, sizeof(*set->v4), blob, bytes);
		else
			err = append((void **)&set->v6, &set->n6, &set->room6, sizeof(*set->v6), blob, bytes);
	}
	if (err)
		sqlite3_finalize(stmt);
	else
		err = state_finish(state, stmt, code);
	if (err == -EUCLEAN || (!err && !are_normal(set)))
		err = because(-EUCLEAN, "%s: list '%s' is damaged; load it again", opt_state, name);
	if (err)
		ranges_free(set);
	return err;
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
		err = state_list_set(state, lists[i].name, &one);
		if (err)
			break;
		err = ranges_union(&both, allowed, &one);
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

static int put_chunk(struct state *s, int64_t list, int family, int part, const void *data, size_t bytes)
{
	sqlite3_stmt *stmt = state_prepare(s, "INSERT INTO chunk VALUES (?, ?, ?, ?, ?)");

	if (!stmt)
		return because_sqlite(s, "writing");
	sqlite3_bind_int64(stmt, 1, list);
	sqlite3_bind_int(stmt, 2, family);
	sqlite3_bind_int(stmt, 3, part);
	sqlite3_bind_blob(stmt, 4, data, (int)bytes, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 5, (sqlite3_int64)crc32_z(0, data, bytes));
	return state_finish(s, stmt, sqlite3_step(stmt));
}

static int put_ranges4(struct state *s, int64_t list, const struct ranges *set)
{
	size_t worst = set->n4 * PACKED4_MAX, room = worst < CHUNK_BYTES ? worst : CHUNK_BYTES, packed;
	unsigned char *buf = malloc(room + 1);
	int part = 0, err = buf ? 0 : -ENOMEM;

	for (size_t at = 0, done; at < set->n4 && !err; at += done) {
		packed = packed4_put(set->v4 + at, set->n4 - at, &done, buf, room);
		err = put_chunk(s, list, CHUNK_PACKED4, part++, buf, packed);
	}
	free(buf);
	return err;
}

static int put_ranges6(struct state *s, int64_t list, const struct ranges *set)
{
	size_t most = CHUNK_BYTES / sizeof(*set->v6), now;
	int part = 0, err = 0;

	for (size_t at = 0; at < set->n6 && !err; at += now) {
		now = set->n6 - at < most ? set->n6 - at : most;
		err = put_chunk(s, list, CHUNK_RANGES6, part++, set->v6 + at, now * sizeof(*set->v6));
	}
	return err;
}

/* Its id and label, or -ENOENT. */
static int find_list(struct state *s, const char *name, int64_t *id, uint8_t *label)
{
	sqlite3_stmt *stmt = state_prepare(s, "SELECT id, label FROM list WHERE name = ?");
	int err = -ENOENT;

	if (!stmt)
		return because_sqlite(s, "reading");
	state_bind_text(stmt, 1, name);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		*id = sqlite3_column_int64(stmt, 0);
		*label = (uint8_t)sqlite3_column_int(stmt, 1);
		err = 0;
	}
	sqlite3_finalize(stmt);
	return err;
}

static int free_label(struct state *s, uint8_t *label)
{
	sqlite3_stmt *stmt = state_prepare(s, "SELECT label FROM list WHERE label NOT NULL ORDER BY label");
	int next = 1;

	if (!stmt)
		return because_sqlite(s, "reading");
	while (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) == next)
		next++;
	sqlite3_finalize(stmt);
	if (next > LABELS_MAX)
		return because(-ENOSPC, "there are %d lists already, and no room for more", LABELS_MAX);
	*label = (uint8_t)next;
	return 0;
}

int state_list_put(struct state *state, struct list_info *list, const struct ranges *set)
{
	sqlite3_stmt *stmt;
	int64_t id = 0;
	int err = find_list(state, list->name, &id, &list->label);
	bool old = !err;

	list->fresh = false;
	if (!old)
		list->label = 0;

	if (err && err != -ENOENT)
		return err;
	if (list->kind != LIST_ALLOW && !list->label) {
		list->fresh = true;
		err = free_label(state, &list->label);
		if (err)
			return err;
	}
	stmt = state_prepare(state,
			     old ? "UPDATE list SET name = ?1, kind = ?2, label = ?3, prefixes = ?4, addresses = ?5,"
				   " source = ?6, loaded = ?7, format = ?8 WHERE id = ?9"
				 : "INSERT INTO list (" LIST_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
	if (!stmt)
		return because_sqlite(state, "writing");
	state_bind_text(stmt, 1, list->name);
	sqlite3_bind_int(stmt, 2, list->kind);
	if (list->label)
		sqlite3_bind_int(stmt, 3, list->label);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)list->prefixes);
	state_bind_text(stmt, 5, list->addresses);
	state_bind_text(stmt, 6, list->source);
	state_bind_text(stmt, 7, list->loaded);
	state_bind_text(stmt, 8, list->format);
	if (old)
		sqlite3_bind_int64(stmt, 9, id);
	err = state_finish(state, stmt, sqlite3_step(stmt));
	if (err)
		return err;
	if (!old)
		id = sqlite3_last_insert_rowid(state->db);
	err = state_change(state, "DELETE FROM chunk WHERE list = (SELECT id FROM list WHERE name = ?)", list->name);
	if (err == -ENOENT)
		err = 0;
	if (!err)
		err = put_ranges4(state, id, set);
	if (!err)
		err = put_ranges6(state, id, set);
	return err;
}

int state_list_set_kind(struct state *state, const char *name, enum list_kind kind)
{
	sqlite3_stmt *stmt;
	uint8_t label = 0;
	int64_t id = 0;
	int err = find_list(state, name, &id, &label);

	if (err == -ENOENT)
		return because(err, "there is no list '%s'", name);
	if (!err && kind != LIST_ALLOW && !label)
		err = free_label(state, &label);
	if (err)
		return err;
	stmt = state_prepare(state, "UPDATE list SET kind = ?, label = ? WHERE id = ?");
	if (!stmt)
		return because_sqlite(state, "writing");
	sqlite3_bind_int(stmt, 1, kind);
	if (label)
		sqlite3_bind_int(stmt, 2, label);
	sqlite3_bind_int64(stmt, 3, id);
	return state_finish(state, stmt, sqlite3_step(stmt));
}

int state_list_drop(struct state *state, const char *name)
{
	int err = strchr(name, ' ') ? -ENOENT : state_pending_forget(state, PENDING_LIST, name);

	if (!err)
		err = state_change(state, "DELETE FROM list WHERE name = ?", name);
	return err == -ENOENT ? because(err, "there is no list '%s'", name) : err;
}

int state_text_put(struct state *state, const char *name, struct packer *packer)
{
	const struct packed_piece *pieces;
	uint8_t label;
	int64_t id = 0;
	size_t n;
	int err = packer_end(packer, &pieces, &n);

	if (!err)
		err = find_list(state, name, &id, &label);
	for (size_t i = 0; i < n && !err; i++)
		err = put_chunk(state, id, CHUNK_TEXT, (int)i, pieces[i].data, pieces[i].bytes);
	return err;
}

static bool write_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t done = write(fd, data, bytes);

		if (done < 0)
			return false;
		data += done;
		bytes -= (size_t)done;
	}
	return true;
}

int state_text_get(struct state *state, const char *name)
{
	sqlite3_stmt *stmt = state_prepare(state, "SELECT data FROM chunk JOIN list ON list.id = chunk.list"
						  " WHERE name = ? AND family = 0 ORDER BY part");
	int fd = memfd_create("list", MFD_CLOEXEC), code = SQLITE_DONE, err = 0;

	if (!stmt || fd < 0) {
		sqlite3_finalize(stmt);
		return stmt ? -errno : because_sqlite(state, "reading");
	}
	state_bind_text(stmt, 1, name);
	while (!err && (code = sqlite3_step(stmt)) == SQLITE_ROW)
		if (!write_all(fd, sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0)))
			err = -errno;
	if (err)
		sqlite3_finalize(stmt);
	else
		err = state_finish(state, stmt, code);
	if (!err && lseek(fd, 0, SEEK_SET))
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}
