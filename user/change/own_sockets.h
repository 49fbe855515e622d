/* SPDX-License-Identifier: GPL-2.0-only */
/* What this machine's sockets say of who is connected, and of the servers that it uses. */
#ifndef CHANGE_OWN_SOCKETS_H
#define CHANGE_OWN_SOCKETS_H

#include "change/own_internal.h"

struct nl_socket;

struct connection {
	struct addr peer, local;
	unsigned int peer_port, port, device;
	bool udp, ssh;	       /* it may be an SSH session */
	const char *server_is; /* NULL: by its port it is none that we use */
	uint32_t token;	       /* of MPTCP's connection that it is of; 0: none */
};

/* From here on users are people: what they connect to is not what the machine needs. sshd's sockets are root's. */
#define PEOPLE 1000

enum use { NOT_LOOKED_UP, USES_SERVERS, USES_NONE };

struct sockets {
	struct learned *l;
	struct nl_socket *socket;
	bool *named; /* TCP ports whose guests are guarded */
	struct connection *at;
	size_t n;
	bool udp, sessions, mptcp; /* what is asked about now */
	bool joins;		   /* MPTCP carries what may be a session */
	bool cut_off, more_ssh;	   /* not all servers and guests were seen; not all that may be SSH sessions */
	bool reaches;		   /* an SSH server, by which sessions may come back */
	bool unseen;		   /* it may have a connection that was not */
	struct if_nameindex *links;
	int64_t looked_ns;    /* so long for sessions that are bound to one */
	bool late;	      /* not for all of them */
	uint8_t uses[PEOPLE]; /* enum use, of the system's users */
};

/* What is needed by them is learned; what may be SSH sessions is in `at`. 0, or -errno with the reason recorded. */
int own_sockets_ask(struct sockets *sockets, const struct state *state);
/* Is there such a session, of root? For those that could not all be looked at. */
bool own_sockets_has(struct sockets *sockets, const struct connection *session);
void own_sockets_free(struct sockets *sockets);

#endif
