/* SPDX-License-Identifier: GPL-2.0-only */
/* A small web server: pages of text, one request after the other. The service's loop drives it: there is no thread. */
#ifndef OBSERVE_WEB_SERVER_H
#define OBSERVE_WEB_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	WEB_OK = 200,
	WEB_NO_TOKEN = 401,
	WEB_FORBIDDEN = 403,
	WEB_NOT_FOUND = 404,
	WEB_ONLY_GET = 405,
	WEB_MISDIRECTED = 421,
	WEB_FAILED = 500,
	WEB_UNAVAILABLE = 503,
};

struct web_page {
	unsigned int status;
	const char *type;
	char *text; /* the server frees it; NULL: no memory for it */
	size_t size;
	const char *policy; /* what a browser may do with it; NULL: nothing */
	bool ends;	    /* the connection: who comes again is not waited for in a place of the few */
};

struct web_request {
	const char *path;
	const char *token; /* behind "Authorization: Bearer"; NULL: none */
	bool crowd;	   /* every place is taken */
};

/* A page of this line. */
void web_line(struct web_page *page, unsigned int status, const char *line);

typedef void web_answer(void *arg, const struct web_request *request, struct web_page *page);

struct web_server;

/*
 * where: ADDRESS:PORT, or PORT on 127.0.0.1. hosts: the names by which it is asked, besides its own; with commas.
 * 0 or -errno with the reason recorded.
 */
int web_listen(struct web_server **server, const char *where, const char *hosts, web_answer *answer, void *arg);
void web_close(struct web_server *server);
/* Does it listen to other machines, too? */
bool web_is_open(const struct web_server *server);

/* What to poll; returns how many. When one is ready, or after web_timeout() ms (-1: forever), web_serve(). */
#define WEB_CLIENTS 16
#define WEB_FDS	    (WEB_CLIENTS + 2)
unsigned int web_fds(struct web_server *server, struct pollfd fds[WEB_FDS]);
int web_timeout(struct web_server *server);
void web_serve(struct web_server *server);

#endif
