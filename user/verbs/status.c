// SPDX-License-Identifier: GPL-2.0-only
/* status: is it on, is it sound, what does it do: one screen, and an exit status for scripts */
#include "verbs/status.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/label.h"
#include "base/lock.h"
#include "base/state_path.h"
#include "change/agreement.h"
#include "kernel/pins.h"
#include "observe/history.h"
#include "observe/lines_down.h"
#include "observe/overdue.h"
#include "observe/unfiltered.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/kept_image.h"
#include "state/limits.h"
#include "state/unshown.h"
#include "verbs/verbs.h"

PRINTF(3, 4) static void trouble(struct status *s, enum soundness is, const char *fmt, ...)
{
	bool fits = s->troubles_n < TROUBLES_MAX;
	/* Else in the place of the last, as those of a kind come in a row. */
	unsigned int at = fits ? s->troubles_n++ : TROUBLES_MAX - 1;
	va_list args;

	s->troubles_more += !fits;
	/* What stops the filtering comes first. */
	if (is > s->is) {
		memmove(s->troubles[1], s->troubles[0], at * sizeof(s->troubles[0]));
		at = 0;
		s->is = is;
	}
	va_start(args, fmt);
	vsnprintf(s->troubles[at], TROUBLE_MAX, fmt, args);
	va_end(args);
}

static bool needs_rights(int err)
{
	return err_is(err, EPERM) || err_is(err, EACCES);
}

static void look_at_kernel(struct status *s, const struct context *context)
{
	static const char *const pins[] = { PIN_ROOT, PIN_SLOT, PIN_COUNTERS, PIN_LIST_COUNTERS };

	if (live_open(&s->live, context) && needs_rights(s->live.err))
		trouble(s, NOT_KNOWN, "root is needed to see what is in force");
	else if (s->live.err && s->live.program)
		trouble(s, DEGRADED, "what is in force cannot be read: %s", reason(s->live.err));
	else if (err_is(s->live.err, ENOENT))
		trouble(s, NOT_FILTERING, "nothing is loaded, or its program is gone: 'load', 'add' or 'restore'");
	else if (s->live.err)
		trouble(s, NOT_FILTERING, "the filter cannot be read: %s", reason(s->live.err));
	for (size_t i = 0; i < sizeof(pins) / sizeof(pins[0]) && !s->live.err; i++) {
		int fd = pin_get(context, pins[i]);

		if (fd < 0)
			trouble(s, DEGRADED, "the pin %s/%s is gone: 'restore' makes it again", context->bpffs,
				pins[i]);
		else
			close(fd);
	}
	s->counted = !kernel_counters(context, &s->sums);
}

/* Under this name, or one that it had when it was attached. */
static bool is_on(const struct status *s, const char *label)
{
	for (size_t i = 0; i < s->on_n; i++)
		if (!s->on[i].gone &&
		    (label_is(label, s->on[i].name, s->on[i].match) || label_is(label, s->on[i].as, s->on[i].match)))
			return true;
	return false;
}

static void look_at_interfaces(struct status *s, const struct context *context)
{
	int err = attach_list(context, &s->on, &s->on_n);
	char label[LABEL_MAX];
	size_t filtered = 0;

	s->looked = !err;
	if (err)
		s->on_n = 0;
	if (needs_rights(err))
		trouble(s, NOT_KNOWN, "root is needed to see which interfaces are filtered");
	else if (err)
		trouble(s, NOT_KNOWN, "which interfaces are filtered cannot be read: %s", reason(err));
	for (size_t i = 0; i < s->on_n; i++)
		filtered += !s->on[i].gone;
	if (!err && !filtered)
		trouble(s, NOT_FILTERING, "no interface is filtered: 'attach', or 'restore' for those that were");
	for (size_t i = 0; i < s->on_n; i++)
		if (s->on[i].gone)
			trouble(s, DEGRADED, "%s: the interface is gone, or the filter was taken off it",
				label_of(label, s->on[i].as, s->on[i].match));
}

/* Is it said of its pin that there is no such interface? */
static bool is_named(const struct status *s, const char *label)
{
	for (size_t i = 0; i < s->on_n; i++)
		if (s->on[i].gone && label_is(label, s->on[i].as, s->on[i].match))
			return true;
	return false;
}

/* Of interfaces that nobody could look at, none is said to be passed by. */
static void look_for_unfiltered(struct status *s, const struct context *context, const char *name, unsigned int match,
				const char *of)
{
	char text[UNFILTERED_TEXT_MAX];
	struct unfiltered is;

	if (s->looked && unfiltered(context, s->on, s->on_n, name, match, of, &is) &&
	    (is.why[0] || !is_named(s, is.label)))
		trouble(s, DEGRADED, "%.*s", TROUBLE_MAX - 1, unfiltered_text(text, &is));
}

static void look_for_missing(struct status *s, const struct context *context, struct state *state)
{
	struct interface_info *kept = NULL;
	size_t n = 0;
	int err = state_interfaces(state, &kept, &n);

	if (err)
		trouble(s, DEGRADED, "which interfaces are to be filtered cannot be read: %s", reason(err));
	for (size_t i = 0; i < n && !err; i++)
		look_for_unfiltered(s, context, kept[i].name, kept[i].match, NULL);
	free(kept);
}

static void look_at_ports(struct status *s, const struct context *context, struct state *state)
{
	struct ports_due *due = NULL;
	struct port_of *ports = NULL;
	char label[LABEL_MAX];
	size_t n = 0;
	int err = ports_kept_take(&s->ports, state) ?: ports_compare(&s->ports, &ports, &due, &n);

	if (err)
		trouble(s, DEGRADED, "%s", reason(err));
	for (size_t i = 0; i < n && !err; i++) {
		label_of(label, due[i].name, due[i].leaves ? MATCH_LEAVING(0) : 0);
		if (due[i].of)
			look_for_unfiltered(s, context, due[i].name, due[i].of->match, due[i].of->name);
		else if (is_on(s, label))
			trouble(s, DEGRADED, "%s is no port any more, and is still filtered: 'restore' detaches it",
				label);
	}
	for (size_t i = 0; i < s->ports.rules_n && !err; i++) {
		const struct interface_info *rule = &s->ports.rules[i];

		if (!if_nametoindex(rule->name))
			trouble(s, DEGRADED, "%s are to be filtered, and are not: there is no such interface",
				label_of_ports(label, rule->name, rule->match));
	}
	free(due);
	free(ports);
}

static bool is_loaded(const struct status *s, const char *list)
{
	for (size_t i = 0; i < s->lists_n; i++)
		if (!strcmp(s->lists[i].name, list))
			return true;
	return false;
}

static void look_at_state(struct status *s, const struct context *context)
{
	struct state *state = NULL;
	char since[UTC_TEXT_MAX], overdue[OVERDUE_TEXT_MAX] = "";
	enum agreement is;
	int err = state_open(&state, context, false);

	if (!err) {
		look_for_missing(s, context, state);
		look_at_ports(s, context, state);
		s->detect = state_limits(state).on;
		err = lists_in_force(state, &s->lists, &s->lists_n) ?: waiting_of(state, &s->waiting, &s->waiting_n) ?:
		      state_bans_count(state, s->now, &s->bans) ?:
		      fresh_take(state, s->now, &s->fresh, &s->fresh_n) ?:
		      fleet_view_take(&s->fleet, context, state) ?: overdue_trouble(state, overdue);
		s->next = state_bans_next(state);
	}
	if (!err && *overdue)
		trouble(s, DEGRADED, "%s", overdue);
	if (!err && !s->live.err) {
		is = agreement(state, &s->live.g);
		if (is == BEHIND && !*overdue)
			trouble(s, DEGRADED,
				"the last change is not in force yet: any command that changes something, or"
				" 'rotate', builds it");
		else if (is == UNKNOWN)
			trouble(s, DEGRADED, "what is in force is not of the state in %s: 'rotate' says what to do",
				context->state);
	}
	if (err)
		trouble(s, DEGRADED, "the state cannot be read: %s", reason(err));
	s->known = !err;
	state_close(state);
	list_failures(context, &s->failed, &s->failed_n);
	for (size_t i = 0; i < s->failed_n && i < REFUSED_SHOWN; i++)
		trouble(s, DEGRADED,
			s->known && !is_loaded(s, s->failed[i].list)
				? "list '%s' is not loaded, since %s: %.200s"
				: "list '%s': its next version was refused, since %s: %.200s",
			s->failed[i].list, utc_text(since, s->failed[i].since), s->failed[i].why);
	if (s->failed_n > REFUSED_SHOWN)
		trouble(s, DEGRADED, "and %zu more %s refused: xdp-bloom lists", s->failed_n - REFUSED_SHOWN,
			s->failed_n - REFUSED_SHOWN == 1 ? "list was" : "lists were");
}

/* Whether a server has them is told as of any list; that nobody asks it, here. */
static void look_at_feeds(struct status *s)
{
	char text[FRESH_TEXT_MAX];
	size_t more = 0;

	for (size_t i = 0, n = 0; i < s->fresh_n; i++) {
		if (!fresh_trouble(&s->fresh[i], s->service, text))
			continue;
		if (n++ < REFUSED_SHOWN)
			trouble(s, DEGRADED, "%s", text);
		else
			more++;
	}
	if (more)
		trouble(s, DEGRADED, "and %zu more list%s nobody renews: xdp-bloom feeds", more, more == 1 ? "" : "s");
}

static void look_at_fleet(struct status *s)
{
	char text[FLEET_TEXT_MAX];

	if (fleet_trouble(&s->fleet, s->now, text))
		trouble(s, DEGRADED, "%s", text);
}

static void look_at_lines(struct status *s, const struct context *context)
{
	static const char *const files[] = { STATE_NEEDS, STATE_LISTEN, STATE_UNTOLD, STATE_BEHIND, STATE_LINES };
	char text[UNSHOWN_TEXT_MAX];
	struct lines_down down;

	if (unshown_trouble(context->state, s->now, text))
		trouble(s, DEGRADED, "%s", text);
	for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
		lines_down_take(&down, context, files[k], s->service);
		for (size_t i = 0; i < down.n; i++)
			trouble(s, DEGRADED, "%s", down.text[i]);
	}
}

static void look_at_agent(struct status *s, const struct context *context)
{
	char text[AGENT_TEXT_MAX];

	agent_seen_take(&s->agent, context);
	if (agent_trouble(&s->agent, text))
		trouble(s, DEGRADED, "%s", text);
}

/* Where there is none, nothing more is read. */
static void look_at_detector(struct status *s, const struct context *context)
{
	int err = s->detect && !s->live.err ? detector_sum(context, 0, &s->detector) : 0;

	if (err && !needs_rights(err))
		trouble(s, DEGRADED, "what the detector sees cannot be read: %s", reason(err));
	else if (!err && s->detect && !s->live.err && !s->detector.in_force)
		trouble(s, DEGRADED, "the detector is on, and not in force: 'rotate' builds it");
}

/* The service counts every second. */
static void look_at_rates(struct status *s, const struct context *context)
{
	static struct history_report report;
	struct history *history = NULL;
	uint64_t now = (uint64_t)s->now;

	s->passed = s->dropped = -1;
	if (!s->service || history_open(context, &history, false))
		return;
	if (!history_read(history, now, HISTORY_MINUTE, &report))
		history_rates(&report, now, &s->passed, &s->dropped);
	history_close(history);
}

static void look_at_events(struct status *s, const struct context *context)
{
	char line[EVENT_LINE_MAX];
	const char *when = NULL, *what = NULL;
	json_t *event = events_last_refusal(context->state, line) ? json_loads(line, 0, NULL) : NULL;

	if (event && !json_unpack(event, "{s:s, s:s}", "time", &when, "message", &what)) {
		clean_copy(s->last, sizeof(s->last), what);
		clean_copy(s->last_at, sizeof(s->last_at), when);
	}
	json_decref(event);
}

int verb_status(const struct call *call)
{
	static const int exits[] = { EXIT_DONE, EXIT_DEGRADED, EXIT_ERROR, EXIT_ERROR };
	struct status s = { .now = time(NULL) };
	int status;

	look_at_kernel(&s, call->context);
	look_at_interfaces(&s, call->context);
	s.service = lock_is_held(call->context->state, STATE_SERVICE_LOCK);
	look_at_state(&s, call->context);
	look_at_feeds(&s);
	look_at_fleet(&s);
	look_at_lines(&s, call->context);
	look_at_agent(&s, call->context);
	look_at_detector(&s, call->context);
	look_at_rates(&s, call->context);
	look_at_events(&s, call->context);
	status = call->context->json ? status_json(call->context, &s) : status_text(&s);
	live_close(&s.live);
	free(s.on);
	free(s.lists);
	free(s.fresh);
	fleet_view_free(&s.fleet);
	free(s.failed);
	free(s.waiting);
	ports_kept_free(&s.ports);
	return status ?: exits[s.is];
}
