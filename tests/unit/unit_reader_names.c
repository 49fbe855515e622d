// SPDX-License-Identifier: GPL-2.0-only
/* What columns of tables of networks are called, what they may be without a name, and what is taken of them. */
#include <stdio.h>
#include <string.h>

#include "sets/reader_names.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_reader_names.txt"
};

static struct shows shows = { .file = "tests/unit/unit_reader_names.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* The better a name is, the lower is its number. */
static void ranks(void)
{
	static const char *const names[] = {
		"country_code",
		"countrycode",
		"country_iso_code",
		"iso_code",
		"cc",
		"country",
		"registered_country_iso_code",
		"asn",
		"as_number",
		"asnumber",
		"autonomous_system_number",
		"as_num",
		"origin_as",
		"origin",
		"as",
		"as_name",
		"asname",
		"as_description",
		"as_desc",
		"as_organization",
		"as_org",
		"autonomous_system_organization",
		"organization",
		"organisation",
		"org",
		"owner",
		"isp",
		"name",
		"description",
		"descr",
		"",
		"c",
		"ccc",
		"Country",
		"ASN",
		" asn",
		"asn ",
		"\t\r\n asn\n\r\t ",
		"a sn",
		"names",
		" ",
		"as\v",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);

		printf("%.*s: %u %u %u\n", (int)strcspn(names[i], "\t\v"), names[i],
		       name_column_rank(NAME_COUNTRY, names[i], len), name_column_rank(NAME_ASN, names[i], len),
		       name_column_rank(NAME_TEXT, names[i], len));
	}
}

static const char *const fields[] = {
	"",
	" ",
	"-",
	"--",
	"none",
	"NONE",
	"nonee",
	"null",
	"Null",
	"n/a",
	"N/A",
	"n/b",
	"DE",
	"de",
	"dE",
	"ZZ",
	"zz",
	"ZA",
	"AZ",
	"A",
	"ABC",
	"D1",
	"1D",
	"@A",
	"A@",
	"[A",
	"A[",
	"`a",
	"a`",
	"{a",
	"a{",
	"az",
	"za",
	"Az",
	"zA",
	"AF",
	"AN",
	"AS",
	"EU",
	"NA",
	"OC",
	"SA",
	"as",
	"sa",
	"0",
	"9",
	"/",
	":",
	"5",
	" 5 ",
	"\t5\r",
	"\n5",
	"AS5",
	"as5",
	"aS5",
	"AS",
	"AS ",
	"A5",
	"ASx",
	"AS5x",
	"x5",
	"5x",
	"ASAS5",
	"4294967295",
	"4294967296",
	"9999999999",
	"10000000000",
	"00000000005",
	"0000000005",
	"AS4294967295",
	"AS4294967296",
	"AS00000000005",
	"-5",
	"+5",
	"5.0",
	"Example Net",
	"a",
	"1 a",
	"1-2",
	"...",
};

static void put(const struct network *n)
{
	printf(" AS%u '%.2s' '%s'", n->asn, n->country, n->name);
}

static void taken(void)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		printf("%zu:", i);
		for (enum name_column c = 0; c < NAME_COLUMNS; c++) {
			struct network n = { .asn = 7, .country = "QQQ", .name = "before" };

			network_take(&n, c, fields[i], strlen(fields[i]));
			put(&n);
			printf("%s", n.country[2] ? ", and more" : "");
		}
		putchar('\n');
	}
}

/* Of a column that is one, it may be each of these. */
static void guessed(void)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct name_guess g = { 0 };

		name_guess_add(&g, fields[i], strlen(fields[i]));
		printf("%zu: empty %zu, countries %zu, continents %zu, numbers %zu, texts %zu:%s%s%s\n", i, g.empty,
		       g.countries, g.continents, g.numbers, g.texts, name_guess_is(&g, NAME_COUNTRY) ? " country" : "",
		       name_guess_is(&g, NAME_ASN) ? " number" : "", name_guess_is(&g, NAME_TEXT) ? " text" : "");
	}
	/* Of one that holds several. */
	for (unsigned int has = 0; has < 32; has++) {
		struct name_guess g = { 0 };

		if (has & 1)
			name_guess_add(&g, "", 0);
		if (has & 2)
			name_guess_add(&g, "DE", 2);
		if (has & 4)
			name_guess_add(&g, "EU", 2);
		if (has & 8)
			name_guess_add(&g, "5", 1);
		if (has & 16)
			name_guess_add(&g, "a text", 6);
		printf("%s%s%s%s%s:%s%s%s\n", has & 1 ? "nothing " : "", has & 2 ? "DE " : "", has & 4 ? "EU " : "",
		       has & 8 ? "5 " : "", has & 16 ? "a text" : "", name_guess_is(&g, NAME_COUNTRY) ? " country" : "",
		       name_guess_is(&g, NAME_ASN) ? " number" : "", name_guess_is(&g, NAME_TEXT) ? " text" : "");
	}
}

/* Names that just fit, and longer ones: no character is cut in two. */
static void long_names(void)
{
	char text[100];

	for (size_t n = 61; n <= 67; n++)
		for (size_t bytes = 1; bytes <= 4; bytes++) {
			static const char *const last[] = { "z", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
			struct network is = { 0 };

			memset(text, 'a', n - bytes);
			memcpy(text + n - bytes, last[bytes - 1], bytes);
			network_take(&is, NAME_TEXT, text, n);
			printf("%zu bytes, the last %zu of a character: %zu\n", n, bytes, strlen(is.name));
		}
	{
		struct network is = { 0 };

		memset(text, 0x80, sizeof(text));
		network_take(&is, NAME_TEXT, text, sizeof(text));
		printf("nothing but ends: %zu\n", strlen(is.name));
	}
}

static void cleaned(void)
{
	static const char countries[][4] = { "DE", "AA", "ZZ", "A",  "",   "@A",  "A@",
					     "[A", "A[", "de", "Dx", "xD", "DE1", { '\x1b', 'A' } };
	struct network n;

	for (size_t i = 0; i < sizeof(countries) / sizeof(*countries); i++) {
		n = (struct network){ .asn = 5, .name = "x\x1by" };
		memcpy(n.country, countries[i], 4);
		n.country[3] = 'x';
		network_clean(&n);
		put(&n);
		printf(" %d %d %d\n", !n.country[1], !n.country[2], !n.country[3]);
	}
	memset(&n, 'a', sizeof(n));
	network_clean(&n);
	printf("without an end: %zu\n", strlen(n.name));
}

static const struct scene scenes[] = {
	{ "what they are called", ranks }, { "what is taken", taken },	   { "what they may be", guessed },
	{ "long names", long_names },	   { "what is cleaned", cleaned },
};

static void happens(void)
{
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "names", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
