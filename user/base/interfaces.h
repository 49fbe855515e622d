/* SPDX-License-Identifier: GPL-2.0-only */
/* Every interface that there is. */
#ifndef BASE_INTERFACES_H
#define BASE_INTERFACES_H

#include <net/if.h>

/*
 * As if_nameindex() and if_freenameindex() are. The C library's ends before an interface with many other names, without
 * an error: whatever is behind that one is not there for it.
 */
struct if_nameindex *interfaces_all(void);
void interfaces_free(struct if_nameindex *all);

#endif
