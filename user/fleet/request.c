// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/message.h"

#define PORT "6379"

static const struct message_line lines[] = {
	MESSAGE_TEXT(fleet_request, url),	 MESSAGE_TEXT(fleet_request, name),
	MESSAGE_TEXT(fleet_request, user),	 MESSAGE_TEXT(fleet_request, password),
	MESSAGE_TEXT(fleet_request, prefix),	 MESSAGE_TEXT(fleet_request, ca),
	MESSAGE_TEXT(fleet_request, read),	 MESSAGE_NUMBER(fleet_request, pace),
	MESSAGE_NUMBER(fleet_request, users[0]), MESSAGE_NUMBER(fleet_request, users[1]),
	MESSAGE_NUMBER(fleet_request, users[2]), { 0 },
};

static const struct {
	const char *begins;
	int way;
} schemes[] = { { "redis://", FLEET_TCP },
		{ "valkey://", FLEET_TCP },
		{ "rediss://", FLEET_TLS },
		{ "valkeys://", FLEET_TLS },
		{ "unix://", FLEET_UNIX } };

static const char *read_port(struct fleet_url *url, const char *text)
{
	char *end;
	long port;

	if (!*text || !strcmp(text, "/")) {
		strcpy(url->port, PORT);
		return NULL;
	}
	port = strtol(text + 1, &end, 10);
	if (*text != ':' || text[1] < '0' || (*end && strcmp(end, "/") != 0) || port < 1 || port > 65535)
		return "behind the server stands at most a port, as in redis://redis.example:6379";
	snprintf(url->port, sizeof(url->port), "%ld", port);
	return NULL;
}

static const char *read_host(struct fleet_url *url, const char *text)
{
	bool brackets = *text == '[';
	size_t n = brackets ? strcspn(++text, "]") : strcspn(text, ":/");

	if (strchr(text, '@'))
		return "a user or a password does not belong into a URL, which others see; --user and --password-file take them";
	if (!n || n >= sizeof(url->host) || (brackets && !text[n]))
		return "it names no server";
	memcpy(url->host, text, n);
	url->host[n] = '\0';
	return read_port(url, text + n + brackets);
}

static const char *read_path(struct fleet_url *url, const char *text)
{
	if (*text != '/')
		return "the path of a socket begins with /, as in unix:///run/redis/redis.sock";
	/* What sockaddr_un has room for. */
	if (strlen(text) >= 108)
		return "the path of a socket has at most 107 bytes";
	strcpy(url->host, text);
	return NULL;
}

const char *fleet_url_read(struct fleet_url *url, const char *text)
{
	*url = (struct fleet_url){ .way = FLEET_TCP };
	if (strlen(text) >= FLEET_URL_MAX)
		return "too long for a URL";
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
			return "a URL has no blanks, and only ASCII";
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		size_t n = strlen(schemes[i].begins);

		if (strncasecmp(text, schemes[i].begins, n) != 0)
			continue;
		url->way = schemes[i].way;
		return url->way == FLEET_UNIX ? read_path(url, text + n) : read_host(url, text + n);
	}
	return "it begins with redis://, rediss:// (TLS) or unix:///";
}

const char *fleet_url_fault(const char *text)
{
	struct fleet_url url;

	return fleet_url_read(&url, text);
}

const char *fleet_prefix_fault(const char *prefix)
{
	if (strlen(prefix) >= FLEET_PREFIX_MAX)
		return "it is longer than 63 bytes";
	if (strspn(prefix, MEMBER_NAME_BYTES ":/") != strlen(prefix))
		return "it is of letters, digits and ._-:/";
	return NULL;
}

static bool is_one_line(const char *text)
{
	return !text[strcspn(text, "\r\n")];
}

size_t fleet_request_write(char *message, size_t size, const struct fleet_request *r)
{
	size_t n;

	message[0] = '\0';
	n = message_write(message, size, lines, r);
	if (!n || n + 1 >= size || !is_one_line(r->url) || !is_one_line(r->user) || !is_one_line(r->password) ||
	    !is_one_line(r->ca) || !is_one_line(r->read))
		return 0;
	message[n++] = '\n';
	message[n] = '\0';
	return n;
}

bool fleet_request_read(struct fleet_request *r, char *message, size_t length)
{
	*r = (struct fleet_request){ .url = "" };
	if (!message_read(lines, r, message, message + length))
		return false;
	if (!*r->prefix)
		strcpy(r->prefix, FLEET_PREFIX);
	if (!r->pace)
		r->pace = FLEET_PACE;
	return !fleet_url_fault(r->url) && (!*r->read || !fleet_url_fault(r->read)) && r->pace <= FLEET_PACE_MOST &&
	       fleet_name_is_sound(r->name) && !fleet_prefix_fault(r->prefix);
}
