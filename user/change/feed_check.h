/* SPDX-License-Identifier: GPL-2.0-only */
/* A list on a server, tried in all that load does, and loaded by nobody. */
#ifndef CHANGE_FEED_CHECK_H
#define CHANGE_FEED_CHECK_H

#include "change/load.h"

struct context;

struct feed_checked {
	struct loaded loaded;
	bool in_force; /* what was read could be compared with what bans now */
	uint64_t new4; /* addresses that no ban list has */
	ip6 new6;
};

/*
 * from: a URL, or "@NAME". 0, or what load would refuse it with, the reason recorded: `checked` has what is known in
 * any case. loaded_free(&checked->loaded) afterwards.
 */
int feed_check(struct context *context, const struct load_options *options, const char *from,
	       struct feed_checked *checked);

#endif
