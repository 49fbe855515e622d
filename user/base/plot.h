/* SPDX-License-Identifier: GPL-2.0-only */
/* A picture in characters: curves over a linear and a logarithmic axis, in less than 80 columns and without colour. */
#ifndef BASE_PLOT_H
#define BASE_PLOT_H

#include <stddef.h>

struct curve {
	char mark;
	const char *name;
	double (*y)(double x, const void *arg);
	const void *arg;
};

struct plot {
	const char *title;
	const struct curve *curves; /* a later one is drawn over an earlier one */
	size_t n;
	double x_low, x_high;
	double y_low; /* what lies lower is not drawn; the top is 1 */
	/* Lines across the picture, and what they say; none where the text is NULL. */
	double x_line, y_line;
	const char *x_says, *y_says;
	void (*x_text)(char *buf, size_t size, double x);
};

void plot_print(const struct plot *plot);

#endif
