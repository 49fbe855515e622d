/* SPDX-License-Identifier: GPL-2.0-only */
/* The file that a list came from: where it is, which version of it was read, and how; so that it can be read again. */
#ifndef STATE_SOURCE_H
#define STATE_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "state/state.h"

#define SOURCE_STAMP_MAX 96

struct source {
	char list[LIST_NAME_MAX];
	char path[PATH_MAX]; /* from the root, as it was given: symbolic links are kept as such. Empty: no file */
	char stamp[SOURCE_STAMP_MAX];
	char options[128]; /* of load, as on a command line */
};

/* Fills in the path; -errno when it cannot be found, or where it leads through /proc (as /dev/stdin does). */
int source_locate(struct source *source, const char *path);
/* Fills in the stamp, of the open file or of whatever the path names now. It differs where the file may differ. */
void source_stamp(struct source *source, const struct stat *st);
int source_look(struct source *source);
/* Has anybody the file open to write it? The kernel tells its owner alone: others, and other files, hear no. */
bool source_is_written(const char *path);

/* Was it written a moment ago? Whoever does that may not have done yet. */
bool source_is_young(const char *path, long seconds);

/* Does the list hold this very version of this file, read in this way? A state that cannot be read says no. */
bool source_is_loaded(const struct source *source);

/* In the state: beside its list, and gone with it. Putting one without a path forgets the one before. */
int state_source_put(struct state *state, const struct source *source);
/* All of them; free() the array. */
int state_sources(struct state *state, struct source **sources, size_t *n);

#endif
