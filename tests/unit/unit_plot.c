// SPDX-License-Identifier: GPL-2.0-only
/* Pictures in characters: of curves that are flat, steep, and out of the picture, and of the lines across; each whole.
 */
#include <math.h>

#include "base/plot.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_plot.txt"
};

static struct shows shows = { .file = "tests/unit/unit_plot.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* So many decades below 1 at 0, and so many more at 64. Numbers that have no end in binary keep off the rows' edges. */
struct slope {
	double from, more;
};

static double falls(double x, const void *arg)
{
	const struct slope *is = arg;

	return pow(10, -(is->from + is->more * x / 64));
}

static double nothing(double x, const void *arg)
{
	(void)x;
	(void)arg;
	return 0;
}

struct teeth {
	double low, high;
};

/* One of each width from 1 to 10. */
static double teeth(double x, const void *arg)
{
	int column = (int)x, width = 1;

	while (column >= width) {
		column -= width;
		width++;
	}
	return width % 2 ? ((const struct teeth *)arg)->low : ((const struct teeth *)arg)->high;
}

static void whole(char *buf, size_t size, double x)
{
	snprintf(buf, size, "%.0f", x);
}

/* Each as long as what is written as far. */
static void long_text(char *buf, size_t size, double x)
{
	snprintf(buf, size, "%s",
		 x < 16	  ? "<-------- as long as this ---->"
		 : x < 48 ? "here"
		 : x < 64 ? "there"
			  : "<---- as long as the first ---->");
}

static void flat(void)
{
	static const struct slope at[] = { { 0.1, 0 }, { 3.9, 0 }, { 1.9, 0.3 } };
	const struct curve curves[] = { { 'a', "on top", falls, &at[0] },
					{ 'b', "at the bottom", falls, &at[1] },
					{ 'c', "between", falls, &at[2] } };
	const struct plot plot = {
		.title = "flat", .curves = curves, .n = 3, .x_high = 64, .y_low = 1e-4, .x_text = whole
	};

	plot_print(&plot);
}

static void steep(void)
{
	static const struct slope at[] = { { 0.1, 30 }, { 3.9, -5 }, { 0.05, 4.01 } };
	const struct curve curves[] = { { 'd', "down", falls, &at[0] },
					{ 'u', "up, and beyond", falls, &at[1] },
					{ 'o', "over both", falls, &at[2] } };
	const struct plot plot = {
		.title = "steep", .curves = curves, .n = 3, .x_high = 64, .y_low = 1e-4, .x_text = whole
	};

	plot_print(&plot);
}

static void jagged(void)
{
	static const struct teeth each[] = { { 0.0002, 0.03 }, { 1e-9, 0.9 } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		const struct curve curve = { 't', "teeth", teeth, &each[i] };
		const struct plot plot = {
			.title = "jagged", .curves = &curve, .n = 1, .x_high = 64, .y_low = 1e-4, .x_text = whole
		};

		plot_print(&plot);
	}
}

/* Where nothing is to be seen. */
static void below(void)
{
	static const struct slope at[] = { { 4.1, 0 }, { 5, -1.5 } };
	const struct curve curves[] = { { 'b', "below", falls, &at[0] },
					{ 'n', "nothing", nothing, NULL },
					{ 'c', "comes up", falls, &at[1] } };
	const struct plot plot = {
		.title = "below", .curves = curves, .n = 3, .x_high = 64, .y_low = 1e-4, .x_text = whole
	};

	plot_print(&plot);
}

static void lines(void)
{
	static const struct slope at = { 0.5, 1.1 };
	const struct curve curves[] = { { '*', "before them", falls, &at } };
	static const struct {
		double x, y;
	} each[] = { { 150, 0.02 }, { 100, 1 }, { 227.9, 0.0011 }, { 228, 0.0009 }, { 99.9, 1.5 } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		char title[64];
		struct plot plot = { .title = title,
				     .curves = curves,
				     .n = 1,
				     .x_low = 100,
				     .x_high = 228,
				     .y_low = 1e-3,
				     .x_line = each[i].x,
				     .y_line = each[i].y,
				     .x_says = "the one",
				     .y_says = "the other",
				     .x_text = whole };

		snprintf(title, sizeof(title), "lines at %g and %g", each[i].x, each[i].y);
		plot_print(&plot);
	}
}

static void one_line(void)
{
	struct plot plot = { .title = "upright",
			     .x_high = 64,
			     .y_low = 0.01,
			     .x_line = 31.99,
			     .y_line = 0.05,
			     .x_says = "the one",
			     .x_text = whole };

	plot_print(&plot);
	plot.title = "level";
	plot.y_says = plot.x_says;
	plot.x_says = NULL;
	plot_print(&plot);
}

/* How high it is, from what lies lowest. */
static void heights(void)
{
	static const double lows[] = { 2,    1,	    0.9,   0.1,	  0.1 - 1e-9, 0.09,  1e-7, 1e-8,
				       1e-9, 1e-15, 1e-16, 1e-17, 1e-31,      1e-32, 1e-40 };
	static const struct slope at = { 0.02, 40 };
	const struct curve curves[] = { { '*', "down", falls, &at } };

	for (size_t i = 0; i < sizeof(lows) / sizeof(lows[0]); i++) {
		char title[32];
		struct plot plot = {
			.title = title, .curves = curves, .n = 1, .x_high = 64, .y_low = lows[i], .x_text = whole
		};

		snprintf(title, sizeof(title), "down to %g", lows[i]);
		plot_print(&plot);
	}
}

static void below_the_axis(void)
{
	struct plot plot = {
		.title = "numbers of each length", .x_low = -3, .x_high = 1e6 - 1, .y_low = 0.1, .x_text = whole
	};

	plot_print(&plot);
	plot = (struct plot){ .title = "too long", .x_high = 64, .y_low = 0.1, .x_text = long_text };
	plot_print(&plot);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "flat", flat },       { "steep", steep },
					       { "jagged", jagged },   { "below", below },
					       { "lines", lines },     { "one line", one_line },
					       { "heights", heights }, { "below the axis", below_the_axis } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
