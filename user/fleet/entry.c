// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"

#define NUMBER_DIGITS 18

bool epoch_is_sound(const char *text)
{
	return strlen(text) == EPOCH_MAX - 1 && strspn(text, "0123456789abcdef") == EPOCH_MAX - 1;
}

bool number_read(const char *text, uint64_t *number)
{
	size_t n = strspn(text, "0123456789");

	if (!n || n > NUMBER_DIGITS || text[n])
		return false;
	*number = strtoull(text, NULL, 10);
	return true;
}

bool id_read(const char *text, int64_t *ms)
{
	size_t n = strspn(text, "0123456789"), more;

	if (!n || n > 20 || text[n] != '-')
		return false;
	more = strspn(text + n + 1, "0123456789");
	if (!more || more > 20 || text[n + 1 + more])
		return false;
	/* A date beyond all dates is a wrong one, and that of whoever wrote it. */
	*ms = n > NUMBER_DIGITS ? INT64_MAX / 2 : strtoll(text, NULL, 10);
	return true;
}

bool id_is_later(const char *id, const char *than)
{
	char *a, *b;
	uint64_t x = strtoull(id, &a, 10), y = strtoull(than, &b, 10);

	return x != y ? x > y : strtoull(a + 1, NULL, 10) > strtoull(b + 1, NULL, 10);
}

const char *prefix_canonical(char to[PREFIX_TEXT_MAX], const char *text, struct addr *first, unsigned int *length)
{
	const char *fault = prefix_parse(text, strlen(text), first, length);

	if (!fault)
		prefix_text(to, *first, (int)*length);
	return fault;
}

void reason_copy(char to[REASON_MAX], const char *text)
{
	clean_copy(to, REASON_MAX, text);
}

static const char *take(struct entry *e, char name, const char *value)
{
	struct addr first;
	unsigned int length;
	uint64_t number;

	switch (name) {
	case 'e':
		if (!epoch_is_sound(value))
			return "its epoch is none";
		memcpy(e->epoch, value, EPOCH_MAX);
		return NULL;
	case 'n':
		return number_read(value, &e->n) && e->n ? NULL : "its number is none";
	case 'o':
		e->does = strlen(value) == 1 && strchr("+-=", *value) ? *value : '\0';
		return e->does ? NULL : "it says neither + nor -";
	case 'p':
		e->has_prefix = true;
		return prefix_canonical(e->prefix, value, &first, &length) ? "its prefix is none" : NULL;
	case 't':
		if (!number_read(value, &number) || number > TTL_MOST)
			return "its time is none";
		e->has_ttl = true;
		e->ttl = (int64_t)number;
		return NULL;
	case 'r':
		reason_copy(e->reason, value);
		return NULL;
	default: /* of a later version */
		return NULL;
	}
}

void entry_field(struct entry *e, const char *name, const char *value)
{
	const char *fault = name && value && strlen(name) == 1 ? take(e, *name, value) : NULL;

	if (name && !value)
		fault = "a field is too long";
	if (fault && !e->fault)
		e->fault = fault;
}

bool entry_is_numbered(const struct entry *e)
{
	return *e->epoch && e->n;
}

const char *entry_fault(const struct entry *e)
{
	if (e->fault)
		return e->fault;
	if (!entry_is_numbered(e) || !e->does)
		return "it lacks a field";
	if (e->does != '=' && !e->has_prefix)
		return "it lacks a prefix";
	return e->does == '+' && !e->has_ttl ? "it lacks a time" : NULL;
}
