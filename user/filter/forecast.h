/* SPDX-License-Identifier: GPL-2.0-only */
/* What a plan comes to: sizes, rates, cache lines, and how many strangers would be shut out. */
#ifndef FILTER_FORECAST_H
#define FILTER_FORECAST_H

#include <stddef.h>

#include "filter/arrays.h"
#include "filter/formulas.h"
#include "filter/layout.h"
#include "filter/plan_sizes.h"

/* What is asked for; the rest is solved for. Zero, or below zero for the headroom: open. */
struct plan_goals {
	double fpr;	 /* of the filter, once the headroom is used up */
	uint64_t memory; /* bytes in the kernel at most */
	double headroom;
};

struct forecast {
	struct settings settings; /* nothing is open any more */
	struct generation g;
	struct stage_bytes bytes;
	struct filter_shape shape;
	bool fits; /* in the memory that was given */
	double keys, bits_per_key;
	double fpr, fpr_full; /* of the filter: now, and with the headroom used up */
	double due;	      /* keys at which the rate exceeds what was asked for: rotate */
	double asked;
	struct sizing sizing;
	/* Of innocent addresses that the filter is asked about, the share that is dropped. */
	double verdict4, verdict6;
	double innocent4; /* IPv4 addresses that would be dropped, of all that are not banned */
	/* Cache lines read, on average: for a packet from anywhere, and for one that is dropped. */
	double lines_pass, lines_drop;
};

/*
 * Solves for what the goals leave open: the rate for the memory, or the headroom where both are given. 0, or -E2BIG
 * with the reason recorded where a limit other than the memory is passed.
 */
int forecast_solve(struct forecast *f, const struct counts *n, const struct settings *settings,
		   const struct plan_goals *goals);

/* So many IPv4 hosts, each anywhere. */
#define FORECAST_KEYS_MAX 4e9
struct counts forecast_counts(double keys);
/* And so many IPv6 prefixes of that length, each anywhere. */
void forecast_add6(struct counts *n, double keys, unsigned int length);
/* The most keys of that kind which fit: 0, or -E2BIG where not even one does. */
int forecast_keys(double *keys, const struct settings *settings, const struct plan_goals *goals);

/* All that there is to choose from: every layout, with the roster and without. */
#define FORECASTS_MAX (2 * LAYOUTS)

struct forecasts {
	const char *source; /* of the counts: files, keys, loaded, memory */
	struct counts counts;
	struct settings settings;
	const struct plan_goals *goals;
	struct forecast chosen, row[FORECASTS_MAX];
	size_t rows;
};

bool forecast_is_chosen(const struct forecasts *all, size_t row);

#endif
