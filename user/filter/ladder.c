// SPDX-License-Identifier: GPL-2.0-only
#include "filter/ladder.h"

#include <math.h>

/* Strikes beyond the last step are as many as it has: a shorter ladder may have been set since. */
static unsigned int on_ladder(const struct ladder *ladder, unsigned int strikes)
{
	return strikes < ladder->n ? strikes : (unsigned int)ladder->n;
}

unsigned int ladder_left(const struct ladder *ladder, unsigned int strikes, int64_t ended, int64_t now)
{
	for (strikes = on_ladder(ladder, strikes); strikes; strikes--) {
		int64_t step = ladder->seconds[strikes - 1];

		if (now < ended || now - ended < step)
			break;
		ended += step;
	}
	return strikes;
}

int64_t ladder_seconds(const struct ladder *ladder, unsigned int strike, double random)
{
	double step = ladder->seconds[on_ladder(ladder, strike) - 1];
	int64_t seconds = llround(step * (1 - LADDER_SPREAD + 2 * LADDER_SPREAD * random));

	return seconds < 1 ? 1 : seconds;
}

int64_t ladder_falls(const struct ladder *ladder, unsigned int strikes)
{
	int64_t seconds = 0;

	for (strikes = on_ladder(ladder, strikes); strikes; strikes--)
		seconds += ladder->seconds[strikes - 1];
	return seconds;
}
