// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which bans are announced as routes, when it looks, writes and tries again, and what it says of it: with a state, a
 * table of the kernel and a clock that are made up; word for word.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/lock.h"
#include "base/stop.h"
#include "feeds/route_writer.h"
#include "feeds/state_watch.h"
#include "sets/ranges.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/members.h"
#include "state/said.h"
#include "state/state.h"
#include "model_clock.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_announce.txt"
};

static struct shows shows = { .file = "tests/unit/unit_announce.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define MOST 8

/* What there has. Of members: 'm' one says it, 'b' this machine, too, 'o' and this machine's is over. */
static struct {
	struct made {
		const char *prefix;
		int64_t until; /* ms from the beginning; 0: for ever */
		char members;
	} bans[MOST];
	const char *allowed, *theirs; /* theirs: a route in the table that is somebody else's */
	const char *there[MOST];      /* ours, from before */
	int state_err, read_err, make_err, watch_err, writer_err, directory_err, lock_err;
	int64_t takes; /* ms, to write */
	bool told;
} has;

/* What happens then, ms from the beginning; at the end of them SIGTERM comes. */
static const struct step {
	int64_t at;
	void (*happens)(void);
} * step;

static struct prefix prefix_of(const char *text)
{
	struct prefix p;

	if (prefix_parse(text, strlen(text), &p.first, &p.length))
		abort();
	return p;
}

static const char *text_of(const struct prefix *p)
{
	static char text[PREFIX_TEXT_MAX];

	return prefix_text(text, p->first, (int)p->length);
}

/* --- The state --- */

static int given_state(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	if (change)
		abort();
	return has.state_err ? because(has.state_err, "state.db: cannot be read") : 0;
}

static void given_state_close(struct state *state)
{
	(void)state;
}

static int given_bans(struct state *state, struct ban **bans, size_t *n)
{
	(void)state;
	*bans = calloc(MOST, sizeof(**bans));
	*n = 0;
	for (const struct made *m = has.bans; *bans && m < has.bans + MOST; m++) {
		struct prefix p;

		if (!m->prefix)
			continue;
		p = prefix_of(m->prefix);
		(*bans)[(*n)++] = (struct ban){ .first = p.first,
						.length = p.length,
						.due = m->until,
						.over = m->until && now_ms >= BEGINS + m->until };
	}
	return *bans ? 0 : -ENOMEM;
}

static int given_allowed(struct state *state, struct ranges *allowed)
{
	struct prefix p;

	(void)state;
	if (!has.allowed)
		return 0;
	p = prefix_of(has.allowed);
	return ranges_add_prefix(allowed, p.first, p.length) ?: ranges_finish(allowed);
}

static int given_said_any(struct state *state)
{
	(void)state;
	for (size_t i = 0; i < MOST; i++)
		if (has.bans[i].members)
			return 1;
	return 0;
}

static int given_said_of(struct state *state, struct addr first, unsigned int length, struct said **said, size_t *n)
{
	(void)state;
	*n = 0;
	*said = calloc(2, sizeof(**said));
	if (!*said)
		return -ENOMEM;
	for (const struct made *m = has.bans; m < has.bans + MOST; m++) {
		struct prefix p;

		if (!m->prefix || !m->members)
			continue;
		p = prefix_of(m->prefix);
		if (p.first.family != first.family || p.first.num != first.num || p.length != length)
			continue;
		*n = m->members == 'm' ? 1 : 2;
		(*said)[*n - 1].member = 3;
		if (*n == 2)
			(*said)[0] = (struct said){ { .due = 1, .over = m->members == 'o' }, MEMBER_OWN };
	}
	return 0;
}

static bool given_next_left(struct state *state, int64_t *left)
{
	int64_t first = 0;

	(void)state;
	for (size_t i = 0; i < MOST; i++)
		if (has.bans[i].prefix && has.bans[i].until && (!first || has.bans[i].until < first))
			first = has.bans[i].until;
	*left = (BEGINS + first - now_ms) * 1000000;
	return first;
}

static int given_watch(const char *directory)
{
	(void)directory;
	return has.watch_err ? because(has.watch_err, "it cannot be watched") : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static bool given_watch_ended(int watch, const char *directory)
{
	bool told = has.told;

	(void)watch;
	(void)directory;
	has.told = false;
	return told;
}

static int given_directory(const char *directory)
{
	line("%s is there", directory);
	return has.directory_err ? because(has.directory_err, "no directory") : 0;
}

static int given_lock(const char *path, unsigned int wait)
{
	line("lock %s, waits %u", path, wait);
	return has.lock_err ? because(has.lock_err, "it is held") : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* --- The table --- */

static int given_writer(struct route_writer *w, unsigned int table, int family)
{
	*w = (struct route_writer){ .table = table, .family = family };
	line("table %u, family %d", table, family);
	return has.writer_err ? because(has.writer_err, "no netlink") : 0;
}

static void given_writer_close(struct route_writer *w)
{
	line("table %u is closed", w->table);
	free(w->at);
}

static int given_read(struct route_writer *w)
{
	line("reads table %u", w->table);
	if (!w->at && has.there[0]) {
		w->at = calloc(MOST, sizeof(*w->at));
		if (!w->at)
			abort();
		for (w->n = 0; has.there[w->n]; w->n++)
			w->at[w->n] = prefix_of(has.there[w->n]);
	}
	return has.read_err ? because(has.read_err, "table %u: cannot be read", w->table) : 0;
}

static int given_make(struct route_writer *w, const struct prefix *wanted, size_t n)
{
	size_t before = w->n;

	now_ms += has.takes;
	begin_line();
	printf("writes:");
	for (size_t i = 0; i < n; i++)
		printf(" %s", text_of(&wanted[i]));
	putchar('\n');
	if (has.make_err)
		return because(has.make_err, "table %u: cannot be written", w->table);
	free(w->at);
	w->at = calloc(n + 1, sizeof(*w->at));
	if (!w->at)
		abort();
	w->n = w->taken = 0;
	for (size_t i = 0; i < n; i++)
		if (has.theirs && !strcmp(text_of(&wanted[i]), has.theirs))
			w->taken++;
		else
			w->at[w->n++] = wanted[i];
	w->came = w->n > before ? w->n - before : 0;
	w->went = w->n < before ? before - w->n : 0;
	return 0;
}

/* --- Clock, and words --- */

static void given_poll(struct pollfd *fds, nfds_t n, const struct timespec *time)
{
	int64_t until = now_ms + time->tv_sec * 1000 + time->tv_nsec / 1000000;

	if (n != 1 || fds->events != POLLIN || time->tv_nsec % 1000000)
		abort();
	line("waits %lld ms", (long long)(until - now_ms));
	if (until < BEGINS + step->at) {
		now_ms = until;
		return;
	}
	now_ms = BEGINS + step->at;
	if (step->happens) {
		line("---");
		step++->happens();
	} else {
		stop_asked = SIGTERM;
	}
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *context, struct event e,
							      const char *fmt, ...)
{
	va_list args;

	(void)context;
	va_start(args, fmt);
	begin_line();
	printf("event%s %s: ", e.kind == EVENT_DONE ? "" : " of another kind", e.verb);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

#define state_open	     given_state
#define state_close	     given_state_close
#define state_bans	     given_bans
#define state_allowed	     given_allowed
#define state_said_any	     given_said_any
#define state_said_of	     given_said_of
#define state_bans_next_left given_next_left
#define state_watch_open     given_watch
#define state_watch_ended    given_watch_ended
#define state_make_directory given_directory
#define lock_take	     given_lock
#define route_writer_open    given_writer
#define route_writer_close   given_writer_close
#define route_writer_read    given_read
#define route_writer_make    given_make
#define stop_poll	     given_poll
#define stop_on(signal)
#define clock_ms() given_ms()
#define time(to)   given_time(to)
#define warn	   given_warn
#define note	   given_warn
#define event(...) given_event(__VA_ARGS__)
#include "feeds/announce.c"
#undef time

/* --- What happens --- */

static void told(void)
{
	has.told = true;
}

static void for_good(void)
{
	stop_asked = STOP_FOR_GOOD;
}

static void one_more(void)
{
	has.bans[3] = (struct made){ "45.0.0.9/32", 0, 0 };
	has.told = true;
}

static void one_less(void)
{
	has.bans[0].prefix = NULL;
	has.told = true;
}

static void some_end(void)
{
	has.bans[1].until = 3000;
	has.bans[2].until = 2500;
	has.told = true;
}

static void ended_are_gone(void)
{
	has.bans[1].prefix = has.bans[2].prefix = NULL;
	has.told = true;
}

static void cannot_write(void)
{
	has.make_err = -ENOBUFS;
	has.told = true;
}

static void cannot_read(void)
{
	has.make_err = 0;
	has.read_err = -ENOBUFS;
}

static void cannot_read_for_good(void)
{
	has.read_err = -ENOBUFS;
	stop_asked = STOP_FOR_GOOD;
}

static void state_is_damaged(void)
{
	has.read_err = 0;
	has.state_err = -EUCLEAN;
}

static void all_works(void)
{
	has.make_err = has.read_err = has.state_err = 0;
}

static void all_is_theirs(void)
{
	has.bans[5].prefix = "45.0.0.9/32";
	has.allowed = "45.0.0.0/8";
	has.theirs = NULL;
	has.told = true;
}

static void no_members(void)
{
	for (size_t i = 0; i < MOST; i++)
		has.bans[i].members = 0;
	has.told = true;
}

static void fewer(void)
{
	has.bans[0].prefix = has.bans[4].prefix = NULL;
	has.told = true;
}

static void one_goes(void)
{
	has.bans[3].prefix = NULL;
	has.told = true;
}

static void smaller(void)
{
	has.bans[0].prefix = "45.0.0.0/32";
	has.bans[4].prefix = "44.0.0.5/32";
	has.told = true;
}

static const struct made three[MOST] = { { "45.0.1.0/24", 0, 0 },
					 { "45.0.0.1/32", 0, 0 },
					 { "2a00:db8:7::/48", 0, 0 } };

static const struct step quiet[] = { { 150000, NULL } };
static const struct step comes_and_goes[] = { { 1000, one_more }, { 1010, told },     { 1030, told },
					      { 1500, one_less }, { 2000, some_end }, { 5000, ended_are_gone },
					      { 5600, for_good }, { 0, NULL } };
static const struct step soon[] = { { 160, one_more }, { 161, told }, { 200, one_less }, { 900, NULL } };
static const struct step failures[] = { { 500, cannot_write },
					{ 4000, cannot_read },
					{ 10000, state_is_damaged },
					{ 130000, all_works },
					{ 200000, NULL } };
static const struct step left_out[] = { { 100, all_is_theirs }, { 200, told }, { 300, NULL } };
static const struct step members[] = { { 100, no_members }, { 200, NULL } };
static const struct step too_many[] = { { 100, smaller }, { 200, one_goes }, { 300, fewer }, { 400, NULL } };
static const struct step stays[] = { { 10, cannot_read_for_good }, { 20, NULL } };
static const struct step in_a_moment[] = { { 10, told }, { 30, NULL }, { 40, NULL } };
static const struct step ends_at_once[] = { { 10, NULL } };

static void tell(const char *name, const struct announce_options *options, const struct step *steps)
{
	struct context context = CONTEXT_DEFAULT;
	int err;

	now_ms = BEGINS;
	step = steps;
	stop_asked = 0;
	shows_begin(&shows);
	err = announce(&context, options);
	line("ends: %s", err ? reason(err) : "well");
	shows_as(&shows, name);
}

static void word_for_word(void)
{
	struct announce_options all = { .table = 667, .most = 100 }, only4 = all, only6 = all, clean = all, two = all,
				none = all;

	only4.family = 4;
	only6.family = 6;
	clean.clean = true;
	two.most = 2;
	none.most = 0;
	has = (typeof(has)){ 0 };
	memcpy(has.bans, three, sizeof(three));
	tell("nothing happens", &all, quiet);
	tell("IPv4 alone", &only4, ends_at_once);
	tell("IPv6 alone, and it cleans", &only6, ends_at_once);
	tell("it cleans", &clean, ends_at_once);
	tell("they come and go", &all, comes_and_goes);
	has = (typeof(has)){ .takes = 150 };
	memcpy(has.bans, three, sizeof(three));
	tell("where writing takes long", &all, soon);
	has = (typeof(has)){ 0 };
	memcpy(has.bans, three, sizeof(three));
	tell("what fails", &all, failures);
	has = (typeof(has)){ .state_err = -EUCLEAN };
	tell("what fails from the start, and it cleans", &clean, ends_at_once);
	has = (typeof(has)){ .allowed = "45.0.1.9/32",
			     .theirs = "45.0.0.1",
			     .bans = { { "45.0.1.0/24", 0, 0 },
				       { "45.0.0.1/32", 0, 0 },
				       { "10.1.2.3/32", 0, 0 },
				       { "0.0.0.0/1", 0, 0 },
				       { "45.0.2.0/24", 0, 0 } } };
	tell("left out", &all, left_out);
	has = (typeof(has)){ .bans = { { "45.0.0.1/32", 0, 'm' },
				       { "45.0.0.2/32", 0, 'b' },
				       { "45.0.0.3/32", 0, 'o' },
				       { "45.0.0.4/32", 0, 0 },
				       { "45.0.0.4/31", 0, 'm' } } };
	tell("members of a fleet", &all, members);
	has = (typeof(has)){ .bans = { { "45.0.0.4/32", 0, 0 },
				       { "45.0.0.2/32", 0, 0 },
				       { "45.0.0.3/32", 0, 0 },
				       { "45.0.0.1/32", 0, 0 } } };
	tell("too many", &two, too_many);
	has = (typeof(has)){ .bans = { { "45.0.0.4/32", 0, 0 },
				       { "45.0.0.3/32", 0, 0 },
				       { "45.0.0.2/32", 0, 0 },
				       { "45.0.0.1/32", 0, 0 } },
			     .there = { "45.0.0.2/32", "45.0.0.3/32", "45.0.0.4/32" } };
	tell("more than may be are there", &two, ends_at_once);
	tell("none may be", &none, ends_at_once);
	has.there[0] = "45.0.0.1/32";
	has.there[1] = "45.0.0.4/32";
	has.there[2] = NULL;
	tell("as many as may be are there", &two, ends_at_once);
	has.bans[0].until = 9;
	tell("one that ends in a moment", &all, in_a_moment);
	tell("what was announced stays", &clean, stays);
	has.read_err = 0;
	has.directory_err = -EACCES;
	tell("no directory", &clean, ends_at_once);
	has.directory_err = 0;
	has.lock_err = -EBUSY;
	tell("two of them", &clean, ends_at_once);
	has.lock_err = 0;
	has.watch_err = -EMFILE;
	tell("nothing tells of changes", &clean, ends_at_once);
	has.watch_err = 0;
	has.writer_err = -EPERM;
	tell("nothing can be written", &clean, ends_at_once);
	has.writer_err = 0;
}

/* Which tables this state has announced to, and that nothing stays in them. */
static void found(void)
{
	static const char *const names[] = { "announces.7",  "announces.667", "announces.x", "announces.8x",
					     "announces",    "follows.9",     "announces.",  "announces.4000000000",
					     "xannounces.10" };
	char path[300], directory[100] = "/tmp/xdp-bloom-announce-XXXXXX";
	struct context context = CONTEXT_DEFAULT;
	struct announced all = { .n = 5 };
	unsigned int sum = 0;

	if (!CHECK(mkdtemp(directory), "no directory"))
		return;
	context.state = directory;
	announced_find(&all, &context);
	CHECK(!all.n, "%zu in an empty directory", all.n);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		close_fd(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	announced_find(&all, &context);
	for (size_t i = 0; i < all.n; i++)
		sum += all.table[i];
	CHECK(all.n == 3 && sum == 4000000674U, "%zu tables", all.n);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	/* No more than there is room for. */
	for (unsigned int i = 0; i <= ANNOUNCED_MOST; i++) {
		snprintf(path, sizeof(path), "%s/announces.%u", directory, i);
		close_fd(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	announced_find(&all, &context);
	CHECK(all.n == ANNOUNCED_MOST, "%zu tables", all.n);
	for (unsigned int i = 0; i <= ANNOUNCED_MOST; i++) {
		snprintf(path, sizeof(path), "%s/announces.%u", directory, i);
		unlink(path);
	}
	rmdir(directory);
	announced_find(&all, &context);
	CHECK(!all.n, "%zu where there is no directory", all.n);
	has = (typeof(has)){ .read_err = -EPERM };
	now_ms = BEGINS;
	all = (struct announced){ .table = { 7, 667 }, .n = 2 };
	shows_begin(&shows);
	announced_clean(&all);
	has.read_err = 0;
	announced_clean(&all);
	shows_as(&shows, "all are cleaned");
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word }, { "tables of before", found } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
