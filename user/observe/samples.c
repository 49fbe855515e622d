// SPDX-License-Identifier: GPL-2.0-only
#include "observe/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/trusted_dir.h"
#include "bpf/abi.h"
#include "observe/relay.h"

struct samples {
	struct ring *ring; /* NULL: they come from the service */
	int relay;	   /* -1: they come from the ring */
};

/* A socket connected to the service, or -1. */
static int open_relay(const struct context *context)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = trust_directory(context->state) || relay_path(context, address.sun_path, sizeof(address.sun_path))
			 ? -1
			 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int samples_open(const struct context *context, struct samples **samples, double per_second)
{
	struct samples *s = calloc(1, sizeof(*s));
	int err = 0;

	*samples = NULL;
	if (!s)
		return -ENOMEM;
	s->relay = open_relay(context);
	if (s->relay < 0)
		err = ring_open(context, &s->ring, per_second);
	if (err)
		free(s);
	else
		*samples = s;
	return err;
}

void samples_close(struct samples *s)
{
	if (!s)
		return;
	ring_close(s->ring);
	close_fd(s->relay);
	free(s);
}

int samples_fd(const struct samples *s)
{
	return s->ring ? ring_fd(s->ring) : s->relay;
}

int samples_read(struct samples *s, void (*each)(void *arg, const struct sample *sample), void *arg)
{
	struct sample sample;
	ssize_t n;

	if (s->ring)
		return ring_read(s->ring, each, arg);
	while ((n = recv(s->relay, &sample, sizeof(sample), MSG_DONTWAIT)) == sizeof(sample))
		each(arg, &sample);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return because(-EPIPE, "the service has gone");
}

int samples_refill(struct samples *s)
{
	return s->ring ? ring_refill(s->ring) : 0;
}
