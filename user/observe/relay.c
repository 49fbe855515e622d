// SPDX-License-Identifier: GPL-2.0-only
#include "observe/relay.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "base/accept.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/state_path.h"

int relay_path(const struct context *context, char *path, size_t size)
{
	return (size_t)snprintf(path, size, "%s/" STATE_SAMPLES_SOCKET, context->state) < size ? 0 : -ENAMETOOLONG;
}

int relay_open(const struct context *context, struct relay *r)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int err = relay_path(context, address.sun_path, sizeof(address.sun_path));

	for (int i = 0; i < RELAY_MAX; i++)
		r->client[i] = -1;
	r->listener = -1;
	r->shut = 0;
	if (err)
		return because(err, "%s: the path is too long for a socket", context->state);
	memcpy(r->path, address.sun_path, sizeof(r->path));
	r->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(address.sun_path); /* left by a service that was killed: there is one at a time */
	mask = umask(077);
	if (r->listener < 0 || bind(r->listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(r->listener, RELAY_MAX))
		err = because(-errno, "%s: %s", address.sun_path, strerror(errno));
	umask(mask);
	if (err)
		relay_close(r);
	return err;
}

void relay_close(struct relay *r)
{
	for (int i = 0; i < RELAY_MAX; i++)
		close_fd(r->client[i]);
	if (r->listener < 0)
		return;
	close(r->listener);
	r->listener = -1;
	unlink(r->path);
}

/* Clients never send anything: only their end can be read. */
static bool has_gone(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

int relay_fd(const struct relay *r)
{
	return r->shut && r->shut > clock_ms() ? -1 : r->listener;
}

void relay_accept(struct relay *r)
{
	int fd = r->listener < 0 ? -1 : accept_next(r->listener, NULL, NULL, &r->shut);

	for (int i = 0; i < RELAY_MAX && fd >= 0; i++) {
		if (r->client[i] >= 0 && has_gone(r->client[i])) {
			close(r->client[i]);
			r->client[i] = -1;
		}
		if (r->client[i] < 0) {
			r->client[i] = fd;
			return;
		}
	}
	close_fd(fd);
}

void relay_send(struct relay *r, const struct sample *sample)
{
	for (int i = 0; i < RELAY_MAX; i++) {
		if (r->client[i] < 0)
			continue;
		if (send(r->client[i], sample, sizeof(*sample), MSG_NOSIGNAL) < 0 && errno != EAGAIN) {
			close(r->client[i]);
			r->client[i] = -1;
		}
	}
}
