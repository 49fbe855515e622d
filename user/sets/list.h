/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of a list. */
#ifndef SETS_LIST_H
#define SETS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "sets/scope.h"
#include "sets/where.h"

#define LIST_NAME_MAX 64
/* A list's name goes into file names, metrics and other people's scripts: nothing in it may surprise them. */
#define LIST_NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* As a file name it would be a directory's. */
static inline bool list_name_is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/*
 * A ban list drops, an allow list is subtracted from all of them, a shadow list only counts, and a trust list is the
 * detector's alone.
 */
enum list_kind { LIST_BAN, LIST_ALLOW, LIST_SHADOW, LIST_TRUST };

static const char *const list_kind_names[] = { "ban", "allow", "shadow", "trust" };

/* So many times each limit of the detector, where nothing else is said; none: once. */
#define TRUST_TIMES	 10
#define TRUST_TIMES_MOST 1000

struct list_info {
	char name[LIST_NAME_MAX];
	enum list_kind kind;
	int64_t row;	    /* in the state */
	bool damaged;	    /* its entry in the state is none that a version of ours wrote */
	bool label_is_new;  /* as state_list_put() says */
	uint8_t label;	    /* its place in the list counters; allow and trust lists have none */
	unsigned int times; /* of a trust list */
	uint64_t prefixes;
	char addresses[48]; /* a decimal number: 2^128 fits */
	char source[256];
	char loaded[32];	    /* UTC, as 2026-01-01T00:00:00Z */
	char where[WHERE_MAX];	    /* the rows that were taken; empty: all */
	char scope[SCOPE_TEXT_MAX]; /* empty: all packets */
	char format[32];	    /* as it was asked for; empty: told by content */
};

static inline bool list_counts(const struct list_info *list)
{
	return list->kind == LIST_BAN || list->kind == LIST_SHADOW;
}

#endif
