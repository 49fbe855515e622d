/* SPDX-License-Identifier: GPL-2.0-only */
/* What the state says is attached, and how the kernel comes to have it so. */
#ifndef CHANGE_ATTACHMENTS_H
#define CHANGE_ATTACHMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct attachment;
struct change;
struct context;
struct interface_info;
struct state;

/* Those that are in the state, to be attached as it says there: what is on trial with its deadline. */
int attachments_kept(struct state *state, struct attachment **list, size_t *n);
struct attachment attachment_kept(const struct interface_info *kept);

/* *found: it is in the state, by its label (base/label.h). 0 or -errno. */
int attachment_is_kept(struct state *state, const char *label, bool *found);

/* Of those that were left in two modes by a command that was killed, the one that is kept stays. */
int attachments_settle(const struct context *context, struct state *state);

/* It is as the state has it, attached if it was not. False: that cannot be, which was said. */
bool attachment_restore(const struct context *context, struct attachment *at);

/* Says of one that was just attached what others can send past the filter in its mode. */
void attachment_warn(const struct attachment *at);

/* A command that was to change what is asked about was killed while it did: each is as the state says. */
void attachments_complete(const struct change *change);

#endif
