// SPDX-License-Identifier: GPL-2.0-only
/* State files that are damaged, newer, older, or another program's; and disks that do not take what is written. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <sqlite3.h>

#include "base/log.h"
#include "own_state.h"
#include "state/bans.h"
#include "state/grants.h"
#include "state/limits.h"
#include "state/proven.h"
#include "state/recover.h"
#include "state/servers.h"

static int syncs_fail; /* so many of those that come */

static int sync_as(long call, int fd)
{
	if (!syncs_fail)
		return (int)syscall(call, fd);
	syncs_fail--;
	errno = EIO;
	return -1;
}

int fsync(int fd)
{
	return sync_as(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return sync_as(SYS_fdatasync, fd);
}

/* Refused with a reason, by readers and by writers: never taken for a state without lists. */
static bool refused(const char *what)
{
	for (int change = 0; change <= 1; change++) {
		struct list_info *lists = NULL;
		struct state *s = NULL;
		size_t n = 0;
		int err = state_open(&s, &own_context, change);

		if (!err)
			err = state_lists(s, &lists, &n);
		for (size_t i = 0; i < n && !err; i++) {
			struct ranges set;

			err = state_list_set(s, lists[i].name, &set);
			if (!err)
				ranges_free(&set);
		}
		free(lists);
		state_close(s);
		if (!CHECK(err, "%s, %s: not refused, %zu lists", what, change ? "changing" : "looking", n) ||
		    !CHECK(strstr(reason(err), directory), "%s: the reason does not say where: %s", what, reason(err)))
			return false;
	}
	return true;
}

/* All of it in the one file that is going to be damaged. */
static void checkpoint(void)
{
	sqlite3 *db = NULL;

	ENOUGH(sqlite3_open(file, &db) == SQLITE_OK);
	ENOUGH(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
}

static bool make_state(void)
{
	struct ranges set;
	struct state *s;

	empty_directory();
	s = opened(true);
	if (!s)
		return false;
	random_ranges(&set, 1, 2000);
	CHECK(!put(s, "one", LIST_BAN, &set) && !put(s, "two", LIST_ALLOW, &set) && !state_commit(s), "not put");
	ranges_free(&set);
	state_close(s);
	checkpoint();
	return !ktap_failed;
}

static void write_at(off_t at, const void *data, size_t bytes)
{
	int fd = open(file, O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0 && pwrite(fd, data, bytes, at) == (ssize_t)bytes, "cannot write %s", file);
	close(fd);
}

static void sql(const char *text)
{
	sqlite3 *db = NULL;
	int code = sqlite3_open(file, &db);

	if (code == SQLITE_OK)
		code = sqlite3_exec(db, text, NULL, NULL, NULL);
	CHECK(code == SQLITE_OK, "%s: %s", text, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void damaged_files(void)
{
	unsigned char noise[8192];

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (unsigned char)ktap_random();
	empty_directory();
	write_at(0, noise, sizeof(noise));
	refused("random bytes");
	empty_directory();
	write_at(0, "SQLite format 3", 16);
	write_at(16, noise, 4000);
	refused("random bytes behind the right beginning");
	if (!make_state())
		return;
	write_at(100, noise, 3900);
	refused("the table of tables is damaged");
	if (!make_state())
		return;
	for (long page = 1; page < 8; page++)
		write_at(page << 14, noise, 8192);
	refused("a page of a table is damaged");
	if (!make_state())
		return;
	CHECK(!truncate(file, 6000), "cannot cut %s", file);
	refused("cut off");
	empty_directory();
	CHECK(!mkdir(file, 0700), "cannot make %s", file);
	refused("a directory");
	empty_directory();
}

/* What version 3 wrote, IPv4 ranges as they are, can still be read. */
static void ranges_of_before(void)
{
	struct ranges set = RANGES_EMPTY;
	struct state *s;

	if (!make_state())
		return;
	sql("DELETE FROM chunk WHERE part > 0 OR family <> 5");
	sql("UPDATE chunk SET data = x'01000000030000000500000005000000', family = 4, sum = 1");
	s = opened(false);
	CHECK(s && err_is(state_list_set(s, "one", &set), EUCLEAN), "a piece with another sum is read");
	state_close(s);
	sql("UPDATE chunk SET sum = NULL");
	s = opened(false);
	if (!s)
		return;
	CHECK(!state_list_set(s, "one", &set) && set.n4 == 2 && set.v4[0].lo == 1 && set.v4[0].hi == 3 &&
		      set.v4[1].lo == 5 && set.v4[1].hi == 5,
	      "another set");
	ranges_free(&set);
	state_close(s);
	empty_directory();
}

static void foreign_files(void)
{
	empty_directory();
	sql("CREATE TABLE other (x); INSERT INTO other VALUES (1)");
	refused("another program's file");
	empty_directory();
	sql("CREATE TABLE other (x); PRAGMA user_version = 1");
	refused("another program's file of version 1");
	empty_directory();
}

/* SQLite of a static command knows neither questions without end nor columns that are computed. */
static bool sqlite_is_whole(void)
{
	sqlite3 *db = NULL;
	bool is;

	ENOUGH(sqlite3_open(":memory:", &db) == SQLITE_OK);
	is = sqlite3_exec(db, "WITH n (i) AS (VALUES (0)) SELECT i FROM n", NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_close(db);
	return is;
}

/* A state that somebody made: what it computes is never asked, and no question is without end. */
static void crafted_files(void)
{
	static const char *const crafted[] = {
		"DROP TABLE ban; CREATE VIEW ban (family, length, first, added, expires, reason) AS"
		" WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n)"
		" SELECT 4, 32, x'0a000001', i, NULL, '' FROM n",
		"ALTER TABLE list ADD COLUMN more AS (hex(zeroblob(200000000)))",
		"CREATE VIEW other AS SELECT 1",
		"CREATE TRIGGER other AFTER DELETE ON ban BEGIN DELETE FROM list; END",
	};
	struct steps steps;
	sqlite3 *db = NULL;
	int code;

	for (size_t i = sqlite_is_whole() ? 0 : 2; i < sizeof(crafted) / sizeof(crafted[0]); i++) {
		if (!make_state())
			return;
		sql(crafted[i]);
		refused(crafted[i]);
	}
	empty_directory();
	if (!sqlite_is_whole())
		return;
	ENOUGH(sqlite3_open(":memory:", &db) == SQLITE_OK);
	state_distrust(db, &steps, file);
	code = sqlite3_exec(db,
			    "WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
			    NULL, NULL, NULL);
	CHECK(code == SQLITE_INTERRUPT, "a question without end ends with %s", sqlite3_errstr(code));
	sqlite3_close(db);
}

/* The state has one list of nothing but these ranges, numbers of 4 or of 16 bytes: does it come back? */
static bool holds(int family, const char *numbers)
{
	struct ranges set = RANGES_EMPTY;
	struct state *s;
	char text[300];
	int err = 0;

	if (!make_state())
		return false;
	sql("DELETE FROM chunk WHERE part > 0 OR family <> 5");
	snprintf(text, sizeof(text), "UPDATE chunk SET data = x'%s', family = %d, sum = NULL", numbers, family);
	sql(text);
	s = opened(false);
	if (s)
		err = state_list_set(s, "one", &set);
	CHECK(!err || err_is(err, EUCLEAN), "%s: %s", numbers, reason(err));
	ranges_free(&set);
	state_close(s);
	return s && !err;
}

/* Each way in which two ranges can lie, in both families. Nobody else looks whether they are sorted and disjoint. */
static void damaged_ranges(void)
{
	static const struct {
		const char *numbers; /* of a digit each */
		bool sound;
	} known[] = {
		{ "33", true },	   { "35", true },    { "53", false },	 { "3557", false },
		{ "3567", true },  { "3579", true },  { "3546", false }, { "3737", false },
		{ "5713", false }, { "1375", false }, { "7513", false }, { "1335", false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		for (int bytes = 4; bytes <= 16; bytes += 12) {
			char hex[160] = "";

			for (size_t n = 0; known[i].numbers[n]; n++)
				snprintf(hex + 2 * n * (size_t)bytes, sizeof(hex) - 2 * n * (size_t)bytes, "0%c%0*d",
					 known[i].numbers[n], 2 * bytes - 2, 0);
			CHECK(holds(bytes == 4 ? 4 : 6, hex) == known[i].sound, "%s, numbers of %d bytes: %s",
			      known[i].numbers, bytes, known[i].sound ? "refused" : "not refused");
		}
	}
	empty_directory();
}

static void damaged_rows(void)
{
	if (!make_state())
		return;
	sql("PRAGMA user_version = 1000000");
	refused("a newer state");
	if (!make_state())
		return;
	sql("DROP TABLE list");
	refused("a state without its lists");
	if (!make_state())
		return;
	sql("UPDATE chunk SET data = x'00000005000000040000000300000002', family = 4 WHERE part = 0 AND family = 5");
	refused("ranges that are upside down and out of order");
	if (!make_state())
		return;
	sql("UPDATE chunk SET data = x'0000000500', family = 4 WHERE part = 0 AND family = 5");
	refused("half a range");
	if (!make_state())
		return;
	sql("UPDATE chunk SET data = x'0381' WHERE part = 0 AND family = 5");
	refused("a packed range without its end");
	if (!make_state())
		return;
	sql("UPDATE chunk SET data = x'03ffffffff0f' WHERE part = 0 AND family = 5");
	refused("a packed range beyond the last address");
	if (!make_state())
		return;
	sql("UPDATE chunk SET data = x'8080808080808001' WHERE part = 0 AND family = 5");
	refused("a packed number without end");
	if (!make_state())
		return;
	sql("UPDATE list SET kind = 7 WHERE name = 'one'");
	refused("a kind of list that there is not");
	if (!make_state())
		return;
	sql("UPDATE list SET label = 300 WHERE name = 'one'");
	refused("a label behind the last one");
	if (!make_state())
		return;
	sql("UPDATE list SET name = 'one' || char(27) || '[2J' WHERE name = 'one'");
	refused("a name that clears the screen");
	empty_directory();
}

/* There are 129 lengths; a state may say that there are more. */
static void lengths(void)
{
	static const char one[] =
		"INSERT INTO ban (family, length, first, added, reason) VALUES (6, %u, zeroblob(16), 1, 'x');";
	static char text[301 * (sizeof(one) + 2)];
	struct ranges within = RANGES_EMPTY, set;

	ENOUGH(!ranges_add6(&within, 0, 0) && !ranges_finish(&within));
	for (int i = 0; i < 2; i++) {
		struct state *s;
		int err;

		if (!make_state())
			return;
		text[0] = '\0';
		for (unsigned int length = 0; length <= (i ? 300u : 128u); length++)
			snprintf(text + strlen(text), sizeof(one) + 2, one, length);
		sql(text);
		s = opened(false);
		if (!s)
			return;
		err = state_bans_set(s, 1, &within, &set);
		CHECK(i ? err_is(err, EUCLEAN) || !err : !err, "%d: %s", i, reason(err));
		if (!err)
			ranges_free(&set);
		state_close(s);
	}
	ranges_free(&within);
	empty_directory();
}

/* They are places in arrays, and factors: an impossible one counts as not set, and nothing is kept that follows from
 * it. */
/* What is saved has that setting by default. */
static void recovered_without(const char *name, const char *what)
{
	static struct recovered r;
	struct state *s;
	int err;

	sql("DELETE FROM list");
	err = state_recover(&own_context, file, NULL, &r);
	if (!CHECK(!err && !r.whole && !r.lists && !r.lost_n, "%s: %s, %zu lists", what, reason(err), r.lists))
		return;
	unlink(r.kept);
	s = opened(true);
	CHECK(s && state_setting(s, name, 3) == (!strcmp(name, "generation") ? 1 : 3) && !state_commit(s),
	      "%s: it is still there", what);
	state_close(s);
}

static void damaged_settings(void)
{
	static const char *const damaged[][2] = {
		{ "layout", "-1" },	{ "layout", "4" },	  { "layout", "'lanes'" },  { "layout", "x'00'" },
		{ "k", "25" },		{ "fpr", "0.6" },	  { "fpr", "-0.1" },	    { "headroom", "1e300" },
		{ "headroom", "-1" },	{ "samples", "9e999" },	  { "memory_max", "2e18" }, { "exact", "2" },
		{ "generation", "-2" }, { "generation", "1e17" }, { "edits", "-1" },	    { "image", "-1" },
		{ "line 256", "0" },	{ "line 512", "2001" },	  { "lines of", "1e17" },   { "filter bits", "17" },
	};
	struct state *s;

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		const char *name = damaged[i][0];
		char text[128];
		int err;

		if (!make_state())
			return;
		snprintf(text, sizeof(text), "INSERT INTO setting VALUES ('%s', %s)", name, damaged[i][1]);
		sql(text);
		s = opened(true);
		if (!s)
			return;
		CHECK(state_setting(s, name, 3) == 3, "%s: not the fallback", text);
		err = state_commit(s);
		CHECK(err_is(err, EUCLEAN) && strstr(reason(err), "recover"), "%s: %s", text, reason(err));
		state_close(s);
		recovered_without(name, text);
	}
	/* What earlier versions kept is none of that. */
	if (!make_state())
		return;
	sql("INSERT INTO setting VALUES ('bits_per_key', 90.5), ('memory_max', 1e18), ('headroom', 10), ('new', -1)");
	s = opened(true);
	CHECK(s && state_setting(s, "bits_per_key", 3) == 90.5 && state_setting(s, "memory_max", 3) == 1e18 &&
		      state_setting(s, "headroom", 3) == 10 && state_setting(s, "new", 3) == -1 && !state_commit(s),
	      "what is sound is damaged");
	state_close(s);
	empty_directory();
}

static int put_scoped(struct state *s, uint32_t first)
{
	struct list_info list = { .name = "scoped",
				  .kind = LIST_BAN,
				  .prefixes = 1,
				  .addresses = "1",
				  .source = "its file",
				  .loaded = "2026-01-01T00:00:00Z",
				  .scope = "tcp/22" };
	struct ranges set = RANGES_EMPTY;
	int err;

	ENOUGH(!ranges_add4(&set, first, first) && !ranges_finish(&set));
	err = state_list_put(s, &list, &set);
	ranges_free(&set);
	return err;
}

/* A list is not saved as another: without its scope it is lost, and named. So is a version of it that waits. */
static void saved_without_scope(void)
{
	static const struct pending waits = { .kind = PENDING_LIST, .name = "scoped", .deadline = 4000000000 };
	static const char *const damage[] = { "UPDATE scope SET scope = 'tcp/99999999' WHERE list = %s",
					      "UPDATE scope SET kind = 7 WHERE list = %s",
					      "UPDATE scope SET scope = zeroblob(1000) WHERE list = %s" };
	static struct recovered r;

	for (size_t i = 0; i < 6; i++) {
		bool before = i >= 3;
		struct list_info list;
		char text[160];
		struct state *s;
		int err;

		empty_directory();
		s = opened(true);
		ENOUGH(s && !put_scoped(s, 7) && !state_pending_add(s, &waits) && !put_scoped(s, 8) &&
		       !state_commit(s));
		state_close(s);
		checkpoint();
		snprintf(text, sizeof(text), damage[i % 3],
			 before ? "(SELECT id FROM list WHERE name = 'scoped before')"
				: "(SELECT id FROM list WHERE name = 'scoped')");
		sql(text);
		err = state_recover(&own_context, file, NULL, &r);
		CHECK(!err && !r.whole && r.lists == before && r.lost_n == !before, "%zu: %s, %zu lists, %zu lost", i,
		      reason(err), r.lists, r.lost_n);
		CHECK(before || (!strcmp(r.lost[0].name, "scoped") && !strcmp(r.lost[0].source, "its file")),
		      "%zu: '%s' of '%s' was lost", i, r.lost[0].name, r.lost[0].source);
		unlink(r.kept);
		s = opened(false);
		err = s ? state_list_get(s, "scoped", &list) : -EIO;
		CHECK(before ? !err && !strcmp(list.scope, "tcp/22") && list.kind == LIST_BAN : err_is(err, ENOENT),
		      "%zu: it is there: %s", i, err ? reason(err) : list.scope);
		CHECK(s && !state_pending_has(s, PENDING_LIST, "scoped"), "%zu: it waits", i);
		state_close(s);
	}
	empty_directory();
}

/* Of a file that was cut off, what does not stand in its end is saved. */
static void saved_of_a_part(void)
{
	static struct recovered r;
	struct stat is;
	int err;

	if (!make_state())
		return;
	ENOUGH(!stat(file, &is) && !truncate(file, is.st_size - (1 << 14)));
	err = state_recover(&own_context, file, NULL, &r);
	CHECK(!err && !r.whole && r.lists + r.lost_n == 2, "%s: %zu lists, %zu lost", reason(err), r.lists, r.lost_n);
	empty_directory();
}

static char faults_found[2000];

static void found(void *arg, const char *fault)
{
	(void)arg;
	strcat(strcat(faults_found, fault), "; ");
}

/* What SQLite itself finds wrong is said as it says it. */
static void damaged_pages(void)
{
	size_t faults = 9;
	int err;

	if (!make_state())
		return;
	sql("DELETE FROM list");
	faults_found[0] = '\0';
	err = state_check(&own_context, found, NULL, &faults);
	CHECK(!err && !faults && !faults_found[0], "%zu faults of a sound one: %s", faults, faults_found);
	/* So many free pages, and no list of them. */
	write_at(36, "\0\0\0\1", 4);
	err = state_check(&own_context, found, NULL, &faults);
	CHECK(!err && faults == 1 && strstr(faults_found, "reelist"), "%zu faults: %s", faults, faults_found);
	empty_directory();
}

static int proven_of(struct state *s)
{
	struct proven *proven;
	size_t n;
	int err = state_proven(s, &proven, &n);

	free(proven);
	return err;
}

static int grants_of(struct state *s)
{
	struct addr *grants;
	size_t n;
	int err = state_grants(s, &grants, &n);

	free(grants);
	return err;
}

static int servers_of(struct state *s)
{
	struct addr *servers;
	size_t n;
	int err = state_fleet_servers(s, &servers, &n);

	free(servers);
	return err;
}

static int feed_servers_of(struct state *s)
{
	struct feed_server *servers;
	size_t n;
	int err = state_feed_servers(s, &servers, &n);

	free(servers);
	return err;
}

static int ports_of(struct state *s)
{
	static bool ports[TCP_PORTS];

	memset(ports, 0, sizeof(ports));
	return state_guarded_ports(s, ports);
}

static int limits_of_all(struct state *s)
{
	state_limits(s);
	return state_settings_fault(s);
}

/* A setting whose name says what it is of: of nothing that there can be. */
static void names_of_settings(void)
{
	static const struct {
		const char *name;
		int (*read)(struct state *s);
		const char *says; /* NULL: it is sound */
	} known[] = {
		{ "proven eth0", proven_of, NULL },
		{ "proven ..", proven_of, "which interfaces are proven is damaged" },
		{ "proven ", proven_of, "which interfaces are proven is damaged" },
		{ "proven abcdefghijklmno", proven_of, NULL },
		{ "proven abcdefghijklmnop", proven_of, "which interfaces are proven is damaged" },
		{ "granted 192.0.2.1", grants_of, NULL },
		{ "granted 192.0.2", grants_of, "what the guard rails were told is damaged" },
		{ "granted ", grants_of, "what the guard rails were told is damaged" },
		{ "fleet server 2001:db8::1", servers_of, NULL },
		{ "fleet server one", servers_of, "what the guard rails were told is damaged" },
		{ "server agent 2001:db8::1", feed_servers_of, NULL },
		{ "server agent one", feed_servers_of, "where lists are fetched from is damaged" },
		{ "guarded port 65535", ports_of, NULL },
		{ "guarded port 65536", ports_of, "what the guard rails were told is damaged" },
		{ "guarded port 1x", ports_of, "what the guard rails were told is damaged" },
		{ "guarded port 123456", ports_of, "what the guard rails were told is damaged" },
		{ "guarded port ", ports_of, "what the guard rails were told is damaged" },
		{ "on eth9 limit_syn", limits_of_all, NULL },
		{ "on eth9 limit_son", limits_of_all, "setting 'on eth9 limit_son' is damaged" },
		{ "on .. limit_syn", limits_of_all, "setting 'on .. limit_syn' is damaged" },
		{ "on abcdefghijklmnop limit_syn", limits_of_all,
		  "setting 'on abcdefghijklmnop limit_syn' is damaged" },
		{ "on eth9", limits_of_all, "setting 'on eth9' is damaged" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char text[500];
		struct state *s;
		int err;

		if (!make_state())
			return;
		snprintf(text, sizeof(text), "INSERT INTO setting VALUES ('%s', %s)", known[i].name,
			 known[i].read == feed_servers_of ? "4000000000" : "2");
		sql(text);
		s = opened(false);
		if (!s)
			return;
		err = known[i].read(s);
		snprintf(text, sizeof(text), "%s: %s; see 'xdp-bloom state recover'", directory, known[i].says);
		CHECK(known[i].says ? err_is(err, EUCLEAN) && !strcmp(reason(err), text) : !err, "%s: %d, %s",
		      known[i].name, err, reason(err));
		state_close(s);
	}
	empty_directory();
}

/* As many interfaces as have limits of their own, and one more. */
static void limits_of_many(void)
{
	for (int more = 0; more <= 1; more++) {
		char text[LIMITS_ON_MOST * 40 + 100];
		struct state *s;
		int err;

		if (!make_state())
			return;
		snprintf(text, sizeof(text), "INSERT INTO setting VALUES ");
		for (int i = 0; i < LIMITS_ON_MOST + more; i++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s('on eth%d limit_syn', %d)",
				 i ? ", " : "", i, 500 + i);
		sql(text);
		s = opened(false);
		if (!s)
			return;
		err = limits_of_all(s);
		snprintf(text, sizeof(text), "%s: limits of more than %d interfaces; see 'xdp-bloom state recover'",
			 directory, LIMITS_ON_MOST);
		CHECK(more ? err_is(err, EUCLEAN) && !strcmp(reason(err), text) : !err, "%d, %s", err, reason(err));
		state_close(s);
	}
	empty_directory();
}

/* Every type of column as a text and as a number, into memory that holds something else. */
static void columns(void)
{
	static const struct {
		const char *sql, *text;
		int text_err, number_err;
		int64_t number;
	} known[] = {
		{ "'abc'", "abc", 0, EUCLEAN, 1 },
		{ "''", "", 0, EUCLEAN, 1 },
		{ "'abcdefg'", "abcdefg", 0, EUCLEAN, 1 },
		{ "'abcdefgh'", "abcdefg", EUCLEAN, EUCLEAN, 1 },
		{ "'abcdefghijkl'", "abcdefg", EUCLEAN, EUCLEAN, 1 },
		{ "'ab' || char(0) || 'c'", "ab", EUCLEAN, EUCLEAN, 1 },
		{ "x'616263'", "abc", EUCLEAN, EUCLEAN, 1 },
		{ "NULL", "", EUCLEAN, EUCLEAN, 1 },
		{ "1", "1", EUCLEAN, 0, 1 },
		{ "7", "7", EUCLEAN, 0, 7 },
		{ "0", "0", EUCLEAN, EUCLEAN, 1 },
		{ "8", "8", EUCLEAN, EUCLEAN, 1 },
		{ "7.0", "7.0", EUCLEAN, EUCLEAN, 1 },
		{ "'7'", "7", 0, EUCLEAN, 1 },
	};
	sqlite3 *db = NULL;

	ENOUGH(sqlite3_open(":memory:", &db) == SQLITE_OK);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct row text = { 0 }, number = { 0 }, none = { 0 };
		char sql[80], to[10] = "xxxxxxxxx";
		sqlite3_stmt *stmt;
		int64_t is, or_none;

		snprintf(sql, sizeof(sql), "SELECT %s", known[i].sql);
		ENOUGH(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW);
		text.stmt = number.stmt = none.stmt = stmt;
		is = row_number(&number, 0, 1, 7);
		or_none = row_number_or_none(&none, 0, 1, 7);
		row_text(&text, 0, to, 8);
		CHECK(!strcmp(to, known[i].text) && to[8] == 'x', "%s: '%.9s'", known[i].sql, to);
		CHECK(known[i].text_err ? err_is(text.err, EUCLEAN) : !text.err, "%s as a text: %d", known[i].sql,
		      text.err);
		CHECK(is == known[i].number && (known[i].number_err ? err_is(number.err, EUCLEAN) : !number.err),
		      "%s as a number: %d, %d", known[i].sql, (int)is, number.err);
		if (!strcmp(known[i].sql, "NULL"))
			CHECK(!or_none && !none.err, "NULL as no number: %d, %d", (int)or_none, none.err);
		else
			CHECK(or_none == is && none.err == number.err, "%s as a number or none", known[i].sql);
		sqlite3_finalize(stmt);
	}
	sqlite3_close(db);
}

/* What was not synced is not in force, though it stands in the log by then. */
static void not_synced(void)
{
	struct state *s;
	int err;

	if (!make_state()) /* a large log would be emptied in the end */
		return;
	s = opened(true);
	if (!s || !CHECK(!state_set(s, "n", 1) && !state_commit(s) && !state_again(s), "not kept"))
		return;
	CHECK(!state_set(s, "n", 2), "not set");
	syncs_fail = 1;
	err = state_commit(s);
	CHECK(err_is(err, EIO) && !syncs_fail && strstr(reason(err), directory), "it is committed: %s", reason(err));
	state_close(s);
	for (int change = 0; change <= 1; change++) {
		s = opened(change);
		CHECK(s && state_setting(s, "n", 0) == 1, "it has come into force all the same");
		if (s && change)
			CHECK(!state_set(s, "n", 3) && !state_commit(s), "no more can be kept");
		state_close(s);
	}
	s = opened(false);
	CHECK(s && state_setting(s, "n", 0) == 3, "what came later is gone");
	state_close(s);
	empty_directory();
}

static bool log_too; /* nor can the log be read */

static int open_read_only(const char *path, int flags, int mode)
{
	bool is_log = strstr(path, "-wal") != NULL;

	if ((flags & O_ACCMODE) == O_RDONLY && !(log_too && is_log))
		return open(path, flags, mode);
	errno = EROFS;
	return -1;
}

/* Of a disk that takes nothing all can be read; without the log, what the last checkpoint has. */
static void read_only(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	sqlite3_syscall_ptr usual = vfs->xGetSystemCall(vfs, "open");
	struct state *s;
	double n;

	empty_directory();
	s = opened(true);
	if (!s || !CHECK(!state_set(s, "n", 1) && !state_commit(s), "not kept"))
		return;
	state_close(s);
	checkpoint();
	s = opened(true);
	CHECK(s && !state_set(s, "n", 2) && !state_commit(s), "not kept");
	state_close(s);
	ENOUGH(vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_read_only) == SQLITE_OK);
	for (int round = 0; round <= 1; round++) {
		log_too = round;
		s = opened(false);
		n = s ? state_setting(s, "n", 0) : 0;
		CHECK(n == (log_too ? 1 : 2), "%g is read, the log %s", n, log_too ? "cannot be" : "can be");
		CHECK(s && state_set(s, "n", 3), "it says that it has kept something");
		CHECK(s && sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, -1) < 1000000000, "what is read is trusted");
		state_close(s);
	}
	ENOUGH(vfs->xSetSystemCall(vfs, "open", usual) == SQLITE_OK);
	s = opened(false);
	CHECK(s && state_setting(s, "n", 0) == 2, "it has lost what was in the log");
	state_close(s);
	empty_directory();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "damaged files", damaged_files },
		{ "damaged rows, and a newer version", damaged_rows },
		{ "columns of each type", columns },
		{ "damaged ranges", damaged_ranges },
		{ "what SQLite finds wrong is said", damaged_pages },
		{ "damaged settings", damaged_settings },
		{ "what is saved of a list without its scope", saved_without_scope },
		{ "what is saved of a file that was cut off", saved_of_a_part },
		{ "settings of what cannot be", names_of_settings },
		{ "limits of many interfaces", limits_of_many },
		{ "more lengths than there are", lengths },
		{ "ranges that are not packed", ranges_of_before },
		{ "files of others", foreign_files },
		{ "files that were crafted", crafted_files },
		{ "a commit that is not synced", not_synced },
		{ "a disk that takes nothing", read_only },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
