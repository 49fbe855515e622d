/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps of a generation that has lists with a scope. Functions return 0 or -errno with the reason recorded. */
#ifndef KERNEL_SCOPES_H
#define KERNEL_SCOPES_H

struct candidate;
struct context;
struct live;
struct scopes;

/*
 * Makes them for a generation that is about to be loaded, with the numbers that its interfaces have now. Without a
 * context nothing is pinned.
 */
int kernel_scopes(const struct context *context, struct candidate *c, struct scopes *scopes);
/* Interfaces have come, gone, or have another name: the generation in force knows it from now on. */
int kernel_scopes_follow(const struct context *context);
/* As the generation in force has them. -ENOENT: it has none. */
int kernel_scopes_read(const struct live *live, struct scopes *scopes);

#endif
