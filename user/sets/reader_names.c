// SPDX-License-Identifier: GPL-2.0-only
#include "sets/reader_names.h"

#include <string.h>
#include <strings.h>

#include "base/clean_text.h"

/* As the tables that people have call them; the better ones first, as some have a country's name as well. */
static const char *const names[NAME_COLUMNS][16] = {
	[NAME_COUNTRY] = { "country_code", "countrycode", "country_iso_code", "iso_code", "cc", "country",
			   "registered_country_iso_code" },
	[NAME_ASN] = { "asn", "as_number", "asnumber", "autonomous_system_number", "as_num", "origin_as", "origin",
		       "as" },
	[NAME_TEXT] = { "as_name", "asname", "as_description", "as_desc", "as_organization", "as_org",
			"autonomous_system_organization", "organization", "organisation", "org", "owner", "isp", "name",
			"description", "descr" },
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void trim(const char **text, size_t *len)
{
	while (*len && is_blank(**text))
		++*text, --*len;
	while (*len && is_blank((*text)[*len - 1]))
		--*len;
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && !strncasecmp(text, word, len);
}

unsigned int name_column_rank(enum name_column column, const char *name, size_t len)
{
	trim(&name, &len);
	for (unsigned int i = 0; i < 16 && names[column][i]; i++)
		if (is_word(name, len, names[column][i]))
			return i + 1;
	return 0;
}

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool says_nothing(const char *field, size_t len)
{
	return !len || is_word(field, len, "-") || is_word(field, len, "none") || is_word(field, len, "null") ||
	       is_word(field, len, "n/a");
}

/* "AS9009" or "9009". */
static bool take_number(const char *field, size_t len, uint32_t *number)
{
	uint64_t value = 0;

	if (len > 2 && !strncasecmp(field, "as", 2))
		field += 2, len -= 2;
	if (!len || len > 10)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (field[i] < '0' || field[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(field[i] - '0');
	}
	*number = (uint32_t)value;
	return value <= UINT32_MAX;
}

void name_guess_add(struct name_guess *guess, const char *field, size_t len)
{
	static const char *const continents[] = { "AF", "AN", "AS", "EU", "NA", "OC", "SA" };
	bool letters = false;
	uint32_t number;

	trim(&field, &len);
	for (size_t i = 0; i < len; i++)
		letters |= is_letter(field[i]);
	if (says_nothing(field, len)) {
		guess->empty++;
	} else if (len == 2 && is_letter(field[0]) && is_letter(field[1])) {
		guess->countries++;
		for (size_t i = 0; i < sizeof(continents) / sizeof(*continents); i++)
			guess->continents += is_word(field, len, continents[i]);
	} else if (take_number(field, len, &number)) {
		guess->numbers++;
	} else {
		guess->texts += letters;
	}
}

bool name_guess_is(const struct name_guess *g, enum name_column column)
{
	switch (column) {
	case NAME_COUNTRY:
		return g->countries > g->continents && !g->numbers && !g->texts;
	case NAME_ASN:
		return g->numbers && !g->countries && !g->texts;
	default:
		return g->texts;
	}
}

/* Cut in front of a character that does not fit whole. */
static void copy_text(char to[NETWORK_NAME_MAX], const char *field, size_t len)
{
	if (len >= NETWORK_NAME_MAX) {
		len = NETWORK_NAME_MAX - 1;
		while (len && ((unsigned char)field[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(to, field, len);
	to[len] = '\0';
}

void network_take(struct network *to, enum name_column column, const char *field, size_t len)
{
	trim(&field, &len);
	if (says_nothing(field, len))
		return;
	if (column == NAME_ASN) {
		if (!take_number(field, len, &to->asn))
			to->asn = 0;
	} else if (column == NAME_COUNTRY && len == 2 && is_letter(field[0]) && is_letter(field[1])) {
		to->country[0] = (char)(field[0] & ~0x20);
		to->country[1] = (char)(field[1] & ~0x20);
		to->country[2] = '\0';
		if (!strcmp(to->country, "ZZ")) /* no country's */
			to->country[0] = '\0';
	} else if (column == NAME_TEXT) {
		copy_text(to->name, field, len);
	}
}

void network_clean(struct network *n)
{
	n->name[NETWORK_NAME_MAX - 1] = '\0';
	clean_text(n->name);
	if (!(n->country[0] >= 'A' && n->country[0] <= 'Z' && n->country[1] >= 'A' && n->country[1] <= 'Z'))
		n->country[0] = n->country[1] = '\0';
	n->country[2] = n->country[3] = '\0';
}
