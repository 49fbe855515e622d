// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/server_clock.h"

#include "base/clock.h"

/* Clocks drift apart: an answer that was better is believed for so long. */
#define BETTER_MS 60000

int64_t boot_ms(void)
{
	return clock_ns(CLOCK_BOOTTIME) / 1000000;
}

void server_clock_learn(struct server_clock *c, int64_t server, int64_t asked, int64_t heard)
{
	int64_t rtt = heard - asked, ahead = server - asked - rtt / 2, off = ahead - c->ahead;

	/* Each answer is right within half its time: where two contradict each other, somebody set the clock. */
	if (c->known && rtt > c->rtt && heard - c->since < BETTER_MS && off <= rtt && off >= -rtt)
		return;
	*c = (struct server_clock){ .known = true, .ahead = ahead, .rtt = rtt, .since = heard };
}

int64_t server_now(const struct server_clock *c)
{
	return boot_ms() + c->ahead;
}

int64_t server_clock_offset(const struct server_clock *c)
{
	return server_now(c) - clock_ns(CLOCK_REALTIME) / 1000000;
}
