// SPDX-License-Identifier: GPL-2.0-only
/* report: what attacks looked like over the last minute, hour or day */
#include "observe/report.h"
#include "verbs/verbs.h"

struct options {
	int last; /* of enum history_window, counted from 1 */
	struct number top;
	bool html;
};

const struct option_spec report_options[] = {
	{ "last", .type = OPTION_WORD, AT(options, last), .words = history_window_names,
	  .does = "how far back (hour)" },
	{ "top", .type = OPTION_WHOLE, AT(options, top), .least = 1, .most = TOP_ENTRIES, .value = "N",
	  .does = "so many of each kind (10)", .wants = "a number from 1 to 128" },
	{ "html", AT(options, html), .does = "one page that needs nothing else" },
	OPTIONS_END(struct options),
};

int verb_report(const struct call *call)
{
	const struct options *o = call->options;
	static struct report report; /* too large for a stack */
	int err = report_take(call->context, &report, o->last ? (enum history_window)(o->last - 1) : HISTORY_HOUR,
			      o->top.given ? (unsigned int)o->top.value : 10);

	if (err)
		return fail("%s", reason(err));
	err = call->context->json ? report_json(call->context, &report)
	      : o->html		  ? report_html(&report)
				  : report_text(&report);
	report_end(&report);
	return err;
}
