/* SPDX-License-Identifier: GPL-2.0-only */
/* How far a command is: on standard error where that is a terminal, once it has taken a second. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

struct context;

/* part: from 0 to 1; below 0: nobody knows, and `what` is all there is. Not with --quiet or --json. */
void progress(const struct context *context, const char *what, double part);
/* The same, where quiet and json were asked for already. */
void progress_show(const char *what, double part);
/* How much of an open file has been read; below 0 where it has no end that is known. */
double progress_of(int fd);
/* The line is the terminal's again. Before anything else is printed. */
void progress_end(void);

#endif
