/* SPDX-License-Identifier: GPL-2.0-only */
/* A change that was not confirmed in time, and has not gone back: for status, /healthz and the page. */
#ifndef OBSERVE_OVERDUE_H
#define OBSERVE_OVERDUE_H

#include <stdbool.h>
#include <stddef.h>

struct state;

#define OVERDUE_TEXT_MAX 192

/* Is there one that is late by more than it takes to go back? 0, or why that is not known. */
int overdue_trouble(struct state *state, char text[OVERDUE_TEXT_MAX]);

#endif
