// SPDX-License-Identifier: GPL-2.0-only
/* detect learn: the service looks for so long at what passes; and what it has learned. */
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/span.h"
#include "change/change.h"
#include "observe/learned.h"
#include "state/limits.h"
#include "state/settings.h"
#include "verbs/verbs.h"

#define LEARN_LEAST 1.0
#define LEARN_MOST  (30.0 * 86400)

static json_t *learning_json(int64_t from, int64_t until)
{
	char began[UTC_TEXT_MAX], ends[UTC_TEXT_MAX];

	return until <= time(NULL)
		       ? json_null()
		       : json_pack("{s:s, s:s}", "from", utc_text(began, from), "until", utc_text(ends, until));
}

static void show_learned(const struct context *context, const json_t *learned)
{
	char looked[SPAN_TEXT_MAX];

	out_line("learned from %s to %s, in %s that it looked", json_string_value(json_object_get(learned, "from")),
		 json_string_value(json_object_get(learned, "until")),
		 span_text(looked, llround(json_number_value(json_object_get(learned, "seconds")))));
	if (json_integer_value(json_object_get(learned, "missed")) > 0)
		out_line("%lld packets were not seen, as too many came at once",
			 (long long)json_integer_value(json_object_get(learned, "missed")));
	print_senders(context, json_object_get(learned, "detect"));
}

static int show(const struct context *context)
{
	char ends[UTC_TEXT_MAX];
	struct state *state = NULL;
	int64_t from = 0, until = 0;
	json_t *learned;
	int err = state_open(&state, context, false);

	if (!err) {
		from = (int64_t)state_setting(state, SETTING_LEARN_FROM, 0);
		until = (int64_t)state_setting(state, SETTING_LEARN_UNTIL, 0);
		err = state_settings_fault(state);
	}
	state_close(state);
	if (err)
		return fail("detect learn: %s", reason(err));
	learned = learned_read(context);
	if (context->json)
		return out_json(context, json_pack("{s:o, s:o}", "learning", learning_json(from, until), "learned",
						   learned ?: json_null()));
	if (until > time(NULL))
		out_line("the service (xdp-bloom run) learns until %s", utc_text(ends, until));
	if (learned)
		show_learned(context, learned);
	else if (until <= time(NULL))
		puts("nothing was learned; as in: xdp-bloom detect learn 24h");
	json_decref(learned);
	return out_end();
}

static int change(const struct call *call, int64_t from, int64_t until)
{
	struct change *change = NULL;
	int err = change_begin(&change, call->context);

	err = err ?: state_set(change->state, SETTING_LEARN_FROM, (double)from);
	err = err ?: state_set(change->state, SETTING_LEARN_UNTIL, (double)until);
	err = err ?: change_commit(change, NULL);
	change_end(change);
	return err ? fail("detect learn: %s; nothing was changed", reason(err)) : out_done(call->context);
}

int detect_learn(const struct call *call)
{
	int64_t now = time(NULL);
	double seconds;

	if (call->n == 1)
		return show(call->context);
	if (call->n == 2 && !strcmp(call->operands[1], "off"))
		return change(call, 0, 0);
	seconds = call->n == 2 ? span_seconds(call->operands[1]) : -1;
	if (!(seconds >= LEARN_LEAST && seconds <= LEARN_MOST))
		return fail("detect learn: how long? 1s to 30d, as in: xdp-bloom detect learn 24h; or off");
	return change(call, now, now + llround(seconds));
}
