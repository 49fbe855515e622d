/* SPDX-License-Identifier: GPL-2.0-only */
/* What a process gives up before it looks at bytes from strangers, 0 or -errno each; and what it has. */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* The capabilities that are in effect, a bit each. */
uint64_t rights_in_effect(void);
/*
 * Do these let a process read the environments of all others? perfmon: CAP_PERFMON is as good as CAP_SYS_PTRACE for
 * that, as from Linux 6.15 on it is where /proc hides nothing. What it takes is called:
 */
bool rights_read_others(uint64_t capabilities, bool perfmon);
#define READING_OTHERS "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"

#endif
