// SPDX-License-Identifier: GPL-2.0-only
/* The time of day as text, against gmtime(3): each day's first and last second of 400 years, and times at random. */
#include <stdio.h>
#include <string.h>

#include "ktap.h"
#include "base/clock.h"
#include "naive.h"

static void same(int64_t seconds)
{
	char wanted[UTC_TEXT_MAX], got[UTC_TEXT_MAX];
	time_t when = (time_t)seconds;
	struct tm utc;

	ENOUGH(gmtime_r(&when, &utc) != NULL);
	ENOUGH(strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%SZ", &utc) != 0);
	CHECK(!strcmp(utc_text(got, seconds), wanted), "%lld: %s, not %s", (long long)seconds, utc_text(got, seconds),
	      wanted);
}

static void days(void)
{
	for (int64_t day = 0; day < 146097; day++) {
		same(86400 * day);
		same(86400 * day + 86399);
	}
}

static void any_time(void)
{
	char text[UTC_TEXT_MAX];

	for (int i = 0; i < 100000; i++)
		same((int64_t)(ktap_random() % (TIME_MOST + 1)));
	same(TIME_MOST);
	CHECK(!strcmp(utc_text(text, -1), "-") && !strcmp(utc_text(text, TIME_MOST + 1), "-"),
	      "there is a text for what cannot be");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "every day", days },
		{ "any time", any_time },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
