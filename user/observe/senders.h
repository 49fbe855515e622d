/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much each source sends in its busiest second, by class, as the detector parses and tells them apart: what limits
 * are proposed from. Where there are too many sources, one in 2, 4, 8... is followed, by its hash: all that it sends,
 * or nothing of it, so that shares of sources stay what they are.
 */
#ifndef OBSERVE_SENDERS_H
#define OBSERVE_SENDERS_H

#include <stddef.h>
#include <stdint.h>

#include "filter/limits.h"
#include "sets/address.h"

#define SENDERS_MAX	(1u << 18)
#define SENDERS_BUSIEST 10

struct senders;

/* NULL where there is no memory. */
struct senders *senders_new(void);
void senders_free(struct senders *senders);

/* A frame: its first bytes, wherever they lie, how long it was, the second that it came in, and for how many packets it
 * stands. 0 or -ENOMEM. */
int senders_add(struct senders *senders, int64_t second, const uint8_t *bytes, size_t size, uint64_t length,
		uint64_t packets);

struct sender_class {
	uint64_t sources;		  /* that sent any of it, of those that were followed */
	uint64_t median, most99, most999; /* of their busiest seconds */
	double proposed;		  /* a second; 0: nobody sent any */
	uint64_t above;			  /* sources that such a limit may hit */
	struct {
		uint64_t key, kind, peak;
	} busiest[SENDERS_BUSIEST];
	size_t n;
};

/*
 * The proposed limit is twice what all sources but one in a thousand, and one at least, sent in their busiest second,
 * rounded up. A source that never sent more than half of a limit in a second of the clock is never above it: in t
 * seconds it sent (t + 2) / 2 of it at most, and t + 1 are allowed.
 */
int senders_class(const struct senders *senders, enum packet_class class, struct sender_class *is); /* 0 or -ENOMEM */
/* One source in so many was followed. */
uint64_t senders_share(const struct senders *senders);

/* A suspect's or a sender's key: the address, or of IPv6 the /64; or a network. */
const char *source_key_text(char text[PREFIX_TEXT_MAX], uint64_t key, uint64_t kind);

#endif
