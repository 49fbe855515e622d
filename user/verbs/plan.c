// SPDX-License-Identifier: GPL-2.0-only
/* plan: sizes and rates before anything is loaded. It changes nothing, and needs no rights but to read. */
#include <math.h>

#include "filter/forecast.h"
#include "change/guard_rails.h"
#include "state/kept_image.h"
#include "state/line_times.h"
#include "sets/reader.h"
#include "state/settle.h"
#include "state/settings.h"
#include "state/state.h"
#include "verbs/verbs.h"

struct options {
	struct reader_options reading;
	double keys;
	struct counts keys6;
	struct number fpr, memory, headroom;
	int exact;  /* 1: on, 2: off; 0: both */
	int layout; /* of enum layout, counted from 1; 0 and LAYOUT_AUTO + 1: any */
	bool detect;
	double pps, sources, attackers;
	const char *limit;
};

/* "250000" or "10M"; *end is what follows. 0: not a number to plan for. */
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

static int read_amount(const struct option_spec *o, void *target, const char *value)
{
	double *amount = target;
	char *end;

	*amount = read_keys(value, &end);
	if (!*amount || *end)
		return fail("--%s takes a number such as 250000 or 10M, up to %g, not '%s'", o->name, FORECAST_KEYS_MAX,
			    value);
	return 0;
}

static int read_rate(const struct option_spec *o, void *target, const char *value)
{
	struct number *rate = target;

	rate->given = true;
	return option_rate(o->name, value, 1e-12, 0.5, &rate->value);
}

/* "200k/48"; may be given several times. */
static int read_keys6(const struct option_spec *o, void *target, const char *value)
{
	char *end, *digits;
	double keys = read_keys(value, &end);
	long length = 64;

	(void)o;
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
	forecast_add6(target, keys, (unsigned int)length);
	return 0;
}

const struct option_spec plan_options[] = {
	{ "keys", .type = OPTION_READ, AT(options, keys), .read = read_amount, .value = "N",
	  .does = "so many IPv4 hosts" },
	{ "keys6", .type = OPTION_READ, AT(options, keys6), .read = read_keys6, .value = "N[/LENGTH]",
	  .does = "so many IPv6 prefixes (/64); for each length once" },
	{ "fpr", .type = OPTION_READ, AT(options, fpr), .read = read_rate, .value = "P|auto",
	  .does = "pinned: the share of others that the filter takes" },
	{ "memory", .type = OPTION_BYTES, AT(options, memory), .least = 1, .value = "MAX",
	  .does = "pinned; without keys: how many fit" },
	{ "exact", .type = OPTION_WORD, AT(options, exact), .words = option_on_off,
	  .does = "pinned: with a roster, or without" },
	{ "layout", .type = OPTION_WORD, AT(options, layout), .words = layout_names,
	  .does = "pinned: that of the filter" },
	{ "headroom", .type = OPTION_NUMBER, AT(options, headroom), .most = 1000, .value = "PERCENT",
	  .does = "for keys that are added later" },
	READING_OPTIONS(options, reading.format, reading.skip_bad, reading.where),
	{ "detect", AT(options, detect), .does = "what the detector holds, in place of the filter" },
	{ "pps", .type = OPTION_READ, AT(options, pps), .read = read_amount, .value = "N",
	  .does = "--detect: with so many packets a second (1M)" },
	{ "limit", .type = OPTION_TEXT, AT(options, limit), .value = "RATE",
	  .does = "--detect: with this limit, not those set" },
	{ "attackers", .type = OPTION_READ, AT(options, attackers), .read = read_amount, .value = "N",
	  .does = "--detect: with so many, not for a table of them" },
	{ "sources", .type = OPTION_READ, AT(options, sources), .read = read_amount, .value = "N",
	  .does = "--detect: beside so many honest ones (10k)" },
	OPTIONS_END(struct options),
};

static bool keys_given(const struct options *o)
{
	return o->keys > 0 || o->keys6.nets32 > 0;
}

static bool layout_given(const struct options *o)
{
	return o->layout && o->layout - 1 != LAYOUT_AUTO;
}

/* Each file is a list, as load would make it: without bogons. */
static int count_files(struct counts *n, struct reader_options reading, int files, char **paths)
{
	struct ranges *sets = calloc((size_t)files, sizeof(*sets)), none = RANGES_EMPTY;
	struct account *accounts = calloc((size_t)files, sizeof(*accounts));
	int err = sets && accounts ? 0 : -ENOMEM;
	bool found[64] = { false };
	struct owned owned;

	for (int i = 0; i < files && !err; i++) {
		char error[READER_TEXT_MAX];
		struct reader_report report;

		err = reader_read(paths[i], &reading, &sets[i], &report, error);
		if (err)
			err = because(err, "%s", error);
		reader_warn_masked(&report);
		if (!err)
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

/* The keys to plan for, and the settings: those in force here, if we may read them. */
static int take(struct forecasts *all, const struct call *call)
{
	const struct options *o = call->options;
	struct reader_options reading = o->reading;
	bool given = keys_given(o), image;
	double keys = o->keys;
	struct settings *settings = &all->settings;
	struct state *state = NULL;
	int err = state_open(&state, call->context, false);

	*settings = err ? SETTINGS_DEFAULT : settings_read(state);
	settings->lines = err ? line_times_usual() : state_line_times(state);
	if (o->fpr.given && !(o->fpr.value > 0))
		settings->fpr = 0;
	if (o->exact)
		settings->exact = o->exact == 1;
	if (layout_given(o))
		settings->layout = (enum layout)(o->layout - 1);
	reading.progress = !call->context->quiet && !call->context->json;
	all->source = call->n ? "files" : given ? "keys" : "loaded";
	image = !err && image_kept(state);
	if (call->n)
		err = count_files(&all->counts, reading, call->n, call->operands);
	else if (given)
		err = 0;
	else if (!err)
		err = count_loaded(&all->counts, state, settings);
	state_close(state);
	if (err || call->n || (!given && !image && !is_empty(&all->counts)))
		return err;
	if (!given && !o->memory.given)
		return because(-ENOENT, "%s; name files, --keys N, or --memory MAX for how many fit",
			       image ? "an image is in force, and its lists are not here" : "nothing is loaded");
	all->source = "keys";
	if (!given) {
		all->source = "memory";
		err = forecast_keys(&keys, settings, all->goals);
	}
	all->counts = forecast_counts(keys);
	memcpy(all->counts.v6, o->keys6.v6, sizeof(o->keys6.v6));
	all->counts.nets32 = o->keys6.nets32;
	return err;
}

/* First what would be built, then every layout with the roster and without, except what is pinned. */
static int solve(struct forecasts *all, const struct options *o)
{
	struct settings settings = all->settings;
	int err = forecast_solve(&all->chosen, &all->counts, &settings, all->goals);

	if (!err && !all->chosen.g.filter)
		all->row[all->rows++] = all->chosen;
	if (err || !all->chosen.g.filter)
		return err;
	/* The others are sized for the same rate, or for the same memory. Time says nothing of how often one may be
	 * wrong. */
	for (int e = 1; e >= 0 && !err; e--) {
		if (!o->memory.given || o->fpr.given)
			settings.fpr = !e && all->chosen.sizing.by_cost ? layout_choose(&all->settings).fpr
									: all->chosen.asked;
		for (enum layout l = 0; l < LAYOUTS && !err; l++) {
			struct forecast *f = &all->row[all->rows];

			if ((o->exact && (o->exact == 1) != e) || (layout_given(o) && o->layout - 1 != (int)l))
				continue;
			settings.exact = e;
			settings.layout = l;
			err = forecast_solve(f, &all->counts, &settings, all->goals);
			if (!err && forecast_is_chosen(all, all->rows))
				*f = all->chosen;
			all->rows++;
		}
	}
	return err;
}

static int ask_detector(const struct call *call)
{
	const struct options *o = call->options;

	if (call->n || keys_given(o) || o->fpr.given || o->memory.given || o->exact || o->layout || o->headroom.given)
		return fail("plan: --detect goes with --pps, --limit, --attackers and --sources alone");
	return plan_detect(call->context, &(struct detect_ask){ .pps = o->pps > 0 ? o->pps : 1e6,
								.sources = o->sources > 0 ? o->sources : 1e4,
								.attackers = o->attackers,
								.limit = o->limit });
}

int verb_plan(const struct call *call)
{
	const struct options *o = call->options;
	struct plan_goals goals = { .fpr = o->fpr.value,
				    .memory = (uint64_t)o->memory.value,
				    .headroom = o->headroom.given ? o->headroom.value / 100 : -1 };
	struct forecasts all = { .goals = &goals };
	int err;

	if (o->detect)
		return ask_detector(call);
	if (o->pps > 0 || o->limit || o->attackers > 0 || o->sources > 0)
		return fail("plan: --pps, --limit, --attackers and --sources belong to --detect");
	if (call->n && keys_given(o))
		return fail("plan: --keys, or files, not both");
	if (call->n >= LABELS)
		return fail("plan: %d files at most", LABELS - 1);
	err = take(&all, call);
	if (!err)
		err = solve(&all, o);
	if (err)
		return fail("plan: %s", reason(err));
	if (!all.chosen.fits)
		return fail("plan: this needs %llu bytes in the kernel; the limit is %llu",
			    (unsigned long long)all.chosen.bytes.total,
			    (unsigned long long)all.chosen.settings.memory_max);
	return call->context->json ? forecast_json(call->context, &all) : forecast_text(&all);
}
