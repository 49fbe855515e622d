/* SPDX-License-Identifier: GPL-2.0-only */
/* Starts xdp-bloom-fetch, and believes nothing of what it answers. */
#ifndef FETCH_CLIENT_H
#define FETCH_CLIENT_H

#include "fetch/request.h"
#include "sets/address.h"

/*
 * headers: an open file of header lines, or -1. *body becomes a descriptor of the body, at its beginning, where the
 * outcome is FETCH_NEW; else -1. 0, or -errno with the reason recorded where there is no answer.
 */
int fetch_ask(const struct fetch_request *request, int headers, struct fetch_answer *answer, int *body);

/*
 * Whom it takes to have it once more: who was asked, and who answered, where that one sent elsewhere; or the proxy.
 * Returns how many.
 */
#define FETCH_SERVERS 2
size_t fetch_servers(const struct fetch_answer *answer, struct addr servers[FETCH_SERVERS]);

/* Is this open list signed as the open file says? The key is as public_key_read() gives it. 0, or -errno as above. */
int fetch_verify(const char *key, int list, int signature, struct fetch_answer *answer);

#endif
