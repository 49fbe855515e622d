/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A server on this machine that is asked without TLS, where nothing but who listens says who answers: any user may
 * listen at a port of loopback that nobody has. The kernel says whose sockets they are.
 */
#ifndef FETCH_SERVER_HERE_H
#define FETCH_SERVER_HERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "sets/address.h"

struct nl_socket;

#define HERE_ALSO 3

struct server_here {
	bool here, bare;	  /* on this machine; and without TLS */
	uid_t also[HERE_ALSO];	  /* who is believed beside root; 0: nobody */
	const char *option;	  /* that names such a user */
	struct nl_socket *asking; /* by which; NULL: its own */
	struct addr at[2];
	size_t n, chosen; /* a name has two addresses: the one where somebody is believed */
	unsigned int port;
	const char *rest; /* of the URL, behind its host */
	uint64_t seen;	  /* which sockets listened; 0: the kernel does not say */
	bool strange;	  /* somebody else's did */
};

/* What the URL says, which must outlive it. 0 or -errno with the reason recorded. */
int server_here_read(struct server_here *here, const char *url);
/* The same, of where one is about to connect to: elsewhere nothing is asked. */
void server_here_at(struct server_here *here, const struct sockaddr *to);
/* May it be asked? 0 or -errno with the reason recorded. */
int server_here_may(struct server_here *here);
/* Has nobody else answered in its place since then? */
int server_here_same(struct server_here *here);
/* And is nobody else at the other end of this connection, which was made since? */
int server_here_connected(struct server_here *here, int fd);
/* Who listens there, another before root. False: the kernel does not say. */
bool server_here_whose(const struct sockaddr *at, uid_t *whose);
/* Where it is asked, by address: a name could lead to the other one. */
#define SERVER_HOST_MAX (PREFIX_TEXT_MAX + 2)
const char *server_here_host(char host[SERVER_HOST_MAX], const struct server_here *here);

#endif
