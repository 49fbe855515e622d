/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists, interfaces and settings, in one SQLite file under the state directory. A command that changes something opens
 * it for change, which waits for other commands, and commits once; without the commit nothing has changed. Functions
 * return 0 or -errno with the reason recorded (log.h).
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
	unsigned int match; /* MATCH_... of bpf/abi.h: one of what leaves is an entry of its own */
};

/* The directory, and those above it. Opening for change calls it. */
int state_make_directory(const char *directory);
/* To read, or to change. A state that does not exist reads as empty. */
int state_open(struct state **state, const struct context *context, bool change);
int state_commit(struct state *state);
/* Begins again under the same lock; what was not committed is undone. */
int state_again(struct state *state);
/* Undoes what was not committed. */
void state_close(struct state *state);

/* In the order in which they were first loaded; free() the array. */
int state_lists(struct state *state, struct list_info **lists, size_t *n);
/* -ENOENT, with the nearest name that there is. */
int because_no_list(struct state *state, const char *name);
int state_list_set(struct state *state, const char *name, struct ranges *set);
/* The same, and refused where it is not as many prefixes as its entry says: a piece of it may be another list's now. */
int state_list_whole_set(struct state *state, const struct list_info *list, struct ranges *set);
/* All that any allow list holds. */
int state_allowed(struct state *state, struct ranges *allowed);
/* A replaced list keeps its place and label. -ENOSPC when all labels are taken. */
int state_list_put(struct state *state, struct list_info *list, const struct ranges *set);
/* -ENOENT where there is none of that name. */
int state_list_get(struct state *state, const char *name, struct list_info *list);
/* How many times each limit a trust list has; 0: it is none any more. */
int state_trust(struct state *state, const char *name, unsigned int times);
int state_list_set_kind(struct state *state, const char *name, enum list_kind kind);
/* -ENOENT where there is none of that name. */
int state_list_drop(struct state *state, const char *name);

/* As the kernel takes them. It becomes a part of a path, and is shown. */
bool is_interface_name(const char *name);
int state_interfaces(struct state *state, struct interface_info **interfaces, size_t *n);
int state_interface_put(struct state *state, const struct interface_info *interface);
/* By its label (base/label.h). */
int state_interface_drop(struct state *state, const char *label);

/*
 * The text that a list was read from, so that an address can be traced to its line; put after the list itself.
 * state_text_get() returns a descriptor of a copy, at its beginning.
 */
int state_text_put(struct state *state, const char *name, struct packer *packer);
int state_text_get(struct state *state, const char *name);

/* What goes back by itself unless it is confirmed in time. The version before is kept. */
enum pending_kind {
	PENDING_LIST, /* what it holds */
	PENDING_INTERFACE,
	PENDING_SETTING,
	PENDING_BAN,	   /* its name is the prefix */
	PENDING_IMAGE,	   /* with it, the bans that it took the place of; each list has a row of its own */
	PENDING_LIST_KIND, /* shadow or not */
	PENDING_KINDS
};

struct pending {
	enum pending_kind kind;
	char name[LIST_NAME_MAX];
	int64_t deadline; /* seconds since the epoch */
	int64_t due;	  /* the same by clock_boot(); 0 in rows of an older version */
	bool rebooted;	  /* the machine was started again since: its time is over */
	bool undated;	  /* `due` is of this start: whatever the date is set to, only that counts */
};

#define PENDING_IMAGE_NAME "the image"

/* The deadline of a change in progress: if it is cut short, it goes back at once. */
#define PENDING_IN_PROGRESS 2

int state_pending(struct state *state, struct pending **pending, size_t *n);
/* Does anything of that kind? 1, 0 or -errno. */
int state_pending_any(struct state *state, enum pending_kind kind);
/* Does that one? The same. */
int state_pending_has(struct state *state, enum pending_kind kind, const char *name);
/* Before what is named is changed. */
int state_pending_add(struct state *state, const struct pending *pending);
/* The same for a list that is then dropped; it comes back with what it held. */
int state_pending_drop(struct state *state, const struct pending *pending);
/*
 * How many ns it has left; 0: its time is over, by the clock that counts. at_least: a date that has come, even if it
 * was set back since.
 */
int64_t pending_left(const struct pending *pending, int64_t at_least);
/* The time of all that waits, but for interfaces, is over, as after a start of the machine. */
int state_pending_over(struct state *state);
/* Takes the change back, in the state. */
int state_pending_undo(struct state *state, const struct pending *pending);
/* What an allow list that waits goes back to, which may have been none; its name has room for " before". */
int state_before_get(struct state *state, const char *name, struct ranges *set);
int state_before_put(struct state *state, const struct list_info *list, const struct ranges *set);
/* After the list or interface itself is gone. */
int state_pending_forget(struct state *state, enum pending_kind kind, const char *name);
/*
 * What judge() says of the state as it will be when all that waits has gone back; nothing is changed. name: what waits
 * first. 0 where nothing does but interfaces and bans.
 */
int state_pending_undone(struct state *state, int (*judge)(struct state *, void *), void *arg,
			 char name[LIST_NAME_MAX]);
/* Drops the versions before: all changes stay. */
int state_pending_confirm(struct state *state);
/* No list, ban or image waits any more, and none comes back. */
int state_pending_flush(struct state *state);

#endif
