// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes in the state's file: as pages that are damaged, and as values that no version of ours wrote. Whatever is
 * read of it is refused or of use, and what `state recover` makes of it is sound.
 */
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/layout.h"
#include "base/context.h"
#include "base/log.h"
#include "state/sources.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/bans.h"
#include "state/ports.h"
#include "state/recover.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static char home[64], file[96];
static struct context own_context;
static unsigned char good[1 << 18];
static size_t good_bytes;

static void hold(bool ok)
{
	if (!ok)
		abort();
}

/* --- What is damaged ------------------------------------------------------------------------------------------------
 */

static const char *const columns[] = {
	"list.name",	    "list.kind",    "list.label",   "list.prefixes",	"list.addresses", "list.source",
	"list.loaded",	    "list.format",  "chunk.list",   "chunk.family",	"chunk.part",	  "chunk.data",
	"chunk.sum",	    "source.path",  "source.stamp", "source.options",	"interface.name", "interface.mode",
	"interface.shared", "pending.kind", "pending.name", "pending.deadline", "setting.name",	  "setting.value",
	"pending.before",   "pending.due",  "pending.boot", "ban.family",	"ban.length",	  "ban.first",
	"ban.added",	    "ban.expires",  "ban.reason",
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* Takes: which column, of which row, as what, how many bytes, and those. Returns what it took. */
static size_t damage_value(sqlite3 *db, const uint8_t *data, size_t size)
{
	const char *column = columns[data[0] % COLUMNS], *dot = strchr(column, '.');
	size_t bytes = data[3] < size - 4 ? data[3] : size - 4;
	sqlite3_stmt *stmt = NULL;
	int64_t number = 0;
	char *sql;

	/* A sum that fits its piece, or nothing of what is behind it would be read. */
	sql = sqlite3_mprintf("UPDATE OR IGNORE \"%.*w\" SET \"%w\" = ?1%s WHERE ?2 IN (SELECT count(*) FROM \"%.*w\")"
			      " OR ?2 = 255 OR rowid = ?2",
			      (int)(dot - column), column, dot + 1, !strcmp(column, "chunk.data") ? ", sum = NULL" : "",
			      (int)(dot - column), column);
	if (!strncmp(column, "ban.", 4)) {
		sqlite3_free(sql);
		sql = sqlite3_mprintf("UPDATE OR IGNORE ban SET \"%w\" = ?1 WHERE ?2 >= 0", dot + 1);
	}
	hold(sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK);
	sqlite3_free(sql);
	for (size_t i = 0; i < bytes && i < 8; i++)
		number = (int64_t)((uint64_t)number << 8 | data[4 + i]);
	switch (data[2] % 4) {
	case 0:
		sqlite3_bind_int64(stmt, 1, number);
		break;
	case 1:
		sqlite3_bind_text(stmt, 1, (const char *)data + 4, (int)bytes, SQLITE_STATIC);
		break;
	case 2:
		sqlite3_bind_blob(stmt, 1, data + 4, (int)bytes, SQLITE_STATIC);
		break;
	default:
		sqlite3_bind_double(stmt, 1, (double)number * 1e-3);
	}
	sqlite3_bind_int(stmt, 2, data[1]);
	sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	return 4 + bytes;
}

static void damage_values(const uint8_t *data, size_t size)
{
	sqlite3 *db;

	hold(sqlite3_open(file, &db) == SQLITE_OK);
	while (size > 4) {
		size_t took = damage_value(db, data, size);

		data += took;
		size -= took;
	}
	sqlite3_close(db);
}

static void write_file(const void *bytes, size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	hold(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

/* Takes four bytes: where, and what. */
static void damage_pages(const uint8_t *data, size_t size)
{
	static unsigned char bytes[sizeof(good)];

	memcpy(bytes, good, good_bytes);
	for (; size >= 4; data += 4, size -= 4)
		bytes[((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) % good_bytes] = data[3];
	write_file(bytes, good_bytes);
}

static void clean(void)
{
	static const char *const names[] = {
		"", "-wal", "-shm", "-journal", ".damaged", ".damaged-wal", ".damaged-shm"
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", file, names[i]);
		unlink(path);
	}
}

/* --- What is read ---------------------------------------------------------------------------------------------------
 */

/* Of what was recovered nothing may be refused. */
static bool strict;

static bool refused(int err)
{
	hold(!err || (err < 0 && !strict));
	return err;
}

static void read_set(struct state *state, const struct list_info *list)
{
	struct ranges set;
	int fd;

	hold(memchr(list->name, '\0', sizeof(list->name)) && strlen(list_kind_names[list->kind]));
	if (!refused(state_list_set(state, list->name, &set))) {
		ranges_count_prefixes(&set);
		ranges_count(&set);
		ranges_free(&set);
	}
	fd = state_text_get(state, list->name);
	if (fd >= 0)
		close(fd);
}

static void read_lists(struct state *state)
{
	struct list_info *lists = NULL;
	struct ranges allowed;
	size_t n = 0;

	if (!refused(state_lists(state, &lists, &n)))
		for (size_t i = 0; i < n; i++)
			read_set(state, &lists[i]);
	free(lists);
	if (!refused(state_allowed(state, &allowed)))
		ranges_free(&allowed);
}

static void read_bans(struct state *state)
{
	struct ranges set = RANGES_EMPTY;
	struct ban *bans = NULL, wide;
	size_t n = 0;

	if (!refused(state_bans(state, &bans, &n)))
		for (size_t i = 0; i < n; i++) {
			hold(bans[i].length <= addr_width(bans[i].first.family));
			state_ban_around(state, bans[i].first, bans[i].length, 1, &wide);
		}
	free(bans);
	if (!refused(state_bans_set(state, 1, NULL, &set)))
		ranges_free(&set);
	state_bans_next(state);
}

static void read_rest(struct state *state)
{
	struct interface_info *interfaces = NULL;
	struct port_row *ports = NULL;
	struct pending *pending = NULL;
	struct source *sources = NULL;
	struct settings settings;
	size_t n = 0;

	refused(state_interfaces(state, &interfaces, &n));
	free(interfaces);
	refused(state_ports(state, &interfaces, &n));
	free(interfaces);
	refused(state_port_rows(state, &ports, &n));
	free(ports);
	refused(state_pending(state, &pending, &n));
	free(pending);
	refused(state_sources(state, &sources, &n));
	free(sources);
	state_setting(state, SETTING_GENERATION, 0);
	settings = settings_read(state);
	hold(settings.layout <= LAYOUT_AUTO && layout_choose(&settings).kind < LAYOUT_AUTO);
}

static void read_all(bool change)
{
	struct ban *bans = NULL;
	struct state *state;
	size_t n;

	if (refused(state_open(&state, &own_context, change)))
		return;
	read_lists(state);
	read_bans(state);
	read_rest(state);
	if (change && !refused(state_bans_expire(state, 4000000000, &bans, &n)))
		state_commit(state);
	free(bans);
	state_close(state);
}

static void ignore(void *arg, const char *fault)
{
	(void)arg;
	hold(fault != NULL);
}

/* The first byte: which way it is damaged, and whether it is recovered then. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct recovered recovered;
	size_t faults;
	int way;

	if (!size)
		return 0;
	way = *data++;
	size--;
	clean();
	if (way % 4 == 0)
		write_file(data, size);
	else if (way % 4 == 1)
		damage_pages(data, size);
	else
		write_file(good, good_bytes);
	if (way % 4 > 1)
		damage_values(data, size);
	read_all(false);
	state_check(&own_context, ignore, NULL, &faults);
	if (!(way & 4)) {
		read_all(true);
	} else if (!state_recover(&own_context, file, NULL, &recovered)) {
		hold(!state_check(&own_context, ignore, NULL, &faults) && !faults);
		strict = true;
		read_all(true);
		strict = false;
	}
	return 0;
}

/* --- A good one -----------------------------------------------------------------------------------------------------
 */

static void fill(struct state *state, const char *name, enum list_kind kind, uint32_t first)
{
	struct list_info list = { .kind = kind, .addresses = "7", .loaded = "2026-01-01T00:00:00Z", .source = "file" };
	struct source source = { .path = "/a/file", .stamp = "1:2:3", .options = "--force" };
	struct ranges set = RANGES_EMPTY;

	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(source.list, sizeof(source.list), "%s", name);
	for (uint32_t i = 0; i < 6; i++)
		hold(!ranges_add4(&set, first + i * 300, first + i * 301) &&
		     !ranges_add6(&set, (ip6)(first + i) << 96, (ip6)(first + i) << 96 | i));
	hold(!ranges_finish(&set));
	list.prefixes = ranges_count_prefixes(&set);
	hold(!state_list_put(state, &list, &set) && !state_source_put(state, &source));
	ranges_free(&set);
}

/* Into the first directory that the fuzzer is given: each column once, as a number, as text, as bytes. */
static void write_seeds(int argc, char **argv)
{
	int at = 1;

	while (at < argc && *argv[at] == '-')
		at++;
	for (size_t i = 0; at < argc && i < 3 * COLUMNS; i++) {
		unsigned char seed[] = {
			(unsigned char)(2 | (i & 4)), (unsigned char)(i / 3), 255, (unsigned char)(i % 3), 2, '0', '7'
		};
		char path[PATH_MAX];
		FILE *out;

		snprintf(path, sizeof(path), "%s/column-%zu", argv[at], i);
		out = fopen(path, "we");
		hold(out && fwrite(seed, sizeof(seed), 1, out) == 1 && !fclose(out));
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct interface_info interface = { .name = "eth0", .mode = "native", .shared = true };
	struct pending pending = { .kind = PENDING_LIST, .name = "one", .deadline = 4000000000 };
	struct ban ban = { .first = { 0xc0000200, 4 }, .length = 24, .added = 1, .expires = 3, .reason = "why" };
	struct state *state;
	bool renewed;
	FILE *in;

	write_seeds(*argc, *argv);
	/* Its files are made again thousands of times: in memory. */
	snprintf(home, sizeof(home), "/dev/shm/xdp-bloom-fuzz-%d", getpid());
	snprintf(file, sizeof(file), "%s/state.db", home);
	own_context = (struct context){ .state = home };
	hold(!state_open(&state, &own_context, true));
	fill(state, "one", LIST_BAN, 0x01020304);
	fill(state, "two", LIST_ALLOW, 0x0a020304);
	fill(state, "three", LIST_SHADOW, 0xf0020304);
	hold(!state_pending_add(state, &pending));
	fill(state, "one", LIST_BAN, 0x02020304);
	hold(!state_interface_put(state, &interface) && !state_ban_put(state, &ban, &renewed));
	ban = (struct ban){ .first = { (ip6)0x20010db8 << 96, 6 }, .length = 32, .added = 1, .reason = "" };
	hold(!state_ban_put(state, &ban, &renewed) && !state_set(state, SETTING_GENERATION, 7) &&
	     !state_set(state, "layout", LAYOUT_CLASSIC) && !state_set(state, "headroom", 0.5));
	hold(!state_commit(state));
	state_close(state);
	/* What is in its log goes into the file. */
	{
		sqlite3 *db;

		hold(sqlite3_open(file, &db) == SQLITE_OK);
		hold(sqlite3_exec(db, "PRAGMA journal_mode = DELETE; PRAGMA page_size = 1024; VACUUM", NULL, NULL,
				  NULL) == SQLITE_OK);
		sqlite3_close(db);
	}
	in = fopen(file, "re");
	good_bytes = in ? fread(good, 1, sizeof(good), in) : 0;
	hold(good_bytes > 1024 && good_bytes < sizeof(good));
	fclose(in);
	return 0;
}
