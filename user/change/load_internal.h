/* SPDX-License-Identifier: GPL-2.0-only */
/* A load on its way, for load.c and what it does with servers. */
#ifndef CHANGE_LOAD_INTERNAL_H
#define CHANGE_LOAD_INTERNAL_H

#include "change/change.h"
#include "change/load.h"
#include "change/packed_change.h"
#include "state/accepted.h"
#include "state/feeds.h"
#include "state/sources.h"

struct begun;

struct load {
	struct context *context;
	struct change *change;
	const struct load_options *options;
	struct reader_options reading;
	const char *name, *path;
	int text; /* what the list was read from: the file, or a copy of standard input */
	bool fetched;
	uint64_t fetch_most;	    /* bytes of it */
	struct fetch_answer answer; /* of its server, and of who has signed it */
	struct begun *begun;	    /* what there was of it as reading began (load_begun.c); NULL: that is not known */
	struct feed *feed;	    /* what keeps it fresh; NULL: nothing does */
	bool aged;		    /* nobody had renewed it: it only counts, or was dropped */
	bool feed_known;	    /* it is kept already */
	bool feed_asked;	    /* the server, so that something came of it */
	bool by_change;		    /* it is asked only for what changes */
	bool whole;		    /* that was of no use */
	bool feed_ends;		    /* the list had one, and has none any more */
	bool bans_again;	    /* it only counted, as nobody had renewed it */
	bool scope_is_news;	    /* it had another */
	bool otherwise;		    /* its scope is another, or how it is read */
	struct source source;
	struct packer *packer;
	struct packed_change packed;
	struct ranges before;
	struct accepted accepted;
	struct guard_leaves leaves;
	bool about_it;	    /* if it fails, that is the list's own: not a kernel or a state that cannot be had */
	struct loaded *out; /* what there is to say about it */
};

/* The options by which it is read again, as on a command line. --force is for this once. */
void load_describe(const struct load *l, char *text, size_t size);

/*
 * Of what kind and scope the list becomes, beside what the state has of it; -EEXIST or -EINVAL with the reason recorded
 * where it cannot.
 */
int load_fits(struct load *l, struct state *state);
/* Is this scope of a list the one that is asked for, or is none? */
bool load_has_scope(const struct load *l, const char *scope);

/* Does the list hold already what it is to hold? */
static inline bool load_is_same_set(const struct load *l)
{
	const struct loaded *out = l->out;

	return out->replaces && !l->otherwise && !out->added4 && !out->added6 && !out->removed4 && !out->removed6;
}

/* Looks what there is of the list, before it is read. */
void load_begins(struct load *l);
/*
 * Under the lock: is it still so? -EBUSY with the reason recorded: what was done meanwhile stays; -EALREADY: somebody
 * else has loaded what the file holds now, and nothing else was asked for.
 */
int load_is_as_begun(const struct load *l);
/* What kept it fresh then, and has been asked for; NULL: nothing did, or it is another by now. */
const struct feed *load_begun_feed(const struct load *l);
void load_begun_free(struct load *l);

/*
 * Fetches its text; -EALREADY where the server says that it is as it was, or where a line of a file has only said that
 * it is to be kept fresh.
 */
int load_feed(struct load *l);
/* Did it fail by what changes alone? Then the whole list is asked for. */
bool load_feed_wants_whole(const struct load *l, int err);
/* It is fetched again, and holds what it held: then nothing is built. */
bool load_feed_is_same(const struct load *l);
/* With the change itself: what keeps the list fresh, or that nothing does any more. */
int load_feed_put(struct load *l, struct state *state);
/*
 * Afterwards: what came of it, where the change has not kept that. False: it says nothing of the list any more, as that
 * was renewed meanwhile, or set otherwise.
 */
bool load_feed_note(const struct load *l, int err);

#endif
