/* SPDX-License-Identifier: GPL-2.0-only */
/* Which interfaces are ports of which other: of a bridge, a bond, a team or a VRF. */
#ifndef BASE_PORTS_H
#define BASE_PORTS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

struct port_of {
	char name[IF_NAMESIZE], of[IF_NAMESIZE];
	unsigned int ifindex, above;
	bool hands_on; /* all that it receives comes in by the one above, as of a bond's ports */
};

/* All that there are in this network namespace; free() the array. 0 or -errno with the reason recorded. */
int ports_look(struct port_of **ports, size_t *n);
/*
 * Does what this number receives come in by that one? In native mode a bond's program runs in its ports' drivers, and
 * so does that of Azure's hv_netvsc: to it packets have the ports' numbers.
 */
bool ports_hand_on(const struct port_of *ports, size_t n, unsigned int from, unsigned int to);
/* Is it of a kind that has ports, even if it has none yet? */
bool ports_may(const char *name);

#endif
