/* SPDX-License-Identifier: GPL-2.0-only */
/* A list that comes from a server: what is fetched, and what of it is no list, or none to believe. */
#ifndef CHANGE_FEED_H
#define CHANGE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "fetch/request.h"
#include "sets/ranges.h"

struct feed_options {
	bool insecure, lan;
	const char *header_file; /* NULL: none */
	const char *key;	 /* that the list is signed with, or a file that has it; NULL: nobody has to sign it */
	struct number every, max_age;
	int64_t usual;	  /* of a feed of the catalog: how often, where nothing is said of it, s; 0: once */
	int then;	  /* of enum feed_then, and one more; 0: nothing was said of it */
	bool again;	  /* as it is kept: nothing but the name was given */
	const char *kept; /* then: the options that are kept of it, as they were read; NULL: none */
};

/* Something that only a server could have been meant by. */
bool feed_is_url(const char *path);
/* Which of these is about servers: "--lan"; NULL: none. */
const char *feed_option(const struct feed_options *options);

/* "https://example.net/drop.txt.minisig?token=1"; ending and more: ".minisig". False: too long. */
bool feed_url_beside(char to[FETCH_URL_MAX], const char *url, const char *ending, const char *more);

struct feed;
/*
 * Fetches it, of at most so many bytes, and its signature where there is a key. row: what is kept of it, where "as it
 * was" would do; or NULL. A descriptor at its beginning, -EALREADY where it is as it was, or -errno with the reason
 * recorded.
 */
int feed_open(const struct feed_options *options, const char *url, uint64_t most, const struct feed *row,
	      struct fetch_answer *answer);
/* The same of a file that was opened from this path, with the signature that lies beside it. 0 or -errno. */
int feed_check_file(const char *key, const char *path, int list, struct fetch_answer *answer);
/* Is it signed, and before the version that was signed at `before` (0: none was)? 0 or -errno with the reason recorded.
 */
int feed_fresh(const struct fetch_answer *answer, const char *name, uint64_t before);
/* When it was signed, or the number of its version; 0: it does not say. */
uint64_t feed_signed(const struct fetch_answer *answer);
/* What no list is, whatever the reader makes of it. 0 or -errno with the reason recorded. */
int feed_looks_like_list(int text, const struct fetch_answer *answer, const char *format);
/* What it holds: not nothing, and not the server that it came from. */
int feed_guard(const struct fetch_answer *answer, const struct ranges *set, bool bans);

#endif
