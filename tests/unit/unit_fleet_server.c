// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection to a fleet's server: how it is begun, by which of its addresses, what it says first, what it makes of
 * each call that fails, and that nothing is left of it. Sockets, names, TLS and the time are made up; what is asked of
 * them is printed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "fleet/server.h"
#include "fleet/server_clock.h"
#include "fleet/tls.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_fleet_server.txt"
};

static struct shows shows = { .file = "tests/unit/unit_fleet_server.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define A_SOCKET 77
#define A_TLS	 ((struct tls *)&a_tls)

static int a_tls;
static int64_t now_ms;
static struct {
	int at_socket, at_connect, option, peer, names, shakes; /* errno, or what getaddrinfo(3) returns */
	bool no_address, no_replies, no_tls, no_memory, no_queue;
} fails;
static int socket_says;		 /* its error, when it is asked for it */
static const char *const *comes; /* one after the other; NULL: nothing more yet; "": the end; "!": an error */
static unsigned int pending;
static bool is_six;

static int given_socket(int family, int type, int protocol)
{
	printf("  a socket: %s%s%s%s\n",
	       family == AF_UNIX   ? "here"
	       : family == AF_INET ? "IPv4"
				   : "IPv6",
	       type & SOCK_CLOEXEC ? ", ours" : "", type & SOCK_NONBLOCK ? ", does not wait" : "",
	       (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) != SOCK_STREAM || protocol ? ", another" : "");
	errno = fails.at_socket;
	return fails.at_socket ? -1 : A_SOCKET;
}

static int given_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	const struct linger *linger = value;

	if (level == SOL_SOCKET && option == SO_LINGER && size == sizeof(*linger))
		printf("  socket %d: lingers %d, %d\n", fd, linger->l_onoff, linger->l_linger);
	else if (level == IPPROTO_TCP && option == TCP_NODELAY && size == sizeof(int))
		printf("  socket %d: no delay %d\n", fd, *(const int *)value);
	else
		printf("  socket %d: an option\n", fd);
	return 0;
}

static int given_connect(int fd, const struct sockaddr *to, socklen_t size)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (to->sa_family == AF_UNIX)
		printf("  socket %d: to %zu bytes, '%.20s'\n", fd, strlen(((const struct sockaddr_un *)to)->sun_path),
		       ((const struct sockaddr_un *)to)->sun_path);
	else
		printf("  socket %d: to %s, %s\n", fd,
		       to->sa_family == AF_INET
			       ? inet_ntop(AF_INET, &((const struct sockaddr_in *)to)->sin_addr, text, sizeof(text))
			       : inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)to)->sin6_addr, text, sizeof(text)),
		       size == (to->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6))
			       ? "all of it"
			       : "cut");
	errno = fails.at_connect;
	return fails.at_connect ? -1 : 0;
}

static struct sockaddr_in four[2] = { { .sin_family = AF_INET }, { .sin_family = AF_INET } };
static struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
static struct addrinfo infos[3] = {
	{ .ai_family = AF_INET,
	  .ai_addr = (struct sockaddr *)&four[0],
	  .ai_addrlen = sizeof(four[0]),
	  .ai_next = &infos[1] },
	{ .ai_family = AF_INET6, .ai_addr = (struct sockaddr *)&six, .ai_addrlen = sizeof(six), .ai_next = &infos[2] },
	{ .ai_family = AF_INET, .ai_addr = (struct sockaddr *)&four[1], .ai_addrlen = sizeof(four[1]) },
};

static int given_names(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **all)
{
	printf("  who is %s, port %s%s\n", host, port,
	       hints->ai_socktype == SOCK_STREAM && !hints->ai_family ? "" : ", another");
	*all = fails.names || fails.no_address ? NULL : infos;
	return fails.names;
}

static void given_no_names(struct addrinfo *all)
{
	printf("  the names go%s\n", all == infos ? "" : ", others");
}

static int given_getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
	if (fd != A_SOCKET || level != SOL_SOCKET || option != SO_ERROR || *size != sizeof(int))
		abort();
	errno = fails.option;
	if (!fails.option)
		*(int *)value = socket_says;
	return fails.option ? -1 : 0;
}

static int given_peer(int fd, struct sockaddr *at, socklen_t *size)
{
	if (fd != A_SOCKET || *size != sizeof(struct sockaddr_storage))
		abort();
	if (fails.peer)
		return -1;
	if (is_six)
		memcpy(at, &six, sizeof(six));
	else
		memcpy(at, &four[0], sizeof(four[0]));
	return 0;
}

static void given_close(int fd)
{
	if (fd != -1)
		printf("  close %d\n", fd);
}

/* What it says, in one line. */
static ssize_t given_send(int fd, const char *bytes, size_t n, int flags)
{
	printf("  %s ", fd != A_SOCKET || flags != MSG_NOSIGNAL ? "otherwise" : ">");
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != '\r')
			putchar(bytes[i] == '\n' ? ' ' : bytes[i]);
	putchar('\n');
	return (ssize_t)n;
}

static ssize_t heard(char *bytes, size_t n)
{
	const char *text = *comes;
	size_t length = text ? strlen(text) : 0;

	if (!text || *text == '!') {
		errno = text ? ECONNRESET : EAGAIN;
		return -1;
	}
	comes++;
	memcpy(bytes, text, length < n ? length : n);
	return (ssize_t)length;
}

static ssize_t given_recv(int fd, char *bytes, size_t n, int flags)
{
	if (fd != A_SOCKET || n != 16384 || flags)
		abort();
	return heard(bytes, n);
}

static struct tls *given_tls(int fd, const char *host)
{
	printf("  TLS with %s on %d\n", host, fd);
	return fails.no_tls ? NULL : A_TLS;
}

static void given_no_tls(struct tls *tls)
{
	if (tls)
		puts(tls == A_TLS ? "  TLS ends" : "  another TLS ends");
}

static int given_hands(struct tls *tls, char *why, size_t size)
{
	printf("  hands%s\n", tls == A_TLS ? "" : " of another");
	if (fails.shakes < 0)
		snprintf(why, size, "no\x1bhands");
	return fails.shakes;
}

static short given_wants(const struct tls *tls)
{
	return tls == A_TLS ? POLLIN : 0;
}

static ssize_t given_tls_send(struct tls *tls, const char *bytes, size_t n)
{
	printf("  TLS");
	return tls == A_TLS ? given_send(A_SOCKET, bytes, n, MSG_NOSIGNAL) : -1;
}

static ssize_t given_tls_receive(struct tls *tls, char *bytes, size_t n)
{
	return tls == A_TLS ? heard(bytes, n) : -1;
}

static size_t given_pending(const struct tls *tls)
{
	return tls == A_TLS && pending ? pending-- : 0;
}

static struct replies *given_replies(reply_take *take, reply_end *end, void *arg)
{
	return fails.no_replies ? NULL : replies_new(take, end, arg);
}

static void *given_calloc(size_t n, size_t size)
{
	return fails.no_memory ? NULL : calloc(n, size);
}

static bool given_command(struct outgoing *to, int n, const char *const words[], const size_t lengths[])
{
	return !fails.no_queue && command_add(to, n, words, lengths);
}

static bool given_add(struct outgoing *to, const char *bytes, size_t n)
{
	return !fails.no_queue && outgoing_add(to, bytes, n);
}

/* Whose the sockets are is unit_server_here's. */
static int may_fails, same_fails;

static int given_may(struct server_here *h)
{
	if (!h->here)
		return 0;
	printf("  whose is it, %s, beside root %u, %u, %u\n", h->option, h->also[0], h->also[1], h->also[2]);
	return may_fails ? because(may_fails, "not asked") : 0;
}

static int given_same(struct server_here *h, int fd)
{
	if (fd != A_SOCKET)
		abort();
	if (!h->here)
		return 0;
	puts("  is it still");
	return same_fails ? because(same_fails, "not believed") : 0;
}

#define server_here_may	      given_may
#define server_here_connected given_same
#define boot_ms()	      now_ms
#define socket		      given_socket
#define setsockopt	      given_setsockopt
#define connect		      given_connect
#define getaddrinfo	      given_names
#define freeaddrinfo	      given_no_names
#define getsockopt	      given_getsockopt
#define getpeername	      given_peer
#define close_fd	      given_close
#define send		      given_send
#define recv		      given_recv
#define tls_new		      given_tls
#define tls_free	      given_no_tls
#define tls_shake_hands	      given_hands
#define tls_wants	      given_wants
#define tls_send	      given_tls_send
#define tls_receive	      given_tls_receive
#define tls_pending	      given_pending
#define replies_new	      given_replies
#define calloc		      given_calloc
#define command_add	      given_command
#define outgoing_add	      given_add
#include "fleet/server.c"
#undef calloc
#undef command_add
#undef outgoing_add

/* --- What is shown --- */

enum { HERE = FLEET_UNIX, THERE = FLEET_TCP, SAFE = FLEET_TLS };

static struct fleet_request request;
static struct fleet_url url;
static struct server s = { .fd = -1 };

static void show(const char *what)
{
	printf("= %s: %d%s%s%s, %zu asked, since %lld, events %x and %x", what, s.fd, s.open ? ", open" : "",
	       s.greeted ? ", greeted" : "", s.replica ? ", a replica" : "", s.n, (long long)s.since,
	       (unsigned int)server_events(&s, true), (unsigned int)server_events(&s, false));
	printf("%s%s%s%s\n", *s.version ? ", " : "", s.version, *s.why ? ": " : "", s.why);
}

static void to(int way, const char *host)
{
	server_close(&s);
	free(s.asked);
	memset(&fails, 0, sizeof(fails));
	memset(&request, 0, sizeof(request));
	memset(&url, 0, sizeof(url));
	url.way = way;
	snprintf(url.host, sizeof(url.host), "%s", host);
	strcpy(url.port, "6379");
	s = (struct server){ 0 };
	server_begin(&s, &request, &url);
	now_ms = 5000;
}

static void connects(const char *what)
{
	server_connect(&s);
	show(what);
}

#define HEARS(...)                                                         \
	do {                                                               \
		static const char *const comes_[] = { __VA_ARGS__, NULL }; \
		comes = comes_;                                            \
		server_io(&s, POLLIN, true);                               \
		show("it hears");                                          \
	} while (0)

static void begun(void)
{
	static char long_path[200];

	to(HERE, "/run/redis.sock");
	show("before");
	connects("a path");
	memset(long_path, 'x', 120);
	to(HERE, long_path);
	connects("a path that is too long");
	to(THERE, "host");
	for (int i = 0; i < 4; i++)
		connects("a name");
	to(SAFE, "host");
	connects("by TLS");
	for (int i = 0; i < 3; i++) {
		static const int errors[] = { EINPROGRESS, EAGAIN, ECONNREFUSED };

		to(THERE, "host");
		fails.at_connect = errors[i];
		connects(strerror(errors[i]));
	}
	to(HERE, "/none");
	fails.at_connect = ENOENT;
	connects("no path");
	fails.at_connect = 0;
	connects("it is there then");
}

static void cannot_begin(void)
{
	to(THERE, "host");
	fails.at_socket = EMFILE;
	connects("no socket");
	to(THERE, "ho\nst");
	fails.names = EAI_NONAME;
	connects("no name");
	to(THERE, "host");
	fails.no_address = true;
	connects("a name without an address");
	to(THERE, "host");
	fails.no_replies = true;
	connects("no memory");
	to(SAFE, "host");
	fails.no_tls = true;
	connects("no memory for TLS");
	fails.no_tls = false;
	fails.at_socket = EMFILE;
	connects("no socket for TLS");
	server_io(&s, POLLIN | POLLOUT, true);
	show("what is not open says nothing");
}

static void greets(void)
{
	to(THERE, "host");
	server_connect(&s);
	server_io(&s, 0, true);
	show("it is not there yet");
	now_ms = 6000;
	server_io(&s, POLLOUT, true);
	show("it is there");
	HEARS("*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:2\r\n",
	      "$2\r\nid\r\n:3\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*1\r\n$1\r\nm\r\n");
	server_io(&s, POLLIN, true);
	show("and the rest");
	HEARS("+PONG\r\n");
	server_connect(&s);
	show("once more");
	server_io(&s, POLLOUT, true);
	HEARS("*12\r\n+a\r\n$30\r\nabcdefghijklmnopqrstuvwxyz0123\r\n:1\r\n$30\r\nABCDEFGHIJKLMNOPQRSTUVW\x1bYZ0123\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n$7\r\nreplica\r\n+PONG\r\n");
	server_connect(&s);
	server_io(&s, POLLOUT, true);
	HEARS("*12\r\n+a\r\n:1\r\n*4\r\n+a\r\n$1\r\nb\r\n+c\r\n$1\r\nd\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n+replica\r\n+PONG\r\n");
}

static void passwords(void)
{
	to(THERE, "host");
	strcpy(request.password, "secret");
	server_connect(&s);
	server_io(&s, POLLOUT, true);
	HEARS("-WRONGPASS no\x1b\r\n");
	strcpy(request.user, "me");
	server_connect(&s);
	server_io(&s, POLLOUT, true);
	HEARS("*0\r\n-NOAUTH first\r\n");
	*request.password = '\0';
	server_connect(&s);
	server_io(&s, POLLOUT, true);
	HEARS("*1\r\n-within\r\n+PONG\r\n");
}

static void by_tls(void)
{
	to(SAFE, "host");
	server_connect(&s);
	fails.shakes = 1;
	server_io(&s, POLLOUT, true);
	show("hands are not shaken yet");
	fails.shakes = 0;
	server_io(&s, POLLIN, true);
	show("they are");
	pending = 2;
	HEARS("*0\r\n", "+PO", "NG\r\n", "+more\r\n");
	/* What the library has is not asked for behind an error. */
	server_connect(&s);
	server_io(&s, POLLOUT, true);
	pending = 2;
	HEARS("rubbish\r\n", "+PONG\r\n");
	pending = 0;
	server_connect(&s);
	fails.shakes = -1;
	server_io(&s, POLLOUT, true);
	show("they never are");
	fails.shakes = 0;
	connects("again");
	now_ms = 5000 + 10000;
	server_patience(&s, now_ms, 10000);
	show("nobody answers");
}

static void ends(void)
{
	to(THERE, "host");
	server_connect(&s);
	socket_says = ECONNREFUSED;
	server_io(&s, POLLOUT, true);
	show("it is refused");
	socket_says = 0;
	server_connect(&s);
	fails.option = EBADF;
	server_io(&s, POLLERR, true);
	show("it does not say");
	fails.option = 0;
	for (int i = 0; i < 4; i++) {
		server_connect(&s);
		server_io(&s, POLLOUT, true);
		if (i == 0)
			HEARS("*0\r\n", "");
		if (i < 2)
			HEARS("");
		if (i == 2)
			HEARS("!");
		if (i == 3)
			HEARS("rubbish\r\n");
	}
	/* Each of these says that there is something to hear; and none is heard while nobody listens. */
	for (int i = 0; i < 4; i++) {
		static const short events[] = { POLLIN, POLLHUP, POLLERR, POLLOUT };
		static const char *const end[] = { "", NULL };

		server_connect(&s);
		server_io(&s, POLLOUT, true);
		comes = end;
		server_io(&s, events[i], false);
		show("nobody listens");
		server_io(&s, events[i], true);
		show("somebody does");
	}
}

/* Of a server on this machine, before it is connected to and before it is said anything; where the kernel can be asked.
 */
static void whose(void)
{
	static const int ways[] = { THERE, SAFE, HERE };

	four[0].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (size_t i = 0; i < 6; i++) {
		to(ways[i % 3], "host");
		memcpy(request.users, (uint64_t[]){ 103, 0, 998 }, sizeof(request.users));
		strcpy(request.password, "secret");
		request.asking = i < 3 ? (struct nl_socket *)&request : NULL;
		server_begin(&s, &request, &url);
		connects(i < 3 ? "the kernel is asked" : "it cannot be");
		server_io(&s, POLLOUT, true);
		show("it is there");
	}
	for (int i = 0; i < 2; i++) {
		to(THERE, "host");
		strcpy(request.password, "secret");
		request.asking = (struct nl_socket *)&request;
		server_begin(&s, &request, &url);
		*(i ? &same_fails : &may_fails) = -EPERM;
		connects("somebody else");
		server_io(&s, POLLOUT, true);
		show("nothing is said to him");
	}
	may_fails = same_fails = 0;
	four[0].sin_addr.s_addr = htonl(0xc0000201);
}

static void took(void *arg, const struct reply_value *v)
{
	(void)arg;
	(void)v;
}

static void no_memory(void)
{
	static const struct taker any = { .take = took };
	struct outgoing made = { 0 };

	for (int i = 0; i < 4; i++) {
		to(THERE, "host");
		server_connect(&s);
		fails.no_memory = i == 0;
		fails.no_queue = i > 0;
		if (i < 2)
			server_io(&s, POLLOUT, true);
		else if (i == 2)
			ASK(&s, &any, NULL, "ONE");
		else
			server_ask_made(&s, &any, NULL, &made, 1);
		show("no memory");
		fails.no_memory = fails.no_queue = false;
		server_io(&s, 0, true);
		show("it ends");
	}
}

/* Made elsewhere, and sent in part there. */
static void made_before(void)
{
	static const struct taker any = { .take = took };
	struct outgoing made = { 0 };

	to(THERE, "host");
	outgoing_line(&made, "%s", "sent and this");
	outgoing_sent(&made, 5);
	server_ask_made(&s, &any, NULL, &made, 2);
	show("nowhere");
	server_connect(&s);
	s.open = true;
	server_ask_made(&s, &any, NULL, &made, 0);
	show("no answers");
	server_ask_made(&s, &any, NULL, &made, 2);
	show("two answers");
	ASK(&s, NULL, NULL, "PING");
	show("one that nobody answers");
	server_io(&s, 0, true);
	outgoing_free(&made);
}

/* The second one's time begins when the first was there. */
static void since(void)
{
	static const struct taker any = { .take = took };

	to(THERE, "host");
	server_connect(&s);
	s.open = true;
	ASK(&s, &any, NULL, "ONE");
	now_ms = 5100;
	ASK(&s, &any, NULL, "TWO");
	now_ms = 5200;
	on_end(&s);
	show("behind the first");
	now_ms = 5300;
	ASK(&s, &any, NULL, "THREE");
	show("the second is still to come");
	on_end(&s);
	on_end(&s);
	show("behind the last");
}

static void peers(void)
{
	char text[PREFIX_TEXT_MAX];

	to(THERE, "host");
	s.fd = A_SOCKET;
	for (int i = 0; i < 4; i++) {
		strcpy(text, "before");
		is_six = i == 1;
		fails.peer = i == 2;
		four[0].sin_family = i == 3 ? AF_UNIX : AF_INET;
		server_peer(&s, text);
		printf("'%s'\n", text);
	}
	four[0].sin_family = AF_INET;
	is_six = false;
	s.fd = -1;
}

/* The first reason stays, and is one line. */
static void why(void)
{
	to(THERE, "host");
	server_failed(&s, "%s", "one\nof\tthem");
	server_failed(&s, "%s", "another");
	show("it failed");
	s.why[0] = '\0';
	server_failed(&s, "%0300d", 7);
	printf("%zu bytes\n", strlen(s.why));
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "begun", begun },
		{ "cannot begin", cannot_begin },
		{ "greets", greets },
		{ "passwords", passwords },
		{ "by TLS", by_tls },
		{ "ends", ends },
		{ "whose", whose },
		{ "no memory", no_memory },
		{ "made before", made_before },
		{ "since", since },
		{ "peers", peers },
		{ "why", why },
	};

	four[0].sin_addr.s_addr = htonl(0xc0000201);
	four[1].sin_addr.s_addr = htonl(0xc0000202);
	inet_pton(AF_INET6, "2001:db8::1", &six.sin6_addr);
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
	server_close(&s);
	free(s.asked);
	s = (struct server){ .fd = -1 };
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
