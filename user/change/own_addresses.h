/* SPDX-License-Identifier: GPL-2.0-only */
/* The addresses that this machine needs, and where each was found. */
#ifndef CHANGE_OWN_ADDRESSES_H
#define CHANGE_OWN_ADDRESSES_H

#include <stddef.h>

#include "sets/address.h"

struct own_address {
	struct addr addr;
	enum own_source { OWN_INTERFACE, OWN_ROUTE, OWN_NEXTHOP, OWN_RESOLVER, OWN_SSH } source;
	unsigned int number; /* of the interface, the route's table, the nexthop object, the process */
};

/* free() the list. No address is in it twice from the same source. 0 or -errno with the reason recorded. */
int own_addresses(struct own_address **list, size_t *n);

/* "a gateway in use (route table 254)" */
#define OWN_TEXT_MAX 96
const char *own_text(char text[OWN_TEXT_MAX], const struct own_address *own);

#endif
