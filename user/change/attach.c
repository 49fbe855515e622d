// SPDX-License-Identifier: GPL-2.0-only
#include "change/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/label.h"
#include "base/log.h"
#include "change/agreement.h"
#include "change/attachments.h"
#include "change/guard_needs.h"
#include "change/home.h"
#include "change/ports.h"
#include "change/revert_timer.h"
#include "kernel/link_header.h"
#include "kernel/root.h"
#include "state/reserve.h"

/* What is in the state about an interface, or about what has ports, before it is attached. */
enum announced { NOTHING, THAT_IT_WAITS, ALL };

struct attaching {
	const struct attach_options *options;
	struct change *change;
	char *const *names;
	int n;
	/* --ports: each of them is a port of one of these. */
	char *const *above;
	int above_n;
	enum announced *ports_announced;
	struct port_of *ports;
	enum announced *announced;
	/* Of what was done: what there was; without a name: nothing. */
	struct attachment *before;
	bool begun; /* there may be something to take back */
};

static bool asks_for_mode(const struct attach_options *o)
{
	return o->mode > 1 + MODE_AUTO;
}

/* What is to be there where `is` (NULL: nothing) is now. What is not said stays as it is, but for if_needed and ports.
 */
static struct attachment wanted(const struct attach_options *o, const char *name, const struct attachment *is)
{
	unsigned int match = o->match				? (unsigned int)o->match - 1
			     : is && !o->if_needed && !o->ports ? MATCH_OF(is->match)
			     : o->egress			? MATCH_DESTINATION
								: MATCH_SOURCE;
	struct attachment at = { .mode = o->egress ? MODE_TC
					 : o->mode ? (enum attach_mode)(o->mode - 1)
						   : MODE_AUTO,
				 .shared = o->shared };

	if (at.mode == MODE_AUTO && is && !(o->shared && is->mode == MODE_TC))
		at.mode = is->mode;
	if (at.mode != MODE_TC && is)
		at.shared = at.shared || is->shared;
	at.match = o->egress ? MATCH_LEAVING(match) : at.mode == MODE_TC ? MATCH_COMING(match) : match;
	snprintf(at.name, sizeof(at.name), "%s", name);
	if (!asks_for_mode(o))
		link_fit(&at);
	return at;
}

/* Where all that matters is whether it is of what leaves. */
static unsigned int way_of(const struct attach_options *o)
{
	return o->egress ? MATCH_LEAVING(0) : 0;
}

/* Is it attached on the interface that has this name now? */
static bool is_on(const struct attaching *a, const char *name, struct attachment *is)
{
	char label[LABEL_MAX];

	return !attach_is(a->change->context, label_of(label, name, way_of(a->options)), is);
}

/* For the state. */
static struct interface_info as_kept(const struct attaching *a, const struct attachment *at)
{
	bool known = asks_for_mode(a->options) || MATCH_BY_TC(at->match);
	struct interface_info is = { .shared = at->shared, .match = at->match };

	snprintf(is.name, sizeof(is.name), "%s", at->name);
	snprintf(is.mode, sizeof(is.mode), "%s", attach_mode_names[known ? at->mode : MODE_AUTO]);
	return is;
}

/* Changed in place, a mode that nobody asks for is what was asked for before. */
static int mode_of_before(const struct attaching *a, struct interface_info *is)
{
	struct interface_info *kept = NULL;
	size_t n = 0;
	int err =
		asks_for_mode(a->options) || a->options->if_needed ? 0 : state_interfaces(a->change->state, &kept, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(kept[i].name, is->name) && !MATCH_BY_TC(kept[i].match) && !MATCH_BY_TC(is->match))
			memcpy(is->mode, kept[i].mode, sizeof(is->mode));
	free(kept);
	return err;
}

/* Into the state first: otherwise nothing would undo it if we are killed. */
static int announce(struct attaching *a, const char *label, const struct interface_info *is, enum announced *announced)
{
	struct pending pending = { .kind = PENDING_INTERFACE, .deadline = PENDING_IN_PROGRESS };
	bool kept = false, confirm = a->options->confirm.given;
	int err = change_pending(a->change, PENDING_INTERFACE, label, (long)a->options->confirm.value)
			  ?: attachment_is_kept(a->change->state, label, &kept);

	if (!err && kept && confirm && label_ports(label))
		return because(-EEXIST, "%s: filtered already, and --confirm is for what begins", label);
	if (err || (kept && !confirm))
		return err;
	*announced = kept ? THAT_IT_WAITS : ALL;
	snprintf(pending.name, sizeof(pending.name), "%s", label);
	/* Before its entry is there: it is to be gone again. */
	err = confirm ? 0 : state_pending_add(a->change->state, &pending);
	return err || kept ? err : (label_ports(label) ? state_ports_put : state_interface_put)(a->change->state, is);
}

/* It may go: the interface comes, or another's program leaves it. */
static bool passes(int is)
{
	return err_is(is, ENODEV) || err_is(is, EBUSY);
}

static bool is_for_later(int is)
{
	return passes(is) || err_is(is, EXDEV);
}

static int announce_interface(struct attaching *a, const char *name, enum announced *announced)
{
	struct attachment at = wanted(a->options, name, NULL);
	struct interface_info interface = as_kept(a, &at);
	int may = attach_may(a->change->context, &at), has;
	char label[LABEL_MAX];

	label_of(label, name, at.match);
	/* attach_one() says why. */
	if (may && !(a->options->confirm.given && a->options->if_needed && is_for_later(may)))
		return 0;
	/* What is remembered with --confirm goes back as well. */
	has = may ? state_pending_has(a->change->state, PENDING_INTERFACE, label) : 0;
	return has < 0 ? has : has ? 0 : announce(a, label, &interface, announced);
}

/* How the ports of this one are to be filtered. */
static struct interface_info rule_of(const struct attaching *a, const char *name)
{
	struct attachment at = wanted(a->options, name, NULL);

	return as_kept(a, &at);
}

static int announce_ports(struct attaching *a, const char *name, enum announced *announced)
{
	struct interface_info rule = rule_of(a, name);
	char label[LABEL_MAX];

	return announce(a, label_of_ports(label, name, way_of(a->options)), &rule, announced);
}

static bool is_named(char *const *names, int n, const char *name)
{
	bool is = false;

	for (int i = 0; i < n; i++)
		is = is || !strcmp(names[i], name);
	return is;
}

static int announce_all(struct attaching *a)
{
	bool any = false;
	int err = 0;

	for (int i = 0; i < a->above_n && !err; i++) {
		err = is_named(a->above, i, a->above[i]) ? 0 : announce_ports(a, a->above[i], &a->ports_announced[i]);
		any = any || a->ports_announced[i];
	}
	for (int i = 0; i < a->n && !err; i++) {
		err = is_named(a->names, i, a->names[i]) ? 0 : announce_interface(a, a->names[i], &a->announced[i]);
		any = any || a->announced[i];
	}
	return err || !any ? err : state_commit(a->change->state) ?: state_again(a->change->state);
}

/* Attaching is done: now nothing waits, except for confirmation. */
static int announce_end(struct attaching *a)
{
	bool confirm = a->options->confirm.given;
	struct state *state = a->change->state;
	char label[LABEL_MAX];
	int err = 0;

	for (int i = 0; i < a->n && !err && !confirm; i++)
		if (a->announced[i])
			err = state_pending_forget(state, PENDING_INTERFACE,
						   label_of(label, a->names[i], way_of(a->options)));
	for (int i = 0; i < a->above_n && !err; i++) {
		struct interface_info rule = rule_of(a, a->above[i]);

		label_of_ports(label, a->above[i], way_of(a->options));
		if (a->ports_announced[i] && !confirm)
			err = state_pending_forget(state, PENDING_INTERFACE, label);
		err = err ?: state_ports_put(state, &rule);
	}
	return err;
}

/* In the state, it is healed as whatever is there. */
static void say_kept(const struct attaching *a)
{
	char label[LABEL_MAX];

	for (int i = 0; i < a->n; i++)
		if (a->announced[i] == THAT_IT_WAITS)
			warn("%s: it was to be filtered before: after it goes back, the service or 'restore' attaches it"
			     " again; detach it first if it must stay off",
			     label_of(label, a->names[i], way_of(a->options)));
}

static int take_one_back(struct attaching *a, const char *label, enum announced announced)
{
	int err = announced == ALL ? state_interface_drop(a->change->state, label)
		  : announced	   ? state_pending_forget(a->change->state, PENDING_INTERFACE, label)
				   : 0;

	return err_is(err, ENOENT) ? 0 : err; /* it was not committed */
}

static void take_back(struct attaching *a)
{
	int err = state_again(a->change->state);
	char label[LABEL_MAX];

	for (int i = 0; i < a->n && !err; i++)
		err = take_one_back(a, label_of(label, a->names[i], way_of(a->options)), a->announced[i]);
	for (int i = 0; i < a->above_n && !err; i++)
		err = take_one_back(a, label_of_ports(label, a->above[i], way_of(a->options)), a->ports_announced[i]);
	err = err ?: state_commit(a->change->state);
	if (err)
		note("the next command takes it back once more: %s", reason(err));
}

/* What may take the place of `is` without a packet in between. */
enum { NO_CHANGE, OTHER_MATCH, OTHER_MODE };
static int change_of(const struct attach_options *o, const struct attachment *is, const struct attachment *at)
{
	if (o->confirm.given)
		return NO_CHANGE;
	if (at->mode != is->mode || at->shared != is->shared)
		return OTHER_MODE;
	return at->match != is->match && !is->shared ? OTHER_MATCH : NO_CHANGE;
}

static int change_to(const struct context *context, int change, struct attachment *at, struct attachment *then)
{
	return change == OTHER_MATCH ? attach_rematch(context, at, then->match) : attach_instead(context, at, then);
}

/* Back to what they were, the last first. */
static void undo(const struct attaching *a, struct attachment *done, int n)
{
	const struct context *context = a->change->context;

	char label[LABEL_MAX];

	while (n-- > 0) {
		struct attachment *before = &a->before[n];
		int err = before->name[0]
				  ? change_to(context, change_of(a->options, before, &done[n]), &done[n], before)
				  : detach_again(context, label_of(label, done[n].name, done[n].match));

		if (err)
			warn("%s", reason(err));
	}
}

enum { ALREADY = 1, REMEMBERED, GOES_BACK };

/* Is the interface left as it is, or for later, with others attached? One port that has no XDP does not undo the rest.
 */
static bool may_be_left(const struct attach_options *o, int is)
{
	return o->ports ? !err_is(is, ENOMEM) : o->if_needed && (err_is(is, EEXIST) || is_for_later(is));
}

/* It is filtered as one so far. */
static bool was_port(struct attaching *a, const struct interface_info *kept)
{
	bool leaves = MATCH_LEAVES(kept->match), was = false;
	struct port_row *rows = NULL;
	size_t n = 0;

	if (state_port_rows(a->change->state, &rows, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		was = was || (!strcmp(rows[i].name, kept->name) && rows[i].leaves == leaves);
	free(rows);
	return was;
}

static bool is_plain(const struct attach_options *o)
{
	return !o->ports && !o->match && !o->mode && !o->shared && !o->confirm.given;
}

/* On trial it is a port until that is confirmed; what is attached already is not on trial. */
static int for_itself(struct attaching *a, const struct interface_info *kept)
{
	bool confirm = a->options->confirm.given;
	struct state *state = a->change->state;
	char label[LABEL_MAX];
	int has = confirm ? state_pending_has(state, PENDING_INTERFACE, label_of(label, kept->name, kept->match)) : 1;

	if (has <= 0)
		return has;
	if (was_port(a, kept))
		warn("%s: filtered for itself from now on, also when it is no port", kept->name);
	return confirm ? 0 : state_port_forget(state, kept->name, MATCH_LEAVES(kept->match));
}

/* Whoever attaches an interface by its name has it filtered whether or not it is a port. */
static int put(struct attaching *a, const struct interface_info *kept)
{
	struct port_row row = { .leaves = MATCH_LEAVES(kept->match) };
	int err = state_interface_put(a->change->state, kept);

	if (err || !a->options->ports)
		return err ?: for_itself(a, kept);
	memcpy(row.name, kept->name, sizeof(row.name));
	for (int i = 0; i < a->n; i++)
		if (!strcmp(a->ports[i].name, kept->name))
			memcpy(row.of, a->ports[i].of, sizeof(row.of));
	return state_port_put(a->change->state, &row);
}

static int change_in_place(struct attaching *a, int change, struct attachment *at, struct attachment *then)
{
	struct attachment before = *at, now;
	struct interface_info kept = as_kept(a, then);
	int err = mode_of_before(a, &kept), unput;

	if (err)
		return err;
	err = change_to(a->change->context, change, at, then);
	if (!err) {
		unput = put(a, &kept);
		now = *at;
		if (unput && change_to(a->change->context, change_of(a->options, &before, &now), &now, &before))
			note("%s: stays as it is now", at->name);
		return unput;
	}
	if (change != OTHER_MODE || !(a->options->if_needed || a->options->ports))
		return err;
	warn("%s; it stays in %s mode", reason(err), attach_mode_names[at->mode]);
	return ALREADY;
}

/* What is on trial is changed by nobody: it would go back, with all that was said of it. */
static int waits(struct attaching *a, int i)
{
	struct state *state = a->change->state;
	int has = a->announced[i] ? 0 : state_pending_any(state, PENDING_INTERFACE);
	char label[LABEL_MAX], as[LABEL_MAX];
	struct attachment is;
	bool on;

	if (has <= 0)
		return has;
	on = is_on(a, a->names[i], &is);
	has = state_pending_has(state, PENDING_INTERFACE, label_of(label, a->names[i], way_of(a->options)));
	/* Under the name that it had then. */
	if (!has && on && attach_goes_back(a->change->context, &is, label_of(as, is.as, is.match)))
		has = state_pending_has(state, PENDING_INTERFACE, as);
	if (has <= 0)
		return has;
	if (!a->options->if_needed)
		return because_it_waits(label);
	warn("%s: %s, but goes back unless you run: xdp-bloom confirm", label, on ? "attached" : "remembered");
	return GOES_BACK;
}

/* Attaches to one and puts it into the state. With if_needed it may be ALREADY attached, REMEMBERED. */
static int attach_next(struct attaching *a, const char *name, struct attachment *at, struct attachment *before)
{
	const struct attach_options *o = a->options;
	bool on = is_on(a, name, before);
	struct attachment then = wanted(o, name, on ? before : NULL);
	int change = on ? change_of(o, before, &then) : NO_CHANGE, err, is;
	struct interface_info kept = as_kept(a, &then);
	char label[LABEL_MAX];

	if (change) {
		*at = *before;
		return change_in_place(a, change, at, &then);
	}
	*before = (struct attachment){ 0 };
	*at = then;
	at->until = o->confirm.given ? a->change->due : 0;
	is = attach_one(a->change->context, at);
	if (err_is(is, EEXIST) && is_plain(o) && was_port(a, &kept))
		return for_itself(a, &kept) ?: ALREADY;
	if (is && !may_be_left(o, is))
		return is;
	if (is && !err_is(is, EEXIST))
		warn("%s%s", reason(is),
		     o->ports	  ? "; the other ports are attached"
		     : passes(is) ? "; remembered: 'restore' or the service will attach it"
				  : "");
	err = put(a, &kept);
	if (err && !is)
		detach_again(a->change->context, label_of(label, name, kept.match));
	return err ?: err_is(is, EEXIST) ? ALREADY : is ? REMEMBERED : 0;
}

/* What has been loaded so long begins to drop packets there. Asked before the first is. */
static int ask_guard(struct attaching *a)
{
	struct change *c = a->change;
	int err;

	c->guard.everything = a->options->force;
	c->guard.until = c->guard.waits;
	for (int i = 0; i < a->above_n; i++)
		c->guard.afresh = c->guard.afresh || a->ports_announced[i] == ALL;
	for (int i = 0; i < a->n; i++) {
		struct attachment is, at;
		bool on = is_on(a, a->names[i], &is);

		at = wanted(a->options, a->names[i], on ? &is : NULL);
		c->guard.afresh = c->guard.afresh || !on || change_of(a->options, &is, &at);
		c->guard.destinations =
			c->guard.destinations || (MATCH_OF(at.match) != MATCH_SOURCE && !MATCH_LEAVES(at.match));
	}
	if (!c->guard.afresh || agreement(c->state, &c->live.g) != AGREED)
		return 0; /* apply_if_needed() asks what it builds */
	err = guard_in_force(&c->guard, c->state, &c->live);
	c->guard.afresh = false;
	return err;
}

/* Of these, every port that is not filtered for itself. */
static int find_ports(struct attaching *a, bool *missing)
{
	const struct attach_options *o = a->options;
	size_t n = 0;
	char **names;
	int err;

	a->above = a->names;
	a->above_n = a->n;
	a->names = NULL;
	a->n = 0;
	a->ports_announced = calloc((size_t)a->above_n, sizeof(*a->ports_announced));
	err = a->ports_announced ? ports_of(a->change, a->above, a->above_n, way_of(o), &a->ports, &n) : -ENOMEM;
	for (int i = 0; i < a->above_n && !err; i++) {
		struct attachment at = wanted(o, a->above[i], NULL);
		bool any = false;

		for (size_t j = 0; j < n; j++)
			any = any || !strcmp(a->ports[j].of, at.name);
		if (any || ports_may(at.name))
			continue;
		if (if_nametoindex(at.name))
			return because(-EINVAL, "%s: it has no ports: --ports is for bridges, bonds, teams and VRFs",
				       at.name);
		err = attach_may(a->change->context, &at);
		if (!o->if_needed || !err_is(err, ENODEV))
			continue;
		warn("%s; remembered: 'restore' or the service will attach its ports", reason(err));
		*missing = true;
		err = 0;
	}
	names = err ? NULL : calloc(n + 1, sizeof(*names));
	if (!names)
		return err ?: -ENOMEM;
	for (size_t i = 0; i < n; i++)
		names[i] = a->ports[i].name;
	a->names = names;
	a->n = (int)n;
	return 0;
}

static int begin(struct attaching *a, struct attachment **done, bool *missing)
{
	int err = a->options->ports ? find_ports(a, missing) : 0;

	if (err)
		return err;
	*done = calloc((size_t)a->n + 1, sizeof(**done));
	a->announced = calloc((size_t)a->n + 1, sizeof(*a->announced));
	a->before = calloc((size_t)a->n + 1, sizeof(*a->before));
	a->begun = *done && a->announced && a->before;
	return a->begun ? 0 : -ENOMEM;
}

int attach_interfaces(struct context *context, const struct attach_options *options, char *const *names, int n,
		      struct attachment **list, int *done_n, bool *missing)
{
	struct attaching a = { .options = options, .names = names, .n = n };
	struct attachment *done = NULL;
	char why[512];
	int err = change_begin(&a.change, context) ?: home_settle(a.change) ?: begin(&a, &done, missing);

	*list = done;
	*done_n = 0;
	err = err ?: kernel_base(context, committed(a.change->state)) ?: attachments_settle(context, a.change->state);
	err = err ?: announce_all(&a) ?: ask_guard(&a);
	for (int i = 0; !err && i < a.n; i++) {
		int is = is_named(a.names, i, a.names[i]) ? 0 : waits(&a, i);

		is = is ?: attach_next(&a, a.names[i], &done[*done_n], &a.before[*done_n]);
		err = is < 0 ? is : 0;
		*missing = *missing || is == REMEMBERED || is == GOES_BACK;
		*done_n += !is;
	}
	/* apply_if_needed() comes last, as it commits: until then the slot is as before. */
	err = err ?: announce_end(&a) ?: apply_if_needed(a.change->state, &a.change->live, &a.change->guard);
	if (err) {
		snprintf(why, sizeof(why), "%s", reason(err)); /* taking it back may record another */
		if (a.begun) {
			undo(&a, done, *done_n);
			take_back(&a);
		}
		*done_n = 0;
		err = because(err, "%s", why);
	}
	if (!err) {
		say_kept(&a);
		home_say(context);
	}
	change_end(a.change);
	if (!err)
		reserve_keep(context->state);
	if (a.above)
		free((void *)a.names);
	free(a.ports);
	free(a.ports_announced);
	free(a.announced);
	free(a.before);
	return err;
}
