/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The truth: lists, interfaces and settings, in one SQLite file under the state directory. A command that changes
 * something opens it for change, which waits for the command before, and commits once; without the commit nothing
 * was. Functions return 0 or -errno with the reason recorded (log.h).
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/list.h"
#include "sets/ranges.h"

struct context;
struct packer;
struct state;

struct interface_info {
	char name[IF_NAMESIZE];
	char mode[8];
	bool shared;
};

/* The directory, and those above it; a command that changes something makes them by itself. */
int state_make_directory(const char *directory);
/* To look, or to change. Looking at a state that is not there yet finds it empty. */
int state_open(struct state **state, const struct context *context, bool change);
int state_commit(struct state *state);
bool state_committed(struct state *state);
/* Goes on under the same lock; what was not committed is undone. */
int state_again(struct state *state);
/* Undoes what was not committed. */
void state_close(struct state *state);

/* In the order in which they were first loaded; free() the array. */
int state_lists(struct state *state, struct list_info **lists, size_t *n);
int state_list_set(struct state *state, const char *name, struct ranges *set);
/* All that any allow list holds. */
int state_allowed(struct state *state, struct ranges *allowed);
/* Creates or replaces; a replaced list keeps its place and label. -ENOSPC when all labels are taken. */
int state_list_put(struct state *state, struct list_info *list, const struct ranges *set);
/* -ENOENT where there is none of that name. */
int state_list_get(struct state *state, const char *name, struct list_info *list);
int state_list_set_kind(struct state *state, const char *name, enum list_kind kind);
/* -ENOENT where there is none of that name. */
int state_list_drop(struct state *state, const char *name);

int state_interfaces(struct state *state, struct interface_info **interfaces, size_t *n);
int state_interface_put(struct state *state, const struct interface_info *interface);
int state_interface_drop(struct state *state, const char *name);

/*
 * What a list was read from, to the byte, so that an address can be traced to its line: put behind the list itself.
 * Reading it gives a descriptor of a file of its own, at its beginning.
 */
int state_text_put(struct state *state, const char *name, struct packer *packer);
int state_text_get(struct state *state, const char *name);

/*
 * What goes back by itself unless it is confirmed in time: a list that was put, or an interface. The version before is
 * kept beside it. -EBUSY where one is waiting already.
 */
enum pending_kind { PENDING_LIST, PENDING_INTERFACE };

struct pending {
	enum pending_kind kind;
	char name[LIST_NAME_MAX];
	int64_t deadline; /* seconds since the epoch */
};

/* The deadline of what is being done: where it is cut short, it goes back at once. */
#define PENDING_IN_PROGRESS 2

int state_pending(struct state *state, struct pending **pending, size_t *n);
/* For a list: before it is put. */
int state_pending_add(struct state *state, const struct pending *pending);
/* Takes the change back, in the state. */
int state_pending_undo(struct state *state, const struct pending *pending);
/* The thing itself is gone: nothing of it waits. */
int state_pending_forget(struct state *state, enum pending_kind kind, const char *name);
/* Forgets the versions before: what was done stays. */
int state_pending_confirm(struct state *state);

#endif
