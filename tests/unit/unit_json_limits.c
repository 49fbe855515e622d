// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON at its limits: values that are as large as they may be, or take as much memory; that the window cuts; and damage
 * on every line, which would be parsed for ever. The limits are smaller here.
 */
#include "reader_shown.h"

#define VALUE_MAX  ((size_t)1 << 20)
#define MEMORY_MAX ((size_t)8 << 20)
#include "sets/reader_json.c"

#define WINDOW ((size_t)256 << 10)

static char text[4 << 20], error[READER_TEXT_MAX];
static struct reader_report report;
static uint64_t found;

static int reads(size_t n, bool skip_bad)
{
	struct reader_options o = { .name = "t", .format = "json", .skip_bad = skip_bad };
	struct ranges set = RANGES_EMPTY;
	int fd = memfd_create("json", MFD_CLOEXEC), err;
	char path[64];

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = reader_read(path, &o, &set, &report, error);
	found = report.entries;
	close(fd);
	ranges_free(&set);
	return err;
}

/* One object of so many bytes. */
static void object(size_t n)
{
	memset(text, ' ', n);
	memcpy(text, "{\"ip\":\"1.0.0.1\"", 15);
	text[n - 1] = '}';
}

/* Wherever the window ends, also where the file ends with it. */
static void cut_by_the_window(void)
{
	for (size_t n = WINDOW - 2; n <= WINDOW + 2; n++) {
		object(n);
		CHECK(!reads(n, false) && found == 1, "%zu bytes: %s", n, error);
		text[n] = '\n';
		memcpy(text + n + 1, "{\"ip\":\"1.0.0.2\"}", 16);
		CHECK(!reads(n + 17, false) && found == 2, "%zu bytes, and another: %s", n, error);
	}
	/* Within a word, an escape, a string. */
	for (size_t at = WINDOW - 20; at <= WINDOW; at++) {
		static const char value[] = "{\"a\":null,\"b\":\"\\u0031\\n\",\"ip\":\"1.0.0.1\",\"c\":[true,-1.5e3]}";

		memset(text, ' ', at);
		memcpy(text + at, value, sizeof(value));
		CHECK(!reads(at + sizeof(value) - 1, false) && found == 1, "at %zu: %s", at, error);
	}
}

static void large_values(void)
{
	size_t n = 0;

	object(VALUE_MAX - 1);
	CHECK(!reads(VALUE_MAX - 1, false) && found == 1, "%s", error);
	object(VALUE_MAX + 1);
	CHECK(err_is(reads(VALUE_MAX + 1, false), EINVAL) && !strncmp(error, "t:1: '", 6) &&
		      strstr(error, "one JSON value is larger than"),
	      "%s", error);
	/* Damage is no value that goes on: what stands behind it is read. */
	n = (size_t)sprintf(text, "{\"ip\":x\n");
	while (n < 3 * VALUE_MAX)
		n += (size_t)sprintf(text + n, "{\"ip\":\"1.0.0.1\",\"text\":\"%0100d\"}\n", 0);
	CHECK(!reads(n, true) && report.bad == 1 && found > 20000, "%llu, %llu are left out: %s",
	      (unsigned long long)found, (unsigned long long)report.bad, error);
	/* All of them take more memory than one may. */
	CHECK(err_is(reads(n, false), EINVAL) && strstr(error, "t:1: '{\"ip\":x': not JSON"), "%s", error);
	n = (size_t)sprintf(text, "{\"a\":[");
	while (n < VALUE_MAX - 3)
		n += (size_t)sprintf(text + n, "0,");
	n += (size_t)sprintf(text + n, "0]}");
	CHECK(err_is(reads(n, false), EINVAL) && strstr(error, "one JSON value takes more than"), "%s", error);
}

/* Each line begins a value that goes on to the end of the file. */
static size_t nested(size_t lines)
{
	for (size_t i = 0; i < lines; i++)
		memcpy(text + 6 * i, "{\"a\":\n", 6);
	return 6 * lines;
}

static void damage_everywhere(void)
{
	static char line[32];

	/* A MiB is parsed for any file, and four times what it has. */
	CHECK(!reads(nested(593), true) && report.bad == 593, "%llu are left out: %s", (unsigned long long)report.bad,
	      error);
	CHECK(err_is(reads(nested(620), true), EINVAL) && report.bad && report.bad < 620 &&
		      strstr(error, "so that reading on takes too long"),
	      "%llu are left out: %s", (unsigned long long)report.bad, error);
	snprintf(line, sizeof(line), "t:%llu: ''", (unsigned long long)report.bad + 1);
	CHECK(!strncmp(error, line, strlen(line)), "%s, not at %s", error, line);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what the window cuts", cut_by_the_window },
		{ "large values", large_values },
		{ "damage on every line", damage_everywhere },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
