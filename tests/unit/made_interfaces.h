/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interfaces of a kernel that is made up, and the filter on them, over a state in a directory of the test's own:
 * each call of what attaches, detaches and restores, which is included here, is printed, and the one of a given
 * number fails.
 */
#ifndef MADE_INTERFACES_H
#define MADE_INTERFACES_H

#include "own_state.h"
#include "no_disk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/ports.h"
#include "base/trusted_dir.h"
#include "change/agreement.h"
#include "change/attach.h"
#include "change/attachments.h"
#include "change/change.h"
#include "change/detach.h"
#include "change/guard_needs.h"
#include "change/no_room.h"
#include "change/own_addresses.h"
#include "change/ports.h"
#include "change/restore.h"
#include "change/revert_timer.h"
#include "kernel/attach.h"
#include "kernel/device.h"
#include "kernel/generation.h"
#include "kernel/link_header.h"
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
static int calls, fails_at, fails_too, fails_with;

/* The call of that number fails. */
__attribute__((format(printf, 1, 2))) static int call(const char *fmt, ...)
{
	bool fails = ++calls == fails_at || calls == fails_too || (fails_on && fails_at && calls > fails_at);
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
		if (!filtered[i].gone && label_is(label, filtered[i].name, filtered[i].match))
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
	memcpy(at->as, at->name, sizeof(at->as));
	filtered[filtered_n++] = *at;
	return 0;
}

static void given_fit(struct attachment *at)
{
	if (strcmp(at->name, "gre1") != 0 || MATCH_BY_TC(at->match) || at->shared)
		return;
	at->mode = MODE_TC;
	at->match = MATCH_COMING(at->match);
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

/* So often it waits for the lock, and what happens then, each time. */
static int waits_for_lock;
static void (*happens)(int turn);

static int given_begin(struct change **change, struct context *context)
{
	int err;

	for (int i = 0; i < waits_for_lock; i++) {
		puts("  it waits");
		if (lock_meanwhile.call)
			lock_meanwhile.call(lock_meanwhile.arg);
		if (happens)
			happens(i);
	}
	err = call("a change begins");

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
	return call("the guard%s%s%s", guard->everything ? ", everything" : "", guard->tells ? ", to be told" : "",
		    begins(guard));
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

static bool has_gateway = true;
/* The machine runs for so many seconds. */
static int64_t booted_for;

static int64_t given_boot(void)
{
	return booted_for * 1000000000;
}

static bool given_gateway(struct state *state)
{
	(void)state;
	return has_gateway;
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
#define link_fit	       given_fit
#define attach_instead	       given_instead
#define attach_rematch	       given_rematch
#define attach_settle	       given_settle
#define attach_turned	       given_turned
#define attach_find	       given_find
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
#define clock_boot	       given_boot
#define own_has_gateway	       given_gateway
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
#include "change/attachments.c"
#include "change/attach.c"
#include "change/detach.c"
#include "change/restore.c"
#undef calloc
#undef state_interfaces
#undef state_port_rows
#undef state_port_rows_bound
#undef put
#undef state_commit
#undef state_interface_put
#undef state_port_put

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
	strcpy(filtered[filtered_n].as, name);
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
	calls = fails_at = fails_too = 0;
	fails_with = -EIO;
	unread = NULL;
	reads = 0;
	waits_for_lock = 0;
	happens = NULL;
}

__attribute__((unused)) static void eth0_is(void)
{
	kept("eth0", "auto", MATCH_SOURCE, NULL, true);
}

static void bridge(void)
{
	for (ports_n = 0; ports_n < 2; ports_n++) {
		strcpy(ports_are[ports_n].name, ports_n ? "p2" : "p1");
		strcpy(ports_are[ports_n].of, "br0");
	}
}

__attribute__((unused)) static void bridge_is(void)
{
	bridge();
	rule("br0", MATCH_SOURCE);
	kept("p1", "auto", MATCH_SOURCE, "br0", true);
}

__attribute__((unused)) static void restore_before(void)
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

#endif
