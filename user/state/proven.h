/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces where the operator says that nobody can forge a source: the network behind them validates sources. */
#ifndef STATE_PROVEN_H
#define STATE_PROVEN_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/limits.h"

struct state;

int state_prove(struct state *state, const char *name, bool proven);
/* All of them, by name; free() the array. */
int state_proven(struct state *state, struct proven **proven, size_t *n);

#endif
