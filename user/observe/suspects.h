/* SPDX-License-Identifier: GPL-2.0-only */
/* What the detector knows of a source, for whoever shows it. */
#ifndef OBSERVE_SUSPECTS_H
#define OBSERVE_SUSPECTS_H

#include "base/out.h"
#include "kernel/detect_seen.h"
#include "sets/address.h"

/* The one that this address counts as, of several by interfaces the worst; NULL where it is none. */
const struct suspect_seen *suspect_of(const struct seen *seen, struct addr addr);

/* Whose limits hold for it, where that has some of its own; NULL: the general ones. */
const char *suspect_interface(const struct seen *seen, const struct suspect_seen *suspect);

/* Sources that were above a limit, each once. */
size_t suspects_above(const struct seen *seen);
bool suspect_is_allowed(const struct suspect_seen *suspect);
double seen_seconds_ago(const struct seen *seen, __u64 then);

/* Seconds between two looks. */
double seen_between(const struct seen *before, const struct seen *now);
/* A second, of one that was there before; of one that came since, what came since. */
double suspect_rate(const struct seen *before, const struct seen *now, const struct suspect_seen *suspect,
		    enum packet_class class);
/* As much as it was above a limit since then, of the class with the most. */
double suspect_over_rate(const struct seen *before, const struct seen *now, const struct suspect_seen *suspect);

/* How wide the column of its rates is; 0: there is none, as the packet alone does not tell it, and it has no limit. */
int suspect_column(const struct seen *seen, enum packet_class class);

/* What of it is not a rate; null without one. */
json_t *suspect_json(const struct seen *seen, const struct suspect_seen *suspect);

/* "syn,udp (41 packets, the last 3 s ago; 20 dropped)" */
#define SUSPECT_ABOVE_MAX 256
const char *suspect_above(char text[SUSPECT_ABOVE_MAX], const struct seen *seen, const struct suspect_seen *suspect);

#endif
