// SPDX-License-Identifier: GPL-2.0-only
/* Whether the state and the kernel speak of the same: by number and by edits, each one ahead, behind, and beside. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "change/agreement.h"
#include "change/revert_timer.h"
#include "state/settings.h"
#include "ktap.h"

static double number_is, edits_are;
static int until_err;

static double given_setting(struct state *state, const char *name, double otherwise)
{
	if (state != (struct state *)&number_is || otherwise != 0)
		return -7;
	return !strcmp(name, SETTING_GENERATION) ? number_is : !strcmp(name, SETTING_EDITS) ? edits_are : -7;
}

static int given_until(struct state *state, __u64 *until)
{
	*until = state == (struct state *)&number_is ? 5 : 6;
	return until_err;
}

#define state_setting given_setting
#define trial_until   given_until
#include "change/agreement.c"

#define STATE ((struct state *)&number_is)

static void agrees(void)
{
	static const struct {
		unsigned long long number, edits;
		double state_number, state_edits;
		enum agreement is;
	} each[] = {
		{ 0, 0, 0, 0, NOTHING_LIVE },
		{ 0, 4, 7, 3, NOTHING_LIVE },
		{ 1, 0, 1, 0, AGREED },
		{ 7, 3, 7, 3, AGREED },
		{ 7, 3, 7, 2, UNKNOWN },
		{ 7, 3, 7, 4, BEHIND },
		{ 7, 3, 6, 3, UNKNOWN },
		{ 7, 3, 8, 3, BEHIND },
		/* Edits of another generation say nothing. */
		{ 7, 2, 6, 3, UNKNOWN },
		{ 7, 4, 6, 3, UNKNOWN },
		{ 7, 4, 8, 3, BEHIND },
		{ 7, 2, 8, 3, BEHIND },
		{ 7, 3, 0, 0, UNKNOWN },
	};
	const struct context context = { .state = "/s" };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		const struct generation live = { .number = each[i].number, .edits = each[i].edits };
		enum agreement is;
		int err;

		number_is = each[i].state_number;
		edits_are = each[i].state_edits;
		is = agreement(STATE, &live);
		CHECK(is == each[i].is, "%llu.%llu, and %.0f.%.0f in the state: %d", live.number, live.edits, number_is,
		      edits_are, (int)is);
		err = agreement_known(&context, STATE, &live);
		CHECK(each[i].is == UNKNOWN
			      ? err_is(err, ENODATA) && !strncmp(reason(err), "/s does not know the filter", 27)
			      : !err,
		      "%llu.%llu, and %.0f.%.0f in the state: %s", live.number, live.edits, number_is, edits_are,
		      err ? reason(err) : "known");
	}
}

static void what_is_gone(void)
{
	struct live live = { .err = -ENOENT };

	number_is = 7;
	CHECK(live_is_gone(STATE, &live), "nothing is in force, and it is not gone");
	live.on_trial = 7;
	CHECK(!live_is_gone(STATE, &live), "it began with nothing, and is gone");
	live.on_trial = 0;
	number_is = 0;
	CHECK(!live_is_gone(STATE, &live), "there was nothing yet, and it is gone");
	number_is = 7;
	live.number = 7;
	live.err = -EPROTO;
	CHECK(!live_is_gone(STATE, &live), "it is of another version, and gone");
	live.err = 0;
	CHECK(!live_is_gone(STATE, &live), "it is in force, and gone");
}

static void what_was_committed(void)
{
	struct committed is;

	number_is = 0;
	is = committed(STATE);
	CHECK(!is.number && !is.on_trial, "%llu without a number", (unsigned long long)is.number);
	number_is = 1;
	is = committed(STATE);
	CHECK(is.number == 1 && is.on_trial, "%llu, on trial %d", (unsigned long long)is.number, !!is.on_trial);
	until_err = -EIO;
	is = committed(STATE);
	CHECK(!is.number && !is.on_trial, "%llu where it cannot be read", (unsigned long long)is.number);
	until_err = 0;
}

int main(void)
{
	static const struct ktap_case cases[] = { { "agrees", agrees },
						  { "what is gone", what_is_gone },
						  { "what was committed", what_was_committed } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
