/* SPDX-License-Identifier: GPL-2.0-only */
/* The screen of top. The only file that speaks ncurses. */
#ifndef OBSERVE_TOP_SCREEN_H
#define OBSERVE_TOP_SCREEN_H

#include <stdbool.h>

#include "observe/detector.h"
#include "observe/history.h"
#include "observe/in_force.h"
#include "observe/tallies.h"

#define TOP_EVENTS 5

struct top_view {
	const struct tallies *tallies;
	const struct networks *networks; /* whose addresses are; NULL: nobody has said */
	const struct counted *between;	 /* what the last second added */
	double seconds;
	const struct inforce *inforce;
	const struct history_report *minute;
	const struct history_sums *tables; /* of sources, networks and ports */
	bool passed;			   /* they are of what passes */
	bool inside;			   /* who sent to what is banned, in place of who is banned */
	const char *samples;		   /* why there are no samples; "": there are */
	const char *event[TOP_EVENTS];	   /* what happened last, the newest first; "" where there is none */
	bool paused, help;
	const struct detector_sums *detector; /* NULL: is not shown */
};

/* 0, or -errno with the reason recorded where the terminal cannot do it; `instead` can. */
int top_view_begin(const char *verb, const char *instead);
/* Restores the terminal. May be called twice, and wherever the command ends. */
void top_view_end(void);

void top_view_draw(const struct top_view *view);

#define TOP_ROW_MAX 256

/* Another screen: lines of text, those of a table below its heading. What is too long ends at the edge. */
struct top_page {
	char head[TOP_ROW_MAX], sums[TOP_ROW_MAX], heading[TOP_ROW_MAX];
	const char (*row)[TOP_ROW_MAX];
	size_t rows;
	bool paused;
};
void top_page_draw(const struct top_page *page);

/* A key that was pressed, or -1. A new size of the terminal is one, so it is drawn at once. */
int top_view_key(void);

#endif
