// SPDX-License-Identifier: GPL-2.0-only
#include "base/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clean_text.h"
#include "kernel/kernel.h"
#include "base/log.h"

int out_end(void)
{
	if (fflush(stdout) || ferror(stdout))
		return fail("standard output: cannot be written");
	return EXIT_DONE;
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

int out_done(void)
{
	struct generation g;

	if (!opt_json)
		return EXIT_DONE;
	return out_json(json_pack("{s:I}", "generation", kernel_live(&g) ? 0 : (json_int_t)g.number));
}

int out_json(json_t *document)
{
	int err = document ? json_dumpf(document, stdout,
					JSON_REAL_PRECISION(6) | (opt_pretty ? JSON_INDENT(2) : JSON_COMPACT))
			   : -1;

	json_decref(document);
	if (err)
		return fail("standard output: cannot be written");
	putchar('\n');
	return out_end();
}

json_t *out_rungs(const struct generation *g)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < g->rungs; i++)
		json_array_append_new(array, json_integer((json_int_t)g->rung[i].length));
	return array;
}

json_t *out_memory(const struct stage_bytes *bytes)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "gate", (json_int_t)bytes->gate, "filter",
			 (json_int_t)bytes->filter, "roster", (json_int_t)bytes->roster, "labels",
			 (json_int_t)bytes->labels, "total", (json_int_t)bytes->total);
}

const char *utc_text(char buf[UTC_TEXT_MAX], int64_t seconds)
{
	time_t when = (time_t)seconds;
	struct tm utc;

	strftime(buf, UTC_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&when, &utc));
	return buf;
}

const char *number_text(char buf[NUMBER_TEXT_MAX], ip6 number)
{
	char *at = buf + NUMBER_TEXT_MAX - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + (int)(number % 10));
		number /= 10;
	} while (number);
	return at;
}

const char *bytes_text(char buf[NUMBER_TEXT_MAX], uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	double value = (double)bytes;
	unsigned int unit = 0;

	while (value >= 1000 && unit < 4) {
		value /= 1000;
		unit++;
	}
	snprintf(buf, NUMBER_TEXT_MAX, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}
