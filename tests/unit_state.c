// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state file, in a directory of the test's own: lists against a plain array, several processes at once, and files
 * that are damaged or somebody else's.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

/* The lists in pieces of a few ranges, and none of them a whole number of ranges: no library holds them like this. */
#define CHUNK_BYTES 100
#include "state_chunks.c"

#include "ktap.h"
#include "naive.h"

static char directory[200], file[220];

static void empty_directory(void)
{
	static const char *const names[] = { "state.db", "state.db-wal", "state.db-shm", "lock" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[220];

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		if (unlink(path) && errno == EISDIR)
			rmdir(path);
	}
}

static void remove_directory(void)
{
	empty_directory();
	rmdir(directory);
}

/* Opens or ends the case; `change` as state_open() has it. */
static struct state *opened(bool change)
{
	struct state *s;
	int err = state_open(&s, change);

	return CHECK(!err, "state_open: %s", reason(err)) ? s : NULL;
}

static int put(struct state *s, const char *name, enum list_kind kind, const struct ranges *set)
{
	struct list_info list = { .kind = kind,
				  .prefixes = set->n4 + 3,
				  .addresses = "340282366920938463463374607431768211456",
				  .source = "a; 'source'",
				  .loaded = "2026-01-01T00:00:00Z" };

	snprintf(list.name, sizeof(list.name), "%s", name);
	return state_list_put(s, &list, set);
}

static void random_ranges(struct ranges *set, unsigned int most)
{
	*set = RANGES_EMPTY;
	for (uint64_t n = ktap_random() % (most + 1); n; n--) {
		uint32_t lo = (uint32_t)ktap_random();

		ENOUGH(!ranges_add4(set, lo, lo | (ktap_random() & 255)));
		if (n & 1)
			ENOUGH(!ranges_add6(set, (ip6)lo << 90, (ip6)lo << 90 | (ktap_random() >> 1)));
	}
	ENOUGH(!ranges_finish(set));
}

/* --- Lists against an array ------------------------------------------------------------------------------------------
 */

#define MODEL_LISTS 300

struct model {
	struct model_list {
		unsigned int name;
		enum list_kind kind;
		int label;     /* 0: none */
		uint32_t seed; /* what its set is made from */
	} list[MODEL_LISTS];
	unsigned int n;
};

/* A set that is known by a number. */
static void set_of(struct ranges *set, uint32_t seed)
{
	*set = RANGES_EMPTY;
	for (uint32_t i = 0; i < seed % 40; i++) {
		ENOUGH(!ranges_add4(set, seed * 7919 + i * 1000, seed * 7919 + i * 1000 + seed % 500));
		if (i < seed % 11)
			ENOUGH(!ranges_add6(set, (ip6)seed << 80 | (ip6)i << 64,
					    (ip6)seed << 80 | (ip6)i << 64 | seed));
	}
	ENOUGH(!ranges_finish(set));
}

static int model_find(const struct model *m, unsigned int name)
{
	for (unsigned int i = 0; i < m->n; i++)
		if (m->list[i].name == name)
			return (int)i;
	return -1;
}

static int model_free_label(const struct model *m)
{
	for (int label = 1; label <= 255; label++) {
		bool taken = false;

		for (unsigned int i = 0; i < m->n; i++)
			taken |= m->list[i].label == label;
		if (!taken)
			return label;
	}
	return 0;
}

static bool model_compare(const struct model *m, struct state *s)
{
	struct list_info *lists;
	size_t n = 0;
	int err = state_lists(s, &lists, &n);
	bool ok = CHECK(!err, "no lists: %s", reason(err)) && CHECK(n == m->n, "%zu lists, not %u", n, m->n);

	for (unsigned int i = 0; i < m->n && ok; i++) {
		const struct model_list *wanted = &m->list[i];
		struct ranges set, set_wanted;
		char name[16];

		snprintf(name, sizeof(name), "list-%u", wanted->name);
		ok = CHECK(!strcmp(lists[i].name, name), "list %u is '%s', not '%s'", i, lists[i].name, name) &&
		     CHECK(lists[i].kind == wanted->kind, "'%s' is of kind %d, not %d", name, lists[i].kind,
			   wanted->kind) &&
		     CHECK(wanted->kind == LIST_ALLOW || lists[i].label == wanted->label, "'%s' has label %u, not %d",
			   name, lists[i].label, wanted->label) &&
		     CHECK(!strcmp(lists[i].source, "a; 'source'") &&
				   !strcmp(lists[i].loaded, "2026-01-01T00:00:00Z") &&
				   !strcmp(lists[i].addresses, "340282366920938463463374607431768211456"),
			   "what is known of '%s'", name) &&
		     CHECK(!state_list_set(s, name, &set), "'%s' has no set", name);
		if (!ok)
			break;
		set_of(&set_wanted, wanted->seed);
		ok = CHECK(lists[i].prefixes == set_wanted.n4 + 3, "'%s' has %" PRIu64 " prefixes", name,
			   lists[i].prefixes) &&
		     CHECK(ranges_equal(&set, &set_wanted), "the set of '%s' has %zu and %zu ranges, not %zu and %zu",
			   name, set.n4, set.n6, set_wanted.n4, set_wanted.n6);
		ranges_free(&set);
		ranges_free(&set_wanted);
	}
	free(lists);
	return ok;
}

/* Replaces or creates in both. */
static bool model_put(struct model *m, struct state *s, unsigned int number, enum list_kind kind, uint32_t seed)
{
	int at = model_find(m, number), err, label;
	struct ranges set;
	char name[16];

	snprintf(name, sizeof(name), "list-%u", number);
	set_of(&set, seed);
	err = put(s, name, kind, &set);
	ranges_free(&set);
	if (at < 0) {
		label = kind == LIST_ALLOW ? 0 : model_free_label(m);
		if (kind != LIST_ALLOW && !label)
			return CHECK(err == -ENOSPC, "the 256th list: error %d", err);
		at = (int)m->n++;
		m->list[at] = (struct model_list){ .name = number, .label = label };
	} else if (kind != LIST_ALLOW && !m->list[at].label) {
		m->list[at].label = model_free_label(m);
	}
	m->list[at].kind = kind;
	m->list[at].seed = seed;
	return CHECK(!err, "'%s' was not put: %s", name, reason(err));
}

/* A ban list that becomes an allow list may keep its label or not: the model takes whatever it is told. */
static bool model_adopt_labels(struct model *m, struct state *s)
{
	struct list_info *lists;
	size_t n = 0;
	int err = state_lists(s, &lists, &n);
	bool ok = CHECK(!err && n == m->n, "%zu lists, not %u", n, m->n);

	for (unsigned int i = 0; i < m->n && ok; i++)
		if (m->list[i].kind == LIST_ALLOW)
			m->list[i].label = lists[i].label;
	free(lists);
	return ok;
}

static void random_work(void)
{
	static struct model committed, m;

	empty_directory();
	committed.n = 0;
	for (int round = 0; round < 60; round++) {
		struct state *s = opened(true);
		bool commit = ktap_random() % 3;

		if (!s)
			return;
		m = committed;
		for (uint64_t ops = ktap_random() % 6; ops; ops--) {
			unsigned int name = (unsigned int)(ktap_random() % 12);
			int at = model_find(&m, name);

			if (ktap_random() % 3) {
				if (!model_put(&m, s, name, (enum list_kind)(ktap_random() % 3),
					       (uint32_t)ktap_random()))
					break;
			} else {
				char text[16];
				int err;

				snprintf(text, sizeof(text), "list-%u", name);
				err = state_list_drop(s, text);
				CHECK(err == (at < 0 ? -ENOENT : 0), "dropping '%s': error %d", text, err);
				if (at >= 0)
					memmove(&m.list[at], &m.list[at + 1],
						sizeof(*m.list) * (--m.n - (unsigned int)at));
			}
			if (!model_adopt_labels(&m, s))
				break;
		}
		/* What is not committed is to be seen by nobody but this. */
		if (!ktap_failed && model_compare(&m, s) && commit) {
			CHECK(!state_commit(s), "no commit");
			committed = m;
		}
		state_close(s);
		if (ktap_failed)
			return;
		s = opened(false);
		if (s)
			model_compare(&committed, s);
		state_close(s);
		if (ktap_failed)
			return;
	}
}

static void all_labels(void)
{
	static struct model m;
	struct state *s;

	empty_directory();
	m.n = 0;
	s = opened(true);
	if (!s)
		return;
	for (unsigned int i = 0; i < 257; i++)
		if (!model_put(&m, s, i, i % 5 ? LIST_BAN : LIST_SHADOW, i))
			goto out;
	if (!CHECK(m.n == 255, "%u lists with labels", m.n) ||
	    !CHECK(strstr(reason(-ENOSPC), "255"), "%s", reason(-ENOSPC)))
		goto out;
	/* Allow lists need none; one that goes makes room. */
	if (!model_put(&m, s, 1000, LIST_ALLOW, 9) || !model_put(&m, s, 1001, LIST_ALLOW, 9) || !model_compare(&m, s))
		goto out;
	CHECK(!state_list_drop(s, "list-100"), "not dropped");
	memmove(&m.list[100], &m.list[101], sizeof(*m.list) * (--m.n - 100));
	if (model_put(&m, s, 2000, LIST_BAN, 3) && CHECK(m.list[m.n - 1].label == 101, "the free label is another"))
		model_compare(&m, s);
out:
	state_close(s);
}

static void what_is_not_there(void)
{
	struct interface_info *interfaces;
	struct list_info *lists;
	struct ranges set;
	struct state *s;
	size_t n = 0;

	remove_directory();
	s = opened(false);
	if (s) {
		CHECK(!state_lists(s, &lists, &n) && !n, "%zu lists", n);
		free(lists);
		CHECK(!state_interfaces(s, &interfaces, &n) && !n, "%zu interfaces", n);
		free(interfaces);
		CHECK(state_setting(s, "fpr", 0.25) == 0.25, "a setting");
		CHECK(access(directory, F_OK), "looking has made the directory");
	}
	state_close(s);
	s = opened(true);
	if (s) {
		CHECK(!state_list_set(s, "none", &set) && !set.n4 && !set.n6, "a set of no list");
		CHECK(state_list_drop(s, "none") == -ENOENT && strstr(reason(-ENOENT), "'none'"),
		      "dropped what is not there");
		CHECK(state_interface_drop(s, "none") == -ENOENT, "dropped an interface that is not there");
	}
	state_close(s);
}

/* Sets of many pieces, whole ranges in each. */
static void many_pieces(void)
{
	struct state *s;

	empty_directory();
	s = opened(true);
	for (unsigned int most = 1; s && most < 3000 && !ktap_failed; most = most * 3 + 1) {
		struct ranges set, back = RANGES_EMPTY;

		random_ranges(&set, most);
		CHECK(!put(s, "pieces", LIST_BAN, &set), "not put");
		CHECK(!state_list_set(s, "pieces", &back) && ranges_equal(&set, &back),
		      "%zu and %zu ranges, not %zu and %zu", back.n4, back.n6, set.n4, set.n6);
		ranges_free(&set);
		ranges_free(&back);
	}
	state_close(s);
}

static void rows(void)
{
	struct interface_info *interfaces, one = { .name = "eth1", .mode = "native" },
					   two = { .name = "eth0", .mode = "skb" };
	struct state *s;
	size_t n = 0;

	empty_directory();
	s = opened(true);
	if (!s)
		return;
	CHECK(!state_interface_put(s, &one) && !state_interface_put(s, &two), "not put");
	one.shared = true;
	CHECK(!state_interface_put(s, &one), "not replaced");
	CHECK(!state_set(s, "fpr", 1e-9) && !state_set(s, "fpr", 0.001) &&
		      !state_set(s, "generation", 9007199254740991.0),
	      "not set");
	CHECK(!state_commit(s), "no commit");
	state_close(s);
	s = opened(false);
	if (!s)
		return;
	CHECK(state_setting(s, "fpr", 7) == 0.001 && state_setting(s, "generation", 7) == 9007199254740991.0 &&
		      state_setting(s, "other", 7) == 7,
	      "settings");
	if (CHECK(!state_interfaces(s, &interfaces, &n) && n == 2, "%zu interfaces", n))
		CHECK(!strcmp(interfaces[0].name, "eth0") && !strcmp(interfaces[0].mode, "skb") &&
			      !interfaces[0].shared && !strcmp(interfaces[1].name, "eth1") &&
			      !strcmp(interfaces[1].mode, "native") && interfaces[1].shared,
		      "'%s' and '%s'", interfaces[0].name, interfaces[1].name);
	free(interfaces);
	state_close(s);
	s = opened(true);
	CHECK(s && !state_interface_drop(s, "eth0") && !state_interfaces(s, &interfaces, &n) && n == 1,
	      "dropped one of two");
	if (s)
		free(interfaces);
	state_close(s);
}

/* --- Several processes -----------------------------------------------------------------------------------------------
 */

static size_t list_count(void)
{
	struct list_info *lists = NULL;
	struct state *s = opened(false);
	size_t n = 0;

	if (s)
		CHECK(!state_lists(s, &lists, &n), "no lists");
	free(lists);
	state_close(s);
	return n;
}

/* A child that has put one list, says so, and waits to be told to commit (or is killed). */
static pid_t start_writer(const char *name, int *told, int *tell)
{
	int up[2], down[2];
	char byte;
	pid_t pid;

	ENOUGH(!pipe(up) && !pipe(down));
	fflush(stdout);
	pid = fork();
	ENOUGH(pid >= 0);
	if (pid == 0) {
		struct ranges none = RANGES_EMPTY;
		struct state *s;

		close(up[0]);
		close(down[1]);
		if (state_open(&s, true) || put(s, name, LIST_BAN, &none))
			_exit(1);
		if (write(up[1], "x", 1) != 1 || read(down[0], &byte, 1) != 1)
			_exit(2);
		_exit(state_commit(s) ? 3 : 0);
	}
	close(up[1]);
	close(down[0]);
	*told = up[0];
	*tell = down[1];
	return pid;
}

static int end_writer(pid_t pid, int told, int tell)
{
	int status = -1;

	close(told);
	close(tell);
	waitpid(pid, &status, 0);
	return status;
}

static void readers_and_writers(void)
{
	int told[2], tell[2];
	pid_t first, second;
	char byte;

	empty_directory();
	first = start_writer("one", &told[0], &tell[0]);
	if (!CHECK(read(told[0], &byte, 1) == 1, "the first writer has not written"))
		goto out;
	CHECK(list_count() == 0, "what is not committed is seen");
	/* Waits for the first, and then finds what that one has put. */
	second = start_writer("two", &told[1], &tell[1]);
	CHECK(list_count() == 0, "what is not committed is seen");
	CHECK(write(tell[0], "x", 1) == 1, "no word to the first writer");
	CHECK(read(told[1], &byte, 1) == 1, "the second writer has not written");
	CHECK(list_count() == 1, "%zu lists after the first commit", list_count());
	CHECK(write(tell[1], "x", 1) == 1, "no word to the second writer");
	CHECK(end_writer(second, told[1], tell[1]) == 0, "the second writer failed");
	CHECK(list_count() == 2, "%zu lists after both commits", list_count());
out:
	CHECK(end_writer(first, told[0], tell[0]) == 0, "the first writer failed");
}

static void killed_writer(void)
{
	int told, tell;
	pid_t pid;
	char byte;

	empty_directory();
	for (int round = 0; round < 5; round++) {
		struct ranges set;
		struct state *s;
		char name[16];

		pid = start_writer("killed", &told, &tell);
		CHECK(read(told, &byte, 1) == 1, "the writer has not written");
		kill(pid, SIGKILL);
		end_writer(pid, told, tell);
		CHECK(list_count() == (size_t)round, "%zu lists, not %d", list_count(), round);
		s = opened(true);
		if (!s)
			return;
		random_ranges(&set, 20);
		snprintf(name, sizeof(name), "list-%d", round);
		CHECK(!put(s, name, LIST_BAN, &set) && !state_commit(s), "cannot write after it");
		ranges_free(&set);
		state_close(s);
	}
}

/* --- Files that are not what they should be --------------------------------------------------------------------------
 */

/* Refused with a reason, by whoever looks and by whoever changes: never taken for a state without lists. */
static bool refused(const char *what)
{
	for (int change = 0; change <= 1; change++) {
		struct list_info *lists = NULL;
		struct state *s = NULL;
		size_t n = 0;
		int err = state_open(&s, change);

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
	random_ranges(&set, 2000);
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
	CHECK(s && state_list_set(s, "one", &set) == -EUCLEAN, "a piece with another sum is read");
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
	empty_directory();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "nothing there yet", what_is_not_there },
		{ "lists against an array, committed or not", random_work },
		{ "255 labels, and not one more", all_labels },
		{ "sets of many pieces", many_pieces },
		{ "interfaces and settings", rows },
		{ "looking while somebody writes, and two writers", readers_and_writers },
		{ "a writer is killed", killed_writer },
		{ "damaged files", damaged_files },
		{ "damaged rows, and a newer version", damaged_rows },
		{ "ranges that are not packed", ranges_of_before },
		{ "files of others", foreign_files },
	};
	const char *temporary = getenv("TMPDIR");
	int status = -1;
	pid_t pid;

	snprintf(directory, sizeof(directory), "%s/xdp-bloom-state-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(directory)) {
		perror(directory);
		return KTAP_FAIL;
	}
	snprintf(file, sizeof(file), "%s/state.db", directory);
	opt_state = directory;
	/* The cases run in a process of their own: the directory goes even where one of them crashes. */
	pid = fork();
	if (pid == 0)
		exit(ktap_run(cases, sizeof(cases) / sizeof(*cases)));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	remove_directory();
	if (WIFSIGNALED(status))
		printf("Bail out! killed by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : KTAP_FAIL;
}
