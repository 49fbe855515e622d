// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/helper.h"
#include "base/log.h"

static const char *const speaker_places[] = HELPER_PLACES("xdp-bloom-fleet");
static const struct helper speaker = { .name = "xdp-bloom-fleet",
				       .what = "which speaks to the fleet's server",
				       .places = speaker_places,
				       .socket = "/run/xdp-bloom/fleet", /* packaging/systemd/xdp-bloom-fleet.socket */
				       .type = SOCK_STREAM };

int fleet_start(const struct fleet_request *request, pid_t *pid)
{
	char message[FLEET_MESSAGE_MAX];
	size_t n = fleet_request_write(message, sizeof(message), request);
	int fd = n ? helper_start(&speaker, pid) : -EMSGSIZE;

	/* A stream that is new has room for it. */
	if (fd >= 0 && (send(fd, message, n, MSG_NOSIGNAL) != (ssize_t)n || fcntl(fd, F_SETFL, O_NONBLOCK))) {
		helper_stop(fd, *pid);
		fd = because(-EIO, "xdp-bloom-fleet takes no request: %s", strerror(errno));
	}
	explicit_bzero(message, sizeof(message));
	return fd;
}

void fleet_stop(int fd, pid_t pid)
{
	helper_stop(fd, pid);
}
