// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/errand.h"
#include "base/state_path.h"
#include "base/stdin.h"
#include "change/own_addresses.h"
#include "state/events.h"
#include "verbs/errand.h"
#include "verbs/verbs.h"

#define SOON_MS 1000
/* Beside what it waits for a lock. */
#define ANSWER_MS 10000

bool errand_place(const struct context *context, uint64_t network[2], uint64_t pins[2])
{
	struct stat is;

	if (stat("/proc/self/ns/net", &is))
		return false;
	network[0] = is.st_dev;
	network[1] = is.st_ino;
	if (stat(context->bpffs, &is))
		return false;
	pins[0] = is.st_dev;
	pins[1] = is.st_ino;
	return true;
}

/* Whose it is, the kernel says: anybody may have made the directory. */
static bool is_ours(int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && who.uid == geteuid();
}

/* False: there is no service. */
static bool find(struct sockaddr_un *address, const struct context *context)
{
	size_t room = sizeof(address->sun_path);
	int n = snprintf(address->sun_path, room, "%s/" STATE_ERRANDS_SOCKET, context->state);

	address->sun_family = AF_UNIX;
	return n > 0 && (size_t)n < room && !access(address->sun_path, W_OK);
}

/* -1: it does not answer, or many wait for it. */
static int reach(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof(*address)) || !is_ours(fd))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* So long another command may take. */
static bool wait_for(int fd, short events, int64_t until)
{
	struct pollfd poll_it = { .fd = fd, .events = events };
	int64_t left = until - clock_ms();

	return poll(&poll_it, 1, left > 0 ? (int)left : 0) == 1;
}

static bool send_all(int fd, const char *at, size_t n, int input, int64_t until)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };

	while (n) {
		struct iovec iov = { .iov_base = (void *)(uintptr_t)at, .iov_len = n };
		struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t sent;

		if (input >= 0) {
			message.msg_control = control.bytes;
			message.msg_controllen = sizeof(control.bytes);
			*CMSG_FIRSTHDR(&message) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
								     .cmsg_level = SOL_SOCKET,
								     .cmsg_type = SCM_RIGHTS };
			memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &input, sizeof(input));
		}
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
		if (sent > 0) {
			at += sent;
			n -= (size_t)sent;
			input = -1;
		} else if (errno != EAGAIN || !wait_for(fd, POLLOUT, until)) {
			return false;
		}
	}
	return true;
}

static bool send_request(int fd, const struct context *context, int input, int64_t until)
{
	struct errand_request request = { .version = VERSION };
	size_t bytes = 0;
	char *all, *to;
	bool sent = false;

	for (char *const *word = context->words; *word; word++) {
		bytes += strlen(*word) + 1;
		request.words++;
	}
	all = bytes <= ERRAND_BYTES_MAX ? malloc(sizeof(request) + bytes) : NULL;
	if (all && errand_place(context, request.network, request.pins)) {
		request.bytes = (uint32_t)bytes;
		request.user = event_user();
		request.ssh_pid = own_session(request.ssh);
		memcpy(all, &request, sizeof(request));
		to = all + sizeof(request);
		for (char *const *word = context->words; *word; word++)
			to = stpcpy(to, *word) + 1;
		sent = send_all(fd, all, sizeof(request) + bytes, input, until);
	}
	free(all);
	return sent;
}

/* -ETIMEDOUT: nothing has come, and the other is still there. */
static int read_all(int fd, void *to, size_t n, int64_t until)
{
	char *at = to;

	while (n) {
		ssize_t got = recv(fd, at, n, 0);

		if (got > 0) {
			at += got;
			n -= (size_t)got;
		} else if (!got || errno != EAGAIN) {
			return -EPIPE;
		} else if (!wait_for(fd, POLLIN, until)) {
			return -ETIMEDOUT;
		}
	}
	return 0;
}

/* A service that hangs, or has others to serve, is not waited for: the lock is the same for all. */
static bool is_our_turn(int fd)
{
	int64_t until = clock_ms() + SOON_MS;
	struct errand_part part;

	return !read_all(fd, &part, sizeof(part), until) && part.kind == ERRAND_READY && send_all(fd, "", 1, -1, until);
}

struct answer {
	char *parts; /* one behind the other, as they came */
	size_t n;
};

/* Nothing is written before all of it is here: whoever ends in the middle, or declines, has not done it. */
static int read_answer(int fd, struct answer *a, struct errand_part *last, int64_t until)
{
	int err;

	while (!(err = read_all(fd, last, sizeof(*last), until))) {
		size_t more = sizeof(*last) + last->value;
		char *parts;

		if (last->kind == ERRAND_STATUS)
			return 0;
		parts = realloc(a->parts, a->n + more);
		if (!parts)
			return -ENOMEM;
		a->parts = parts;
		memcpy(parts + a->n, last, sizeof(*last));
		err = read_all(fd, parts + a->n + sizeof(*last), last->value, until);
		if (err)
			return err;
		if (last->kind == ERRAND_DECLINED) {
			note("the process of the service leaves it to this one: %.*s", (int)last->value,
			     parts + a->n + sizeof(*last));
			return -ECANCELED;
		}
		a->n += more;
	}
	return err;
}

static int say(const struct answer *a, int status)
{
	for (size_t at = 0; at < a->n;) {
		struct errand_part part;

		memcpy(&part, a->parts + at, sizeof(part));
		at += sizeof(part);
		fflush(stdout);
		fwrite(a->parts + at, 1, part.value, part.kind == ERRAND_OUTPUT ? stdout : stderr);
		at += part.value;
	}
	return out_end() ?: status;
}

/* With somebody at a terminal the other could not say how far it is. */
static bool may_go(const struct context *context)
{
	return !errand.here && context->words && !context->check && !context->line && !context->joined &&
	       !isatty(STDOUT_FILENO) && !isatty(STDERR_FILENO);
}

/* What can be read only once is kept, in case that the other declines. Where it cannot be, a part of it may be gone. */
static int keep_input(int input)
{
	struct stat is;
	int kept, err;

	if (input < 0 || (!fstat(input, &is) && S_ISREG(is.st_mode)))
		return 0;
	kept = standard_keep(input);
	if (kept < 0)
		return kept;
	err = dup2(kept, input) < 0 ? -errno : 0;
	close(kept);
	return err;
}

/* Others wait for that process meanwhile; and where so many do not fit, it would have done all of it in vain. */
static bool is_much(int input)
{
	struct stat is;

	return input >= 0 && !fstat(input, &is) && is.st_size > ERRAND_INPUT_MAX;
}

bool errand_sent(const struct call *call, int input, int *status)
{
	int64_t until;
	off_t from;
	struct errand_part last = { 0 };
	struct answer answer = { 0 };
	struct sockaddr_un address;
	int wait = call->context->wait, fd, err;

	if (!may_go(call->context) || !find(&address, call->context))
		return false;
	/* Whoever is connected is waited for, and input may take its time: first the one, then the other. */
	err = keep_input(input);
	if (err) {
		*status = fail("standard input: %s", reason(err));
		return true;
	}
	fd = is_much(input) ? -1 : reach(&address);
	if (fd < 0)
		return false;
	from = input < 0 ? 0 : lseek(input, 0, SEEK_CUR);
	until = clock_ms() + 1000 * (int64_t)wait + ANSWER_MS;
	err = send_request(fd, call->context, input, until) && is_our_turn(fd) ? read_answer(fd, &answer, &last, until)
									       : -ECANCELED;
	call->context->elsewhere = !err || err_is(err, ETIMEDOUT) || err_is(err, ENOMEM);
	if (!err) {
		note("run by the process of the service");
		*status = say(&answer, (int)last.value);
	} else if (err_is(err, ENOMEM)) {
		*status = fail("the service's process has begun it, and there is no memory for what it says; whether it"
			       " is done, 'xdp-bloom bans' shows");
	} else if (call->context->elsewhere) {
		/* To do it again would be to say of the second time that it is the first. */
		*status = fail("the service's process has begun it, and has not answered for %d s; whether it is done,"
			       " 'xdp-bloom bans' shows",
			       wait + ANSWER_MS / 1000);
	} else {
		if (err_is(err, EPIPE))
			warn("the service's process has begun it, and ended: it is done here, and may have been done"
			     " before");
		if (input >= 0)
			lseek(input, from, SEEK_SET);
	}
	free(answer.parts);
	close_fd(fd);
	return call->context->elsewhere;
}

bool errand_prefixes_sent(const struct call *call, int *status)
{
	int input = -1;

	for (int i = 0; i < call->n; i++)
		if (!strcmp(call->operands[i], "-"))
			input = STDIN_FILENO;
	return errand_sent(call, input, status);
}
