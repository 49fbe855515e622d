/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command that another process has asked this one to run (verbs/errand.c). Where it is not sure that all would be as
 * in the other, or it would take long, it is declined: nothing has changed then, and the other runs it itself.
 */
#ifndef BASE_ERRAND_H
#define BASE_ERRAND_H

#include <stdbool.h>

struct errand {
	bool here; /* this process runs commands of others */
	bool declined;
	char why[160];
	/* Of the process that asked: */
	unsigned int user; /* that logged in */
	int ssh_pid;	   /* which process above it has `ssh` as its SSH_CONNECTION */
	char ssh[128];	   /* "": none */
};

extern struct errand errand;

/* Whoever asked says why with --verbose. */
int errand_decline(const char *why);

#endif
