// SPDX-License-Identifier: GPL-2.0-only
/* confirm: keep what was done with --confirm */
#include <stdio.h>
#include <stdlib.h>

#include "change/change.h"
#include "change/revert_timer.h"
#include "verbs/cmd.h"
#include "base/log.h"
#include "base/out.h"

static long watch;

static int confirm_option(int option, const char *value)
{
	(void)option;
	watch = option_seconds(value);
	return watch < 0 ? fail("confirm: --watch takes a time, not '%s'", value) : 0;
}

int cmd_confirm(struct context *context, int argc, char **argv)
{
	/* How the process that waits is started; nobody else needs it. */
	static const struct option own[] = { { "watch", required_argument, NULL, 'w' }, { 0 } };
	struct pending *pending = NULL;
	struct change *change = NULL;
	size_t n = 0;
	int err;

	if (options_read(context, &argc, argv, own, confirm_option))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("confirm: takes no '%s': it keeps all that waits", argv[1]);
	if (watch) {
		revert_timer_run(context, watch);
		return EXIT_DONE;
	}
	err = change_begin(&change, context);
	if (!err)
		err = state_pending(change->state, &pending, &n);
	if (!err)
		err = change_confirm(change);
	change_end(change);
	for (size_t i = 0; i < n && !err && !opt_quiet && !opt_json; i++)
		printf("%s: kept\n", pending[i].name);
	free(pending);
	if (err)
		return fail("%s", reason(err));
	if (!n)
		return fail("confirm: nothing waits to be confirmed");
	return opt_json ? out_json(json_pack("{s:I}", "confirmed", (json_int_t)n)) : out_end();
}
