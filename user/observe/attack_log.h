/* SPDX-License-Identifier: GPL-2.0-only */
/* The attacks that the service has seen, from the event log, which is not ours alone to write. */
#ifndef OBSERVE_ATTACK_LOG_H
#define OBSERVE_ATTACK_LOG_H

#include <jansson.h>
#include <stdbool.h>

#include "base/span.h"

/* The oldest first. */
json_t *attack_log(const char *directory);

/* Of an event, if it is one of an attack; one that has ended takes the place of its beginning. */
void attack_take(json_t *attacks, const json_t *event);

/* "3 min", "not over", "-" */
const char *attack_lasted(char text[SPAN_TEXT_MAX], const json_t *attack);
/* "many sources, DNS reflection"; of what an earlier service has written only who is known. */
#define ATTACK_TEXT_MAX 160
const char *attack_text(char text[ATTACK_TEXT_MAX], const json_t *attack);
/* Field as text; "-" without one. */
const char *attack_field(const json_t *attack, const char *field);
/* Packets above a limit, and without a place. */
unsigned long long attack_packets(const json_t *attack);

#endif
