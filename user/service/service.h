/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The service: ends bans in time, loads lists whose file has changed, attaches interfaces that come, rotates, and
 * counts. It filters nothing itself: the kernel goes on without it. All it changes, it changes by running commands.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include "service/config.h"

struct context;

struct service_options {
	long rotate_every;	   /* seconds; 0: never */
	const char *listen, *hook; /* NULL: none */
	/*
	 * Reads the file again, with its run lines: into *config and into these options; `files`: and sees whether what
	 * it names can be read. 0 or -errno; what was wrong has been said.
	 */
	int (*configure)(struct service_options *options, struct config *config, bool files);
};

/* Until SIGTERM. Returns the exit status; what was wrong has been said. */
int service_run(const struct context *context, struct service_options *options, struct config *config);

#endif
