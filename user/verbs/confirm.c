// SPDX-License-Identifier: GPL-2.0-only
/* confirm: keep what was done with --confirm */
#include <stdlib.h>
#include <string.h>

#include "base/label.h"
#include "change/change.h"
#include "change/revert_timer.h"
#include "observe/unfiltered.h"
#include "state/ports.h"
#include "verbs/verbs.h"

/* The process that waits is started with it. */
const struct option_spec confirm_options[] = {
	{ "watch", .type = OPTION_TIME, .value = "TIME", .hidden = true },
	OPTIONS_END(struct number),
};

/* It, or the rule whose port it is. */
static bool waited(const struct interface_info *kept, const struct port_row *rows, size_t rows_n,
		   const struct pending *pending, size_t n)
{
	char rule[LABEL_MAX] = "";

	for (size_t i = 0; i < rows_n; i++)
		if (!strcmp(rows[i].name, kept->name) && rows[i].leaves == MATCH_LEAVES(kept->match))
			label_of_ports(rule, rows[i].of, kept->match);
	for (size_t i = 0; i < n; i++)
		if (pending[i].kind == PENDING_INTERFACE &&
		    (label_is(pending[i].name, kept->name, kept->match) || !strcmp(pending[i].name, rule)))
			return true;
	return false;
}

/*
 * One may have gone while it waited, and another have its name: what was kept does not filter that. Nor does a rule a
 * port that came meanwhile, where a guard rail refuses it.
 */
static size_t say_unfiltered(const struct context *context, const struct pending *pending, size_t n)
{
	struct interface_info *kept = NULL;
	struct port_row *rows = NULL;
	struct attachment *on = NULL;
	size_t kept_n = 0, rows_n = 0, on_n = 0, missing = 0;
	char text[UNFILTERED_TEXT_MAX];
	struct state *state = NULL;
	struct unfiltered is;
	int err = state_open(&state, context, false) ?: state_interfaces(state, &kept, &kept_n) ?:
		  state_port_rows(state, &rows, &rows_n) ?: attach_list(context, &on, &on_n);

	for (size_t i = 0; i < kept_n && !err; i++) {
		if (!waited(&kept[i], rows, rows_n, pending, n) ||
		    !unfiltered(context, on, on_n, kept[i].name, kept[i].match, NULL, &is))
			continue;
		warn("%s", unfiltered_text(text, &is));
		missing++;
	}
	if (err)
		warn("whether all interfaces are filtered cannot be told: %s", reason(err));
	free(on);
	free(rows);
	free(kept);
	state_close(state);
	return missing;
}

int verb_confirm(const struct call *call)
{
	const struct number *watch = call->options;
	struct pending *pending = NULL;
	struct change *change = NULL;
	size_t n = 0, missing;
	bool any = false;
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
	for (size_t i = 0; i < n && !err; i++)
		any = any || pending[i].kind == PENDING_INTERFACE;
	missing = any && !call->context->abroad ? say_unfiltered(call->context, pending, n) : 0;
	free(pending);
	if (err)
		return fail("%s", reason(err));
	if (!n)
		return fail("confirm: nothing waits to be confirmed");
	err = call->context->json ? out_json(call->context, json_pack("{s:I}", "confirmed", (json_int_t)n)) : out_end();
	return err ?: missing ? EXIT_MISSING : EXIT_DONE;
}
