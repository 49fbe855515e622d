// SPDX-License-Identifier: GPL-2.0-only
#include "service/needs_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "base/state_path.h"
#include "change/own_addresses.h"
#include "change/restore.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "observe/lines_down.h"
#include "state/events.h"
#include "state/grants.h"
#include "state/state.h"

#define EVERY_MS 60000
#define EARLY_MS 5000

bool needs_watch_due(struct needs_watch *watch, const struct context *context, int64_t now)
{
	static const struct lines_down none;
	struct generation live;

	if (now < watch->next)
		return false;
	watch->next = now + EVERY_MS;
	if (!kernel_live(context, &live))
		return true;
	lines_down_keep(context, STATE_NEEDS, &none);
	return false;
}

static bool is_dropped(const void *live, struct addr addr)
{
	return live_drops(live, addr);
}

static bool has(const struct lines_down *down, const char *text)
{
	for (size_t i = 0; i < down->n; i++)
		if (!strcmp(down->text[i], text))
			return true;
	return false;
}

/* What others than root make a need is nobody's fault, and they could have it said as often as they like. */
static int look(const struct context *context, struct live *live, struct lines_down *down, bool *early, bool *is_up)
{
	struct own_address *own = NULL;
	struct state *state = NULL;
	char host[PREFIX_TEXT_MAX];
	size_t n = 0;
	int err = live_open(live, context) ?:
		  state_open(&state, context, false) ?:
		  own_addresses_of_root(state, is_dropped, live, &own, &n);

	for (size_t i = 0; i < n && !err && down->n < LINES_DOWN_MAX; i++) {
		char *text = down->text[down->n];

		if (own[i].guest || state_granted(state, own[i].addr))
			continue;
		snprintf(text, LINE_DOWN_MAX,
			 "what this machine needs is dropped: %s, %s; 'xdp-bloom allow %s' lets it through",
			 prefix_text(host, own[i].addr, -1), own[i].what, host);
		down->n += !has(down, text);
	}
	free(own);
	*early = !err && restore_is_early(state);
	*is_up = *early && own_has_gateway(state);
	state_close(state);
	return err;
}

int needs_watch_run(const struct context *context, void *unused)
{
	struct lines_down before, down = { .n = 0 };
	struct live live = { .meta = -1 };
	size_t same = 0;
	bool early = false, is_up = false;
	int err = look(context, &live, &down, &early, &is_up);
	const struct event fault = { EVENT_FAULT, .generation = live.g.number };

	(void)unused;
	lines_down_take(&before, context, STATE_NEEDS, true);
	for (size_t i = 0; i < down.n && !err; i++) {
		if (has(&before, down.text[i])) {
			same++;
			continue;
		}
		warn("%s", down.text[i]);
		event(context, fault, "%s", down.text[i]);
	}
	if (err)
		note("what this machine needs was not looked at: %s", reason(err));
	else if (same != down.n || same != before.n)
		lines_down_keep(context, STATE_NEEDS, &down);
	live_close(&live);
	/* Once more behind that, and no more. */
	return !early ? EXIT_DONE : is_up || same < down.n ? NEEDS_ASK : NEEDS_EARLY;
}

bool needs_watch_ran(struct needs_watch *watch, int returned, int64_t now)
{
	if (returned == NEEDS_EARLY || returned == NEEDS_ASK)
		watch->next = now + EARLY_MS;
	return returned == NEEDS_ASK;
}
