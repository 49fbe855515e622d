/* SPDX-License-Identifier: GPL-2.0-only */
/* What time it is on the server: by it every ban is dated, whatever the members' own clocks say. */
#ifndef FLEET_SERVER_CLOCK_H
#define FLEET_SERVER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Of this machine, in ms, also while it is suspended. */
int64_t boot_ms(void);

struct server_clock {
	bool known;
	int64_t ahead; /* of boot_ms() */
	int64_t rtt;   /* of the answer that it was learned from */
	int64_t since; /* by boot_ms() */
};

/* It answered `server`, in ms since the epoch, to what was asked at `asked` and heard at `heard`. */
void server_clock_learn(struct server_clock *c, int64_t server, int64_t asked, int64_t heard);
/* In ms since the epoch. */
int64_t server_now(const struct server_clock *c);
/* How far it is ahead of this machine's date, in ms. */
int64_t server_clock_offset(const struct server_clock *c);

#endif
