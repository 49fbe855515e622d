// SPDX-License-Identifier: GPL-2.0-only
/*
 * plan: for which keys and with which settings it solves, in which order, and what it refuses; over a state in a
 * directory of the test's own. What is printed of it is made up.
 */
#include "own_state.h"

#include <math.h>

#include "change/guard_rails.h"
#include "filter/forecast.h"
#include "filter/layout.h"
#include "shown.h"
#include "state/kept_image.h"
#include "state/line_times.h"
#include "state/settle.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_plan_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_plan_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static bool kept_image, small;
static int solves, solve_fails, callocs, calloc_fails;
static enum { NONE, SETTLE, OWNED, BOGONS, KEYS } other;

static uint64_t given_kept(struct state *state)
{
	(void)state;
	return kept_image;
}

static int given_solve(struct forecast *f, const struct counts *n, const struct settings *settings,
		       const struct plan_goals *goals)
{
	int err = ++solves == solve_fails ? because(-E2BIG, "it is too much") : forecast_solve(f, n, settings, goals);

	if (!err && small)
		f->fits = false;
	return err;
}

static void *given_calloc(size_t n, size_t size)
{
	return ++callocs == calloc_fails ? NULL : calloc(n, size);
}

#define FAILS(which, call) (other == (which) ? because(-EIO, "it cannot") : (call))

static void print_forecast(const char *what, const struct forecast *f)
{
	printf("  %s %s%s: filter %.3g of %.3g, headroom %.3g%s\n", what, layout_names[f->settings.layout],
	       f->settings.exact ? ", exact" : "", f->fpr_full, f->asked, f->settings.headroom,
	       f->g.filter ? "" : ", none");
}

static int given_text(const struct forecasts *all)
{
	const struct counts *n = &all->counts;
	size_t lengths = 0;

	printf("  %s: %llu /32 and more, %llu /24;", all->source, (unsigned long long)n->nets32,
	       (unsigned long long)(n->some24 + n->all24));
	for (unsigned int length = 0; length <= 128; length++)
		if (n->v6[length] && ++lengths)
			printf(" %llu /%u", (unsigned long long)n->v6[length], length);
	printf("\n  asked %.3g, %llu bytes, headroom %.3g; settings %.3g, %s%s%s\n", all->goals->fpr,
	       (unsigned long long)all->goals->memory, all->goals->headroom, all->settings.fpr,
	       layout_names[all->settings.layout], all->settings.exact ? ", exact" : "",
	       all->settings.labels ? ", labels" : "");
	print_forecast("would be", &all->chosen);
	for (size_t i = 0; i < all->rows; i++)
		print_forecast(forecast_is_chosen(all, i) ? "so" : "or", &all->row[i]);
	return EXIT_DONE;
}

static int given_json(const struct context *context, const struct forecasts *all)
{
	puts(context->json ? "JSON" : "no JSON");
	return given_text(all);
}

static int given_detect(const struct context *context, const struct detect_ask *ask)
{
	printf("  detect: %.0f pps, %.0f sources, %.0f attackers, %s%s\n", ask->pps, ask->sources, ask->attackers,
	       ask->limit ?: "the limits", context->json ? ", JSON" : "");
	return EXIT_DONE;
}

#define image_kept		    given_kept
#define forecast_solve		    given_solve
#define forecast_text		    given_text
#define forecast_json		    given_json
#define plan_detect		    given_detect
#define calloc(n, size)		    given_calloc(n, size)
#define settle(s, state)	    FAILS(SETTLE, settle(s, state))
#define owned_settle(o, a, n, x)    FAILS(OWNED, owned_settle(o, a, n, x))
#define guard_apply_bogons(s, b, f) FAILS(BOGONS, guard_apply_bogons(s, b, f))
#define forecast_keys(k, s, g)	    FAILS(KEYS, forecast_keys(k, s, g))
#include "verbs/plan.c"
#undef calloc

static void put_text(const char *name, const char *text)
{
	FILE *to = fopen(name, "w");

	if (!to || fputs(text, to) < 0 || fclose(to))
		abort();
}

static void clear(void)
{
	solves = solve_fails = callocs = calloc_fails = 0;
	other = NONE;
	kept_image = small = false;
}

static void begin(void)
{
	clear();
	empty_directory();
	put_text("a", "45.0.0.0/24\n45.0.1.7\n2001:db8::/32\n");
	put_text("b", "45.0.1.7\n45.0.1.8/30\n10.0.0.0/8\n46.0.0.1\n");
	put_text("bad", "45.0.0.1\nx\n");
	put_text("table", "ip,kind\n45.0.0.1,x\n45.0.0.2,y\n");
	put_text("none", "#\n");
}

static int keep(struct state *s, const char *name, enum list_kind kind, const struct ranges *set)
{
	struct list_info list = { .kind = kind, .prefixes = ranges_count_prefixes(set), .addresses = "263" };

	snprintf(list.name, sizeof(list.name), "%s", name);
	return state_list_put(s, &list, set);
}

/* In the state: a list of bans, one that only counts, and settings. */
static void load(bool settings)
{
	struct ranges set = RANGES_EMPTY;
	struct state *s = opened(true);

	ENOUGH(s && !ranges_add4(&set, 0x2d000000, 0x2d0000ff) && !ranges_add4(&set, 0x2d000101, 0x2d000107) &&
	       !ranges_finish(&set) && !keep(s, "mine", LIST_BAN, &set));
	if (settings) {
		ENOUGH(!keep(s, "seen", LIST_SHADOW, &set) && !state_set(s, "exact", 0) &&
		       !state_set(s, "layout", LAYOUT_CLASSIC) && !state_set(s, "fpr", 0.01) &&
		       !state_set(s, "headroom", 0.5));
	}
	ENOUGH(!state_commit(s));
	ranges_free(&set);
	state_close(s);
}

static void numbers(void)
{
	static const char *const values[] = { "0",   "0.9", "1", "1.9", "2k", "2M", "2G",  "4G",   "4.1G",
					      "4e9", "5G",  "k", "",	"x",  "-5", "1,0", "10kk", "3T" };
	char line[100];

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		snprintf(line, sizeof(line), "plan --keys '%s' --exact off --layout classic", values[i]);
		typed(line);
	}
	puts("-- of IPv6");
	for (size_t i = 0; i < 19; i++) {
		static const char *const keys6[] = { "200k",  "200k/48",  "1/0",      "2/0",  "1/128",
						     "1/129", "1/-1",	  "1/",	      "1/x",  "1/48x",
						     "x/48",  "0/48",	  "1x",	      "3/1",  "2/1",
						     "1k/",   "65537/16", "65536/16", "5G/64" };

		snprintf(line, sizeof(line), "plan --keys6 %s --exact off --layout classic", keys6[i]);
		typed(line);
	}
	typed("plan --keys 1k --keys6 1k/48 --keys6 2k --exact on --layout classic");
	puts("-- rates");
	typed("plan --keys 1k --exact off --layout classic --fpr 0.5");
	typed("plan --keys 1k --exact off --layout classic --fpr 0.51");
	typed("plan --keys 1k --exact off --layout classic --fpr 1e-12");
	typed("plan --keys 1k --exact off --layout classic --fpr 9e-13");
	typed("plan --keys 1k --headroom 1000 --exact off --layout classic");
	typed("plan --keys 1k --headroom 0 --exact off --layout classic");
	typed("plan --keys 1k --headroom 1001");
	typed("plan --keys 1k --memory 0");
}

/* Which are solved for, and which of them is what would be built. */
static void rows(void)
{
	static const char *const lines[] = {
		"plan --keys 100k",
		"plan --keys 100k --exact on",
		"plan --keys 100k --exact off",
		"plan --keys 100k --layout auto",
		"plan --keys 100k --layout classic",
		"plan --keys 100k --layout classic --exact off",
		"plan --keys 100k --fpr 0.001",
		"plan --keys 100k --fpr auto",
		"plan --keys 100k --memory 20M",
		"plan --keys 100k --memory 20M --fpr 0.001",
		"plan --keys 100k --json",
		"plan --keys6 1k/24 --exact on",
		"plan --memory 20M",
		"plan --memory 20M --headroom 100 --exact off --layout classic",
		"plan --memory 1",
		"plan --keys 100k --memory 1M",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		typed(lines[i]);
	small = true;
	typed("plan --keys 100k --exact off --layout classic");
	small = false;
	puts("-- settings of the state");
	load(true);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		typed(lines[i]);
}

static void files(void)
{
	typed("plan a --exact off --layout classic");
	typed("plan a b --exact off --layout classic");
	typed("plan b a --exact on --layout classic");
	typed("plan none");
	typed("plan bad");
	typed("plan a bad --skip-bad --exact off --layout classic");
	typed("plan table --where kind=y --exact off --layout classic");
	typed("plan a --format json");
	typed("plan a nowhere");
	typed("plan a --keys 5");
	typed("plan a --keys6 5");
	typed("plan a --memory 20M --exact off --layout classic");
}

static void many_files(void)
{
	char line[2000] = "plan --exact off --layout classic";

	for (int i = 0; i < LABELS; i++) {
		strcat(line, " a");
		if (i == LABELS - 2)
			typed(line);
	}
	typed(line);
}

static void loaded(void)
{
	typed("plan");
	typed("plan --exact off");
	load(false);
	typed("plan --exact off --layout classic");
	typed("plan --memory 20M --exact off --layout classic");
	typed("plan --keys 5 --exact off --layout classic");
	kept_image = true;
	typed("plan");
	typed("plan --memory 20M --exact off --layout classic");
	typed("plan --keys 5 --exact off --layout classic");
	kept_image = false;
	load(true);
	typed("plan");
	puts("-- no state");
	empty_directory();
	put_text("state.db", "this is no database");
	typed("plan");
	typed("plan --keys 5 --exact off --layout classic");
	typed("plan a --exact off --layout classic");
	typed("plan --memory 20M --exact off --layout classic");
	typed("plan --memory 20M --exact off --layout classic --json");
}

static void failures(void)
{
	load(true);
	for (calloc_fails = 1; calloc_fails <= 3; calloc_fails++) {
		callocs = 0;
		typed("plan a b --exact off --layout classic");
	}
	calloc_fails = 0;
	for (other = SETTLE; other <= KEYS; other++) {
		printf("-- call %d fails\n", other);
		typed("plan");
		typed("plan a --exact off --layout classic");
		typed("plan --memory 20M --exact off --layout classic");
	}
	other = NONE;
	for (solve_fails = 1; solve_fails <= 2 * LAYOUTS + 2; solve_fails++) {
		solves = 0;
		typed("plan --keys 1k");
	}
}

static void detector(void)
{
	static const char *const lines[] = {
		"plan --detect",
		"plan --detect --pps 5M --sources 3 --attackers 2k --limit 200/s --json",
		"plan --detect --keys 5",
		"plan --detect --keys6 5",
		"plan --detect --fpr 0.1",
		"plan --detect --memory 20M",
		"plan --detect --exact on",
		"plan --detect --layout auto",
		"plan --detect --headroom 0",
		"plan --detect a",
		"plan --pps 5",
		"plan --sources 5",
		"plan --attackers 5",
		"plan --limit 5/s",
		"plan --detect --pps x",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		typed(lines[i]);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "numbers", numbers },	      { "rows", rows },	    { "files", files },
		{ "many files", many_files }, { "loaded", loaded }, { "failures", failures },
		{ "detector", detector },
	};
	static const char *const names[] = { "a", "b", "bad", "table", "none" };

	typed_in(directory, &shows);
	typed_context.state = ".";
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	empty_directory();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(names[i]);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
