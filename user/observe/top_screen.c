// SPDX-License-Identifier: GPL-2.0-only
#include "observe/top_screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/out.h"
#include "observe/report.h"
#include "observe/terminal_entry.h"
#include "observe/weigh.h"

#ifdef WITHOUT_TOP
int top_view_begin(const char *verb, const char *instead)
{
	return because(-ENOSYS, "%s is " LEFT_OUT "; '%s' is in it", verb, instead);
}

void top_view_end(void)
{
}

void top_view_draw(const struct top_view *view)
{
	(void)view;
}

void top_page_draw(const struct top_page *page)
{
	(void)page;
}

int top_view_key(void)
{
	return -1;
}
#else
#include <curses.h>

enum { PLAIN, HEAD, DROP, PASS, DIM };

static SCREEN *screen;
static bool utf8;

void top_view_end(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

int top_view_begin(const char *verb, const char *instead)
{
	const char *name = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return because(-ENOTTY, "%s needs a terminal; '%s' does not", verb, instead);
	setlocale(LC_CTYPE, "");
	utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	screen = newterm(NULL, stdout, stdin);
	if (!screen && name && *name && strcmp(name, "dumb") != 0 && !setenv("TERMINFO", TERMINAL_ENTRY, 1))
		screen = newterm(TERMINAL_NAME, stdout, stdin);
	if (screen && !tigetstr("cup")) /* the terminal cannot move its cursor; nothing has been drawn yet */
		top_view_end();
	if (!screen)
		return because(-ENOTTY, "%s does not work on a terminal like '%s'; '%s' does", verb, name ?: "",
			       instead);
	cbreak();
	noecho();
	curs_set(0);
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	if (has_colors() && !getenv("NO_COLOR")) {
		start_color();
		use_default_colors();
		init_pair(HEAD, COLOR_CYAN, -1);
		init_pair(DROP, COLOR_RED, -1);
		init_pair(PASS, COLOR_GREEN, -1);
		init_pair(DIM, COLOR_BLUE, -1);
	}
	return 0;
}

int top_view_key(void)
{
	int key = getch();

	return key == ERR ? -1 : key;
}

static void say(int row, int column, int width, int style, const char *text)
{
	if (row < 0 || row >= LINES || column >= COLS || width <= 0)
		return;
	if (column + width > COLS)
		width = COLS - column;
	attron(COLOR_PAIR(style) | (style == HEAD ? A_BOLD : 0));
	mvaddnstr(row, column, text, width);
	attroff(COLOR_PAIR(style) | (style == HEAD ? A_BOLD : 0));
}

PRINTF(5, 6) static void sayf(int row, int column, int width, int style, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	say(row, column, width, style, text);
}

/* 1234567 as 1.2M: at most five places. */
static const char *short_number(char buf[16], double n)
{
	static const char units[] = " kMGT";
	int unit = 0;

	while (n >= 9999.5 && unit < 4) {
		n /= 1000;
		unit++;
	}
	if (!unit)
		snprintf(buf, 16, "%.0f", n);
	else
		snprintf(buf, 16, n < 99.95 ? "%.1f%c" : "%.0f%c", n, units[unit]);
	return buf;
}

/* The last seconds as a line of bars, the newest at the right. */
static void spark(int row, int column, int width, int style, const struct history_report *r, bool dropped)
{
	static const char *const bars[] = { " ",      "\u2581", "\u2582", "\u2583", "\u2584",
					    "\u2585", "\u2586", "\u2587", "\u2588" };
	static const char ascii[] = " .:-=+*%#";
	uint64_t most = 1;
	int n = (int)r->points_n;

	if (width > n)
		width = n;
	if (row >= LINES || column + width > COLS)
		return;
	for (int i = n - width; i < n; i++) {
		uint64_t value = dropped ? r->points[i].dropped : r->points[i].passed;

		most = value > most ? value : most;
	}
	attron(COLOR_PAIR(style));
	move(row, column);
	for (int i = n - width; i < n; i++) {
		uint64_t value = dropped ? r->points[i].dropped : r->points[i].passed;
		unsigned int step = (unsigned int)((value * 8 + most - 1) / most);

		if (utf8)
			addstr(bars[step]);
		else
			addch((chtype)ascii[step]);
	}
	attroff(COLOR_PAIR(style));
}

static void draw_rates(const struct top_view *v)
{
	const struct tally *t = v->between->verdict;
	double per = v->seconds > 0 ? v->seconds : 1;
	double dropped = (double)t[DROPPED].packets / per, passed = (double)t[PASSED].packets / per;
	char a[16], b[16];

	sayf(1, 0, 30, DROP, "dropped  %6s/s  %6s Mb/s", short_number(a, dropped),
	     short_number(b, (double)t[DROPPED].bytes * 8e-6 / per));
	spark(1, 32, COLS - 40, DROP, v->minute, true);
	sayf(1, COLS - 7, 7, DROP, "%5.1f %%", dropped + passed > 0 ? 100 * dropped / (dropped + passed) : 0);
	sayf(2, 0, 30, PASS, "passed   %6s/s  %6s Mb/s", short_number(a, passed),
	     short_number(b, (double)t[PASSED].bytes * 8e-6 / per));
	spark(2, 32, COLS - 40, PASS, v->minute, false);
	if (t[UNPARSED].packets)
		sayf(2, COLS - 7, 7, DIM, "?%s", short_number(a, (double)t[UNPARSED].packets / per));
}

static void draw_force(const struct top_view *v)
{
	const struct inforce *f = v->inforce;
	char a[BYTES_TEXT_MAX];

	if (!f->g.number) {
		say(3, 0, COLS, PLAIN, "nothing is loaded");
		return;
	}
	sayf(3, 0, COLS, PLAIN,
	     "%llu IPv4 and %llu IPv6 keys, %llu /24; %s; filter %.0f %% full, %.3g %% false; verdict %s",
	     (unsigned long long)f->g.keys4, (unsigned long long)f->g.keys6, (unsigned long long)f->g.all24,
	     bytes_text(a, f->bytes.total), f->rate.fill * 100, f->rate.fpr * 100,
	     f->verdict > 0 ? "NOT EXACT" : "exact");
}

/* Lists that dropped something, then the others in force. */
static void draw_lists(const struct top_view *v, int row, int column, int width, int rows)
{
	static unsigned int places[LABELS];
	int n = (int)report_lists(v->minute, places);
	char a[16];

	for (size_t i = 0; i < v->tallies->lists_n; i++) {
		unsigned int place = history_place(v->minute->lists, &v->tallies->lists[i]);

		if (place && !v->minute->sums.list[place].packets && n < LABELS)
			places[n++] = place;
	}
	sayf(row, column, width, HEAD, "%-*s %8s", width - 10, "LISTS, last minute", "packets");
	for (int i = 0; i < n && i + 1 < rows; i++)
		sayf(row + 1 + i, column, width, PLAIN, "%-*.*s %8s", width - 10, width - 10,
		     report_list(v->minute, places[i]),
		     short_number(a, (double)v->minute->sums.list[places[i]].packets));
}

static void draw_ports(const struct top_view *v, int row, int column, int width, int rows)
{
	double per = v->seconds > 0 ? v->seconds : 1;
	char name[64], a[16], b[16];

	sayf(row, column, width, HEAD, "%-*s %8s %8s", width - 19, "INTERFACES", "drop/s", "pass/s");
	for (size_t i = 0; i < v->tallies->ports_n && (int)i + 1 < rows; i++) {
		const struct tally *r = tallies_port(v->tallies, v->between, i);

		sayf(row + 1 + (int)i, column, width, PLAIN, "%-*.*s %8s %8s", width - 19, width - 19,
		     tallies_port_label(v->tallies, i, name),
		     short_number(a, (double)tallies_row(r, DROPPED).packets / per),
		     short_number(b, (double)tallies_row(r, PASSED).packets / per));
	}
}

static void draw_top(const struct top_view *v, enum top top, const char *title, int row, int column, int width,
		     int rows)
{
	const struct history_sums *s = v->tables;
	char entry[64], heading[32], network[NETWORK_TEXT_MAX], name[64 + NETWORK_TEXT_MAX];

	snprintf(heading, sizeof(heading), "%s%s", title, v->passed ? " that pass" : "");
	sayf(row, column, width, v->passed ? PASS : HEAD, "%-*s %14s", width - 16, heading, "share");
	if (*v->samples && (top == TOP_SOURCES || top == TOP_INSIDE))
		say(row + 1, column, width, DIM, v->samples);
	for (int i = 0; i + 1 < rows && i < TOP_ENTRIES && s->top[top][i].family; i++) {
		snprintf(name, sizeof(name), "%s  %s", report_entry(entry, top, &s->top[top][i]),
			 report_network(network, v->networks, top, &s->top[top][i]));
		sayf(row + 1 + i, column, width, PLAIN, "%-*.*s %6.1f%% +-%4.1f", width - 16, width - 16, name,
		     100 * weighed_share(s, &s->top[top][i]), 100 * weighed_error(s, &s->top[top][i]));
	}
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"",
		"  q, Ctrl-C    end",
		"  p, space     hold the picture",
		"  s            sources, networks and ports of the other side: what passes, what is dropped",
		"  i            who inside sent to what is banned (attach --match), or who is banned",
		"  h, ?         this help",
		"",
		"  Rates are of the last second, tables of the last minute. Sources, networks and ports",
		"  come from samples of what is dropped (tune --samples); behind a share is its error.",
		"  Those of what passes are of the last two minutes, of 1,000 samples a second. While they",
		"  are shown, each packet that passes costs the kernel about a tenth of a microsecond more.",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		say(4 + (int)i, 0, COLS, PLAIN, lines[i]);
}

/* How many lines at the bottom: one, or all events if there is room. */
static int foot(void)
{
	return LINES < 30 ? 1 : TOP_EVENTS;
}

/* The newest event beside the keys, older ones above. */
static void draw_foot(const struct top_view *v)
{
	static const char keys[] = "q end  p hold  s side  i inside  h help   ";

	for (int i = 0; i < foot(); i++) {
		move(LINES - 1 - i, 0);
		clrtoeol(); /* on a low screen the tables reach this line */
		sayf(LINES - 1 - i, 0, COLS, DIM, "%*s%s", (int)sizeof(keys) - 1, i ? "" : keys, v->event[i]);
	}
}

/* Two columns: interfaces and lists on the left, sources on the right. */
static void draw_tables(const struct top_view *v)
{
	int top = 5, rows = LINES - top - foot(), left = COLS / 2 - 1, right = COLS - left - 2, third = rows / 3;
	int ports = (int)v->tallies->ports_n + 2;

	if (ports > rows / 2)
		ports = rows / 2;
	draw_ports(v, top, 0, left, ports);
	draw_lists(v, top + ports, 0, left, rows - ports);
	draw_top(v, v->inside ? TOP_INSIDE : TOP_SOURCES, v->inside ? "INSIDE" : "SOURCES", top, left + 2, right,
		 rows - 2 * third);
	draw_top(v, TOP_NETWORKS, "NETWORKS", top + rows - 2 * third, left + 2, right, third);
	draw_top(v, TOP_PORTS, "PORTS", top + rows - third, left + 2, right, third);
}

void top_view_draw(const struct top_view *v)
{
	char when[32], above[48] = "";
	time_t now = time(NULL);
	struct tm tm;

	strftime(when, sizeof(when), "%H:%M:%S", localtime_r(&now, &tm));
	erase();
	if (v->detector && v->detector->in_force)
		snprintf(above, sizeof(above), "  %zu above a limit", v->detector->above);
	sayf(0, 0, COLS, HEAD, "xdp-bloom  %s  generation %llu%s%s%s", when, (unsigned long long)v->inforce->g.number,
	     above, v->passed ? "  what passes" : "", v->paused ? "  HELD" : "");
	draw_rates(v);
	draw_force(v);
	if (v->help)
		draw_help();
	else
		draw_tables(v);
	draw_foot(v);
	refresh();
}

void top_page_draw(const struct top_page *page)
{
	char when[32];
	time_t now = time(NULL);
	struct tm tm;

	strftime(when, sizeof(when), "%H:%M:%S", localtime_r(&now, &tm));
	erase();
	sayf(0, 0, COLS, HEAD, "xdp-bloom  %s  %s%s", when, page->head, page->paused ? "  HELD" : "");
	say(1, 0, COLS, DROP, page->sums);
	say(3, 0, COLS, HEAD, page->heading);
	for (size_t i = 0; i < page->rows && (int)i < LINES - 5; i++)
		say(4 + (int)i, 0, COLS, PLAIN, page->row[i]);
	say(LINES - 1, 0, COLS, DIM, "q end  p hold");
	refresh();
}
#endif
