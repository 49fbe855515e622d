/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What leaves through an interface, or comes in: a program of tc, before all others that are there. From Linux 6.6 on
 * it is held by a link, as those of XDP are. Before, it is a filter of clsact, and what is pinned in a link's place is
 * the program.
 */
#ifndef KERNEL_TC_H
#define KERNEL_TC_H

#include <linux/types.h>
#include <stdbool.h>

struct attachment;
struct context;
struct pinned;

/* And pins it there. 0, or -errno with the reason recorded. */
int tc_attach(const struct attachment *at, unsigned int ifindex, int root, const char *path);
/* Does that program run there, where `at` says, in this network namespace, and behind how many others? 0 or -errno. */
int tc_runs(const struct attachment *at, __u32 id, bool *runs, unsigned int *behind);

/*
 * Of any attachment but a shared one, from a descriptor of its pin: pinned_info(), with the program that runs now, and
 * where. `where`: the interface where it was; 0: that is not known, and it may have another name by now.
 */
int attachment_runs(const struct context *context, const struct attachment *at, int fd, unsigned int where,
		    struct pinned *now);
/* That program from now on, without a packet in between; and what is pinned is its. 0 or -errno. */
int attachment_turn(const struct context *context, const struct attachment *at, int fd, unsigned int where, int root);
/* Detaches at once. 0 or -errno. */
int attachment_detach(const struct context *context, const struct attachment *at, int fd);

#endif
