/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A server on this machine that is asked by http://, where nothing but who listens says who answers: any user may
 * listen at a port of loopback that nobody has. The kernel says whose sockets they are.
 */
#ifndef FETCH_SERVER_HERE_H
#define FETCH_SERVER_HERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sets/address.h"

struct server_here {
	bool here, bare; /* on this machine; and without TLS */
	uid_t also;	 /* who is believed beside root; 0: nobody */
	struct addr at[2];
	size_t n, chosen; /* a name has two addresses: the one where somebody is believed */
	unsigned int port;
	const char *rest; /* of the URL, behind its host */
	uint64_t seen;	  /* which sockets listened; 0: the kernel does not say */
	bool strange;	  /* somebody else's did */
};

/* What the URL says, which must outlive it. 0 or -errno with the reason recorded. */
int server_here_read(struct server_here *here, const char *url);
/* May it be asked? 0 or -errno with the reason recorded. */
int server_here_may(struct server_here *here);
/* Has nobody else answered in its place since then? */
int server_here_same(struct server_here *here);
/* Where it is asked, by address: a name could lead to the other one. */
#define SERVER_HOST_MAX (PREFIX_TEXT_MAX + 2)
const char *server_here_host(char host[SERVER_HOST_MAX], const struct server_here *here);

#endif
