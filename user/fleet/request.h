/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is asked of xdp-bloom-fleet, before anything else: one message of lines "name value" and an empty line, over the
 * stream that all else then goes over, too. So no password stands on a command line.
 */
#ifndef FLEET_REQUEST_H
#define FLEET_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fetch/server_here.h"
#include "fleet/name.h"

#define FLEET_MESSAGE_MAX  8192
#define FLEET_URL_MAX	   512
#define FLEET_PASSWORD_MAX 512
#define FLEET_PREFIX_MAX   64
#define FLEET_PREFIX	   "xdp-bloom:"
#define FLEET_PACE	   50
#define FLEET_PACE_MOST	   60000

struct fleet_request {
	char url[FLEET_URL_MAX];
	char name[MEMBER_NAME_MAX];	   /* this machine's; its keys' */
	char user[64];			   /* empty: the server's default user */
	char password[FLEET_PASSWORD_MAX]; /* empty: none is given */
	char prefix[FLEET_PREFIX_MAX];	   /* of all keys; empty: FLEET_PREFIX */
	char ca[1024];			   /* a file of certificates that are trusted; empty: the system's */
	char read[FLEET_URL_MAX];	   /* where the others are read; empty: at url */
	uint64_t pace;			   /* ms between two readings, at least */
	uint64_t users[HERE_ALSO];	   /* whose a server on this machine may be, beside root's; 0: nobody's */
	struct nl_socket *asking; /* no part of the message, but with it: the kernel is asked by it whose it is; NULL:
				     it is not */
};

/* "redis://redis.example:6379" in its parts. */
struct fleet_url {
	enum { FLEET_TCP, FLEET_TLS, FLEET_UNIX } way;
	char host[256], port[8]; /* host: the path, of a socket */
};

/* NULL, or what is wrong with it. */
const char *fleet_url_read(struct fleet_url *url, const char *text);
const char *fleet_url_fault(const char *text);
/* NULL, or what is wrong with it: patterns of an access list have it in them. */
const char *fleet_prefix_fault(const char *prefix);

/* The length of the message; 0: it is too long, or a text in it has a line's end. */
size_t fleet_request_write(char *message, size_t size, const struct fleet_request *request);
/* Without its empty line. Nothing is believed: false where it is no such message. */
bool fleet_request_read(struct fleet_request *request, char *message, size_t length);

#endif
