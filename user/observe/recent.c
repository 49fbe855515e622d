// SPDX-License-Identifier: GPL-2.0-only
#include "observe/recent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "observe/packet.h"
#include "observe/weigh.h"

struct recent {
	struct seen {
		struct addr source;
		double packets;
		uint64_t second;
		int protocol, port;
	} * seen; /* a ring */
	uint64_t first, end;
	uint32_t most, slots; /* powers of two */
	struct top_entry *entry;
	uint32_t *slot; /* an entry's place, plus one */
	uint64_t seed[2];
};

struct recent *recent_new(unsigned int per_second)
{
	struct recent *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->most = 1;
	while (r->most < per_second * RECENT_SECONDS)
		r->most *= 2;
	r->slots = 2 * r->most;
	r->seen = malloc(r->most * sizeof(*r->seen));
	r->entry = malloc(r->most * sizeof(*r->entry));
	r->slot = malloc(r->slots * sizeof(*r->slot));
	if (!r->seen || !r->entry || !r->slot ||
	    getrandom(r->seed, sizeof(r->seed), GRND_NONBLOCK) != sizeof(r->seed)) {
		recent_free(r);
		return NULL;
	}
	return r;
}

void recent_free(struct recent *r)
{
	if (!r)
		return;
	free(r->seen);
	free(r->entry);
	free(r->slot);
	free(r);
}

/* Those of a time to come are from before the clock was set back. */
static void forget(struct recent *r, uint64_t now)
{
	for (; r->first < r->end; r->first++) {
		uint64_t second = r->seen[r->first % r->most].second;

		if (second <= now && second + RECENT_SECONDS > now)
			return;
	}
}

void recent_add(struct recent *r, uint64_t now, const struct packet *p, double packets)
{
	if (!p->source.family)
		return;
	forget(r, now);
	if (r->end - r->first == r->most)
		r->first++;
	r->seen[r->end++ % r->most] = (struct seen){ p->source, packets, now, p->protocol, p->destination_port };
}

/* Senders choose the keys, so the hash is a secret one. */
static uint32_t slot_of(const struct recent *r, const struct top_entry *e)
{
	unsigned __int128 product = (unsigned __int128)(e->hi ^ r->seed[0]) * (e->lo ^ r->seed[1]);

	return (uint32_t)(((uint64_t)(product >> 64) ^ (uint64_t)product) * 0x9e3779b97f4a7c15 >> 32) % r->slots;
}

static void count(struct recent *r, uint32_t *n, const struct top_entry *sample)
{
	uint32_t at = slot_of(r, sample);

	for (; r->slot[at]; at = (at + 1) % r->slots) {
		struct top_entry *e = &r->entry[r->slot[at] - 1];

		if (e->hi == sample->hi && e->lo == sample->lo && e->family == sample->family) {
			top_add(e, sample);
			return;
		}
	}
	r->entry[*n] = *sample;
	r->slot[at] = ++*n;
}

void recent_sums(struct recent *r, uint64_t now, struct history_sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	forget(r, now);
	if (r->first == r->end)
		return;
	sums->from = r->seen[r->first % r->most].second;
	sums->until = r->seen[(r->end - 1) % r->most].second;
	sums->samples = r->end - r->first;
	for (enum top t = 0; t < TOPS; t++) {
		uint32_t n = 0;

		memset(r->slot, 0, r->slots * sizeof(*r->slot));
		for (uint64_t i = r->first; i < r->end; i++) {
			const struct seen *s = &r->seen[i % r->most];
			struct packet p = { .source = s->source, .protocol = s->protocol, .destination_port = s->port };
			struct top_entry in[TOPS];

			top_named(in, &p, s->packets);
			if (in[t].family)
				count(r, &n, &in[t]);
			if (t == TOP_SOURCES) {
				sums->weighed += s->packets;
				sums->spread += in[t].spread;
			}
		}
		top_best(sums->top[t], r->entry, n);
	}
}
