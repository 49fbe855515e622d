/* SPDX-License-Identifier: GPL-2.0-only */
/* What is left to the process that speaks to servers: sockets of the internet, and files that everybody may read. */
#ifndef FETCH_CONFINE_H
#define FETCH_CONFINE_H

#include <stdint.h>

struct fetch_request;

/*
 * Never as root. `body` is all that it can write to, and no more than the request's bytes of it. 0 or -errno with the
 * reason recorded.
 */
int fetch_confine(const struct fetch_request *request);

#endif
