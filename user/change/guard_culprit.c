// SPDX-License-Identifier: GPL-2.0-only
#include "change/guard_culprit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "change/guard_needs.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "sets/reader.h"
#include "state/state.h"

struct search {
	struct addr addr;
	ip6 lo, hi;
	uint64_t line; /* 0: not found */
};

static int on_entry(void *arg, int family, ip6 lo, ip6 hi, uint64_t line)
{
	struct search *s = arg;

	if (family != s->addr.family || s->addr.num < lo || s->addr.num > hi)
		return 0;
	s->lo = lo;
	s->hi = hi;
	s->line = line;
	return -ECANCELED;
}

/* The text of a list that is just being loaded is not in the state yet. */
static void find_line(struct search *s, const struct guard *guard, struct state *state, const struct list_info *list)
{
	struct reader_options options = { .skip_bad = true, .each = on_entry, .arg = s };
	bool fresh = guard->list && !strcmp(guard->list, list->name);
	int fd = fresh ? fcntl(guard->text, F_DUPFD_CLOEXEC, 0) : state_text_get(state, list->name);
	char path[64], error[READER_TEXT_MAX];
	struct ranges none = RANGES_EMPTY;
	struct reader_report report;

	if (fd < 0)
		return;
	if (list->format[0])
		options.format = list->format;
	memcpy(options.where, list->where, sizeof(options.where));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reader_read(path, &options, &none, &report, error);
	ranges_free(&none);
	close(fd);
}

/* As a prefix, or as a range. */
static void entry_text(char text[2 * PREFIX_TEXT_MAX], const struct search *s)
{
	unsigned int length = addr_width(s->addr.family);
	char first[PREFIX_TEXT_MAX], last[PREFIX_TEXT_MAX];
	ip6 span = s->hi - s->lo;

	for (ip6 bits = span; bits; bits >>= 1)
		length--;
	prefix_text(first, (struct addr){ s->lo, s->addr.family }, -1);
	if (!(span & (span + 1)) && !(s->lo & span)) {
		prefix_text(text, (struct addr){ s->lo, s->addr.family }, (int)length);
		return;
	}
	prefix_text(last, (struct addr){ s->hi, s->addr.family }, -1);
	snprintf(text, 2 * PREFIX_TEXT_MAX, "%s-%s", first, last);
}

static bool holds(struct state *state, const struct list_info *list, struct addr addr)
{
	struct ranges set = RANGES_EMPTY;
	bool is =
		list->kind == LIST_BAN && !state_list_set(state, list->name, &set) && ranges_covering(&set, addr) >= 0;

	ranges_free(&set);
	return is;
}

const char *culprit_text(char text[CULPRIT_TEXT_MAX], const struct guard *guard, struct state *state, struct addr addr)
{
	struct list_info *lists = NULL;
	char entry[2 * PREFIX_TEXT_MAX];
	size_t n, i = 0;

	text[0] = '\0';
	if (state_lists(state, &lists, &n))
		n = 0;
	while (i < n && !holds(state, &lists[i], addr))
		i++;
	if (i < n) {
		struct search s = { .addr = addr };

		find_line(&s, guard, state, &lists[i]);
		if (s.line) {
			entry_text(entry, &s);
			snprintf(text, CULPRIT_TEXT_MAX, "it is %s in list '%s', %s:%llu", entry, lists[i].name,
				 lists[i].source, (unsigned long long)s.line);
		} else {
			snprintf(text, CULPRIT_TEXT_MAX, "it is in list '%s'", lists[i].name);
		}
	}
	free(lists);
	return text;
}

static bool drops(const struct context *context, struct addr addr)
{
	struct live live;
	bool is = !live_open(&live, context) && live_drops(&live, addr);

	live_close(&live);
	return is;
}

/* A list with a scope may let through what is waited for; what no list bans, a live ban does. */
const char *dropped_text(char text[DROPPED_TEXT_MAX], const struct context *context, const char *address)
{
	struct list_info *lists = NULL, *scoped = NULL, *by = NULL;
	struct state *state = NULL;
	struct addr addr;
	size_t n = 0;

	text[0] = '\0';
	if (addr_parse(address, strlen(address), &addr))
		return text;
	addr_unmap(&addr);
	if (!drops(context, addr))
		return text;
	if (state_open(&state, context, false) || state_lists(state, &lists, &n))
		n = 0;
	for (size_t i = 0; i < n && !by; i++)
		if (holds(state, &lists[i], addr))
			*(lists[i].scope[0] ? &scoped : &by) = &lists[i];
	if (by || !scoped)
		snprintf(text, DROPPED_TEXT_MAX, "; the filter in force drops what comes from %.*s%s%s%s",
			 PREFIX_TEXT_MAX, address, by ? " (list '" : "", by ? by->name : "", by ? "')" : "");
	state_close(state);
	free(lists);
	return text;
}
