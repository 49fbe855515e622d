// SPDX-License-Identifier: GPL-2.0-only
#include "observe/lines_down.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/close_fd.h"
#include "base/context.h"
#include "base/log.h"
#include "base/state_path.h"
#include "kernel/live.h"
#include "state/events.h"
#include "state/unshown.h"

void lines_down_keep(const struct context *context, const char *file, const struct lines_down *down)
{
	char fresh[STATE_PATH_MAX], path[STATE_PATH_MAX], name[32], text[LINE_DOWN_MAX];
	FILE *out;
	int fd;

	state_path(path, context->state, file);
	if (!down->n) {
		unlink(path);
		return;
	}
	snprintf(name, sizeof(name), "%s.new", file);
	state_path(fresh, context->state, name);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	for (size_t i = 0; out && i < down->n; i++) {
		clean_copy(text, sizeof(text), down->text[i]);
		fprintf(out, "%s\n", text);
	}
	if (!out || fclose(out) || rename(fresh, path)) {
		warn("%s: %s; 'status' will not show what is wrong", fresh, strerror(errno));
		unlink(fresh);
		unshown_note(context->state);
	}
}

void line_down_say(const struct context *context, const char *file, bool down, const char *fmt, ...)
{
	const struct event what = { down ? EVENT_FAULT : EVENT_HEALED, .generation = kernel_live_generation(context) };
	struct lines_down one = { .n = down };
	va_list args;

	va_start(args, fmt);
	vsnprintf(one.text[0], sizeof(one.text[0]), fmt, args);
	va_end(args);
	warn("%s", one.text[0]);
	event(context, what, "%s", one.text[0]);
	lines_down_keep(context, file, &one);
}

void lines_down_take(struct lines_down *down, const struct context *context, const char *file, bool served)
{
	char path[STATE_PATH_MAX], line[LINE_DOWN_MAX + 1];
	FILE *in;
	int fd;

	down->n = 0;
	if (!served)
		return;
	fd = open(state_path(path, context->state, file), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	in = fd < 0 ? NULL : fdopen(fd, "r");
	while (in && down->n < LINES_DOWN_MAX && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			clean_copy(down->text[down->n++], LINE_DOWN_MAX, line);
	}
	if (in)
		fclose(in);
	else
		close_fd(fd);
}
