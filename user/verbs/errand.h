/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * add, del and batch where the service runs: the words go through a socket to a process that has libraries loaded and
 * the state open, and what it says and its exit status come back. It is the same code that runs in either.
 */
#ifndef VERBS_ERRAND_H
#define VERBS_ERRAND_H

#include <stdint.h>

#include "base/verb.h"

/* What is asked for; behind it the words, each with its NUL. With the first byte comes the input, if there is one. */
struct errand_request {
	char version[32];
	uint32_t bytes, words;
	uint32_t user;
	int32_t ssh_pid;
	char ssh[128];
	uint64_t network[2], pins[2]; /* device and inode: ours must be the same */
};

/*
 * Whose turn it is hears ERRAND_READY, and answers it by a byte: so whoever does not wait any longer has not been
 * heard. Then come parts of what is written, with as many bytes behind each; the last is a status, or ERRAND_DECLINED
 * with why.
 */
enum errand_part_kind { ERRAND_OUTPUT = 1, ERRAND_ERRORS, ERRAND_STATUS, ERRAND_DECLINED, ERRAND_READY };

struct errand_part {
	uint32_t kind, value; /* how many bytes, or the exit status */
};

#define ERRAND_BYTES_MAX (8 << 20)
/* Of a file: some ten thousand bans. */
#define ERRAND_INPUT_MAX (256 << 10)

/* Which network namespace this process is in, and which pins it sees. False: that is not known. */
bool errand_place(const struct context *context, uint64_t network[2], uint64_t pins[2]);

/* Has another process run it? Then *status is its exit status. `input`: what it reads, from here on; -1: nothing. */
bool errand_sent(const struct call *call, int input, int *status);
/* The same of a verb with prefixes: "-" is standard input. */
bool errand_prefixes_sent(const struct call *call, int *status);

/* Serves whoever comes to standard input, which listens, until nobody has for a while. The exit status. */
int errand_serve(const struct context *context);

#endif
