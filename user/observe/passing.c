// SPDX-License-Identifier: GPL-2.0-only
#include "observe/passing.h"

#include <stdlib.h>

#include "kernel/counters.h"
#include "observe/packet.h"
#include "observe/recent.h"
#include "observe/tallies.h"
#include "observe/tap.h"
#include "observe/weigh.h"

struct passing {
	struct taps *taps;
	struct weigher *weigher;
	struct recent *recent;
	uint64_t second; /* that is being counted */
	bool counted;	 /* since the last time it has seen all */
	struct port_row below[PORTS];
	size_t below_n;
};

struct passing *passing_new(unsigned int per_second)
{
	struct passing *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->taps = taps_new(per_second);
	p->weigher = weigher_new();
	p->recent = recent_new(per_second);
	if (!p->taps || !p->weigher || !p->recent) {
		passing_free(p);
		return NULL;
	}
	return p;
}

void passing_free(struct passing *p)
{
	if (!p)
		return;
	taps_free(p->taps);
	weigher_free(p->weigher);
	recent_free(p->recent);
	free(p);
}

int passing_follow(struct passing *p, const struct attachment *on, size_t n)
{
	p->below_n = tallies_below(on, n, p->below);
	return taps_follow(p->taps, on, n);
}

/* An interface's samples are of what it passed. */
static void on_sample(void *arg, const struct sample *sample, double packets)
{
	struct passing *p = arg;

	weigh_as(p->weigher, sample, PORT_OF(sample->ifindex), packets);
}

void passing_read(struct passing *p)
{
	taps_read(p->taps, on_sample, p);
}

static void on_weighed(void *arg, const struct packet *packet, double packets)
{
	struct passing *p = arg;

	recent_add(p->recent, p->second, packet, packets);
}

void passing_count(struct passing *p, uint64_t second, uint64_t until, const struct counted *between)
{
	struct tally passed[LABELS] = { 0 };

	for (unsigned int row = 0; row < PORTS; row++)
		passed[row] = tallies_row(between->port[row], PASSED);
	for (size_t i = 0; i < p->below_n; i++)
		tally_add(&passed[p->below[i].with], &passed[p->below[i].row]);
	p->second = second;
	weigh_interval(p->weigher, until, passed, on_weighed, p);
	if (!p->counted)
		weigh_forget(p->weigher);
	p->counted = true;
}

void passing_sums(struct passing *p, uint64_t second, struct history_sums *sums)
{
	recent_sums(p->recent, second, sums);
}

bool passing_sees(const struct passing *p)
{
	struct pollfd fds[TAPS_MAX];

	return taps_fds(p->taps, fds) != 0;
}
