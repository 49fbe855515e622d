/* SPDX-License-Identifier: GPL-2.0-only */
/* All lists together: on whose account each banned address is, which lists only count, and which have a scope. */
#ifndef STATE_SETTLE_H
#define STATE_SETTLE_H

#include "bpf/abi.h"
#include "sets/owned.h"

struct list_info;
struct state;

struct settled {
	struct owned owned;
	struct ranges allowed;
	bool plain; /* one account, and no shadow list: owned is a normal set */
	bool ends;  /* live bans that end have a label of their own */
	__u64 shadows, shadow[LABELS / 64];
	struct scopes *scopes; /* NULL: no list has one */
};

/* 0 or -errno, and then there is nothing to free. */
int settle(struct settled *s, struct state *state);
void settled_free(struct settled *s);

/* Have live bans that end a label of their own? */
bool settle_ends(struct state *state);

bool settled_shadow(const struct settled *s, uint8_t label);

#endif
