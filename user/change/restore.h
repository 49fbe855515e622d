/* SPDX-License-Identifier: GPL-2.0-only */
/* After a reboot: the filter, the timer of unconfirmed changes and the interfaces, as they are in the state. */
#ifndef CHANGE_RESTORE_H
#define CHANGE_RESTORE_H

#include <stdbool.h>
#include <stddef.h>

struct context;
struct state;

struct restore_options {
	bool spare; /* what the guard rails would refuse becomes an exception */
	bool force;
};

/* *missing: how many interfaces could not be attached; each was reported. 0 or -errno with the reason recorded. */
int restore(struct context *context, const struct restore_options *options, size_t *missing);
/* It has filtered since before the network was up, and what is needed may be asked about once more. */
bool restore_is_early(struct state *state);

#endif
