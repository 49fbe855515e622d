// SPDX-License-Identifier: GPL-2.0-only
/* Parsers in a process of their own. What it answers is a list from a stranger still, and is checked like one. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/confined.h"
#include "base/log.h"
#include "base/memory.h"
#include "sets/ranges.h"
#include "sets/ranges_packed.h"
#include "sets/reader_input.h"
#include "sets/reader_internal.h"
#include "sets/reader_names.h"

/* The answer: entries as they are found, if they are asked for; what there is to say; then the ranges. */
enum part_kind { PART_ENTRIES = 1, PART_END, PART_RANGES4, PART_RANGES6, PART_NAMED };

#define PART_MAX ((size_t)64 << 10)

struct part {
	uint32_t kind, bytes; /* bytes follow */
};

struct entry {
	uint64_t lo[2], hi[2], line; /* the lower half first */
	uint32_t family, unused;
};

struct named_entry {
	struct entry entry;
	struct network network;
};

struct ending {
	int32_t err;
	char format[12], error[READER_TEXT_MAX];
	uint64_t lines, entries, duplicates, masked, bad, n4, n6;
	char masked_text[READER_TEXT_MAX], bad_text[READER_BAD_MAX][READER_TEXT_MAX];
};

_Static_assert(sizeof(struct ending) <= PART_MAX, "it is one part");
_Static_assert(sizeof(struct range6) == 32, "no padding");

/* --- In there --- */

struct teller {
	int answer;
	enum part_kind entries;
	struct part part;
	unsigned char bytes[PART_MAX];
};

static int tell(struct teller *t, uint32_t kind, size_t bytes)
{
	t->part = (struct part){ kind, (uint32_t)bytes };
	return confined_tell(t->answer, &t->part, sizeof(t->part) + bytes) ? 0 : -EPIPE;
}

static int tell_entries(struct teller *t)
{
	int err = t->part.bytes ? tell(t, t->entries, t->part.bytes) : 0;

	t->part.bytes = 0;
	return err;
}

static int put_entry(struct teller *t, const void *entry, size_t bytes)
{
	memcpy(t->bytes + t->part.bytes, entry, bytes);
	t->part.bytes += bytes;
	return t->part.bytes + bytes > PART_MAX ? tell_entries(t) : 0;
}

static struct entry entry_of(int family, ip6 lo, ip6 hi, uint64_t line)
{
	return (struct entry){ { (uint64_t)lo, (uint64_t)(lo >> 64) },
			       { (uint64_t)hi, (uint64_t)(hi >> 64) },
			       line,
			       (uint32_t)family,
			       0 };
}

static int tell_entry(void *arg, int family, ip6 lo, ip6 hi, uint64_t line)
{
	struct entry entry = entry_of(family, lo, hi, line);

	return put_entry(arg, &entry, sizeof(entry));
}

static int tell_named(void *arg, int family, ip6 lo, ip6 hi, const struct network *network)
{
	struct named_entry named = { entry_of(family, lo, hi, 0), *network };

	return put_entry(arg, &named, sizeof(named));
}

static int tell_ending(struct teller *t, const struct reader *reader, int err)
{
	const struct reader_report *report = reader->report;
	struct ending end = { .err = -error_number(err),
			      .lines = report->lines,
			      .entries = report->entries,
			      .duplicates = report->duplicates,
			      .masked = report->masked,
			      .bad = report->bad,
			      .n4 = err ? 0 : reader->set->n4,
			      .n6 = err ? 0 : reader->set->n6 };

	snprintf(end.format, sizeof(end.format), "%s", report->format ? report->format : "");
	memcpy(end.error, reader->error, sizeof(end.error));
	memcpy(end.masked_text, report->masked_text, sizeof(end.masked_text));
	memcpy(end.bad_text, report->bad_text, sizeof(end.bad_text));
	memcpy(t->bytes, &end, sizeof(end));
	return tell(t, PART_END, sizeof(end));
}

static int tell_ranges(struct teller *t, const struct ranges *set)
{
	size_t done;
	int err = 0;

	for (size_t i = 0; i < set->n4 && !err; i += done) {
		size_t bytes = packed4_put(set->v4 + i, set->n4 - i, &done, t->bytes, PART_MAX);

		err = tell(t, PART_RANGES4, bytes);
	}
	for (size_t i = 0; i < set->n6 && !err; i += done) {
		done = set->n6 - i < PART_MAX / sizeof(*set->v6) ? set->n6 - i : PART_MAX / sizeof(*set->v6);
		memcpy(t->bytes, set->v6 + i, done * sizeof(*set->v6));
		err = tell(t, PART_RANGES6, done * sizeof(*set->v6));
	}
	return err;
}

static void parse(void *arg, int answer)
{
	static struct teller t;
	struct reader *reader = arg;
	struct reader_options options = *reader->options;
	int err;

	t.answer = answer;
	if (options.each) {
		options.each = tell_entry;
		options.arg = &t;
	}
	if (options.named) {
		options.named = tell_named;
		options.arg = &t;
	}
	t.entries = options.named ? PART_NAMED : PART_ENTRIES;
	reader->options = &options;
	input_move(reader->input, 0);
	err = reader_parse(reader);
	if (!tell_entries(&t) && !tell_ending(&t, reader, err) && !err)
		tell_ranges(&t, reader->set);
}

/* --- Out here --- */

struct listener {
	struct reader *reader;
	struct confined process;
	struct ranges got;
	size_t n4, n6; /* so many are to come */
	struct part part;
	unsigned char bytes[PART_MAX];
};

#define NOT_AN_ANSWER "the process that reads it gave no proper answer"

static int next_part(struct listener *l)
{
	struct pollfd ready = { .fd = l->process.answer, .events = POLLIN };
	int err;

	while (l->reader->options->progress && !poll(&ready, 1, 100))
		reader_progress(l->reader);
	err = confined_answer(&l->process, &l->part, sizeof(l->part));
	if (!err && l->part.bytes > PART_MAX)
		return -EPROTO;
	return err ?: confined_answer(&l->process, l->bytes, l->part.bytes);
}

static int hear_entries(const struct listener *l)
{
	const struct reader_options *o = l->reader->options;
	bool with_names = l->part.kind == PART_NAMED;
	size_t bytes = with_names ? sizeof(struct named_entry) : sizeof(struct entry);
	int err = 0;

	if ((with_names ? !o->named : !o->each || o->named) || l->part.bytes % bytes)
		return -EPROTO;
	for (size_t at = 0; at < l->part.bytes && !err; at += bytes) {
		struct named_entry named = { 0 };
		struct entry *entry = &named.entry;
		ip6 lo, hi;

		memcpy(&named, l->bytes + at, bytes);
		lo = (ip6)entry->lo[1] << 64 | entry->lo[0];
		hi = (ip6)entry->hi[1] << 64 | entry->hi[0];
		if ((entry->family != 4 && entry->family != 6) || lo > hi || (entry->family == 4 && hi > UINT32_MAX))
			return -EPROTO;
		network_clean(&named.network);
		err = with_names ? o->named(o->arg, (int)entry->family, lo, hi, &named.network)
				 : o->each(o->arg, (int)entry->family, lo, hi, entry->line);
	}
	return err;
}

static int hear_ranges4(struct listener *l)
{
	struct range4 *to = l->got.v4 + l->got.n4;
	size_t room = l->n4 - l->got.n4;
	uint64_t next = l->got.n4 ? (uint64_t)to[-1].hi + 2 : 0; /* adjacent ones would be one */
	ssize_t n;

	/* A range takes a byte at least. */
	if (room < PART_MAX && packed4_get(l->bytes, l->part.bytes, NULL) > (ssize_t)room)
		return -EPROTO;
	n = packed4_get(l->bytes, l->part.bytes, to);
	if (n <= 0)
		return -EPROTO;
	for (ssize_t i = 0; i < n; i++) {
		if (to[i].lo < next)
			return -EPROTO;
		next = (uint64_t)to[i].hi + 2;
	}
	l->got.n4 += (size_t)n;
	return 0;
}

static int hear_ranges6(struct listener *l)
{
	struct range6 *to = l->got.v6 + l->got.n6;
	size_t n = l->part.bytes / sizeof(*to);

	if (!n || l->part.bytes % sizeof(*to) || n > l->n6 - l->got.n6)
		return -EPROTO;
	memcpy(to, l->bytes, n * sizeof(*to));
	l->got.n6 += n;
	for (size_t i = l->got.n6 - n; i < l->got.n6; i++) {
		const struct range6 *this = l->got.v6 + i;

		if (this->lo > this->hi || (i && (this[-1].hi >= this->lo || this->lo - this[-1].hi == 1)))
			return -EPROTO;
	}
	return 0;
}

/* A name that there is: what is shown and kept does not come from there. */
static const char *format_called(const char *name)
{
	const char *const *known = reader_formats();

	while (*known && strcmp(*known, name) != 0)
		known++;
	return *known;
}

static void take_text(char to[READER_TEXT_MAX], char from[READER_TEXT_MAX])
{
	from[READER_TEXT_MAX - 1] = '\0';
	clean_copy(to, READER_TEXT_MAX, from);
}

static int make_room(struct listener *l, const struct ending *end)
{
	size_t most = confined_memory(l->reader->options->memory);

	if (end->n4 > most / sizeof(*l->got.v4) || end->n6 > most / sizeof(*l->got.v6))
		return -ENOMEM;
	l->got.v4 = end->n4 ? malloc(end->n4 * sizeof(*l->got.v4)) : NULL;
	l->got.v6 = end->n6 ? malloc(end->n6 * sizeof(*l->got.v6)) : NULL;
	if ((end->n4 && !l->got.v4) || (end->n6 && !l->got.v6))
		return -ENOMEM;
	large_pages(l->got.v4, end->n4 * sizeof(*l->got.v4));
	large_pages(l->got.v6, end->n6 * sizeof(*l->got.v6));
	l->n4 = l->got.room4 = end->n4;
	l->n6 = l->got.room6 = end->n6;
	return 0;
}

/* Returns 0 or -errno, with the reader's error set where the parsers had one. */
static int hear_ending(struct listener *l)
{
	struct reader *reader = l->reader;
	struct reader_report *report = reader->report;
	uint64_t before = reader->set->n4 + reader->set->n6;
	struct ending end;

	if (l->part.bytes != sizeof(end))
		return -EPROTO;
	memcpy(&end, l->bytes, sizeof(end));
	if (end.err > 0 || -end.err >= 1 << ERRNO_BITS || (end.bad && !reader->options->skip_bad))
		return -EPROTO;
	report->bad = end.bad;
	for (uint64_t i = 0; i < end.bad && i < READER_BAD_MAX; i++)
		take_text(report->bad_text[i], end.bad_text[i]);
	take_text(reader->error, end.error);
	if (end.err)
		return end.err;
	end.format[sizeof(end.format) - 1] = '\0';
	report->format = format_called(end.format);
	/* Each range and each duplicate was an entry, or was there before. */
	if (!report->format || end.duplicates > end.entries || end.masked > end.entries || end.n4 > UINT32_MAX ||
	    end.n6 > SIZE_MAX / 64 || end.n4 + end.n6 > end.entries - end.duplicates + before)
		return -EPROTO;
	report->lines = end.lines;
	report->entries = end.entries;
	report->duplicates = end.duplicates;
	report->masked = end.masked;
	take_text(report->masked_text, end.masked_text);
	return make_room(l, &end);
}

static int hear_all(struct listener *l)
{
	bool ended = false;
	int err = 0;

	while (!err && (!ended || l->got.n4 < l->n4 || l->got.n6 < l->n6)) {
		err = next_part(l);
		if (err)
			break;
		if ((l->part.kind == PART_ENTRIES || l->part.kind == PART_NAMED) && !ended)
			err = hear_entries(l);
		else if (l->part.kind == PART_END && !ended)
			err = hear_ending(l);
		else if (l->part.kind == PART_RANGES4 && ended)
			err = hear_ranges4(l);
		else if (l->part.kind == PART_RANGES6 && ended)
			err = hear_ranges6(l);
		else
			err = -EPROTO;
		ended |= l->part.kind == PART_END;
	}
	return err;
}

/* The set, as it would have grown here. */
static void take_ranges(struct listener *l)
{
	struct ranges *set = l->reader->set;

	l->got.settled4 = l->got.n4;
	l->got.settled6 = l->got.n6;
	l->got.duplicates = set->duplicates + l->reader->report->duplicates;
	ranges_free(set);
	*set = l->got;
	l->got = RANGES_EMPTY;
}

int reader_parse_apart(struct reader *reader)
{
	struct listener *l = calloc(1, sizeof(*l));
	char how[96], text[READER_TEXT_MAX];
	int err;

	if (!l)
		return reader_fail(reader, -ENOMEM, strerror(ENOMEM));
	l->reader = reader;
	err = confined_start(&l->process, input_fd(reader->input), reader->options->memory, parse, reader);
	if (err) {
		reader_fail(reader, err, errno_text(err));
		goto out;
	}
	err = hear_all(l);
	if (!err) {
		take_ranges(l);
	} else if (err_is(err, EIO) && confined_end(&l->process, how, sizeof(how))) {
		/* Its answer ended too early. */
		snprintf(text, sizeof(text), "the process that reads it did not come to an end: %s", how);
		reader_fail(reader, err, text);
	} else if (err_is(err, ENOMEM) && strstr(reader->error, strerror(ENOMEM))) {
		snprintf(text, sizeof(text), "it takes more than %zu MiB of memory to read",
			 confined_memory(reader->options->memory) >> 20);
		reader_fail(reader, err, text);
	} else if (!reader->error[0] && !reader->options->each && !reader->options->named) {
		reader_fail(reader, err, err_is(err, EPROTO) ? NOT_AN_ANSWER : errno_text(err));
	}
out:
	confined_stop(&l->process);
	ranges_free(&l->got);
	free(l);
	return err;
}
