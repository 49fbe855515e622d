/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a server answers, element by element as it comes, without a tree of it: whatever its size, no more of it is held
 * than one short text. hiredis reads the protocol; a text that is longer than it may be is left out before it sees it.
 */
#ifndef FLEET_REPLY_H
#define FLEET_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* No text of a reply is longer; of one that is, it is said that it is REPLY_NIL. */
#define REPLY_TEXT_MOST 4096
#define REPLY_DEPTH	7

enum reply_kind { REPLY_TEXT, REPLY_STATUS, REPLY_ERROR, REPLY_INTEGER, REPLY_NIL, REPLY_ARRAY };

struct reply_value {
	enum reply_kind kind;
	const char *text; /* with a NUL behind it; there may be others in it */
	size_t length;
	int64_t number;	     /* and how many elements an array has */
	int depth;	     /* 0: the reply itself */
	int at[REPLY_DEPTH]; /* at[0]: which element of the reply; at[depth - 1]: of the innermost array */
};

/* Each element, an array before what is in it. */
typedef void reply_take(void *arg, const struct reply_value *value);
/* Behind the last one of a reply. */
typedef void reply_end(void *arg);

struct replies;

struct replies *replies_new(reply_take *take, reply_end *end, void *arg);
void replies_free(struct replies *r);
/* 0, or -EPROTO: it is no such server; then it takes no more. */
int replies_feed(struct replies *r, const char *bytes, size_t n);

/* As the text of an error does, by its kind. */
static inline bool begins_with(const char *text, const char *kind)
{
	return !strncmp(text, kind, strlen(kind));
}

/* A command of n words, as the server takes it; free() it. NULL: there is no memory. */
struct outgoing;
bool command_add(struct outgoing *to, int n, const char *const words[], const size_t lengths[]);

#endif
