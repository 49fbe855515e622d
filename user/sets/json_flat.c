// SPDX-License-Identifier: GPL-2.0-only
#include "sets/json_flat.h"

#include <stdint.h>
#include <string.h>

#define DIGITS_MOST 18

/* What a string may have in it here. */
static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

#define EACH (~(uint64_t)0 / 255)

/* Eight at once; a byte that is not plain may be missed behind one that is not, which ends it anyway. */
static bool are_plain(const char *p)
{
	uint64_t w, quote, slash;

	memcpy(&w, p, sizeof(w));
	quote = w ^ EACH * '"';
	slash = w ^ EACH * '\\';
	return !((w | (w - EACH * ' ') | (w + EACH) | ((quote - EACH) & ~quote) | ((slash - EACH) & ~slash)) &
		 EACH * 128);
}

static const char *skip(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* p is behind the opening quote. Behind the closing one, or NULL. */
static const char *take_string(const char *p, const char *end, struct flat_text *text)
{
	text->text = p;
	while (end - p >= 8 && are_plain(p))
		p += 8;
	while (p < end && is_plain((unsigned char)*p))
		p++;
	text->len = (size_t)(p - text->text);
	return p < end && *p == '"' ? p + 1 : NULL;
}

static const char *take_integer(const char *p, const char *end, struct flat_text *text)
{
	const char *digits;

	text->text = p;
	p += *p == '-';
	digits = p;
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	text->len = (size_t)(p - text->text);
	/* None that is written in more ways than one, so that it is compared as it is written. */
	if (p == end || p == digits || p - digits > DIGITS_MOST || *p == '.' || (*p | 0x20) == 'e' ||
	    (*digits == '0' && text->len > 1))
		return NULL;
	return p;
}

static const char *take_value(const char *p, const char *end, struct flat_member *m)
{
	static const char *const words[] = { "true", "false", "null" };

	m->is_string = p < end && *p == '"';
	if (m->is_string)
		return take_string(p + 1, end, &m->value);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t len = strlen(words[i]);

		if ((size_t)(end - p) > len && !memcmp(p, words[i], len)) {
			m->value = (struct flat_text){ p, len };
			return p + len;
		}
	}
	return p < end ? take_integer(p, end, &m->value) : NULL;
}

static bool is_there(const struct flat_member *members, size_t n, struct flat_text name)
{
	for (size_t i = 0; i < n; i++)
		if (members[i].name.len == name.len && !memcmp(members[i].name.text, name.text, name.len))
			return true;
	return false;
}

size_t flat_object(const char *text, const char *end, struct flat_member members[FLAT_MOST], size_t *n)
{
	const char *p = text;

	*n = 0;
	if (p == end || *p != '{')
		return 0;
	p = skip(p + 1, end);
	if (p < end && *p == '}')
		return (size_t)(p + 1 - text);
	while (p < end && *p == '"' && *n < FLAT_MOST) {
		struct flat_member *m = &members[*n];

		p = take_string(p + 1, end, &m->name);
		if (!p || is_there(members, *n, m->name))
			return 0;
		p = skip(p, end);
		if (p == end || *p != ':')
			return 0;
		p = take_value(skip(p + 1, end), end, m);
		if (!p)
			return 0;
		++*n;
		p = skip(p, end);
		if (p < end && *p == '}')
			return (size_t)(p + 1 - text);
		if (p == end || *p != ',')
			return 0;
		p = skip(p + 1, end);
	}
	return 0;
}
