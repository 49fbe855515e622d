// SPDX-License-Identifier: GPL-2.0-only
/* top: what happens now, on a screen of its own */
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stop.h"
#include "change/change.h"
#include "state/events.h"
#include "kernel/counters.h"
#include "kernel/root.h"
#include "observe/packet.h"
#include "observe/passing.h"
#include "observe/samples.h"
#include "observe/tap.h"
#include "observe/weigh.h"
#include "sets/networks.h"
#include "state/settings.h"
#include "state/state.h"
#include "observe/top_screen.h"
#include "verbs/verbs.h"

#define TURN RING_REFILL_MS
#define WAIT 100

#define CTRL_C 3

struct options {
	bool passed, inside;
};

const struct option_spec top_options[] = {
	{ "passed", .type = OPTION_SWITCH, AT(options, passed), .does = "who sends what passes, not what is dropped" },
	{ "inside", .type = OPTION_SWITCH, AT(options, inside),
	  .does = "who inside sends to what is banned (attach --match)" },
	OPTIONS_END(struct options),
};

struct top_state {
	const struct context *context;
	struct history *history;
	struct samples *samples;
	struct weigher *weigher;
	struct passing *passing; /* NULL: nobody looks at what passes */
	struct history_sums passed;
	struct tallies before, now;
	uint64_t second;
	struct counted between;
	struct inforce inforce;
	struct history_report minute;
	struct top_view view;
	struct detector_sums detector;
	char no_samples[256], not_passing[256], event[TOP_EVENTS][512];
	struct events_tail tail;
};

static void on_sample(void *arg, const struct sample *sample)
{
	struct top_state *t = arg;

	weigh_sample(t->weigher, sample);
}

static void on_weighed(void *arg, const struct packet *packet, double packets)
{
	struct top_state *t = arg;

	history_sample(t->history, t->second, packet, packets);
}

/* From the service if it runs, otherwise from the ring. If neither works, the screen shows why. */
static void open_samples(struct top_state *t)
{
	struct state *state;
	double rate = 0;
	int err = state_open(&state, t->context, false);

	if (!err)
		rate = settings_read(state).samples;
	state_close(state);
	if (rate > 0)
		err = samples_open(t->context, &t->samples, rate);
	snprintf(t->no_samples, sizeof(t->no_samples), "%s", err ? reason(err) : "samples are off (tune --samples)");
}

static void read_samples(struct top_state *t)
{
	int err = t->samples ? samples_read(t->samples, on_sample, t) : 0;

	if (err) { /* the service has gone: the next turn tries the ring */
		snprintf(t->no_samples, sizeof(t->no_samples), "%s", reason(err));
		samples_close(t->samples);
		t->samples = NULL;
	}
}

static void read_passing(struct top_state *t)
{
	if (t->passing)
		passing_read(t->passing);
}

/* What cannot be had is said on the screen. */
static void look_at_passing(struct top_state *t, uint64_t until)
{
	int err = 0;

	if (!t->view.passed) {
		passing_free(t->passing);
		t->passing = NULL;
		memset(&t->passed, 0, sizeof(t->passed));
		return;
	}
	if (!t->passing)
		t->passing = passing_new(TAP_RATE);
	err = t->passing ? passing_follow(t->passing, t->now.ports, t->now.ports_n) : -ENOMEM;
	snprintf(t->not_passing, sizeof(t->not_passing), "%s", err ? reason(err) : "");
	if (!t->passing)
		return;
	passing_count(t->passing, t->second, until, &t->between);
	passing_sums(t->passing, t->second, &t->passed);
}

/* "12:00:01 load drop", in local time. */
static void put_event(char text[512], const char *when, const char *what)
{
	struct tm tm = { 0 };
	time_t at;
	size_t n;

	strptime(when, "%Y-%m-%dT%H:%M:%SZ", &tm);
	at = timegm(&tm);
	n = strftime(text, 512, "%H:%M:%S ", localtime_r(&at, &tm));
	snprintf(text + n, 512 - n, "%s", what);
}

static void read_events(struct top_state *t)
{
	char line[EVENT_LINE_MAX];

	while (events_next(&t->tail, line)) {
		json_t *event = json_loads(line, 0, NULL);
		const char *when = json_string_value(json_object_get(event, "time"));
		const char *what = json_string_value(json_object_get(event, "message"));

		if (when && what) {
			memmove(t->event[1], t->event[0], sizeof(t->event) - sizeof(t->event[0]));
			put_event(t->event[0], when, what);
		}
		json_decref(event);
	}
	for (size_t i = 0; i < TOP_EVENTS; i++)
		t->view.event[i] = t->event[i];
}

static bool asks_destinations(const struct tallies *tallies)
{
	for (size_t i = 0; i < tallies->ports_n; i++)
		if (MATCH_OF(tallies->ports[i].match) != MATCH_SOURCE)
			return true;
	return false;
}

/* What the tables are of, and why they may be empty. */
static void choose(struct top_state *t)
{
	t->view.tables = t->view.passed ? &t->passed : &t->minute.sums;
	t->view.samples = t->view.passed ? t->not_passing
			  : !t->samples	 ? t->no_samples
			  : t->view.inside && !asks_destinations(&t->now)
				  ? "no interface has --match destination or both, or --egress (attach)"
				  : "";
}

/* Once a second: reads everything again. */
static int look(struct top_state *t)
{
	uint64_t until;
	int err;

	t->second = (uint64_t)time(NULL);
	if (!t->samples)
		open_samples(t);
	read_events(t);
	tallies_free(&t->before);
	t->before = t->now;
	read_passing(t);
	err = tallies_take(t->context, &t->now);
	if (err) {
		memset(&t->now, 0, sizeof(t->now));
		return err;
	}
	read_samples(t);
	t->view.seconds = tallies_seconds(&t->before, &t->now);
	tallies_since(&t->between, &t->before.counted, &t->now.counted);
	if (t->now.counted.list[LABEL_DETECTOR].packets)
		lists_add_detector(&t->now.lists, &t->now.lists_n);
	history_lists(t->history, t->now.lists, t->now.lists_n, t->now.live_label_is_exact);
	if (t->samples)
		samples_refill(t->samples);
	until = (uint64_t)t->now.at.tv_sec * 1000000000 + (uint64_t)t->now.at.tv_nsec;
	weigh_interval(t->weigher, until, t->between.list, on_weighed, t);
	look_at_passing(t, until);
	history_count(t->history, t->second, t->view.seconds, &t->between);
	err = inforce_take(t->context, &t->inforce) ?: detector_now(t->context, &t->detector) ?: history_read(t->history, t->second, HISTORY_MINUTE, &t->minute);
	choose(t);
	return err;
}

static void press(struct top_state *t, int key)
{
	if (key == 'q' || key == 'Q' || key == CTRL_C)
		stop_asked = 1;
	else if (key == 'p' || key == ' ')
		t->view.paused = !t->view.paused;
	else if (key == 'h' || key == '?')
		t->view.help = !t->view.help;
	else if (key == 's') {
		t->view.passed = !t->view.passed;
		t->view.inside = t->view.paused =
			false; /* what this side had is not kept while the other is looked at */
		t->not_passing[0] = '\0';
		choose(t);
	} else if (key == 'i') {
		t->view.inside = !t->view.inside;
		t->view.passed = false;
		choose(t);
	}
}

static int follow(struct top_state *t)
{
	int64_t next = clock_ms() + TURN;
	int err = 0;

	while (!stop_asked && !err) {
		/* What passes may wait for a turn: its queue is long. */
		struct pollfd ready[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
					   { .fd = t->samples ? samples_fd(t->samples) : -1, .events = POLLIN } };
		int64_t left = next - clock_ms();
		int key;

		poll(ready, 2, left < 0 ? 0 : left < WAIT ? (int)left : WAIT);
		if (ready[0].revents & (POLLHUP | POLLERR)) /* the terminal is gone */
			break;
		read_samples(t);
		read_passing(t);
		while ((key = top_view_key()) != -1) {
			press(t, key);
			top_view_draw(&t->view);
		}
		if (clock_ms() < next)
			continue;
		next = clock_ms() + TURN;
		if (t->view.paused)
			continue;
		err = look(t);
		if (!err)
			top_view_draw(&t->view);
	}
	return err;
}

int verb_top(const struct call *call)
{
	const struct options *o = call->options;
	static const int ends[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	static struct top_state t;
	struct networks *networks;
	int err;

	if (o->passed && o->inside)
		return fail("--passed or --inside: what passes was sent to nobody who is banned");
	change_check(call->context, false);
	t.context = call->context;
	t.tail.directory = call->context->state;
	networks = networks_open(call->context->state);
	t.view = (struct top_view){ .tallies = &t.now,
				    .between = &t.between,
				    .inforce = &t.inforce,
				    .minute = &t.minute,
				    .detector = &t.detector,
				    .networks = networks,
				    .passed = o->passed,
				    .inside = o->inside };
	err = kernel_ready_to_look(call->context);
	if (!err)
		err = history_private(&t.history);
	if (!err)
		err = (t.weigher = weigher_new()) ? 0 : -ENOMEM;
	if (!err)
		err = tallies_take(call->context, &t.now);
	if (!err)
		err = look(&t);
	/* Before the screen is taken: these signals must restore it. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		stop_on(ends[i]);
	if (!err)
		err = top_view_begin("top", "stats --interval 1");
	if (!err) {
		top_view_draw(&t.view);
		err = follow(&t);
	}
	top_view_end();
	samples_close(t.samples);
	history_close(t.history);
	weigher_free(t.weigher);
	passing_free(t.passing);
	networks_close(networks);
	tallies_free(&t.before);
	tallies_free(&t.now);
	return err ? fail("%s", reason(err)) : EXIT_DONE;
}
