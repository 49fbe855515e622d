// SPDX-License-Identifier: GPL-2.0-only
/* The screen of top, drawn where nobody looks: every word of it and its colour, on small and large terminals. */
#include <locale.h>
#include <time.h>

/* The clock stands still. */
#define time(at) ((time_t)1800000000)
#include "observe/top_screen.c"
#undef time

#include "made_networks.h"
#include "made_sums.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_top.txt"
};
static struct shows shows = { .file = "tests/unit/unit_top.txt", .known = known, .n = sizeof(known) / sizeof(*known) };

static struct tallies tallies;
static struct counted between;
static struct inforce inforce;
static struct history_report minute;
static struct list_info lists[4];
static struct attachment ports[3];
static struct top_view view;

static void nothing(void)
{
	memset(&tallies, 0, sizeof(tallies));
	memset(&between, 0, sizeof(between));
	memset(&inforce, 0, sizeof(inforce));
	memset(&minute, 0, sizeof(minute));
	view = (struct top_view){ .tallies = &tallies,
				  .between = &between,
				  .inforce = &inforce,
				  .minute = &minute,
				  .tables = &minute.sums,
				  .samples = "" };
	for (int i = 0; i < TOP_EVENTS; i++)
		view.event[i] = "";
}

static void list(unsigned int place, const char *name, uint64_t packets)
{
	snprintf(minute.lists[place].name, sizeof(minute.lists[place].name), "%s", name);
	minute.lists[place].kind = LIST_BAN;
	minute.sums.list[place].packets = packets;
	snprintf(lists[place - 1].name, sizeof(lists[0].name), "%s", name);
	lists[place - 1].kind = LIST_BAN;
}

static void port(size_t at, const char *name, uint64_t dropped, uint64_t passed)
{
	snprintf(ports[at].name, sizeof(ports[at].name), "%s", name);
	snprintf(ports[at].as, sizeof(ports[at].as), "%s", name);
	ports[at].ifindex = (int)at + 2;
	between.port[at + 2][REASON_DROPPED].packets = dropped;
	between.port[at + 2][REASON_DROPPED - 1].packets = passed;
}

static void much(void)
{
	nothing();
	view.seconds = 2;
	between.verdict[DROPPED] = (struct tally){ 3000000, 180000000 };
	between.verdict[PASSED] = (struct tally){ 1000000, 1400000000 };
	between.verdict[UNPARSED] = (struct tally){ 84, 84 * 60 };
	port(0, "eth0", 2999000, 400);
	port(1, "a-rather-long1", 1000, 999600);
	port(2, "eth2", 0, 0);
	tallies.ports = ports;
	tallies.ports_n = 3;
	list(1, "few", 120);
	list(2, "many", 123456);
	list(3, "a-list-whose-name-is-longer-than-half-of-a-screen-of-top", 7);
	list(4, "quiet", 0);
	tallies.lists = lists;
	tallies.lists_n = 4;
	inforce.g = (struct generation){ .number = 42, .keys4 = 1234567, .keys6 = 89, .all24 = 5 };
	inforce.bytes.total = 123u << 20;
	inforce.rate.fill = 0.4951;
	inforce.rate.fpr = 0.000123;
	minute.sums.samples = 30;
	minute.sums.weighed = 1800;
	made_entry(&minute.sums, TOP_SOURCES, 0, 0, 0xc0000207, 4, 15);
	made_entry(&minute.sums, TOP_SOURCES, 1, 0x20010db800000000, 7, 6, 10);
	made_entry(&minute.sums, TOP_SOURCES, 2, 0, 0xc0000208, 4, 5);
	made_entry(&minute.sums, TOP_NETWORKS, 0, 0, 0xc0000200, 4, 20);
	made_entry(&minute.sums, TOP_NETWORKS, 1, 0x20010db800010000, 0, 6, 10);
	made_entry(&minute.sums, TOP_PORTS, 0, 17, 1 + 53, 4, 20);
	made_entry(&minute.sums, TOP_PORTS, 1, 1, 0, 4, 10);
	minute.points_n = 120;
	for (unsigned int i = 0; i < 120; i++)
		minute.points[i] = (struct history_point){ .passed = i % 10, .dropped = i * i };
	view.event[0] = "12:00:09 add 192.0.2.1";
	view.event[1] = "12:00:08 load drop";
	view.event[2] =
		"an event so long that it does not fit on any screen that is no wider than two hundred columns, "
		"as some are, and which is cut there without a word, since the newest line is one line and one "
		"line alone, whatever happens to be in it";
}

static void not_exact(void)
{
	much();
	inforce.verdict = 1e-9;
	view.seconds = 0;
	view.paused = true;
	view.samples = "no samples: tune --samples 10";
	memset(minute.sums.top, 0, sizeof(minute.sums.top));
	tallies.ports_n = 1;
}

static void passing(void)
{
	much();
	view.passed = true;
}

static void inside(void)
{
	much();
	view.inside = true;
	made_entry(&minute.sums, TOP_INSIDE, 0, 0, 0x0a000005, 4, 12);
}

static struct networks *networks;

static void whose(void)
{
	much();
	view.networks = networks;
}

static void help(void)
{
	much();
	view.help = true;
}

/* Row by row; below each that has colours, which: one letter a column. */
static void print_screen(void)
{
	for (int row = 0; row < LINES; row++) {
		char text[2048], styles[512];
		int last = 0;

		mvinnstr(row, 0, text, sizeof(text) - 1);
		for (size_t n = strlen(text); n && text[n - 1] == ' '; n--)
			text[n - 1] = '\0';
		puts(text);
		for (int column = 0; column < COLS && column < (int)sizeof(styles) - 1; column++) {
			wchar_t wide[CCHARW_MAX + 1];
			cchar_t cell;
			attr_t attributes = 0;
			short pair = 0;

			mvin_wch(row, column, &cell);
			getcchar(&cell, wide, &attributes, &pair, NULL);
			styles[column] = pair == HEAD ? attributes & A_BOLD ? 'H' : 'h' : " hdpi"[pair % 5];
			if (styles[column] != ' ')
				last = column + 1;
		}
		styles[last] = '\0';
		if (last)
			puts(styles);
	}
}

static void drawn(const char *name, void (*what)(void))
{
	static const int sizes[][2] = { { 24, 80 }, { 30, 132 }, { 50, 200 }, { 10, 40 }, { 6, 20 } };
	FILE *nowhere = fopen("/dev/null", "r+e");

	for (size_t i = 0; nowhere && i < sizeof(sizes) / sizeof(*sizes); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%d", sizes[i][0]);
		setenv("LINES", text, 1);
		snprintf(text, sizeof(text), "%d", sizes[i][1]);
		setenv("COLUMNS", text, 1);
		screen = newterm("xterm", nowhere, nowhere);
		if (!screen) {
			ktap_skip("needs a description of xterm, of the package ncurses-base");
			break;
		}
		start_color();
		for (short style = HEAD; style <= DIM; style++)
			init_pair(style, COLOR_RED, COLOR_BLACK);
		what();
		top_view_draw(&view);
		snprintf(text, sizeof(text), "%s, %d lines of %d", name, sizes[i][0], sizes[i][1]);
		shows_begin(&shows);
		print_screen();
		shows_as(&shows, text);
		top_view_end();
	}
	fclose(nowhere);
}

static void empty(void)
{
	drawn("nothing", nothing);
}

static void full(void)
{
	utf8 = setlocale(LC_CTYPE, "C.UTF-8");
	drawn("much", much);
	utf8 = false;
	drawn("not exact", not_exact);
	drawn("what passes", passing);
	drawn("who inside", inside);
}

static void with_names(void)
{
	networks = made_networks();
	drawn("whose", whose);
	networks_close(networks);
	networks = NULL;
}

static void helpful(void)
{
	drawn("help", help);
}

static void numbers(void)
{
	static const double at[] = { 0,	      0.4,     0.6,    9999.4,	 9999.5,  99949,   99950,
				     999499,  999500,  999949, 9999400,	 9999500, 99949e3, 99951e3,
				     99994e5, 99996e5, 12e12,  99999e12, 1e18 };
	char buf[16];

	shows_begin(&shows);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		printf("%.1f is %s\n", at[i], short_number(buf, at[i]));
	shows_as(&shows, "short numbers");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "nothing happens", empty }, { "much happens", full },	    { "whose addresses they are", with_names },
		{ "help", helpful },	      { "short numbers", numbers },
	};

	setenv("TZ", "UTC", 1);
	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
