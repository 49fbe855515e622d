/* SPDX-License-Identifier: GPL-2.0-only */
/* How it goes with the fleet that this machine has joined: for fleet, status, metrics, /healthz and the page. */
#ifndef OBSERVE_FLEET_VIEW_H
#define OBSERVE_FLEET_VIEW_H

#include <jansson.h>

#include "observe/fleet_seen.h"

struct fleet_view {
	bool joined;	  /* without, all else is zeros */
	bool runs, known; /* somebody takes part in it, and has said how it goes */
	struct fleet is;
	int64_t waiting; /* bans that are to be said */
	struct fleet_seen seen;
};

int fleet_view_take(struct fleet_view *view, const struct context *context, struct state *state);
void fleet_view_free(struct fleet_view *view);
/* What there is to say of it, if it is no more than a moment. False: nothing. */
#define FLEET_TEXT_MAX 800
bool fleet_trouble(const struct fleet_view *view, int64_t now, char text[FLEET_TEXT_MAX]);
/* null where it has joined none. */
json_t *out_fleet(const struct fleet_view *view);

#endif
