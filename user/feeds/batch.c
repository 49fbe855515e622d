// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/batch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "change/change.h"
#include "feeds/line.h"

/* Lines a batch: as many as take no longer than that, so that other commands have their turn. */
#define BATCH_LEAST   256
#define BATCH_FIRST   8192
#define BATCH_MOST    65536
#define BATCH_SECONDS 1.0

static void refused(void *arg, size_t at, const char *why)
{
	struct batch *b = arg;

	b->refused = b->lines[at].stream->refused = true;
	stream_refuse(b->lines[at].stream, b->lines[at].number, NULL, why);
}

/* Each stream's lines before its first one that is not in force. */
static void done(void *arg, size_t n)
{
	struct batch *b = arg;

	for (; b->done < n; b->done++) {
		struct batch_line *line = &b->lines[b->done];

		line->stream->due = line->number;
		/* The last of it in this part. */
		if (b->done + 1 == n || b->lines[b->done + 1].stream != line->stream)
			stream_acknowledge(line->stream, line->number);
	}
}

int batch_begin(struct batch *b, struct context *context)
{
	struct change *change = NULL;
	int err;

	*b = (struct batch){ .most = BATCH_FIRST };
	b->f = (struct into_force){ .context = context, .refused = refused, .done = done, .arg = b };
	err = change_begin(&change, context);
	change_end(change);
	if (err && !err_is(err, EBUSY) && !err_is(err, ENOSPC))
		return err;
	b->orders = calloc(BATCH_MOST, sizeof(*b->orders));
	b->lines = calloc(BATCH_MOST, sizeof(*b->lines));
	return b->orders && b->lines ? 0 : -ENOMEM;
}

void batch_end(struct batch *b)
{
	free(b->orders);
	free(b->lines);
	b->orders = NULL;
	b->lines = NULL;
}

bool batch_collect(struct batch *b, struct stream *s, size_t most)
{
	size_t end = most < b->most - b->n ? b->n + most : b->most, length;
	char *line;

	do {
		while (b->n < end && (line = stream_line(s, &length))) {
			const char *fault = line_parse(line, length, &b->orders[b->n]);

			if (!fault && s->for_us && b->orders[b->n].account)
				fault = "only root may speak for members of a fleet";
			if (!fault)
				b->lines[b->n++] = (struct batch_line){ s, s->number };
			else if (*fault)
				stream_refuse(s, s->number, line, fault);
		}
	} while (b->n < end && stream_read(s));
	return b->n == end;
}

static void say_missed(const struct batch *b)
{
	char text[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < b->n; i++)
		if (b->orders[i].missed)
			note("%s:%llu: %s is not banned", b->lines[i].stream->name, b->lines[i].number,
			     prefix_text(text, b->orders[i].prefix.first, (int)b->orders[i].prefix.length));
}

static void adapt(struct batch *b, double took)
{
	if (took > BATCH_SECONDS && b->n > BATCH_LEAST)
		b->most = b->n / 2 > BATCH_LEAST ? b->n / 2 : BATCH_LEAST;
	else if (b->n == b->most && took < BATCH_SECONDS / 2)
		b->most = 2 * b->most < BATCH_MOST ? 2 * b->most : BATCH_MOST;
}

int batch_put(struct batch *b)
{
	int err;

	b->done = 0;
	b->refused = false;
	err = into_force(&b->f, b->orders, b->n);
	say_missed(b);
	adapt(b, b->f.longest);
	return err;
}

void batch_next(struct batch *b)
{
	b->n = b->done = 0;
}
