// SPDX-License-Identifier: GPL-2.0-only
/* follow: bans as others send them, for as long as they do */
#include "base/stdin.h"
#include "change/change.h"
#include "feeds/follow.h"
#include "verbs/verbs.h"

int verb_follow(const struct call *call)
{
	bool command = !strcmp(call->operands[0], "exec");
	int err = 0;

	if (command ? call->n < 2 : call->n > 1)
		return fail("follow: %s", command ? "exec: which command?" : call->verb->asks);
	change_check(call->context, false);
	if (!strcmp(call->operands[0], "-"))
		err = standard_input(call->context);
	err = err ?: follow_lines(call->context, call->operands[0], command ? call->operands + 1 : NULL);
	return err < 0 ? fail("follow: %s", reason(err)) : err ? EXIT_DEGRADED : EXIT_DONE;
}
