/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists as operands: files, and where that is asked for lists that are loaded. For verbs that need no kernel. */
#ifndef VERBS_LIST_FILES_H
#define VERBS_LIST_FILES_H

#include <stddef.h>

#include "sets/owned.h"
#include "sets/reader.h"

struct context;
struct list_info;

struct list_files {
	struct list_info *lists; /* their labels are 1, 2, ... */
	struct ranges *sets;
	const char **paths; /* NULL: it is loaded */
	size_t n;
};

/*
 * Bogons are left out, as load does. loaded: NULL, or whose loaded lists are preferred to a file of that name. 0 or
 * -errno with the reason recorded; free it in any case.
 */
int list_files_read(struct list_files *files, const struct context *loaded, const struct reader_options *reading,
		    char **names, size_t n);
/* On whose account each address is: the first list's that holds it, and of no allow list. */
int list_files_settle(const struct list_files *files, struct owned *owned);
void list_files_free(struct list_files *files);

#endif
