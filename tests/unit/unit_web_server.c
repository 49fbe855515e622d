// SPDX-License-Identifier: GPL-2.0-only
/*
 * The service's web server: for whom it has a place, who goes for whom, by which names it is asked, and what stands
 * before each answer. The library is made up, and so are the clock and what clients say; sockets are real.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#undef STATIC_COMMAND
#ifndef WITHOUT_PAGE
#include <microhttpd.h>
#endif

#include "base/clock.h"
#include "base/log.h"
#include "observe/web_address.h"
#include "observe/web_server.h"
#include "shown.h"

#ifndef WITHOUT_PAGE
static const struct shown known[] = {
#include "unit_web_server.txt"
};

static struct shows shows = { .file = "tests/unit/unit_web_server.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

struct MHD_Connection {
	int fd, number;
	bool answers;
	const char *host, *authorization;
};

struct MHD_Response {
	char *text;
	size_t size;
};

#define MOST (2 * WEB_CLIENTS)

static struct MHD_Connection *joined[MOST];
static size_t connections;
static int client[MOST]; /* the other ends */
static int clients;
static struct sockaddr_un at;
static socklen_t at_size;
static int64_t now_ms;
static int responses, library_lacks, calls, fails_at, errors_as;
static bool no_library, of_others, no_fds, no_response, not_added;
static long library_ms;
static int run_ms; /* that clients take each time */

static MHD_NotifyConnectionCallback on_start_and_end;
static MHD_RequestCompletedCallback on_end_of_request;
static MHD_AccessHandlerCallback on_ask;
static void *on_arg;

static bool fails(const char *what)
{
	if (++calls != fails_at)
		return false;
	printf("  %s: fails\n", what);
	errno = errors_as;
	return true;
}

static struct MHD_Daemon *fake_start_daemon(unsigned int flags, uint16_t port, MHD_AcceptPolicyCallback accepts,
					    void *accepts_arg, MHD_AccessHandlerCallback asked, void *arg, ...)
{
	va_list args;
	int option;

	if (fails("the daemon"))
		return NULL;
	printf("  a daemon, %s, port %d%s\n", flags == MHD_USE_NO_LISTEN_SOCKET ? "without a socket" : "otherwise",
	       port, accepts || accepts_arg ? ", with a policy" : "");
	on_ask = asked;
	on_arg = arg;
	va_start(args, arg);
	while ((option = va_arg(args, int)) != MHD_OPTION_END)
		switch (option) {
		case MHD_OPTION_CONNECTION_LIMIT:
			printf("  limit %s\n", va_arg(args, unsigned int) == WEB_CLIENTS ? "as it is" : "another");
			break;
		case MHD_OPTION_CONNECTION_TIMEOUT:
			printf("  after %u s\n", va_arg(args, unsigned int));
			break;
		case MHD_OPTION_NOTIFY_CONNECTION:
			on_start_and_end = va_arg(args, MHD_NotifyConnectionCallback);
			if (va_arg(args, void *) != arg)
				puts("  for another");
			break;
		case MHD_OPTION_NOTIFY_COMPLETED:
			on_end_of_request = va_arg(args, MHD_RequestCompletedCallback);
			if (va_arg(args, void *) != arg)
				puts("  for another");
			break;
		default:
			printf("  option %d\n", option);
		}
	va_end(args);
	return (struct MHD_Daemon *)&joined;
}

static void is_daemon(const struct MHD_Daemon *daemon)
{
	if (daemon != (struct MHD_Daemon *)&joined)
		puts("  of another daemon");
}

static void go(size_t i)
{
	struct MHD_Connection *c = joined[i];
	void *state = NULL;

	printf("  %d goes\n", c->number);
	on_start_and_end(on_arg, c, &state, MHD_CONNECTION_NOTIFY_CLOSED);
	close(c->fd);
	free(c);
	memmove(&joined[i], &joined[i + 1], (--connections - i) * sizeof(*joined));
}

static void fake_stop_daemon(struct MHD_Daemon *daemon)
{
	is_daemon(daemon);
	while (connections)
		go(0);
	puts("  the daemon stops");
}

static enum MHD_Result fake_get_fdset2(struct MHD_Daemon *daemon, fd_set *in, fd_set *out, fd_set *other, int *last,
				       unsigned int size)
{
	is_daemon(daemon);
	if (size != FD_SETSIZE || !other)
		puts("  sets of another size");
	for (size_t i = 0; i < connections; i++) {
		FD_SET(joined[i]->fd, joined[i]->answers ? out : in);
		*last = joined[i]->fd > *last ? joined[i]->fd : *last;
	}
	return no_fds ? MHD_NO : MHD_YES;
}

static enum MHD_Result fake_get_timeout(struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *ms)
{
	is_daemon(daemon);
	*ms = (MHD_UNSIGNED_LONG_LONG)library_ms;
	return library_ms < 0 ? MHD_NO : MHD_YES;
}

/* Whoever is gone goes. */
static enum MHD_Result fake_run_from_select(struct MHD_Daemon *daemon, const fd_set *in, const fd_set *out,
					    const fd_set *other)
{
	char byte;

	is_daemon(daemon);
	if (!in || !out || !other)
		return MHD_NO;
	now_ms += run_ms;
	for (size_t i = 0; i < connections;)
		if (!recv(joined[i]->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT))
			go(i);
		else
			i++;
	return MHD_YES;
}

static const union MHD_ConnectionInfo *fake_get_connection_info(struct MHD_Connection *c,
								enum MHD_ConnectionInfoType what, ...)
{
	static union MHD_ConnectionInfo info;

	info.connect_fd = what == MHD_CONNECTION_INFO_CONNECTION_FD ? c->fd : -1;
	return &info;
}

static enum MHD_Result fake_add_connection(struct MHD_Daemon *daemon, int fd, const struct sockaddr *addr,
					   socklen_t size)
{
	static int number;
	struct MHD_Connection *c = calloc(1, sizeof(*c));
	void *state = NULL;

	is_daemon(daemon);
	(void)size;
	if (not_added || fd >= FD_SETSIZE) {
		close(fd);
		free(c);
		return MHD_NO;
	}
	if (!connections && now_ms < 1000)
		number = 0;
	*c = (struct MHD_Connection){ .fd = fd, .number = ++number };
	joined[connections++] = c;
	on_start_and_end(on_arg, c, &state, MHD_CONNECTION_NOTIFY_STARTED);
	if (addr->sa_family != AF_UNIX)
		puts("  from elsewhere");
	return MHD_YES;
}

static const char *fake_lookup_connection_value(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *name)
{
	if (kind != MHD_HEADER_KIND)
		puts("  not of a header");
	return !strcmp(name, "Host") ? c->host : !strcmp(name, "Authorization") ? c->authorization : NULL;
}

static struct MHD_Response *fake_create_response_from_buffer(size_t size, void *text, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response;

	if (no_response)
		return NULL;
	if (mode != MHD_RESPMEM_MUST_FREE)
		puts("  not to be freed");
	responses++;
	response = malloc(sizeof(*response));
	*response = (struct MHD_Response){ text, size };
	return response;
}

static enum MHD_Result fake_add_response_header(struct MHD_Response *response, const char *name, const char *value)
{
	(void)response;
	printf("    %s: %s\n", name, value);
	return MHD_YES;
}

static enum MHD_Result fake_queue_response(struct MHD_Connection *c, unsigned int status, struct MHD_Response *response)
{
	(void)c;
	printf("  %u: %.*s\n", status, (int)response->size, response->text);
	return MHD_YES;
}

static void fake_destroy_response(struct MHD_Response *response)
{
	responses--;
	free(response->text);
	free(response);
}

static void *given_dlopen(const char *name, int flags)
{
	(void)flags;
	if (no_library)
		return NULL;
	printf("  loads %s\n", name);
	return &joined;
}

static void *given_dlsym(const void *library, const char *name)
{
#define ONE(of)                                   \
	if (!strcmp(name, "MHD_" #of) && library) \
		return (void *)(uintptr_t)fake_##of;
	if (!--library_lacks)
		return NULL;
	ONE(start_daemon)
	ONE(stop_daemon)
	ONE(get_fdset2)
	ONE(get_timeout)
	ONE(run_from_select)
	ONE(get_connection_info)
	ONE(add_connection)
	ONE(lookup_connection_value)
	ONE(create_response_from_buffer)
	ONE(add_response_header)
	ONE(queue_response)
	ONE(destroy_response)
	return NULL;
}

static int given_address(struct sockaddr_storage *address, const char *where)
{
	*address = (struct sockaddr_storage){ .ss_family = AF_UNIX };
	return fails("the address") ? because(-EINVAL, "'%s' is no address", where) : 0;
}

static int given_socket(const struct sockaddr_storage *address)
{
	int fd;

	if (fails("the socket"))
		return -EADDRINUSE;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	at = (struct sockaddr_un){ .sun_family = address->ss_family };
	at_size = sizeof(at);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at.sun_family)) || listen(fd, 2 * MOST) ||
	    getsockname(fd, (struct sockaddr *)&at, &at_size))
		return -errno;
	return fd;
}

static bool is_theirs; /* somebody else's sockets listen there */

static bool given_whose(const struct sockaddr *address, uid_t *uid)
{
	*uid = 4294967294;
	return is_theirs && address->sa_family == AF_UNIX;
}

static bool given_is_local(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_UNIX && !of_others;
}

static void *given_calloc(size_t n, size_t size)
{
	return fails("memory") ? NULL : calloc(n, size);
}

static int given_name(char *name, size_t size)
{
	snprintf(name, size, "edge-7");
	return 0;
}

#define dlopen		     given_dlopen
#define dlsym		     given_dlsym
#define dlerror()	     "it is not there"
#define web_address	     given_address
#define web_socket	     given_socket
#define web_address_is_local given_is_local
#define server_here_whose    given_whose
#define clock_ms()	     now_ms
#define calloc(n, size)	     given_calloc(n, size)
#define gethostname	     given_name
#define warn(...)	     (printf("  says: " __VA_ARGS__), puts(""))
#include "observe/web_server.c"
#undef calloc

static struct web_server *server;
static struct web_page page;

static void answers(void *arg, const struct web_request *request, struct web_page *to)
{
	printf("  asked for %s, token '%s'%s%s\n", request->path, request->token ?: "(none)",
	       request->crowd ? ", the last place" : "", arg == &server ? "" : ", for another");
	*to = page;
	to->text = page.text ? strdup(page.text) : NULL;
	to->size = page.text ? strlen(page.text) : 0;
}

static void listens(const char *hosts)
{
	int err;

	calls = 0;
	err = web_listen(&server, "here:1", hosts, answers, &server);
	printf("= %s", err ? reason(err) : "it listens");
	puts(!server == !err ? ", and not" : server && web_is_open(server) ? ", to others" : "");
}

static void begin(void)
{
	now_ms = 0;
	no_library = of_others = no_fds = no_response = not_added = false;
	library_lacks = fails_at = 0;
	errors_as = EMFILE;
	library_ms = -1;
	run_ms = 1;
	page = (struct web_page){ .status = 200, .type = "text/plain", .text = (char *)(uintptr_t) "page" };
	clients = 0;
}

static void ends(void)
{
	web_close(server);
	server = NULL;
	while (clients)
		close(client[--clients]);
	if (responses)
		printf("  responses left: %d\n", responses);
}

/* Somebody connects, and waits. */
static void comes(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&at, at_size))
		puts("  nobody listens");
	client[clients++] = fd;
}

static void serves(void)
{
	printf("%lld ms\n", (long long)now_ms);
	web_serve(server);
}

/* Who is polled, and for what; how long. */
static void polls(void)
{
	struct pollfd fds[WEB_FDS];
	unsigned int n = web_fds(server, fds);

	printf("  polls");
	for (unsigned int i = 0; i < n; i++) {
		size_t c = 0;

		while (c < connections && joined[c]->fd != fds[i].fd)
			c++;
		if (c == connections)
			printf(" the listener");
		else
			printf(" %d", joined[c]->number);
		printf("%s", fds[i].events == POLLIN ? "" : fds[i].events == POLLOUT ? " to send" : " otherwise");
	}
	printf(", %d ms\n", web_timeout(server));
}

static void asks(size_t i, const char *method, const char *path)
{
	size_t more = 5;
	void *state = NULL;
	enum MHD_Result is = on_ask(on_arg, joined[i], path, method, "HTTP/1.1", NULL, &more, &state);

	joined[i]->answers = true;
	printf("= %s%s\n", is == MHD_YES ? "answered" : "not answered", more ? "" : ", nothing more is read");
}

static void answered(size_t i)
{
	void *state = NULL;

	on_end_of_request(on_arg, joined[i], &state, MHD_REQUEST_TERMINATED_COMPLETED_OK);
	joined[i]->answers = false;
}

static void listening(void)
{
	no_library = true;
	listens(NULL);
	no_library = false;
	for (int i = 1; i <= 12; i++) {
		library_lacks = i;
		listens(NULL);
	}
	library_lacks = 0;
	for (fails_at = 1; fails_at <= 4; fails_at++)
		listens(NULL);
	is_theirs = true;
	for (fails_at = 3; fails_at <= 4; fails_at++)
		listens(NULL);
	is_theirs = false;
	fails_at = 4;
	errors_as = 0;
	listens(NULL);
	fails_at = 0;
	listens(NULL);
	polls();
	ends();
	of_others = true;
	listens(NULL);
	ends();
}

static void names(void)
{
	static const char *const hosts[] = {
		NULL,
		"",
		"127.0.0.1",
		"127.0.0.1:9",
		"192.0.2.1.",
		"192.0.2.256",
		"[::1]",
		"[2001:db8::1]:80",
		"[::x]",
		"[::1",
		"[]",
		"localhost",
		"LocalHost:80",
		"localhost.",
		"localhost..",
		"localhosts",
		"edge-7",
		"EDGE-7.",
		"edge-77",
		"one.example",
		"ONE.example:1",
		"two.example.",
		"two.exampl",
		"one.example,two.example",
		",",
		"three",
		".",
		":80",
	};
	static char name[300];

	listens("one.example,two.example,,three");
	comes();
	serves();
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		page.text = (char *)(uintptr_t) "page";
		joined[0]->host = hosts[i];
		printf("-- %s\n", hosts[i] ?: "(none)");
		asks(0, "GET", "/");
	}
	memset(name, 'n', sizeof(name) - 1);
	for (size_t n = 255; n <= 257; n++) {
		name[n] = '\0';
		joined[0]->host = name;
		asks(0, "GET", "/");
		name[n] = 'n';
	}
	ends();
	listens(NULL);
	comes();
	serves();
	joined[0]->host = "one.example";
	asks(0, "GET", "/");
	ends();
}

static void requests(void)
{
	static const char *const tokens[] = { "Bearer abc", "bearer   abc ", "Bearer", "Bearer ", "Basic abc", "" };

	listens(NULL);
	comes();
	serves();
	asks(0, "HEAD", "/metrics");
	asks(0, "POST", "/");
	asks(0, "get", "/");
	for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++) {
		joined[0]->authorization = tokens[i];
		asks(0, "GET", "/");
	}
	page.status = WEB_NO_TOKEN;
	page.policy = "default-src 'self'";
	asks(0, "GET", "/");
	page.status = WEB_OK;
	page.ends = true;
	asks(0, "GET", "/");
	no_response = true;
	asks(0, "GET", "/");
	no_response = false;
	page.text = NULL;
	asks(0, "GET", "/");
	ends();
}

static void places(void)
{
	char byte;

	listens(NULL);
	comes();
	comes();
	serves();
	polls();
	library_ms = 70;
	asks(1, "GET", "/");
	polls();
	close(client[0]);
	serves();
	polls();
	puts("-- all but one, and all");
	while (connections < WEB_CLIENTS - 1) {
		comes();
		serves();
	}
	polls();
	comes();
	serves();
	polls();
	puts("-- somebody waits: who has not asked goes, the oldest first");
	comes();
	serves();
	comes();
	comes();
	serves();
	polls();
	puts("-- all have asked");
	for (size_t i = 0; i < connections; i++)
		if (!joined[i]->answers)
			asks(i, "GET", "/");
	now_ms += 100;
	polls();
	library_ms = -1;
	polls();
	library_ms = 1000;
	polls();
	library_ms = 1L << 40;
	polls();
	comes();
	serves();
	now_ms = 499;
	polls();
	library_ms = -1;
	for (now_ms = 500; now_ms <= 502; now_ms++)
		polls();
	now_ms = 499;
	library_ms = 1L << 40;
	serves();
	now_ms = 520;
	polls();
	serves();
	polls();
	puts("-- one was answered");
	answered(5);
	polls();
	comes();
	serves();
	polls();
	no_fds = true;
	polls();
	puts("-- who cannot be put out stays");
	now_ms = 2000;
	comes();
	serves();
	printf("  who came %s\n", recv(client[clients - 1], &byte, 1, MSG_DONTWAIT) ? "waits" : "is sent away");
	ends();
}

/* For a turn no longer than it may take. */
static void turns(void)
{
	listens(NULL);
	now_ms = 1000;
	while (clients < WEB_CLIENTS)
		comes();
	serves();
	now_ms = 2000;
	for (run_ms = 3; run_ms <= 7; run_ms += 2) {
		for (int i = 0; i < 4; i++)
			comes();
		serves();
	}
	printf("%lld ms\n", (long long)now_ms);
	ends();
}

/* Who comes while there is no descriptor waits, and the listener is left out for a second. */
static void without_files(void)
{
	struct rlimit may;

	listens(NULL);
	now_ms = 1000;
	comes();
	comes();
	polls();
	if (getrlimit(RLIMIT_NOFILE, &may))
		abort();
	for (int again = 0; again < 2; again++) {
		if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, may.rlim_max }))
			abort();
		serves();
		polls();
		now_ms += 999;
		polls();
		now_ms++;
		polls();
	}
	if (setrlimit(RLIMIT_NOFILE, &may))
		abort();
	serves();
	polls();
	ends();
}

/* Whoever the library does not take is closed, which is said once. */
static void not_taken(void)
{
	int others[FD_SETSIZE], n = 0;
	struct rlimit was;

	listens(NULL);
	not_added = true;
	comes();
	comes();
	serves();
	polls();
	not_added = false;
	comes();
	serves();
	polls();
	if (getrlimit(RLIMIT_NOFILE, &was) || setrlimit(RLIMIT_NOFILE, &(struct rlimit){ was.rlim_max, was.rlim_max }))
		abort();
	comes();
	while ((others[n] = dup(client[0])) >= 0 && others[n] < FD_SETSIZE)
		n++;
	serves();
	polls();
	while (n >= 0)
		close(others[n--]);
	if (setrlimit(RLIMIT_NOFILE, &was))
		abort();
	ends();
}

static void lines(void)
{
	struct web_page one;

	web_line(&one, WEB_FAILED, "why\n");
	printf("%u, %s, %zu bytes: %s", one.status, one.type, one.size, one.text);
	free(one.text);
	web_close(NULL);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "listening", listening },
		{ "names", names },
		{ "requests", requests },
		{ "places", places },
		{ "turns", turns },
		{ "lines", lines },
		{ "without descriptors", without_files },
		{ "not taken", not_taken },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

#else
static void word_for_word(void)
{
	ktap_skip("made without the page");
}
#endif

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
