/* SPDX-License-Identifier: GPL-2.0-only */
/* What a process gives up before it looks at bytes from strangers. Each returns 0 or -errno. */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <stddef.h>
#include <sys/resource.h>

struct sock_filter;

/* Never more than it was. */
int rights_limit(int what, rlim_t value);
/* So much memory beyond what is mapped already. */
int rights_limit_memory(size_t memory);
/*
 * From root to a user of its own: processes of one that there is, such as nobody, could stop it while a lock is held. A
 * namespace may not know it, and a service under NoNewPrivileges cannot become another user: then no rights are what is
 * left of root.
 */
int rights_own_user(void);
/* No capabilities, none by another program, and nobody looks into its memory. */
int rights_drop(void);
/* From now on only these calls; see base/calls.h. */
int rights_calls(const struct sock_filter *filter, size_t n);

#endif
