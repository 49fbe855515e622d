/* SPDX-License-Identifier: GPL-2.0-only */
/* What a verb prints on standard output. */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"

/* Prints one document and lets go of it. Returns EXIT_DONE, or EXIT_ERROR when it could not be written. */
int out_json(json_t *document);

/* The end of a verb that changed something: with --json, the generation that is in force now. */
int out_done(void);

/* A string from outside, in which only what is UTF-8 and printable stays. */
json_t *out_text(const char *text);

struct generation;
struct stage_bytes;

json_t *out_rungs(const struct generation *g);
json_t *out_memory(const struct stage_bytes *bytes);

/* EXIT_DONE if everything that was printed got out. */
int out_end(void);

#define UTC_TEXT_MAX 32

/* UTC, as 2026-01-01T00:00:00Z. */
const char *utc_text(char buf[UTC_TEXT_MAX], int64_t seconds);

#define NUMBER_TEXT_MAX 48

/* Any number as decimal digits. */
const char *number_text(char buf[NUMBER_TEXT_MAX], ip6 number);
/* "12.7 MB" */
const char *bytes_text(char buf[NUMBER_TEXT_MAX], uint64_t bytes);

#endif
