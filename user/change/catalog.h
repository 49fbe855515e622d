/* SPDX-License-Identifier: GPL-2.0-only */
/* Public feeds that are known by name: a text file beside the program, which says of itself how it is written. */
#ifndef CHANGE_CATALOG_H
#define CHANGE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CATALOG_WAS_MOST 4
/* Nothing is asked for more often. */
#define CATALOG_EVERY_LEAST 300

/* All texts are the catalog's; NULL: nothing is said of it. */
struct catalog_feed {
	const char *name, *by, *holds, *family, *url;
	const char *was[CATALOG_WAS_MOST]; /* addresses that it had */
	const char *format, *where;	   /* how its text is read, where that cannot be seen */
	const char *account;		   /* it needs one: how one gets it */
	const char *http;		   /* it cannot be had by https: why */
	const char *note, *terms, *size, *written;
	int64_t every;	      /* the least seconds between two requests */
	const char *every_by; /* who says so */
};

struct catalog {
	char *text;
	struct catalog_feed *feeds;
	size_t n;
};

/* path NULL: the one beside the program. 0, or -errno with the reason recorded, which names the line. */
int catalog_read(struct catalog *catalog, const char *path);
void catalog_free(struct catalog *catalog);
/* By "@spamhaus-drop" or "spamhaus-drop". 0, or -ENOENT with the reason recorded. */
int catalog_find(const struct catalog *catalog, const char *name, const struct catalog_feed **feed);
/* Does any of its words have this in it, whatever the case? */
bool catalog_matches(const struct catalog_feed *feed, const char *words);

#endif
