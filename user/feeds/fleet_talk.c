// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/fleet_talk.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define IN_ROOM ((size_t)4 << 20)
/* All members that may be known, and a batch. */
#define OUT_ROOM  ((size_t)2 << 20)
#define OUT_BATCH ((size_t)512 << 10)

int talk_start(struct fleet_talk *w, const struct fleet_request *request)
{
	*w = (struct fleet_talk){ .fd = -1, .in = malloc(IN_ROOM), .out = malloc(OUT_ROOM) };
	if (!w->in || !w->out)
		return -ENOMEM;
	w->fd = fleet_start(request, &w->pid);
	return w->fd < 0 ? w->fd : 0;
}

void talk_stop(struct fleet_talk *w)
{
	if (w->fd >= 0)
		fleet_stop(w->fd, w->pid);
	free(w->in);
	free(w->out);
	*w = (struct fleet_talk){ .fd = -1, .ended = true };
}

void talk_say(struct fleet_talk *w, const char *fmt, ...)
{
	size_t room = OUT_ROOM - w->said;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(w->out + w->said, room, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n + 1 >= room) {
		w->ended = true;
		return;
	}
	w->said += (size_t)n;
	w->out[w->said++] = '\n';
}

bool talk_has_room(const struct fleet_talk *w)
{
	return w->said < OUT_BATCH;
}

static void send_out(struct fleet_talk *w)
{
	while (w->sent < w->said) {
		ssize_t n = send(w->fd, w->out + w->sent, w->said - w->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			w->ended = w->ended || errno != EAGAIN;
			break;
		}
		w->sent += (size_t)n;
	}
	memmove(w->out, w->out + w->sent, w->said - w->sent);
	w->said -= w->sent;
	w->sent = 0;
}

void talk_turn(struct fleet_talk *w)
{
	send_out(w);
	while (w->end < IN_ROOM) {
		ssize_t n = recv(w->fd, w->in + w->end, IN_ROOM - w->end, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (!n || (n < 0 && errno != EAGAIN))
			w->ended = true;
		if (n <= 0)
			break;
		w->end += (size_t)n;
	}
}

bool talk_waits(const struct fleet_talk *w)
{
	return w->said > 0;
}

int talk_words(struct fleet_talk *w, char *words[TALK_WORDS])
{
	char *line = w->in + w->start, *end = memchr(line, '\n', w->end - w->start);
	int n = 0;

	if (!end) {
		/* Whoever writes longer lines is not the program that was started. */
		w->ended = w->ended || w->end - w->start > TALK_LINE_MOST;
		return -1;
	}
	w->start += (size_t)(end - line) + 1;
	*end = '\0';
	for (words[n++] = line; n < TALK_WORDS && (line = strchr(line, '\t')); words[n++] = line)
		*line++ = '\0';
	for (int i = n; i < TALK_WORDS; i++)
		words[i] = end;
	return n;
}

bool talk_has_line(const struct fleet_talk *w)
{
	return memchr(w->in + w->start, '\n', w->end - w->start);
}

bool talk_is_full(const struct fleet_talk *w)
{
	return w->end == IN_ROOM;
}

void talk_forget(struct fleet_talk *w)
{
	memmove(w->in, w->in + w->start, w->end - w->start);
	w->end -= w->start;
	w->start = 0;
}
