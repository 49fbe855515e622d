/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection to the server: what is asked of it, in order, and who takes the answers. */
#ifndef FLEET_SERVER_H
#define FLEET_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "fetch/server_here.h"
#include "fleet/lines.h"
#include "fleet/reply.h"
#include "fleet/request.h"
#include "sets/address.h"

/* Of an answer; arg: server_ask()'s. */
struct taker {
	reply_take *take;
	reply_end *end;	 /* NULL: nothing is to be done */
	reply_end *drop; /* the connection is gone, and there will be no answer; NULL: as above */
	reply_end
		*over; /* it is longer than `most`, and the connection is given up: drop() comes next; NULL: as above */
	uint64_t most; /* bytes; 0: ANSWER_MOST */
};

/* No answer is longer: what a member writes is read by all, and one long text would stop them for as long as it takes.
 */
#define ANSWER_MOST ((uint64_t)64 << 20)

struct tls;

struct server {
	const struct taker *push; /* of what comes without having been asked for; NULL: nothing does */
	void *push_arg;
	int64_t heard; /* anything, by boot_ms() */
	const struct fleet_request *request;
	const struct fleet_url *url;
	int fd; /* -1: there is none */
	bool open;
	struct server_here here;
	struct tls *tls;
	struct outgoing out;
	struct replies *replies;
	struct asked *asked; /* a ring */
	size_t first, n, room;
	uint64_t bytes,
		most;  /* of the answer that comes: so many yet, and may be; whoever takes it may say more or less */
	int64_t since; /* that it waits for an answer, or to be open; by boot_ms() */
	unsigned int turn; /* which of its addresses */
	char why[192];	   /* that it failed; empty: it did not */
	char version[64];  /* of the server, "redis 7.0.15" */
	bool greeted, replica;
};

void server_begin(struct server *s, const struct fleet_request *request, const struct fleet_url *url);
/* What it begins, server_io() goes on with. */
void server_connect(struct server *s);
void server_close(struct server *s);
/* The address that it is at; empty: a socket of this machine. */
void server_peer(const struct server *s, char text[PREFIX_TEXT_MAX]);
/* What to poll for. */
short server_events(const struct server *s, bool may_hear);
/* After poll(2): writes, and reads at most one piece. What went wrong is in s->why, and it is closed. */
void server_io(struct server *s, short events, bool may_hear);
/* It has not answered for so long. */
void server_patience(struct server *s, int64_t now, int64_t patience);

/* The answer is for the taker; NULL: it comes as what nobody has asked for. Where there is no connection, nothing is
 * asked. */
#define ASK(server, taker, arg, ...)                                                                   \
	do {                                                                                           \
		const char *const words_[] = { __VA_ARGS__ };                                          \
		server_ask_words(server, taker, arg, (int)(sizeof(words_) / sizeof(*words_)), words_); \
	} while (0)
void server_ask_words(struct server *s, const struct taker *taker, void *arg, int n, const char *const words[]);
/* Commands that command_add() has made, so many of them. */
void server_ask_made(struct server *s, const struct taker *taker, void *arg, const struct outgoing *commands, int n);

__attribute__((format(printf, 2, 3))) void server_failed(struct server *s, const char *fmt, ...);

#endif
