/* SPDX-License-Identifier: GPL-2.0-only */
/* The change that a verb begins, made up: each call is printed, and the one of that number fails. */
#ifndef UNIT_VERB_CHANGE_H
#define UNIT_VERB_CHANGE_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "change/change.h"

static int calls, fails_at, held;
static struct change the_change;

static int call(const char *what)
{
	bool fails = ++calls == fails_at;

	printf("  %s%s\n", what, fails ? ": fails" : "");
	return fails ? because(-EIO, "%s: it was not to be", what) : 0;
}

__attribute__((unused)) static int given_begin(struct change **change, struct context *context)
{
	*change = NULL;
	if (call("a change begins"))
		return because(-EIO, "it was not to be");
	memset(&the_change, 0, sizeof(the_change));
	the_change.context = context;
	*change = &the_change;
	held++;
	return 0;
}

__attribute__((unused)) static void given_end(struct change *change)
{
	held -= change != NULL;
}

#endif
