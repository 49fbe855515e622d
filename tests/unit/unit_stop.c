// SPDX-License-Identifier: GPL-2.0-only
/* Verbs that run until a signal: none is lost that comes just before they wait, and the first one counts. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ktap.h"
#include "used_stack.h"

static int comes; /* just before it waits */
static unsigned int polls;

/* Those that end a verb are held back until it waits, and no others are. */
static int given_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *while_it_waits)
{
	sigset_t now;

	polls++;
	sigprocmask(SIG_SETMASK, NULL, &now);
	for (int signal = 1; signal < 32; signal++) {
		bool ends = signal == SIGTERM || signal == SIGINT || signal == SIGUSR1;

		CHECK(sigismember(&now, signal) == ends, "signal %d is %s", signal,
		      ends ? "not held back" : "held back");
		CHECK(!sigismember(while_it_waits, signal), "signal %d does not end it", signal);
	}
	if (comes)
		raise(comes);
	return ppoll(fds, n, time, while_it_waits);
}

#define ppoll given_ppoll
#include "base/stop.c"
#undef ppoll

static void comes_before(void)
{
	static const int ends[] = { SIGTERM, SIGINT, SIGUSR1 };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sigset_t now;

		stop_on(ends[i]);
		stop_asked = 0;
		polls = 0;
		comes = ends[i];
		use_stack();
		stop_poll(NULL, 0, NULL);
		CHECK(stop_asked == ends[i] && polls == 1, "%d has come, and not %d", (int)stop_asked, ends[i]);
		sigprocmask(SIG_SETMASK, NULL, &now);
		CHECK(!sigismember(&now, ends[i]), "%d is held back still", ends[i]);
		/* What has come is not waited for. */
		stop_poll(NULL, 0, NULL);
		CHECK(polls == 1, "it waits");
		signal(ends[i], SIG_DFL);
	}
	stop_asked = 0;
	comes = 0;
}

static void first(void)
{
	stop_on(SIGTERM);
	stop_on(SIGUSR1);
	raise(SIGUSR1);
	raise(SIGTERM);
	CHECK(stop_asked == STOP_FOR_GOOD, "%d counts", (int)stop_asked);
	signal(SIGTERM, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	stop_asked = 0;
}

/* What can be read, or the time, ends it as well. */
static void waits(void)
{
	int ends[2];
	struct pollfd fds;

	if (pipe(ends) || write(ends[1], "x", 1) != 1)
		abort();
	fds = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	polls = 0;
	stop_poll(&fds, 1, NULL);
	CHECK(fds.revents == POLLIN && polls == 1, "it says nothing");
	fds.events = 0;
	stop_poll(&fds, 1, &(struct timespec){ 0, 1000 });
	CHECK(!fds.revents && !stop_asked && polls == 2, "something ends it");
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "a signal that comes before it waits", comes_before },
		{ "the first one counts", first },
		{ "what it waits for", waits },
	};

	alarm(60); /* nothing here waits for long */
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
