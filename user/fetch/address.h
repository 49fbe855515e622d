/* SPDX-License-Identifier: GPL-2.0-only */
/* Which addresses a list may be fetched from: those of the internet, and not this machine or the network around it. */
#ifndef FETCH_ADDRESS_H
#define FETCH_ADDRESS_H

#include <stddef.h>

#include "sets/address.h"

struct sockaddr;

struct own_addresses {
	struct addr *addrs;
	size_t n;
};

/* 0 or -errno; free() addrs. */
int own_addresses_read(struct own_addresses *own);

/* False: it is of neither family. */
bool address_of(struct addr *addr, const struct sockaddr *from);
/* What it is instead of one of the internet: "private"; NULL: it is one. */
const char *address_fault(struct addr addr, const struct own_addresses *own);
/* The same of a host in a URL, in whatever way an address is written there; NULL: it may also be a name. */
const char *host_fault(const char *host, const struct own_addresses *own);

#endif
