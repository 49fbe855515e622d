// SPDX-License-Identifier: GPL-2.0-only
#include "base/log.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/progress.h"

#define LINE_MAX_BYTES 2048

/*
 * Errors on their way up at one time: the first one, and those of cleaning up after it, which may be one for each
 * interface. A text that was never written takes no memory.
 */
#define TEXTS 256
#define MARKS ((1U << (31 - ERRNO_BITS)) - 1)

static struct {
	int err;
	char text[LINE_MAX_BYTES];
} texts[TEXTS];
static unsigned int recorded;
struct log_settings log_settings;
struct log_subject log_subject;
static const char *place;

static char last[LINE_MAX_BYTES];
static int last_errno, reason_errno;

const char *log_last(void)
{
	return last;
}

int log_last_errno(void)
{
	return last_errno;
}

static void say_json(FILE *to, const struct log_subject *about, const char *level, const char *line)
{
	char when[UTC_TEXT_MAX];
	json_t *object =
		json_pack("{s:s, s:s, s:s}", "time", utc_text(when, time(NULL)), "level", level, "message", line);

	/* Where there is no text, nothing is added. */
	json_object_set_new(object, "where", json_string(place));
	if (about->verb) {
		json_object_set_new(object, "verb", json_string(about->verb));
		json_object_set_new(object, "seconds", json_real(round((clock_seconds() - about->since) * 1e3) / 1e3));
	}
	json_object_set_new(object, "list", json_string(about->list));
	json_dumpf(object, to, JSON_COMPACT | JSON_REAL_PRECISION(9));
	json_decref(object);
	fputc('\n', to);
}

bool log_told(const struct log_subject *about, const char *text)
{
	if (!log_settings.json)
		return false;
	say_json(stdout, about, "info", text);
	return true;
}

/* Always one line: names and texts of other people that it quotes may have line ends. */
static void say(const char *level, const char *fmt, va_list args)
{
	char line[LINE_MAX_BYTES];
	size_t n;

	vsnprintf(line, sizeof(line), fmt, args);
	n = strlen(line);
	if (level[0] == 'e' && (reason_errno == EACCES || reason_errno == EPERM) && geteuid() && !strstr(line, "root"))
		snprintf(line + n, sizeof(line) - n, " (you are not root: sudo xdp-bloom)");
	clean_text(line);
	if (level[0] == 'e') {
		memcpy(last, line, sizeof(last));
		last_errno = reason_errno;
	}
	fflush(stdout);
	progress_end();
	if (log_settings.json)
		say_json(stderr, &log_subject, level, line);
	else
		fprintf(stderr, "xdp-bloom: %s%s%s\n", place ? place : "", place ? ": " : "", line);
}

#define SAY_IF(condition, level, fmt)                              \
	do {                                                       \
		va_list args;                                      \
		va_start(args, fmt);                               \
		if (condition)                                     \
			say(level, fmt, args);                     \
		va_end(args);                                      \
		reason_errno = 0; /* whether it was said or not */ \
	} while (0)

int fail(const char *fmt, ...)
{
	SAY_IF(true, "error", fmt);
	return EXIT_ERROR;
}

static struct kind {
	const char *fmt;
	unsigned int n;
	char first[256];
} kinds[16];
static bool by_kind;

static struct kind *kind_of(const char *fmt)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && by_kind; i++) {
		if (!kinds[i].fmt)
			kinds[i].fmt = fmt;
		if (kinds[i].fmt == fmt)
			return &kinds[i];
	}
	return NULL;
}

void warn(const char *fmt, ...)
{
	struct kind *kind = kind_of(fmt);
	bool again = kind && kind->n++;

	if (kind && !again) {
		va_list args;

		va_start(args, fmt);
		vsnprintf(kind->first, sizeof(kind->first), fmt, args);
		va_end(args);
	}
	SAY_IF(!log_settings.quiet && !again, "warning", fmt);
}

void log_by_kind(bool on)
{
	by_kind = false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !on; i++)
		if (kinds[i].n > 1)
			warn("%u more like this: %s", kinds[i].n - 1, kinds[i].first);
	memset(kinds, 0, sizeof(kinds));
	by_kind = on;
}

void note(const char *fmt, ...)
{
	SAY_IF(log_settings.verbose, "info", fmt);
}

void log_where(const char *where)
{
	place = where;
}

int because(int err, const char *fmt, ...)
{
	unsigned int mark = recorded++ % MARKS + 1;
	char text[LINE_MAX_BYTES]; /* a reason from the place that this one takes may be quoted in it */
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	memcpy(texts[mark % TEXTS].text, text, sizeof(text));
	return texts[mark % TEXTS].err = -(int)(mark << ERRNO_BITS | (unsigned int)error_number(err));
}

const char *reason(int err)
{
	reason_errno = error_number(err);
	for (int i = 0; i < TEXTS; i++)
		if (err && texts[i].err == err)
			return texts[i].text;
	return errno_text(err);
}

const char *errno_text(int err)
{
	return strerror(error_number(err));
}
