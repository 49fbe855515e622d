/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A look at a list's file. The service takes it itself; but where who answers for the file may not answer, a process of
 * its own takes it, for which nobody waits.
 */
#ifndef SERVICE_LIST_LOOK_H
#define SERVICE_LIST_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/source_file.h"

/* What is known already; of that no more is asked. `reported`: the kernel says that it has changed. */
struct list_known {
	const char *path, *stamp, *tried;
	bool reported;
};

struct list_look {
	int err; /* -EREMOTE: it may last for ever, and was not taken */
	char why[256];
	char stamp[SOURCE_STAMP_MAX];
	bool is_link; /* that leads to nothing that can be read */
	bool is_news;
	bool is_written; /* or may be: it is no news yet */
};

void list_look(struct list_look *look, const struct list_known *file);

/* The process; all zero: there is none. */
struct looker {
	pid_t pid;
	int from;
	int64_t since;
};

int looker_begin(struct looker *looker, const struct list_known *file, int64_t now);
/* Has it ended? Then what it saw is in *look; -EREMOTE: it could not say. */
bool looker_ended(struct looker *looker, struct list_look *look);
/* It cannot be waited for. */
void looker_stop(struct looker *looker);

#endif
