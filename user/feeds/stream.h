/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines as they come, from a pipe, a file, or a command; and what is in force is acknowledged. */
#ifndef FEEDS_STREAM_H
#define FEEDS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STREAM_LINE_MOST 4096

struct stream {
	const char *name, *path; /* path: a named pipe, which is opened again at its end */
	int in, out;		 /* out: what is acknowledged goes there; or -1 */
	pid_t child;		 /* 0: none */
	bool json, ended, skips; /* skips: the rest of a line that is too long */
	char *text;
	size_t start, end;
	unsigned long long number;    /* lines taken */
	unsigned long long due, told; /* acknowledged, and said */
	int64_t stalled;	      /* since when that cannot be written, by clock_ms(); 0: it can */
	bool stall_said;
	struct {
		int64_t since; /* clock_ms() */
		unsigned int said;
		unsigned long long more, last;
	} bad;
	unsigned long long bad_n;
};

/* path: "-", or a file; or a command, ended by NULL. 0 or -errno with the reason recorded. */
int stream_open(struct stream *s, const char *path, char *const *command);
/* Until there is a line, or something to read, or its end, or stop_asked. */
void stream_wait(struct stream *s);
/* There is something to read at this moment, and room for it: reads it. */
bool stream_read(struct stream *s);
/* The next whole line, without its newline, whose place is the caller's too; NULL: there is none yet. */
char *stream_line(struct stream *s, size_t *length);
/* Lines that were returned are not looked at any more. */
void stream_forget(struct stream *s);
/* Line `number` is refused: on standard error, but of many a second only some. */
void stream_refuse(struct stream *s, unsigned long long number, const char *line, const char *why);
/* All lines up to this number are in force. */
void stream_acknowledge(struct stream *s, unsigned long long number);
/* What is due is said, if somebody reads it in time. The status of the command, or 0. */
int stream_close(struct stream *s);

#endif
