/* SPDX-License-Identifier: GPL-2.0-only */
/* What was learned of how much sources send, in the state directory. */
#ifndef OBSERVE_LEARNED_H
#define OBSERVE_LEARNED_H

#include <jansson.h>

struct context;

/* The document takes the place of the one before; 0 or -errno with the reason recorded. */
int learned_write(const struct context *context, const json_t *document);
/* NULL: there is none, or it is not sound. */
json_t *learned_read(const struct context *context);

#endif
