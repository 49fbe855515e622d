// SPDX-License-Identifier: GPL-2.0-only
/* Prefixes as people give them, as operands and line by line; which of them are double; and what is no list's to ban.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/stdin.h"
#include "ktap.h"
#include "sets/bogons.h"
#include "sets/slip.h"

static FILE *input;
static int input_err;
static unsigned int shown, ended, allocations; /* allocations: so many are possible, then none; 0: all */
static char warned[300];

static int given_input(const struct context *context)
{
	(void)context;
	return input_err;
}

static void given_progress(const struct context *context, const char *what, double part)
{
	(void)context;
	shown += !strcmp(what, "reading standard input") && part == 0.5;
}

static void *given_grow(void *array, size_t n, size_t size)
{
	return allocations && !--allocations ? NULL : grow(array, n, size);
}

static void *given_calloc(size_t n, size_t size)
{
	return allocations && !--allocations ? NULL : calloc(n, size);
}

__attribute__((format(printf, 1, 2))) static void given_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(warned, sizeof(warned), fmt, args);
	va_end(args);
}

#undef stdin
#define stdin		input
#define standard_input	given_input
#define progress	given_progress
#define progress_of(fd) ((fd) == STDIN_FILENO ? 0.5 : 0)
#define progress_end()	(ended++)
#define grow		given_grow
#define calloc		given_calloc
#define warn		given_warn
#include "sets/prefixes.c"
#undef calloc

static const char *words_of(const struct prefixes *p)
{
	static char text[2000];
	size_t n = 0;

	*text = '\0';
	for (size_t i = 0; i < p->n; i++) {
		char one[PREFIX_TEXT_MAX];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "",
				      prefix_text(one, p->at[i].first, (int)p->at[i].length));
	}
	return text;
}

/* What comes of these bytes: the prefixes, or what is wrong. */
static void lines(const char *text, size_t length, const char *words, const char *fault)
{
	char *operands[] = { (char[]){ "-" } };
	struct prefixes p = { 0 };
	int err;

	input = length ? fmemopen((void *)(uintptr_t)text, length, "r") : tmpfile();
	if (!input)
		abort();
	err = prefixes_read(NULL, &p, 1, operands);
	fclose(input);
	CHECK(fault ? err_is(err, EINVAL) && !strcmp(reason(err), fault) : !err, "'%s': %s", text,
	      err ? reason(err) : "taken");
	CHECK(!strcmp(words_of(&p), words), "'%s': '%s', not '%s'", text, words_of(&p), words);
	prefixes_free(&p);
	CHECK(!p.at && !p.n, "they are left");
}

static void line_by_line(void)
{
	static const struct {
		const char *text, *words, *fault;
	} known[] = {
		{ "", "", NULL },
		{ "\n\n", "", NULL },
		{ "192.0.2.1", "192.0.2.1", NULL },
		{ "192.0.2.1\n2001:db8::/32\n", "192.0.2.1 2001:db8::/32", NULL },
		{ "  192.0.2.1\t192.0.2.2\r\n", "192.0.2.1 192.0.2.2", NULL },
		{ "# 192.0.2.1\n;192.0.2.2\n192.0.2.3#x\n192.0.2.4 ; 192.0.2.5\n", "192.0.2.3 192.0.2.4", NULL },
		{ "192.0.2.1\nrubbish\n", "192.0.2.1", "standard input:2: 'rubbish': not an IPv4 or IPv6 address" },
		{ "192.0.2.1 192.0.2.0/33 192.0.2.2\n", "192.0.2.1",
		  "standard input:1: '192.0.2.0/33': prefix length must be 0 to 32" },
		{ "192.0.2.1,192.0.2.2\n", "", "standard input:1: '192.0.2.1,192.0.2.2': not an IPv4 or IPv6 address" },
	};
	char many[4098 * 2 + 1];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		lines(known[i].text, strlen(known[i].text), known[i].words, known[i].fault);
	lines("192.0.2.1\n192.0.2.2\0 192.0.2.3\n192.0.2.4\n", 40, "192.0.2.1",
	      "standard input:2: there is a control character");
	/* How far it is, once for so many lines; and that is taken away again. */
	for (size_t n = 4095; n <= 4098; n++) {
		for (size_t i = 0; i < n; i++)
			memcpy(many + 2 * i, "#\n", 2);
		many[2 * n] = '\0';
		shown = ended = 0;
		lines(many, 2 * n, "", NULL);
		CHECK(shown == (n >= 4096) && ended == (n > 4096), "%zu lines: shown %u times, %u ends", n, shown,
		      ended);
	}
}

static ssize_t no_read(void *cookie, char *to, size_t n)
{
	(void)cookie;
	(void)to;
	(void)n;
	errno = EIO;
	return -1;
}

static void not_read(void)
{
	char *operands[] = { (char[]){ "192.0.2.1" }, (char[]){ "-" }, (char[]){ "192.0.2.2" } };
	struct prefixes p = { 0 };
	int err;

	input = fopencookie(NULL, "r", (cookie_io_functions_t){ .read = no_read });
	err = prefixes_read(NULL, &p, 3, operands);
	fclose(input);
	CHECK(err_is(err, EIO) && !strcmp(reason(err), "standard input cannot be read to its end") && p.n == 1, "%s",
	      err ? reason(err) : "no error");
	prefixes_free(&p);
	input = tmpfile();
	input_err = -EBUSY;
	CHECK(err_is(prefixes_read(NULL, &p, 3, operands), EBUSY) && p.n == 1, "%zu", p.n);
	input_err = 0;
	prefixes_free(&p);
	fclose(input);
	allocations = 2;
	err = prefixes_read(NULL, &p, 3, (char *[]){ operands[0], operands[2], operands[0] });
	CHECK(err && strstr(reason(err), "'192.0.2.2': ") && strstr(reason(err), "out of memory") && p.n == 1, "%s",
	      err ? reason(err) : "no error");
	allocations = 0;
	prefixes_free(&p);
}

/* One of the hosts of a network, written with its length: the first is told. */
static void masked(void)
{
	static const struct {
		const char *words[3], *exact, *warning;
	} known[] = {
		{ { "192.0.2.0/24", "192.0.2.1/32", "2001:db8::/32" }, NULL, "" },
		{ { "192.0.2.0/24", "192.0.2.7/24", "2001:db8::/32" },
		  "192.0.2.7/24 is a host within 192.0.2.0/24: write 192.0.2.0/24, or --wide to mean the network",
		  "192.0.2.7/24 is a host within 192.0.2.0/24, which is taken" },
		{ { "192.0.2.0/24", "2001:db8::1/32", "192.0.2.7/24" },
		  "2001:db8::1/32 is a host within 2001:db8::/32: write 2001:db8::/32, or --wide to mean the network",
		  "2001:db8::1/32 is a host within 2001:db8::/32, which is taken; so it is with others" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct prefixes p = { 0 };
		int err = prefixes_read(NULL, &p, 3, (char **)(uintptr_t)known[i].words);

		CHECK(!err && p.n == 3, "case %zu: %zu", i, p.n);
		err = prefixes_exact(&p, "wide");
		CHECK(known[i].exact ? err_is(err, EINVAL) && !strcmp(reason(err), known[i].exact) : !err,
		      "case %zu: %s", i, err ? reason(err) : "exact");
		*warned = '\0';
		prefixes_warn_masked(&p);
		CHECK(!strcmp(warned, known[i].warning), "case %zu: '%s'", i, warned);
		prefixes_free(&p);
	}
}

/* By family, address and length; of equal ones the first stays where it is. */
static void once(void)
{
	static const struct {
		const char *words[7], *kept;
	} known[] = {
		{ { NULL }, "" },
		{ { "192.0.2.1" }, "192.0.2.1" },
		{ { "192.0.2.2", "192.0.2.1", "192.0.2.2", "192.0.2.1" }, "192.0.2.2 192.0.2.1" },
		{ { "192.0.2.0/24", "192.0.2.0/25", "192.0.2.0", "192.0.2.0/25", "192.0.2.0/24" },
		  "192.0.2.0/24 192.0.2.0/25 192.0.2.0" },
		{ { "::/0", "0.0.0.0/0", "::/0", "::", "0.0.0.0", "0.0.0.0/0" }, "::/0 0.0.0.0/0 :: 0.0.0.0" },
		{ { "::5", "0.0.0.5", "::5", "0.0.0.5", "::5", "0.0.0.5" }, "::5 0.0.0.5" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct prefixes p = { 0 };
		int n = 0;

		while (n < 7 && known[i].words[n])
			n++;
		CHECK(!prefixes_read(NULL, &p, n, (char **)(uintptr_t)known[i].words) && !prefixes_once(&p), "case %zu",
		      i);
		CHECK(!strcmp(words_of(&p), known[i].kept), "case %zu: '%s'", i, words_of(&p));
		for (size_t a = 0; a < p.n; a++)
			for (size_t b = 0; b < p.n; b++) {
				int is = prefix_order(&p.at[a], &p.at[b]);

				CHECK(is == -prefix_order(&p.at[b], &p.at[a]) && !is == (a == b),
				      "case %zu: %zu, %zu: %d", i, a, b, is);
			}
		prefixes_free(&p);
	}
	for (unsigned int at = 1; at <= 2; at++) {
		struct prefixes p = { 0 };

		CHECK(!prefixes_read(NULL, &p, 2, (char *[]){ (char[]){ "::5" }, (char[]){ "::5" } }), "no memory");
		allocations = at;
		CHECK(err_is(prefixes_once(&p), ENOMEM) && p.n == 2, "%u: %zu are left", at, p.n);
		allocations = 0;
		CHECK(!prefixes_once(&p) && p.n == 1, "%zu are left", p.n);
		prefixes_free(&p);
	}
}

static void order(void)
{
	static const struct prefix in_order[] = {
		{ { 0, 4 }, 0 }, { { 0, 4 }, 32 }, { { 1, 4 }, 32 },  { { 0xffffffff, 4 }, 32 },
		{ { 0, 6 }, 0 }, { { 0, 6 }, 1 },  { { 5, 6 }, 128 }, { { ~(ip6)0, 6 }, 128 },
	};
	const int n = sizeof(in_order) / sizeof(*in_order);

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			CHECK(prefix_order(&in_order[i], &in_order[j]) == (i > j) - (i < j), "%d, %d", i, j);
}

/* Which of them are no host's own, and what lies beside those. */
static void sources(void)
{
	for (size_t i = 0; i < bogon_table_n; i++) {
		static const char *const nobodys = " 0.0.0.0/8 127.0.0.0/8 :: ::1 ",
					 *const shared = " 224.0.0.0/4 255.255.255.255 fe80::/10 ff00::/8 ";
		const char *text = bogon_table[i].prefix;
		char word[PREFIX_TEXT_MAX + 2];
		unsigned int length;
		struct addr first, last;
		bool one, several;

		if (!CHECK(!prefix_parse(text, strlen(text), &first, &length), "%s", text))
			continue;
		snprintf(word, sizeof(word), " %s ", text);
		one = strstr(nobodys, word);
		several = one || strstr(shared, word);
		last = first;
		last.num |= addr_mask(first.family, length);
		CHECK(source_is_nobodys(first) == one && source_is_nobodys(last) == one, "%s is nobody's", text);
		CHECK(source_is_shared(first) == several && source_is_shared(last) == several, "%s is several's", text);
		for (int side = 0; side < 2; side++) {
			struct addr beside = side ? last : first;
			const struct bogon *other;

			beside.num += side ? 1 : -1;
			if (beside.num >> (addr_width(first.family) - 1) >> 1)
				continue;
			other = bogon_of(beside, addr_width(beside.family));
			CHECK(other || !source_is_shared(beside), "beside %s, %d, it is several's", text, side);
		}
	}
}

/* The whole of each, its first and last address; and not what lies beside it, or is wider. */
static void bogons(void)
{
	CHECK(bogon_table_n == 14, "%zu", bogon_table_n);
	for (size_t i = 0; i < bogon_table_n; i++) {
		const struct bogon *b = &bogon_table[i];
		unsigned int length, width;
		struct addr first, last, beside;

		if (!CHECK(!prefix_parse(b->prefix, strlen(b->prefix), &first, &length), "%s", b->prefix))
			continue;
		width = addr_width(first.family);
		last = first;
		last.num |= addr_mask(first.family, length);
		CHECK(bogon_of(first, width) == b && bogon_of(last, width) == b && bogon_of(first, length) == b, "%s",
		      b->prefix);
		CHECK(!length || bogon_of(first, length - 1) != b, "%s, and what is wider", b->prefix);
		beside = last;
		beside.num++;
		CHECK(beside.num == 0 || bogon_of(beside, width) != b, "behind %s", b->prefix);
		beside = first;
		beside.num--;
		CHECK(!first.num || bogon_of(beside, width) != b, "before %s", b->prefix);
		/* Of the other family it is none. */
		first.family = 10 - first.family;
		CHECK(bogon_of(first, width) != b, "%s of the other family", b->prefix);
	}
	CHECK(!bogon_of((struct addr){ 0x08080808, 4 }, 32) && !bogon_of((struct addr){ (ip6)0x2620 << 112, 6 }, 128),
	      "what is of the internet");
	CHECK(!bogon_among(bogon_table, 1, (struct addr){ 0x0a000001, 4 }, 32) &&
		      bogon_among(bogon_table, 2, (struct addr){ 0x0a000001, 4 }, 32) == &bogon_table[1] &&
		      !bogon_among(bogon_table, 0, (struct addr){ 0, 4 }, 32),
	      "of a table that is shorter");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "line by line", line_by_line },
		{ "what is not read", not_read },
		{ "hosts of networks", masked },
		{ "once", once },
		{ "order", order },
		{ "bogons", bogons },
		{ "sources", sources },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
