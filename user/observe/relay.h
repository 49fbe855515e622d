/* SPDX-License-Identifier: GPL-2.0-only */
/* The service passes the samples that it reads to other readers, by a socket in the state directory. */
#ifndef OBSERVE_RELAY_H
#define OBSERVE_RELAY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

struct context;
struct sample;

#define RELAY_MAX 16 /* readers at once */

struct relay {
	int listener, client[RELAY_MAX];
	int64_t shut; /* accept_next() */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* -ENAMETOOLONG where the path of the socket would be too long. */
int relay_path(const struct context *context, char *path, size_t size);

int relay_open(const struct context *context, struct relay *relay);
void relay_close(struct relay *relay);

/* Readable when a reader wants to connect; -1: nobody can, for a second, or until it is opened. */
int relay_fd(const struct relay *relay);
void relay_accept(struct relay *relay);

/* Does not wait for readers: a slow one misses some. */
void relay_send(struct relay *relay, const struct sample *sample);

#endif
