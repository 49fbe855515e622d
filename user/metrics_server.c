// SPDX-License-Identifier: GPL-2.0-only
/* Two pages, one request after the other, driven by the service's own loop: nothing here runs beside it. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "log.h"
#include "metrics.h"

#define IDLE_SECONDS 10

/*
 * Loaded when it is asked for: it brings gnutls along and half a dozen more, and every command would be twice as long
 * in starting. Named by the version of the ABI that microhttpd.h describes.
 */
#define LIBRARY "libmicrohttpd.so.12"

#define FUNCTIONS(F)                   \
	F(start_daemon)                \
	F(stop_daemon)                 \
	F(get_fdset2)                  \
	F(get_timeout)                 \
	F(run)                         \
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
	static void *library; /* stays */

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
	struct MHD_Daemon *daemon;
	bool state_lost; /* it could not be read when it was last looked at */
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status, char *text, size_t size,
			      const char *type)
{
	/* It is the library's from now on. */
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

	if (kernel_live(&live))
		return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "no filter is in force, or it cannot be read\n");
	if (s->state_lost)
		return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the state cannot be read\n");
	return say(connection, MHD_HTTP_OK, "ok\n");
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload, size_t *upload_size, void **state)
{
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
		return say_health(arg, connection);
	if (strcmp(url, "/metrics"))
		return say(connection, MHD_HTTP_NOT_FOUND, "/metrics or /healthz\n");
	out = open_memstream(&text, &size);
	if (!out)
		return MHD_NO;
	err = metrics_write(out);
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

int metrics_listen(struct metrics_server **server, const char *where)
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
	 * Its descriptors are polled one by one: its own epoll is told of an edge once, and a client that had closed
	 * before it was accepted would keep its place until it is idle.
	 */
	s->daemon = mhd.start_daemon(address.ss_family == AF_INET6 ? MHD_USE_IPv6 : MHD_NO_FLAG, 0, NULL, NULL,
				     on_request, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
				     MHD_OPTION_CONNECTION_LIMIT, (unsigned int)METRICS_CLIENTS,
				     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_SECONDS, MHD_OPTION_END);
	if (!s->daemon) {
		err = errno ? -errno : -EIO;
		free(s);
		return because(err, "%s: cannot listen: %s", where, strerror(-err));
	}
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

unsigned int metrics_fds(struct metrics_server *s, struct pollfd fds[METRICS_FDS])
{
	fd_set in, out, other;
	unsigned int n = 0;
	int last = -1;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&other);
	if (mhd.get_fdset2(s->daemon, &in, &out, &other, &last, FD_SETSIZE) != MHD_YES)
		return 0;
	for (int fd = 0; fd <= last && n < METRICS_FDS; fd++) {
		short events = (short)((FD_ISSET(fd, &in) ? POLLIN : 0) | (FD_ISSET(fd, &out) ? POLLOUT : 0));

		if (events)
			fds[n++] = (struct pollfd){ .fd = fd, .events = events };
	}
	return n;
}

int metrics_timeout(struct metrics_server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (mhd.get_timeout(s->daemon, &ms) != MHD_YES)
		return -1;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

void metrics_serve(struct metrics_server *s)
{
	mhd.run(s->daemon);
}
