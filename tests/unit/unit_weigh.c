// SPDX-License-Identifier: GPL-2.0-only
/* What samples stand for, over intervals: a list's add up to what it counted, and nothing of that is lost or twice. */
#include <math.h>

#include "ktap.h"
#include "observe/packet.h"
#include "observe/weigh.h"

enum { LISTS = 4, INTERVALS = 400 };

static double given[LISTS]; /* in this interval */
static unsigned int calls;

static void each(void *arg, const struct packet *packet, double packets)
{
	(void)packet;
	calls++;
	given[*(uint32_t *)arg] += packets;
}

/* All of one list alone: who a sample is of, `each` is not told. */
static double weighed(struct weigher *w, uint64_t until, uint32_t label, uint64_t counted)
{
	struct tally lists[LABELS] = { 0 };
	double before = given[label];

	lists[label].packets = counted;
	weigh_interval(w, until, lists, each, &label);
	return given[label] - before;
}

static void comes(struct weigher *w, uint32_t label, unsigned int block, uint64_t time)
{
	const struct sample sample = { .answer = ANSWER_DROP | label, .block = (__u8)block, .time = time };

	weigh_sample(w, &sample);
}

static void one_by_one(void)
{
	struct weigher *w = weigher_new();
	double is;

	if (!CHECK(w, "no memory"))
		return;
	is = weighed(w, 10, 1, 5);
	CHECK(!is && !calls, "%g, without a sample", is);
	is = weighed(w, 20, 1, 6);
	CHECK(!is && !calls, "%g, without a sample again", is);
	comes(w, 1, 2, 25);
	is = weighed(w, 30, 1, 7);
	CHECK(is == 18 && calls == 1, "%g, not those of three intervals", is);
	comes(w, 1, 0, 35);
	comes(w, 1, 1, 36);
	is = weighed(w, 40, 1, 6);
	CHECK(is == 6 && calls == 3, "%g of two, %u", is, calls);
	/* Others stood for it. */
	comes(w, 1, 0, 45);
	is = weighed(w, 50, 1, 0);
	CHECK(!is && calls == 3, "%g of what was counted before", is);
	/* It came behind the counters: it waits once, whatever its clock says. */
	comes(w, 1, 0, 61);
	is = weighed(w, 60, 1, 2);
	CHECK(!is && calls == 3, "%g of one that came later", is);
	is = weighed(w, 60, 1, 1);
	CHECK(is == 3 && calls == 4, "%g of one that waited", is);
	weighed(w, 70, 1, 9);
	weigh_forget(w);
	comes(w, 1, 0, 75);
	is = weighed(w, 80, 1, 1);
	CHECK(is == 1, "%g where its label was another list's", is);
	weigher_free(w);
}

/* Of several lists at once: each sum is what its list counted up to its last sample. */
static void at_random(void)
{
	struct weigher *w = weigher_new();
	uint64_t counted[LISTS] = { 0 }, sampled[LISTS] = { 0 };
	uint32_t all = 0;

	if (!CHECK(w, "no memory"))
		return;
	given[0] = 0;
	for (uint64_t now = 1; now <= INTERVALS; now++) {
		struct tally lists[LABELS] = { 0 };
		double wanted = 0;

		for (uint32_t label = 0; label < LISTS; label++) {
			lists[label].packets = ktap_random() % 3 ? 1 + ktap_random() % 1000 : 0;
			counted[label] += lists[label].packets;
			for (uint64_t n = lists[label].packets ? ktap_random() % 3 : 0; n; n--) {
				comes(w, label, (unsigned int)(ktap_random() % 6), now);
				sampled[label] = counted[label];
			}
			wanted += (double)sampled[label];
		}
		weigh_interval(w, now, lists, each, &all);
		CHECK(fabs(given[0] - wanted) < 1e-6 * (wanted + 1), "interval %llu: %g, not %g",
		      (unsigned long long)now, given[0], wanted);
	}
	weigher_free(w);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "one by one", one_by_one },
		{ "at random", at_random },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
