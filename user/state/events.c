// SPDX-License-Identifier: GPL-2.0-only
#include "state/events.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/errand.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"

/* A longer file becomes events.1, and another begins. */
#define EVENTS_BYTES (256 << 10)

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static const struct {
	const char *name;
	int priority; /* of syslog(3) */
} kinds[] = {
	[EVENT_DONE] = { NULL, LOG_NOTICE },	       [EVENT_REFUSED] = { "refused", LOG_WARNING },
	[EVENT_GUARD] = { "guard", LOG_WARNING },      [EVENT_EXPIRED] = { "expired", LOG_NOTICE },
	[EVENT_REVERTED] = { "reverted", LOG_NOTICE }, [EVENT_CAPACITY] = { "capacity", LOG_NOTICE },
	[EVENT_FAULT] = { "fault", LOG_ALERT },	       [EVENT_HEALED] = { "healed", LOG_NOTICE },
	[EVENT_ATTACK] = { "attack", LOG_WARNING },    [EVENT_BAN] = { "ban", LOG_NOTICE },
	[EVENT_LEARNED] = { "learned", LOG_NOTICE },
};

static const char *name_of(const struct event *what)
{
	return what->kind == EVENT_DONE ? what->verb : kinds[what->kind].name;
}

/* The journal's own protocol: FIELD=value lines in one datagram. No value of ours has a newline. */
static void to_journal(const char *state, const struct event *what, const char *message)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET };
	char text[4096];
	int fd, n;

	if (access(JOURNAL_SOCKET, F_OK))
		return;
	n = snprintf(text, sizeof(text),
		     "MESSAGE=%s: %s\nPRIORITY=%d\nSYSLOG_IDENTIFIER=xdp-bloom\nXDP_BLOOM_EVENT=%s\n"
		     "XDP_BLOOM_GENERATION=%llu\nXDP_BLOOM_STATE=%s\n",
		     name_of(what), message, kinds[what->kind].priority, name_of(what), what->generation, state);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && n > 0 && (size_t)n < sizeof(text))
		sendto(fd, text, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof(address));
	close_fd(fd);
}

unsigned int event_user(void)
{
	int fd = open("/proc/self/loginuid", O_RDONLY | O_CLOEXEC);
	char text[16] = "";
	unsigned long user;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close_fd(fd);
	user = text[0] ? strtoul(text, NULL, 10) : UINT32_MAX;
	return user < UINT32_MAX ? (unsigned int)user : getuid();
}

/* Nobody's pipe or link in its place: it would keep every command waiting. */
static int open_regular(const char *path, int flags, struct stat *is)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd >= 0 && !fstat(fd, is) && S_ISREG(is->st_mode))
		return fd;
	close_fd(fd);
	*is = (struct stat){ 0 };
	return -1;
}

/* The line before was cut, by a full disk. */
static bool is_cut(int fd, const struct stat *is)
{
	char byte = '\n';

	return is->st_size && pread(fd, &byte, 1, is->st_size - 1) == 1 && byte != '\n';
}

/* One write a line, at the end: lines of several commands do not mix. */
static void to_file(const char *state, const struct event *what, const char *message)
{
	char path[STATE_PATH_MAX], old[STATE_PATH_MAX], when[UTC_TEXT_MAX];
	struct stat is, there;
	json_t *line;
	char *text, begun[EVENT_LINE_MAX + 1];
	size_t n;
	int fd = -1;

	line = json_pack("{s:s, s:s, s:s, s:I, s:I}", "time", utc_text(when, time(NULL)), "event", name_of(what),
			 "message", message, "generation", (json_int_t)what->generation, "uid",
			 (json_int_t)(errand.here ? errand.user : event_user()));
	if (line && what->more)
		json_object_update(line, what->more);
	text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	json_decref(line);
	if (text && !trust_directory(state))
		fd = open_regular(state_path(path, state, STATE_EVENTS), O_RDWR | O_CREAT | O_APPEND, &is);
	/* Of two commands at once only the first may rename it. */
	if (fd >= 0 && is.st_size > EVENTS_BYTES && !stat(path, &there) && there.st_ino == is.st_ino &&
	    !rename(path, state_path(old, state, STATE_EVENTS_OLD))) {
		close(fd);
		fd = open_regular(path, O_RDWR | O_CREAT | O_APPEND, &is);
	}
	if (fd >= 0) {
		n = (size_t)snprintf(begun, sizeof(begun), "%s%s\n", is_cut(fd, &is) ? "\n" : "", text);
		if (n < EVENT_LINE_MAX && write(fd, begun, n) < 0)
			note("%s: %s", path, strerror(errno));
		close(fd);
	}
	free(text);
}

void event(const struct context *context, struct event what, const char *fmt, ...)
{
	char message[EVENT_MESSAGE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	clean_text(message);
	to_journal(context->state, &what, message);
	to_file(context->state, &what, message);
	json_decref(what.more);
}

static int open_file(const char *directory, const char *name, struct stat *is)
{
	char path[STATE_PATH_MAX];

	return open_regular(state_path(path, directory, name), O_RDONLY, is);
}

/*
 * Which file it is: its inode's number may come again as soon as it is gone, but not together with a first line that
 * has the time in it. 0: it is empty, or there is none.
 */
static unsigned long long id_of(int fd, const struct stat *is)
{
	char line[EVENT_LINE_MAX];
	ssize_t n = fd < 0 ? 0 : pread(fd, line, sizeof(line), 0);
	unsigned long long id = is->st_ino;

	for (ssize_t i = 0; i < n && line[i] != '\n'; i++)
		id = (id ^ (unsigned char)line[i]) * 0x100000001b3; /* as FNV-1a does */
	return n > 0 ? id | 1 : 0;
}

void events_begin(struct events_tail *tail, const char *directory)
{
	struct stat is;
	int fd = open_file(directory, STATE_EVENTS, &is);

	*tail = (struct events_tail){ .directory = directory, .at = (long)is.st_size, .file = id_of(fd, &is) };
	close_fd(fd);
}

void events_from_start(struct events_tail *tail, const char *directory)
{
	struct stat is;
	int fd = open_file(directory, STATE_EVENTS_OLD, &is);

	*tail = (struct events_tail){ .directory = directory, .file = id_of(fd, &is) };
	close_fd(fd);
}

static void go_to(struct events_tail *tail, unsigned long long file)
{
	tail->file = file;
	tail->at = 0;
}

/* The file that the position is in; that is the one before as long as it has more. */
static int open_tail(struct events_tail *tail, struct stat *is)
{
	int fd = open_file(tail->directory, STATE_EVENTS, is), old;
	unsigned long long id = id_of(fd, is), before;
	struct stat was;

	tail->old = false;
	if (!tail->file || (id == tail->file && is->st_size < tail->at))
		go_to(tail, id);
	if (id == tail->file)
		return fd;
	old = open_file(tail->directory, STATE_EVENTS_OLD, &was);
	before = id_of(old, &was);
	if (before != tail->file && id) {
		tail->lost = true;
		go_to(tail, before ?: id);
	}
	tail->old = before == tail->file && was.st_size > tail->at;
	if (!tail->old) {
		if (before == tail->file)
			go_to(tail, id);
		close_fd(old);
		return fd;
	}
	close_fd(fd);
	*is = was;
	return old;
}

bool events_next(struct events_tail *tail, char line[EVENT_LINE_MAX])
{
	char *end = NULL;
	bool cut;

	do {
		struct stat is;
		int fd = open_tail(tail, &is);
		ssize_t n = 0;

		if (fd < 0)
			return false;
		if (is.st_size > tail->at)
			n = pread(fd, line, EVENT_LINE_MAX - 1, tail->at);
		close(fd);
		if (n > 0)
			end = memchr(line, '\n', (size_t)n);
		cut = !end && n == EVENT_LINE_MAX - 1; /* two lines, as a full disk cut the first: both are lost */
		if (cut)
			tail->at += n;
		else if (!end && tail->old) /* the last one was cut */
			go_to(tail, 0);
	} while (!end && (tail->old || cut));
	if (!end)
		return false;
	*end = '\0';
	tail->at += end - line + 1;
	return true;
}

static bool is_of(const char *line, enum event_kind kind)
{
	char member[32];

	snprintf(member, sizeof(member), "\"event\":\"%s\"", kinds[kind].name);
	return strstr(line, member) != NULL;
}

bool event_matters(const char *line)
{
	static const enum event_kind matter[] = { EVENT_REFUSED, EVENT_GUARD,  EVENT_REVERTED,
						  EVENT_FAULT,	 EVENT_HEALED, EVENT_ATTACK };

	for (size_t i = 0; i < sizeof(matter) / sizeof(*matter); i++)
		if (is_of(line, matter[i]))
			return true;
	return false;
}

/* The last of the lines in [text, text + n) that is a refusal. */
static bool find_refusal(char *text, size_t n, char line[EVENT_LINE_MAX])
{
	while (n) {
		char *end = memrchr(text, '\n', n), *at;
		size_t before = end ? (size_t)(end - text) : 0;

		if (!end)
			return false; /* without its end it is not whole */
		at = memrchr(text, '\n', before);
		at = at ? at + 1 : text;
		*end = '\0';
		if (end - at < EVENT_LINE_MAX && (is_of(at, EVENT_REFUSED) || is_of(at, EVENT_GUARD))) {
			memcpy(line, at, (size_t)(end - at) + 1);
			return true;
		}
		n = (size_t)(at - text);
	}
	return false;
}

/* A log is little more than EVENTS_BYTES before another begins. */
#define LOG_MOST (2 * EVENTS_BYTES)

bool events_last_refusal(const char *directory, char line[EVENT_LINE_MAX])
{
	static const char *const logs[] = { STATE_EVENTS, STATE_EVENTS_OLD };
	char *text = malloc(LOG_MOST + 1);
	bool found = false;

	for (size_t i = 0; i < 2 && text && !found; i++) {
		struct stat is;
		int fd = open_file(directory, logs[i], &is);
		off_t from = is.st_size > LOG_MOST ? is.st_size - LOG_MOST : 0;
		ssize_t n = fd < 0 ? -1 : pread(fd, text, LOG_MOST, from);

		close_fd(fd);
		text[n > 0 ? n : 0] = '\0';
		found = n > 0 && find_refusal(text, strlen(text), line);
	}
	free(text);
	return found;
}
