// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time of day as text, against gmtime(3): each day's first and last second of 400 years, and times at random. How
 * long the machine runs, and since which start of it: of a kernel that is made up.
 */
#include <stdio.h>
#include <string.h>

#include "ktap.h"
#include "base/clock.h"
#include "naive.h"

static const char *offsets, *boot; /* what the kernel says; NULL: nothing */
static int opened, closed;
static int64_t boot_ns;

static FILE *given_open(const char *path, const char *how)
{
	static char text[500];
	const char *says;

	if (!strcmp(path, "/proc/self/timens_offsets"))
		says = offsets;
	else if (!strcmp(path, "/proc/sys/kernel/random/boot_id"))
		says = boot;
	else
		abort();
	if (strcmp(how, "re") != 0)
		abort();
	if (!says)
		return NULL;
	opened++;
	snprintf(text, sizeof(text), "%s", says);
	if (*text)
		return fmemopen(text, strlen(text), how);
	return tmpfile();
}

static int given_close(FILE *file)
{
	closed++;
	return fclose(file);
}

static int64_t given_ns(clockid_t clock)
{
	return clock == CLOCK_BOOTTIME ? boot_ns : -1;
}

#define fopen	 given_open
#define fclose	 given_close
#define clock_ns given_ns
#include "base/clock.c"
#undef fopen
#undef fclose
#undef clock_ns

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

/* The first line of that name counts, and only where it has both numbers. */
static void other_offsets(void)
{
	static const struct {
		const char *says;
		int64_t ns;
	} known[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "monotonic           7         8\nboottime            5         6\n", 5000000006 },
		{ "boottime            5         6\nboottime            7         8\n", 5000000006 },
		{ "boottime -3 999999999\n", -2000000001 },
		{ "monotonic 5 6\n", 0 },
		{ "boottime 5\n", 0 },
		{ "boottime x 5\n", 0 },
		{ "boottime 5 x\nboottime 4 1\n", 4000000001 },
	};

	opened = closed = 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		offsets = known[i].says;
		CHECK(boot_offset() == known[i].ns, "'%s': %lld", offsets ? offsets : "none", (long long)boot_offset());
	}
	CHECK(opened && opened == closed, "%d opened, %d closed", opened, closed);
}

/* It is asked for once: nobody leaves such a namespace. */
static void since_boot(void)
{
	offsets = "boottime 5 6\n";
	boot_ns = 12000000000;
	for (opened = 0; boot_ns < 12000000003; boot_ns++)
		CHECK(clock_boot() == boot_ns - 5000000006, "%lld", (long long)clock_boot());
	offsets = "boottime 7 8\n";
	CHECK(clock_boot() == boot_ns - 5000000006 && opened <= 1, "%lld, asked for %d times", (long long)clock_boot(),
	      opened);
}

static void which_boot(void)
{
	static const struct {
		const char *says, *id;
		int64_t number;
	} known[] = {
		{ "12345678-9abc-4def-8123-456789abcdef\n", "12345678-9abc-4def-8123-456789abcdef", 0x123456789abc5 },
		{ "12345678-9abc-3def-8123-456789abcdef", "12345678-9abc-3def-8123-456789abcdef", 0x123456789abc3 },
		{ "ffffffff-ffff-ffff-ffff-ffffffffffff\nmore\n", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		  0xfffffffffffff },
		{ "00000000-0000-0000-0000-000000000000\n", "00000000-0000-0000-0000-000000000000", BOOT_UNKNOWN },
		{ "12", "12", 0x13 },
		{ "0123456789012345678901234567890123456789\n", "012345678901234567890123456789012345678",
		  0x0123456789013 },
		{ "\n", "", BOOT_UNKNOWN },
		{ "", "", BOOT_UNKNOWN },
		{ NULL, "", BOOT_UNKNOWN },
	};

	opened = closed = 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char id[BOOT_ID_MAX] = "before";
		int64_t number;

		boot = known[i].says;
		CHECK(clock_boot_id(id) == id && !strcmp(id, known[i].id), "'%s', not '%s'", id, known[i].id);
		number = clock_boot_number();
		CHECK(number == known[i].number && number == (int64_t)(double)number, "%s: %llx, not %llx", known[i].id,
		      (long long)number, (long long)known[i].number);
	}
	CHECK(opened && opened == closed, "%d opened, %d closed", opened, closed);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "every day", days },
		{ "any time", any_time },
		{ "where a namespace has another offset", other_offsets },
		{ "since the machine was started", since_boot },
		{ "which start of the machine", which_boot },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
