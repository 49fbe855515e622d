/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs that run until a signal. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <signal.h>

extern volatile sig_atomic_t stop_asked;

/* From now on this signal only sets stop_asked. */
void stop_on(int signal);

#endif
