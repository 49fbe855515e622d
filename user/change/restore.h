/* SPDX-License-Identifier: GPL-2.0-only */
/* After a reboot: the filter, the timer of unconfirmed changes, and the interfaces, as they are in the state. */
#ifndef CHANGE_RESTORE_H
#define CHANGE_RESTORE_H

#include <stddef.h>

struct context;

/* *missing: how many interfaces could not be attached; each was reported. 0 or -errno with the reason recorded. */
int restore(struct context *context, size_t *missing);

#endif
