// SPDX-License-Identifier: GPL-2.0-only
/* What a verb prints: whole documents or none, lines that a terminal may have, and what is said where neither goes. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ktap.h"

static int mallocs_left = -1; /* -1: all that are asked for */
static char failed[100];      /* what was said last */

static void *given_malloc(size_t n)
{
	return mallocs_left && mallocs_left-- ? malloc(n) : NULL;
}

static int given_fail(const char *fmt, ...)
{
	snprintf(failed, sizeof(failed), "%s", fmt);
	return 2;
}

#define malloc given_malloc
#include "base/log.h"
#define fail given_fail
#include "base/out.c"
#undef malloc

static int was, to;

/* From now on it is printed there. */
static void begin(const char *path)
{
	fflush(stdout);
	failed[0] = '\0';
	was = dup(STDOUT_FILENO);
	to = path ? open(path, O_WRONLY | O_CLOEXEC) : memfd_create("out", MFD_CLOEXEC);
	dup2(to, STDOUT_FILENO);
}

/* What was, and what was said of it. */
static void is(int status, int expected, const char *text, const char *said)
{
	static char printed[20000];
	ssize_t n;

	fflush(stdout);
	clearerr(stdout);
	n = pread(to, printed, sizeof(printed) - 1, 0);
	printed[n > 0 ? n : 0] = '\0';
	dup2(was, STDOUT_FILENO);
	close(was);
	close(to);
	CHECK(status == expected && !strcmp(failed, said), "%d, '%s'", status, failed);
	CHECK(!strcmp(printed, text), "'%.100s', not '%.100s'", printed, text);
}

static json_t *document(void)
{
	return json_pack("{s:i, s:f, s:o}", "a", 1, "b", 1.23456789, "c", out_text("d\x1b"));
}

static void documents(void)
{
	struct context context = CONTEXT_DEFAULT;

	begin(NULL);
	is(out_json(&context, document()), 0, "{\"a\":1,\"b\":1.23457,\"c\":\"d?\"}\n", "");
	context.pretty = true;
	begin(NULL);
	is(out_json(&context, document()), 0, "{\n  \"a\": 1,\n  \"b\": 1.23457,\n  \"c\": \"d?\"\n}\n", "");
	begin(NULL);
	is(out_json(&context, NULL), 2, "", "out of memory");
	begin(NULL);
	is(out_end(), 0, "", "");
}

static void lines(void)
{
	static char long_one[PATH_MAX + 2000], expected[PATH_MAX + 2000];

	begin(NULL);
	out_line("%s, %d", "a\x1b[31m\nb\t\xff", 7);
	is(0, 0, "a?[31m?b??, 7\n", "");
	memset(long_one, 'x', sizeof(long_one) - 1);
	snprintf(expected, sizeof(expected), "%.*s\n", PATH_MAX + 1023, long_one);
	begin(NULL);
	out_line("%s", long_one);
	is(0, 0, expected, "");
}

static void cannot_be_written(void)
{
	struct context context = CONTEXT_DEFAULT;

	begin("/dev/full");
	is(out_json(&context, document()), 2, "", "standard output: cannot be written");
	begin("/dev/full");
	puts("some");
	is(out_end(), 2, "", "standard output: cannot be written");
	/* It was not written long ago. */
	begin("/dev/full");
	puts("some");
	fflush(stdout);
	is(out_end(), 2, "", "standard output: cannot be written");
}

/* Whichever part of it there is no memory for, nothing is printed, and that is said. */
static void without_memory(void)
{
	struct context context = CONTEXT_DEFAULT;
	int n = 0;

	out_begin();
	for (; n < 100; n++) {
		json_t *made;

		no_memory = false;
		mallocs_left = n;
		made = document();
		mallocs_left = -1;
		if (!no_memory) {
			json_decref(made);
			break;
		}
		begin(NULL);
		is(out_json(&context, made), 2, "", "out of memory");
		begin(NULL);
		is(out_end(), 2, "", "out of memory");
	}
	CHECK(n > 5 && n < 100, "%d", n);
	no_memory = false;
	json_set_alloc_funcs(malloc, free);
}

static void sizes(void)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} known[] = {
		{ 0, "0 B" },
		{ 999, "999 B" },
		{ 1000, "1.0 kB" },
		{ 1049, "1.0 kB" },
		{ 1051, "1.1 kB" },
		{ 12700000, "12.7 MB" },
		{ 1000000, "1.0 MB" },
		{ 1000000000, "1.0 GB" },
		{ 999000000000, "999.0 GB" },
		{ 1000000000000, "1.0 TB" },
		{ 5000000000000000, "5000.0 TB" },
	};
	char text[BYTES_TEXT_MAX];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		CHECK(!strcmp(bytes_text(text, known[i].bytes), known[i].text), "'%s', not '%s'", text, known[i].text);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "documents", documents },
		{ "lines", lines },
		{ "what cannot be written", cannot_be_written },
		{ "without memory", without_memory },
		{ "sizes", sizes },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
