// SPDX-License-Identifier: GPL-2.0-only
#include "observe/web_server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/users.h"
#include "fetch/server_here.h"
#include "observe/web_address.h"

void web_line(struct web_page *page, unsigned int status, const char *line)
{
	*page = (struct web_page){ .status = status, .type = "text/plain; charset=utf-8", .text = strdup(line) };
	page->size = page->text ? strlen(line) : 0;
}

#ifdef WITHOUT_PAGE /* nor is there the library, or its header; nobody listens */
void web_close(struct web_server *s)
{
	(void)s;
}

bool web_is_open(const struct web_server *s)
{
	(void)s;
	return false;
}

unsigned int web_fds(struct web_server *s, struct pollfd fds[WEB_FDS])
{
	(void)s;
	(void)fds;
	return 0;
}

int web_timeout(struct web_server *s)
{
	(void)s;
	return -1;
}

void web_serve(struct web_server *s)
{
	(void)s;
}
#else
#include <microhttpd.h>

#define IDLE_SECONDS 10

/*
 * When every place is taken and somebody waits, the oldest of those goes who have not asked for anything: the kernel
 * hands a client over when its request is there, which is one packet, and whoever came before has been listened to.
 * Those who take their answer go after this time. So thousands that only begin to ask keep nobody waiting.
 */
#define PLACE_MS     500
/* What clients may take of the service's time at once. */
#define TURN_MS	     20
/* An answer is handed to the kernel whole: whoever is slow to take it does not keep his place meanwhile. */
#define ANSWER_BYTES (1 << 20)

/*
 * Loaded only when it is needed: it brings gnutls and half a dozen more libraries, and every command would take twice
 * as long to start. Named by the version of the ABI that microhttpd.h describes.
 */
#define LIBRARY	     "libmicrohttpd.so.12"

#define FUNCTIONS(F)                   \
	F(start_daemon)                \
	F(stop_daemon)                 \
	F(get_fdset2)                  \
	F(get_timeout)                 \
	F(run_from_select)             \
	F(get_connection_info)         \
	F(add_connection)              \
	F(lookup_connection_value)     \
	F(create_response_from_buffer) \
	F(add_response_header)         \
	F(queue_response)              \
	F(destroy_response)

#define MEMBER(name) __typeof__(MHD_##name) *name;
static struct {
	FUNCTIONS(MEMBER)
} mhd;

static int load_library(void)
{
#ifdef STATIC_COMMAND
#define GIVEN(name) mhd.name = MHD_##name;
	FUNCTIONS(GIVEN)
	return 0;
#else
	static bool loaded; /* and never closed */
	void *library = loaded ? NULL : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (loaded)
		return 0;
	if (!library)
		return because(-ELIBACC, "metrics need " LIBRARY ": %s", dlerror());
#define FIND(name)                               \
	mhd.name = dlsym(library, "MHD_" #name); \
	if (!mhd.name)                           \
		return because(-ELIBBAD, LIBRARY " has no MHD_" #name);
	FUNCTIONS(FIND)
	loaded = true;
	return 0;
#endif
}

struct web_server {
	struct MHD_Daemon *daemon;
	bool open; /* to other machines */
	int listener;
	char *hosts;
	web_answer *answer;
	void *arg; /* its own */
	struct {
		int fd;
		bool asked; /* its answer is on the way */
		int64_t since;
	} client[WEB_CLIENTS]; /* the oldest first */
	unsigned int clients;
	int64_t shut; /* accept_next() */
	bool lost;    /* who came last was not taken */
};

static int fd_of(struct MHD_Connection *connection)
{
	return mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static unsigned int place_of(const struct web_server *s, struct MHD_Connection *connection)
{
	int fd = fd_of(connection);
	unsigned int i = 0;

	while (i < s->clients && s->client[i].fd != fd)
		i++;
	return i;
}

static void on_client(void *arg, struct MHD_Connection *connection, void **state,
		      enum MHD_ConnectionNotificationCode what)
{
	static const int room = ANSWER_BYTES;
	struct web_server *s = arg;
	unsigned int i;

	(void)state;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		s->client[s->clients].fd = fd_of(connection);
		s->client[s->clients].asked = false;
		s->client[s->clients].since = clock_ms();
		setsockopt(s->client[s->clients++].fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
		return;
	}
	i = place_of(s, connection);
	if (i < s->clients)
		memmove(&s->client[i], &s->client[i + 1], (--s->clients - i) * sizeof(s->client[0]));
}

static void on_answered(void *arg, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode how)
{
	struct web_server *s = arg;
	unsigned int i = place_of(s, connection);

	(void)state;
	(void)how;
	if (i < s->clients)
		s->client[i].asked = false;
}

/* Who is closed when somebody waits. */
static unsigned int first_to_go(const struct web_server *s)
{
	unsigned int i = 0;

	while (i < s->clients && s->client[i].asked)
		i++;
	return i < s->clients ? i : 0;
}

/* How long others have to wait, for that client or a descriptor, in ms; -1: there is a free place. */
static int place_left(const struct web_server *s)
{
	unsigned int i = first_to_go(s);
	int64_t left = s->client[i].asked ? s->client[i].since + PLACE_MS - clock_ms() : 0;

	if (s->shut && s->shut > clock_ms())
		return (int)(s->shut - clock_ms());
	return s->clients < WEB_CLIENTS ? -1 : left < 0 ? 0 : (int)left;
}

static enum MHD_Result answer(struct MHD_Connection *connection, const struct web_page *page)
{
	/* No other site makes anything of it: not as a script, a picture or a frame. */
	static const char *const headers[][2] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-store" },
	};
	/* The library frees the text. */
	struct MHD_Response *response =
		page->text ? mhd.create_response_from_buffer(page->size, page->text, MHD_RESPMEM_MUST_FREE) : NULL;
	enum MHD_Result result;

	if (!response) {
		free(page->text);
		return MHD_NO;
	}
	mhd.add_response_header(response, "Content-Type", page->type);
	mhd.add_response_header(response, "Content-Security-Policy",
				page->policy ? page->policy : "default-src 'none'; frame-ancestors 'none'");
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		mhd.add_response_header(response, headers[i][0], headers[i][1]);
	if (page->status == WEB_NO_TOKEN)
		mhd.add_response_header(response, "WWW-Authenticate", "Bearer realm=\"xdp-bloom\"");
	if (page->ends)
		mhd.add_response_header(response, "Connection", "close");
	result = mhd.queue_response(connection, page->status, response);
	mhd.destroy_response(response);
	return result;
}

static bool is_listed(const char *list, const char *name, size_t length)
{
	for (const char *one = list; one && *one; one += strcspn(one, ",") + (one[strcspn(one, ",")] == ',')) {
		if (strcspn(one, ",") == length && !strncasecmp(one, name, length))
			return true;
	}
	return false;
}

/*
 * A page from elsewhere can have its name lead to this machine, and a browser then lets it read what the service
 * answers: it is asked for by that name. By an address, by this machine's name or by those of --host, it is not.
 */
static bool is_asked_for(const struct web_server *s, const char *host)
{
	char own[HOST_NAME_MAX + 1] = "", name[256];
	struct in6_addr address;
	size_t length;

	if (!host) /* no browser */
		return true;
	length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	if (length >= sizeof(name) || length > strlen(host))
		return false;
	memcpy(name, host, length);
	name[length] = '\0';
	if (*name == '[') {
		name[length - 1] = '\0';
		return inet_pton(AF_INET6, name + 1, &address) == 1;
	}
	if (length && name[length - 1] == '.')
		name[--length] = '\0';
	gethostname(own, sizeof(own) - 1);
	return inet_pton(AF_INET, name, &address) == 1 || !strcasecmp(name, "localhost") ||
	       (*own && !strcasecmp(name, own)) || is_listed(s->hosts, name, length);
}

static const char *token_of(struct MHD_Connection *connection)
{
	const char *said = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");

	return said && !strncasecmp(said, "Bearer ", 7) ? said + 7 + strspn(said + 7, " ") : NULL;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload, size_t *upload_size, void **state)
{
	struct web_server *s = arg;
	unsigned int place = place_of(s, connection);
	struct web_page page = { 0 };

	if (place < s->clients)
		s->client[place].asked = true;

	(void)version;
	(void)upload;
	(void)state;
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		*upload_size = 0;
		web_line(&page, WEB_ONLY_GET, "GET only\n");
	} else if (!is_asked_for(s, mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Host"))) {
		web_line(&page, WEB_MISDIRECTED, "asked for by a name that is not this machine's: see --host\n");
	} else {
		struct web_request request = { url, token_of(connection), s->clients == WEB_CLIENTS };

		s->answer(s->arg, &request, &page);
	}
	return answer(connection, &page);
}

static int cannot_listen(int err, const char *where, const struct sockaddr_storage *address)
{
	char user[USER_TEXT_MAX];
	uid_t whose;

	if (err_is(err, EADDRINUSE) && server_here_whose((const struct sockaddr *)address, &whose))
		return because(err, "%s: cannot listen: %s, by %s", where, errno_text(err), user_text(user, whose));
	return because(err, "%s: cannot listen: %s", where, errno_text(err));
}

int web_listen(struct web_server **server, const char *where, const char *hosts, web_answer *answer_with, void *arg)
{
	struct sockaddr_storage address;
	struct web_server *s;
	int err;

	*server = NULL;
	err = web_address(&address, where) ?: load_library();
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->listener = web_socket(&address);
	err = s->listener < 0 ? s->listener : 0;
	/*
	 * No epoll of its own: that reports an edge once, and a client that closed before it was accepted would keep
	 * its place until it is idle.
	 */
	if (!err) {
		errno = 0;
		s->daemon = mhd.start_daemon(MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request, s,
					     MHD_OPTION_CONNECTION_LIMIT, (unsigned int)WEB_CLIENTS,
					     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_SECONDS,
					     MHD_OPTION_NOTIFY_CONNECTION, on_client, s, MHD_OPTION_NOTIFY_COMPLETED,
					     on_answered, s, MHD_OPTION_END);
		if (!s->daemon)
			err = errno ? -errno : -EIO;
	}
	if (err) {
		close_fd(s->listener);
		free(s);
		return cannot_listen(err, where, &address);
	}
	s->open = !web_address_is_local(&address);
	s->answer = answer_with;
	s->arg = arg;
	s->hosts = hosts ? strdup(hosts) : NULL; /* it may be a word of a file that is read again */
	*server = s;
	return 0;
}

void web_close(struct web_server *s)
{
	if (s) {
		mhd.stop_daemon(s->daemon);
		close(s->listener);
		free(s->hosts);
	}
	free(s);
}

bool web_is_open(const struct web_server *s)
{
	return s->open;
}

struct sets {
	fd_set in, out, other;
	int last;
};

static bool take_sets(struct web_server *s, struct sets *sets)
{
	FD_ZERO(&sets->in);
	FD_ZERO(&sets->out);
	FD_ZERO(&sets->other);
	sets->last = -1;
	return mhd.get_fdset2(s->daemon, &sets->in, &sets->out, &sets->other, &sets->last, FD_SETSIZE) == MHD_YES;
}

unsigned int web_fds(struct web_server *s, struct pollfd fds[WEB_FDS])
{
	struct sets sets;
	unsigned int n = 0;

	/* Who waits is looked at when there is a place, or somebody to go for him. */
	if (place_left(s) <= 0)
		fds[n++] = (struct pollfd){ .fd = s->listener, .events = POLLIN };
	if (!take_sets(s, &sets))
		return n;
	for (int fd = 0; fd <= sets.last && n < WEB_FDS; fd++) {
		short events = (short)((FD_ISSET(fd, &sets.in) ? POLLIN : 0) | (FD_ISSET(fd, &sets.out) ? POLLOUT : 0));

		if (events)
			fds[n++] = (struct pollfd){ .fd = fd, .events = events };
	}
	return n;
}

int web_timeout(struct web_server *s)
{
	int left = place_left(s);
	MHD_UNSIGNED_LONG_LONG ms;

	if (mhd.get_timeout(s->daemon, &ms) != MHD_YES)
		return left > 0 ? left : -1;
	if (ms > INT_MAX)
		ms = INT_MAX;
	return left > 0 && left < (int)ms ? left : (int)ms;
}

static void run_once(struct web_server *s)
{
	struct timeval at_once = { 0 };
	struct sets sets;

	if (take_sets(s, &sets) && select(sets.last + 1, &sets.in, &sets.out, &sets.other, &at_once) >= 0)
		mhd.run_from_select(s->daemon, &sets.in, &sets.out, &sets.other);
}

static void put_out(struct web_server *s)
{
	unsigned int first = first_to_go(s);

	/* The library sees the end, and closes it. */
	shutdown(s->client[first].fd, SHUT_RDWR);
	s->client[first].asked = true;
	s->client[first].since = clock_ms();
	run_once(s);
}

/* The library waits by select(), which has no numbers beyond FD_SETSIZE, and closes whom it does not take. */
static void add_client(struct web_server *s, int fd, const struct sockaddr *address, socklen_t size)
{
	bool lost = mhd.add_connection(s->daemon, fd, address, size) != MHD_YES;

	if (lost && !s->lost)
		warn("who asks here is not answered: %s",
		     fd < FD_SETSIZE ? "there is no memory" : "the service has too many files open");
	s->lost = lost;
}

/* False: nobody waits. */
static bool take_client(struct web_server *s)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int fd = accept_next(s->listener, (struct sockaddr *)&address, &size, &s->shut);

	if (fd < 0)
		return errno == ECONNABORTED || errno == EINTR;
	if (!place_left(s))
		put_out(s);
	if (s->clients == WEB_CLIENTS)
		close(fd);
	else
		add_client(s, fd, (struct sockaddr *)&address, size);
	return true;
}

void web_serve(struct web_server *s)
{
	int64_t until = clock_ms() + TURN_MS;

	run_once(s);
	while (place_left(s) <= 0 && take_client(s) && clock_ms() < until)
		run_once(s);
}
#endif
