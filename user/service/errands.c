// SPDX-License-Identifier: GPL-2.0-only
#include "service/errands.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/log.h"
#include "base/state_path.h"

#define WAITING	    64
#define AGAIN_FIRST 1000
#define AGAIN_MOST  60000

void errands_begin(struct errands *e, const struct context *context)
{
	*e = (struct errands){ .jobs.context = context,
			       .listener = -1,
			       .retry = { .first = AGAIN_FIRST, .most = AGAIN_MOST } };
}

static int find_path(const struct errands *e, struct sockaddr_un *address)
{
	int n = snprintf(address->sun_path, sizeof(address->sun_path), "%s/" STATE_ERRANDS_SOCKET,
			 e->jobs.context->state);

	address->sun_family = AF_UNIX;
	return n > 0 && (size_t)n < sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

/* What is in its place is of a service before: there is one at a time, by a lock. */
static int open_socket(struct errands *e)
{
	struct sockaddr_un address;
	mode_t mask = umask(0177);
	int err = find_path(e, &address);

	if (!err)
		e->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!err && e->listener < 0)
		err = -errno;
	if (!err && unlink(address.sun_path) && errno != ENOENT)
		err = -errno;
	if (!err && (bind(e->listener, (struct sockaddr *)&address, sizeof(address)) || listen(e->listener, WAITING)))
		err = -errno;
	umask(mask);
	return err;
}

static void close_socket(struct errands *e)
{
	struct sockaddr_un address;

	if (e->listener >= 0 && !find_path(e, &address))
		unlink(address.sun_path);
	close_fd(e->listener);
	e->listener = -1;
}

void errands_turn(struct errands *e, int64_t now)
{
	int err;

	if (e->listener >= 0 || now < e->retry.at)
		return;
	err = open_socket(e);
	e->retry.at = INT64_MAX;
	if (!err)
		return;
	note("%s/" STATE_ERRANDS_SOCKET ": %s: commands ban by themselves", e->jobs.context->state, errno_text(err));
	close_socket(e);
	retry_later(&e->retry, now);
}

int64_t errands_due(const struct errands *e)
{
	return e->listener < 0 ? e->retry.at : INT64_MAX;
}

int errands_fd(const struct errands *e)
{
	return e->jobs.pid ? -1 : e->listener;
}

/* Whoever waits at a socket that is closed does it himself. */
static void give_up(struct errands *e, int64_t now)
{
	close_socket(e);
	retry_later(&e->retry, now);
}

void errands_came(struct errands *e, int64_t now)
{
	static char run[] = "run", option[] = "--errands";
	char *words[] = { run, option };
	struct job job = { .kind = JOB_ERRANDS, .in = e->listener };
	int err = jobs_add(&e->jobs, &job, NULL, words, 2) ?: jobs_start(&e->jobs);

	if (!err)
		return;
	warn("commands of others: %s", reason(err));
	jobs_stop(&e->jobs);
	give_up(e, now);
}

void errands_ended(struct errands *e, int64_t now)
{
	struct pollfd waiting = { .fd = e->listener, .events = POLLIN };
	struct job *job;
	int status;

	if (!jobs_ended(&e->jobs, &job, &status))
		return;
	job_free(job);
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		e->retry.wait = 0;
		return;
	}
	if (WIFSIGNALED(status))
		note("what runs commands of others was ended by signal %d", WTERMSIG(status));
	/* Whoever it has let in runs his command himself; whoever still waits may be why it ended. */
	if (poll(&waiting, 1, 0))
		give_up(e, now);
}

void errands_stop(struct errands *e)
{
	close_socket(e);
	jobs_stop(&e->jobs);
}
