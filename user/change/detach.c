// SPDX-License-Identifier: GPL-2.0-only
#include "change/detach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/label.h"
#include "base/log.h"
#include "change/attachments.h"
#include "change/ports.h"
#include "kernel/attach.h"
#include "kernel/generation.h"
#include "kernel/root.h"

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

/* Those of it that have the filter. NULL: all. */
static int detach_each(const struct context *context, const char *label, const struct ports_kept *kept)
{
	return !label		    ? detach_all(context)
	       : label_ports(label) ? ports_detach(context, label, kept)
				    : detach_again(context, label);
}

/* All that this needs of it, whatever else may be damaged. */
static int rows_take(struct ports_kept *kept, struct state *state)
{
	return state_port_rows_bound(state, &kept->rows, &kept->rows_n)
		       ?: state_interfaces(state, &kept->interfaces, &kept->interfaces_n);
}

/* Before the state is opened to be changed, and whether or not it can be read. */
static int detach_ports(const struct context *context, const char *label)
{
	struct ports_kept kept = { 0 };
	struct state *state = NULL;
	int err = state_open(&state, context, false) ?: rows_take(&kept, state) ?: ports_detach(context, label, &kept);

	ports_kept_free(&kept);
	state_close(state);
	return err;
}

/* Whoever detaches a port means it, as long as it is one. */
static int stays_detached(struct state *state, const char *label)
{
	struct ports_due *due = NULL;
	struct port_of *ports = NULL;
	struct ports_kept kept;
	size_t n = 0;
	int err = ports_kept_take(&kept, state) ?: ports_compare(&kept, &ports, &due, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (due[i].of && label_is(label, due[i].name, due[i].of->match))
			err = ports_row_put(state, &due[i]);
	free(due);
	free(ports);
	ports_kept_free(&kept);
	return err;
}

static int drop(struct state *state, const char *label)
{
	struct interface_info *kept = NULL, *rules = NULL;
	size_t n = 0, rules_n = 0;
	char is[LABEL_MAX];
	int err = state_ports(state, &rules, &rules_n);

	/* These first: their ports' entries go with them. */
	for (size_t i = 0; i < rules_n && !err; i++) {
		label_of_ports(is, rules[i].name, rules[i].match);
		if (!label || !strcmp(label, is))
			err = state_interface_drop(state, is);
	}
	err = err ?: state_interfaces(state, &kept, &n);
	for (size_t i = 0; i < n && !err; i++)
		if (!label || label_is(label, kept[i].name, kept[i].match))
			err = state_interface_drop(state, label_of(is, kept[i].name, kept[i].match));
	free(rules);
	free(kept);
	return err ?: label && !label_ports(label) ? stays_detached(state, label) : 0;
}

/* Takes it out of the state. NULL: all. */
static int forget(const struct context *context, const char *label)
{
	struct ports_kept kept = { 0 };
	struct state *state = NULL;
	int err = state_open(&state, context, true) ?: label && label_ports(label) ? rows_take(&kept, state) : 0;

	/* A command that we waited for may have attached it again. */
	err = err ?: detach_each(context, label, &kept) ?: drop(state, label) ?: state_commit(state);
	/* The service attaches again what it finds open: without the lock where it cannot have it soon. */
	for (int i = 0, again = !err; again && i < TRIES_ONCE_COMMITTED; i++)
		again = err = detach_each(context, label, &kept);
	ports_kept_free(&kept);
	state_close(state);
	return err;
}

/* Such an interface may be gone, and is to be attached when it comes back. */
static bool is_kept(const struct context *context, const char *label)
{
	struct state *state = NULL;
	bool found = false;

	if (!state_open(&state, context, false))
		attachment_is_kept(state, label, &found);
	state_close(state);
	return found;
}

/* attach_find() or detach_one(). Where the state cannot be read, all that was attached under that name is meant. */
static int by_name(const struct context *context, const char *label,
		   int (*does)(const struct context *context, const char *label, const struct attach_kept *kept))
{
	struct attach_kept kept = { 0 };
	struct state *state = NULL;
	int err;

	if (state_open(&state, context, false) || attachments_kept(state, &kept.list, &kept.n))
		kept.n = 0;
	state_close(state);
	err = does(context, label, &kept);
	free(kept.list);
	return err;
}

/* It may be in the state alone. */
static int detach_meant(const struct context *context, const char *label)
{
	int err = by_name(context, label, detach_one);

	return err_is(err, ENOENT) ? 0 : err;
}

/* Those that there are. */
static int labels_there(const struct context *context, const char *name, const struct detach_what *what,
			char labels[DETACH_LABELS][LABEL_MAX])
{
	const bool wanted[] = { what->comes_in, what->leaves };
	int n = 0;

	/* Of the ports first: else one that has gone meanwhile would be said of the others. */
	for (int i = 0; i < 2; i++) {
		label_of_ports(labels[n], name, i ? MATCH_LEAVING(0) : 0);
		n += wanted[i] && is_kept(context, labels[n]);
	}
	for (int i = 0; i < 2 && !what->ports; i++) {
		label_of(labels[n], name, i ? MATCH_LEAVING(0) : 0);
		n += wanted[i] && (is_kept(context, labels[n]) || !by_name(context, labels[n], attach_find));
	}
	return n;
}

bool detach_knows(const struct context *context, const char *name, const struct detach_what *what)
{
	char labels[DETACH_LABELS][LABEL_MAX];

	return labels_there(context, name, what, labels);
}

int detach_labels(const struct context *context, const char *name, const struct detach_what *what,
		  char labels[DETACH_LABELS][LABEL_MAX])
{
	int n = labels_there(context, name, what, labels);

	/* Where there is none, it is said of this one. */
	if (!n)
		(what->ports ? label_of_ports : label_of)(labels[n++], name, what->comes_in ? 0 : MATCH_LEAVING(0));
	return n;
}

int detach_interfaces(const struct context *context, char *const *labels, int n, bool *stopped)
{
	int err = kernel_ready_to_look(context);

	*stopped = false;
	/* Check all of them before any is detached. */
	for (int i = 0; i < n && !err; i++)
		if (!is_kept(context, labels[i]))
			err = label_ports(labels[i]) ? because(-ENOENT, "%s are not filtered", labels[i])
						     : by_name(context, labels[i], attach_find);
	/* Before opening the state, so that packets flow again even if the state cannot be opened. */
	if (!err && !n)
		err = detach_all(context);
	for (int i = 0; i < n && !err; i++)
		if (label_ports(labels[i]))
			err = detach_ports(context, labels[i]);
		else
			err = detach_meant(context, labels[i]);
	if (err)
		return err;
	*stopped = true;
	if (!n)
		return forget(context, NULL);
	for (int i = 0; i < n && !err; i++)
		err = forget(context, labels[i]);
	return err;
}
