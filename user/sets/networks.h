/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose an address is: a table of networks as a sorted file in the state directory, which is mapped where it is asked.
 * Where networks overlap, the narrowest has it; of equal ones the last in the table.
 */
#ifndef SETS_NETWORKS_H
#define SETS_NETWORKS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/source_file.h"
#include "sets/address.h"
#include "sets/network.h"

struct networks;

/* What the file was made from. */
struct networks_source {
	char path[PATH_MAX];
	char stamp[SOURCE_STAMP_MAX];
	uint64_t rows, bad;
};

/* Those of this state directory; NULL: there are none. What is wrong with them is a warning. */
struct networks *networks_open(const char *state);
/* The same; 0, or -errno with the reason recorded. */
int networks_map(struct networks **networks, const char *state);
void networks_warn(int err);
void networks_close(struct networks *n);
/*
 * False: the table does not know it, or the prefix is of more than one: both its ends are of the one that is found. `n`
 * may be NULL, and `network`.
 */
bool networks_find(const struct networks *n, struct addr first, unsigned int length, struct network *network);
const struct networks_source *networks_from(const struct networks *n);
/* Of `buf`: "CN AS4134 CHINANET", or "". */
#define NETWORK_TEXT_MAX (NETWORK_NAME_MAX + 20)
const char *networks_text(char buf[NETWORK_TEXT_MAX], const struct networks *n, struct addr first, unsigned int length);

/* 0, or -errno with the reason recorded: a file that is there is one that was written, to the byte. */
int networks_check(const char *state);

/* networks_make.c: 0, or -errno with the reason recorded; then the file is as it was. state: NULL: only looks. */
int networks_make(const char *state, const char *table, struct networks_source *source);
/* The same; `ready` is asked when all is read and nothing written yet: it may take a lock, or refuse. */
int networks_make_when(const char *state, const char *table, struct networks_source *source, int (*ready)(void *arg),
		       void *arg);
int networks_forget(const char *state);

#endif
