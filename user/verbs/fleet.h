/* SPDX-License-Identifier: GPL-2.0-only */
/* fleet: what its files share. */
#ifndef VERBS_FLEET_H
#define VERBS_FLEET_H

#include "base/options.h"

struct call;
struct context;

struct fleet_verb_options {
	struct number entries, ttl, quorum;
	const char *wide, *rate;
	bool shadow;
	const char *as, *user, *password_file, *ca, *say, *prefix, *read, *server_user;
	struct number pace;
};

/* Each returns the exit status. */
int fleet_join(const struct call *call, const struct fleet_verb_options *options);
int fleet_leave(const struct call *call);
int fleet_resync(const struct call *call);
int fleet_print_acl(const struct call *call, const struct fleet_verb_options *options);
int fleet_init(const struct call *call);
int fleet_take_part(const struct call *call);
/* Alone: the members, and what goes to and fro. */
int fleet_show(const struct context *context);

#endif
