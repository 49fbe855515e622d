// SPDX-License-Identifier: GPL-2.0-only
/* An exception that is added for good, whatever of the others waits: it is there behind the trial, confirmed or not. */
#include "own_state.h"
#include "change/exceptions.h"

static const struct addr first = { 0xc6336401, 4 }, second = { 0xc6336402, 4 }, spared = { 0x2d000009, 4 };

static struct ranges set_of(const struct addr *addrs, size_t n)
{
	struct ranges set = RANGES_EMPTY;

	for (size_t i = 0; i < n; i++)
		ENOUGH(!ranges_add_prefix(&set, addrs[i], 32));
	ENOUGH(!ranges_finish(&set));
	return set;
}

static bool has(struct state *s, const struct addr *addrs, size_t n)
{
	struct ranges is, wanted = set_of(addrs, n);
	bool same = !exceptions_get(s, &is) && ranges_equal(&is, &wanted);

	ranges_free(&is);
	ranges_free(&wanted);
	return same;
}

/* What there is before, and what there is on trial. */
static const struct world {
	bool before, now, waits;
} worlds[] = {
	{ false, false, false }, { true, true, false }, { false, true, true },
	{ true, true, true },	 { true, false, true },
};

static void except(struct state *s, const struct addr *one)
{
	struct ranges set = set_of(one, 1);

	ENOUGH(!exceptions_put(s, &set));
	ranges_free(&set);
}

static void look(const struct world *w, bool confirmed)
{
	struct addr was[2] = { spared, first }, is[2] = { spared, w->waits ? second : first };
	struct pending pending = { .kind = PENDING_LIST, .name = EXCEPTIONS, .deadline = 7 };
	struct list_info *lists = NULL;
	struct state *s = opened(true);
	size_t n = 0;

	if (!s)
		return;
	if (w->before)
		except(s, &first);
	if (w->waits)
		ENOUGH(!(w->now ? state_pending_add : state_pending_drop)(s, &pending));
	if (w->now)
		except(s, &is[1]);
	CHECK(!exceptions_add(s, spared) && !exceptions_add(s, spared), "%s", reason(-EIO));
	CHECK(has(s, is, 1 + w->now), "on trial");
	CHECK(!state_lists(s, &lists, &n) && n == 1, "%zu lists", n);
	free(lists);
	if (w->waits)
		ENOUGH(!(confirmed ? state_pending_confirm(s) : state_pending_undo(s, &pending)));
	CHECK(confirmed || !w->waits ? has(s, is, 1 + w->now) : has(s, was, 1 + w->before), "behind it");
	CHECK(!state_lists(s, &lists, &n) && n == 1 && lists[0].kind == LIST_ALLOW && !lists[0].damaged, "%zu lists",
	      n);
	free(lists);
	CHECK(!state_commit(s) && !state_again(s) && state_pending_has(s, PENDING_LIST, EXCEPTIONS) == 0,
	      "it waits still");
	ENOUGH(!state_list_drop(s, EXCEPTIONS) && !state_commit(s));
	state_close(s);
}

static void whatever_waits(void)
{
	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
		for (int confirmed = 0; confirmed < 2; confirmed++)
			look(&worlds[i], confirmed);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "whatever waits", whatever_waits } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
