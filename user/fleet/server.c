// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "fleet/server_clock.h"
#include "fleet/tls.h"

#define PIECE ((size_t)16 << 10)

struct asked {
	const struct taker *taker;
	void *arg;
};

void server_failed(struct server *s, const char *fmt, ...)
{
	va_list args;

	if (*s->why)
		return;
	va_start(args, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, args);
	va_end(args);
	clean_text(s->why);
}

/* --- Answers --- */

/* It cannot answer now, whatever was asked: it reads its data, or is a replica that has lost its master. */
static bool is_not_ready(const struct reply_value *v)
{
	static const char *const begins[] = { "LOADING ", "MASTERDOWN ", "BUSY " };

	for (size_t i = 0; v->kind == REPLY_ERROR && v->depth == 0 && i < sizeof(begins) / sizeof(*begins); i++)
		if (begins_with(v->text, begins[i]))
			return true;
	return false;
}

static void on_element(void *arg, const struct reply_value *value)
{
	struct server *s = arg;

	if (is_not_ready(value))
		server_failed(s, "%.160s", value->text);
	else if (!s->n && s->push)
		s->push->take(s->push_arg, value);
	else if (!s->n)
		server_failed(s, "it says something that nobody has asked for");
	else if (!*s->why)
		s->asked[s->first].taker->take(s->asked[s->first].arg, value);
}

/* Its time begins now: whoever asks much at once waits for one answer after the other. */
static void await_next(struct server *s)
{
	uint64_t most = s->asked[s->first].taker->most;

	s->since = boot_ms();
	s->bytes = 0;
	s->most = most ? most : ANSWER_MOST;
}

static void on_end(void *arg)
{
	struct server *s = arg;
	struct asked done;

	if (!s->n || *s->why)
		return;
	done = s->asked[s->first];
	s->first = (s->first + 1) % s->room;
	s->since = 0;
	if (--s->n)
		await_next(s);
	if (done.taker->end)
		done.taker->end(done.arg);
}

static bool more_room(struct server *s)
{
	size_t room = s->room ? 2 * s->room : 64;
	struct asked *asked;

	if (s->n < s->room)
		return true;
	asked = calloc(room, sizeof(*asked));
	if (!asked)
		return false;
	for (size_t i = 0; i < s->n && s->room; i++)
		asked[i] = s->asked[(s->first + i) % s->room];
	free(s->asked);
	s->asked = asked;
	s->first = 0;
	s->room = room;
	return true;
}

static void expect(struct server *s, const struct taker *taker, void *arg)
{
	if (!more_room(s)) {
		server_failed(s, "%s", strerror(ENOMEM));
		return;
	}
	s->asked[(s->first + s->n++) % s->room] = (struct asked){ taker, arg };
	if (s->n == 1)
		await_next(s);
}

/* By pieces: an answer that ends within one is never too long. */
static void count_bytes(struct server *s, size_t n)
{
	if (!s->n || *s->why)
		return;
	s->bytes += n;
	if (s->bytes <= s->most)
		return;
	if (s->asked[s->first].taker->over)
		s->asked[s->first].taker->over(s->asked[s->first].arg);
	server_failed(s, "an answer of it is longer than what was asked for can be");
}

void server_ask_words(struct server *s, const struct taker *taker, void *arg, int n, const char *const words[])
{
	if (s->fd < 0)
		return;
	if (!command_add(&s->out, n, words, NULL))
		server_failed(s, "%s", strerror(ENOMEM));
	if (taker)
		expect(s, taker, arg);
}

void server_ask_made(struct server *s, const struct taker *taker, void *arg, const struct outgoing *commands, int n)
{
	if (s->fd < 0)
		return;
	if (!outgoing_add(&s->out, commands->bytes + commands->at, outgoing_waits(commands)))
		server_failed(s, "%s", strerror(ENOMEM));
	while (n--)
		expect(s, taker, arg);
}

/* --- Greeting --- */

static void take_greeting(void *arg, const struct reply_value *v)
{
	struct server *s = arg;
	size_t n = strlen(s->version);

	if (v->kind == REPLY_ERROR && v->depth == 0) {
		server_failed(s, "%.160s", v->text);
		return;
	}
	if (v->depth != 1 || v->kind != REPLY_TEXT)
		return;
	/* Names and values in turn: server, version, proto, id, mode, role, modules. */
	if (v->at[0] == 1)
		snprintf(s->version, sizeof(s->version), "%.24s", v->text);
	if (v->at[0] == 3)
		snprintf(s->version + n, sizeof(s->version) - n, " %.24s", v->text);
	if (v->at[0] == 11)
		s->replica = strcmp(v->text, "master") != 0;
}

static void take_pong(void *arg, const struct reply_value *v)
{
	if (v->kind == REPLY_ERROR)
		server_failed(arg, "%.160s", v->text);
}

static void end_pong(void *arg)
{
	struct server *s = arg;

	clean_text(s->version);
	s->greeted = true;
}

static void greet(struct server *s)
{
	static const struct taker greeting = { .take = take_greeting }, pong = { .take = take_pong, .end = end_pong };
	const struct fleet_request *r = s->request;

	s->open = true;
	if (*r->password)
		ASK(s, &greeting, s, "HELLO", "2", "AUTH", *r->user ? r->user : "default", r->password);
	else
		ASK(s, &greeting, s, "HELLO", "2");
	/* It greets also while it can do nothing else. */
	ASK(s, &pong, s, "PING");
}

/* --- Bytes --- */

void server_begin(struct server *s, const struct fleet_request *request, const struct fleet_url *url)
{
	s->request = request;
	s->url = url;
	s->fd = -1;
	s->here = (struct server_here){ .option = "--server-user", .asking = request->asking };
	for (size_t i = 0; i < HERE_ALSO; i++)
		s->here.also[i] = (uid_t)request->users[i];
}

void server_close(struct server *s)
{
	tls_free(s->tls);
	s->tls = NULL;
	close_fd(s->fd);
	s->fd = -1;
	s->open = s->greeted = s->replica = false;
	for (; s->n; s->n--, s->first = (s->first + 1) % s->room)
		if (s->asked[s->first].taker->drop)
			s->asked[s->first].taker->drop(s->asked[s->first].arg);
	s->first = 0;
	s->since = 0;
	outgoing_free(&s->out);
	replies_free(s->replies);
	s->replies = NULL;
}

static void begin_at(struct server *s, const struct sockaddr *to, socklen_t length)
{
	/* What was not sent is not sent after the connection was given up: it would come between what is said anew. */
	struct linger none = { .l_onoff = 1 };
	int one = 1;

	s->fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0) {
		server_failed(s, "%s", strerror(errno));
		return;
	}
	setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	if (to->sa_family != AF_UNIX)
		setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(s->fd, to, length) && errno != EINPROGRESS && errno != EAGAIN)
		server_failed(s, "%s", strerror(errno));
}

static void begin_unix(struct server *s)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	snprintf(to.sun_path, sizeof(to.sun_path), "%.107s", s->url->host);
	begin_at(s, (const struct sockaddr *)&to, sizeof(to));
}

/* Nothing is said, no password either, to whom nobody believes: see finish_connect(), too. */
static void begin_believed(struct server *s, const struct addrinfo *to)
{
	int err = 0;

	if (s->here.asking && s->url->way == FLEET_TCP) {
		server_here_at(&s->here, to->ai_addr);
		err = server_here_may(&s->here);
	}
	if (err)
		server_failed(s, "%s", reason(err));
	else
		begin_at(s, to->ai_addr, to->ai_addrlen);
}

/* One of its addresses, another one each time. */
static void begin_internet(struct server *s)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all = NULL, *a;
	unsigned int n = 0, turn;
	int err = getaddrinfo(s->url->host, s->url->port, &hints, &all);

	if (err || !all) {
		server_failed(s, "%s: %s", s->url->host, err ? gai_strerror(err) : "it has no address");
		return;
	}
	for (a = all; a; a = a->ai_next)
		n++;
	turn = n ? s->turn++ % n : 0;
	for (a = all; turn--; a = a->ai_next)
		;
	begin_believed(s, a);
	freeaddrinfo(all);
}

void server_connect(struct server *s)
{
	server_close(s);
	s->why[0] = s->version[0] = '\0';
	s->since = boot_ms();
	if (s->url->way == FLEET_UNIX)
		begin_unix(s);
	else
		begin_internet(s);
	s->replies = replies_new(on_element, on_end, s);
	if (!s->replies)
		server_failed(s, "%s", strerror(ENOMEM));
	if (!*s->why && s->url->way == FLEET_TLS) {
		s->tls = tls_new(s->fd, s->url->host);
		if (!s->tls)
			server_failed(s, "%s", strerror(ENOMEM));
	}
	if (*s->why)
		server_close(s);
}

void server_peer(const struct server *s, char text[PREFIX_TEXT_MAX])
{
	struct sockaddr_storage at = { 0 };
	socklen_t length = sizeof(at);

	text[0] = '\0';
	if (getpeername(s->fd, (struct sockaddr *)&at, &length))
		return;
	if (at.ss_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)&at)->sin_addr, text, PREFIX_TEXT_MAX);
	else if (at.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&at)->sin6_addr, text, PREFIX_TEXT_MAX);
}

short server_events(const struct server *s, bool may_hear)
{
	if (s->fd < 0)
		return 0;
	if (!s->open)
		return s->tls && tls_wants(s->tls) ? tls_wants(s->tls) : POLLOUT;
	return (short)((may_hear ? POLLIN : 0) | (outgoing_waits(&s->out) ? POLLOUT : 0));
}

static void finish_connect(struct server *s)
{
	socklen_t length = sizeof(int);
	int err = 0;

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &length) || err) {
		server_failed(s, "%s", strerror(err ? err : errno));
		return;
	}
	if (s->tls) {
		char why[sizeof(s->why)] = "";

		err = tls_shake_hands(s->tls, why, sizeof(why));
		if (err < 0)
			server_failed(s, "TLS: %s", why);
		if (err)
			return;
	}
	err = server_here_connected(&s->here, s->fd);
	if (err)
		server_failed(s, "%s", reason(err));
	else
		greet(s);
}

static void send_out(struct server *s)
{
	while (!*s->why && outgoing_waits(&s->out)) {
		const char *bytes = s->out.bytes + s->out.at;
		size_t n = outgoing_waits(&s->out);
		ssize_t done = s->tls ? tls_send(s->tls, bytes, n) : send(s->fd, bytes, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EAGAIN)
			return;
		if (done < 0)
			server_failed(s, "%s", strerror(errno));
		else
			outgoing_sent(&s->out, (size_t)done);
	}
}

static void hear(struct server *s)
{
	char bytes[PIECE];
	ssize_t n;

	do {
		n = s->tls ? tls_receive(s->tls, bytes, sizeof(bytes)) : recv(s->fd, bytes, sizeof(bytes), 0);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			server_failed(s, "%s", strerror(errno));
		else if (!n)
			server_failed(s, "it has closed the connection");
		else if (replies_feed(s->replies, bytes, (size_t)n))
			server_failed(s, "it does not speak Redis's protocol");
		if (n > 0)
			count_bytes(s, (size_t)n);
		s->heard = boot_ms();
		if (s->since) /* a long answer is one, as long as it goes on */
			s->since = s->heard;
		/* What the library holds already, poll(2) does not see. */
	} while (!*s->why && s->tls && tls_pending(s->tls));
}

void server_io(struct server *s, short events, bool may_hear)
{
	if (s->fd < 0)
		return;
	if (!s->open && events)
		finish_connect(s);
	if (!*s->why && s->open && may_hear && events & (POLLIN | POLLHUP | POLLERR))
		hear(s);
	if (!*s->why && s->open)
		send_out(s);
	if (*s->why)
		server_close(s);
}

void server_patience(struct server *s, int64_t now, int64_t patience)
{
	if (s->fd < 0 || !s->since || now - s->since < patience)
		return;
	server_failed(s, s->open  ? "it does not answer"
			 : s->tls ? "it does not accept a connection, or speaks no TLS there"
				  : "it does not accept a connection");
	server_close(s);
}
