// SPDX-License-Identifier: GPL-2.0-only
/* What of a need is dropped already, where lists have scopes: against states of each kind. */
#include "own_state.h"
#include "no_disk.h"
#include "base/log.h"
#include "change/own_addresses.h"
#include "filter/scopes.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "kernel/scopes.h"
#include "state/bans.h"

#define LABEL 7
#define NEED  0xc6336401

static bool answers, scopes_fail, drops_all, drops_scoped;
static __u32 answered;
static uint64_t held; /* by the label of the answer */

static bool given_answer(const struct live *live, struct addr addr, __u32 *answer)
{
	CHECK(live && addr.num == 9 && addr.family == 4, "another source is asked for");
	*answer = answered;
	return answers;
}

static int given_scopes(const struct live *live, struct scopes *scopes)
{
	CHECK(live, "nothing is in force");
	memset(scopes, 0, sizeof(*scopes));
	scopes->of[LABEL] = held;
	return scopes_fail ? -EIO : 0;
}

static bool given_drop(const struct scopes *scopes, uint64_t of, const struct scope *scope)
{
	static const struct scope all;

	CHECK(scopes->of[LABEL] == of && of == held, "another label's");
	return memcmp(scope, &all, sizeof(all)) ? drops_scoped : drops_all;
}

#define live_answer	   given_answer
#define kernel_scopes_read given_scopes
#define scopes_drop	   given_drop
#include "change/guard_before.c"

static const struct own_address own = { .addr = { NEED, 4 }, .source = { 9, 4 } };

static enum dropped_before before(struct state *s, bool scoped, bool image)
{
	struct live live = { .g.scoped = scoped };

	return guard_before(s, &live, &own, image);
}

static void drops(__u64 of, bool all, bool some)
{
	answers = true;
	scopes_fail = false;
	answered = ANSWER_DROP | LABEL;
	held = of;
	drops_all = all;
	drops_scoped = some;
}

static void without_scopes(void)
{
	struct state *s = opened(true);

	if (!s)
		return;
	drops(1, false, false);
	scopes_fail = true;
	CHECK(before(s, false, false) == DROPPED_AS_NOW, "what is dropped without scopes");
	answered = LABEL;
	CHECK(before(s, false, false) == DROPPED_NOT, "what is not dropped");
	answered = ANSWER_DROP | LABEL;
	answers = false;
	CHECK(before(s, false, false) == DROPPED_NOT, "what cannot be asked");
	state_close(s);
}

static void by_image(void)
{
	struct state *s = opened(true);

	if (!s)
		return;
	drops(1, true, false);
	CHECK(before(s, true, true) == DROPPED_AS_NOW, "all of it is dropped");
	drops(1, false, true);
	CHECK(before(s, true, true) == DROPPED_LESS, "a part of it is dropped");
	drops(0, false, false);
	CHECK(before(s, true, true) == DROPPED_AS_NOW, "no scope's label");
	drops(1, true, true);
	scopes_fail = true;
	CHECK(before(s, true, true) == DROPPED_LESS, "scopes that cannot be read");
	state_close(s);
}

/* The state drops that, and what is in force drops all packets, those of the scope, those behind a ban that ends. */
struct world {
	const char *what;
	enum list_kind kind;
	uint32_t lo, hi; /* of the list; 0: there is none */
	const char *scope;
	int ban; /* 0: none, 1: it ends, 2: it does not, 3: it is of all, and ends, 4: of all, and does not */
	bool as_now_by_all, as_now_by_scoped, as_now_by_ends;
};

static void make(struct state *s, const struct world *w)
{
	struct list_info list = { .kind = w->kind,
				  .times = w->kind == LIST_TRUST,
				  .prefixes = 1,
				  .addresses = "1",
				  .source = "-",
				  .loaded = "2026-01-01T00:00:00Z" };
	struct ban ban = { .first = { NEED, 4 }, .length = 32, .added = 1 };
	struct ranges set = RANGES_EMPTY;
	bool added;

	snprintf(list.name, sizeof(list.name), "list");
	snprintf(list.scope, sizeof(list.scope), "%s", w->scope);
	ENOUGH(!ranges_add4(&set, w->lo, w->hi) && !ranges_finish(&set));
	ENOUGH(!w->hi || !state_list_put(s, &list, &set));
	if (w->ban >= 3) {
		ban.first.num = 0;
		ban.length = 0;
	}
	ban.expires = w->ban % 2 ? time(NULL) + 3600 : 0;
	ENOUGH(!w->ban || !state_ban_new(s, &ban, &added));
	ranges_free(&set);
}

static void by_state(void)
{
	static const struct world worlds[] = {
		{ "nothing", LIST_BAN, 0, 0, "", 0, true, true, true },
		{ "a list", LIST_BAN, NEED, NEED, "", 0, true, false, false },
		{ "a list of all", LIST_BAN, 0, UINT32_MAX, "", 0, true, false, false },
		{ "a list of what is beneath", LIST_BAN, NEED - 1, NEED - 1, "", 0, true, true, true },
		{ "a list of what is above", LIST_BAN, NEED + 1, NEED + 1, "", 0, true, true, true },
		{ "a shadow list", LIST_SHADOW, NEED, NEED, "", 0, true, true, true },
		{ "an allow list", LIST_ALLOW, NEED, NEED, "", 0, true, true, true },
		{ "a list with a scope", LIST_BAN, NEED, NEED, "tcp/22", 0, false, true, false },
		{ "a damaged list", LIST_BAN, NEED, NEED + 2, "", 0, false, false, false },
		{ "a ban that ends", LIST_BAN, 0, 0, "", 1, true, false, true },
		{ "a ban of all that ends", LIST_BAN, 0, 0, "", 3, true, false, true },
		{ "a ban", LIST_BAN, 0, 0, "", 2, true, false, false },
		{ "a ban of all", LIST_BAN, 0, 0, "", 4, true, false, false },
		{ "a list beside a ban that ends", LIST_BAN, NEED, NEED, "", 1, true, false, false },
	};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
		const struct world *w = &worlds[i];
		struct state *s = opened(true);

		if (!s)
			return;
		make(s, w);
		drops(1, true, false);
		CHECK((before(s, true, false) == DROPPED_AS_NOW) == w->as_now_by_all, "%s, behind all", w->what);
		drops(1, false, true);
		CHECK((before(s, true, false) == DROPPED_AS_NOW) == w->as_now_by_scoped, "%s, behind a scope", w->what);
		drops(SCOPE_ENDS, false, false);
		CHECK((before(s, true, false) == DROPPED_AS_NOW) == w->as_now_by_ends, "%s, behind an end", w->what);
		state_close(s); /* nothing of it was committed */
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "without scopes", without_scopes },
		{ "by an image", by_image },
		{ "by lists and bans", by_state },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
