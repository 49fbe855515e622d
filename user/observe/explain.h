/* SPDX-License-Identifier: GPL-2.0-only */
/* Which entries of which lists hold an address: traced back to the lines that were read. */
#ifndef OBSERVE_EXPLAIN_H
#define OBSERVE_EXPLAIN_H

#include <stdint.h>

#include "state/members.h"
#include "state/said.h"
#include "state/state.h"

/* A list that holds an address: the entry lo to hi on this line; line 0: only the range is known. */
struct hit {
	size_t list; /* into explanation's lists */
	ip6 lo, hi;
	uint64_t line;
	struct ban *ban;   /* NULL: no live ban */
	struct said *said; /* who says so, where members of a fleet do */
	size_t said_n;
};

/* What holds one of the addresses. */
struct traced {
	struct hit *hits; /* in the order of the lists */
	size_t n;
	bool ran_out; /* its live ban has expired, but no command has run since to remove it */
};

struct explanation {
	uint64_t generation, edits; /* that put these lists into force */
	struct list_info *lists;    /* the last one stands for the live bans */
	struct ranges *sets;
	size_t n;
	bool image;	       /* an image is in force: its lists have names and labels, but no sets */
	struct traced *traced; /* for each address */
	size_t addrs_n;
	struct member *members; /* of the fleet */
	size_t members_n;
};

int explain(const struct context *context, struct explanation *e, const struct addr *addrs, size_t n);
/*
 * The same for lists that e->lists and e->sets have already, without live bans. paths: the file that each was read
 * from; NULL: it is loaded.
 */
int explain_files(const struct context *context, struct explanation *e, const char *const *paths,
		  const struct addr *addrs, size_t n);
void explain_free(struct explanation *e);

/* Who that is; NULL: this machine itself. */
const char *explain_member(const struct explanation *e, const struct said *said);

/* The hit that decides: the first allow list, or the first ban, or the first shadow; NULL where no list holds it. */
const struct hit *explain_decider(const struct explanation *e, size_t addr);

/*
 * The same for a packet of which so much is known: a list with a scope that does not take it is passed over. *takes:
 * SCOPE_PERHAPS where that depends on more.
 */
const struct hit *explain_decider_of(const struct explanation *e, size_t addr, const struct scope_asked *asked,
				     enum scope_takes *takes);

#define HIT_TEXT_MAX 128

/* "10.0.0.0/8", or "10.0.0.1-10.0.0.9" where that is no prefix. */
const char *hit_text(char buf[HIT_TEXT_MAX], const struct hit *hit, int family);

#endif
