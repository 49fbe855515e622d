// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/follow.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/context.h"
#include "feeds/batch.h"

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
	struct batch b;
	int err = batch_begin(&b, context), status;

	stop_on(SIGINT);
	stop_on(SIGTERM);
	err = err ?: stream_open(&stream, path, command);
	b.f.from = stream.name;
	while (!err && !stop_asked && !stream.ended) {
		stream_wait(&stream);
		batch_collect(&b, &stream, SIZE_MAX);
		err = batch_put(&b);
		if (!err)
			stream_acknowledge(&stream, stream.number);
		stream_forget(&stream);
		batch_next(&b);
	}
	status = stream.text ? stream_close(&stream) : 0;
	batch_end(&b);
	return err && !err_is(err, EINTR) ? err : ended(&stream, status);
}
