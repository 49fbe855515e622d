// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sets/ranges.h"
#include "base/log.h"
#include "sets/reader_input.h"
#include "sets/reader_internal.h"

/* Reads more behind what is there; the window grows only for a reader that leaves more than half of it unused. */
int reader_fill(struct reader *reader)
{
	size_t rest = reader->end - reader->start;
	const char *reason;
	ssize_t got;

	if (reader->ended)
		return 0;
	if (!reader->buf || rest > reader->room / 2) {
		size_t room = reader->buf ? 2 * reader->room : READER_WINDOW;
		char *grown = realloc(reader->buf, room + READER_SLACK);

		if (!grown)
			return reader_fail(reader, -ENOMEM, strerror(ENOMEM));
		reader->buf = grown;
		reader->room = room;
	}
	memmove(reader->buf, reader->buf + reader->start, rest);
	reader->start = 0;
	reader->end = rest;
	got = input_read(reader->input, reader->buf + rest, reader->room - rest, &reason);
	if (got < 0)
		return reader_fail(reader, (int)got, reason);
	reader->read += (uint64_t)got;
	reader->most = READER_WORK_LEAST + READER_WORK_BYTE * input_taken(reader->input);
	reader->end += (size_t)got;
	reader->ended = reader->end < reader->room;
	memset(reader->buf + reader->end, 0, READER_SLACK);
	return got > 0;
}

int because_of_work(struct reader *reader)
{
	return reader_fail(reader, -EFBIG,
			   "it is packed to so little that it cannot be a list: unpack it first if that is right");
}

/* A line that is too long comes cut, with a length beyond the limit. */
static int reader_line(struct reader *reader, const char **text, size_t *len)
{
	const char *newline = NULL;
	size_t searched = 0;
	int err;

	for (;;) {
		size_t rest = reader->end - reader->start;

		if (rest > searched)
			newline = memchr(reader->buf + reader->start + searched, '\n', rest - searched);
		if (newline || reader->ended || rest > READER_LINE_MAX)
			break;
		searched = rest;
		err = reader_fill(reader);
		if (err < 0)
			return err;
	}
	if (reader->start == reader->end)
		return 0;
	reader->line++;
	reader->cut = !newline && !reader->ended;
	*text = reader->buf + reader->start;
	*len = newline ? (size_t)(newline - *text) : reader->end - reader->start;
	reader->start += *len + (newline != NULL);
	return 1;
}

void reader_skip(struct reader *reader, size_t len)
{
	const char *p = reader->buf + reader->start, *end = p + len;

	if (!len)
		return;
	reader->cut = end[-1] != '\n';
	for (; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		reader->line++;
	reader->start += len;
}

int reader_skip_line(struct reader *reader)
{
	for (uint64_t skipped = 0; skipped <= READER_PADDING;) {
		char *newline = memchr(reader->buf + reader->start, '\n', reader->end - reader->start);
		int got;

		if (newline) {
			reader_skip(reader, (size_t)(newline - reader->buf) + 1 - reader->start);
			return 0;
		}
		skipped += reader->end - reader->start;
		reader_skip(reader, reader->end - reader->start);
		got = reader_fill(reader);
		if (got <= 0)
			return got;
	}
	return reader_fail(reader, -EBADMSG, "damaged: a line of it is longer than 4 MiB");
}

/* One bit for each of eight bytes that is not a digit. */
static inline unsigned int no_digits(uint64_t word)
{
	/* '0' to '9' are 0x30 to 0x39: the high half is 3, and adding 6 to the low one does not carry. */
	uint64_t odd = (word & 0xf0f0f0f0f0f0f0f0) ^ 0x3030303030303030;
	uint64_t above = ((word & 0x0f0f0f0f0f0f0f0f) + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0;
	/* The top bit of a byte that has any bit in its high half. */
	uint64_t top = (((odd | above) >> 4) + 0x7f7f7f7f7f7f7f7f) & 0x8080808080808080;

	return (unsigned int)((top >> 7) * 0x0102040810204080 >> 56);
}

static inline uint64_t load64(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return le64toh(word);
}

/*
 * Up to three digits in front of p[end], as a number; *wrong collects what no part of an address may be. The bytes are
 * shifted so that the last digit is the topmost: what stands behind it falls out.
 */
static inline uint32_t part(const char *p, unsigned int begin, unsigned int end, unsigned int *wrong)
{
	unsigned int digits = end - begin;
	uint32_t word, value;

	memcpy(&word, p + begin, sizeof(word));
	word = le32toh(word) << (32 - 8 * digits) % 32 & 0x0f0f0f0f;
	value = (word >> 24) + (word >> 16 & 0xff) * 10 + (word >> 8 & 0xff) * 100;
	*wrong |= digits - 1 > 2; /* none, or more than three */
	*wrong |= value > 255;
	/* The least number of one, two, three digits is 0, 10, 100: a smaller one has a leading zero. */
	*wrong |= value < (0x640a00U >> 8 * (digits - 1) % 32 & 0xff);
	return value;
}

/* The rest of the line after a slash: at most `digits` of them. Where the next line begins, or NULL. */
static const char *fast_length(const char *p, int digits, unsigned int most, unsigned int *length)
{
	const char *begin = p;

	for (*length = 0; *p >= '0' && *p <= '9' && p - begin < digits; p++)
		*length = *length * 10 + (unsigned int)(*p - '0');
	return p == begin || *p != '\n' || *length > most || (*begin == '0' && p - begin > 1) ? NULL : p + 1;
}

/* A line that is an IPv6 address or prefix, not one of IPv4, and nothing else; *next is NULL where it is not. */
static int fast_line6(struct reader *reader, const char *p, const char *last, const char **next)
{
	unsigned int length = 128;
	ip6 num;

	*next = addr6_scan(p, last, &num);
	if (*next)
		*next = **next == '\n' ? *next + 1 : **next == '/' ? fast_length(*next + 1, 3, 128, &length) : NULL;
	if (*next && num >> 32 == 0xffff && length > 96)
		*next = NULL;
	if (!*next || *next > last)
		return 0;
	if (num & addr_mask(6, length)) { /* the careful path reports it */
		*next = NULL;
		return 0;
	}
	reader->nowhere += length == 128 && num <= 1;
	return ranges_add6(reader->set, num, num | addr_mask(6, length));
}

/*
 * The fast path for lines that are one address or prefix and nothing else: most big lists are made of them. Stops at
 * the first other line, and leaves every decision about it to the careful path.
 */
static int fast_lines(struct reader *reader)
{
	const char *p = reader->buf + reader->start, *last = reader->buf + reader->end;
	uint64_t lines = 0, blank = 0;
	int err = 0;

	while (p < last) {
		unsigned int stops = no_digits(load64(p)) | no_digits(load64(p + 8)) << 8;
		unsigned int end[4], wrong = 0, length = 32;
		const char *next;
		uint32_t host;

		if (*p == '\n') {
			blank++;
			p++;
			continue;
		}
		stops |= 0xf0000; /* whatever stands behind sixteen bytes */
		for (int i = 0; i < 4; i++) {
			end[i] = (unsigned int)__builtin_ctz(stops);
			stops &= stops - 1;
		}
		wrong |= (p[end[0]] ^ '.') | (p[end[1]] ^ '.') | (p[end[2]] ^ '.');
		host = part(p, 0, end[0], &wrong) << 24;
		host |= part(p, end[0] + 1, end[1], &wrong) << 16;
		host |= part(p, end[1] + 1, end[2], &wrong) << 8;
		host |= part(p, end[2] + 1, end[3], &wrong);
		next = p + end[3] + 1;
		if (!wrong && p[end[3]] == '\n') {
			if (next > last)
				break;
			err = ranges_add_host(reader->set, host);
			reader->nowhere += host == 0 || host >> 24 == 127;
		} else if (!wrong && p[end[3]] == '/') {
			next = fast_length(next, 2, 32, &length);
			if (!next || next > last)
				break;
			if (host & (uint32_t)addr_mask(4, length))
				break;
			err = ranges_add4(reader->set, host, host | (uint32_t)addr_mask(4, length));
			reader->nowhere += length == 32 && (host == 0 || host >> 24 == 127);
		} else {
			err = fast_line6(reader, p, last, &next);
			if (!next || next > last)
				break;
		}
		if (err)
			return reader_fail(reader, err, errno_text(err));
		lines++;
		p = next;
	}
	reader->start = (size_t)(p - reader->buf);
	reader->line += lines + blank;
	reader->report->entries += lines;
	reader->kinds |= lines ? ITEM_PREFIX : 0;
	return 0;
}

static int one_line(struct reader *reader, const char *text, size_t len)
{
	struct item item = { 0 };
	const char *reason;

	if (len > READER_LINE_MAX) {
		int err = reader_bad(reader, reader->line, text, len, "the line is longer than 64 KiB");

		if (err || !reader->cut)
			return err;
		err = reader_skip_line(reader);
		reader->line -= !reader->cut;
		return err;
	}
	if (len && text[len - 1] == '\r')
		len--;
	if (memchr(text, '\0', len))
		return reader_bad(reader, reader->line, text, len, "a NUL byte: this is not a text file");
	if (line_is_empty(text, len))
		return 0;
	reason = reader->format->line(reader, text, len, &item);
	if (!reason && item.family && !(item.kind & reader->format->kinds))
		reason = "this is an entry of another format";
	if (reason)
		return reader_bad(reader, reader->line, text, len, reason);
	return item.family ? reader_add(reader, &item) : 0;
}

int reader_lines(struct reader *reader)
{
	for (;;) {
		const char *text;
		size_t len;
		int err;

		if (reader->format->hosts && !reader->options->each) {
			err = fast_lines(reader);
			if (err)
				return err;
		}
		err = reader_line(reader, &text, &len);
		if (err <= 0)
			return err;
		err = reader_work(reader) ?: one_line(reader, text, len);
		if (err)
			return err;
	}
}
