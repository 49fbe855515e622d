/* SPDX-License-Identifier: GPL-2.0-only */
/* The root program, its slot and the counters, which are loaded once and stay. */
#ifndef KERNEL_ROOT_H
#define KERNEL_ROOT_H

struct context;

/* Makes the bpffs directory ready. */
int kernel_ready(const struct context *context);

/* Loads and pins them, unless they are there. */
int kernel_base(const struct context *context);
/* May packets lie in several buffers, as with jumbo frames? The kernel decided when the root was loaded (5.18).
 * 1, 0 or -errno. */
int kernel_frags(const struct context *context);

#endif
