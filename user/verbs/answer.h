/* SPDX-License-Identifier: GPL-2.0-only */
/* What several verbs print. */
#ifndef VERBS_ANSWER_H
#define VERBS_ANSWER_H

#include <jansson.h>

struct generation;
struct stage_bytes;

/* The end of a verb that changed something: with --json, the generation that is in force now. */
int out_done(void);

json_t *out_rungs(const struct generation *g);
json_t *out_memory(const struct stage_bytes *bytes);

#endif
