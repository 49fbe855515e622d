// SPDX-License-Identifier: GPL-2.0-only
#include "base/message.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"

size_t message_write(char *message, size_t size, const struct message_line *lines, const void *from)
{
	size_t n = strlen(message);

	for (const struct message_line *l = lines; l->name && n < size; l++) {
		const char *at = (const char *)from + l->at;
		uint64_t number;

		if (l->size > 1 && *at) {
			n += (size_t)snprintf(message + n, size - n, "%s %s\n", l->name, at);
		} else if (l->size == 1 && *(const bool *)at) {
			n += (size_t)snprintf(message + n, size - n, "%s 1\n", l->name);
		} else if (!l->size) {
			memcpy(&number, at, sizeof(number));
			n += (size_t)snprintf(message + n, size - n, "%s %llu\n", l->name, (unsigned long long)number);
		}
	}
	return n < size ? n : 0;
}

static bool read_number(uint64_t *number, const char *value)
{
	char *end;

	errno = 0;
	*number = strtoull(value, &end, 10);
	return isdigit((unsigned char)*value) && !*end && !errno;
}

static bool read_line(const struct message_line *lines, void *to, const char *name, const char *value)
{
	const struct message_line *l = lines;
	uint64_t number = 0;
	char *at;

	while (l->name && strcmp(l->name, name) != 0)
		l++;
	if (!l->name)
		return false;
	at = (char *)to + l->at;
	if (l->size > 1) {
		if (strlen(value) >= l->size)
			return false;
		clean_copy(at, l->size, value);
		return true;
	}
	if (!read_number(&number, value) || (l->size && number != 1))
		return false;
	if (l->size)
		*(bool *)at = true;
	else
		memcpy(at, &number, sizeof(number));
	return true;
}

bool message_read(const struct message_line *lines, void *to, char *at, const char *end)
{
	while (at < end) {
		char *stop = memchr(at, '\n', (size_t)(end - at)), *value;

		if (!stop)
			return false;
		*stop = '\0';
		value = strchr(at, ' ');
		if (strlen(at) != (size_t)(stop - at) || !value)
			return false;
		*value = '\0';
		if (!read_line(lines, to, at, value + 1))
			return false;
		at = stop + 1;
	}
	return true;
}
