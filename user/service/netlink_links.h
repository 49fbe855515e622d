/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces that come, as the kernel tells it. */
#ifndef SERVICE_NETLINK_LINKS_H
#define SERVICE_NETLINK_LINKS_H

/* A descriptor that becomes readable when an interface came or changed, or -errno. */
int links_open(void);
/* Calls `seen` for each of them; with NULL where some were missed. */
void links_read(int fd, void (*seen)(void *arg, const char *name), void *arg);

#endif
