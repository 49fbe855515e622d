// SPDX-License-Identifier: GPL-2.0-only
/* When lists are fetched: a made-up week of many of them, whose servers fail and whose clock is moved about. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "ktap.h"
#include "naive.h"
#include "state/feeds.h"

static const char *machine_id, *host_name; /* NULL: there is none */

static FILE *given_open(const char *path, const char *mode)
{
	CHECK(!strcmp(path, "/etc/machine-id"), "%s", path);
	return machine_id ? fmemopen((void *)machine_id, strlen(machine_id), mode) : NULL;
}

static int given_name(char *name, size_t size)
{
	return host_name ? snprintf(name, size, "%s", host_name), 0 : -1;
}

#define fopen	    given_open
#define gethostname given_name
#include "change/feed_times.c"
#undef fopen
#undef gethostname

#define START 1800000000LL
#define WEEK  (7 * 86400LL)
#define FEEDS 200

/* A request that is answered after `took` s; how it ends is up to the test. */
static void asked(struct feed *f, int64_t now, bool good, uint64_t phase, uint64_t retry_after)
{
	f->tried = now;
	f->failures = good ? 0 : f->failures + 1;
	if (good)
		f->good = now;
	feed_plan(f, phase, retry_after);
}

static void known(void)
{
	struct feed f = { .every = 3600, .tried = START };

	feed_plan(&f, 0, 0);
	CHECK(f.next % 3600 == 0 && f.next - START >= 3540, "in %lld s", (long long)(f.next - START));
	for (int i = 0; i < 8; i++) {
		int64_t wait = 1800LL << i < 86400 ? 1800LL << i : 86400;

		asked(&f, START, false, 0, 0);
		CHECK(f.next - START == wait, "failure %d: in %lld s", i + 1, (long long)(f.next - START));
	}
	asked(&f, START, false, 0, 100000);
	CHECK(f.next - START == 100000, "the server wants 100000 s, and has %lld", (long long)(f.next - START));
	asked(&f, START, true, 0, 100000);
	CHECK(f.next - START == 100000, "a good server wants 100000 s, and has %lld", (long long)(f.next - START));
	asked(&f, START, false, 0, UINT64_MAX);
	CHECK(f.next - START == WEEK, "whoever wants it never has %lld s", (long long)(f.next - START));
	f = (struct feed){ .every = 300 };
	asked(&f, START, false, 0, 0);
	CHECK(f.next - START == 300, "5 minutes become %lld s", (long long)(f.next - START));
	/* Too old in an hour: one more try then. */
	f = (struct feed){ .every = 86400, .max_age = 90000, .good = START - 86400 };
	asked(&f, START, false, 0, 0);
	CHECK(f.next - START == 3600, "it is too old in 3600 s, and asked again in %lld", (long long)(f.next - START));
	CHECK(!feed_is_old(&f, START) && feed_is_old(&f, START + 3600), "it is old too early, or too late");
	/* Whatever its server asks for; and a server that answers need not be asked before that. */
	asked(&f, START, false, 0, WEEK);
	CHECK(f.next - START == 3600, "it is too old in 3600 s, its server wants a week, and has %lld",
	      (long long)(f.next - START));
	asked(&f, START + 3600, false, 0, WEEK);
	CHECK(f.next - START == 3600 + WEEK, "too old, it is asked again %lld s after that",
	      (long long)(f.next - START - 3600));
	f.every = 3600;
	asked(&f, START, true, 0, WEEK);
	CHECK(f.next - START == 90000, "a good server wants a week, and has %lld s of 90000",
	      (long long)(f.next - START));
	f = (struct feed){ .every = 86400, .max_age = 90000, .good = START - 86400 };
	/* Of this start of the machine, whatever the date is; of another one nothing else is known. */
	f.boot = clock_boot_number();
	f.good_up = clock_boot() / 1000000000 - 5;
	CHECK(!feed_is_old(&f, START + 366 * 86400) && feed_age(&f, START - WEEK) - 5 < 60,
	      "the date counts: it is %lld s old", (long long)feed_age(&f, START - WEEK));
	f.boot += 2;
	CHECK(feed_age(&f, START) == 86400, "of before a restart it is %lld s old", (long long)feed_age(&f, START));
}

/* However far the date is moved, nothing waits longer than it was to. */
static void date_moved(void)
{
	for (int round = 0; round < 100000; round++) {
		struct feed f = { .every = FEED_EVERY_LEAST + (int64_t)(ktap_random() % 1000000) };
		int64_t now = (int64_t)(ktap_random() % (2 * START)), left;

		for (uint64_t i = ktap_random() % 5; i; i--)
			f.failures++;
		f.tried = (int64_t)(ktap_random() % (2 * START)) + 1;
		feed_plan(&f, ktap_random(), ktap_random() % 3 ? 0 : ktap_random() % 100000);
		left = feed_left(&f, now);
		if (!CHECK(left >= 0 && left <= f.next - f.tried && f.next - f.tried >= FEED_EVERY_LEAST,
			   "it waits %lld of %lld s", (long long)left, (long long)(f.next - f.tried)))
			return;
		if (!CHECK(now < f.next || !left, "it is due, and waits %lld s", (long long)left))
			return;
	}
}

static void hosts(void)
{
	static const char *const of[][2] = {
		{ "https://Example.NET/a/b", "example.net" },
		{ "http://example.net:8080", "example.net:8080" },
		{ "https://example.net?x=/", "example.net" },
		{ "https://[2001:db8::1]:1/x", "[2001:db8::1]:1" },
	};
	char host[FEED_HOST_MAX];

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		feed_host(host, of[i][0]);
		CHECK(!strcmp(host, of[i][1]), "%s is at %s", of[i][0], host);
	}
}

static void machines(void)
{
	static const struct {
		const char *id, *name, *is;
	} known[] = { { "0123abcd\n", "edge1", "0123abcd\n" }, { NULL, "edge1", "edge1" }, { NULL, NULL, "" } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char machine[64];

		machine_id = known[i].id;
		host_name = known[i].name;
		memset(machine, 'x', sizeof(machine));
		feed_machine(machine);
		CHECK(!strcmp(machine, known[i].is), "%zu: '%.63s'", i, machine);
	}
}

/* A week of 200 lists of an hour: as many requests as there are hours, and spread evenly. */
static void a_week(void)
{
	static struct feed feeds[FEEDS];
	static unsigned int minute[WEEK / 60 + 2], requests[FEEDS];
	static uint64_t phase[FEEDS];
	unsigned int most = 0;

	memset(requests, 0, sizeof(requests));
	for (int i = 0; i < FEEDS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "list-%d", i);
		phase[i] = feed_phase("0123456789abcdef", name);
		feeds[i] = (struct feed){ .every = 3600 };
		asked(&feeds[i], START, true, phase[i], 0);
	}
	for (int64_t now = START; now < START + WEEK; now++) {
		for (int i = 0; i < FEEDS; i++) {
			int64_t before = feeds[i].tried;

			if (feed_left(&feeds[i], now) || ktap_random() % 5)
				continue; /* others are in front */
			requests[i]++;
			minute[(now - START) / 60]++;
			asked(&feeds[i], now, true, phase[i], 0);
			if (!CHECK(now - before >= 3540, "list %d is asked for after %lld s", i,
				   (long long)(now - before)))
				return;
		}
	}
	for (int i = 0; i < FEEDS; i++)
		if (!CHECK(requests[i] >= 166 && requests[i] <= 168, "list %d was asked for %u times in 168 hours", i,
			   requests[i]))
			return;
	for (size_t i = 0; i < sizeof(minute) / sizeof(*minute); i++)
		most = minute[i] > most ? minute[i] : most;
	printf("# at most %u requests a minute, 3.3 on average\n", most);
	CHECK(most <= 16, "%u requests in one minute", most);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "known times", known }, { "the date is moved", date_moved }, { "hosts", hosts },
		{ "machines", machines }, { "a week of 200 lists", a_week },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
