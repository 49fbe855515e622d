// SPDX-License-Identifier: GPL-2.0-only
/*
 * When the service measures its rate, when it ends bans, when it looks whom the detector bans and what is this
 * machine's own: by what it is told of the kernel, the state and the clock.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "change/change.h"
#include "change/detector.h"
#include "change/jail.h"
#include "filter/limits.h"
#include "filter/measured_rate.h"
#include "kernel/detect_seen.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/state.h"
#include "naive.h"

/* What there is, is made up here. */
static struct {
	int live, opened, state;
	struct generation g;
	bool image, passed;
	int64_t now, left[2]; /* of a ban, of what waits; 0: there is none */
	int released, closed;
} made_up;

static int live_is(const struct context *context, struct generation *g)
{
	(void)context;
	*g = made_up.g;
	return made_up.live;
}

static int open_is(const struct context *context, struct candidate *c)
{
	(void)context;
	(void)c;
	return made_up.opened;
}

static void released(struct candidate *c)
{
	(void)c;
	made_up.released++;
}

static void measured(const struct generation *g, struct rate *rate)
{
	(void)g;
	(void)rate;
}

static double is_asked(const struct settings *settings, const struct generation *g)
{
	(void)settings;
	(void)g;
	return 0.001;
}

static bool has_passed(const struct rate *rate, double rate_asked)
{
	(void)rate;
	(void)rate_asked;
	return made_up.passed;
}

static uint64_t image_is(struct state *state)
{
	(void)state;
	return made_up.image;
}

static struct settings settings_are(struct state *state)
{
	(void)state;
	return SETTINGS_DEFAULT;
}

static int state_is(struct state **state, const struct context *context, bool change)
{
	(void)context;
	(void)change;
	*state = NULL;
	return made_up.state;
}

static void closed(struct state *state)
{
	(void)state;
	made_up.closed++;
}

#define kernel_live	 live_is
#define kernel_open_live open_is
#define kernel_release	 released
#define rate_measure	 measured
#define rate_asked	 is_asked
#define rate_passed	 has_passed
#define image_kept	 image_is
#define settings_read	 settings_are
#define state_open	 state_is
#define state_close	 closed
#include "service/rate_watch.c"

static bool next_left(struct state *state, int64_t *left)
{
	(void)state;
	*left = made_up.left[0];
	return made_up.left[0];
}

static int what_waits(struct state *state, struct pending **pending, size_t *n)
{
	(void)state;
	*pending = made_up.state ? NULL : calloc(1, sizeof(**pending));
	*n = *pending && made_up.left[1];
	return made_up.state ?: *pending ? 0 : -ENOMEM;
}

static int64_t left_of(const struct pending *pending, int64_t now)
{
	(void)pending;
	(void)now;
	return made_up.left[1];
}

static int64_t clock_is(clockid_t clock)
{
	(void)clock;
	return made_up.now;
}

#define state_bans_next_left next_left
#define state_pending	     what_waits
#define pending_left	     left_of
#define clock_ns	     clock_is
#include "service/expiry.c"

/* The detector, and the change that is made of what it bans. */
static struct {
	int seen, spare, begin, move, commit;
	size_t banned;
	bool spared, needs;
	int looks, ends, commits, freed;
	int follow, follows;
	/* Of so many sources these can have no ban, for that reason; and which have one, a bit each. */
	unsigned int sources, hopeless, had, moving;
	int why;
} detector;

static int seen_is(const struct context *context, struct seen *seen)
{
	(void)context;
	memset(seen, 0, sizeof(*seen));
	detector.looks++;
	return detector.seen;
}

static size_t banned_n(const struct seen *seen)
{
	(void)seen;
	return detector.banned;
}

static bool spared_is(const struct seen *seen)
{
	(void)seen;
	return detector.spared;
}

static void freed(struct seen *seen)
{
	(void)seen;
	detector.freed++;
}

static int begins(struct change **change, struct context *context)
{
	(void)context;
	*change = NULL;
	return detector.begin;
}

static int spares(const struct context *context, struct ranges *needed)
{
	struct range4 *one = malloc(sizeof(*one));

	(void)context;
	*needed = RANGES_EMPTY;
	if (!one)
		abort();
	if (!detector.needs) {
		free(one);
		return detector.spare;
	}
	*one = (struct range4){ 7, 7 };
	*needed = (struct ranges){ .v4 = one, .n4 = 1 };
	return detector.spare;
}

static int moves(struct change *change, const struct ranges *only, const struct ranges *needed)
{
	(void)change;
	CHECK(needed && needed->n4 == detector.needs && (!needed->n4 || needed->v4->lo == 7), "others are needed");
	detector.moving = 0;
	for (unsigned int i = 0; i < detector.sources; i++)
		if (!(detector.had & 1u << i) && (!only || ranges_covering(only, (struct addr){ 100 + 2 * i, 4 }) >= 0))
			detector.moving |= 1u << i;
	return detector.move;
}

static int commits(struct change *change, const struct apply_options *options)
{
	(void)change;
	detector.commits += !options;
	if (detector.moving & detector.hopeless)
		return because(detector.why, "no place");
	detector.had |= detector.moving;
	return detector.commit;
}

static int all_of_them(const struct context *context, struct prefix **at, size_t *n)
{
	(void)context;
	*n = 0;
	*at = NULL;
	if (detector.seen)
		return detector.seen;
	ENOUGH(*at = calloc(detector.sources + 1, sizeof(**at)));
	for (; *n < detector.sources; ++*n)
		(*at)[*n] = (struct prefix){ { 100 + 2 * *n, 4 }, 32 };
	return 0;
}

static void ends(struct change *change)
{
	(void)change;
	detector.ends++;
}

static int follows(const struct context *context, const struct limits *limits, struct own_told *told)
{
	(void)context;
	(void)told;
	detector.follows += limits->on;
	return detector.follow;
}

#define kernel_seen	seen_is
#define seen_banned_n	banned_n
#define seen_spared	spared_is
#define seen_free	freed
#define change_begin	begins
#define jail_move	moves
#define jail_spare	spares
#define jail_all	all_of_them
#define change_commit	commits
#define change_end	ends
#define detector_follow follows
#include "service/jail_watch.c"
#undef EVERY_MS
#include "service/own_watch.c"

#include "ktap.h"

static void schedule(void)
{
	struct rate_watch w = { .at = 5, .next = 100, .number = 7, .edits = 3 };

	memset(&made_up, 0, sizeof(made_up));
	made_up.g.number = 7;
	made_up.g.edits = 3;
	rate_watch_schedule(&w, NULL, 50);
	CHECK(w.at == 5, "what was measured is measured again at %lld", (long long)w.at);
	made_up.live = -ENOENT;
	made_up.g.number = 8;
	rate_watch_schedule(&w, NULL, 50);
	CHECK(w.at == 5 && w.number == 7, "nothing in force is measured");
	made_up.live = 0;
	rate_watch_schedule(&w, NULL, 50);
	CHECK(w.at == 100 && w.number == 8 && w.edits == 3, "a new one at %lld", (long long)w.at);
	made_up.g.edits = 4;
	rate_watch_schedule(&w, NULL, 150);
	CHECK(w.at == 150 && w.edits == 4, "an edited one at %lld", (long long)w.at);
	rate_watch_begin(&w, 160);
	CHECK(w.at == INT64_MAX && w.began == 160, "it begins twice");
	rate_watch_end(&w, 163, false);
	CHECK(w.next == 163 + 300, "the next one at %lld", (long long)w.next);
	rate_watch_end(&w, 163, true);
	CHECK(w.next == 163 + ROTATE_AGAIN, "after a rotation at %lld", (long long)w.next);
}

/* Each answer of what it asks: the exit status of the job. */
static void measures(void)
{
	static const struct {
		int state, opened;
		bool image, passed;
		int is, released;
	} cases[] = {
		{ 0, 0, false, false, EXIT_DONE, 1 },	   { 0, 0, false, true, EXIT_PASSES, 1 },
		{ 0, 0, true, true, EXIT_DONE, 0 },	   { 0, -ENOENT, false, true, EXIT_DONE, 0 },
		{ 0, -EPERM, false, true, EXIT_ERROR, 0 }, { -EIO, 0, false, true, EXIT_ERROR, 0 },
		{ -EIO, 0, false, false, EXIT_ERROR, 0 },
	};
	int quiet = dup(STDERR_FILENO);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int is;

		made_up = (typeof(made_up)){ .state = cases[i].state,
					     .opened = cases[i].opened,
					     .image = cases[i].image,
					     .passed = cases[i].passed };
		close(STDERR_FILENO);
		is = rate_watch_run(NULL, NULL);
		dup2(quiet, STDERR_FILENO);
		CHECK(is == cases[i].is && made_up.released == cases[i].released && made_up.closed == 1,
		      "case %zu: %d, %d released, %d closed", i, is, made_up.released, made_up.closed);
	}
	close(quiet);
}

#define SECOND 1000000000LL

/* The earlier end of the two, and never before it; what has ended already is due now. */
static void looks(void)
{
	static const struct {
		int64_t ban, pending, first; /* left, ns; in seconds from now; -1: nothing ends */
	} cases[] = {
		{ 0, 0, -1 },
		{ 5 * SECOND, 0, 6 },
		{ 0, 5 * SECOND, 6 },
		{ 5 * SECOND, 9 * SECOND, 6 },
		{ 9 * SECOND, 5 * SECOND, 6 },
		{ 5 * SECOND, 5 * SECOND, 6 },
		{ 1, 0, 1 },
		{ -1, 0, 0 },
		{ -SECOND, 5, 0 },
		{ 5, -SECOND, 0 },
	};
	struct expiry e;

	memset(&made_up, 0, sizeof(made_up));
	if (!CHECK(!expiry_open(&e), "no timer"))
		return;
	/* Beyond what the real clock shows, so that the timer stays quiet; at a whole second, and between two. */
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		int64_t now = 1000000000, first;

		made_up.left[0] = cases[i / 2].ban;
		made_up.left[1] = cases[i / 2].pending;
		made_up.now = now * SECOND;
		expiry_look(&e, (struct state *)&made_up, false);
		first = cases[i / 2].first < 0 ? 0 : now + cases[i / 2].first;
		CHECK(e.first == first, "case %zu: %lld, not %lld", i / 2, (long long)e.first, (long long)first);
	}
	made_up.left[0] = 5;
	made_up.state = -EIO;
	expiry_look(&e, (struct state *)&made_up, false);
	CHECK(e.first == 1000000001, "what waits cannot be read, and no ban ends");
	made_up.state = 0;
	expiry_look(&e, NULL, false);
	CHECK(!e.first, "without a state something ends");
	expiry_close(&e);
	CHECK(e.timer == -1, "it is open");
}

/* When the timer is set to, in seconds; 0: it is not. */
static long set_to(const struct expiry *e)
{
	struct timespec real;
	struct itimerspec is;

	clock_gettime(CLOCK_BOOTTIME, &real);
	timerfd_gettime(e->timer, &is);
	return is.it_value.tv_sec || is.it_value.tv_nsec
		       ? real.tv_sec + is.it_value.tv_sec + (real.tv_nsec + is.it_value.tv_nsec + 500000000) / SECOND
		       : 0;
}

static void again(void)
{
	long now = 1000000000;
	struct expiry e;

	memset(&made_up, 0, sizeof(made_up));
	if (!CHECK(!expiry_open(&e), "no timer"))
		return;
	made_up.now = now * SECOND;
	made_up.left[0] = 99 * SECOND;
	expiry_look(&e, (struct state *)&made_up, false);
	CHECK(set_to(&e) == now + 100, "set to %ld", set_to(&e));
	CHECK(!expiry_due(&e), "due before its time");
	made_up.left[0] = -1;
	expiry_look(&e, (struct state *)&made_up, false);
	CHECK(set_to(&e) == now, "set to %ld", set_to(&e));
	/* A failure: not before five seconds; done: at its time. */
	expiry_ran(&e, false);
	expiry_look(&e, (struct state *)&made_up, false);
	CHECK(e.again == now + 5 && set_to(&e) == now + 5, "again at %ld", set_to(&e));
	expiry_ran(&e, true);
	expiry_look(&e, (struct state *)&made_up, false);
	CHECK(!e.again && set_to(&e) == now, "again at %ld", set_to(&e));
	expiry_look(&e, NULL, false);
	CHECK(!set_to(&e), "nothing ends, at %ld", set_to(&e));
	/* The timer fires: it is due only where something ends, and its time has come. */
	e.first = 1;
	for (int i = 0; i < 3; i++) {
		struct itimerspec soon = { .it_value.tv_nsec = 1 };
		bool due;

		timerfd_settime(e.timer, TFD_TIMER_ABSTIME, &soon, NULL);
		made_up.now = i == 1 ? 0 : SECOND;
		e.first = i != 2;
		due = expiry_due(&e);
		CHECK(due == (i == 0), "turn %d: due %d", i, due);
	}
	expiry_close(&e);
}

/* Twice a second where a limit bans; not while the job runs, and later where that fails. */
static void jails(void)
{
	struct limits limits = { .on = true };
	struct jail_watch w = { .next = 100 };

	memset(&detector, 0, sizeof(detector));
	detector.banned = 1;
	jail_watch_expect(&w, &limits);
	CHECK(jail_watch_at(&w) == INT64_MAX && !jail_watch_due(&w, NULL, 100) && !detector.looks, "no limit bans");
	limits.of[0] = (struct limit){ .rate = 10, .then = THEN_BAN };
	limits.on = false;
	jail_watch_expect(&w, &limits);
	CHECK(jail_watch_at(&w) == INT64_MAX, "the detector is off");
	limits.on = true;
	jail_watch_expect(&w, &limits);
	CHECK(jail_watch_at(&w) == 100 && !jail_watch_due(&w, NULL, 99) && !detector.looks, "it looks before its time");
	detector.banned = 0;
	CHECK(!jail_watch_due(&w, NULL, 100) && detector.looks == 1 && detector.freed == 1, "nobody is banned");
	CHECK(jail_watch_at(&w) == 600, "it looks again at %lld", (long long)jail_watch_at(&w));
	detector.banned = 2;
	detector.seen = -ENOENT;
	CHECK(!jail_watch_due(&w, NULL, 600) && detector.freed == 1 && jail_watch_at(&w) == 1100,
	      "nothing can be seen");
	detector.seen = 0;
	CHECK(jail_watch_due(&w, NULL, 1100) && detector.freed == 2, "two are banned");
	CHECK(jail_watch_at(&w) == INT64_MAX && !jail_watch_due(&w, NULL, 9000), "it looks while the job runs");
	jail_watch_ran(&w, 9000, true);
	CHECK(jail_watch_at(&w) == 9500, "again at %lld", (long long)jail_watch_at(&w));
	CHECK(jail_watch_due(&w, NULL, 9500), "two are banned");
	jail_watch_ran(&w, 9600, false);
	CHECK(jail_watch_at(&w) == 14600, "after a failure at %lld", (long long)jail_watch_at(&w));
}

/* Who was needed, and sends too much, is looked at, too; who does so all the time not each time. */
static void jails_spared(void)
{
	static const struct {
		int64_t now;
		bool spared;
		size_t banned;
		bool due;
	} looks[] = {
		{ 500, false, 0, false }, { 1000, true, 0, true }, { 1500, true, 0, false }, { 2000, true, 1, true },
		{ 2500, true, 0, false }, { 3000, true, 0, true }, { 3500, false, 1, true }, { 5000, false, 0, false },
		{ 5500, true, 0, true },  { 7500, true, 3, true }, { 9500, true, 0, true },
	};
	struct jail_watch w = { .bans = true };

	memset(&detector, 0, sizeof(detector));
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		bool due;

		detector.spared = looks[i].spared;
		detector.banned = looks[i].banned;
		due = jail_watch_due(&w, NULL, looks[i].now);
		CHECK(due == looks[i].due, "at %lld: %d", (long long)looks[i].now, due);
		if (due)
			jail_watch_ran(&w, looks[i].now, true);
	}
}

/* Each step that fails: the exit status of the job. */
static void jail_jobs(void)
{
	static const struct {
		int spare, begin, move, commit, is, commits;
		bool needs;
		unsigned int sources;
		int seen, ends;
	} cases[] = {
		{ 0, 0, 0, 0, EXIT_DONE, 1, true, 0, 0, 1 },
		{ 0, -EBUSY, 0, 0, EXIT_ERROR, 0, true, 0, 0, 1 },
		{ 0, 0, -EIO, 0, EXIT_ERROR, 0, true, 0, 0, 1 },
		{ 0, 0, 0, -ENOSPC, EXIT_ERROR, 1, true, 0, 0, 1 },
		{ -EPERM, 0, 0, 0, EXIT_ERROR, 1, true, 0, 0, 1 },
		{ 0, 0, 0, 0, EXIT_DONE, 1, false, 2, 0, 1 },
		/* Nobody is banned: no change begins, which could wait for somebody else's. */
		{ 0, -EBUSY, 0, 0, EXIT_DONE, 0, false, 0, 0, 0 },
		{ -EIO, -EBUSY, 0, 0, EXIT_ERROR, 0, false, 0, 0, 0 },
		{ 0, 0, 0, 0, EXIT_DONE, 0, false, 2, -ENOENT, 0 },
		{ 0, 0, 0, 0, EXIT_ERROR, 0, false, 2, -EIO, 0 },
	};
	const struct context context = CONTEXT_DEFAULT;
	int quiet = dup(STDERR_FILENO);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int is;

		memset(&detector, 0, sizeof(detector));
		detector.spare = cases[i].spare;
		detector.begin = cases[i].begin;
		detector.move = cases[i].move;
		detector.commit = cases[i].commit;
		detector.needs = cases[i].needs;
		detector.sources = cases[i].sources;
		detector.seen = cases[i].seen;
		close(STDERR_FILENO);
		is = jail_watch_run(&context, NULL);
		dup2(quiet, STDERR_FILENO);
		CHECK(is == cases[i].is && detector.commits == cases[i].commits && detector.ends == cases[i].ends,
		      "case %zu: %d, %d commits, %d ends", i, is, detector.commits, detector.ends);
	}
	close(quiet);
}

/* Whoever of them can have no ban, all the others have theirs; but for what passes, nothing is tried one by one. */
static void jail_jobs_apart(void)
{
	static const int refuses[] = { GUARD_REFUSED, EXFULL, E2BIG };
	const struct context context = CONTEXT_DEFAULT;
	int quiet = dup(STDERR_FILENO);

	for (unsigned int sources = 1; sources < 8; sources++)
		for (unsigned int hopeless = 0; hopeless < 1u << sources; hopeless++) {
			unsigned int all = (1u << sources) - 1;
			int is;

			memset(&detector, 0, sizeof(detector));
			detector.sources = sources;
			detector.hopeless = hopeless;
			detector.why = -refuses[(sources + hopeless) % 3];
			close(STDERR_FILENO);
			is = jail_watch_run(&context, NULL);
			dup2(quiet, STDERR_FILENO);
			CHECK(is == (hopeless ? EXIT_ERROR : EXIT_DONE) && detector.had == (all & ~hopeless),
			      "%x of %x: %d, and %x have theirs", hopeless, all, is, detector.had);
			CHECK(detector.ends <= (hopeless ? 2 * (int)sources : 1), "%d changes for %u", detector.ends,
			      sources);
			detector.had = 0;
			detector.ends = 0;
			detector.why = -ENOSPC;
			close(STDERR_FILENO);
			(void)jail_watch_run(&context, NULL);
			dup2(quiet, STDERR_FILENO);
			CHECK(detector.ends == 1, "a disk that is full: %d changes", detector.ends);
		}
	close(quiet);
}

/* Every two seconds, also where that fails. */
static void own(void)
{
	struct own_watch w = { .limits = { .on = true } };

	memset(&detector, 0, sizeof(detector));
	for (int64_t now = 1; now <= 4001; now += 500)
		own_watch_turn(&w, NULL, now);
	CHECK(detector.follows == 3 && w.next == 6001, "%d times, the next at %lld", detector.follows,
	      (long long)w.next);
	detector.follow = -EPERM;
	own_watch_turn(&w, NULL, 6000);
	own_watch_turn(&w, NULL, 6001);
	own_watch_turn(&w, NULL, 6002);
	CHECK(detector.follows == 4, "%d times", detector.follows);
	own_watch_end(&w);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "when it is measured", schedule },
		{ "what is measured", measures },
		{ "the first end", looks },
		{ "the timer", again },
		{ "whom the detector bans", jails },
		{ "who was needed", jails_spared },
		{ "the job that bans them", jail_jobs },
		{ "some of whom the detector bans can have no ban", jail_jobs_apart },
		{ "this machine's own", own },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
