// SPDX-License-Identifier: GPL-2.0-only
/*
 * The service's loop: what it does in which order at its beginning and end and in each turn, how long it waits and what
 * wakes it, and what it tells the service manager, word for word. All parts of it are made up.
 */
#include "model_service.h"

static const struct shown known[] = {
#include "unit_service.txt"
};

static struct shows shows = { .file = "tests/unit/unit_service.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define INTERRUPTED -2
#define BROKEN	    -3 /* it cannot wait */

/* It is woken so long after the beginning by that descriptor. */
struct step {
	int at, fd, signal;
	int ended, status; /* a process, and how */
	const char *once, *yes, *fails;
	void (*before)(void);
};

#define ENDS(when, pid, how)                                                                       \
	{                                                                                          \
		.at = (when), .fd = FD_SIGNALS, .signal = SIGCHLD, .ended = (pid), .status = (how) \
	}
#define TERM(when)                                                \
	{                                                         \
		.at = (when), .fd = FD_SIGNALS, .signal = SIGTERM \
	}

static const struct step *next;
static int polled[8]; /* on what it waited before */
static int kept[2];   /* what the C library keeps, at most */

static int given_poll(struct pollfd *fds, nfds_t n, int timeout);
static int given_signals(int fd, const sigset_t *set, int flags);
static int given_block(int how, const sigset_t *set, sigset_t *before);
static void given_ignore(int number, void (*how)(int));
static int given_kept(int what, int n);

#define poll(fds, n, timeout)	      given_poll(fds, n, timeout)
#define signalfd(fd, set, flags)      given_signals(fd, set, flags)
#define sigprocmask(how, set, before) given_block(how, set, before)
#define signal(number, how)	      given_ignore(number, how)
#define mallopt(what, n)	      given_kept(what, n)
#include "service/service.c"
#undef poll
#undef signal
#undef fflush
#undef free

static int given_kept(int what, int n)
{
#ifdef M_MMAP_THRESHOLD
	kept[what == M_TRIM_THRESHOLD] = n;
#endif
	return what && n;
}

static void print_set(const sigset_t *set)
{
	static const struct {
		int number;
		const char *name;
	} signals[] = { { SIGHUP, "HUP" }, { SIGINT, "INT" }, { SIGTERM, "TERM" }, { SIGCHLD, "CHLD" } };
	int n = 0;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigismember(set, signals[i].number) == 1)
			word("%s", signals[i].name);
	for (int i = 1; i < 32; i++)
		n += sigismember(set, i) == 1;
	word("(%d)", n);
}

static int given_signals(int fd, const sigset_t *set, int flags)
{
	is(fd == -1 && flags == (SFD_NONBLOCK | SFD_CLOEXEC));
	word("signalfd:");
	print_set(set);
	if (!among(parts.fails, "signalfd"))
		return FD_SIGNALS;
	errno = EINVAL;
	return -1;
}

static int given_block(int how, const sigset_t *set, sigset_t *before)
{
	is(how == SIG_BLOCK && !before);
	word("blocked:");
	print_set(set);
	return 0;
}

static void given_ignore(int number, void (*how)(int))
{
	is(number == SIGPIPE && how == SIG_IGN);
	word("no PIPE");
}

static void happens(const struct step *step)
{
	now_ms = BEGINS + step->at > now_ms ? BEGINS + step->at : now_ms;
	if (step->before)
		step->before();
	snprintf(parts.once, sizeof(parts.once), "%s", step->once ?: "");
	parts.yes = step->yes;
	parts.fails = step->fails;
	ended_pid = step->ended;
	ended_status = step->status;
	parts.sent = parts.got = 0;
	if (step->signal)
		parts.signals[parts.sent++] = step->signal;
}

static int given_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	const struct step *step = next;
	int woken = 0;

	is(timeout >= 0 && !ended_pid);
	word("waits(%d)", timeout);
	for (nfds_t i = 0; i < n; i++) {
		is(fds[i].events == POLLIN);
		if (fds[i].fd != polled[i])
			word("on %d", fds[i].fd);
		polled[i] = fds[i].fd;
		fds[i].revents = 0;
	}
	end_words();
	if (BEGINS + step->at - now_ms > timeout) {
		now_ms += timeout;
		return 0;
	}
	next++;
	happens(step);
	if (step->fd < 0) {
		errno = step->fd == BROKEN ? EINVAL : EINTR;
		return -1;
	}
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].fd == step->fd) {
			fds[i].revents = POLLIN;
			woken++;
		}
	is(woken);
	return woken;
}

/* --- the config --- */

static char *const words[][4] = {
	{ "allow", "192.0.2.1" }, { "load", "bad", "/bad.txt" }, { "run" }, { "follow", "/log" }
};
static const struct verb verbs[] = { { .name = "allow" },
				     { .name = "load", .flags = VERB_NAMES_LIST, .if_news = "--news" },
				     { .name = "run" },
				     { .name = "follow" } };
static struct config_line lines[4];
static bool config_fails;

static int given_configure(struct service_options *options, struct config *config, bool files)
{
	is(!files);
	word("configure");
	if (config_fails)
		return -EINVAL;
	options->hook = "/another";
	options->listen.address = "another";
	*config = (struct config){ .path = "/two.conf", .lines = lines, .n = 1 };
	return 0;
}

static void begin(void)
{
	model_begin();
	memset(&parts, 0, sizeof(parts));
	for (int i = 0; i < PARTS; i++)
		parts.due[i] = NEVER;
	parts.observer = 1000000;
	parts.rate_at = NEVER;
	parts.age = -1;
	parts.faulty = "";
	parts.expected = 2;
	config_fails = false;
	for (int i = 0; i < 4; i++) {
		lines[i] = (struct config_line){ .number = (unsigned int)i + 1, .verb = &verbs[i] };
		lines[i].words.words = (char **)(uintptr_t)words[i];
		while (words[i][lines[i].words.n])
			lines[i].words.n++;
	}
}

static long rotate_every;

/* From the beginning to the end. Its config has so many lines. */
static void runs(const struct step *steps, size_t n)
{
	struct service_options options = { .rotate_every = rotate_every,
					   .listen = { .address = "one" },
					   .hook = "/one",
					   .configure = given_configure };
	struct config config = { .path = "/one.conf", .lines = lines, .n = n };
	int status;

	next = steps;
	memset(polled, 0, sizeof(polled));
	status = service_run(&own, &options, &config);
	line("it ends with %d", status);
}

static void begins_and_ends(void)
{
	static const struct step steps[] = { ENDS(100, 1, EXITS(0)),
					     ENDS(200, 2, EXITS(0)),
					     ENDS(300, 3, EXITS(0)),
					     { .at = 1000, .fd = FD_OBSERVER },
					     { .at = 2000, .fd = FD_LINK, .yes = " rests " },
					     { .at = 2050, .fd = FD_OBSERVER },
					     { .at = 2100, .fd = FD_ERRAND },
					     { .at = 2200, .fd = INTERRUPTED },
					     { .at = 2300, .fd = FD_FILE },
					     TERM(3000) };

	runs(steps, 4);
#ifdef M_MMAP_THRESHOLD
	is(kept[0] == 131072 && kept[1] == 131072);
#endif
}

static void cannot_begin(void)
{
	static const char *const each[] = { "reload_open", "expiry_open", "arrivals_open",	 "observer_open",
					    "keeper_open", "signalfd",	  "reload_open signalfd" };
	char fails[64];

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begin();
		snprintf(fails, sizeof(fails), " %s ", each[i]);
		parts.fails = fails;
		runs(NULL, 1);
	}
}

static void is_ended(void)
{
	static const struct step fails[] = { ENDS(100, 1, EXITS(2)) },
				 broken[] = { ENDS(100, 1, EXITS(0)), { .at = 150, .fd = BROKEN } },
				 interrupted[] = { { .at = 50, .fd = FD_SIGNALS, .signal = SIGINT } },
				 children[] = { TERM(100) };

	runs(fails, 1);
	begin();
	runs(broken, 1);
	begin();
	runs(interrupted, 1);
	begin();
	/* Both queues have one that runs, and one that waits. */
	snprintf(parts.once, sizeof(parts.once), " came ");
	runs(children, 2);
}

static void the_state_fails(void)
{
	static const char *const each[] = { "live",	     "state",		"agreement",
					    "reload_follow", "arrivals_expect", "feeds_expect",
					    "unfiltered" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		char fails[64];
		const struct step steps[] = { ENDS(100, 1, EXITS(0)),
					      { .at = 200, .fd = FD_FILE, .once = " reload_read ", .fails = fails },
					      { .at = 5251, .fd = FD_OBSERVER },
					      TERM(10251) };

		begin();
		parts.detects = true;
		snprintf(fails, sizeof(fails), " %s ", each[i]);
		runs(steps, 0);
	}
}

/* What is not filtered may be so as a command is at work: the state is read again before it is ready. */
static void is_in_doubt(void)
{
	static const struct step steps[] = {
		{ .at = 100, .fd = FD_SIGNALS, .signal = SIGCHLD, .ended = 1, .status = EXITS(0), .yes = " doubts " },
		{ .at = 600, .fd = FD_OBSERVER },
		{ .at = 4000, .fd = FD_LINK, .yes = " doubts " },
		{ .at = 4100, .fd = FD_OBSERVER },
		TERM(7000)
	};

	runs(steps, 0);
}

/* A commit that its command did not end is ended: seen by a whole look alone, which no other job shares the machine
 * with. */
static void is_behind(void)
{
	static const struct step steps[] = { ENDS(100, 1, EXITS(0)),
					     { .at = 200, .fd = FD_FILE, .once = " reload_read ", .yes = " behind " },
					     { .at = 300, .fd = FD_OBSERVER, .once = " reload_read " },
					     TERM(7000) };
	static const struct step beside[] = { { .at = 50, .fd = FD_FILE, .once = " reload_read ", .yes = " behind " },
					      { .at = 60, .fd = FD_FILE },
					      TERM(7000) };

	runs(steps, 0);
	runs(beside, 1);
}

/* A job runs: what cannot wait is looked at all the same, but not before the first is over. */
static void looks_while_jobs_run(void)
{
	static const struct step steps[] = { { .at = 50, .fd = FD_FILE, .once = " reload_read " },
					     { .at = 60, .fd = FD_FILE },
					     ENDS(200, 1, EXITS(0)),
					     { .at = 300, .fd = FD_FILE, .once = " reload_read ", .yes = " joined " },
					     { .at = 320, .fd = FD_FILE, .once = " reload_read ", .yes = " joined " },
					     { .at = 400, .fd = FD_FILE, .once = " reload_read ", .fails = " state " },
					     { .at = 500, .fd = FD_OBSERVER, .fails = " state " },
					     ENDS(6000, 2, EXITS(0)),
					     TERM(7000) };

	runs(steps, 1);
}

/* Nobody tells what commands do: the state is looked at all the same, and that holds up nobody. */
static void is_untold(void)
{
	static const struct step steps[] = { { .at = 50, .fd = FD_OBSERVER, .once = " unseen " },
					     ENDS(200, 1, EXITS(0)),
					     { .at = 1200, .fd = FD_OBSERVER, .once = " unseen " },
					     { .at = 2200, .fd = FD_OBSERVER, .once = " unseen " },
					     TERM(3000) };

	runs(steps, 1);
}

static void refuse(void)
{
	config_fails = true;
}

static void faulty(void)
{
	parts.faulty = "the pins are gone";
	parts.attached = 1;
}

static void faulty_else(void)
{
	parts.faulty = "the program is gone";
}

static void well(void)
{
	parts.faulty = "";
	parts.manager_full = false;
}

static void full(void)
{
	parts.manager_full = true;
}

/* The config is read again, also while a line of it runs; or it cannot be. */
static void is_read_again(void)
{
	static const struct step steps[] = {
		ENDS(100, 1, EXITS(0)), { .at = 200, .fd = FD_SIGNALS, .signal = SIGHUP },
		ENDS(300, 2, EXITS(2)), ENDS(400, 3, EXITS(0)),
		ENDS(500, 4, EXITS(2)), { .at = 600, .fd = FD_SIGNALS, .signal = SIGHUP, .before = refuse },
		ENDS(700, 5, EXITS(0)), TERM(1000)
	};

	runs(steps, 4);
}

static void lines_fail(void)
{
	static const struct step steps[] = { ENDS(100, 1, EXITS(0)),
					     ENDS(200, 2, EXITS(2)),
					     ENDS(60300, 3, EXITS(2)),
					     { .at = 60400, .fd = FD_FILE, .once = " reload " },
					     ENDS(60500, 4, EXITS(2)),
					     ENDS(180500, 5, EXITS(0)),
					     { .at = 200000, .fd = FD_FILE, .once = " reload_read " },
					     TERM(300000) };

	runs(steps, 1);
}

/* Each time twice as long, up to an hour; and as at first after all has been well. */
static void lines_fail_again(void)
{
	struct step steps[14] = { ENDS(100, 1, EXITS(0)),
				  [9] = ENDS(32000200, 10, EXITS(0)),
				  { .at = 32000300, .fd = FD_SIGNALS, .signal = SIGHUP },
				  ENDS(32000400, 11, EXITS(2)),
				  ENDS(32000500, 12, EXITS(0)),
				  TERM(32000600) };

	for (int i = 1; i < 9; i++)
		steps[i] = (struct step)ENDS(200 + (i - 1) * 4000000, 1 + i, EXITS(2));
	runs(steps, 1);
}

/* What stood in its way is confirmed, or has gone back: it does not wait for its time. */
static void a_trial_is_over(void)
{
	static const struct step steps[] = { ENDS(100, 1, EXITS(0)),
					     ENDS(200, 2, EXITS(2)),
					     { .at = 5000, .fd = FD_FILE, .once = " reload_read confirmed " },
					     ENDS(5500, 3, EXITS(0)),
					     TERM(6000) };

	runs(steps, 1);
}

/* What takes long of a list goes on beside the others, and is tried again, or not wanted any more, as they are. */
static void a_list_takes_long(void)
{
	static const struct step fails[] = { ENDS(100, 1, EXITS(0)),
					     ENDS(200, 2, EXITS(0)),
					     ENDS(300, 3, EXITS(2)),
					     { .at = 70300, .fd = FD_OBSERVER },
					     { .at = 70301, .fd = FD_OBSERVER },
					     { .at = 72000, .fd = FD_FILE, .once = " reload_read confirmed " },
					     ENDS(80000, 4, EXITS(2)),
					     TERM(81000) };
	static const struct step unwanted[] = { ENDS(100, 1, EXITS(0)),
						ENDS(200, 2, EXITS(0)),
						ENDS(300, 3, EXITS(2)),
						{ .at = 70301, .fd = FD_OBSERVER },
						{ .at = 71000, .fd = FD_SIGNALS, .signal = SIGHUP },
						ENDS(72000, 5, EXITS(0)),
						ENDS(73000, 4, EXITS(2)),
						ENDS(74000, 6, EXITS(0)),
						TERM(75000) };
	static const struct step stopped[] = { ENDS(100, 1, EXITS(0)),
					       ENDS(200, 2, EXITS(0)),
					       ENDS(300, 3, EXITS(2)),
					       { .at = 70301, .fd = FD_OBSERVER },
					       TERM(71000) };

	runs(fails, 2);
	begin();
	runs(unwanted, 2);
	begin();
	runs(stopped, 2);
}

static void none_starts(void)
{
	no_process = true;
}

static void one_starts(void)
{
	no_process = false;
}

static void no_process_starts(void)
{
	static const struct step steps[] = { ENDS(100, 1, EXITS(0)),
					     { .at = 200, .fd = FD_LINK, .once = " came ", .before = none_starts },
					     { .at = 300, .fd = FD_OBSERVER, .before = one_starts },
					     TERM(400) };

	runs(steps, 1);
}

/* Not before it is ready, nor while others run. */
static void looks_at_needs(void)
{
	static const struct step steps[] = {
		ENDS(100, 1, EXITS(0)), { .at = 150, .fd = FD_OBSERVER, .once = " needs " },
		ENDS(200, 2, EXITS(0)), { .at = 300, .fd = FD_OBSERVER, .once = " needs " },
		ENDS(400, 3, EXITS(0)), TERM(1000)
	};

	runs(steps, 1);
}

static void urgent(void)
{
	static const struct step steps[] = {
		ENDS(100, 1, EXITS(0)),
		{ .at = 150, .fd = FD_OBSERVER, .once = " jail " },
		{ .at = 200, .fd = FD_WALL },
		{ .at = 250, .fd = FD_OBSERVER, .once = " jail " },
		{ .at = 300, .fd = FD_WALL, .once = " expiry " },
		{ .at = 310, .fd = FD_WALL, .once = " expiry " },
		/* Not behind those. */
		{ .at = 350, .fd = FD_LINK, .once = " came " },
		ENDS(400, 4, EXITS(0)),
		ENDS(500, 3, EXITS(0)),
		ENDS(600, 5, EXITS(0)),
		ENDS(620, 6, EXITS(0)),
		{ .at = 650, .fd = FD_OBSERVER, .once = " keeper " },
		{ .at = 700, .fd = FD_WALL, .once = " expiry ", .yes = " heals " },
		{ .at = 750, .fd = FD_SIGNALS, .signal = SIGCHLD, .once = " keeper_ended " },
		TERM(1000)
	};

	/* A line runs all the while. */
	runs(steps, 1);
}

static void fetched(void)
{
	parts.fed = calloc(1, sizeof(*parts.fed));
	is(parts.fed);
	parts.fed->kind = JOB_FEED;
	strcpy(parts.fed->list, "bad");
	/* Two more of them at once. */
	parts.signals[parts.sent++] = SIGCHLD;
}

static void a_list_is_fetched(void)
{
	static const struct step steps[] = { ENDS(100, 1, EXITS(0)),
					     { .at = 200, .fd = FD_SIGNALS, .signal = SIGCHLD, .before = fetched },
					     { .at = 300, .fd = FD_FILE, .yes = " serves " },
					     TERM(1000) };

	runs(steps, 0);
}

static void measure_soon(void)
{
	parts.rate_at = now_ms + 400;
	parts.age = -1;
}

static void rotates(void)
{
	static const struct step steps[] = {
		ENDS(100, 1, EXITS(0)),
		ENDS(1700, 2, EXITS(2)),
		{ .at = 1800, .fd = FD_FILE, .once = " reload_read " },
		ENDS(6000, 3, EXITS(0)),
		{ .at = 6100, .fd = FD_FILE, .once = " reload_read ", .before = measure_soon },
		ENDS(8000, 4, EXITS(0)),
		TERM(9000)
	};

	rotate_every = 10;
	parts.age = 8.5;
	runs(steps, 0);
	rotate_every = 0;
	begin();
	parts.age = 8.5;
	runs((const struct step[]){ ENDS(100, 1, EXITS(0)), TERM(9000) }, 0);
}

/* The rate is not measured while other jobs wait. */
static void measures(void)
{
	static const struct step steps[] = { ENDS(100, 1, EXITS(0)),  { .at = 200, .fd = FD_SIGNALS, .signal = SIGHUP },
					     ENDS(2000, 2, EXITS(0)), ENDS(3000, 3, EXITS(0)),
					     ENDS(4000, 4, EXITS(0)), TERM(9000) };

	parts.rate_at = BEGINS + 700;
	runs(steps, 0);
}

static void manager(void)
{
	static const struct step steps[] = { ENDS(100, 1, EXITS(0)),
					     { .at = 200, .fd = FD_OBSERVER, .before = well },
					     { .at = 300, .fd = FD_OBSERVER, .before = faulty },
					     { .at = 400, .fd = FD_OBSERVER, .before = faulty_else },
					     { .at = 450, .fd = FD_OBSERVER, .before = full },
					     { .at = 500, .fd = FD_OBSERVER, .before = well },
					     { .at = 2200, .fd = FD_OBSERVER },
					     TERM(2300) };

	parts.manager_full = true;
	parts.watchdog = 1999000; /* half of it is no whole number of ms */
	runs(steps, 0);
	begin();
	faulty();
	runs((const struct step[]){ ENDS(100, 1, EXITS(0)), TERM(900) }, 0);
}

/* It waits for that where it comes before the observer's time, and no longer where that is over. */
static void counts(struct service *s, const char *name, int64_t *at)
{
	bool due;

	*at = now_ms + 100;
	due = wait_ms(s, now_ms) == 100;
	if (due)
		word("%s", name);
	else
		is(wait_ms(s, now_ms) == parts.observer);
	*at = now_ms - 1;
	is(wait_ms(s, now_ms) == (due ? 0 : parts.observer));
	*at = now_ms + parts.observer + 1;
	is(wait_ms(s, now_ms) == parts.observer);
	*at = NEVER;
}

/* Whose deadline counts, and when. */
static void deadlines(void)
{
	static const char *const names[PARTS] = { "arrivals", "reload", "keeper",  "jail",
						  "learn",    "feeds",	"errands", "followers" };
	struct service s = { .observer = PIECE(observer, OBSERVER_IS),
			     .look_at = NEVER,
			     .glance_at = NEVER,
			     .rotate_at = NEVER,
			     .notify_at = NEVER,
			     .rate.at = NEVER,
			     .retry.at = NEVER };
	struct job job = { 0 };

	for (int i = 0; i < 16; i++) {
		s.started = i & 1;
		s.ready = i & 2;
		s.jobs.first = i & 4 ? &job : NULL;
		s.urgent.first = i & 8 && i & 1 ? &job : NULL;
		s.coming.first = i & 8 && !(i & 1) ? &job : NULL;
		word("%s, %s, %s, %s:", s.started ? "started" : "not yet", s.ready ? "ready" : "not ready",
		     s.jobs.first ? "jobs" : "no jobs",
		     s.urgent.first   ? "urgent ones"
		     : s.coming.first ? "one comes"
				      : "none urgent");
		counts(&s, "look", &s.look_at);
		counts(&s, "glance", &s.glance_at);
		counts(&s, "rotate", &s.rotate_at);
		counts(&s, "notify", &s.notify_at);
		counts(&s, "rate", &s.rate.at);
		counts(&s, "retry", &s.retry.at);
		for (size_t k = 0; k < PARTS; k++)
			counts(&s, names[k], &parts.due[k]);
		end_words();
	}
	s.look_at = now_ms + 5;
	s.glance_at = now_ms + 10;
	service_look_soon(&s, now_ms + 7);
	line("looks at %d, %d", (int)(s.look_at - now_ms), (int)(s.glance_at - now_ms));
	service_look_soon(&s, now_ms + 4);
	line("looks at %d, %d", (int)(s.look_at - now_ms), (int)(s.glance_at - now_ms));
}

static void says(void)
{
	const struct log_subject about = { .verb = "load" };

	service_say("%d words", 2);
	service_say_about(&about, "done");
	parts.taken = true;
	service_say("%d words", 3);
	service_say_about(&about, "done");
	log_settings.quiet = true;
	service_say("nothing");
	service_say_about(&about, "nothing");
	log_settings.quiet = false;
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "begins and ends", begins_and_ends },
					       { "cannot begin", cannot_begin },
					       { "is ended", is_ended },
					       { "the state fails", the_state_fails },
					       { "looks while jobs run", looks_while_jobs_run },
					       { "is in doubt", is_in_doubt },
					       { "is behind", is_behind },
					       { "is untold", is_untold },
					       { "is read again", is_read_again },
					       { "lines fail", lines_fail },
					       { "lines fail again", lines_fail_again },
					       { "a trial is over", a_trial_is_over },
					       { "a list takes long", a_list_takes_long },
					       { "no process starts", no_process_starts },
					       { "looks at needs", looks_at_needs },
					       { "urgent", urgent },
					       { "a list is fetched", a_list_is_fetched },
					       { "rotates", rotates },
					       { "measures", measures },
					       { "manager", manager },
					       { "deadlines", deadlines },
					       { "says", says } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
