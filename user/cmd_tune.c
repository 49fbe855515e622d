// SPDX-License-Identifier: GPL-2.0-only
/* tune: settings, kept in the state; a change of them rotates */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply.h"
#include "change.h"
#include "cmd.h"
#include "formulas.h"
#include "log.h"
#include "out.h"
#include "rate.h"

#define WANTED_MAX 8

/* What was asked for, by the names under which it is kept. */
static struct {
	const char *name;
	double value;
} wanted[WANTED_MAX];
static size_t wanted_n;

static int want(const char *name, double value)
{
	wanted[wanted_n % WANTED_MAX].name = name;
	wanted[wanted_n++ % WANTED_MAX].value = value;
	return 0;
}

static int want_switch(const char *name, const char *value)
{
	if (!strcmp(value, "on"))
		return want(name, 1);
	if (!strcmp(value, "off"))
		return want(name, 0);
	return fail("--%s is on or off, not '%s'", name, value);
}

static int want_memory(const char *value)
{
	static const char units[] = "KMG";
	char *end;
	double bytes = strtod(value, &end);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (end == value || !(bytes >= 0) || (*end && (!unit || end[1])))
		return fail("--memory takes bytes, such as 64M, not '%s'", value);
	for (int i = 0; unit && i <= unit - units; i++)
		bytes *= 1024;
	if (bytes > 1e18 || (bytes > 0 && bytes < 1))
		return fail("--memory takes bytes, such as 64M, not '%s'", value);
	return want("memory_max", bytes);
}

static int want_number(const char *name, const char *value, double lowest, double highest, double *number)
{
	char *end;

	*number = strtod(value, &end);
	if (end == value || *end || !(*number >= lowest && *number <= highest))
		return fail("--%s takes a number from %g to %g, not '%s'", name, lowest, highest, value);
	return 0;
}

static int tune_option(int option, const char *value)
{
	double number;

	switch (option) {
	case 'e':
		return want_switch("exact", value);
	case 'l':
		return want_switch("labels", value);
	case 'f':
		if (want_number("fpr", value, 1e-7, 0.5, &number))
			return EXIT_ERROR;
		return want("bits_per_key", lanes_bits(number));
	case 'h':
		if (want_number("headroom", value, 0, 1000, &number))
			return EXIT_ERROR;
		return want("headroom", number / 100);
	case 's':
		if (want_number("samples", value, 0, 100000, &number))
			return EXIT_ERROR;
		return want("samples", floor(number));
	default:
		return want_memory(value);
	}
}

static int report(const struct settings *s)
{
	double fpr = rate_asked(s);
	char buf[NUMBER_TEXT_MAX];

	if (opt_json)
		return out_json(json_pack("{s:b, s:b, s:f, s:f, s:f, s:I, s:I}", "exact", s->exact, "labels", s->labels,
					  "fpr", fpr, "bits_per_key", s->bits_per_key, "headroom", s->headroom * 100,
					  "samples", (json_int_t)s->samples, "memory", (json_int_t)s->memory_max));
	printf("exact     %s\nlabels    %s\nfpr       %.3g (%.1f bits a key)\nheadroom  %.0f %%\nsamples   %.0f a second and CPU\nmemory    %s\n",
	       s->exact ? "on" : "off", s->labels ? "on" : "off", fpr, s->bits_per_key, s->headroom * 100, s->samples,
	       s->memory_max ? bytes_text(buf, s->memory_max) : "half of what is free");
	return out_end();
}

int cmd_tune(int argc, char **argv)
{
	static const struct option own[] = {
		{ "exact", required_argument, NULL, 'e' },
		{ "labels", required_argument, NULL, 'l' },
		{ "fpr", required_argument, NULL, 'f' },
		{ "headroom", required_argument, NULL, 'h' },
		{ "samples", required_argument, NULL, 's' },
		{ "memory", required_argument, NULL, 'm' },
		{ 0 },
	};
	struct state *state = NULL;
	struct settings settings;
	int err;

	if (options_read(&argc, argv, own, tune_option))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("tune: takes no '%s'", argv[1]);
	err = wanted_n ? change_begin(&state) : state_open(&state, false);
	for (size_t i = 0; i < wanted_n && i < WANTED_MAX && !err; i++)
		err = state_set(state, wanted[i].name, wanted[i].value);
	if (!err)
		settings = settings_read(state);
	if (!err && wanted_n)
		err = apply(state);
	state_close(state);
	if (err)
		return fail("tune: %s; nothing was changed", reason(err));
	return wanted_n && !opt_json ? EXIT_DONE : report(&settings);
}
