// SPDX-License-Identifier: GPL-2.0-only
/*
 * status: what it says of each trouble, on a screen and as JSON, which of them comes first, and how it ends. What it
 * looks at is made up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/out.h"
#include "base/span.h"
#include "change/agreement.h"
#include "kernel/device.h"
#include "kernel/pins.h"
#include "base/state_path.h"
#include "observe/lines_down.h"
#include "observe/overdue.h"
#include "observe/documents.h"
#include "observe/history.h"
#include "observe/unfiltered.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/kept_image.h"
#include "state/limits.h"
#include "state/unshown.h"
#include "typed.h"
#include "verbs/status.h"

static const struct shown known[] = {
#include "unit_status.txt"
};

static struct shows shows = { .file = "tests/unit/unit_status.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define NOW	     1767225600 /* 2026-01-01T00:00:00Z */
#define BOOT	     100000000000
#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define MOST	     20

/* What there is to see. */
static struct world {
	struct live live;
	struct attachment on[MOST];
	struct interface_info kept[3];
	struct unfiltered is[3]; /* by label; one that is not among them is filtered */
	struct interface_info rules[2];
	struct port_row rows[2];
	struct ports_due due[3];
	struct list_info lists[MOST];
	struct pending waiting[2];
	struct fresh fresh[6];
	struct fleet_view fleet;
	bool late;
	struct agent_seen agent;
	struct lines_down lines, needs, listen, untold, hook;
	struct list_failure failed[5];
	struct detector_sums detector;
	size_t on_n, kept_n, is_n, rules_n, due_n, lists_n, waiting_n, fresh_n, failed_n;
	enum agreement agrees;
	uint64_t bans;
	int64_t next;
	bool service, detects, no_rates, idle, full, unshown;
	const char *event, *gone;
} w;

static const struct world sound = {
	.live = { .g.number = 7, .loaded = BOOT - 90500000000 },
	.on = { { .name = "eth0", .as = "eth0", .mode = MODE_NATIVE } },
	.on_n = 1,
	.lists = { { .name = "drop",
		     .kind = LIST_BAN,
		     .prefixes = 1001,
		     .addresses = "70000",
		     .loaded = "2025-12-31T23:00:00Z" } },
	.lists_n = 1,
	.agrees = AGREED,
	.bans = 2,
};

static struct state *const ours = (struct state *)&w;
static int calls, fails_at, fails_n, fails_as, handed, opened_n;

static int call(const char *what)
{
	calls++;
	if (calls < fails_at || calls >= fails_at + fails_n)
		return 0;
	printf("  %s: fails\n", what);
	return because(fails_as, "a call failed");
}

static void is_ours(const struct context *context, const struct state *state)
{
	if (state != ours || context->state != typed_context.state || context->bpffs != typed_context.bpffs)
		puts("  of another");
}

/* Whatever is behind those that there are, too: a look at it is noticed. */
static void *given(const void *array, size_t size)
{
	void *copy = malloc(size);

	memcpy(copy, array, size);
	handed++;
	return copy;
}

#define GIVE(to, n_to, array, has) (*(to) = given(array, sizeof(array)), *(n_to) = (has))

static void given_free(void *array)
{
	handed -= array != NULL;
	free(array);
}

static int given_live(struct live *live, const struct context *context)
{
	is_ours(context, ours);
	*live = w.live;
	live->err = live->err ?: call("the filter");
	if (live->err)
		memset(&live->g, 0, sizeof(live->g));
	opened_n++;
	return live->err;
}

static void given_live_close(const struct live *live)
{
	opened_n -= live->loaded == w.live.loaded;
}

static int given_pin(const struct context *context, const char *name)
{
	int err = call(name);

	is_ours(context, ours);
	opened_n += !err;
	return err ?: 99;
}

static int given_counters(const struct context *context, struct counted *sums)
{
	is_ours(context, ours);
	*sums = (struct counted){ .verdict = {
					  [PASSED] = { 11, 12 }, [DROPPED] = { 21, 22 }, [UNPARSED] = { 31, 32 } } };
	return call("the counters");
}

static int given_attached(const struct context *context, struct attachment **on, size_t *n)
{
	is_ours(context, ours);
	GIVE(on, n, w.on, w.on_n);
	return call("the interfaces");
}

static bool given_held(const char *directory, const char *name)
{
	return w.service && directory == typed_context.state && !strcmp(name, STATE_SERVICE_LOCK);
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	int err = call(change ? "the state, to change it" : "the state");

	is_ours(context, ours);
	*state = err ? NULL : ours;
	opened_n += !err;
	return err;
}

static void given_close(struct state *state)
{
	opened_n -= state == ours;
}

static int given_kept(struct state *state, struct interface_info **kept, size_t *n)
{
	is_ours(&typed_context, state);
	GIVE(kept, n, w.kept, w.kept_n);
	return call("what is to be filtered");
}

static bool given_unfiltered(const struct context *context, const struct attachment *on, size_t n, const char *name,
			     unsigned int match, const char *of, struct unfiltered *is)
{
	char label[LABEL_MAX];

	is_ours(context, ours);
	if (n != w.on_n || (n && strcmp(on[n - 1].name, w.on[n - 1].name) != 0))
		puts("  among others");
	label_of(label, name, match);
	for (size_t i = 0; i < w.is_n; i++)
		if (!strcmp(w.is[i].label, label)) {
			*is = w.is[i];
			snprintf(is->of, sizeof(is->of), "%s", of ?: "");
			return true;
		}
	return false;
}

static int given_ports(struct ports_kept *kept, struct state *state)
{
	is_ours(&typed_context, state);
	*kept = (struct ports_kept){ .rows_n = w.rules_n, .interfaces_n = w.kept_n };
	kept->rows = given(w.rows, sizeof(w.rows));
	kept->interfaces = given(w.kept, sizeof(w.kept));
	GIVE(&kept->rules, &kept->rules_n, w.rules, w.rules_n);
	return call("the ports");
}

static unsigned int given_index(const char *name)
{
	return !w.gone || strcmp(name, w.gone) != 0;
}

static void given_ports_free(const struct ports_kept *kept)
{
	given_free(kept->rules);
	given_free(kept->rows);
	given_free(kept->interfaces);
}

static int given_compare(const struct ports_kept *kept, struct port_of **ports, struct ports_due **due, size_t *n)
{
	if (kept->rules_n != w.rules_n)
		puts("  of other ports");
	*ports = given("", 1);
	GIVE(due, n, w.due, w.due_n);
	return call("what has become of ports");
}

static struct limits given_limits(struct state *state)
{
	is_ours(&typed_context, state);
	return (struct limits){ .on = w.detects };
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	is_ours(&typed_context, state);
	GIVE(lists, n, w.lists, w.lists_n);
	return call("the lists");
}

static int given_waiting(struct state *state, struct pending **waiting, size_t *n)
{
	is_ours(&typed_context, state);
	GIVE(waiting, n, w.waiting, w.waiting_n);
	return call("what waits");
}

static double given_seconds(const struct pending *pending)
{
	return (double)(pending->due - BOOT);
}

static int given_count(struct state *state, int64_t now, uint64_t *n)
{
	is_ours(&typed_context, state);
	*n = now == NOW ? w.bans : 0;
	return call("the bans");
}

static int64_t given_next(struct state *state)
{
	is_ours(&typed_context, state);
	return w.next;
}

static int given_fresh(struct state *state, int64_t now, struct fresh **fresh, size_t *n)
{
	is_ours(&typed_context, state);
	if (now != NOW)
		puts("  at another time");
	GIVE(fresh, n, w.fresh, w.fresh_n);
	return call("the feeds");
}

static int given_fleet(struct fleet_view *view, const struct context *context, struct state *state)
{
	is_ours(context, state);
	*view = w.fleet;
	view->seen.members = given("", 1);
	return call("the fleet");
}

static int given_overdue(struct state *state, char text[OVERDUE_TEXT_MAX])
{
	is_ours(&typed_context, state);
	snprintf(text, OVERDUE_TEXT_MAX, "%s", w.late ? "exact has not gone back" : "");
	return call("what is overdue");
}

static enum agreement given_agreement(struct state *state, const struct generation *live)
{
	is_ours(&typed_context, state);
	return live->number == w.live.g.number ? w.agrees : NOTHING_LIVE;
}

static void given_failures(const struct context *context, struct list_failure **failed, size_t *n)
{
	is_ours(context, ours);
	GIVE(failed, n, w.failed, w.failed_n);
}

static void given_lines(struct lines_down *down, const struct context *context, const char *file, bool served)
{
	(void)context;
	*down = !strcmp(file, STATE_NEEDS)    ? w.needs
		: !strcmp(file, STATE_LISTEN) ? w.listen
		: !strcmp(file, STATE_UNTOLD) ? w.untold
		: !strcmp(file, STATE_BEHIND) ? w.hook
					      : w.lines;
	down->n = served ? down->n : 0;
}

static bool given_unshown(const char *directory, int64_t now, char text[UNSHOWN_TEXT_MAX])
{
	if (strcmp(directory, typed_context.state) != 0 || now != NOW)
		puts("  of another");
	snprintf(text, UNSHOWN_TEXT_MAX, "something that is wrong is not shown");
	return w.unshown;
}

static void given_agent(struct agent_seen *seen, const struct context *context)
{
	is_ours(context, ours);
	*seen = w.agent;
}

static int given_detector(const struct context *context, __u64 since, struct detector_sums *sums)
{
	is_ours(context, ours);
	if (since)
		puts("  since then");
	*sums = w.detector;
	return call("the detector");
}

static int given_history(const struct context *context, struct history **history, bool write)
{
	is_ours(context, ours);
	*history = (struct history *)&w;
	if (write)
		puts("  to write");
	if (call("the rates"))
		return -EIO;
	opened_n++;
	return 0;
}

static int given_read(const struct history *history, uint64_t now, enum history_window window,
		      struct history_report *report)
{
	if (history != (struct history *)&w || now != NOW || window != HISTORY_MINUTE)
		puts("  of other rates");
	*report = (struct history_report){ .points = { { NOW - 1, 30, w.idle ? 0 : 3, 0 },
						       { NOW - 2, 10, w.idle ? 0 : 2, 0 } },
					   .points_n = w.no_rates ? 0 : 2 };
	return call("to read the rates");
}

static bool given_refusal(const char *directory, char line[EVENT_LINE_MAX])
{
	if (directory != typed_context.state)
		puts("  of elsewhere");
	snprintf(line, EVENT_LINE_MAX, "%s", w.event ?: "");
	return w.event;
}

static bool given_round(const char *name, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	snprintf(text, DEVICE_TEXT_MAX, "%s is gone round in %s mode", name, attach_mode_names[mode]);
	return mode == MODE_SKB;
}

#define live_open	       given_live
#define live_close(of)	       given_live_close(of)
#define pin_get		       given_pin
#define close(fd)	       (opened_n -= (fd) == 99)
#define kernel_counters	       given_counters
#define attach_list	       given_attached
#define lock_is_held	       given_held
#define state_open	       given_open
#define state_close	       given_close
#define state_interfaces       given_kept
#define unfiltered(...)	       given_unfiltered(__VA_ARGS__)
#define if_nametoindex	       given_index
#define device_gone_round      given_round
#define ports_kept_take	       given_ports
#define ports_kept_free	       given_ports_free
#define ports_compare	       given_compare
#define state_limits	       given_limits
#define lists_in_force	       given_lists
#define waiting_of	       given_waiting
#define waiting_seconds	       given_seconds
#define state_bans_count       given_count
#define state_bans_next	       given_next
#define fresh_take	       given_fresh
#define fleet_view_take	       given_fleet
#define overdue_trouble	       given_overdue
#define fleet_view_free(view)  given_free((view)->seen.members)
#define agreement(state, live) given_agreement(state, live)
#define list_failures	       given_failures
#define agent_seen_take	       given_agent
#define lines_down_take	       given_lines
#define unshown_trouble	       given_unshown
#define detector_sum	       given_detector
#define history_open	       given_history
#define history_read	       given_read
#define history_close(history) (opened_n -= (history) == (struct history *)&w)
#define events_last_refusal    given_refusal
#define time(to)	       ((void)(to), (time_t)NOW)
#define free(array)	       given_free(array)
#define clock_boot()	       BOOT
#define out_end()	       (w.full ? EXIT_ERROR : out_end())
#include "verbs/print_status.c"
#include "verbs/status.c"
#undef time
#undef free
#undef close

static void begin(void)
{
	w = sound;
	calls = fails_at = 0;
	fails_n = 1;
	fails_as = -EIO;
}

static void types(const char *line)
{
	calls = handed = opened_n = 0;
	typed(line);
	if (handed || opened_n)
		printf("  not given back: %d, not closed: %d\n", handed, opened_n);
}

static void looks(void)
{
	types("status");
	types("status --json");
}

/* Of the world as it is, each call fails once. */
static void each_fails(void)
{
	do {
		fails_at++;
		types("status");
	} while (calls >= fails_at);
	fails_at = 0;
}

static void soundness(void)
{
	looks();
	w.bans = 0;
	looks();
	w.lists[0].kind = LIST_ALLOW;
	looks();
	w.bans = 1;
	types("status");
	w.full = true;
	types("status");
	w.full = false;
	w.on_n = 0;
	types("status");
	w.agrees = BEHIND;
	types("status");
	w.full = true;
	types("status");
	begin();
	w.live.g.number = 0;
	w.agrees = NOTHING_LIVE;
	looks();
}

static void kernel(void)
{
	static const int errors[] = { -ENOENT, -EPERM, -EACCES, -EIO };

	for (size_t i = 0; i < COUNT(errors); i++)
		for (w.live.program = 0; w.live.program < 2; w.live.program++) {
			printf("-- %s, %s\n", errno_text(errors[i]), w.live.program ? "a program" : "none");
			fails_at = 1;
			fails_as = errors[i];
			w.agrees = BEHIND;
			looks();
		}
	puts("-- nothing is known");
	w.live.err = -EPERM;
	w.service = true;
	for (fails_at = 2; fails_at <= 4; fails_at++)
		looks();
	begin();
	puts("-- pins");
	for (fails_at = 2; fails_at <= 6; fails_at++)
		looks();
	puts("-- the worst comes first");
	fails_at = 2;
	fails_n = 2;
	w.on_n = 0;
	types("status");
}

static void interfaces(void)
{
	static const struct attachment on[] = {
		{ .name = "eth0", .as = "eth0", .mode = MODE_NATIVE, .shared = true, .behind = 1 },
		{ .name = "eth1", .as = "old1", .mode = MODE_SKB, .match = MATCH_DESTINATION },
		{ .name = "eth\x1b[", .as = "eth2", .mode = MODE_TC, .match = MATCH_COMING(MATCH_BOTH), .behind = 1 },
		{ .name = "eth3",
		  .as = "eth3",
		  .mode = MODE_TC,
		  .match = MATCH_LEAVING(0),
		  .behind = 2,
		  .moved = true },
		{ .name = "eth4", .as = "old4", .mode = MODE_TC, .match = MATCH_LEAVING(0), .gone = true },
	};

	memcpy(w.on, on, sizeof(on));
	w.on_n = COUNT(on);
	looks();
	puts("-- none of them is there");
	for (size_t i = 0; i < w.on_n; i++)
		w.on[i].gone = true;
	looks();
	puts("-- there are none");
	w.on_n = 0;
	looks();
	puts("-- there are too many");
	for (w.on_n = 0; w.on_n < MOST; w.on_n++) {
		w.on[w.on_n] = (struct attachment){ .gone = true };
		snprintf(w.on[w.on_n].as, IF_NAMESIZE, "gone%zu", w.on_n);
	}
	looks();
	w.on[MOST - 1] = on[0];
	looks();
	puts("-- they cannot be read");
	fails_at = 7;
	looks();
	fails_as = -EACCES;
	looks();
	w.live.err = -EIO;
	fails_at = 3;
	looks();
}

static void unfiltered_ones(void)
{
	static const struct attachment gone[] = {
		{ .as = "a", .gone = true },
		{ .as = "b", .match = MATCH_LEAVING(0), .gone = true },
		{ .name = "eth0", .as = "eth0", .mode = MODE_NATIVE },
		{ .as = "c", .gone = true },
	};

	w.kept[0] = (struct interface_info){ .name = "a", .mode = "native" };
	w.kept[1] = (struct interface_info){ .name = "b", .mode = "tc", .match = MATCH_LEAVING(MATCH_BOTH) };
	w.kept[2] = (struct interface_info){ .name = "eth0", .mode = "skb" };
	w.is[0] = (struct unfiltered){ .label = "a" };
	w.is[1] = (struct unfiltered){ .label = "b egress", .missing = true };
	w.kept_n = 3;
	w.is_n = 2;
	types("status");
	snprintf(w.is[0].why, sizeof(w.is[0].why), "busy");
	types("status");
	memset(w.is[0].why, 'y', sizeof(w.is[0].why) - 1);
	types("status");
	puts("-- it is said of their pins");
	memcpy(w.on, gone, sizeof(gone));
	w.on_n = COUNT(gone) - 1;
	types("status");
	w.is[0].why[0] = '\0';
	types("status");
	snprintf(w.is[1].label, sizeof(w.is[1].label), "c");
	snprintf(w.kept[2].name, sizeof(w.kept[2].name), "c");
	types("status");
	snprintf(w.is[1].label, sizeof(w.is[1].label), "b egress");
	w.on[0].match = w.on[1].match = 0;
	types("status");
	w.on[1].match = MATCH_LEAVING(0);
	w.on[0].gone = w.on[1].gone = false;
	types("status");
	puts("-- nobody knows");
	fails_at = 7;
	types("status");
	fails_at = 9;
	types("status");
}

static void ports(void)
{
	w.rules[0] = (struct interface_info){ .name = "br0", .mode = "native", .shared = true };
	w.rules[1] = (struct interface_info){ .name = "bond0", .mode = "tc", .match = MATCH_LEAVING(0) };
	w.rows[0] = (struct port_row){ .name = "p0", .of = "br0" };
	w.rows[1] = (struct port_row){ .name = "p1", .of = "bond0", .leaves = true };
	w.kept[0] = (struct interface_info){ .name = "p0", .mode = "native" };
	w.rules_n = 2;
	w.kept_n = 1;
	looks();
	puts("-- some have come and gone");
	snprintf(w.on[2].name, IF_NAMESIZE, "p0");
	w.due[0] = (struct ports_due){ .name = "p2", .of = &w.rules[0] };
	w.due[1] = (struct ports_due){ .name = "p0" };
	w.due[2] = (struct ports_due){ .name = "p1", .leaves = true };
	w.due_n = 3;
	w.is[0] = (struct unfiltered){ .label = "p2" };
	w.is_n = 1;
	types("status");
	for (int i = 0; i < 6; i++) {
		w.on[1] = (struct attachment){ .gone = false };
		snprintf(w.on[1].name, IF_NAMESIZE, "%s", i & 2 ? "x" : i & 1 ? "p0" : "p1");
		snprintf(w.on[1].as, IF_NAMESIZE, "%s", i & 2 ? i & 1 ? "p0" : "p1" : "x");
		w.on[1].gone = i >= 4;
		w.on_n = 2;
		types("status");
		w.on[1].match = MATCH_LEAVING(0);
		types("status");
	}
	each_fails();
	puts("-- a bridge is gone");
	w.gone = "bond0";
	types("status");
	w.gone = NULL;
	puts("-- as much as can be said");
	w.on_n = 1;
	w.due_n = 1;
	snprintf(w.rules[0].name, IF_NAMESIZE, "rrrrrrrrrrrrrrr");
	w.due[0] = (struct ports_due){ .name = "ppppppppppppppp", .of = &w.rules[0], .leaves = true };
	w.rules[0].match = MATCH_LEAVING(0);
	snprintf(w.is[0].label, sizeof(w.is[0].label), "ppppppppppppppp egress");
	for (size_t i = 0; i < sizeof(w.is[0].why) - 1; i++)
		w.is[0].why[i] = (char)('a' + i % 26);
	types("status");
}

static void the_state(void)
{
	w.next = NOW + 3700;
	w.waiting[0] = (struct pending){ .name = "a\x1b[", .deadline = NOW + 60, .due = BOOT + 60 };
	w.waiting[1] = (struct pending){ .name = "eth0", .kind = PENDING_INTERFACE, .deadline = NOW + 9, .due = BOOT };
	w.waiting_n = 2;
	looks();
	w.next = NOW - 1;
	w.agrees = BEHIND;
	looks();
	w.late = true;
	looks();
	w.late = false;
	w.next = NOW;
	w.bans = 0;
	w.waiting_n = 1;
	w.agrees = UNKNOWN;
	looks();
	puts("-- a call fails");
	w.agrees = AGREED;
	w.detects = w.service = w.detector.in_force = true;
	each_fails();
	fails_at = 8;
	types("status --json");
}

static void lists(void)
{
	static const struct list_info all[] = {
		{ .name = "drop",
		  .kind = LIST_BAN,
		  .prefixes = 18446744073709551615ULL,
		  .addresses = "1",
		  .loaded = "2025-12-31T23:59:59Z" },
		{ .name = "ok", .kind = LIST_ALLOW, .prefixes = 1, .addresses = "2", .loaded = "2026-01-01T00:00:00Z" },
		{ .name = "seen", .kind = LIST_SHADOW, .addresses = "3", .loaded = "long ago", .scope = "tcp/22" },
		{ .name = "friends-of-ours-of-old",
		  .kind = LIST_TRUST,
		  .addresses = "4",
		  .loaded = "2026-01-01T00:00:01Z" },
	};

	memcpy(w.lists, all, sizeof(all));
	w.lists_n = COUNT(all);
	for (size_t i = 0; i < COUNT(w.failed); i++) {
		w.failed[i] = (struct list_failure){ .since = NOW - 60, .last = NOW - 1 };
		snprintf(w.failed[i].list, sizeof(w.failed[i].list), "%s", i == 1 ? "drop" : i == 2 ? "ok" : "none");
		memset(w.failed[i].why, 'y', i ? 9 : 300);
	}
	for (w.failed_n = 0; w.failed_n <= COUNT(w.failed); w.failed_n++)
		types("status");
	w.failed_n--;
	types("status --json");
	fails_at = 8;
	types("status");
	fails_at = 0;
	puts("-- their number");
	w.failed_n = 0;
	for (w.lists_n = 0; w.lists_n < MOST; w.lists_n++)
		w.lists[w.lists_n] = all[w.lists_n % COUNT(all)];
	for (w.lists_n = 7; w.lists_n <= 10; w.lists_n++)
		types("status");
	w.lists_n = 0;
	looks();
	fails_at = 12;
	looks();
}

static void feeds(void)
{
	static const struct fresh all[] = {
		{ .list = "drop", .is = "fresh", .age = 0, .next = 40, .every = 300 },
		{ .list = "b", .is = "new", .age = -1, .every = 300 },
		{ .list = "c", .is = "failing", .age = 4000, .late = 301, .every = 300, .failures = 2, .result = "no" },
		{ .list = "d", .is = "old", .age = 3999, .late = 300, .every = 300, .max_age = 60, .good = NOW - 3999 },
		{ .list = "e",
		  .is = "shadow",
		  .age = 3999,
		  .late = 900,
		  .every = 300,
		  .max_age = 60,
		  .good = NOW - 3999 },
		{ .list = "f",
		  .is = "dropped",
		  .age = 3999,
		  .late = 900,
		  .every = 300,
		  .max_age = 60,
		  .good = NOW - 3999 },
	};

	memcpy(w.fresh, all, sizeof(all));
	for (w.fresh_n = 1; w.fresh_n <= COUNT(all); w.fresh_n++)
		types("status");
	w.fresh_n--;
	types("status --json");
	w.service = true;
	types("status");
	w.fresh[0].is = "old";
	types("status");
	w.fresh[1].is = "old";
	looks();
	w.fresh[0] = all[1];
	w.fresh_n = 1;
	types("status");
}

static void others(void)
{
	w.fleet = (struct fleet_view){ .joined = true,
				       .is = { .url = "rediss://r", .name = "edge-7", .n = 5 },
				       .waiting = 3,
				       .seen = { .since = NOW - 31, .n = 4, .why = "no route" } };
	types("status");
	w.fleet.runs = true;
	types("status");
	w.fleet.known = true;
	looks();
	w.fleet.seen.since++;
	types("status");
	w.fleet.seen.up = true;
	looks();
	snprintf(w.fleet.seen.unsaid, sizeof(w.fleet.seen.unsaid), "no memory");
	types("status");
	w.fleet = (struct fleet_view){ 0 };
	puts("-- lines that fail");
	w.lines =
		(struct lines_down){ .text = { "line 3, 'follow bans', fails", "fleet, 'fleet run', fails" }, .n = 2 };
	types("status");
	w.service = true;
	w.needs = (struct lines_down){ .text = { "what this machine needs is dropped: 192.0.2.1" }, .n = 1 };
	w.listen = (struct lines_down){ .text = { "127.0.0.1:9617: cannot listen" }, .n = 1 };
	w.untold = (struct lines_down){ .text = { "inotify: Too many open files" }, .n = 1 };
	w.hook = (struct lines_down){ .text = { "the hook is behind" }, .n = 1 };
	looks();
	w.service = false;
	w.lines.n = w.needs.n = w.listen.n = w.untold.n = w.hook.n = 0;
	puts("-- something that could not be kept");
	w.unshown = true;
	looks();
	w.unshown = false;
	puts("-- an agent");
	w.agent = (struct agent_seen){ .followed = true };
	looks();
	w.agent = (struct agent_seen){ .followed = true, .since = NOW - 1, .url = "http://a", .why = "refused" };
	looks();
	puts("-- what was refused");
	w.agent.since = 0;
	w.event = "";
	types("status");
	w.event = "{\"time\": \"then\"}";
	types("status");
	w.event = "{\"time\": \"2026-01-01T00:00:00Z and more of this\", \"message\": \"load: \xe2\x80\xae no\"}";
	looks();
}

static void the_detector(void)
{
	w.detects = true;
	types("status");
	w.detects = false;
	w.detector.in_force = true;
	types("status");
	w.detects = true;
	looks();
	w.detector = (struct detector_sums){ .in_force = true,
					     .room = 1024,
					     .tracked = 3,
					     .above = 2,
					     .banned = 5,
					     .busiest = "45.0.0.1",
					     .over = 99,
					     .packets = { 1, 2, 3, 40, 500, 6000 } };
	looks();
	w.on[0].match = MATCH_DESTINATION;
	looks();
	w.detector.banned = w.detector.above = 0;
	w.detector.packets[DETECTED_BANNED] = w.detector.packets[DETECTED_UNTRACKED] = 0;
	looks();
	puts("-- it cannot be read");
	fails_at = 17;
	types("status");
	fails_as = -EPERM;
	types("status");
	fails_at = 0;
	w.live.err = -EIO;
	types("status");
	w.live.err = -EPERM;
	types("status");
}

static void rates(void)
{
	w.service = true;
	looks();
	for (fails_at = 17; fails_at <= 18; fails_at++)
		looks();
	fails_at = 6;
	types("status");
	fails_at = 0;
	w.idle = true;
	looks();
	w.no_rates = true;
	looks();
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "sound or not", soundness },
		{ "the kernel", kernel },
		{ "interfaces", interfaces },
		{ "unfiltered", unfiltered_ones },
		{ "ports", ports },
		{ "the state", the_state },
		{ "lists", lists },
		{ "feeds", feeds },
		{ "others", others },
		{ "the detector", the_detector },
		{ "rates", rates },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
