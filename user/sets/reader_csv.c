// SPDX-License-Identifier: GPL-2.0-only
/* Tables: one row a line, the address in any one column. */
#include <string.h>

#include "sets/reader_internal.h"

const char csv_several[] = "more than one column holds addresses (--format csv:2 takes the second)";

/*
 * Takes one field: *text moves behind its separator, or to NULL behind the last one. Quotes are taken off; a doubled
 * quote inside stays as it is, since no address has one.
 */
static const char *take_field(char separator, const char **text, const char *end, const char **field, size_t *len)
{
	const char *p = *text, *stop;

	while (p < end && *p == ' ')
		p++;
	if (p < end && *p == '"') {
		*field = ++p;
		while ((p = memchr(p, '"', (size_t)(end - p))) && p + 1 < end && p[1] == '"')
			p += 2;
		if (!p)
			return "a quote is not closed on the line";
		*len = (size_t)(p - *field);
		stop = skip_blanks(p + 1, end);
		if (separator == '\t')
			stop = p + 1;
		if (stop < end && *stop != separator)
			return "there is text behind a closing quote";
	} else {
		stop = memchr(p, separator, (size_t)(end - p));
		if (!stop)
			stop = end;
		*field = p;
		*len = (size_t)(stop - p);
	}
	*text = stop < end ? stop + 1 : NULL;
	return NULL;
}

LINE_FUNCTION(csv)
{
	const char *p = text, *end = text + len, *field, *reason;
	size_t field_len;

	if (reader->line == reader->heading)
		return NULL;
	for (unsigned int column = 0; p; column++) {
		reason = take_field(reader->separator, &p, end, &field, &field_len);
		if (reason)
			return reason;
		if (column == reader->column) {
			reason = item_parse(field, field_len, item);
			if (reason)
				return reason;
		}
		if (column >= reader->column && !p)
			return NULL;
	}
	return "the line has too few columns";
}

/* Which columns of a row hold an address. */
static uint64_t address_columns(char separator, const char *text, size_t len, unsigned int *columns)
{
	const char *p = text, *end = text + len, *field;
	uint64_t found = 0;
	struct item item;
	size_t field_len;

	for (*columns = 0; p && *columns < CSV_COLUMNS_MAX; ++*columns) {
		if (take_field(separator, &p, end, &field, &field_len))
			return 0;
		if (!item_parse(field, field_len, &item))
			found |= (uint64_t)1 << *columns;
	}
	return found;
}

/* The names of columns have no digits in front and no dots or colons, as a damaged address would. */
bool csv_is_heading(char separator, const char *text, size_t len)
{
	const char *p = text, *end = text + len, *field;
	size_t field_len;

	while (p) {
		if (take_field(separator, &p, end, &field, &field_len) || !field_len ||
		    !strchr("abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ", *field) ||
		    memchr(field, '.', field_len) || memchr(field, ':', field_len))
			return false;
	}
	return true;
}

static void count_rows(const struct reader *reader, char separator, size_t rows[CSV_COLUMNS_MAX])
{
	struct sample sample = { 0 };

	memset(rows, 0, CSV_COLUMNS_MAX * sizeof(*rows));
	while (reader_sample(reader, &sample)) {
		unsigned int columns;
		uint64_t found = address_columns(separator, sample.text, sample.len, &columns);

		for (; columns > 1 && found; found &= found - 1)
			rows[__builtin_ctzll(found)]++;
	}
}

const char *csv_detect(struct reader *reader)
{
	size_t rows[CSV_COLUMNS_MAX], best = 0;
	struct sample first = { 0 };

	reader->separator = '\0';
	reader->heading = 0;
	for (const char *separator = ",;\t|"; *separator; separator++) {
		count_rows(reader, *separator, rows);
		for (unsigned int i = 0; i < CSV_COLUMNS_MAX; i++) {
			if (rows[i] > best) {
				best = rows[i];
				reader->column = i;
				reader->separator = *separator;
			}
		}
	}
	if (!best)
		return "no column holds an address";
	if (reader_sample(reader, &first) && csv_is_heading(reader->separator, first.text, first.len))
		reader->heading = first.number;
	count_rows(reader, reader->separator, rows);
	for (unsigned int i = 0; i < CSV_COLUMNS_MAX; i++)
		if (i != reader->column && rows[i] > best / 2)
			return csv_several;
	return NULL;
}
