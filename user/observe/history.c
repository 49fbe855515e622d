// SPDX-License-Identifier: GPL-2.0-only
#include "observe/history_internal.h"

#include <errno.h>
#include <string.h>

#include "base/clean_text.h"
#include "kernel/counters.h"
#include "base/log.h"
#include "observe/packet.h"
#include "observe/weigh.h"
#include "state/bans.h"

#define RATE_SECONDS 5

const char *const history_window_names[] = { "minute", "hour", "day", NULL };

/* Each window is a ring of buckets. It has one more than the window needs: the oldest is only partly inside. */
static const struct {
	uint64_t period;
	unsigned int buckets;
} windows[HISTORY_WINDOWS] = { { 10, 7 }, { 300, 13 }, { 3600, 25 } };

static struct history_sums *bucket_at(struct history *h, unsigned int window, uint64_t now)
{
	uint64_t number = now / windows[window].period;
	struct history_sums *b = &h->file->bucket[window][number % windows[window].buckets];
	uint64_t from = number * windows[window].period;

	if (b->from != from) {
		memset(b, 0, sizeof(*b));
		b->from = from;
	}
	return b;
}

/* The packets of a place in all windows: the lightest place is missed least. */
static uint64_t weight(const struct file *f, unsigned int place)
{
	uint64_t packets = 0;

	for (unsigned int w = 0; w < HISTORY_WINDOWS; w++)
		for (unsigned int i = 0; i < windows[w].buckets; i++)
			packets += f->bucket[w][i].list[place].packets;
	return packets;
}

unsigned int history_place(const struct history_list places[LABELS], const struct list_info *list)
{
	unsigned int place = 1;

	while (place < LABELS &&
	       (places[place].kind != list->kind || strncmp(places[place].name, list->name, sizeof(list->name)) != 0))
		place++;
	return place < LABELS ? place : 0;
}

/* A free place, or the lightest of those whose list is gone. */
static unsigned int take_place(struct file *f, const struct list_info *list, const bool taken[LABELS])
{
	unsigned int place = 0;
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 1; i < LABELS && least; i++) {
		uint64_t is = f->list[i].name[0] ? 1 + weight(f, i) : 0;

		if (!taken[i] && is < least) {
			least = is;
			place = i;
		}
	}
	if (!place)
		return 0;
	for (unsigned int w = 0; w < HISTORY_WINDOWS; w++)
		for (unsigned int i = 0; i < windows[w].buckets; i++)
			f->bucket[w][i].list[place] = (struct tally){ 0 };
	f->list[place].kind = list->kind;
	memcpy(f->list[place].name, list->name, sizeof(list->name));
	return place;
}

void history_lists(struct history *h, const struct list_info *lists, size_t n, bool live_exact)
{
	bool taken[LABELS] = { false };

	history_write_begin(h);
	memset(h->place, 0, sizeof(h->place));
	memset(&h->file->list[LABEL_LIVE], 0, sizeof(h->file->list[LABEL_LIVE]));
	if (live_exact)
		strcpy(h->file->list[LABEL_LIVE].name, LIVE_LIST);
	for (size_t i = 0; i < n; i++)
		taken[history_place(h->file->list, &lists[i])] = true;
	for (size_t i = 0; i < n; i++) {
		unsigned int place = !list_counts(&lists[i]) ? 0 : history_place(h->file->list, &lists[i]);

		if (!place && list_counts(&lists[i]))
			place = take_place(h->file, &lists[i], taken);
		taken[place] = true;
		if (list_counts(&lists[i]))
			h->place[lists[i].label] = (uint8_t)place;
	}
	history_write_end(h);
}

static void count_attack(struct file *f, uint64_t now, double rate, const struct tally *dropped)
{
	struct history_attack *last = &f->attack[(f->attacks + HISTORY_ATTACKS - 1) % HISTORY_ATTACKS];
	bool goes_on = f->attacks && now >= last->end && now - last->end <= ATTACK_BREAK;

	if (rate < ATTACK_RATE)
		return;
	if (!goes_on) {
		last = &f->attack[f->attacks++ % HISTORY_ATTACKS];
		*last = (struct history_attack){ .begin = now };
	}
	last->end = now;
	tally_add(&last->dropped, dropped);
	if (rate > last->peak)
		last->peak = rate;
}

static void count_point(struct history_point *point, uint64_t at, const struct counted *n)
{
	if (point->at != at)
		*point = (struct history_point){ .at = at };
	point->passed += n->verdict[PASSED].packets;
	point->dropped += n->verdict[DROPPED].packets;
	point->dropped_bytes += n->verdict[DROPPED].bytes;
}

static void count_leaving(struct tally leaving[VERDICTS], const struct counted *n)
{
	for (unsigned int row = 0; row <= PORTS; row++)
		for (unsigned int why = 0; why < REASONS; why++)
			tally_add(&leaving[reason_verdict(why)], &n->out[row][why]);
}

void history_count(struct history *h, uint64_t now, double seconds, const struct counted *n)
{
	double rate = seconds > 0 ? (double)n->verdict[DROPPED].packets / seconds : 0;
	struct file *f = h->file;

	history_write_begin(h);
	for (unsigned int w = 0; w < HISTORY_WINDOWS; w++) {
		struct history_sums *b = bucket_at(h, w, now);

		for (unsigned int v = 0; v < VERDICTS; v++)
			tally_add(&b->verdict[v], &n->verdict[v]);
		count_leaving(b->leaving, n);
		for (unsigned int l = 0; l < LABELS; l++)
			tally_add(&b->list[h->place[l]], &n->list[l]);
		if (rate > b->peak) {
			b->peak = rate;
			b->peak_at = now;
		}
		b->until = now;
	}
	count_point(&f->second[now % HISTORY_SECONDS], now, n);
	count_point(&f->minute[now / 60 % HISTORY_MINUTES], now / 60 * 60, n);
	count_attack(f, now, rate, &n->verdict[DROPPED]);
	history_write_end(h);
}

bool top_named(struct top_entry in[TOPS], const struct packet *p, double packets)
{
	struct addr who = p->to ? p->destination : p->source; /* who is banned */
	uint32_t family = who.family == 4 ? 4 : 6;
	ip6 net = who.num & ~addr_mask((int)family, family == 4 ? 24 : 48);
	struct top_entry source = { (uint64_t)(who.num >> 64), (uint64_t)who.num, family, 1, packets, 0,
				    weigh_spread(packets) };
	struct top_entry network = source, port = source;

	network.hi = (uint64_t)(net >> 64);
	network.lo = (uint64_t)net;
	/* Family 1 is no address's. The port is stored plus one: 0 means that there is none. */
	port.hi = (uint64_t)p->protocol;
	port.lo = (uint64_t)(p->destination_port + 1);
	port.family = 1;
	in[TOP_INSIDE] = (struct top_entry){ 0 };
	if (p->to) {
		in[TOP_INSIDE] = source;
		in[TOP_INSIDE].hi = (uint64_t)(p->source.num >> 64);
		in[TOP_INSIDE].lo = (uint64_t)p->source.num;
		in[TOP_INSIDE].family = p->source.family == 4 ? 4 : 6;
	}
	in[TOP_SOURCES] = source;
	in[TOP_NETWORKS] = network;
	in[TOP_PORTS] = port;
	return who.family != 0;
}

void history_sample(struct history *h, uint64_t now, const struct packet *p, double packets)
{
	struct top_entry in[TOPS];

	if (!top_named(in, p, packets))
		return;
	history_write_begin(h);
	for (unsigned int w = 0; w < HISTORY_WINDOWS; w++) {
		struct history_sums *b = bucket_at(h, w, now);

		b->samples++;
		b->weighed += packets;
		b->spread += in[TOP_SOURCES].spread;
		for (enum top t = 0; t < TOPS; t++)
			if (in[t].family)
				top_count(b->top[t], &in[t]);
	}
	history_write_end(h);
}

static void sum_up(struct history_sums *sums, const struct file *f, uint64_t now, enum history_window window)
{
	uint64_t span = windows[window].period * (windows[window].buckets - 1);
	const struct history_sums *in[BUCKETS_MAX];
	unsigned int n = 0;

	for (unsigned int i = 0; i < windows[window].buckets; i++) {
		const struct history_sums *b = &f->bucket[window][i];

		if (b->from && b->from + windows[window].period + span > now && b->from <= now)
			in[n++] = b;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (!sums->from || in[i]->from < sums->from)
			sums->from = in[i]->from;
		if (in[i]->until > sums->until)
			sums->until = in[i]->until;
		for (unsigned int v = 0; v < VERDICTS; v++) {
			tally_add(&sums->verdict[v], &in[i]->verdict[v]);
			tally_add(&sums->leaving[v], &in[i]->leaving[v]);
		}
		for (unsigned int l = 0; l < LABELS; l++)
			tally_add(&sums->list[l], &in[i]->list[l]);
		sums->samples += in[i]->samples;
		sums->weighed += in[i]->weighed;
		sums->spread += in[i]->spread;
		if (in[i]->peak > sums->peak) {
			sums->peak = in[i]->peak;
			sums->peak_at = in[i]->peak_at;
		}
	}
	for (enum top t = 0; t < TOPS; t++) {
		const struct top_entry *tables[BUCKETS_MAX];

		for (unsigned int i = 0; i < n; i++)
			tables[i] = in[i]->top[t];
		top_merge(sums->top[t], tables, n);
	}
}

/* Every second or minute of the window; those that were not counted are 0. */
static void copy_points(struct history_report *r, const struct file *f, uint64_t now, enum history_window window)
{
	static const unsigned int counts[] = { 60, 60, 1440 };

	r->points_n = counts[window];
	r->point_seconds = window == HISTORY_MINUTE ? 1 : 60;
	for (unsigned int i = 0; i < r->points_n; i++) {
		uint64_t at = (now / r->point_seconds - (r->points_n - 1 - i)) * r->point_seconds;
		const struct history_point *p = r->point_seconds == 1 ? &f->second[at % HISTORY_SECONDS]
								      : &f->minute[at / 60 % HISTORY_MINUTES];

		r->points[i] = p->at == at ? *p : (struct history_point){ .at = at };
	}
}

static void read_once(const struct file *f, uint64_t now, enum history_window window, struct history_report *r)
{
	memset(r, 0, sizeof(*r));
	memcpy(r->lists, f->list, sizeof(r->lists));
	for (unsigned int i = 0; i < LABELS; i++) {
		r->lists[i].name[LIST_NAME_MAX - 1] = '\0';
		clean_text(r->lists[i].name);
	}
	sum_up(&r->sums, f, now, window);
	copy_points(r, f, now, window);
	for (uint64_t i = f->attacks; i-- > 0 && f->attacks - i <= HISTORY_ATTACKS;)
		r->attacks[r->attacks_n++] = f->attack[i % HISTORY_ATTACKS];
}

int history_read(const struct history *h, uint64_t now, enum history_window window, struct history_report *report)
{
	for (int attempt = 0; attempt < 1000; attempt++) {
		uint64_t before = __atomic_load_n(&h->file->sequence, __ATOMIC_ACQUIRE);

		read_once(h->file, now, window, report);
		if (history_is_lost(h))
			return because(-EIO, "the history was cut while it was read; the service begins another");
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		/* A writer that was killed leaves the number odd: what it left is still the best there is. */
		if (before == __atomic_load_n(&h->file->sequence, __ATOMIC_ACQUIRE) && (!(before & 1) || attempt > 100))
			return 0;
	}
	return because(-EAGAIN, "the history changes faster than it can be read");
}

void history_rates(const struct history_report *minute, uint64_t now, double *passed, double *dropped)
{
	uint64_t passed_n = 0, dropped_n = 0;
	unsigned int seconds = 0;

	*passed = *dropped = -1;
	for (unsigned int i = 0; i < minute->points_n; i++) {
		const struct history_point *p = &minute->points[i];

		if (p->at + RATE_SECONDS < now || p->at >= now)
			continue;
		seconds++;
		passed_n += p->passed;
		dropped_n += p->dropped;
	}
	if (seconds) {
		*passed = (double)passed_n / seconds;
		*dropped = (double)dropped_n / seconds;
	}
}
