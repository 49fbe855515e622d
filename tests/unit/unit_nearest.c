// SPDX-License-Identifier: GPL-2.0-only
/* The word that was meant: how many slips lie between two, against a naive count, and which of several is named. */
#include <stdlib.h>
#include <string.h>

#include "ktap.h"

#include "base/nearest.c"

static unsigned int least(unsigned int a, unsigned int b)
{
	return b < a ? b : a;
}

/* From their ends on. */
static unsigned int naive(const char *a, size_t n, const char *b, size_t m)
{
	unsigned int count;

	if (!n || !m)
		return (unsigned int)(n + m);
	count = least(naive(a, n - 1, b, m), naive(a, n, b, m - 1)) + 1;
	count = least(count, naive(a, n - 1, b, m - 1) + (a[n - 1] == b[m - 1] ? 0 : 1));
	if (n >= 2 && m >= 2 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1])
		count = least(count, naive(a, n - 2, b, m - 2) + 1);
	return count;
}

/* A word of these letters by its number. */
static size_t word(char *to, unsigned int number, unsigned int letters)
{
	size_t n = 0;

	for (; number; number = (number - 1) / letters)
		to[n++] = (char)('a' + (number - 1) % letters);
	to[n] = '\0';
	return n;
}

static void compare(const char *a, size_t n, const char *b, size_t m)
{
	unsigned int is = slips(a, n, b, m), expected = naive(a, n, b, m);

	CHECK(is == expected, "'%s', '%s': %u, not %u", a, b, is, expected);
}

static void counted(void)
{
	/* What stands before them is none of them. */
	char room[2][20] = { "a", "a" }, *a = room[0] + 1, *b = room[1] + 1;

	/* Up to four letters of two. */
	for (unsigned int i = 0; i < 31; i++)
		for (unsigned int k = 0; k < 31; k++)
			compare(a, word(a, i, 2), b, word(b, k, 2));
	for (int i = 0; i < 300 && !ktap_failed; i++)
		compare(a, word(a, (unsigned int)(ktap_random() % 5000), 4), b,
			word(b, (unsigned int)(ktap_random() % 5000), 4));
	CHECK(slips("list", 4, "lsit", 4) == 1 && slips("ca", 2, "abc", 3) == 3, "letters that have changed places");
}

/* Of these, separated by blanks, the one that is named; NULL: none. */
static void named(const char *typed, const char *of, const char *expected)
{
	struct nearest n = { .word = typed };
	char all[200], *rest = all, *name;

	snprintf(all, sizeof(all), "%s", of);
	while ((name = strsep(&rest, " ")))
		nearest_try(&n, name);
	CHECK(expected ? !strcmp(n.name, expected) : !n.name[0], "'%s' of '%s' is '%s'", typed, of, n.name);
}

static void nearest_of(void)
{
	char long_one[NEAREST_MAX + 2], longest[NEAREST_MAX];

	named("lod", "add load del", "load");
	named("load", "add load del", "load");
	/* One slip in two to four letters, two in five to seven. */
	named("a", "b", NULL);
	named("ab", "ax", "ax");
	named("ab", "xy", NULL);
	named("abcd", "abcx", "abcx");
	named("abcd", "abxy", NULL);
	named("abcde", "abcxy", "abcxy");
	named("abcdefg", "abcdexy", "abcdexy");
	named("abcdefg", "abcdxyz", NULL);
	named("abcdefgh", "abcdexyz", "abcdexyz");
	/* The first of those that are as near; a nearer one later. */
	named("abcde", "abcdx abcdy", "abcdx");
	named("abcde", "abcxy abcdx", "abcdx");
	/* Its beginning, of two letters at least; and another case. */
	named("de", "detach detect", "detach");
	named("d", "detach", NULL);
	named("DEL", "del", "del");
	named("A", "a A", "a");
	named("det", "dit detach", "detach");
	named("DETACH", "detbch detach", "detach");
	/* Not where all of it would be another. */
	named("ab", "x", NULL);
	named("ab", "a", NULL);
	named("", "a", NULL);
	named("abc", "", NULL);
	memset(long_one, 'x', sizeof(long_one));
	long_one[NEAREST_MAX - 1] = '\0';
	named(long_one, long_one, long_one);
	memcpy(longest, long_one, NEAREST_MAX);
	long_one[NEAREST_MAX - 1] = 'x';
	long_one[NEAREST_MAX] = '\0';
	named(long_one, longest, NULL);
	named(longest, long_one, NULL);
	named(long_one, long_one, NULL);
	named("xx", long_one, NULL);
}

static void also(void)
{
	static const struct {
		const char *typed, *also, *name;
	} cases[] = {
		{ "rm", "remove rm delete", "del" },
		{ "RM", "remove rm", "del" },
		{ "delete", "remove rm delete", "del" },
		{ "remove", "remove  rm", "del" },
		{ "remov", "remove rm", NULL },
		{ "removed", "remove rm", NULL },
		{ "rm", NULL, NULL },
		{ "rm", "", NULL },
		{ "m", "rm", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nearest n = { .word = cases[i].typed };

		nearest_try_also(&n, cases[i].also, "del");
		CHECK(cases[i].name ? !strcmp(n.name, cases[i].name) : !n.name[0], "case %zu: '%s'", i, n.name);
		/* It is as good as the word itself: none takes its place. */
		nearest_try(&n, cases[i].typed);
		CHECK(!cases[i].name || !strcmp(n.name, cases[i].name), "case %zu, then: '%s'", i, n.name);
	}
}

static void said(void)
{
	struct nearest n = { .word = "lod" };

	CHECK(!strcmp(nearest_text(&n, "; see --help"), "; see --help"), "'%s'", n.text);
	nearest_try(&n, "load");
	CHECK(!strcmp(nearest_text(&n, "; see --help"), " (did you mean 'load'?)"), "'%s'", n.text);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "slips", counted },
		{ "which is the nearest", nearest_of },
		{ "words that others use", also },
		{ "what is said", said },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
