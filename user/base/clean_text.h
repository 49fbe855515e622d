/* SPDX-License-Identifier: GPL-2.0-only */
/* Text from outside, before it goes to a terminal, a log or a page. */
#ifndef BASE_CLEAN_TEXT_H
#define BASE_CLEAN_TEXT_H

#include <stddef.h>

/*
 * In place: each byte that is not UTF-8, that a terminal would obey, or of a character that nobody sees (of no width,
 * or one that turns the direction of writing), becomes a '?'.
 */
void clean_text(char *text);

/* The same in buf, cut to its size. */
const char *clean_copy(char *buf, size_t size, const char *text);

#endif
