// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/reply.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/lines.h"

/* The first line of an element: a type and a number, or a status, or an error. */
#define HEAD_MOST 512

/* hiredis wants something for each element, and gives it back. */
static char nothing;

struct replies {
	redisReader *reader;
	reply_take *take;
	reply_end *end;
	void *arg;
	/* Where in the bytes it is: */
	char head[HEAD_MOST];
	size_t filled;	     /* of it */
	uint64_t copy, skip; /* bytes of a text, and its line's end */
	bool failed;
};

/* --- What hiredis calls --- */

static void hand_over(const redisReadTask *task, struct reply_value *value)
{
	struct replies *r = task->privdata;
	const redisReadTask *t = task;

	for (; t->parent && value->depth < REPLY_DEPTH; t = t->parent)
		value->depth++;
	/* Newer ones of hiredis go on for as long as there is memory. */
	if (t->parent) {
		r->failed = true;
		return;
	}
	t = task;
	for (int i = value->depth; i-- > 0; t = t->parent)
		value->at[i] = t->idx;
	r->take(r->arg, value);
}

static void *on_text(const redisReadTask *task, char *text, size_t length)
{
	struct reply_value value = { .kind = task->type == REDIS_REPLY_ERROR	? REPLY_ERROR
					     : task->type == REDIS_REPLY_STATUS ? REPLY_STATUS
										: REPLY_TEXT };
	char copy[REPLY_TEXT_MOST + 1];

	if (length > sizeof(copy) - 1)
		length = sizeof(copy) - 1;
	memcpy(copy, text, length);
	copy[length] = '\0';
	value.text = copy;
	value.length = length;
	hand_over(task, &value);
	return &nothing;
}

/* Their number was an int before 1.0. */
#if HIREDIS_MAJOR >= 1
static void *on_array(const redisReadTask *task, size_t n)
#else
static void *on_array(const redisReadTask *task, int n)
#endif
{
	struct reply_value value = { .kind = REPLY_ARRAY, .number = (int64_t)n };

	hand_over(task, &value);
	return &nothing;
}

static void *on_integer(const redisReadTask *task, long long number)
{
	struct reply_value value = { .kind = REPLY_INTEGER, .number = number };

	hand_over(task, &value);
	return &nothing;
}

static void *on_nil(const redisReadTask *task)
{
	struct reply_value value = { .kind = REPLY_NIL };

	hand_over(task, &value);
	return &nothing;
}

static void on_free(void *object)
{
	(void)object;
}

static redisReplyObjectFunctions functions = { .createString = on_text,
					       .createArray = on_array,
					       .createInteger = on_integer,
					       .createNil = on_nil,
					       .freeObject = on_free };

struct replies *replies_new(reply_take *take, reply_end *end, void *arg)
{
	struct replies *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct replies){
		.reader = redisReaderCreateWithFunctions(&functions), .take = take, .end = end, .arg = arg
	};
	if (!r->reader) {
		free(r);
		return NULL;
	}
	r->reader->privdata = r;
	return r;
}

void replies_free(struct replies *r)
{
	if (r)
		redisReaderFree(r->reader);
	free(r);
}

/* --- Bytes --- */

static bool give(struct replies *r, const char *bytes, size_t n)
{
	void *reply = NULL;

	if (n && redisReaderFeed(r->reader, bytes, n) != REDIS_OK)
		return false;
	do {
		reply = NULL;
		if (redisReaderGetReply(r->reader, &reply) != REDIS_OK || r->failed)
			return false;
		if (reply)
			r->end(r->arg);
	} while (reply);
	return true;
}

/* A whole first line, with its end; what it announces is copied, or skipped. */
static bool take_head(struct replies *r)
{
	char *end;
	long long n;

	r->head[r->filled] = '\0';
	if (r->filled < 3 || r->head[r->filled - 2] != '\r' || !strchr("+-:$*", r->head[0]))
		return false;
	if (r->head[0] != '$')
		return give(r, r->head, r->filled);
	n = strtoll(r->head + 1, &end, 10);
	if (*end != '\r' || n < -1 || n > (long long)1 << 32)
		return false;
	if (n > REPLY_TEXT_MOST) {
		r->skip = (uint64_t)n + 2;
		return true;
	}
	r->copy = n < 0 ? 0 : (uint64_t)n + 2;
	return give(r, r->head, r->filled);
}

static size_t least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

/* How many bytes it took; 0: it is no such protocol. */
static size_t step(struct replies *r, const char *bytes, size_t n)
{
	static const char nil[] = "$-1\r\n";
	const char *stop;
	size_t took;

	if (r->skip) {
		took = least(r->skip, n);
		r->skip -= took;
		/* Once it is over: an answer ends where its bytes do. */
		return r->skip || give(r, nil, sizeof(nil) - 1) ? took : 0;
	}
	if (r->copy) {
		took = least(r->copy, n);
		r->copy -= took;
		return give(r, bytes, took) ? took : 0;
	}
	stop = memchr(bytes, '\n', n);
	took = stop ? (size_t)(stop + 1 - bytes) : n;
	if (r->filled + took >= HEAD_MOST)
		return 0;
	memcpy(r->head + r->filled, bytes, took);
	r->filled += took;
	if (!stop)
		return took;
	if (!take_head(r))
		return 0;
	r->filled = 0;
	return took;
}

int replies_feed(struct replies *r, const char *bytes, size_t n)
{
	while (n && !r->failed) {
		size_t took = step(r, bytes, n);

		r->failed = !took;
		bytes += took;
		n -= took;
	}
	return r->failed ? -EPROTO : 0;
}

bool command_add(struct outgoing *to, int n, const char *const words[], const size_t lengths[])
{
	char *text = NULL;
	int length = redisFormatCommandArgv(&text, n, (const char **)(uintptr_t)words, lengths);
	bool done = length > 0 && outgoing_add(to, text, (size_t)length);

	free(text);
	return done;
}
