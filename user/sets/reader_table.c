// SPDX-License-Identifier: GPL-2.0-only
/* Rows of a table that are taken by what stands in their columns (where.h). Here a quoted field may go over lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sets/reader_internal.h"
#include "sets/reader_names.h"
#include "sets/where.h"

#define SAMPLE_ROWS 256

struct field {
	const char *text;
	size_t len;
};

struct table {
	struct reader *reader;
	const struct where *where;
	char separator;
	unsigned int column[WHERE_CONDITIONS]; /* of each condition */
	unsigned int address, last;	       /* where a range ends: another one than `address` */
	unsigned int needed;		       /* so many columns of a row are looked at */
	unsigned int most;		       /* and so many more, where there are */
	unsigned int names[NAME_COLUMNS];      /* counted from 1; 0: there is none */
	uint64_t heading;
};

static const char *skip_spaces(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	return p;
}

/* Behind the closing quote of the field that begins there; NULL: it is not closed. */
static const char *skip_quoted(const char *p, const char *end)
{
	for (p++; (p = memchr(p, '"', (size_t)(end - p))); p += 2)
		if (p + 1 == end || p[1] != '"')
			return p + 1;
	return NULL;
}

/* Its newline, or the end; NULL: a quote is not closed. In tables with tabs a quote is a character. */
static const char *row_end(char separator, const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p)) ?: end;

	if (separator == '\t' || !memchr(p, '"', (size_t)(newline - p)))
		return newline;
	for (;; p++) {
		p = skip_spaces(p, end);
		if (p < end && *p == '"')
			p = skip_quoted(p, end);
		if (!p)
			return NULL;
		while (p < end && *p != separator && *p != '\n')
			p++;
		if (p == end || *p == '\n')
			return p;
	}
}

/* Takes one field: *p moves behind its separator, or to NULL behind the last. NULL, or what is wrong. */
static const char *take_field(char separator, const char **p, const char *end, struct field *field)
{
	const char *begin = *p, *stop;

	if (separator != '\t')
		begin = skip_spaces(begin, end);
	if (separator != '\t' && begin < end && *begin == '"') {
		stop = skip_quoted(begin, end);
		if (!stop)
			return "a quote is not closed";
		*field = (struct field){ begin + 1, (size_t)(stop - begin) - 2 };
		stop = skip_blanks(stop, end);
		if (stop < end && *stop != separator)
			return "there is text behind a closing quote";
	} else {
		stop = memchr(begin, separator, (size_t)(end - begin)) ?: end;
		*field = (struct field){ begin, (size_t)(stop - begin) };
		if (separator == '\t' && field->len > 1 && *begin == '"' && stop[-1] == '"')
			*field = (struct field){ begin + 1, field->len - 2 };
	}
	*p = stop < end ? stop + 1 : NULL;
	return NULL;
}

/* NULL, or what is wrong; *n is how many there are, `most` at most. */
static const char *split(char separator, struct field row, struct field *fields, unsigned int most, unsigned int *n)
{
	const char *p = row.text, *reason = NULL;

	for (*n = 0; p && *n < most && !reason; *n += !reason)
		reason = take_field(separator, &p, row.text + row.len, &fields[*n]);
	return reason;
}

static const char *address_of(struct field field, struct item *item)
{
	trim_blanks(&field.text, &field.len);
	return item_parse(field.text, field.len, item);
}

/* --- Which columns hold addresses? --- */

/* The rows of the window; the one that it cuts is none, unless it is all there is. */
struct rows {
	const char *at;
	unsigned int taken;
	struct field row, comment; /* the last comment before it */
	uint64_t line;		   /* on which it begins */
};

static bool next_row(const struct table *t, char separator, struct rows *rows)
{
	const struct reader *reader = t->reader;
	const char *end = reader->buf + reader->end;
	uint64_t begin = rows->at ? rows->line : 1;

	if (!rows->at)
		rows->at = reader->buf + reader->start;
	else
		for (const char *p = rows->row.text; (p = memchr(p, '\n', (size_t)(rows->at - p))); p++)
			begin++;
	while (rows->at < end && rows->taken < SAMPLE_ROWS) {
		const char *stop = row_end(separator, rows->at, end);

		/* One with an open quote ends with its line, as it does for whoever reads on. */
		if (!stop)
			stop = memchr(rows->at, '\n', (size_t)(end - rows->at)) ?: end;
		if (stop == end && !reader->ended && rows->taken)
			return false;
		rows->row = (struct field){ rows->at, (size_t)(stop - rows->at) };
		rows->line = begin;
		rows->at = stop < end ? stop + 1 : end;
		if (rows->row.len && stop[-1] == '\r')
			rows->row.len--;
		if (!line_is_empty(rows->row.text, rows->row.len)) {
			rows->taken++;
			return true;
		}
		if (skip_blanks(rows->row.text, stop) < stop)
			rows->comment = rows->row;
		begin++;
	}
	return false;
}

struct found {
	size_t rows[CSV_COLUMNS_MAX];
	size_t pairs[CSV_COLUMNS_MAX];	 /* rows where a range is, from this column to the next */
	size_t ordered[CSV_COLUMNS_MAX]; /* of them those behind the range of the row before */
};

static void look(const struct table *t, char separator, struct found *found)
{
	struct item items[CSV_COLUMNS_MAX], before[CSV_COLUMNS_MAX] = { 0 }, range;
	struct field fields[CSV_COLUMNS_MAX];
	struct rows rows = { 0 };
	unsigned int n;

	memset(found, 0, sizeof(*found));
	while (next_row(t, separator, &rows)) {
		split(separator, rows.row, fields, CSV_COLUMNS_MAX, &n);
		for (unsigned int i = 0; i < n && n > 1; i++) {
			struct addr first, last;

			items[i].family = 0;
			if (address_of(fields[i], &items[i])) {
				items[i].family = 0;
				continue;
			}
			found->rows[i]++;
			if (!i || !items[i - 1].family || items[i - 1].lo != items[i - 1].hi ||
			    items[i].lo != items[i].hi)
				continue;
			first = (struct addr){ items[i - 1].lo, items[i - 1].family };
			last = (struct addr){ items[i].lo, items[i].family };
			if (item_range(&first, &last, &range))
				continue;
			found->pairs[i - 1]++;
			found->ordered[i - 1] += before[i].family != range.family || before[i].hi < range.lo;
			before[i] = range;
		}
	}
}

static bool begins_range(struct field name)
{
	static const char *const words[] = { "start", "first", "from", "begin", "low", "min" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (size_t at = 0; at + strlen(words[i]) <= name.len; at++)
			if (!strncasecmp(name.text + at, words[i], strlen(words[i])))
				return true;
	return false;
}

/*
 * Two columns of addresses are a range where each row's first is not above its second, and the name of the first says
 * so; without names, where the rows are in order and none reaches into the next, as in tables of networks.
 */
static bool is_range(const struct found *f, unsigned int column, struct field *names, unsigned int n)
{
	size_t rows = f->rows[column], ends = column + 1 < CSV_COLUMNS_MAX ? f->rows[column + 1] : 0;

	if (!ends || f->pairs[column] != ends)
		return false;
	return n ? column < n && begins_range(names[column]) : rows > 1 && f->ordered[column] == rows;
}

static const char *find_separator(struct table *t, struct found *found)
{
	static struct found other;
	size_t best = 0;

	for (const char *separator = ",;\t|"; *separator; separator++) {
		look(t, *separator, &other);
		for (unsigned int i = 0; i < CSV_COLUMNS_MAX; i++) {
			if (other.rows[i] <= best)
				continue;
			best = other.rows[i];
			t->address = i;
			if (t->separator != *separator)
				*found = other;
			t->separator = *separator;
		}
	}
	return best ? NULL : "no column holds an address";
}

/* The names of the columns: the first row, if it has no address, or the comment before it. */
static unsigned int find_names(struct table *t, struct field names[CSV_COLUMNS_MAX], bool wanted)
{
	struct rows rows = { 0 };
	struct item item;
	unsigned int n = 0;

	if (!next_row(t, t->separator, &rows) || split(t->separator, rows.row, names, CSV_COLUMNS_MAX, &n))
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		if (address_of(names[i], &item))
			continue;
		/* It has one. */
		while (rows.comment.len &&
		       (*rows.comment.text == '#' || *rows.comment.text == ';' || *rows.comment.text == ' '))
			rows.comment.text++, rows.comment.len--;
		if (!rows.comment.len || split(t->separator, rows.comment, names, CSV_COLUMNS_MAX, &n) || n < 2)
			return 0;
		return n;
	}
	if (wanted || csv_is_heading(t->separator, rows.row.text, rows.row.len))
		t->heading = rows.line;
	return t->heading ? n : 0;
}

/* "there is no column 'x', but a, b, c" */
static int no_column(const struct table *t, const char *column, const struct field *names, unsigned int n)
{
	char text[READER_TEXT_MAX];
	size_t at = (size_t)snprintf(text, sizeof(text), "there is no column '%.40s'", column);

	if (!n && !t->reader->options->hidden)
		snprintf(text + at, sizeof(text) - at, ": the table does not name them; take their numbers");
	for (unsigned int i = 0; i < n && at < sizeof(text) && !t->reader->options->hidden; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %.*s", i ? "," : ", but",
				       names[i].len < 40 ? (int)names[i].len : 40, names[i].text);
	for (char *p = text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return reader_fail(t->reader, -EINVAL, text);
}

static int find_conditions(struct table *t, const struct field *names, unsigned int n)
{
	for (size_t i = 0; i < t->where->n; i++) {
		const struct condition *c = &t->where->conditions[i];
		unsigned int at = 0;

		while (!c->number && at < n && !where_names(t->where, i, names[at].text, names[at].len))
			at++;
		if (c->number)
			at = c->number - 1;
		if (c->number ? n && at >= n : at == n)
			return no_column(t, c->column, names, n);
		t->column[i] = at;
		if (at >= t->needed)
			t->needed = at + 1;
	}
	return 0;
}

/* By what stands in the columns, as many tables of networks have no heading. */
static void guess_names(struct table *t)
{
	static struct name_guess guess[CSV_COLUMNS_MAX];
	struct field fields[CSV_COLUMNS_MAX];
	struct rows rows = { 0 };
	unsigned int n;

	memset(guess, 0, sizeof(guess));
	while (next_row(t, t->separator, &rows)) {
		split(t->separator, rows.row, fields, CSV_COLUMNS_MAX, &n);
		for (unsigned int i = 0; i < n && rows.line != t->heading; i++)
			name_guess_add(&guess[i], fields[i].text, fields[i].len);
	}
	for (unsigned int i = 0; i < CSV_COLUMNS_MAX; i++)
		for (enum name_column c = 0; c < NAME_COLUMNS && i != t->address && i != t->last; c++)
			if (name_guess_is(&guess[i], c) && (c == NAME_TEXT || !t->names[c]))
				t->names[c] =
					i + 1; /* of texts the last: a country's name stands before an operator's */
}

static int find_network_names(struct table *t, const struct field *names, unsigned int n)
{
	bool found = false;

	for (enum name_column c = 0; c < NAME_COLUMNS; c++) {
		unsigned int best = 0;

		for (unsigned int i = 0; i < n; i++) {
			unsigned int rank = name_column_rank(c, names[i].text, names[i].len);

			if (rank && (!best || rank < best)) {
				best = rank;
				t->names[c] = i + 1;
			}
		}
		found |= best;
	}
	if (!found)
		guess_names(t);
	t->most = t->needed;
	for (enum name_column c = 0; c < NAME_COLUMNS; c++) {
		found |= t->names[c];
		if (t->names[c] > t->most)
			t->most = t->names[c];
	}
	return found ? 0
		     : reader_fail(
			       t->reader, -EINVAL,
			       "no column of it is a country's code, an AS number or a name (such as country, asn, as_name)");
}

static int find_columns(struct table *t)
{
	struct reader *reader = t->reader;
	const char *format = reader->options->format, *reason;
	bool chosen = format && !strncmp(format, "csv:", 4); /* then reader_choose() has taken the number */
	struct field names[CSV_COLUMNS_MAX];
	static struct found found;
	bool by_name = false;
	unsigned int n;
	int err;

	for (size_t i = 0; i < t->where->n; i++)
		by_name |= !t->where->conditions[i].number;
	reason = find_separator(t, &found);
	if (reason && !chosen)
		return reader_nothing(reader, reason);
	if (chosen)
		t->address = reader->column;
	t->last = t->address;
	t->separator = t->separator ?: ',';
	n = find_names(t, names, by_name || reader->options->named);
	err = find_conditions(t, names, n);
	if (err)
		return err;
	if (!chosen && is_range(&found, t->address, names, n))
		t->last = t->address + 1;
	for (unsigned int i = 0; i < CSV_COLUMNS_MAX && !chosen && t->last == t->address; i++)
		if (i != t->address && found.rows[i] > found.rows[t->address] / 2)
			return reader_fail(reader, -EINVAL, csv_several);
	if (t->address >= t->needed)
		t->needed = t->address + 1;
	if (t->last >= t->needed)
		t->needed = t->last + 1;
	t->most = t->needed;
	return reader->options->named ? find_network_names(t, names, n) : 0;
}

/* --- The rows --- */

/* 1 with a row, 0 at the end, or -errno; a row that is none is reported and passed over. */
static int take_row(struct table *t, struct field *row, uint64_t *line)
{
	struct reader *reader = t->reader;

	for (;;) {
		const char *begin = reader->buf + reader->start, *end = reader->buf + reader->end, *stop;
		bool cut = (size_t)(end - begin) > READER_LINE_MAX;
		int err;

		if (begin == end && reader->ended)
			return 0;
		if (cut)
			end = begin + READER_LINE_MAX + 1;
		stop = row_end(t->separator, begin, end);
		*line = reader->line + 1;
		if (stop && (stop < end || (!cut && reader->ended))) {
			*row = (struct field){ begin, (size_t)(stop - begin) };
			reader_skip(reader, row->len + (stop < end));
			if (row->len && stop[-1] == '\r')
				row->len--;
			return 1;
		}
		if (!cut && !reader->ended) {
			err = reader_fill(reader);
			if (err < 0)
				return err;
			continue;
		}
		stop = memchr(begin, '\n', (size_t)(end - begin));
		err = reader_work(reader) ?:
		      reader_bad(reader, *line, begin, (size_t)((stop ?: end) - begin),
				 stop || !cut ? "a quote is not closed" : "the line is longer than 64 KiB") ?:
		      reader_skip_line(reader);
		if (err)
			return err;
	}
}

/* A doubled quote is one. */
static struct field plain_field(struct field field, char plain[WHERE_MAX])
{
	size_t len = 0;

	if (!memchr(field.text, '"', field.len))
		return field;
	for (size_t i = 0; i < field.len && len < WHERE_MAX; i++) {
		plain[len++] = field.text[i];
		i += field.text[i] == '"' && i + 1 < field.len && field.text[i + 1] == '"';
	}
	return (struct field){ plain, len };
}

static bool holds(const struct table *t, size_t condition, struct field field)
{
	char plain[WHERE_MAX];

	field = plain_field(field, plain);
	return where_holds(t->where, condition, field.text, field.len);
}

/* Of a row of `n` fields; what it does not have is not known of it. */
static void take_names(struct table *t, const struct field *fields, unsigned int n)
{
	struct network *network = &t->reader->network;
	char plain[WHERE_MAX];

	*network = (struct network){ 0 };
	for (enum name_column c = 0; c < NAME_COLUMNS; c++) {
		struct field field;

		if (!t->names[c] || t->names[c] > n)
			continue;
		field = plain_field(fields[t->names[c] - 1], plain);
		network_take(network, c, field.text, field.len);
	}
}

static int one_row(struct table *t, struct field row, uint64_t line)
{
	struct field fields[CSV_COLUMNS_MAX];
	struct item item = { 0 }, last;
	const char *reason;
	unsigned int n;

	if (memchr(row.text, '\0', row.len))
		return reader_bad(t->reader, line, row.text, row.len, "a NUL byte: this is not a text file");
	if (line == t->heading || line_is_empty(row.text, row.len))
		return 0;
	reason = split(t->separator, row, fields, t->most, &n);
	for (size_t i = 0; i < t->where->n && !reason && t->column[i] < n; i++)
		if (!holds(t, i, fields[t->column[i]]))
			return 0;
	if (!reason && n < t->needed)
		reason = "the line has too few columns";
	if (!reason)
		reason = address_of(fields[t->address], &item);
	if (!reason && t->last != t->address) {
		reason = address_of(fields[t->last], &last);
		if (!reason && (item.lo != item.hi || last.lo != last.hi))
			reason = "a range begins and ends with one address";
		if (!reason)
			reason = item_range(&(struct addr){ item.lo, item.family },
					    &(struct addr){ last.lo, last.family }, &item);
	}
	if (reason)
		return reader_bad(t->reader, line, row.text, row.len, reason);
	t->reader->entry_line = line;
	if (t->reader->options->named)
		take_names(t, fields, n);
	return reader_add(t->reader, &item);
}

int table_stream(struct reader *reader)
{
	struct table t = { .reader = reader, .where = reader->where };
	struct field row = { "", 0 };
	uint64_t line = 0;
	int err;

	if (reader->start == reader->end && reader->ended)
		return 0;
	err = find_columns(&t);
	while (!err) {
		err = take_row(&t, &row, &line);
		if (err <= 0)
			break;
		err = reader_work(reader) ?: one_row(&t, row, line);
	}
	return err;
}
