// SPDX-License-Identifier: GPL-2.0-only
/* States of each version there has been, and none: whatever is asked that they know nothing of, there is none of it. */
#include <stdio.h>

#include "state/schema.c"
#include "own_state.h"

#include "filter/ladder.h"
#include "filter/limits.h"
#include "state/accepted.h"
#include "state/bans.h"
#include "state/behind.h"
#include "state/feeds.h"
#include "state/fleet.h"
#include "state/grants.h"
#include "state/kept_image.h"
#include "state/limits.h"
#include "state/line_times.h"
#include "state/members.h"
#include "state/ports.h"
#include "state/proven.h"
#include "state/recover.h"
#include "state/said.h"
#include "state/sources.h"
#include "state/strikes.h"

static int version;    /* 0: no file; -1: an empty one */
static bool with_rows; /* one in each table that it has */

/* A row of what came with each version. */
static const char *const rows[] = {
	[1] = "INSERT INTO interface VALUES ('eth0', 'native', 0);"
	      "INSERT INTO pending (kind, name, deadline) VALUES (3, '192.0.2.1', 5);"
	      "INSERT INTO setting VALUES ('proven eth0', 1), ('granted 192.0.2.1', 1)",
	[2] = "INSERT INTO ban (family, length, first, added, reason) VALUES (4, 32, x'c0000201', 1, 'r')",
	[3] = "INSERT INTO source VALUES (1, '/x', 's', 'o')",
	[4] = "",
	[5] = "",
	[6] = "UPDATE pending SET due = 9, boot = 'another';"
	      "INSERT INTO ban_before (family, length, first, added, reason) VALUES (4, 32, x'c0000201', 1, 'r')",
	[7] = "INSERT INTO accepted VALUES (1, 1, 2, 3, 4, 5, 6, 7)",
	[8] = "",
	[9] = "INSERT INTO strike VALUES (4, 32, x'c0000201', 1, 1)",
	[10] = "INSERT INTO chosen VALUES (1, 'a == b')",
	[11] = "INSERT INTO feed VALUES ('a', 'https://example.net/a', '', '', '', 0, 0, 3600, 0, 0, '', '', 0, 0, 0, 0,"
	       " 0, 0, 0, 0, 0, 0, 0, '')",
	[12] = "INSERT INTO member VALUES (1, 'a', 0, 1, 1, 24, 48, 1, 0, 1, 0, 0, 0, 0, 0, '');"
	       "INSERT INTO said VALUES (4, 32, x'c0000201', 1, 1, NULL, 'r', NULL)",
	[13] = "INSERT INTO scope VALUES (1, 'tcp/22', 0)",
	[14] = "INSERT INTO matched VALUES ('eth0', 1)",
	[15] = "INSERT INTO leaving VALUES ('eth0', 1)",
	[16] = "INSERT INTO ports VALUES ('br0', 0, 'auto', 0, 1); INSERT INTO port VALUES ('eth0', 0, 'br0')",
	[17] = "INSERT INTO said_before VALUES (4, 32, x'c0000201', 1, 1, NULL, 'r', NULL)",
	[18] = "INSERT INTO behind VALUES (4, 32, x'c0000201', 0, 1, NULL, 'r', NULL)",
};
_Static_assert(sizeof(rows) / sizeof(*rows) == STATE_VERSION + 1, "a row of each version's");

static void make_version(void)
{
	sqlite3 *db;

	empty_directory();
	if (!version)
		return;
	ENOUGH(sqlite3_open(file, &db) == SQLITE_OK &&
	       sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL) == SQLITE_OK);
	if (version < 0)
		ENOUGH(sqlite3_exec(db, "PRAGMA user_version = 0; VACUUM", NULL, NULL, NULL) == SQLITE_OK);
	else
		ENOUGH(sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK &&
		       sqlite3_exec(db, "PRAGMA user_version = 1", NULL, NULL, NULL) == SQLITE_OK);
	for (int v = 1; v < version; v++)
		ENOUGH(sqlite3_exec(db, upgrades[v], NULL, NULL, NULL) == SQLITE_OK);
	ENOUGH(version < 1 ||
	       sqlite3_exec(db, "INSERT INTO list VALUES (1, 'a', 0, 1, 0, '0', 'x', '2026-01-01T00:00:00Z', 'x')",
			    NULL, NULL, NULL) == SQLITE_OK);
	for (int v = 1; v <= version && with_rows; v++)
		ENOUGH(sqlite3_exec(db, rows[v], NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
	ENOUGH(!chmod(file, 0600));
}

/* Has it what that version brought? */
static bool has(int since)
{
	return with_rows && version >= since;
}

static void same(const char *what, int err, bool is)
{
	CHECK(!err && is, "version %d, %s: %s", version, what, err ? reason(err) : has(1) ? "not as it is" : "some");
}

static void there(const char *what, int err, int since)
{
	CHECK(has(since) ? !err : err_is(err, ENOENT), "version %d, %s: %s", version, what,
	      err ? reason(err) : "there is one");
}

/* All of them: one, or none. */
#define ALL(type, since, call)                              \
	do {                                                \
		type *all = NULL;                           \
		size_t n = 99;                              \
		int code = call;                            \
                                                            \
		same(#call, code, n == (size_t)has(since)); \
		if (!code)                                  \
			free(all);                          \
	} while (0)
enum { NEVER = STATE_VERSION + 1 };

static void ask_all(struct state *s)
{
	static const struct addr host = { 0xc0000201, 4 };
	static struct feed feed;
	struct accepted accepted = { .known = true };
	struct interface_info *interfaces = NULL;
	struct port_row *ports = NULL;
	struct pending *pending = NULL;
	struct ranges set = RANGES_EMPTY;
	int64_t number = 99, left;
	size_t names;
	struct strike strike;
	struct member member;
	struct fleet fleet;
	uint64_t when = 99;
	struct ban ban;
	int err;

	ALL(struct ban, 2, state_bans(s, &all, &n));
	ALL(struct ban, 2, state_bans_page(s, &(struct ban){ .first = { 0, 4 }, .length = 1 }, 9, &all, &n));
	ALL(struct ban, NEVER, state_bans_ending(s, 1, NULL, &all, &n));
	ALL(struct ban, 2, state_bans_first(s, 1, 9, &all, &n));
	ALL(struct source, 3, state_sources(s, &all, &n));
	ALL(struct feed, 11, state_feeds(s, &all, &n));
	ALL(struct pending, 1, state_pending(s, &all, &n));
	ALL(struct strike, 9, state_strikes(s, &all, &n));
	ALL(struct said, 12, state_said(s, &all, &n));
	ALL(struct said, 12, state_said_by(s, 1, &all, &n));
	ALL(struct said, 12, state_said_of(s, host, 32, &all, &n));
	ALL(struct said_count, 12, state_said_counts(s, &all, &n));
	ALL(struct member, 12, state_members(s, &all, &n));
	ALL(struct proven, 1, state_proven(s, &all, &n));
	ALL(struct addr, 1, state_grants(s, &all, &n));
	ALL(struct addr, NEVER, state_fleet_servers(s, &all, &n));
	ALL(struct feed_server, NEVER, state_feed_servers(s, &all, &n));
	ALL(struct fleet_at, NEVER, state_fleet_ats(s, &all, &n));
	ALL(struct fleet_out, NEVER, state_fleet_out(s, 9, &all, &n));
	there("a ban", state_ban_get(s, host, 32, &ban), 2);
	there("what is behind one", state_behind_get(s, host, 32, &ban), 18);
	there("a ban around", state_ban_around(s, host, 32, 1, &ban), NEVER);
	there("a feed", state_feed_get(s, "a", &feed), 11);
	there("a strike", state_strike_get(s, host, 32, &strike), 9);
	there("a member", state_member_get(s, "a", &member), 12);
	there("a fleet", state_fleet(s, &fleet), NEVER);
	CHECK(!state_line_times_tried(s) && !state_line_times(s).measured && state_line_times(s).kept == BITS_USUAL,
	      "lines were measured");
	err = state_signed_get(s, "a", &when);
	same("when it was signed", err, !when);
	err = state_accepted_get(s, "a", &accepted);
	same("what was accepted", err, accepted.known == has(7) && accepted.day_at == 7 * has(7));
	err = state_said_count(s, 1, &number);
	same("how much a member says", err, number == has(12));
	number = 99;
	err = state_fleet_waiting(s, &number);
	same("what waits", err, !number);
	when = 99;
	err = state_bans_count(s, 1, &when);
	same("how many bans", err, when == has(2));
	err = state_bans_set(s, 1, NULL, &set);
	same("what is banned", err, set.n4 == has(2) && !set.n6);
	ranges_free(&set);
	CHECK(state_said_any(s) == has(12), "version %d: a member says something: %d", version, state_said_any(s));
	CHECK(state_behind_any(s) == has(18), "version %d: something is behind: %d", version, state_behind_any(s));
	CHECK(state_pending_any(s, PENDING_BAN) == has(1) && !state_pending_any(s, PENDING_IMAGE) &&
		      state_pending_has(s, PENDING_BAN, "192.0.2.1") == has(1) &&
		      !state_pending_has(s, PENDING_LIST, "a"),
	      "version %d: what waits", version);
	err = state_pending(s, &pending, &names);
	same("the end of what waits", err, !names || pending[0].rebooted == has(6));
	free(pending);
	same("feeds that are damaged", state_feeds_check(s), true);
	same("bans", 0,
	     state_bans_any(s) == has(2) && !state_bans_ending_any(s) && state_bans_ending_fit(s, 0) &&
		     !state_bans_next(s) && !state_bans_next_left(s, &left));
	same("a fleet", 0, !state_joined(s) && !state_stepped_back(s));
	same("an image", 0, !image_kept(s));
	err = state_interfaces(s, &interfaces, &names);
	same("what of packets is asked", err, !names || interfaces[0].match == has(14));
	same("interfaces, and what leaves", err,
	     names == (size_t)has(1) + has(15) && (names < 2 || interfaces[1].match == MATCH_LEAVING(1)));
	free(interfaces);
	err = state_ports(s, &interfaces, &names);
	same("whose ports are filtered", err, names == (size_t)has(16) && (!names || interfaces[0].match == 1));
	free(interfaces);
	err = state_port_rows(s, &ports, &names);
	same("and which", err, names == (size_t)has(16) && (!names || !strcmp(ports[0].of, "br0")));
	free(ports);
	same("a grant", 0, !state_granted(s, host) == !has(1));
	CHECK(source_is_loaded(&own_context, &(struct source){ "a", "/x", "s", "o" }) == has(3), "version %d: its file",
	      version);
}

static void found(void *arg, const char *fault)
{
	(void)arg;
	CHECK(false, "version %d: %s", version, fault);
}

/* The list is as it was, and with what lists of its version have. */
static void look(struct state *s)
{
	struct list_info list;
	int err = state_list_get(s, "a", &list);
	struct ranges set;
	size_t faults = 0;

	if (version < 1) {
		CHECK(err_is(err, ENOENT), "version %d: there is a list", version);
	} else if (CHECK(!err && !list.damaged && !*list.scope == !has(13) && !*list.where == !has(10) &&
				 list.label == 1 && list.kind == LIST_BAN,
			 "version %d: %s", version, err ? reason(err) : "it is another list")) {
		err = state_list_whole_set(s, &list, &set);
		if (CHECK(!err && !set.n4 && !set.n6, "version %d: %s", version, err ? reason(err) : "it holds some"))
			ranges_free(&set);
	}
	err = state_check(&own_context, found, NULL, &faults);
	CHECK(!err && !faults, "version %d: %s", version, err ? reason(err) : "faults");
}

static void in_each(void (*does)(void))
{
	for (int rows_too = 0; rows_too < 2; rows_too++) {
		with_rows = rows_too;
		for (version = -1; version <= STATE_VERSION && !ktap_failed; version++) {
			make_version();
			does();
		}
	}
	empty_directory();
}

static void look_at_it(void)
{
	struct state *s = opened(false);

	if (!s)
		return;
	CHECK(version < 1 ? !s->db : s->version == version, "version %d is taken for %d", version, s->version);
	ask_all(s);
	look(s);
	state_close(s);
}

static void looked_at(void)
{
	in_each(look_at_it);
}

/* The same once something is changed: then it is of this version, and holds no more than before. */
static void bring_it_up(void)
{
	for (int change = 1; change >= 0; change--) {
		struct state *s = opened(change);

		if (!s)
			return;
		CHECK(s->version == STATE_VERSION, "version %d becomes %d", version, s->version);
		ask_all(s);
		if (change)
			CHECK(!state_commit(s), "version %d: not committed: %s", version, log_last());
		else
			look(s);
		state_close(s);
	}
}

static void brought_up(void)
{
	in_each(bring_it_up);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "looked at", looked_at }, { "brought up", brought_up } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
