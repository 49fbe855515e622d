/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands ask for bans through a socket in the state directory. Who comes is served by a process that is started for
 * the first, and ends when nobody comes any more (verbs/errand.c): the service itself reads nothing of it.
 */
#ifndef SERVICE_ERRANDS_H
#define SERVICE_ERRANDS_H

#include "service/jobs.h"
#include "service/retry.h"

struct errands {
	struct jobs jobs; /* one, while it runs */
	int listener;	  /* -1: none; then commands do it themselves */
	struct retry retry;
};

void errands_begin(struct errands *errands, const struct context *context);
/* Opens the socket, unless it is. */
void errands_turn(struct errands *errands, int64_t now);
int64_t errands_due(const struct errands *errands);
/* What is to be polled; -1: the process has it. */
int errands_fd(const struct errands *errands);
/* Somebody waits there. */
void errands_came(struct errands *errands, int64_t now);
/* After each SIGCHLD. */
void errands_ended(struct errands *errands, int64_t now);
void errands_stop(struct errands *errands);

#endif
