// SPDX-License-Identifier: GPL-2.0-only
/* Which format is it? Every format that has lines tries a sample; the one that fits most lines is taken. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sets/reader_internal.h"

#define SAMPLE_LINES 256

static const struct format reader_format_table[] = {
	{ .name = "mixed", .line = plain_line, .kinds = ITEM_ANY, .hosts = true },
	{ .name = "plain", .line = plain_line, .kinds = ITEM_PREFIX, .hosts = true },
	{ .name = "netmask", .line = plain_line, .kinds = ITEM_PREFIX | ITEM_NETMASK, .hosts = true },
	{ .name = "range", .line = plain_line, .kinds = ITEM_PREFIX | ITEM_RANGE, .hosts = true },
	{ .name = "label", .line = label_line, .kinds = ITEM_ANY, .hosts = true, .names = true },
	{ .name = "hosts", .line = hosts_line, .kinds = ITEM_ANY, .names = true },
	{ .name = "p2p", .line = p2p_line, .kinds = ITEM_ANY },
	{ .name = "dat", .line = dat_line, .kinds = ITEM_ANY },
	{ .name = "ipset", .line = ipset_line, .kinds = ITEM_ANY },
	{ .name = "csv", .line = csv_line, .kinds = ITEM_ANY },
	{ .name = "json", .stream = json_stream, .kinds = ITEM_ANY },
	{ .name = "nft", .stream = nft_stream, .kinds = ITEM_ANY },
	{ .name = "packed", .stream = packed_stream, .kinds = ITEM_ANY },
};

#define FORMATS (sizeof(reader_format_table) / sizeof(*reader_format_table))

const char *const *reader_formats(void)
{
	static const char *names[FORMATS + 1];

	for (size_t i = 0; i < FORMATS; i++)
		names[i] = reader_format_table[i].name;
	return names;
}

static const struct format *by_name(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (!strcmp(reader_format_table[i].name, name))
			return &reader_format_table[i];
	return NULL;
}

bool reader_sample(const struct reader *reader, struct sample *sample)
{
	if (!sample->at)
		sample->at = reader->start;
	while (sample->at < reader->end && sample->taken < SAMPLE_LINES) {
		const char *text = reader->buf + sample->at, *end = reader->buf + reader->end;
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		/* The line that the window cuts is no sample, unless it is all there is. */
		if (!newline && !reader->ended && sample->taken)
			return false;
		sample->text = text;
		sample->len = (size_t)((newline ? newline : end) - text);
		sample->at += sample->len + 1;
		sample->number++;
		if (sample->len && text[sample->len - 1] == '\r')
			sample->len--;
		if (!line_is_empty(text, sample->len)) {
			sample->taken++;
			return true;
		}
	}
	return false;
}

static const char *try_line(struct reader *reader, const struct format *format, const struct sample *sample)
{
	struct item item = { 0 };

	reader->line = sample->number;
	/* cppcheck-suppress returnDanglingLifetime ; a reason is a constant, never the item */
	return format->line(reader, sample->text, sample->len, &item);
}

static size_t count_fitting(struct reader *reader, const struct format *format)
{
	struct sample sample = { 0 };
	size_t count = 0;

	while (reader_sample(reader, &sample))
		count += !try_line(reader, format, &sample);
	return count;
}

/*
 * A label is any text, and so is a damaged line: only where most lines have a label is the format with labels taken.
 * Where most labels are names with a dot, it is a hosts file.
 */
static const struct format *labels_or_names(const struct reader *reader)
{
	size_t labels = 0, names = 0;
	struct sample sample = { 0 };

	while (reader_sample(reader, &sample)) {
		const char *end = sample.text + sample.len, *rest;
		struct item item;

		if (label_take(sample.text, end, &item, &rest) || rest == end || starts_comment(rest, end))
			continue;
		labels++;
		names += memchr(rest, '.', (size_t)(skip_word(rest, end) - rest)) &&
			 !hosts_line(reader, sample.text, sample.len, &item);
	}
	if (labels <= sample.taken / 2)
		return NULL;
	return by_name(names > labels / 2 ? "hosts" : "label");
}

static bool json_begins(const char *p, const char *end)
{
	bool list = *p == '[', object = *p == '{';

	if (end - p >= 4 && !memcmp(p, "null", 4) && (end - p == 4 || strchr(" \t\r\n", p[4])))
		return true;
	do
		p++;
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'));
	return (list && (p == end || strchr("\"{[]", *p))) || (object && (p == end || strchr("\"}", *p)));
}

/* Files that people take for lists, by how they begin. */
static const char *no_list(const char *text, size_t length)
{
	static const struct {
		const char *begins;
		size_t length;
		const char *is;
	} kinds[] = {
		{ "XDPBLOOM", 8, "an image, not a list: xdp-bloom load --image FILE" },
		{ "PK\3\4", 4, "a zip archive: unzip -p FILE | xdp-bloom load NAME -" },
		{ "\xff\xfe", 2, "UTF-16, not plain text: iconv -f UTF-16 -t UTF-8 FILE | xdp-bloom load NAME -" },
		{ "\xfe\xff", 2, "UTF-16, not plain text: iconv -f UTF-16 -t UTF-8 FILE | xdp-bloom load NAME -" },
		{ "<", 1, "a web page or XML, not a list: perhaps the server's word that there is none" },
		{ "BZh", 3, "compressed by bzip2: bzcat FILE | xdp-bloom load NAME -" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (length >= kinds[i].length && !memcmp(text, kinds[i].begins, kinds[i].length))
			return kinds[i].is;
	return NULL;
}

int reader_nothing(struct reader *reader, const char *reason)
{
	struct sample first = { 0 };

	if (!reader_sample(reader, &first))
		return reader_fail(reader, -EINVAL, reason);
	if (first.number == 1 && no_list(first.text, first.len))
		reason = no_list(first.text, first.len);
	return reader_refuse(reader, first.number, first.text, first.len, reason);
}

/* "AS9009 # comment": a network operator, not an address. */
static bool is_as_number(const char *text, size_t len)
{
	const char *end = text + len, *p = skip_blanks(text, end), *digits;

	if (end - p < 3 || (p[0] | 0x20) != 'a' || (p[1] | 0x20) != 's')
		return false;
	for (digits = p += 2; p < end && *p >= '0' && *p <= '9'; p++)
		;
	return p > digits && p - digits <= 10 && (p == end || skip_blanks(p, end) > p || starts_comment(p, end));
}

/* Most lines do not: what is said of the first of them. */
static int nothing_fits(struct reader *reader, const struct format *best)
{
	static const char expected[] = "expected an address, a prefix, a range, or a line of another known format";
	struct sample sample = { 0 };
	const char *reason = NULL;

	while (!reason && reader_sample(reader, &sample))
		reason = try_line(reader, best, &sample);
	if (sample.number == 1 && no_list(sample.text, sample.len))
		reason = no_list(sample.text, sample.len);
	else if (is_as_number(sample.text, sample.len))
		reason = "an AS number, not an address: take its networks from a table of them: "
			 "load NAME TABLE --where asn=9009";
	else if (memchr(sample.text, '\0', sample.len))
		reason = "a NUL byte: this is not a text file";
	else if (reason == addr_is_none)
		reason = expected;
	return reader_refuse(reader, sample.number, sample.text, sample.len, reason);
}

int reader_detect(struct reader *reader)
{
	const char *others[] = { NULL, "p2p", "dat", "ipset", "csv" };
	const struct format *best = by_name("mixed"), *labels = labels_or_names(reader);
	struct sample first = { 0 }, sample = { 0 };
	const char *text, *csv_problem;
	size_t fitting;

	reader->format = best;
	if (!reader_sample(reader, &first))
		return 0;
	text = skip_blanks(first.text, first.text + first.len);
	if (packed_begins(reader->buf + reader->start, reader->end - reader->start))
		best = by_name("packed");
	else if (nft_begins(text, (size_t)(reader->buf + reader->end - text)))
		best = by_name("nft");
	else if (json_begins(text, reader->buf + reader->end))
		best = by_name("json");
	if (best->stream) {
		reader->format = best;
		return 0;
	}
	fitting = count_fitting(reader, best);
	if (labels)
		others[0] = labels->name;
	csv_problem = csv_detect(reader);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const struct format *other = others[i] ? by_name(others[i]) : NULL;
		size_t count;

		if (!other || (other->line == csv_line && !reader->separator))
			continue;
		count = count_fitting(reader, other);
		if (count > fitting) {
			best = other;
			fitting = count;
		}
	}
	reader->format = best;
	if (best->line == csv_line && csv_problem)
		return reader_refuse(reader, first.number, first.text, first.len, csv_problem);
	while (reader_sample(reader, &sample))
		;
	if (fitting < sample.taken / 10 || !fitting)
		return nothing_fits(reader, best);
	reader->line = 0;
	return 0;
}

static int choose_column(struct reader *reader, const char *number)
{
	const char *problem = csv_detect(reader);
	struct sample first = { 0 };
	unsigned long column;
	char *end;

	if (!number) {
		if (!problem || !reader_sample(reader, &first))
			return 0;
		return reader_refuse(reader, first.number, first.text, first.len, problem);
	}
	column = strtoul(number, &end, 10);
	if (*number < '1' || *number > '9' || *end || column > CSV_COLUMNS_MAX)
		return reader_fail(reader, -EINVAL, "the column in --format csv:N is 1 to 64");
	reader->column = (unsigned int)column - 1;
	if (!reader->separator)
		reader->separator = ',';
	return 0;
}

int reader_choose(struct reader *reader, const char *name)
{
	char text[READER_TEXT_MAX];
	size_t n;

	if (!strncmp(name, "csv:", 4)) {
		reader->format = by_name("csv");
		return choose_column(reader, name + 4);
	}
	reader->format = by_name(name);
	if (!reader->format) {
		n = (size_t)snprintf(text, sizeof(text), "there is no format '%.32s', but", name);
		for (size_t i = 0; i < FORMATS && n < sizeof(text); i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %s", i ? "," : "",
					      reader_format_table[i].name);
		return reader_fail(reader, -EINVAL, text);
	}
	return reader->format->line == csv_line ? choose_column(reader, NULL) : 0;
}

int reader_choose_rows(struct reader *reader)
{
	static const struct format table = { .name = "csv", .stream = table_stream, .kinds = ITEM_ANY };
	const char *format = reader->options->format;
	struct sample first = { 0 };
	bool json = format && !strcmp(format, "json");
	int err;

	if (format && !strncmp(format, "csv:", 4)) {
		err = reader_choose(reader, format);
		if (err)
			return err;
	} else if (format && !json && strcmp(format, "csv") != 0) {
		return reader_fail(reader, -EINVAL, "--where takes rows of csv and json");
	} else if (!format && reader_sample(reader, &first)) {
		const char *end = reader->buf + reader->end;

		json = json_begins(skip_blanks(first.text, first.text + first.len), end);
	}
	reader->format = json ? by_name("json") : &table;
	return 0;
}
