/* SPDX-License-Identifier: GPL-2.0-only */
/* The root program, its slot and the counters, which are loaded once and stay. */
#ifndef KERNEL_ROOT_H
#define KERNEL_ROOT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/live.h"

/* Makes the bpffs directory ready. */
int kernel_ready(const struct context *context);
/* The same for who only looks: makes none. */
int kernel_ready_to_look(const struct context *context);

/* Loads and pins them, unless they are there. If the slot was lost, it has the generation that the state has again. */
int kernel_base(const struct context *context, struct committed committed);
/*
 * Descriptors, or -errno: of the root of another match (MATCH_...), or of interfaces whose packets begin with IP,
 * loaded and pinned when it is first asked for; and of a root that lets all packets pass from then on, by clock_boot().
 */
int root_of(const struct context *context, unsigned int match, bool bare);
int root_on_trial(const struct context *context, int64_t until, unsigned int match, bool bare);
/* Would the kernel take it? It is loaded, and let go. 0 or -errno. */
struct root_tried {
	bool frags;  /* packets may lie in several buffers */
	bool jitted; /* the kernel does not interpret it */
};
int root_loads(bool bare, struct root_tried *tried);
/* May packets lie in several buffers, as with jumbo frames? The kernel decided when the root was loaded (5.18).
 * 1, 0 or -errno. */
int kernel_frags(const struct context *context);

#endif
