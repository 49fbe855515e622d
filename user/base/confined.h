/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytes from strangers are read in a process of its own, which can read, compute and answer, and nothing else: it has
 * no rights, no files but its input, so much memory and no more. A hole in what reads them is not root, and what it
 * answers is checked like any input.
 */
#ifndef BASE_CONFINED_H
#define BASE_CONFINED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct confined {
	pid_t pid;
	int answer; /* to read from */
};

/* In there: 0 is the input, if there is one, and what is written to `answer` comes out. */
typedef void confined_work(void *arg, int answer);

/* input: -1 for none. memory: bytes beyond what is mapped already; 0: half of what is free. Returns 0 or -errno. */
int confined_start(struct confined *c, int input, size_t memory, confined_work *work, void *arg);
/* Fills buf; -EIO where the answer ends before. */
int confined_answer(const struct confined *c, void *buf, size_t size);
/* Waits for its end. 0, or -EIO; `how` says what ended it: "it was killed by signal 9 (Killed)". */
int confined_end(struct confined *c, char *how, size_t size);
/* Ends it. */
void confined_stop(struct confined *c);

/* In there. Returns false when nobody listens any more. */
bool confined_tell(int answer, const void *buf, size_t size);

/* What `memory` comes to. */
size_t confined_memory(size_t memory);

#endif
