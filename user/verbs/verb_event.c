// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verb_event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "change/guard.h"
#include "kernel/live.h"
#include "state/events.h"

static const char *const changing[] = { "attach",  "detach",   "load",	  "unload", "enforce", "shadow",
					"allow",   "disallow", "confirm", "tune",   "rotate",  "flush",
					"restore", "add",      "del",	  "batch" };

void event_verb(int argc, char *const *argv, int status)
{
	unsigned long long generation;
	char words[512] = "";
	size_t n = 0;
	bool changes = false;

	for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++)
		changes = changes || !strcmp(argv[0], changing[i]);
	/* Without a state directory there is nothing that anybody watches. */
	if (!changes || opt_check || access(opt_state, W_OK))
		return;
	for (int i = 0; i < argc && n < sizeof(words); i++) {
		/* Where and how, not what. */
		if (!strcmp(argv[i], "-S") || !strcmp(argv[i], "-B") || !strcmp(argv[i], "--state") ||
		    !strcmp(argv[i], "--bpffs")) {
			i++;
			continue;
		}
		if (argv[i][0] == '-' && argv[i][1] && !argv[i][1 + strspn(argv[i] + 1, "jpqv")])
			continue;
		n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", n ? " " : "", argv[i]);
	}
	/* Alone these only show. */
	if (status == EXIT_DONE && (!strcmp(words, "allow") || !strcmp(words, "tune")))
		return;
	generation = kernel_live_generation();
	if (status == EXIT_DONE)
		event((struct event){ EVENT_DONE, argv[0], generation }, "%s", words);
	else if (status == EXIT_ERROR)
		event((struct event){ guard_refused() ? EVENT_GUARD : EVENT_REFUSED, .generation = generation },
		      "%s: %s", words, log_last());
}
