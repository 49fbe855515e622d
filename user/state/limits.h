/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector in the state: is it on, and its limits. */
#ifndef STATE_LIMITS_H
#define STATE_LIMITS_H

#include "filter/limits.h"

struct state;

/* As they are kept; what is not, or without a state (NULL), is as in limits.h. */
struct limits state_limits(struct state *state);
int state_limits_put(struct state *state, const struct limits *limits);

/* Their names among the settings. */
#define SETTING_DETECT	 "detect"
#define SETTING_NAME_MAX 32
/* Of its rate; or, with "_burst" or "_then" behind it, of these. */
void limit_setting(char name[SETTING_NAME_MAX], enum packet_class class, const char *what);

#endif
