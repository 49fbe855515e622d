// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/state_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/state_path.h"

static int begin_watch(const char *directory)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), err;

	if (watch >= 0 && inotify_add_watch(watch, directory, IN_CLOSE_WRITE | IN_ONLYDIR) >= 0)
		return watch;
	err = because(-errno, "%s: %s", directory, strerror(errno));
	close_fd(watch);
	return err;
}

int state_watch_open(const char *directory)
{
	static const struct itimerspec each = { .it_interval.tv_sec = 1, .it_value.tv_sec = 1 };
	int watch = begin_watch(directory), timer = -1;

	if (err_is(watch, EMFILE) || err_is(watch, ENFILE) || err_is(watch, ENOSPC))
		timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer < 0)
		return watch;
	warn("inotify: %s; what other commands do is seen a second later", reason(watch));
	timerfd_settime(timer, 0, &each, NULL);
	return timer;
}

/* In its place, under the same number. */
static void try_again(int timer, const char *directory)
{
	int watch = begin_watch(directory);

	if (watch < 0)
		return;
	if (dup3(watch, timer, O_CLOEXEC) == timer)
		warn("inotify: what other commands do is seen at once again");
	close(watch);
}

bool state_watch_ended(int watch, const char *directory)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool ended = false;
	ssize_t n;

	while ((n = read(watch, buf, sizeof(buf))) > 0) {
		if (n == sizeof(uint64_t)) { /* a timer's: no notice is as short */
			try_again(watch, directory);
			ended = true;
			continue;
		}
		for (char *at = buf; at < buf + n;) {
			const struct inotify_event *e = (const struct inotify_event *)at;

			ended = ended || e->mask & IN_Q_OVERFLOW || (e->len && !strcmp(e->name, STATE_LOCK));
			at += sizeof(*e) + e->len;
		}
	}
	return ended;
}
