/* SPDX-License-Identifier: GPL-2.0-only */
/* From the detector's own bans, which last for the first step of the ladder, to live bans of the step that is due. */
#ifndef CHANGE_JAIL_H
#define CHANGE_JAIL_H

#include <stddef.h>

#include "sets/prefixes.h"
#include "sets/ranges.h"
#include "state/bans.h"

struct change;
struct context;

/* What is done and said once the change is made. */
struct jail {
	struct ranges let_go; /* that the detector bans: its own bans of them end */
	struct jailed {
		struct ban ban;
		unsigned int strikes;
	} * at;
	size_t n;
	struct refused {
		struct addr first;
		unsigned int length;
		char why[256];
	} * refused;
	size_t refused_n;
	struct spared *spared; /* whom the detector is not to ban again */
	size_t spared_n;
};

/*
 * Whom this machine needs is let go at once, without the lock and a disk that takes something: /32 and /64, for
 * jail_move() to say so. The caller frees them. Where one that it needs no more sends too much, or others leave no
 * room, the detector may ban all those again.
 */
int jail_spare(const struct context *context, struct ranges *needed);
/* The same by a command where no service does it; it says so itself. No error, but a warning. */
void jail_spare_alone(const struct context *context);
/*
 * Makes live bans of all whom the detector bans by itself, or (not NULL) of those in `only`, but for those that are
 * banned for as long already, or allowed, whatever becomes of what waits, and those that a guard rail keeps: they are
 * let go, and the detector is told. needed: who was let go before, or NULL.
 */
int jail_move(struct change *change, const struct ranges *only, const struct ranges *needed);
/* Those: a /32 or a /64 each. The caller frees them. */
int jail_all(const struct context *context, struct prefix **at, size_t *n);
/* The same as a set; empty where nothing detects. */
int jail_set(const struct context *context, struct ranges *set);
/* The detector lets these go, too. */
int jail_let_go(struct change *change, struct addr first, unsigned int length);
/* Does the detector ban somebody of that prefix by itself? */
bool jail_has(const struct context *context, struct addr first, unsigned int length);

/* After the commit. */
void jail_made(const struct context *context, struct jail *jail, unsigned long long generation);
void jail_free(struct jail *jail);

#endif
