// SPDX-License-Identifier: GPL-2.0-only
#include "change/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/stdin.h"
#include "base/trusted_dir.h"
#include "change/guard_rails.h"
#include "fetch/client.h"
#include "fetch/proxy.h"
#include "fetch/public_key.h"
#include "sets/address.h"
#include "state/feeds.h"

bool feed_is_url(const char *path)
{
	return !strncasecmp(path, "https://", 8) || !strncasecmp(path, "http://", 7);
}

const char *feed_option(const struct feed_options *o)
{
	return o->insecure	  ? "--insecure"
	       : o->lan		  ? "--lan"
	       : o->header_file	  ? "--header-file"
	       : o->every.given	  ? "--every"
	       : o->max_age.given ? "--max-age"
	       : o->then	  ? "--then"
				  : NULL;
}

/* A publisher's clock may be a little fast; one that is far off would keep every later version out. */
#define AHEAD_MOST	  ((uint64_t)24 * 60 * 60)
#define SIGNATURE_SECONDS 60

/* What is in it is as good as a password. */
static int open_headers(const char *path)
{
	int fd = open_trusted(path, "what a server is told"), err = fd < 0 ? fd : trust_secret(fd, path);

	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

bool feed_url_beside(char to[FETCH_URL_MAX], const char *url, const char *ending, const char *more)
{
	int length = (int)strcspn(url, "?#");

	return snprintf(to, FETCH_URL_MAX, "%.*s%s%s%s", length, url, ending, more, url + length) < FETCH_URL_MAX;
}

/* By a process that has not spoken to the server. */
static int verify(const char *key, int list, int signature, const char *from, struct fetch_answer *answer)
{
	struct fetch_answer checked;
	int err = fetch_verify(key, list, signature, &checked);

	answer->here = checked.here;
	if (err)
		return because(err, "%.300s: %s", from, reason(err));
	if (checked.outcome != FETCH_SIGNED)
		return because(-EBADMSG, "%.300s: %s", from, checked.why);
	answer->signed_at = checked.signed_at;
	answer->version = checked.version;
	snprintf(answer->comment, sizeof(answer->comment), "%s", checked.comment);
	return 0;
}

/*
 * Who fetched it may be no child of ours, and live on with a descriptor of the body: nobody else has one of the copy
 * that is checked and read.
 */
static int make_own(int *body, const char *url)
{
	int own = standard_keep(*body);

	close_fd(*body);
	*body = own;
	return own < 0 ? because(own, "%.300s: %s", url, reason(own)) : 0;
}

/* The list has come: its signature, from beside it. */
static int open_signature(struct fetch_request *request, int headers, bool *here)
{
	char url[FETCH_URL_MAX];
	struct fetch_answer answer;
	int text, err;

	if (!feed_url_beside(url, request->url, ".minisig", ""))
		return because(-EINVAL, "%.300s: too long for a URL with .minisig behind it", request->url);
	memcpy(request->url, url, sizeof(url));
	/* These are the list's: of the signature no version is there. */
	request->etag[0] = request->modified[0] = '\0';
	request->bytes = FETCH_SIGNATURE_MOST;
	request->seconds = SIGNATURE_SECONDS;
	err = fetch_ask(request, headers, &answer, &text);
	*here = answer.here;
	if (err)
		return because(err, "%.300s: %s", url, reason(err));
	return text >= 0 ? text : because(-EIO, "%.300s: no signature: %s", url, answer.why);
}

int feed_check_file(const char *key, const char *path, int list, struct fetch_answer *answer)
{
	char public[PUBLIC_KEY_MAX], beside[PATH_MAX];
	int signature, err = public_key_read(public, key);

	*answer = (struct fetch_answer){ 0 };
	if (err)
		return err;
	if (snprintf(beside, sizeof(beside), "%s.minisig", path) >= (int)sizeof(beside))
		return because(-ENAMETOOLONG, "%.300s: too long for a name with .minisig behind it", path);
	signature = open(beside, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (signature < 0)
		return because(-errno, "%.300s: no signature: %s", beside, strerror(errno));
	err = verify(public, list, signature, beside, answer);
	close(signature);
	return err;
}

uint64_t feed_signed(const struct fetch_answer *answer)
{
	return answer->signed_at ?: answer->version;
}

int feed_fresh(const struct fetch_answer *answer, const char *name, uint64_t before)
{
	char then[UTC_TEXT_MAX], now[UTC_TEXT_MAX];

	if (answer->signed_at > (uint64_t)time(NULL) + AHEAD_MOST)
		return guard_because(
			"%.300s: it is signed in the future, %s: one of the two clocks is wrong; --force loads it",
			name, utc_text(now, (int64_t)answer->signed_at));
	if (feed_signed(answer) >= before)
		return 0;
	if (!feed_signed(answer))
		return guard_because("%.300s: its signature does not say of when it is, and that of the version "
				     "in force does; --force loads it",
				     name);
	if (!answer->signed_at)
		return guard_because("%.300s: its signature says version %llu, and that of the version in force %llu; "
				     "--force loads it",
				     name, (unsigned long long)answer->version, (unsigned long long)before);
	return guard_because("%.300s: it was signed at %s, before the version in force, at %s; --force loads it", name,
			     utc_text(now, (int64_t)answer->signed_at), utc_text(then, (int64_t)before));
}

int feed_open(const struct feed_options *o, const char *url, uint64_t most, const struct feed *row,
	      struct fetch_answer *answer)
{
	struct fetch_request request = { .insecure = o->insecure || o->key,
					 .lan = o->lan,
					 .connect = FETCH_CONNECT_SECONDS,
					 .seconds = FETCH_SECONDS,
					 .bytes = most,
					 .floor = FETCH_FLOOR,
					 .floor_seconds = FETCH_FLOOR_SECONDS };
	const char *fault = fetch_url_fault(url, request.insecure);
	char key[PUBLIC_KEY_MAX];
	int headers = -1, signature = -1, body, err;

	/* What is signed needs nobody to say whose it is; a password does. */
	if (!fault && o->header_file)
		fault = fetch_url_fault(url, o->insecure);
	if (fault)
		return because(-EINVAL, "%.300s: %s", url, fault);
	err = o->key ? public_key_read(key, o->key) : 0;
	/* What is in the own network is no proxy's. */
	err = err ?: o->lan ? 0 : proxy_read(request.proxy);
	if (err)
		return err;
	snprintf(request.url, sizeof(request.url), "%s", url);
	if (row) {
		memcpy(request.etag, row->etag, sizeof(request.etag));
		memcpy(request.modified, row->modified, sizeof(request.modified));
	}
	if (o->header_file) {
		headers = open_headers(o->header_file);
		if (headers < 0)
			return headers;
	}
	err = fetch_ask(&request, headers, answer, &body);
	if (err)
		err = because(err, "%.300s: %s", url, reason(err));
	else if (answer->outcome == FETCH_SAME)
		err = -EALREADY;
	else if (body < 0)
		err = because(-EIO, "%.300s: %s%s", url, answer->why,
			      answer->too_long ? "; 'tune --fetch-most' sets how long it may be" : "");
	if (!err && o->key)
		err = make_own(&body, url);
	if (!err && o->key) {
		if (headers >= 0)
			lseek(headers, 0, SEEK_SET);
		signature = open_signature(&request, headers, &answer->here);
		err = signature < 0 ? signature : verify(key, body, signature, request.url, answer);
	}
	close_fd(headers);
	close_fd(signature);
	if (!err)
		return body;
	close_fd(body);
	return err;
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

static int guard_server(const struct fetch_answer *answer, const struct ranges *set, const char *at, size_t n)
{
	bool sent_on = at != answer->address;
	struct addr addr;

	if (addr_parse(at, n, &addr))
		return 0;
	addr_unmap(&addr);
	if (ranges_touch(set, addr, addr_width(addr.family)))
		return guard_because("%.300s: it bans %.*s, the server that %s; --ban-own or --force bans it",
				     answer->url, (int)n, at, sent_on ? "sends there" : "it came from");
	return 0;
}

int feed_guard(const struct fetch_answer *answer, const struct ranges *set, bool bans)
{
	const char *at = answer->way;
	int err = 0;

	if (!set->n4 && !set->n6)
		return guard_because("%.300s: there is no address in it; --force loads it", answer->url);
	for (size_t n; bans && !err && *(at += strspn(at, " ")); at += n) {
		n = strcspn(at, " ");
		err = guard_server(answer, set, at, n);
	}
	return bans && !err ? guard_server(answer, set, answer->address, strlen(answer->address)) : err;
}
