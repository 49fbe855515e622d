/* SPDX-License-Identifier: GPL-2.0-only */
/* The file that a list came from, which version of it was read, and how: so that it can be read again. */
#ifndef STATE_SOURCES_H
#define STATE_SOURCES_H

#include "base/source_file.h"
#include "state/state.h"

struct source {
	char list[LIST_NAME_MAX];
	char path[PATH_MAX]; /* from the root, as it was given: symbolic links are kept as such. Empty: no file */
	char stamp[SOURCE_STAMP_MAX];
	char options[128 + 3 * WHERE_MAX + SCOPE_OPTIONS_MAX]; /* of load, as on a command line */
};

/* Does the list hold this version of this file, read with these options? No, if the state cannot be read. */
bool state_source_is_loaded(struct state *state, const struct source *source);
bool source_is_loaded(const struct context *context, const struct source *source);

/* Kept beside its list, and dropped with it. One without a path drops the one before. */
int state_source_put(struct state *state, const struct source *source);
/* Instead of a file, what the list's signature says of its age. 0 where it has none. */
int state_signed_put(struct state *state, const char *list, uint64_t when);
int state_signed_get(struct state *state, const char *list, uint64_t *when);
/* All that have a file; free() the array. */
int state_sources(struct state *state, struct source **sources, size_t *n);
/* That of one list, whatever is damaged elsewhere; path "": it has none. */
int state_source_get(struct state *state, const char *list, struct source *source);

#endif
