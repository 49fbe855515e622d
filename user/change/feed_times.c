// SPDX-License-Identifier: GPL-2.0-only
#include "change/feed_times.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fetch/text_hash.h"
#include "state/feeds.h"

#define DAY 86400
/* What a server may ask for: whoever says a year by mistake is asked again. */
#define RETRY_AFTER_MOST (7LL * DAY)
/* The doubling ends here, or with the interval where that is longer. */
#define BACKOFF_MOST ((int64_t)DAY)

uint64_t feed_phase(const char *machine, const char *list)
{
	struct text_hash hash = { 0 };

	text_hash_add(&hash, machine, strlen(machine) + 1);
	text_hash_add(&hash, list, strlen(list));
	/* Of FNV's sum the upper bits are the mixed ones. */
	return hash.sum >> 16;
}

void feed_machine(char machine[64])
{
	FILE *file = fopen("/etc/machine-id", "re");

	machine[0] = '\0';
	if (file) {
		if (!fgets(machine, 64, file))
			machine[0] = '\0';
		fclose(file);
	}
	if (!*machine && gethostname(machine, 63))
		machine[0] = '\0';
	machine[63] = '\0';
}

static int64_t at_most(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t at_least(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Half the interval at first, then the double each time. */
static int64_t backoff(const struct feed *f)
{
	int64_t wait = f->every / 2, most = at_least(f->every, BACKOFF_MOST);

	for (int64_t i = 1; i < f->failures && wait < most; i++)
		wait *= 2;
	return at_most(wait, most);
}

/*
 * Its place in each interval, and not "an interval from now": what an answer takes would add up, and machines that were
 * started together would stay together. A minute too early is none: the answer before may have taken that long.
 */
static int64_t next_place(const struct feed *f, uint64_t phase)
{
	int64_t place = (int64_t)(phase % (uint64_t)f->every), early = at_most(f->every / 20, 60);
	int64_t from = f->tried + f->every - early, into = (from - place) % f->every;

	return into <= 0 ? from - into : from + f->every - into;
}

void feed_plan(struct feed *f, uint64_t phase, uint64_t retry_after)
{
	int64_t asked = f->tried + (retry_after > RETRY_AFTER_MOST ? RETRY_AFTER_MOST : (int64_t)retry_after);
	int64_t old = f->max_age && f->good ? f->good + f->max_age : 0;

	f->next = f->failures ? f->tried + backoff(f) : next_place(f, phase);
	/* What becomes of it then is decided after one more try, whatever its server asks for. */
	if (f->failures && old > f->tried)
		f->next = at_most(f->next, old);
	if (old > f->tried)
		asked = at_most(asked, old);
	f->next = at_least(f->next, f->tried + FEED_EVERY_LEAST);
	f->next = at_most(at_least(f->next, asked), TIME_MOST);
}

int feed_host(char host[FEED_HOST_MAX], const char *url)
{
	const char *at = strstr(url, "://");
	int n = 0;

	at = at ? at + 3 : url;
	for (; n < FEED_HOST_MAX - 1 && at[n] && !strchr("/?#", at[n]); n++)
		host[n] = (char)tolower((unsigned char)at[n]);
	host[n] = '\0';
	return n;
}
