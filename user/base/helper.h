/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs beside the command that speak to servers: what they link, it does not, and what comes over the network is
 * not near the state. Each gets its request over its standard input, a socket.
 */
#ifndef BASE_HELPER_H
#define BASE_HELPER_H

#include <sys/types.h>

struct helper {
	const char *name, *what; /* "which fetches lists" */
	const char *const *places;
	const char *socket; /* where systemd starts one for each that connects */
	int type;	    /* of the socket: SOCK_STREAM, SOCK_SEQPACKET */
};

/* Where it is, seen from the directory of the command: installed, and in the build. */
#define HELPER_PLACES(program)                                  \
	{                                                       \
		"/../lib/xdp-bloom/" program, "/" program, NULL \
	}

/*
 * A process of it: one that systemd starts, which has none of our rights (a service may have none that would make
 * another user of its own child), or else a child, that ends with us. The socket, or -errno with the reason recorded.
 * *pid: the child; 0: there is none to wait for.
 */
int helper_start(const struct helper *helper, pid_t *pid);
/* Ends a child; another is told nothing more, and may live on. */
void helper_stop(int fd, pid_t pid);

#endif
