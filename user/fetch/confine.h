/* SPDX-License-Identifier: GPL-2.0-only */
/* What is left to a process that speaks to servers: sockets of the internet, and files that everybody may read. */
#ifndef FETCH_CONFINE_H
#define FETCH_CONFINE_H

#include <stdint.h>

struct confinement {
	const char *does;					      /* "fetches" */
	const char *file;					      /* that it may read, too; NULL or empty: none */
	uint64_t bytes;						      /* that it may write to a file which is open */
	uint64_t cpu_seconds;					      /* 0: as long as it likes */
	enum { CONFINE_NONE, CONFINE_INTERNET, CONFINE_OWN } sockets; /* OWN: this machine's own, too */
};

/* Never as root. What is open stays open. 0 or -errno with the reason recorded. */
int confine(const struct confinement *c);

#endif
