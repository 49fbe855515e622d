// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/helper.h"
#include "base/log.h"
#include "base/netlink.h"

static const char *const speaker_places[] = HELPER_PLACES("xdp-bloom-fleet");
static const struct helper speaker = { .name = "xdp-bloom-fleet",
				       .what = "which speaks to the fleet's server",
				       .places = speaker_places,
				       .socket = "/run/xdp-bloom/fleet", /* packaging/systemd/xdp-bloom-fleet.socket */
				       .type = SOCK_STREAM };

/* What xdp-bloom-fleet asks the kernel by whose its server is: it may open none, nor see other users by their numbers.
 */
static int open_asking(struct nl_socket **socket)
{
	int err = netlink_open(socket, NETLINK_SOCK_DIAG, 0, 0);

	return err_is(err, EPROTONOSUPPORT) ? 0 : err;
}

static bool hand_over(int fd, char *message, size_t n, const struct nl_socket *asking)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} with = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec bytes = { message, n };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (asking) {
		m.msg_control = with.room;
		m.msg_controllen = sizeof(with.room);
		*(int *)CMSG_DATA(&with.header) = nl_fd(asking);
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)n;
}

int fleet_start(const struct fleet_request *request, pid_t *pid)
{
	char message[FLEET_MESSAGE_MAX];
	size_t n = fleet_request_write(message, sizeof(message), request);
	struct nl_socket *asking = NULL;
	int fd = n ? open_asking(&asking) : -EMSGSIZE;

	fd = fd ?: helper_start(&speaker, pid);

	/* A stream that is new has room for it. */
	if (fd >= 0 && (!hand_over(fd, message, n, asking) || fcntl(fd, F_SETFL, O_NONBLOCK))) {
		helper_stop(fd, *pid);
		fd = because(-EIO, "xdp-bloom-fleet takes no request: %s", strerror(errno));
	}
	if (asking)
		nl_close(asking);
	explicit_bzero(message, sizeof(message));
	return fd;
}

void fleet_stop(int fd, pid_t pid)
{
	helper_stop(fd, pid);
}
