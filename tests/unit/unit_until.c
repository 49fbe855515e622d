// SPDX-License-Identifier: GPL-2.0-only
/* For how long a state drops an address: random lists, bans and what waits, against what is left of them at each end.
 */
#include "own_state.h"
#include "change/guard_until.h"
#include "change/own_addresses.h"
#include "state/bans.h"
#include "state/until.h"

#define ASKED 64
#define LISTS 4
#define FIRST 500
#define STEP  1000
#define LAST  10500

static struct addr asked[ASKED];
static int64_t start;
static const unsigned int lengths[] = { 0, 16, 24, 31, 32 };

/* One of a few, so that they meet. */
static struct addr random_addr(void)
{
	struct addr addr = { 0xc6336400 + ktap_random() % 16, 4 };

	if (ktap_random() % 2)
		return addr;
	return (struct addr){ (ip6)0x20010db8 << 96 | ktap_random() % 16, 6 };
}

static void random_set(struct ranges *set)
{
	*set = RANGES_EMPTY;
	for (unsigned int i = (unsigned int)(ktap_random() % 5); i < 6; i++) {
		struct addr addr = random_addr();
		unsigned int length = addr_width(addr.family) - (unsigned int)(ktap_random() % 3);

		addr.num &= ~addr_mask(addr.family, length);
		ENOUGH(!ranges_add_prefix(set, addr, length));
	}
	ENOUGH(!ranges_finish(set));
}

static bool one_in(unsigned int n)
{
	return ktap_random() % n == 0;
}

static void wait_for(struct state *s, enum pending_kind kind, const char *name, int64_t deadline)
{
	struct pending pending = { .kind = kind, .deadline = deadline, .due = 0 };

	snprintf(pending.name, sizeof(pending.name), "%s", name);
	ENOUGH(!state_pending_add(s, &pending));
}

static void random_list(struct state *s, unsigned int i, int64_t deadline)
{
	struct list_info list = { .kind = one_in(3)   ? LIST_SHADOW
					  : one_in(3) ? LIST_ALLOW
						      : LIST_BAN,
				  .addresses = "1",
				  .source = "-",
				  .loaded = "2026-01-01T00:00:00Z" };
	struct ranges set;

	random_set(&set);
	snprintf(list.name, sizeof(list.name), "list%u", i);
	list.prefixes = ranges_count_prefixes(&set);
	if (list.kind != LIST_ALLOW && one_in(3))
		snprintf(list.scope, sizeof(list.scope), "tcp/22");
	if (deadline)
		wait_for(s, PENDING_LIST, list.name, deadline);
	ENOUGH(!state_list_put(s, &list, &set));
	ranges_free(&set);
}

/* A change of kind that waits. */
static void random_kind(struct state *s, unsigned int i, int64_t deadline)
{
	struct list_info list;
	char name[16];

	snprintf(name, sizeof(name), "list%u", i);
	if (state_list_get(s, name, &list) || list.kind == LIST_ALLOW || state_pending_has(s, PENDING_LIST, name))
		return;
	wait_for(s, PENDING_LIST_KIND, name, deadline);
	ENOUGH(!state_list_set_kind(s, name, list.kind == LIST_BAN ? LIST_SHADOW : LIST_BAN));
}

static void random_ban(struct state *s, int64_t deadline)
{
	struct ban ban = { .added = start,
			   .first = random_addr(),
			   .expires = one_in(3) ? 0 : start + STEP * (1 + (int64_t)(ktap_random() % 9)) };
	char name[PREFIX_TEXT_MAX];
	bool renewed;

	ban.length = ban.first.family == 4 ? lengths[ktap_random() % 5] : 128 - (unsigned int)(ktap_random() % 4);
	ban.first.num &= ~addr_mask(ban.first.family, ban.length);
	prefix_text(name, ban.first, (int)ban.length);
	if (deadline && !state_pending_has(s, PENDING_BAN, name))
		wait_for(s, PENDING_BAN, name, deadline);
	ENOUGH(!state_ban_put(s, &ban, &renewed));
}

/* Does it drop it at that date, as far as what waits is not over? */
struct dropped {
	bool all, some;
};

static struct dropped dropped_at(struct state *s, struct addr addr, int64_t date)
{
	struct dropped d = { 0 };
	struct list_info *lists = NULL;
	struct ban *bans = NULL;
	bool allowed = false;
	size_t n = 0;

	ENOUGH(!state_lists(s, &lists, &n));
	for (size_t i = 0; i < n; i++) {
		struct ranges set;

		if (lists[i].kind != LIST_BAN && lists[i].kind != LIST_ALLOW)
			continue;
		ENOUGH(!state_list_set(s, lists[i].name, &set));
		if (ranges_covering(&set, addr) >= 0)
			*(lists[i].kind == LIST_ALLOW ? &allowed : lists[i].scope[0] ? &d.some : &d.all) = true;
		ranges_free(&set);
	}
	free(lists);
	ENOUGH(!state_bans(s, &bans, &n));
	for (size_t i = 0; i < n; i++)
		if (bans[i].first.family == addr.family &&
		    !((bans[i].first.num ^ addr.num) & ~addr_mask(addr.family, bans[i].length)) &&
		    (!bans[i].expires || bans[i].expires > date))
			d.all = true;
	free(bans);
	return allowed ? (struct dropped){ 0 } : d;
}

/* What is over by then. */
static void go_back(struct state *s, int64_t date)
{
	struct pending *pending = NULL;
	size_t n = 0;

	ENOUGH(!state_pending(s, &pending, &n));
	for (size_t i = 0; i < n; i++)
		ENOUGH(pending[i].deadline > date || !state_pending_undo(s, &pending[i]));
	free(pending);
}

/* The first date at which that is dropped no more, and what follows; they are STEP apart, and ends lie between them. */
static bool ends_at(int64_t until, int64_t after)
{
	if (after == FIRST)
		return !until;
	return after == LAST ? until == UNTIL_ENDLESS : until > start + after - STEP && until < start + after;
}

static bool random_state(struct state *s)
{
	int64_t deadline = one_in(3) ? LAST : 4200, sooner = one_in(2) ? deadline : 2200;
	struct until until[ASKED];
	struct ranges waiting, allowed, after, later;
	int64_t all[ASKED], some[ASKED];
	bool fine = true, now[ASKED];

	for (unsigned int i = 0; i < LISTS; i++)
		random_list(s, i, 0);
	for (int i = 0; i < 4; i++)
		random_ban(s, 0);
	if (deadline < LAST) {
		random_list(s, 1, start + deadline);
		random_list(s, LISTS, start + sooner);
		random_kind(s, 2, start + sooner);
		random_ban(s, start + deadline);
		random_ban(s, start + sooner);
	}
	for (size_t i = 0; i < ASKED; i++) {
		asked[i] = random_addr();
		all[i] = some[i] = FIRST;
	}
	ENOUGH(!state_until(s, asked, ASKED, until));
	ENOUGH(!state_allowed_waiting(s, &waiting) && !state_allowed(s, &allowed) && !state_later(s, true, &later));
	for (int64_t at = FIRST; at < LAST; at += STEP) {
		go_back(s, start + at);
		for (size_t i = 0; i < ASKED; i++) {
			struct dropped then = dropped_at(s, asked[i], start + at);

			if (at == FIRST)
				now[i] = then.all || then.some;
			all[i] = then.all ? at + STEP : all[i];
			some[i] = then.some ? at + STEP : some[i];
		}
	}
	ENOUGH(!state_allowed(s, &after));
	for (size_t i = 0; i < ASKED && fine; i++)
		fine = CHECK((ranges_covering(&waiting, asked[i]) >= 0) == (ranges_covering(&allowed, asked[i]) >= 0 &&
									    ranges_covering(&after, asked[i]) < 0),
			     "what is allowed for now") &&
		       CHECK(now[i] || (all[i] == FIRST && some[i] == FIRST) || ranges_covering(&later, asked[i]) >= 0,
			     "what is dropped only then");
	ranges_free(&later);
	ranges_free(&waiting);
	ranges_free(&allowed);
	ranges_free(&after);
	for (size_t i = 0; i < ASKED && fine; i++)
		fine = CHECK(ends_at(until[i].all, all[i]), "all: %lld, not before %lld",
			     (long long)(until[i].all - start), (long long)all[i]) &&
		       CHECK(ends_at(until[i].some, some[i]), "some: %lld, not before %lld",
			     (long long)(until[i].some - start), (long long)some[i]);
	return fine;
}

static void random_states(void)
{
	bool fine = true;

	for (int i = 0; i < 200 && fine; i++) {
		struct state *s = opened(true);

		fine = s && random_state(s);
		state_close(s); /* nothing of it was committed */
	}
}

/* What drops 198.51.100.1: a ban for so many seconds (-1: without an end), a list, one with a scope. */
struct world {
	int ban;
	bool list, scoped;
};

static void make(struct state *s, const struct world *w)
{
	struct ban ban = { .first = { 0xc6336401, 4 }, .length = 32, .added = start };
	struct list_info list = { .kind = LIST_BAN, .addresses = "1", .source = "-", .loaded = "2026-01-01T00:00:00Z" };
	struct ranges set = RANGES_EMPTY;
	bool added;

	ENOUGH(!ranges_add_prefix(&set, ban.first, 32) && !ranges_finish(&set));
	ENOUGH(!state_bans_clear(s));
	state_list_drop(s, "list");
	state_list_drop(s, "scoped");
	list.prefixes = 1;
	ban.expires = w->ban > 0 ? start + w->ban : 0;
	if (w->ban)
		ENOUGH(!state_ban_new(s, &ban, &added));
	snprintf(list.name, sizeof(list.name), "list");
	if (w->list)
		ENOUGH(!state_list_put(s, &list, &set));
	snprintf(list.name, sizeof(list.name), "scoped");
	snprintf(list.scope, sizeof(list.scope), "tcp/22");
	if (w->scoped)
		ENOUGH(!state_list_put(s, &list, &set));
	ranges_free(&set);
}

/* Each of these worlds behind each other one. */
static void compared(void)
{
	static const struct world worlds[] = {
		{ .ban = 0 },
		{ .ban = 600 },
		{ .ban = 900 },
		{ .ban = -1 },
		{ .ban = 0, .list = true },
		{ .ban = 0, .scoped = true },
		{ .ban = 600, .scoped = true },
		{ .ban = 600, .list = true },
	};
	/* For how long all of its packets, and some of them. */
	static const int all[] = { 0, 600, 900, 1000, 1000, 0, 600, 1000 }, some[] = { 0, 0, 0, 0, 0, 1000, 1000, 0 };
	struct own_address own[2] = { { .addr = { 0xc6336401, 4 } }, { .addr = { 0xc6336402, 4 } } };
	bool endless[2], wanted;
	int64_t longer[2];

	for (size_t was = 0; was < 8; was++)
		for (size_t is = 0; is < 8; is++) {
			struct state *s = opened(true);

			if (!s)
				return;
			make(s, &worlds[was]);
			ENOUGH(!state_commit(s) && !state_again(s));
			make(s, &worlds[is]);
			wanted = all[is] > all[was] || (some[is] > all[was] && some[is] > some[was]);
			longer[0] = !wanted;
			CHECK(!guard_longer(s, &own_context, own, 2, longer) && !longer[0] == !wanted && !longer[1],
			      "world %zu behind %zu: %lld, %lld", is, was, (long long)longer[0], (long long)longer[1]);
			wanted = all[is] == 1000 || some[is] == 1000;
			endless[0] = !wanted;
			CHECK(!guard_endless(s, own, 2, endless) && endless[0] == wanted && !endless[1],
			      "world %zu: %d, %d", is, endless[0], endless[1]);
			state_close(s);
		}
}

static void nothing(void)
{
	struct until until = { .all = 1, .some = 1 };
	struct state *s = opened(false);

	CHECK(s && !state_until(s, asked, 1, &until) && !until.all && !until.some, "a state that does not exist");
	state_close(s);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "nothing", nothing },
		{ "random_states", random_states },
		{ "compared", compared },
	};

	start = time(NULL);
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
