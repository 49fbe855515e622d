// SPDX-License-Identifier: GPL-2.0-only
#include "change/catalog.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/close_fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/span.h"
#include "fetch/request.h"
#include "sets/list.h"
#include "sets/reader.h"
#include "sets/where.h"

#define CATALOG_MOST ((off_t)4 << 20)

/* Installed, and in the build. */
static const char *const places[] = { "/../share/xdp-bloom/feeds", "/feeds", NULL };

struct word {
	const char *name;
	size_t at;
	bool needed;
};

#define WORD(name, needed)                                         \
	{                                                          \
#name, offsetof(struct catalog_feed, name), needed \
	}

static const struct word words[] = {
	WORD(by, true),	     WORD(holds, true),	  WORD(family, true),
	WORD(format, false), WORD(where, false),  WORD(account, false),
	WORD(http, false),   WORD(note, false),	  WORD(terms, true),
	WORD(size, true),    WORD(written, true), { "from", offsetof(struct catalog_feed, url), true },
};

static const char *take_every(struct catalog_feed *feed, char *value)
{
	char *by = strchr(value, ' ');
	double seconds;

	if (feed->every)
		return "'every' stands there twice";
	if (!by)
		return "'every' takes a time, and who says so";
	*by = '\0';
	seconds = span_seconds(value);
	if (seconds < CATALOG_EVERY_LEAST || seconds > 366 * 86400.0)
		return "'every' is 5m to 366d";
	feed->every = (int64_t)seconds;
	feed->every_by = by + 1;
	return NULL;
}

static const char *take_was(struct catalog_feed *feed, const char *value)
{
	for (size_t i = 0; i < CATALOG_WAS_MOST; i++)
		if (!feed->was[i]) {
			feed->was[i] = value;
			return fetch_url_fault(value, true);
		}
	return "more addresses that it had than are kept";
}

static const char *take_word(struct catalog_feed *feed, const char *name, char *value)
{
	if (!strcmp(name, "every"))
		return take_every(feed, value);
	if (!strcmp(name, "was"))
		return take_was(feed, value);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char **at = (const char **)((char *)feed + words[i].at);

		if (strcmp(words[i].name, name) != 0)
			continue;
		if (*at)
			return "this word stands there twice";
		*at = value;
		return NULL;
	}
	return "a word that is not known";
}

static bool is_date(const char *text)
{
	static const char shape[] = "dddd-dd-dd";

	for (size_t i = 0; i < sizeof(shape); i++)
		if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : shape[i] != text[i])
			return false;
	return true;
}

static bool is_format(const char *format)
{
	if (!strncmp(format, "csv:", 4))
		return true;
	for (const char *const *known = reader_formats(); *known; known++)
		if (!strcmp(*known, format))
			return true;
	return false;
}

static const char *where_fault(const char *where)
{
	char conditions[WHERE_MAX] = "";

	return where_add(conditions, where);
}

/* NULL, or what is wrong with a block, at its end. */
static const char *fault_of(const struct catalog_feed *feed)
{
	static char missing[64];

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].needed && !*(const char *const *)((const char *)feed + words[i].at)) {
			snprintf(missing, sizeof(missing), "the feed before has no '%s'", words[i].name);
			return missing;
		}
	if (!feed->every)
		return "the feed before has no 'every'";
	if (strcmp(feed->family, "4") != 0 && strcmp(feed->family, "6") != 0 && strcmp(feed->family, "both") != 0)
		return "the family of the feed before is not 4, 6 or both";
	if (!is_date(feed->written))
		return "the feed before was written on a day such as 2026-11-23";
	if (feed->format && !is_format(feed->format))
		return "the format of the feed before is none that is read";
	if (feed->where && where_fault(feed->where))
		return "the rows of the feed before are no COLUMN=VALUE";
	return fetch_url_fault(feed->url, feed->http);
}

static const char *begin_feed(struct catalog *c, const char *name)
{
	if (!*name || strlen(name) >= LIST_NAME_MAX || name[strspn(name, LIST_NAME_BYTES)] || *name == '-' ||
	    *name == '.')
		return "a feed is called as a list may be";
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->feeds[i].name, name))
			return "there is a feed of this name before";
	if (!GROW(c->feeds, c->n))
		return strerror(ENOMEM);
	c->feeds[c->n++] = (struct catalog_feed){ .name = name };
	return NULL;
}

static const char *take_line(struct catalog *c, char *line)
{
	char *value = strchr(line, ' '), *end = line + strlen(line);

	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	if (!*line || *line == '#')
		return NULL;
	for (const char *at = line; at < end; at++)
		if (*at < ' ' || *at > '~')
			return "a byte that is no printable ASCII";
	if (!value || value >= end)
		return "a line is a word and what it says";
	*value++ = '\0';
	if (!strcmp(line, "feed")) {
		const char *reason = c->n ? fault_of(&c->feeds[c->n - 1]) : NULL;

		return reason ?: begin_feed(c, value);
	}
	return c->n ? take_word(&c->feeds[c->n - 1], line, value) : "a feed begins with 'feed NAME'";
}

static int read_text(struct catalog *c, const char *path, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat st;
	ssize_t n = -1;

	if (fd < 0 || fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size > CATALOG_MOST)
		err = because(-EINVAL, "not a regular file of at most 4 MiB");
	else if (!(c->text = malloc((size_t)st.st_size + 1)))
		err = -ENOMEM;
	else if ((n = pread(fd, c->text, (size_t)st.st_size, 0)) < 0)
		err = -errno;
	close_fd(fd);
	if (err)
		return because(err, "%s: %s", path, reason(err));
	c->text[n] = '\0';
	*length = (size_t)n;
	return 0;
}

int catalog_read(struct catalog *c, const char *path)
{
	const char *fault = NULL;
	char own[BESIDE_MAX], *rest, *line;
	unsigned int number = 0;
	size_t length = 0;
	int err = 0;

	*c = (struct catalog){ 0 };
	if (!path) {
		err = beside_find(own, places);
		path = own;
	}
	if (err)
		return because(err, "the catalog of feeds is not where it was installed: %s", own);
	err = read_text(c, path, &length);
	if (err) {
		catalog_free(c);
		return err;
	}
	if (strlen(c->text) != length)
		fault = "a NUL byte: this is not a text file";
	for (rest = c->text; !fault && (line = strsep(&rest, "\n"));) {
		number++;
		fault = take_line(c, line);
	}
	if (!fault && c->n)
		fault = fault_of(&c->feeds[c->n - 1]);
	if (!fault)
		return 0;
	err = because(-EINVAL, "%s:%u: %s", path, number, fault);
	catalog_free(c);
	return err;
}

void catalog_free(struct catalog *c)
{
	free(c->text);
	free(c->feeds);
	*c = (struct catalog){ 0 };
}

int catalog_find(const struct catalog *c, const char *name, const struct catalog_feed **feed)
{
	struct nearest near = { .word = name + (*name == '@') };

	for (size_t i = 0; i < c->n; i++) {
		*feed = &c->feeds[i];
		if (!strcmp(c->feeds[i].name, near.word))
			return 0;
		nearest_try(&near, c->feeds[i].name);
	}
	return because(-ENOENT, "@%.63s: no feed of this name is known%s", near.word,
		       nearest_text(&near, "; 'xdp-bloom feeds known' lists them"));
}

bool catalog_matches(const struct catalog_feed *f, const char *pattern)
{
	return strcasestr(f->name, pattern) || strcasestr(f->by, pattern) || strcasestr(f->holds, pattern) ||
	       strcasestr(f->url, pattern);
}
