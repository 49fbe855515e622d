// SPDX-License-Identifier: GPL-2.0-only
/*
 * xdp-bloom-fleet: speaks to the server of a fleet, for as long as the command keeps its standard input open, a stream
 * that both speak over. It keeps nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/netlink.h"
#include "fetch/confine.h"
#include "fleet/internal.h"
#include "fleet/tls.h"

#define ASKED	     0
#define ASKING	     3
#define WAIT_SECONDS 10

/* *given: what came with it, if anything did. */
static bool receive_byte(char *byte, int *given)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} with;
	struct iovec bytes = { byte, 1 };
	struct msghdr m = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = with.room, .msg_controllen = sizeof(with.room)
	};

	if (recvmsg(ASKED, &m, MSG_WAITALL) != 1)
		return false;
	if (m.msg_controllen >= CMSG_LEN(sizeof(int)) && with.header.cmsg_type == SCM_RIGHTS)
		*given = *(const int *)CMSG_DATA(&with.header);
	return true;
}

/* Up to the empty line, byte by byte: what follows is read by others. */
static size_t receive(char *message, size_t size, int *given)
{
	size_t n = 0;

	while (n < size - 1 && receive_byte(message + n, given)) {
		n++;
		if (n > 1 && message[n - 1] == '\n' && message[n - 2] == '\n')
			return n - 1;
	}
	return 0;
}

/* Nothing else stays open. */
static int arrange(int given)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool kept = given < 0 || given == ASKING || dup2(given, ASKING) == ASKING;

	if (null < 0 || !kept || dup2(null, 1) != 1 || dup2(null, 2) != 2 ||
	    close_from(given < 0 ? ASKING : ASKING + 1) || fcntl(ASKED, F_SETFL, O_NONBLOCK))
		return because(-errno, "it cannot arrange its files: %s", strerror(errno));
	return 0;
}

static int give_up(const struct fleet_request *request, const struct fleet_url *url)
{
	bool own = url->way == FLEET_UNIX || !strncasecmp(request->read, "unix:", 5);
	struct confinement left = { .does = "speaks to",
				    .file = request->ca,
				    .sockets = own ? CONFINE_OWN : CONFINE_INTERNET };

	return confine(&left);
}

static bool reads_by_tls(const struct fleet_request *request)
{
	struct fleet_url url;

	return *request->read && !fleet_url_read(&url, request->read) && url.way == FLEET_TLS;
}

static void complain(const char *why)
{
	struct outgoing out = { 0 };

	outgoing_line(&out, "failed\t%s", why);
	outgoing_flush(&out, ASKED);
}

int main(int argc, char **argv)
{
	static char message[FLEET_MESSAGE_MAX];
	static struct fleet_request request;
	struct fleet_url url;
	int given = -1, err;
	size_t n;

	if (argc > 1 && !strcmp(argv[1], "--version"))
		return puts("xdp-bloom-fleet " VERSION) < 0;
	/* Who asks, does so at once. */
	alarm(WAIT_SECONDS);
	n = argc > 1 ? 0 : receive(message, sizeof(message), &given);
	if (!n || !fleet_request_read(&request, message, n)) {
		fputs("xdp-bloom-fleet: 'xdp-bloom fleet join redis://... --as NAME' starts it\n", stderr);
		return EXIT_ERROR;
	}
	alarm(0);
	explicit_bzero(message, sizeof(message));
	fleet_url_read(&url, request.url);
	request.asking = given < 0 ? NULL : netlink_given(ASKING);
	err = given < 0 || request.asking ? 0 : -ENOMEM;
	err = err ?: arrange(given) ?: (url.way == FLEET_TLS || reads_by_tls(&request) ? tls_begin(request.ca) : 0) ?: give_up(&request, &url);
	if (err) {
		complain(reason(err));
		return EXIT_ERROR;
	}
	return wire_run(&request) ? EXIT_ERROR : EXIT_DONE;
}
