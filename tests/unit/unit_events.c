// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event log: what each kind of event is called, and a reader that follows it over files that begin anew, are cut,
 * or are none. Every line comes once.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/state_path.h"
#include "state/events.h"
#include "ktap.h"

#define FILE_BYTES (256 << 10)

static char directory[200], file[STATE_PATH_MAX], before[STATE_PATH_MAX];
static struct context context = CONTEXT_DEFAULT;

static void begin(void)
{
	unlink(file);
	unlink(before);
}

/* A line's field as text; NULL: it has none. */
static const char *field(const char *line, const char *name)
{
	static char text[EVENT_LINE_MAX];
	json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL), *value = json_object_get(object, name);

	CHECK(json_is_object(object), "no line: '%.100s'", line);
	if (json_is_integer(value))
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
	else
		snprintf(text, sizeof(text), "%s", json_string_value(value) ?: "");
	json_decref(object);
	return value ? text : NULL;
}

#define HAS(line, name, text) \
	CHECK(field(line, name) && !strcmp(field(line, name), text), "%s is '%s'", name, field(line, name))

static void kinds(void)
{
	static const char *const names[] = {
		[EVENT_DONE] = "verb",	     [EVENT_REFUSED] = "refused",   [EVENT_GUARD] = "guard",
		[EVENT_EXPIRED] = "expired", [EVENT_REVERTED] = "reverted", [EVENT_CAPACITY] = "capacity",
		[EVENT_FAULT] = "fault",     [EVENT_HEALED] = "healed",	    [EVENT_ATTACK] = "attack",
		[EVENT_BAN] = "ban",	     [EVENT_LEARNED] = "learned",
	};
	char line[EVENT_LINE_MAX], longest[2 * EVENT_MESSAGE_MAX];
	struct events_tail tail;
	struct stat is;

	begin();
	events_begin(&tail, directory);
	CHECK(!events_next(&tail, line), "a line without a file");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		event(&context, (struct event){ (enum event_kind)i, .verb = "verb", .generation = i },
		      "what \"%zu\"\n\033", i);
		if (!CHECK(events_next(&tail, line), "no line"))
			return;
		HAS(line, "event", names[i]);
		CHECK(atoi(field(line, "generation")) == (int)i, "%s", line);
		CHECK(!strncmp(field(line, "message"), "what \"", 6) && !strpbrk(field(line, "message"), "\n\033"),
		      "%s", line);
		CHECK(strlen(field(line, "time")) == 20 && field(line, "time")[19] == 'Z' && field(line, "uid"), "%s",
		      line);
	}
	CHECK(!events_next(&tail, line), "a line too many");
	CHECK(!stat(file, &is) && (is.st_mode & 0777) == 0600, "mode %o", is.st_mode);
	event(&context,
	      (struct event){ .kind = EVENT_BAN, .more = json_pack("{s:s, s:i}", "event", "mine", "more", 7) }, "x");
	CHECK(events_next(&tail, line), "no line");
	HAS(line, "more", "7");
	HAS(line, "event", "mine");
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	event(&context, (struct event){ .kind = EVENT_BAN }, "%s", longest);
	CHECK(events_next(&tail, line) && strlen(field(line, "message")) == EVENT_MESSAGE_MAX - 1, "%zu bytes",
	      strlen(field(line, "message")));
	/* Behind a reader that begins now there is nothing. */
	events_begin(&tail, directory);
	CHECK(!events_next(&tail, line), "an old line");
	events_from_start(&tail, directory);
	CHECK(events_next(&tail, line), "no line from the start");
	HAS(line, "event", "verb");
}

/* A reader that is late by up to a file, and one that is never: both get all of them, in their order. */
static void followed(void)
{
	struct events_tail late, soon;
	char line[EVENT_LINE_MAX];
	unsigned int late_n = 0, soon_n = 0, files = 0;
	struct stat is, old;
	ino_t inode = 0;

	begin();
	events_begin(&late, directory);
	events_begin(&soon, directory);
	for (unsigned int i = 0; i < 2500; i++) {
		event(&context, (struct event){ .kind = EVENT_BAN }, "%u %0400d", i, 0);
		CHECK(events_next(&soon, line) && atoi(field(line, "message")) == (int)soon_n++, "event %u: '%.100s'",
		      i, line);
		CHECK(!events_next(&soon, line), "one too many");
		CHECK(!stat(file, &is) && is.st_size <= FILE_BYTES + EVENT_LINE_MAX, "%ld bytes", (long)is.st_size);
		if (is.st_ino != inode) {
			files++;
			inode = is.st_ino;
			CHECK(files == 1 || (!stat(before, &old) && old.st_size > FILE_BYTES), "%ld bytes before it",
			      (long)old.st_size);
		}
		if (i % 450 != 449)
			continue;
		while (events_next(&late, line))
			CHECK(atoi(field(line, "message")) == (int)late_n++, "'%.100s'", line);
		CHECK(late_n == i + 1, "%u of %u", late_n, i + 1);
	}
	CHECK(files >= 4, "%u files", files);
	/* From the start: what both files have. */
	events_from_start(&late, directory);
	CHECK(events_next(&late, line), "no line");
	late_n = (unsigned int)atoi(field(line, "message")) + 1;
	CHECK(late_n > 1 && late_n < 2000, "from %u on", late_n - 1);
	while (events_next(&late, line))
		CHECK(atoi(field(line, "message")) == (int)late_n++, "'%.100s'", line);
	CHECK(late_n == 2500, "up to %u", late_n);
}

static char lines[16 << 10];

static void append(const char *text, size_t n)
{
	int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, text, n) == (ssize_t)n, "it cannot be written");
	close(fd);
}

/* By a full disk: the next line is one of its own. */
static void cut(void)
{
	static char endless[3 * EVENT_LINE_MAX];
	char line[EVENT_LINE_MAX];
	struct events_tail tail;

	begin();
	events_begin(&tail, directory);
	append("half", 4);
	CHECK(!events_next(&tail, line), "half a line is one");
	event(&context, (struct event){ .kind = EVENT_BAN }, "one");
	CHECK(events_next(&tail, line) && !strcmp(line, "half"), "'%.100s'", line);
	CHECK(events_next(&tail, line), "no line");
	HAS(line, "message", "one");
	/* Longer than any: it is lost, and what follows is not. */
	memset(endless, 'x', sizeof(endless));
	append(endless, sizeof(endless));
	event(&context, (struct event){ .kind = EVENT_BAN }, "two");
	event(&context, (struct event){ .kind = EVENT_BAN }, "three");
	while (events_next(&tail, line) && *line == 'x')
		;
	HAS(line, "message", "two");
	CHECK(events_next(&tail, line), "no line");
	HAS(line, "message", "three");
	/* Another that is shorter is read from its beginning. */
	CHECK(!truncate(file, 0), "it is as long as before");
	append("{}\n", 3);
	CHECK(events_next(&tail, line) && !strcmp(line, "{}") && !events_next(&tail, line), "'%.100s'", line);
}

static void fill(const char *what)
{
	struct stat is = { 0 };

	for (unsigned int i = 0; i < 100 && is.st_size <= FILE_BYTES; i++) {
		event(&context, (struct event){ .kind = EVENT_BAN }, "%s %u", what, i);
		append(lines, strlen(lines));
		CHECK(!stat(file, &is), "no file");
	}
}

/* By a reader that comes too late: it says so, and goes on with the oldest that there is. */
static void lost(void)
{
	char line[EVENT_LINE_MAX];
	struct events_tail tail, at_end;
	struct stat is;

	begin();
	for (size_t i = 0; i < sizeof(lines) - 1; i++)
		lines[i] = i % 64 == 63 ? '\n' : 'x';
	event(&context, (struct event){ .kind = EVENT_BAN }, "first");
	events_from_start(&tail, directory);
	CHECK(events_next(&tail, line) && !tail.lost && !tail.old, "no line");
	fill("a");
	events_begin(&at_end, directory);
	event(&context, (struct event){ .kind = EVENT_BAN }, "b");
	/* All of it was read, then another began. */
	CHECK(events_next(&at_end, line) && !at_end.lost, "what was read is lost");
	CHECK(events_next(&tail, line) && tail.old && !tail.lost, "it is not behind");
	fill("c");
	event(&context, (struct event){ .kind = EVENT_BAN }, "d");
	CHECK(events_next(&tail, line) && tail.lost && tail.old, "nothing is lost");
	HAS(line, "message", "b");
	CHECK(events_next(&at_end, line) && !at_end.lost, "the file before is lost");
	/* The inode's number alone is that of a file that is gone, too. */
	CHECK(!stat(file, &is), "no file");
	tail = (struct events_tail){ .directory = directory, .at = 100, .file = is.st_ino };
	CHECK(events_next(&tail, line) && tail.lost && *line == '{', "from the middle of a line: %.40s", line);
}

static void what_matters(void)
{
	char line[EVENT_LINE_MAX];
	struct events_tail tail;

	begin();
	events_begin(&tail, directory);
	for (int i = EVENT_DONE; i <= EVENT_LEARNED; i++) {
		event(&context, (struct event){ (enum event_kind)i, .verb = "verb" }, "\"event\":\"fault\"");
		CHECK(events_next(&tail, line), "no line");
		CHECK(event_matters(line) == (i == EVENT_REFUSED || i == EVENT_GUARD || i == EVENT_REVERTED ||
					      i == EVENT_FAULT || i == EVENT_HEALED || i == EVENT_ATTACK),
		      "%s", line);
	}
}

static void refusals(void)
{
	char line[EVENT_LINE_MAX] = "";

	begin();
	CHECK(!events_last_refusal(directory, line), "one of no file");
	event(&context, (struct event){ .kind = EVENT_BAN }, "\"event\":\"refused\"");
	CHECK(!events_last_refusal(directory, line), "a ban is one: %s", line);
	event(&context, (struct event){ .kind = EVENT_REFUSED }, "one");
	CHECK(events_last_refusal(directory, line), "none");
	HAS(line, "message", "one");
	event(&context, (struct event){ .kind = EVENT_GUARD }, "two");
	event(&context, (struct event){ .kind = EVENT_BAN }, "three");
	append("{\"event\":\"refused\",\"message\":\"half\"", 36);
	CHECK(events_last_refusal(directory, line), "none");
	HAS(line, "message", "two");
	/* Its only line has no end. */
	CHECK(!rename(file, before), "no such file");
	append("{\"event\":\"refused\",\"message\":\"half\"", 36);
	CHECK(events_last_refusal(directory, line), "none");
	HAS(line, "message", "two");
	unlink(before);
	CHECK(!events_last_refusal(directory, line), "half a line is one: %s", line);
	begin();
	event(&context, (struct event){ .kind = EVENT_GUARD }, "two");
	/* In the file before. */
	CHECK(!rename(file, before), "no such file");
	CHECK(events_last_refusal(directory, line), "none");
	HAS(line, "message", "two");
	event(&context, (struct event){ .kind = EVENT_REFUSED }, "four");
	CHECK(events_last_refusal(directory, line), "none");
	HAS(line, "message", "four");
}

/* What is no file keeps nobody waiting, and is not written into. */
static void no_files(void)
{
	char line[EVENT_LINE_MAX];
	struct events_tail tail;

	begin();
	CHECK(!mkfifo(file, 0600), "no pipe");
	event(&context, (struct event){ .kind = EVENT_REFUSED }, "one");
	events_from_start(&tail, directory);
	CHECK(!events_next(&tail, line) && !events_last_refusal(directory, line), "a line of a pipe");
	unlink(file);
	CHECK(!symlink(before, file), "no link");
	event(&context, (struct event){ .kind = EVENT_REFUSED }, "one");
	events_from_start(&tail, directory);
	CHECK(access(before, F_OK) && !events_next(&tail, line), "a link is followed");
	unlink(file);
	/* Whose directory others may write to has no log. */
	CHECK(!chmod(directory, 0707), "mode");
	event(&context, (struct event){ .kind = EVENT_REFUSED }, "one");
	CHECK(access(file, F_OK), "it is written where others may write");
	CHECK(!chmod(directory, 0700), "mode");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "kinds", kinds },	  { "followed", followed },	    { "cut", cut },
		{ "lost", lost },	  { "what matters", what_matters }, { "refusals", refusals },
		{ "no_files", no_files },
	};
	int status;

	alarm(60);
	snprintf(directory, sizeof(directory), "%s/unit_events.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		return KTAP_FAIL;
	context.state = directory;
	state_path(file, directory, STATE_EVENTS);
	state_path(before, directory, STATE_EVENTS_OLD);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	begin();
	rmdir(directory);
	return status;
}
