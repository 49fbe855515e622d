// SPDX-License-Identifier: GPL-2.0-only
/* events: which lines of the log are shown, and how; when it goes on, and when it ends; word for word. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/stop.h"
#include "base/trusted_dir.h"
#include "change/change.h"
#include "state/events.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_events_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_events_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define DATE 1767225600 /* 2026-01-01T00:00:00Z */

static const char *const *lines; /* NULL among them: nothing more until it waits; "": it stops */
static bool no_directory, no_rights, no_trust, no_watch, no_add;
static int full_at, written, closed;

static bool given_next(struct events_tail *tail, char line[EVENT_LINE_MAX])
{
	if (tail->directory != typed_context.state || !lines || !*lines)
		return false;
	tail->lost = !strcmp(*lines, "lost");
	lines += tail->lost;
	if (!**lines) {
		stop_asked = SIGTERM;
		return false;
	}
	snprintf(line, EVENT_LINE_MAX, "%s", *lines++);
	return true;
}

static void given_start(struct events_tail *tail, const char *directory)
{
	*tail = (struct events_tail){ .directory = directory };
}

static int given_access(const char *path, int how)
{
	(void)path;
	errno = how == F_OK ? ENOENT : EIO;
	return how == F_OK ? -no_directory : -no_rights;
}

static int given_trust(const char *path)
{
	(void)path;
	puts("  is it ours");
	return no_trust ? because(-ELOOP, "it is not ours") : 0;
}

static int given_poll(struct pollfd *fds, int n, int ms)
{
	printf("  waits %d ms on %d, %d\n", ms, fds->fd, n);
	if (lines && !*lines)
		lines++;
	return fds->events == POLLIN && ms > 0;
}

static int given_watch(int fd, const char *directory, uint32_t mask)
{
	errno = ENOSPC;
	printf("  watches %d in %d\n",
	       !strcmp(directory, typed_context.state) && mask == (IN_MODIFY | IN_CREATE | IN_MOVED_TO), fd);
	return no_add ? -1 : 0;
}

static int given_init(int flags)
{
	errno = EMFILE;
	return no_watch || flags != (IN_CLOEXEC | IN_NONBLOCK) ? -1 : 55;
}

#define events_next		given_next
#define events_from_start	given_start
#define access			given_access
#define trust_directory		given_trust
#define poll			given_poll
#define read(fd, to, size)	((void)(to), puts("  reads it"), (ssize_t)(size))
#define close(fd)		(closed += (fd) == 55)
#define inotify_init1		given_init
#define inotify_add_watch	given_watch
#define stop_on(signal)		printf("  ends by %d\n", signal)
#define change_check(of, words) ((void)(of), puts((words) ? "  a check of words?" : "  is it a check"))
#define out_end()		(++written == full_at ? EXIT_ERROR : out_end())
#define time(to)		((void)(to), (time_t)DATE)
#include "verbs/events.c"
#undef time
#undef close
#undef read
#undef poll
#undef access

#define LINE(time, more) "{\"time\": \"" time "\", \"event\": \"add\", \"message\": \"m\"" more "}"

static void anew(void)
{
	lines = NULL;
	no_directory = no_rights = no_trust = no_watch = no_add = false;
	full_at = 0;
}

static void types(const char *line, const char *const *of)
{
	lines = of;
	stop_asked = 0;
	written = closed = 0;
	typed(line);
	stop_asked = 0;
	if (closed)
		printf("  closed %d times\n", closed);
}

static void which(void)
{
	static const char *const each[] = {
		LINE("2026-01-01T00:00:00Z", ""),
		LINE("2025-12-31T23:59:00Z", ", \"uid\": 1000, \"generation\": 7"),
		LINE("2025-12-31T23:58:59Z", ", \"uid\": \"x\""),
		LINE("2026-01-01T00:00:00Z", ", \"generation\": \"7\""),
		LINE("2026-01-01T00:00:00", ""),
		LINE("2026-01-01T00:00:00Z ", ""),
		LINE("2026-01-01 00:00:00Z", ""),
		LINE("202/-01-01T00:00:00Z", ""),
		LINE("202:-01-01T00:00:00Z", ""),
		LINE("9999-99-99T99:99:99Z", ""),
		"{\"time\": \"2026-01-01T00:00:00Z\", \"event\": \"add\"}",
		"{\"time\": \"2026-01-01T00:00:00Z\", \"message\": \"m\"}",
		"{\"event\": \"add\", \"message\": \"m\"}",
		"{\"time\": 5, \"event\": \"add\", \"message\": \"m\"}",
		"{",
		"[]",
		"{\"time\": \"2026-01-01T00:00:01Z\", \"event\": \"a\\u001b\", \"message\": \"m\\n\"}",
		NULL,
	};

	types("events", each);
	types("events --json", each);
	types("events --since 1m", each);
	types("events --since 59", each);
	types("events --since 1w --json", each);
	types("events x", each);
}

static void follows(void)
{
	static const char *const each[] = { LINE("2026-01-01T00:00:00Z", ""), NULL, LINE("2026-01-01T00:00:01Z", ""),
					    LINE("2026-01-01T00:00:02Z", ""), NULL, "" };

	static const char *const gap[] = { LINE("2026-01-01T00:00:00Z", ""), NULL, "lost",
					   LINE("2026-01-01T00:00:02Z", ""), NULL, "" };

	types("events --follow", each);
	types("events --follow --json", each);
	types("events --follow --since 1m", gap);
	types("events --follow --json", gap);
	full_at = 2;
	types("events --follow", each);
	full_at = 1;
	types("events", each);
	full_at = 0;
	no_directory = true;
	types("events", each);
	types("events --follow", each);
	no_directory = false;
	no_trust = true;
	types("events", each);
	no_directory = true;
	types("events", each);
	types("events --follow", each);
	no_trust = no_directory = false;
	no_rights = true;
	types("events", each);
	no_rights = false;
	no_watch = true;
	types("events --follow", each);
	no_watch = false;
	no_add = true;
	types("events --follow", each);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "which", which }, { "follows", follows } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
