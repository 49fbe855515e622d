/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaches to interfaces: to all that are named, or to none. */
#ifndef CHANGE_ATTACH_H
#define CHANGE_ATTACH_H

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

/*
 * *done_n were attached now; free() them, after failures too. *missing: at least one is remembered, as it does not
 * exist, or, of ports, cannot be attached yet, or goes back unless it is confirmed. 0 or -errno with the reason
 * recorded.
 */
int attach_interfaces(struct context *context, const struct attach_options *options, char *const *names, int n,
		      struct attachment **done, int *done_n, bool *missing);

#endif
