/* SPDX-License-Identifier: GPL-2.0-only */
/* Command lines in a file: the grammar of the config file and of batch. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stdbool.h>
#include <stdio.h>

/* A line's words, as a command's arguments: words[0] is the verb, words[n] is NULL. */
struct words {
	char **words;
	int n;
};

/*
 * Blanks part words; 'single' and "double" quotes hold them together, a backslash takes the next character as it is
 * (not between single quotes), and # begins a comment where a word could begin. Returns NULL, or what is wrong with the
 * line; then there are no words. Nothing is expanded.
 */
const char *words_split(struct words *w, const char *line);
/* A word so that words_split() makes it again; false: there is not so much room. */
bool words_quote(char *to, size_t size, const char *word);
bool words_same(const struct words *a, const struct words *b);
void words_free(struct words *w);

/*
 * Calls `each` for each line that has words, until it returns something else than 0. Returns that, or -errno where a
 * line is wrong, with the reason recorded, "NAME:LINE: ..." in front.
 */
int words_file(FILE *file, const char *name, int (*each)(void *arg, const struct words *w, unsigned int line),
	       void *arg);

#endif
