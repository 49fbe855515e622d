// SPDX-License-Identifier: GPL-2.0-only
/*
 * One field of one row of the state's file, damaged in every way that SQLite stores: whoever reads it refuses it in one
 * line or shows it clean, `state check` finds it, and what `state recover` leaves is sound. Of each field
 * a quarter of the ways, or all: FAULTS=all (make faults).
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/compress.h"
#include "base/log.h"
#include "state/accepted.h"
#include "state/bans.h"
#include "state/behind.h"
#include "state/feeds.h"
#include "state/fleet.h"
#include "state/members.h"
#include "state/ports.h"
#include "state/recover.h"
#include "state/said.h"
#include "state/sources.h"
#include "state/strikes.h"
#include "verbs/verbs.h"

#include "own_state.h"

#define CLEAN_MAX (1 << 16)

enum shape {
	NUMBER, /* whole, from least to most */
	REAL,	/* from least to most */
	TEXT,	/* of these bytes (NULL: any; ^: any but these), from least to most of them */
	BYTES,
	ANY, /* nothing follows from it */
};

#define NAMES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-()"

static const struct column {
	const char *table, *name;
	enum shape shape;
	int64_t least, most;
	const char *bytes;
	bool none; /* NULL is allowed */
} columns[] = {
	{ "list", "name", TEXT, 1, 63, NAMES, false },
	{ "list", "kind", NUMBER, 0, 2, NULL, false },
	{ "list", "label", NUMBER, 1, 255, NULL, false },
	{ "list", "prefixes", NUMBER, 0, INT64_MAX, NULL, false },
	{ "list", "addresses", TEXT, 1, 47, "0123456789", false },
	{ "list", "source", TEXT, 0, 255, NULL, false },
	{ "list", "loaded", TEXT, 0, 31, NULL, false },
	{ "list", "format", TEXT, 0, 31, NULL, false },
	{ "chunk", "list", ANY, 0, 0, NULL, true },
	{ "chunk", "family", NUMBER, 4, 6, NULL, false },
	{ "chunk", "part", ANY, 0, 0, NULL, true },
	{ "chunk", "data", BYTES, 0, 0, NULL, false },
	{ "chunk", "sum", NUMBER, 0, 0, NULL, true },
	{ "source", "path", TEXT, 1, PATH_MAX - 1, "/", false },
	{ "source", "stamp", TEXT, 0, SOURCE_STAMP_MAX - 1, NULL, false },
	{ "source", "options", TEXT, 0, 127, NULL, false },
	{ "interface", "name", TEXT, 1, 15, "^/: \t\n", false },
	{ "interface", "mode", TEXT, 1, 7, "abcdefghijklmnopqrstuvwxyz", false },
	{ "interface", "shared", NUMBER, 0, 1, NULL, false },
	{ "matched", "name", TEXT, 1, 15, "^/: \t\n", false },
	{ "matched", "match", NUMBER, 1, 2, NULL, false },
	{ "leaving", "name", TEXT, 1, 15, "^/: \t\n", false },
	{ "leaving", "match", NUMBER, 0, 2, NULL, false },
	{ "ports", "name", TEXT, 1, 15, "^/: \t\n", false },
	{ "ports", "leaves", NUMBER, 0, 1, NULL, false },
	{ "ports", "mode", TEXT, 1, 7, "abcdefghijklmnopqrstuvwxyz", false },
	{ "ports", "shared", NUMBER, 0, 1, NULL, false },
	{ "ports", "match", NUMBER, 0, 2, NULL, false },
	{ "port", "name", TEXT, 1, 15, "^/: \t\n", false },
	{ "port", "leaves", NUMBER, 0, 1, NULL, false },
	{ "port", "of", TEXT, 1, 15, "^/: \t\n", false },
	{ "pending", "kind", NUMBER, 0, 5, NULL, false },
	{ "pending", "name", TEXT, 1, 63, NULL, false },
	{ "pending", "deadline", NUMBER, 0, 253402300799, NULL, false },
	{ "pending", "before", ANY, 0, 0, NULL, true },
	{ "pending", "due", NUMBER, 0, INT64_MAX, NULL, true },
	{ "pending", "boot", TEXT, 0, 39, NULL, true },
	{ "setting", "name", ANY, 0, 0, NULL, true },
	{ "setting", "value", REAL, 0, 10, NULL, false },
	{ "ban", "family", NUMBER, 4, 4, NULL, false },
	{ "ban", "length", NUMBER, 24, 32, NULL, false },
	{ "ban", "first", BYTES, 0, 0, NULL, false },
	{ "ban", "added", NUMBER, 0, 253402300799, NULL, false },
	{ "ban", "expires", NUMBER, 1, 253402300799, NULL, true },
	{ "ban", "reason", TEXT, 0, 127, NULL, false },
	{ "ban_before", "family", NUMBER, 4, 4, NULL, false },
	{ "ban_before", "first", BYTES, 0, 0, NULL, false },
	{ "ban_before", "expires", NUMBER, 1, 253402300799, NULL, true },
	{ "ban_before", "length", NUMBER, 24, 32, NULL, false },
	{ "ban_before", "added", NUMBER, 0, 253402300799, NULL, false },
	{ "ban_before", "reason", TEXT, 0, 127, NULL, false },
	{ "accepted", "hand4", REAL, 0, UINT32_MAX, NULL, false },
	{ "accepted", "hand6", REAL, 0, INT64_MAX, NULL, false },
	{ "accepted", "day4", REAL, 0, UINT32_MAX, NULL, false },
	{ "accepted", "day6", REAL, 0, INT64_MAX, NULL, false },
	{ "accepted", "wide4", REAL, 0, UINT32_MAX, NULL, false },
	{ "accepted", "wide6", REAL, 0, INT64_MAX, NULL, false },
	{ "accepted", "day_at", NUMBER, 0, 253402300799, NULL, false },
	{ "strike", "family", NUMBER, 4, 4, NULL, false },
	{ "strike", "length", NUMBER, 24, 32, NULL, false },
	{ "strike", "first", BYTES, 0, 0, NULL, false },
	{ "strike", "strikes", NUMBER, 0, 8, NULL, false },
	{ "strike", "ended", NUMBER, 0, 253402300799, NULL, false },
	{ "feed", "list", TEXT, 1, 70, NAMES " ", false }, /* a version that waits has a blank */
	{ "feed", "url", TEXT, 9, FETCH_URL_MAX - 1, "https://example.net/list", false },
	{ "feed", "options", TEXT, 0, 127 + 3 * WHERE_MAX, NULL, false },
	{ "feed", "headers", TEXT, 0, PATH_MAX - 1, "/", false },
	{ "feed", "key", TEXT, 0, 63, NULL, false },
	{ "feed", "insecure", NUMBER, 0, 1, NULL, false },
	{ "feed", "lan", NUMBER, 0, 1, NULL, false },
	{ "feed", "every", NUMBER, 300, 366LL * 24 * 3600, NULL, false },
	{ "feed", "max_age", NUMBER, 0, 253402300799, NULL, false },
	{ "feed", "becomes", NUMBER, 0, 2, NULL, false },
	{ "feed", "etag", TEXT, 0, FETCH_TAG_MAX - 1, NULL, false },
	{ "feed", "modified", TEXT, 0, 63, NULL, false },
	{ "feed", "dated", NUMBER, 0, 253402300799, NULL, false },
	{ "feed", "signed_at", NUMBER, 0, 253402300799, NULL, false },
	{ "feed", "tried", NUMBER, 0, 253402300799, NULL, false },
	{ "feed", "good", NUMBER, 0, 253402300799, NULL, false },
	{ "feed", "good_up", NUMBER, -253402300799, 253402300799, NULL, false },
	{ "feed", "boot", NUMBER, 0, INT64_MAX, NULL, false },
	{ "feed", "changed", NUMBER, 0, 253402300799, NULL, false },
	{ "feed", "aged", NUMBER, 0, 253402300799, NULL, false },
	{ "feed", "next", NUMBER, 0, 253402300799, NULL, false },
	{ "feed", "failures", NUMBER, 0, INT32_MAX, NULL, false },
	{ "feed", "refused", NUMBER, INT64_MIN, INT64_MAX, NULL, false },
	{ "member", "name", TEXT, 1, MEMBER_NAME_MAX - 1, MEMBER_NAME_BYTES, false },
	{ "member", "rule", NUMBER, 0, 2, NULL, false },
	{ "member", "entries", NUMBER, 0, MEMBER_ENTRIES_MOST, NULL, false },
	{ "member", "ttl", NUMBER, 1, MEMBER_TTL_MOST, NULL, false },
	{ "member", "wide4", NUMBER, 0, 32, NULL, false },
	{ "member", "wide6", NUMBER, 0, 128, NULL, false },
	{ "member", "rate", REAL, 1, 1000000, NULL, false },
	{ "member", "shadow", NUMBER, 0, 1, NULL, false },
	{ "member", "quorum", NUMBER, 1, MEMBER_QUORUM_MOST, NULL, false },
	{ "member", "heard", NUMBER, 0, 253402300799, NULL, false },
	{ "member", "free_at", NUMBER, 0, INT64_MAX / 2, NULL, false },
	{ "member", "taken", NUMBER, 0, INT64_MAX, NULL, false },
	{ "member", "ended", NUMBER, 0, INT64_MAX, NULL, false },
	{ "member", "refused", NUMBER, 0, INT64_MAX, NULL, false },
	{ "member", "why", TEXT, 0, MEMBER_WHY_MAX - 1, NULL, false },
	{ "said", "family", NUMBER, 4, 4, NULL, false },
	{ "said", "length", NUMBER, 24, 32, NULL, false },
	{ "said", "first", BYTES, 0, 0, NULL, false },
	{ "said", "added", NUMBER, 0, 253402300799, NULL, false },
	{ "said", "expires", NUMBER, 1, 253402300799, NULL, true },
	{ "said", "reason", TEXT, 0, 127, NULL, false },
	{ "said", "member", NUMBER, 0, INT64_MAX, NULL, false },
	{ "said_before", "family", NUMBER, 4, 4, NULL, false },
	{ "said_before", "length", NUMBER, 24, 32, NULL, false },
	{ "said_before", "first", BYTES, 0, 0, NULL, false },
	{ "said_before", "added", NUMBER, 0, 253402300799, NULL, false },
	{ "said_before", "expires", NUMBER, 1, 253402300799, NULL, true },
	{ "said_before", "reason", TEXT, 0, 127, NULL, false },
	{ "said_before", "member", NUMBER, 0, INT64_MAX, NULL, false },
	{ "behind", "family", NUMBER, 4, 4, NULL, false },
	{ "behind", "length", NUMBER, 24, 32, NULL, false },
	{ "behind", "first", BYTES, 0, 0, NULL, false },
	{ "behind", "waits", NUMBER, 0, 1, NULL, false },
	{ "behind", "added", NUMBER, 0, 253402300799, NULL, false },
	{ "behind", "expires", NUMBER, 1, 253402300799, NULL, true },
	{ "behind", "reason", TEXT, 0, 127, NULL, false },
	{ "fleet", "url", TEXT, 0, FLEET_URL_MAX - 1, NULL, false },
	{ "fleet", "name", TEXT, 1, MEMBER_NAME_MAX - 1, MEMBER_NAME_BYTES, false },
	{ "fleet", "user", TEXT, 0, FLEET_USER_MAX - 1, NULL, false },
	{ "fleet", "prefix", TEXT, 0, FLEET_PREFIX_MAX - 1, NULL, false },
	{ "fleet", "password", TEXT, 0, FLEET_FILE_MAX - 1, NULL, false },
	{ "fleet", "say", TEXT, 0, 127, NULL, false },
	{ "fleet", "epoch", TEXT, 0, 16, "0123456789abcdef", false },
	{ "fleet", "reads", TEXT, 0, FLEET_URL_MAX - 1, NULL, false },
	{ "fleet", "pace", NUMBER, 0, FLEET_PACE_MOST, NULL, false },
	{ "fleet", "ca", TEXT, 0, FLEET_FILE_MAX - 1, NULL, false },
	{ "fleet", "n", NUMBER, 0, INT64_MAX / 2, NULL, false },
	{ "fleet", "again", NUMBER, 0, INT64_MAX / 2, NULL, false },
	{ "fleet_at", "member", TEXT, 1, MEMBER_NAME_MAX - 1, MEMBER_NAME_BYTES, false },
	{ "fleet_at", "n", NUMBER, 0, INT64_MAX / 2, NULL, false },
	{ "fleet_at", "epoch", TEXT, 0, 16, "0123456789abcdef", false },
	{ "fleet_at", "id", TEXT, 0, FLEET_ID_MAX - 1, "0123456789-", false },
	{ "fleet_out", "family", NUMBER, 4, 4, NULL, false },
	{ "fleet_out", "length", NUMBER, 24, 32, NULL, false },
	{ "fleet_out", "first", BYTES, 0, 0, NULL, false },
	{ "feed", "result", TEXT, 0, FEED_RESULT_MAX - 1, NULL, false },
	{ "chosen", "rows", TEXT, 1, 0, NULL, false },	       /* of these texts none is a condition */
	{ "scope", "scope", TEXT, 1, 1, "0123456789", false }, /* a protocol */
};

static const char *const damages[] = {
	"NULL",
	"-1",
	"0",
	"1",
	"7",
	"256",
	"67768036191676799",
	"9223372036854775807",
	"-9223372036854775808",
	"1.5",
	"9e999",
	"''",
	"'text'",
	"'a b'",
	"'three before'",
	"'../../etc'",
	"char(27) || '[2J'",
	"char(8238) || 'txt.exe'",
	"'a' || char(8203, 65279, 1564, 917569)",
	"CAST(x'ff9b41' AS TEXT)",
	"'a' || char(0) || 'b'",
	"printf('%.70000c', 'a')",
	"x''",
	"x'00ff'",
	"x'0a0b0c0d'",
};

/* What each verb reads: it must refuse what is damaged there. */
static const struct reading {
	const char *tables;
	const char *words[5];
} readings[] = {
	{ "list", { "lists", "FORM" } },
	{ "ban", { "bans", "FORM" } },
	{ "list", { "allow" } },
	{ "list chunk", { "compare", "one", "three" } },
	{ "member fleet", { "fleet", "FORM" } },
	{ "pending ports port", { "show" } },
	{ "", { "tune", "FORM" } },
	{ "", { "metrics" } },
	{ "list source", { "load", "one", "FILE", "--if-changed" } },
	{ "list chunk source interface pending setting ban ban_before accepted strike feed member said said_before fleet"
	  " fleet_out fleet_at matched leaving ports port chosen scope behind",
	  { "state", "check" } },
};

static const char *const forms[] = { "--quiet", "--json" };

#define READINGS (sizeof(readings) / sizeof(readings[0]))

static char text_file[240], good[1 << 19];
static size_t good_bytes;
static struct spoken {
	int status; /* -1: killed by a signal */
	size_t bytes, errors;
	char out[CLEAN_MAX], err[CLEAN_MAX];
} wanted[2][READINGS], said;

/* --- The state ------------------------------------------------------------------------------------------------------
 */

static void fill(struct state *s, const char *name, enum list_kind kind, uint32_t first)
{
	struct list_info list = { .kind = kind, .loaded = "2026-01-01T00:00:00Z", .format = "plain" };
	struct accepted accepted = { .hand = { 3, 0 }, .day = { 3, 0 }, .day_at = 1 };
	struct source source = { .options = "" };
	int fd = open(text_file, O_RDONLY | O_CLOEXEC);
	struct packer *packer = packer_begin(fd);
	struct ranges set = RANGES_EMPTY;
	struct scope only = { 0 };

	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(list.source, sizeof(list.source), "%s", text_file);
	snprintf(list.addresses, sizeof(list.addresses), "3");
	if (kind == LIST_BAN && first == 0xcb007500) {
		snprintf(list.where, sizeof(list.where), "asn=64500");
		ENOUGH(!scope_add_only(&only, "tcp/22") && scope_text(list.scope, &only));
	}
	snprintf(source.list, sizeof(source.list), "%s", name);
	ENOUGH(packer && !source_locate(source.path, text_file) && !source_look(source.stamp, text_file));
	for (uint32_t i = 0; i < 3; i++)
		ENOUGH(!ranges_add4(&set, first + 2 * i, first + 2 * i));
	ENOUGH(!ranges_finish(&set));
	list.prefixes = ranges_count_prefixes(&set);
	ENOUGH(!state_list_put(s, &list, &set) && !state_source_put(s, &source) && !state_text_put(s, name, packer));
	ENOUGH(!state_accepted_put(s, name, &accepted));
	packer_free(packer);
	ranges_free(&set);
	close(fd);
}

static void make_good(void)
{
	struct pending list = { .kind = PENDING_LIST, .name = "three", .deadline = 4000000000 };
	struct pending link = { .kind = PENDING_INTERFACE, .name = "eth9", .deadline = 4000000000 };
	struct pending banned = { .kind = PENDING_BAN, .name = "203.0.113.0/24", .deadline = 4000000000 };
	struct ban ban = { .first = { 0xcb007100, 4 }, .length = 24, .added = 1, .reason = "a" };
	struct strike strike = { ban.first, ban.length, 1, 1 };
	struct interface_info interface = { "eth9", "native", true, MATCH_BOTH };
	struct interface_info bridge = { "br0", "skb", false, MATCH_DESTINATION };
	struct port_row port = { .name = "eth9", .of = "br0" };
	struct interface_info leaves = { "eth9", "tc", false, MATCH_LEAVING(MATCH_BOTH) };
	static const struct feed feed = {
		.list = "two", .url = "https://example.net/list", .every = 3600, .next = 1, .result = "a list"
	};
	struct member member = { .name = "edge-7", .rule = MEMBER_ACCEPTED, .limits = member_limits_default };
	struct said word = { .ban = ban };
	static const struct fleet joined = {
		.url = "redis://127.0.0.1", .name = "edge-1", .prefix = FLEET_PREFIX, .say = FLEET_SAY_ALL
	};
	static const struct fleet_at at = { .member = "edge-7", .epoch = "0123456789abcdef", .n = 3, .id = "17-3" };
	sqlite3 *db = NULL;
	struct state *s;
	bool renewed;
	FILE *in;
	int fd;

	if (good_bytes)
		return;
	snprintf(text_file, sizeof(text_file), "%s/list", directory);
	fd = open(text_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ENOUGH(fd >= 0 && write(fd, "192.0.2.1\n", 10) == 10 && !close(fd));
	s = opened(true);
	ENOUGH(s);
	fill(s, "one", LIST_BAN, 0xcb007500);
	fill(s, "two", LIST_ALLOW, 0xcb007300);
	fill(s, "three", LIST_SHADOW, 0xcb007400);
	ENOUGH(!state_pending_add(s, &list));
	fill(s, "three", LIST_SHADOW, 0xcb007200);
	ENOUGH(!state_ports_put(s, &bridge) && !state_port_put(s, &port));
	ENOUGH(!state_interface_put(s, &interface) && !state_interface_put(s, &leaves) &&
	       !state_pending_add(s, &link) && !state_ban_put(s, &ban, &renewed));
	ENOUGH(!state_pending_add(s, &banned) && !state_ban_put(s, &ban, &renewed));
	ENOUGH(!state_strike_put(s, &strike) && !state_feed_put(s, &feed));
	ENOUGH(!state_member_put(s, &member));
	word.member = member.id;
	ENOUGH(!state_said_put(s, &word, &renewed) && !state_put(s, "INSERT INTO said_before SELECT * FROM said", ""));
	ENOUGH(!state_behind_put(s, &ban));
	ENOUGH(!state_fleet_join(s, &joined) && !state_fleet_at_put(s, &at) &&
	       !state_own_changed(s, &(struct prefix){ ban.first, ban.length }, &ban, true));
	ENOUGH(!state_set(s, "headroom", 1) && !state_commit(s));
	state_close(s);
	ENOUGH(sqlite3_open(file, &db) == SQLITE_OK &&
	       sqlite3_exec(db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
	in = fopen(file, "re");
	good_bytes = in ? fread(good, 1, sizeof(good), in) : 0;
	ENOUGH(good_bytes && good_bytes < sizeof(good) && !fclose(in));
}

static void begin_with_good(void)
{
	int fd;

	empty_directory();
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ENOUGH(fd >= 0 && write(fd, good, good_bytes) == (ssize_t)good_bytes && !close(fd));
}

/* --- What a verb says -----------------------------------------------------------------------------------------------
 */

static size_t take(int fd, char text[CLEAN_MAX])
{
	ssize_t got = pread(fd, text, CLEAN_MAX - 1, 0);

	text[got < 0 ? 0 : got] = '\0';
	close(fd);
	return got < 0 ? 0 : (size_t)got;
}

static void run(const struct reading *reading, const char *form, struct spoken *to)
{
	int out = memfd_create("out", 0), err = memfd_create("err", 0), status = 0;
	struct context context = own_context;
	char *words[6], copies[6][240];
	int n = 0;
	pid_t pid;

	for (; reading->words[n]; n++) {
		const char *word = reading->words[n];

		snprintf(copies[n], sizeof(copies[n]), "%s",
			 !strcmp(word, "FILE")	 ? text_file
			 : !strcmp(word, "FORM") ? form
						 : word);
		words[n] = copies[n];
	}
	words[n] = NULL;
	context.bpffs = directory; /* nothing is in force */
	context.wait = 1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(out, 1);
		dup2(err, 2);
		alarm(20);
		status = verb_run(verb_find(verbs, &(struct words){ words, n }), &context, &(struct words){ words, n });
		fflush(stdout);
		_exit(status);
	}
	ENOUGH(pid > 0 && waitpid(pid, &status, 0) == pid);
	to->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	to->bytes = take(out, to->out);
	to->errors = take(err, to->err);
}

/* Nothing that a terminal obeys, and nothing that reads as what it is not. */
static bool is_clean(const char *text, size_t bytes)
{
	static const char *const hidden[] = { "\u202e", "\u200b", "\ufeff", "\u061c", "\U000e0041" };

	for (size_t i = 0; i < bytes; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
			return false;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (strstr(text, hidden[i]))
			return false;
	return true;
}

/* --- Damage ---------------------------------------------------------------------------------------------------------
 */

/* Is what lies there now something that a version of ours may have written? */
static bool is_valid(const struct column *c, sqlite3_stmt *stmt)
{
	int type = sqlite3_column_type(stmt, 0);
	int64_t number = sqlite3_column_int64(stmt, 0), bytes = sqlite3_column_bytes(stmt, 0);
	const char *text = (const char *)sqlite3_column_text(stmt, 0);

	if (type == SQLITE_NULL)
		return c->none;
	switch (c->shape) {
	case NUMBER:
		return type == SQLITE_INTEGER && number >= c->least && number <= c->most;
	case REAL:
		return (type == SQLITE_INTEGER || type == SQLITE_FLOAT) &&
		       sqlite3_column_double(stmt, 0) >= (double)c->least &&
		       sqlite3_column_double(stmt, 0) <= (double)c->most;
	case TEXT:
		return type == SQLITE_TEXT && bytes >= c->least && bytes <= c->most &&
		       !memchr(text, '\0', (size_t)bytes) &&
		       (!c->bytes || !text[*c->bytes == '^' ? strcspn(text, c->bytes + 1) : strspn(text, c->bytes)]);
	case BYTES:
		return false;
	default:
		return true;
	}
}

static bool has_no_rowid(const struct column *c)
{
	return !strncmp(c->table, "ban", 3) || !strcmp(c->table, "strike") || !strncmp(c->table, "said", 4) ||
	       !strcmp(c->table, "behind");
}

/* Of lists and their pieces one that is in force, or one that it would go back to. */
static const char *row_of(const struct column *c, bool before)
{
	if (!strcmp(c->table, "chunk"))
		return before ? "list = (SELECT before FROM pending WHERE kind = 0) AND family > 0"
			      : "list = (SELECT id FROM list WHERE name = 'one') AND family > 0";
	if (!strcmp(c->table, "source"))
		return "list = 1";
	return has_no_rowid(c) ? "1" : before ? "name = 'three before'" : "rowid = 1";
}

/* False: it cannot be stored there. */
static bool damage(const struct column *c, bool before, const char *value, bool *valid)
{
	char sql[512], row[64] = "1";
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	bool changed;

	ENOUGH(sqlite3_open(file, &db) == SQLITE_OK);
	if (!has_no_rowid(c)) {
		snprintf(sql, sizeof(sql), "SELECT rowid FROM \"%s\" WHERE %s", c->table, row_of(c, before));
		ENOUGH(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW);
		snprintf(row, sizeof(row), "rowid = %d", sqlite3_column_int(stmt, 0));
		sqlite3_finalize(stmt);
	}
	snprintf(sql, sizeof(sql), "UPDATE OR IGNORE \"%s\" SET \"%s\" = %s WHERE %s AND \"%s\" IS NOT %s", c->table,
		 c->name, value, row, c->name, value);
	ENOUGH(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK || sqlite3_errcode(db) == SQLITE_CONSTRAINT);
	changed = sqlite3_changes(db);
	snprintf(sql, sizeof(sql), "SELECT \"%s\" FROM \"%s\" WHERE %s", c->name, c->table, row);
	ENOUGH(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW);
	*valid = is_valid(c, stmt);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return changed;
}

/* Emulated machines have no bpf(): who asks the kernel reads nothing there. */
static bool cannot_read[READINGS];

/* Everything that reads, on what lies in the file now. */
static bool read_by_all(const struct column *c, bool before, const char *value, bool valid)
{
	static size_t round;
	size_t other = ++round % READINGS, form = round / READINGS % 2;

	for (size_t i = 0; i < READINGS; i++) {
		const struct reading *r = &readings[i];
		const char *verb = r->words[0];

		/* Of those that have nothing to do with it, one. */
		if (cannot_read[i] || ((before ? i != READINGS - 1 : !strstr(r->tables, c->table)) && i != other))
			continue;
		run(r, forms[form], &said);
		if (!CHECK(said.status >= 0, "%s.%s = %s kills %s", c->table, c->name, value, verb) ||
		    !CHECK(said.status <= 2, "%s.%s = %s: %s ends with %d", c->table, c->name, value, verb,
			   said.status) ||
		    !CHECK(is_clean(said.out, said.bytes) && is_clean(said.err, said.errors),
			   "%s.%s = %s: %s says %s%s", c->table, c->name, value, verb, said.out, said.err) ||
		    !CHECK(said.status != 2 || said.errors, "%s.%s = %s: %s ends with 2 and says nothing", c->table,
			   c->name, value, verb) ||
		    !CHECK(valid || said.status == 2 || !strstr(r->tables, c->table) || (before && i != READINGS - 1),
			   "%s.%s = %s: %s takes it: %s", c->table, c->name, value, verb, said.out) ||
		    !CHECK(valid || said.status == 2 ||
				   (said.bytes == wanted[form][i].bytes &&
				    !memcmp(said.out, wanted[form][i].out, said.bytes)),
			   "%s.%s = %s: %s says %s", c->table, c->name, value, verb, said.out))
			return false;
	}
	return true;
}

static bool recovers(const struct column *c, const char *value)
{
	static struct recovered r;
	size_t faults = 0;
	int err = state_recover(&own_context, file, NULL, &r);

	if (!CHECK(!err, "%s.%s = %s: not recovered: %s", c->table, c->name, value, reason(err)))
		return false;
	for (size_t i = 0; i < r.lost_n; i++)
		if (!CHECK(is_clean(r.lost[i].name, strlen(r.lost[i].name)) &&
				   is_clean(r.lost[i].source, strlen(r.lost[i].source)),
			   "%s.%s = %s: what is lost is shown as %s", c->table, c->name, value, r.lost[i].name))
			return false;
	run(&readings[READINGS - 1], forms[0], &said);
	return CHECK(!said.status && !faults, "%s.%s = %s: after recover: %s", c->table, c->name, value, said.err);
}

#define DAMAGES (sizeof(damages) / sizeof(damages[0]))

/* The first number below what a column may have, or above it; NULL: there is none. */
static const char *just_outside(const struct column *c, bool above)
{
	static char text[24];

	if (c->shape != NUMBER || (above && c->most == INT64_MAX) || (!above && c->least == INT64_MIN))
		return NULL;
	snprintf(text, sizeof(text), "%lld", (long long)(above ? c->most + 1 : c->least - 1));
	return text;
}

static void each_field(void)
{
	const char *which = getenv("FAULTS");
	size_t sample = which && !strcmp(which, "all") ? 1 : 4, part = ktap_random() % sample;
	bool valid;

	make_good();
	for (size_t i = 0; i < 2 * READINGS; i++) {
		struct spoken *is = &wanted[i % 2][i / 2];

		begin_with_good();
		run(&readings[i / 2], forms[i % 2], is);
		cannot_read[i / 2] = is->status == 2 && strstr(is->err, strerror(ENOSYS));
		if (cannot_read[i / 2])
			continue;
		if (!CHECK(is->status >= 0 && is->status < 2, "%s ends with %d: %s", readings[i / 2].words[0],
			   is->status, is->err))
			return;
	}
	for (size_t i = 0; i < 2 * sizeof(columns) / sizeof(columns[0]); i++) {
		const struct column *c = &columns[i / 2];
		bool before = i % 2;

		if (before && strcmp(c->table, "list") != 0 && strcmp(c->table, "chunk") != 0)
			continue;
		/* To save it takes longest: of three damages that look alike to its reader, one. */
		for (size_t d = (i + part) % sample; d < DAMAGES + 2; d += sample) {
			const char *value = d < DAMAGES ? damages[d] : just_outside(c, d - DAMAGES);

			begin_with_good();
			if (value && damage(c, before, value, &valid) &&
			    (!read_by_all(c, before, value, valid) ||
			     (!valid && (i + d / sample) % 3 == 0 && !recovers(c, value))))
				return;
		}
	}
	unlink(text_file);
}

/* All rows, without the numbers that SQLite gives them. What a fleet's server is told is told again. */
static void rows_of(char *text, size_t size)
{
	static const char *const not_these[] = { "id", "before", "list", "again" };
	sqlite3_stmt *tables = NULL;
	sqlite3 *db = NULL;
	size_t n = 0;

	ENOUGH(sqlite3_open(file, &db) == SQLITE_OK &&
	       sqlite3_prepare_v2(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'fleet_out'", -1,
				  &tables, NULL) == SQLITE_OK);
	while (sqlite3_step(tables) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(tables, 0);
		sqlite3_stmt *rows = NULL;
		char sql[128];

		snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"", table);
		ENOUGH(sqlite3_prepare_v2(db, sql, -1, &rows, NULL) == SQLITE_OK);
		while (sqlite3_step(rows) == SQLITE_ROW) {
			n += (size_t)snprintf(text + n, size - n, "%s", table);
			for (int c = 0; c < sqlite3_column_count(rows); c++) {
				const char *name = sqlite3_column_name(rows, c);
				bool is_left_out = false;

				ENOUGH(n < size - 1000);
				for (size_t i = 0; i < sizeof(not_these) / sizeof(*not_these); i++)
					is_left_out = is_left_out || !strcmp(name, not_these[i]);
				if (!is_left_out)
					n += (size_t)snprintf(text + n, size - n, " %s=%.200s", name,
							      (const char *)sqlite3_column_text(rows, c));
			}
			n += (size_t)snprintf(text + n, size - n, "\n");
		}
		sqlite3_finalize(rows);
	}
	sqlite3_finalize(tables);
	sqlite3_close(db);
}

/* Of what is sound, nothing is lost. */
static void nothing_is_lost(void)
{
	static char before[1 << 18], after[1 << 18];
	static struct recovered r;
	char *line, *rest = before;

	make_good();
	begin_with_good();
	rows_of(before, sizeof(before));
	ENOUGH(!state_recover(&own_context, file, NULL, &r));
	CHECK(!r.lost_n, "%zu lists are lost", r.lost_n);
	rows_of(after, sizeof(after));
	while ((line = strsep(&rest, "\n")))
		/* How many bans there are is counted again when it is asked for. */
		CHECK(strstr(after, line) || strstr(line, "name=bans of"), "it is lost: %s", line);
}

static void run_sql(const char *sql)
{
	sqlite3 *db = NULL;

	ENOUGH(sqlite3_open(file, &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
}

static int put_lists_again(struct state *s)
{
	static const char *const names[] = { "one", "two", "three" };
	struct source *sources = NULL;
	struct accepted accepted;
	struct list_info list;
	struct ranges set;
	size_t n = 0;
	int err = state_sources(s, &sources, &n);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !err; i++) {
		set = RANGES_EMPTY;
		err = state_accepted_get(s, names[i], &accepted) ?: state_list_get(s, names[i], &list) ?:
		      state_list_set(s, names[i], &set) ?: state_list_put(s, &list, &set) ?:
		      state_accepted_put(s, names[i], &accepted);
		ranges_free(&set);
	}
	for (size_t i = 0; i < n && !err; i++)
		err = state_source_put(s, &sources[i]);
	free(sources);
	return err;
}

static int put_fleet_again(struct state *s)
{
	struct fleet_at *at = NULL;
	struct fleet fleet;
	struct member *members = NULL;
	struct said *words = NULL;
	size_t members_n = 0, words_n = 0, at_n = 0;
	bool fresh;
	int err = state_members(s, &members, &members_n) ?: state_said(s, &words, &words_n) ?:
		  state_fleet_ats(s, &at, &at_n) ?: state_fleet(s, &fleet) ?: state_fleet_join(s, &fleet);

	for (size_t i = 0; i < members_n && !err; i++)
		err = state_member_put(s, &members[i]);
	for (size_t i = 0; i < words_n && !err; i++)
		err = state_said_put(s, &words[i], &fresh);
	for (size_t i = 0; i < at_n && !err; i++)
		err = state_fleet_at_put(s, &at[i]);
	CHECK(err || (members_n && words_n && at_n), "nothing is there");
	free(members);
	free(words);
	free(at);
	return err;
}

static int put_interfaces_again(struct state *s)
{
	struct interface_info *interfaces = NULL, *rules = NULL;
	struct port_row *ports = NULL;
	size_t n = 0, rules_n = 0, ports_n = 0;
	int err = state_interfaces(s, &interfaces, &n) ?: state_ports(s, &rules, &rules_n) ?:
		  state_port_rows(s, &ports, &ports_n);

	for (size_t i = 0; i < n && !err; i++)
		err = state_interface_put(s, &interfaces[i]);
	for (size_t i = 0; i < rules_n && !err; i++)
		err = state_ports_put(s, &rules[i]);
	for (size_t i = 0; i < ports_n && !err; i++)
		err = state_port_put(s, &ports[i]);
	CHECK(err || (n == 2 && rules_n && ports_n), "nothing is there");
	free(interfaces);
	free(rules);
	free(ports);
	return err;
}

/* The text of a list is not put; how many bans there are is counted when it is asked for. */
static void lines_are_in(const char *lines, const char *text, const char *what)
{
	static char copy[1 << 18];
	char *line, *rest = strcpy(copy, lines);

	while ((line = strsep(&rest, "\n")))
		CHECK(strstr(text, line) || !strncmp(line, "chunk", 5) || strstr(line, "name=bans"), "%s: %s", what,
		      line);
}

/* What is read and put again is what it was: no field is lost, and none is another's. */
static void put_again(void)
{
	static char before[1 << 18], after[1 << 18];
	struct state *s;
	int err;

	make_good();
	begin_with_good();
	run_sql("UPDATE member SET entries = 101, ttl = 102, wide4 = 23, wide6 = 47, rate = 1.5, shadow = 1, quorum = 3,"
		" heard = 103, free_at = 104, taken = 105, ended = 106, refused = 107, why = 'w';"
		"UPDATE said SET added = 108, reason = 'r';"
		"UPDATE fleet SET user = 'u', password = '/p', say = 's', epoch = 'fedcba9876543210', n = 109, reads = 'rr',"
		" pace = 110, ca = '/c';"
		"UPDATE accepted SET hand4 = 111, hand6 = 112, day4 = 113, day6 = 114, wide4 = 115, wide6 = 116,"
		" day_at = 117;"
		"UPDATE source SET stamp = 'st', options = 'o';"
		"UPDATE leaving SET match = 1; UPDATE ports SET shared = 1, leaves = 1;"
		"UPDATE port SET leaves = 1");
	rows_of(before, sizeof(before));
	s = opened(true);
	if (!s)
		return;
	err = put_lists_again(s) ?: put_fleet_again(s) ?: put_interfaces_again(s) ?: state_commit(s);
	CHECK(!err, "not put: %s", reason(err));
	state_close(s);
	rows_of(after, sizeof(after));
	lines_are_in(before, after, "it was");
	lines_are_in(after, before, "it is");
}

/* Of numbers and names that have bounds, what is just within them and what is just without. */
static void bounds(void)
{
	static const struct {
		const char *sql;
		bool sound;
	} rows[] = {
		{ "UPDATE fleet SET name = '*'", false },
		{ "UPDATE fleet_at SET member = '*'", false },
		{ "UPDATE member SET name = '*'", true },
		{ "UPDATE fleet SET epoch = ''", true },
		{ "UPDATE fleet SET epoch = '0123456789abcde'", false },
		{ "UPDATE fleet SET epoch = '0123456789abcdeg'", false },
		{ "UPDATE fleet_at SET epoch = '0123456789abcde'", false },
		{ "INSERT INTO setting VALUES ('on eth9 limit_syn', 1)", true },
		{ "INSERT INTO setting VALUES ('on eth9 limit_syn', 0.9)", false },
		{ "INSERT INTO setting VALUES ('on eth9 limit_bytes', 2000)", true },
		{ "INSERT INTO setting VALUES ('on eth9 limit_bytes', 1999)", false },
		{ "INSERT INTO setting VALUES ('on eth9 limit_bytes', 1e11)", true },
		{ "INSERT INTO setting VALUES ('on eth9 limit_bytes', 100000000001)", false },
		{ "INSERT INTO setting VALUES ('on eth9 limit_syn_then', 2)", true },
		{ "INSERT INTO setting VALUES ('on eth9 limit_syn_then', 3)", false },
		{ "INSERT INTO setting VALUES ('on eth9 limit_syn_burst', 9007199254740992)", true },
		{ "INSERT INTO setting VALUES ('on eth9 limit_syn_burst', 9007199254740994)", false },
		{ "INSERT INTO setting VALUES ('on abcdefghijklmno limit_syn', 5)", true },
		{ "INSERT INTO setting VALUES ('on abcdefghijklmnop limit_syn', 5)", false },
		{ "INSERT INTO setting VALUES ('limit_syn', 0)", true }, /* none */
		{ "INSERT INTO setting VALUES ('limit_syn', 0.9)", false },
		{ "INSERT INTO setting VALUES ('limit_bytes', 1999)", false },
		{ "INSERT INTO setting VALUES ('limit_syn_then', 2)", true },
		{ "INSERT INTO setting VALUES ('limit_syn_then', 3)", false },
		{ "INSERT INTO setting VALUES ('ladder_8', 31536000)", true },
		{ "INSERT INTO setting VALUES ('ladder_8', 31536001)", false },
		{ "INSERT INTO setting VALUES ('guarded port 65535', 1)", true },
		{ "INSERT INTO setting VALUES ('guarded port 65536', 1)", false },
		{ "INSERT INTO setting VALUES ('guarded port 000001', 1)", false },
		{ "INSERT INTO setting VALUES ('guarded port 1x', 1)", false },
		{ "INSERT INTO setting VALUES ('guarded port ', 1)", false },
		{ "INSERT INTO setting VALUES ('granted 192.0.2.1', 1)", true },
		{ "INSERT INTO setting VALUES ('granted 192.0.2', 1)", false },
		{ "INSERT INTO setting VALUES ('fleet server 2001:db8::1', 1)", true },
		{ "INSERT INTO setting VALUES ('fleet server one', 1)", false },
		{ "INSERT INTO setting VALUES ('server list drop 2001:db8::1', 1)", true },
		{ "INSERT INTO setting VALUES ('server list drop', 1)", false },
		{ "INSERT INTO setting VALUES ('server list drop one', 1)", false },
		{ "INSERT INTO setting VALUES ('server list  192.0.2.1', 1)", false },
		{ "INSERT INTO setting VALUES ('server list a b 192.0.2.1', 1)", false },
		{ "INSERT INTO setting VALUES ('server list ', 1)", false },
		{ "INSERT INTO setting VALUES ('server agent 192.0.2.1', 1800000000)", true },
		{ "INSERT INTO setting VALUES ('server agent 192.0.2.', 1800000000)", false },
		{ "INSERT INTO setting VALUES ('server agent one 192.0.2.1', 1800000000)", false },
		{ "INSERT INTO setting VALUES ('proven eth9', 1)", true },
		{ "INSERT INTO setting VALUES ('proven ..', 1)", false },
		{ "INSERT INTO setting VALUES ('left out of 4 one', 6)", true },
		{ "INSERT INTO setting VALUES ('left out of 6 one', 0)", false },
		{ "INSERT INTO setting VALUES ('trusted three', 1000)", true },
		{ "INSERT INTO setting VALUES ('trusted three', 1001)", false },
		{ "INSERT INTO setting VALUES ('trusted three', 0.5)", false },
		{ "INSERT INTO setting VALUES ('line 1', 2000)", true },
		{ "INSERT INTO setting VALUES ('line 1', 2000.5)", false },
		{ "INSERT INTO setting VALUES ('line 1', 0)", false },
		{ "INSERT INTO setting VALUES ('of a newer version', 5)", true },
	};

	make_good();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_with_good();
		run_sql(rows[i].sql);
		run(&readings[READINGS - 1], forms[0], &said);
		CHECK(said.status == (rows[i].sound ? 0 : 2), "%s: state check ends with %d: %s%s", rows[i].sql,
		      said.status, said.out, said.err);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "nothing is lost", nothing_is_lost },
						  { "read and put again", put_again },
						  { "within bounds, and without", bounds },
						  { "each field, damaged in each way", each_field } };

	/* What it makes is made anew a thousand times: in memory, where there is such a place. */
	if (!access("/dev/shm", W_OK))
		setenv("TMPDIR", "/dev/shm", 0);
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
