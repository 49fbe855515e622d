// SPDX-License-Identifier: GPL-2.0-only
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "log.h"

#define LABELS_MAX 255
/* A value in SQLite is at most 10^9 bytes: a set is kept in pieces of whole ranges. */
#define CHUNK_BYTES  (64u << 20)
#define LOCK_SECONDS 60

struct state {
	sqlite3 *db; /* NULL: looking at a state that does not exist */
	int lock;
};

static const char schema[] =
	"CREATE TABLE list (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, allow INTEGER NOT NULL,"
	"  label INTEGER UNIQUE, prefixes INTEGER NOT NULL, addresses TEXT NOT NULL, source TEXT NOT NULL,"
	"  loaded TEXT NOT NULL);"
	"CREATE TABLE chunk (list INTEGER NOT NULL REFERENCES list (id) ON DELETE CASCADE, family INTEGER NOT NULL,"
	"  part INTEGER NOT NULL, ranges BLOB NOT NULL, UNIQUE (list, family, part));"
	"CREATE TABLE interface (name TEXT PRIMARY KEY, mode TEXT NOT NULL, shared INTEGER NOT NULL);"
	"CREATE TABLE setting (name TEXT PRIMARY KEY, value REAL NOT NULL);"
	"PRAGMA user_version = 1;";

static int because_sqlite(const struct state *s, const char *what)
{
	int code = s->db ? sqlite3_errcode(s->db) : SQLITE_NOMEM;

	switch (code) {
	case SQLITE_FULL:
		return because(-ENOSPC, "%s: %s: the disk is full", opt_state, what);
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return because(-EUCLEAN, "%s: %s: the state file is damaged (%s)", opt_state, what,
			       sqlite3_errmsg(s->db));
	default:
		return because(-EIO, "%s: %s: %s", opt_state, what, s->db ? sqlite3_errmsg(s->db) : "out of memory");
	}
}

static int run(struct state *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : because_sqlite(s, "writing");
}

static sqlite3_stmt *prepare(const struct state *s, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	return s->db && sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) == SQLITE_OK ? stmt : NULL;
}

static int finish(const struct state *s, sqlite3_stmt *stmt, int code)
{
	int err = code == SQLITE_DONE || code == SQLITE_ROW ? 0 : because_sqlite(s, "writing");

	sqlite3_finalize(stmt);
	return err;
}

static void bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
	sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* One command after the other. A record lock knows its holder, and goes with it however it ends. */
static int take_lock(struct state *s)
{
	struct flock want = { .l_type = F_WRLCK, .l_whence = SEEK_SET }, holder;
	struct itimerval limit = { .it_value.tv_sec = LOCK_SECONDS }, off = { 0 };
	struct sigaction wake = { .sa_handler = on_alarm }, old;
	char path[512];
	int err = 0;

	snprintf(path, sizeof(path), "%s/lock", opt_state);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return because(-errno, "%s: %s", path, strerror(errno));
	if (!fcntl(s->lock, F_SETLK, &want))
		return 0;
	sigaction(SIGALRM, &wake, &old);
	setitimer(ITIMER_REAL, &limit, NULL);
	if (fcntl(s->lock, F_SETLKW, &want))
		err = -errno;
	setitimer(ITIMER_REAL, &off, NULL);
	sigaction(SIGALRM, &old, NULL);
	if (!err)
		return 0;
	holder = want;
	if (fcntl(s->lock, F_GETLK, &holder) || holder.l_type == F_UNLCK)
		return because(err, "%s: %s", path, strerror(-err));
	return because(-EBUSY, "another xdp-bloom (process %d) has held %s for %d s", (int)holder.l_pid, path,
		       LOCK_SECONDS);
}

static int make_directory(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s", opt_state);
	for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return because(-errno, "%s: %s", path, strerror(errno));
	}
	if (mkdir(path, 0700) && errno != EEXIST)
		return because(-errno, "%s: %s", path, strerror(errno));
	return 0;
}

static int check_version(struct state *s, bool change)
{
	sqlite3_stmt *stmt = prepare(s, "PRAGMA user_version");
	int version = -1;

	if (!stmt)
		return because_sqlite(s, "opening");
	if (sqlite3_step(stmt) == SQLITE_ROW)
		version = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	if (version == 0 && change)
		return run(s, schema);
	if (version < 0)
		return because_sqlite(s, "opening");
	if (version > 1)
		return because(-EINVAL, "%s: the state is of a newer xdp-bloom (version %d)", opt_state, version);
	return 0;
}

int state_open(struct state **state, bool change)
{
	struct state *s = calloc(1, sizeof(*s));
	char path[512];
	int err = s ? 0 : -ENOMEM;

	*state = s;
	if (err)
		return err;
	s->lock = -1;
	snprintf(path, sizeof(path), "%s/state.db", opt_state);
	if (change) {
		err = make_directory();
		if (!err)
			err = take_lock(s);
	} else if (access(path, F_OK) && errno == ENOENT) {
		return 0;
	} else if (access(path, R_OK)) {
		err = because(-errno, "%s: %s", path, strerror(errno));
	}
	if (err)
		goto out;
	umask(077);
	if (sqlite3_open_v2(path, &s->db, change ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE,
			    NULL) != SQLITE_OK)
		err = because_sqlite(s, "opening");
	if (err)
		goto out;
	sqlite3_busy_timeout(s->db, LOCK_SECONDS * 1000);
	err = run(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
	if (!err)
		err = run(s, change ? "BEGIN IMMEDIATE" : "BEGIN");
	if (!err)
		err = check_version(s, change);
out:
	if (err) {
		state_close(s);
		*state = NULL;
	}
	return err;
}

int state_commit(struct state *state)
{
	return run(state, "COMMIT");
}

void state_close(struct state *state)
{
	if (!state)
		return;
	if (state->db)
		sqlite3_close(state->db); /* what was not committed is undone */
	if (state->lock >= 0)
		close(state->lock);
	free(state);
}

/* Room for one more of a growing array, or NULL. */
static void *grow(void *array, size_t n, size_t size)
{
	void *grown;

	if (n & (n - 1)) /* not a power of two: there is room */
		return array;
	grown = realloc(array, (n ? 2 * n : 1) * size);
	if (!grown)
		free(array);
	return grown;
}

static void column_text(char *to, size_t size, sqlite3_stmt *stmt, int column)
{
	snprintf(to, size, "%s", (const char *)sqlite3_column_text(stmt, column));
}

int state_lists(struct state *state, struct list_info **lists, size_t *n)
{
	sqlite3_stmt *stmt =
		prepare(state, "SELECT name, allow, label, prefixes, addresses, source, loaded FROM list ORDER BY id");
	int code = SQLITE_DONE;

	*lists = NULL;
	*n = 0;
	while (stmt && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct list_info *list;

		*lists = grow(*lists, *n, sizeof(**lists));
		if (!*lists) {
			sqlite3_finalize(stmt);
			return -ENOMEM;
		}
		list = &(*lists)[(*n)++];
		column_text(list->name, sizeof(list->name), stmt, 0);
		list->allow = sqlite3_column_int(stmt, 1);
		list->label = (uint8_t)sqlite3_column_int(stmt, 2);
		list->prefixes = (uint64_t)sqlite3_column_int64(stmt, 3);
		column_text(list->addresses, sizeof(list->addresses), stmt, 4);
		column_text(list->source, sizeof(list->source), stmt, 5);
		column_text(list->loaded, sizeof(list->loaded), stmt, 6);
	}
	return stmt ? finish(state, stmt, code) : 0;
}

/* Appends a blob of ranges to one side of the set. */
static int append(void **at, size_t *n, size_t *room, size_t size, const void *blob, size_t bytes)
{
	void *grown = realloc(*at, *n * size + bytes + 1);

	if (!grown)
		return -ENOMEM;
	*at = grown;
	memcpy((char *)grown + *n * size, blob, bytes);
	*n += bytes / size;
	*room = *n;
	return 0;
}

int state_list_set(struct state *state, const char *name, struct ranges *set)
{
	sqlite3_stmt *stmt = prepare(state, "SELECT family, ranges FROM chunk JOIN list ON list.id = chunk.list"
					    " WHERE name = ? ORDER BY family, part");
	int code, err = 0;

	*set = RANGES_EMPTY;
	if (!stmt)
		return because_sqlite(state, "reading");
	bind_text(stmt, 1, name);
	while (!err && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		const void *blob = sqlite3_column_blob(stmt, 1);
		size_t bytes = (size_t)sqlite3_column_bytes(stmt, 1);

		if (sqlite3_column_int(stmt, 0) == 4)
			err = append((void **)&set->v4, &set->n4, &set->room4, sizeof(*set->v4), blob, bytes);
		else
			err = append((void **)&set->v6, &set->n6, &set->room6, sizeof(*set->v6), blob, bytes);
	}
	if (err)
		sqlite3_finalize(stmt);
	else
		err = finish(state, stmt, code);
	if (err)
		ranges_free(set);
	return err;
}

static int put_chunks(struct state *s, int64_t list, int family, const void *ranges, size_t bytes, size_t size)
{
	size_t most = CHUNK_BYTES / size * size;
	int part = 0, err = 0;

	for (size_t done = 0; done < bytes && !err; part++) {
		size_t now = bytes - done < most ? bytes - done : most;
		sqlite3_stmt *stmt = prepare(s, "INSERT INTO chunk VALUES (?, ?, ?, ?)");

		if (!stmt)
			return because_sqlite(s, "writing");
		sqlite3_bind_int64(stmt, 1, list);
		sqlite3_bind_int(stmt, 2, family);
		sqlite3_bind_int(stmt, 3, part);
		sqlite3_bind_blob(stmt, 4, (const char *)ranges + done, (int)now, SQLITE_STATIC);
		err = finish(s, stmt, sqlite3_step(stmt));
		done += now;
	}
	return err;
}

/* Its id and label, or -ENOENT. */
static int find_list(struct state *s, const char *name, int64_t *id, uint8_t *label)
{
	sqlite3_stmt *stmt = prepare(s, "SELECT id, label FROM list WHERE name = ?");
	int err = -ENOENT;

	if (!stmt)
		return because_sqlite(s, "reading");
	bind_text(stmt, 1, name);
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
	sqlite3_stmt *stmt = prepare(s, "SELECT label FROM list WHERE label NOT NULL ORDER BY label");
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

	if (err && err != -ENOENT)
		return err;
	if (!list->allow && !list->label) {
		err = free_label(state, &list->label);
		if (err)
			return err;
	}
	stmt = prepare(state, old ? "UPDATE list SET name = ?1, allow = ?2, label = ?3, prefixes = ?4, addresses = ?5,"
				    " source = ?6, loaded = ?7 WHERE id = ?8"
				  : "INSERT INTO list (name, allow, label, prefixes, addresses, source, loaded)"
				    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
	if (!stmt)
		return because_sqlite(state, "writing");
	bind_text(stmt, 1, list->name);
	sqlite3_bind_int(stmt, 2, list->allow);
	if (!list->allow)
		sqlite3_bind_int(stmt, 3, list->label);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)list->prefixes);
	bind_text(stmt, 5, list->addresses);
	bind_text(stmt, 6, list->source);
	bind_text(stmt, 7, list->loaded);
	if (old)
		sqlite3_bind_int64(stmt, 8, id);
	err = finish(state, stmt, sqlite3_step(stmt));
	if (err)
		return err;
	if (!old)
		id = sqlite3_last_insert_rowid(state->db);
	stmt = prepare(state, "DELETE FROM chunk WHERE list = ?");
	sqlite3_bind_int64(stmt, 1, id);
	err = finish(state, stmt, sqlite3_step(stmt));
	if (!err)
		err = put_chunks(state, id, 4, set->v4, set->n4 * sizeof(*set->v4), sizeof(*set->v4));
	if (!err)
		err = put_chunks(state, id, 6, set->v6, set->n6 * sizeof(*set->v6), sizeof(*set->v6));
	return err;
}

static int drop(struct state *s, const char *sql, const char *name)
{
	sqlite3_stmt *stmt = prepare(s, sql);

	if (!stmt)
		return because_sqlite(s, "writing");
	bind_text(stmt, 1, name);
	return finish(s, stmt, sqlite3_step(stmt)) ?: sqlite3_changes(s->db) ? 0 : -ENOENT;
}

int state_list_drop(struct state *state, const char *name)
{
	int err = drop(state, "DELETE FROM list WHERE name = ?", name);

	return err == -ENOENT ? because(err, "there is no list '%s'", name) : err;
}

int state_interfaces(struct state *state, struct interface_info **interfaces, size_t *n)
{
	sqlite3_stmt *stmt = prepare(state, "SELECT name, mode, shared FROM interface ORDER BY name");
	int code = SQLITE_DONE;

	*interfaces = NULL;
	*n = 0;
	while (stmt && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct interface_info *interface;

		*interfaces = grow(*interfaces, *n, sizeof(**interfaces));
		if (!*interfaces) {
			sqlite3_finalize(stmt);
			return -ENOMEM;
		}
		interface = &(*interfaces)[(*n)++];
		column_text(interface->name, sizeof(interface->name), stmt, 0);
		column_text(interface->mode, sizeof(interface->mode), stmt, 1);
		interface->shared = sqlite3_column_int(stmt, 2);
	}
	return stmt ? finish(state, stmt, code) : 0;
}

int state_interface_put(struct state *state, const struct interface_info *interface)
{
	sqlite3_stmt *stmt = prepare(state, "INSERT OR REPLACE INTO interface VALUES (?, ?, ?)");

	if (!stmt)
		return because_sqlite(state, "writing");
	bind_text(stmt, 1, interface->name);
	bind_text(stmt, 2, interface->mode);
	sqlite3_bind_int(stmt, 3, interface->shared);
	return finish(state, stmt, sqlite3_step(stmt));
}

int state_interface_drop(struct state *state, const char *name)
{
	return drop(state, "DELETE FROM interface WHERE name = ?", name);
}

double state_setting(struct state *state, const char *name, double fallback)
{
	sqlite3_stmt *stmt = prepare(state, "SELECT value FROM setting WHERE name = ?");

	if (stmt) {
		bind_text(stmt, 1, name);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			fallback = sqlite3_column_double(stmt, 0);
		sqlite3_finalize(stmt);
	}
	return fallback;
}

int state_set(struct state *state, const char *name, double value)
{
	sqlite3_stmt *stmt = prepare(state, "INSERT OR REPLACE INTO setting VALUES (?, ?)");

	if (!stmt)
		return because_sqlite(state, "writing");
	bind_text(stmt, 1, name);
	sqlite3_bind_double(stmt, 2, value);
	return finish(state, stmt, sqlite3_step(stmt));
}
