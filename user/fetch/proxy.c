// SPDX-License-Identifier: GPL-2.0-only
#include "fetch/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/trusted_dir.h"

#define FILE_MOST 4096

static bool is_proxy(const char *text)
{
	static const char *const kinds[] = { "http://", "https://", "socks5h://" };
	const char *host = NULL, *at;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !host; i++)
		if (!strncasecmp(text, kinds[i], strlen(kinds[i])))
			host = text + strlen(kinds[i]);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
			return false;
	at = host ? strrchr(host, '@') : NULL;
	host = at ? at + 1 : host;
	return host && strlen(text) < FETCH_URL_MAX && strcspn(host, "/?#:");
}

/* Its one line that is no remark; false: there is another number of them. */
static bool take_line(char proxy[FETCH_URL_MAX], char *text)
{
	char *line;
	int n = 0;

	while ((line = strsep(&text, "\r\n"))) {
		if (!*line || *line == '#')
			continue;
		if (n++ || !is_proxy(line))
			return false;
		memcpy(proxy, line, strlen(line) + 1);
	}
	return n == 1;
}

static int read_proxy(int fd, const char *path, char proxy[FETCH_URL_MAX])
{
	char text[FILE_MOST + 1];
	ssize_t n = read(fd, text, sizeof(text));
	int err = n < 0 ? because(-errno, "%s: %s", path, strerror(errno)) : 0;

	if (err)
		return err;
	if (n > FILE_MOST || memchr(text, '\0', (size_t)n))
		n = 0;
	text[n] = '\0';
	if (!take_line(proxy, text))
		err = because(
			-EINVAL,
			"%s: one line is wanted, as http://proxy.example:3128 or http://NAME:PASSWORD@proxy.example:3128",
			path);
	else if (strchr(proxy, '@'))
		err = trust_secret(fd, path);
	explicit_bzero(text, sizeof(text));
	return err;
}

int proxy_read(char proxy[FETCH_URL_MAX])
{
	const char *path = secure_getenv("XDP_BLOOM_PROXY");
	int fd, err;

	proxy[0] = '\0';
	path = path && *path ? path : PROXY_FILE;
	fd = open_trusted(path, "by whom lists are fetched");
	if (err_is(fd, ENOENT))
		return 0;
	err = fd < 0 ? fd : read_proxy(fd, path, proxy);
	if (err)
		proxy[0] = '\0';
	close_fd(fd);
	return err;
}
