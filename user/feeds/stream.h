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
	bool apart;		 /* it has a process group of its own */
	bool json, ended, skips; /* skips: the rest of a line that is too long */
	bool shared; /* one of several that come through a socket: it is told what is refused, and a stall is its own */
	bool refused; /* the caller's: a guard rail did lately */
	bool for_us;  /* it speaks for this machine, and for no member of a fleet */
	char *text;
	size_t start, end, room;
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
	/* What a shared one is still to be told, before what is acknowledged. */
	char *answer;
	size_t answer_n;
	unsigned long long unsaid;
};

/* path: "-", or a file; or a command, ended by NULL. 0 or -errno with the reason recorded. */
int stream_open(struct stream *s, const char *path, char *const *command);
/* Whether that could be opened now; nothing is. */
int stream_may_open(const char *path, char *const *command);
/* One that is open: `fd` becomes its own. 0 or -ENOMEM. */
int stream_share(struct stream *s, const char *name, int fd);
void stream_end(struct stream *s);
/* What can be told is told. True: something is left. */
bool stream_tell(struct stream *s);
/* Until there is a line, or something to read, or its end, or stop_asked. */
void stream_wait(struct stream *s);
/* There is something to read at this moment, and room for it: reads it. */
bool stream_read(struct stream *s);
/* There is no room before lines are taken. */
bool stream_is_full(const struct stream *s);
bool stream_has_line(const struct stream *s);
/* The next whole line, without its newline, whose place is the caller's too; NULL: there is none yet. */
char *stream_line(struct stream *s, size_t *length);
/* Lines that were returned are not looked at any more. */
void stream_forget(struct stream *s);
/*
 * Line `number` is refused: on standard error, but of many a second only some. A shared stream is told instead, of as
 * many as it reads.
 */
void stream_refuse(struct stream *s, unsigned long long number, const char *line, const char *why);
/* All lines up to this number are in force. */
void stream_acknowledge(struct stream *s, unsigned long long number);
/* What is due is said, if somebody reads it in time. The status of the command, or 0. */
int stream_close(struct stream *s);

#endif
