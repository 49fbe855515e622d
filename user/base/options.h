/* SPDX-License-Identifier: GPL-2.0-only */
/* Options that every verb takes, before it or behind it. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "base/context.h"

extern bool opt_json, opt_pretty, opt_quiet, opt_verbose, opt_log_json;
extern bool opt_check;	     /* see whether the command is right, and touch nothing */
extern bool opt_check_words; /* likewise, and read no file */
/* What is read is a line of a file of commands: what holds for all of them is not said there. */
extern bool opt_line;
extern long opt_wait; /* seconds: how long another command may take */
extern const char *opt_state, *opt_bpffs;

/* What an option's value must be; each returns 0, or has said what is wrong and returns EXIT_ERROR. */
typedef int option_fn(int option, const char *value);

/* The one own option of verbs that ask for the guard rails: --force. */
extern bool opt_force;
extern const struct option options_force[];
int options_force_fn(int option, const char *value);

/*
 * Reads the common options, into *context and opt_*, and those of `own` (ended by a zero entry, or NULL), which go to
 * `each`. Afterwards argv holds the operands alone, from 1 on. Returns 0, or EXIT_ERROR when it has said what is wrong.
 */
int options_read(struct context *context, int *argc, char **argv, const struct option *own, option_fn *each);

/* Values of options; each returns 0, or EXIT_ERROR when it has said what is wrong. */
int option_switch(const char *name, const char *value, bool *on);
int option_number(const char *name, const char *value, double lowest, double highest, double *number);
/* Bytes, with K, M or G behind them. */
int option_bytes(const char *name, const char *value, double *bytes);

/* "90", "60s", "10m", "2h", "1d" as seconds, or -1. */
long option_seconds(const char *text);

#endif
