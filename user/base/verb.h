/* SPDX-License-Identifier: GPL-2.0-only */
/* A verb: the one description for parser, help, completions, batches, config files and the event log. */
#ifndef BASE_VERB_H
#define BASE_VERB_H

#include <limits.h>

#include "base/nearest.h"
#include "base/options.h"
#include "base/words.h"

#define VERB_MANY INT_MAX

enum verb_flags {
	VERB_CHANGES = 1,     /* it changes something, and is recorded as an event */
	VERB_SHOWS_ALONE = 2, /* but without options and operands it only shows */
	VERB_JOINS = 4,	      /* in a batch it is one change together with others */
	VERB_NAMES_LIST = 16, /* its first operand is a list */
	VERB_ERRAND = 32,     /* the process that the service keeps may run it (verbs/errand.c) */
	VERB_IN_CONFIG = 8,   /* it may stand in a config file: repeating it changes nothing */
};

/* A verb as it was called. */
struct call {
	const struct verb *verb;
	struct context *context;
	const void *options; /* what verb->options were read into */
	int n;
	char **operands;
};

typedef int verb_fn(const struct call *call);

struct verb {
	const char *name;
	const char *with;  /* the option that makes it this one of several verbs of the same name */
	const char *group; /* what one wants to do with it and those that follow; NULL: it is in the one before */
	const char *operands, *does;	/* does: NULL where that of the one before it, of the same name, says it */
	const char *more, *examples[2]; /* for its help; examples: what follows "xdp-bloom " */
	const char *also;		/* what people type in its place: "ban block" */
	const char *completes;		/* what an operand is: words, and then <file>, <interface> or <list> */
	const struct option_spec *options;
	int least, most;     /* operands */
	const char *asks;    /* the message for fewer or more; NULL: the operand that is too many is named */
	const char *shows;   /* operands that only show where they are alone: "attacks ladder" */
	const char *if_news; /* the option that the service adds: what already holds is left alone */
	unsigned int flags;
	verb_fn *run;
};

/* The verb of a table (ended by one without a name) that these words call; NULL: none. */
const struct verb *verb_find(const struct verb *table, const struct words *words);
/* The verb that may have been meant by near->word; nearest_text() has it. */
void verb_nearest(const struct verb *table, struct nearest *near);
/* Reads the options, the common ones into the context, and runs it. Returns the exit status. Reorders the words. */
int verb_run(const struct verb *verb, struct context *context, const struct words *words);
/* The list that a line is about; NULL: none. */
const char *verb_list(const struct verb *verb, const struct words *words);
/* The first operands of a line, as they are; returns how many of `most` there are. */
int verb_operands(const struct verb *verb, const struct words *words, const char **operands, int most);

#endif
