// SPDX-License-Identifier: GPL-2.0-only
#include "change/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/trusted_dir.h"
#include "change/guard_rails.h"
#include "fetch/client.h"
#include "sets/address.h"

bool feed_is_url(const char *path)
{
	return !strncasecmp(path, "https://", 8) || !strncasecmp(path, "http://", 7);
}

const char *feed_option(const struct feed_options *o)
{
	return o->insecure ? "--insecure" : o->lan ? "--lan" : o->header_file ? "--header-file" : NULL;
}

/* What is in it is as good as a password. */
static int open_headers(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		err = because(-errno, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		err = because(-EINVAL, "%s: not a regular file", path);
	else if (st.st_mode & (S_IRWXG | S_IRWXO))
		err = because(-EACCES, "%s: others may read it, and passwords are in it; chmod 600", path);
	else
		err = trust_open_file(fd, path, "what a server is told");
	if (!err)
		return fd;
	close_fd(fd);
	return err;
}

int feed_open(const struct feed_options *o, const char *url, struct fetch_answer *answer)
{
	struct fetch_request request = { .insecure = o->insecure,
					 .lan = o->lan,
					 .connect = FETCH_CONNECT_SECONDS,
					 .seconds = FETCH_SECONDS,
					 .bytes = FETCH_BYTES,
					 .floor = FETCH_FLOOR,
					 .floor_seconds = FETCH_FLOOR_SECONDS };
	const char *fault = fetch_url_fault(url, o->insecure);
	int headers = -1, body, err;

	if (fault)
		return because(-EINVAL, "%.300s: %s", url, fault);
	snprintf(request.url, sizeof(request.url), "%s", url);
	if (o->header_file) {
		headers = open_headers(o->header_file);
		if (headers < 0)
			return headers;
	}
	err = fetch_ask(&request, headers, answer, &body);
	close_fd(headers);
	if (err)
		return because(err, "%.300s: %s", url, reason(err));
	if (body < 0)
		return because(-EIO, "%.300s: %s", url,
			       answer->outcome == FETCH_FAILED ? answer->why : "it says that nothing has changed");
	return body;
}

static bool is_type(const struct fetch_answer *answer, const char *type)
{
	size_t n = strlen(type);

	return !strncasecmp(answer->type, type, n) && !strchr("abcdefghijklmnopqrstuvwxyz-+", answer->type[n] | 0x20);
}

/* "https://example.net/list.json?key=1" */
static bool is_called(const char *url, const char *ending)
{
	size_t n = strcspn(url, "?#"), length = strlen(ending);

	return n > length && !strncasecmp(url + n - length, ending, length);
}

int feed_looks_like_list(int text, const struct fetch_answer *answer, const char *format)
{
	char start[512 + 1] = "";
	ssize_t n = pread(text, start, sizeof(start) - 1, 0);
	size_t at = 0;

	if (n < 0)
		return because(-errno, "what was fetched cannot be read: %s", strerror(errno));
	if (n >= 3 && !memcmp(start, "\xef\xbb\xbf", 3))
		at = 3;
	at += strspn(start + at, " \t\r\n");
	if (at == (size_t)n && at < sizeof(start) - 1)
		return because(-EINVAL, "%.300s: the answer is empty", answer->url);
	if (start[at] == '<' || is_type(answer, "text/html") || is_type(answer, "application/xhtml+xml"))
		return because(-EINVAL, "%.300s: the answer is a page, and no list", answer->url);
	if ((start[at] == '{' || (start[at] == '[' && strchr("{\"]", start[at + 1])) ||
	     is_type(answer, "application/json")) &&
	    !is_called(answer->url, ".json") && (!format || strcmp(format, "json") != 0))
		return because(-EINVAL, "%.300s: the answer is JSON, as errors are; --format json takes it for a list",
			       answer->url);
	return 0;
}

int feed_guard(const struct fetch_answer *answer, const struct ranges *set, bool bans)
{
	struct addr addr;

	if (!set->n4 && !set->n6)
		return guard_because("%.300s: there is no address in it; --force loads it", answer->url);
	if (!bans || addr_parse(answer->address, strlen(answer->address), &addr))
		return 0;
	addr_unmap(&addr);
	if (ranges_touch(set, addr, addr_width(addr.family)))
		return guard_because("%.300s: it bans %s, the server that it came from; --ban-own or --force bans it",
				     answer->url, answer->address);
	return 0;
}
