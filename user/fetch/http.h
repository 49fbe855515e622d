/* SPDX-License-Identifier: GPL-2.0-only */
/* One list from one server, by libcurl. */
#ifndef FETCH_HTTP_H
#define FETCH_HTTP_H

struct fetch_answer;
struct fetch_request;
struct own_addresses;

/* Before the process gives up its rights: what the library reads once. 0 or -errno with the reason recorded. */
int http_begin(void);
/* headers: lines of a file, for the request's own server alone. The body goes to `body`. */
void http_fetch(const struct fetch_request *request, const char *headers, const struct own_addresses *own, int body,
		struct fetch_answer *answer);

#endif
