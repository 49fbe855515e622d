// SPDX-License-Identifier: GPL-2.0-only
#include "filter/forecast.h"
#include "filter/layout.h"

#include <errno.h>
#include <math.h>

#include "base/log.h"
#include "filter/measured_rate.h"

#define NETS24	 0x1p24
#define NETS32	 0x1p29 /* of 2000::/3, from which all are given out */
#define IPV4_ALL 0x1p32

/* There the search ends: no use needs more bits a key, or more headroom. */
#define BITS_LEAST    1.0
#define BITS_MOST     64.0
#define HEADROOM_MOST 10.0
#define STEPS	      50

/* The largest x for which the plan fits, from a low one that does; found by halving. */
typedef bool fits_fn(struct forecast *f, const struct counts *n, double x);

static double largest(struct forecast *f, const struct counts *n, double low, double high, fits_fn *fits)
{
	for (int i = 0; i < STEPS; i++) {
		double x = (low + high) / 2;

		*(fits(f, n, x) ? &low : &high) = x;
	}
	return low;
}

/* The limit decides the layout, too; what does not fit is still reported. */
static int size(struct forecast *f, const struct counts *n)
{
	struct settings unlimited = f->settings;
	__u64 bytes[ARRAYS];
	int err = plan_sizes(&f->g, n, &f->settings);

	unlimited.memory_max = 0;
	if (err && f->settings.memory_max)
		err = plan_sizes(&f->g, n, &unlimited);
	for (enum array a = 0; a < ARRAYS; a++)
		bytes[a] = array_bytes(&f->g, a);
	f->bytes = stage_bytes(bytes);
	f->fits = !err && (!f->settings.memory_max || f->bytes.total <= f->settings.memory_max);
	return err;
}

static bool fits_bits(struct forecast *f, const struct counts *n, double bits)
{
	f->settings.bits_per_key = bits;
	return !size(f, n) && f->fits;
}

static bool fits_headroom(struct forecast *f, const struct counts *n, double headroom)
{
	f->settings.headroom = headroom;
	return !size(f, n) && f->fits;
}

static bool fits_keys(struct forecast *f, const struct counts *n, double keys)
{
	struct counts so_many = forecast_counts(keys);

	(void)n;
	return !size(f, &so_many) && f->fits;
}

struct counts forecast_counts(double keys)
{
	return (struct counts){ .hosts = (uint64_t)keys, .some24 = (uint64_t)(-NETS24 * expm1(-keys / NETS24)) };
}

/* As plan_count() counts them; two in one /32 are one. */
void forecast_add6(struct counts *n, double keys, unsigned int length)
{
	double nets = length < 32 ? keys * exp2(32 - length) : -NETS32 * expm1(-keys / NETS32);

	n->v6[length] += (uint64_t)keys;
	n->nets32 += nets;
	n->lengths32 += nets;
}

/* Cache lines until the first clear bit, for a "no"; and all of them, for a "yes". */
static double lines_no(const struct forecast *f)
{
	double fill = fill_expected(f->shape, f->keys);

	if (f->g.filter_layout == LAYOUT_CLASSIC)
		return (1 - pow(fill, f->shape.k)) / (1 - fill);
	return f->g.filter_layout == LAYOUT_LANES2 ? 1 + sqrt(f->fpr) : 1;
}

static double lines_yes(const struct forecast *f)
{
	return f->g.filter_layout == LAYOUT_CLASSIC ? f->shape.k : f->g.filter_layout == LAYOUT_LANES2 ? 2 : 1;
}

/* On how many rungs an IPv6 address is looked up whose /32 is in the gate, at most: lengths may share a rung. */
static double rungs_asked(const struct forecast *f, const struct counts *n)
{
	double rungs = (double)f->g.rungs;

	return f->g.gate6 ? fmin(fmax(n->lengths32 / n->nets32, 1), rungs) : rungs;
}

/* Nearly every look-up in the roster is one line; the few second ones are ignored. */
static void count_lines(struct forecast *f, const struct counts *n)
{
	const struct generation *g = &f->g;
	double roster = f->settings.exact, share = 1, filter = g->filter ? lines_no(f) + f->fpr * roster : 0;

	if (g->gate4 || g->keys4) {
		if (g->gate4)
			share = (double)n->some24 / NETS24;
		f->lines_pass = (double)g->gate4 + (g->keys4 ? share * filter : 0);
		f->lines_drop = (double)g->gate4 + (g->keys4 ? lines_yes(f) + roster : (double)g->gate4_labels);
	} else {
		share = rungs_asked(f, n) * (g->gate6 ? n->nets32 / exp2((double)g->gate6_log2) : 1);
		f->lines_pass = (double)g->gate6 + share * filter;
		f->lines_drop = (double)g->gate6 + (g->keys6 ? lines_yes(f) + roster : 0);
	}
}

static void count_innocent(struct forecast *f, const struct counts *n)
{
	const struct generation *g = &f->g;

	if (f->settings.exact)
		return;
	f->verdict4 = rate_verdict(g, f->fpr, 4, 0);
	f->verdict6 = rate_verdict(g, f->fpr, 6, rungs_asked(f, n));
	f->innocent4 = f->verdict4 * (g->gate4 ? (double)(n->some24 * 256 - n->hosts) : IPV4_ALL - (double)g->keys4);
}

/* The number of keys at which the filter says yes more often than was asked for. */
static double due(struct filter_shape shape, double asked)
{
	double low = 0, high = shape.bits;

	for (int i = 0; i < STEPS; i++) {
		double keys = (low + high) / 2;

		*(fpr_expected(shape, keys) <= asked ? &low : &high) = keys;
	}
	return low;
}

static void judge(struct forecast *f, const struct counts *n)
{
	f->keys = (double)(f->g.keys4 + f->g.keys6);
	if (f->g.filter) {
		f->shape = layout_shape(&f->g);
		f->bits_per_key = f->shape.bits / f->keys;
		f->fpr = fpr_expected(f->shape, f->keys);
		f->fpr_full = fpr_expected(f->shape, f->keys * (1 + f->settings.headroom));
		f->due = due(f->shape, f->asked);
	}
	count_lines(f, n);
	count_innocent(f, n);
}

/* The lowest rate for the memory, in the layout that is chosen for the rate that is asked for otherwise. */
static void solve_bits(struct forecast *f, const struct counts *n)
{
	f->settings.layout = f->g.filter_layout;
	f->settings.fpr = 0;
	f->settings.lines.n = 0;
	fits_bits(f, n, largest(f, n, BITS_LEAST, BITS_MOST, fits_bits));
}

int forecast_solve(struct forecast *f, const struct counts *n, const struct settings *settings,
		   const struct plan_goals *goals)
{
	int err;

	*f = (struct forecast){ .settings = *settings };
	if (goals->memory)
		f->settings.memory_max = goals->memory;
	if (goals->headroom >= 0)
		f->settings.headroom = goals->headroom;
	if (goals->fpr > 0)
		f->settings.fpr = goals->fpr;
	err = size(f, n);
	if (!err && goals->memory && goals->fpr <= 0)
		solve_bits(f, n);
	else if (!err && goals->memory && goals->headroom < 0)
		fits_headroom(f, n, largest(f, n, 0, HEADROOM_MOST, fits_headroom));
	if (err)
		return err;
	f->asked = rate_asked(&f->settings, &f->g);
	f->sizing = layout_sizing(&f->g, &f->settings);
	judge(f, n);
	return 0;
}

/* Above the number at which the IPv4 gate is left out, 4 MiB less are needed: so that side is tried first. */
int forecast_keys(double *keys, const struct settings *settings, const struct plan_goals *goals)
{
	struct forecast f;
	struct counts one = forecast_counts(1);
	struct plan_goals others = { .fpr = goals->fpr, .headroom = goals->headroom };
	double gate_out = 1, gated = FORECAST_KEYS_MAX;
	int err = forecast_solve(&f, &one, settings, &others);

	if (err)
		return err;
	f.settings.layout = f.g.filter_layout;
	f.settings.memory_max = goals->memory;
	for (int i = 0; i < STEPS; i++) {
		double x = (gate_out + gated) / 2;
		struct counts n = forecast_counts(x);

		size(&f, &n);
		*(f.g.gate4 ? &gate_out : &gated) = x;
	}
	if (fits_keys(&f, NULL, gated))
		*keys = floor(largest(&f, NULL, gated, FORECAST_KEYS_MAX, fits_keys));
	else if (fits_keys(&f, NULL, 1))
		*keys = floor(largest(&f, NULL, 1, gated, fits_keys));
	else
		return because(-E2BIG, "one key alone needs %llu bytes", (unsigned long long)f.bytes.total);
	return 0;
}

bool forecast_is_chosen(const struct forecasts *all, size_t row)
{
	return all->row[row].g.filter_layout == all->chosen.g.filter_layout &&
	       all->row[row].settings.exact == all->chosen.settings.exact;
}
