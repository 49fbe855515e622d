// SPDX-License-Identifier: GPL-2.0-only
/* Each call to SQLite that a question or a change of the state makes fails once: whoever asked gets an error. */
#include "own_state.h"
#include "no_disk.h"
#include "base/log.h"
#include "filter/ladder.h"
#include "state/accepted.h"
#include "state/behind.h"
#include "state/bans.h"
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
#include "state/settle.h"
#include "state/sources.h"
#include "state/strikes.h"
#include "state/until.h"

int __real_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int bytes, sqlite3_stmt **stmt, const char **tail);
int __real_sqlite3_step(sqlite3_stmt *stmt);
int __real_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *arg, char **why);
int __real_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int __real_sqlite3_bind_blob(sqlite3_stmt *stmt, int at, const void *blob, int bytes, void (*destroy)(void *));
int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int bytes, sqlite3_stmt **stmt, const char **tail);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *arg, char **why);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int __wrap_sqlite3_bind_blob(sqlite3_stmt *stmt, int at, const void *blob, int bytes, void (*destroy)(void *));

static bool armed, failed;
static int until; /* so many more succeed */

static bool fails(void)
{
	if (!armed || until-- != 0)
		return false;
	failed = true;
	return true;
}

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int bytes, sqlite3_stmt **stmt, const char **tail)
{
	return fails() ? SQLITE_IOERR : __real_sqlite3_prepare_v2(db, sql, bytes, stmt, tail);
}

int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
	return fails() ? SQLITE_IOERR : __real_sqlite3_step(stmt);
}

int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *arg, char **why)
{
	return fails() ? SQLITE_IOERR : __real_sqlite3_exec(db, sql, row, arg, why);
}

int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs)
{
	return fails() ? SQLITE_IOERR : __real_sqlite3_open_v2(path, db, flags, vfs);
}

int __wrap_sqlite3_bind_blob(sqlite3_stmt *stmt, int at, const void *blob, int bytes, void (*destroy)(void *))
{
	return fails() ? SQLITE_IOERR : __real_sqlite3_bind_blob(stmt, at, blob, bytes, destroy);
}

/* --- What there is ---------------------------------------------------------------------------------------------------
 */

#define BANNED	((struct addr){ 0xc6336401, 4 })
#define WIDER	((struct addr){ 0xc6336400, 4 })
#define BANNED6 ((struct addr){ (ip6)0x20010db8 << 96, 6 })
#define LATE	4000000000

static const struct ban lasting = { .first = BANNED, .length = 32, .added = 1, .reason = "mine" };
static const struct ban ending = { .first = WIDER, .length = 24, .added = 1, .expires = LATE, .due = LATE };
static const struct ban ending6 = { .first = BANNED6, .length = 64, .added = 1, .expires = LATE };
static const struct ban one_ends = { .first = BANNED, .length = 32, .added = 1, .expires = LATE };
static const struct prefix prefix = { BANNED, 32 };
static struct member member = { .name = "edge-7", .rule = MEMBER_ACCEPTED };
static struct said word;
static const struct fleet fleet_is = { .url = "redis://192.0.2.1", .name = "edge-1", .say = FLEET_SAY_ALL };
static const struct fleet fleet_other = { .url = "redis://192.0.2.2", .name = "edge-1", .say = FLEET_SAY_ALL };
static const struct fleet_at at_is = { .member = "edge-7", .n = 1, .id = "1-1" };
static const struct feed feed_is = { .list = "one", .url = "https://example.net/list", .every = 3600 };
static const struct source source_is = { .list = "one", .path = "/list", .stamp = "1" };
static const struct strike strike_is = { .first = BANNED, .length = 32, .strikes = 2, .ended = 5 };
static const struct accepted accepted_is = { .known = true, .hand = { 1, 2 }, .day_at = 5 };
static const struct interface_info interface_is = { "eth9", "native", true, MATCH_BOTH };
static const struct interface_info leaves = { "eth9", "tc", false, MATCH_LEAVING(MATCH_BOTH) };
static const struct interface_info rule_is = { "br0", "skb", false, MATCH_DESTINATION };
static const struct port_row port_is = { .name = "eth8", .of = "br0" };
static const struct ladder ladder_is = { { 60, 600 }, 2 };
static const struct pending list_waits = { .kind = PENDING_LIST, .name = "one", .deadline = LATE, .due = 1 };
static const struct pending dropped_waits = { .kind = PENDING_LIST, .name = "dropped", .deadline = LATE };
static const struct pending kind_waits = { .kind = PENDING_LIST_KIND, .name = "two", .deadline = LATE };
static const struct pending scoped_waits = { .kind = PENDING_LIST_KIND, .name = "scoped", .deadline = LATE };
static const struct pending setting_waits = { .kind = PENDING_SETTING, .name = "k", .deadline = LATE };
static const struct pending ban_waits = { .kind = PENDING_BAN, .name = "198.51.100.1/32", .deadline = LATE };
static const struct pending image_waits = { .kind = PENDING_IMAGE, .name = PENDING_IMAGE_NAME, .deadline = LATE };
static const struct pending interface_waits = { .kind = PENDING_INTERFACE, .name = "eth9", .deadline = LATE };
static struct ranges some;

static int put_list(struct state *s, const char *name, enum list_kind kind, const char *scope, const char *where)
{
	struct list_info list = { .kind = kind,
				  .times = kind == LIST_TRUST,
				  .prefixes = 2,
				  .addresses = "2",
				  .source = "-",
				  .loaded = "2026-01-01T00:00:00Z" };

	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(list.scope, sizeof(list.scope), "%s", scope);
	snprintf(list.where, sizeof(list.where), "%s", where);
	return state_list_put(s, &list, &some);
}

static int put_limits(struct state *s)
{
	struct limits limits = state_limits(NULL);

	limits_put_on(&limits, "eth9", CLASS_SYN, (struct limit){ 500, 1000, THEN_WATCH });
	return state_limits_put(s, &limits);
}

/* A row of everything. */
static int make(struct state *s)
{
	bool flag;
	int err = put_list(s, "one", LIST_BAN, "", "asn=64500") ?: put_list(s, "two", LIST_BAN, "", "");

	err = err ?: put_list(s, "allowed", LIST_ALLOW, "", "") ?: put_list(s, "scoped", LIST_SHADOW, "tcp/22", "");
	err = err ?: put_list(s, "dropped", LIST_SHADOW, "", "") ?: put_list(s, "trusted", LIST_TRUST, "", "") ?: state_trust(s, "trusted", 10);
	err = err ?: state_ban_new(s, &lasting, &flag) ?: state_ban_new(s, &ending, &flag);
	err = err ?: state_ban_new(s, &ending6, &flag) ?: state_member_put(s, &member);
	word.member = member.id;
	err = err ?: state_fleet_join(s, &fleet_is) ?: state_said_put(s, &word, &flag);
	err = err ?: state_fleet_at_put(s, &at_is) ?: state_own_changed(s, &prefix, &lasting, true);
	err = err ?: state_feed_put(s, &feed_is) ?: state_source_put(s, &source_is);
	err = err ?: state_signed_put(s, "two", 7) ?: state_strike_put(s, &strike_is) ?: state_behind_put(s, &ending);
	err = err ?: state_accepted_put(s, "one", &accepted_is) ?: state_interface_put(s, &interface_is);
	err = err ?: state_interface_put(s, &leaves) ?: state_ports_put(s, &rule_is) ?: state_port_put(s, &port_is);
	err = err ?: state_grant(s, BANNED, 0) ?: state_guard_port(s, 22, true) ?: state_prove(s, "eth9", true);
	err = err ?: state_feed_servers_put(s, "one", &BANNED, 1) ?: state_feed_servers_put(s, NULL, &BANNED, 1);
	return err ?: state_fleet_servers_put(s, &BANNED, 1) ?: put_limits(s) ?: state_set(s, "k", 4);
}

/* And what waits of it. */
static int wait_all(struct state *s)
{
	return state_pending_add(s, &list_waits) ?:
	       put_list(s, "one", LIST_BAN, "", "asn=64501") ?:
	       state_pending_drop(s, &dropped_waits) ?:
	       state_pending_add(s, &kind_waits) ?:
	       state_pending_add(s, &scoped_waits) ?:
	       state_pending_add(s, &setting_waits) ?:
	       state_pending_add(s, &ban_waits) ?:
	       state_pending_add(s, &interface_waits) ?:
	       state_set(s, "image", 3) ?:
	       state_pending_add(s, &image_waits);
}

/* --- What is asked and changed -------------------------------------------------------------------------------------
 */

static union {
	struct list_info *lists;
	struct ban *bans;
	struct said *said;
	struct said_count *counts;
	struct interface_info *interfaces;
	struct port_row *ports;
	struct pending *pending;
	struct source *sources;
	struct strike *strikes;
	struct member *members;
	struct fleet_at *ats;
	struct fleet_out *outs;
	struct feed *feeds;
	struct addr *addrs;
	struct feed_server *servers;
	struct proven *proven;
	void *any;
} got;
static size_t n;
static bool flag;
static uint64_t number;
static int64_t signed_number;
static struct ban ban;
static struct list_info list;
static struct ranges set, set2;

static int looked(struct state *s)
{
	struct untils untils;
	int64_t *first;
	size_t first_n;
	int err = state_first_kept(s, &first, &first_n) ?: state_until(s, &BANNED, 1, UNTIL_ENDLESS, &untils);

	if (first)
		untils_free(&untils);
	free(first);
	return err;
}

/* Of what is said by no error. */
static int faults(const struct state *s, double value)
{
	(void)value;
	return state_settings_fault(s);
}

static int any(int is)
{
	return is < 0 ? is : 0;
}

/* Where they cannot be read, there is no help: but there is no such list either way. */
static int no_list(struct state *s)
{
	int err = because_no_list(s, "on");

	CHECK(err_is(err, ENOENT) && strstr(reason(err), "there is no list 'on'"), "%s", reason(err));
	return failed ? because(-EIO, "SQLite says no") : err;
}

/* Where it is not known whether bans that end may have a label of their own, they have none. */
static int settled(struct state *s)
{
	struct settled all;
	int err = settle(&all, s);
	bool ends = all.ends;

	if (err)
		return err;
	settled_free(&all);
	CHECK(ends || failed, "bans that end have no label of their own");
	return ends ? 0 : because(-EIO, "SQLite says no");
}

static int limits_read(struct state *s)
{
	return faults(s, state_limits(s).pps);
}

/* How many bans there are is counted again where it cannot be read. */
static int committed(struct state *s)
{
	int err = state_commit(s);

	return !err && failed ? because(-EIO, "SQLite says no") : err;
}

static int text(struct state *s, const char *name)
{
	int fd = state_text_get(s, name);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int kept(struct state *s)
{
	struct ports_kept all;
	int err = ports_kept_take(&all, s);

	ports_kept_free(&all);
	return err;
}

static int look_at_feed(void *arg, const struct feed *feed)
{
	(void)arg;
	(void)feed;
	return 0;
}

static bool no_ports[TCP_PORTS];

/* In a state that has a row of everything. */
#define OPERATIONS                                                  \
	X(state_lists(s, &got.lists, &n))                           \
	X(state_list_get(s, "one", &list))                          \
	X(state_list_set(s, "one", &set))                           \
	X(state_allowed(s, &set))                                   \
	X(no_list(s))                                               \
	X(put_list(s, "one", LIST_SHADOW, "", "asn=1"))             \
	X(put_list(s, "new", LIST_BAN, "udp/53", ""))               \
	X(put_list(s, "scoped", LIST_ALLOW, "", ""))                \
	X(state_list_set_kind(s, "one", LIST_SHADOW))               \
	X(state_list_set_kind(s, "scoped", LIST_BAN))               \
	X(state_trust(s, "trusted", 100))                           \
	X(state_trust(s, "trusted", 0))                             \
	X(state_list_drop(s, "one"))                                \
	X(state_list_drop(s, "trusted"))                            \
	X(text(s, "one"))                                           \
	X(state_accepted_get(s, "one", &(struct accepted){ 0 }))    \
	X(state_accepted_put(s, "two", &accepted_is))               \
	X(any(state_behind_any(s)))                                 \
	X(state_behind_get(s, WIDER, 24, &(struct ban){ 0 }))       \
	X(state_behind_put(s, &ending6))                            \
	X(state_behind_drop(s, WIDER, 24))                          \
	X(state_bans(s, &got.bans, &n))                             \
	X(state_bans_page(s, &(struct ban){ 0 }, 2, &got.bans, &n)) \
	X(state_bans_page(s, &ending, 2, &got.bans, &n))            \
	X(state_bans_set(s, 5, NULL, &set))                         \
	X(state_bans_set(s, 5, &some, &set))                        \
	X(state_bans_sets(s, 5, NULL, &set, &set2))                 \
	X(state_bans_sets(s, 5, &some, &set, &set2))                \
	X(state_bans_ending(s, 5, NULL, &got.bans, &n))             \
	X(state_bans_ending(s, 5, &some, &got.bans, &n))            \
	X(state_bans_first(s, 5, 3, &got.bans, &n))                 \
	X(state_bans_count(s, 5, &number))                          \
	X(state_bans_clear(s))                                      \
	X(state_ban_get(s, BANNED, 32, &ban))                       \
	X(state_ban_get(s, BANNED6, 128, &ban))                     \
	X(state_ban_around(s, BANNED, 32, 5, &ban))                 \
	X(any(state_ban_held(s, &lasting, 5)))                      \
	X(state_ban_put(s, &lasting, &flag))                        \
	X(state_ban_new(s, &ending6, &flag))                        \
	X(state_ban_drop(s, BANNED, 32))                            \
	X(any(state_said_any(s)))                                   \
	X(state_said_of(s, BANNED, 32, &got.said, &n))              \
	X(state_said_by(s, member.id, &got.said, &n))               \
	X(state_said(s, &got.said, &n))                             \
	X(state_said_counts(s, &got.counts, &n))                    \
	X(state_said_count(s, member.id, &signed_number))           \
	X(state_said_put(s, &word, &flag))                          \
	X(state_said_drop(s, BANNED, 32, member.id))                \
	X(state_fleet(s, &(struct fleet){ 0 }))                     \
	X(state_fleet_join(s, &fleet_is))                           \
	X(state_fleet_join(s, &fleet_other))                        \
	X(state_fleet_leave(s))                                     \
	X(state_fleet_say_all(s))                                   \
	X(state_fleet_said(s, "0123456789abcdef", 1, 1, 1))         \
	X(state_own_changed(s, &prefix, &lasting, false))           \
	X(state_own_changed(s, &prefix, NULL, false))               \
	X(state_fleet_out(s, 5, &got.outs, &n))                     \
	X(state_fleet_waiting(s, &signed_number))                   \
	X(state_fleet_out_last(s, &signed_number))                  \
	X(state_fleet_ats(s, &got.ats, &n))                         \
	X(state_fleet_at_put(s, &at_is))                            \
	X(state_fleet_at_move(s, &at_is, &flag))                    \
	X(state_fleet_at_drop(s, "edge-7"))                         \
	X(state_fleet_at_drop(s, NULL))                             \
	X(state_fleet_servers(s, &got.addrs, &n))                   \
	X(state_fleet_servers_put(s, &BANNED6, 1))                  \
	X(state_feed_servers(s, &got.servers, &n))                  \
	X(state_feed_servers_put(s, "one", &BANNED6, 1))            \
	X(state_feed_servers_put(s, NULL, &BANNED6, 1))             \
	X(state_members(s, &got.members, &n))                       \
	X(state_member_get(s, "edge-7", &(struct member){ 0 }))     \
	X(state_member_put(s, &member))                             \
	X(state_member_drop(s, member.id))                          \
	X(state_feeds(s, &got.feeds, &n))                           \
	X(state_feeds_each(s, look_at_feed, NULL))                  \
	X(state_feed_get(s, "one", &(struct feed){ 0 }))            \
	X(state_feed_put(s, &feed_is))                              \
	X(state_feed_drop(s, "one"))                                \
	X(state_sources(s, &got.sources, &n))                       \
	X(state_source_get(s, "one", &(struct source){ 0 }))        \
	X(state_source_put(s, &source_is))                          \
	X(state_signed_put(s, "one", 5))                            \
	X(state_signed_get(s, "two", &number))                      \
	X(state_strikes(s, &got.strikes, &n))                       \
	X(state_strike_get(s, BANNED, 32, &(struct strike){ 0 }))   \
	X(state_strike_put(s, &strike_is))                          \
	X(state_strike_drop(s, BANNED, 32))                         \
	X(state_strikes_fall(s, &ladder_is, 6))                     \
	X(state_strikes_bound(s))                                   \
	X(state_interfaces(s, &got.interfaces, &n))                 \
	X(state_interface_put(s, &interface_is))                    \
	X(state_interface_put(s, &leaves))                          \
	X(state_interface_drop(s, "eth9"))                          \
	X(state_ports(s, &got.interfaces, &n))                      \
	X(state_ports_put(s, &rule_is))                             \
	X(state_ports_drop(s, "br0", false))                        \
	X(state_port_rows(s, &got.ports, &n))                       \
	X(state_port_put(s, &port_is))                              \
	X(state_port_forget(s, "eth8", false))                      \
	X(kept(s))                                                  \
	X(state_grants(s, &got.addrs, &n))                          \
	X(state_grant(s, BANNED6, false))                           \
	X(state_grant_drop(s, BANNED))                              \
	X(state_grants_confirm(s))                                  \
	X(state_grants_undo(s, NULL))                               \
	X(state_guard_port(s, 23, true))                            \
	X(state_guard_port(s, 22, false))                           \
	X(state_guarded_ports(s, no_ports))                         \
	X(state_prove(s, "eth8", true))                             \
	X(state_prove(s, "eth9", false))                            \
	X(state_proven(s, &got.proven, &n))                         \
	X(limits_read(s))                                           \
	X(put_limits(s))                                            \
	X(state_ladder(s, (unsigned int[LADDER_STEPS]){ 0 }, &n))   \
	X(state_ladder_put(s, ladder_is.seconds, 2))                \
	X(faults(s, state_setting(s, "k", 3)))                      \
	X(state_set(s, "k", 5))                                     \
	X(settled(s))                                               \
	X(looked(s))                                                \
	X(state_allowed_waiting(s, &set))                           \
	X(state_allowed_staying(s, &set))                           \
	X(state_later(s, true, &set))                               \
	X(state_accepted_check(s))                                  \
	X(state_feeds_check(s))                                     \
	X(state_said_check(s))                                      \
	X(state_fleet_check(s))                                     \
	X(state_pending(s, &got.pending, &n))                       \
	X(any(state_pending_any(s, PENDING_LIST)))                  \
	X(state_pending_has(s, PENDING_LIST, "one"))                \
	X(wait_all(s))                                              \
	X(state_pending_drop(s, &list_waits))                       \
	X(state_pending_confirm(s))                                 \
	X(state_pending_flush(s))                                   \
	X(committed(s))

/* In one in which all of it waits. */

#define WAITING                                                     \
	X(state_pending(s, &got.pending, &n))                       \
	X(any(state_pending_any(s, PENDING_LIST)))                  \
	X(any(state_pending_has(s, PENDING_LIST, "one")))           \
	X(state_pending_undo(s, &list_waits))                       \
	X(state_pending_undo(s, &dropped_waits))                    \
	X(state_pending_undo(s, &kind_waits))                       \
	X(state_pending_undo(s, &scoped_waits))                     \
	X(state_pending_undo(s, &setting_waits))                    \
	X(state_pending_undo(s, &ban_waits))                        \
	X(state_pending_undo(s, &interface_waits))                  \
	X(state_pending_undo(s, &image_waits))                      \
	X(state_said_no_more(s, &prefix, member.id))                \
	X(state_said_no_more(s, NULL, member.id))                   \
	X(state_pending_forget(s, PENDING_LIST, "one"))             \
	X(state_pending_forget(s, PENDING_BAN, ban_waits.name))     \
	X(state_pending_forget(s, PENDING_IMAGE, image_waits.name)) \
	X(state_pending_confirm(s))                                 \
	X(state_pending_flush(s))                                   \
	X(any(state_ban_held(s, &one_ends, 5)))                     \
	X(looked(s))                                                \
	X(state_allowed_waiting(s, &set))                           \
	X(state_allowed_staying(s, &set))                           \
	X(state_later(s, true, &set))

#define X(call) #call,
static const char *const operations[] = { OPERATIONS }, *const waiting[] = { WAITING };
#undef X

#define X(call)       \
	if (!which--) \
		return call;
static int operation(struct state *s, size_t which)
{
	OPERATIONS
	return -1;
}

static int operation_waiting(struct state *s, size_t which)
{
	WAITING
	return -1;
}
#undef X

/* One call of it fails; false: it does not make so many. */
static bool one_fails(int (*what)(struct state *s, size_t which), size_t which, const char *name, int at)
{
	struct state *s = opened(true);
	int err;

	if (!s)
		return false;
	failed = false;
	until = at;
	armed = true;
	err = what(s, which);
	armed = false;
	/* Of a setting there is a fallback, and whoever commits is told. */
	if (!err)
		err = state_settings_fault(s);
	free(got.any);
	got.any = NULL;
	ranges_free(&set);
	ranges_free(&set2);
	if (failed)
		CHECK(err_is(err, EIO), "%s, call %d: %d, %s", name, at, err, reason(err));
	else
		CHECK(!err || err_is(err, ENOENT), "%s: %s", name, reason(err));
	state_close(s);
	return failed;
}

static void each(int (*what)(struct state *s, size_t which), const char *const *names, size_t count)
{
	int all = 0;

	for (size_t which = 0; which < count; which++) {
		int at = 0;

		while (one_fails(what, which, names[which], at))
			at++;
		all += at;
		CHECK(at, "%s: SQLite is not asked", names[which]);
	}
	printf("# %zu operations, %d calls\n", count, all);
}

static void begin(bool with_waiting)
{
	struct state *s;

	empty_directory();
	s = opened(true);
	if (s)
		CHECK(!make(s) && (!with_waiting || !wait_all(s)) && !state_commit(s), "not kept: %s", log_last());
	state_close(s);
}

static void rows(void)
{
	begin(false);
	each(operation, operations, sizeof(operations) / sizeof(*operations));
}

static void rows_that_wait(void)
{
	begin(true);
	each(operation_waiting, waiting, sizeof(waiting) / sizeof(*waiting));
}

/* What is kept beside bans is written with them: either all of it is, or nothing, and who commits is told. */
static void commits(void)
{
	struct ban another = lasting;
	uint64_t wanted = 2, bans;
	int all = 0, refused = 0;

	begin(false);
	do {
		struct state *s = opened(true);
		int err;

		another.first.num++;
		ENOUGH(s && !state_ban_new(s, &another, &flag));
		failed = false;
		until = all++;
		armed = true;
		err = state_commit(s);
		armed = false;
		CHECK(!err || (failed && err_is(err, EIO)), "call %d: %d", all, err);
		state_close(s);
		wanted += !err;
		refused += !!err;
		s = opened(true);
		ENOUGH(s && !state_bans_count(s, 0, &bans));
		CHECK(bans == wanted, "call %d, %d: %llu bans, not %llu", all, err, (unsigned long long)bans,
		      (unsigned long long)wanted);
		state_close(s);
	} while (failed);
	CHECK(refused > 2, "%d of %d calls", refused, all);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "rows", rows },
		{ "rows that wait", rows_that_wait },
		{ "commits", commits },
	};

	member.limits = member_limits_default;
	word.ban = lasting;
	ENOUGH(!ranges_add_prefix(&some, BANNED, 32) && !ranges_add_prefix(&some, BANNED6, 64) &&
	       !ranges_finish(&some));
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
