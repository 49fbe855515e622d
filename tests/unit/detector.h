/* SPDX-License-Identifier: GPL-2.0-only */
/* A detector in memory: its own code, with a sketch and suspects of a given size. */
#ifndef DETECTOR_H
#define DETECTOR_H

#include "bpf/detect.h"
#include "filter/limits.h"
#include "ktap.h"
#include "naive.h"

enum { TICK = 4000000 };

/* The clock begins at `now`. Stamps of 0 are in the past for its first 292 years: behind that they have been used. */
static struct detect plan_of(const struct limits *limits, __u64 cells, __u64 buckets, __u64 now)
{
	struct detect d;
	struct suspects *bucket;

	limits_plan(&d, limits, TICK);
	d.number = 1;
	d.cells = cells;
	d.buckets = buckets;
	d.hash = (struct hash_seeds){ ktap_random(), ktap_random() | 1, ktap_random() | 1, ktap_random() | 1 };
	d.sketch = (uintptr_t)calloc(cells, sizeof(__u64));
	d.suspects = (uintptr_t)calloc(buckets, sizeof(struct suspects));
	d.claims = (uintptr_t)calloc(buckets, 1);
	ENOUGH(d.sketch && d.suspects && d.claims);
	for (__u64 i = 0; i < cells; i++)
		((__u64 *)(uintptr_t)d.sketch)[i] = now;
	bucket = (struct suspects *)(uintptr_t)d.suspects;
	for (__u64 i = 0; i < buckets * SUSPECTS_OF_BUCKET * CLASSES; i++)
		bucket[i / CLASSES / SUSPECTS_OF_BUCKET].suspect[i / CLASSES % SUSPECTS_OF_BUCKET].stamp[i % CLASSES] =
			now;
	return d;
}

static void plan_free(struct detect *d)
{
	free((void *)(uintptr_t)d->sketch);
	free((void *)(uintptr_t)d->suspects);
	free((void *)(uintptr_t)d->claims);
}

static struct detect_packet packet_of(const struct detect *d, __u32 addr, __u32 classes, __u64 bytes)
{
	return (struct detect_packet){ .key = 1 + addr,
				       .kind = SUSPECT_IPV4,
				       .hash = hash_ipv4(d->hash, 1 + addr),
				       .bytes = bytes,
				       .classes = classes };
}

/* --- A naive model: the times of all packets, and every window that ends with the next one ------------------------ */

#define SECOND 1e9

enum { CHARGED_MOST = 1500 };

struct charged {
	size_t n;
	__u64 time[CHARGED_MOST], price[CHARGED_MOST];
};

/* Would some window that ends now have more than its time and `most` ns' worth? */
__attribute__((unused)) static bool too_much(const struct charged *c, __u64 now, __u64 price, __u64 most)
{
	__u64 sum = price;

	if (sum > most)
		return true;
	for (size_t i = c->n; i-- > 0;) {
		sum += c->price[i];
		if (sum > now - c->time[i] + most)
			return true;
	}
	return false;
}

__attribute__((unused)) static void charge(struct charged *c, __u64 now, __u64 price)
{
	c->time[c->n] = now;
	c->price[c->n++] = price;
}

__attribute__((unused)) static double uniform(void)
{
	return (double)(ktap_random() >> 11) / 0x1p53;
}

/* NULL: it is none. */
static const struct suspect *suspect_of(const struct detect *d, const struct detect_packet *packet)
{
	const struct suspects *bucket =
		(const struct suspects *)(uintptr_t)d->suspects + suspect_bucket(d, packet->hash);
	__u32 at = suspect_find(bucket, packet);

	return at == SUSPECTS_NONE ? NULL : &bucket->suspect[at];
}

#endif
