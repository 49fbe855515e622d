// SPDX-License-Identifier: GPL-2.0-only
#include "change/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/label.h"
#include "base/lock.h"
#include "base/log.h"
#include "change/agreement.h"
#include "change/guard_needs.h"
#include "change/revert_timer.h"
#include "kernel/generation.h"
#include "kernel/root.h"

/* What is in the state about an interface before it is attached. */
enum announced { NOTHING, THAT_IT_WAITS, ALL };

struct attaching {
	const struct attach_options *options;
	struct change *change;
	char *const *names;
	int n;
	enum announced *announced;
	/* Of what was done: asked about others before (MATCH_..., counted from 1); 0: it was not attached. */
	unsigned int *before;
};

static enum attach_mode mode_of(const struct attach_options *o)
{
	return o->mode ? (enum attach_mode)(o->mode - 1) : MODE_AUTO;
}

static unsigned int match_of(const struct attach_options *o)
{
	unsigned int match = o->match ? (unsigned int)o->match - 1 : o->egress ? MATCH_DESTINATION : MATCH_SOURCE;

	return o->egress ? MATCH_LEAVING(match) : match;
}

static int keeps(struct state *state, const char *label, bool *found)
{
	struct interface_info *kept;
	size_t n;
	int err = state_interfaces(state, &kept, &n);

	*found = false;
	for (size_t i = 0; i < n && !err; i++)
		*found = *found || label_is(label, kept[i].name, kept[i].match);
	free(kept);
	return err;
}

static struct interface_info as_kept(const struct attach_options *o, const char *name)
{
	struct interface_info kept = { .shared = o->shared, .match = match_of(o) };

	snprintf(kept.name, sizeof(kept.name), "%s", name);
	snprintf(kept.mode, sizeof(kept.mode), "%s", attach_mode_names[o->egress ? MODE_TC : mode_of(o)]);
	return kept;
}

/* Into the state first: otherwise nothing would undo it if we are killed. */
static int announce(struct attaching *a, const char *name, enum announced *announced)
{
	struct pending pending = { .kind = PENDING_INTERFACE, .deadline = PENDING_IN_PROGRESS };
	struct interface_info interface = as_kept(a->options, name);
	bool kept = false, confirm = a->options->confirm.given;
	struct attachment at = { .match = interface.match };
	char label[LABEL_MAX];
	int err;

	snprintf(at.name, sizeof(at.name), "%s", name);
	snprintf(pending.name, sizeof(pending.name), "%s", label_of(label, name, at.match));
	if (attach_may(a->change->context, &at))
		return 0; /* attach_one() says why */
	err = change_pending(a->change, PENDING_INTERFACE, label, (long)a->options->confirm.value)
		      ?: keeps(a->change->state, label, &kept);
	if (err || (kept && !confirm))
		return err;
	*announced = kept ? THAT_IT_WAITS : ALL;
	if (!kept)
		err = state_interface_put(a->change->state, &interface);
	return err || confirm ? err : state_pending_add(a->change->state, &pending);
}

static int announce_all(struct attaching *a)
{
	bool any = false;
	int err = 0;

	for (int i = 0; i < a->n && !err; i++) {
		bool twice = false;

		for (int j = 0; j < i; j++)
			twice = twice || !strcmp(a->names[i], a->names[j]);
		err = twice ? 0 : announce(a, a->names[i], &a->announced[i]);
		any = any || a->announced[i];
	}
	return err || !any ? err : state_commit(a->change->state) ?: state_again(a->change->state);
}

/* Attaching is done: now nothing waits, except for confirmation. */
static int announce_end(struct attaching *a)
{
	char label[LABEL_MAX];
	int err = 0;

	for (int i = 0; i < a->n && !err && !a->options->confirm.given; i++)
		if (a->announced[i])
			err = state_pending_forget(a->change->state, PENDING_INTERFACE,
						   label_of(label, a->names[i], match_of(a->options)));
	return err;
}

static void take_back(struct attaching *a)
{
	int err = state_again(a->change->state);
	char label[LABEL_MAX];

	for (int i = 0; i < a->n && !err; i++) {
		label_of(label, a->names[i], match_of(a->options));
		if (a->announced[i] == ALL)
			err = state_interface_drop(a->change->state, label);
		else if (a->announced[i])
			err = state_pending_forget(a->change->state, PENDING_INTERFACE, label);
		if (err_is(err, ENOENT)) /* it was not committed */
			err = 0;
	}
	err = err ?: state_commit(a->change->state);
	if (err)
		note("the next command takes it back once more: %s", reason(err));
}

/* Is it attached, and is another match all that is to be changed? */
static bool to_rematch(const struct attaching *a, const char *name, struct attachment *at)
{
	const struct attach_options *o = a->options;
	char label[LABEL_MAX];

	return (o->match || o->if_needed) && !o->confirm.given && !o->shared &&
	       !attach_is(a->change->context, label_of(label, name, match_of(o)), at) && !at->shared &&
	       at->match != match_of(o) && (mode_of(o) == MODE_AUTO || mode_of(o) == at->mode || o->if_needed);
}

/* Back to what they were, the last first. */
static void undo(const struct attaching *a, struct attachment *done, int n)
{
	const struct context *context = a->change->context;

	char label[LABEL_MAX];

	while (n-- > 0) {
		int err = a->before[n] ? attach_rematch(context, &done[n], a->before[n] - 1)
				       : detach_one(context, label_of(label, done[n].name, done[n].match));

		if (err)
			warn("%s", reason(err));
	}
}

enum { ALREADY = 1, REMEMBERED };

/* Attaches to one and puts it into the state. With if_needed it may be ALREADY attached, or REMEMBERED. */
static int attach_next(struct attaching *a, const char *name, struct attachment *at, unsigned int *before)
{
	const struct attach_options *o = a->options;
	struct interface_info kept = as_kept(o, name);
	char label[LABEL_MAX];
	int err, is;

	if (to_rematch(a, name, at)) {
		*before = 1 + at->match;
		return state_interface_put(a->change->state, &kept)
			       ?: attach_rematch(a->change->context, at, kept.match);
	}
	*before = 0;
	*at = (struct attachment){ .mode = mode_of(o), .shared = o->shared, .match = match_of(o) };
	at->until = o->confirm.given ? a->change->due : 0;
	snprintf(at->name, sizeof(at->name), "%s", name);
	is = attach_one(a->change->context, at);
	if (is && !(o->if_needed && (err_is(is, EEXIST) || err_is(is, ENODEV) || err_is(is, EXDEV))))
		return is;
	if (err_is(is, ENODEV) || err_is(is, EXDEV))
		warn("%s%s", reason(is),
		     err_is(is, ENODEV) ? "; remembered: 'restore' or the service will attach it" : "");
	err = state_interface_put(a->change->state, &kept);
	if (err && !is)
		detach_one(a->change->context, label_of(label, name, kept.match));
	return err ?: err_is(is, EEXIST) ? ALREADY : is ? REMEMBERED : 0;
}

/* What has been loaded so long begins to drop packets there. Asked before the first is. */
static int ask_guard(struct attaching *a)
{
	unsigned int match = match_of(a->options);
	struct change *c = a->change;
	char label[LABEL_MAX];
	int err;

	c->guard.everything = a->options->force;
	for (int i = 0; i < a->n; i++) {
		struct attachment at;

		c->guard.afresh = c->guard.afresh ||
				  !attach_is_filtered(c->context, label_of(label, a->names[i], match)) ||
				  to_rematch(a, a->names[i], &at);
	}
	if (!c->guard.afresh || agreement(c->state, &c->live.g) != AGREED)
		return 0; /* apply_if_needed() asks what it builds */
	err = guard_in_force(&c->guard, c->state, &c->live);
	c->guard.afresh = false;
	return err;
}

int attach_interfaces(struct context *context, const struct attach_options *options, char *const *names, int n,
		      struct attachment *done, int *done_n, bool *missing)
{
	struct attaching a = {
		options, NULL, names, n, calloc((size_t)n, sizeof(*a.announced)), calloc((size_t)n, sizeof(*a.before))
	};
	char why[512];
	int err = a.announced && a.before ? change_begin(&a.change, context) : -ENOMEM;

	*done_n = 0;
	err = err ?: kernel_base(context, committed(a.change->state)) ?: announce_all(&a) ?: ask_guard(&a);
	for (int i = 0; !err && i < n; i++) {
		int is = attach_next(&a, names[i], &done[*done_n], &a.before[*done_n]);

		err = is < 0 ? is : 0;
		*missing = *missing || is == REMEMBERED;
		*done_n += !is;
	}
	/* apply_if_needed() comes last, as it commits: until then the slot is as before. */
	err = err ?: announce_end(&a) ?: apply_if_needed(a.change->state, &a.change->live, &a.change->guard);
	if (err) {
		snprintf(why, sizeof(why), "%s", reason(err)); /* taking it back may record another */
		if (a.change && a.change->state) {
			undo(&a, done, *done_n);
			take_back(&a);
		}
		*done_n = 0;
		err = because(err, "%s", why);
	}
	change_end(a.change);
	free(a.announced);
	free(a.before);
	return err;
}

static int detach_all(const struct context *context)
{
	struct attachment *list = NULL;
	size_t n;
	int err = attach_list(context, &list, &n), one;

	for (size_t i = 0; i < n; i++) {
		one = detach_at(context, &list[i]);
		err = err ?: one;
	}
	free(list);
	return err;
}

/* Takes it out of the state. NULL: all. */
static int forget(const struct context *context, const char *label)
{
	struct interface_info *kept = NULL;
	struct state *state = NULL;
	char is[LABEL_MAX];
	size_t n = 0;
	int err = state_open(&state, context, true);

	/* A command that we waited for may have attached it again. */
	if (!err)
		err = label ? detach_again(context, label) : detach_all(context);
	err = err ?: state_interfaces(state, &kept, &n);
	for (size_t i = 0; i < n && !err; i++)
		if (!label || label_is(label, kept[i].name, kept[i].match))
			err = state_interface_drop(state, label_of(is, kept[i].name, kept[i].match));
	err = err ?: state_commit(state);
	/* The service attaches again what it finds open: without the lock where it cannot have it soon. */
	for (int i = 0, again = !err; again && i < TRIES_ONCE_COMMITTED; i++)
		again = err = label ? detach_again(context, label) : detach_all(context);
	free(kept);
	state_close(state);
	return err;
}

/* Such an interface may be gone, and is to be attached when it comes back. */
static bool is_kept(const struct context *context, const char *label)
{
	struct state *state = NULL;
	bool found = false;

	if (!state_open(&state, context, false) && keeps(state, label, &found))
		found = false;
	state_close(state);
	return found;
}

int detach_labels(const struct context *context, const char *name, bool comes_in, bool leaves,
		  char labels[2][LABEL_MAX])
{
	const bool wanted[] = { comes_in, leaves };
	int n = 0;

	for (int i = 0; i < 2; i++) {
		label_of(labels[n], name, i ? MATCH_LEAVING(0) : 0);
		n += wanted[i] && (is_kept(context, labels[n]) || !attach_find(context, labels[n]));
	}
	/* Where there is none, it is said of this one. */
	if (!n)
		label_of(labels[n++], name, comes_in ? 0 : MATCH_LEAVING(0));
	return n;
}

int detach_interfaces(const struct context *context, char *const *labels, int n, bool *stopped)
{
	int err = kernel_ready_to_look(context);

	*stopped = false;
	/* Check all of them before any is detached. */
	for (int i = 0; i < n && !err; i++)
		if (!is_kept(context, labels[i]))
			err = attach_find(context, labels[i]);
	/* Before opening the state, so that packets flow again even if the state cannot be opened. */
	if (!err && !n)
		err = detach_all(context);
	for (int i = 0; i < n && !err; i++)
		if (!attach_find(context, labels[i]))
			err = detach_one(context, labels[i]);
	if (err)
		return err;
	*stopped = true;
	if (!n)
		return forget(context, NULL);
	for (int i = 0; i < n && !err; i++)
		err = forget(context, labels[i]);
	return err;
}

static struct attachment attachment_kept(const struct interface_info *kept)
{
	struct attachment at = { .shared = kept->shared, .match = kept->match };

	snprintf(at.name, sizeof(at.name), "%s", kept->name);
	while (at.mode < MODE_SKB && strcmp(attach_mode_names[at.mode], kept->mode))
		at.mode++;
	return at;
}

int attachments_kept(struct state *state, struct attachment **list, size_t *n)
{
	struct interface_info *kept = NULL;
	struct pending *pending = NULL;
	size_t pending_n = 0;
	int err = state_interfaces(state, &kept, n) ?: state_pending(state, &pending, &pending_n);

	*list = NULL;
	if (!err && *n) {
		*list = calloc(*n, sizeof(**list));
		err = *list ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < *n && !err; i++) {
		(*list)[i] = attachment_kept(&kept[i]);
		for (size_t j = 0; j < pending_n; j++)
			if (pending[j].kind == PENDING_INTERFACE &&
			    label_is(pending[j].name, kept[i].name, kept[i].match))
				(*list)[i].until = pending[j].due;
	}
	free(pending);
	free(kept);
	return err;
}

/* A missing interface is no reason to leave the others unfiltered. */
static int restore_interfaces(struct change *change, size_t *missing)
{
	struct attachment *list;
	size_t n;
	int err = attachments_kept(change->state, &list, &n), status;

	for (size_t i = 0; i < n && !err; i++) {
		status = attach_one(change->context, &list[i]);
		if (!status || err_is(status, EEXIST))
			continue;
		*missing += 1;
		fail("%s; the rest is restored", reason(status));
	}
	free(list);
	return err;
}

static int restore_watch(const struct change *change)
{
	struct pending *pending;
	size_t n;
	int err = state_pending(change->state, &pending, &n);

	/* The service has its own timer. */
	if (!err && n && !lock_is_held(change->context->state, STATE_SERVICE_LOCK))
		err = revert_timer_start(change->context, 1);
	free(pending);
	return err;
}

/* Does it begin to filter anywhere? */
static int restore_afresh(struct change *change)
{
	struct interface_info *kept;
	char label[LABEL_MAX];
	size_t n;
	int err = state_interfaces(change->state, &kept, &n);

	for (size_t i = 0; i < n && !err; i++)
		change->guard.afresh =
			change->guard.afresh ||
			!attach_is_filtered(change->context, label_of(label, kept[i].name, kept[i].match));
	free(kept);
	return err;
}

static int restore_filter(struct change *change, const struct restore_options *options)
{
	change->guard.everything = options->force;
	change->guard.spare = options->spare;
	return restore_afresh(change) ?: apply_if_needed(change->state, &change->live, &change->guard);
}

int restore(struct context *context, const struct restore_options *options, size_t *missing)
{
	struct change *change = NULL;
	/* The filter before the interfaces, so that none runs with an empty one. */
	int err = change_begin(&change, context) ?:
		  kernel_base(context, committed(change->state)) ?:
		  restore_filter(change, options) ?:
		  restore_watch(change) ?:
		  restore_interfaces(change, missing);

	change_end(change);
	return err;
}
