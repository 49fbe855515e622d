// SPDX-License-Identifier: GPL-2.0-only
/* A row, column by column: what no version of ours wrote is damage, and is found where it is read. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "state/internal.h"

static void damaged(struct row *row)
{
	if (!row->err)
		row->err = -EUCLEAN;
}

int64_t row_number(struct row *row, int column, int64_t least, int64_t most)
{
	int64_t value = sqlite3_column_int64(row->stmt, column);

	/* Something close to a number would not be found by that number. */
	if (sqlite3_column_type(row->stmt, column) == SQLITE_INTEGER && value >= least && value <= most)
		return value;
	damaged(row);
	return least;
}

int64_t row_number_or_none(struct row *row, int column, int64_t least, int64_t most)
{
	return sqlite3_column_type(row->stmt, column) == SQLITE_NULL ? 0 : row_number(row, column, least, most);
}

int64_t row_time(struct row *row, int column)
{
	return row_number(row, column, 0, TIME_MOST);
}

void row_text(struct row *row, int column, char *to, size_t size)
{
	bool is_text = sqlite3_column_type(row->stmt, column) == SQLITE_TEXT;
	const unsigned char *text = sqlite3_column_text(row->stmt, column);
	size_t bytes = (size_t)sqlite3_column_bytes(row->stmt, column);
	size_t fits = bytes < size ? bytes : size - 1;

	*to = '\0';
	if (is_text && !text) {
		row->err = -ENOMEM;
		return;
	}
	if (!is_text || bytes >= size || memchr(text, '\0', bytes))
		damaged(row);
	if (text) {
		memcpy(to, text, fits);
		to[fits] = '\0';
	}
}
