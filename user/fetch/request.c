// SPDX-License-Identifier: GPL-2.0-only
#include "fetch/request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/message.h"

static const struct message_line request_lines[] = {
	MESSAGE_TEXT(fetch_request, url),
	MESSAGE_TEXT(fetch_request, etag),
	MESSAGE_TEXT(fetch_request, modified),
	MESSAGE_TEXT(fetch_request, proxy),
	MESSAGE_TEXT(fetch_request, ca),
	MESSAGE_TEXT(fetch_request, key),
	MESSAGE_SWITCH(fetch_request, insecure),
	MESSAGE_SWITCH(fetch_request, lan),
	MESSAGE_NUMBER(fetch_request, connect),
	MESSAGE_NUMBER(fetch_request, seconds),
	MESSAGE_NUMBER(fetch_request, bytes),
	MESSAGE_NUMBER(fetch_request, floor),
	MESSAGE_NUMBER(fetch_request, floor_seconds),
	{ 0 },
};

static const char *const outcomes[] = {
	[FETCH_FAILED] = "failed", [FETCH_NEW] = "new", [FETCH_SAME] = "same", [FETCH_SIGNED] = "signed"
};

static const struct message_line answer_lines[] = {
	MESSAGE_TEXT(fetch_answer, why),
	MESSAGE_NUMBER(fetch_answer, status),
	MESSAGE_TEXT(fetch_answer, etag),
	MESSAGE_TEXT(fetch_answer, modified),
	MESSAGE_TEXT(fetch_answer, date),
	MESSAGE_TEXT(fetch_answer, type),
	MESSAGE_TEXT(fetch_answer, url),
	MESSAGE_TEXT(fetch_answer, address),
	MESSAGE_TEXT(fetch_answer, way),
	MESSAGE_SWITCH(fetch_answer, too_long), /* so that whoever asked can say how to have more */
	MESSAGE_SWITCH(fetch_answer, here),
	MESSAGE_NUMBER(fetch_answer, retry_after),
	MESSAGE_NUMBER(fetch_answer, bytes),
	MESSAGE_NUMBER(fetch_answer, announced),
	MESSAGE_NUMBER(fetch_answer, page),
	MESSAGE_TEXT(fetch_answer, comment),
	MESSAGE_NUMBER(fetch_answer, signed_at),
	MESSAGE_NUMBER(fetch_answer, version),
	{ 0 },
};

/* With the names of their lines, too. */
_Static_assert(sizeof(struct fetch_request) <= FETCH_MESSAGE_MAX / 2 &&
		       sizeof(struct fetch_answer) <= FETCH_MESSAGE_MAX / 2,
	       "every request and every answer is one message");

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
	/* Who is asked by way of a proxy is what it makes of that. */
	if (memchr(host, '%', length))
		return "a server's name has no '%'";
	return length ? NULL : "it names no server";
}

size_t fetch_request_write(char *message, size_t size, const struct fetch_request *request)
{
	message[0] = '\0';
	return message_write(message, size, request_lines, request);
}

bool fetch_request_read(struct fetch_request *r, char *message, size_t length)
{
	*r = (struct fetch_request){ .connect = FETCH_CONNECT_SECONDS,
				     .seconds = FETCH_SECONDS,
				     .bytes = FETCH_BYTES,
				     .floor = FETCH_FLOOR,
				     .floor_seconds = FETCH_FLOOR_SECONDS };
	return message_read(request_lines, r, message, message + length) && !*r->url == !!*r->key && r->connect &&
	       r->seconds && r->bytes && r->connect <= UINT32_MAX / 1000 && r->seconds <= UINT32_MAX / 1000 &&
	       r->bytes <= FETCH_BYTES_MOST && r->floor < 1ULL << 30 && r->floor_seconds <= r->seconds;
}

size_t fetch_answer_write(char *message, size_t size, const struct fetch_answer *answer)
{
	snprintf(message, size, "%s\n", outcomes[answer->outcome]);
	return message_write(message, size, answer_lines, answer);
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
	return a->outcome >= 0 && message_read(answer_lines, a, end + 1, message + length) &&
	       (a->outcome == FETCH_FAILED) == (*a->why != '\0');
}
