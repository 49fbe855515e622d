/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces come under the filter, or leave it: all that are named, or none. */
#ifndef CHANGE_ATTACH_H
#define CHANGE_ATTACH_H

#include "base/options.h"
#include "kernel/attach.h"

struct attach_options {
	int mode; /* of enum attach_mode, counted from 1; 0: auto */
	bool shared;
	bool if_needed; /* what is attached already is left alone, what is missing is remembered */
	struct number confirm;
};

/*
 * done has room for all of them; *done_n says how many were attached now, *missing whether one waits until it comes.
 * 0 or -errno with the reason recorded.
 */
int attach_interfaces(struct context *context, const struct attach_options *options, char *const *names, int n,
		      struct attachment *done, int *done_n, bool *missing);

/* Without names: all of them. *stopped: filtering has stopped, but where -errno is returned it comes back. */
int detach_interfaces(const struct context *context, char *const *names, int n, bool *stopped);

#endif
