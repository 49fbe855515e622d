// SPDX-License-Identifier: GPL-2.0-only
#include "observe/weigh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "observe/history.h"
#include "observe/packet.h"

#define WAITING_MAX (1u << 16) /* what comes beyond is not counted: the others stand for it */

struct weigher {
	struct waiting {
		struct packet packet;
		uint64_t time;	/* 0: it has waited once; in a time namespace the clocks are not the same */
		double packets; /* that it says it stands for */
		uint32_t label;
	} * waiting;
	size_t n;
	double owed[LABELS]; /* counted, and no sample stands for it yet */
};

struct weigher *weigher_new(void)
{
	return calloc(1, sizeof(struct weigher));
}

void weigher_free(struct weigher *w)
{
	if (w)
		free(w->waiting);
	free(w);
}

void weigh_as(struct weigher *w, const struct sample *sample, uint8_t label, double packets)
{
	struct waiting *next;

	if (w->n == WAITING_MAX || !GROW(w->waiting, w->n))
		return;
	next = &w->waiting[w->n];
	packet_sampled(&next->packet, sample);
	next->time = sample->time;
	next->label = label;
	next->packets = packets;
	w->n++;
}

void weigh_sample(struct weigher *w, const struct sample *sample)
{
	unsigned int block = sample->block < SAMPLE_BLOCK_MAX ? sample->block : SAMPLE_BLOCK_MAX;

	weigh_as(w, sample, ANSWER_LABEL(sample->answer), (double)(1u << block));
}

void weigh_interval(struct weigher *w, uint64_t until, const struct tally lists[LABELS],
		    void (*each)(void *arg, const struct packet *packet, double packets), void *arg)
{
	double blocks[LABELS] = { 0 };
	size_t later = 0;

	for (size_t i = 0; i < w->n; i++)
		if (w->waiting[i].time <= until)
			blocks[w->waiting[i].label] += w->waiting[i].packets;
	for (unsigned int label = 0; label < LABELS; label++)
		w->owed[label] += (double)lists[label].packets;
	for (size_t i = 0; i < w->n; i++) {
		const struct waiting *s = &w->waiting[i];

		if (s->time > until) {
			w->waiting[later] = *s;
			w->waiting[later++].time = 0;
			continue;
		}
		/* One whose packets were counted before it was read: others stood for them. */
		if (w->owed[s->label] > 0)
			each(arg, &s->packet, s->packets * w->owed[s->label] / blocks[s->label]);
	}
	for (unsigned int label = 0; label < LABELS; label++)
		if (blocks[label] > 0)
			w->owed[label] = 0;
	w->n = later;
}

void weigh_forget(struct weigher *w)
{
	memset(w->owed, 0, sizeof(w->owed));
}

double weigh_spread(double packets)
{
	return packets > 1 ? packets * (packets - 1) : 0;
}

double weighed_share(const struct history_sums *s, const struct top_entry *e)
{
	return s->weighed > 0 ? e->packets / s->weighed : 0;
}

double weighed_error(const struct history_sums *s, const struct top_entry *e)
{
	double share = weighed_share(s, e), other = 1 - share, more, error;

	if (s->weighed <= 0)
		return 0;
	more = s->spread / s->weighed;
	more *= more;
	error = 3 * sqrt(other * other * (e->spread + more) + share * share * (fmax(s->spread - e->spread, 0) + more));
	error = (error + e->over) / s->weighed;
	return error < 1 ? error : 1;
}
