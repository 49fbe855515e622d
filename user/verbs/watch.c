// SPDX-License-Identifier: GPL-2.0-only
/*
 * watch, capture: dropped packets as they come, or those that pass, as text, as JSON lines, as a file that tcpdump and
 * tshark read
 */
#include <net/if.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "base/clean_text.h"
#include "base/clock.h"
#include "base/stop.h"
#include "change/change.h"
#include "kernel/attach.h"
#include "kernel/root.h"
#include "kernel/live.h"
#include "state/kept_image.h"
#include "observe/packet.h"
#include "kernel/ask.h"
#include "observe/pcapng.h"
#include "observe/samples.h"
#include "observe/tap.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/bans.h"
#include "observe/tallies.h"
#include "verbs/verbs.h"

#define TURN 100 /* ms */

struct options {
	struct number count, duration; /* without: until a signal */
	const char *file;
	bool passed;
};

/* watch takes all but the first. */
const struct option_spec capture_options[] = {
	{ "write", 'w', .type = OPTION_FILE, AT(options, file), .value = "FILE", .does = "into this file" },
	{ "count", .type = OPTION_WHOLE, AT(options, count), .least = 1, .value = "N", .does = "so many packets",
	  .also = "-n -c", .wants = "a number of packets" },
	{ "duration", .type = OPTION_TIME, AT(options, duration), .least = 1e-9, .value = "TIME",
	  .does = "for so long" },
	{ "passed", .type = OPTION_SWITCH, AT(options, passed), .does = "of what passes, not of what is dropped" },
	OPTIONS_END(struct options),
};

struct watch {
	const struct context *context;
	const struct options *options;
	struct samples *samples; /* of what is dropped, or */
	struct taps *taps;	 /* of what passes */
	struct pcapng *file;	 /* NULL: they are printed */
	struct list_info *lists;
	size_t lists_n;
	bool live_label_is_exact;
	time_t lists_read;
	int64_t clock; /* what CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, in ns */
	long seen;
	int status;
};

/* Names may change while we watch; once a second is soon enough. */
static void read_lists(struct watch *w)
{
	struct list_info *lists;
	struct state *state;
	size_t n;

	if (w->lists_read == time(NULL))
		return;
	w->lists_read = time(NULL);
	if (state_open(&state, w->context, false))
		return;
	if (!lists_in_force(state, &lists, &n)) {
		free(w->lists);
		w->lists = lists;
		w->lists_n = n;
		w->live_label_is_exact = live_label_is_exact(w->context, state);
	}
	state_close(state);
}

/* The list that dropped it; NULL: not known. */
static const char *list_name(struct watch *w, __u32 answer)
{
	read_lists(w);
	if (ANSWER_LABEL(answer) == LABEL_LIVE)
		return w->live_label_is_exact ? LIVE_LIST : NULL;
	for (size_t i = 0; i < w->lists_n; i++)
		if (list_counts(&w->lists[i]) && w->lists[i].label == ANSWER_LABEL(answer))
			return w->lists[i].name;
	return NULL;
}

static void on_sample(void *arg, const struct sample *s)
{
	char name[IF_NAMESIZE], comment[160];
	struct watch *w = arg;
	const char *list;
	bool passed = w->options->passed;
	int err;

	if (w->status || (w->options->count.given && w->seen == (long)w->options->count.value))
		return;
	w->seen++;
	if (!if_indextoname(s->ifindex, name))
		snprintf(name, sizeof(name), "%u", s->ifindex);
	clean_text(name);
	list = passed ? NULL : list_name(w, s->answer);
	if (!w->file) {
		w->status = packet_line(w->context, s, &(struct packet_origin){ name, list, w->clock, passed });
		return;
	}
	if (passed)
		snprintf(comment, sizeof(comment), "passed");
	else
		snprintf(comment, sizeof(comment), "dropped by %s (%s)%s%s", list ? list : "the filter",
			 answer_stage(s->answer), s->answer & ANSWER_INNER ? ", for the packet within it" : "",
			 s->answer & ANSWER_OUT ? ", on its way out" : "");
	err = pcapng_packet(w->file, name, LINK_ETHERNET, (uint64_t)((int64_t)s->time + w->clock), s->bytes,
			    s->captured, s->length, comment);
	if (err)
		w->status = fail("%s: %s", w->options->file, errno_text(err));
}

static void on_passed(void *arg, const struct sample *s, double packets)
{
	(void)packets;
	on_sample(arg, s);
}

/* Interfaces come and go. */
static int follow_interfaces(struct watch *w)
{
	struct attachment *on = NULL;
	size_t n = 0;
	int err = attach_list(w->context, &on, &n) ?: taps_follow(w->taps, on, n);

	free(on);
	return err;
}

static int read_next(struct watch *w)
{
	if (!w->taps)
		return samples_read(w->samples, on_sample, w);
	taps_read(w->taps, on_passed, w);
	return 0;
}

static int each_second(struct watch *w)
{
	return w->taps ? follow_interfaces(w) : samples_refill(w->samples);
}

static unsigned int wait_for(const struct watch *w, struct pollfd *ready)
{
	if (w->taps)
		return taps_fds(w->taps, ready);
	*ready = (struct pollfd){ .fd = samples_fd(w->samples), .events = POLLIN };
	return 1;
}

static int follow(struct watch *w)
{
	const struct options *o = w->options;
	struct pollfd ready[TAPS_MAX];
	int64_t begin = clock_ns(CLOCK_MONOTONIC), refilled = begin;
	bool last = false;
	int err = 0;

	while (!last && !err && !w->status && (!o->count.given || w->seen < (long)o->count.value)) {
		int64_t now;

		last = stop_asked; /* read what was dropped until now */
		poll(ready, wait_for(w, ready), last ? 0 : TURN);
		w->clock = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC); /* the clock may be set */
		err = read_next(w);
		if (!err && !w->status && w->file && pcapng_flush(w->file)) /* a reader of the file need not wait */
			w->status = fail("%s: %s", o->file, strerror(errno));
		now = clock_ns(CLOCK_MONOTONIC);
		if (!err && now - refilled >= RING_REFILL_MS * 1000000LL) {
			err = each_second(w);
			refilled = now;
		}
		if (o->duration.given && (double)(now - begin) / 1e9 >= o->duration.value)
			break;
	}
	return err ? fail("%s", reason(err)) : w->status;
}

static int in_force(const struct context *context, struct generation *g)
{
	int err = kernel_live(context, g);

	return err_is(err, ENOENT) ? because(err, "nothing is loaded here; load or attach first") : err;
}

static int open_samples(struct watch *w, const struct generation *g)
{
	struct state *state;
	double rate;
	int err;

	if (!g->samples)
		return because(-EINVAL, "samples are off; tune --samples 100 turns them on");
	err = state_open(&state, w->context, false);
	if (err)
		return err;
	rate = settings_read(state).samples;
	state_close(state);
	return samples_open(w->context, &w->samples, rate);
}

static int open_taps(struct watch *w)
{
	struct pollfd fds[TAPS_MAX];
	int err;

	w->taps = taps_new(TAP_RATE);
	err = w->taps ? follow_interfaces(w) : -ENOMEM;
	if (!err && !taps_fds(w->taps, fds))
		warn("no interface of this network namespace is filtered by XDP; those that will be are watched then, and not"
		     " those of --mode tc");
	return err;
}

static int begin(struct watch *w)
{
	struct generation g;
	int err = kernel_ready_to_look(w->context) ?: in_force(w->context, &g);

	if (!err)
		err = w->options->passed ? open_taps(w) : open_samples(w, &g);
	stop_on(SIGINT);
	stop_on(SIGTERM);
	return err;
}

int verb_watch(const struct call *call)
{
	const struct options *o = call->options;
	struct watch w = { .context = call->context, .options = o };
	int err, status;

	if (call->verb->options == capture_options && !o->file)
		return fail("capture: to which file? capture -w FILE");
	/* Packets of strangers do not belong on a terminal. */
	if (o->file && !strcmp(o->file, "-") && isatty(STDOUT_FILENO))
		return fail("capture: standard output is a terminal; -w FILE, or a pipe to what reads it");
	change_check(call->context, false);
	err = begin(&w);
	if (!err && o->file) {
		err = pcapng_open(&w.file, o->file);
		if (err)
			err = because(err, "%s: %s", o->file, errno_text(err));
	}
	if (!err)
		note("watching");
	status = err ? fail("%s", reason(err)) : follow(&w);
	samples_close(w.samples);
	taps_free(w.taps);
	if (w.file) {
		err = pcapng_close(w.file);
		if (err && !status)
			status = fail("%s: %s", o->file, errno_text(err));
		if (!status)
			note("%ld packets in %s", w.seen, o->file);
	}
	free(w.lists);
	return status;
}
