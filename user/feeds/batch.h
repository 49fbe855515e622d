/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of streams, of as many as there are, as one batch: a transaction, unless a guard rail refuses some of them. */
#ifndef FEEDS_BATCH_H
#define FEEDS_BATCH_H

#include "feeds/into_force.h"
#include "feeds/stream.h"

struct batch {
	struct ban_order *orders;
	struct batch_line {
		struct stream *stream;
		unsigned long long number;
	} * lines;
	size_t n, done, most; /* most: as many as take no longer than others may wait */
	bool refused;	      /* one of it was, by a guard rail */
	struct into_force f;
};

/* Whatever is wrong from the start is said before anything is read. `from`: for messages. 0 or -errno. */
int batch_begin(struct batch *batch, struct context *context);
void batch_end(struct batch *batch);

/* What the stream has at this moment, `most` lines of it at most. True: it may have more. */
bool batch_collect(struct batch *batch, struct stream *stream, size_t most);
/* Into force, and acknowledged. 0, or -EINTR: stop_asked. */
int batch_put(struct batch *batch);
/* For the next one; after it stream_forget(). */
void batch_next(struct batch *batch);

#endif
