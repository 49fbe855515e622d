/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector in the state: is it on, its limits, and how long it bans. */
#ifndef STATE_LIMITS_H
#define STATE_LIMITS_H

#include <stddef.h>

#include "filter/ladder.h"
#include "filter/limits.h"

struct state;

/* As they are kept; what is not, or without a state (NULL), is as in limits.h. */
/* Whether what is of interfaces is damaged, state_settings_fault() says, too. */
struct limits state_limits(struct state *state);
int state_limits_put(struct state *state, const struct limits *limits);

/*
 * How long the detector bans, in seconds, the first time and each time after it: 1 to LADDER_STEPS, each longer than
 * the one before. As it is kept, or by default.
 */
#define LADDER_LEAST 10u
#define LADDER_MOST  (365u * 24 * 60 * 60)
int state_ladder(struct state *state, unsigned int seconds[LADDER_STEPS], size_t *n);
int state_ladder_put(struct state *state, const unsigned int *seconds, size_t n);

/* Their names among the settings. */
#define SETTING_DETECT	 "detect"
#define SETTING_NETWORKS "detect_networks"
/* When learning began and ends, in s since 1970; 0: it does not. */
#define SETTING_LEARN_FROM	"learn_from"
#define SETTING_LEARN_UNTIL	"learn_until"
#define SETTING_DETECT_PPS	"detect_pps"
#define SETTING_DETECT_SUSPECTS "detect_suspects"
#define SETTING_LADDER		"ladder_" /* and the number of the step, from 1 on; 0: there are no more */
#define SETTING_NAME_MAX	32
/* Of its rate; or, with "_burst" or "_then" behind it, of these. */
void limit_setting(char name[SETTING_NAME_MAX], enum packet_class class, const char *what);
/* In front of an interface's name and the limit's: of what comes in there alone. */
#define SETTING_ON "on "

#endif
