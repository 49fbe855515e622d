// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is asked of libcurl, with which options, and what is said of what it answers: libcurl, its servers and the clock
 * are made up, its URLs and lists of headers are its own. Word for word, in unit_http.txt.
 */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "fetch/address.h"
#include "fetch/http.h"
#include "fetch/request.h"
#include "fetch/text_hash.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_http.txt"
};

static struct shows shows = { .file = "tests/unit/unit_http.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define BODY 9

/* What a server does when it is asked. */
struct answers {
	const char *at[3]; /* where it is looked for, one after the other */
	const char *by;	   /* who of them answers */
	long status, connect_status, os_errno;
	const char *body[3];
	size_t header_bytes, body_bytes; /* 0: as the texts are */
	const char *etag, *modified, *date, *type;
	curl_off_t announced, wait, connected, secured;
	const char *to; /* it sends there */
	CURLcode code;
	const char *error;
	int takes; /* ms */
};

static int64_t now_ms;
static const struct answers *answers, *script;
static int turn;
static int set_fails, append_fails, write_fails, write_errno; /* the call of that number; 0: none */
static int sets, appends, writes;
static bool no_curl, no_memory, tells_options;
static char *error_to;
static struct {
	curl_opensocket_callback open;
	curl_write_callback header, write;
	void *open_to, *header_to, *write_to;
} calls;

static int64_t given_ms(void)
{
	return now_ms;
}

static CURL *given_init(void)
{
	return no_curl ? NULL : (CURL *)&calls;
}

static CURLcode given_global(long flags)
{
	printf("global %ld\n", flags);
	return no_curl ? CURLE_FAILED_INIT : CURLE_OK;
}

static const char *name_of(CURLoption option)
{
	static const struct {
		CURLoption option;
		const char *name;
	} names[] = {
#define NAME(name) { CURLOPT_##name, #name }
		NAME(NOSIGNAL),	      NAME(PROTOCOLS_STR),
		NAME(PROXY),	      NAME(PROXYAUTH),
		NAME(HEADEROPT),      NAME(NOPROXY),
		NAME(USERAGENT),      NAME(SSLVERSION),
		NAME(CAINFO),	      NAME(CAPATH),
		NAME(CONNECTTIMEOUT), NAME(LOW_SPEED_LIMIT),
		NAME(LOW_SPEED_TIME), NAME(MAXFILESIZE_LARGE),
		NAME(HTTPAUTH),	      NAME(URL),
		NAME(TIMEOUT_MS),     NAME(HTTPHEADER),
#undef NAME
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].option == option)
			return names[i].name;
	return "?";
}

static CURLcode given_set(CURL *curl, CURLoption option, ...)
{
	bool own = option == CURLOPT_URL || option == CURLOPT_TIMEOUT_MS || option == CURLOPT_HTTPHEADER;
	va_list args;

	if (curl != (CURL *)&calls || ++sets == set_fails)
		return CURLE_UNKNOWN_OPTION;
	va_start(args, option);
	switch (option) {
	case CURLOPT_ERRORBUFFER:
		error_to = va_arg(args, char *);
		break;
	case CURLOPT_OPENSOCKETFUNCTION:
		calls.open = va_arg(args, curl_opensocket_callback);
		break;
	case CURLOPT_OPENSOCKETDATA:
		calls.open_to = va_arg(args, void *);
		break;
	case CURLOPT_HEADERFUNCTION:
		calls.header = va_arg(args, curl_write_callback);
		break;
	case CURLOPT_HEADERDATA:
		calls.header_to = va_arg(args, void *);
		break;
	case CURLOPT_WRITEFUNCTION:
		calls.write = va_arg(args, curl_write_callback);
		break;
	case CURLOPT_WRITEDATA:
		calls.write_to = va_arg(args, void *);
		break;
	case CURLOPT_HTTPHEADER:
		for (const struct curl_slist *h = va_arg(args, const struct curl_slist *); h; h = h->next)
			printf("  says '%.60s' of %zu bytes\n", h->data, strlen(h->data));
		break;
	default:
		if (own || tells_options) {
			printf("%s %s ", own ? " " : "  set", name_of(option));
			if (option >= CURLOPTTYPE_OFF_T)
				printf("%lld\n", (long long)va_arg(args, curl_off_t));
			else if (option >= CURLOPTTYPE_OBJECTPOINT)
				printf("'%s'\n", va_arg(args, const char *) ?: "none");
			else
				printf("%ld\n", va_arg(args, long));
		}
	}
	va_end(args);
	return CURLE_OK;
}

static CURLcode given_info(CURL *curl, CURLINFO info, ...)
{
	va_list args;

	(void)curl;
	va_start(args, info);
	switch (info) {
	case CURLINFO_RESPONSE_CODE:
		*va_arg(args, long *) = answers->status;
		break;
	case CURLINFO_HTTP_CONNECTCODE:
		*va_arg(args, long *) = answers->connect_status;
		break;
	case CURLINFO_OS_ERRNO:
		*va_arg(args, long *) = answers->os_errno;
		break;
	case CURLINFO_CONTENT_LENGTH_DOWNLOAD_T:
		*va_arg(args, curl_off_t *) = answers->announced - 1;
		break;
	case CURLINFO_RETRY_AFTER:
		*va_arg(args, curl_off_t *) = answers->wait;
		break;
	case CURLINFO_CONNECT_TIME_T:
		*va_arg(args, curl_off_t *) = answers->connected;
		break;
	case CURLINFO_APPCONNECT_TIME_T:
		*va_arg(args, curl_off_t *) = answers->secured;
		break;
	case CURLINFO_PRIMARY_IP:
		*va_arg(args, const char **) = answers->by;
		break;
	case CURLINFO_REDIRECT_URL:
		*va_arg(args, const char **) = answers->to;
		break;
	default:
		printf("  asks for what? %d\n", info);
	}
	va_end(args);
	return CURLE_OK;
}

static CURLHcode given_header(CURL *curl, const char *name, size_t index, unsigned int origin, int request,
			      struct curl_header **to)
{
	static struct curl_header header;
	const char *value = !strcmp(name, "ETag")	     ? answers->etag
			    : !strcmp(name, "Last-Modified") ? answers->modified
			    : !strcmp(name, "Date")	     ? answers->date
			    : !strcmp(name, "Content-Type")  ? answers->type
							     : "what?";

	if (!curl || index || origin != CURLH_HEADER || request != -1 || !value)
		return CURLHE_MISSING;
	header.value = (char *)(uintptr_t)value;
	*to = &header;
	return CURLHE_OK;
}

static struct curl_slist *given_append(struct curl_slist *list, const char *line)
{
	return ++appends == append_fails ? NULL : curl_slist_append(list, line);
}

static int given_socket(int family, int type, int protocol)
{
	printf("  a socket: %s, %s%s, %d\n", family == AF_INET ? "IPv4" : "IPv6",
	       (type & ~SOCK_CLOEXEC) == SOCK_STREAM ? "stream" : "another",
	       type & SOCK_CLOEXEC ? "" : ", which children get", protocol);
	return 5;
}

static bool sourceless;

static int given_connect(int fd, const struct sockaddr *to, socklen_t size)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)to;

	printf("  would %d be connected to %s, %u bytes: %s\n", fd,
	       to->sa_family == AF_INET ? inet_ntoa(in->sin_addr) : "another", (unsigned int)size,
	       sourceless ? "no" : "yes");
	errno = sourceless ? EADDRNOTAVAIL : 0;
	return sourceless ? -1 : 0;
}

static void given_close(int fd)
{
	printf("  %d is closed\n", fd);
}

/* At most 60,000 bytes at once. */
static ssize_t given_write(int fd, const void *data, size_t n)
{
	if (++writes == write_fails) {
		errno = write_errno ?: EIO;
		return write_errno ? -1 : 0;
	}
	n = n > 60000 ? 60000 : n;
	printf("  keeps %zu bytes%s, from '%.*s'\n", n, fd == BODY ? "" : " elsewhere", n < 8 ? (int)n : 8,
	       (const char *)data);
	return (ssize_t)n;
}

static char *given_dup(const char *text)
{
	return no_memory ? NULL : strdup(text);
}

static bool connects(const char *at)
{
	struct curl_sockaddr to = { .family = AF_INET, .socktype = SOCK_STREAM, .protocol = 6 };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	union {
		struct curl_sockaddr curl;
		char room[sizeof(struct curl_sockaddr) + sizeof(struct sockaddr_in6)];
	} all = { .curl = to };
	int got;

	if (inet_pton(AF_INET, at, &in.sin_addr) == 1) {
		all.curl.addrlen = sizeof(in);
		memcpy(&all.curl.addr, &in, sizeof(in));
	} else {
		if (inet_pton(AF_INET6, at, &in6.sin6_addr) != 1)
			in6.sin6_family = AF_UNIX;
		all.curl.family = AF_INET6;
		all.curl.addrlen = sizeof(in6);
		memcpy(&((char *)&all)[offsetof(struct curl_sockaddr, addr)], &in6, sizeof(in6));
	}
	got = calls.open(calls.open_to, CURLSOCKTYPE_IPCXN, &all.curl);
	if (got != 5)
		printf("  %s is not asked\n", got == CURL_SOCKET_BAD ? at : "?");
	return got == 5;
}

static CURLcode given_perform(CURL *curl)
{
	const struct answers *a = answers = &script[turn++];
	bool connected = !a->at[0];
	char *block = calloc(1, 70000);
	bool taken = true;

	(void)curl;
	memset(block, 'x', 70000);
	now_ms += a->takes;
	for (size_t i = 0; i < 3 && a->at[i]; i++)
		connected = connects(a->at[i]) || connected;
	for (size_t left = connected ? a->header_bytes : 0, n; left && taken; left -= n) {
		n = left > 4096 ? 4096 : left;
		taken = calls.header(block, n % 2 ? 1 : 2, n % 2 ? n : n / 2, calls.header_to) == n;
	}
	for (size_t i = 0; i < 3 && a->body[i] && connected && taken; i++) {
		size_t length = strlen(a->body[i]), n = length > 1 && a->body_bytes ? a->body_bytes : length;

		memcpy(block, a->body[i], length);
		taken = calls.write(block, n % 2 ? 1 : 2, n % 2 ? n : n / 2, calls.write_to) == n;
	}
	free(block);
	if (!taken)
		puts("  no more is taken");
	if (a->error)
		snprintf(error_to, CURL_ERROR_SIZE, "%s", a->error);
	return a->code ? a->code : !connected ? CURLE_COULDNT_CONNECT : taken ? CURLE_OK : CURLE_WRITE_ERROR;
}

#define curl_easy_init	 given_init
#define curl_global_init given_global
#undef curl_easy_setopt
#define curl_easy_setopt given_set
#undef curl_easy_getinfo
#define curl_easy_getinfo	 given_info
#define curl_easy_header	 given_header
#define curl_easy_perform	 given_perform
#define curl_easy_strerror(code) ((code) == CURLE_READ_ERROR ? "in libcurl's words" : "another code")
#define curl_version()		 "libcurl/0"
#define curl_slist_append	 given_append
#define socket			 given_socket
#define connect(fd, to, size)	 given_connect(fd, to, size)
#define close_fd		 given_close
#define write			 given_write
#define strdup			 given_dup
#define clock_ms		 given_ms
#ifndef VERSION
#define VERSION "1.2"
#endif
#include "fetch/http.c"
#undef strdup

#define URL "https://feeds.example/list"

static struct addr ours[] = { { 0x08080808, 4 } };
static const struct own_addresses own = { ours, 1 };
static struct fetch_request request;
static const char *headers;

static void begin(void)
{
	request = (struct fetch_request){
		.url = URL, .connect = 10, .seconds = 300, .bytes = 100000, .floor = 1024, .floor_seconds = 30
	};
	headers = "";
	now_ms = 5000000;
	set_fails = append_fails = write_fails = write_errno = sets = appends = writes = 0;
	no_curl = no_memory = tells_options = false;
}

static void print_answer(const struct fetch_answer *a)
{
	static const char *const outcomes[] = { "failed", "new", "same", "signed" };

	printf("%s, status %llu, %s, %llu bytes%s\n", outcomes[a->outcome], (unsigned long long)a->status, a->url,
	       (unsigned long long)a->bytes,
	       a->too_long ? ", too long"
	       : a->here   ? ", by this machine"
			   : "");
	if (a->why[0])
		printf("  why: %s\n", a->why);
	if (a->etag[0] || a->modified[0] || a->date[0] || a->type[0])
		printf("  etag '%.30s', modified '%s', date '%s', type '%.30s'\n", a->etag, a->modified, a->date,
		       a->type);
	if (a->address[0] || a->way[0])
		printf("  at '%s', by '%s'\n", a->address, a->way);
	if (a->announced || a->retry_after || a->page)
		printf("  announced %llu, again in %llu, page %llx\n", (unsigned long long)a->announced,
		       (unsigned long long)a->retry_after, (unsigned long long)a->page);
}

static void fetches(const struct answers *its)
{
	static struct fetch_answer answer;

	memset(&answer, 'x', sizeof(answer));
	script = answers = its;
	turn = 0;
	sets = appends = writes = 0;
	http_fetch(&request, headers, &own, BODY, &answer);
	print_answer(&answer);
}

#define FETCHES(...) fetches((const struct answers[]){ __VA_ARGS__ })

static void set(char *to, const char *text)
{
	strcpy(to, text);
}

static void good(void)
{
	tells_options = true;
	printf("begins: %d\n", http_begin());
	FETCHES({ .at = { "9.9.9.9" },
		  .status = 200,
		  .header_bytes = 131072,
		  .body = { "192.0.2.7\n", "192.0.2.8\n" },
		  .announced = 21,
		  .etag = "\"one\"",
		  .modified = "Mon, 02 Nov 2026 03:04:05 GMT",
		  .date = "Tue, 03 Nov 2026 03:04:05 GMT",
		  .type = "text/plain\x1b",
		  .wait = 0 });
	request.insecure = true;
	set(request.ca, "/etc/ca.pem");
	set(request.proxy, "http://10.0.0.1:3128");
	FETCHES({ .at = { "10.0.0.1" }, .status = 200, .announced = 1, .wait = 7 });
	tells_options = false;
	begin();
	/* In pieces, to the byte that is allowed; a short write goes on, an interrupted one is done again. */
	write_fails = 2;
	write_errno = EINTR;
	FETCHES({ .status = 200, .body = { "first", "next" }, .body_bytes = 50000 });
	write_errno = 0;
	FETCHES({ .status = 200, .body = { "first", "next" }, .body_bytes = 50000 });
	write_errno = ENOSPC;
	FETCHES({ .status = 200, .body = { "first", "next" }, .body_bytes = 50000 });
	write_fails = 0;
	FETCHES({ .status = 200, .body = { "first", "next", "more" }, .body_bytes = 40000 });
	FETCHES({ .status = 200, .body = { "first" }, .body_bytes = 65000 });
	request.bytes = 4;
	FETCHES({ .status = 200, .body = { "1234" } });
	FETCHES({ .status = 200, .body = { "12345" } });
	FETCHES({ .status = 200, .body = { "1234", "5" } });
	puts("-- of a header");
	FETCHES({ .status = 200, .header_bytes = 131073 });
	FETCHES({ .status = 200, .etag = "", .type = "a; b" });
}

/* One that just fits, and one that does not. */
static void long_headers(void)
{
	char etag[FETCH_TAG_MAX + 1], type[129];

	for (size_t more = 0; more < 2; more++) {
		memset(etag, 'e', sizeof(etag));
		memset(type, 't', sizeof(type));
		etag[FETCH_TAG_MAX - 1 + more] = type[127 + more] = '\0';
		FETCHES({ .status = 200, .etag = etag, .type = type });
		if (!more)
			set(request.etag, etag);
	}
}

static void conditions(void)
{
	set(request.etag, "\"one\"");
	FETCHES({ .status = 304 });
	set(request.modified, "Mon, 02 Nov 2026 03:04:05 GMT");
	FETCHES({ .status = 304 });
	request.etag[0] = '\0';
	FETCHES({ .status = 304 });
	headers = "# a token\nAuthorization: Bearer a\tb\r\n\nX-Other:\n";
	FETCHES({ .status = 200 });
	request.modified[0] = '\0';
	FETCHES({ .status = 304 });
	puts("-- what no header is");
	for (size_t i = 0; i < 5; i++) {
		static const char *const bad[] = { "no colon", ": value", "A B: value", "A: \x01",
						   "A:b\nno colon\nC:d" };

		headers = bad[i];
		FETCHES({ .status = 200 });
	}
	puts("-- no memory");
	set(request.etag, "\"one\"");
	set(request.modified, "a date");
	headers = "A: b\nC: d";
	no_memory = true;
	FETCHES({ .status = 200 });
	no_memory = false;
	for (append_fails = 1; append_fails <= 7; append_fails++)
		FETCHES({ .status = 200 });
}

static void no_libcurl(void)
{
	no_curl = true;
	printf("begins: %s\n", reason(http_begin()));
	FETCHES({ .status = 200 });
	no_curl = false;
	for (set_fails = 1; set_fails <= 23; set_fails++)
		FETCHES({ .status = 200 });
	set_fails = 0;
	set(request.url, "ftp://feeds.example/");
	FETCHES({ .status = 200 });
	set(request.url, "http://feeds.example/");
	FETCHES({ .status = 200 });
}

static void addresses(void)
{
	FETCHES({ .at = { "10.0.0.1" }, .status = 200 });
	FETCHES({ .at = { "10.0.0.1", "8.8.8.8" } });
	FETCHES({ .at = { "10.0.0.1", "2620:fe::fe" }, .status = 200 });
	FETCHES({ .at = { "9.9.9.9", "::1" }, .code = CURLE_COULDNT_CONNECT, .os_errno = ECONNREFUSED });
	FETCHES({ .at = { "::1", "9.9.9.9" }, .code = CURLE_COULDNT_CONNECT, .os_errno = ECONNREFUSED });
	for (int none = 0; none < 2; none++) {
		sourceless = none;
		FETCHES({ .at = { "9.9.9.9" }, .code = CURLE_COULDNT_CONNECT, .os_errno = EADDRNOTAVAIL });
	}
	FETCHES({ .at = { "9.9.9.9" }, .code = CURLE_COULDNT_CONNECT, .error = "Failed to connect" });
	FETCHES({ .at = { "of no family" }, .error = "Failed to connect" });
	FETCHES({ .at = { "2620:fe::fe", "9.9.9.9" }, .by = "2620:fe::fe", .status = 200 });
	FETCHES({ .at = { "9.9.9.9", "::1" }, .by = "9.9.9.9", .status = 200 });
	FETCHES({ .at = { "9.9.9.9" }, .by = "::ffff:9.9.9.9", .status = 304 });
	FETCHES({ .at = { "9.9.9.9" }, .by = "", .status = 200 });
	FETCHES({ .at = { "9.9.9.9", "::1" }, .by = "9.9.9.9", .code = CURLE_COULDNT_CONNECT });
	request.lan = true;
	FETCHES({ .at = { "10.0.0.1" }, .status = 200 });
	request.lan = false;
	puts("-- by a proxy");
	set(request.proxy, "http://10.0.0.1:3128");
	FETCHES({ .at = { "10.0.0.1" }, .code = CURLE_COULDNT_CONNECT, .os_errno = ECONNREFUSED });
	FETCHES({ .at = { "10.0.0.1" }, .code = CURLE_RECV_ERROR, .connect_status = 299 });
	FETCHES({ .at = { "10.0.0.1" }, .code = CURLE_RECV_ERROR, .connect_status = 300 });
	FETCHES({ .code = CURLE_COULDNT_RESOLVE_PROXY });
	for (size_t i = 0; i < 5; i++) {
		static const char *const urls[] = { "https://10.0.0.7/x", "https://[fe80::1]:8443/x",
						    "https://9.9.9.9/", "https://8.8.8.8/", "https://[2620:fe::fe]/" };

		set(request.url, urls[i]);
		FETCHES({ .status = 200 });
	}
	set(request.url, "https://10.0.0.7/x");
	request.lan = true;
	FETCHES({ .status = 200 });
}

static void failures(void)
{
	FETCHES({ .code = CURLE_COULDNT_RESOLVE_HOST, .error = "Could not resolve" });
	FETCHES({ .code = CURLE_PEER_FAILED_VERIFICATION, .error = "expired\n" });
	FETCHES({ .code = CURLE_SSL_CACERT_BADFILE, .error = "no file" });
	FETCHES({ .code = CURLE_SSL_CONNECT_ERROR, .error = "handshake" });
	FETCHES({ .status = 200, .code = CURLE_PARTIAL_FILE, .body = { "123" }, .announced = 11 });
	FETCHES({ .status = 200, .code = CURLE_RECV_ERROR, .body = { "123" }, .error = "reset" });
	FETCHES({ .code = CURLE_GOT_NOTHING, .error = "nothing" });
	FETCHES({ .code = CURLE_FILESIZE_EXCEEDED });
	FETCHES({ .code = CURLE_OUT_OF_MEMORY });
	FETCHES({ .code = CURLE_READ_ERROR });
	FETCHES({ .code = CURLE_READ_ERROR, .error = "in its own" });
	puts("-- time");
	FETCHES({ .code = CURLE_OPERATION_TIMEDOUT, .takes = 299900, .body = { "123" }, .status = 200 });
	FETCHES({ .code = CURLE_OPERATION_TIMEDOUT, .takes = 299899 });
	FETCHES({ .code = CURLE_OPERATION_TIMEDOUT, .takes = 299899, .connected = 1 });
	FETCHES({ .code = CURLE_OPERATION_TIMEDOUT,
		  .takes = 299899,
		  .connected = 1,
		  .secured = 1,
		  .body = { "12" },
		  .status = 200 });
	request.insecure = true;
	set(request.url, "http://feeds.example/list");
	FETCHES({ .code = CURLE_OPERATION_TIMEDOUT, .takes = 10000 });
	FETCHES({ .code = CURLE_OPERATION_TIMEDOUT, .takes = 30000, .connected = 1 });
	puts("-- other answers, whose text is known again");
	FETCHES({ .status = 404, .body = { "not", " found" } });
	FETCHES({ .status = 503, .wait = 120, .body = { "not found" } });
	FETCHES({ .status = 500, .body = { "first", "next" }, .body_bytes = 65535 });
	FETCHES({ .status = 500, .body = { "first", "next" }, .body_bytes = 65536 });
	FETCHES({ .status = 500, .body = { "first", "n" }, .body_bytes = 65535 });
	FETCHES({ .status = 503, .wait = 1 });
	FETCHES({ .status = 0 });
	FETCHES({ .status = -1, .wait = -1 });
	FETCHES({ .status = 201, .code = CURLE_PARTIAL_FILE, .body = { "1" } });
}

static void sent_on(void)
{
	static const long statuses[] = { 300, 301, 302, 303, 304, 305, 306, 307, 308, 309 };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
		FETCHES({ .status = statuses[i], .to = URL "/2" }, { .status = 200 });
	puts("-- what others are told");
	set(request.etag, "\"one\"");
	headers = "A: b";
	FETCHES({ .at = { "9.9.9.9" },
		  .status = 301,
		  .to = "https://feeds.example:443/2",
		  .takes = 299000,
		  .etag = "\"old\"",
		  .body = { "moved" },
		  .header_bytes = 70000,
		  .error = "old" },
		{ .at = { "9.9.9.1" },
		  .status = 302,
		  .to = "HTTPS://FEEDS.EXAMPLE?x",
		  .takes = 1001,
		  .header_bytes = 70000 },
		{ .at = { "2620:fe::fe" }, .status = 308, .to = "https://feeds.example.net/", .takes = 5 },
		{ .at = { "9.9.9.2" }, .status = 304 });
	puts("-- and no time is left");
	FETCHES({ .status = 301, .to = URL "/2", .takes = 300000 }, { .status = 200 });
	FETCHES({ .status = 301, .to = URL "/2", .takes = 299999 }, { .status = 200 });
	puts("-- not everywhere");
	FETCHES({ .status = 301, .to = "https://feeds.exampla/list" }, { .status = 200 });
	FETCHES({ .status = 301 });
	FETCHES({ .status = 301, .to = "http://feeds.example/" });
	FETCHES({ .status = 301, .to = "ftp://feeds.example/" });
	FETCHES({ .status = 301, .to = "https://a" }, { .status = 301, .to = "https://a/1" },
		{ .status = 301, .to = "https://a/2" }, { .status = 301, .to = "https://a/3" },
		{ .status = 301, .to = "https://a/4" }, { .status = 200, .body = { "1" } });
	FETCHES({ .status = 301, .to = "https://a" }, { .status = 301, .to = "https://a/1" },
		{ .status = 301, .to = "https://a/2" }, { .status = 301, .to = "https://a/3" },
		{ .status = 301, .to = "https://a/4" }, { .status = 301, .to = "https://a/5" });
	request.insecure = true;
	FETCHES({ .status = 301, .to = "http://feeds.example/" });
	set(request.url, "http://feeds.example/");
	FETCHES({ .status = 301, .to = "ftp://feeds.example/" });
	FETCHES({ .status = 301, .to = "http://b.example/" }, { .status = 301, .to = URL },
		{ .status = 301, .to = "http://feeds.example/" });
	set(request.proxy, "http://10.0.0.1:3128");
	FETCHES({ .status = 301, .to = "http://127.0.0.1/" });
	puts("-- what the first server said is no reason of the second");
	request.proxy[0] = '\0';
	FETCHES({ .at = { "10.0.0.1", "9.9.9.9" }, .status = 301, .to = URL, .error = "of the first" },
		{ .code = CURLE_READ_ERROR });
	FETCHES({ .at = { "9.9.9.9", "10.0.0.1" }, .status = 301, .to = URL }, { .code = CURLE_READ_ERROR });
	FETCHES({ .status = 301, .to = URL, .body = { "moved" } },
		{ .status = 200, .code = CURLE_PARTIAL_FILE, .announced = 0 });
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "a list", good },	      { "long headers", long_headers }, { "conditions", conditions },
		{ "no libcurl", no_libcurl }, { "addresses", addresses },	{ "failures", failures },
		{ "sent on", sent_on },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
