/* SPDX-License-Identifier: GPL-2.0-only */
/* What several verbs print. */
#ifndef VERBS_ANSWER_H
#define VERBS_ANSWER_H

#include <jansson.h>

struct context;
struct generation;
struct image;
struct stage_bytes;

/* The end of a verb that changed something: with --json, the generation that is in force now. */
int out_done(const struct context *context);

json_t *out_rungs(const struct generation *g);
json_t *out_memory(const struct stage_bytes *bytes);

/* On one line, or as JSON: the file, what the command did, what is in it. Returns the exit status. */
int image_report(const struct context *context, const struct image *image, const char *path, const char *did);

#endif
