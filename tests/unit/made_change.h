/* SPDX-License-Identifier: GPL-2.0-only */
/* A change of the state alone: what becomes of the filter is said, and each of these calls can be made to fail. */
#ifndef MADE_CHANGE_H
#define MADE_CHANGE_H

#include <stdarg.h>

#include "base/log.h"
#include "change/change.h"
#include "ktap.h"

static bool quiet_calls;
static int calls, fails_at, fails_with;

__attribute__((format(printf, 1, 2))) static int call(const char *fmt, ...)
{
	bool fails = ++calls == fails_at;
	va_list args;

	va_start(args, fmt);
	if (!quiet_calls || fails) {
		printf("  ");
		vprintf(fmt, args);
		puts(fails ? ": fails" : "");
	}
	va_end(args);
	return fails ? because(fails_with, "a call failed") : 0;
}

static int given_begin(struct change **change, struct context *context)
{
	int err = call("a change begins");

	*change = err ? NULL : calloc(1, sizeof(**change));
	if (err)
		return err;
	(*change)->context = context;
	return state_open(&(*change)->state, context, true);
}

__attribute__((unused)) static void given_less(struct change *change)
{
	(void)change;
	call("bans may become less");
}

__attribute__((unused)) static int given_commit(struct change *change, const struct apply_options *options)
{
	return call("it is committed%s", options ? ", and built again" : "") ?: state_commit(change->state);
}

static void given_end(struct change *change)
{
	if (change)
		state_close(change->state);
	free(change);
}

#define change_begin	 given_begin
#define change_bans_less given_less
#define change_commit	 given_commit
#define change_end	 given_end

#endif
