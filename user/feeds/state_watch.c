// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/state_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/state_path.h"

int state_watch_open(const char *directory)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), err;

	if (watch >= 0 && inotify_add_watch(watch, directory, IN_CLOSE_WRITE | IN_ONLYDIR) >= 0)
		return watch;
	err = because(-errno, "%s: %s", directory, strerror(errno));
	close_fd(watch);
	return err;
}

bool state_watch_ended(int watch)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool ended = false;
	ssize_t n;

	while ((n = read(watch, buf, sizeof(buf))) > 0)
		for (char *at = buf; at < buf + n;) {
			const struct inotify_event *e = (const struct inotify_event *)at;

			ended = ended || e->mask & IN_Q_OVERFLOW || (e->len && !strcmp(e->name, STATE_LOCK));
			at += sizeof(*e) + e->len;
		}
	return ended;
}
