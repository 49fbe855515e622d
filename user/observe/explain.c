// SPDX-License-Identifier: GPL-2.0-only
#include "observe/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/close_fd.h"
#include "base/grow.h"
#include "bpf/abi.h"
#include "state/kept_image.h"
#include "base/log.h"
#include "sets/reader.h"
#include "state/bans.h"
#include "state/settings.h"

/* One list's text against all addresses that its set holds. */
struct search {
	struct explanation *e;
	size_t list;
	struct state *state;
	const char *path; /* of its file; NULL: the state has a copy */
	const struct addr *addrs;
	size_t *sorted; /* indices of addresses, IPv4 first, ascending */
	size_t n;
	size_t *next; /* of each of them, and one more: the first from there on whose line may be unknown */
	size_t missing;
};

static int by_address(const void *a, const void *b, void *addrs)
{
	const struct addr *x = (struct addr *)addrs + *(const size_t *)a,
			  *y = (struct addr *)addrs + *(const size_t *)b;

	if (x->family != y->family)
		return x->family - y->family;
	return x->num < y->num ? -1 : x->num > y->num;
}

/* The hit of that address in this list, if its line is not known yet. */
static struct hit *untraced(const struct search *s, size_t addr)
{
	const struct traced *t = &s->e->traced[addr];

	for (size_t i = 0; i < t->n; i++)
		if (t->hits[i].list == s->list)
			return t->hits[i].line ? NULL : &t->hits[i];
	return NULL;
}

/* Wide lines hold many that are known already: each is passed over once, not once a line. */
static size_t next_untraced(struct search *s, size_t at)
{
	size_t end = at;

	while (s->next[end] != end)
		end = s->next[end];
	while (s->next[at] != end) {
		size_t then = s->next[at];

		s->next[at] = end;
		at = then;
	}
	return end;
}

/* The first line that holds an address is the one that is shown. */
static int on_entry(void *arg, int family, ip6 lo, ip6 hi, uint64_t line)
{
	struct search *s = arg;
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct addr *addr = &s->addrs[s->sorted[mid]];

		if (addr->family < family || (addr->family == family && addr->num < lo))
			low = mid + 1;
		else
			high = mid;
	}
	for (low = next_untraced(s, low); low < s->n; low = next_untraced(s, low)) {
		const struct addr *addr = &s->addrs[s->sorted[low]];
		struct hit *hit;

		if (addr->family != family || addr->num > hi)
			break;
		hit = untraced(s, s->sorted[low]);
		s->next[low] = low + 1;
		if (!hit)
			continue;
		hit->lo = lo;
		hit->hi = hi;
		hit->line = line;
		if (!--s->missing)
			return -ECANCELED; /* all are found */
	}
	return 0;
}

static int trace(struct search *s)
{
	const struct list_info *list = &s->e->lists[s->list];
	struct reader_options options = { .skip_bad = true, .each = on_entry, .arg = s };
	struct reader_report report;
	struct ranges none = RANGES_EMPTY;
	char path[64], error[READER_TEXT_MAX];
	int fd = s->path ? -1 : state_text_get(s->state, list->name);

	if (fd < 0 && !s->path)
		return fd;
	if (list->format[0])
		options.format = list->format;
	memcpy(options.where, list->where, sizeof(options.where));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* A list of live exceptions has no text. Where reading fails, the ranges remain, and they are right. */
	reader_read(s->path ?: path, &options, &none, &report, error);
	ranges_free(&none);
	close_fd(fd);
	return 0;
}

/* The widest prefix of the set that holds it stands for the entry until the entry is found. */
static int add_hit(struct traced *t, size_t list, struct addr at, int length)
{
	unsigned int width = at.family == 4 ? 32 : 128, free_bits = width - (unsigned int)length;
	ip6 span = free_bits == 128 ? ~(ip6)0 : ((ip6)1 << free_bits) - 1;

	if (!GROW(t->hits, t->n))
		return -ENOMEM;
	t->hits[t->n++] = (struct hit){ .list = list, .lo = at.num & ~span, .hi = at.num | span };
	return 0;
}

static int search_list(struct search s, size_t n)
{
	struct explanation *e = s.e;
	const struct addr *addrs = s.addrs;
	int err = 0;

	s.sorted = malloc((n + 1) * sizeof(*s.sorted));
	s.next = malloc((n + 1) * sizeof(*s.next));
	if (!s.sorted || !s.next)
		err = -ENOMEM;
	for (size_t i = 0; i <= n && !err; i++)
		s.next[i] = i;
	for (size_t i = 0; i < n && !err; i++) {
		int length = ranges_covering(&e->sets[s.list], addrs[i]);

		if (length < 0)
			continue;
		s.sorted[s.n++] = i;
		err = add_hit(&e->traced[i], s.list, addrs[i], length);
	}
	s.missing = s.n;
	if (!err && s.n) {
		qsort_r(s.sorted, s.n, sizeof(*s.sorted), by_address, (void *)addrs);
		err = trace(&s);
	}
	free(s.sorted);
	free(s.next);
	return err;
}

/* Live bans appear as one more list, the last: an address that a list bans counts for that list. */
static int add_live(struct explanation *e)
{
	struct list_info *grown = reallocarray(e->lists, e->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	e->lists = grown;
	e->lists[e->n++] = (struct list_info){ .name = LIVE_LIST, .kind = LIST_BAN, .label = LABEL_LIVE };
	return 0;
}

static int search_live(struct explanation *e, struct state *state, const struct addr *addrs)
{
	int64_t now = time(NULL);
	int err = 0;

	for (size_t i = 0; i < e->addrs_n && !err; i++) {
		unsigned int beyond = addr_width(addrs[i].family) + 1;
		struct ban *ban = malloc(sizeof(*ban));
		struct traced *t = &e->traced[i];

		if (!ban)
			return -ENOMEM;
		err = state_ban_around(state, addrs[i], beyond, now, ban);
		if (!err)
			err = add_hit(t, e->n - 1, addrs[i], (int)ban->length);
		if (!err) {
			struct hit *hit = &t->hits[t->n - 1];

			hit->ban = ban;
			err = state_said_of(state, ban->first, ban->length, &hit->said, &hit->said_n);
			continue;
		}
		if (err_is(err, ENOENT)) {
			err = state_ban_around(state, addrs[i], beyond, 0, ban);
			t->ran_out = !err;
		}
		free(ban);
		err = err_is(err, ENOENT) ? 0 : err;
	}
	return err;
}

int explain(const struct context *context, struct explanation *e, const struct addr *addrs, size_t n)
{
	struct state *state = NULL;
	int err;

	memset(e, 0, sizeof(*e));
	err = state_open(&state, context, false);
	if (!err)
		err = lists_in_force(state, &e->lists, &e->n);
	if (!err)
		err = add_live(e);
	if (!err) {
		e->generation = (uint64_t)state_setting(state, SETTING_GENERATION, 0);
		e->edits = (uint64_t)state_setting(state, SETTING_EDITS, 0);
		e->image = image_kept(state);
	}
	e->sets = calloc(e->n + 1, sizeof(*e->sets));
	e->traced = calloc(n + 1, sizeof(*e->traced));
	e->addrs_n = n;
	if (!err && (!e->sets || !e->traced))
		err = -ENOMEM;
	for (size_t i = 0; i + 1 < e->n && !err; i++) {
		/* Of an image's own lists there are only the names. */
		if (e->image && e->lists[i].kind != LIST_ALLOW)
			continue;
		err = state_list_whole_set(state, &e->lists[i], &e->sets[i]);
		if (!err)
			err = search_list((struct search){ .e = e, .list = i, .state = state, .addrs = addrs }, n);
	}
	if (!err)
		err = search_live(e, state, addrs) ?: state_members(state, &e->members, &e->members_n);
	state_close(state);
	return err;
}

int explain_files(const struct context *context, struct explanation *e, const char *const *paths,
		  const struct addr *addrs, size_t n)
{
	struct state *state = NULL;
	int err = 0;

	e->traced = calloc(n + 1, sizeof(*e->traced));
	e->addrs_n = n;
	if (!e->traced)
		return -ENOMEM;
	for (size_t i = 0; i < e->n && !err; i++) {
		if (!paths[i] && !state)
			err = state_open(&state, context, false);
		if (!err)
			err = search_list(
				(struct search){ .e = e, .list = i, .state = state, .path = paths[i], .addrs = addrs },
				n);
	}
	state_close(state);
	return err;
}

const char *explain_member(const struct explanation *e, const struct said *said)
{
	for (size_t i = 0; i < e->members_n; i++)
		if (e->members[i].id == said->member)
			return e->members[i].name;
	return said->member ? "?" : NULL;
}

static void hit_free(struct hit *hit)
{
	free(hit->ban);
	free(hit->said);
}

void explain_free(struct explanation *e)
{
	for (size_t i = 0; e->sets && i < e->n; i++)
		ranges_free(&e->sets[i]);
	for (size_t i = 0; e->traced && i < e->addrs_n; i++) {
		for (size_t h = 0; h < e->traced[i].n; h++)
			hit_free(&e->traced[i].hits[h]);
		free(e->traced[i].hits);
	}
	free(e->lists);
	free(e->sets);
	free(e->traced);
	free(e->members);
	memset(e, 0, sizeof(*e));
}

static enum scope_takes list_takes(const struct list_info *list, const struct scope_asked *asked)
{
	struct scope scope;

	if (!list->scope[0])
		return SCOPE_ALWAYS;
	return scope_parse(&scope, list->scope) ? SCOPE_PERHAPS : scope_takes(&scope, asked);
}

const struct hit *explain_decider_of(const struct explanation *e, size_t addr, const struct scope_asked *asked,
				     enum scope_takes *takes)
{
	static const enum list_kind order[] = { LIST_ALLOW, LIST_BAN, LIST_SHADOW };
	const struct traced *t = &e->traced[addr];

	for (size_t k = 0; k < 3; k++) {
		const struct hit *found = NULL;

		*takes = SCOPE_NEVER;
		for (int scoped = 0; scoped < 2 && *takes != SCOPE_ALWAYS; scoped++)
			for (size_t i = 0; i < t->n && *takes != SCOPE_ALWAYS; i++) {
				const struct list_info *list = &e->lists[t->hits[i].list];
				enum scope_takes now;

				if (list->kind != order[k] || (list->scope[0] != 0) != scoped)
					continue;
				now = list_takes(list, asked);
				if (now > *takes) {
					*takes = now;
					found = &t->hits[i];
				}
			}
		if (found)
			return found;
	}
	return NULL;
}

const struct hit *explain_decider(const struct explanation *e, size_t addr)
{
	enum scope_takes takes;

	return explain_decider_of(e, addr, &(struct scope_asked){ 0 }, &takes);
}

const char *hit_text(char buf[HIT_TEXT_MAX], const struct hit *hit, int family)
{
	ip6 span = hit->lo ^ hit->hi;
	char first[PREFIX_TEXT_MAX], last[PREFIX_TEXT_MAX];
	int length = family == 4 ? 32 : 128;

	/* A prefix: the bits that differ are all of the lower ones. */
	if (!(span & (span + 1)) && (hit->lo & span) == 0) {
		for (; span; span >>= 1)
			length--;
		prefix_text(buf, (struct addr){ hit->lo, family }, length);
		return buf;
	}
	snprintf(buf, HIT_TEXT_MAX, "%s-%s", prefix_text(first, (struct addr){ hit->lo, family }, -1),
		 prefix_text(last, (struct addr){ hit->hi, family }, -1));
	return buf;
}
