// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verb_event.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/context.h"
#include "base/log.h"
#include "change/guard.h"
#include "kernel/live.h"
#include "state/events.h"

void event_verb(const struct verb *verb, const struct context *context, int argc, char *const *argv, int status)
{
	unsigned long long generation;
	char words[512] = "";
	int said = 0;
	size_t n = 0;

	/* Without a state directory there is nothing that anybody watches. */
	if (!(verb->flags & VERB_CHANGES) || context->check || access(context->state, W_OK))
		return;
	/* Not where and how it was done, but what. */
	for (int i = 0; i < argc && n < sizeof(words); i += option_is_common(argv[i]) ? option_words(NULL, argv[i]) : 1)
		if (!option_is_common(argv[i]))
			n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", said++ ? " " : "", argv[i]);
	/* Alone these only show. */
	if (status == EXIT_DONE && said == 1 && verb->flags & VERB_SHOWS_ALONE)
		return;
	generation = kernel_live_generation(context);
	if (status == EXIT_DONE)
		event(context, (struct event){ EVENT_DONE, verb->name, generation }, "%s", words);
	else if (status == EXIT_ERROR)
		event(context,
		      (struct event){ log_last_errno() == GUARD_REFUSED ? EVENT_GUARD : EVENT_REFUSED,
				      .generation = generation },
		      "%s: %s", words, log_last());
}
