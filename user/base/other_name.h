/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces may have other names beside their own (`ip link property add dev eth0 altname lan0`). */
#ifndef BASE_OTHER_NAME_H
#define BASE_OTHER_NAME_H

#include <net/if.h>
#include <stdbool.h>

#define OTHER_NAME_MAX 128 /* with its NUL: as the kernel takes them */

/* Is that another name of an interface that is there now? Then *own is what the kernel calls it. */
bool is_other_name(const char *name, char own[IF_NAMESIZE]);

#endif
