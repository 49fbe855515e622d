// SPDX-License-Identifier: GPL-2.0-only
#include "base/out.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/log.h"

/* An entry for which there was no memory would not be in the document, and nobody would know. */
static bool no_memory;

static void *take(size_t size)
{
	void *memory = malloc(size);

	no_memory = no_memory || !memory;
	return memory;
}

void out_begin(void)
{
	json_set_alloc_funcs(take, free);
}

int out_end(void)
{
	if (no_memory)
		return fail("out of memory");
	if (fflush(stdout) || ferror(stdout))
		return fail("standard output: cannot be written");
	return EXIT_DONE;
}

void out_line(const char *fmt, ...)
{
	char line[PATH_MAX + 1024] = "";
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	clean_text(line);
	puts(line);
}

json_t *out_text(const char *text)
{
	char *clean = take(strlen(text) + 1);
	json_t *string;

	if (!clean)
		return NULL;
	memcpy(clean, text, strlen(text) + 1);
	clean_text(clean);
	string = json_string(clean);
	free(clean);
	return string;
}

int out_json(const struct context *context, json_t *document)
{
	size_t flags = JSON_REAL_PRECISION(6) | (context->pretty ? JSON_INDENT(2) : JSON_COMPACT);
	bool whole = document && !no_memory;
	int err = whole ? json_dumpf(document, stdout, flags) : 0;

	json_decref(document);
	if (!whole)
		return fail("out of memory");
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
