/* SPDX-License-Identifier: GPL-2.0-only */
/* The root on interfaces: through a pinned link of its own, or beside other programs through libxdp. */
#ifndef KERNEL_ATTACH_H
#define KERNEL_ATTACH_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/attachment.h"

/*
 * Attaches to one interface, and sets mode and shared to what it became. -EEXIST: it is attached already. -EXDEV: the
 * interface that had this name is still filtered in another network namespace, where it has the same number.
 */
int attach_one(const struct context *context, struct attachment *at);
/* The same errors, as far as they can be found without attaching. */
int attach_may(const struct context *context, const struct attachment *at);

/* The one that has that label (base/label.h), on the interface of that name today: 0, or -ENOENT. */
int attach_is(const struct context *context, const char *label, struct attachment *at);
/*
 * That one is in another mode from now on, `then`, or beside others: the new one is there before the old one goes. Both
 * are, where it is killed in between: attach_settle(). `at` becomes what there is.
 */
int attach_instead(const struct context *context, struct attachment *at, struct attachment *then);
/*
 * Of two that are there the one goes that is not by tc, or by XDP, as `kept` is. `instead`: one alone that is in
 * another mode makes room for that. One by tc that was taken for what has another header is read as it should be.
 */
int attach_settle(const struct context *context, const struct attachment *kept, bool instead);
/* That one asks about these addresses (MATCH_...) from now on, without a packet in between that is not judged. */
int attach_rematch(const struct context *context, struct attachment *at, unsigned int match);

/* Its pin has the name that its interface has today, from now on; what is on trial goes back by the one that it had. */
int attach_rename(const struct context *context, const struct attachment *at);

/* Every link of that match (MATCH_KINDS: of any) runs this root from now on, or the one it needs, in place of one that
 * was lost. */
int attach_new_root(const struct context *context, unsigned int match, int root);
/* The same where its pin says so already, and a command was killed before its link did. */
int attach_turned(const struct context *context, const struct attachment *at);
/* One link does, or the root that it needs instead; what is on trial keeps its deadline. */
int attach_turn(const struct context *context, const struct attachment *at, int link, int root);
/* What is attached on trial stays. */
int attach_keep(const struct context *context);

/* Every interface that the filter is on, as the kernel has it; free() the list. */
int attach_list(const struct context *context, struct attachment **list, size_t *n);
/*
 * Of an interface `own` that has that other name: was another one attached as that? Then it is no name to go by:
 * whoever has an interface gives it such names, and so does the root of a container that had it.
 */
bool attach_is_anothers(const struct attachment *list, size_t n, const char *name, unsigned int match, const char *own);

/* What is to be filtered, as the state has it. */
struct attach_kept {
	struct attachment *list;
	size_t n;
};
/*
 * All of these take labels. Both -ENOENT where the filter is not there: the one of that name, or else those attached
 * under it, but for what is kept by its name of today: that stays, and detach_one() says so.
 */
int attach_find(const struct context *context, const char *label, const struct attach_kept *kept);
int detach_one(const struct context *context, const char *label, const struct attach_kept *kept);
/* Is the filter on the interface that has that name today? */
bool attach_is_filtered(const struct context *context, const char *label);
/* If somebody has attached it meanwhile: only the one that has the name today. */
int detach_again(const struct context *context, const char *label);
/* One of attach_list(). */
int detach_at(const struct context *context, const struct attachment *at);
/* Until when a link's root is on trial, by the clock since the start; 0: it is there for good. */
int64_t attach_until(int link);
/*
 * What was attached under that name and was not confirmed, also where its interface has another name by now, or where
 * an attach() was killed before its pin was there.
 */
int attach_take_back(const struct context *context, const char *label);
/* Of what there is: was it attached under that name, and would go back with it? */
bool attach_goes_back(const struct context *context, const struct attachment *at, const char *label);

#endif
