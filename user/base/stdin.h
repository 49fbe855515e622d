/* SPDX-License-Identifier: GPL-2.0-only */
/* Standard input: one reader reads all of it. */
#ifndef BASE_STDIN_H
#define BASE_STDIN_H

struct context;

/* 0 for the first reader, then -EBUSY; -EINVAL for a line of a file of commands. Records the reason. */
int standard_input(const struct context *context);

/*
 * A copy of what can be read but once, to be read from its beginning, as a descriptor; or -errno. Whoever writes it may
 * take his time: to be called before anybody has to wait for us.
 */
int standard_keep(int from);

#endif
