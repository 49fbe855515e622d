// SPDX-License-Identifier: GPL-2.0-only
/* The history of attacks against a naive one that remembers every second, over days with pauses. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "observe/history.h"
#include "kernel/counters.h"
#include "bus_error.h"
#include "ktap.h"
#include "base/log.h"
#include "observe/packet.h"

#define SECONDS 20000

static const uint64_t spans[HISTORY_WINDOWS] = { 60, 3600, 86400 };
static const uint64_t periods[HISTORY_WINDOWS] = { 10, 300, 3600 };

static char dir[] = "/tmp/xdp-bloom-history.XXXXXX";

static struct {
	uint64_t at, passed, dropped, left, kept_in, of_list[2];
} naive[SECONDS];

/* One label for both, one after the other. */
static const struct list_info lists[2] = { { .name = "one", .label = 7 }, { .name = "other", .label = 7 } };

static struct counted now_counted;
static struct history_report report;

static bool works(int err)
{
	return CHECK(!err, "%s", reason(err));
}

static void compare(const struct history *h, size_t n, uint64_t now)
{
	for (enum history_window w = 0; w < HISTORY_WINDOWS; w++) {
		uint64_t passed = 0, dropped = 0, left = 0, kept_in = 0, of_list[2] = { 0 }, peak = 0, minute = 0, edge;

		if (!works(history_read(h, now, w, &report)))
			return;
		edge = report.sums.from;
		if (!CHECK(!edge || (edge % periods[w] == 0 && edge + spans[w] + periods[w] > now && edge <= now),
			   "window %d begins at %" PRIu64 ", now %" PRIu64, w, edge, now))
			return;
		for (size_t i = 0; i < n; i++) {
			/* The oldest bucket is in whole or not at all. */
			if (naive[i].at / periods[w] + spans[w] / periods[w] < now / periods[w])
				continue;
			passed += naive[i].passed;
			dropped += naive[i].dropped;
			left += naive[i].left;
			kept_in += naive[i].kept_in;
			for (int l = 0; l < 2; l++)
				of_list[l] += naive[i].of_list[l];
			peak = naive[i].dropped > peak ? naive[i].dropped : peak;
			if (naive[i].at / 60 == now / 60)
				minute += naive[i].dropped;
		}
		if (!CHECK(report.sums.verdict[PASSED].packets == passed &&
				   report.sums.verdict[DROPPED].packets == dropped && report.sums.peak == (double)peak,
			   "window %d: %llu dropped, not %" PRIu64 ", peak %f, not %" PRIu64, w,
			   report.sums.verdict[DROPPED].packets, dropped, report.sums.peak, peak))
			return;
		if (!CHECK(report.sums.until == now, "window %d is until %" PRIu64 ", not %" PRIu64, w,
			   report.sums.until, now))
			return;
		if (!CHECK(report.sums.leaving[PASSED].packets == left &&
				   report.sums.leaving[DROPPED].packets == kept_in,
			   "window %d: %llu left, not %" PRIu64 ", and %llu did not, not %" PRIu64, w,
			   report.sums.leaving[PASSED].packets, left, report.sums.leaving[DROPPED].packets, kept_in))
			return;
		for (int l = 0; l < 2; l++) {
			unsigned int place = history_place(report.lists, &lists[l]);

			if (!CHECK(place ? report.sums.list[place].packets == of_list[l] : !of_list[l],
				   "window %d: list '%s' at %u", w, lists[l].name, place))
				return;
		}
		if (w && !CHECK(report.points[report.points_n - 1].dropped == minute, "the last minute on the chart"))
			return;
	}
}

static struct context own_context = CONTEXT_DEFAULT;

static int fresh(struct history **h)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/history", dir);
	unlink(path);
	return history_open(&own_context, h, true);
}

static void sums(void)
{
	uint64_t now = 1800000000 + ktap_random() % 100000;
	struct history *h;

	if (!works(fresh(&h)))
		return;
	for (size_t i = 0; i < SECONDS && !ktap_failed; i++) {
		now += ktap_random() % 500 ? 1 + ktap_random() % 8 : ktap_random() % 9000;
		memset(&now_counted, 0, sizeof(now_counted));
		naive[i].at = now;
		naive[i].passed = now_counted.verdict[PASSED].packets = ktap_random() % 1000;
		naive[i].dropped = now_counted.verdict[DROPPED].packets =
			ktap_random() % 5 ? 0 : ktap_random() % 100000;
		naive[i].left = now_counted.out[i % PORTS][1 + i % 3].packets = naive[i].passed / 2;
		naive[i].kept_in = now_counted.out[PORTS][REASON_DROPPED + i % 4].packets = naive[i].dropped / 3;
		naive[i].of_list[i >= SECONDS / 2] = now_counted.list[7].packets = naive[i].dropped / 2;
		if (i % (SECONDS / 2) == 0)
			history_lists(h, &lists[i >= SECONDS / 2], 1, true);
		history_count(h, now, 1, &now_counted);
		if (i % 97 == 0)
			compare(h, i + 1, now);
	}
	history_close(h);
}

/* More lists than there are places for, in turn: those in force have theirs, and begin at nothing. */
static void places(void)
{
	uint64_t now = 1900000000;
	struct history *h;

	if (!works(fresh(&h)))
		return;
	for (unsigned int i = 0; i < 1000 && !ktap_failed; i++) {
		struct list_info list = { .label = 3, .kind = i % 2 ? LIST_BAN : LIST_SHADOW };
		unsigned int place;

		snprintf(list.name, sizeof(list.name), "list%u", i / 2);
		history_lists(h, &list, 1, true);
		memset(&now_counted, 0, sizeof(now_counted));
		now_counted.list[3].packets = now_counted.verdict[DROPPED].packets = 5 + i;
		history_count(h, now, 1, &now_counted);
		works(history_read(h, now, HISTORY_DAY, &report));
		place = history_place(report.lists, &list);
		CHECK(place && report.sums.list[place].packets == 5 + i, "list %u at %u: %llu", i, place,
		      report.sums.list[place].packets);
	}
	history_close(h);
}

/*
 * With no place free, a list takes that of the lightest of those that are gone, and it alone; what another still has
 * stays. With no list gone, it gets none, and that of the others is as it was.
 */
static void lightest_place(void)
{
	static struct list_info all[LABELS + 1];
	uint64_t now = 1950000000, seconds[] = { 0, 100, 4000 };
	struct history *h;

	for (unsigned int gone = 1; gone < LABELS - 1; gone += 83) {
		unsigned int lightest = 1 + gone, first = 0;

		if (!works(fresh(&h)))
			return;
		for (unsigned int i = 1; i < LABELS; i++) {
			all[i] = (struct list_info){ .label = (uint8_t)i, .kind = LIST_BAN };
			snprintf(all[i].name, sizeof(all[i].name), "list%u", i);
		}
		history_lists(h, all + 1, LABELS - 1, true);
		/* In each of the windows; the lightest has one less. */
		for (size_t s = 0; s < sizeof(seconds) / sizeof(*seconds); s++) {
			memset(&now_counted, 0, sizeof(now_counted));
			for (unsigned int i = 1; i < LABELS; i++)
				now_counted.list[i].packets = 10 - (i == lightest && s == gone % 3);
			history_count(h, now + seconds[s], 1, &now_counted);
		}
		/* Half of them go, the lightest among them, and one comes that nobody knows. */
		for (unsigned int i = 1; i < LABELS; i++)
			if (i % 2 != lightest % 2)
				all[first++] = all[i];
		all[first] = (struct list_info){ .label = 255, .kind = LIST_BAN, .name = "new" };
		history_lists(h, all, first + 1, true);
		memset(&now_counted, 0, sizeof(now_counted));
		now_counted.list[255].packets = 3;
		history_count(h, now + 4001, 1, &now_counted);
		works(history_read(h, now + 4001, HISTORY_DAY, &report));
		CHECK(history_place(report.lists, &all[first]) == lightest, "the new one is at %u, not %u",
		      history_place(report.lists, &all[first]), lightest);
		for (unsigned int i = 1; i < LABELS; i++)
			CHECK(report.sums.list[i].packets == (i == lightest ? 3 : 30), "place %u has %llu", i,
			      report.sums.list[i].packets);
		history_close(h);
	}
	if (!works(fresh(&h)))
		return;
	for (unsigned int i = 1; i < LABELS; i++) {
		all[i] = (struct list_info){ .label = (uint8_t)i, .kind = LIST_BAN };
		snprintf(all[i].name, sizeof(all[i].name), "list%u", i);
	}
	history_lists(h, all + 1, LABELS - 1, true);
	all[LABELS] = (struct list_info){ .kind = LIST_BAN, .name = "new" };
	history_lists(h, all + 1, LABELS, true);
	works(history_read(h, now, HISTORY_DAY, &report));
	CHECK(!history_place(report.lists, &all[LABELS]) && history_place(report.lists, &all[1]) == 1 &&
		      history_place(report.lists, &all[LABELS - 1]) == LABELS - 1,
	      "one too many has a place");
	history_close(h);
}

/* A source of more than 1/128 of the samples is named, in the right order, with a count that is no further off than
 * said. */
static void frequent(void)
{
	static uint32_t counts[1000];
	uint64_t now = 2000000000, samples = 200000;
	struct history *h;

	if (!works(fresh(&h)))
		return;
	for (uint64_t i = 0; i < samples; i++) {
		struct packet p = { .source = { 0, 4 }, .protocol = 17, .destination_port = 53 };
		uint64_t who = ktap_random() % 100;

		/* Ten have 2 to 11 of 100 each, the others are all different. */
		who = who < 65 ? (uint64_t)0 : 10;
		if (!who) {
			uint64_t weight = ktap_random() % 65;

			while (weight >= who + 2)
				weight -= who++ + 2;
		}
		p.source.num = who < 10 ? 0x0a000000 + (uint32_t)who : 0x80000000 | (uint32_t)ktap_random();
		if (who < 10)
			counts[who]++;
		history_sample(h, now + i * 30 / samples, &p, 1);
	}
	history_sample(h, now, &(struct packet){ 0 }, 1); /* nobody's */
	works(history_read(h, now + 30, HISTORY_MINUTE, &report));
	CHECK(report.sums.samples == samples, "%" PRIu64 " samples", report.sums.samples);
	for (uint32_t i = 0; i < 10; i++) {
		const struct top_entry *e = NULL;

		for (int k = 0; k < TOP_ENTRIES; k++)
			if (report.sums.top[TOP_SOURCES][k].lo == 0x0a000000 + i)
				e = &report.sums.top[TOP_SOURCES][k];
		if (!CHECK(e, "source %u with %u samples is not there", i, counts[i]))
			break;
		CHECK(e->packets >= counts[i] && e->packets - e->over <= counts[i], "source %u: %f (error %f), not %u",
		      i, e->packets, e->over, counts[i]);
	}
	CHECK(report.sums.top[TOP_NETWORKS][0].lo == 0x0a000000, "the first network");
	CHECK(report.sums.top[TOP_PORTS][0].hi == 17 && report.sums.top[TOP_PORTS][0].lo == 54 &&
		      report.sums.top[TOP_PORTS][0].samples == samples,
	      "the port");
	history_close(h);
}

/* Two floods with a short break are one attack, with a long break two. */
static void attacks(void)
{
	uint64_t now = 2100000000;
	struct history *h;

	if (!works(fresh(&h)))
		return;
	for (int i = 0; i < 300; i++) {
		bool on = i < 10 || (i >= 50 && i < 60) || (i >= 200 && i < 205);

		memset(&now_counted, 0, sizeof(now_counted));
		now_counted.verdict[DROPPED] = (struct tally){ on ? 5000 : 10, 100 };
		history_count(h, now + (uint64_t)i, 1, &now_counted);
	}
	works(history_read(h, now + 300, HISTORY_HOUR, &report));
	CHECK(report.attacks_n == 2, "%u attacks", report.attacks_n);
	CHECK(report.attacks[0].begin == now + 200 && report.attacks[0].end == now + 204 &&
		      report.attacks[0].dropped.packets == 25000,
	      "the last one");
	CHECK(report.attacks[1].begin == now && report.attacks[1].end == now + 59 &&
		      report.attacks[1].dropped.packets == 100000 && report.attacks[1].peak == 5000,
	      "the one before");
	history_close(h);
}

/* Another program's file, or one of another size: the reader says so, the writer starts a new one. */
static void damaged(void)
{
	struct history *h;
	char path[64];

	snprintf(path, sizeof(path), "%s/history", dir);
	CHECK(!truncate(path, 1000), "truncate");
	CHECK(err_is(history_open(&own_context, &h, false), EPROTO), "a short file is read");
	works(history_open(&own_context, &h, true));
	CHECK(!history_read(h, 2100000000, HISTORY_DAY, &report) && !report.sums.from && !report.attacks_n,
	      "it did not start a new file");
	history_close(h);
	unlink(path);
	CHECK(err_is(history_open(&own_context, &h, false), ENOENT), "a history that is not there is read");
}

/* Cut, or overwritten, under the one who writes it and under one who reads it: neither is killed, and both know. */
static void cut(void)
{
	static const long sizes[] = { 0, 1, 100000 };
	struct history *h, *reader;
	char path[64];

	if (!bus_errors_say_where()) {
		ktap_skip(BUS_ERROR_SKIP);
		return;
	}
	snprintf(path, sizeof(path), "%s/history", dir);
	for (size_t i = 0; i <= sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!works(history_open(&own_context, &h, true)) || !works(history_open(&own_context, &reader, false)))
			return;
		history_lists(h, lists, 1, false);
		history_count(h, 2100000000, 1, &now_counted);
		CHECK(!history_is_lost(h) && !history_is_lost(reader), "lost while it is whole");
		/* The last time as long as before, and empty. */
		CHECK(!truncate(path, sizes[i % 3]) && (i < 3 || !truncate(path, 10 << 20)), "truncate");
		history_lists(h, lists, 2, true);
		history_count(h, 2100000001, 1, &now_counted);
		CHECK(history_is_lost(h), "%zu: its writer does not know", i);
		CHECK(err_is(history_read(reader, 2100000001, HISTORY_DAY, &report), EIO), "%zu: what is gone is read",
		      i);
		history_close(h);
		history_close(reader);
		works(history_open(&own_context, &h, true));
		history_count(h, 2100000002, 1, &now_counted);
		CHECK(!history_is_lost(h) && !history_read(h, 2100000002, HISTORY_DAY, &report), "%zu: none begins", i);
		history_close(h);
	}
	unlink(path);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "sums, peaks and charts", sums },
		{ "more lists than places", places },
		{ "the lightest place", lightest_place },
		{ "the frequent ones", frequent },
		{ "attacks", attacks },
		{ "damaged files", damaged },
		{ "cut under those who have it", cut },
	};
	int status;

	own_context.state = mkdtemp(dir);
	status = ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
	rmdir(dir);
	return status;
}
