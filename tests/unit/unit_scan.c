// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scans, as bpf/detect.h tells them from busy clients, on the same code: each packet against a naive model that keeps
 * all pairs of address and port that were charged, with their times; and both bounds, from all that a source sent,
 * whatever the detector saw of it. XDP_BLOOM_ROUNDS: with so many seeds.
 */
#include <math.h>

#include "detector.h"

enum { SOURCES = 40, PACKETS = CHARGED_MOST, CELLS_FEW = 16, BUCKETS_MANY = 4096, REMEMBERED = 4, SCAN_BURST = 20 };

/* Pairs are 1 to 16,384 (pair_of() in bpf/unasked.h). */
enum { PAIRS = 16384 };

/* Where a source goes. */
enum manner {
	FEW,	 /* to as many pairs as are remembered, in any order */
	CAREFUL, /* to others as seldom as the first bound asks for, and often to each */
	SWEEP,	 /* to another one with each packet */
	SOME,	 /* to some dozens by chance */
	MANNERS
};

struct source_model {
	__u32 addr;
	enum manner manner;
	double pace; /* of the limit */
	double next; /* its next packet */
	double allowed;
	__u32 pair, first_pair, pairs;
	__u64 since; /* tracked */
	__u64 over, count;
	/* What was charged since then. */
	struct charged charged;
	__u32 charged_pair[CHARGED_MOST];
	/* All that it sent: the times at which it went to another pair than the packet before, or to a new one. */
	size_t n, changes_n, fresh_n;
	double change[PACKETS], fresh[PACKETS];
	bool untracked, broke;
	double found; /* above its limit; before 0: never */
};

/* --- Against the model -----------------------------------------------------------------------------------------------
 */

static bool is_remembered(const struct source_model *s, __u32 pair)
{
	for (size_t i = s->charged.n; i-- > 0 && s->charged.n - i <= REMEMBERED;)
		if (s->charged_pair[i] == pair)
			return true;
	return false;
}

/* What the detector has to find of the packet, where it looks at it closely. */
static bool is_as_the_model(const struct detect *d, struct source_model *s, const struct suspect *is, __u64 now,
			    enum detected found)
{
	__u64 price = d->limit[CLASS_SCAN].price;
	bool scan, above;

	if (is->since != s->since) {
		s->since = is->since;
		s->charged.n = s->over = s->count = 0;
	}
	scan = !is_remembered(s, s->pair);
	above = scan && too_much(&s->charged, now, price, d->limit[CLASS_SCAN].burst);
	s->count += scan;
	s->over += above;
	if (scan && !above) {
		s->charged_pair[s->charged.n] = s->pair;
		charge(&s->charged, now, price);
	}
	return CHECK(is->count[CLASS_SCAN] == s->count && is->over[CLASS_SCAN] == s->over,
		     "packet %zu: %llu of a scan, %llu above; not %llu and %llu", s->n, is->count[CLASS_SCAN],
		     is->over[CLASS_SCAN], s->count, s->over) &&
	       CHECK((found == DETECTED_OVER || found == DETECTED_DROPPED) == above, "packet %zu: found %d", s->n,
		     found);
}

/* --- The bounds ------------------------------------------------------------------------------------------------------
 */

/* The last time is the end. Since when are there more than r * t + over, if ever? */
static double more_since(const double *time, size_t n, double now, double rate, double over)
{
	for (size_t i = n; i-- > 0;)
		if ((double)(n - i) > rate * (now - time[i]) / SECOND + over)
			return time[i];
	return -1;
}

/* Both halves of 8 in bpf/detect.h. A pair is itself here, and no hash of it. */
static bool holds(struct source_model *s, const struct limit *limit, bool above)
{
	double now = s->next, b = limit->burst, more = 2 * b + limit->rate * TICK / SECOND, since;

	s->broke = s->broke || more_since(s->change, s->changes_n, now, limit->rate, b - 1 + 1e-6) >= 0;
	if (above && !CHECK(s->manner != FEW, "packet %zu of one who goes to four is above the limit", s->n))
		return false;
	if (above && !CHECK(s->broke, "packet %zu is above the limit, and in no window", s->n))
		return false;
	since = s->untracked ? -1 : more_since(s->fresh, s->fresh_n, now, limit->rate * (1 + 1e-5), more * (1 + 1e-5));
	return since < 0 || CHECK(s->found >= since, "not found in %.6f s, packet %zu", (now - since) / SECOND, s->n);
}

static void go(struct source_model *s, const struct limit *limit)
{
	bool may = s->allowed - s->next <= (limit->burst - 2) * SECOND / limit->rate;
	__u32 was = s->pair;

	if (s->manner == FEW)
		s->pair = s->first_pair + ktap_random() % REMEMBERED;
	else if (s->manner == SOME)
		s->pair = s->first_pair + ktap_random() % 30;
	else if (s->manner == SWEEP || !s->n || may)
		s->pair = s->first_pair + s->pairs++;
	if (s->pair != was || !s->n)
		s->change[s->changes_n++] = s->next;
	/* None comes twice: there are more than it sends. */
	if (s->pair != was && (s->manner == SWEEP || s->manner == CAREFUL))
		s->fresh[s->fresh_n++] = s->next;
}

static bool one_packet(const struct detect *d, const struct limit *limit, struct source_model *s)
{
	struct detect_packet packet = packet_of(d, s->addr, DETECT_BIT(CLASS_UDP), 64);
	struct detect_from from = { 0 };
	__u64 now = (1ULL << 62) + (__u64)s->next / TICK * TICK;
	const struct suspect *is;
	enum detected found;
	bool above;

	go(s, limit);
	from.unasked = (int)(DETECT_BIT(CLASS_SCAN) | s->pair << UNASKED_PAIR);
	packet.from = &from;
	found = detect_packet(d, &packet, now);
	is = suspect_of(d, &packet);
	s->n++;
	above = found == DETECTED_OVER || found == DETECTED_DROPPED;
	s->found = above ? s->next : s->found;
	s->untracked = s->untracked || found == DETECTED_UNTRACKED;
	if (found != DETECTED_NOTHING && found != DETECTED_UNTRACKED &&
	    (!CHECK(is, "no place") || !is_as_the_model(d, s, is, now, found)))
		return false;
	return holds(s, limit, above);
}

/* Bursts of many packets, and then a pause; a careful one goes on when it may. */
static void plan_next(struct source_model *s, const struct limit *limit)
{
	double gap = SECOND / limit->rate;

	/* A place in its row for each change; where the row is full it stays where it is. */
	if (s->manner == CAREFUL) {
		if (s->change[s->changes_n - 1] >= s->next)
			s->allowed = fmax(s->allowed, s->next) + gap;
		s->next += gap / (1 + (double)(ktap_random() % 20)) * (ktap_random() % 100 ? 1 : limit->burst);
		return;
	}
	s->next += ktap_random() % 20 ? gap / 50 : 20 * gap / s->pace * uniform();
}

static bool one_round(__u64 *above, __u64 *close)
{
	static struct source_model sources[SOURCES];
	const double paces[] = { 0.2, 0.99, 1.05, 2, 20 };
	double rate = 5 + (double)(ktap_random() % 200);
	struct limits limits = { .on = true,
				 .of = { [CLASS_SCAN] = { rate, ceil(rate * uniform()),
							  ktap_random() % 2 ? THEN_POLICE : THEN_WATCH } } };
	struct limit *limit = &limits.of[CLASS_SCAN];
	struct detect d;
	bool ok = true;

	limit->burst = fmax(limit->burst, limit_burst_least(CLASS_SCAN, rate, TICK));
	d = plan_of(&limits, CELLS_FEW, BUCKETS_MANY, 0);
	for (size_t i = 0; i < SOURCES; i++) {
		memset(&sources[i], 0, sizeof(sources[i]));
		sources[i].addr = (__u32)ktap_random();
		sources[i].manner = i % MANNERS;
		sources[i].pace = paces[ktap_random() % (sizeof(paces) / sizeof(*paces))];
		sources[i].first_pair = 1 + (__u32)ktap_random() % (PAIRS - PACKETS);
		sources[i].next = SECOND + uniform() * SECOND;
		sources[i].found = -2;
	}
	while (ok) {
		struct source_model *first = NULL;

		for (size_t i = 0; i < SOURCES; i++)
			if (sources[i].n < PACKETS && (!first || sources[i].next < first->next))
				first = &sources[i];
		if (!first)
			break;
		ok = one_packet(&d, limit, first);
		plan_next(first, limit);
	}
	for (size_t i = 0; i < SOURCES; i++) {
		*above += sources[i].over;
		*close += sources[i].count;
	}
	plan_free(&d);
	return ok;
}

static void scans(void)
{
	const char *n = getenv("XDP_BLOOM_ROUNDS");
	__u64 above = 0, close = 0;
	int rounds = n ? atoi(n) : 8;

	for (int i = 0; i < rounds; i++)
		if (!one_round(&above, &close))
			return;
	CHECK(above > 100 && close > above, "only %llu of %llu above a limit", above, close);
	printf("# %d packets, %llu of scans, %llu above a limit\n", rounds * SOURCES * PACKETS, close, above);
}

/* --- The worst that can be done --------------------------------------------------------------------------------------
 */

/*
 * In circles over as many as are remembered, nobody is ever above the limit. Over one more all are charged at first;
 * and once the limit is reached four stay what is remembered, and the fifth is dropped each time: as much as all four
 * passes that may pass of four.
 */
static void circles(void)
{
	for (__u32 around = 1; around <= REMEMBERED + 1; around++) {
		struct limits limits = { .on = true, .of = { [CLASS_SCAN] = { 10, SCAN_BURST, THEN_POLICE } } };
		struct detect d = plan_of(&limits, 1, 1, 0);
		unsigned int dropped = 0;

		for (__u32 i = 0; i < 1000; i++) {
			struct detect_from from = { .unasked = (int)(DETECT_BIT(CLASS_SCAN) |
								     (1 + i % around) << UNASKED_PAIR) };
			struct detect_packet packet = packet_of(&d, 7, DETECT_BIT(CLASS_UDP), 64);

			packet.from = &from;
			dropped += detect_packet(&d, &packet, 1ULL << 62) == DETECTED_DROPPED;
		}
		/* What the cell lets pass, and the burst, each with a tick in it, are over before the first is. */
		CHECK(around <= REMEMBERED
			      ? !dropped
			      : dropped >= (1000 - 2 * SCAN_BURST - 2) / around && dropped <= 1000 / around,
		      "%u in circles: %u dropped", around, dropped);
		plan_free(&d);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "as the model has them, and both bounds", scans },
		{ "in circles", circles },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
