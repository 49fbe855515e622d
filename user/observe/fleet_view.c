// SPDX-License-Identifier: GPL-2.0-only
#include "observe/fleet_view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/lock.h"
#include "base/out.h"
#include "base/state_path.h"

/* A server that is restarted, or a process of ours, is no trouble. */
#define MOMENT 30

int fleet_view_take(struct fleet_view *v, const struct context *context, struct state *state)
{
	int err = state_fleet(state, &v->is);

	v->joined = !err;
	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	/* For a terminal; it is read, and not used. */
	clean_text(v->is.url);
	clean_text(v->is.prefix);
	clean_text(v->is.say);
	err = state_fleet_waiting(state, &v->waiting);
	v->runs = lock_is_held(context->state, STATE_FLEET_LOCK);
	v->known = v->runs && fleet_seen_read(context, &v->seen);
	return err;
}

void fleet_view_free(struct fleet_view *v)
{
	fleet_seen_free(&v->seen);
	*v = (struct fleet_view){ 0 };
}

bool fleet_trouble(const struct fleet_view *v, int64_t now, char text[FLEET_TEXT_MAX])
{
	char since[UTC_TEXT_MAX];

	text[0] = '\0';
	if (v->joined && !v->runs)
		snprintf(text, FLEET_TEXT_MAX, "fleet: nobody takes part in it: xdp-bloom run");
	else if (v->known && !v->seen.up && now - v->seen.since > MOMENT)
		snprintf(text, FLEET_TEXT_MAX,
			 "fleet: %.100s is not reached since %s: %s: bans stay, %lld wait to be said", v->is.url,
			 utc_text(since, v->seen.since), v->seen.why, (long long)v->waiting);
	else if (v->known && v->seen.unsaid[0])
		snprintf(text, FLEET_TEXT_MAX, "fleet: the server refuses what this machine says: %s", v->seen.unsaid);
	return text[0];
}

static json_t *time_json(int64_t seconds)
{
	char text[UTC_TEXT_MAX];

	return seconds ? json_string(utc_text(text, seconds)) : json_null();
}

static json_t *text_json(const char *text)
{
	return *text ? out_text(text) : json_null();
}

json_t *out_fleet(const struct fleet_view *v)
{
	const struct fleet_seen *seen = &v->seen;

	if (!v->joined)
		return json_null();
	return json_pack("{s:o, s:s, s:o, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:I, s:o, s:o}", "url",
			 out_text(v->is.url), "name", v->is.name, "say", out_text(v->is.say), "prefix", v->is.prefix,
			 "runs", v->runs, "up", v->known && seen->up, "since", time_json(seen->since), "version",
			 text_json(seen->version), "why", text_json(seen->why), "clock_ms",
			 seen->clock_known ? json_integer((json_int_t)seen->offset) : json_null(), "away_ms",
			 seen->clock_known ? json_integer((json_int_t)seen->rtt) : json_null(), "said",
			 (json_int_t)v->is.n, "says_all_again", v->is.all != 0, "waiting", (json_int_t)v->waiting,
			 "refused", text_json(seen->unsaid), "lost", time_json(seen->lost_at));
}
