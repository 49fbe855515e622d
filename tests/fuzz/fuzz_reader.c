// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a list. A first byte below 0x10 names a format; otherwise the content decides. One from 0x10 to 0x17
 * takes rows, by conditions of which the last reaches to the end of the line. What is read with and without skip_bad
 * must agree, and what comes out must be in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sets/ranges.h"
#include "sets/reader.h"
#include "sets/where.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool ok)
{
	if (!ok)
		abort();
}

static void in_order(const struct ranges *set)
{
	for (size_t i = 0; i < set->n4; i++) {
		hold(set->v4[i].lo <= set->v4[i].hi);
		hold(!i || (uint64_t)set->v4[i - 1].hi + 1 < set->v4[i].lo);
	}
	for (size_t i = 0; i < set->n6; i++) {
		hold(set->v6[i].lo <= set->v6[i].hi);
		hold(!i || (set->v6[i - 1].hi + 1 < set->v6[i].lo && set->v6[i - 1].hi + 1));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct reader_report report, strict_report;
	static int fd = -1;
	static char path[64];
	struct reader_options options = { .skip_bad = true };
	struct ranges set = RANGES_EMPTY, strict = RANGES_EMPTY;
	char error[READER_TEXT_MAX];
	size_t formats = 0;
	int err;

	while (reader_formats()[formats])
		formats++;
	if (size && *data < 0x10 && *data < formats) {
		options.format = reader_formats()[*data];
		data++;
		size--;
	}
	if (size && *data >= 0x10 && *data < 0x18) {
		const uint8_t *end = memchr(data, '\n', size);
		char condition[64];

		snprintf(condition, sizeof(condition), "%.*s", (int)((end ? end : data + size) - data - 1), data + 1);
		if (*data & 1)
			hold(!where_add(options.where, "2=x,y"));
		if (*data & 2)
			hold(!where_add(options.where, "b=x"));
		where_add(options.where, condition);
		options.format = *data & 4 ? "csv:1" : NULL;
		size -= (size_t)((end ? end + 1 : data + size) - data);
		data = end ? end + 1 : data;
	}
	if (fd < 0) {
		fd = memfd_create("list", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	hold(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	err = reader_read(path, &options, &set, &report, error);
	hold(!err || (!set.n4 && !set.n6 && !set.hosts && *error && !strchr(error, '\n')));
	in_order(&set);
	options.skip_bad = false;
	if (reader_read(path, &options, &strict, &strict_report, error)) {
		hold(err || report.bad);
	} else {
		hold(!err && !report.bad && ranges_equal(&set, &strict));
		hold(report.duplicates + report.merged + set.n4 + set.n6 == report.entries);
	}
	ranges_free(&set);
	ranges_free(&strict);
	return 0;
}
