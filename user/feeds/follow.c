// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/stop.h"
#include "change/change.h"
#include "feeds/into_force.h"
#include "feeds/line.h"
#include "feeds/stream.h"

/* Lines a batch: as many as take no longer than that, so that other commands have their turn. */
#define BATCH_LEAST   256
#define BATCH_FIRST   8192
#define BATCH_MOST    65536
#define BATCH_SECONDS 1.0

struct batch {
	struct stream *stream;
	struct ban_order *orders;
	struct at {
		unsigned long long number;
		const char *line;
	} * at;
	size_t n, most;
};

static void refused(void *arg, size_t at, const char *why)
{
	struct batch *b = arg;

	stream_refuse(b->stream, b->at[at].number, NULL, why);
}

/* All lines before the first one that is not in force. */
static void done(void *arg, size_t n)
{
	struct batch *b = arg;

	stream_acknowledge(b->stream, n < b->n ? b->at[n].number - 1 : b->stream->number);
}

/* What there is at this moment. */
static void collect(struct batch *b)
{
	size_t length;
	char *line;

	b->n = 0;
	do {
		while (b->n < b->most && (line = stream_line(b->stream, &length))) {
			const char *fault = line_parse(line, length, &b->orders[b->n]);

			if (!fault)
				b->at[b->n++].number = b->stream->number;
			else if (*fault)
				stream_refuse(b->stream, b->stream->number, line, fault);
		}
	} while (b->n < b->most && stream_read(b->stream));
}

static void say_missed(const struct batch *b)
{
	char text[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < b->n; i++)
		if (b->orders[i].missed)
			note("%s:%llu: %s is not banned", b->stream->name, b->at[i].number,
			     prefix_text(text, b->orders[i].prefix.first, (int)b->orders[i].prefix.length));
}

static void adapt(struct batch *b, double took)
{
	if (took > BATCH_SECONDS && b->n > BATCH_LEAST)
		b->most = b->n / 2 > BATCH_LEAST ? b->n / 2 : BATCH_LEAST;
	else if (b->n == b->most && took < BATCH_SECONDS / 2)
		b->most = 2 * b->most < BATCH_MOST ? 2 * b->most : BATCH_MOST;
}

/* Whatever is wrong from the start is said before anything is read. */
static int try_once(struct context *context)
{
	struct change *change = NULL;
	int err = change_begin(&change, context);

	change_end(change);
	return err_is(err, EBUSY) || err_is(err, ENOSPC) ? 0 : err;
}

static int ended(const struct stream *s, int status)
{
	if (!status)
		return s->bad_n ? 1 : 0;
	if (WIFSIGNALED(status))
		return because(-ECHILD, "%s was ended by signal %d", s->name, WTERMSIG(status));
	return because(-ECHILD, "%s ended with status %d", s->name, WEXITSTATUS(status));
}

int follow_lines(struct context *context, const char *path, char *const *command)
{
	struct stream stream = { .json = context->json, .in = -1, .out = -1 };
	struct batch b = { .stream = &stream, .most = BATCH_FIRST };
	struct into_force f = { .context = context, .refused = refused, .done = done, .arg = &b };
	int err = try_once(context), status;

	b.orders = calloc(BATCH_MOST, sizeof(*b.orders));
	b.at = calloc(BATCH_MOST, sizeof(*b.at));
	if (!err && (!b.orders || !b.at))
		err = -ENOMEM;
	stop_on(SIGINT);
	stop_on(SIGTERM);
	err = err ?: stream_open(&stream, path, command);
	f.from = stream.name;
	while (!err && !stop_asked && !stream.ended) {
		unsigned long long before = stream.number;

		stream_wait(&stream);
		collect(&b);
		err = into_force(&f, b.orders, b.n);
		if (!err && !b.n && stream.number > before)
			stream_acknowledge(&stream, stream.number);
		say_missed(&b);
		adapt(&b, f.longest);
		stream_forget(&stream);
	}
	status = stream.text ? stream_close(&stream) : 0;
	free(b.orders);
	free(b.at);
	return err && !err_is(err, EINTR) ? err : ended(&stream, status);
}
