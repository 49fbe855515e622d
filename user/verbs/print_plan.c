// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verbs.h"

#include <math.h>

#include "filter/forecast.h"
#include "filter/layout.h"
#include "base/plot.h"

/* The range of the picture over memory, in bits a key; how many points of each curve JSON has. */
#define BITS_FROM 4.0
#define BITS_TO	  40.0
#define POINTS	  64
/* Rates below are not drawn. */
#define FPR_LEAST 1e-8

/* What all but the filter takes, and how many keys it is to hold. */
struct memory_axis {
	enum layout layout;
	double rest, keys;
};

static double fpr_of_memory(double bytes, const void *arg)
{
	const struct memory_axis *axis = arg;
	struct settings settings = { .layout = axis->layout, .bits_per_key = (bytes - axis->rest) * 8 / axis->keys };

	return layout_choose(&settings).fpr;
}

static double memory_of_bits(const struct memory_axis *axis, double bits_per_key)
{
	return axis->rest + axis->keys * bits_per_key / 8;
}

/* The plan itself is always in the picture. */
static double bits_from(const struct forecast *f)
{
	return fmin(BITS_FROM, f->bits_per_key / 2);
}

static double bits_to(const struct forecast *f)
{
	return fmax(BITS_TO, f->bits_per_key);
}

static struct memory_axis memory_axis(const struct forecast *f, enum layout layout)
{
	return (struct memory_axis){ layout, (double)(f->bytes.total - f->bytes.filter),
				     f->keys * (1 + f->settings.headroom) };
}

/* So few keys that the smallest filter has bits to spare. */
static bool is_smallest(const struct forecast *f)
{
	return f->g.filter && f->keys * (1 + f->settings.headroom) * BITS_TO < f->shape.bits;
}

static double fpr_of_load(double load, const void *arg)
{
	const struct forecast *f = arg;

	return fpr_expected(f->shape, f->keys * load);
}

/* Beyond the load at which rotation is due. */
static double load_to(const struct forecast *f)
{
	return ceil(f->due / f->keys * 1.4);
}

static void bytes_label(char *buf, size_t size, double x)
{
	char text[BYTES_TEXT_MAX];

	snprintf(buf, size, "%s", bytes_text(text, (uint64_t)x));
}

static void load_label(char *buf, size_t size, double x)
{
	snprintf(buf, size, "%.0f %%", x * 100);
}

static void picture_of_memory(const struct forecasts *all)
{
	static const char marks[LAYOUTS] = { [LAYOUT_LANES] = 'l', [LAYOUT_LANES2] = '2', [LAYOUT_CLASSIC] = 'c' };
	const struct forecast *f = &all->chosen;
	struct memory_axis axis[LAYOUTS];
	struct curve curves[LAYOUTS];
	char planned[80], asked[64], bytes[BYTES_TEXT_MAX];
	struct plot plot = { .title = "Wrong yeses of the filter over all memory, with the headroom used up",
			     .curves = curves,
			     .n = LAYOUTS,
			     .y_low = FPR_LEAST,
			     .x_line = (double)f->bytes.total,
			     .y_line = f->asked,
			     .x_says = planned,
			     .y_says = asked,
			     .x_text = bytes_label };

	for (enum layout l = 0; l < LAYOUTS; l++) {
		axis[l] = memory_axis(f, l);
		curves[l] = (struct curve){ marks[l], layout_names[l], fpr_of_memory, &axis[l] };
	}
	snprintf(planned, sizeof(planned), "planned: %s, %s", layout_names[f->g.filter_layout],
		 bytes_text(bytes, f->bytes.total));
	snprintf(asked, sizeof(asked), "asked for: %.3g", f->asked);
	plot.x_low = memory_of_bits(&axis[0], bits_from(f));
	plot.x_high = memory_of_bits(&axis[0], bits_to(f));
	plot_print(&plot);
}

static void picture_of_load(const struct forecasts *all)
{
	const struct forecast *f = &all->chosen;
	struct curve curve = { '*', layout_names[f->g.filter_layout], fpr_of_load, f };
	char due[80], asked[64];
	struct plot plot = { .title = "Wrong yeses of the filter over its keys, 100 % being those of today",
			     .curves = &curve,
			     .n = 1,
			     .x_high = load_to(f),
			     .y_low = fmax(fpr_of_load(0.5, f), FPR_LEAST),
			     .x_line = f->due / f->keys,
			     .y_line = f->asked,
			     .x_says = due,
			     .y_says = asked,
			     .x_text = load_label };

	snprintf(due, sizeof(due), "rotation is due: %.0f keys, %.0f %%", f->due, f->due / f->keys * 100);
	snprintf(asked, sizeof(asked), "asked for: %.3g", f->asked);
	plot_print(&plot);
}

static void print_sizes(const struct forecasts *all)
{
	printf("\n  %-7s %-6s %2s %8s %9s %9s %9s %9s %9s\n", "LAYOUT", "ROSTER", "K", "BITS/KEY", "GATE", "FILTER",
	       "ROSTER", "LABELS", "TOTAL");
	for (size_t i = 0; i < all->rows; i++) {
		const struct forecast *f = &all->row[i];
		char gate[BYTES_TEXT_MAX], filter[BYTES_TEXT_MAX], roster[BYTES_TEXT_MAX], labels[BYTES_TEXT_MAX],
			total[BYTES_TEXT_MAX];

		printf("%c %-7s %-6s %2.0f %8.1f %9s %9s %9s %9s %9s%s\n", forecast_is_chosen(all, i) ? '*' : ' ',
		       layout_names[f->g.filter_layout], f->settings.exact ? "yes" : "no", f->shape.k, f->bits_per_key,
		       bytes_text(gate, f->bytes.gate), bytes_text(filter, f->bytes.filter),
		       bytes_text(roster, f->bytes.roster), bytes_text(labels, f->bytes.labels),
		       bytes_text(total, f->bytes.total), f->fits ? "" : " too big");
	}
}

static void print_rates(const struct forecasts *all)
{
	printf("\n%18s%11s %18s %29s\n", "", "CACHE LINES", "WRONG YESES", "INNOCENT ADDRESSES DROPPED");
	printf("  %-7s %-6s %6s %5s %9s %9s %9s %9s %9s\n", "LAYOUT", "ROSTER", "PASS", "DROP", "NOW", "FULL",
	       "A MILLION", "OF IPV6", "ALL IPV4");
	for (size_t i = 0; i < all->rows; i++) {
		const struct forecast *f = &all->row[i];

		printf("%c %-7s %-6s %6.2f %5.1f %9.2e %9.2e %9.3g %9.3g %9.3g\n",
		       forecast_is_chosen(all, i) ? '*' : ' ', layout_names[f->g.filter_layout],
		       f->settings.exact ? "yes" : "no", f->lines_pass, f->lines_drop, f->fpr, f->fpr_full,
		       f->verdict4 * 1e6, f->verdict6 * 1e6, f->innocent4);
	}
	puts("\n* load would build this. FULL: with the headroom used up. A MILLION, OF IPV6:\n"
	     "of a million addresses (of IPv6) that are innocent and that the filter is asked\nabout.");
}

int forecast_text(const struct forecasts *all)
{
	const struct forecast *f = &all->chosen;

	printf("keys        %llu IPv4 hosts, %llu IPv4 /24 whole, %llu IPv6", (unsigned long long)f->g.keys4,
	       (unsigned long long)f->g.all24, (unsigned long long)f->g.keys6);
	for (unsigned int i = 0; i < f->g.rungs; i++)
		printf("%s/%llu", i ? ", " : " on rungs ", (unsigned long long)f->g.rung[i].length);
	printf("\nasked for   %.3g wrong yeses of the filter at most, with %.0f %% more keys\n", f->asked,
	       f->settings.headroom * 100);
	sizing_text(&f->sizing);
	print_sizes(all);
	print_rates(all);
	if (f->g.filter) {
		puts("");
		if (is_smallest(f))
			puts("The filter is a page, the smallest there is: more memory than these keys need.");
		else
			picture_of_memory(all);
		puts("");
		picture_of_load(all);
	}
	return out_end();
}

static json_t *points_json(double (*y)(double x, const void *arg), const void *arg, double from, double to)
{
	json_t *array = json_array();

	for (int i = 0; i <= POINTS; i++) {
		double x = from + (to - from) * i / POINTS;

		json_array_append_new(array, json_pack("[f, f]", x, y(x, arg)));
	}
	return array;
}

static json_t *plan_json(const struct forecast *f, bool chosen)
{
	return json_pack(
		"{s:b, s:s, s:b, s:i, s:f, s:f, s:o, s:b, s:{s:f, s:f}, s:{s:f, s:f, s:f, s:f}, s:{s:f, s:f, s:f}, s:f}",
		"chosen", chosen, "layout", layout_names[f->g.filter_layout], "exact", f->settings.exact, "k",
		(int)f->shape.k, "bits_per_key", f->bits_per_key, "headroom", f->settings.headroom * 100, "memory",
		out_memory(&f->bytes), "fits", f->fits, "lines", "pass", f->lines_pass, "drop", f->lines_drop, "fpr",
		"asked", f->asked, "filter", f->fpr, "full", f->fpr_full, "verdict", fmax(f->verdict4, f->verdict6),
		"innocent", "per_million_ipv4", f->verdict4 * 1e6, "per_million_ipv6", f->verdict6 * 1e6, "all_ipv4",
		f->innocent4, "rotation_due", f->due);
}

int forecast_json(const struct context *context, const struct forecasts *all)
{
	const struct forecast *f = &all->chosen;
	json_t *plans = json_array(), *over_memory = json_object(), *over_load = json_array();

	for (size_t i = 0; i < all->rows; i++)
		json_array_append_new(plans, plan_json(&all->row[i], forecast_is_chosen(all, i)));
	for (enum layout l = 0; l < LAYOUTS && f->g.filter; l++) {
		struct memory_axis axis = memory_axis(f, l);

		json_object_set_new(over_memory, layout_names[l],
				    points_json(fpr_of_memory, &axis, memory_of_bits(&axis, bits_from(f)),
						memory_of_bits(&axis, bits_to(f))));
	}
	if (f->g.filter) {
		json_decref(over_load);
		over_load = points_json(fpr_of_load, f, 0, load_to(f));
	}
	return out_json(context,
			json_pack("{s:s, s:{s:I, s:I}, s:I, s:o, s:o, s:o, s:o, s:o}", "source", all->source, "keys",
				  "ipv4", (json_int_t)f->g.keys4, "ipv6", (json_int_t)f->g.keys6, "banned24",
				  (json_int_t)f->g.all24, "rungs", out_rungs(&f->g), "sized", out_sizing(&f->sizing),
				  "plans", plans, "rate_over_memory", over_memory, "rate_over_load", over_load));
}
