// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "sets/ranges.h"
#include "sets/reader_input.h"
#include "sets/reader_internal.h"

#define NAME_SHOWN 96 /* bytes of a file name in a message: the end of it says more than the beginning */
#define TEXT_SHOWN 48

/* Appends text in printable form, at most `shown` bytes of it. */
static void put_text(FILE *out, const char *text, size_t len, size_t shown)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		size_t width = c < 0x20 || c > 0x7e ? 4 : 1;

		if (width > shown) {
			fputs("...", out);
			return;
		}
		shown -= width;
		fprintf(out, width == 1 ? "%c" : "\\x%02x", c);
	}
}

/* "name:line: 'text': reason"; without a line number, "name: reason". */
static void compose(const struct reader *reader, char message[READER_TEXT_MAX], uint64_t line, const char *text,
		    size_t len, const char *reason)
{
	FILE *out = fmemopen(message, READER_TEXT_MAX, "w");
	size_t name_len = strlen(reader->name);

	message[0] = '\0';
	if (!out)
		return;
	if (name_len > NAME_SHOWN)
		fprintf(out, "...%s", reader->name + name_len - NAME_SHOWN);
	else
		fputs(reader->name, out);
	if (line)
		fprintf(out, ":%llu", (unsigned long long)line);
	if (line && !reader->options->hidden) {
		trim_blanks(&text, &len);
		fputs(": '", out);
		put_text(out, text, len, TEXT_SHOWN);
		fputs("'", out);
	}
	fprintf(out, ": %s", reason);
	fclose(out);
	message[READER_TEXT_MAX - 1] = '\0';
}

int reader_fail(struct reader *reader, int err, const char *reason)
{
	compose(reader, reader->error, 0, "", 0, reason);
	return err;
}

int reader_refuse(struct reader *reader, uint64_t line, const char *text, size_t len, const char *reason)
{
	compose(reader, reader->error, line, text, len, reason);
	return -EINVAL;
}

int reader_bad(struct reader *reader, uint64_t line, const char *text, size_t len, const char *reason)
{
	struct reader_report *report = reader->report;

	if (!reader->options->skip_bad)
		return reader_refuse(reader, line, text, len, reason);
	if (report->bad < READER_BAD_MAX)
		compose(reader, report->bad_text[report->bad], line, text, len, reason);
	report->bad++;
	return 0;
}

static void note_masked(struct reader *reader, const struct item *item)
{
	struct addr first = { item->lo, item->family }, host = { item->host, item->family };
	char text[PREFIX_TEXT_MAX],
		reason[PREFIX_TEXT_MAX + 48] = "host bits are set: it is taken for the whole network";
	unsigned int length = addr_width(item->family);

	if (reader->report->masked++)
		return;
	for (ip6 bits = item->hi - item->lo; bits; bits >>= 1)
		length--;
	if (!reader->options->hidden)
		snprintf(reason, sizeof(reason), "host bits are set: it is taken for %s",
			 prefix_text(text, first, (int)length));
	prefix_text(text, host, -1);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "/%u", length);
	compose(reader, reader->report->masked_text, reader->entry_line ? reader->entry_line : reader->line, text,
		strlen(text), reason);
}

void reader_warn_masked(const struct reader_report *report)
{
	if (report->masked > 1)
		warn("%s; so it is with %llu more", report->masked_text, (unsigned long long)report->masked - 1);
	else if (report->masked)
		warn("%s", report->masked_text);
}

int reader_add(struct reader *reader, const struct item *item)
{
	const struct reader_options *options = reader->options;
	int err;

	if (options->named)
		return options->named(options->arg, item->family, item->lo, item->hi, &reader->network);
	if (options->each)
		return options->each(options->arg, item->family, item->lo, item->hi,
				     reader->entry_line ? reader->entry_line : reader->line);
	if (item->family == 4)
		err = ranges_add4(reader->set, (uint32_t)item->lo, (uint32_t)item->hi);
	else
		err = ranges_add6(reader->set, item->lo, item->hi);
	if (err)
		return reader_fail(reader, err, errno_text(err));
	reader->report->entries++;
	reader->kinds |= item->kind;
	if (item->masked)
		note_masked(reader, item);
	if (item->lo == item->hi)
		reader->nowhere += item->family == 4 ? !item->lo || item->lo >> 24 == 127 : item->lo <= 1;
	return 0;
}

void reader_progress(struct reader *reader)
{
	double part = reader->options->progress ? input_progress(reader->input) : -1;

	if (part >= 0)
		progress_show("reading the list", part);
}

/* Names the format that was found, not the one that was looked for. */
static const char *format_name(const struct reader *reader)
{
	if (strcmp(reader->format->name, "mixed") != 0)
		return reader->format->name;
	switch (reader->kinds & (ITEM_NETMASK | ITEM_RANGE)) {
	case ITEM_NETMASK:
		return "netmask";
	case ITEM_RANGE:
		return "range";
	case ITEM_NETMASK | ITEM_RANGE:
		return "mixed";
	default:
		return "plain";
	}
}

int reader_parse(struct reader *reader)
{
	uint64_t before = reader->set->duplicates;
	struct reader_report *report = reader->report;
	const char *reason;
	static struct where where;
	int err = input_begin(reader->input, &reason);

	if (!err && reader->options->where[0]) {
		reason = where_compile(&where, reader->options->where);
		err = reason ? -EINVAL : 0;
		reader->where = &where;
	}
	if (reader->options->named)
		reader->where = &where; /* no condition */
	if (err)
		return reader_fail(reader, err, reason);
	err = reader_fill(reader);
	if (err < 0)
		return err;
	if (reader->end >= 3 && !memcmp(reader->buf, "\xef\xbb\xbf", 3))
		reader->start = 3; /* the byte order mark */
	if (reader->where)
		err = reader_choose_rows(reader);
	else if (reader->options->format)
		err = reader_choose(reader, reader->options->format);
	else
		err = reader_detect(reader);
	if (err < 0)
		return err;
	err = reader->format->stream ? reader->format->stream(reader) : reader_lines(reader);
	if (err)
		return err;
	if (reader->format->stream)
		reader->line += reader->cut;
	if (reader->format->names && report->entries && report->entries == reader->nowhere)
		return reader_fail(reader, -EINVAL,
				   "every address is 0.0.0.0, 127.0.0.1 or the like: a list of names, "
				   "not of addresses");
	if (ranges_finish(reader->set))
		return reader_fail(reader, -ENOMEM, strerror(ENOMEM));
	report->format = format_name(reader);
	report->lines = reader->line;
	report->duplicates = reader->set->duplicates - before;
	return 0;
}

/* A fuzzer wants the parsers where it can see them. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define PARSE reader_parse
#else
#define PARSE reader_parse_apart
#endif

int reader_read(const char *path, const struct reader_options *options, struct ranges *set,
		struct reader_report *report, char error[READER_TEXT_MAX])
{
	struct reader reader = {
		.options = options,
		.report = report,
		.set = set,
		.name = options->name	    ? options->name
			: strcmp(path, "-") ? path
					    : "standard input",
		.error = error,
	};
	uint64_t ranges = set->n4 + set->n6;
	const char *reason;
	int err;

	memset(report, 0, sizeof(*report));
	error[0] = '\0';
	err = input_open(&reader.input, path, &reason);
	if (err) {
		reader_fail(&reader, err, reason);
	} else {
		input_limit(reader.input, options->unpacked);
		err = PARSE(&reader);
		report->taken = input_at(reader.input);
		input_close(reader.input);
	}
	progress_end();
	free(reader.buf);
	if (err)
		ranges_free(set);
	else
		report->merged = report->entries + ranges - report->duplicates - set->n4 - set->n6;
	return err;
}
