// SPDX-License-Identifier: GPL-2.0-only
/* plan: sizes and rates before anything is loaded. It changes nothing, and needs no rights but to read. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cmd.h"
#include "filter/forecast.h"
#include "verbs/print_plan.h"
#include "change/guard.h"
#include "state/kept_image.h"
#include "base/log.h"
#include "base/out.h"
#include "sets/reader.h"
#include "state/settle.h"
#include "state/settings.h"
#include "state/state.h"

static struct reader_options reading;
static struct pins pins = { .headroom = -1 };
static double keys_given;
static struct counts given6;
static enum layout layout_given = LAYOUT_AUTO;
static bool exact_given, exact;

/* "250000" or "10M", and what stands behind it; 0 where that is no number to plan for. */
static double read_keys(const char *value, char **end)
{
	static const char units[] = "kMG";
	double keys = strtod(value, end);
	const char *unit = **end ? strchr(units, **end) : NULL;

	for (int i = 0; unit && i <= unit - units; i++)
		keys *= 1000;
	*end += unit != NULL;
	return keys >= 1 && keys <= FORECAST_KEYS_MAX ? floor(keys) : 0;
}

static int keys_option(const char *value)
{
	char *end;

	keys_given = read_keys(value, &end);
	if (!keys_given || *end)
		return fail("--keys takes a number such as 250000 or 10M, up to %g, not '%s'", FORECAST_KEYS_MAX,
			    value);
	return 0;
}

/* "200k/48"; each time more of them. */
static int keys6_option(const char *value)
{
	char *end, *digits;
	double keys = read_keys(value, &end);
	long length = 64;

	if (*end == '/') {
		digits = end + 1;
		length = strtol(digits, &end, 10);
		if (end == digits)
			length = -1;
	}
	if (!keys || *end || length < 0 || length > 128)
		return fail("--keys6 takes a number up to %g and a prefix length, such as 200k/48, not '%s'",
			    FORECAST_KEYS_MAX, value);
	if (keys > exp2((double)length))
		return fail("--keys6: there are no %.0f prefixes of /%ld", keys, length);
	forecast_add6(&given6, keys, (unsigned int)length);
	return 0;
}

static int layout_option(const char *value)
{
	for (layout_given = 0; layout_given <= LAYOUT_AUTO; layout_given++)
		if (!strcmp(value, layout_names[layout_given]))
			return 0;
	return fail("--layout is lanes, lanes2, classic or auto, not '%s'", value);
}

static int plan_option(int option, const char *value)
{
	double number;

	switch (option) {
	case 'k':
		return keys_option(value);
	case '6':
		return keys6_option(value);
	case 'r':
		return option_number("fpr", value, 1e-12, 0.5, &pins.fpr);
	case 'm':
		if (option_bytes("memory", value, &number))
			return EXIT_ERROR;
		pins.memory = (uint64_t)number;
		return pins.memory ? 0 : fail("--memory takes bytes, such as 64M, not '%s'", value);
	case 'e':
		exact_given = true;
		return option_switch("exact", value, &exact);
	case 'l':
		return layout_option(value);
	case 'h':
		if (option_number("headroom", value, 0, 1000, &pins.headroom))
			return EXIT_ERROR;
		pins.headroom /= 100;
		return 0;
	case 's':
		reading.skip_bad = true;
		return 0;
	default:
		reading.format = value;
		return 0;
	}
}

/* Each file is a list of its own, as load would make it: what no packet from outside carries is left out. */
static int count_files(struct counts *n, int files, char **paths)
{
	struct ranges *sets = calloc((size_t)files, sizeof(*sets)), none = RANGES_EMPTY;
	struct account *accounts = calloc((size_t)files, sizeof(*accounts));
	int err = sets && accounts ? 0 : -ENOMEM;
	bool found[64] = { false };
	struct owned owned;

	reading.progress = !opt_quiet && !opt_json;
	for (int i = 0; i < files && !err; i++) {
		char error[READER_TEXT_MAX];
		struct reader_report report;

		err = reader_read(paths[i], &reading, &sets[i], &report, error);
		if (err)
			err = because(err, "%s", error);
		else
			err = guard_apply_bogons(&sets[i], BOGONS_LEAVE_OUT, found);
		accounts[i] = (struct account){ &sets[i], (uint8_t)(i + 1) };
	}
	if (!err)
		err = owned_settle(&owned, accounts, (size_t)files, &none);
	if (!err) {
		plan_count(n, &owned);
		owned_free(&owned);
	}
	for (int i = 0; sets && i < files; i++)
		ranges_free(&sets[i]);
	free(sets);
	free(accounts);
	return err;
}

static int count_loaded(struct counts *n, struct state *state, struct settings *settings)
{
	struct settled s;
	int err = settle(&s, state);

	if (err)
		return err;
	plan_count(n, &s.owned);
	settings->labels = settings->labels || s.shadows;
	settled_free(&s);
	return 0;
}

static bool is_empty(const struct counts *n)
{
	struct counts none = { 0 };

	return !memcmp(n->v6, none.v6, sizeof(none.v6)) && !n->some24 && !n->all24;
}

/* What there is to plan for, and with which settings: those in force here, if we may read them. */
static int take(struct forecasts *all, int files, char **paths)
{
	bool given = keys_given > 0 || given6.nets32 > 0, image;
	struct settings *settings = &all->settings;
	struct state *state = NULL;
	int err = state_open(&state, false);

	*settings = err ? SETTINGS_DEFAULT : settings_read(state);
	if (exact_given)
		settings->exact = exact;
	if (layout_given != LAYOUT_AUTO)
		settings->layout = layout_given;
	all->source = files ? "files" : given ? "keys" : "loaded";
	image = !err && image_kept(state);
	if (files)
		err = count_files(&all->counts, files, paths);
	else if (given)
		err = 0;
	else if (!err)
		err = count_loaded(&all->counts, state, settings);
	state_close(state);
	if (err || files || (!given && !is_empty(&all->counts)))
		return err;
	if (!given && !pins.memory)
		return because(-ENOENT, "%s; name files, --keys N, or --memory MAX for how many fit",
			       image ? "an image is in force, and its lists are not here" : "nothing is loaded");
	all->source = "keys";
	if (!given) {
		all->source = "memory";
		err = forecast_keys(&keys_given, settings, &pins);
	}
	all->counts = forecast_counts(keys_given);
	memcpy(all->counts.v6, given6.v6, sizeof(given6.v6));
	all->counts.nets32 = given6.nets32;
	return err;
}

/* Every layout, with the roster and without, but for what is pinned; first what would be built. */
static int solve(struct forecasts *all)
{
	struct settings settings = all->settings;
	int err = forecast_solve(&all->chosen, &all->counts, &settings, &pins);

	if (!err && !all->chosen.g.filter)
		all->row[all->rows++] = all->chosen;
	if (err || !all->chosen.g.filter)
		return err;
	/* The others are sized for the same rate, or for the same memory. */
	if (!pins.memory || pins.fpr > 0)
		settings.fpr = all->chosen.asked;
	for (int e = 1; e >= 0 && !err; e--)
		for (enum layout l = 0; l < LAYOUTS && !err; l++) {
			struct forecast *f = &all->row[all->rows];

			if ((exact_given && exact != e) || (layout_given != LAYOUT_AUTO && layout_given != l))
				continue;
			settings.exact = e;
			settings.layout = l;
			err = forecast_solve(f, &all->counts, &settings, &pins);
			if (!err && forecast_is_chosen(all, all->rows))
				*f = all->chosen;
			all->rows++;
		}
	return err;
}

int cmd_plan(struct context *context, int argc, char **argv)
{
	static const struct option own[] = {
		{ "keys", required_argument, NULL, 'k' },     { "keys6", required_argument, NULL, '6' },
		{ "fpr", required_argument, NULL, 'r' },      { "memory", required_argument, NULL, 'm' },
		{ "exact", required_argument, NULL, 'e' },    { "layout", required_argument, NULL, 'l' },
		{ "headroom", required_argument, NULL, 'h' }, { "format", required_argument, NULL, 'f' },
		{ "skip-bad", no_argument, NULL, 's' },	      { 0 },
	};
	struct forecasts all = { .pins = &pins };
	int err;

	if (options_read(context, &argc, argv, own, plan_option))
		return EXIT_ERROR;
	if (argc > 1 && (keys_given > 0 || given6.nets32 > 0))
		return fail("plan: --keys, or files, not both");
	if (argc > LABELS)
		return fail("plan: %d files at most", LABELS - 1);
	err = take(&all, argc - 1, argv + 1);
	if (!err)
		err = solve(&all);
	if (err)
		return fail("plan: %s", reason(err));
	if (!all.chosen.fits)
		return fail("plan: this needs %llu bytes in the kernel; the limit is %llu",
			    (unsigned long long)all.chosen.bytes.total,
			    (unsigned long long)all.chosen.settings.memory_max);
	return opt_json ? forecast_json(&all) : forecast_text(&all);
}
