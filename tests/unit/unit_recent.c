// SPDX-License-Identifier: GPL-2.0-only
/* The samples of the last two minutes: against a naive count, and who is named first of many. XDP_BLOOM_RUNS: so many.
 */
#include <math.h>

#include <stdlib.h>
#include <sys/random.h>

#include "ktap.h"
#include "observe/packet.h"
#include "observe/weigh.h"

static int fails_at, calls; /* which of the calls that make one fails; 0: none */

#define calloc(n, size)		(++calls == fails_at ? NULL : calloc(n, size))
#define malloc(n)		(++calls == fails_at ? NULL : malloc(n))
#define getrandom(to, n, flags) (++calls == fails_at ? -1 : getrandom(to, n, flags))
#include "observe/recent.c"
#undef calloc
#undef malloc
#undef getrandom

#define SOURCES 10000
#define RATE	1000
#define STANDS	1000 /* packets a sample */
#define FIRST	10

static struct history_sums sums;
static double until[SOURCES]; /* what sources up to this one send, of 1 */

static struct addr source_of(unsigned int rank)
{
	return rank % 2 ? (struct addr){ (ip6)0x20010db8 << 96 | rank, 6 } : (struct addr){ 0x0a000000 + rank, 4 };
}

static void make_zipf(void)
{
	double sum = 0;

	for (unsigned int i = 0; i < SOURCES; i++)
		until[i] = sum += 1.0 / (i + 1);
	for (unsigned int i = 0; i < SOURCES; i++)
		until[i] /= sum;
}

static unsigned int who(void)
{
	double at = (double)(ktap_random() >> 11) / (double)(1ull << 53);
	unsigned int low = 0, high = SOURCES - 1;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (until[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* A frame as a packet socket gives it. */
static struct sample sample_of(unsigned int rank)
{
	struct addr from = source_of(rank);
	struct sample s = { .time = 1, .captured = 54, .length = 54 };

	s.bytes[12] = from.family == 4 ? 0x08 : 0x86;
	s.bytes[13] = from.family == 4 ? 0x00 : 0xdd;
	s.bytes[14] = from.family == 4 ? 0x45 : 0x60;
	for (unsigned int i = 0; i < (from.family == 4 ? 4u : 16u); i++)
		s.bytes[(from.family == 4 ? 26 + 3 : 22 + 15) - i] = (uint8_t)(from.num >> 8 * i);
	return s;
}

struct run {
	struct recent *recent;
	uint64_t now;
};

static void on_weighed(void *arg, const struct packet *packet, double packets)
{
	struct run *run = arg;

	recent_add(run->recent, run->now, packet, packets);
}

static bool first_are_right(struct run *run)
{
	bool right = true;

	recent_sums(run->recent, run->now, &sums);
	for (unsigned int i = 0; i < FIRST; i++)
		right &= ((uint32_t)sums.top[TOP_SOURCES][i].lo & 0xffffff) < FIRST;
	return right;
}

/* Where nothing has weight nothing is wrong. */
static void nothing_weighs(void)
{
	const struct history_sums none = { 0 };
	const struct top_entry entry = { .packets = 5, .spread = 5, .over = 5 };

	CHECK(weighed_error(&none, &entry) == 0 && weighed_share(&none, &entry) == 0, "%f wrong, a share of %f",
	      weighed_error(&none, &entry), weighed_share(&none, &entry));
}

/* The first ten of 10,000 whose rates fall as 1/n. */
static void zipf(void)
{
	const char *asked = getenv("XDP_BLOOM_RUNS");
	unsigned int runs = asked ? (unsigned int)atoi(asked) : 20, right = 0, earlier = 0;
	struct tally passed[LABELS] = { { .packets = RATE * STANDS } };
	struct weigher *weigher = weigher_new();

	make_zipf();
	for (unsigned int i = 0; i < runs && weigher; i++) {
		struct run run = { .recent = recent_new(RATE), .now = 1800000000 };

		if (!CHECK(run.recent != NULL, "no memory"))
			break;
		for (unsigned int second = 0; second < RECENT_SECONDS; second++, run.now++) {
			for (unsigned int n = 0; n < RATE; n++) {
				struct sample s = sample_of(who());

				weigh_as(weigher, &s, 0, STANDS);
			}
			weigh_interval(weigher, 2, passed, on_weighed, &run);
			if (second == 89)
				earlier += first_are_right(&run);
		}
		run.now--;
		right += first_are_right(&run);
		CHECK(sums.samples == RATE * RECENT_SECONDS && fabs(sums.weighed - 1e3 * RATE * RECENT_SECONDS) < 1,
		      "%llu samples, %f packets", (unsigned long long)sums.samples, sums.weighed);
		recent_free(run.recent);
	}
	weigher_free(weigher);
	printf("# the first %d of %d, with %d samples a second: right in %u of %u runs after 90 s, in %u after %d\n",
	       FIRST, SOURCES, RATE, earlier, runs, right, RECENT_SECONDS);
	/* 95 of 100; of few runs chance takes more. */
	CHECK(right >= (runs < 100 ? runs * 8 / 10 : runs * 95 / 100), "%u of %u runs", right, runs);
}

/* Few sources, any weights, and gaps: counted once more with nothing but loops. */
static void naive(void)
{
	enum { SAMPLES = 4000, FEW = 60 };
	static struct {
		uint64_t second;
		struct packet packet;
		double packets;
	} all[SAMPLES];
	struct recent *recent = recent_new(RATE);
	uint64_t now = 1800000000;

	if (!CHECK(recent != NULL, "no memory"))
		return;
	for (unsigned int i = 0; i < SAMPLES; i++) {
		double wanted[FEW] = { 0 }, weighed = 0;
		unsigned int samples = 0;

		now += ktap_random() % 20 ? 0 : ktap_random() % 9;
		all[i].second = now;
		all[i].packet = (struct packet){ .source = source_of((unsigned int)(ktap_random() % FEW)),
						 .protocol = 17,
						 .destination_port = (int)(ktap_random() % 3) };
		all[i].packets = (double)(1 + ktap_random() % 1000);
		recent_add(recent, now, &all[i].packet, all[i].packets);
		if (ktap_random() % 50)
			continue;
		recent_sums(recent, now, &sums);
		for (unsigned int j = 0; j <= i; j++) {
			if (all[j].second + RECENT_SECONDS <= now)
				continue;
			wanted[(uint64_t)all[j].packet.source.num & 0xffffff] += all[j].packets;
			weighed += all[j].packets;
			samples++;
		}
		if (!CHECK(sums.samples == samples && sums.weighed == weighed, "%llu samples, not %u",
			   (unsigned long long)sums.samples, samples))
			break;
		for (unsigned int e = 0; e < TOP_ENTRIES && sums.top[TOP_SOURCES][e].family; e++) {
			const struct top_entry *t = &sums.top[TOP_SOURCES][e];

			weighed -= t->packets;
			if (!CHECK(t->packets == wanted[t->lo & 0xffffff] && (!e || t[-1].packets >= t->packets),
				   "place %u: %f", e, t->packets))
				i = SAMPLES;
		}
		CHECK(weighed == 0, "%f are missing", weighed);
	}
	recent_sums(recent, now + RECENT_SECONDS, &sums);
	CHECK(!sums.samples && !sums.top[TOP_PORTS][0].family, "%llu samples are left",
	      (unsigned long long)sums.samples);
	/* The clock is set back by an hour. */
	recent_add(recent, now, &all[0].packet, 1);
	recent_add(recent, now - 3600, &all[0].packet, 1);
	recent_sums(recent, now - 3600, &sums);
	CHECK(sums.samples == 1, "%llu samples, some from a time to come", (unsigned long long)sums.samples);
	recent_free(recent);
}

/* Of so many a second there is room for two minutes, and for no more than twice that; the oldest go. */
static void room(void)
{
	static const struct {
		unsigned int per_second, most;
	} each[] = { { 1, 128 }, { 2, 256 }, { 8, 1024 }, { 9, 2048 } };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		struct recent *r = recent_new(each[i].per_second);

		if (!CHECK(r && r->most == each[i].most && r->slots == 2 * r->most, "room for %u", r ? r->most : 0))
			return;
		for (unsigned int n = 1; n <= r->most + 3; n++) {
			struct packet p = { .source = source_of(n), .protocol = 6, .destination_port = 80 };
			uint64_t second = 1000 + n / r->most;

			recent_add(r, second, &p, 1);
			recent_sums(r, second, &sums);
			if (!CHECK(sums.samples == (n < r->most ? n : r->most), "%u: %llu samples", n,
				   (unsigned long long)sums.samples) ||
			    !CHECK(sums.until == second && sums.from == 1000, "%u: from %llu until %llu", n,
				   (unsigned long long)sums.from, (unsigned long long)sums.until))
				break;
		}
		recent_free(r);
	}
	recent_free(NULL);
}

/* As long as it is said, to the second; then it is as if nothing had been. */
static void two_minutes(void)
{
	struct packet p = { .source = source_of(1), .protocol = 6, .destination_port = 80 }, nobody = { .protocol = 6 };
	struct recent *r = recent_new(1);

	recent_sums(r, 5000, &sums);
	CHECK(!sums.samples && !sums.from && !sums.until && !sums.top[TOP_SOURCES][0].family, "nothing is something");
	recent_add(r, 5000, &nobody, 9);
	recent_sums(r, 5000, &sums);
	CHECK(!sums.samples, "who has no source is counted");
	recent_add(r, 5000, &p, 2);
	recent_add(r, 5060, &p, 3);
	recent_sums(r, 5119, &sums);
	CHECK(sums.samples == 2 && sums.from == 5000 && sums.until == 5060 && sums.weighed == 5,
	      "%llu from %llu until %llu", (unsigned long long)sums.samples, (unsigned long long)sums.from,
	      (unsigned long long)sums.until);
	CHECK(sums.top[TOP_SOURCES][0].packets == 5 && sums.top[TOP_SOURCES][0].samples == 2 &&
		      !sums.top[TOP_SOURCES][1].family && sums.top[TOP_PORTS][0].lo == 81 &&
		      !sums.top[TOP_PORTS][1].family,
	      "the first is %f of %u", sums.top[TOP_SOURCES][0].packets, sums.top[TOP_SOURCES][0].samples);
	recent_sums(r, 5120, &sums);
	CHECK(sums.samples == 1 && sums.from == 5060 && sums.weighed == 3, "%llu samples",
	      (unsigned long long)sums.samples);
	/* The second in which it came is none of a time to come; the one before is. */
	recent_sums(r, 5060, &sums);
	CHECK(sums.samples == 1, "it is of a time to come");
	recent_sums(r, 5059, &sums);
	CHECK(!sums.samples, "what is to come is counted");
	recent_free(r);
}

/* Those with one hash are told apart by each part of their keys. */
static void one_slot(void)
{
	struct recent *r = recent_new(1);

	r->slots = 8;
	for (unsigned int i = 0; i < 7; i++) {
		struct packet p = { .source = source_of(i),
				    .protocol = i % 2 ? 6 : 17,
				    .destination_port = (int)(i / 2) };

		for (unsigned int n = 0; n <= i; n++)
			recent_add(r, 100, &p, 1);
	}
	recent_sums(r, 100, &sums);
	for (unsigned int i = 0; i < 7; i++)
		CHECK(sums.top[TOP_SOURCES][i].samples == 7 - i && sums.top[TOP_PORTS][i].samples == 7 - i,
		      "%u: %u, %u", i, sums.top[TOP_SOURCES][i].samples, sums.top[TOP_PORTS][i].samples);
	recent_free(r);
}

static void no_memory(void)
{
	for (fails_at = 1; fails_at <= 5; fails_at++) {
		calls = 0;
		CHECK(!recent_new(1), "call %d: it is made", fails_at);
	}
	fails_at = 0;
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "nothing weighs", nothing_weighs }, { "against a naive count", naive }, { "the first of many", zipf },
		{ "room for so many", room },	      { "for two minutes", two_minutes }, { "few slots", one_slot },
		{ "without memory", no_memory },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
