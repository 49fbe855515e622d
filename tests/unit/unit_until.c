// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a state drops which packets of an address, from now on: random lists, scopes, exceptions, bans and what waits,
 * against what is left of them at each date. And whether another state does so at a time at which that one does not.
 */
#include "own_state.h"
#include "no_disk.h"
#include "base/clock.h"
#include "change/guard_until.h"
#include "change/own_addresses.h"
#include "sets/scope.h"
#include "state/bans.h"
#include "state/until.h"

#define ASKED 64
#define LISTS 4
#define STEP  1000
/* Between all at which something may change: STEP, and the deadlines. */
static const int64_t moments[] = { 500, 1500, 2125, 2500, 3500, 4125, 4500, 5500, 6500, 7500, 8500, 9500 };
#define DATES (sizeof(moments) / sizeof(moments[0]))

static struct addr asked[ASKED];
static int64_t start;
/* No two of these take together what a third one takes; the first is all packets. Which of the packets each takes. */
static const char *const scopes[] = { "", "tcp/22", "tcp/50-80", "tcp/22-80", "tcp", "udp/53", "udp/53 on edge0" };
static const unsigned int takes[] = { 127, 1, 2, 1 | 2 | 4, 1 | 2 | 4 | 8, 16 | 32, 32 };
#define SCOPES (sizeof(scopes) / sizeof(scopes[0]))
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

/* By this start of the machine, on which the date was set back by so much since; 0: by the date. */
static int64_t set_back, start_boot;

static int64_t due(int64_t deadline)
{
	int64_t at = start_boot + (deadline - start) * 1000000000;

	return !set_back ? 0 : at > 0 ? at : 1;
}

static void wait_for(struct state *s, enum pending_kind kind, const char *name, int64_t deadline)
{
	struct pending pending = { .kind = kind, .deadline = deadline + set_back, .due = due(deadline) };

	snprintf(pending.name, sizeof(pending.name), "%s", name);
	ENOUGH(!state_pending_add(s, &pending));
}

static bool is_waiting(struct state *s, const char *list)
{
	return state_pending_has(s, PENDING_LIST, list) || state_pending_has(s, PENDING_LIST_KIND, list);
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
	if (is_waiting(s, list.name)) {
		ranges_free(&set);
		return;
	}
	list.prefixes = ranges_count_prefixes(&set);
	if (list.kind != LIST_ALLOW && one_in(2))
		snprintf(list.scope, sizeof(list.scope), "%s", scopes[ktap_random() % SCOPES]);
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
	if (state_list_get(s, name, &list) || list.kind == LIST_ALLOW || is_waiting(s, name))
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
	if (state_pending_has(s, PENDING_BAN, name))
		return;
	if (deadline)
		wait_for(s, PENDING_BAN, name, deadline);
	ENOUGH(!state_ban_put(s, &ban, &renewed));
}

static unsigned int packets_of(const char *scope)
{
	size_t i = 0;

	while (strcmp(scope, scopes[i]) != 0)
		i++;
	return takes[i];
}

/* Which packets it drops of each at that date, as far as what waits is not over. */
static void dropped_at(struct state *s, int64_t date, unsigned int packets[ASKED])
{
	struct list_info *lists = NULL;
	struct ban *bans = NULL;
	bool allowed[ASKED] = { false };
	size_t n = 0;

	memset(packets, 0, ASKED * sizeof(*packets));
	ENOUGH(!state_lists(s, &lists, &n));
	for (size_t i = 0; i < n; i++) {
		struct ranges set;

		if (lists[i].kind != LIST_BAN && lists[i].kind != LIST_ALLOW)
			continue;
		ENOUGH(!state_list_set(s, lists[i].name, &set));
		for (size_t k = 0; k < ASKED; k++) {
			if (ranges_covering(&set, asked[k]) < 0)
				continue;
			if (lists[i].kind == LIST_ALLOW)
				allowed[k] = true;
			else
				packets[k] |= packets_of(lists[i].scope);
		}
		ranges_free(&set);
	}
	free(lists);
	ENOUGH(!state_bans(s, &bans, &n));
	for (size_t k = 0; k < ASKED; k++) {
		for (size_t i = 0; i < n; i++)
			if (bans[i].first.family == asked[k].family &&
			    !((bans[i].first.num ^ asked[k].num) & ~addr_mask(asked[k].family, bans[i].length)) &&
			    (!bans[i].expires || bans[i].expires > date))
				packets[k] |= takes[0];
		packets[k] = allowed[k] ? 0 : packets[k];
	}
	free(bans);
}

/* What is over by then. */
static void go_back(struct state *s, int64_t date)
{
	struct pending *pending = NULL;
	size_t n = 0;

	ENOUGH(!state_pending(s, &pending, &n));
	for (size_t i = 0; i < n; i++)
		ENOUGH(pending[i].deadline - set_back > date || !state_pending_undo(s, &pending[i]));
	free(pending);
}

/*
 * What waits goes back then, unless the second one, or both, are confirmed before. The first is only now. No ban ends
 * at such a time: of the two, which are reckoned by different clocks, either might come first by a second.
 */
static const int64_t deadlines[] = { 0, 2250, 4250 };
#define BACK (sizeof(deadlines) / sizeof(deadlines[0]))

/* Of each that was asked for, with so much gone back, at each date, which packets. */
typedef unsigned int packets_ahead[BACK][DATES][ASKED];

static void look_ahead(struct state *s, packets_ahead packets)
{
	for (size_t back = 0; back < BACK; back++) {
		go_back(s, start + deadlines[back]);
		for (size_t date = 0; date < DATES; date++)
			dropped_at(s, start + moments[date], packets[back][date]);
	}
}

/* At that date, if that one is the first that is confirmed; 0: none is. */
static unsigned int at_date(packets_ahead packets, size_t kept, size_t date, size_t i)
{
	size_t back = 0;

	while (back + 1 < BACK && back + 1 != kept && deadlines[back + 1] <= moments[date])
		back++;
	return packets[back][date][i];
}

static int64_t first_kept(size_t kept)
{
	int64_t deadline = start + deadlines[kept];

	return kept ? due(deadline) ?: deadline : UNTIL_ENDLESS;
}

static unsigned int told(const struct untils *untils, size_t i, int64_t at)
{
	unsigned int packets = 0;
	char text[SCOPE_TEXT_MAX];

	for (size_t k = 0; k < untils->of[i].n; k++) {
		const struct period *p = &untils->of[i].periods[k];

		if (p->from > at || p->to <= at)
			continue;
		ENOUGH(p->scope < untils->scopes_n && scope_text(text, &untils->scopes[p->scope]));
		packets |= packets_of(text);
	}
	return packets;
}

static void random_waiting(struct state *s)
{
	int64_t deadline = deadlines[2], sooner = one_in(2) ? deadline : one_in(3) ? -100 : deadlines[1];

	random_list(s, 1, start + deadline);
	random_list(s, LISTS, start + sooner);
	random_kind(s, 2, start + sooner);
	random_ban(s, start + deadline);
	random_ban(s, start + sooner);
}

static void random_all(struct state *s)
{
	set_back = one_in(2) ? 86400 : one_in(2) ? -86400 : 0;
	for (unsigned int i = 0; i < LISTS; i++)
		random_list(s, i, 0);
	for (int i = 0; i < 4; i++)
		random_ban(s, 0);
	for (size_t i = 0; i < ASKED; i++)
		asked[i] = random_addr();
}

static packets_ahead ahead[2];

/* As it tells of that. */
static bool is_told(const struct untils *untils, packets_ahead packets, size_t kept)
{
	for (size_t i = 0; i < ASKED; i++)
		for (size_t date = 0; date < DATES; date++) {
			unsigned int is = told(untils, i, start + moments[date]), at = at_date(packets, kept, date, i);

			if (!CHECK(is == at, "%zu kept, address %zu, date %zu: %x, not %x", kept, i, date, is, at))
				return false;
		}
	return true;
}

static bool random_state(struct state *s)
{
	struct untils untils[BACK];
	struct ranges waiting, allowed, after, later;
	bool fine = true;

	random_all(s);
	if (!one_in(3))
		random_waiting(s);
	for (size_t kept = 0; kept < BACK; kept++)
		ENOUGH(!state_until(s, asked, ASKED, first_kept(kept), &untils[kept]));
	ENOUGH(!state_allowed_waiting(s, &waiting) && !state_allowed(s, &allowed) && !state_later(s, true, &later));
	look_ahead(s, ahead[0]);
	ENOUGH(!state_allowed(s, &after));
	for (size_t kept = 0; kept < BACK; kept++) {
		fine = fine && is_told(&untils[kept], ahead[0], kept);
		untils_free(&untils[kept]);
	}
	for (size_t i = 0; i < ASKED && fine; i++) {
		unsigned int ever = 0;

		for (size_t date = 0; date < DATES; date++)
			ever |= at_date(ahead[0], 0, date, i);
		fine = CHECK((ranges_covering(&waiting, asked[i]) >= 0) == (ranges_covering(&allowed, asked[i]) >= 0 &&
									    ranges_covering(&after, asked[i]) < 0),
			     "what is allowed for now") &&
		       CHECK(at_date(ahead[0], 0, 0, i) || !ever || ranges_covering(&later, asked[i]) >= 0,
			     "what is dropped only then");
	}
	ranges_free(&later);
	ranges_free(&waiting);
	ranges_free(&allowed);
	ranges_free(&after);
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

/* A few changes, some of which wait. */
static void random_change(struct state *s)
{
	char name[16];

	for (int i = 0; i < 3; i++)
		switch (ktap_random() % 6) {
		case 0:
			ENOUGH(!state_pending_confirm(s));
			break;
		case 1:
			go_back(s, start + deadlines[1]);
			break;
		case 2:
			snprintf(name, sizeof(name), "list%u", (unsigned int)(ktap_random() % LISTS));
			if (!is_waiting(s, name))
				state_list_drop(s, name);
			break;
		case 3:
			random_waiting(s);
			break;
		case 4:
			random_list(s, (unsigned int)(ktap_random() % (LISTS + 2)), 0);
			break;
		default:
			random_ban(s, 0);
		}
}

/* Which of them are the first that can be confirmed? */
static void find_first(struct state *s, bool is[BACK])
{
	struct pending *pending = NULL;
	int64_t *first = NULL;
	size_t n = 0, pending_n = 0, dates = 0;

	ENOUGH(!state_first_kept(s, &first, &n) && !state_pending(s, &pending, &pending_n));
	for (size_t i = 0; i < pending_n; i++)
		dates += pending_left(&pending[i], 0) && (!i || pending[i].deadline != pending[i - 1].deadline);
	free(pending);
	for (size_t kept = 0; kept < BACK; kept++) {
		is[kept] = false;
		for (size_t i = 0; i < n; i++)
			is[kept] = is[kept] || first[i] == first_kept(kept);
	}
	CHECK(is[0] && n == dates + 1, "%zu of them, not %zu", n, dates + 1);
	free(first);
}

/* From some date on, each of so many. */
#define ASKED_AFTER 8

/* Is there a packet that is dropped at a date at which it was not? And what is dropped anyway? */
static bool behind_each_other(struct state *s, const char *scope)
{
	struct own_address own[ASKED] = { 0 };
	int64_t longer[ASKED];
	bool anyway[ASKED], ever[ASKED], after[ASKED / ASKED_AFTER], first[BACK], fine = true;
	unsigned int packets = packets_of(scope);
	size_t from = ktap_random() % DATES;

	random_change(s);
	for (size_t i = 0; i < ASKED; i++)
		own[i].addr = asked[i];
	ENOUGH(!guard_longer(s, &own_context, own, ASKED, longer) && !guard_ever(s, own, ASKED, ever) &&
	       !guard_anyway(s, own, ASKED, scope, anyway));
	for (size_t i = 0; i < ASKED; i += ASKED_AFTER)
		after[i / ASKED_AFTER] = guard_after(s, &own[i], start + moments[from]);
	find_first(s, first);
	look_ahead(s, ahead[1]);
	for (size_t i = 0; i < ASKED && fine; i++) {
		unsigned int more = 0, any = 0;

		for (size_t kept = 0; kept < BACK; kept++)
			for (size_t date = 0; date < DATES && first[kept]; date++) {
				unsigned int is = at_date(ahead[1], kept, date, i);

				more |= is & ~at_date(ahead[0], kept, date, i);
				any |= kept ? 0 : is;
				/* Where such a list is, too. */
				fine = fine && CHECK(!anyway[i] || !is || !(packets & ~is), "anyway: address %zu, %s",
						     i, scope);
			}
		fine = fine &&
		       CHECK(!more == !longer[i], "address %zu: more of %x, but %lld", i, more, (long long)longer[i]) &&
		       CHECK(!any == !ever[i], "address %zu: ever %x", i, any);
		if (i % ASKED_AFTER)
			continue;
		any = 0;
		for (size_t date = from; date < DATES; date++)
			any |= at_date(ahead[1], 0, date, i);
		fine = fine && CHECK(!any == !after[i / ASKED_AFTER], "address %zu: from date %zu on %x", i, from, any);
	}
	return fine;
}

static void begin_anew(struct state *s)
{
	struct list_info *lists = NULL;
	size_t n = 0;

	ENOUGH(!state_bans_clear(s) && !state_pending_confirm(s) && !state_lists(s, &lists, &n));
	for (size_t i = 0; i < n; i++)
		ENOUGH(!state_list_drop(s, lists[i].name));
	free(lists);
}

static void random_pairs(void)
{
	bool fine = true;

	for (int i = 0; i < 400 && fine; i++) {
		struct state *s = opened(true);

		ENOUGH(s);
		begin_anew(s);
		random_all(s);
		if (!one_in(3))
			random_waiting(s);
		ENOUGH(!state_commit(s) && !state_again(s));
		look_ahead(s, ahead[0]);
		state_close(s);
		s = opened(true);
		fine = s && behind_each_other(s, scopes[ktap_random() % SCOPES]);
		state_close(s);
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
	bool anyway[2], wanted;
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
			anyway[0] = !wanted;
			CHECK(!guard_anyway(s, own, 2, "tcp/22", anyway) && anyway[0] == wanted && !anyway[1],
			      "world %zu: %d, %d", is, anyway[0], anyway[1]);
			wanted = all[is] == 1000;
			CHECK(!guard_anyway(s, own, 2, "", anyway) && anyway[0] == wanted && !anyway[1],
			      "world %zu: all, %d, %d", is, anyway[0], anyway[1]);
			state_close(s);
		}
}

static void nothing(void)
{
	struct state *s = opened(false);
	struct untils untils;

	CHECK(s && !state_until(s, asked, 1, UNTIL_ENDLESS, &untils) && untils.n == 1 && !untils.of[0].n,
	      "a state that does not exist");
	untils_free(&untils);
	state_close(s);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "nothing", nothing },
		{ "random_states", random_states },
		{ "compared", compared },
		{ "random_pairs", random_pairs },
	};

	start = time(NULL);
	start_boot = clock_boot();
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
