/* SPDX-License-Identifier: GPL-2.0-only */
/* What a verb prints on standard output. */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "base/log.h"

/* Once, before any document is made: then none is printed in part where memory ran out. */
void out_begin(void);

/* Prints one document and releases it. Returns EXIT_DONE, or EXIT_ERROR when it could not be written. */
int out_json(const struct context *context, json_t *document);

/* A string from outside, less what is not printable UTF-8. */
json_t *out_text(const char *text);

/* A line with something from outside in it, less what a terminal would obey. The newline is added. */
PRINTF(1, 2) void out_line(const char *fmt, ...);

/* EXIT_DONE if everything that was printed was written. */
int out_end(void);

#define BYTES_TEXT_MAX 32

/* "12.7 MB" */
const char *bytes_text(char buf[BYTES_TEXT_MAX], uint64_t bytes);

#endif
