/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The service: ends bans in time, loads lists whose file has changed, attaches interfaces that come, rotates, counts.
 * Filtering does not need it: the kernel goes on alone. Every change it makes is a command that it runs.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include "service/config.h"
#include "service/observer.h"

struct service_options {
	long rotate_every; /* seconds; 0: never */
	struct listen_options listen;
	const char *hook; /* NULL: none */
	/*
	 * Reads the file and its run lines into *config and these options; `files`: also checks the files that it
	 * names. 0 or -errno, after a message.
	 */
	int (*configure)(struct service_options *options, struct config *config, bool files);
};

/* Runs until SIGTERM. Returns the exit status, after a message. */
int service_run(const struct context *context, struct service_options *options, struct config *config);

#endif
