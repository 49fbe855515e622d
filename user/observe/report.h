/* SPDX-License-Identifier: GPL-2.0-only */
/* A window of the history with its names, and the three ways to print it. */
#ifndef OBSERVE_REPORT_H
#define OBSERVE_REPORT_H

#include <jansson.h>

#include "base/clock.h"
#include "observe/history.h"
#include "sets/networks.h"
#include "state/state.h"

struct report {
	struct history_report history;
	enum history_window window;
	unsigned int top;	   /* how many entries of each table are printed */
	struct networks *networks; /* whose addresses are; NULL: nobody has said */
	json_t *detected;	   /* attacks that the detector saw in that time; NULL: not asked for */
};

/* 0 or -errno with the reason recorded. */
int report_take(const struct context *context, struct report *report, enum history_window window, unsigned int top);

void report_end(struct report *report);

/* Each prints, and returns the exit status. */
int report_text(const struct report *report);
int report_json(const struct context *context, const struct report *report);
int report_html(const struct report *report);

/* What report_json() prints, and a table of it. */
json_t *report_document(const struct report *report);
json_t *report_top(const struct history_sums *sums, enum top top, unsigned int n, const struct networks *networks);

extern const char *const top_names[TOPS];
const char *report_time(char buf[UTC_TEXT_MAX], uint64_t at);
/* "192.0.2.0/24", "udp 53" */
const char *report_entry(char buf[64], enum top top, const struct top_entry *entry);
/* Whose it is: "CN AS4134 CHINANET", or "". */
const char *report_network(char buf[NETWORK_TEXT_MAX], const struct networks *networks, enum top top,
			   const struct top_entry *entry);
/* The places of the lists that dropped something, the most first; returns how many. */
size_t report_lists(const struct history_report *history, unsigned int sorted[LABELS]);
/* The name of the list of a place, for people. */
const char *report_list(const struct history_report *history, unsigned int place);

#endif
