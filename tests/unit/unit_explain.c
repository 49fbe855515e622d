// SPDX-License-Identifier: GPL-2.0-only
/* Which entries of which lists hold an address, and on which lines they stand; which of them decides; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/log.h"
#include "sets/reader.h"
#include "shown.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "state/members.h"
#include "state/said.h"
#include "state/settings.h"
#include "state/state.h"

static const struct shown known[] = {
#include "unit_explain.txt"
};

static struct shows shows = { .file = "tests/unit/unit_explain.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define DATE 1767225600 /* 2026-01-01T00:00:00Z */

static const struct context own = CONTEXT_DEFAULT;
static int calls, fails_at, allocations, allocation_fails_at, held;
static bool of_image, no_text;

static struct given_list {
	const char *name, *text, *scope, *where, *format;
	enum list_kind kind;
} lists[6];
static size_t lists_n;

static struct given_ban {
	const char *prefix;
	bool over;
} bans[3];

static int call(const char *what)
{
	return ++calls == fails_at ? because(-EIO, "%s: it was not to be", what) : 0;
}

static void *given_memory(void *memory)
{
	if (++allocations != allocation_fails_at)
		return memory;
	free(memory);
	return NULL;
}

static void *given_realloc(void *at, size_t n, size_t size)
{
	return ++allocations == allocation_fails_at ? NULL : reallocarray(at, n, size);
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	*state = NULL;
	if (call(change || context != &own ? "another" : "the state"))
		return because(-EIO, "the state: it was not to be");
	*state = (struct state *)&held;
	held++;
	return 0;
}

static void given_close(struct state *state)
{
	held -= state != NULL;
}

static int text_of(const struct given_list *list)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	ssize_t n = (ssize_t)strlen(list->text);

	if (fd < 0 || write(fd, list->text, (size_t)n) != n)
		abort();
	return fd;
}

static struct list_info info_of(const struct given_list *list)
{
	struct list_info is = { .kind = list->kind, .label = (uint8_t)(list - lists + 1) };

	snprintf(is.name, LIST_NAME_MAX, "%s", list->name);
	snprintf(is.scope, SCOPE_TEXT_MAX, "%s", list->scope ?: "");
	snprintf(is.where, WHERE_MAX, "%s", list->where ?: "");
	snprintf(is.format, sizeof(is.format), "%s", list->format ?: "");
	return is;
}

static struct given_list *list_of(const char *name)
{
	size_t i = 0;

	while (strcmp(lists[i].name, name) != 0)
		i++;
	return &lists[i];
}

static int given_lists(struct state *state, struct list_info **to, size_t *n)
{
	(void)state;
	*n = lists_n;
	*to = calloc(lists_n + 1, sizeof(**to));
	for (size_t i = 0; i < lists_n; i++)
		(*to)[i] = info_of(&lists[i]);
	return call("the lists");
}

static void read_list(const struct given_list *list, struct ranges *set)
{
	struct list_info info = info_of(list);
	struct reader_options options = { .skip_bad = true, .format = list->format };
	struct reader_report report;
	char error[READER_TEXT_MAX], path[40];
	int fd = text_of(list);

	memcpy(options.where, info.where, sizeof(options.where));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (reader_read(path, &options, set, &report, error)) {
		printf("%s\n", error);
		abort();
	}
	close(fd);
}

static int given_set(struct state *state, const struct list_info *list, struct ranges *set)
{
	(void)state;
	if (call(list->name))
		return because(-EIO, "%s: it was not to be", list->name);
	read_list(list_of(list->name), set);
	return 0;
}

static int given_text(struct state *state, const char *list)
{
	(void)state;
	if (call("its text") || no_text)
		return because(-EIO, "its text: it was not to be");
	return text_of(list_of(list));
}

static int given_ban_of(struct state *state, struct addr at, unsigned int length, int64_t now, struct ban *ban)
{
	(void)state;
	if (call("a ban"))
		return because(-EIO, "a ban: it was not to be");
	if (length != (at.family == 4 ? 33 : 129) || (now && now != DATE))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(bans) / sizeof(*bans) && bans[i].prefix; i++) {
		struct addr first;
		unsigned int is;

		if (prefix_parse(bans[i].prefix, strlen(bans[i].prefix), &first, &is))
			abort();
		if (first.family != at.family || (at.num & ~addr_mask(at.family, is)) != first.num ||
		    (now && bans[i].over))
			continue;
		*ban = (struct ban){ .first = first, .length = is, .added = 7 + (int64_t)i };
		return 0;
	}
	return -ENOENT;
}

static int given_said(struct state *state, struct addr first, unsigned int length, struct said **said, size_t *n)
{
	(void)state, (void)first;
	*n = length == 32 ? 2 : 0;
	*said = calloc(3, sizeof(**said));
	(*said)[0].member = 0;
	(*said)[1].member = 5;
	return call("who says so");
}

static int given_members(struct state *state, struct member **members, size_t *n)
{
	(void)state;
	*n = 2;
	*members = calloc(2, sizeof(**members));
	(*members)[0].id = 4;
	(*members)[1].id = 5;
	strcpy((*members)[0].name, "four");
	strcpy((*members)[1].name, "five");
	return call("the members");
}

static double given_setting(struct state *state, const char *name, double fallback)
{
	(void)state;
	return !strcmp(name, SETTING_GENERATION) ? 12 : !strcmp(name, SETTING_EDITS) ? 3 : fallback;
}

#define state_open	     given_open
#define state_close	     given_close
#define lists_in_force	     given_lists
#define state_list_whole_set given_set
#define state_text_get	     given_text
#define state_ban_around     given_ban_of
#define state_said_of	     given_said
#define state_members	     given_members
#define state_setting	     given_setting
#define image_kept(state)    (of_image)
#define time(to)	     ((void)(to), (time_t)DATE)
#define malloc(n)	     given_memory(malloc(n))
#define calloc(n, size)	     given_memory(calloc(n, size))
#define reallocarray	     given_realloc
#include "observe/explain.c"
#undef malloc
#undef calloc
#undef reallocarray
#undef time

static void anew(void)
{
	static const struct given_list usual[] = {
		{ .name = "drop",
		  .text = "# a list\n45.0.0.0/24\n45.0.0.7\n45.0.1.1\n2001:db8::/32\n2001:db8:1::1\n",
		  .kind = LIST_BAN },
		{ .name = "ours", .text = "45.0.0.7\n45.0.0.9\n", .kind = LIST_ALLOW },
		{ .name = "watch", .text = "45.0.0.0/16\n45.0.0.0/8\n", .kind = LIST_SHADOW },
		{ .name = "ports", .text = "45.0.0.0/28\n46.0.0.1\n", .scope = "tcp/22", .kind = LIST_BAN },
		{ .name = "wide", .text = "44.0.0.0-46.255.255.255\n0.0.0.0/0\n", .kind = LIST_SHADOW },
	};

	memset(lists, 0, sizeof(lists));
	memcpy(lists, usual, sizeof(usual));
	memset(bans, 0, sizeof(bans));
	lists_n = 5;
	calls = fails_at = allocations = allocation_fails_at = held = 0;
	of_image = no_text = false;
}

static void print_hit(const struct explanation *e, const struct hit *hit, int family)
{
	char text[HIT_TEXT_MAX];

	printf("  %s: %s", e->lists[hit->list].name, hit_text(text, hit, family));
	if (hit->line)
		printf(", line %llu", (unsigned long long)hit->line);
	if (hit->ban)
		printf(", ban %lld", (long long)hit->ban->added);
	for (size_t i = 0; i < hit->said_n; i++)
		printf(", says %s", explain_member(e, &hit->said[i]) ?: "this machine");
	puts("");
}

static size_t asked_n;
static struct addr asked[40];

static void asks_for(const char *words)
{
	char text[600];

	snprintf(text, sizeof(text), "%s", words);
	asked_n = 0;
	for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) {
		unsigned int length;

		if (prefix_parse(at, strlen(at), &asked[asked_n++], &length))
			abort();
	}
}

static void print(struct explanation *e, int err)
{
	char text[PREFIX_TEXT_MAX];

	if (err)
		printf("%s\n", reason(err));
	else
		printf("generation %llu, edits %llu%s\n", (unsigned long long)e->generation,
		       (unsigned long long)e->edits, e->image ? ", an image" : "");
	for (size_t i = 0; i < asked_n && !err; i++) {
		const struct hit *decides = explain_decider(e, i);

		printf("%s%s%s\n", prefix_text(text, asked[i], -1), e->traced[i].ran_out ? ", its ban has run out" : "",
		       decides ? "" : ", nobody's");
		for (size_t h = 0; h < e->traced[i].n; h++)
			print_hit(e, &e->traced[i].hits[h], asked[i].family);
		if (decides)
			printf("  so decides %s\n", e->lists[decides->list].name);
	}
	explain_free(e);
	if (held)
		printf("not given back: %d\n", held);
}

/* True: a call failed, or would have. */
static bool explains(const char *words)
{
	struct explanation e;

	calls = allocations = held = 0;
	asks_for(words);
	printf("$ %s\n", words);
	print(&e, explain(&own, &e, asked, asked_n));
	return calls >= fails_at && allocations >= allocation_fails_at;
}

static void lines(void)
{
	explains("45.0.0.7");
	explains("45.0.0.8 45.0.1.1 45.0.2.1 44.255.255.255 47.0.0.0 46.0.0.1");
	explains("2001:db8:1::1 2001:db8::7 45.0.0.255 2001:db9:: 45.0.0.7 45.0.0.7 45.0.0.9");
	explains("");
	lists[0].text = "45.0.0.1\n45.0.0.0/24\n45.0.0.1\n45.0.0.0/8\n";
	lists_n = 1;
	explains("45.0.0.1 45.0.0.2 45.1.0.0 45.0.0.0 45.255.255.255");
	/* Many beneath wide lines, each passed over once. */
	lists[0].text = "45.0.0.4\n45.0.0.4/31\n45.0.0.0/29\n45.0.0.2\n45.0.0.0/24\n45.0.0.9\n";
	explains(
		"45.0.0.9 45.0.0.8 45.0.0.7 45.0.0.6 45.0.0.5 45.0.0.4 45.0.0.3 45.0.0.2 45.0.0.1 45.0.0.0 45.0.1.0 ::1");
	lists[0].text = "::/0\n";
	explains("::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 45.0.0.1");
	lists[0].text = "45.0.0.1-45.0.0.6\n2001:db8::1-2001:db8::6\n45.0.0.8-45.0.0.15\n";
	explains("45.0.0.1 45.0.0.6 45.0.0.8 2001:db8::6");
	lists[0].text = "ip,kind\n45.0.0.1,x\n45.0.0.1,y\n45.0.0.2,y\n";
	lists[0].format = "csv";
	explains("45.0.0.1 45.0.0.2");
	lists[0].where = "kind = y";
	explains("45.0.0.1 45.0.0.2");
}

static void live(void)
{
	bans[0] = (struct given_ban){ "45.0.0.0/30", false };
	bans[1] = (struct given_ban){ "45.0.0.8/32", true };
	bans[2] = (struct given_ban){ "2001:db8::7/128", false };
	explains("45.0.0.1 45.0.0.4 45.0.0.8 2001:db8::7 2001:db8::8 50.0.0.1");
	bans[0] = (struct given_ban){ "45.0.0.8/32", false };
	explains("45.0.0.8 50.0.0.1");
	lists_n = 0;
	explains("45.0.0.8 50.0.0.1");
	lists_n = 5;
	of_image = true;
	explains("45.0.0.7 45.0.0.8");
	of_image = false;
	/* A list of live exceptions has no text. */
	no_text = true;
	explains("45.0.0.7");
}

static void each_fails(void)
{
	bans[0] = (struct given_ban){ "45.0.0.7/32", false };
	bans[1] = (struct given_ban){ "46.0.0.7/32", true };
	lists_n = 2;
	for (fails_at = 1; explains("45.0.0.7 46.0.0.7"); fails_at++)
		;
	fails_at = 0;
	for (allocation_fails_at = 1; explains("45.0.0.7 46.0.0.7"); allocation_fails_at++)
		;
}

/* Lists that were read from files, or are loaded. */
static bool of_files(const char *const *paths, const char *words)
{
	struct explanation e = { 0 };

	calls = allocations = held = 0;
	asks_for(words);
	printf("$ %s\n", words);
	e.n = 2;
	e.lists = (calloc)(3, sizeof(*e.lists));
	e.sets = (calloc)(3, sizeof(*e.sets));
	for (size_t i = 0; i < 2; i++) {
		e.lists[i] = info_of(&lists[i]);
		read_list(&lists[i], &e.sets[i]);
	}
	print(&e, explain_files(&own, &e, paths, asked, asked_n));
	return calls >= fails_at && allocations >= allocation_fails_at;
}

static void files(void)
{
	static char path[40];
	const char *paths[2] = { path, NULL };
	int fd;

	lists[0].text = "45.0.0.0/24\n";
	fd = text_of(&lists[0]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	of_files(paths, "45.0.0.7 45.0.0.9");
	printf("%d calls\n", calls);
	paths[1] = path;
	of_files(paths, "45.0.0.7");
	printf("%d calls\n", calls);
	paths[0] = paths[1] = NULL;
	for (fails_at = 1; of_files(paths, "45.0.0.7"); fails_at++)
		;
	fails_at = 0;
	allocation_fails_at = 1;
	of_files(paths, "45.0.0.7");
	paths[0] = "/nonexistent";
	allocation_fails_at = 0;
	of_files(paths, "45.0.0.7");
	close(fd);
}

static void decides(void)
{
	static const struct scope_asked packets[] = {
		{ 0 },
		{ .protocol_given = true, .protocol = 6 },
		{ .protocol_given = true, .protocol = 17 },
		{ .protocol_given = true, .protocol = 6, .port_given = true, .port = 22 },
		{ .protocol_given = true, .protocol = 6, .port_given = true, .port = 23 },
	};
	static const char *const takes_names[] = { "never", "perhaps", "always" };
	static const char *const scopes[][3] = { { "", "tcp/22", "udp" },
						 { "tcp/22", "tcp/23", "" },
						 { "tcp/22", "tcp", "udp" },
						 { "bad scope", "udp", "udp" },
						 { "udp", "udp", "udp" } };
	struct explanation e;

	lists_n = 3;
	for (size_t i = 0; i < 3; i++)
		lists[i].text = "45.0.0.7\n";
	asks_for("45.0.0.7");
	for (int how = 0; how < 3; how++) {
		lists[0].kind = how == 2 ? LIST_SHADOW : LIST_BAN;
		lists[1].kind = how == 1 ? LIST_ALLOW : LIST_BAN;
		lists[2].kind = how == 2 ? LIST_SHADOW : LIST_BAN;
		for (size_t s = 0; s < sizeof(scopes) / sizeof(*scopes); s++) {
			for (size_t i = 0; i < 3; i++)
				lists[i].scope = scopes[s][i];
			if (explain(&own, &e, asked, 1))
				abort();
			printf("%d: '%s', '%s', '%s':", how, scopes[s][0], scopes[s][1], scopes[s][2]);
			for (size_t p = 0; p < sizeof(packets) / sizeof(*packets); p++) {
				enum scope_takes takes = 7;
				const struct hit *hit = explain_decider_of(&e, 0, &packets[p], &takes);

				printf(" %s %s%s", hit ? e.lists[hit->list].name : "none", takes_names[takes],
				       p + 1 < sizeof(packets) / sizeof(*packets) ? "," : "\n");
			}
			explain_free(&e);
		}
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "lines", lines },
					       { "live bans", live },
					       { "each fails", each_fails },
					       { "files", files },
					       { "which decides", decides } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

static void texts(void)
{
	static const struct {
		ip6 lo, hi;
		int family;
		const char *text;
	} each[] = {
		{ 0x2d000000, 0x2d0000ff, 4, "45.0.0.0/24" },
		{ 0x2d000001, 0x2d000001, 4, "45.0.0.1" },
		{ 0x2d000001, 0x2d000002, 4, "45.0.0.1-45.0.0.2" },
		{ 0x2d000000, 0x2d000002, 4, "45.0.0.0-45.0.0.2" },
		{ 0x2d000004, 0x2d00000b, 4, "45.0.0.4-45.0.0.11" },
		{ 0, 0xffffffff, 4, "0.0.0.0/0" },
		{ 0, ~(ip6)0, 6, "::/0" },
		{ 1, 1, 6, "::1" },
		{ 1, 2, 6, "::1-::2" },
		{ 2, 3, 6, "::2/127" },
	};
	char text[HIT_TEXT_MAX];

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		CHECK(!strcmp(hit_text(text, &(struct hit){ .lo = each[i].lo, .hi = each[i].hi }, each[i].family),
			      each[i].text),
		      "'%s', not '%s'", text, each[i].text);
}

static void members(void)
{
	struct member all[] = { { .id = 4, .name = "four" }, { .id = 5, .name = "five" } };
	const struct explanation e = { .members = all, .members_n = 2 };

	CHECK(!strcmp(explain_member(&e, &(struct said){ .member = 5 }) ?: "", "five"), "another");
	CHECK(!strcmp(explain_member(&e, &(struct said){ .member = 6 }) ?: "", "?"), "it is known");
	CHECK(!explain_member(&e, &(struct said){ .member = 0 }), "this machine is a member");
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word },
						  { "entries as text", texts },
						  { "who says so", members } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
