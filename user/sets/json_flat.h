/* SPDX-License-Identifier: GPL-2.0-only */
/* A JSON object on one line without another in it, as tables have them: found without a tree, nothing is copied. */
#ifndef SETS_JSON_FLAT_H
#define SETS_JSON_FLAT_H

#include <stdbool.h>
#include <stddef.h>

#define FLAT_MOST 32

struct flat_text {
	const char *text;
	size_t len;
};

struct flat_member {
	struct flat_text name, value;
	bool is_string; /* otherwise an integer, true, false or null, as it is written */
};

/*
 * Its length, and what is in it; 0: it is something else, is damaged, or has what takes a real parser: an escape, a
 * byte beyond ASCII, a fraction, a number of more than 18 digits, a name twice, more members. What is found is what
 * that would find.
 */
size_t flat_object(const char *text, const char *end, struct flat_member members[FLAT_MOST], size_t *n);

#endif
