/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters with their names: what stats, metrics and top show. */
#ifndef OBSERVE_TALLIES_H
#define OBSERVE_TALLIES_H

#include <time.h>

#include "kernel/attach.h"
#include "kernel/counters.h"
#include "state/state.h"

/* The row of a port whose packets come in by what has the other row: a bond's, which is filtered in native mode. */
struct port_row {
	unsigned int row, with;
};

struct tallies {
	struct counted counted;
	struct list_info *lists;
	size_t lists_n;
	struct attachment *ports;
	size_t ports_n;
	struct port_row below[PORTS];
	size_t below_n;
	bool live_label_is_exact;
	struct timespec at; /* CLOCK_MONOTONIC */
};

/* 0 or -errno with the reason recorded. */
int tallies_take(const struct context *context, struct tallies *tallies);
/* A name that no user's list can have. */
#define DETECTOR_LIST "(detector)"

/* Do only the drops of live bans count on LABEL_LIVE? */
bool live_label_is_exact(const struct context *context, struct state *state);
void tallies_free(struct tallies *tallies);

/* The differences; a counter that started again counts from 0. */
void tallies_since(struct counted *between, const struct counted *before, const struct counted *now);
double tallies_seconds(const struct tallies *before, const struct tallies *now);

/* An interface's row (until the next call), by its place among the ports; one past them: interfaces that are gone. */
const struct tally *tallies_port(const struct tallies *tallies, const struct counted *counted, size_t port);
/* "eth0", or "eth0+eth7" where two share a row (numbers a multiple of PORTS apart); the counts go to the first. */
const char *tallies_port_name(const struct tallies *tallies, size_t port, char buf[64]);
/* "eth0 egress", where it is what leaves. */
const char *tallies_port_label(const struct tallies *tallies, size_t port, char buf[64]);

/* Those that there are now, of what is filtered; how many. */
size_t tallies_below(const struct attachment *on, size_t n, struct port_row below[PORTS]);

/* One verdict of a row. */
/* How many reasons there are to show: without a detector, one less. */
static inline unsigned int tallies_reasons(const struct counted *counted)
{
	return counted->polices ? REASONS : REASON_POLICED;
}

/* The detector as an account of its own, where no list has its label. */
int lists_add_detector(struct list_info **lists, size_t *n);

struct tally tallies_row(const struct tally row[REASONS], enum verdict verdict);

extern const char *const verdict_names[VERDICTS];
/* The stage of a reason. */
const char *tallies_stage(unsigned int why);

#endif
