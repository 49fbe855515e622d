/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector in a few figures, for status, metrics and the page. */
#ifndef OBSERVE_DETECTOR_H
#define OBSERVE_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"
#include "sets/address.h"

struct attachment;
struct context;
struct seen;

struct detector_sums {
	bool in_force;
	size_t room, tracked, above;   /* places, those that are taken, and sources in them that were above a limit */
	size_t above_of[CLASSES];      /* of each class; a source that comes by several interfaces counts once */
	size_t banned;		       /* by the detector alone, as long as no live ban has taken it over */
	__u64 packets[DETECTEDS], now; /* by the detector's clock */
	char busiest[PREFIX_TEXT_MAX]; /* of those above, who was most often; "": nobody */
	__u64 over;		       /* how often */
	unsigned int classes, limited; /* that some were above the limit of, and that have a limit; a bit each */
};

/* What is dropped: above a limit that is policed, or all of who is banned. */
static inline __u64 detector_dropped(const __u64 packets[DETECTEDS])
{
	return packets[DETECTED_DROPPED] + packets[DETECTED_BANNED];
}

/* All zero where there is none; of those above a limit, only who was since then. 0 or -errno with the reason recorded.
 */
int detector_sum(const struct context *context, __u64 since, struct detector_sums *sums);

/* Of what was seen already. */
void detector_sums_of(const struct seen *seen, __u64 since, struct detector_sums *sums);

#define UNSEEN_TEXT_MAX 160

/* "eth1, eth2": interfaces of whose incoming packets it sees nothing, as many as there is room for; "": there is none.
 */
const char *detector_unseen(char text[UNSEEN_TEXT_MAX], const struct attachment *on, size_t n);
#define UNSEEN_WHY "it needs --match source, in native or skb mode"

/* Of those above a limit, who was within the last ten seconds. */
int detector_now(const struct context *context, struct detector_sums *sums);

#endif
