// SPDX-License-Identifier: GPL-2.0-only
/* What is wrong. */
#include "kernel/held_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/log.h"
#include "kernel/tc.h"

PRINTF(3, 4) static void say(struct held *h, unsigned int what, const char *fmt, ...)
{
	size_t n = strlen(h->faults);
	va_list args;

	h->found |= what;
	if (n)
		n += (size_t)snprintf(h->faults + n, sizeof(h->faults) - n, "; ");
	if (n >= sizeof(h->faults))
		return;
	va_start(args, fmt);
	vsnprintf(h->faults + n, sizeof(h->faults) - n, fmt, args);
	va_end(args);
}

bool held_is_right(const struct held *h, struct part *part, struct pinned *is)
{
	struct stat st;
	int fd;

	memset(is, 0, sizeof(*is));
	part->dev = 0;
	fd = held_get(h, part, &st);
	if (fd < 0 || pinned_info(fd, is) || is->kind != part->is.kind || is->id != part->is.id) {
		close_fd(fd);
		return false;
	}
	close(fd);
	part->dev = st.st_dev;
	part->ino = st.st_ino;
	return true;
}

static void look_at_pins(struct held *h)
{
	char text[PINNED_TEXT_MAX], gone[256] = "";
	struct pinned is;
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (h->parts[i].detached || held_is_right(h, &h->parts[i], &is))
			continue;
		if (is.kind) {
			say(h, HELD_PINS, "%s is %s, not ours", h->parts[i].name, pinned_text(text, &is));
		} else if (n++ < 3) {
			strncat(gone, n > 1 ? ", " : "", sizeof(gone) - strlen(gone) - 1);
			strncat(gone, h->parts[i].name, sizeof(gone) - strlen(gone) - 1);
		}
	}
	if (n > 3)
		say(h, HELD_PINS, "%s and %zu more pins are gone from %s", gone, n - 3, h->context->bpffs);
	else if (n)
		say(h, HELD_PINS, "%s %s gone from %s", gone, n > 1 ? "are" : "is", h->context->bpffs);
}

/* The others of what comes in, or leaves, there are what is pinned under its name, too. */
static bool is_second(const struct held *h, const struct part *part)
{
	for (const struct part *one = h->parts; one < part; one++)
		if (one->group == LINK && one->where == part->where &&
		    MATCH_LEAVES(one->at.match) == MATCH_LEAVES(part->at.match) &&
		    MATCH_BY_TC(one->at.match) != MATCH_BY_TC(part->at.match))
			return true;
	return false;
}

static void look_at_links(struct held *h)
{
	char name[IF_NAMESIZE];
	struct pinned is;

	for (size_t i = 0; i < h->n; i++) {
		struct part *part = &h->parts[i];
		unsigned int where = part->group == LINK ? held_filters_where(h, part) : 0;

		if (part->group != LINK)
			continue;
		part->detached = !where && part->where && if_indextoname(part->where, name);
		if (part->detached) {
			memcpy(part->at.name, name, sizeof(name));
			say(h, HELD_DETACHED, "%s is not filtered any more", name);
		} else {
			part->where = where;
			if (where && is_second(h, part) && if_indextoname(where, name))
				say(h, HELD_TWICE, "%s is filtered twice", name);
		}
		if (held_runs_root(h, part))
			continue;
		/* A command is about to turn it, or was killed before it did. */
		if (!attachment_runs(h->context, &part->at, part->fd, part->where, &is) && held_is_root(h, is.program))
			say(h, HELD_PINS, "%s is asked about other addresses than its pin says", part->at.name);
		else
			say(h, HELD_GAP, "%s runs another program than ours", part->at.name);
	}
}

/* Is it one that a command has pinned? */
static bool is_pinned(const struct held *h, unsigned int match, __u32 id)
{
	DIR *dir = pin_directory(h->context, PIN_GENERATIONS);
	const char *name;
	bool is = false;

	while ((name = pin_next(&dir))) {
		__u64 number = strtoull(name, NULL, 10);

		is = is || held_program_of(h, number, match_pins[match].program) == id ||
		     held_program_of(h, number, match_pins[match].trial) == id;
	}
	return is;
}

static void look_at_slot(struct held *h, unsigned int match)
{
	__u32 is = held_in_slot(h, match);

	if (h->in_slot[match] && !is)
		say(h, HELD_GAP, "the %s is empty", match_pins[match].slot);
	else if (is != h->in_slot[match] && match != MATCH_SOURCE && is_pinned(h, match, is))
		/* The first slot is filled last: a command is about to, or was killed before it did. */
		say(h, HELD_PINS, "the %s has another generation's program", match_pins[match].slot);
	else if (is != h->in_slot[match])
		say(h, HELD_GAP, "the %s has another program than ours", match_pins[match].slot);
}

/* What can be seen without opening a pin. */
static bool is_untouched(const struct held *h)
{
	size_t links = 0, pinned = 0;
	struct attachment at;
	const char *name;
	struct stat st;
	DIR *dir;

	if (!h->n || h->found || h->forget || h->expected.number)
		return false;
	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		if (held_in_slot(h, m) != h->in_slot[m])
			return false;
	for (size_t i = 0; i < h->n; i++) {
		const struct part *part = &h->parts[i];

		if (!part->dev || !held_stands(h, part, &st) || st.st_dev != part->dev || st.st_ino != part->ino)
			return false;
		links += part->group == LINK;
		if (part->group == LINK && (held_filters_where(h, part) != part->where || !held_runs_root(h, part)))
			return false;
	}
	dir = pin_directory(h->context, PIN_LINKS);
	while ((name = pin_next(&dir)))
		pinned += attachment_of_pin(name, &at);
	return links == pinned;
}

unsigned int held_look(struct held *h)
{
	struct held now = { .context = h->context, .expected = h->expected };
	int err;

	if (is_untouched(h))
		return 0;
	err = held_take(&now);
	if (!err && (h->n || now.n))
		held_merge(h, &now);
	held_clear(&now);
	h->found = 0;
	h->faults[0] = '\0';
	if (err_is(err, EMFILE) || err_is(err, ENFILE)) {
		say(h, HELD_UNSEEN, "what is in the kernel cannot be looked at, nor held: %s%s", errno_text(err),
		    err_is(err, EMFILE) ? " (ulimit -n, LimitNOFILE= of the service)" : "");
		return h->found;
	}
	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		look_at_slot(h, m);
	look_at_links(h);
	look_at_pins(h);
	return h->found;
}

void held_expect(struct held *h, struct committed committed)
{
	h->expected = committed;
}

const char *held_faults(const struct held *h)
{
	return h->faults;
}
