/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the web server listens. */
#ifndef OBSERVE_WEB_ADDRESS_H
#define OBSERVE_WEB_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* ADDRESS:PORT, [ADDRESS]:PORT or PORT, which is of 127.0.0.1; -EINVAL with the reason recorded. */
int web_address(struct sockaddr_storage *address, const char *where);
/* Does nobody but this machine reach it? */
bool web_address_is_local(const struct sockaddr_storage *address);
/* A socket that listens there; -errno. */
int web_socket(const struct sockaddr_storage *address);

#endif
