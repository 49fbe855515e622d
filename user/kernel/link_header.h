/* SPDX-License-Identifier: GPL-2.0-only */
/* With which header packets come to a program on an interface. */
#ifndef KERNEL_LINK_HEADER_H
#define KERNEL_LINK_HEADER_H

#include <stdbool.h>

struct attachment;

/*
 * 0: that of Ethernet, or with *bare none before that of IP. An error: neither, with the reason recorded; there the
 * program would read addresses at the wrong place, and let all pass. To programs of tc the kernel says where IP begins,
 * on any kind of interface.
 */
int link_header(const struct attachment *at, bool *bare);

/* A tunnel of which XDP's programs are shown the outer header, while those of tc see what came through it. */
bool link_shows_outer(const char *ifname);
/* There it is to be in tc mode. */
void link_fit(struct attachment *at);

#endif
