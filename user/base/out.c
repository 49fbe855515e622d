// SPDX-License-Identifier: GPL-2.0-only
#include "base/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/log.h"

int out_end(void)
{
	if (fflush(stdout) || ferror(stdout))
		return fail("standard output: cannot be written");
	return EXIT_DONE;
}

void out_line(const char *fmt, ...)
{
	char *line = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&line, fmt, args) < 0)
		line = NULL;
	va_end(args);
	if (line)
		clean_text(line);
	puts(line ? line : "out of memory");
	free(line);
}

json_t *out_text(const char *text)
{
	char *clean = strdup(text);
	json_t *string;

	if (!clean)
		return NULL;
	clean_text(clean);
	string = json_string(clean);
	free(clean);
	return string;
}

int out_json(const struct context *context, json_t *document)
{
	int err = document ? json_dumpf(document, stdout,
					JSON_REAL_PRECISION(6) | (context->pretty ? JSON_INDENT(2) : JSON_COMPACT))
			   : -1;

	json_decref(document);
	if (err)
		return fail("standard output: cannot be written");
	putchar('\n');
	return out_end();
}

const char *bytes_text(char buf[BYTES_TEXT_MAX], uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	double value = (double)bytes;
	unsigned int unit = 0;

	while (value >= 1000 && unit < 4) {
		value /= 1000;
		unit++;
	}
	snprintf(buf, BYTES_TEXT_MAX, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}
