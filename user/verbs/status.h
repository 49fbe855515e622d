/* SPDX-License-Identifier: GPL-2.0-only */
/* What status has found, for its two ways to be printed. */
#ifndef VERBS_STATUS_H
#define VERBS_STATUS_H

#include "kernel/attach.h"
#include "kernel/counters.h"
#include "kernel/live.h"
#include "observe/agent_seen.h"
#include "observe/detector.h"
#include "observe/fleet_view.h"
#include "observe/fresh.h"
#include "state/failed.h"
#include "state/ports.h"
#include "state/state.h"

enum soundness { SOUND, DEGRADED, NOT_FILTERING, NOT_KNOWN };

/* The others are a number. */
#define REFUSED_SHOWN 3

#define TROUBLES_MAX 16
#define TROUBLE_MAX  320

struct status {
	enum soundness is;
	char troubles[TROUBLES_MAX][TROUBLE_MAX]; /* the worst first */
	unsigned int troubles_n;
	unsigned int troubles_more; /* for which there was no room */
	struct attachment *on;
	struct list_info *lists;
	struct list_failure *failed;
	struct pending *waiting;
	struct fresh *fresh; /* lists of servers */
	size_t on_n, lists_n, failed_n, waiting_n, fresh_n;
	struct ports_kept ports;
	struct fleet_view fleet;
	struct agent_seen agent;
	struct live live;
	bool service; /* one runs */
	bool looked;  /* at the interfaces */
	bool known;   /* the state was read */
	uint64_t bans;
	int64_t next, now; /* when the next ban ends; 0: none does */
	bool counted;	   /* the kernel's counters were read */
	struct counted sums;
	bool detect; /* there is to be a detector */
	struct detector_sums detector;
	double passed, dropped; /* packets a second; -1: nobody counts them by the second */
	char last[TROUBLE_MAX]; /* what was refused last, and when; "": nothing */
	char last_at[32];
};

int status_text(const struct status *s);
int status_json(const struct context *context, const struct status *s);

#endif
