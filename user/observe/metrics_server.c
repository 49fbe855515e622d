// SPDX-License-Identifier: GPL-2.0-only
/* Two pages, one request after the other. The service's loop drives it: there is no thread. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "kernel/live.h"
#include "base/log.h"
#include "observe/metrics.h"

#define IDLE_SECONDS 10

/*
 * When every place is taken, new clients wait, and the oldest is closed after this time: clients that send their
 * requests byte by byte are never idle, and would keep Prometheus out forever.
 */
#define PLACE_MS 500

/*
 * Loaded only when it is needed: it brings gnutls and half a dozen more libraries, and every command would take twice
 * as long to start. Named by the version of the ABI that microhttpd.h describes.
 */
#define LIBRARY "libmicrohttpd.so.12"

#define FUNCTIONS(F)                   \
	F(start_daemon)                \
	F(stop_daemon)                 \
	F(get_fdset2)                  \
	F(get_timeout)                 \
	F(run_from_select)             \
	F(get_connection_info)         \
	F(get_daemon_info)             \
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
	static void *library; /* never closed */

	if (library)
		return 0;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return because(-ELIBACC, "metrics need " LIBRARY ": %s", dlerror());
#define FIND(name)                               \
	mhd.name = dlsym(library, "MHD_" #name); \
	if (!mhd.name)                           \
		return because(-ELIBBAD, LIBRARY " has no MHD_" #name);
	FUNCTIONS(FIND)
	return 0;
}

struct metrics_server {
	const struct context *context;
	struct MHD_Daemon *daemon;
	int listener;
	bool state_lost; /* it could not be read the last time */
	struct {
		int fd;
		int64_t since;
	} client[METRICS_CLIENTS]; /* the oldest first */
	unsigned int clients;
};

static void on_client(void *arg, struct MHD_Connection *connection, void **state,
		      enum MHD_ConnectionNotificationCode what)
{
	int fd = mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	struct metrics_server *s = arg;
	unsigned int i = 0;

	(void)state;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		s->client[s->clients].fd = fd;
		s->client[s->clients++].since = clock_ms();
		return;
	}
	while (i < s->clients && s->client[i].fd != fd)
		i++;
	if (i < s->clients)
		memmove(&s->client[i], &s->client[i + 1], (--s->clients - i) * sizeof(s->client[0]));
}

/* How long the oldest client may stay, in ms; -1: there is no limit. */
static int oldest_left(const struct metrics_server *s)
{
	int64_t left = s->client[0].since + PLACE_MS - clock_ms();

	return s->clients < METRICS_CLIENTS ? -1 : left < 0 ? 0 : (int)left;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status, char *text, size_t size,
			      const char *type)
{
	/* The library frees the text. */
	struct MHD_Response *response = mhd.create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	mhd.add_response_header(response, "Content-Type", type);
	result = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return result;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned int status, const char *line)
{
	char *text = strdup(line);

	return text ? answer(connection, status, text, strlen(text), "text/plain; charset=utf-8") : MHD_NO;
}

static enum MHD_Result say_health(const struct metrics_server *s, struct MHD_Connection *connection)
{
	struct generation live;

	if (kernel_live(s->context, &live))
		return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "no filter is in force, or it cannot be read\n");
	if (s->state_lost)
		return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the state is lost, or cannot be read\n");
	return say(connection, MHD_HTTP_OK, "ok\n");
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload, size_t *upload_size, void **state)
{
	const struct metrics_server *s = arg;
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int err;

	(void)version;
	(void)upload;
	(void)state;
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		*upload_size = 0;
		return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
	}
	if (!strcmp(url, "/healthz"))
		return say_health(s, connection);
	if (strcmp(url, "/metrics"))
		return say(connection, MHD_HTTP_NOT_FOUND, "/metrics or /healthz\n");
	out = open_memstream(&text, &size);
	if (!out)
		return MHD_NO;
	err = metrics_write(s->context, out);
	if (fclose(out) || err) {
		free(text);
		return say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "the counters cannot be read\n");
	}
	return answer(connection, MHD_HTTP_OK, text, size, "text/plain; version=0.0.4; charset=utf-8");
}

/* ADDRESS:PORT, [ADDRESS]:PORT or PORT. */
static int read_where(struct sockaddr_storage *address, const char *where)
{
	struct sockaddr_in *in = (struct sockaddr_in *)address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
	const char *colon = strrchr(where, ':'), *port = colon ? colon + 1 : where;
	size_t length = colon ? (size_t)(colon - where) : 0;
	char host[64] = "127.0.0.1", *end;
	unsigned long number = strtoul(port, &end, 10);

	memset(address, 0, sizeof(*address));
	if (*port < '0' || *port > '9' || *end || number < 1 || number > 65535 || length >= sizeof(host))
		return -EINVAL;
	if (colon && where[0] == '[' && length > 2 && where[length - 1] == ']') {
		where++;
		length -= 2;
	}
	if (colon) {
		memcpy(host, where, length);
		host[length] = '\0';
	}
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)number);
		return 0;
	}
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
		return -EINVAL;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)number);
	return 0;
}

int metrics_listen(const struct context *context, struct metrics_server **server, const char *where)
{
	struct sockaddr_storage address;
	struct metrics_server *s;
	int err;

	*server = NULL;
	if (read_where(&address, where))
		return because(-EINVAL, "'%s' is not ADDRESS:PORT, [ADDRESS]:PORT or PORT", where);
	err = load_library();
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	/*
	 * No epoll of its own: that reports an edge once, and a client that closed before it was accepted would keep
	 * its place until it is idle.
	 */
	s->daemon = mhd.start_daemon(address.ss_family == AF_INET6 ? MHD_USE_IPv6 : MHD_NO_FLAG, 0, NULL, NULL,
				     on_request, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
				     MHD_OPTION_CONNECTION_LIMIT, (unsigned int)METRICS_CLIENTS,
				     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_SECONDS,
				     MHD_OPTION_NOTIFY_CONNECTION, on_client, s, MHD_OPTION_END);
	if (!s->daemon) {
		err = errno ? -errno : -EIO;
		free(s);
		return because(err, "%s: cannot listen: %s", where, errno_text(err));
	}
	s->context = context;
	s->listener = mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd;
	*server = s;
	return 0;
}

void metrics_close(struct metrics_server *s)
{
	if (s)
		mhd.stop_daemon(s->daemon);
	free(s);
}

void metrics_state(struct metrics_server *s, bool readable)
{
	s->state_lost = !readable;
}

struct sets {
	fd_set in, out, other;
	int last;
};

/* When every place is taken, let new clients wait: the library would turn them away. */
static bool take_sets(struct metrics_server *s, struct sets *sets)
{
	FD_ZERO(&sets->in);
	FD_ZERO(&sets->out);
	FD_ZERO(&sets->other);
	sets->last = -1;
	if (mhd.get_fdset2(s->daemon, &sets->in, &sets->out, &sets->other, &sets->last, FD_SETSIZE) != MHD_YES)
		return false;
	if (s->clients == METRICS_CLIENTS)
		FD_CLR(s->listener, &sets->in);
	return true;
}

unsigned int metrics_fds(struct metrics_server *s, struct pollfd fds[METRICS_FDS])
{
	struct sets sets;
	unsigned int n = 0;

	if (!take_sets(s, &sets))
		return 0;
	for (int fd = 0; fd <= sets.last && n < METRICS_FDS; fd++) {
		short events = (short)((FD_ISSET(fd, &sets.in) ? POLLIN : 0) | (FD_ISSET(fd, &sets.out) ? POLLOUT : 0));

		if (events)
			fds[n++] = (struct pollfd){ .fd = fd, .events = events };
	}
	return n;
}

int metrics_timeout(struct metrics_server *s)
{
	int left = oldest_left(s);
	MHD_UNSIGNED_LONG_LONG ms;

	if (mhd.get_timeout(s->daemon, &ms) != MHD_YES)
		return left;
	if (ms > INT_MAX)
		ms = INT_MAX;
	return left >= 0 && left < (int)ms ? left : (int)ms;
}

void metrics_serve(struct metrics_server *s)
{
	struct timeval at_once = { 0 };
	struct sets sets;

	if (!take_sets(s, &sets) || select(sets.last + 1, &sets.in, &sets.out, &sets.other, &at_once) < 0)
		return;
	mhd.run_from_select(s->daemon, &sets.in, &sets.out, &sets.other);
	if (oldest_left(s))
		return;
	/* The library sees the end at the next turn, and closes it. */
	shutdown(s->client[0].fd, SHUT_RDWR);
	s->client[0].since = clock_ms();
}
