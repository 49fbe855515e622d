/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files named edit*.c share. */
#ifndef FILTER_EDIT_INTERNAL_H
#define FILTER_EDIT_INTERNAL_H

#include "filter/edit.h"

enum step_kind {
	STEP_HOST,    /* an IPv4 address into roster, filter and gate */
	STEP_NET24,   /* a /24 into the gate */
	STEP_RELABEL, /* an address that a shadow list had, or a live ban with another end */
	STEP_KEY6,    /* an IPv6 key into roster, filter and gate */
	STEP_CLEAR4,
	STEP_CLEAR6,
	STEP_SHIFT, /* the key in the slot moves on, for another that moves there */
};

struct step {
	enum step_kind kind;
	__u8 gate; /* what a /24 becomes */
	__u8 label;
	__u8 rung, slot, to_slot;
	bool move; /* the key in the slot goes to to_slot of bucket `to` first */
	__u64 bucket, to;
	ip6 key; /* the address, the number of the /24, or the first address of the IPv6 key */
};

/* Where the roster has it; false: nowhere. */
bool place_find4(const struct generation *g, __u32 addr, struct step *at);
/* And its label. */
bool place_find6(const struct generation *g, unsigned int rung, ip6 first, struct step *at, __u8 *label);

/* A place for a new key: fills in bucket, slot and move. -EAGAIN where there is no room within a few moves. */
int place_choose4(struct edit *edit, __u32 addr, struct step *step);
int place_choose6(struct edit *edit, ip6 first, struct step *step);

int edit_step(struct edit *edit, const struct step *step);

/* No later step may take that slot, or move the key in it. */
int place_take(struct edit *edit, int family, __u64 bucket, unsigned int slot);
bool place_is_taken(const struct edit *edit, int family, __u64 bucket, unsigned int slot);

#endif
