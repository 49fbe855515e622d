/* SPDX-License-Identifier: GPL-2.0-only */
/* Options: a table says what each is called, what it takes, and where it goes. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

struct nearest;

/* What an option takes, and the type of its target, which is zeros where the option was not given. */
enum option_type {
	OPTION_SWITCH,	  /* nothing; bool */
	OPTION_KIND,	  /* nothing; int, which becomes `least`; not together with what `wants` names */
	OPTION_TEXT,	  /* const char *; of at most `most` bytes where that is not 0 */
	OPTION_FILE,	  /* the same, and completions look for a file */
	OPTION_DIRECTORY, /* the same */
	OPTION_WORD,	  /* one of `words`; int: which, counted from 1 */
	OPTION_TIME,	  /* "90s", "1h30m", whole seconds unless `least` is a part of one; struct number */
	OPTION_TIME_OR_0, /* the same */
	OPTION_WHOLE,	  /* struct number, as for those that follow */
	OPTION_NUMBER,
	OPTION_BYTES, /* "64M" */
	OPTION_READ,  /* what read() makes of it */
};

struct number {
	bool given;
	double value;
};

struct option_spec {
	const char *name;
	char letter;
	bool optional; /* its value may be left out; then it is "" */
	bool for_all;  /* it holds for all lines of a file of commands, and does not stand in one */
	bool hidden;   /* only for a command that starts itself */
	enum option_type type;
	size_t target;
	/* For the help. value: NULL where words or the type say it; does: NULL where that of the next says it, too. */
	const char *value, *does;
	const char *const *words;	      /* ended by NULL */
	const char *const *(*words_of)(void); /* only for completions */
	double least, most;
	const char *also;  /* what people type in its place: "--timeout -t" */
	const char *wants; /* what its value must be, for the message; NULL: by the type */
	int (*read)(const struct option_spec *o, void *target, const char *value);
};

extern const char *const option_on_off[]; /* on: 1, off: 2 */

/* The end of a table: which struct its options are read into. */
#define OPTIONS_END(type)              \
	{                              \
		.target = sizeof(type) \
	}
size_t options_size(const struct option_spec *options);

/* Those that every verb takes. */
extern const struct option_spec options_common[];

/*
 * Reads the common options into *context and those of `own` (ended by one without a name, or NULL) into *target.
 * Afterwards argv holds the operands alone, from 1 on. Returns 0, or EXIT_ERROR after it has printed what is wrong.
 */
int options_read(struct context *context, const struct option_spec *own, void *target, int *argc, char **argv);

/* The log is kept as this says, until the next is read. */
void options_log(const struct context *context);

/* How many words the option takes that this word is, one of `own` or a common one; 0: the word is an operand. */
int option_words(const struct option_spec *own, const char *word);
bool option_is_common(const char *word);
/* Is "--name" one of these? */
bool option_is_of(const struct option_spec *own, const char *word);
/* The one of `own` (or NULL) and of the common ones that may have been meant. */
void option_nearest(struct nearest *near, const struct option_spec *own);

/* For the help: a line for each that is not in `before`, or NULL. Returns how many. */
int options_help(const struct option_spec *options, const struct option_spec *before);
/* For completions: each name and, behind a tab, what it takes: words, or <file>, <directory> or <value>. */
void options_list(const struct option_spec *options);

/* Single values, for the settings; each returns 0, or EXIT_ERROR after it has printed what is wrong. */
int option_number(const char *name, const char *value, double lowest, double highest, double *number);
int option_rate(const char *name, const char *value, double lowest, double highest, double *rate); /* auto: 0 */
int option_bytes(const char *name, const char *value, double *bytes);

#endif
