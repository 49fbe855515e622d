// SPDX-License-Identifier: GPL-2.0-only
/* What lists hold, in chunks: their ranges, and the text that they were read from. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/close_fd.h"
#include "base/memory.h"
#include "base/log.h"
#include "sets/ranges_packed.h"
#include "base/compress.h"
#include "state/internal.h"

/* A value in SQLite is at most 10^9 bytes: a set is kept in pieces of whole ranges. */
#ifndef CHUNK_BYTES
#define CHUNK_BYTES (64u << 20)
#endif

/* What a chunk holds. IPv4 ranges came as they are until version 3, packed from then on. */
enum { CHUNK_TEXT = 0, CHUNK_RANGES4 = 4, CHUNK_PACKED4 = 5, CHUNK_RANGES6 = 6 };

/*
 * Ranges that are not packed are little-endian in the file, on machines of either byte order. Each way is the other
 * way, too.
 */
static void swap_words(void *ranges, size_t bytes, size_t word)
{
	char *at = ranges, last;

	for (size_t i = 0; i < bytes; i += word)
		for (size_t k = 0; k < word / 2; k++) {
			last = at[i + word - 1 - k];
			at[i + word - 1 - k] = at[i + k];
			at[i + k] = last;
		}
}

static inline void little_endian(void *ranges, size_t bytes, size_t word)
{
	if (BYTE_ORDER == BIG_ENDIAN)
		swap_words(ranges, bytes, word);
}

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
	little_endian((char *)grown + *n * size, bytes, size / 2);
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

/* Sorted, disjoint, and none ends before it begins: all other code relies on it. */
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
	/* A state that is only read keeps its version. */
	sqlite3_stmt *stmt =
		state_prepare(state, state->version < 5
					     ? "SELECT family, data, NULL FROM chunk JOIN list ON list.id = chunk.list"
					       " WHERE name = ? AND family IS NOT 0 ORDER BY family, part"
					     : "SELECT family, data, sum FROM chunk JOIN list ON list.id = chunk.list"
					       " WHERE name = ? AND family IS NOT 0 ORDER BY family, part");
	int code = SQLITE_DONE, err = 0;

	*set = RANGES_EMPTY;
	if (!stmt)
		return because_sqlite(state, "reading");
	state_bind_text(stmt, 1, name);
	while (!err && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		const void *blob = sqlite3_column_blob(stmt, 1);
		size_t bytes = (size_t)sqlite3_column_bytes(stmt, 1);
		struct row row = { .stmt = stmt };
		int kind = (int)row_number(&row, 0, CHUNK_RANGES4, CHUNK_RANGES6);

		if (!bytes)
			blob = ""; /* SQLite returns NULL */
		if (row.err || sqlite3_column_type(stmt, 1) != SQLITE_BLOB ||
		    (sqlite3_column_type(stmt, 2) != SQLITE_NULL &&
		     (row_number(&row, 2, 0, UINT32_MAX) != (int64_t)crc32_z(0, blob, bytes) || row.err)))
			err = -EUCLEAN;
		else if (kind == CHUNK_PACKED4)
			err = append_packed4(set, blob, bytes);
		else if (kind == CHUNK_RANGES4)
			err = append((void **)&set->v4, &set->n4, &set->room4, sizeof(*set->v4), blob, bytes);
		else
			err = append((void **)&set->v6, &set->n6, &set->room6, sizeof(*set->v6), blob, bytes);
	}
	code = state_finish(state, stmt, err ? SQLITE_DONE : code);
	err = err ?: code;
	if (err_is(err, EUCLEAN) || (!err && !are_normal(set)))
		err = because(-EUCLEAN, "%s: list '%s' is damaged; load it again, or see 'xdp-bloom state recover'",
			      state->directory, name);
	if (err)
		ranges_free(set);
	return err;
}

int state_list_whole_set(struct state *state, const struct list_info *list, struct ranges *set)
{
	int err = state_list_set(state, list->name, set);

	if (!err && ranges_count_prefixes(set) != list->prefixes) {
		ranges_free(set);
		err = because(-EUCLEAN,
			      "%s: a part of list '%s' is gone; load it again, or see 'xdp-bloom state recover'",
			      state->directory, list->name);
	}
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
	struct range6 *swapped = NULL;

	if (BYTE_ORDER == BIG_ENDIAN && set->n6) {
		swapped = malloc(set->n6 * sizeof(*swapped));
		if (!swapped)
			return -ENOMEM;
		memcpy(swapped, set->v6, set->n6 * sizeof(*swapped));
		little_endian(swapped, set->n6 * sizeof(*swapped), sizeof(ip6));
	}

	for (size_t at = 0; at < set->n6 && !err; at += now) {
		now = set->n6 - at < most ? set->n6 - at : most;
		err = put_chunk(s, list, CHUNK_RANGES6, part++, (swapped ?: set->v6) + at, now * sizeof(*set->v6));
	}
	free(swapped);
	return err;
}

int state_chunks_put(struct state *state, int64_t list, const struct ranges *set)
{
	return put_ranges4(state, list, set) ?: put_ranges6(state, list, set);
}

int state_text_put(struct state *state, const char *name, struct packer *packer)
{
	const struct packed_piece *pieces;
	uint8_t label;
	int64_t id = 0;
	size_t n;
	int err = packer_end(packer, &pieces, &n) ?: state_list_find(state, name, &id, &label);

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
		err = stmt ? -errno : because_sqlite(state, "reading");
		sqlite3_finalize(stmt);
		close_fd(fd);
		return err;
	}
	state_bind_text(stmt, 1, name);
	while (!err && (code = sqlite3_step(stmt)) == SQLITE_ROW)
		if (!write_all(fd, sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0)))
			err = -errno;
	code = state_finish(state, stmt, err ? SQLITE_DONE : code);
	err = err ?: code;
	if (!err && lseek(fd, 0, SEEK_SET))
		err = -errno;
	if (err)
		close(fd);
	return err ?: fd;
}
