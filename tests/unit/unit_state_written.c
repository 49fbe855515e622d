// SPDX-License-Identifier: GPL-2.0-only
/* What each change of the state writes: every row that is not what it was, word for word. */
#include <stdarg.h>
#include <time.h>

#include "own_state.h"
#include "no_disk.h"
#include "shown.h"

#include "base/clock.h"
#include "base/log.h"
#include "filter/ladder.h"
#include "state/accepted.h"
#include "state/bans_internal.h"
#include "state/feeds.h"
#include "state/fleet.h"
#include "state/grants.h"
#include "state/line_times.h"
#include "state/members.h"
#include "state/said.h"
#include "state/sources.h"

static int64_t today, started; /* the clocks */

#define time(where)  today
#define clock_boot() started
#include "state/pending.c"
#define put fleet_put
#include "state/fleet.c"
#undef put
#undef COLUMNS
#include "state/said.c"
#undef time
#undef clock_boot

static const struct shown known[] = {
#include "unit_state_written.txt"
};

static struct shows shows = {
	"tests/unit/unit_state_written.txt", known, sizeof(known) / sizeof(*known), NULL, 0, 0, false
};

/* --- Rows --- */

struct rows {
	char at[200][400];
	size_t n;
};

static struct state *state;
static struct rows before;

__attribute__((format(printf, 2, 3))) static void more(char row[400], const char *fmt, ...)
{
	size_t n = strlen(row);
	va_list args;

	va_start(args, fmt);
	vsnprintf(row + n, 400 - n, fmt, args);
	va_end(args);
}

/* A time is seconds from now on, and of this start of the machine. */
static void value(char row[400], sqlite3_stmt *stmt, int column)
{
	const char *name = sqlite3_column_name(stmt, column);
	const unsigned char *bytes = sqlite3_column_blob(stmt, column);
	int n = sqlite3_column_bytes(stmt, column), type = sqlite3_column_type(stmt, column);
	int64_t number = sqlite3_column_int64(stmt, column);
	char id[BOOT_ID_MAX];

	/* Ranges are kept as this machine has numbers. */
	if (!strcmp(name, "data")) {
		more(row, " %d bytes", n);
	} else if (type == SQLITE_BLOB) {
		more(row, " ");
		for (int i = 0; i < n; i++)
			more(row, "%02x", bytes[i]);
	} else if (type == SQLITE_TEXT && !strcmp(name, "boot")) {
		more(row, " %s",
		     !strcmp((const char *)bytes, clock_boot_id(id)) ? "(this start)" : (const char *)bytes);
	} else if (type == SQLITE_INTEGER && !strcmp(name, "due")) {
		more(row, " due in %lld s", (long long)((number - started + 5000000000) / 10000000000 * 10));
	} else if (type == SQLITE_FLOAT && llabs(number) > today - 1000000 && llabs(number) < today + 1000000) {
		more(row, number < 0 ? " a time, negative" : " a time");
	} else if (type == SQLITE_INTEGER && number > today - 1000000 && number < today + 1000000) {
		more(row, " in %lld s", (long long)(number - today));
	} else if (type == SQLITE_NULL) {
		more(row, " NULL");
	} else {
		more(row, " '%s'", sqlite3_column_text(stmt, column));
	}
}

static void take_table(struct rows *r, const char *table)
{
	char sql[128];
	sqlite3_stmt *stmt;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s", table);
	stmt = state_prepare(state, sql);
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW && CHECK(r->n < 200, "too many rows")) {
		snprintf(r->at[r->n], sizeof(r->at[0]), "%s:", table);
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			if (strcmp(table, "chunk") || (i != 1 && i != 4))
				value(r->at[r->n], stmt, i);
		/* Which start it is differs from each to the next. */
		r->n += strstr(r->at[r->n], "setting: 'started'") == NULL;
	}
	sqlite3_finalize(stmt);
}

static void take_rows(struct rows *r)
{
	sqlite3_stmt *stmt = state_prepare(state, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");

	r->n = 0;
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		take_table(r, (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	/* -1: they are to be counted again. */
	snprintf(r->at[r->n++], sizeof(r->at[0]), "so many bans: %d", (int)state->bans);
}

static void rows_only_in(const char *how, const struct rows *is, const struct rows *others)
{
	for (size_t i = 0; i < is->n; i++) {
		size_t k = 0;

		while (k < others->n && strcmp(is->at[i], others->at[k]))
			k++;
		if (k == others->n)
			printf("    %s %s\n", how, is->at[i]);
	}
}

static const char *without_directory(const char *text)
{
	size_t n = strlen(directory);

	return strncmp(text, directory, n) ? text : text + n + strlen(": ");
}

static void step(const char *what, int err)
{
	static struct rows after;
	char name[160];

	snprintf(name, sizeof(name), "%s", what);
	for (char *at = name; (at = strchr(at, '"'));)
		*at = '\'';
	printf("  %s: %s\n", name, err > 0 ? "1" : err ? without_directory(reason(err)) : "done");
	take_rows(&after);
	rows_only_in("-", &before, &after);
	rows_only_in("+", &after, &before);
	before = after;
}

#define STEP(call) step(#call, call)

/* --- What there is --- */

#define BANNED	((struct addr){ 0xc6336401, 4 })
#define WIDER	((struct addr){ 0xc6336400, 4 })
#define BANNED6 ((struct addr){ (ip6)0x20010db8 << 96, 6 })

static const struct prefix banned = { { 0xc6336401, 4 }, 32 }, wider = { { 0xc6336400, 4 }, 24 };
static struct ranges some, few;
static struct member member = { .name = "edge-7", .rule = MEMBER_ACCEPTED };
static bool flag;

static struct ban ban_of_prefix(const struct prefix *p, int64_t seconds, const char *why)
{
	struct ban ban = { .first = p->first, .length = p->length, .added = today };

	if (seconds) {
		ban.expires = today + seconds;
		ban.due = started + seconds * 1000000000;
	}
	snprintf(ban.reason, sizeof(ban.reason), "%s", why);
	return ban;
}

static int put_ban(const struct prefix *p, int64_t seconds, const char *why)
{
	struct ban ban = ban_of_prefix(p, seconds, why);

	return state_ban_put(state, &ban, &flag);
}

static int say(const struct prefix *p, int64_t seconds, const char *why)
{
	struct said said = { ban_of_prefix(p, seconds, why), member.id };

	return state_said_put(state, &said, &flag);
}

static int put_list(const char *name, enum list_kind kind, const char *scope, const char *where,
		    const struct ranges *set)
{
	struct list_info list = { .kind = kind,
				  .times = kind == LIST_TRUST,
				  .prefixes = ranges_count_prefixes(set),
				  .addresses = "2",
				  .source = "a file",
				  .loaded = "2026-01-01T00:00:00Z" };

	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(list.scope, sizeof(list.scope), "%s", scope);
	snprintf(list.where, sizeof(list.where), "%s", where);
	return state_list_put(state, &list, set);
}

static int put_source(const char *list, const char *path, const char *options)
{
	struct source source = { .stamp = "1" };

	snprintf(source.list, sizeof(source.list), "%s", list);
	snprintf(source.path, sizeof(source.path), "%s", path);
	snprintf(source.options, sizeof(source.options), "%s", options);
	return state_source_put(state, &source);
}

static int put_accepted(const char *list, double hand)
{
	struct accepted accepted = { .known = true, .hand = { hand, 2 }, .day_at = 5 }, is = { 0 };
	int err;

	accepted.left = (struct amounts){ hand > 5 ? 6 : 0, hand > 8 ? 7 : 0 };
	err = state_accepted_put(state, list, &accepted) ?: state_accepted_get(state, list, &is);
	CHECK(err || (is.left.v4 == accepted.left.v4 && is.left.v6 == accepted.left.v6), "%g and %g were left out",
	      is.left.v4, is.left.v6);
	return err;
}

static int put_feed(const char *list, const char *url)
{
	struct feed feed = { .every = 3600 };

	snprintf(feed.list, sizeof(feed.list), "%s", list);
	snprintf(feed.url, sizeof(feed.url), "%s", url);
	/* Each of its own. */
	feed.servers[feed.servers_n++] = (struct addr){ 0xc0000200 | (unsigned char)url[strlen(url) - 1], 4 };
	return state_feed_put(state, &feed);
}

static int64_t server_user;

static int join(const char *url, const char *name, const char *prefix)
{
	struct fleet fleet = { .say = FLEET_SAY_ADD, .server_user = server_user };

	snprintf(fleet.url, sizeof(fleet.url), "%s", url);
	snprintf(fleet.name, sizeof(fleet.name), "%s", name);
	snprintf(fleet.prefix, sizeof(fleet.prefix), "%s", prefix);
	return state_fleet_join(state, &fleet);
}

#define URL "redis://192.0.2.1"

static int at_put(const char *name, int64_t n)
{
	struct fleet_at at = { .n = n, .id = "1-1" };

	snprintf(at.member, sizeof(at.member), "%s", name);
	return state_fleet_at_put(state, &at);
}

static int fill(void)
{
	return put_list("one", LIST_BAN, "tcp/22", "asn=64500", &some) ?:
	       put_list("two", LIST_BAN, "", "", &some) ?:
	       put_list("scoped", LIST_SHADOW, "udp/53", "", &few) ?:
	       put_source("one", "/list", "-f csv") ?:
	       put_accepted("one", 1) ?:
	       put_feed("one", "https://example.net/one") ?:
	       put_ban(&banned, 0, "mine") ?:
	       put_ban(&wider, 3600, "ends") ?:
	       state_member_put(state, &member) ?:
	       join(URL, "edge-1", "") ?:
	       say(&banned, 7200, "theirs") ?:
	       at_put("edge-7", 1) ?:
	       at_put("edge-8", 2) ?:
	       state_set(state, "k", 4);
}

static void open_state(void)
{
	state = opened(true);
	ENOUGH(state);
	take_rows(&before);
}

static void close_state(void)
{
	state_close(state);
}

/* --- What waits --- */

static struct pending waits(enum pending_kind kind, const char *name)
{
	struct pending p = { .kind = kind, .deadline = today + 600, .due = started + 600000000000 };

	snprintf(p.name, sizeof(p.name), "%s", name);
	return p;
}

static struct pending now_waits;

static int add(enum pending_kind kind, const char *name)
{
	now_waits = waits(kind, name);
	return state_pending_add(state, &now_waits);
}

static int undo_it(void)
{
	return state_pending_undo(state, &now_waits);
}

static int forget_it(void)
{
	return state_pending_forget(state, now_waits.kind, now_waits.name);
}

static int confirm(void)
{
	return state_pending_confirm(state);
}

static int flush(void)
{
	return state_pending_flush(state);
}

static int drop_it(const char *name)
{
	now_waits = waits(PENDING_LIST, name);
	return state_pending_drop(state, &now_waits);
}

/* Added, changed, and then each way that it ends. */
static int (*const ends[])(void) = { undo_it, forget_it, confirm, flush };
static const char *const end_names[] = { "it goes back", "it is forgotten", "all stays", "it is flushed" };

static void each_end(void (*changes)(void))
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		open_state();
		if (i) {
			FILE *seen = stdout;

			stdout = fopen("/dev/null", "w");
			ENOUGH(stdout);
			changes();
			fclose(stdout);
			stdout = seen;
		} else {
			changes();
		}
		step(end_names[i], ends[i]());
		close_state();
	}
}

static void list_changes(void)
{
	STEP(add(PENDING_LIST, "one"));
	STEP(put_list("one", LIST_SHADOW, "", "asn=64501", &few));
	STEP(put_source("one", "/list", "-f hosts"));
	STEP(put_accepted("one", 9));
	STEP(put_feed("one", "https://example.net/two"));
}

static void source_changes(void)
{
	STEP(add(PENDING_LIST, "one"));
	STEP(put_list("one", LIST_BAN, "udp/53", "", &few));
	STEP(put_source("one", "/other", ""));
}

static void new_list(void)
{
	STEP(add(PENDING_LIST, "new"));
	STEP(put_list("new", LIST_BAN, "", "", &few));
	STEP(put_feed("new", "https://example.net/new"));
}

static void dropped(void)
{
	STEP(drop_it("one"));
}

static void dropped_and_new(void)
{
	STEP(drop_it("scoped"));
	STEP(put_list("third", LIST_BAN, "", "", &few));
}

#define LONG_NAME "as-long-as-a-name-may-be-45678901234567890123456789012345678901"

static void long_name_is_dropped(void)
{
	STEP(put_list(LONG_NAME, LIST_BAN, "", "", &few));
	STEP(drop_it(LONG_NAME));
}

static void setting_changes(void)
{
	STEP(add(PENDING_SETTING, "k"));
	STEP(state_set(state, "k", 5));
}

static void new_setting(void)
{
	STEP(add(PENDING_SETTING, "other"));
	STEP(state_set(state, "other", 5));
}

static void kind_changes(void)
{
	STEP(add(PENDING_LIST_KIND, "two"));
	STEP(state_list_set_kind(state, "two", LIST_SHADOW));
}

static void kind_of_scoped_changes(void)
{
	STEP(add(PENDING_LIST_KIND, "scoped"));
	STEP(state_list_set_kind(state, "scoped", LIST_BAN));
}

static void ban_changes(void)
{
	STEP(add(PENDING_BAN, "198.51.100.1"));
	STEP(state_ban_drop(state, banned.first, banned.length));
}

static void new_ban(void)
{
	struct prefix p = { BANNED6, 64 };

	STEP(add(PENDING_BAN, "2001:db8::/64"));
	STEP(put_ban(&p, 60, "new"));
}

static void interface_comes(void)
{
	STEP(add(PENDING_INTERFACE, "eth9"));
	STEP(state_interface_put(state, &(struct interface_info){ "eth9", "native", true, MATCH_BOTH }));
}

static void image_comes(void)
{
	STEP(add(PENDING_IMAGE, PENDING_IMAGE_NAME));
	STEP(state_bans_clear(state));
	STEP(state_set(state, "image", 3));
	STEP(put_ban(&banned, 60, "since"));
	STEP(put_ban(&wider, 7200, "since"));
}

static void beside_another_image(void)
{
	STEP(state_set(state, "image", 3));
	STEP(add(PENDING_IMAGE, PENDING_IMAGE_NAME));
	STEP(state_set(state, "image", 4));
	STEP(put_ban(&banned, 60, "since"));
}

static void beside_what_is_granted(void)
{
	STEP(state_grant(state, BANNED, waits(PENDING_BAN, "198.51.100.0/24").deadline));
	STEP(add(PENDING_BAN, "198.51.100.0/24"));
}

#define SCENE(what)                   \
	static void what##_ends(void) \
	{                             \
		each_end(what);       \
	}
SCENE(list_changes)
SCENE(source_changes)
SCENE(new_list)
SCENE(dropped)
SCENE(dropped_and_new)
SCENE(long_name_is_dropped)
SCENE(setting_changes)
SCENE(new_setting)
SCENE(kind_changes)
SCENE(kind_of_scoped_changes)
SCENE(ban_changes)
SCENE(new_ban)
SCENE(interface_comes)
SCENE(image_comes)
SCENE(beside_another_image)
SCENE(beside_what_is_granted)

static int no_prefix(int (*does)(void))
{
	now_waits = waits(PENDING_BAN, "no prefix");
	return does();
}

static int has(enum pending_kind kind, const char *name)
{
	return state_pending_has(state, kind, name);
}

static void asked(void)
{
	open_state();
	STEP(state_pending_any(state, PENDING_LIST));
	STEP(has(PENDING_LIST, "one"));
	STEP(add(PENDING_LIST, "one"));
	STEP(state_pending_any(state, PENDING_LIST));
	STEP(state_pending_any(state, PENDING_BAN));
	STEP(has(PENDING_LIST, "one"));
	STEP(has(PENDING_LIST, "two"));
	STEP(has(PENDING_LIST_KIND, "one"));
	STEP(add(PENDING_LIST, "one"));
	STEP(add(PENDING_BAN, "no prefix"));
	STEP(add(PENDING_INTERFACE, "eth9"));
	STEP(state_pending_over(state));
	STEP(no_prefix(undo_it));
	STEP(no_prefix(forget_it));
	close_state();
}

/* As it is read, whoever wrote it. */
static void read_rows(void)
{
	static const char *const texts[] = {
		"1, 'eth9', 10, NULL, NULL, NULL",
		"1, 'eth9', 10, NULL, 7, NULL",
		"1, 'eth9', 10, NULL, 7, 'another start'",
		"1, 'eth9', 10, NULL, 0, 'another start'",
		"1, 'eth9', 10, NULL, 7, (SELECT boot FROM pending)",
		"1, 'eth9', 10, NULL, NULL, (SELECT boot FROM pending)",
		"1, 'eth9', 10, NULL, 7, ''",
		"0, '', 10, NULL, NULL, NULL",
		"0, 'one', 10, 0, NULL, NULL",
		"0, 'one', 10, 1, NULL, NULL",
		"1, 'eth9', 10, 1, NULL, NULL",
		"2, 'k', 10, 1, NULL, NULL",
		"2, 'exact', 10, 7, NULL, NULL",
		"2, 'headroom', 10, -1, NULL, NULL",
		"3, '198.51.100.1', 10, 1, NULL, NULL",
		"4, 'the image', 10, 1, NULL, NULL",
		"4, 'the image', 10, -1, NULL, NULL",
		"5, 'one', 10, -1, NULL, NULL",
		"5, 'one', 10, 0, NULL, NULL",
		"5, 'one', 10, 2, NULL, NULL",
		"5, 'one', 10, 3, NULL, NULL",
		"6, 'one', 10, NULL, NULL, NULL",
		"-1, 'one', 10, NULL, NULL, NULL",
		"0, 'one', 10, NULL, -1, NULL",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) + 1; i++) {
		char sql[200];
		struct pending *all;
		size_t n;
		int err;

		open_state();
		ENOUGH(!add(PENDING_INTERFACE, "eth8"));
		snprintf(sql, sizeof(sql), "INSERT INTO pending SELECT %s; DELETE FROM pending WHERE deadline > 10",
			 i < sizeof(texts) / sizeof(*texts) ? texts[i] : texts[2]);
		ENOUGH(!state_run(state, sql));
		/* One of before there were such ends. */
		if (i == sizeof(texts) / sizeof(*texts))
			state->version = VERSION_DUE - 1;
		err = state_pending(state, &all, &n);
		if (err)
			printf("  %s: %s\n", i < sizeof(texts) / sizeof(*texts) ? texts[i] : "older",
			       without_directory(reason(err)));
		for (size_t k = 0; k < n; k++)
			printf("  %s: %d '%s', until %d, due %d, rebooted %d, undated %d\n",
			       i < sizeof(texts) / sizeof(*texts) ? texts[i] : "older", all[k].kind, all[k].name,
			       (int)all[k].deadline, (int)all[k].due, all[k].rebooted, all[k].undated);
		free(all);
		close_state();
	}
}

static void what_is_left(void)
{
	static const int64_t deadlines[] = { -1, 0, 1, INT32_MAX - 1LL, INT32_MAX }, dues[] = { 0, -1, 5, 6 };

	for (int how = 0; how < 8; how++)
		for (size_t i = 0; i < sizeof(deadlines) / sizeof(*deadlines); i++) {
			printf("  %s%suntil %lld%s:", how & 1 ? "rebooted, " : "", how & 2 ? "undated, " : "",
			       (long long)deadlines[i], how & 4 ? ", where it is 1 at least" : "");
			for (size_t k = how & 2 ? 1 : 0; k < sizeof(dues) / sizeof(*dues); k++) {
				struct pending p = { .deadline = today + deadlines[i],
						     .due = k ? started + dues[k] - 5 + (k == 1) : 0,
						     .rebooted = how & 1,
						     .undated = how & 2 };

				printf(" %lld", (long long)pending_left(&p, how & 4 ? today + 1 : today - 1));
			}
			puts("");
		}
}

/* --- The fleet --- */

static int own_changed(const struct prefix *p, const char *why, bool fresh)
{
	struct ban ban = ban_of_prefix(p, 0, why ? why : "");

	return state_own_changed(state, p, why ? &ban : NULL, fresh);
}

static int at_move(const char *name, bool *there)
{
	struct fleet_at at = { .n = 7, .epoch = "0123456789abcdef", .id = "7-1" };

	snprintf(at.member, sizeof(at.member), "%s", name);
	return state_fleet_at_move(state, &at, there);
}

static void print_out(size_t most)
{
	struct fleet_out *out;
	char text[PREFIX_TEXT_MAX];
	int64_t waiting, last;
	size_t n;

	ENOUGH(!state_fleet_out(state, most, &out, &n) && !state_fleet_waiting(state, &waiting) &&
	       !state_fleet_out_last(state, &last));
	printf("  of %d, the last %d, at most %zu:", (int)waiting, (int)last, most);
	for (size_t i = 0; i < n; i++)
		printf(" %d %s", (int)out[i].number, prefix_text(text, out[i].first, (int)out[i].length));
	puts("");
	free(out);
}

static void print_ats(void)
{
	struct fleet_at *at;
	size_t n;

	ENOUGH(!state_fleet_ats(state, &at, &n));
	for (size_t i = 0; i < n; i++)
		printf("  %s: %d '%s' '%s'\n", at[i].member, (int)at[i].n, at[i].epoch, at[i].id);
	free(at);
}

static void print_server_user(void)
{
	struct fleet is;
	int err = state_fleet(state, &is);

	printf("  its server may be user %lld's%s\n", (long long)is.server_user, err ? ", but it has none" : "");
}

static void fleet_steps(void)
{
	bool there;

	STEP(join(URL, "edge-1", ""));
	STEP(own_changed(&banned, "typed", true));
	STEP(own_changed(&wider, "detector: x", true));
	STEP(own_changed(&wider, "detector: x", false));
	STEP(own_changed(&banned, NULL, true));
	print_out(1);
	print_out(2);
	STEP(state_fleet_said(state, "0123456789abcdef", 5, 2, 0));
	print_out(9);
	STEP(state_fleet_said(state, "0123456789abcdef", 6, 3, 7));
	STEP(state_fleet_said(state, "0123456789abcdef", 6, 3, 2));
	STEP(join(URL, "edge-1", ""));
	STEP(join(URL, "edge-2", ""));
	STEP(at_put("edge-7", 3));
	STEP(at_move("edge-8", &there));
	printf("  there %d\n", there);
	STEP(at_move("edge-9", &there));
	printf("  there %d\n", there);
	print_ats();
	STEP(join(URL, "edge-2", "b:"));
	STEP(at_put("edge-7", 3));
	STEP(at_put("edge-8", 3));
	STEP(state_fleet_at_drop(state, "edge-7"));
	STEP(join("redis://192.0.2.2", "edge-2", "b:"));
	for (size_t i = 0; i < 4; i++) {
		server_user = (int64_t[]){ 998, 998, 0, 998 }[i];
		STEP(join("redis://192.0.2.2", "edge-2", "b:"));
		print_server_user();
	}
	server_user = 0;
	STEP(own_changed(&banned, "typed", true));
	STEP(state_fleet_say_all(state));
	STEP(own_changed(&wider, "typed", true));
	STEP(state_fleet_servers_put(state, &BANNED, 1));
	STEP(state_fleet_leave(state));
	print_server_user();
	STEP(state_fleet_leave(state));
	STEP(own_changed(&banned, "typed", true));
	STEP(state_fleet_said(state, "0123456789abcdef", 5, 2, 0));
	STEP(at_put("edge-7", 3));
	STEP(at_move("edge-7", &there));
	printf("  there %d\n", there);
	STEP(state_fleet_at_drop(state, NULL));
	print_out(9);
	print_ats();
	STEP(join(URL, "edge-1", ""));
}

static void fleet_is(void)
{
	open_state();
	fleet_steps();
	close_state();
}

/* Beyond so many everything is said again. */
static void many_wait(void)
{
	for (int last = FLEET_OUT_MOST - 1; last < FLEET_OUT_MOST + 2; last++) {
		char sql[200];

		open_state();
		snprintf(sql, sizeof(sql),
			 "INSERT INTO fleet_out VALUES (4, 32, x'01010101', 1), (4, 32, x'02020202', %d)", last);
		ENOUGH(!state_run(state, sql));
		take_rows(&before);
		step("one more", own_changed(&banned, "typed", true));
		step("and another", own_changed(&wider, "typed", true));
		close_state();
	}
}

static void what_goes_out(void)
{
	static const char *const says[] = { FLEET_SAY_ALL, FLEET_SAY_ADD, FLEET_SAY_DETECTOR, "crowd", "" };
	static const char *const whys[] = { "typed", "detector: x", "crowdsec y", "detector", "" };

	for (size_t i = 0; i < sizeof(says) / sizeof(*says); i++) {
		printf("  '%s':", says[i]);
		for (size_t k = 0; k < sizeof(whys) / sizeof(*whys); k++) {
			struct ban ban = { 0 };

			snprintf(ban.reason, sizeof(ban.reason), "%s", whys[k]);
			printf(" %d", fleet_says(says[i], &ban));
		}
		puts("");
	}
}

/* Each member of it counts. */
static void same_or_not(void)
{
	struct fleet is = { .url = "u",
			    .name = "n",
			    .user = "s",
			    .prefix = "p",
			    .password_file = "f",
			    .say = "y",
			    .read = "r",
			    .ca = "c",
			    .pace = 1 };
	char *const at[] = { is.url, is.name, is.user, is.prefix, is.password_file, is.say, is.read, is.ca };
	struct fleet was = is;

	printf("  %d", fleet_is_same(&is, &was));
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		char one = *at[i];

		*at[i] = 'x';
		printf(" %d", fleet_is_same(&is, &was));
		*at[i] = one;
	}
	is.pace++;
	printf(" %d", fleet_is_same(&is, &was));
	is.pace--;
	is.server_user++;
	printf(" %d", fleet_is_same(&is, &was));
	is.server_user--;
	is.n = is.all = 7;
	printf(" %d\n", fleet_is_same(&is, &was));
}

/* --- What members say --- */

static void print_said(const char *what, int err, struct said *said, size_t n)
{
	char text[PREFIX_TEXT_MAX];

	printf("  %s: %s", what, err ? without_directory(reason(err)) : "");
	for (size_t i = 0; i < n; i++)
		printf(" %d %s", (int)said[i].member, prefix_text(text, said[i].ban.first, (int)said[i].ban.length));
	puts("");
	free(said);
}

static void print_all_said(void)
{
	struct said_count *counts;
	struct said *said;
	int64_t many;
	size_t n;
	int err;

	printf("  any: %d\n", state_said_any(state));
	err = state_said_of(state, banned.first, banned.length, &said, &n);
	print_said("of the prefix", err, said, n);
	err = state_said_by(state, member.id, &said, &n);
	print_said("by the member", err, said, n);
	err = state_said(state, &said, &n);
	print_said("all", err, said, n);
	err = state_said_counts(state, &counts, &n);
	printf("  counts: %s", err ? without_directory(reason(err)) : "");
	for (size_t i = 0; i < n; i++)
		printf(" %d of %d", (int)counts[i].n, (int)counts[i].member);
	free(counts);
	err = state_said_count(state, member.id, &many);
	printf(", %d (%d)\n", (int)many, err);
	err = state_said_check(state);
	printf("  check: %s\n", err ? without_directory(reason(err)) : "sound");
}

static int say_as(int64_t id, const struct prefix *p, int64_t seconds)
{
	struct said said = { ban_of_prefix(p, seconds, "again"), id };

	return state_said_put(state, &said, &flag);
}

static int no_more(const struct prefix *p, int64_t id)
{
	return state_said_no_more(state, p, id);
}

static void said_steps(void)
{
	open_state();
	print_all_said();
	STEP(say_as(MEMBER_OWN, &banned, 0));
	printf("  fresh %d\n", flag);
	STEP(say_as(member.id, &banned, 60));
	printf("  fresh %d\n", flag);
	STEP(say_as(member.id, &wider, 60));
	STEP(say_as(9, &wider, 120));
	print_all_said();
	STEP(no_more(&banned, member.id));
	STEP(add(PENDING_IMAGE, PENDING_IMAGE_NAME));
	STEP(no_more(&banned, member.id));
	STEP(no_more(NULL, member.id));
	STEP(no_more(NULL, 9));
	STEP(state_said_expire(state, started + 60000000000 - 1));
	STEP(state_said_expire(state, started + 60000000000));
	STEP(state_said_drop(state, wider.first, wider.length, 9));
	STEP(state_said_drop(state, wider.first, wider.length, 9));
	STEP(state_said_clear(state));
	print_all_said();
	state->said = SAID_UNKNOWN;
	printf("  any: %d\n", state_said_any(state));
	close_state();
	/* Rows that none of ours wrote. */
	for (int i = 0; i < 2; i++) {
		open_state();
		ENOUGH(!state_run(state, i ? "UPDATE said SET member = -1" : "UPDATE said SET reason = 1"));
		print_all_said();
		close_state();
	}
	/* One of before there were fleets. */
	open_state();
	ENOUGH(!state_run(state, "UPDATE said SET due = NULL"));
	take_rows(&before);
	state->version = VERSION_FLEET - 1;
	print_all_said();
	STEP(state_said_give_due(state, 1));
	STEP(state_said_clear(state));
	STEP(state_said_expire(state, INT64_MAX));
	close_state();
}

static void print_times(const char *what)
{
	struct line_times t = state_line_times(state);

	printf("  %s: tried %d, measured %d, %u sizes, %g bits:", what, state_line_times_tried(state), t.measured, t.n,
	       t.kept);
	for (unsigned int i = 0; t.measured && i < t.n; i++)
		printf(" %g", t.ns[i]);
	puts("");
}

/* Times of lines are believed of two sizes on, up to the first that is none, and of this machine. */
static void times_of_lines(void)
{
	struct line_times t = { .n = LINE_SIZES, .measured = true };
	char name[64];

	for (unsigned int i = 0; i < LINE_SIZES; i++)
		t.ns[i] = 2.5 + i;
	open_state();
	print_times("nothing was measured");
	ENOUGH(!state_line_times_put(state, &t));
	print_times("all");
	for (unsigned int i = LINE_SIZES; i-- > 0;) {
		snprintf(name, sizeof(name), SETTING_LINE "%llu", (unsigned long long)LINE_SIZE(i) >> 10);
		ENOUGH(!state_set(state, name, i % 2 ? 0 : -1));
		print_times(name);
	}
	t.n = 2;
	ENOUGH(!state_line_times_put(state, &t));
	print_times("two");
	ENOUGH(!state_set(state, SETTING_LINES_OF, 1));
	print_times("of another machine");
	t.measured = false;
	ENOUGH(!state_line_times_put(state, &t));
	print_times("without a time");
	take_rows(&before);
	STEP(state_filter_bits_put(state, BITS_USUAL));
	STEP(state_filter_bits_put(state, 11));
	STEP(state_filter_bits_put(state, 11));
	print_times("other bits");
	close_state();
}

static void begin(void)
{
	empty_directory();
	member.id = 0;
	state = opened(true);
	ENOUGH(state);
	CHECK(!fill() && !state_commit(state), "not kept: %s", log_last());
	state_close(state);
}

static void what_is_written(void)
{
	static const struct scene scenes[] = {
		{ "a list changes", list_changes_ends },
		{ "its source changes", source_changes_ends },
		{ "a new list", new_list_ends },
		{ "a list is dropped", dropped_ends },
		{ "a list is dropped, another comes", dropped_and_new_ends },
		{ "one with a long name is dropped", long_name_is_dropped_ends },
		{ "a setting changes", setting_changes_ends },
		{ "a new setting", new_setting_ends },
		{ "a list's kind changes", kind_changes_ends },
		{ "the kind of one with a scope changes", kind_of_scoped_changes_ends },
		{ "a ban changes", ban_changes_ends },
		{ "a new ban", new_ban_ends },
		{ "an interface", interface_comes_ends },
		{ "an image", image_comes_ends },
		{ "an image beside another", beside_another_image_ends },
		{ "beside what is granted", beside_what_is_granted_ends },
		{ "what waits is asked", asked },
		{ "rows of what waits", read_rows },
		{ "what is left", what_is_left },
		{ "a fleet", fleet_is },
		{ "many wait for the fleet", many_wait },
		{ "what goes out", what_goes_out },
		{ "the same fleet or not", same_or_not },
		{ "what members say", said_steps },
		{ "times of lines", times_of_lines },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(*scenes), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "each change, row by row", what_is_written } };

	today = time(NULL);
	started = clock_boot();
	member.limits = member_limits_default;
	ENOUGH(!ranges_add_prefix(&some, BANNED, 32) && !ranges_add_prefix(&some, BANNED6, 64) &&
	       !ranges_finish(&some));
	ENOUGH(!ranges_add_prefix(&few, WIDER, 24) && !ranges_finish(&few));
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
