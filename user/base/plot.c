// SPDX-License-Identifier: GPL-2.0-only
#include "base/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS	 64
#define ROWS_MAX 32
#define ROWS	 16 /* about so many */
#define TICKS	 4
#define LEFT	 7 /* columns for "1e-12 " and the axis */

struct canvas {
	const struct plot *plot;
	char cell[ROWS_MAX][COLUMNS];
	int rows, decades;
};

static double x_at(const struct plot *p, int column)
{
	return p->x_low + (p->x_high - p->x_low) * (column + 0.5) / COLUMNS;
}

/* Rows count from the top, where the rate is 1; one that is not in the picture is rows. */
static int row_of(const struct canvas *c, double y)
{
	double row = -log10(y) / c->decades * c->rows; /* of 0 infinite, and of less no number */

	return row < 0 ? 0 : row < c->rows ? (int)row : c->rows;
}

static void draw_lines(struct canvas *c)
{
	const struct plot *p = c->plot;
	int row = p->y_says ? row_of(c, p->y_line) : c->rows;
	double at = (p->x_line - p->x_low) / (p->x_high - p->x_low) * COLUMNS;

	if (row < c->rows)
		memset(c->cell[row], '-', COLUMNS);
	for (int r = 0; r < c->rows && p->x_says && at >= 0 && at < COLUMNS; r++)
		c->cell[r][(int)at] = '|';
}

/* Where it is steep, the rows between one column's and the next are part of it. */
static void draw_curve(struct canvas *c, const struct curve *curve)
{
	int last = -1;

	for (int column = 0; column < COLUMNS; column++) {
		int row = row_of(c, curve->y(x_at(c->plot, column), curve->arg)), from = row;

		if (last >= 0 && last < row)
			from = last + 1;
		for (int r = from; r <= row && r < c->rows; r++)
			c->cell[r][column] = curve->mark;
		for (int r = row; r < last && r < c->rows; r++)
			c->cell[r][column] = curve->mark;
		last = row;
	}
}

static void print_axis(const struct plot *p)
{
	char text[32], line[LEFT + COLUMNS + 32];

	printf("%*s+", LEFT - 1, "");
	for (int i = 0; i < TICKS; i++)
		printf("%.*s+", COLUMNS / TICKS - 1, "----------------------------------------");
	memset(line, ' ', sizeof(line));
	for (int i = 0; i <= TICKS; i++) {
		int at = LEFT - 1 + COLUMNS / TICKS * i, length;

		p->x_text(text, sizeof(text), p->x_low + (p->x_high - p->x_low) * i / TICKS);
		length = (int)strlen(text);
		at -= i == 0 ? 0 : length / 2;
		memcpy(line + at, text, (size_t)length);
		line[at + length] = i == TICKS ? '\0' : ' ';
	}
	printf("\n%s\n", line);
}

void plot_print(const struct plot *p)
{
	struct canvas c = { .plot = p };
	char label[16];
	int a_decade;

	c.decades = (int)ceil(-log10(p->y_low) - 1e-9);
	c.decades = c.decades < 1 ? 1 : c.decades > ROWS_MAX ? ROWS_MAX : c.decades;
	a_decade = c.decades < ROWS ? ROWS / c.decades : 1;
	c.rows = c.decades * a_decade;
	for (int r = 0; r < c.rows; r++)
		memset(c.cell[r], ' ', COLUMNS);
	draw_lines(&c);
	for (size_t i = 0; i < p->n; i++)
		draw_curve(&c, &p->curves[i]);

	puts(p->title);
	for (int r = 0; r < c.rows; r++) {
		size_t length = COLUMNS;

		while (length && c.cell[r][length - 1] == ' ')
			length--;
		snprintf(label, sizeof(label), r ? "1e-%d" : "1", r / a_decade);
		printf("%*s |", LEFT - 2, r % a_decade ? "" : label);
		printf("%.*s\n", (int)length, c.cell[r]);
	}
	print_axis(p);
	for (size_t i = 0; i < p->n; i++)
		printf("%*s%c  %s\n", LEFT, "", p->curves[i].mark, p->curves[i].name);
	if (p->y_says)
		printf("%*s-  %s\n", LEFT, "", p->y_says);
	if (p->x_says)
		printf("%*s|  %s\n", LEFT, "", p->x_says);
}
