/* SPDX-License-Identifier: GPL-2.0-only */
/* What was remembered under another name of an interface, before it was there. */
#ifndef CHANGE_OWN_NAMES_H
#define CHANGE_OWN_NAMES_H

#include "state/state.h"

/* Each such entry, of an interface or of what has ports, gets the interface's own name; what waits to be confirmed
 * keeps what it was called, and so does what another interface was attached as. 0 or -errno with the reason recorded;
 * commits what it has changed. */
int own_names_settle(const struct context *context, struct state *state);

#endif
