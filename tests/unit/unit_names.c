// SPDX-License-Identifier: GPL-2.0-only
/* Whose a network is, as tables say it: which columns, what a column without a name may be, and what each field says.
 */
#include "sets/reader_names.h"
#include "ktap.h"

static void ranks(void)
{
	static const struct {
		enum name_column column;
		const char *name;
		unsigned int rank;
	} known[] = {
		{ NAME_COUNTRY, "country_code", 1 },
		{ NAME_COUNTRY, "Country", 6 },
		{ NAME_COUNTRY, " \t\r\ncc\n\r\t ", 5 },
		{ NAME_COUNTRY, "registered_country_iso_code", 7 },
		{ NAME_COUNTRY, "c", 0 },
		{ NAME_COUNTRY, "ccc", 0 },
		{ NAME_COUNTRY, "", 0 },
		{ NAME_COUNTRY, " ", 0 },
		{ NAME_COUNTRY, "asn", 0 },
		{ NAME_ASN, "ASN", 1 },
		{ NAME_ASN, "as", 8 },
		{ NAME_ASN, "cc", 0 },
		{ NAME_TEXT, "as_name", 1 },
		{ NAME_TEXT, "descr", 15 },
		{ NAME_TEXT, "\vname", 0 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		unsigned int rank = name_column_rank(known[i].column, known[i].name, strlen(known[i].name));

		CHECK(rank == known[i].rank, "'%s' is %u, not %u", known[i].name, rank, known[i].rank);
	}
	CHECK(name_column_rank(NAME_ASN, "asnumber", 3) == 1, "what stands behind it counts");
}

static void guesses(void)
{
	static const struct {
		const char *fields; /* with a | between */
		struct name_guess is;
		bool country, asn, text;
	} known[] = {
		{ "de|FR|us", { .countries = 3 }, true, false, false },
		{ "eu|EU", { .countries = 2, .continents = 2 }, false, false, false },
		{ "eu|de", { .countries = 2, .continents = 1 }, true, false, false },
		{ "af|an|as|oc|na|sa", { .countries = 6, .continents = 6 }, false, false, false },
		{ "-|none|NULL|n/a||  ", { .empty = 6 }, false, false, false },
		{ "de|1", { .countries = 1, .numbers = 1 }, false, false, false },
		{ "de|x", { .countries = 1, .texts = 1 }, false, false, true },
		{ "1|AS2", { .numbers = 2 }, false, true, false },
		{ "1|x", { .numbers = 1, .texts = 1 }, false, false, true },
		{ "a|z|A|Z", { .texts = 4 }, false, false, true },
		{ "@|[|`|{|..|1.5|d1|1d", { .texts = 2 }, false, false, true },
		{ "@a|a[|`z|z{", { .texts = 4 }, false, false, true },
		{ "as1|4294967295|0", { .numbers = 3 }, false, true, false },
		{ "4294967296|99999999999", { 0 }, false, false, false },
		{ "as4294967296", { .texts = 1 }, false, false, true },
		{ "/|:", { 0 }, false, false, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct name_guess *is = &known[i].is;
		struct name_guess g = { 0 };

		for (const char *at = known[i].fields;; at += strcspn(at, "|") + 1) {
			name_guess_add(&g, at, strcspn(at, "|"));
			if (!at[strcspn(at, "|")])
				break;
		}
		CHECK(g.empty == is->empty && g.countries == is->countries && g.continents == is->continents &&
			      g.numbers == is->numbers && g.texts == is->texts,
		      "%s: empty %zu, countries %zu, continents %zu, numbers %zu, texts %zu", known[i].fields, g.empty,
		      g.countries, g.continents, g.numbers, g.texts);
		CHECK(name_guess_is(&g, NAME_COUNTRY) == known[i].country &&
			      name_guess_is(&g, NAME_ASN) == known[i].asn &&
			      name_guess_is(&g, NAME_TEXT) == known[i].text,
		      "%s is another column", known[i].fields);
	}
}

static void countries(void)
{
	static const char *const known[][2] = {
		{ "de", "DE" }, { " Fr\t", "FR" }, { "AZ", "AZ" },  { "az", "AZ" },   { "zz", "XX" }, { "za", "ZA" },
		{ "az", "AZ" }, { "d", "XX" },	   { "deu", "XX" }, { "d1", "XX" },   { "1d", "XX" }, { "@e", "XX" },
		{ "e[", "XX" }, { "-", "XX" },	   { "", "XX" },    { "none", "XX" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct network n = { .country = "XX", .asn = 5, .name = "before" };
		bool none = !strcmp(known[i][0], "zz");

		network_take(&n, NAME_COUNTRY, known[i][0], strlen(known[i][0]));
		CHECK(!strcmp(n.country, none ? "" : known[i][1]), "'%s' is '%s'", known[i][0], n.country);
		CHECK(n.asn == 5 && !strcmp(n.name, "before"), "it says more");
	}
}

static void numbers(void)
{
	static const struct {
		const char *field;
		uint32_t asn;
	} known[] = {
		{ "9009", 9009 },     { "AS9009", 9009 },
		{ " as1 ", 1 },	      { "as", 0 },
		{ "0", 0 },	      { "4294967295", 4294967295 },
		{ "4294967296", 0 },  { "0000000001", 1 },
		{ "00000000001", 0 }, { "as00000000001", 0 },
		{ "12a", 0 },	      { "1/", 0 },
		{ "1:", 0 },	      { "-", 7 },
		{ "n/a", 7 },	      { "", 7 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct network n = { .country = "DE", .asn = 7 };

		network_take(&n, NAME_ASN, known[i].field, strlen(known[i].field));
		CHECK(n.asn == known[i].asn && !strcmp(n.country, "DE") && !*n.name, "'%s' is %u", known[i].field,
		      n.asn);
	}
}

/* Names as long as they may be, and longer, of one byte and of more a character. */
static void texts(void)
{
	char field[NETWORK_NAME_MAX + 2];

	for (size_t length = NETWORK_NAME_MAX - 2; length <= NETWORK_NAME_MAX + 1; length++) {
		size_t kept = length < NETWORK_NAME_MAX ? length : NETWORK_NAME_MAX - 1;

		for (size_t last = 0; last < 4; last++) {
			struct network n = { .asn = 7 };
			size_t wanted = kept;

			memset(field, 'a', sizeof(field));
			/* One character of three bytes, that begins so many bytes before the end of what there is room
			 * for. */
			memcpy(field + NETWORK_NAME_MAX - 1 - last, "\xe2\x82\xac", last < 2 ? 2 : 3);
			if (length > NETWORK_NAME_MAX - 1 && last && last < 3)
				wanted -= last;
			network_take(&n, NAME_TEXT, field, length);
			CHECK(strlen(n.name) == wanted && !memcmp(n.name, field, wanted), "%zu of %zu bytes, not %zu",
			      strlen(n.name), length, wanted);
			CHECK(n.asn == 7 && !*n.country, "it says more");
		}
	}
	memset(field, 0x80, sizeof(field));
	network_take(&(struct network){ 0 }, NAME_TEXT, field, sizeof(field));
}

/* What a stranger may have sent. */
static void clean(void)
{
	static const struct {
		char country[4];
		const char *wanted;
	} known[] = {
		{ "AZ", "AZ" },
		{ "ZA", "ZA" },
		{ "@A", "" },
		{ "A@", "" },
		{ "[A", "" },
		{ "A[", "" },
		{ "az", "" },
		{ "", "" },
		{ "A", "" },
		{ "AZX", "AZ" },
		{ { 'A', 'Z', 0, 'X' }, "AZ" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		static const char nothing[4];
		struct network n = { .asn = 7, .name = "a\x1b[31mb" };

		memcpy(n.country, known[i].country, sizeof(n.country));
		network_clean(&n);
		CHECK(!strcmp(n.country, known[i].wanted) && !n.country[2] && !n.country[3], "'%.4s' is '%.4s'",
		      known[i].country, n.country);
		CHECK(*known[i].wanted || !memcmp(n.country, nothing, 4), "something is left of '%.4s'",
		      known[i].country);
		CHECK(n.asn == 7 && !strchr(n.name, '\x1b'), "its name is '%s'", n.name);
		memset(n.name, 'a', sizeof(n.name));
		network_clean(&n);
		CHECK(strlen(n.name) == NETWORK_NAME_MAX - 1, "a name of %zu bytes", strlen(n.name));
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "which columns say it, and how well", ranks },
		{ "what a column without a name is", guesses },
		{ "countries", countries },
		{ "numbers", numbers },
		{ "names, cut in front of a character that does not fit", texts },
		{ "from a stranger", clean },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
