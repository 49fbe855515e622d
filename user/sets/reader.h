/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SETS_READER_H
#define SETS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"
#include "sets/network.h"
#include "sets/where.h"

struct ranges;

#define READER_BAD_MAX	10 /* damaged lines whose text is kept */
#define READER_TEXT_MAX 256

struct reader_options {
	const char *name;	     /* what messages call the file; NULL: by its path */
	const char *format;	     /* a name from reader_formats() or "csv:COLUMN", or NULL: found by content */
	char where[WHERE_MAX];	     /* the rows of a table that are taken (where.h); empty: all */
	const struct ranges *before; /* what a packed change is of (packed.h); NULL: no list */
	bool skip_bad;		     /* leave damaged lines out instead of stopping */
	bool hidden;		     /* messages do not repeat what is in it */
	bool progress;		     /* how far it is, on a terminal (base/progress.h) */
	/* Instead of keeping them: called with each entry, unmerged, and its line. 0, or -errno to stop. */
	int (*each)(void *arg, int family, ip6 lo, ip6 hi, uint64_t line);
	/* The same with each row of a table of networks, and whose it says they are. Then there is no `where`. */
	int (*named)(void *arg, int family, ip6 lo, ip6 hi, const struct network *network);
	void *arg;
	uint64_t unpacked; /* the most bytes, of a list that was fetched; 0: what a file may unpack to */
	size_t memory;	   /* that the parsers may take, in bytes; 0: half of what is free */
};

/* What was read, to be shown. */
struct reader_report {
	const char *format;
	uint64_t taken; /* bytes of the file, as it lies there; UINT64_MAX: of a pipe */
	uint64_t lines, entries;
	uint64_t duplicates;		   /* entries that were there already, to the letter */
	uint64_t merged;		   /* entries that vanished in a wider or adjacent one */
	uint64_t masked;		   /* entries with host bits, such as 8.8.8.8/8, which is taken for 8.0.0.0/8 */
	char masked_text[READER_TEXT_MAX]; /* the first, as in bad_text */
	uint64_t bad;
	char bad_text[READER_BAD_MAX][READER_TEXT_MAX]; /* "file:line: 'text': reason" */
};

/*
 * Adds a list from path ("-": standard input) to what the set holds; the set is normal afterwards.
 * The parsers run in a process of their own, without rights (base/confined.h).
 * Returns 0 or -errno; then the set is empty and error holds one line that names the file, the line and the reason.
 */
int reader_read(const char *path, const struct reader_options *options, struct ranges *set,
		struct reader_report *report, char error[READER_TEXT_MAX]);

/* Warns of entries with host bits, once, where there are some. */
void reader_warn_masked(const struct reader_report *report);

/* The names that --format takes, ended by NULL. */
const char *const *reader_formats(void);

#endif
