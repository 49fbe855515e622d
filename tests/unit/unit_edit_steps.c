// SPDX-License-Identifier: GPL-2.0-only
/* Several steps of one edit: a slot that one of them has is no other's, in rosters that become full meanwhile. */
#include <assert.h>
#include <errno.h>

#include "base/log.h"
#include "edited.h"
#include "filter/edit_internal.h"
#include "filter/settings.h"

#define OLD  1500
#define MORE 400

static uint32_t hosts[OLD + MORE];
static ip6 hosts6[OLD + MORE];

static void no_reader(void)
{
}

static int ban(struct edit *e, size_t i, int family, uint8_t label)
{
	struct ranges set = RANGES_EMPTY, none = RANGES_EMPTY;
	struct account account = { &set, label };
	struct owned owned;
	int err;

	ENOUGH(!(family == 4 ? ranges_add_host(&set, hosts[i]) : ranges_add6(&set, hosts6[i], hosts6[i])));
	ENOUGH(!ranges_finish(&set) && !owned_settle(&owned, &account, 1, &none));
	err = edit_ban(e, &owned);
	owned_free(&owned);
	ranges_free(&set);
	return err;
}

static int relabel(struct edit *e, size_t i)
{
	return ban(e, i, 4, LABEL_LIVE);
}

static int unban4(struct edit *e, size_t i)
{
	struct ranges gone = RANGES_EMPTY;
	int err;

	ENOUGH(!ranges_add_host(&gone, hosts[i]) && !ranges_finish(&gone));
	err = edit_unban4(e, &gone);
	ranges_free(&gone);
	return err;
}

static int unban6(struct edit *e, size_t i)
{
	return edit_unban6(e, hosts6[i], 128, false);
}

static int unlist6(struct edit *e, size_t i)
{
	e->list = LABEL_LIST;
	return edit_unlist6(e, hosts6[i], 128);
}

static int allow6(struct edit *e, size_t i)
{
	return edit_allow6(e, hosts6[i], 128);
}

static const struct {
	const char *name;
	int (*what)(struct edit *e, size_t i);
	int family;
	uint8_t label; /* of those who are there */
	bool stays;    /* on another account */
} kinds[] = {
	{ "another end", relabel, 4, LABEL_ENDS, true }, { "unban IPv4", unban4, 4, LABEL_LIVE, false },
	{ "unban IPv6", unban6, 6, LABEL_LIVE, false },	 { "unlist IPv6", unlist6, 6, LABEL_LIST, false },
	{ "allow IPv6", allow6, 6, LABEL_LIST, false },
};

static __u32 answer_of(const struct generation *g, int family, size_t i)
{
	return family == 4 ? decide_ipv4(g, hosts[i]) : decide_ipv6(g, (__u64)(hosts6[i] >> 64), (__u64)hosts6[i]);
}

/* Every second one of those who are there, and behind them so many that are new: how many there is room for. */
static size_t plan(struct edit *e, struct generation *g, size_t k, size_t most, int *err)
{
	size_t n = 0;

	edit_begin(e, g);
	e->wait = no_reader;
	*err = 0;
	for (size_t i = 0; i < OLD && !*err; i += 2)
		*err = kinds[k].what(e, i);
	CHECK(!*err, "%s: %s", kinds[k].name, reason(*err));
	while (n < most && !*err) {
		*err = ban(e, OLD + n, kinds[k].family, LABEL_LIVE);
		n += !*err;
	}
	return n;
}

static void compare(const struct generation *g, size_t k, size_t more)
{
	for (size_t i = 0; i < OLD + more; i++) {
		bool touched = i < OLD && i % 2 == 0, drops = !touched || kinds[k].stays;
		__u32 answer = answer_of(g, kinds[k].family, i);

		if (!CHECK(!(answer & ANSWER_DROP) == !drops, "%s: number %zu is %s", kinds[k].name, i,
			   drops ? "absent" : "there") ||
		    !CHECK(!drops || ANSWER_LABEL(answer) == (i < OLD && !touched ? kinds[k].label : LABEL_LIVE),
			   "%s: number %zu is on account %u", kinds[k].name, i, ANSWER_LABEL(answer)))
			return;
	}
}

/* None twice: of so many numbers of 32 bits two are the same one time in two thousand. */
static void draw(void)
{
	static_assert(OLD + MORE <= 1 << 11, "the number of each is in its last bits");
	for (size_t i = 0; i < OLD + MORE; i++) {
		hosts[i] = (uint32_t)(ktap_random() << 11 | i);
		hosts6[i] = (ip6)0x20010db800000000 << 64 | ktap_random();
	}
}

/* How many keys move. */
static size_t slots_of(size_t k)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges listed = RANGES_EMPTY;
	struct account account = { &listed, kinds[k].label };
	size_t more, moved = 0;
	struct generation g;
	struct edit e;
	int err;

	settings.headroom = 0.1;
	draw();
	for (size_t i = 0; i < OLD; i++)
		ENOUGH(!ranges_add_host(&listed, hosts[i]) && !ranges_add6(&listed, hosts6[i], hosts6[i]));
	ENOUGH(!ranges_finish(&listed));
	if (!generate_with(&g, &account, 1, &settings))
		return 0;
	g.capacity = g.capacity4 = g.capacity6 = UINT32_MAX; /* for the sake of moves */
	g.ends = kinds[k].label == LABEL_ENDS;
	more = plan(&e, &g, k, MORE, &err);
	edit_end(&e);
	CHECK(more < MORE ? err_is(err, EAGAIN) : !err, "%s: %s", kinds[k].name, reason(err));
	plan(&e, &g, k, more, &err);
	CHECK(!err, "%s: not again: %s", kinds[k].name, reason(err));
	for (size_t i = 0; i < e.n; i++)
		moved += e.steps[i].move;
	edit_make(&e);
	edit_end(&e);
	compare(&g, k, more);
	memory_release(&g);
	ranges_free(&listed);
	return moved;
}

static void slots(void)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		size_t moved = 0;

		for (int i = 0; i < 10 && !ktap_failed; i++)
			moved += slots_of(k);
		CHECK(moved > 10, "%s: only %zu moved", kinds[k].name, moved);
		printf("# %s: %zu moved\n", kinds[k].name, moved);
	}
}

/* As many as it was made for, of each family and of both, and no more; what is gone has used up some of it. */
static void room(void)
{
	static const struct {
		__u64 both, four, six, stale, minorities; /* more than there are keys; and what takes some of it */
		size_t fit4, fit6;
	} known[] = {
		{ 9, 2, 9, 0, 0, 2, 9 }, { 9, 9, 3, 0, 0, 9, 3 }, { 4, 9, 9, 0, 0, 4, 4 },
		{ 4, 9, 9, 3, 0, 1, 1 }, { 9, 3, 9, 0, 2, 1, 9 }, { 2, 2, 2, 2, 0, 0, 0 },
	};
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges listed = RANGES_EMPTY;
	struct account account = { &listed, LABEL_LIST };
	struct generation g;

	settings.headroom = 4;
	draw();
	for (size_t i = 0; i < OLD; i++)
		ENOUGH(!ranges_add_host(&listed, hosts[i]) && !ranges_add6(&listed, hosts6[i], hosts6[i]));
	ENOUGH(!ranges_finish(&listed));
	if (!generate_with(&g, &account, 1, &settings))
		return;
	for (size_t i = 0; i < 2 * sizeof(known) / sizeof(*known); i++) {
		int family = i % 2 ? 6 : 4, err = 0;
		size_t n = 0, fit = family == 4 ? known[i / 2].fit4 : known[i / 2].fit6;
		struct edit e;

		g.capacity = g.keys4 + g.keys6 + known[i / 2].both;
		g.capacity4 = g.keys4 + known[i / 2].four;
		g.capacity6 = g.keys6 + known[i / 2].six;
		g.stale = known[i / 2].stale;
		g.minorities = (__u32)known[i / 2].minorities;
		edit_begin(&e, &g);
		while (n < MORE && !(err = ban(&e, OLD + n, family, LABEL_LIVE)))
			n++;
		CHECK(err_is(err, EAGAIN) && e.full && n == fit && e.n == n, "%zu: IPv%d: %zu, not %zu: %d", i / 2,
		      family, n, fit, err);
		CHECK(e.new4 == (family == 4 ? n : 0) && e.new6 == (family == 6 ? n : 0), "%zu are counted as others",
		      n);
		edit_end(&e);
	}
	memory_release(&g);
	ranges_free(&listed);
}

/* A batch may name a ban twice. */
static void twice(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges live = RANGES_EMPTY;
	struct account account = { &live, LABEL_LIVE };
	struct generation g;
	struct edit e;

	settings.headroom = 4;
	for (uint32_t i = 0; i < 100; i++)
		ENOUGH(!ranges_add6(&live, hosts6[i], hosts6[i]));
	ENOUGH(!ranges_finish(&live));
	if (!generate_with(&g, &account, 1, &settings))
		return;
	edit_begin(&e, &g);
	for (int i = 0; i < 3; i++)
		CHECK(!edit_unban6(&e, hosts6[7], 128, false) && e.n == 1 && e.gone6 == 1, "time %d: %zu steps", i,
		      e.n);
	edit_end(&e);
	memory_release(&g);
	ranges_free(&live);
}

/* What the gate says nothing of is not asked for one by one. */
static void wide(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges live = RANGES_EMPTY, gone = RANGES_EMPTY, many = RANGES_EMPTY;
	struct account account = { &live, LABEL_LIVE };
	struct generation g;
	struct edit e;
	int err;

	settings.labels = true;
	for (uint32_t i = 0; i < 300; i++)
		ENOUGH(!ranges_add4(&live, 0x2d000000 + (i << 8), 0x2d0000ff + (i << 8)));
	ENOUGH(!ranges_add_host(&live, 0x0a0000ff) && !ranges_add_host(&live, 0x0affff00) && !ranges_finish(&live));
	ENOUGH(!ranges_add4(&gone, 0x0a000000, 0x0affffff) && !ranges_finish(&gone));
	ENOUGH(!ranges_add4(&many, 0x2d000000, 0x2d0000ff) && !ranges_finish(&many));
	if (!generate_with(&g, &account, 1, &settings) || !CHECK(g.gate4 && g.roster4, "it has another shape"))
		return;
	edit_begin(&e, &g);
	err = edit_unban4(&e, &gone);
	CHECK(!err && e.gone4 == 2, "%" PRIu64 " of a wide one go: %s", (uint64_t)e.gone4, reason(err));
	err = edit_unban4(&e, &many);
	CHECK(err_is(err, EAGAIN), "what the gate has as a whole goes: %d", err);
	/* There is no key of IPv6. */
	CHECK(!edit_unban6(&e, (ip6)0x20010db8 << 96, 32, false) && err_is(edit_unlist6(&e, 1, 128), EAGAIN),
	      "of a family that has no key");
	edit_end(&e);
	memory_release(&g);
	ranges_free(&live);
	ranges_free(&gone);
	ranges_free(&many);
}

/* Which keys of a list go without more: those that no other key of any rung has to do with. */
static void unlisted(void)
{
	static const struct {
		const char *prefix;
		uint8_t label; /* 0: nobody's */
		bool goes;
	} known[] = {
		{ "2001:db8:1::/48", LABEL_LIST, true },
		{ "2001:db8:2::/48", LABEL_OTHER, false },
		{ "2001:db8:3::/48", 0, false },
		{ "2001:db8:4::/47", 0, false },
		{ "2001:db9::/32", LABEL_LIST, false }, /* it may have longer keys */
		{ "2001:dba::/32", LABEL_OTHER, false },
		{ "2001:dba:1::/48", LABEL_LIST, false }, /* the one before holds it, too */
		{ "2001:db8:ff::/48", LABEL_LIST, true },
	};
	struct ranges sets[2] = { 0 };
	struct account accounts[2] = { { &sets[0], LABEL_LIST }, { &sets[1], LABEL_OTHER } };
	struct settings settings = SETTINGS_DEFAULT;
	struct generation g;
	struct edit e;

	settings.labels = true;
	settings.headroom = 9;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		unsigned int length;
		struct addr first;

		ENOUGH(!prefix_parse(known[i].prefix, strlen(known[i].prefix), &first, &length));
		if (known[i].label)
			ENOUGH(!ranges_add_prefix(&sets[known[i].label == LABEL_OTHER], first, length));
	}
	ENOUGH(!ranges_finish(&sets[0]) && !ranges_finish(&sets[1]));
	if (!generate_with(&g, accounts, 2, &settings) || !CHECK(g.rungs == 2, "%llu rungs", g.rungs))
		return;
	edit_begin(&e, &g);
	e.list = LABEL_LIST;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		unsigned int length;
		struct addr first;
		size_t n = e.n;
		int err;

		ENOUGH(!prefix_parse(known[i].prefix, strlen(known[i].prefix), &first, &length));
		err = edit_unlist6(&e, first.num, length);
		CHECK((known[i].goes ? !err : err_is(err, EAGAIN)) && e.n == n + known[i].goes, "%s: %d, %zu steps",
		      known[i].prefix, err, e.n - n);
		/* Not twice. */
		if (!err)
			CHECK(err_is(edit_unlist6(&e, first.num, length), EAGAIN), "%s: twice", known[i].prefix);
	}
	CHECK(e.gone6 == 2, "%" PRIu64 " have gone", (uint64_t)e.gone6);
	edit_make(&e);
	edit_end(&e);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		unsigned int length;
		struct addr first;

		ENOUGH(!prefix_parse(known[i].prefix, strlen(known[i].prefix), &first, &length));
		CHECK(is_dropped6(&g, first.num) == (known[i].label && !known[i].goes), "%s", known[i].prefix);
	}
	memory_release(&g);
	ranges_free(&sets[0]);
	ranges_free(&sets[1]);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "a slot that a step has", slots },
		{ "as much as there is room for", room },
		{ "twice", twice },
		{ "a wide one", wide },
		{ "what a list lets go", unlisted },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
