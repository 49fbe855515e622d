/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * After a step back to a version that knows no fleet, and forward again: what that version has banned or taken out is
 * this machine's own word, what members say holds as they say it, and the fleet is told. What members said before an
 * image that went back is judged here, too.
 */
#ifndef CHANGE_STEPPED_BACK_H
#define CHANGE_STEPPED_BACK_H

#include <stddef.h>

struct state;
struct touched;

/* *n: so many prefixes were not what is said of them. They are touched then. 0 or -errno with the reason recorded. */
int stepped_back(struct state *state, struct touched *touched, size_t *n);

#endif
