// SPDX-License-Identifier: GPL-2.0-only
/* report: what attacks looked like over the last minute, hour or day */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbs/cmd.h"
#include "base/log.h"
#include "observe/report.h"

static struct {
	enum history_window window;
	unsigned int top;
	bool html;
} wanted = { HISTORY_HOUR, 10, false };

static int report_option(int option, const char *value)
{
	char *end;
	long n;

	switch (option) {
	case 'l':
		for (wanted.window = 0; wanted.window < HISTORY_WINDOWS; wanted.window++)
			if (!strcmp(value, history_window_names[wanted.window]))
				return 0;
		return fail("report: --last is minute, hour or day, not '%s'", value);
	case 't':
		n = strtol(value, &end, 10);
		if (*end || n < 1 || n > TOP_ENTRIES)
			return fail("report: --top takes a number from 1 to %d, not '%s'", TOP_ENTRIES, value);
		wanted.top = (unsigned int)n;
		return 0;
	default:
		wanted.html = true;
		return 0;
	}
}

int cmd_report(struct context *context, int argc, char **argv)
{
	static const struct option own[] = { { "last", required_argument, NULL, 'l' },
					     { "top", required_argument, NULL, 't' },
					     { "html", no_argument, NULL, 'h' },
					     { 0 } };
	static struct report report;
	int err, status;

	if (options_read(context, &argc, argv, own, report_option))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("report: takes no '%s'", argv[1]);
	err = report_take(&report, wanted.window, wanted.top);
	if (err)
		return fail("%s", reason(err));
	if (opt_json)
		status = report_json(&report);
	else
		status = wanted.html ? report_html(&report) : report_text(&report);
	return status;
}
