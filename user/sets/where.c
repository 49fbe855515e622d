// SPDX-License-Identifier: GPL-2.0-only
#include "sets/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COLUMNS_MOST 64

static const char wants_equals[] = "takes COLUMN=VALUE, such as country=CN or asn=9009,45090";

/* The next of these bytes that has no backslash in front, or the end. */
static const char *find(const char *p, const char *bytes)
{
	for (; *p && !strchr(bytes, *p); p++)
		if (*p == '\\' && p[1])
			p++;
	return p;
}

const char *where_add(char where[WHERE_MAX], const char *condition)
{
	char joined[2 * WHERE_MAX];
	struct where *compiled;
	const char *reason;
	size_t n = (size_t)snprintf(joined, sizeof(joined), "%s%s", where, *where ? "&" : "");

	for (const char *p = condition; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return "takes no control characters";
		if (n + 4 > WHERE_MAX)
			return "takes 1000 bytes at most, all together";
		if (*p == '\\' && !p[1])
			return "takes nothing that ends with a backslash";
		if (*p == '&')
			joined[n++] = '\\';
		joined[n++] = *p;
		if (*p == '\\')
			joined[n++] = *++p;
	}
	joined[n] = '\0';
	compiled = malloc(sizeof(*compiled));
	reason = compiled ? where_compile(compiled, joined) : "does not fit into memory";
	free(compiled);
	if (!reason)
		memcpy(where, joined, n + 1);
	return reason;
}

bool where_next(const char *where, size_t *at, char condition[WHERE_MAX])
{
	const char *begin = where + *at, *end = find(begin, "&");

	if (!*begin)
		return false;
	snprintf(condition, WHERE_MAX, "%.*s", (int)(end - begin), begin);
	*at = (size_t)(end - where) + (*end != '\0');
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Without blanks around it, and "AS9009" as 9009. */
static void normalise(const char **text, size_t *len)
{
	const char *p = *text, *end = p + *len;

	while (p < end && is_blank(*p))
		p++;
	while (end > p && is_blank(end[-1]))
		end--;
	if (end - p > 2 && (p[0] | 0x20) == 'a' && (p[1] | 0x20) == 's') {
		const char *digit = p + 2;

		while (digit < end && *digit >= '0' && *digit <= '9')
			digit++;
		if (digit == end)
			p += 2;
	}
	*text = p;
	*len = (size_t)(end - p);
}

/* Copies up to one of these bytes, without the backslashes. */
static const char *copy(char **to, const char *from, const char *stop)
{
	for (; from < stop; from++) {
		if (*from == '\\' && from + 1 < stop)
			from++;
		*(*to)++ = *from;
	}
	*(*to)++ = '\0';
	return stop;
}

static void trim(const char **text)
{
	size_t len;

	while (is_blank(**text))
		++*text;
	len = strlen(*text);
	while (len && is_blank((*text)[len - 1]))
		len--;
	((char *)(size_t)*text)[len] = '\0';
}

static const char *take_column(struct condition *c)
{
	char *end;
	unsigned long number;

	trim(&c->column);
	if (!*c->column)
		return wants_equals;
	number = strtoul(c->column, &end, 10);
	if (*end || *c->column < '0' || *c->column > '9')
		return NULL;
	c->number = (unsigned int)number;
	return number >= 1 && number <= COLUMNS_MOST ? NULL : "counts columns from 1 to 64";
}

const char *where_compile(struct where *w, const char *where)
{
	size_t values = 0;
	char *to = w->text;

	w->n = 0;
	if (strlen(where) >= WHERE_MAX)
		return "takes 1000 bytes at most, all together";
	for (const char *p = where; *p; p += *p != '\0') {
		struct condition *c = &w->conditions[w->n];
		const char *stop = find(p, "=&"), *reason;

		if (w->n++ == WHERE_CONDITIONS)
			return "may be given 8 times";
		*c = (struct condition){ .column = to, .first = values };
		if (*stop != '=')
			return wants_equals;
		p = copy(&to, p, stop);
		reason = take_column(c);
		if (reason)
			return reason;
		do {
			struct where_value *value = &w->values[values];

			p++;
			value->text = to;
			p = copy(&to, p, find(p, ",&"));
			value->len = (size_t)(to - 1 - value->text);
			normalise(&value->text, &value->len);
			values++;
			c->values++;
		} while (*p == ',');
	}
	return w->n ? NULL : wants_equals;
}

bool where_holds(const struct where *w, size_t condition, const char *field, size_t len)
{
	const struct condition *c = &w->conditions[condition];

	normalise(&field, &len);
	for (size_t i = c->first; i < c->first + c->values; i++)
		if (w->values[i].len == len && !strncasecmp(w->values[i].text, field, len))
			return true;
	return false;
}

bool where_names(const struct where *w, size_t condition, const char *name, size_t len)
{
	const char *column = w->conditions[condition].column;

	while (len && is_blank(*name))
		name++, len--;
	while (len && is_blank(name[len - 1]))
		len--;
	return strlen(column) == len && !strncasecmp(column, name, len);
}
