/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a list, compares it with the one before, checks the guard rails, and puts it into force. */
#ifndef CHANGE_LOAD_H
#define CHANGE_LOAD_H

#include "base/options.h"
#include "change/feed.h"
#include "change/guard_rails.h"
#include "sets/reader.h"
#include "state/state.h"

struct load_options {
	struct reader_options reading;
	int kind;	    /* LIST_ALLOW, LIST_SHADOW or LIST_TRUST; 0: a ban list, or what it was before */
	int bogons;	    /* of enum bogons; 0: the default */
	struct scope scope; /* none: what it had before */
	bool force, ban_own, big_change, wide, dry_run;
	bool if_changed; /* -EALREADY if the list holds this version of the file */
	bool renew;	 /* only a list that holds another version of it; with if_changed */
	bool spare;	 /* what others than root made needs is left out, until it is none any more */
	struct number confirm;
	struct feed_options feed; /* for a URL */
};

/* The result of a load. */
struct loaded {
	struct list_info list;
	struct ranges set;
	struct reader_report read;
	bool bogons_found[64]; /* of each in guard_bogons, whether it was in the list */
	/* Compared with the list of that name before. */
	bool replaces;
	uint64_t added4, removed4, kept4;
	ip6 added6, removed6, kept6;
	struct fetch_answer answer; /* of its server, where it has one; a try that was refused, too */
	int64_t every;		    /* it is fetched again after so many seconds; 0: it is not */
	char left_out[256];	    /* what that is, and who said so; "": nothing */
	char signed_comment[256];   /* what the publisher has signed with it; "" where nobody had to */
};

/* 0 or -errno with the reason recorded. path: "-" is standard input; a URL is fetched; "@NAME" is a feed of the
 * catalog. loaded_free() in any case. */
int load_list(struct context *context, const struct load_options *options, const char *name, const char *path,
	      struct loaded *loaded);
void loaded_free(struct loaded *loaded);

/* What is wrong with that as a list's name; NULL: nothing. */
const char *list_name_fault(const char *name);

#endif
