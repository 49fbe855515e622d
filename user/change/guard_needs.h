/* SPDX-License-Identifier: GPL-2.0-only */
/* Wherever something comes into force, this is asked: would it drop what this machine needs? */
#ifndef CHANGE_GUARD_NEEDS_H
#define CHANGE_GUARD_NEEDS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "sets/ranges.h"

struct generation;
struct live;
struct own_address;
struct state;

/* Of a list that is being loaded: what others than root made needs is left out of it, and the rest not refused. */
struct guard_leaves {
	const struct ranges *version; /* all of the list */
	struct own_address *own;      /* free() them */
	size_t n;
	bool left; /* they have been: who comes now comes too late */
	/* Takes them out of the version, and of the list in the state. 0 or -errno. */
	int (*leave)(void *arg);
	void *arg;
};

/*
 * What a command may do. All zeros: it is refused what would drop a need of this machine that passes now. --force
 * grants that, and the state remembers it for as long as the address is banned: whoever comes after is not asked again.
 */
struct guard {
	struct ranges forced; /* --force was given for what bans these */
	bool everything;      /* or for all there is */
	struct ranges lasts;  /* the same, by lines of a batch that do not wait, whatever others do */
	bool all_lasts;	      /* everything is by one of these */
	bool again;	      /* this was in force before: nothing is refused, and nothing granted */
	int64_t waits;	      /* until then for confirmation: so does what is granted for no longer; 0: it does not */
	bool afresh;	      /* it begins to filter where it did not: what it drops already counts, too */
	int64_t until;	      /* and does so until then; 0: for good */
	bool destinations;    /* it begins to ask about those of what comes in */
	bool spare;	      /* what would be refused becomes an exception instead */
	bool spared;	      /* something has become one, or was left out: settle the sets again */
	bool tells;	      /* or is said, and no more */
	bool told;
	const char *list; /* is being loaded from `text`, a descriptor, of which the state has nothing yet */
	int text;
	struct guard_leaves *leaves; /* NULL: nothing may be left out of it */
	bool fixed;		     /* an image: there is nothing that could be taken out */
};

/* `forced` is one of the two sets of a guard. */
int guard_force(struct ranges *forced, const struct ranges *set);
int guard_force_prefix(struct ranges *forced, struct addr first, unsigned int length);
void guard_free(struct guard *guard);

/*
 * covering() is like ranges_covering(), for what is to drop; who: the subject of the message, NULL: the prefix. 0;
 * -GUARD_REFUSED with the need and its source in the reason; or another -errno. With `whole`, covering() speaks for all
 * that will be dropped: grants of what is not among it end.
 */
typedef int guard_covering_fn(const void *arg, struct addr addr);
int guard_needs(struct guard *guard, struct state *state, const struct live *live, guard_covering_fn *covering,
		const void *arg, const char *who, bool whole);
int guard_set(struct guard *guard, struct state *state, const struct live *live, const struct ranges *set, bool whole);
/* The generation in force, where nothing of it changes. */
int guard_in_force(struct guard *guard, struct state *state, const struct live *live);

/* These are not banned any more. */
int guard_gone(struct state *state, const struct ranges *gone);

/*
 * Without a roster the filter drops some addresses by chance. All needs, so that what is about to go live can be asked
 * for each; free() them. The decision of arrays for an address is the packet's.
 */
int guard_all(const struct guard *guard, struct state *state, struct own_address **needs, size_t *n);
__u32 guard_decide(const struct generation *g, struct addr addr);

#endif
