// SPDX-License-Identifier: GPL-2.0-only
/* show: what it prints of interfaces, of a generation with all and with no stages, and of what waits. All are made up.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/attach.h"
#include "observe/in_force.h"
#include "state/ports.h"
#include "state/state.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_show.txt"
};

static struct shows shows = { .file = "tests/unit/unit_show.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define THEN 1767225600 /* 2026-01-01T00:00:00Z */

static struct attachment on[6];
static size_t on_n, waiting_n, rules_n;
static struct inforce is;
static struct pending unconfirmed[4];
static int calls, fails_at, fails_as, held;
static bool full;

static int call(const char *what)
{
	if (++calls != fails_at)
		return 0;
	printf("  %s: fails\n", what);
	return because(fails_as, "a call failed");
}

static void *given(const void *array, size_t size)
{
	void *copy = malloc(size);

	memcpy(copy, array, size);
	held++;
	return copy;
}

static void given_free(void *array)
{
	held -= array != NULL;
	free(array);
}

static void is_ours(const struct context *context, const struct state *state)
{
	if (context->state != typed_context.state || (const void *)state != &is)
		puts("  of another");
}

static int given_list(const struct context *context, struct attachment **list, size_t *n)
{
	int err = call("the interfaces");

	is_ours(context, (struct state *)&is);
	if (err)
		return err;
	*list = given(on, sizeof(on));
	*n = on_n;
	return 0;
}

static int given_in_force(const struct context *context, struct inforce *to)
{
	is_ours(context, (struct state *)&is);
	*to = is;
	return call("what is in force");
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	int err = call(change ? "the state, to change it" : "the state");

	is_ours(context, (struct state *)&is);
	*state = err ? NULL : (struct state *)&is;
	held += !err;
	return err;
}

static int given_pending(struct state *state, struct pending **pending, size_t *n)
{
	is_ours(&typed_context, state);
	*pending = given(unconfirmed, sizeof(unconfirmed));
	*n = waiting_n;
	return call("what waits");
}

static int64_t given_left(const struct pending *pending, int64_t at_least)
{
	return at_least ? -1 : pending->due;
}

static int given_ports(struct ports_kept *kept, struct state *state)
{
	static const struct interface_info rule = { .name = "br0", .mode = "native" };

	is_ours(&typed_context, state);
	*kept = (struct ports_kept){ .rules = given(&rule, sizeof(rule)), .rules_n = rules_n };
	return call("the ports");
}

#define attach_list	      given_list
#define inforce_take	      given_in_force
#define state_open	      given_open
#define state_close(of)	      (held -= (of) != NULL)
#define state_pending	      given_pending
#define pending_left	      given_left
#define ports_kept_take	      given_ports
#define ports_kept_free(kept) given_free((kept)->rules)
#define free(array)	      given_free(array)
#define out_end()	      (full ? EXIT_ERROR : out_end())
#include "verbs/show.c"
#undef free

static void begin(void)
{
	fails_at = 0;
	fails_as = -EIO;
	full = false;
	is = (struct inforce){
		.g = { .number = 42, .gate4 = 1, .keys4 = 11, .all24 = 12, .keys6 = 13 },
		.bytes = { .gate = 1000, .filter = 2000, .roster = 3000, .labels = 4000, .total = 10000 },
		.asked = 0.001
	};
	on_n = 1;
	memset(on, 0, sizeof(on));
	on[0] = (struct attachment){ .name = "eth0", .as = "eth0", .mode = MODE_NATIVE };
	waiting_n = rules_n = 0;
}

static void types(const char *line)
{
	calls = held = 0;
	typed(line);
	if (held)
		printf("  not given back: %d\n", held);
}

static void in_both(void)
{
	types("show");
	types("show --json");
}

static void stages(void)
{
	in_both();
	is.g.gate6 = 1;
	is.g.filter = 1;
	is.g.filter_layout = 1;
	is.g.filter_k = 5;
	is.bits_per_key = 12.34;
	is.rate = (struct rate){ .fill = 0.4567, .fpr = 0.00123, .error = 0.0001 };
	in_both();
	is.verdict = 0.5;
	is.verdict4 = 0.0012;
	is.verdict6 = 0.0034;
	in_both();
	is.g.roster4 = 1;
	is.verdict = 0;
	in_both();
	is.g.roster4 = 0;
	is.g.roster6 = 1;
	is.g.gate4 = 0;
	is.g.filter = 0;
	is.g.rungs = 2;
	is.g.rung[0].length = 128;
	is.g.rung[1].length = 64;
	in_both();
	is.sizing = (struct sizing){ .by_cost = true, .bits_per_key = 9.5, .ns = 20.25, .ns_usual = 21.75 };
	in_both();
	is.sizing.measured = true;
	types("show");
	snprintf(is.image, sizeof(is.image), "0123456789abcdef");
	snprintf(is.saved, sizeof(is.saved), "2026-01-01T00:00:00Z");
	in_both();
	is = (struct inforce){ .asked = 0 };
	in_both();
	full = true;
	types("show");
	is.g.number = 1;
	types("show");
}

static void rates(void)
{
	is.g.filter = 1;
	for (int i = 0; i < 2; i++) {
		is.rate = (struct rate){ .fpr = 0.0625, .error = 0 };
		in_both();
		snprintf(is.image, sizeof(is.image), "0");
	}
}

static void interfaces(void)
{
	on[1] = (struct attachment){ .name = "eth1", .mode = MODE_SKB, .shared = true, .match = MATCH_BOTH };
	on[2] = (struct attachment){ .name = "eth2", .mode = MODE_SKB, .shared = true, .gone = true };
	on[3] = (struct attachment){ .name = "eth3", .mode = MODE_NATIVE, .gone = true, .moved = true };
	on[4] = (struct attachment){
		.name = "e\x1b[4", .mode = MODE_TC, .match = MATCH_LEAVING(0), .moved = true, .behind = 1
	};
	on[5] = (struct attachment){ .name = "eth5", .mode = MODE_TC, .match = MATCH_COMING(1), .behind = 2 };
	on_n = 6;
	in_both();
	on_n = 0;
	in_both();
}

static void waits(void)
{
	unconfirmed[0] = (struct pending){ .name = "drop", .deadline = THEN, .due = 1000000001 };
	unconfirmed[1] = (struct pending){ .name = "cut short", .deadline = PENDING_IN_PROGRESS, .due = 5 };
	unconfirmed[2] = (struct pending){ .name = "e\x1b[4", .deadline = PENDING_IN_PROGRESS + 1, .due = 1000000000 };
	unconfirmed[3] = (struct pending){ .name = "eth0", .deadline = 1, .due = 0 };
	rules_n = 1;
	for (waiting_n = 0; waiting_n <= 4; waiting_n++)
		in_both();
	waiting_n = 1;
	for (fails_at = 1; fails_at <= 6; fails_at++)
		for (int i = 0; i < 2; i++) {
			fails_as = i ? -EUCLEAN : -EIO;
			types("show");
		}
	types("show x");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "stages", stages },
		{ "rates", rates },
		{ "interfaces", interfaces },
		{ "waits", waits },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
