// SPDX-License-Identifier: GPL-2.0-only
#include "fetch/request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clean_text.h"

/* Both messages are tables of lines. */
struct line {
	const char *name;
	size_t at, size; /* size: of a text; 0: a number, 1: a switch */
};

#define TEXT(type, field)                                                               \
	{                                                                               \
#field, offsetof(struct type, field), sizeof(((struct type *)0)->field) \
	}
#define NUMBER(type, field)                             \
	{                                               \
#field, offsetof(struct type, field), 0 \
	}
#define SWITCH(type, field)                             \
	{                                               \
#field, offsetof(struct type, field), 1 \
	}

static const struct line request_lines[] = {
	TEXT(fetch_request, url),
	TEXT(fetch_request, etag),
	TEXT(fetch_request, modified),
	TEXT(fetch_request, proxy),
	TEXT(fetch_request, ca),
	TEXT(fetch_request, key),
	SWITCH(fetch_request, insecure),
	SWITCH(fetch_request, lan),
	NUMBER(fetch_request, connect),
	NUMBER(fetch_request, seconds),
	NUMBER(fetch_request, bytes),
	NUMBER(fetch_request, floor),
	NUMBER(fetch_request, floor_seconds),
	{ 0 },
};

static const char *const outcomes[] = {
	[FETCH_FAILED] = "failed", [FETCH_NEW] = "new", [FETCH_SAME] = "same", [FETCH_SIGNED] = "signed"
};

static const struct line answer_lines[] = {
	TEXT(fetch_answer, why),	   NUMBER(fetch_answer, status),
	TEXT(fetch_answer, etag),	   TEXT(fetch_answer, modified),
	TEXT(fetch_answer, date),	   TEXT(fetch_answer, type),
	TEXT(fetch_answer, url),	   TEXT(fetch_answer, address),
	NUMBER(fetch_answer, retry_after), NUMBER(fetch_answer, bytes),
	NUMBER(fetch_answer, announced),   NUMBER(fetch_answer, page),
	TEXT(fetch_answer, comment),	   NUMBER(fetch_answer, signed_at),
	NUMBER(fetch_answer, version),	   { 0 },
};

const char *fetch_url_fault(const char *url, bool insecure)
{
	bool https = !strncasecmp(url, "https://", 8), http = !strncasecmp(url, "http://", 7);
	const char *host = strstr(url, "://");
	size_t length;

	if (!https && !http)
		return "only https:// is fetched";
	if (http && !insecure)
		return "http:// says nothing about who answers; --key checks a signature, --insecure fetches it nevertheless";
	if (strlen(url) >= FETCH_URL_MAX)
		return "too long for a URL";
	for (const char *c = url; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
			return "a URL has no blanks, and only ASCII";
	host += 3;
	length = strcspn(host, "/?#");
	if (memchr(host, '@', length))
		return "a name or a password does not belong into a URL, which others see; --header-file takes it";
	return length ? NULL : "it names no server";
}

static size_t write_lines(char *message, size_t size, const struct line *lines, const void *from)
{
	size_t n = strlen(message);

	for (const struct line *l = lines; l->name && n < size; l++) {
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

static bool read_line(const struct line *lines, void *to, const char *name, const char *value)
{
	const struct line *l = lines;
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

/* From the second line on; the first has been taken off. */
static bool read_lines(const struct line *lines, void *to, char *at, const char *end)
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

size_t fetch_request_write(char *message, size_t size, const struct fetch_request *request)
{
	message[0] = '\0';
	return write_lines(message, size, request_lines, request);
}

bool fetch_request_read(struct fetch_request *r, char *message, size_t length)
{
	*r = (struct fetch_request){ .connect = FETCH_CONNECT_SECONDS,
				     .seconds = FETCH_SECONDS,
				     .bytes = FETCH_BYTES,
				     .floor = FETCH_FLOOR,
				     .floor_seconds = FETCH_FLOOR_SECONDS };
	return read_lines(request_lines, r, message, message + length) && !*r->url == !!*r->key && r->connect &&
	       r->seconds && r->bytes && r->connect <= UINT32_MAX / 1000 && r->seconds <= UINT32_MAX / 1000 &&
	       r->bytes < 1ULL << 40 && r->floor < 1ULL << 30 && r->floor_seconds <= r->seconds;
}

size_t fetch_answer_write(char *message, size_t size, const struct fetch_answer *answer)
{
	snprintf(message, size, "%s\n", outcomes[answer->outcome]);
	return write_lines(message, size, answer_lines, answer);
}

bool fetch_answer_read(struct fetch_answer *a, char *message, size_t length)
{
	char *end = memchr(message, '\n', length);

	*a = (struct fetch_answer){ .outcome = -1 };
	if (!end)
		return false;
	*end = '\0';
	for (int i = FETCH_FAILED; i <= FETCH_SIGNED; i++)
		if (!strcmp(message, outcomes[i]))
			a->outcome = i;
	return a->outcome >= 0 && read_lines(answer_lines, a, end + 1, message + length) &&
	       (a->outcome == FETCH_FAILED) == (*a->why != '\0');
}
