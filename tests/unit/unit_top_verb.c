// SPDX-License-Identifier: GPL-2.0-only
/*
 * top: what it reads second by second, what its keys do, what it says where something cannot be had, and how it ends.
 * The clock, the terminal, the kernel and the service are made up.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/stop.h"
#include "change/change.h"
#include "kernel/counters.h"
#include "kernel/root.h"
#include "observe/packet.h"
#include "observe/passing.h"
#include "observe/samples.h"
#include "observe/tap.h"
#include "observe/top_screen.h"
#include "observe/weigh.h"
#include "sets/networks.h"
#include "state/events.h"
#include "state/settings.h"
#include "state/state.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_top_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_top_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* A poll each: a key, '.' waits, ',' for longer than it may, '+' a sample has come, '!' and '~' the terminal is gone;
 * then it is told to end. */
static const char *script;
static int64_t now_ms;
static int pressed, calls, fails_at, held, looks;
static double sampled;
static unsigned int match;
static bool detected, no_memory, comes; /* comes: a sample */
static const char *const *events;

static int call(const char *what)
{
	if (++calls != fails_at)
		return 0;
	printf("  %s: fails\n", what);
	return because(-EIO, "%s cannot be had", what);
}

/* What each of them is, where it is given back: any place in memory that nobody else has. */
static char place[8];
enum { STATE, SAMPLES, WEIGHER, PASSING, HISTORY, NETWORKS };
#define IT(type, what) ((struct type *)&place[what])

static int gets(const char *what)
{
	int err = call(what);

	held += !err;
	return err;
}

static void given_back(const void *it, int what)
{
	if (it && it != &place[what])
		puts("  gives back another");
	held -= it != NULL;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	int err = gets(change ? "the state, to change it" : "the state");

	(void)context;
	*state = err ? NULL : IT(state, STATE);
	return err;
}

static struct settings given_settings(const struct state *state)
{
	return (struct settings){ .samples = state == IT(state, STATE) ? sampled : -1 };
}

static int given_samples(const struct context *context, struct samples **samples, double per_second)
{
	int err = gets("samples");

	(void)context;
	printf("  %g samples a second\n", per_second);
	if (!err)
		*samples = IT(samples, SAMPLES);
	return err;
}

static int given_read(struct samples *samples, void (*each)(void *arg, const struct sample *sample), void *arg)
{
	static const struct sample sample;

	given_back(samples, SAMPLES);
	held++;
	if (comes)
		each(arg, &sample);
	return call("reading samples");
}

static void given_weigh(const struct weigher *weigher, const struct sample *sample)
{
	printf("  a sample%s%s\n", weigher == IT(weigher, WEIGHER) ? "" : " by another", sample ? "" : " of nothing");
}

static void given_weighed(const struct weigher *weigher, uint64_t until, const struct tally *lists,
			  void (*each)(void *arg, const struct packet *packet, double packets), void *arg)
{
	static const struct packet packet;

	printf("  weighs until %llu, of %llu packets\n", (unsigned long long)until,
	       (unsigned long long)lists[1].packets);
	if (weigher == IT(weigher, WEIGHER))
		each(arg, &packet, 2.5);
}

static int given_history(struct history **history)
{
	int err = gets("memory");

	*history = err ? NULL : IT(history, HISTORY);
	return err;
}

static void given_sample(const struct history *history, uint64_t second, const struct packet *packet, double packets)
{
	if (history == IT(history, HISTORY) && packet)
		printf("  weighed %g at %llu\n", packets, (unsigned long long)second);
}

static int given_tallies(const struct context *context, struct tallies *tallies)
{
	int err = gets("the counters");

	(void)context;
	*tallies = (struct tallies){ .at = { .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 },
				     .live_label_is_exact = true };
	if (err)
		return err;
	tallies->ports = calloc(2, sizeof(*tallies->ports));
	tallies->ports_n = 2;
	tallies->ports[1].match = match;
	tallies->lists = calloc(2, sizeof(*tallies->lists));
	tallies->lists_n = 1;
	looks++;
	tallies->counted.list[1].packets = (unsigned long long)(looks * looks) * 10;
	tallies->counted.list[LABEL_DETECTOR].packets = detected;
	return 0;
}

static void given_tallies_free(struct tallies *tallies)
{
	held -= tallies->ports != NULL;
	free(tallies->ports);
	free(tallies->lists);
	*tallies = (struct tallies){ 0 };
}

static int given_detector(struct list_info **lists, size_t *n)
{
	(void)lists;
	printf("  the detector beside %zu lists\n", *n);
	return 0;
}

static void given_lists(const struct history *history, const struct list_info *lists, size_t n, bool exact)
{
	if (history != IT(history, HISTORY) || !lists || n != 1 || !exact)
		printf("  other lists: %zu\n", n);
}

static void given_counted(const struct history *history, uint64_t second, double seconds, const struct counted *between)
{
	printf("  counts %llu in %g s at %llu%s\n", (unsigned long long)between->list[1].packets, seconds,
	       (unsigned long long)second, history == IT(history, HISTORY) ? "" : " elsewhere");
}

static int given_report(const struct history *history, uint64_t second, enum history_window window,
			struct history_report *report)
{
	printf("  reads the %s until %llu%s\n", history_window_names[window], (unsigned long long)second,
	       history == IT(history, HISTORY) ? "" : " elsewhere");
	report->sums.samples = (uint64_t)looks;
	return call("the minute");
}

static int given_in_force(const struct context *context, struct inforce *inforce)
{
	(void)context;
	(void)inforce;
	return call("what is in force");
}

static int given_now(const struct context *context, struct detector_sums *sums)
{
	(void)context;
	sums->above = (size_t)looks;
	return call("the detector");
}

static struct passing *given_passing(unsigned int per_second)
{
	if (per_second != TAP_RATE || no_memory)
		return NULL;
	held++;
	return IT(passing, PASSING);
}

static int given_follow(const struct passing *passing, const struct attachment *on, size_t n)
{
	printf("  looks at what passes %zu interfaces%s\n", n,
	       passing == IT(passing, PASSING) && on ? "" : " elsewhere");
	return call("what passes");
}

static void given_passes(const struct passing *passing, uint64_t second, uint64_t until, const struct counted *between)
{
	if (passing == IT(passing, PASSING))
		printf("  what passed at %llu until %llu beside %llu\n", (unsigned long long)second,
		       (unsigned long long)until, (unsigned long long)between->list[1].packets);
}

static void given_sums(const struct passing *passing, uint64_t second, struct history_sums *sums)
{
	if (passing == IT(passing, PASSING))
		sums->samples = 1000 + second;
}

static bool given_event(const struct events_tail *tail, char line[EVENT_LINE_MAX])
{
	if (tail->directory != typed_context.state || tail->at || tail->file)
		puts("  events of elsewhere");
	if (!events || !*events)
		return false;
	snprintf(line, EVENT_LINE_MAX, "%s", *events++);
	if (**(events - 1) == '-')
		return false;
	return true;
}

static void given_draw(const struct top_view *v)
{
	printf("  draws%s%s%s%s: %llu in the tables, %llu in the minute, %zu above; %s\n",
	       v->passed ? ", what passes" : "", v->inside ? ", inside" : "", v->paused ? ", paused" : "",
	       v->help ? ", help" : "", (unsigned long long)v->tables->samples,
	       (unsigned long long)v->minute->sums.samples, v->detector->above, *v->samples ? v->samples : "-");
	for (size_t i = 0; i < TOP_EVENTS; i++)
		if (*v->event[i])
			printf("    %zu. %.60s (%zu)\n", i, v->event[i], strlen(v->event[i]));
	if (v->tallies->ports_n != 2 || !v->inforce || v->networks != IT(networks, NETWORKS) || !v->between)
		puts("  of other things");
}

static int given_ready(const struct context *context)
{
	(void)context;
	return call("the kernel");
}

static int given_screen(const char *verb, const char *instead)
{
	printf("  the screen of %s, or else %s\n", verb, instead);
	return call("the screen");
}

static void given_screen_end(void)
{
	puts("  the screen is given back");
}

static int given_key(void)
{
	int is = pressed;

	pressed = -1;
	return is;
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	char next = *script ? *script++ : '\0';

	if (n != 2 || fds[0].fd != STDIN_FILENO || fds[0].events != POLLIN || fds[1].events != POLLIN)
		puts("  waits for others");
	printf("%c %lld ms, %d at most%s\n", next ?: '/', (long long)now_ms, ms,
	       fds[1].fd < 0 ? ", without samples" : "");
	comes = next == '+';
	now_ms += next == '.' ? ms : next == ',' ? 1000 : 10;
	if (next == '!' || next == '~')
		fds[0].revents = next == '!' ? POLLHUP : POLLERR;
	else if (!next)
		stop_asked = SIGTERM;
	else if (!strchr(".,+", next))
		pressed = next == '^' ? 3 : next;
	return 1;
}

#define state_open	     given_open
#define state_close(state)   given_back(state, STATE)
#define settings_read	     given_settings
#define samples_open	     given_samples
#define samples_close(of)    given_back(of, SAMPLES)
#define samples_read	     given_read
#define samples_fd(of)	     ((of) ? 7 : -1)
#define samples_refill(of)   puts((of) ? "  refills" : "  refills none")
#define weigh_sample	     given_weigh
#define weigh_interval	     given_weighed
#define weigher_new()	     (no_memory ? NULL : (held++, IT(weigher, WEIGHER)))
#define weigher_free(of)     given_back(of, WEIGHER)
#define history_private	     given_history
#define history_close(of)    given_back(of, HISTORY)
#define history_sample	     given_sample
#define history_lists	     given_lists
#define history_count	     given_counted
#define history_read	     given_report
#define tallies_take	     given_tallies
#define tallies_free	     given_tallies_free
#define lists_add_detector   given_detector
#define inforce_take	     given_in_force
#define detector_now	     given_now
#define passing_new	     given_passing
#define passing_free(of)     given_back(of, PASSING)
#define passing_follow	     given_follow
#define passing_read(of)     puts((of) ? "  reads what passes" : "  reads nothing")
#define passing_count	     given_passes
#define passing_sums	     given_sums
#define events_next	     given_event
#define kernel_ready_to_look given_ready
#define networks_open(of)    ((void)(of), held++, IT(networks, NETWORKS))
#define networks_close(of)   given_back(of, NETWORKS)
#define top_view_begin	     given_screen
#define top_view_end	     given_screen_end
#define top_view_draw	     given_draw
#define top_view_key	     given_key
#define stop_on(signal)	     printf("  ends by %d\n", signal)
#define poll		     given_poll
#define clock_ms()	     now_ms
#define time(to)	     ((void)(to), (time_t)(now_ms / 1000))
#include "verbs/top.c"
#undef time
#undef poll

static void begin(void)
{
	sampled = 100;
	match = MATCH_SOURCE;
	detected = no_memory = comes = false;
	fails_at = 0;
	events = NULL;
}

static int end(void)
{
	if (held)
		printf("  not given back: %d\n", held);
	return calls < fails_at;
}

/* True: a call failed, or would have. */
static bool types(const char *line, const char *then)
{
	script = then;
	now_ms = 1000000;
	calls = held = looks = 0;
	pressed = -1;
	return !typed_apart(line, end);
}

static void seconds(void)
{
	types("top", "");
	types("top", "............");
	types("top", ",,");
	detected = true;
	types("top", "+.,+,");
	sampled = 0;
	types("top", ",");
	sampled = 0.5;
	types("top", "!");
	types("top", "~");
	types("top --passed", ".,.");
	types("top --inside", ".");
	types("top --inside --passed", ".");
	types("top --check", ".");
	types("top x", ".");
}

static void keys(void)
{
	types("top", "q.");
	types("top", "Q.");
	types("top", "^.");
	types("top", "hh?x.");
	types("top", "s,s,i,is");
	match = MATCH_BOTH;
	types("top", "i");
	match = MATCH_LEAVING(MATCH_DESTINATION);
	types("top", "i");
	types("top", "p,. ,");
	types("top", "pspip.");
	types("top", "ssisi.");
}

static void happened(void)
{
	static char many[8][700];
	static const char *all[10], *const some[] = {
		"{\"time\": \"2026-01-01T12:00:01Z\", \"message\": \"load drop\"}",
		"{\"time\": \"2026-01-01T12:00:02Z\"}",
		"{\"message\": \"of no time\"}",
		"{\"time\": \"2026-01-01T23:59:59Z\", \"message\": \"add\"",
		"-",
		"{\"time\": \"2026-01-01T23:59:59Z\", \"message\": \"add\"}",
		NULL,
	};

	events = some;
	types("top", ",,");
	for (size_t i = 0; i < 8; i++) {
		snprintf(many[i], sizeof(many[i]), "{\"time\": \"2026-01-01T12:00:0%zuZ\", \"message\": \"%zu%*s\"}", i,
			 i, i < 7 ? 1 : 600, "x");
		all[i] = many[i];
	}
	events = all;
	types("top", "");
}

static void cannot(void)
{
	for (fails_at = 1; types("top", "+,+,"); fails_at++)
		;
	for (fails_at = 1; types("top --passed", ",."); fails_at++)
		;
	fails_at = 0;
	no_memory = true;
	types("top", ".");
	types("top --passed", ".");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "seconds", seconds },
		{ "keys", keys },
		{ "happened", happened },
		{ "cannot", cannot },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	setenv("TZ", "XYZ-1", 1);
	tzset();
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
