/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which rows of a table are taken: "country=CN,HK&asn=9009", where each column has one of its values. A column is a
 * name or a number, counted from 1; a backslash takes a comma, '&' or '=' as it is.
 */
#ifndef SETS_WHERE_H
#define SETS_WHERE_H

#include <stdbool.h>
#include <stddef.h>

#define WHERE_MAX	 1024
#define WHERE_CONDITIONS 8

struct where {
	size_t n;
	struct condition {
		const char *column;
		unsigned int number; /* of the column; 0: it has a name */
		size_t first, values;
	} conditions[WHERE_CONDITIONS];
	struct where_value {
		const char *text;
		size_t len;
	} values[WHERE_MAX];
	char text[2 * WHERE_MAX];
};

/* Adds "column=value,value" to what else must hold. NULL, or what is wrong with it; then nothing was added. */
const char *where_add(char where[WHERE_MAX], const char *condition);
/* Of the conditions the one at *at, as where_add() takes it; *at moves behind it. False: there is none. */
bool where_next(const char *where, size_t *at, char condition[WHERE_MAX]);

/* NULL, or what is wrong with it. */
const char *where_compile(struct where *w, const char *where);
/*
 * Is the field one of the condition's values? Blanks around it do not count, nor does the case of ASCII letters, nor an
 * "AS" in front of digits.
 */
bool where_holds(const struct where *w, size_t condition, const char *field, size_t len);
/* Is the condition about this column? */
bool where_names(const struct where *w, size_t condition, const char *name, size_t len);

#endif
