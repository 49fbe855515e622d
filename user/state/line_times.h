/* SPDX-License-Identifier: GPL-2.0-only */
/* How long a line takes in this machine, and the bits a key of the filter in force: rows of the settings' table. */
#ifndef STATE_LINE_TIMES_H
#define STATE_LINE_TIMES_H

#include "filter/line_times.h"

struct state;

/* The number of the machine where they were measured, or where that gave nothing. In front of a size's KiB. And the
 * bits. */
#define SETTING_LINES_OF    "lines of"
#define SETTING_LINE	    "line "
#define SETTING_FILTER_BITS "filter bits"

/* Those of this machine, as they were measured; the usual ones where they were not. */
struct line_times state_line_times(struct state *state);
/* Were they measured here, well or not? */
bool state_line_times_tried(struct state *state);
/* What was measured here: without it, that it gave nothing. */
int state_line_times_put(struct state *state, const struct line_times *times);
/* The filter in force was sized with so many. */
int state_filter_bits_put(struct state *state, double bits_per_key);

#endif
