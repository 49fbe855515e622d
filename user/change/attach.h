/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaches to interfaces, or detaches from them: all that are named, or none. */
#ifndef CHANGE_ATTACH_H
#define CHANGE_ATTACH_H

#include "base/label.h"
#include "base/options.h"
#include "kernel/attach.h"

struct attach_options {
	int mode;  /* of enum attach_mode, counted from 1; 0: auto, or as it is */
	int match; /* MATCH_..., counted from 1; 0: source */
	bool shared;
	bool egress;	/* what leaves */
	bool ports;	/* of a bridge, bond or team, as they come and go */
	bool if_needed; /* leave attached interfaces alone, remember missing ones */
	bool force;
	struct number confirm;
};

struct restore_options {
	bool spare; /* what the guard rails would refuse becomes an exception */
	bool force;
};

/* Those that are in the state, to be attached as it says there: what is on trial with its deadline. */
struct state;
int attachments_kept(struct state *state, struct attachment **list, size_t *n);
struct interface_info;
struct attachment attachment_kept(const struct interface_info *kept);

/*
 * *done_n were attached now; free() them, after failures too. *missing: at least one is remembered, as it does not
 * exist, or, of ports, cannot be attached yet, or goes back unless it is confirmed. 0 or -errno with the reason
 * recorded.
 */
int attach_interfaces(struct context *context, const struct attach_options *options, char *const *names, int n,
		      struct attachment **done, int *done_n, bool *missing);

struct detach_what {
	bool comes_in, leaves;
	bool ports; /* those alone, and not the interface itself */
};
#define DETACH_LABELS 4

/* Is there any of these under that name, in the state or attached? */
bool detach_knows(const struct context *context, const char *name, const struct detach_what *what);

/* Those of its attachments that there are and that are wanted, or else one: how many. */
int detach_labels(const struct context *context, const char *name, const struct detach_what *what,
		  char labels[DETACH_LABELS][LABEL_MAX]);

/* Of those that were left in two modes by a command that was killed, the one that is kept stays. */
int attachments_settle(const struct context *context, struct state *state);

/* It is as the state has it, attached if it was not. False: that cannot be, which was said. */
bool attachment_restore(const struct context *context, struct attachment *at);

/* Says of one that was just attached what others can send past the filter in its mode. */
void attachment_warn(const struct attachment *at);

/* By labels (base/label.h); without: all. *stopped: filtering has stopped; with -errno returned, it may come back
 * later. */
int detach_interfaces(const struct context *context, char *const *labels, int n, bool *stopped);

/* A command that was to change what is asked about was killed while it did: each is as the state says. */
struct change;
void attach_complete(const struct change *change);

/* After a reboot: the filter, the timer of unconfirmed changes and the interfaces, as they are in the state. *missing:
 * how many interfaces could not be attached; each was reported. 0 or -errno with the reason recorded. */
int restore(struct context *context, const struct restore_options *options, size_t *missing);
/* It has filtered since before the network was up, and what is needed may be asked about once more. */
bool restore_is_early(struct state *state);

#endif
