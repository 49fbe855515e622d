/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts for the reader, each written to the one file in a directory of the test's own. */
#ifndef READER_TEXTS_H
#define READER_TEXTS_H

#include <stdio.h>
#include <unistd.h>

#include "ktap.h"
#include "sets/ranges.h"
#include "sets/reader.h"

static char directory[] = "/tmp/xdp-bloom-reader-XXXXXX";
static char path[sizeof(directory) + 32];
static struct reader_report report; /* of the text read last */
static char error[READER_TEXT_MAX];

static inline bool write_file(const void *text, size_t len)
{
	FILE *file = fopen(path, "w");
	bool ok;

	if (!file)
		return false;
	ok = fwrite(text, 1, len, file) == len;
	return !fclose(file) && ok;
}

static inline int read_file(const char *format, bool skip_bad, struct ranges *set)
{
	struct reader_options options = { .format = format, .skip_bad = skip_bad };

	*set = RANGES_EMPTY;
	return reader_read(path, &options, set, &report, error);
}

static inline int read_text(const char *text, size_t len, const char *format, bool skip_bad, struct ranges *set)
{
	if (!write_file(text, len)) {
		snprintf(error, sizeof(error), "cannot write %s", path);
		return -1;
	}
	return read_file(format, skip_bad, set);
}

static int reader_texts_run(const struct ktap_case *cases, size_t count)
{
	int result;

	if (!mkdtemp(directory))
		return KTAP_FAIL;
	snprintf(path, sizeof(path), "%s/list", directory);
	result = ktap_run(cases, count);
	unlink(path);
	rmdir(directory);
	return result;
}

#endif
