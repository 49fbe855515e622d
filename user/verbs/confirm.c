// SPDX-License-Identifier: GPL-2.0-only
/* confirm: keep what was done with --confirm */
#include "change/change.h"
#include "change/revert_timer.h"
#include "verbs/verbs.h"

/* The process that waits is started with it. */
const struct option_spec confirm_options[] = {
	{ "watch", .type = OPTION_TIME, .value = "TIME", .hidden = true },
	OPTIONS_END(struct number),
};

int verb_confirm(const struct call *call)
{
	const struct number *watch = call->options;
	struct pending *pending = NULL;
	struct change *change = NULL;
	size_t n = 0;
	int err;

	if (watch->given) {
		revert_timer_run(call->context, (long)watch->value);
		call->context->state = ""; /* nobody has typed it: no line in the event log */
		return EXIT_DONE;
	}
	err = change_begin(&change, call->context);
	if (!err)
		err = state_pending(change->state, &pending, &n);
	if (!err)
		err = change_confirm(change);
	change_end(change);
	for (size_t i = 0; i < n && !err && !call->context->quiet && !call->context->json; i++)
		out_line("%s: kept", pending[i].name);
	free(pending);
	if (err)
		return fail("%s", reason(err));
	if (!n)
		return fail("confirm: nothing waits to be confirmed");
	return call->context->json ? out_json(call->context, json_pack("{s:I}", "confirmed", (json_int_t)n))
				   : out_end();
}
