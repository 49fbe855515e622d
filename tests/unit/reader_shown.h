/* SPDX-License-Identifier: GPL-2.0-only */
/* What the reader makes of texts, and what it says of them; for what is shown word for word. */
#ifndef READER_SHOWN_H
#define READER_SHOWN_H

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "sets/ranges.h"
#include "shown.h"

/* In this process: a child's lines cost a thousand times as much. */
#define reader_parse_apart reader_parse
#include "sets/reader.c"

__attribute__((unused)) static bool hidden;

__attribute__((unused)) static void put_range(int family, ip6 lo, ip6 hi)
{
	char first[PREFIX_TEXT_MAX], last[PREFIX_TEXT_MAX];

	prefix_text(first, (struct addr){ lo, family }, -1);
	prefix_text(last, (struct addr){ hi, family }, -1);
	printf(" %s%s%s", first, lo == hi ? "" : "-", lo == hi ? "" : last);
}

/* What the library says of the syntax depends on its version. */
static const char *without_library(char *text)
{
	char *says = strstr(text, "not JSON: ");

	if (says)
		snprintf(says, sizeof("not JSON: ..."), "not JSON: ...");
	return text;
}

static int read_once(const char *text, size_t len, struct reader_options *o)
{
	struct reader_report report;
	struct ranges set = RANGES_EMPTY;
	char path[64], error[READER_TEXT_MAX];
	int fd = memfd_create("table", MFD_CLOEXEC), err;

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	o->name = "t";
	o->hidden = hidden;
	err = reader_read(path, o, &set, &report, error);
	close(fd);
	for (size_t i = 0; i < set.n4; i++)
		put_range(4, set.v4[i].lo, set.v4[i].hi);
	for (size_t i = 0; i < set.n6; i++)
		put_range(6, set.v6[i].lo, set.v6[i].hi);
	if (err)
		printf(" ! %s\n", without_library(error));
	else
		printf(" | %s, %d lines, %d entries, %d bad, %d masked, %d twice, %d merged\n", report.format,
		       (int)report.lines, (int)report.entries, (int)report.bad, (int)report.masked,
		       (int)report.duplicates, (int)report.merged);
	if (report.masked)
		printf("  masked: %s\n", report.masked_text);
	for (uint64_t i = 0; i < report.bad && i < READER_BAD_MAX; i++)
		printf("  left out: %s\n", without_library(report.bad_text[i]));
	ranges_free(&set);
	return err;
}

/* What is not read is read once more, without its damaged lines, where it has others. */
__attribute__((unused)) static void read_text(const char *text, size_t len, struct reader_options o)
{
	if (read_once(text, len, &o) && len && memchr(text, '\n', len - 1)) {
		o.skip_bad = true;
		read_once(text, len, &o);
	}
}

__attribute__((unused)) static void of_texts(const char *const *texts, size_t n, const char *format, const char *where)
{
	struct reader_options o = { .format = format };

	snprintf(o.where, sizeof(o.where), "%s", where);
	for (size_t i = 0; i < n; i++) {
		printf("%zu:", i);
		read_text(texts[i], strlen(texts[i]), o);
	}
}

#define OF(format, where, ...)                                                       \
	do {                                                                         \
		static const char *const texts_[] = { __VA_ARGS__ };                 \
		of_texts(texts_, sizeof(texts_) / sizeof(texts_[0]), format, where); \
	} while (0)

#endif
