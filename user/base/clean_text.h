/* SPDX-License-Identifier: GPL-2.0-only */
/* Other people's text, before it goes to a terminal, a log or a page. */
#ifndef BASE_CLEAN_TEXT_H
#define BASE_CLEAN_TEXT_H

#include <stddef.h>

/* In place, of the same length: a '?' for each byte of what is not UTF-8, and of what a terminal would obey. */
void clean_text(char *text);

/* The same in buf, cut to its size. */
const char *clean_copy(char *buf, size_t size, const char *text);

#endif
