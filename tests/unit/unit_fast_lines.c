// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines that are one address or prefix, as most of a large list are, are read without looking at each byte: which lines
 * those are, against what the careful way makes of each; all others are left to that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ktap.h"
#include "naive.h"
#define sample sample_of_lines /* bpf/abi.h has another */
#include "sets/reader_text.c"
#undef sample

static struct reader_options options;
static struct reader_report report;
static struct ranges set;
static struct reader reader;

/* As it lies in a window; what stands behind its end is of another file. */
static void look(const char *text, size_t n, const char *behind)
{
	static char window[1 << 16];

	ENOUGH(n + strlen(behind) + READER_SLACK <= sizeof(window));
	memset(window, 0, sizeof(window));
	memcpy(window, text, n);
	memcpy(window + n, behind, strlen(behind));
	memset(&report, 0, sizeof(report));
	ranges_free(&set);
	set = RANGES_EMPTY;
	reader = (struct reader){ .options = &options, .report = &report, .set = &set, .buf = window, .end = n };
	CHECK(!fast_lines(&reader), "it fails");
	CHECK(!ranges_finish(&set), "no memory");
}

/* Would the careful way take it for one address or prefix, as short as it can be written? */
static bool is_plain(const char *line, size_t n, struct item *item)
{
	char text[PREFIX_TEXT_MAX + 8], shorter[PREFIX_TEXT_MAX];
	unsigned int length;
	struct addr first;

	*item = (struct item){ 0 };
	if (strspn(line, "0123456789abcdefABCDEF.:/") < n || item_parse(line, n, item) || item->kind != ITEM_PREFIX ||
	    item->masked)
		return false;
	if (item->family == 6)
		return !memchr(line, '.', n);
	if (memchr(line, ':', n) || prefix_parse(line, n, &first, &length))
		return false;
	snprintf(text, sizeof(text), "%s%s", prefix_text(shorter, first, (int)length),
		 length == 32 && memchr(line, '/', n) ? "/32" : "");
	return strlen(text) == n && !memcmp(text, line, n);
}

/* It is the second of three lines: it is taken with them, or they stop at it. */
static void taken_or_not(const char *line, size_t n)
{
	char text[300];
	struct item item;
	bool plain = is_plain(line, n, &item);
	size_t before = (size_t)sprintf(text, "250.0.0.9\n"), all = before;

	memcpy(text + all, line, n);
	all += n;
	all += (size_t)sprintf(text + all, "\n9.8.7.6\n");
	look(text, all, "");
	if (!n || (n == 1 && *line == '\n')) {
		CHECK(reader.start == all && report.entries == 2 && reader.line == 3 + n, "an empty line is no line");
		return;
	}
	CHECK(reader.start == (plain ? all : before) && report.entries == (plain ? 3 : 1) &&
		      reader.line == report.entries && reader.kinds == ITEM_PREFIX,
	      "'%.*s' is %staken: %llu", (int)n, line, plain ? "not " : "", (unsigned long long)report.entries);
	if (!plain)
		return;
	CHECK(ranges_covering(&set, (struct addr){ item.lo, item.family }) >= 0 &&
		      ranges_covering(&set, (struct addr){ item.hi, item.family }) >= 0 &&
		      (item.family == 4 ? ranges_count4(&set) : (uint64_t)ranges_count6(&set) + 2) <=
			      (uint64_t)(item.hi - item.lo) + 3,
	      "'%.*s' is another", (int)n, line);
}

/* Each byte of these changed to each other one, left out, and doubled. */
static void each_byte(void)
{
	static const char *const lines[] = {
		"123.45.6.78",
		"1.2.3.4",
		"255.255.255.255",
		"99.100.9.10",
		"123.45.6.0/24",
		"0.0.0.0/0",
		"1.2.3.4/32",
		"128.0.0.0/1",
		"200.100.0.0/19",
		"2001:db8::1",
		"2001:DB8::/32",
		"::1/128",
		"::",
		"::ffff:0:0/96",
		"::ffff:102:304",
		"::ffff:1.2.3.4",
		"1:2:3:4:5:6:7:8",
		"1:2:3:4:5:6:7:8/127",
		"fe80::/10",
		"::/0",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		size_t n = strlen(lines[i]);
		char line[100];

		taken_or_not(lines[i], n);
		for (size_t at = 0; at < n; at++) {
			for (int byte = 0; byte < 256; byte++) {
				memcpy(line, lines[i], n + 1);
				line[at] = (char)byte;
				if (byte != '\n')
					taken_or_not(line, n);
			}
			memcpy(line, lines[i], at);
			memcpy(line + at, lines[i] + at + 1, n - at);
			taken_or_not(line, n - 1);
			memcpy(line, lines[i], at + 1);
			memcpy(line + at + 1, lines[i] + at, n - at + 1);
			taken_or_not(line, n + 1);
		}
	}
}

/* Each number there is, in each place; each length of a prefix. */
static void each_number(void)
{
	char line[100];

	for (int place = 0; place < 4; place++)
		for (int number = 0; number < 300; number++) {
			int part[4] = { 11, 22, 133, 4 };

			part[place] = number;
			taken_or_not(line, (size_t)sprintf(line, "%d.%d.%d.%d", part[0], part[1], part[2], part[3]));
			taken_or_not(line,
				     (size_t)sprintf(line, "%02d.%d.%d.%03d", part[0], part[1], part[2], part[3]));
		}
	for (int length = 0; length < 140; length++) {
		char first[PREFIX_TEXT_MAX];

		prefix_text(first,
			    (struct addr){ 0xffffffff & ~(length < 33 ? addr_mask(4, (unsigned int)length) : 0), 4 },
			    -1);
		taken_or_not(line, (size_t)sprintf(line, "%s/%d", first, length));
		taken_or_not(line, (size_t)sprintf(line, "%s/%02d", first, length));
		prefix_text(first, (struct addr){ ~(length < 129 ? addr_mask(6, (unsigned int)length) : 0), 6 }, -1);
		taken_or_not(line, (size_t)sprintf(line, "%s/%d", first, length));
		taken_or_not(line, (size_t)sprintf(line, "%s/%03d", first, length));
	}
}

/* The line that the window cuts is left, whatever stands behind it there. */
static void at_the_end(void)
{
	static const char *const lines[] = { "1.2.3.4", "1.2.3.0/24", "1.2.3.4/32", "::5", "2001:db8::/32" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		size_t n = strlen(lines[i]);
		char text[100];

		snprintf(text, sizeof(text), "%s\n", lines[i]);
		look(text, n + 1, "7.7.7.7\n");
		CHECK(reader.start == n + 1 && report.entries == 1, "%s: %zu of %zu", lines[i], reader.start, n + 1);
		for (size_t cut = 0; cut <= n; cut++) {
			look(text, cut, text + cut);
			CHECK(!reader.start && !report.entries && !reader.line && !reader.kinds,
			      "%zu bytes of %s are taken", cut, lines[i]);
			look(text, cut, "");
			CHECK(!reader.start && !report.entries, "%zu bytes of %s are taken", cut, lines[i]);
		}
	}
	look("\n\n\n", 3, "\n");
	CHECK(reader.start == 3 && reader.line == 3 && !report.entries && !reader.kinds, "%llu empty lines",
	      (unsigned long long)reader.line);
}

/* Addresses that no packet comes from are counted, whatever way they are written. */
static void nowhere(void)
{
	static const struct {
		const char *text;
		unsigned int n;
	} known[] = {
		{ "0.0.0.0\n", 1 },	    { "0.0.0.0\n127.0.0.1\n", 2 },
		{ "0.0.0.1\n", 0 },	    { "127.255.255.255\n", 1 },
		{ "126.255.255.255\n", 0 }, { "128.0.0.0\n", 0 },
		{ "0.0.0.0/32\n", 1 },	    { "127.0.0.1/32\n0.0.0.0/32\n", 2 },
		{ "1.0.0.0/32\n", 0 },	    { "0.0.0.0/31\n", 0 },
		{ "127.0.0.0/8\n", 0 },	    { "128.0.0.0/32\n", 0 },
		{ "0.0.0.1/32\n", 0 },	    { "::\n", 1 },
		{ "::1\n::\n", 2 },	    { "::2\n", 0 },
		{ "::/128\n", 1 },	    { "::1/128\n::1\n", 2 },
		{ "::/127\n", 0 },	    { "1::\n", 0 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		look(known[i].text, strlen(known[i].text), "");
		CHECK(reader.nowhere == known[i].n && reader.start == strlen(known[i].text), "'%s': %llu",
		      known[i].text, (unsigned long long)reader.nowhere);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "each byte", each_byte },
		{ "each number", each_number },
		{ "at the end of what there is", at_the_end },
		{ "from nowhere", nowhere },
	};
	int status = ktap_run(cases, sizeof(cases) / sizeof(*cases));

	ranges_free(&set);
	return status;
}
