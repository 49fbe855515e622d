// SPDX-License-Identifier: GPL-2.0-only
#include "fetch/http.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "fetch/address.h"
#include "fetch/request.h"
#include "fetch/text_hash.h"

/* libcurl keeps them; a list needs a few hundred bytes. */
#define HEADER_BYTES_MOST ((size_t)128 << 10)
#define VERSION_OF_TLS	  CURL_SSLVERSION_TLSv1_2

struct fetch {
	const struct fetch_request *request;
	const struct own_addresses *own;
	struct fetch_answer *answer;
	CURL *curl;
	struct curl_slist *given, *own_headers; /* of the header file; conditions */
	int body;
	size_t header_bytes;
	int64_t began;				   /* by clock_ms() */
	bool uninteresting;			   /* an answer whose body nobody wants */
	struct text_hash page;			   /* of that */
	char error[CURL_ERROR_SIZE], refused[160]; /* refused: the address that it would have been */
	struct sockaddr_storage to;		   /* the last that was tried */
	socklen_t to_size;
};

/* The first reason is the one. */
PRINTF(2, 3) static void failed(struct fetch *f, const char *fmt, ...)
{
	char text[sizeof(f->answer->why)];
	va_list args;

	if (f->answer->why[0])
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	clean_copy(f->answer->why, sizeof(f->answer->why), text);
}

/* --- What libcurl calls --- */

/* Where nothing of this machine can be the source, as of IPv6 that is switched off, no port is missing. */
static bool has_source(const struct fetch *f)
{
	int fd = socket(f->to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has = fd < 0 || !connect(fd, (const struct sockaddr *)&f->to, f->to_size) || errno != EADDRNOTAVAIL;

	close_fd(fd);
	return has;
}

/* No file, no memory, or no port is left. */
static bool is_here(const struct fetch *f, long number)
{
	return number == EMFILE || number == ENFILE || number == ENOMEM || number == ENOBUFS ||
	       (number == EADDRNOTAVAIL && has_source(f));
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct fetch *f = arg;
	char text[PREFIX_TEXT_MAX];
	const char *what;
	struct addr addr;
	int fd;

	(void)purpose;
	if (!address_of(&addr, &to->addr))
		return CURL_SOCKET_BAD;
	/* A proxy stands in a file of ours: it may be next door. */
	what = f->request->lan || f->request->proxy[0] ? NULL : address_fault(addr, f->own);
	prefix_text(text, addr, -1);
	if (what) {
		snprintf(f->refused, sizeof(f->refused),
			 "it is at %s (%s), and lists come from the internet; --lan fetches from there", text, what);
		f->answer->address[0] = '\0';
		return CURL_SOCKET_BAD;
	}
	f->refused[0] = '\0';
	snprintf(f->answer->address, sizeof(f->answer->address), "%s", text);
	f->to_size = to->addrlen < sizeof(f->to) ? to->addrlen : sizeof(f->to);
	memcpy(&f->to, &to->addr, f->to_size);
	fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	f->answer->here = fd < 0 && is_here(f, errno);
	return fd;
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	struct fetch *f = arg;

	(void)line;
	f->header_bytes += size * n;
	if (f->header_bytes <= HEADER_BYTES_MOST)
		return size * n;
	failed(f, "its header is longer than %zu KiB", HEADER_BYTES_MOST >> 10);
	return 0;
}

static bool write_all(int fd, const char *data, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = write(fd, data + done, n - done);

		if (got < 0 && errno != EINTR)
			return false;
		done += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static void too_much(struct fetch *f)
{
	failed(f, "it is longer than %llu bytes, the most that is fetched", (unsigned long long)f->request->bytes);
	f->answer->too_long = true;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct fetch *f = arg;
	long status = 0;

	curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
	f->uninteresting = status != 200;
	if (f->uninteresting)
		return text_hash_add(&f->page, data, size * n) ? size * n : 0;
	if (f->answer->bytes + size * n > f->request->bytes) {
		too_much(f);
		return 0;
	}
	if (!write_all(f->body, data, size * n)) {
		failed(f, "what came cannot be kept: %s", strerror(errno));
		f->answer->here = true;
		return 0;
	}
	f->answer->bytes += size * n;
	return size * n;
}

/* --- What is asked --- */

static bool is_header(const char *line)
{
	const char *colon = strchr(line, ':');

	for (const char *c = line; *c; c++)
		if (iscntrl((unsigned char)*c) && *c != '\t')
			return false;
	return colon && colon != line && !memchr(line, ' ', (size_t)(colon - line));
}

static bool add_header(struct fetch *f, struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (longer)
		*list = longer;
	else
		failed(f, "%s", strerror(ENOMEM));
	return longer;
}

static bool take_headers(struct fetch *f, const char *text)
{
	char *copy = strdup(text), *rest = copy, *line;
	bool good = copy;

	if (!copy)
		failed(f, "%s", strerror(ENOMEM));
	while (good && (line = strsep(&rest, "\r\n")))
		good = !*line || *line == '#' || (is_header(line) && add_header(f, &f->given, line));
	free(copy);
	if (!good)
		failed(f, "the header file has a line that is not 'Name: value'");
	return good;
}

static bool take_conditions(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	char line[FETCH_TAG_MAX + 32];
	bool good = true;

	if (r->etag[0]) {
		snprintf(line, sizeof(line), "If-None-Match: %s", r->etag);
		good = add_header(f, &f->own_headers, line);
	}
	if (r->modified[0]) {
		snprintf(line, sizeof(line), "If-Modified-Since: %s", r->modified);
		good = good && add_header(f, &f->own_headers, line);
	}
	for (const struct curl_slist *h = f->given; h && good; h = h->next)
		good = add_header(f, &f->own_headers, h->data);
	return good;
}

/* "https://example.net:8443" */
static size_t origin_length(const char *url)
{
	const char *host = strstr(url, "://");

	return host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : strlen(url);
}

static bool same_origin(const char *a, const char *b)
{
	return origin_length(a) == origin_length(b) && !strncasecmp(a, b, origin_length(a));
}

#define SET(option, value) (good = good && !curl_easy_setopt(f->curl, CURLOPT_##option, value))

static bool set_up(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	bool good = true;

	SET(NOSIGNAL, 1L);
	SET(ERRORBUFFER, f->error);
	SET(PROTOCOLS_STR, r->insecure ? "http,https" : "https");
	SET(PROXY, r->proxy);
	SET(PROXYAUTH, CURLAUTH_BASIC);
	SET(HEADEROPT, (long)CURLHEADER_SEPARATE);
	SET(NOPROXY, "");
	SET(USERAGENT, "xdp-bloom/" VERSION);
	SET(SSLVERSION, (long)VERSION_OF_TLS);
	if (r->ca[0]) {
		SET(CAINFO, r->ca);
		SET(CAPATH, NULL);
	}
	SET(CONNECTTIMEOUT, (long)r->connect);
	SET(LOW_SPEED_LIMIT, (long)r->floor);
	SET(LOW_SPEED_TIME, (long)r->floor_seconds);
	SET(MAXFILESIZE_LARGE, (curl_off_t)r->bytes);
	SET(OPENSOCKETFUNCTION, open_socket);
	SET(OPENSOCKETDATA, f);
	SET(HEADERFUNCTION, on_header);
	SET(HEADERDATA, f);
	SET(WRITEFUNCTION, on_body);
	SET(WRITEDATA, f);
	SET(HTTPAUTH, CURLAUTH_NONE);
	if (!good)
		failed(f, "this libcurl lacks what is needed: %s", curl_version());
	return good;
}

/* --- What came of it --- */

static void say_timeout(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	curl_off_t connected = 0, secured = 0;

	curl_easy_getinfo(f->curl, CURLINFO_CONNECT_TIME_T, &connected);
	curl_easy_getinfo(f->curl, CURLINFO_APPCONNECT_TIME_T, &secured);
	/* What is left of it is told to libcurl in whole ms, and its clock is another. */
	if (clock_ms() - f->began + 100 >= (int64_t)r->seconds * 1000)
		failed(f, "it was not done after %llu s, with %llu bytes", (unsigned long long)r->seconds,
		       (unsigned long long)f->answer->bytes);
	else if (!connected || (!secured && !strncasecmp(f->answer->url, "https:", 6)))
		failed(f, "no connection within %llu s", (unsigned long long)r->connect);
	else
		failed(f, "fewer than %llu bytes a second for %llu s, after %llu bytes", (unsigned long long)r->floor,
		       (unsigned long long)r->floor_seconds, (unsigned long long)f->answer->bytes);
}

static void say_cut(struct fetch *f, const char *detail)
{
	if (f->answer->announced)
		failed(f, "the connection ended after %llu of %llu bytes", (unsigned long long)f->answer->bytes,
		       (unsigned long long)f->answer->announced - 1);
	else
		failed(f, "the connection ended before the answer did, after %llu bytes: %s",
		       (unsigned long long)f->answer->bytes, detail);
}

static void say_unconnected(struct fetch *f, const char *detail)
{
	long number = 0;

	curl_easy_getinfo(f->curl, CURLINFO_OS_ERRNO, &number);
	f->answer->here = f->answer->here || is_here(f, number);
	if (f->refused[0] || !f->answer->address[0])
		failed(f, "%s", detail);
	else
		failed(f, "no connection to %s%s: %s", f->request->proxy[0] ? "the proxy " : "", f->answer->address,
		       number ? strerror((int)number) : detail);
}

/* Where it has refused to connect, nothing else is the reason. */
static void say_proxy(struct fetch *f)
{
	long status = 0;

	curl_easy_getinfo(f->curl, CURLINFO_HTTP_CONNECTCODE, &status);
	if (status >= 300)
		failed(f, "the proxy answers with status %ld", status);
}

static void say_code(struct fetch *f, CURLcode code)
{
	const char *detail = f->refused[0] ? f->refused : f->error[0] ? f->error : curl_easy_strerror(code);

	say_proxy(f);
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		say_timeout(f);
		break;
	case CURLE_COULDNT_CONNECT:
		say_unconnected(f, detail);
		break;
	case CURLE_COULDNT_RESOLVE_HOST:
		failed(f, "no address is known for its name: %s", detail);
		break;
	case CURLE_COULDNT_RESOLVE_PROXY:
		failed(f, "no address is known for the proxy's name");
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		failed(f, "its certificate is not one to trust: %s", detail);
		break;
	case CURLE_SSL_CONNECT_ERROR:
		failed(f, "no TLS connection that is secure: %s", detail);
		break;
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
		say_cut(f, detail);
		break;
	case CURLE_FILESIZE_EXCEEDED:
		too_much(f);
		break;
	case CURLE_OUT_OF_MEMORY: /* so libcurl calls a line of more than 100 KB, too */
		failed(f, "its header is too long, or there is no memory for it");
		break;
	default:
		failed(f, "%s", detail);
	}
}

static void copy_header(struct fetch *f, const char *name, char *to, size_t size)
{
	struct curl_header *header;

	to[0] = '\0';
	/* One that is too long is none. */
	if (!curl_easy_header(f->curl, name, 0, CURLH_HEADER, -1, &header) && strlen(header->value) < size)
		clean_copy(to, size, header->value);
}

/* Of several, it may not be the last that was tried. */
static void take_address(struct fetch *f)
{
	struct addr addr;
	char *ip = NULL;

	curl_easy_getinfo(f->curl, CURLINFO_PRIMARY_IP, &ip);
	if (!ip || addr_parse(ip, strlen(ip), &addr))
		return;
	addr_unmap(&addr);
	prefix_text(f->answer->address, addr, -1);
}

static void take_answer(struct fetch *f)
{
	struct fetch_answer *a = f->answer;
	curl_off_t length = -1, wait = 0;
	long status = 0;

	curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(f->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	curl_easy_getinfo(f->curl, CURLINFO_RETRY_AFTER, &wait);
	a->status = status > 0 ? (uint64_t)status : 0;
	a->announced = length >= 0 ? (uint64_t)length + 1 : 0;
	a->retry_after = wait > 0 ? (uint64_t)wait : 0;
	a->page = f->page.sum;
	if (a->status)
		take_address(f);
	copy_header(f, "ETag", a->etag, sizeof(a->etag));
	copy_header(f, "Last-Modified", a->modified, sizeof(a->modified));
	copy_header(f, "Date", a->date, sizeof(a->date));
	copy_header(f, "Content-Type", a->type, sizeof(a->type));
}

static bool is_redirect(uint64_t status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* Who sends elsewhere is asked again the next time. */
static void keep_way(struct fetch_answer *a)
{
	size_t n = strlen(a->way);

	if (a->address[0])
		snprintf(a->way + n, sizeof(a->way) - n, "%s ", a->address);
}

/* True: there is another place to ask, and it may be asked. */
static bool follow(struct fetch *f, int redirects)
{
	struct fetch_answer *a = f->answer;
	const char *fault;
	char *to = NULL;

	curl_easy_getinfo(f->curl, CURLINFO_REDIRECT_URL, &to);
	if (!to) {
		failed(f, "it sends elsewhere (status %llu), and does not say where", (unsigned long long)a->status);
		return false;
	}
	fault = fetch_url_fault(to, f->request->insecure);
	if (fault || (!strncasecmp(a->url, "https:", 6) && strncasecmp(to, "https:", 6) != 0))
		failed(f, "it sends to %.200s, and only from https:// to https:// is followed", to);
	else if (redirects >= FETCH_REDIRECTS)
		failed(f, "it sends from one place to the next, more than %d times", FETCH_REDIRECTS);
	if (a->why[0])
		return false;
	keep_way(a);
	snprintf(a->url, sizeof(a->url), "%s", to);
	return true;
}

static void judge(struct fetch *f)
{
	struct fetch_answer *a = f->answer;
	bool asked = f->request->etag[0] || f->request->modified[0];

	if (a->status == 200)
		a->outcome = FETCH_NEW;
	else if (a->status == 304 && asked)
		a->outcome = FETCH_SAME;
	else if (a->status == 304)
		failed(f, "it says that nothing has changed, and was not asked that");
	else if (a->retry_after)
		failed(f, "it answers with status %llu, and wants to be asked again in %llu s",
		       (unsigned long long)a->status, (unsigned long long)a->retry_after);
	else
		failed(f, "it answers with status %llu", (unsigned long long)a->status);
}

/* A proxy looks names up, and whom it asks is not seen here; but an address in the URL is. */
static bool is_inward(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	CURLU *url = r->proxy[0] && !r->lan ? curl_url() : NULL;
	const char *what = NULL;
	char *host = NULL;

	if (url && !curl_url_set(url, CURLUPART_URL, f->answer->url, 0) &&
	    !curl_url_get(url, CURLUPART_HOST, &host, 0)) {
		what = host_fault(host, f->own);
		if (what)
			failed(f, "it is at %s (%s), and lists come from the internet; --lan fetches from there", host,
			       what);
	}
	curl_free(host);
	curl_url_cleanup(url);
	return what;
}

/* One server's answer. */
static bool ask(struct fetch *f)
{
	int64_t left = (int64_t)f->request->seconds * 1000 - (clock_ms() - f->began);
	bool own_server = same_origin(f->answer->url, f->request->url), good = true;
	CURLcode code;

	if (is_inward(f))
		return false;
	f->error[0] = f->refused[0] = '\0';
	f->header_bytes = 0;
	f->uninteresting = false;
	f->page = (struct text_hash){ 0 };
	SET(URL, f->answer->url);
	SET(TIMEOUT_MS, (long)(left > 0 ? left : 1));
	/* Whoever it sends to is told neither a password nor which version is here. */
	SET(HTTPHEADER, own_server ? f->own_headers : NULL);
	code = good ? curl_easy_perform(f->curl) : CURLE_OUT_OF_MEMORY;
	take_answer(f);
	if (code && !f->uninteresting)
		say_code(f, code);
	return !f->answer->why[0];
}

int http_begin(void)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) ? because(-ENOMEM, "libcurl does not start") : 0;
}

void http_fetch(const struct fetch_request *request, const char *headers, const struct own_addresses *own, int body,
		struct fetch_answer *answer)
{
	struct fetch f = { .request = request, .own = own, .answer = answer, .body = body, .began = clock_ms() };
	const char *fault = fetch_url_fault(request->url, request->insecure);
	int redirects = 0;

	*answer = (struct fetch_answer){ .outcome = FETCH_FAILED };
	snprintf(answer->url, sizeof(answer->url), "%s", request->url);
	f.curl = curl_easy_init();
	if (fault || !f.curl)
		failed(&f, "%s", fault ? fault : "libcurl does not start");
	else if (set_up(&f) && take_headers(&f, headers) && take_conditions(&f)) {
		bool again = true;

		while (again && ask(&f))
			again = is_redirect(answer->status) && follow(&f, redirects++);
		if (!answer->why[0])
			judge(&f);
	}
	curl_slist_free_all(f.given);
	curl_slist_free_all(f.own_headers);
	/* The handle goes with the process: its end would wait for a name that is still being looked up. */
}
