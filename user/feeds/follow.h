/* SPDX-License-Identifier: GPL-2.0-only */
/* Bans from whoever sends lines: from a pipe, a file or a command. */
#ifndef FEEDS_FOLLOW_H
#define FEEDS_FOLLOW_H

struct context;

/*
 * path: "-" or a file; or a command, ended by NULL. Until its end, or SIGINT or SIGTERM. 0, -errno with the reason
 * recorded, or 1: some lines were not taken.
 */
int follow_lines(struct context *context, const char *path, char *const *command);

#endif
