// SPDX-License-Identifier: GPL-2.0-only
/* Which list, line and entry bans what is needed; an entry is a prefix where it is one, else a range. */
#include <sys/mman.h>

#include "own_state.h"
#include "no_disk.h"
#include "base/compress.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "sets/scope.h"

/* All but 192.0.2.2. */
static bool no_filter;

static int given_live(struct live *live, const struct context *context)
{
	*live = (struct live){ .context = context };
	return no_filter ? because(-ENOENT, "there is none") : 0;
}

static void given_end(struct live *live)
{
	(void)live;
}

static bool given_drops(const struct live *live, struct addr addr)
{
	return live->context == &own_context && addr.family == 4 && addr.num != 0xc0000202;
}

#define live_open  given_live
#define live_close given_end
#define live_drops given_drops
#include "change/guard_culprit.c"

static void entries(void)
{
	static const struct {
		const char *first, *last, *text;
	} known[] = {
		{ "192.0.2.0", "192.0.2.255", "192.0.2.0/24" },
		{ "192.0.2.7", "192.0.2.7", "192.0.2.7" },
		{ "192.0.2.1", "192.0.2.2", "192.0.2.1-192.0.2.2" },
		{ "192.0.2.0", "192.0.2.2", "192.0.2.0-192.0.2.2" },
		{ "192.0.2.128", "192.0.3.127", "192.0.2.128-192.0.3.127" },
		{ "0.0.0.0", "255.255.255.255", "0.0.0.0/0" },
		{ "2001:db8::", "2001:db8::ffff", "2001:db8::/112" },
		{ "2001:db8::1", "2001:db8::ffff", "2001:db8::1-2001:db8::ffff" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char text[2 * PREFIX_TEXT_MAX];
		struct addr first, last;
		struct search s = { 0 };

		if (addr_parse(known[i].first, strlen(known[i].first), &first) ||
		    addr_parse(known[i].last, strlen(known[i].last), &last))
			abort();
		s.addr = first;
		s.lo = first.num;
		s.hi = last.num;
		entry_text(text, &s);
		CHECK(!strcmp(text, known[i].text), "'%s', not '%s'", text, known[i].text);
	}
}

static int text_of(const char *text)
{
	int fd = memfd_create("list", MFD_CLOEXEC);

	ENOUGH(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !lseek(fd, 0, SEEK_SET));
	return fd;
}

/* text: NULL: none is kept. */
static void put_rows(struct state *s, const char *name, enum list_kind kind, uint32_t lo, uint32_t hi,
		     const char *format, const char *where, const char *text)
{
	struct list_info list = {
		.kind = kind, .prefixes = 1, .addresses = "1", .source = "a.txt", .loaded = "2026-01-01T00:00:00Z"
	};
	struct ranges set = RANGES_EMPTY;
	struct packer *packer;
	int fd;

	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(list.format, sizeof(list.format), "%s", format);
	snprintf(list.where, sizeof(list.where), "%s", where);
	ENOUGH(!ranges_add4(&set, lo, hi) && !ranges_finish(&set) && !state_list_put(s, &list, &set));
	ranges_free(&set);
	if (!text)
		return;
	fd = text_of(text);
	packer = packer_begin(fd);
	ENOUGH(packer && !state_text_put(s, name, packer));
	packer_free(packer);
	close(fd);
}

static void put_list(struct state *s, const char *name, enum list_kind kind, uint32_t lo, uint32_t hi,
		     const char *format, const char *text)
{
	put_rows(s, name, kind, lo, hi, format, "", text);
}

static void put_scoped(struct state *s, const char *name, uint32_t lo, uint32_t hi)
{
	struct list_info list = {
		.kind = LIST_BAN, .prefixes = 1, .addresses = "1", .source = "a.txt", .loaded = "2026-01-01T00:00:00Z"
	};
	struct ranges set = RANGES_EMPTY;
	struct scope scope = { 0 };

	snprintf(list.name, sizeof(list.name), "%s", name);
	ENOUGH(!scope_add_only(&scope, "tcp/22") && scope_text(list.scope, &scope));
	ENOUGH(!ranges_add4(&set, lo, hi) && !ranges_finish(&set) && !state_list_put(s, &list, &set));
	ranges_free(&set);
}

static void is_said(struct state *s, const struct guard *guard, uint32_t addr, const char *wanted)
{
	char text[CULPRIT_TEXT_MAX] = "something";

	CHECK(culprit_text(text, guard, s, (struct addr){ addr, 4 }) == text && !strcmp(text, wanted), "'%s', not '%s'",
	      text, wanted);
}

static void culprits(void)
{
	struct guard guard = { 0 };
	struct state *s = opened(true);

	if (!s)
		return;
	put_list(s, "allowed", LIST_ALLOW, 0xc0000200, 0xc00002ff, "", "192.0.2.0/24\n");
	put_list(s, "shadow", LIST_SHADOW, 0xc0000200, 0xc00002ff, "", "192.0.2.0/24\n");
	is_said(s, &guard, 0xc0000201, "");
	put_list(s, "one", LIST_BAN, 0xc0000200, 0xc00002ff, "",
		 "# a comment\nno address\n192.0.2.0/25\n192.0.2.128/25\n");
	put_list(s, "two", LIST_BAN, 0xc0000200, 0xcb0071ff, "", NULL);
	is_said(s, &guard, 0xc0000200, "it is 192.0.2.0/25 in list 'one', a.txt:3");
	is_said(s, &guard, 0xc000027f, "it is 192.0.2.0/25 in list 'one', a.txt:3");
	is_said(s, &guard, 0xc0000280, "it is 192.0.2.128/25 in list 'one', a.txt:4");
	is_said(s, &guard, 0xc00002ff, "it is 192.0.2.128/25 in list 'one', a.txt:4");
	is_said(s, &guard, 0xc0000300, "it is in list 'two'");
	is_said(s, &guard, 0xc00001ff, "");
	/* As it is being loaded, not as it was. */
	guard.list = "one";
	guard.text = text_of("192.0.2.0/24\n");
	is_said(s, &guard, 0xc0000280, "it is 192.0.2.0/24 in list 'one', a.txt:1");
	guard.list = "two";
	is_said(s, &guard, 0xc0000280, "it is 192.0.2.128/25 in list 'one', a.txt:4");
	close(guard.text);
	guard = (struct guard){ .list = "one", .text = -1 };
	is_said(s, &guard, 0xc0000280, "it is in list 'one'");
	/* Read as it was asked for, not as it looks. */
	put_list(s, "one", LIST_BAN, 0xc0000200, 0xc00002ff, "csv:2", "192.0.2.9,192.0.2.8\n192.0.2.8,192.0.2.9\n");
	is_said(s, &(struct guard){ 0 }, 0xc0000209, "it is 192.0.2.9 in list 'one', a.txt:2");
	is_said(s, &(struct guard){ 0 }, 0xc0000208, "it is 192.0.2.8 in list 'one', a.txt:1");
	is_said(s, &(struct guard){ 0 }, 0xc0000207, "it is in list 'one'");
	/* The first that holds it, of the rows that were asked for. */
	put_list(s, "one", LIST_BAN, 0xc0000200, 0xc00002ff, "", "192.0.2.0/24\n192.0.2.0/25\n192.0.2.8\n");
	is_said(s, &(struct guard){ 0 }, 0xc0000208, "it is 192.0.2.0/24 in list 'one', a.txt:1");
	put_rows(s, "one", LIST_BAN, 0xc0000200, 0xc00002ff, "", "country=de",
		 "network,country\n192.0.2.0/24,fr\n192.0.2.0/25,de\n");
	is_said(s, &(struct guard){ 0 }, 0xc0000208, "it is 192.0.2.0/25 in list 'one', a.txt:3");
	ENOUGH(!state_run(s, "UPDATE list SET addresses = '' WHERE name = 'shadow'"));
	is_said(s, &(struct guard){ 0 }, 0xc0000209, "");
	state_close(s); /* nothing of it was committed */
}

/* Why nobody answers: where it is banned, and no scope lets it through. */
static void dropped(void)
{
	static const struct {
		const char *address, *by; /* NULL: nothing is said */
	} known[] = {
		{ "192.0.2.1", " (list 'one')" },
		{ "192.0.2.2", NULL },
		{ "::ffff:192.0.2.1", " (list 'one')" },
		{ "198.51.100.1", NULL }, /* only some packets of it */
		{ "203.0.113.1", "" },	  /* a live ban */
		{ "", NULL },
		{ "example.net", NULL },
	};
	struct state *s = opened(true);

	if (!s)
		return;
	put_list(s, "allowed", LIST_ALLOW, 0xcb007100, 0xcb0071ff, "", NULL);
	put_list(s, "one", LIST_BAN, 0xc0000200, 0xc00002ff, "", NULL);
	put_list(s, "scoped", LIST_BAN, 0xc0000200, 0xc00002ff, "", NULL);
	put_scoped(s, "scoped", 0xc6336400, 0xc63364ff);
	ENOUGH(!state_commit(s));
	state_close(s);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char text[DROPPED_TEXT_MAX], wanted[DROPPED_TEXT_MAX] = "";

		if (known[i].by)
			snprintf(wanted, sizeof(wanted), "; the filter in force drops what comes from %s%s",
				 known[i].address, known[i].by);
		CHECK(dropped_text(text, &own_context, known[i].address) == text && !strcmp(text, wanted),
		      "%s: '%s', not '%s'", known[i].address, text, wanted);
	}
	no_filter = true;
	CHECK(!*dropped_text((char[DROPPED_TEXT_MAX]){ 0 }, &own_context, "192.0.2.1"), "of no filter");
	no_filter = false;
}

int main(void)
{
	static const struct ktap_case cases[] = { { "entries", entries },
						  { "culprits", culprits },
						  { "dropped", dropped } };

	return own_state_run(cases, sizeof(cases) / sizeof(cases[0]));
}
