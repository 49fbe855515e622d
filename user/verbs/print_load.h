/* SPDX-License-Identifier: GPL-2.0-only */
/* What the load verb prints. */
#ifndef VERBS_PRINT_LOAD_H
#define VERBS_PRINT_LOAD_H

#include "base/context.h"
#include "change/load.h"

/* Both return the exit status. */
int loaded_text(const struct context *context, const struct loaded *l, const struct load_options *o);
int loaded_json(const struct loaded *l, const struct load_options *o);

#endif
