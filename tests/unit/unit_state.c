// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the state keeps: lists against a plain array, interfaces, settings. Several processes at once are for
 * unit_state_processes.c, damaged files for unit_state_damaged.c.
 */
#include "base/log.h"
#include "own_state.h"
#include "state/line_times.h"
#include "state/bans.h"
#include "state/limits.h"
#include "state/recover.h"

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
			return CHECK(err_is(err, ENOSPC) && strstr(reason(err), "255"), "the 256th list: %s",
				     reason(err));
		at = (int)m->n++;
		m->list[at] = (struct model_list){ .name = number, .label = label };
	} else if (kind != LIST_ALLOW && !m->list[at].label) {
		m->list[at].label = model_free_label(m);
	}
	m->list[at].kind = kind;
	m->list[at].seed = seed;
	return CHECK(!err, "'%s' was not put: %s", name, reason(err));
}

/* A ban list that becomes an allow list may keep its label or not: the model takes what the state says. */
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
				CHECK(at < 0 ? err_is(err, ENOENT) : !err, "dropping '%s': error %d", text, err);
				if (at >= 0)
					memmove(&m.list[at], &m.list[at + 1],
						sizeof(*m.list) * (--m.n - (unsigned int)at));
			}
			if (!model_adopt_labels(&m, s))
				break;
		}
		/* Only this connection may see what is not committed. */
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
	if (!CHECK(m.n == 255, "%u lists with labels", m.n))
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
	int err;

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
		err = state_list_drop(s, "none");
		CHECK(err_is(err, ENOENT) && strstr(reason(err), "'none'"), "dropped what is not there");
		CHECK(err_is(state_interface_drop(s, "none"), ENOENT), "dropped an interface that is not there");
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

		random_ranges(&set, 0, most);
		CHECK(!put(s, "pieces", LIST_BAN, &set), "not put");
		CHECK(!state_list_set(s, "pieces", &back) && ranges_equal(&set, &back),
		      "%zu and %zu ranges, not %zu and %zu", back.n4, back.n6, set.n4, set.n6);
		ranges_free(&set);
		ranges_free(&back);
	}
	state_close(s);
}

static void ladder(void)
{
	unsigned int steps[LADDER_STEPS] = { LADDER_LEAST, 20, 30, 40, 50, 60, 70, LADDER_MOST }, is[LADDER_STEPS];
	struct state *s;
	size_t n = 0;

	empty_directory();
	s = opened(true);
	if (!s)
		return;
	CHECK(!state_ladder(s, is, &n) && n == 5 && is[0] == 60 && is[4] == 7 * 24 * 60 * 60, "by default: %zu steps",
	      n);
	CHECK(!state_ladder_put(s, steps, LADDER_STEPS) && !state_ladder(s, is, &n) && n == LADDER_STEPS &&
		      !memcmp(is, steps, sizeof(is)),
	      "all its steps: %zu", n);
	CHECK(!state_ladder_put(s, steps + 2, 1) && !state_ladder(s, is, &n) && n == 1 && is[0] == 30,
	      "one step of %zu", n);
	CHECK(!state_set(s, "ladder_2", 30) && err_is(state_ladder(s, is, &n), EUCLEAN), "a ladder that does not rise");
	CHECK(!state_set(s, "ladder_2", LADDER_MOST + 1.0) && err_is(state_ladder(s, is, &n), EUCLEAN),
	      "a step that cannot be");
	state_close(s);
}

/* Versions that know nothing of trust see a list that neither bans nor allows. */
/* Limits of interfaces: all that there can be, fewer, and what is damaged. */
static void limits_of_interfaces(void)
{
	struct limits limits = state_limits(NULL), is;
	struct limit one = { 500, 700, THEN_POLICE }, other = { 125000, 0, THENS };
	char name[IF_NAMESIZE];
	struct state *s;

	empty_directory();
	s = opened(true);
	if (!s)
		return;
	for (int i = LIMITS_ON_MOST; i-- > 0;) {
		snprintf(name, sizeof(name), "eth%02d", i);
		CHECK(limits_put_on(&limits, name, i % 2 ? CLASS_SYN : CLASS_UDP, one), "no room for %s", name);
	}
	CHECK(limits_put_on(&limits, "eth03", CLASS_BYTES, other), "no room for another limit of eth03");
	CHECK(!limits_put_on(&limits, "eth99", CLASS_SYN, one) && limits.interfaces == LIMITS_ON_MOST,
	      "there is room for one more");
	CHECK(!strcmp(limits.on_interface[0].name, "eth00") && limits_of(&limits, "eth30") == &limits.on_interface[30],
	      "not in order");
	is = limits;
	CHECK(!state_limits_put(s, &limits), "not kept");
	is = state_limits(s);
	CHECK(!memcmp(is.on_interface, limits.on_interface, sizeof(is.on_interface)) &&
		      is.interfaces == limits.interfaces,
	      "read as others, of %zu", is.interfaces);
	/* What its own does not say is as in general. */
	is.of[CLASS_BYTES].then = THEN_BAN;
	CHECK(limit_on(&is, limits_of(&is, "eth03"), CLASS_BYTES).then == THEN_BAN &&
		      limit_on(&is, limits_of(&is, "eth03"), CLASS_UDP).rate == limit_rates[CLASS_UDP],
	      "what is general");
	for (int i = 0; i < LIMITS_ON_MOST; i++) {
		snprintf(name, sizeof(name), "eth%02d", i);
		limits_put_on(&limits, name, i % 2 ? CLASS_SYN : CLASS_UDP, (struct limit){ 0 });
	}
	CHECK(limits.interfaces == 1 && !strcmp(limits.on_interface[0].name, "eth03"), "%zu are left",
	      limits.interfaces);
	CHECK(!state_limits_put(s, &limits), "not kept");
	is = state_limits(s);
	CHECK(is.interfaces == 1 && is.on_interface[0].of[CLASS_BYTES].rate == 125000, "%zu are kept", is.interfaces);
	CHECK(!state_settings_fault(s), "what is kept is damaged");
	CHECK(!state_set(s, "on eth0 limit_sin", 5), "not set");
	state_limits(s);
	CHECK(err_is(state_settings_fault(s), EUCLEAN), "damage is not seen");
	state_close(s);
}

static void trusted(void)
{
	struct list_info list = { .name = "partners", .kind = LIST_TRUST, .times = 50, .addresses = "1" }, is;
	struct ranges set = RANGES_EMPTY, allowed = RANGES_EMPTY;
	struct list_info *lists = NULL;
	struct state *s;
	size_t n = 0;

	empty_directory();
	s = opened(true);
	if (!s)
		return;
	ENOUGH(!ranges_add4(&set, 7, 7) && !ranges_finish(&set));
	list.prefixes = 1;
	CHECK(!state_list_put(s, &list, &set) && !state_list_get(s, "partners", &is), "not put");
	CHECK(is.kind == LIST_TRUST && is.times == 50 && !is.label, "kind %d, %u times, label %u", is.kind, is.times,
	      is.label);
	CHECK(!state_allowed(s, &allowed) && !allowed.n4, "it allows");
	CHECK(!state_trust(s, "partners", 3) && !state_lists(s, &lists, &n) && n == 1 && lists[0].times == 3,
	      "not changed");
	free(lists);
	CHECK(!state_set(s, "trusted partners", 0.5) && err_is(state_lists(s, &lists, &n), EUCLEAN),
	      "damage is not seen");
	free(lists);
	CHECK(!state_trust(s, "partners", 0) && !state_list_get(s, "partners", &is) && is.kind == LIST_SHADOW &&
		      is.label,
	      "without the setting it is of kind %d, label %u", is.kind, is.label);
	CHECK(!state_trust(s, "partners", 3) && !state_list_drop(s, "partners"), "not dropped");
	list.kind = LIST_SHADOW;
	CHECK(!state_list_put(s, &list, &set) && !state_list_get(s, "partners", &is) && is.kind == LIST_SHADOW,
	      "another of its name is of kind %d", is.kind);
	ranges_free(&set);
	ranges_free(&allowed);
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

static int deny(void *arg, int action, const char *one, const char *two, const char *three, const char *four)
{
	(void)arg;
	(void)action;
	(void)one;
	(void)two;
	(void)three;
	(void)four;
	return SQLITE_DENY;
}

/* One of the statements that write, by its number. */
static int deny_one(void *at, int action, const char *one, const char *two, const char *three, const char *four)
{
	(void)one;
	(void)two;
	(void)three;
	(void)four;
	return (action == SQLITE_INSERT || action == SQLITE_DELETE) && !(*(int *)at)-- ? SQLITE_DENY : SQLITE_OK;
}

/* Lines are measured once a machine: what another has measured is not known here, and what gave nothing is not tried
 * again. */
static void lines(void)
{
	struct line_times measured = { .n = 5, .measured = true, .ns = { 0.25, 6, 7, 8, 9 }, .kept = 12 }, is;
	struct line_times usual = line_times_usual();
	struct state *s = opened(true);

	if (!s)
		return;
	is = state_line_times(s);
	CHECK(!state_line_times_tried(s) && !is.measured && is.n == usual.n &&
		      !memcmp(is.ns, usual.ns, sizeof(is.ns)) && is.kept == BITS_USUAL,
	      "at first");
	CHECK(!state_line_times_put(s, &measured) && !state_filter_bits_put(s, 12.00001), "not kept");
	is = state_line_times(s);
	CHECK(state_line_times_tried(s) && is.measured && is.n == 5 && !memcmp(is.ns, measured.ns, sizeof(is.ns)) &&
		      is.kept == 12,
	      "what was measured: %u sizes, %g ns, %g bits a key", is.n, is.ns[4], is.kept);
	CHECK(!state_set(s, SETTING_LINES_OF, 12345), "not kept");
	is = state_line_times(s);
	CHECK(!state_line_times_tried(s) && !is.measured && is.n == usual.n && is.kept == 12, "of another machine");
	CHECK(!state_line_times_put(s, &usual), "not kept");
	is = state_line_times(s);
	CHECK(state_line_times_tried(s) && !is.measured && is.n == usual.n, "what gave nothing");
	state_close(s);
	/* What cannot be kept is said: the first row, and each of the others. */
	for (int row = 0; row <= 6; row++) {
		int err, at;

		s = opened(true);
		if (!s)
			return;
		at = row;
		sqlite3_set_authorizer(s->db, deny_one, &at);
		err = state_line_times_put(s, &measured);
		sqlite3_set_authorizer(s->db, NULL, NULL);
		CHECK(err < 0, "row %d is not kept, and nobody knows: %d", row, err);
		state_close(s);
	}
}

/* What is not known of one must not be made the basis of what is kept. */
static void unreadable_setting(void)
{
	for (int before = 0; before <= 1; before++) { /* whether it was read before */
		struct state *s;
		int err;

		empty_directory();
		s = opened(true);
		if (!s)
			return;
		CHECK(!state_set(s, "image", 5) && !state_commit(s), "not set");
		state_close(s);
		s = opened(true);
		if (!s)
			return;
		if (before)
			CHECK(state_setting(s, "image", 7) == 5, "the setting");
		sqlite3_set_authorizer(s->db, deny, NULL);
		CHECK(state_setting(s, "image", 7) == 7, "the fallback");
		sqlite3_set_authorizer(s->db, NULL, NULL);
		CHECK(!state_set(s, "image", 6), "not set");
		err = state_commit(s);
		CHECK(err_is(err, EIO) && strstr(reason(err), directory), "committed, or no reason: %s", reason(err));
		state_close(s);
		s = opened(false);
		CHECK(s && state_setting(s, "image", 7) == 5, "the setting was changed");
		state_close(s);
	}
}

/* Bytes that this process has read so far. */
static unsigned long long bytes_read(void)
{
	unsigned long long bytes = 0;
	FILE *io = fopen("/proc/self/io", "r");

	ENOUGH(io && fscanf(io, "rchar: %llu", &bytes) == 1);
	fclose(io);
	return bytes;
}

/* The service asks after every command which ban ends first: those that never do are not read for it. */
static void first_end(void)
{
	unsigned long long before;
	struct state *s;
	bool renewed;
	int64_t left = 0;
	int err;

	empty_directory();
	s = opened(true);
	for (uint32_t i = 0; s && i < 20000; i++) {
		struct ban ban = {
			.first = { i, 4 }, .length = 32, .added = 1, .expires = i % 5000 ? 0 : 1000 - i / 50
		};

		ENOUGH(!state_ban_put(s, &ban, &renewed));
	}
	err = s ? state_commit(s) : -EIO;
	CHECK(!err, "%s", reason(err));
	state_close(s);
	s = opened(false);
	before = bytes_read();
	CHECK(s && state_bans_next(s) == 700, "another end is the first");
	/* Of an end without a start of the machine the date decides. */
	CHECK(s && state_bans_next_left(s, &left) &&
		      llabs(left - (700 - (int64_t)time(NULL)) * 1000000000) <= 1000000000,
	      "it ends in %lld ns", (long long)left);
	before = bytes_read() - before;
	CHECK(before < 100000, "%llu bytes were read for it", before);
	state_close(s);
}

/* As a version that knows nothing of the number would: only what it changes, and that it has changed something. */
static void by_another_version(const char *what)
{
	char sql[256];
	sqlite3 *db = NULL;

	snprintf(sql, sizeof(sql), "%s; UPDATE setting SET value = value + 1 WHERE name = 'edits'", what);
	ENOUGH(!sqlite3_open(file, &db) && !sqlite3_exec(db, sql, NULL, NULL, NULL));
	sqlite3_close(db);
}

static void count_fault(void *arg, const char *fault)
{
	(void)fault;
	++*(int *)arg;
}

static int faults_found(void)
{
	size_t n = 0;
	int found = 0;
	int err = state_check(&own_context, count_fault, &found, &n);

	CHECK(!err && n == (size_t)found, "the check: %s, %zu faults, %d said", reason(err), n, found);
	return found;
}

#define BANS	 64
#define BAN_TIME 2000000000 /* long after now */
#define BAN_OVER 1000000000

static unsigned int bans_of(const bool there[BANS], bool in_force)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < BANS; i++)
		n += there[i] && !(in_force && i % 8 == 1);
	return n;
}

/* One change of some bans, or of what they are of. */
static int change_bans(struct state *s, bool there[BANS])
{
	unsigned int i = (unsigned int)(ktap_random() % BANS);
	struct ban *over, ban = { .first = { i, 4 }, .length = 32, .added = 1 };
	bool renewed;
	size_t n;
	int err;

	if (i % 4 == 1) {
		ban.expires = i % 8 == 1 ? BAN_OVER : BAN_TIME;
		ban.due = i % 8 == 1 ? 1 : INT64_MAX / 2;
	}
	switch (ktap_random() % 32) {
	case 0:
		memset(there, 0, BANS * sizeof(*there));
		return state_bans_clear(s);
	case 1:
		for (i = 1; i < BANS; i += 8)
			there[i] = false;
		err = state_bans_expire(s, time(NULL), &over, &n);
		free(over);
		return err;
	case 2:
		return state_set(s, SETTING_GENERATION, state_setting(s, SETTING_GENERATION, 0) + 1)
			       ?: state_set(s, SETTING_EDITS, 0);
	case 3 ... 12:
		err = state_ban_drop(s, ban.first, 32);
		CHECK(there[i] ? !err : err_is(err, ENOENT), "dropped: %s", reason(err));
		there[i] = false;
		return 0;
	case 13 ... 16:
		return state_set(s, SETTING_EDITS, state_setting(s, SETTING_EDITS, 0) + 1);
	default:
		err = state_ban_put(s, &ban, &renewed);
		CHECK(err || renewed == there[i], "renewed");
		there[i] = true;
		return err;
	}
}

/* The number that is kept, against an array: committed or not, of other versions' hand, in one process and in the next.
 */
static void number_of_bans(void)
{
	bool there[BANS] = { false }, before[BANS];
	unsigned int known = 0;
	uint64_t n = 0;
	struct state *first;
	bool renewed;

	empty_directory();
	first = opened(true);
	CHECK(first && !state_set(first, SETTING_EDITS, 0) && !state_commit(first), "not set");
	state_close(first);
	for (int round = 0; round < 300 && !ktap_failed; round++) {
		struct state *s = opened(true);
		int err = 0;

		if (!s)
			return;
		memcpy(before, there, sizeof(there));
		for (uint64_t turns = ktap_random() % 4; !err && turns != (uint64_t)-1; turns--) {
			for (uint64_t steps = ktap_random() % 8; !err && steps; steps--)
				err = change_bans(s, there);
			err = err ?: state_bans_count(s, time(NULL), &n);
			CHECK(!err && n == bans_of(there, true), "%llu bans in the change, not %u: %s",
			      (unsigned long long)n, bans_of(there, true), reason(err));
			if (ktap_random() % 4 == 0) {
				memcpy(there, before, sizeof(there));
				break;
			}
			err = err ?: state_commit(s) ?: state_again(s);
			memcpy(before, there, sizeof(there));
		}
		CHECK(!err, "%s", reason(err));
		state_close(s);
		if (ktap_random() % 8 == 0) {
			by_another_version("INSERT OR IGNORE INTO ban VALUES (4, 32, x'00000000', 1, NULL, '', NULL)");
			there[0] = true;
		}
		if (ktap_random() % 8 == 0) {
			by_another_version("DELETE FROM ban WHERE first = x'00000003'");
			there[3] = false;
		}
		s = opened(false);
		err = s ? state_bans_count(s, time(NULL), &n) : -EIO;
		CHECK(!err && n == bans_of(there, true), "%llu bans, not %u: %s", (unsigned long long)n,
		      bans_of(there, true), reason(err));
		known += s && s->bans > 0;
		state_close(s);
		CHECK(!faults_found(), "round %d: a sound state has a fault", round);
	}
	CHECK(known > 100, "it was known in %u rounds only", known);
	first = opened(true);
	if (!first ||
	    !CHECK(!state_ban_put(first, &(struct ban){ .first = { 3, 4 }, .length = 32, .added = 1 }, &renewed) &&
			   !state_commit(first),
		   "not put"))
		return;
	state_close(first);
	by_another_version("UPDATE setting SET value = value + 1 WHERE name = 'bans';"
			   "UPDATE setting SET value = value - 1 WHERE name = 'edits'");
	CHECK(faults_found() == 1, "a wrong number is not found");
	first = opened(true);
	CHECK(first && !state_set(first, SETTING_EDITS, 0) && !state_commit(first), "not set");
	state_close(first);
	CHECK(faults_found() == 1, "the number was counted where nothing asks for it");
	first = opened(true);
	CHECK(first && !state_set(first, SETTING_GENERATION, state_setting(first, SETTING_GENERATION, 0) + 1) &&
		      !state_set(first, SETTING_EDITS, 2) && !state_commit(first),
	      "no new generation");
	state_close(first);
	CHECK(!faults_found(), "a new generation has a wrong number still");
}

static void turn_numbers(char *bytes, size_t n, size_t of)
{
	for (size_t at = 0; at + of <= n; at += of)
		for (size_t i = 0; i < of / 2; i++) {
			char byte = bytes[at + i];

			bytes[at + i] = bytes[at + of - 1 - i];
			bytes[at + of - 1 - i] = byte;
		}
}

/* One chunk of a list, of another's hand: what is sound is taken, and all else is said. */
static void chunks_of_another(void)
{
	static const struct range4 good4[] = { { 0x01020304, 0x02030405 }, { 0x030405f7, 0xf6e7d8c9 } },
				   turned4[] = { { 5, 2 } }, over4[] = { { 1, 5 }, { 5, 9 } },
				   back4[] = { { 7, 9 }, { 1, 2 } };
	static const struct range6 good6[] = { { 1, (ip6)0x0102030405060708 << 64 | 0x090a0b0c0d0e0f10 },
					       { (ip6)2 << 120, (ip6)9 << 120 | 7 } },
				   turned6[] = { { 5, 2 } }, over6[] = { { 1, 5 }, { 5, 9 } },
				   back6[] = { { 7, 9 }, { 1, 2 } };
	enum sum { RIGHT, NONE, WRONG, LARGE, NEGATIVE, TEXT };
	static const struct {
		int kind;
		const void *data;
		int bytes;
		enum sum sum;
		size_t n; /* of its ranges; 0: it is damaged */
	} chunks[] = {
		{ CHUNK_RANGES4, good4, 16, RIGHT, 2 },	    { CHUNK_RANGES4, good4, 16, NONE, 2 },
		{ CHUNK_RANGES4, good4, 16, WRONG, 0 },	    { CHUNK_RANGES4, good4, 16, LARGE, 0 },
		{ CHUNK_RANGES4, good4, 16, NEGATIVE, 0 },  { CHUNK_RANGES4, good4, 16, TEXT, 0 },
		{ CHUNK_RANGES4, good4, 15, RIGHT, 0 },	    { CHUNK_RANGES4, turned4, 8, RIGHT, 0 },
		{ CHUNK_RANGES4, over4, 16, RIGHT, 0 },	    { CHUNK_RANGES4, back4, 16, RIGHT, 0 },
		{ CHUNK_RANGES6, good6, 64, RIGHT, 2 },	    { CHUNK_RANGES6, good6, 63, RIGHT, 0 },
		{ CHUNK_RANGES6, good6, 48, RIGHT, 0 },	    { CHUNK_RANGES6, turned6, 32, RIGHT, 0 },
		{ CHUNK_RANGES6, over6, 64, RIGHT, 0 },	    { CHUNK_RANGES6, back6, 64, RIGHT, 0 },
		{ CHUNK_RANGES6, good6, 64, WRONG, 0 },	    { CHUNK_PACKED4, "\x80\x80", 2, RIGHT, 0 },
		{ CHUNK_PACKED4, "\x80\x80", 2, NONE, 0 },  { CHUNK_RANGES4 - 1, good4, 16, RIGHT, 0 },
		{ CHUNK_RANGES6 + 1, good6, 64, RIGHT, 0 }, { CHUNK_RANGES4, NULL, 0, NONE, 0 },
	};
	struct ranges set = RANGES_EMPTY;
	struct state *s;
	char stored[64];

	empty_directory();
	s = opened(true);
	ENOUGH(!ranges_add_host(&set, 7) && !ranges_finish(&set));
	if (!s || !CHECK(!put(s, "one", LIST_BAN, &set) && !state_commit(s), "no list"))
		return;
	state_close(s);
	ranges_free(&set);
	for (size_t i = 0; i < sizeof(chunks) / sizeof(*chunks); i++) {
		uint32_t sum;
		sqlite3_stmt *stmt = NULL;
		sqlite3 *db = NULL;
		bool sound;
		int err;

		/* The lowest byte first, whatever the machine. */
		memcpy(stored, chunks[i].data ?: "", (size_t)chunks[i].bytes);
		if (byte_order == BIG_ENDIAN && chunks[i].kind != CHUNK_PACKED4)
			turn_numbers(stored, (size_t)chunks[i].bytes, chunks[i].kind == CHUNK_RANGES6 ? 16 : 4);
		sum = (uint32_t)crc32_z(0, (void *)stored, (size_t)chunks[i].bytes);
		ENOUGH(!sqlite3_open(file, &db) &&
		       !sqlite3_prepare_v2(db, "UPDATE chunk SET family = ?, data = ?, sum = ? WHERE family IS NOT 0",
					   -1, &stmt, NULL));
		sqlite3_bind_int(stmt, 1, chunks[i].kind);
		if (chunks[i].data)
			sqlite3_bind_blob(stmt, 2, stored, chunks[i].bytes, SQLITE_STATIC);
		else
			sqlite3_bind_text(stmt, 2, "12345678", 8, SQLITE_STATIC);
		if (chunks[i].sum == TEXT)
			sqlite3_bind_text(stmt, 3, "x", 1, SQLITE_STATIC);
		else if (chunks[i].sum != NONE)
			sqlite3_bind_int64(stmt, 3,
					   chunks[i].sum == LARGE      ? (int64_t)sum + (1LL << 32)
					   : chunks[i].sum == NEGATIVE ? -1
								       : (int64_t)sum + (chunks[i].sum == WRONG));
		ENOUGH(sqlite3_step(stmt) == SQLITE_DONE && sqlite3_changes(db) == 1);
		sqlite3_finalize(stmt);
		sqlite3_close(db);
		s = opened(false);
		err = s ? state_list_set(s, "one", &set) : -EIO;
		sound = !err && set.n4 + set.n6 == chunks[i].n && !set.n4 == (chunks[i].kind == CHUNK_RANGES6);
		CHECK(chunks[i].n ? sound : err_is(err, EUCLEAN) && strstr(reason(err), "list 'one' is damaged"),
		      "chunk %zu: %zu and %zu ranges, %s", i, set.n4, set.n6, err ? reason(err) : "taken");
		CHECK(err ? !set.n4 && !set.n6 && !set.v4 && !set.v6
			  : !memcmp(set.n4 ? (void *)set.v4 : (void *)set.v6, chunks[i].data, (size_t)chunks[i].bytes),
		      "chunk %zu: something else is in the set", i);
		ranges_free(&set);
		state_close(s);
	}
}

/* On a machine of the other byte order the same is in the file, and it comes back there. */
static void other_byte_order(void)
{
	byte_order = BYTE_ORDER == BIG_ENDIAN ? LITTLE_ENDIAN : BIG_ENDIAN;
	chunks_of_another();
	many_pieces();
	byte_order = BYTE_ORDER;
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "nothing there yet", what_is_not_there },
		{ "lists against an array, committed or not", random_work },
		{ "255 labels, and not one more", all_labels },
		{ "sets of many pieces", many_pieces },
		{ "interfaces and settings", rows },
		{ "how long a line takes", lines },
		{ "the ladder of the detector", ladder },
		{ "limits of interfaces", limits_of_interfaces },
		{ "a list of whom it trusts", trusted },
		{ "a setting that cannot be read", unreadable_setting },
		{ "the first end of many bans", first_end },
		{ "how many bans there are", number_of_bans },
		{ "chunks of another's hand", chunks_of_another },
		{ "chunks of the other byte order", other_byte_order },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
