/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs that run until a signal. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <poll.h>
#include <signal.h>
#include <time.h>

/* 0, or the first of these signals. */
extern volatile sig_atomic_t stop_asked;

/* What the service sends whose line of the config file is gone, so that nothing of it stays. */
#define STOP_FOR_GOOD SIGUSR1

/* From now on this signal only sets stop_asked. */
void stop_on(int signal);

/* ppoll(2), which returns at once where such a signal has come, or comes. */
void stop_poll(struct pollfd *fds, nfds_t n, const struct timespec *time);

#endif
