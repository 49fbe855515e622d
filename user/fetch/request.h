/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is asked of xdp-bloom-fetch, and what it answers: one message each, of lines "name value", over a socket that
 * keeps messages apart. The request comes with the descriptor that the body is written to, and perhaps one of a file of
 * header lines, such as "Authorization: Bearer ...": so no secret stands on a command line. A request without a URL has
 * a key, and comes with a list and its signature instead: is that the key's? It is asked of a process of its own, which
 * has spoken to nobody.
 */
#ifndef FETCH_REQUEST_H
#define FETCH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list_most.h"

#define FETCH_MESSAGE_MAX 16384
#define FETCH_URL_MAX	  2048
#define FETCH_TAG_MAX	  512
/* Of a signature: its comment alone may have 8 KiB. */
#define FETCH_SIGNATURE_MOST 16384

/* A request without a limit has these. */
#define FETCH_CONNECT_SECONDS 10
#define FETCH_SECONDS	      300
#define FETCH_BYTES	      ((uint64_t)64 << 20)
/* What tune may make of that; and of what a list may unpack to, which its reader sees to. */
#define FETCH_BYTES_MOST    LIST_PACKED_MOST
#define FETCH_UNPACKED	    ((uint64_t)512 << 20)
#define FETCH_UNPACKED_MOST LIST_TEXT_MOST
/* The least speed, on average over so many seconds. */
#define FETCH_FLOOR	    1024
#define FETCH_FLOOR_SECONDS 30
#define FETCH_REDIRECTS	    5
#define FETCH_WAY_MAX	    (FETCH_REDIRECTS * 64)

struct fetch_request {
	char url[FETCH_URL_MAX];
	char etag[FETCH_TAG_MAX];  /* of the version that is there */
	char modified[64];	   /* its Last-Modified, as the server wrote it */
	char proxy[FETCH_URL_MAX]; /* empty: none, whatever the environment says; it may have a password in it */
	char ca[1024];		   /* a file of certificates that are trusted; empty: the system's */
	char key[64];		   /* instead of a URL: see public_key.h */
	bool insecure;		   /* http too */
	bool lan;		   /* loopback, private and own addresses too */
	uint64_t connect, seconds, bytes, floor, floor_seconds;
};

enum fetch_outcome {
	FETCH_FAILED, /* `why` says how; the body is of no use */
	FETCH_NEW,    /* 200, and all of it was written */
	FETCH_SAME,   /* 304: the version that is there */
	FETCH_SIGNED, /* by the key of the request */
};

struct fetch_answer {
	int outcome;
	char why[384]; /* one line for people */
	uint64_t status;
	char etag[FETCH_TAG_MAX], modified[64], date[64], type[128];
	char url[FETCH_URL_MAX]; /* that answered in the end */
	char address[64];	 /* that it was connected to */
	char way[FETCH_WAY_MAX]; /* the addresses of those that sent it on, a blank after each */
	bool too_long;		 /* for the request's `bytes` */
	bool here;		 /* it failed on this machine, and not by the server */
	uint64_t retry_after;	 /* seconds; 0: it says nothing */
	uint64_t announced;	 /* Content-Length + 1; 0: none */
	uint64_t bytes;		 /* of the body, as sent */
	/* Of what is signed: the comment that is signed with it, and its "timestamp:" and "version:"; 0: it has none.
	 */
	char comment[256];
	uint64_t signed_at, version;
	uint64_t page; /* text_hash.h of what came with an error; 0: nothing */
};

/* NULL, or what is wrong with it: of a URL that can be fetched at all. */
const char *fetch_url_fault(const char *url, bool insecure);

/* Each writes or reads a whole message. Writing returns its length; 0: it is too long. */
size_t fetch_request_write(char *message, size_t size, const struct fetch_request *request);
size_t fetch_answer_write(char *message, size_t size, const struct fetch_answer *answer);
/* Nothing is believed: false where it is no such message. Texts are cleaned. */
bool fetch_request_read(struct fetch_request *request, char *message, size_t length);
bool fetch_answer_read(struct fetch_answer *answer, char *message, size_t length);

#endif
