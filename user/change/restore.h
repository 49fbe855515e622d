/* SPDX-License-Identifier: GPL-2.0-only */
/* After a reboot: the filter, what waits for confirmation, and the interfaces, as the state holds them. */
#ifndef CHANGE_RESTORE_H
#define CHANGE_RESTORE_H

#include <stddef.h>

struct context;

/* *missing: how many interfaces are not attached; each has been said. 0 or -errno with the reason recorded. */
int restore(struct context *context, size_t *missing);

#endif
