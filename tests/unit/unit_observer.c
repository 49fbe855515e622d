// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of the service that counts, reads samples and keeps the history: what it does each second and between, what
 * it opens again and when, and what it says; everything that it asks is made up, word for word.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/state_path.h"
#include "kernel/attach.h"
#include "kernel/counters.h"
#include "kernel/live.h"
#include "kernel/ring.h"
#include "observe/history.h"
#include "observe/lines_down.h"
#include "observe/metrics_pages.h"
#include "observe/passing.h"
#include "observe/relay.h"
#include "observe/tallies.h"
#include "observe/weigh.h"
#include "service/observer.h"
#include "state/kept_image.h"
#include "state/limits.h"
#include "state/reserve.h"
#include "state/settings.h"
#include "state/state.h"
#include "model_clock.h"
#include "shown.h"

static const struct context own = CONTEXT_DEFAULT;

/* What it is given when it asks: an error each, and what there given. */
static struct {
	int live_err, state_err, ring_err, relay_err, history_err, private_err, counters_err, lists_err, detector_err,
		attach_err, follow_err, token_err, listen_err;
	int no_memory; /* the allocation of this number fails; 0: none does */
	bool no_weigher, no_passing, lost, full, spares, detects, exact, is_open, sees;
	__u64 number, edits, counted;
	double rate;
	const char *token, *lists[3];
	size_t attached;
	unsigned int samples; /* in the ring */
	int web_ms;
} given;

static int64_t ns;					     /* the reading of counters takes time */
static int allocations, states, rings, histories, forgotten; /* what another service left */
static char handles[32];
static const struct sample a_sample;
static const struct packet *const a_packet = (const struct packet *)&handles[31];

#define HANDLE(n)  ((void *)&handles[n])
#define WEIGHER	   HANDLE(28)
#define SERVER	   HANDLE(29)
#define PASSING	   HANDLE(30)
#define NUMBER(at) ((int)((const char *)(at)-handles))

static void expects(bool holds, const char *what)
{
	if (!holds)
		line("NOT: %s", what);
}

static bool memory(void)
{
	return ++allocations != given.no_memory;
}

static void *given_calloc(size_t n, size_t size)
{
	return memory() ? calloc(n, size) : NULL;
}

static char *given_strdup(const char *text)
{
	return memory() ? strdup(text) : NULL;
}

static int64_t given_ns(clockid_t clock)
{
	expects(clock == CLOCK_MONOTONIC, "the clock of samples");
	return now_ms * 1000000 + ns;
}

/* --- What it reads --- */

static int given_live_look(struct live *live)
{
	expects(live->context == &own, "the generation of its context");
	live->g.number = given.live_err ? 0 : given.number;
	live->g.edits = given.live_err ? 0 : given.edits;
	return live->err = given.live_err;
}

static int given_live_open(struct live *live, const struct context *its)
{
	live->context = its;
	return given_live_look(live);
}

static void given_live_close(struct live *live)
{
	expects(live->context == &own, "its generation");
	line("the generation is closed");
}

static int given_state_open(struct state **state, const struct context *its, bool change)
{
	expects(its == &own && !change, "the state is read");
	line("the state is opened%s", given.state_err ? ", in vain" : "");
	*state = given.state_err ? NULL : HANDLE(1);
	states += !given.state_err;
	return given.state_err;
}

static void given_state_close(struct state *state)
{
	states -= !!state;
}

static double given_setting(struct state *state, const char *name, double fallback)
{
	expects(state == HANDLE(1) && !strcmp(name, "samples") && fallback == SETTINGS_DEFAULT.samples, "samples");
	return given.rate;
}

static struct limits given_limits(struct state *state)
{
	expects(state == HANDLE(1), "its limits");
	return (struct limits){ .on = given.detects };
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	expects(state == HANDLE(1), "its lists");
	if (given.lists_err)
		return given.lists_err;
	*lists = calloc(3, sizeof(**lists));
	for (*n = 0; *n < 3 && given.lists[*n]; ++*n)
		strcpy((*lists)[*n].name, given.lists[*n]);
	return 0;
}

static int given_add_detector(struct list_info **lists, size_t *n)
{
	if (given.detector_err)
		return given.detector_err;
	strcpy((*lists)[(*n)++].name, DETECTOR_LIST);
	return 0;
}

static bool given_exact(const struct context *its, struct state *state)
{
	expects(its == &own && state == HANDLE(1), "its labels");
	return given.exact;
}

static int given_counters(const struct context *its, struct counted *counted)
{
	expects(its == &own, "its counters");
	line("counters are read%s", given.counters_err ? ", in vain" : "");
	ns += 700;
	if (!given.counters_err)
		counted->list[3].packets = given.counted;
	return given.counters_err;
}

static void given_since(struct counted *between, const struct counted *before, const struct counted *now)
{
	between->list[3].packets = now->list[3].packets - before->list[3].packets;
}

/* --- Samples --- */

static int given_ring_open(const struct context *its, struct ring **ring, double per_second)
{
	expects(its == &own, "its ring");
	line("samples are opened: %g a second%s", per_second, given.ring_err ? ", in vain" : "");
	if (!given.ring_err)
		*ring = HANDLE(++rings);
	return given.ring_err;
}

static void given_ring_close(struct ring *ring)
{
	if (ring)
		line("samples %d are closed", NUMBER(ring));
}

static int given_ring_fd(const struct ring *ring)
{
	return 100 + NUMBER(ring);
}

static int given_ring_read(struct ring *ring, void (*each)(void *arg, const struct sample *sample), void *arg)
{
	line("samples %d are read", NUMBER(ring));
	for (; given.samples; given.samples--)
		each(arg, &a_sample);
	return 0;
}

static int given_refill(struct ring *ring)
{
	line("samples %d are refilled", NUMBER(ring));
	return 0;
}

static struct weigher *given_weigher_new(void)
{
	return given.no_weigher ? NULL : WEIGHER;
}

static void given_weigher_free(struct weigher *weigher)
{
	expects(!weigher || weigher == WEIGHER, "its weigher");
	if (weigher)
		line("the weigher is freed");
}

static void given_weigh_sample(struct weigher *weigher, const struct sample *its)
{
	expects(weigher == WEIGHER && its == &a_sample, "its sample");
	line("a sample is weighed");
}

static void given_interval(struct weigher *weigher, uint64_t until, const struct tally lists[LABELS],
			   void (*each)(void *arg, const struct packet *packet, double packets), void *arg)
{
	expects(weigher == WEIGHER, "its interval");
	line("weighs until %lld: %llu counted", (long long)until - BEGINS * 1000000LL, lists[3].packets);
	each(arg, a_packet, 2.5);
}

static void given_weigh_forget(struct weigher *weigher)
{
	expects(weigher == WEIGHER, "its labels");
	line("the weigher forgets");
}

static int given_relay_open(const struct context *its, struct relay *relay)
{
	expects(its == &own && relay->listener == -1, "its relay");
	if (given.relay_err)
		line("the relay is opened, in vain");
	else
		relay->listener = 50;
	return given.relay_err ? because(given.relay_err, "no relay") : 0;
}

static void given_relay_close(struct relay *relay)
{
	line("the relay is closed: %d", relay->listener);
}

static void given_accept(struct relay *relay)
{
	expects(relay->listener == (given.relay_err ? -1 : 50), "who reads samples");
	line("readers are let in");
}

static void given_send(struct relay *relay, const struct sample *its)
{
	expects(relay->listener == 50 && its == &a_sample, "what readers get");
	line("a sample is passed on");
}

/* --- The history --- */

static int given_history_open(const struct context *its, struct history **history, bool write)
{
	expects(its == &own && write, "its history");
	*history = given.history_err ? NULL : HANDLE(++histories);
	return given.history_err ? because(given.history_err, "no history") : 0;
}

static int given_private(struct history **history)
{
	line("a history in memory%s", given.private_err ? ", in vain" : "");
	*history = given.private_err ? NULL : HANDLE(++histories);
	return given.private_err;
}

static void given_history_close(struct history *history)
{
	if (history)
		line("history %d is closed", NUMBER(history));
}

static bool given_is_lost(const struct history *history)
{
	expects(NUMBER(history) == histories, "the last history");
	return given.lost;
}

static bool given_is_full(const char *directory)
{
	expects(!strcmp(directory, own.state), "its state's disk");
	return given.full;
}

static void given_history_lists(struct history *history, const struct list_info *lists, size_t n, bool live_exact)
{
	line("history %d has %zu lists%s:", NUMBER(history), n, live_exact ? ", live bans apart" : "");
	for (size_t i = 0; i < n; i++)
		printf("       %s\n", lists[i].name);
}

static void given_history_count(struct history *history, uint64_t now, double seconds, const struct counted *between)
{
	line("history %d, second %lld: %llu in %g s", NUMBER(history), (long long)now - DATE, between->list[3].packets,
	     seconds);
}

static void given_history_sample(struct history *history, uint64_t now, const struct packet *its, double packets)
{
	expects(its == a_packet, "its packet");
	line("history %d, second %lld: a sample of %g", NUMBER(history), (long long)now - DATE, packets);
}

/* --- What passes --- */

static struct passing *given_passing_new(unsigned int per_second)
{
	line("what passes is sampled: %u a second%s", per_second, given.no_passing ? ", in vain" : "");
	return given.no_passing ? NULL : PASSING;
}

static void given_passing_free(struct passing *passing)
{
	if (passing)
		line("what passes is not sampled any more");
}

static int given_attached(const struct context *its, struct attachment **list, size_t *n)
{
	expects(its == &own, "its interfaces");
	*list = given.attach_err ? NULL : calloc(1, sizeof(**list));
	*n = given.attach_err ? 0 : given.attached;
	return given.attach_err ? because(given.attach_err, "no interfaces") : 0;
}

static int given_follow(struct passing *passing, const struct attachment *on, size_t n)
{
	expects(passing == PASSING && on, "what passes there");
	line("what passes on %zu interfaces", n);
	return given.follow_err ? because(given.follow_err, "nothing can be seen") : 0;
}

static bool given_sees(const struct passing *passing)
{
	expects(passing == PASSING, "what is seen");
	return given.sees;
}

static void given_passing_read(struct passing *passing)
{
	expects(passing == PASSING, "what passes is read");
	line("what passes is read");
}

static void given_passing_count(struct passing *passing, uint64_t second, uint64_t until, const struct counted *between)
{
	expects(passing == PASSING, "what passes is counted");
	line("what passes, second %lld, until %lld: %llu counted", (long long)second - DATE,
	     (long long)until - BEGINS * 1000000LL, between->list[3].packets);
}

/* --- Who asks --- */

static int given_listen(struct web_server **server, const char *where, const char *hosts, web_answer *answer, void *arg)
{
	const struct metrics_pages *pages = arg;

	expects(answer == metrics_answer && pages->context == &own, "what it answers");
	line("listens at %s, called %s, token %s", where, hosts ?: "nothing", pages->token.wanted ? "wanted" : "none");
	if (!given.listen_err)
		*server = SERVER;
	return given.listen_err ? because(given.listen_err, "no address") : 0;
}

static void given_keep(const struct context *its, const char *file, const struct lines_down *down)
{
	expects(its == &own && !strcmp(file, STATE_LISTEN) && !down->n, "why it does not listen");
	forgotten++;
}

__attribute__((format(printf, 4, 5))) static void given_say(const struct context *its, const char *file, bool down,
							    const char *fmt, ...)
{
	char text[LINE_DOWN_MAX];
	va_list args;

	expects(its == &own && !strcmp(file, STATE_LISTEN), "why it does not listen");
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	line("%s: %s", down ? "fault" : "healed", text);
}

static bool given_open(const struct web_server *server)
{
	expects(server == SERVER, "its server");
	return given.is_open;
}

static void given_web_close(struct web_server *server)
{
	if (server)
		line("the server is closed");
}

static unsigned int given_web_fds(struct web_server *server, struct pollfd fds[WEB_FDS])
{
	expects(server == SERVER, "whom it waits for");
	fds[0] = (struct pollfd){ .fd = 200, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = 201, .events = POLLOUT };
	return 2;
}

static int given_web_timeout(struct web_server *server)
{
	expects(server == SERVER, "how long it waits");
	return given.web_ms;
}

static void given_serve(struct web_server *server)
{
	expects(server == SERVER, "its requests");
	line("requests are answered");
}

static void given_pages_forget(struct metrics_pages *pages)
{
	expects(pages->context == &own, "its pages");
	line("the pages are freed");
}

static int given_token(struct token *token, const char *path)
{
	line("the token of %s is read", path);
	if (given.token_err)
		return because(given.token_err, "no token");
	token->wanted = true;
	strcpy(token->text, given.token);
	return 0;
}

static bool given_token_is(const struct token *token, const char *said)
{
	return !strcmp(token->text, said);
}

#define clock_ms given_ms
#define clock_ns given_ns
#define time(to) given_time(to)
#define warn	 given_warn
#define calloc	 given_calloc
#undef strdup
#define strdup		    given_strdup
#define live_look	    given_live_look
#define live_open	    given_live_open
#define live_close	    given_live_close
#define state_open	    given_state_open
#define state_close	    given_state_close
#define state_setting	    given_setting
#define state_limits	    given_limits
#define lists_in_force	    given_lists
#define lists_add_detector  given_add_detector
#define live_label_is_exact given_exact
#define kernel_counters	    given_counters
#define tallies_since	    given_since
#define ring_open	    given_ring_open
#define ring_close	    given_ring_close
#define ring_fd		    given_ring_fd
#define ring_read	    given_ring_read
#define ring_refill	    given_refill
#define weigher_new	    given_weigher_new
#define weigher_free	    given_weigher_free
#define weigh_sample	    given_weigh_sample
#define weigh_interval	    given_interval
#define weigh_forget	    given_weigh_forget
#define relay_open	    given_relay_open
#define relay_close	    given_relay_close
#define relay_accept	    given_accept
#define relay_send	    given_send
#define history_open	    given_history_open
#define history_private	    given_private
#define history_close	    given_history_close
#define history_is_lost	    given_is_lost
#define reserve_is_needed   given_is_full
#define history_lists	    given_history_lists
#define history_count	    given_history_count
#define history_sample	    given_history_sample
#define passing_new	    given_passing_new
#define passing_free	    given_passing_free
#define attach_list	    given_attached
#define passing_follow	    given_follow
#define passing_sees	    given_sees
#define passing_read	    given_passing_read
#define passing_count	    given_passing_count
#define web_listen	    given_listen
#define web_is_open	    given_open
#define lines_down_keep	    given_keep
#define line_down_say	    given_say
#define web_close	    given_web_close
#define web_fds		    given_web_fds
#define web_timeout	    given_web_timeout
#define web_serve	    given_serve
#define metrics_forget	    given_pages_forget
#define token_read	    given_token
#define token_is	    given_token_is
#undef WITHOUT_PAGE
#include "service/observer.c"

static const struct shown known[] = {
#include "unit_observer.txt"
};

static struct shows shows = { .file = "tests/unit/unit_observer.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static struct observer *observer;
static struct listen_options asked;

static void opens(void)
{
	int err;

	allocations = 0;
	observer = HANDLE(0);
	err = observer_open(&own, &observer, &asked);
	if (err)
		line("it does not begin: %s", reason(err));
	expects(!err == !!observer, "it is there, or not");
	if (!observer)
		return;
	line("it has begun: asked by %s, the page %s, token '%s'", observer->pages.open ? "others" : "its own machine",
	     observer->pages.shown ? "shown" : "not shown", observer->pages.token.text);
	expects(observer->pages.context == &own && observer->pages.history == observer->history, "its pages");
}

static void waits(void)
{
	struct pollfd fds[OBSERVER_FDS];
	unsigned int n = observer_fds(observer, fds);

	line("it waits for %d ms", observer_timeout(observer));
	for (unsigned int i = 0; i < n; i++)
		printf("       or for %d%s\n", fds[i].fd,
		       fds[i].events == POLLIN	  ? ""
		       : fds[i].events == POLLOUT ? " to write"
						  : " in vain");
}

static void turn(void)
{
	static char why[768];
	const struct page_passing *passing = &observer->pages.passing;

	observer_turn(observer, given.spares);
	if (passing->since)
		line("looks since %lld", (long long)passing->since - BEGINS);
	if (strcmp(why, passing->why) != 0)
		line("why nothing is seen: '%s'", passing->why);
	strcpy(why, passing->why);
	line("it waits for %d ms", observer_timeout(observer));
	expects(!states, "the state is closed");
	expects(observer->pages.history == observer->history, "the history of its pages");
}

static void after(int64_t ms)
{
	now_ms += ms;
	turn();
}

static void ends(void)
{
	line("the service ends");
	observer_close(observer);
	observer = NULL;
}

/* --- What happens --- */

static void alone(void)
{
	opens();
	waits();
	turn();
	waits();
	observer_asked(observer, &asked);
	asked = (struct listen_options){ "9000", "a.example", "token", true };
	observer_asked(observer, &asked);
	ends();
	observer_close(NULL);
}

static void served(void)
{
	asked.address = "9000";
	given.is_open = true;
	opens();
	waits();
	turn();
	waits();
	ends();
	asked.hosts = "a.example";
	asked.token = "/token";
	asked.page = true;
	given.is_open = false;
	opens();
	ends();
	/* Without an address no token is read. */
	asked.address = NULL;
	opens();
	ends();
}

static void not_begun(void)
{
	asked = (struct listen_options){ "9000", "a.example", "/token", true };
	for (given.no_memory = 1; given.no_memory <= 4; given.no_memory++)
		opens();
	given.no_memory = 0;
	given.no_weigher = true;
	opens();
	given.no_weigher = false;
	given.relay_err = -EADDRINUSE;
	opens();
	given.relay_err = 0;
	given.history_err = -EACCES;
	opens();
	given.history_err = 0;
	given.token_err = -ENOENT;
	opens();
	given.token_err = 0;
	given.listen_err = -EACCES;
	opens();
	/* This one alone is no reason. */
	given.listen_err = -EAFNOSUPPORT;
	opens();
	waits();
	turn();
	ends();
}

/* Somebody else has the port, or there is no such address yet: it tries again, and says each once. */
static void taken(void)
{
	asked = (struct listen_options){ "9000", "a.example", "/token", true };
	given.listen_err = -EADDRINUSE;
	given.is_open = true;
	forgotten = 0;
	opens();
	expects(forgotten == 1, "what another service said is gone");
	turn();
	waits();
	after(4999);
	after(1);
	given.listen_err = -EADDRNOTAVAIL;
	after(5000);
	given.listen_err = -EMFILE;
	after(5000);
	given.listen_err = 0;
	after(5000);
	expects(observer->pages.open, "it is asked by others");
	waits();
	after(5000);
	ends();
	asked.hosts = NULL;
	given.listen_err = -EADDRNOTAVAIL;
	opens();
	ends();
}

static void asked_again(void)
{
	const struct listen_options as = { "9000", "a.example", "/token", true };

	asked = as;
	opens();
	observer_asked(observer, &asked);
	asked.address = "9001";
	observer_asked(observer, &asked);
	asked.address = NULL;
	observer_asked(observer, &asked);
	asked = as;
	asked.hosts = NULL;
	observer_asked(observer, &asked);
	asked.hosts = "b.example";
	observer_asked(observer, &asked);
	asked = as;
	asked.token = NULL;
	observer_asked(observer, &asked);
	asked.token = "/other";
	observer_asked(observer, &asked);
	asked = as;
	given.token = "another secret";
	observer_asked(observer, &asked);
	given.token_err = -ENOENT;
	observer_asked(observer, &asked);
	given.token_err = 0;
	given.token = "secret";
	asked.page = false;
	observer_asked(observer, &asked);
	ends();
	opens();
	asked.page = true;
	observer_asked(observer, &asked);
	ends();
}

static void samples(void)
{
	given.number = 0;
	given.live_err = -ENOENT;
	given.rate = 0;
	opens();
	turn();
	given.live_err = 0;
	given.number = 4;
	given.rate = 100;
	after(4998);
	after(1);
	after(1);
	waits();
	/* The rate is of a generation. */
	given.rate = 50;
	after(5000);
	line("something was changed");
	observer_look(observer);
	given.number = 5;
	observer_look(observer);
	after(4999);
	after(1);
	given.number = 6;
	after(5000);
	given.rate = 0;
	given.number = 7;
	after(5000);
	after(5000);
	given.rate = 0.5;
	given.number = 8;
	given.ring_err = -EBUSY;
	after(5000);
	after(5000);
	given.ring_err = 0;
	after(5000);
	/* Neither can be read for a while. */
	given.live_err = given.state_err = -EMFILE;
	after(5000);
	given.live_err = given.state_err = 0;
	given.rate = 9;
	after(5000);
	given.number = 9;
	given.state_err = -EMFILE;
	after(5000);
	given.state_err = 0;
	after(5000);
	given.live_err = -EPROTO;
	after(5000);
	ends();
}

static void counts(void)
{
	given.counted = 1000;
	opens();
	turn();
	after(999);
	given.counted = 1500;
	after(1);
	given.samples = 2;
	after(300);
	given.counted = 1600;
	after(750);
	after(1000);
	given.counters_err = -ENOENT;
	after(1000);
	after(999);
	given.counters_err = 0;
	given.counted = 2000;
	after(1);
	given.samples = 1;
	given.counters_err = -ENOENT;
	after(1000);
	given.counters_err = 0;
	after(1000);
	after(1000);
	ends();
	given.rate = 0;
	opens();
	turn();
	after(1000);
	ends();
}

static void lists(void)
{
	opens();
	turn();
	given.lists[1] = "worse";
	after(1000);
	given.edits = 3;
	after(1000);
	after(1000);
	given.number = 4;
	given.detects = true;
	after(1000);
	after(1000);
	/* What cannot be read is tried again. */
	given.number = 5;
	given.state_err = -EACCES;
	after(1000);
	given.state_err = 0;
	given.lists_err = -EUCLEAN;
	after(1000);
	given.lists_err = 0;
	given.detector_err = -ENOMEM;
	after(1000);
	given.detector_err = 0;
	given.exact = true;
	after(1000);
	after(1000);
	given.live_err = -ENOENT;
	after(1000);
	given.live_err = 0;
	after(1000);
	given.detector_err = -ENOMEM;
	given.detects = false;
	given.edits = 4;
	after(1000);
	ends();
}

static void lost(void)
{
	opens();
	turn();
	given.lost = true;
	after(999);
	after(1);
	given.lost = false;
	after(1000);
	given.lost = true;
	given.history_err = -EACCES;
	after(1000);
	given.private_err = -ENOMEM;
	after(1000);
	given.lost = false;
	after(1000);
	ends();
}

/* The disk is full: it begins all the same, and writes the history as soon as there is room. */
static void no_name(void)
{
	given.relay_err = -ENOSPC;
	opens();
	waits();
	turn();
	after(4999);
	now_ms++;
	given.spares = true;
	turn();
	observer_look(observer);
	given.spares = false;
	turn();
	given.relay_err = 0;
	observer_look(observer);
	turn();
	waits();
	ends();
}

static void no_room(void)
{
	given.full = true;
	given.history_err = -ENOSPC;
	given.private_err = -ENOMEM;
	opens();
	given.private_err = 0;
	opens();
	turn();
	after(1000);
	/* Some, and not enough. */
	given.full = false;
	after(1000);
	given.full = true;
	given.history_err = 0;
	after(1000);
	given.full = false;
	given.spares = true;
	after(1000);
	given.spares = false;
	after(1000);
	given.full = true;
	after(1000);
	given.lost = true;
	given.history_err = -ENOSPC;
	after(1000);
	given.lost = false;
	after(1000);
	given.full = false;
	given.history_err = 0;
	after(1000);
	given.history_err = -EACCES;
	after(1000);
	ends();
}

static void passing(void)
{
	opens();
	turn();
	after(100);
	observer->pages.looked = now_ms;
	turn();
	waits();
	after(50);
	after(850);
	after(100);
	given.attached = 0;
	given.sees = false;
	after(900);
	given.attach_err = -ENOMEM;
	after(1000);
	given.attach_err = 0;
	given.follow_err = -EPERM;
	after(1000);
	given.follow_err = -EAFNOSUPPORT;
	after(1000);
	given.follow_err = -EINVAL;
	after(1000);
	given.follow_err = 0;
	given.sees = true;
	given.attached = 1;
	after(1000);
	given.counters_err = -ENOENT;
	after(1000);
	given.counters_err = 0;
	now_ms = observer->pages.looked + LOOKED_FOR - 1;
	turn();
	after(1);
	after(1);
	/* Somebody looks again. */
	observer->pages.looked = now_ms;
	given.no_passing = true;
	turn();
	given.no_passing = false;
	after(10);
	observer->pages.looked = now_ms;
	after(9990);
	ends();
}

static void timeouts(void)
{
	static const int web[] = { -1, 0, 1, 399, 400, 401, 5000 }, left[] = { 400, 101, 100, 99, 1, 0, -1, -5000 };

	asked.address = "9000";
	opens();
	turn();
	now_ms += 600;
	for (size_t i = 0; i < sizeof(web) / sizeof(web[0]); i++) {
		given.web_ms = web[i];
		line("the server: %d, it: %d", web[i], observer_timeout(observer));
	}
	given.web_ms = -1;
	observer->pages.passing.samples = PASSING;
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		now_ms = BEGINS + COUNT_EVERY - left[i];
		line("while somebody looks: %d", observer_timeout(observer));
	}
	observer->pages.passing.samples = NULL;
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		now_ms = BEGINS + COUNT_EVERY - left[i];
		line("while nobody does: %d", observer_timeout(observer));
	}
	ends();
}

static void told(void)
{
	const struct faults faults = { .n = 3, .now = true, .last = DATE, .text = "slot is gone" };

	opens();
	observer_faults(observer, &faults);
	line("%llu faults%s: %s", observer->pages.faults.n, observer->pages.faults.now ? ", now" : "",
	     observer->pages.faults.text);
	for (int i = 0; i < 4; i++) {
		observer_state(observer, i & 1);
		line("the state is %s", observer->pages.state_lost ? "lost" : "there");
	}
	ends();
}

/* The clock begins with the machine. */
static void early(void)
{
	now_ms = 500;
	opens();
	turn();
	after(1);
	ends();
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = { { "alone", alone },
		     { "served", served },
		     { "it does not begin", not_begun },
		     { "the port is taken", taken },
		     { "it is asked again", asked_again },
		     { "samples", samples },
		     { "it counts", counts },
		     { "lists", lists },
		     { "a history is lost", lost },
		     { "a full disk", no_room },
		     { "no name is left on it", no_name },
		     { "what passes", passing },
		     { "how long it waits", timeouts },
		     { "what it is told", told },
		     { "the machine has just started", early } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		now_ms = BEGINS;
		ns = 0;
		rings = histories = 0;
		memset(&given, 0, sizeof(given));
		given.token = "secret";
		given.number = 3;
		given.counted = 40;
		given.rate = 100;
		given.sees = true;
		given.attached = 2;
		given.web_ms = -1;
		given.lists[0] = "bad";
		asked = (struct listen_options){ 0 };
		shows_begin(&shows);
		each[i].happens();
		shows_as(&shows, each[i].name);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
