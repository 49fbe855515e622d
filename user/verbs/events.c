// SPDX-License-Identifier: GPL-2.0-only
/* events: what happened, from the event log */
#include "state/events.h"

#include <poll.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stop.h"
#include "base/trusted_dir.h"
#include "change/change.h"
#include "verbs/verbs.h"

struct options {
	bool follow;
	struct number since;
};

const struct option_spec events_options[] = {
	{ "follow", .also = "-f -F", AT(options, follow), .does = "and go on as they come" },
	{ "since", .type = OPTION_TIME, AT(options, since), .value = "TIME", .does = "of the last 10m, 2h, 3d" },
	OPTIONS_END(struct options),
};

static const char *text_of(const json_t *event, const char *field)
{
	return json_string_value(json_object_get(event, field)) ?: "-";
}

/* What every event has, as it is written; older ones have no uid. */
static bool is_whole(const json_t *event)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	const json_t *generation = json_object_get(event, "generation");
	const char *time = text_of(event, "time");
	size_t i = 0;

	while (time[i] && (form[i] == 'd' ? time[i] >= '0' && time[i] <= '9' : time[i] == form[i]))
		i++;
	return !time[i] && !form[i] && json_is_string(json_object_get(event, "event")) &&
	       json_is_string(json_object_get(event, "message")) && (!generation || json_is_integer(generation));
}

/* A line that is damaged is left out. since: as times are written. */
static int print(const struct context *context, const char *line, const char *since)
{
	json_t *event = json_loads(line, 0, NULL), *uid = json_object_get(event, "uid");
	char by[32] = "-";

	if (!is_whole(event) || strcmp(text_of(event, "time"), since) < 0) {
		json_decref(event);
		return EXIT_DONE;
	}
	if (context->json)
		return out_json(context, event);
	if (json_is_integer(uid))
		snprintf(by, sizeof(by), "%" JSON_INTEGER_FORMAT, json_integer_value(uid));
	out_line("%s  %-8s  uid %-5s  %s", text_of(event, "time"), text_of(event, "event"), by,
		 text_of(event, "message"));
	json_decref(event);
	return EXIT_DONE;
}

static int print_lost(const struct context *context)
{
	char line[EVENT_LINE_MAX], now[UTC_TEXT_MAX];

	snprintf(line, sizeof(line),
		 "{\"time\":\"%s\",\"event\":\"fault\",\"message\":"
		 "\"events are missing here: the log began another file before they were read\"}",
		 utc_text(now, time(NULL)));
	return print(context, line, "");
}

/* What is written to the log, or begins another, wakes us; so does a signal, or else a second. */
static void wait_for_more(int watch)
{
	struct pollfd ready = { .fd = watch, .events = POLLIN };
	char buf[4096];

	if (!stop_asked && poll(&ready, 1, 1000) > 0 && read(watch, buf, sizeof(buf)) < 0)
		return;
}

int verb_events(const struct call *call)
{
	const struct options *o = call->options;
	const char *directory = call->context->state;
	char line[EVENT_LINE_MAX], since[UTC_TEXT_MAX] = "";
	struct events_tail tail;
	int watch = -1, status = 0;
	int err = access(directory, F_OK) && !o->follow ? 0 : trust_directory(directory);

	if (err)
		return fail("%s", reason(err));
	if (!access(directory, F_OK) && access(directory, R_OK | X_OK))
		return fail("%s", reason(because(-errno, "%s: %s", directory, strerror(errno))));
	change_check(call->context, false);
	if (o->since.given)
		utc_text(since, time(NULL) - (time_t)o->since.value);
	if (o->follow) {
		/* Its instances are counted by user, and may all be in use: it looks each second anyhow. */
		watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		if (watch >= 0 && inotify_add_watch(watch, directory, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
			return fail("%s", reason(because(-errno, "%s: %s", directory, strerror(errno))));
		stop_on(SIGINT);
		stop_on(SIGTERM);
	}
	events_from_start(&tail, directory);
	do {
		while (!status && !stop_asked && events_next(&tail, line)) {
			status = (tail.lost ? print_lost(call->context) : 0) ?: print(call->context, line, since);
			tail.lost = false;
		}
		status = status ?: out_end();
		if (o->follow && !status)
			wait_for_more(watch);
	} while (o->follow && !status && !stop_asked);
	if (watch >= 0)
		close(watch);
	return status;
}
