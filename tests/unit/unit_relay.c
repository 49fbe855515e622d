// SPDX-License-Identifier: GPL-2.0-only
/* Samples for whoever reads along: as many readers as there are places, each gone, slow, or one too many. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/context.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "ktap.h"
#include "observe/relay.h"

static char directory[] = "/tmp/xdp-bloom-relay.XXXXXX";
static struct context own_context = CONTEXT_DEFAULT;

/* A reader; -errno. */
static int reader(const struct relay *r)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(to.sun_path, r->path, sizeof(to.sun_path));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -errno;
}

static bool hears(int fd, const struct sample *sample)
{
	char got[2 * sizeof(*sample)];

	return recv(fd, got, sizeof(got), MSG_DONTWAIT) == sizeof(*sample) && !memcmp(got, sample, sizeof(*sample));
}

static bool hears_nothing(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static bool has_ended(int fd)
{
	char byte;

	return !recv(fd, &byte, 1, MSG_DONTWAIT);
}

static void readers(void)
{
	int fd[RELAY_MAX + 1], n = 0;
	struct sample sample;
	struct stat st;
	struct relay r;

	for (size_t i = 0; i < sizeof(sample); i++)
		((uint8_t *)&sample)[i] = (uint8_t)(i * 7);
	if (!CHECK(!relay_open(&own_context, &r), "not open: %s", reason(0)))
		return;
	for (int i = 0; i < RELAY_MAX; i++)
		CHECK(r.client[i] < 0, "descriptor %d is a reader that nobody is", r.client[i]);
	CHECK(!lstat(r.path, &st) && S_ISSOCK(st.st_mode) && !(st.st_mode & 077), "mode %o", st.st_mode & 07777);
	relay_send(&r, &sample);
	for (; n < RELAY_MAX; n++) {
		fd[n] = reader(&r);
		if (!CHECK(fd[n] >= 0, "reader %d: %d", n, fd[n]))
			return;
		relay_accept(&r);
		relay_send(&r, &sample);
		for (int i = 0; i <= n; i++)
			CHECK(hears(fd[i], &sample) && hears_nothing(fd[i]), "reader %d of %d hears something else", i,
			      n + 1);
	}
	/* One too many is sent away; where one has gone, there is a place. */
	fd[n] = reader(&r);
	relay_accept(&r);
	CHECK(fd[n] >= 0 && has_ended(fd[n]), "one too many");
	close(fd[n]);
	for (int gone = 0; gone < RELAY_MAX; gone += 5) {
		close(fd[gone]);
		fd[gone] = reader(&r);
		relay_accept(&r);
		relay_send(&r, &sample);
		for (int i = 0; i < RELAY_MAX; i++)
			CHECK(hears(fd[i], &sample), "reader %d hears nothing when %d has gone", i, gone);
	}
	relay_accept(&r); /* nobody */
	/* One does not read: the others hear all, and nobody waits. */
	for (int turn = 0; turn < 3000; turn++) {
		relay_send(&r, &sample);
		for (int i = 1; i < RELAY_MAX; i++)
			CHECK(hears(fd[i], &sample), "reader %d misses turn %d", i, turn);
	}
	while (hears(fd[0], &sample))
		;
	relay_send(&r, &sample);
	CHECK(hears(fd[0], &sample), "who was slow hears no more");
	relay_close(&r);
	CHECK(lstat(r.path, &st) && errno == ENOENT, "the socket is left");
	for (int i = 0; i < RELAY_MAX; i++) {
		CHECK(!i || hears(fd[i], &sample), "reader %d misses the last one", i);
		CHECK(has_ended(fd[i]), "reader %d is not told", i);
		close(fd[i]);
	}
	relay_close(&r);
}

/* Who comes without a descriptor for him waits, and nobody turns in circles for him. */
static void without_files(void)
{
	struct rlimit may, none;
	struct sample sample;
	struct relay r;
	int fd;

	memset(&sample, 7, sizeof(sample));
	if (!CHECK(!relay_open(&own_context, &r) && !getrlimit(RLIMIT_NOFILE, &may), "not open: %s", reason(0)))
		return;
	fd = reader(&r);
	none = (struct rlimit){ 0, may.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	CHECK(relay_fd(&r) == r.listener, "it is left out before anybody came");
	relay_accept(&r);
	CHECK(relay_fd(&r) < 0, "it is waited for");
	setrlimit(RLIMIT_NOFILE, &may);
	r.shut -= ACCEPT_AGAIN_MS;
	CHECK(relay_fd(&r) == r.listener, "it is left out for longer than a second");
	relay_accept(&r);
	relay_send(&r, &sample);
	CHECK(hears(fd, &sample), "who waited hears nothing");
	close(fd);
	relay_close(&r);
}

/* Left by another, which was killed; and where the path is as long as one can be, and longer. */
static void paths(void)
{
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
	const char *before = own_context.state;
	struct relay r, other;
	char path[300], longest[200];
	int fd;

	CHECK(!relay_open(&own_context, &r), "not open");
	CHECK(!relay_open(&own_context, &other), "the one before is in the way");
	fd = reader(&other);
	CHECK(fd >= 0, "the one before is in the way");
	close(fd);
	relay_close(&r);
	relay_close(&other);
	CHECK(!relay_path(&own_context, path, sizeof(path)), "no path");
	for (size_t length = room - 4; length < room + 4; length++) {
		int err;

		snprintf(longest, sizeof(longest), "%s/", before);
		memset(longest + strlen(longest), 'x', sizeof(longest) - strlen(longest));
		longest[strlen(before) + length - strlen(path)] = '\0';
		mkdir(longest, 0700);
		own_context.state = longest;
		err = relay_open(&own_context, &r);
		CHECK(length < room ? !err
				    : err_is(err, ENAMETOOLONG) && strstr(reason(err), "too long for a socket") &&
					      r.listener == -1,
		      "%zu bytes: %s", length, reason(err));
		relay_close(&r);
		rmdir(longest);
	}
	own_context.state = "/nonexistent";
	CHECK(err_is(relay_open(&own_context, &r), ENOENT) && r.listener == -1, "in no directory");
	own_context.state = before;
	relay_accept(&r);
	CHECK(!r.shut && relay_fd(&r) == -1, "it is waited for");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "readers", readers },
		{ "without descriptors", without_files },
		{ "paths", paths },
	};
	int status;

	own_context.state = mkdtemp(directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	rmdir(directory);
	return status;
}
