/* SPDX-License-Identifier: GPL-2.0-only */
/* What of a need is dropped already: with scopes, some packets of it may be, and others not. */
#ifndef CHANGE_GUARD_BEFORE_H
#define CHANGE_GUARD_BEFORE_H

#include <stdbool.h>

struct live;
struct own_address;
struct state;

enum dropped_before {
	DROPPED_NOT,
	DROPPED_LESS, /* of the packets that the state's lists and bans drop of it, only some */
	DROPPED_AS_NOW
};

/* image: what is to drop it is an image, whole. What cannot be found out is taken for less. */
enum dropped_before guard_before(struct state *state, const struct live *live, const struct own_address *own,
				 bool image);

#endif
