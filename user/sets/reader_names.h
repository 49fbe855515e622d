/* SPDX-License-Identifier: GPL-2.0-only */
/* Which columns of a table say whose a network is, and what they say. */
#ifndef SETS_READER_NAMES_H
#define SETS_READER_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "sets/network.h"

enum name_column { NAME_COUNTRY, NAME_ASN, NAME_TEXT, NAME_COLUMNS };

/* How good a name for that column this is: 1 is the best, 0: it is none. */
unsigned int name_column_rank(enum name_column column, const char *name, size_t len);

/* What a column without a name may be, by the values in it. */
struct name_guess {
	size_t empty, countries, continents, numbers, texts;
};
void name_guess_add(struct name_guess *guess, const char *field, size_t len);
bool name_guess_is(const struct name_guess *guess, enum name_column column);

/* Adds what the field says; "None", "-" and 0 say nothing. */
void network_take(struct network *to, enum name_column column, const char *field, size_t len);
/* As it may come from a stranger: in order for whoever shows it. */
void network_clean(struct network *network);

#endif
