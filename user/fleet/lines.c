// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEPT ((size_t)64 << 10)

bool lines_full(const struct lines *l)
{
	return l->at == 0 && l->end == LINES_ROOM;
}

int lines_fill(struct lines *l, int fd)
{
	ssize_t n;

	if (!l->bytes)
		l->bytes = malloc(LINES_ROOM);
	if (!l->bytes)
		return -ENOMEM;
	memmove(l->bytes, l->bytes + l->at, l->end - l->at);
	l->end -= l->at;
	l->at = 0;
	if (l->end == LINES_ROOM)
		return 0;
	n = read(fd, l->bytes + l->end, LINES_ROOM - l->end);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -EPIPE;
	l->end += (size_t)n;
	return 1;
}

char *lines_next(struct lines *l)
{
	char *line, *stop;

	if (!l->bytes)
		return NULL;
	line = l->bytes + l->at;
	stop = memchr(line, '\n', l->end - l->at);
	if (!stop) {
		/* The rest of it is a line of its own then, which is none that anybody sends. */
		if (l->end - l->at < LINES_ROOM)
			return NULL;
		l->at = l->end;
		*line = '\0';
		return line;
	}
	*stop = '\0';
	l->at = (size_t)(stop + 1 - l->bytes);
	if (stop - line >= FLEET_LINE_MAX || memchr(line, '\0', (size_t)(stop - line)))
		*line = '\0';
	return line;
}

void lines_free(struct lines *l)
{
	free(l->bytes);
	*l = (struct lines){ 0 };
}

int lines_fields(char *line, char *fields[FLEET_FIELDS])
{
	int n = 0;

	while (line && n < FLEET_FIELDS)
		fields[n++] = strsep(&line, "\t");
	for (int i = n; i < FLEET_FIELDS; i++)
		fields[i] = (char *)"";
	return line ? FLEET_FIELDS + 1 : n;
}

char *outgoing_room(struct outgoing *o, size_t n)
{
	size_t waits = o->end - o->at, room = o->room ? o->room : 4096;
	char *bytes;

	if (o->end + n <= o->room)
		return o->bytes + o->end;
	if (o->at) {
		memmove(o->bytes, o->bytes + o->at, waits);
		o->at = 0;
		o->end = waits;
	}
	while (room < waits + n)
		room *= 2;
	if (room > o->room) {
		bytes = realloc(o->bytes, room);
		if (!bytes)
			return NULL;
		o->bytes = bytes;
		o->room = room;
	}
	return o->bytes + o->end;
}

void outgoing_added(struct outgoing *o, size_t n)
{
	o->end += n;
}

bool outgoing_add(struct outgoing *o, const char *bytes, size_t n)
{
	char *to = outgoing_room(o, n);

	if (!to)
		return false;
	memcpy(to, bytes, n);
	outgoing_added(o, n);
	return true;
}

bool outgoing_line(struct outgoing *o, const char *fmt, ...)
{
	char *to = outgoing_room(o, FLEET_LINE_MAX);
	va_list args;
	int n;

	if (!to)
		return false;
	va_start(args, fmt);
	n = vsnprintf(to, FLEET_LINE_MAX, fmt, args);
	va_end(args);
	if (n < 0 || n > FLEET_LINE_MAX - 2)
		n = FLEET_LINE_MAX - 2;
	to[n++] = '\n';
	outgoing_added(o, (size_t)n);
	return true;
}

void outgoing_sent(struct outgoing *o, size_t n)
{
	o->at += n;
	if (o->at < o->end)
		return;
	o->at = o->end = 0;
	/* What a burst took is not kept. */
	if (o->room > KEPT)
		outgoing_free(o);
}

int outgoing_flush(struct outgoing *o, int fd)
{
	while (o->at < o->end) {
		ssize_t n = send(fd, o->bytes + o->at, o->end - o->at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		outgoing_sent(o, (size_t)n);
	}
	return 0;
}

void outgoing_free(struct outgoing *o)
{
	free(o->bytes);
	*o = (struct outgoing){ 0 };
}
