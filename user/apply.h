/* SPDX-License-Identifier: GPL-2.0-only */
/* From the state to the kernel: sets, plan, arrays, proof, programs, commit, switch. */
#ifndef APPLY_H
#define APPLY_H

#include "plan.h"

struct state;

/*
 * Puts what the open state holds into force and commits it. When it fails the state is not committed and the kernel
 * goes on as it was; the reason is recorded.
 */
int apply(struct state *state);

/* Likewise, but only where the kernel does not have this state already: after a reboot, or a command that was killed.
 */
int apply_if_needed(struct state *state);

/* As they are kept; tune changes them. */
struct settings settings_read(struct state *state);

#endif
