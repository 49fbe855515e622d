// SPDX-License-Identifier: GPL-2.0-only
/*
 * attach, detach, with --purge, too, and restore: what they ask of the kernel in which order, what the state has
 * afterwards, and what goes back where any of it fails; over a state in a directory of the test's own and a kernel that
 * is made up, word for word.
 */
#include "own_state.h"
#include "no_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/lock.h"
#include "base/ports.h"
#include "base/trusted_dir.h"
#include "change/agreement.h"
#include "change/attach.h"
#include "change/change.h"
#include "change/guard_needs.h"
#include "change/ports.h"
#include "change/revert_timer.h"
#include "kernel/device.h"
#include "kernel/generation.h"
#include "kernel/match.h"
#include "kernel/root.h"
#include "shown.h"

#define MOST 8
#define DUE  777 /* of what waits for confirmation */

/* The kernel's interfaces, and the filter on them. */
static const char *links[MOST];
static struct attachment filtered[MOST];
static size_t filtered_n;
static struct port_of ports_are[MOST];
static size_t ports_n;
static struct ports_due came[MOST];
static size_t came_n;
static enum agreement agrees;
static bool watched, matches,
	fails_on; /* the service runs; more than sources was asked about; what follows fails, too */
static int calls, fails_at, fails_with;

/* The call of that number fails. */
__attribute__((format(printf, 1, 2))) static int call(const char *fmt, ...)
{
	bool fails = ++calls == fails_at || (fails_on && fails_at && calls > fails_at);
	va_list args;

	printf("  ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	puts(fails ? ": fails" : "");
	return fails ? because(fails_with, "a call failed") : 0;
}

__attribute__((format(printf, 1, 2))) static void says(const char *fmt, ...)
{
	va_list args;

	printf("  ! ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

__attribute__((format(printf, 1, 2))) static int given_fail(const char *fmt, ...)
{
	va_list args;

	printf("  !! ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	return EXIT_ERROR;
}

static const char *how(const struct attachment *at)
{
	static char text[2][100];
	static int turn;

	turn = !turn;
	snprintf(text[turn], sizeof(text[turn]), "%s%s, match %u%s", attach_mode_names[at->mode],
		 at->shared ? " shared" : "", at->match,
		 at->until == DUE ? ", on trial"
		 : at->until	  ? ", until?"
				  : "");
	return text[turn];
}

static bool is_link(const char *name)
{
	bool is = false;

	for (size_t i = 0; i < MOST && links[i]; i++)
		is = is || !strcmp(links[i], name);
	return is;
}

static struct attachment *find(const char *label)
{
	for (size_t i = 0; i < filtered_n; i++)
		if (label_is(label, filtered[i].name, filtered[i].match))
			return &filtered[i];
	return NULL;
}

static int may(const struct attachment *at)
{
	char label[LABEL_MAX];

	if (!is_link(at->name))
		return because(-ENODEV, "%s: no such interface", at->name);
	if (find(label_of(label, at->name, at->match)))
		return because(-EEXIST, "%s: attached already", label);
	return 0;
}

static void take_off(struct attachment *is)
{
	memmove(is, is + 1, (char *)&filtered[filtered_n] - (char *)(is + 1));
	filtered_n--;
}

static int given_may(const struct context *context, const struct attachment *at)
{
	(void)context;
	return call("may it be on %s: %s", at->name, how(at)) ?: may(at);
}

static int given_one(const struct context *context, struct attachment *at)
{
	int err = call("onto %s: %s", at->name, how(at)) ?: may(at);

	(void)context;
	if (err)
		return err;
	if (at->mode == MODE_AUTO)
		at->mode = MODE_NATIVE;
	filtered[filtered_n++] = *at;
	return 0;
}

static bool given_round(const char *name, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	snprintf(text, DEVICE_TEXT_MAX, "%s is gone round", name);
	return mode == MODE_SKB;
}

static int given_is(const struct context *context, const char *label, struct attachment *at)
{
	struct attachment *is = find(label);

	(void)context;
	if (!is)
		return -ENOENT;
	*at = *is;
	return 0;
}

static int given_instead(const struct context *context, struct attachment *at, struct attachment *then)
{
	char label[LABEL_MAX];
	int err = call("%s, %s, becomes %s", at->name, how(at), how(then));

	(void)context;
	if (err)
		return err;
	if (then->mode == MODE_AUTO)
		then->mode = MODE_NATIVE;
	*find(label_of(label, at->name, at->match)) = *then;
	*at = *then;
	return 0;
}

static int given_rematch(const struct context *context, struct attachment *at, unsigned int match)
{
	char label[LABEL_MAX];
	int err = call("%s, %s, asks about %u", at->name, how(at), match);

	(void)context;
	if (!err)
		at->match = find(label_of(label, at->name, at->match))->match = match;
	return err;
}

static int given_settle(const struct context *context, const struct attachment *kept, bool instead)
{
	(void)context;
	return call("%s is settled: %s%s", kept->name, how(kept), instead ? ", or instead" : "");
}

static int given_turned(const struct context *context, const struct attachment *at)
{
	(void)context;
	return call("%s is turned: %s", at->name, how(at));
}

/* Of a name that the state has not, another has been attached under it, which the state may have. */
static const char *attached_as, *today;

static struct attachment *find_meant(const char *label, const struct attach_kept *kept)
{
	struct attachment *is = find(label) ?: attached_as && !strcmp(label, attached_as) ? find(today) : NULL;

	for (size_t i = 0; i < kept->n; i++)
		if (is && !label_is(label, is->name, is->match) && !strcmp(kept->list[i].name, is->name))
			is = NULL;
	return is;
}

static int given_find(const struct context *context, const char *label, const struct attach_kept *kept)
{
	(void)context;
	return find_meant(label, kept) ? 0 : because(-ENOENT, "%s is not filtered", label);
}

static bool given_goes_back(const struct context *context, const struct attachment *at, const char *label)
{
	(void)context;
	return label_is(label, at->as, at->match) && at->until;
}

static bool given_filtered(const struct context *context, const char *label)
{
	(void)context;
	return find(label);
}

static int off(struct attachment *is, const char *label)
{
	int err = is ? call("off %s", label) : because(-ENOENT, "%s is not filtered", label);

	if (!err)
		take_off(is);
	return err;
}

static int given_detach(const struct context *context, const char *label, const struct attach_kept *kept)
{
	(void)context;
	return off(find_meant(label, kept), label);
}

static int given_again(const struct context *context, const char *label)
{
	int err = call("off %s, if it is there%s", label, find(label) ? " again" : "");

	(void)context;
	if (!err && find(label))
		take_off(find(label));
	return err;
}

static int given_at(const struct context *context, const struct attachment *at)
{
	char label[LABEL_MAX];

	(void)context;
	label_of(label, at->name, at->match);
	return off(find(label), label);
}

static int given_list(const struct context *context, struct attachment **list, size_t *n)
{
	(void)context;
	*list = NULL;
	*n = 0;
	if (call("all that are filtered"))
		return because(fails_with, "a call failed");
	*n = filtered_n;
	*list = malloc(sizeof(filtered));
	memcpy(*list, filtered, sizeof(filtered));
	return 0;
}

static int given_begin(struct change **change, struct context *context)
{
	int err = call("a change begins");

	*change = err ? NULL : calloc(1, sizeof(**change));
	if (err)
		return err;
	(*change)->context = context;
	(*change)->due = DUE;
	(*change)->ports_came = true;
	return state_open(&(*change)->state, context, true);
}

static void given_end(struct change *change)
{
	if (change)
		state_close(change->state);
	free(change);
}

static int given_pending(struct change *change, enum pending_kind kind, const char *name, long seconds)
{
	struct pending pending = { .kind = kind, .deadline = 4000000000, .due = DUE };
	int err = seconds ? call("%s waits for %ld s", name, seconds) : 0;

	snprintf(pending.name, sizeof(pending.name), "%s", name);
	if (!err && state_pending_has(change->state, kind, name) > 0)
		return because(-EBUSY, "%s: it waits", name);
	return err || !seconds ? err : state_pending_add(change->state, &pending);
}

static int given_base(const struct context *context, struct committed committed)
{
	(void)context;
	(void)committed;
	return call("the base is there");
}

static int given_ready(const struct context *context)
{
	(void)context;
	return call("the kernel is ready");
}

static const char *begins(const struct guard *guard)
{
	return !guard->afresh ? "" : guard->until ? ", afresh for now" : ", afresh";
}

static int given_apply(struct state *state, struct live *live, struct guard *guard)
{
	const struct change *change = (struct change *)((char *)live - offsetof(struct change, live));
	int err = call("into force%s%s%s%s", guard->everything ? ", everything" : "", guard->spare ? ", spare" : "",
		       begins(guard), change->ports_came ? "" : ", not ports that came");

	return err ?: (state_commit)(state);
}

static enum agreement given_agreement(struct state *state, const struct generation *live)
{
	(void)state;
	(void)live;
	return agrees;
}

static int given_guard(struct guard *guard, struct state *state, const struct live *live)
{
	(void)state;
	(void)live;
	return call("the guard%s%s", guard->everything ? ", everything" : "", begins(guard));
}

static int given_ports(struct change *change, char *const *names, int names_n, unsigned int match,
		       struct port_of **ports, size_t *n)
{
	int err = call("ports of %s%s%s, match %u", names[0], names_n > 1 ? " and " : "", names_n > 1 ? names[1] : "",
		       match);

	(void)change;
	*ports = malloc(sizeof(ports_are));
	memcpy(*ports, ports_are, sizeof(ports_are));
	*n = err ? 0 : ports_n;
	return err;
}

static bool given_may_ports(const char *name)
{
	return !strncmp(name, "br", 2) && is_link(name);
}

static unsigned int given_number(const char *name)
{
	return is_link(name);
}

static int given_compare(const struct ports_kept *kept, struct port_of **ports, struct ports_due **due, size_t *n)
{
	(void)kept;
	*ports = NULL;
	*due = malloc(sizeof(came));
	memcpy(*due, came, sizeof(came));
	*n = came_n;
	return call("which ports came");
}

static int given_detached(struct state *state, const struct ports_due *due)
{
	(void)state;
	return call("%s stays detached", due->name);
}

static int given_ports_off(const struct context *context, const char *label, const struct ports_kept *kept)
{
	char name[IF_NAMESIZE], is[LABEL_MAX];
	bool leaves = label_split(label, name);
	int err = 0;

	for (size_t i = 0; i < kept->rows_n && !err; i++)
		if (kept->rows[i].leaves == leaves && !strcmp(kept->rows[i].of, name))
			err = given_again(context, label_of(is, kept->rows[i].name, leaves ? MATCH_LEAVING(0) : 0));
	return err;
}

static int given_timer(const struct context *context, long seconds)
{
	(void)context;
	return call("a timer of %ld s", seconds);
}

static bool given_lock(const char *of, const char *name)
{
	return !strcmp(of, directory) && !strcmp(name, STATE_SERVICE_LOCK) && watched;
}

static bool given_known(const struct context *context)
{
	(void)context;
	return matches;
}

/* What cannot be read of the state, and how often it can before. */
static const char *unread;
static int reads;

static bool cannot_read(const char *what)
{
	return unread && !strcmp(what, unread) && reads-- <= 0;
}

static int read_interfaces(struct state *s, struct interface_info **all, size_t *n)
{
	*all = NULL;
	*n = 0;
	return cannot_read("interfaces") ? -EIO : state_interfaces(s, all, n);
}

static int read_ports(struct state *s, struct port_row **all, size_t *n)
{
	*all = NULL;
	*n = 0;
	return cannot_read("ports") ? -EIO : state_port_rows(s, all, n);
}

#define attach_may	  given_may
#define attach_one	  given_one
#define device_gone_round given_round
static bool reserve; /* there is room that is kept */

static void given_keep(const char *kept_in)
{
	printf("  room is kept%s\n", kept_in == own_context.state ? "" : " elsewhere");
}

static bool given_give(const char *kept_in)
{
	bool was = reserve && kept_in == own_context.state;

	printf("  room%s is given\n", was ? "" : " that is not there");
	reserve = false;
	return was;
}

/* The one of that number fails; 0: none. */
static int calloc_fails;

static void *given_calloc(size_t n, size_t size)
{
	return calloc_fails && !--calloc_fails ? NULL : calloc(n, size);
}

#define calloc		       given_calloc
#define reserve_keep	       given_keep
#define reserve_give	       given_give
#define attach_is	       given_is
#define attach_instead	       given_instead
#define attach_rematch	       given_rematch
#define attach_settle	       given_settle
#define attach_turned	       given_turned
#define attach_find	       given_find
#define attach_is_filtered     given_filtered
#define attach_goes_back       given_goes_back
#define attach_list	       given_list
#define detach_one	       given_detach
#define detach_again	       given_again
#define detach_at	       given_at
#define change_begin	       given_begin
#define change_end	       given_end
#define change_pending	       given_pending
#define kernel_base	       given_base
#define kernel_ready_to_look   given_ready
#define apply_if_needed	       given_apply
#define agreement(state, live) given_agreement(state, live)
#define guard_in_force	       given_guard
#define ports_of	       given_ports
#define ports_may	       given_may_ports
#define if_nametoindex	       given_number
#define ports_compare	       given_compare
#define ports_row_put	       given_detached
#define ports_detach	       given_ports_off
#define revert_timer_start     given_timer
#define lock_is_held	       given_lock
#define match_known	       given_known
#define warn		       says
#define note		       says
#define fail		       given_fail
/* These are done, or fail. */
#define state_commit(s)			 (call("commit") ?: state_commit(s))
#define state_interface_put(s, is)	 (call("put") ?: state_interface_put(s, is))
#define state_port_put(s, row)		 (call("put a port") ?: state_port_put(s, row))
#define state_pending_forget(s, k, n)	 (call("%s waits no more", n) ?: state_pending_forget(s, k, n))
#define state_interfaces(s, all, n)	 read_interfaces(s, all, n)
#define state_port_rows(s, all, n)	 read_ports(s, all, n)
#define state_port_rows_bound(s, all, n) read_ports(s, all, n)
#define put				 put_one
#include "change/attach.c"
#undef calloc
#undef state_interfaces
#undef state_port_rows
#undef state_port_rows_bound
#undef put
#undef state_commit
#undef state_interface_put
#undef state_port_put

static const struct shown known[] = {
#include "unit_attaching.txt"
};

static struct shows shows = { .file = "tests/unit/unit_attaching.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* --- What there is --- */

static void print_state(void)
{
	struct interface_info *is = NULL, *rules = NULL;
	struct port_row *rows = NULL;
	struct pending *pending = NULL;
	struct state *s = opened(false);
	size_t n = 0, rules_n = 0, rows_n = 0, pending_n = 0;

	if (!s || state_interfaces(s, &is, &n) || state_ports(s, &rules, &rules_n) ||
	    state_port_rows(s, &rows, &rows_n) || state_pending(s, &pending, &pending_n))
		abort();
	for (size_t i = 0; i < n; i++)
		printf("  kept: %s %s%s, match %u\n", is[i].name, is[i].mode, is[i].shared ? " shared" : "",
		       is[i].match);
	for (size_t i = 0; i < rules_n; i++)
		printf("  kept: ports of %s %s%s, match %u\n", rules[i].name, rules[i].mode,
		       rules[i].shared ? " shared" : "", rules[i].match);
	for (size_t i = 0; i < rows_n; i++)
		printf("  kept: %s as a port of %s%s\n", rows[i].name, rows[i].of, rows[i].leaves ? " egress" : "");
	for (size_t i = 0; i < pending_n; i++)
		printf("  waits: %s%s\n", pending[i].name,
		       pending[i].deadline == PENDING_IN_PROGRESS ? ", in progress" : "");
	for (size_t i = 0; i < filtered_n; i++)
		printf("  on %s: %s\n", filtered[i].name, how(&filtered[i]));
	free(is);
	free(rules);
	free(rows);
	free(pending);
	state_close(s);
}

/* In the state, and where `is` on the interface too. */
static void kept(const char *name, const char *mode, unsigned int match, const char *of, bool is)
{
	struct interface_info info = { .match = match };
	struct port_row row = { .leaves = MATCH_LEAVES(match) };
	struct state *s = opened(true);

	strcpy(info.name, name);
	strcpy(info.mode, mode);
	strcpy(row.name, name);
	if (of)
		strcpy(row.of, of);
	if (!s || state_interface_put(s, &info) || (of && state_port_put(s, &row)) || state_commit(s))
		abort();
	state_close(s);
	if (!is)
		return;
	filtered[filtered_n] =
		(struct attachment){ .mode = strcmp(mode, "skb") ? MODE_NATIVE : MODE_SKB, .match = match };
	if (MATCH_BY_TC(match))
		filtered[filtered_n].mode = MODE_TC;
	strcpy(filtered[filtered_n++].name, name);
}

static void rule(const char *name, unsigned int match)
{
	struct interface_info info = { .match = match, .mode = "auto" };
	struct state *s = opened(true);

	strcpy(info.name, name);
	if (!s || state_ports_put(s, &info) || state_commit(s))
		abort();
	state_close(s);
}

/* A state without anything, made once. */
static void empty_state(void)
{
	static char blank[1 << 20];
	static size_t size;
	struct state *s;
	FILE *f;

	empty_directory();
	if (!size) {
		s = opened(true);
		if (!s || state_commit(s))
			abort();
		state_close(s);
	}
	f = fopen(file, size ? "we" : "re");
	if (!f || (size ? fwrite(blank, 1, size, f) != size : !(size = fread(blank, 1, sizeof(blank), f))))
		abort();
	fclose(f);
}

static void anew(void)
{
	empty_state();
	memset(links, 0, sizeof(links));
	memset(filtered, 0, sizeof(filtered));
	filtered_n = ports_n = came_n = 0;
	links[0] = "eth0";
	links[1] = "eth1";
	links[2] = "br0";
	links[3] = "p1";
	links[4] = "p2";
	agrees = AGREED;
	watched = matches = fails_on = false;
	calls = fails_at = 0;
	fails_with = -EIO;
	unread = NULL;
	reads = 0;
}

static void attaches(const struct attach_options *o, char **names)
{
	struct attachment *done = NULL;
	bool missing = false;
	int n = 0, done_n = 0, err;

	while (names[n])
		n++;
	err = attach_interfaces(&own_context, o, names, n, &done, &done_n, &missing);
	printf("  %s, %d attached%s\n", err ? reason(err) : "done", done_n, missing ? ", some are missing" : "");
	free(done);
	print_state();
}

/* The same, and where each of the calls fails. */
static void attach_all_ways(void (*before)(void), const struct attach_options *o, char **names)
{
	int all;

	for (int at = 0, n = 1; at <= n; at++) {
		anew();
		if (before)
			before();
		fails_at = at;
		printf("-- call %d fails\n", at);
		attaches(o, names);
		all = at ? n : calls;
		n = all;
	}
}

#define NAMES(...)   ((char *[]){ __VA_ARGS__, NULL })
#define OPTIONS(...) (&(const struct attach_options){ __VA_ARGS__ })
#define MODE(mode)   ((mode) + 1)
#define ASKS(match)  ((match) + 1)

/* --- What happens --- */

static void one(void)
{
	attach_all_ways(NULL, OPTIONS(0), NAMES("eth0", "eth1"));
	puts("-- one of them twice");
	anew();
	attaches(OPTIONS(0), NAMES("eth0", "eth1", "eth0"));
}

static void eth0_is(void)
{
	kept("eth0", "auto", MATCH_SOURCE, NULL, true);
}

static void eth0_egress(void)
{
	kept("eth0", "tc", MATCH_LEAVING(MATCH_DESTINATION), NULL, true);
}

static void eth0_shared(void)
{
	eth0_is();
	filtered[0].shared = true;
}

static void eth0_tc(void)
{
	kept("eth0", "tc", MATCH_COMING(MATCH_BOTH), NULL, true);
}

static void eth0_open(void)
{
	kept("eth0", "native", MATCH_DESTINATION, NULL, false);
}

static void in_place(void)
{
	attach_all_ways(eth0_is, OPTIONS(.mode = MODE(MODE_SKB)), NAMES("eth0", "eth1"));
	attach_all_ways(eth0_is, OPTIONS(.match = ASKS(MATCH_BOTH)), NAMES("eth0", "eth1"));
	puts("-- a mode that was asked for before");
	for (int i = 0; i < 2; i++) {
		anew();
		kept("eth0", "native", MATCH_SOURCE, NULL, true);
		attaches(OPTIONS(.match = ASKS(MATCH_BOTH), .if_needed = i), NAMES("eth0"));
	}
	puts("-- it is there, and not kept");
	anew();
	eth0_is();
	fails_at = 6;
	attaches(OPTIONS(.if_needed = true), NAMES("eth0"));
	puts("-- and it cannot go back");
	anew();
	eth0_is();
	fails_at = 7;
	fails_on = true;
	attaches(OPTIONS(.mode = MODE(MODE_SKB)), NAMES("eth0"));
	puts("-- what mode it was asked for cannot be read");
	for (int n = 0; n < 4; n++) {
		anew();
		eth0_is();
		unread = "interfaces";
		reads = n;
		printf("-- after %d\n", n);
		attaches(OPTIONS(.match = ASKS(MATCH_BOTH)), NAMES("eth0"));
	}
	unread = NULL;
}

/* The second cannot be attached, and the first not go back. */
static void stuck(void)
{
	for (int i = 0; i < 2; i++)
		for (int at = 8; at < 12; at++) {
			anew();
			if (i)
				eth0_is();
			fails_at = at;
			fails_on = true;
			printf("-- call %d fails, and all behind it\n", at);
			attaches(OPTIONS(.mode = MODE(MODE_SKB)), NAMES("eth0", "eth1"));
		}
}

static void on_trial(void)
{
	attach_all_ways(NULL, OPTIONS(.confirm = { true, 60 }), NAMES("eth0"));
	attach_all_ways(eth0_open, OPTIONS(.confirm = { true, 60 }), NAMES("eth0"));
	puts("-- and again");
	anew();
	attaches(OPTIONS(.confirm = { true, 60 }), NAMES("eth0", "eth1"));
	attaches(OPTIONS(.if_needed = true), NAMES("eth0"));
	attaches(OPTIONS(.confirm = { true, 60 }, .if_needed = true), NAMES("eth0"));
	puts("-- others beside it");
	attaches(OPTIONS(.if_needed = true), NAMES("eth0", "p1", "p1"));
	puts("-- for good, and otherwise");
	attaches(OPTIONS(0), NAMES("eth0"));
	attaches(OPTIONS(.confirm = { true, 60 }), NAMES("eth0"));
	attaches(OPTIONS(.match = ASKS(MATCH_BOTH)), NAMES("p2", "eth0"));
	attaches(OPTIONS(.mode = MODE(MODE_SKB)), NAMES("eth0"));
	attaches(OPTIONS(.mode = MODE(MODE_SKB), .if_needed = true), NAMES("eth0"));
	attaches(OPTIONS(.egress = true), NAMES("eth0"));
	attach_all_ways(eth0_is, OPTIONS(.confirm = { true, 60 }, .mode = MODE(MODE_SKB)), NAMES("eth0"));
	puts("-- under another name by now");
	anew();
	attaches(OPTIONS(.confirm = { true, 60 }), NAMES("eth0"));
	strcpy(filtered[0].as, "eth0");
	strcpy(filtered[0].name, "wan");
	links[0] = "wan";
	attaches(OPTIONS(.if_needed = true), NAMES("wan"));
	attaches(OPTIONS(0), NAMES("wan"));
	puts("-- and for good");
	filtered[0].until = 0;
	attaches(OPTIONS(.if_needed = true), NAMES("wan"));
}

static void options(void)
{
	static const struct {
		const char *what;
		struct attach_options o;
	} each[] = {
		{ "as it is", { 0 } },
		{ "egress", { .egress = true } },
		{ "egress, both", { .egress = true, .match = ASKS(MATCH_BOTH) } },
		{ "native", { .mode = MODE(MODE_NATIVE) } },
		{ "skb", { .mode = MODE(MODE_SKB) } },
		{ "tc", { .mode = MODE(MODE_TC) } },
		{ "tc, destinations", { .mode = MODE(MODE_TC), .match = ASKS(MATCH_DESTINATION) } },
		{ "auto", { .mode = MODE(MODE_AUTO) } },
		{ "shared", { .shared = true } },
		{ "destinations", { .match = ASKS(MATCH_DESTINATION) } },
		{ "if needed", { .if_needed = true } },
		{ "if needed, generic", { .if_needed = true, .mode = MODE(MODE_SKB) } },
		{ "force", { .force = true, .mode = MODE(MODE_SKB) } },
	};
	static void (*const before[])(void) = { NULL, eth0_is, eth0_egress, eth0_shared, eth0_tc, eth0_open };

	for (size_t j = 0; j < sizeof(before) / sizeof(before[0]); j++)
		for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
			anew();
			if (before[j])
				before[j]();
			printf("-- %zu: %s\n", j, each[i].what);
			attaches(&each[i].o, NAMES("eth0"));
		}
}

static void bridge(void)
{
	for (ports_n = 0; ports_n < 2; ports_n++) {
		strcpy(ports_are[ports_n].name, ports_n ? "p2" : "p1");
		strcpy(ports_are[ports_n].of, "br0");
	}
}

static void missing(void)
{
	static const int errors[] = { -EXDEV, -ENODEV, -EBUSY, -ENOMEM };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		anew();
		fails_at = 6;
		fails_with = errors[i];
		printf("-- %s, if needed\n", errno_text(errors[i]));
		attaches(OPTIONS(.if_needed = true), NAMES("eth0"));
		anew();
		bridge();
		fails_at = 8;
		fails_with = errors[i];
		printf("-- %s, a port\n", errno_text(errors[i]));
		attaches(OPTIONS(.ports = true), NAMES("br0"));
	}
	anew();
	puts("-- not there");
	attaches(OPTIONS(0), NAMES("eth0", "eth7"));
	puts("-- not there, if needed");
	attaches(OPTIONS(.if_needed = true), NAMES("eth0", "eth7"));
	puts("-- again");
	attaches(OPTIONS(.if_needed = true), NAMES("eth0", "eth7"));
	puts("-- a mode that cannot be, if needed");
	calls = 0;
	fails_at = 7;
	attaches(OPTIONS(.if_needed = true, .mode = MODE(MODE_SKB)), NAMES("eth0"));
	puts("-- in doubt what is in force");
	anew();
	agrees = BEHIND;
	attaches(OPTIONS(0), NAMES("eth0"));
	puts("-- not there, if needed, on trial");
	anew();
	attaches(OPTIONS(.if_needed = true, .confirm = { true, 60 }), NAMES("eth0", "eth7"));
	puts("-- not there, on trial");
	anew();
	attaches(OPTIONS(.confirm = { true, 60 }), NAMES("eth0", "eth7"));
	puts("-- remembered before, on trial");
	anew();
	kept("eth7", "skb", MATCH_SOURCE, NULL, false);
	attaches(OPTIONS(.if_needed = true, .confirm = { true, 60 }), NAMES("eth7"));
	puts("-- and again");
	attaches(OPTIONS(.if_needed = true, .confirm = { true, 60 }), NAMES("eth7"));
	attaches(OPTIONS(.if_needed = true), NAMES("eth7"));
	attaches(OPTIONS(0), NAMES("eth7"));
}

static void bridge_is(void)
{
	bridge();
	rule("br0", MATCH_SOURCE);
	kept("p1", "auto", MATCH_SOURCE, "br0", true);
}

static void of_ports(void)
{
	attach_all_ways(bridge, OPTIONS(.ports = true), NAMES("br0"));
	puts("-- on trial");
	anew();
	bridge();
	attaches(OPTIONS(.ports = true, .confirm = { true, 60 }), NAMES("br0"));
	puts("-- and one of them for itself");
	attaches(OPTIONS(0), NAMES("p1"));
	attaches(OPTIONS(.if_needed = true), NAMES("p1"));
	attaches(OPTIONS(.match = ASKS(MATCH_BOTH)), NAMES("p1"));
	puts("-- and what is filtered already");
	anew();
	bridge_is();
	attaches(OPTIONS(.ports = true, .confirm = { true, 60 }), NAMES("br0"));
	puts("-- again");
	anew();
	bridge_is();
	attaches(OPTIONS(.ports = true), NAMES("br0"));
	puts("-- one of them for itself, and whether it is one cannot be read");
	unread = "ports";
	attaches(OPTIONS(0), NAMES("p1"));
	unread = NULL;
	puts("-- one of them for itself");
	attaches(OPTIONS(0), NAMES("p1"));
	puts("-- twice");
	attaches(OPTIONS(.ports = true, .mode = MODE(MODE_SKB)), NAMES("br0", "br0"));
	puts("-- no ports");
	attaches(OPTIONS(.ports = true), NAMES("eth0"));
	puts("-- not there");
	anew();
	attaches(OPTIONS(.ports = true), NAMES("br7"));
	puts("-- not there, if needed");
	attaches(OPTIONS(.ports = true, .if_needed = true, .egress = true), NAMES("br7", "br0"));
	puts("-- one of them for itself, on trial, and one that is attached");
	anew();
	bridge_is();
	kept("p2", "auto", MATCH_SOURCE, "br0", false);
	attaches(OPTIONS(.if_needed = true, .confirm = { true, 60 }), NAMES("p1", "p2"));
}

static void detaches(const char *name, bool comes_in, bool leaves, bool ports)
{
	const struct detach_what what = { comes_in, leaves, ports };
	char labels[DETACH_LABELS][LABEL_MAX], *list[DETACH_LABELS];
	int n = name ? detach_labels(&own_context, name, &what, labels) : 0, err;
	bool stopped = false;

	for (int i = 0; i < n; i++) {
		list[i] = labels[i];
		printf("-- detach %s\n", labels[i]);
	}
	if (!name)
		puts("-- detach all");
	err = detach_interfaces(&own_context, list, n, &stopped);
	printf("  %s%s\n", err ? reason(err) : "done", stopped ? ", stopped" : "");
	print_state();
}

static void detach_before(void)
{
	anew();
	bridge_is();
	kept("eth0", "auto", MATCH_SOURCE, NULL, true);
	kept("eth0", "tc", MATCH_LEAVING(MATCH_DESTINATION), NULL, true);
	kept("eth9", "auto", MATCH_SOURCE, NULL, false);
}

static void detach(void)
{
	static const struct {
		const char *name;
		bool comes_in, leaves, ports;
	} each[] = { { "eth0", true, true, false }, { "eth0", true, false, false }, { "eth0", false, true, false },
		     { "eth9", true, true, false }, { "eth1", true, true, false },  { "eth1", false, true, false },
		     { "br0", true, true, false },  { "br0", true, true, true },    { "br0", false, true, true },
		     { "p1", true, true, false },   { NULL, false, false, false } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		detach_before();
		detaches(each[i].name, each[i].comes_in, each[i].leaves, each[i].ports);
	}
	puts("-- a port that came");
	detach_before();
	came[0] = (struct ports_due){ .name = "p1", .of = &(struct interface_info){ .match = MATCH_SOURCE } };
	came[1] = (struct ports_due){ .name = "p2", .of = came[0].of };
	came[2] = (struct ports_due){ .name = "p1" };
	came_n = 3;
	detaches("p1", true, true, false);
	for (int at = 1; at <= 9; at++) {
		detach_before();
		fails_at = at;
		printf("-- call %d fails\n", at);
		detaches("eth0", true, true, false);
		detach_before();
		fails_at = at;
		detaches(NULL, false, false, false);
		if (at > 5)
			continue;
		detach_before();
		fails_at = at;
		detaches("br0", true, true, true);
	}
	attached_as = "eth5";
	today = "eth0";
	for (int n = 0; n < 3; n++) {
		printf("-- eth0 was attached as eth5%s%s\n", n ? ", which is kept" : "",
		       n > 1 ? ", and the state cannot be read" : "");
		detach_before();
		if (n)
			kept("eth5", "auto", MATCH_SOURCE, NULL, false);
		unread = n > 1 ? "interfaces" : NULL;
		reads = 0;
		detaches("eth5", true, false, false);
		unread = NULL;
	}
	attached_as = NULL;
	puts("-- what is kept cannot be read");
	for (int n = 0; n < 3; n++) {
		detach_before();
		unread = n ? "interfaces" : "ports";
		reads = n - 1;
		detaches(!n ? "br0" : n > 1 ? "eth9" : "eth0", true, true, !n);
		unread = NULL;
	}
	puts("-- at the end, three times");
	detach_before();
	fails_at = 6;
	fails_on = true;
	detaches("eth0", true, false, false);
}

static void restores(bool spare, bool force)
{
	const struct restore_options o = { spare, force };
	size_t gone = 0;
	int err = restore(&own_context, &o, &gone);

	printf("  %s, %zu are missing\n", err ? reason(err) : "done", gone);
	print_state();
}

static void restore_before(void)
{
	struct pending pending = { .kind = PENDING_INTERFACE, .name = "eth1", .deadline = 4000000000, .due = DUE };
	struct state *s;

	anew();
	kept("eth0", "skb", MATCH_SOURCE, NULL, false);
	s = opened(true);
	if (!s || state_pending_add(s, &pending) || state_commit(s))
		abort();
	state_close(s);
	kept("eth1", "native", MATCH_DESTINATION, NULL, false);
	kept("eth1", "tc", MATCH_LEAVING(MATCH_DESTINATION), NULL, true);
	kept("eth9", "auto", MATCH_SOURCE, NULL, false);
}

/* What is there of it on trial alone is asked about until that goes back; whatever comes for good, for good. */
static void restored_beside_a_trial(void)
{
	for (int at = 0; at < 4; at++) {
		struct pending pending = { .kind = PENDING_INTERFACE, .deadline = 4000000000, .due = DUE };
		struct state *s;

		anew();
		kept("eth0", "native", MATCH_SOURCE, NULL, at == 0);
		kept("eth1", "native", MATCH_SOURCE, NULL, at == 1);
		kept("eth2", "native", MATCH_SOURCE, NULL, at == 2);
		s = opened(true);
		for (int i = 0; i < 2; i++) {
			snprintf(pending.name, sizeof(pending.name), "eth%d", i ? 2 : 0);
			if (!s || (!(at == 3 && i) && state_pending_add(s, &pending)))
				abort();
		}
		if (state_commit(s))
			abort();
		state_close(s);
		printf("-- there is eth%d, and on trial eth0%s\n", at, at < 3 ? " and eth2" : "");
		restores(false, false);
	}
}

static void restored(void)
{
	for (int at = 0; at <= 12; at++) {
		restore_before();
		fails_at = at;
		printf("-- call %d fails\n", at);
		restores(at & 1, at & 2);
	}
	puts("-- the service runs");
	restore_before();
	watched = true;
	restores(false, false);
	for (int at = 0; at <= 12; at++)
		for (int times = 1; times < (at == 3 ? 3 : 2); times++) {
			restore_before();
			reserve = true;
			fails_at = at;
			fails_on = times > 1;
			fails_with = -ENOSPC;
			printf("-- the disk is full at call %d%s\n", at, fails_on ? ", and all that follow" : "");
			restores(false, false);
		}
	puts("-- there is no reserve");
	restore_before();
	fails_at = 1;
	fails_with = -ENOSPC;
	restores(false, false);
	puts("-- all is there");
	anew();
	eth0_is();
	restores(false, false);
	restored_beside_a_trial();
}

static void completes(void)
{
	struct change change = { .context = &own_context };

	for (int at = 0; at <= 5; at++) {
		anew();
		kept("eth0", "auto", MATCH_SOURCE, NULL, true);
		kept("eth1", "auto", MATCH_SOURCE, NULL, true);
		kept("p1", "auto", MATCH_DESTINATION, NULL, true);
		kept("p2", "auto", MATCH_DESTINATION, NULL, true);
		kept("p2", "tc", MATCH_LEAVING(MATCH_SOURCE), NULL, true);
		filtered[1].match = MATCH_BOTH;
		filtered[2].gone = true;
		filtered[3].match = MATCH_COMING(MATCH_SOURCE);
		filtered[3].mode = MODE_TC;
		matches = at;
		fails_at = at - 1;
		printf("-- call %d fails\n", at - 1);
		change.state = opened(false);
		attach_complete(&change);
		state_close(change.state);
		print_state();
	}
}

/* --- detach --all --purge --- */

static char usual_state[200], pins[220];
static const char *systemctl_at, *remains; /* nothing removes that */
static bool pinned, stops;
static enum { SPAWNS, NO_ACTIONS, NO_SPAWN, NO_WAIT } spawning;

/* Where the state is has another name each time. */
static void shows_text(const char *before, const char *text)
{
	const char *at = strstr(text, directory);

	if (at)
		printf("%s%.*sSTATE%s\n", before, (int)(at - text), text, at + strlen(directory));
	else
		printf("%s%s\n", before, text);
}

__attribute__((format(printf, 1, 2))) static void says_of_state(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	shows_text("  ! ", text);
}

static int given_access(const char *path, int mode)
{
	if (mode == F_OK)
		return access(path, mode);
	return mode == X_OK && systemctl_at && !strcmp(path, systemctl_at) ? 0 : -1;
}

static int given_actions(posix_spawn_file_actions_t *actions)
{
	puts("  actions");
	return spawning == NO_ACTIONS ? ENOMEM : posix_spawn_file_actions_init(actions);
}

static int given_addopen(posix_spawn_file_actions_t *actions, int fd, const char *path, int flags, mode_t mode)
{
	printf("  %d is %s, %s\n", fd, path, flags == O_WRONLY && !mode ? "to write" : "otherwise");
	return posix_spawn_file_actions_addopen(actions, fd, path, flags, mode);
}

static int given_destroy(posix_spawn_file_actions_t *actions)
{
	puts("  no actions any more");
	return posix_spawn_file_actions_destroy(actions);
}

static int given_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *how, char *const *words, char *const *environment)
{
	printf("  %s", path);
	for (; *words; words++)
		printf(" %s", *words);
	for (; *environment; environment++)
		printf(", with %s", *environment);
	puts(actions && !how ? "" : ", otherwise");
	*pid = 77;
	return spawning == NO_SPAWN ? ENOENT : 0;
}

static pid_t given_wait(pid_t pid, int *status, int flags)
{
	printf("  waits for %d%s\n", (int)pid, flags ? ", otherwise" : "");
	*status = 3 << 8;
	return spawning == NO_WAIT ? -1 : pid;
}

static bool given_pins(const struct context *its)
{
	(void)its;
	return pinned;
}

static int given_detach_all(const struct context *its, char *const *labels, int n, bool *stopped)
{
	(void)its;
	*stopped = stops;
	return labels || n ? -EINVAL : call("all are detached");
}

static void given_remove(const char *path)
{
	if (!remains || strcmp(strrchr(path, '/') + 1, remains) != 0)
		remove(path);
}

#undef warn
#undef note
#undef CONTEXT_DEFAULT
#define CONTEXT_DEFAULT                             \
	{                                           \
		.state = usual_state, .bpffs = pins \
	}
#define warn				 says_of_state
#define note				 says_of_state
#define access				 given_access
#define posix_spawn_file_actions_init	 given_actions
#define posix_spawn_file_actions_addopen given_addopen
#define posix_spawn_file_actions_destroy given_destroy
#define posix_spawn			 given_spawn
#define waitpid				 given_wait
#define pins_are_there			 given_pins
#define detach_interfaces		 given_detach_all
#define pin_remove			 given_remove
#define kept				 kept_in_state
#define is_kept				 is_kept_in_state
#define directory			 removed_from
#include "change/purge.c"
#undef kept
#undef directory
#undef access
#undef waitpid

static int no_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void shows_left(const char *what, const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, no_dot, alphasort);

	if (n < 0)
		return;
	printf("  = %s\n", what);
	for (int i = 0; i < n; i++) {
		printf("  = %s/%s\n", what, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static void purges(const char *what, const char *more)
{
	struct context context = { .state = directory, .bpffs = pins };
	char state[220], pins_too[240], path[240];
	bool stopped = true;
	int err;

	printf("-- %s\n", what);
	if (strstr(what, "another state")) {
		snprintf(state, sizeof(state), "/%s", directory);
		context.state = state;
	}
	if (strstr(what, "other pins")) {
		snprintf(pins_too, sizeof(pins_too), "%s.too", pins);
		context.bpffs = pins_too;
	}
	anew();
	watched = strstr(what, "service");
	fails_at = strstr(what, "detached") != NULL;
	if (mkdir(pins, 0700) && errno != EEXIST)
		abort();
	snprintf(path, sizeof(path), "%s/links", pins);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(path, sizeof(path), "%s/%s", directory, more ?: "events");
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (char other = 'a'; other < 'i' && strstr(what, "beside many"); other++) {
		snprintf(path, sizeof(path), "%s/%c", directory, other);
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	err = purge(&context, &stopped);
	shows_text("  ", err ? reason(err) : "done");
	if (stopped)
		puts("  stopped");
	shows_left("STATE", directory);
	shows_left("PINS", pins);
	snprintf(path, sizeof(path), "%s/%s", directory, more ?: "events");
	remove(path);
	for (char other = 'a'; other < 'i'; other++) {
		snprintf(path, sizeof(path), "%s/%c", directory, other);
		remove(path);
	}
	snprintf(path, sizeof(path), "%s/links", pins);
	remove(path);
	rmdir(pins);
	if (mkdir(directory, 0700) && errno != EEXIST)
		abort();
}

static void purged(void)
{
	snprintf(usual_state, sizeof(usual_state), "%s", directory);
	snprintf(pins, sizeof(pins), "%s.pins", directory);
	pinned = true;
	stops = false;
	remains = NULL;
	systemctl_at = "/usr/bin/systemctl";
	spawning = SPAWNS;
	purges("all", NULL);
	purges("of another state", NULL);
	purges("with other pins", NULL);
	purges("beside the service", NULL);
	purges("what cannot be detached", NULL);
	stops = true;
	purges("what was stopped, and not detached", NULL);
	stops = pinned = false;
	purges("nothing is pinned", NULL);
	systemctl_at = "/bin/systemctl";
	purges("with a file of others", "mine");
	remains = "state.db";
	purges("one remains", NULL);
	remains = "state.db";
	purges("one remains beside many of others", NULL);
	remains = "links";
	purges("a pin remains", NULL);
	remains = systemctl_at = NULL;
	purges("without systemctl", NULL);
	systemctl_at = "/bin/systemctl";
	for (spawning = NO_ACTIONS; spawning <= NO_WAIT; spawning++)
		purges(spawning == NO_ACTIONS ? "no actions"
		       : spawning == NO_SPAWN ? "no process"
					      : "not waited for",
		       NULL);
}

/* What could not begin has nothing to take back. */
static void no_memory(void)
{
	for (int at = 1; at <= 8; at++) {
		bool ports = at > 3;

		anew();
		bridge();
		printf("-- number %d\n", at);
		calloc_fails = ports ? at - 3 : at;
		attaches(OPTIONS(.ports = ports), ports ? NAMES("br0") : NAMES("eth0"));
	}
	calloc_fails = 0;
	puts("-- of what is kept");
	for (int at = 1; at <= 2; at++) {
		struct attachment *list = NULL;
		struct state *s;
		size_t n = 0;
		int err;

		restore_before();
		s = opened(false);
		if (!s)
			abort();
		calloc_fails = at;
		err = attachments_kept(s, &list, &n);
		calloc_fails = 0;
		printf("  %s, %s, of %zu\n", err ? errno_text(err) : "known", list ? "with a list" : "without a list",
		       n);
		free(list);
		state_close(s);
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "two", one },		  { "each option", options },
		{ "in place", in_place }, { "stuck", stuck },
		{ "on trial", on_trial }, { "not there", missing },
		{ "ports", of_ports },	  { "detach", detach },
		{ "restore", restored },  { "half changed", completes },
		{ "purge", purged },	  { "no memory", no_memory },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
	anew();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
