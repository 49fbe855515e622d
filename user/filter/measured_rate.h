/* SPDX-License-Identifier: GPL-2.0-only */
/* How full a filter is and how often it says yes wrongly: counted from its bits, not by a formula. */
#ifndef FILTER_MEASURED_RATE_H
#define FILTER_MEASURED_RATE_H

#include <stdbool.h>

struct generation;
struct settings;

struct rate {
	double fill;  /* the share of bits that are set */
	double fpr;   /* how many of the keys that it does not hold get a yes */
	double error; /* a standard deviation: of chance, and of reading only a part */
	bool sampled; /* only some of the blocks were read */
};

/* The filter's member of g is an address. Without a filter all is 0. */
void rate_measure(const struct generation *g, struct rate *rate);

/* On how many rungs an IPv6 address is looked up, on average, where the gate has anything of its /32. */
double rate_rungs(const struct generation *g);

/*
 * Where the filter decides alone, the share of innocent addresses of a family (4 or 6) that it is asked about and
 * drops: an IPv6 address is looked up on `rungs` rungs. 0 behind a roster. Reads only sizes of g.
 */
double rate_verdict(const struct generation *g, double fpr, int family, double rungs);

/* The rate that the settings ask for, or where they leave it open, that which the filter was sized for. */
double rate_asked(const struct settings *settings, const struct generation *g);

/* Is it beyond that (0: unknown), by more than chance? Then a rotation into a bigger filter is due. */
bool rate_passed(const struct rate *rate, double asked);

#endif
