// SPDX-License-Identifier: GPL-2.0-only
/* Times as people write them, there and back; and what a mistyped name is taken for. */
#include "ktap.h"
#include "base/nearest.h"
#include "base/span.h"

#define ROUNDS 100000

static void read_times(void)
{
	static const struct {
		const char *text;
		double seconds;
	} cases[] = {
		{ "0", 0 },
		{ "90", 90 },
		{ "90s", 90 },
		{ "90m", 5400 },
		{ "1h30m", 5400 },
		{ "1w", 604800 },
		{ "1y", 31536000 },
		{ "1d12h", 129600 },
		{ "1.5h", 5400 },
		{ "0.5", 0.5 },
		{ "1y1w1d1h1m1s", 32230861 },
		{ "", -1 },
		{ "m", -1 },
		{ "1h30", -1 },
		{ "30m1h", -1 },
		{ "1h1h", -1 },
		{ "-1", -1 },
		{ "+1", -1 },
		{ " 1", -1 },
		{ "0x10", -1 },
		{ "1e3", -1 },
		{ "inf", -1 },
		{ "nan", -1 },
		{ "10min", -1 },
		{ "1H", -1 },
		{ "1 h", -1 },
		{ "1.2.3", -1 },
		{ ".5", -1 },
		{ "1..5", -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double seconds = span_seconds(cases[i].text);

		if (!CHECK(seconds == cases[i].seconds, "'%s' is %g s, not %g", cases[i].text, seconds,
			   cases[i].seconds))
			return;
	}
}

static void written_times(void)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {
		{ -1, "0s" },
		{ 0, "0s" },
		{ 59, "59s" },
		{ 119, "1m59s" },
		{ 3599, "59m59s" },
		{ 3600, "1h" },
		{ 7170, "2h" },
		{ 86399, "1d" },
		{ 86400, "1d" },
		{ 172799, "2d" },
		{ 259200 - 3600, "2d23h" },
		{ 34560000, "400d" },
	};
	char text[SPAN_TEXT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!CHECK(!strcmp(span_text(text, cases[i].seconds), cases[i].text), "%" PRId64 " s is '%s', not '%s'",
			   cases[i].seconds, text, cases[i].text))
			return;
	/* At most a 48th wrong: half of the second unit, where there is one of the first. */
	for (int round = 0; round < ROUNDS; round++) {
		int64_t seconds = (int64_t)(ktap_random() >> (ktap_random() % 30 + 34));
		double again = span_seconds(span_text(text, seconds)), off = again - (double)seconds;

		if (!CHECK(again >= 0 && off * off <= (double)seconds / 48 * ((double)seconds / 48),
			   "%" PRId64 " s is '%s', which is %g", seconds, text, again))
			return;
	}
}

static const char *meant(const char *word)
{
	static const char *const names[] = { "attach", "add", "del", "load", "unload", "lists", "status", "stats" };
	static struct nearest near;

	near = (struct nearest){ .word = word };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_try(&near, names[i]);
	nearest_try_also(&near, "ban block -A", "add");
	return near.name;
}

static void names(void)
{
	static const struct {
		const char *typed, *meant;
	} cases[] = {
		{ "atach", "attach" }, { "attahc", "attach" }, { "ADD", "add" },     { "dle", "del" },
		{ "list", "lists" },   { "laod", "load" },     { "stat", "status" }, { "block", "add" },
		{ "-A", "add" },       { "statsu", "status" }, { "frobnicate", "" }, { "", "" },
		{ "x", "" },	       { "bloc", "" },
	};
	char word[3 * NEAREST_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!CHECK(!strcmp(meant(cases[i].typed), cases[i].meant), "'%s' is taken for '%s', not '%s'",
			   cases[i].typed, meant(cases[i].typed), cases[i].meant))
			return;
	/* However long: nothing is written beside what is there. */
	for (size_t length = 0; length < sizeof(word); length++) {
		memset(word, 'a', length);
		word[length] = '\0';
		meant(word);
	}
}

static const struct ktap_case cases[] = {
	{ "times are read", read_times },
	{ "times are written, and read again", written_times },
	{ "what a name is taken for", names },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
