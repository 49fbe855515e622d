/* SPDX-License-Identifier: GPL-2.0-only */
/* How the command was called: a verb hands it down to all functions that it calls. */
#ifndef BASE_CONTEXT_H
#define BASE_CONTEXT_H

#include <stdbool.h>

/* --check: nothing is changed. */
enum check {
	CHECK_NOT,
	CHECK_FILES, /* the files that it names are read */
	CHECK_WORDS, /* no file is read */
};

struct change;

struct context {
	const char *state, *bpffs; /* directories: where lists are kept, where the kernel's part is pinned */
	long wait;		   /* seconds: how long another command may take */
	enum check check;
	bool warns; /* quiet as it is: only success is not reported */
	bool line;  /* it is a line of a file of commands: options for all lines are refused */
	bool json, pretty, quiet, verbose;
	unsigned long long generation; /* in force when the command's change ended; 0: not known */
	bool unchanged;		       /* all was as the command wants it: that is no event */
	bool settles;		       /* what it puts into force is in force here, wherever something was */
	bool abroad;		       /* what is to be filtered is in another network namespace (change/home.h) */
	bool waits;		       /* some of what it did goes back unless it is confirmed */
	struct change *joined;	       /* all changes are this one: change_join() */
	char *const *words;	       /* as it was called, from the verb on; NULL: it is no whole command */
	bool elsewhere;		       /* another process ran it, and has recorded it: verbs/errand.c */
	int log;		       /* how messages are written: 1 as text, 2 as JSON; 0: nothing was said of it */
};

#define CONTEXT_DEFAULT                                                                     \
	{                                                                                   \
		.state = "/var/lib/xdp-bloom", .bpffs = "/sys/fs/bpf/xdp-bloom", .wait = 60 \
	}

#endif
