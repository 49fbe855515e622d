// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list that changes in place, beside another and live bans: after each change every address is dropped that any of
 * them has, and no other, and what the roster says is on an account that has it. What cannot be edited is built anew.
 */
#include "own_state.h"

#include "base/log.h"
#include "change/list_edit.c"
#define EDITED_IN_CODES
#include "edited.h"
#include "filter/settings.h"

#define LISTS  3
#define WORLD  2048 /* addresses of IPv4, eight /24; and as many of IPv6 */
#define BASE4  0x2d070000u
#define BASE6  ((ip6)0x20010db8 << 96)
#define ROUNDS 120

static const uint8_t labels[LISTS] = { LABEL_LIST, LABEL_OTHER, LABEL_LIVE };

static struct {
	bool has[LISTS][2][WORLD];
	unsigned int done, refused, went4, went6, came6;
} world;

/* Four side by side in each /64. */
static ip6 address6(unsigned int i)
{
	return BASE6 | (ip6)(i / 4) << 64 | i % 4;
}

static void set_of(struct ranges *set, const bool has[2][WORLD])
{
	*set = RANGES_EMPTY;
	for (unsigned int i = 0; i < WORLD; i++) {
		if (has[0][i])
			ENOUGH(!ranges_add_host(set, BASE4 + i));
		if (has[1][i])
			ENOUGH(!ranges_add6(set, address6(i), address6(i)));
	}
	ENOUGH(!ranges_finish(set));
}

static bool build(struct generation *g, const struct settings *settings)
{
	struct ranges sets[LISTS];
	struct account accounts[LISTS];
	bool ok;

	for (int l = 0; l < LISTS; l++) {
		set_of(&sets[l], (const bool(*)[WORLD])world.has[l]);
		accounts[l] = (struct account){ &sets[l], labels[l] };
	}
	ok = generate_with(g, accounts, LISTS, settings);
	for (int l = 0; l < LISTS; l++)
		ranges_free(&sets[l]);
	return ok;
}

static bool is_right(const struct generation *g, int six, unsigned int i)
{
	__u32 answer = six ? decide_ipv6(g, (__u64)(address6(i) >> 64), (__u64)address6(i)) : decide_ipv4(g, BASE4 + i);
	bool any = false, owns = false;

	for (int l = 0; l < LISTS; l++) {
		any = any || world.has[l][six][i];
		owns = owns || (world.has[l][six][i] && labels[l] == ANSWER_LABEL(answer));
	}
	if (!CHECK(any == !!(answer & ANSWER_DROP), "IPv%d, address %u: %s", six ? 6 : 4, i,
		   answer & ANSWER_DROP ? "drop" : "pass"))
		return false;
	return !any || ANSWER_STAGE(answer) != STAGE_ROSTER ||
	       CHECK(owns, "IPv%d, address %u is on account %u", six ? 6 : 4, i, ANSWER_LABEL(answer));
}

/* Where nobody else has any of it. */
static int edit(struct generation *g, const struct ranges *came, const struct ranges *gone)
{
	const struct list_info list = { .label = LABEL_LIST };
	struct ranges none = RANGES_EMPTY;
	struct edit e;
	int err;

	edit_begin(&e, g);
	err = unlist(&e, &list, gone);
	for (size_t i = 0; i < gone->n6 && !err; i++)
		for (struct cut6 cut = { .lo = gone->v6[i].lo, .hi = gone->v6[i].hi }; range6_next_prefix(&cut);)
			CHECK(err_is(edit_unlist6(&e, cut.first, cut.length), EAGAIN), "it is not taken out, or twice");
	err = err ?: put_in(&e, &list, came, &none) ?: edit_worthwhile(&e);
	if (!err) {
		world.went4 += e.gone4 != 0;
		world.went6 += e.gone6 != 0;
		world.came6 += e.new6 != 0;
		edit_bring_in(&e);
		edit_make(&e);
	}
	edit_end(&e);
	return err;
}

static void changes(const struct settings *settings)
{
	struct generation g;

	for (unsigned int i = 0; i < 2 * WORLD; i++)
		for (int l = 0; l < LISTS; l++)
			world.has[l][i % 2][i / 2] =
				ktap_random() % 16 == 0 || (!(i % 2) && i / 512 == 2 + (unsigned int)l);
	for (unsigned int i = 0; i < WORLD; i += 2)
		if (ktap_random() % 32 == 0)
			world.has[0][1][i] = world.has[0][1][i + 1] = true;
	if (!build(&g, settings))
		return;
	for (unsigned int round = 0; round < ROUNDS && !ktap_failed; round++) {
		static bool came[2][WORLD], gone[2][WORLD];
		struct ranges came_set, gone_set;
		unsigned int n = 1 + (unsigned int)(ktap_random() % 20);
		bool built = false;
		int err;

		memset(came, 0, sizeof(came));
		memset(gone, 0, sizeof(gone));
		for (unsigned int k = 0, i = 0, six = 0; k < n; k++) {
			/* Now and then the one beside it, too: one range, or one prefix. */
			bool beside = k && ktap_random() % 4 == 0, *has;

			i = beside ? i ^ 1 : (unsigned int)(ktap_random() % WORLD);
			six = beside ? six : ktap_random() % 3 == 0;
			has = &world.has[0][six][i];
			if (world.has[1][six][i] || world.has[2][six][i] || came[six][i] || gone[six][i])
				continue;
			*(*has ? &gone[six][i] : &came[six][i]) = true;
			*has = !*has;
		}
		set_of(&came_set, (const bool(*)[WORLD])came);
		set_of(&gone_set, (const bool(*)[WORLD])gone);
		err = edit(&g, &came_set, &gone_set);
		ranges_free(&came_set);
		ranges_free(&gone_set);
		CHECK(!err || err_is(err, EAGAIN), "error %d", err);
		world.done += !err;
		if (err) {
			world.refused++;
			memory_release(&g);
			built = build(&g, settings);
			if (!built)
				return;
		}
		for (unsigned int i = 0; i < 2 * WORLD; i++)
			if (!is_right(&g, (int)(i % 2), i / 2))
				break;
	}
	memory_release(&g);
}

static void lists(void)
{
	memset(&world, 0, sizeof(world));
	for (int i = 0; i < 4 * (LAYOUT_AUTO + 1) && !ktap_failed; i++) {
		struct settings settings = SETTINGS_DEFAULT;

		settings.headroom = i % 2 ? 0.1 : 4;
		settings.bits_per_key = 64;
		settings.layout = (enum layout)(i / 4);
		settings.exact = true;
		settings.labels = i & 2;
		changes(&settings);
		if (ktap_failed)
			printf("# labels %d, layout %s\n", settings.labels, layout_names[settings.layout]);
	}
	printf("# %u changes in place, %u built anew; of IPv4 %u took out, of IPv6 %u, %u put in\n", world.done,
	       world.refused, world.went4, world.went6, world.came6);
	CHECK(world.done && world.refused && world.went4 && world.went6 && world.came6, "not all of it happened");
}

static struct ranges one(const char *prefix)
{
	struct ranges set = RANGES_EMPTY;
	struct prefix p = { 0 };

	ENOUGH(!prefix_parse(prefix, strlen(prefix), &p.first, &p.length));
	ENOUGH(!ranges_add_prefix(&set, p.first, p.length) && !ranges_finish(&set));
	return set;
}

static void keep(struct state *state, const char *name, enum list_kind kind, const struct ranges *set)
{
	struct list_info list = {
		.kind = kind, .prefixes = 1, .addresses = "1", .source = "-", .loaded = "2026-01-01T00:00:00Z"
	};

	snprintf(list.name, sizeof(list.name), "%s", name);
	ENOUGH(!state_list_put(state, &list, set));
}

static void ban(struct state *state, const char *prefix, int64_t expires, int64_t due)
{
	struct ban ban = { .added = 1, .expires = expires, .due = due };
	bool renewed;

	ENOUGH(!prefix_parse(prefix, strlen(prefix), &ban.first, &ban.length));
	ENOUGH(!state_ban_put(state, &ban, &renewed));
}

/* What has just ended is in the arrays until somebody takes it out: there, too, it would end what the list has. */
static void what_others_have(void)
{
	static const struct {
		const char *prefix;
		bool has;
	} known[] = {
		{ "45.1.0.0/24", true },       { "45.2.0.0/24", true },	       { "45.3.0.0/24", true },
		{ "45.3.1.0/24", false },      { "45.4.0.0/24", true },	       { "45.5.0.0/24", true },
		{ "45.6.0.0/24", false },      { "45.7.0.0/24", false },       { "2001:db8:1::/48", true },
		{ "2001:db8:1:2::/64", true }, { "2001:db8:1:3::/64", false }, { "2001:db8:2::/48", true },
		{ "2001:db8:3::/48", false },
	};
	const struct list_info list = { .name = "its-own", .label = 1 };
	struct ranges own = one("45.6.0.0/24"), other = one("45.5.0.9"), allow = one("45.7.0.9");
	struct state *state = opened(true);

	ENOUGH(state);
	keep(state, "its-own", LIST_BAN, &own);
	keep(state, "other", LIST_BAN, &other);
	keep(state, "allow", LIST_ALLOW, &allow);
	ban(state, "45.1.0.9", 0, 0);
	ban(state, "45.2.0.9", 4000000000, 0);
	ban(state, "45.3.0.9", 5, 0);
	ban(state, "45.4.0.9", 4000000000, 1);
	ban(state, "2001:db8:1:2::/64", 5, 0);
	ban(state, "2001:db8:2::1", 4000000000, 1);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct ranges these = one(known[i].prefix);
		int err = others_have(state, &list, &these);

		CHECK(known[i].has ? err_is(err, EAGAIN) : !err, "%s: %s", known[i].prefix,
		      err ? reason(err) : "nobody");
		ranges_free(&these);
	}
	state_close(state);
	ranges_free(&own);
	ranges_free(&other);
	ranges_free(&allow);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "a list that changes", lists },
						  { "what others have", what_others_have } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
