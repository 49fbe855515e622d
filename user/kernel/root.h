/* SPDX-License-Identifier: GPL-2.0-only */
/* The root program, its slot and the counters: what is loaded once and stays. */
#ifndef KERNEL_ROOT_H
#define KERNEL_ROOT_H

struct context;

/* The bpffs directory is there and ours, and we may load programs. */
int kernel_ready(const struct context *context);

/* The root, its slot and the counters are loaded and pinned. */
int kernel_base(const struct context *context);
/* May packets lie in several buffers, as with jumbo frames? The kernel decided when the root was loaded (5.18).
 * 1, 0 or -errno. */
int kernel_frags(const struct context *context);

#endif
