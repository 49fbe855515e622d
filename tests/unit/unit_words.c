// SPDX-License-Identifier: GPL-2.0-only
/* Lines of a command file, against what they must come to; and at random there and back. */
#include <errno.h>
#include <stdlib.h>

#include "ktap.h"
#include "base/log.h"

static bool no_memory;

static void *given_memory(size_t size)
{
	return no_memory ? NULL : malloc(size);
}

#define malloc given_memory
#include "base/words.c"
#undef malloc

#define ROUNDS 100000

/* The words with '|' behind each. */
static const char *joined(const char *line)
{
	static char text[4096];
	struct words w;
	const char *fault = words_split(&w, line);
	size_t at = 0;

	if (fault)
		return fault;
	text[0] = '\0';
	for (int i = 0; i < w.n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s|", w.words[i]);
	if (w.words[w.n])
		return "no NULL behind the words";
	words_free(&w);
	return text;
}

static void lines(void)
{
	static const struct {
		const char *line, *words;
	} cases[] = {
		{ "", "" },
		{ "  \t\r\n", "" },
		{ "# a comment 'with a quote", "" },
		{ "load drop /etc/drop.txt\n", "load|drop|/etc/drop.txt|" },
		{ "  add\t192.0.2.1   --ttl 10m # for now\r\n", "add|192.0.2.1|--ttl|10m|" },
		{ "add 192.0.2.1 --reason 'he said \"no\" #1'", "add|192.0.2.1|--reason|he said \"no\" #1|" },
		{ "add 192.0.2.1 --reason \"it's \\\"so\\\" \\n \\\\\"", "add|192.0.2.1|--reason|it's \"so\" \\n \\|" },
		{ "load a /lists/with\\ blank\\#1.txt", "load|a|/lists/with blank#1.txt|" },
		{ "a'b c'\"d e\"f", "ab cd ef|" },
		{ "a#b '' \"\" '#'", "a#b|||#|" },
		{ "load a *.txt $HOME ~ `x` ;", "load|a|*.txt|$HOME|~|`x`|;|" },
		{ "'\\'", "\\|" },
		{ "add 'open", "a quote is not closed" },
		{ "add \"open\\\"", "a quote is not closed" },
		{ "add \\", "there is nothing behind the backslash" },
		{ "add \\\r\n", "there is nothing behind the backslash" },
		{ "add \\\n", "there is nothing behind the backslash" },
		{ "add \"a\\\n", "there is nothing behind the backslash" },
		{ "add a\\bc\n", "add|abc|" },
		{ "add \033[2J", "there is a control character" },
		{ "add a\x7f", "there is a control character" },
		{ "add a\x1f", "there is a control character" },
		{ "a", "a|" },
		{ "a b", "a|b|" },
		{ "a b c d e f g h i", "a|b|c|d|e|f|g|h|i|" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *got = joined(cases[i].line);

		if (!CHECK(!strcmp(got, cases[i].words), "'%s': '%s', not '%s'", cases[i].line, got, cases[i].words))
			return;
	}
}

/* A word in one of the ways to write it. */
static size_t quoted(char *to, const char *word)
{
	char *at = to;
	unsigned int way = strchr(word, '\'') ? 1 + ktap_random() % 2 : ktap_random() % 3;

	if (way == 1 && ktap_random() % 2)
		return words_quote(to, 64, word) ? strlen(to) : 0;
	if (way < 2)
		*at++ = way ? '"' : '\'';
	for (; *word; word++) {
		if (way == 2 || (way == 1 && strchr("\"\\", *word)))
			*at++ = '\\';
		*at++ = *word;
	}
	if (way < 2)
		*at++ = way ? '"' : '\'';
	*at = '\0';
	return (size_t)(at - to);
}

static void there_and_back(void)
{
	static const char letters[] = "ab/-.# \t'\"\\*";

	for (int round = 0; round < ROUNDS; round++) {
		char words[4][8], line[128], *at = line;
		int n = (int)(ktap_random() % 4) + 1;
		struct words w;
		const char *fault;

		for (int i = 0; i < n; i++) {
			size_t length = 1 + ktap_random() % 6;

			for (size_t j = 0; j < length; j++)
				words[i][j] = letters[ktap_random() % (sizeof(letters) - 1)];
			words[i][length] = '\0';
			at += quoted(at, words[i]);
			at = stpcpy(at, ktap_random() % 2 ? " " : "\t  ");
		}
		fault = words_split(&w, line);
		if (!CHECK(!fault, "'%s': %s", line, fault) || !CHECK(w.n == n, "'%s': %d words", line, w.n))
			return;
		for (int i = 0; i < n; i++)
			if (!CHECK(!strcmp(w.words[i], words[i]), "'%s': '%s'", line, w.words[i]))
				return;
		words_free(&w);
	}
}

/* In memory of every size: it says that there is no room, or what it writes is the word again; none is a word, too. */
static void rooms(void)
{
	static const char *const words[] = { "\0behind it", "a", "\"", "a b", "\\\"\\", "'#'" };

	CHECK(!words_quote((char[6]){ 0 }, 5, "") && words_quote((char[6]){ 0 }, 6, "") &&
		      !words_quote((char[8]){ 0 }, 7, "ab") && words_quote((char[8]){ 0 }, 8, "ab"),
	      "other room than it needs");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char whole[64];

		CHECK(words_quote(whole, sizeof(whole), words[i]), "'%s' has no room", words[i]);
		for (size_t size = 0; size < 24; size++) {
			char *room = malloc(size + 1);
			bool is;

			if (!room)
				exit(KTAP_FAIL);
			room[size] = '!';
			is = words_quote(room, size, words[i]);
			/* A few bytes more than it takes at last. */
			CHECK(room[size] == '!' && (is ? size > strlen(whole) : size < strlen(whole) + 6),
			      "'%s' in %zu bytes: %s", words[i], size, is ? "written" : "no room");
			if (is)
				CHECK(!strcmp(room, whole) && !strcmp(joined(room) + strlen(words[i]), "|"),
				      "'%s' is written as %s", words[i], room);
			free(room);
		}
	}
}

static int count(void *arg, const struct words *w, unsigned int line)
{
	*(unsigned int *)arg = line;
	return strcmp(w->words[0], "stop") ? 0 : -EINTR;
}

static int read_text(const char *text, size_t length, unsigned int *last)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, length, "r");
	int err = words_file(file, "conf", count, last);

	fclose(file);
	return err;
}

static void files(void)
{
	static const char with_zero[] = "allow 192.0.2.1\nallow\0 192.0.2.2\n";
	unsigned int last = 0;

	int err = read_text("\n# x\nallow ::1\n\nlists", 21, &last);

	CHECK(!err && last == 5, "%s, line %u", reason(err), last);
	CHECK(err_is(read_text("a\nstop\nb\n", 9, &last), EINTR) && last == 2, "line %u", last);
	err = read_text("a\n'b\n", 5, &last);
	CHECK(err_is(err, EINVAL) && !strcmp(reason(err), "conf:2: a quote is not closed"), "%s", reason(err));
	err = read_text(with_zero, sizeof(with_zero) - 1, &last);
	CHECK(err_is(err, EINVAL) && !strcmp(reason(err), "conf:2: there is a control character"), "%s", reason(err));
}

static ssize_t no_read(void *cookie, char *to, size_t n)
{
	(void)cookie;
	(void)to;
	(void)n;
	errno = EIO;
	return -1;
}

/* The rest of it is not there, or there is no memory: nothing is done as if that were all. */
static void not_read(void)
{
	FILE *file = fopencookie(NULL, "r", (cookie_io_functions_t){ .read = no_read });
	unsigned int last = 7;
	struct words w = { .n = 5 };
	int err = words_file(file, "conf", count, &last);

	fclose(file);
	CHECK(err_is(err, EIO) && !strcmp(reason(err), "conf: cannot be read to its end") && last == 7, "%s",
	      err ? reason(err) : "no error");
	no_memory = true;
	err = read_text("a\n", 2, &last);
	CHECK(err_is(err, EINVAL) && !strcmp(reason(err), "conf:1: out of memory") && last == 7, "%s",
	      err ? reason(err) : "no error");
	CHECK(!strcmp(words_split(&w, "a") ?: "", "out of memory") && !w.words && !w.n, "%d words", w.n);
	no_memory = false;
}

/* What editors of Windows put first is left out: once, and there. */
static void byte_order_mark(void)
{
	unsigned int last = 0;
	int err = read_text("\xef\xbb\xbf"
			    "a\nstop",
			    9, &last);

	CHECK(err_is(err, EINTR) && last == 2, "line %u", last);
	err = read_text("\xef\xbb\xbfstop", 7, &last);
	CHECK(err_is(err, EINTR) && last == 1, "line %u", last);
	CHECK(!read_text("a\n\xef\xbb\xbfstop", 9, &last) && last == 2, "line %u", last);
	CHECK(!read_text("\xef\xbb\xbf", 3, &last), "nothing behind it");
}

static void same(void)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "", "", true },      { "a", "a", true },	   { "a  b", "a 'b'", true }, { "a", "", false },
		{ "", "a", false },    { "a", "b", false },	   { "a b", "a c", false },   { "a b", "a", false },
		{ "a", "a b", false }, { "a b c", "a b c", true }, { "b a", "a a", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct words a, b;

		if (words_split(&a, cases[i].a) || words_split(&b, cases[i].b))
			abort();
		CHECK(words_same(&a, &b) == cases[i].same, "'%s' and '%s'", cases[i].a, cases[i].b);
		words_free(&a);
		words_free(&b);
		CHECK(!a.words && !a.n, "%d words are left", a.n);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "lines and their words", lines }, { "words quoted at random come back", there_and_back },
		{ "a word in any room", rooms },    { "files, and where they are wrong", files },
		{ "what is not read", not_read },   { "a byte order mark", byte_order_mark },
		{ "the same words", same },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
