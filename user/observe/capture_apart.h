/* SPDX-License-Identifier: GPL-2.0-only */
/* A capture is read in a process of its own, without rights (base/confined.h): it may come from an attacker. */
#ifndef OBSERVE_CAPTURE_APART_H
#define OBSERVE_CAPTURE_APART_H

#include <stdbool.h>

#include "observe/capture_read.h"

/*
 * As capture_read(), from a descriptor. `whole`: the packets come with all that was captured of them; otherwise with
 * what frames are made of, and size says how much was captured. What packet() returns ends it. 0, or -errno with the
 * reason recorded, which does not name the file.
 */
int capture_read_apart(int fd, bool whole, int (*packet)(void *arg, const struct captured *packet), void *arg,
		       struct capture_end *end);

#endif
