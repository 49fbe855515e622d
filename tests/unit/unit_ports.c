// SPDX-License-Identifier: GPL-2.0-only
/*
 * attach --ports: which ports get an entry and which lose theirs, what is asked of the kernel in which order, and what
 * becomes of it where a call fails; over a state in a directory of the test's own, word for word. And what is kept
 * under other names of interfaces, which comes under their own.
 */
#include "own_state.h"
#include "no_disk.h"

#include <stdlib.h>
#include <string.h>

#include "base/errand.h"
#include "base/label.h"
#include "base/other_name.h"
#include "base/ports.h"
#include "bpf/abi.h"
#include "change/attachments.h"
#include "change/change.h"
#include "kernel/attach.h"
#include "shown.h"
#include "state/events.h"

static const struct shown known[] = {
#include "unit_ports.txt"
};

static struct shows shows = { .file = "tests/unit/unit_ports.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define MOST 8

static struct change its;
static struct port_of kernel_has[MOST];
static size_t kernel_n;
static struct attachment filtered[MOST];
static size_t filtered_n;
static int calls, fails_at, fails_with;
static bool quiet;	    /* what is prepared is not said */
static bool stuck;	    /* nothing can be detached */
static const char *no_more; /* no interface has this name */

/* The call of that number fails. */
__attribute__((format(printf, 1, 2))) static int call(const char *fmt, ...)
{
	bool fails = !quiet && ++calls == fails_at;
	va_list args;

	if (quiet)
		return 0;
	printf("  ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	puts(fails ? ": fails" : "");
	return fails ? because(fails_with, "a call failed") : 0;
}

__attribute__((format(printf, 1, 2))) static void given_warn(const char *fmt, ...)
{
	va_list args;

	printf("  ! ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

static int given_look(struct port_of **ports, size_t *n)
{
	int err = call("which ports are there?");

	*n = err ? 0 : kernel_n;
	*ports = err ? NULL : calloc(MOST, sizeof(**ports));
	if (*ports)
		memcpy(*ports, kernel_has, sizeof(kernel_has));
	return err;
}

static int given_list(const struct context *context, struct attachment **list, size_t *n)
{
	int err = call("all that are filtered");

	if (context != &own_context)
		abort();
	*n = err ? 0 : filtered_n;
	*list = err ? NULL : calloc(MOST, sizeof(**list));
	if (*list)
		memcpy(*list, filtered, sizeof(filtered));
	return err;
}

static int given_at(const struct context *context, const struct attachment *at)
{
	if (context != &own_context)
		abort();
	return call("off %s, which was %s, match %u", at->name, at->as, at->match)
		       ?: stuck ? because(-EBUSY, "it is stuck")
				: 0;
}

/* As the kernel's: what is pinned under that name makes room. */
static int given_rename(const struct context *context, const struct attachment *at)
{
	int err = call("%s, which was %s%s, is pinned under its name", at->name, at->as,
		       at->set_aside ? " and is set aside" : "");

	if (context != &own_context)
		abort();
	for (size_t i = 0; i < filtered_n && !err; i++) {
		struct attachment *is = &filtered[i];

		if (MATCH_LEAVES(is->match) != MATCH_LEAVES(at->match))
			continue;
		if (!strcmp(is->name, at->name)) {
			memcpy(is->as, at->name, sizeof(is->as));
			is->set_aside = 0;
		} else if (!strcmp(is->as, at->name)) {
			is->set_aside = (unsigned int)i + 1;
		}
	}
	return err;
}

static int given_one(const struct context *context, struct attachment *at)
{
	if (context != &own_context)
		abort();
	return call("onto %s: %s%s, match %u", at->name, attach_mode_names[at->mode], at->shared ? " shared" : "",
		    at->match);
}

static void given_said(const struct attachment *at)
{
	printf("  said of %s\n", at->name);
}

static int given_apply(struct state *state, struct live *live, struct guard *guard)
{
	if (state != its.state || live != &its.live)
		abort();
	return call("into force%s%s%s", guard->afresh ? ", afresh" : "", guard->everything ? ", everything" : "",
		    guard->spare ? ", spare" : "");
}

static void given_free(struct guard *guard)
{
	(void)guard;
	call("the guard goes");
}

static unsigned int given_number(const char *name)
{
	return !no_more || strcmp(name, no_more) != 0;
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *context, struct event what,
							      const char *fmt, ...)
{
	va_list args;

	if (context != &own_context)
		abort();
	printf("  event %d of generation %llu: ", what.kind, (unsigned long long)what.generation);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

#define warn	   given_warn
#define ports_look given_look
#include "state/ports.c"

static int given_state_again(struct state *state)
{
	return call("begins again") ?: state_again(state);
}

static int given_commit(struct state *state)
{
	return call("is committed") ?: state_commit(state);
}

static int given_put(struct state *state, const struct interface_info *entry)
{
	return call("%s has an entry", entry->name) ?: state_interface_put(state, entry);
}

static int given_drop(struct state *state, const char *label)
{
	return call("%s has no entry any more", label) ?: state_interface_drop(state, label);
}

static int given_port_put(struct state *state, const struct port_row *row)
{
	return call("%s is a port of %s", row->name, row->of) ?: state_port_put(state, row);
}

static int given_forget(struct state *state, const char *name, bool leaves)
{
	return call("%s is no port%s", name, leaves ? " of what leaves" : "") ?: state_port_forget(state, name, leaves);
}

#define if_nametoindex	     given_number
#define event(...)	     given_event(__VA_ARGS__)
#define attach_list	     given_list
#define detach_at	     given_at
#define attach_one	     given_one
#define attachment_warn	     given_said
#define attach_rename	     given_rename
#define apply_if_needed	     given_apply
#define guard_free	     given_free
#define state_again	     given_state_again
#define state_commit	     given_commit
#define state_interface_put  given_put
#define state_interface_drop given_drop
#define state_port_put	     given_port_put
#define state_port_forget    given_forget
#include "change/ports.c"

/* "alt1" is eth1's, too, as is "far1"; and "alt" is nobody's. */
static bool given_other(const char *name, char own[IF_NAMESIZE])
{
	if ((strncmp(name, "alt", 3) != 0 && strncmp(name, "far", 3) != 0) || !name[3])
		return false;
	snprintf(own, IF_NAMESIZE, "eth%s", name + 3);
	return true;
}

static bool given_may(const char *name)
{
	return strcmp(name, "eth9") != 0;
}

#define ports_may     given_may
#define is_other_name given_other
#define has	      has_own
#define settle	      settle_own
#define is_port	      is_kept_port
#include "change/own_names.c"
#undef is_port
#undef has
#undef settle
#undef state_again
#undef state_commit
#undef state_interface_put
#undef state_interface_drop

/* --- the state --- */

static struct interface_info rule(const char *name, const char *mode, bool shared, unsigned int match)
{
	struct interface_info is = { .shared = shared, .match = match };

	snprintf(is.name, sizeof(is.name), "%s", name);
	snprintf(is.mode, sizeof(is.mode), "%s", mode);
	return is;
}

static void follow(const char *name, const char *mode, bool shared, unsigned int match)
{
	struct interface_info is = rule(name, mode, shared, match);

	if (state_ports_put(its.state, &is))
		abort();
}

static void entry(const char *name, unsigned int match)
{
	struct interface_info is = rule(name, "native", false, match);

	if (state_interface_put(its.state, &is))
		abort();
}

/* The kernel has them, from the first on: "eth1 br0". */
static void has(const char *name, const char *of)
{
	if (!name) {
		kernel_n = 0;
		return;
	}
	memset(&kernel_has[kernel_n], 0, sizeof(kernel_has[0]));
	snprintf(kernel_has[kernel_n].name, IF_NAMESIZE, "%s", name);
	snprintf(kernel_has[kernel_n++].of, IF_NAMESIZE, "%s", of);
}

static void show(void)
{
	struct interface_info *rules = NULL, *entries = NULL;
	struct port_row *rows = NULL;
	size_t n = 0, entries_n = 0, rows_n = 0;

	if (state_ports(its.state, &rules, &n) || state_interfaces(its.state, &entries, &entries_n) ||
	    state_port_rows(its.state, &rows, &rows_n))
		abort();
	for (size_t i = 0; i < n; i++)
		printf("  = ports of %s: %s%s, match %u\n", rules[i].name, rules[i].mode,
		       rules[i].shared ? " shared" : "", rules[i].match);
	for (size_t i = 0; i < entries_n; i++)
		printf("  = %s: %s%s, match %u\n", entries[i].name, entries[i].mode, entries[i].shared ? " shared" : "",
		       entries[i].match);
	for (size_t i = 0; i < rows_n; i++)
		printf("  = %s of %s%s\n", rows[i].name, rows[i].of, rows[i].leaves ? ", by what leaves" : "");
	free(rules);
	free(entries);
	free(rows);
}

static void begin(void)
{
	if (its.state)
		state_close(its.state);
	its = (struct change){ .context = &own_context };
	empty_directory();
	its.state = opened(true);
	if (!its.state)
		abort();
	kernel_n = filtered_n = 0;
	memset(filtered, 0, sizeof(filtered));
	errand = (struct errand){ 0 };
	calls = fails_at = 0;
	fails_with = -EIO;
	stuck = false;
	no_more = NULL;
}

static void commit(void)
{
	if (state_commit(its.state) || state_again(its.state))
		abort();
	calls = 0;
}

static int settle(const char *what)
{
	int err;

	puts(what);
	err = ports_settle(&its);
	printf("  %s%s\n", err ? reason(err) : "done", its.ports_came ? ", ports have come" : "");
	show();
	return err;
}

/* By the command that found them. */
static void all_attached(void)
{
	its.ports_came = false;
	if (state_setting(its.state, SETTING_PORTS_CAME, 0) && state_set(its.state, SETTING_PORTS_CAME, 0))
		abort();
	commit();
}

static void attach(const char *what)
{
	puts(what);
	its.ports_came = true;
	ports_attach(&its);
	if (its.ports_came)
		puts("  ports have come");
	if (state_again(its.state))
		abort();
}

/* --- what happens --- */

static void bridge(void)
{
	follow("br0", "skb", true, MATCH_DESTINATION);
	has("eth1", "br0");
	has("eth2", "br0");
	has("eth3", "br9");
	commit();
}

/* What was there before is not given back. */
static void compare_nothing(void)
{
	struct ports_kept kept = { 0 };
	struct port_of *ports = kernel_has;
	struct ports_due *due = (void *)kernel_has;
	size_t n = 1;
	int err = ports_compare(&kept, &ports, &due, &n);

	CHECK(!err && !ports && !due && !n, "%d: something is due", err);
}

static void come_and_go(void)
{
	compare_nothing();
	settle("nothing is followed");
	bridge();
	settle("two are there");
	all_attached();
	settle("nothing is new");
	attach("they are attached");
	has(NULL, NULL);
	has("eth2", "br0");
	filtered[0] = (struct attachment){ .name = "eth1", .as = "eth1", .match = 0 };
	filtered[1] = (struct attachment){ .name = "new", .as = "eth1", .moved = true, .match = 1 };
	filtered[2] = (struct attachment){ .name = "new", .as = "eth1", .moved = true, .match = MATCH_LEAVING(0) };
	filtered[3] = (struct attachment){ .name = "eth1", .as = "old", .moved = true };
	filtered[4] = (struct attachment){ .name = "another", .as = "eth1", .moved = true };
	filtered_n = 5;
	settle("one has gone");
	settle("and does not come back");
	has(NULL, NULL);
	settle("all have gone");
}

/* A command that was killed has put their entries, and nothing else. The next one attaches them, unless it is
 * elsewhere. */
static void cut_short(void)
{
	bridge();
	commit();
	settle("two are there");
	its.ports_came = false;
	settle("the command was killed");
	its.ports_came = false;
	errand.here = true;
	settle("another's command is done here");
	errand.here = false;
	fails_at = calls + 3;
	attach("not by this one, either");
	fails_at = 0;
	settle("nor has it told the others");
	attach("they are attached");
	settle("nothing is new");
}

/* A bridge with another name by now, or none. */
static void bridge_goes(void)
{
	quiet = true;
	bridge();
	follow("br0", "tc", false, MATCH_LEAVING(0));
	follow("br9", "skb", true, MATCH_DESTINATION);
	has("eth4", "br0");
	has("eth5", "br0");
	commit();
	its.live.g.number = 12;
	settle("they have come");
	if (state_interface_drop(its.state, "eth2"))
		abort();
	commit();
	quiet = false;
	no_more = "br0";
	has(NULL, NULL);
	has("eth1", "new");
	has("eth4", "br9");
	settle("br0 is called new, the second was detached, and the fourth is a port of br9");
	settle("nothing is new");
}

/* More than there is room for in what is said of them. */
static void many_are_lost(void)
{
	quiet = true;
	follow("br0", "skb", true, MATCH_DESTINATION);
	for (int i = 0; i < 70; i++) {
		struct port_row row = { .of = "br0" };

		snprintf(row.name, sizeof(row.name), "interface000%02d", i);
		entry(row.name, MATCH_DESTINATION);
		if (state_port_put(its.state, &row))
			abort();
	}
	commit();
	no_more = "br0";
	if (ports_settle(&its))
		abort();
	quiet = false;
	show();
}

static void they_were_detached(void)
{
	quiet = true;
	bridge();
	settle("they have come");
	if (state_interface_drop(its.state, "eth1") || state_interface_drop(its.state, "eth2"))
		abort();
	commit();
	quiet = false;
	no_more = "br0";
	has(NULL, NULL);
	settle("the bridge goes, and all of its ports were detached");
}

/* A row of a rule that is not there. */
static void without_rule(void)
{
	bridge();
	if (state_port_put(its.state, &(struct port_row){ .name = "eth7", .of = "br9" }) ||
	    state_port_put(its.state, &(struct port_row){ .name = "eth6", .of = "br0", .leaves = true }))
		abort();
	entry("eth7", 0);
	commit();
	settle("two are there, and nobody follows br9, nor what leaves");
}

static void ports_go_too(void)
{
	quiet = true;
	bridge();
	settle("they have come");
	quiet = false;
	no_more = "eth1";
	has(NULL, NULL);
	settle("a port goes, and its bridge stays");
	no_more = "br0";
	settle("nothing is new");
}

/* From one bridge to another: what is filtered as that one wants it stays so. */
static void move_on(void)
{
	static const struct {
		const char *what, *mode;
		bool shared;
		unsigned int match;
	} to[] = { { "the same", "skb", true, MATCH_DESTINATION },
		   { "another mode", "native", true, MATCH_DESTINATION },
		   { "not shared", "skb", false, MATCH_DESTINATION },
		   { "another match", "skb", true, MATCH_SOURCE },
		   { "what leaves", "tc", false, MATCH_LEAVING(MATCH_DESTINATION) } };

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		begin();
		quiet = true;
		bridge();
		follow("br1", to[i].mode, to[i].shared, to[i].match);
		commit();
		settle("they have come");
		all_attached();
		if (state_interface_drop(its.state, "eth2"))
			abort();
		commit();
		quiet = false;
		has(NULL, NULL);
		has("eth1", "br1");
		has("eth2", "br1");
		has("eth3", "br1");
		settle(to[i].what);
		all_attached();
		settle("and again");
	}
	has(NULL, NULL);
	has("eth1", "br9");
	settle("nobody's any more");
}

static void on_trial(const char *bridge)
{
	struct pending pending = { .kind = PENDING_INTERFACE, .deadline = 4000000000, .due = 7 };

	label_of_ports(pending.name, bridge, 0);
	if (state_pending_add(its.state, &pending))
		abort();
}

static void decide(const char *bridge, bool kept)
{
	char label[LABEL_MAX];

	label_of_ports(label, bridge, 0);
	if (state_pending_forget(its.state, PENDING_INTERFACE, label) ||
	    (!kept && state_ports_drop(its.state, bridge, false)))
		abort();
	commit();
}

/* To one whose rule waits for confirmation: nothing changes until that is decided. */
static void move_to_waiting(void)
{
	static const struct {
		const char *what, *mode;
		bool kept;
	} to[] = { { "the same, which is confirmed", "skb", true },
		   { "the same, which goes back", "skb", false },
		   { "another mode, which is confirmed", "native", true },
		   { "another mode, which goes back", "native", false } };

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		begin();
		quiet = true;
		bridge();
		follow("br1", to[i].mode, true, MATCH_DESTINATION);
		follow("br2", "skb", true, MATCH_DESTINATION);
		on_trial("br1");
		commit();
		settle("they have come");
		all_attached();
		quiet = false;
		has(NULL, NULL);
		has("eth1", "br1");
		has("eth2", "br2");
		has("eth3", "br1");
		settle(to[i].what);
		decide("br1", to[i].kept);
		settle("decided");
	}
	begin();
	quiet = true;
	bridge();
	follow("br1", "skb", true, MATCH_DESTINATION);
	on_trial("br1");
	commit();
	settle("they have come");
	all_attached();
	quiet = false;
	has(NULL, NULL);
	has("eth1", "br1");
	no_more = "br0";
	settle("with its bridge gone one waits, and one is lost");
}

/* One that was removed and made again under its name: nothing of what is kept has changed. */
static void made_again(void)
{
	static const struct {
		const char *what;
		struct attachment is[2];
	} each[] = { { "both are filtered", { { .name = "eth1", .as = "eth1" }, { .name = "eth2", .as = "eth2" } } },
		     { "by what was filtered under another name",
		       { { .name = "eth1", .as = "old" }, { .name = "eth2", .as = "eth1", .match = MATCH_BOTH } } },
		     { "the first is another one",
		       { { .name = "eth1", .as = "eth1", .gone = true }, { .name = "eth2", .as = "eth2" } } },
		     { "and was tried in vain", { { .name = "eth2", .as = "eth2" } } },
		     { "that one's is elsewhere", { { .name = "eth1", .as = "eth1", .moved = true } } },
		     { "or has another name", { { .name = "new", .as = "eth1" } } },
		     { "which is known", { { .name = "new", .as = "eth1", .set_aside = 5 } } },
		     { "its pin by tc was left",
		       { { .name = "eth1", .as = "eth1", .gone = true },
			 { .name = "eth1", .as = "eth1", .match = MATCH_COMING(0) } } },
		     { "of what leaves alone",
		       { { .name = "eth1", .as = "eth1", .gone = true, .match = MATCH_LEAVING(0) } } } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begin();
		quiet = true;
		bridge();
		settle("they have come");
		all_attached();
		quiet = false;
		memcpy(filtered, each[i].is, sizeof(each[i].is));
		filtered_n = each[i].is[1].name[0] ? 2 : 1;
		settle(each[i].what);
	}
	puts("-- the first is another one, and");
	memcpy(filtered, each[2].is, sizeof(each[2].is));
	filtered_n = 2;
	no_more = "eth1";
	settle("is not there");
	no_more = NULL;
	errand.here = true;
	settle("another's command is done here");
	errand.here = false;
	fails_at = calls + 2;
	settle("that cannot be told");
	fails_at = 0;
	/* All else is as it is to be: what was eth1 has left, and is known by that name. */
	filtered[2] = (struct attachment){ .name = "new", .as = "eth1", .set_aside = 5 };
	filtered_n = 3;
	filtered[0].gone = false;
	settle("and what was the first is no port");
	stuck = true;
	settle("nor can be detached");
	stuck = false;
	fails_at = calls + 3;
	settle("whether it is one cannot be told");
	fails_at = 0;
	has("new", "br1");
	follow("br1", "skb", true, MATCH_DESTINATION);
	on_trial("br1");
	settle("it is one of what waits");
	decide("br1", false);
	filtered_n = 2;
	filtered[0].gone = true;
	kernel_n--;
	if (state_interface_drop(its.state, "eth1"))
		abort();
	settle("it was detached");
	follow("br1", "skb", true, MATCH_DESTINATION);
	entry("eth1", MATCH_DESTINATION);
	quiet = true;
	has("eth4", "br0");
	settle("another comes");
	all_attached();
	has(NULL, NULL);
	has("eth1", "br0");
	has("eth2", "br0");
	has("eth4", "br1");
	quiet = false;
	settle("another moves on");
}

/* Tried twice, and by the next command again. */
static void cannot_go(void)
{
	quiet = true;
	bridge();
	settle("they have come");
	quiet = false;
	kernel_n = 1;
	filtered[0] = (struct attachment){ .name = "eth2", .as = "eth2" };
	filtered_n = 1;
	stuck = true;
	settle("it cannot go");
	settle("nor later");
	stuck = false;
	settle("and then it goes");
}

static void rule_is_detached(const char *label)
{
	struct ports_kept kept = { 0 };
	int err;

	printf("%s are detached\n", label);
	if (state_port_rows_bound(its.state, &kept.rows, &kept.rows_n) ||
	    state_interfaces(its.state, &kept.interfaces, &kept.interfaces_n))
		abort();
	err = ports_detach(&own_context, label, &kept);
	printf("  %s\n", err ? reason(err) : "done");
	ports_kept_free(&kept);
}

static void who_comes(void)
{
	struct interface_info *come;
	size_t n;
	int err = ports_come(its.state, &come, &n);

	printf("  %s\n", err ? reason(err) : "these come:");
	for (size_t i = 0; i < n; i++)
		printf("  %s %s, match %u\n", come[i].name, come[i].mode, come[i].match);
	free(come);
}

/* While nothing could be written two were attached, one of which has gone since, and one is no port any more. */
static void without_a_word(void)
{
	bridge();
	follow("br9", "native", false, MATCH_SOURCE);
	entry("eth3", MATCH_SOURCE);
	commit();
	who_comes();
	fails_at = calls + 1;
	who_comes();
	filtered[0] = (struct attachment){ .name = "eth1", .as = "eth1" };
	filtered[1] = (struct attachment){ .name = "gone", .as = "gone", .gone = true };
	filtered[2] = (struct attachment){ .name = "was", .as = "was" };
	filtered[3] = (struct attachment){ .name = "eth3", .as = "eth3", .gone = true };
	filtered[4] = (struct attachment){ .name = "eth2", .as = "eth2", .match = MATCH_LEAVING(0) };
	filtered_n = 5;
	rule_is_detached("ports of br0");
	rule_is_detached("ports of br9");
	fails_at = calls + 2;
	rule_is_detached("ports of br0");
	settle("there is room");
	all_attached();
	settle("what has gone is no more");
}

/* "new" was the port eth1, and what is called eth1 now is filtered for itself, as "own". */
static void swapped(void)
{
	quiet = true;
	bridge();
	follow("br1", "native", false, MATCH_SOURCE);
	on_trial("br1");
	entry("own", MATCH_SOURCE);
	settle("they have come");
	all_attached();
	quiet = false;
	has(NULL, NULL);
	has("eth2", "br0");
	filtered[0] = (struct attachment){ .name = "new", .as = "eth1" };
	filtered[1] = (struct attachment){ .name = "eth1", .as = "own" };
	filtered[2] = (struct attachment){ .name = "eth2", .as = "eth2" };
	filtered_n = 3;
}

static void renamed(void)
{
	swapped();
	rule_is_detached("ports of br0");
	rule_is_detached("ports of br0 egress");
	has("new", "br0");
	settle("it is a port under its new name");
	rule_is_detached("ports of br0");
	begin();
	swapped();
	settle("it is none any more");
	begin();
	swapped();
	has("new", "br1");
	settle("it is one of what waits");
	decide("br1", false);
	has(NULL, NULL);
	has("eth2", "br0");
	settle("which goes back");
	begin();
	swapped();
	entry("new", MATCH_SOURCE);
	rule_is_detached("ports of br0");
	settle("it is filtered for itself");
	begin();
	swapped();
	filtered[1].set_aside = 5;
	settle("what was filtered for itself is another one now");
	begin();
	swapped();
	fails_at = 7;
	settle("whether it is one cannot be told");
	rule_is_detached("ports of br0");
}

static void renames(size_t i, const char *name)
{
	snprintf(filtered[i].name, IF_NAMESIZE, "%s", name);
}

/* Once it is known by its new name it gets another one. */
static void renamed_again(void)
{
	for (int i = 0; i < 2; i++) {
		begin();
		swapped();
		quiet = true;
		has("new", "br0");
		settle("it is a port under its new name");
		quiet = false;
		renames(0, "newer");
		has(NULL, NULL);
		has("eth2", "br0");
		if (!i)
			rule_is_detached("ports of br0");
		else
			settle("it is none under the third");
	}
	begin();
	swapped();
	has("new", "br0");
	fails_at = 8;
	settle("it cannot be pinned under its new name at once");
}

/* Two ports of two bridges that want the same of them have each other's names; and what has gone has none. */
static void names_change_places(void)
{
	quiet = true;
	follow("br0", "skb", false, MATCH_SOURCE);
	follow("br1", "skb", false, MATCH_SOURCE);
	has("eth1", "br0");
	has("eth2", "br1");
	settle("they have come");
	all_attached();
	quiet = false;
	has(NULL, NULL);
	has("eth2", "br0");
	has("eth1", "br1");
	filtered[0] = (struct attachment){ .name = "eth1", .as = "eth2" };
	filtered[1] = (struct attachment){ .name = "eth1", .as = "eth1", .set_aside = 5, .gone = true };
	filtered[2] = (struct attachment){ .name = "eth2", .as = "eth1" };
	filtered_n = 3;
	settle("they have each other's names");
	filtered_n = 0;
	filtered[filtered_n++] = (struct attachment){ .name = "eth1", .as = "eth1" };
	filtered[filtered_n++] = (struct attachment){ .name = "eth2", .as = "eth2" };
	rule_is_detached("ports of br1");
}

/* eth1, eth4 by what leaves, and eth5 wait for themselves; the rule that eth5 is of waits, too. */
static void some_wait(void)
{
	struct pending pending = { .kind = PENDING_INTERFACE, .deadline = 4000000000, .due = 7 };
	static const char *const each[] = { "eth1", "eth4 egress", "eth5", "ports of br1" };

	quiet = true;
	bridge();
	follow("br0", "tc", false, MATCH_LEAVING(MATCH_DESTINATION));
	has("eth4", "br0");
	follow("br1", "native", false, MATCH_SOURCE);
	has("eth5", "br1");
	settle("they have come");
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		snprintf(pending.name, sizeof(pending.name), "%s", each[i]);
		if (state_pending_add(its.state, &pending))
			abort();
	}
	commit();
	quiet = false;
	all_attached();
}

/* One that is attached for itself stays what it is until that is confirmed, and is no port then. */
static void for_itself(void)
{
	some_wait();
	has(NULL, NULL);
	has("eth2", "br0");
	no_more = "br0";
	settle("all but one leave, three wait for themselves, and one by its rule");
	if (state_pending_confirm(its.state))
		abort();
	commit();
	settle("which is confirmed");
}

/* And where its rule is detached: it stays on trial, and is nothing when that goes back. */
static void without_its_rule(void)
{
	static const char *const each[] = { "ports of br0", "ports of br0 egress", "ports of br1" };
	struct pending *pending = NULL;
	size_t n = 0;

	some_wait();
	for (size_t i = 0; i < 4; i++) {
		snprintf(filtered[i].name, IF_NAMESIZE, "eth%zu", i < 2 ? i + 1 : i + 2);
		memcpy(filtered[i].as, filtered[i].name, IF_NAMESIZE);
		filtered[i].match = i == 2 ? MATCH_LEAVING(MATCH_DESTINATION) : 0;
	}
	filtered_n = 4;
	for (size_t i = 0; i < 3; i++) {
		rule_is_detached(each[i]);
		if (state_interface_drop(its.state, each[i]))
			abort();
		show();
	}
	if (state_pending(its.state, &pending, &n))
		abort();
	for (size_t i = 0; i < n; i++) {
		printf("%s goes back\n", pending[i].name);
		if (state_pending_undo(its.state, &pending[i]))
			abort();
	}
	free(pending);
	show();
}

static void directions(void)
{
	follow("br0", "tc", false, MATCH_LEAVING(MATCH_BOTH));
	follow("br0", "native", false, MATCH_SOURCE);
	follow("br1", "tc", false, MATCH_COMING(MATCH_SOURCE));
	has("eth1", "br0");
	has("eth2", "br1");
	commit();
	settle("a port of both directions");
	attach("they are attached");
	has(NULL, NULL);
	has("eth1", "br1");
	has("eth2", "br1");
	filtered[0] = (struct attachment){ .name = "new", .as = "eth1", .moved = true, .match = MATCH_LEAVING(2) };
	filtered[1] = (struct attachment){ .name = "new", .as = "eth1", .moved = true };
	filtered_n = 2;
	settle("it is a port of another now");
	puts("nobody follows the second");
	printf("  %d\n", state_ports_drop(its.state, "br1", false));
	printf("  %s\n", reason(state_ports_drop(its.state, "br1", true)));
	show();
}

static void of_their_own(void)
{
	struct pending pending = {
		.kind = PENDING_INTERFACE, .name = "ports of br1", .deadline = 4000000000, .due = 7
	};

	follow("br0", "native", false, 0);
	follow("br1", "native", false, 0);
	if (state_pending_add(its.state, &pending))
		abort();
	entry("eth1", 0);
	entry("eth2", MATCH_LEAVING(0));
	has("eth1", "br0");
	has("eth2", "br0");
	has("eth3", "br0");
	has("eth4", "br1");
	commit();
	settle("one is filtered for itself, and those of another wait for confirmation");
	if (state_interface_drop(its.state, "eth3"))
		abort();
	commit();
	settle("one is detached");
	attach("they are attached");
	has(NULL, NULL);
	settle("all go");
	errand.here = true;
	has("eth2", "br0");
	settle("one comes, while another's command is done here");
	printf("  declined: %d, %s\n", errand.declined, errand.why);
}

/* Each call fails, one after the other. */
static void each_fails(void (*prepares)(void), void (*goes)(void))
{
	for (int at = 1;; at++) {
		begin();
		quiet = true;
		prepares();
		quiet = false;
		calls = 0;
		fails_at = at;
		goes();
		if (calls < at)
			break;
	}
}

static void they_come(void)
{
	settle("come");
}

static void two_of_which_one_goes(void)
{
	bridge();
	if (ports_settle(&its))
		abort();
	kernel_n = 1;
	has("eth4", "br0");
	filtered[0] = (struct attachment){ .name = "new", .as = "eth2", .moved = true };
	filtered_n = 1;
	all_attached();
}

static void settle_anew(const char *what)
{
	settle(what);
	/* The next command finds what that has left. */
	if (state_again(its.state))
		abort();
	fails_at = 0;
	show();
}

static void one_goes_and_one_comes(void)
{
	settle_anew("one goes, and one comes");
}

static void both_go(void)
{
	settle_anew("both go with their bridge");
}

static void whose_bridge_goes(void)
{
	bridge();
	if (ports_settle(&its))
		abort();
	no_more = "br0";
	kernel_n = 0;
}

static void attached(void)
{
	bridge();
	entry("eth9", 0);
	if (ports_settle(&its))
		abort();
	/* It may have failed. */
	its.guard.everything = its.guard.all_lasts = true;
}

static void they_are_attached(void)
{
	attach("attached");
}

static void come_fails(void)
{
	each_fails(bridge, they_come);
}

static void goes_fails(void)
{
	each_fails(two_of_which_one_goes, one_goes_and_one_comes);
}

static void bridge_goes_fails(void)
{
	each_fails(whose_bridge_goes, both_go);
}

static void attach_fails(void)
{
	each_fails(attached, they_are_attached);
}

static void attach_fails_otherwise(void)
{
	static const int with[] = { -EEXIST, -ENODEV, -ENOMEM, -EBUSY };

	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		struct pending pending = {
			.kind = PENDING_INTERFACE, .name = "eth2", .deadline = 4000000000, .due = 7
		};

		begin();
		quiet = true;
		attached();
		quiet = false;
		if (i == 3 && state_pending_add(its.state, &pending))
			abort();
		commit();
		calls = 0;
		fails_at = 5;
		fails_with = with[i];
		attach("attached");
	}
}

static void asked(const char *what, char *const *names, int n, unsigned int match)
{
	struct port_of *ports = NULL;
	size_t ports_n = 9;
	int err;

	printf("%s\n", what);
	err = ports_of(&its, names, n, match, &ports, &ports_n);
	printf("  %s:", err ? reason(err) : "done");
	for (size_t i = 0; i < ports_n; i++)
		printf(" %s of %s", ports[i].name, ports[i].of);
	putchar('\n');
	free(ports);
}

static void ports_are_asked(void)
{
	char *const one[] = { "br0" }, *const two[] = { "br9", "br0" }, *const twice[] = { "br0", "br0" };

	bridge();
	asked("of one", one, 1, 0);
	asked("of two", two, 2, 0);
	asked("of one twice", twice, 2, 0);
	asked("of none", one, 0, 0);
	settle("they come");
	entry("eth3", 0);
	has("eth5", "br0");
	entry("eth5", MATCH_LEAVING(1));
	asked("one is filtered for itself", two, 2, 1);
	asked("by what leaves", two, 2, MATCH_LEAVING(0));
	fails_at = calls + 1;
	asked("and that fails", one, 1, 0);
}

static void said_of(const char *what)
{
	puts(what);
	ports_say_unfiltered(its.state, "br0");
	ports_say_unfiltered(its.state, "eth1");
	ports_say_unfiltered(its.state, "eth9");
}

/* Of words about br0, of its port, and of another. */
static void is_unfiltered(void)
{
	said_of("nothing is filtered");
	bridge();
	said_of("br0 has no port yet");
	settle("they come");
	said_of("its ports are filtered");
	kernel_has[0].hands_on = true;
	said_of("and hand on to it");
	kernel_has[0].hands_on = false;
	entry("br0", MATCH_LEAVING(0));
	said_of("and what leaves by it");
}

/* --- other names --- */

static void row(const char *name, const char *of, bool leaves)
{
	struct port_row is = { .leaves = leaves };

	snprintf(is.name, sizeof(is.name), "%s", name);
	snprintf(is.of, sizeof(is.of), "%s", of);
	if (state_port_put(its.state, &is))
		abort();
}

static void was_attached(const char *as, const char *name, bool gone)
{
	struct attachment *at = &filtered[filtered_n++];

	*at = (struct attachment){ .gone = gone };
	snprintf(at->as, sizeof(at->as), "%s", as);
	snprintf(at->name, sizeof(at->name), "%s", name);
}

static void own_names(const char *what)
{
	int err;

	puts(what);
	err = own_names_settle(&own_context, its.state);
	printf("  %s\n", err ? reason(err) : "done");
	state_close(its.state);
	its.state = opened(true);
	if (!its.state)
		abort();
	show();
}

/* Of rules, each with its ports; of what is filtered itself; and what a port is called is the kernel's own. */
static void under_other_names(void)
{
	quiet = true;
	follow("alt5", "skb", true, MATCH_DESTINATION);
	follow("alt5", "tc", false, MATCH_LEAVING(MATCH_SOURCE));
	follow("br0", "native", false, MATCH_SOURCE);
	row("p1", "alt5", false);
	row("p2", "alt5", false);
	row("p3", "alt5", true);
	row("p4", "br0", false);
	row("alt7", "br0", false);
	entry("alt7", MATCH_SOURCE);
	entry("alt1", MATCH_DESTINATION);
	entry("alt2", MATCH_LEAVING(MATCH_SOURCE));
	entry("alt", MATCH_SOURCE);
	quiet = false;
	commit();
}

static void other_names(void)
{
	struct pending pending = { .kind = PENDING_INTERFACE, .deadline = PENDING_IN_PROGRESS };

	under_other_names();
	own_names("all have other names");
	own_names("and have their own now");
	begin();
	under_other_names();
	quiet = true;
	entry("eth1", MATCH_SOURCE);
	entry("eth2", MATCH_SOURCE);
	follow("eth5", "native", false, MATCH_SOURCE);
	quiet = false;
	commit();
	own_names("some have an entry under their own");
	begin();
	quiet = true;
	entry("eth1", MATCH_SOURCE);
	entry("far1", MATCH_DESTINATION);
	quiet = false;
	commit();
	own_names("and one stands before the other");
	begin();
	quiet = true;
	entry("alt1", MATCH_SOURCE);
	entry("alt2", MATCH_SOURCE);
	entry("alt2", MATCH_LEAVING(MATCH_SOURCE));
	entry("alt3", MATCH_SOURCE);
	entry("alt4", MATCH_SOURCE);
	follow("alt9", "native", false, MATCH_SOURCE);
	quiet = false;
	commit();
	filtered_n = 0;
	was_attached("alt1", "eth1", false);
	was_attached("alt2", "alt2", true);
	was_attached("alt3", "eth8", false);
	own_names("one was renamed; one has gone, and one is another; what has no ports");
	filtered_n = 0;
	begin();
	under_other_names();
	label_of(pending.name, "alt1", MATCH_DESTINATION);
	if (state_pending_add(its.state, &pending))
		abort();
	commit();
	own_names("one waits for confirmation");
	for (int at = 1; at <= 13; at++) {
		begin();
		under_other_names();
		fails_at = at;
		printf("-- call %d fails\n", at);
		own_names("all have other names");
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "come and go", come_and_go },
					       { "cut short", cut_short },
					       { "a bridge goes", bridge_goes },
					       { "many are lost", many_are_lost },
					       { "they were detached", they_were_detached },
					       { "without a rule", without_rule },
					       { "ports go too", ports_go_too },
					       { "move on", move_on },
					       { "move to one that waits", move_to_waiting },
					       { "made again", made_again },
					       { "cannot go", cannot_go },
					       { "renamed", renamed },
					       { "renamed again", renamed_again },
					       { "names change places", names_change_places },
					       { "for itself", for_itself },
					       { "for itself, without its rule", without_its_rule },
					       { "without a word", without_a_word },
					       { "directions", directions },
					       { "of their own", of_their_own },
					       { "come fails", come_fails },
					       { "goes fails", goes_fails },
					       { "a bridge goes, and fails", bridge_goes_fails },
					       { "attach fails", attach_fails },
					       { "attach fails otherwise", attach_fails_otherwise },
					       { "ports are asked", ports_are_asked },
					       { "it is not filtered", is_unfiltered },
					       { "other names", other_names } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	state_close(its.state);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
