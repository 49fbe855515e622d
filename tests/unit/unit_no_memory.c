// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation of what builds, reads and keeps lists fails once: either whoever asked gets -ENOMEM, or it is done
 * all the same, and rightly. The libraries' own allocations succeed. A sanitizer sees what is left behind.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "own_state.h"

#include "base/log.h"
#include "base/words.h"
#include "bpf/decide.h"
#include "change/ends.h"
#include "change/guard_needs.h"
#include "change/guard_rails.h"
#include "feeds/decisions.h"
#include "feeds/route_table.h"
#include "feeds/stream.h"
#include "filter/build.h"
#include "filter/edit.h"
#include "filter/plan_sizes.h"
#include "filter/verify.h"
#include "image/compare.h"
#include "image/contents.h"
#include "image/image.h"
#include "image/make.h"
#include "image/union.h"
#include "kernel/held.h"
#include "observe/explain.h"
#include "observe/history.h"
#include "observe/passing.h"
#include "observe/pcapng.h"
#include "observe/replay_table.h"
#include "observe/senders.h"
#include "ranges_have.h"
#include "sets/alone.h"
#include "sets/networks.h"
#include "sets/owned.h"
#include "sets/packed.h"
#include "sets/prefixes.h"
#include "sets/reader.h"
#include "sets/writer.h"
#include "service/config.h"
#include "service/feeds.h"
#include "service/jobs.h"
#include "service/reload.h"
#include "state/bans.h"
#include "state/feeds.h"
#include "state/fleet.h"
#include "state/grants.h"
#include "state/limits.h"
#include "state/members.h"
#include "state/ports.h"
#include "state/proven.h"
#include "state/said.h"
#include "state/settle.h"
#define source list_source /* bpf/parse.h has another */
#include "state/sources.h"
#undef source
#include "state/until.h"
#include "verbs/list_files.h"

/* The linker has all calls of the command's own code come here; in children, too. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
char *__real_strdup(const char *text);
const unsigned char *__real_sqlite3_column_text(sqlite3_stmt *stmt, int column);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
char *__wrap_strdup(const char *text);
const unsigned char *__wrap_sqlite3_column_text(sqlite3_stmt *stmt, int column);

static struct {
	bool armed, failed, texts; /* texts: SQLite's, too */
	int until;		   /* so many more succeed */
} * memory;

static bool fails(void)
{
	if (!memory || !memory->armed || __atomic_fetch_sub(&memory->until, 1, __ATOMIC_RELAXED) != 0)
		return false;
	memory->failed = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, n, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

const unsigned char *__wrap_sqlite3_column_text(sqlite3_stmt *stmt, int column)
{
	return memory && memory->texts && fails() ? NULL : __real_sqlite3_column_text(stmt, column);
}

/* What the operations work on. */
static char path[4][240];
static struct ranges one, two, allowed;
static struct image held[2];

/* --- Operations: each gives back what it took, also when it fails ----------------------------------------------------
 */

static int adds(void)
{
	struct ranges set = RANGES_EMPTY;
	int err = 0;

	for (uint32_t i = 0; i < 4000 && !err; i++)
		err = ranges_add_host(&set, (i * 2654435761u) >> 12);
	for (uint32_t i = 0; i < 100 && !err; i++)
		err = ranges_add4(&set, (100 - i) << 25, (100 - i) << 25 | 255) ?: ranges_add6(&set, 100 - i, 100 - i);
	err = err ?: ranges_finish(&set);
	CHECK(err || (ranges_have(&set, (struct addr){ 3u << 25, 4 }) && ranges_have(&set, (struct addr){ 7, 6 })),
	      "the set is another");
	ranges_free(&set);
	return err;
}

static int algebra(void)
{
	struct ranges both = RANGES_EMPTY, less = RANGES_EMPTY;
	int err = ranges_intersect(&both, &one, &two) ?: ranges_subtract(&less, &one, &two);

	CHECK(err || ranges_count4(&both) + ranges_count4(&less) == ranges_count4(&one), "other sets");
	ranges_free(&both);
	ranges_free(&less);
	return err;
}

static int settles(void)
{
	struct account accounts[2] = { { &one, 1 }, { &two, 2 } };
	struct owned owned = { 0 };
	int err = owned_settle(&owned, accounts, 2, &allowed);

	CHECK(err || (owned.n4 && owned.n6), "nothing is left");
	owned_free(&owned);
	return err;
}

static int takes(void)
{
	struct ranges set = RANGES_EMPTY;
	struct owned owned = { 0 };
	int err = ranges_add4(&set, 1, 5) ?: ranges_add6(&set, 1, 5) ?: ranges_finish(&set);

	err = err ?: owned_take(&owned, &set, 1);
	CHECK(err || (owned.n4 == 1 && owned.n6 == 3), "%zu and %zu are left", owned.n4, owned.n6);
	owned_free(&owned);
	ranges_free(&set);
	return err;
}

static int holds_alone(void)
{
	struct ranges sets[] = { one, two };
	struct alone alone[2];
	int err = ranges_alone(sets, 2, alone);

	CHECK(err || (alone[0].v4 > 65000 && alone[1].v4 < 200 && alone[1].v6), "%d and %d", (int)alone[0].v4,
	      (int)alone[1].v4);
	return err;
}

/* What one has and the other has not, and the other way round. */
static int packs(void)
{
	struct reader_options options = { .before = &two };
	static struct reader_report report;
	char error[READER_TEXT_MAX], whole[SHA256_TEXT], read[SHA256_TEXT];
	struct ranges set = RANGES_EMPTY;
	int fd = open(path[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err;

	ENOUGH(fd >= 0);
	err = packed_write(fd, &one, &two, PACKED_QUICK);
	close(fd);
	packed_sum(&one, whole);
	if (!err && reader_read(path[3], &options, &set, &report, error))
		err = CHECK(strstr(error, "memory"), "%s", error) ? -ENOMEM : -EINVAL;
	packed_sum(&set, read);
	CHECK(err || !strcmp(whole, read), "another set");
	ranges_free(&set);
	return err;
}

static int plan(struct owned *owned, struct generation *g, bool exact)
{
	struct account accounts[2] = { { &one, 1 }, { &two, 2 } };
	struct settings settings = SETTINGS_DEFAULT;

	settings.exact = exact;
	return owned_settle(owned, accounts, 2, &allowed) ?: plan_generation(g, owned, &settings);
}

static int builds(void)
{
	struct owned owned = { 0 };
	struct generation g = { 0 };
	int err = plan(&owned, &g, true), built;

	built = err ?: build_until_placed(&g, &owned, &(struct build_how){ 0 });
	err = err ?: built ?: check_arrays(&g, &owned);
	if (!built)
		arrays_release(&g);
	owned_free(&owned);
	return err;
}

static int edits(void)
{
	struct owned owned = { 0 }, more = { 0 };
	struct ranges set = RANGES_EMPTY;
	struct generation g = { 0 };
	struct edit edit = { 0 };
	int err = plan(&owned, &g, true), built;

	built = err ?: build_until_placed(&g, &owned, &(struct build_how){ 0 });
	err = err ?: built ?: ranges_add4(&set, 0x05050505, 0x05050509);
	err = err ?: ranges_finish(&set) ?: owned_take(&more, &set, LABEL_LIVE);
	if (!err) {
		edit_begin(&edit, &g);
		err = edit_ban(&edit, &more);
		if (!err)
			edit_make(&edit);
		edit_end(&edit);
	}
	CHECK(err || decide_ipv4(&g, 0x05050506) & ANSWER_DROP, "done, but it passes");
	if (!built)
		arrays_release(&g);
	ranges_free(&set);
	owned_free(&owned);
	owned_free(&more);
	return err;
}

static void name_lists(struct list_info lists[2], const char *second)
{
	memset(lists, 0, 2 * sizeof(*lists));
	for (int i = 0; i < 2; i++) {
		snprintf(lists[i].name, sizeof(lists[i].name), "%s", i ? second : "first");
		snprintf(lists[i].addresses, sizeof(lists[i].addresses), "1");
		snprintf(lists[i].loaded, sizeof(lists[i].loaded), "2026-01-01T00:00:00Z");
		lists[i].label = (uint8_t)(1 + i);
		lists[i].kind = LIST_BAN;
	}
}

static int make_image(int which, bool exact, const struct image *like)
{
	struct account accounts[2] = { { &one, 1 }, { &two, 2 } };
	struct settings settings = SETTINGS_DEFAULT;
	struct owned owned = { 0 };
	struct list_info lists[2];
	int err = owned_settle(&owned, accounts, 2, &allowed);

	settings.exact = exact;
	settings.headroom = 10;
	name_lists(lists, which ? "third" : "second");
	err = err ?: image_make(path[which], &owned, lists, 2, &settings, like);
	owned_free(&owned);
	return err;
}

static int makes(void)
{
	return make_image(2, true, NULL);
}

static int opens(void)
{
	struct list_info *lists = NULL;
	struct image image = { 0 };
	size_t n = 0;
	int err = image_open(&image, path[0], "it", true), opened = err;

	err = err ?: image_lists(&image, &lists, &n);
	CHECK(err || (n == 2 && !strcmp(lists[1].name, "second")), "%zu lists", n);
	free(lists);
	if (!opened)
		image_close(&image);
	return err;
}

static int looks_into(void)
{
	struct ranges sets[LABELS], banned = RANGES_EMPTY;
	struct tag6 *tags = NULL;
	size_t n = 0;
	int err;

	err = image_sets4(&held[0], sets);
	CHECK(err || ranges_count4(&sets[1]) == ranges_count4(&one) - ranges_count4(&allowed), "another set");
	image_sets_free(sets);
	err = err ?: image_banned4(&held[0], &banned);
	CHECK(err || ranges_count4(&banned) >= ranges_count4(&one) - ranges_count4(&allowed), "another set");
	ranges_free(&banned);
	err = err ?: image_tags6(&held[0], &tags, &n);
	CHECK(err || n, "no tags");
	free(tags);
	return err;
}

static int unites(void)
{
	struct image image = { 0 };
	int err = image_union(path[3], &held[0], &held[1]), opened = err ?: image_open(&image, path[3], "it", false);

	CHECK(err || (!opened && image.header->lists == 3), "another image");
	if (!opened)
		image_close(&image);
	return err;
}

static int compares(void)
{
	struct comparison c = { .a = { .name = path[0] }, .b = { .name = path[1] } };
	int err = side_image(&c.a) ?: side_image(&c.b) ?: compare_sides(&c);

	CHECK(err || (c.exact4 && c.v4.a == c.v4.both), "another overlap");
	side_free(&c.a);
	side_free(&c.b);
	return err;
}

static int reads(const char *text, const char *format)
{
	struct reader_options options = { .format = format };
	static struct reader_report report;
	char error[READER_TEXT_MAX];
	struct ranges set = RANGES_EMPTY;
	FILE *out = fopen(path[3], "we");
	int err;

	ENOUGH(out);
	fputs(text, out);
	fclose(out);
	err = reader_read(path[3], &options, &set, &report, error);
	CHECK(!err || strstr(error, "memory"), "%s", error);
	CHECK(err ? !set.n4 && !set.n6 : ranges_count4(&set) == 2 && set.n6 == 1, "another set");
	ranges_free(&set);
	return err ? -ENOMEM : 0; /* the one line above is what its caller shows */
}

static int reads_plain(void)
{
	return reads("1.2.3.4\n1.2.3.6\n::1\n", NULL);
}

static int reads_json(void)
{
	return reads("[\"1.2.3.4\",\"1.2.3.6\",\"::1\"]", NULL);
}

static int reads_csv(void)
{
	return reads("a,1.2.3.4\nb,1.2.3.6\nc,::1\n", NULL);
}

static int reads_nft(void)
{
	return reads("add element inet f b { 1.2.3.4, 1.2.3.6 }\nadd element inet f c { ::1 }\n", NULL);
}

/* More names than the first table of them has room for, and texts as well. */
static int makes_networks(void)
{
	static const char name[] = "the name of a network, as long as people make them";
	struct networks_source source = { 0 };
	struct networks *networks = NULL;
	struct network is = { 0 };
	FILE *out = fopen(path[3], "we");
	int err;

	ENOUGH(out);
	fputs("network,asn,name\n", out);
	for (unsigned int i = 1; i <= 1200; i++)
		fprintf(out, "%u.%u.%u.0/24,%u,%s %u\n", 1 + i % 9, i / 250, i % 250, i, name, i);
	fclose(out);
	err = networks_make(directory, path[3], &source);
	if (err && strstr(reason(err), "memory"))
		err = -ENOMEM;
	err = err ?: networks_map(&networks, directory);
	CHECK(err || (source.rows == 1200 && networks_find(networks, (struct addr){ 0x02040005, 4 }, 32, &is)),
	      "%d rows", (int)source.rows);
	networks_close(networks);
	err = err ?: networks_forget(directory);
	return err;
}

static int keep(struct state *s, const char *name, enum list_kind kind, const struct ranges *set)
{
	struct list_info list = { .kind = kind,
				  .times = kind == LIST_TRUST,
				  .prefixes = writer_prefixes(set, NULL, NULL),
				  .addresses = "1",
				  .source = "a file",
				  .loaded = "2026-01-01T00:00:00Z" };

	snprintf(list.name, sizeof(list.name), "%s", name);
	return state_list_put(s, &list, set);
}

#define ENDS_AT 4000000000
#define DUE	1000000000000000000 /* ns since boot */

static int keeps(void)
{
	struct state *s = NULL;
	int err = state_open(&s, &own_context, true);
	bool renewed;
	struct ban ban = { .first = { 0x01020304, 4 }, .length = 32, .added = 1 };
	/* One within the other, which ends later. */
	struct ban wide = { .first = { 0x01020800, 4 }, .length = 24, .added = 1, .expires = ENDS_AT, .due = DUE };
	struct ban narrow = {
		.first = { 0x01020805, 4 }, .length = 32, .added = 1, .expires = ENDS_AT, .due = DUE / 2
	};

	err = err ?: keep(s, "one", LIST_BAN, &one) ?: keep(s, "two", LIST_ALLOW, &allowed);
	err = err ?: keep(s, "three", LIST_SHADOW, &two) ?: state_ban_put(s, &ban, &renewed);
	err = err ?: state_ban_put(s, &wide, &renewed) ?: state_ban_put(s, &narrow, &renewed);
	err = err ?: state_grant(s, ban.first, 0) ?: state_guard_port(s, 2222, true);
	err = err ?: state_commit(s);
	state_close(s);
	return err;
}

static int recalls(void)
{
	struct interface_info *interfaces = NULL;
	struct pending *pending = NULL;
	struct list_info *lists = NULL;
	struct settled settled = { 0 };
	struct ranges set = RANGES_EMPTY;
	struct ban *bans = NULL;
	struct state *s = NULL;
	size_t n = 0, bans_n = 0, other;
	int err = state_open(&s, &own_context, false);

	err = err ?: state_lists(s, &lists, &n);
	CHECK(err || n == 3, "%zu lists", n);
	err = err ?: state_list_set(s, "one", &set);
	CHECK(err || ranges_count4(&set) == ranges_count4(&one), "another set");
	if (!err)
		ranges_free(&set);
	err = err ?: state_bans(s, &bans, &bans_n);
	CHECK(err || bans_n == 3, "%zu bans", bans_n);
	err = err ?: state_interfaces(s, &interfaces, &other);
	err = err ?: state_pending(s, &pending, &other);
	if (!err) {
		err = settle(&settled, s);
		CHECK(err || (settled.shadows && settled.owned.n4 && settled.allowed.n4), "settled otherwise");
		if (!err)
			settled_free(&settled);
	}
	free(lists);
	free(bans);
	free(interfaces);
	free(pending);
	state_close(s);
	return err;
}

/* Of all bans, or of those that touch a set. */
static int recalls_bans(const struct ranges *within)
{
	struct ranges lasting = RANGES_EMPTY, ending = RANGES_EMPTY, all = RANGES_EMPTY;
	struct ban *bans = NULL, *first = NULL;
	struct ends ends = { 0 };
	struct prefix gone[] = { { { 0x01020805, 4 }, 32 }, { { 0x01020304, 4 }, 32 } };
	struct prefixes each = { .at = gone, .n = 2 };
	struct state *s = NULL;
	size_t n = 0, first_n = 0;
	int err = state_open(&s, &own_context, false);

	err = err ?: state_bans_sets(s, 1, within, &lasting, &ending) ?: state_bans_set(s, 1, within, &all);
	CHECK(err || (ranges_count4(&lasting) == !within && ranges_count4(&ending) == 256), "%d and %d banned",
	      (int)ranges_count4(&lasting), (int)ranges_count4(&ending));
	CHECK(err || ranges_count4(&all) == 256 + !within, "%d banned", (int)ranges_count4(&all));
	err = err ?: state_bans_ending(s, 1, within, &bans, &n);
	CHECK(err || n == 2, "%zu end", n);
	err = err ?: state_bans_first(s, 1, 2, &first, &first_n);
	CHECK(err || first_n == 2, "%zu are the first two", first_n);
	err = err ?: ends_read(&ends, s, within);
	err = err ?: ends_drop(&ends, &each);
	CHECK(err || (ends.n == 3 && ends.at[0].until == DUE && ends.at[1].until == DUE && !ends.at[2].until),
	      "%zu ends", ends.n);
	ends_free(&ends);
	ranges_free(&lasting);
	ranges_free(&ending);
	ranges_free(&all);
	free(bans);
	free(first);
	state_close(s);
	return err;
}

/* Until when what is dropped: by a list, by a ban, and by neither. */
static int foresees(void)
{
	static const struct addr addrs[] = { { 0x05000000, 4 }, { 0x01020304, 4 }, { 9, 4 } };
	struct untils untils = { 0 };
	struct state *s = NULL;
	int err = state_open(&s, &own_context, false);

	err = err ?: state_until(s, addrs, 3, UNTIL_ENDLESS, &untils);
	CHECK(err || (untils.of[0].n == 1 && untils.of[1].n == 1 && !untils.of[2].n), "other periods");
	untils_free(&untils);
	state_close(s);
	return err;
}

static int recalls_all_bans(void)
{
	return recalls_bans(NULL);
}

static int recalls_some_bans(void)
{
	struct ranges within = RANGES_EMPTY;
	int err = ranges_add4(&within, 0x01020805, 0x010208ff) ?: ranges_finish(&within);

	err = err ?: recalls_bans(&within);
	ranges_free(&within);
	return err;
}

static int recalls_the_rest(void)
{
	static bool ports[65536];
	struct addr *grants = NULL;
	struct state *s = NULL;
	size_t grants_n = 0;
	int err = state_open(&s, &own_context, false);

	memset(ports, 0, sizeof(ports));
	err = err ?: state_grants(s, &grants, &grants_n);
	CHECK(err || (grants_n == 1 && grants->num == 0x01020304 && grants->family == 4), "%zu grants", grants_n);
	err = err ?: state_guarded_ports(s, ports);
	CHECK(err || (ports[2222] && !ports[2221]), "another port is guarded");
	free(grants);
	state_close(s);
	return err;
}

/* What waits is confirmed, with what was granted for it. */
static int confirms_grants(void)
{
	struct pending pending = { .kind = PENDING_LIST, .name = "one", .deadline = 4000000000 };
	struct addr granted = { 0x06000007, 4 };
	struct state *s = NULL;
	int err = state_open(&s, &own_context, true);

	err = err ?: state_pending_add(s, &pending) ?: keep(s, "one", LIST_BAN, &one);
	err = err ?: state_grant(s, granted, pending.deadline) ?: state_pending_confirm(s);
	CHECK(err || state_granted(s, granted) == GRANTED_ENDLESS, "it is not granted for good");
	state_close(s);
	return err;
}

/* A row of everything else. */
static int keep_rows(void)
{
	struct interface_info coming = { "eth9", "native", true, MATCH_BOTH };
	struct interface_info leaving = { "eth9", "tc", false, MATCH_LEAVING(MATCH_BOTH) };
	struct interface_info rule = { "br0", "skb", false, MATCH_DESTINATION };
	struct port_row port = { .name = "eth8", .of = "br0" };
	struct pending pending = { .kind = PENDING_INTERFACE, .name = "eth9", .deadline = 4000000000 };
	struct list_source source = { .list = "two", .path = "/list", .stamp = "1", .options = "" };
	struct feed feed = { .list = "three", .url = "https://example.net/list", .every = 3600 };
	struct member member = { .name = "edge-7", .rule = MEMBER_ACCEPTED, .limits = member_limits_default };
	struct said said = { .ban = { .first = { 0x05060708, 4 }, .length = 32, .added = 1 } };
	struct fleet fleet = { .url = "redis://192.0.2.1", .name = "edge-1", .say = FLEET_SAY_ALL };
	struct fleet_at at = { .member = "edge-7", .n = 1, .id = "1-1" };
	struct addr server = { 0xc0000201, 4 };
	struct list_info only = { .name = "four", .kind = LIST_BAN, .addresses = "0", .where = "asn=64500" };
	struct ranges none = RANGES_EMPTY;
	struct state *s = NULL;
	int err = state_open(&s, &own_context, true);
	struct limits limits = state_limits(s);
	struct scope scope = { 0 };
	bool fresh;

	limits_put_on(&limits, "eth9", CLASS_SYN, (struct limit){ 500, 0, THENS });
	ENOUGH(!scope_add_only(&scope, "tcp/22") && scope_text(only.scope, &scope));
	err = err ?: state_interface_put(s, &coming) ?: state_interface_put(s, &leaving) ?: state_ports_put(s, &rule);
	err = err ?: state_port_put(s, &port) ?: state_pending_add(s, &pending) ?: state_source_put(s, &source);
	err = err ?: state_signed_put(s, "three", 7) ?: state_feed_put(s, &feed) ?: state_member_put(s, &member);
	said.member = member.id;
	err = err ?: state_said_put(s, &said, &fresh) ?: state_fleet_join(s, &fleet) ?: state_fleet_at_put(s, &at);
	err = err ?: state_limits_put(s, &limits) ?: state_prove(s, "eth9", true);
	err = err ?: state_feed_servers_put(s, NULL, &server, 1);
	err = err ?: state_fleet_servers_put(s, &server, 1) ?: state_list_put(s, &only, &none) ?: state_commit(s);
	state_close(s);
	return err;
}

/* A text that SQLite has no memory for is no damage. */
static int recalls_rows(void)
{
	struct interface_info *interfaces = NULL, *rules = NULL;
	struct addr *grants = NULL, *servers = NULL;
	struct feed_server *fetched = NULL;
	struct pending *pending = NULL;
	struct port_row *ports = NULL;
	struct list_info *lists = NULL, list;
	struct list_source *sources = NULL;
	struct proven *proven = NULL;
	struct member *members = NULL, member;
	struct fleet_at *at = NULL;
	struct feed *feeds = NULL, feed;
	struct feeds due = { 0 };
	struct said *said = NULL;
	struct ban *bans = NULL;
	static bool guarded[65536];
	struct limits limits = { 0 };
	struct fleet fleet;
	struct state *s = NULL;
	uint64_t when = 0;
	size_t n[14] = { 0 };
	int err = state_open(&s, &own_context, false);

	memory->texts = true;
	err = err ?: state_lists(s, &lists, &n[0]) ?: state_list_get(s, "four", &list) ?: state_bans(s, &bans, &n[1]);
	err = err ?: state_interfaces(s, &interfaces, &n[2]) ?: state_ports(s, &rules, &n[3]);
	err = err ?: state_port_rows(s, &ports, &n[4]) ?: state_pending(s, &pending, &n[5]);
	err = err ?: state_sources(s, &sources, &n[6]) ?: state_signed_get(s, "three", &when);
	err = err ?: state_feeds(s, &feeds, &n[7]) ?: state_feed_get(s, "three", &feed);
	err = err ?: state_members(s, &members, &n[8]) ?: state_member_get(s, "edge-7", &member);
	err = err ?: state_said(s, &said, &n[9]) ?: state_fleet(s, &fleet) ?: state_fleet_ats(s, &at, &n[10]);
	err = err ?: state_grants(s, &grants, &n[11]) ?: state_fleet_servers(s, &servers, &n[12]);
	err = err ?: state_feed_servers(s, &fetched, &n[12]);
	err = err ?: state_guarded_ports(s, guarded) ?: state_proven(s, &proven, &n[12]);
	err = err ?: feeds_expect(&due, s);
	n[13] = due.n;
	if (!err) {
		limits = state_limits(s);
		err = state_settings_fault(s);
	}
	memory->texts = false;
	CHECK(err || (n[0] == 4 && n[1] == 3 && n[2] == 2 && when == 7 && limits.interfaces == 1 &&
		      !strcmp(list.where, "asn=64500") && !strcmp(list.scope, lists[3].scope) &&
		      !strcmp(feed.url, "https://example.net/list") && !strcmp(fleet.name, "edge-1") &&
		      !strcmp(members->name, "edge-7")),
	      "what is kept is another");
	for (size_t i = 3; i < sizeof(n) / sizeof(*n) && !err; i++)
		CHECK(n[i] == 1, "%zu of number %zu", n[i], i);
	feeds_stop(&due);
	free(interfaces);
	free(rules);
	free(grants);
	free(servers);
	free(fetched);
	free(pending);
	free(ports);
	free(lists);
	free(sources);
	free(proven);
	free(members);
	free(at);
	free(feeds);
	free(said);
	free(bans);
	state_close(s);
	return err;
}

/* A line of a config file, and a list's row of it. */
static int reads_config(void)
{
	static const struct verb verbs[] = { { .name = "attach", .flags = VERB_IN_CONFIG },
					     { .name = "load", .flags = VERB_IN_CONFIG },
					     { 0 } };
	struct config config;
	FILE *out = fopen(path[3], "we");
	int err;

	ENOUGH(out);
	fputs("attach eth0\n# a comment\nload 'a' \"b c\"\nload d\\ e f\n", out);
	fclose(out);
	err = config_read(&config, path[3], verbs);
	CHECK(err || (config.n == 3 && config.lines[2].number == 4 && config.lines[2].words.n == 3 &&
		      !strcmp(config.lines[1].words.words[2], "b c") && !config.lines[2].words.words[3]),
	      "%zu lines", config.n);
	if (!err)
		config_free(&config);
	CHECK(!config.n && !config.lines, "something is left");
	return err_is(err, EINVAL) && strstr(reason(err), "out of memory") ? -ENOMEM : err;
}

static int explains(void)
{
	static const struct addr addrs[] = {
		{ 0x06000007, 4 }, { (ip6)0x2a000000 << 96, 6 }, { 0x01020304, 4 }, { 9, 4 }
	};
	struct explanation e = { 0 };
	int err = explain(&own_context, &e, addrs, 4);

	CHECK(err || (e.n == 4 && e.addrs_n == 4), "%zu lists", e.n);
	CHECK(err || (explain_decider(&e, 0) && explain_decider(&e, 1) && explain_decider(&e, 2) &&
		      explain_decider(&e, 2)->ban && !explain_decider(&e, 3)),
	      "explained otherwise");
	explain_free(&e);
	return err;
}

static int remembers(void)
{
	struct history *written = NULL, *read = NULL, *own = NULL;
	int err = history_open(&own_context, &written, true) ?: history_open(&own_context, &read, false);

	err = err ?: history_private(&own);
	history_close(read);
	history_close(written);
	history_close(own);
	return err;
}

/* --- Feeds --- */

static bool none_of_them(void *arg, struct addr first, unsigned int length)
{
	(void)arg;
	(void)first;
	(void)length;
	return false;
}

#define ROUTES 300u

static int put_route(struct route_table *t, uint32_t i)
{
	struct route r = { .first = 0x0a000000 + (i << 8), .family = 4, .length = 24 };

	return i % 3 ? routes_put(t, &r, 1) : routes_were(t, (struct addr){ r.first, 4 }, 24, 1);
}

/* What finds no room is not there, all others still are, and the next time it finds some. */
static int has_routes(void)
{
	struct ranges is = RANGES_EMPTY;
	struct route_table t;
	int err = routes_begin(&t, 1000), again = 0;

	for (uint32_t i = 0; i < ROUTES && !err; i++) {
		size_t before = t.here + t.gone;

		if (!put_route(&t, i))
			continue;
		CHECK(t.here + t.gone == before && before == i, "%zu are there, not %u", t.here + t.gone, i);
		again++;
		err = put_route(&t, i);
	}
	CHECK(err || (again <= 1 && t.here == 200 && t.gone == 100), "%zu here, %zu gone", t.here, t.gone);
	t.changed = false;
	if (!err && (routes_to_be(&t, &is, none_of_them, NULL) || ranges_finish(&is))) {
		ranges_free(&is);
		is = RANGES_EMPTY;
		err = routes_to_be(&t, &is, none_of_them, NULL) ?: ranges_finish(&is);
	}
	CHECK(err || (ranges_count4(&is) == 256 * ROUTES && is.n4 == 1), "%zu ranges", is.n4);
	ranges_free(&is);
	routes_end(&t);
	return err;
}

static int reads_decisions(void)
{
	static const char text[] =
		"{\"new\":[{\"id\":1,\"scope\":\"Ip\",\"value\":\"192.0.2.1\",\"duration\":\"1h\","
		"\"type\":\"ban\",\"origin\":\"a\",\"scenario\":\"b\"},{\"id\":2,\"scope\":\"Range\","
		"\"value\":\"198.51.100.0/24\",\"duration\":\"1h\",\"type\":\"ban\",\"origin\":\"a\","
		"\"scenario\":\"b\"}],\"deleted\":null}";
	struct decisions before = { 0 }, after = { 0 };
	struct decision_changes c = { 0 };
	struct ban_order *orders = (void *)1;
	int fd = memfd_create("answer", MFD_CLOEXEC);
	size_t n = 7;
	int err;

	ENOUGH(fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
	err = decisions_read(&c, fd, 100);
	close(fd);
	CHECK(!err || (!c.added.at && !c.added.n && !c.deleted.at), "a half of it is left");
	err = err ?: decisions_merge(&after, &before, &c, 100);
	if (!err) {
		err = decisions_orders(&before, &after, 100, false, &orders, &n);
		CHECK(err ? !orders && !n : n == 2 && !orders[0].del && orders[1].ttl == 3600, "%zu orders", n);
		free(orders);
	}
	changes_free(&c);
	decisions_free(&after);
	return err;
}

static int shares(void)
{
	struct stream s = { 0 };
	int pair[2], err;

	ENOUGH(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	err = stream_share(&s, "a test", pair[0]);
	if (!err) {
		stream_refuse(&s, 1, NULL, "why");
		CHECK(!stream_tell(&s), "not told");
	}
	stream_end(&s);
	close(pair[1]);
	return err;
}

/* --- What is observed --- */

static int looks_at_passing(void)
{
	struct passing *p = passing_new(100);

	CHECK(!p || !passing_sees(p), "it sees something");
	passing_free(p);
	return p ? 0 : -ENOMEM;
}

static int counts_sources(void)
{
	const struct replay_source **top = NULL;
	struct replay_table t = { 0 };
	size_t n = 0;
	int err = 0;

	for (uint32_t i = 0; i < 6000 && !err; i++)
		err = replay_table_count(
			&t, &(struct replay_source){ .num = i % 3000, .family = 4, .fate = FATE_PASSED }, i % 3000 + 1);
	err = err ?: replay_table_top(&t, FATE_PASSED, 3, &top, &n);
	CHECK(err || (t.n == 3000 && n == 3 && !t.floor && top[0]->packets == 2 && top[2]->bytes == 6 && !top[0]->num),
	      "%zu sources, %zu of them", t.n, n);
	free((void *)top);
	free(t.slot);
	return err;
}

static int follows_senders(void)
{
	struct senders *s = senders_new();
	struct sender_class is = { 0 };
	int err = s ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < 3000 && !err; i++) {
		uint8_t frame[60] = { [12] = 8, [14] = 0x45, [17] = 46, [22] = 64, [23] = 17 };

		frame[26] = 10;
		frame[27] = (uint8_t)(i >> 16);
		frame[28] = (uint8_t)(i >> 8);
		frame[29] = (uint8_t)i;
		err = senders_add(s, 5, frame, sizeof(frame), 60, 1 + i % 2);
	}
	err = err ?: senders_class(s, CLASS_UDP, &is);
	CHECK(err || (is.sources == 3000 && is.median == 1 && is.most99 == 2 && senders_share(s) == 1), "%d senders",
	      (int)is.sources);
	senders_free(s);
	return err;
}

static int holds(void)
{
	struct held *h = (void *)1;
	int err = held_open(&h, &own_context);

	CHECK(!err == !!h, "one is left");
	held_close(h);
	return err;
}

/* What may be banned all the same, and what guard rails say of lists that are wide. */
static int guards(void)
{
	const struct amounts granted = { 0x1p31, 0x1p127 };
	struct guard guard = { 0 };
	struct ranges wide = RANGES_EMPTY, left = RANGES_EMPTY;
	struct amounts share = { 0 };
	bool found[bogon_table_n];
	int err = guard_force_prefix(&guard.forced, (struct addr){ 0x01020304, 4 }, 32)
			  ?: guard_force(&guard.forced, &two);

	CHECK(err || (ranges_covering(&guard.forced, (struct addr){ 0x01020304, 4 }) >= 0 &&
		      ranges_covering(&guard.forced, (struct addr){ 0x05000000, 4 }) >= 0),
	      "it is not forced");
	err = err ?:
	      ranges_add4(&wide, 0, 0x7fffffff) ?:
	      ranges_add6(&wide, (ip6)2 << 124, (ip6)3 << 124) ?:
	      ranges_finish(&wide) ?:
	      guard_wide(LIST_BAN, "wide", &wide, &wide, granted) ?:
	      guard_allows(&wide, &wide) ?: guard_share_of(&wide, &share) ?: guard_change(LIST_BAN, "wide", &wide, granted, &wide);
	CHECK(err || (share.v4 > 0x1p30 && share.v4 < 0x1p31), "its share is %g", share.v4);
	err = err ?: ranges_union(&left, &two, &wide) ?: guard_apply_bogons(&left, BOGONS_LEAVE_OUT, found);
	CHECK(err || ranges_covering(&left, (struct addr){ 0x0a000001, 4 }) < 0, "what is nobody's stays");
	ranges_free(&wide);
	ranges_free(&left);
	guard_free(&guard);
	return err;
}

static int captures(void)
{
	struct pcapng *p = (void *)1;
	int err = pcapng_open(&p, path[3]);

	CHECK(!err || !p, "one is left");
	if (err)
		return err;
	err = pcapng_packet(p, "eth0", LINK_ETHERNET, 1, "packet", 6, 6, "why");
	return pcapng_close(p) ?: err;
}

/* --- The service and its verbs --- */

static int follows_files(void)
{
	static const struct config config;
	struct jobs jobs = { .context = &own_context };
	struct reload *r = (void *)1;
	struct state *s = NULL;
	int err = reload_open(&r);

	CHECK(!err || !r, "one is left");
	if (err)
		return err;
	log_settings.quiet = true; /* a file that cannot be watched is said */
	err = state_open(&s, &own_context, false) ?: reload_follow(r, s, &config, &jobs);
	log_settings.quiet = false;
	CHECK(err || !reload_due(r), "it does not look at the list");
	state_close(s);
	reload_close(r);
	return err;
}

/* Lists that are loaded, an allow list and trusted names among them, as operands. */
static int takes_lists(void)
{
	static const struct reader_options reading = { 0 };
	char *names[] = { "one", "two", "three", "trusted" };
	struct ranges both = RANGES_EMPTY, left = RANGES_EMPTY;
	struct list_files f = { 0 };
	struct owned owned = { 0 };
	uint64_t n = 0;
	int err = list_files_read(&f, &own_context, &reading, names, 4);

	CHECK(err || (f.n == 4 && f.lists[1].kind == LIST_ALLOW && f.lists[2].kind == LIST_BAN && !f.paths[3]),
	      "%zu lists", f.n);
	err = err ?: list_files_settle(&f, &owned);
	for (size_t i = 0; i < owned.n4 && !err; i++)
		n += owned.v4[i].hi - owned.v4[i].lo + (uint64_t)1;
	if (!err)
		err = ranges_union(&both, &one, &two) ?: ranges_subtract(&left, &both, &allowed);
	CHECK(err || n == ranges_count4(&left), "%d addresses, not %d", (int)n, (int)ranges_count4(&left));
	ranges_free(&both);
	ranges_free(&left);
	owned_free(&owned);
	list_files_free(&f);
	return err;
}

/* --- Cases -----------------------------------------------------------------------------------------------------------
 */

static int next_fd(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	close(fd);
	return fd;
}

static void each(const char *what, int (*operation)(void))
{
	int n = 0, survived = 0;

	for (;; n++) {
		int free_one = next_fd(), err;

		memory->failed = false;
		memory->until = n;
		memory->armed = true;
		err = operation();
		memory->armed = false;
		CHECK(next_fd() == free_one, "%s, allocation %d: descriptor %d is left open", what, n, free_one);
		if (!memory->failed) {
			CHECK(!err, "%s: %s", what, reason(err));
			break;
		}
		survived += !err;
		if (!CHECK(!err || err_is(err, ENOMEM), "%s, allocation %d: %s", what, n, reason(err)) ||
		    !CHECK(n < 10000, "%s: without end", what))
			break;
	}
	printf("# %s: %d allocations failed, %d times it was done\n", what, n, survived);
}

#define EACH(operation) each(#operation, operation)

static void prepare(void)
{
	memory->armed = false;
	ranges_free(&one);
	ranges_free(&two);
	ranges_free(&allowed);
	for (uint32_t i = 0; i < 200; i++) {
		ENOUGH(!ranges_add_host(&one, 0x05000000 + i * 97));
		ENOUGH(!ranges_add_host(&two, 0x05000000 + i * 89));
		ENOUGH(!ranges_add6(&one, (ip6)(0x2a000000 + i) << 96, (ip6)(0x2a000000 + i) << 96));
		ENOUGH(!ranges_add6(&two, (ip6)(0x2a000000 + 2 * i) << 96, ((ip6)(0x2a000001 + 2 * i) << 96) - 1));
	}
	ENOUGH(!ranges_add4(&one, 0x06000000, 0x0600ffff) && !ranges_add_host(&allowed, 0x06000001));
	ENOUGH(!ranges_finish(&one) && !ranges_finish(&two) && !ranges_finish(&allowed));
}

static void sets(void)
{
	prepare();
	EACH(adds);
	EACH(algebra);
	EACH(settles);
	EACH(takes);
	EACH(holds_alone);
	EACH(packs);
}

static void filters(void)
{
	prepare();
	EACH(builds);
	EACH(edits);
}

static void images(void)
{
	prepare();
	if (!CHECK(!make_image(0, true, NULL) && !image_open(&held[0], path[0], "first", true), "no image") ||
	    !CHECK(!make_image(1, true, &held[0]) && !image_open(&held[1], path[1], "second", true), "not like it"))
		return;
	EACH(makes);
	EACH(opens);
	EACH(looks_into);
	EACH(unites);
	EACH(compares);
	image_close(&held[0]);
	image_close(&held[1]);
}

static void readers(void)
{
	prepare();
	EACH(reads_plain);
	EACH(reads_json);
	EACH(reads_csv);
	EACH(reads_nft);
	EACH(makes_networks);
}

static void states(void)
{
	char history[220];

	prepare();
	empty_directory();
	EACH(keeps);
	EACH(recalls);
	EACH(recalls_all_bans);
	EACH(recalls_some_bans);
	EACH(recalls_the_rest);
	EACH(foresees);
	EACH(confirms_grants);
	EACH(reads_config);
	EACH(explains);
	EACH(remembers);
	if (CHECK(!keep_rows(), "not kept: %s", log_last()))
		EACH(recalls_rows);
	snprintf(history, sizeof(history), "%s/history", directory);
	CHECK(!unlink(history), "no history");
	empty_directory();
}

static void feeds(void)
{
	EACH(has_routes);
	EACH(reads_decisions);
	EACH(shares);
}

static void observers(void)
{
	EACH(looks_at_passing);
	EACH(counts_sources);
	EACH(follows_senders);
	EACH(holds);
	EACH(guards);
	EACH(captures);
}

static void services(void)
{
	struct ranges named = RANGES_EMPTY;
	struct state *s = NULL;

	prepare();
	empty_directory();
	ENOUGH(!ranges_add_host(&named, 0x07070707) && !ranges_finish(&named));
	if (!CHECK(!keeps() && !keep_rows() && !state_open(&s, &own_context, true) &&
			   !keep(s, "trusted", LIST_TRUST, &named) && !state_commit(s),
		   "not kept: %s", log_last()))
		return;
	state_close(s);
	ranges_free(&named);
	EACH(follows_files);
	EACH(takes_lists);
	empty_directory();
}

static int run(void)
{
	static const struct ktap_case cases[] = {
		{ "sets", sets },     { "filters", filters }, { "images", images },	  { "readers", readers },
		{ "states", states }, { "feeds", feeds },     { "observers", observers }, { "services", services },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	int status;

	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return KTAP_FAIL;
	for (int i = 0; i < 4; i++)
		snprintf(path[i], sizeof(path[i]), "%s/unit_no_memory.%d.%d", getenv("TMPDIR") ?: "/tmp", (int)getpid(),
			 i);
	status = run();
	for (int i = 0; i < 4; i++)
		unlink(path[i]);
	return status;
}
