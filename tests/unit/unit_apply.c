// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the state to the kernel: in which order, and what is left where any step fails; what is planned, what is tried
 * again, and what is refused; with a state and a kernel that are made up, word for word.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "edited.h"
#include "change/agreement.h"
#include "change/apply_internal.h"
#include "filter/arrays.h"
#include "change/detector.h"
#include "change/ends.h"
#include "change/guard_needs.h"
#include "change/own_addresses.h"
#include "change/revert_timer.h"
#include "base/clock.h"
#include "base/errand.h"
#include "base/memory.h"
#include "base/progress.h"
#include "filter/verify.h"
#include "kernel/detect.h"
#include "kernel/dispatcher_refresh.h"
#include "kernel/live.h"
#include "kernel/root.h"
#include "kernel/scopes.h"
#include "shown.h"
#include "state/kept_image.h"
#include "state/line_times.h"
#include "state/settings.h"
#include "state/settle.h"
#include "state/state.h"

static const struct shown known[] = {
#include "unit_apply.txt"
};

static struct shows shows = { .file = "tests/unit/unit_apply.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define STATE ((struct state *)&shows) /* nobody looks into it */

static struct context given_context = CONTEXT_DEFAULT;
static const char *failing = ""; /* the step that does */
static int failing_with;
static const char *bans = "", *counted = "", *spared_set = "";
static unsigned int spares; /* so often the guard makes an exception */
static bool is_image, is_ending, is_scoped;
static enum agreement is;
static struct settings kept_settings;
static double kept_number;
static unsigned int needs_many, full_times; /* so often the filter takes everybody */
static bool matters, tried, judged;	    /* how long a line takes */
static uint64_t until, clock_is;
static bool gone;
static int mapped;
static int laps;

__attribute__((format(printf, 1, 2))) static int step(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	printf("  %s\n", text);
	return *failing && !strncmp(text, failing, strlen(failing)) ? because(failing_with, "that failed") : 0;
}

static void parse(struct ranges *set, const char *text)
{
	*set = RANGES_EMPTY;
	while (*text) {
		size_t length = strcspn(text, " ");
		struct addr first;
		unsigned int prefix;

		ENOUGH(!prefix_parse(text, length, &first, &prefix) && !ranges_add_prefix(set, first, prefix));
		text += length + (text[length] == ' ');
	}
	ENOUGH(!ranges_finish(set));
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	int err = step("the lists");

	(void)state;
	*n = err ? 0 : 2;
	*lists = err ? NULL : calloc(2, sizeof(**lists));
	if (*lists && is_scoped)
		strcpy((*lists)[1].scope, "udp");
	return err;
}

static int given_settle(struct settled *s, struct state *state)
{
	struct ranges set[2];
	struct account accounts[] = { { &set[0], LABEL_LIST }, { &set[1], LABEL_OTHER } };
	int err = step("settled");

	(void)state;
	memset(s, 0, sizeof(*s));
	if (err)
		return err;
	parse(&set[0], bans);
	parse(&set[1], counted);
	parse(&s->allowed, spared_set);
	ENOUGH(!owned_settle(&s->owned, accounts, 2, &s->allowed));
	s->plain = !*counted;
	s->shadows = *counted != 0;
	if (s->shadows)
		s->shadow[0] = 1ULL << LABEL_OTHER;
	s->ends = is_ending;
	s->scopes = is_scoped ? calloc(1, 8) : NULL;
	ranges_free(&set[0]);
	ranges_free(&set[1]);
	return 0;
}

static int given_guard_set(struct guard *guard, struct state *state, const struct live *live, const struct ranges *set,
			   bool whole)
{
	(void)state;
	(void)live;
	CHECK(whole, "not all of it");
	guard->spared = spares > 0;
	spares -= spares > 0;
	return step("guarded: %zu ranges and %zu", set->n4, set->n6);
}

static int given_guard_all(const struct guard *guard, struct state *state, struct own_address **needs, size_t *n)
{
	(void)guard;
	(void)state;
	*n = needs_many;
	*needs = calloc(needs_many + 1, sizeof(**needs));
	ENOUGH(*needs);
	for (unsigned int i = 0; i < needs_many; i++)
		(*needs)[i].addr = (struct addr){ 0x2d000001 + i, 4 };
	return step("needs: %u", needs_many);
}

static int given_arrays(struct candidate *c, const struct generation *planned)
{
	int err = step("maps");

	if (err)
		return err;
	memset(c, 0, sizeof(*c));
	c->g = *planned;
	memory_take(&c->g);
	mapped++;
	return 0;
}

static void given_release(struct candidate *c)
{
	step("released");
	memory_release(&c->g);
	mapped--;
}

/* Once: other seeds are for those who ask again. */
static int given_place(struct generation *g, const struct owned *owned, const struct build_how *how)
{
	int err = step("placed");

	CHECK(!how->given_seeds && how->judge && !how->take == !how->release, "it is built otherwise");
	seeds_set(g);
	err = err ?: how->take ? how->take(how->arg, g) : arrays_take(g);
	if (err)
		return err;
	err = build_arrays(g, owned);
	if (full_times) {
		memset((void *)(uintptr_t)g->filter, 0xff, array_bytes(g, ARRAY_FILTER));
		full_times--;
	}
	err = err ?: how->judge(how->arg, g);
	if (err && how->release)
		how->release(how->arg);
	else if (err)
		arrays_release(g);
	return err;
}

static int given_plan(struct generation *g, const struct counts *n, const struct settings *settings)
{
	int err = step("planned, headroom %g%s, memory %llu", settings->headroom,
		       settings->labels ? " with labels" : "", (unsigned long long)settings->memory_max);

	return err ?: plan_sizes(g, n, settings);
}

static int given_check(const struct generation *g, const struct owned *owned)
{
	return check_arrays(g, owned) ?: step("checked") ? -EILSEQ : 0;
}

static int given_image(struct state *state, const struct live *live, const struct apply_options *options,
		       struct candidate *c)
{
	(void)state;
	(void)live;
	CHECK(options->guard, "no guard");
	memset(c, 0, sizeof(*c));
	c->g.number = 6;
	mapped++;
	if (!step("an image"))
		return 0;
	mapped--;
	return because(failing_with, "that failed");
}

static int given_undone(struct state *state, int (*judge)(struct state *, void *), void *arg, char name[LIST_NAME_MAX])
{
	int err = step("undone");

	strcpy(name, "drop");
	return err ?: judge(state, arg);
}

static int given_before_commit(struct state *state, void *arg)
{
	CHECK(state == STATE && arg == &shows, "it is asked otherwise");
	return step("before the commit");
}

static double given_setting(struct state *state, const char *name, double fallback)
{
	(void)state;
	(void)fallback;
	CHECK(!strcmp(name, SETTING_GENERATION), "setting %s", name);
	return kept_number;
}

static int given_until(struct state *state, __u64 *to)
{
	(void)state;
	*to = until;
	return step("until when");
}

static int given_detect(const struct context *context, struct candidate *c, const struct live *live,
			const struct detector *detector)
{
	(void)context;
	(void)live;
	(void)detector;
	return step("its detector; generation %llu, ends %u, scoped %u, shadows %llu %llx; until %llu, before %llu",
		    c->g.number, c->g.ends, c->g.scoped, c->g.shadows, c->g.shadow[0], c->trial.until, c->trial.before);
}

/* Each lap is one second longer than the one before it. */
static double given_seconds(void)
{
	laps++;
	return 100 + laps * (laps + 1) / 2;
}

__attribute__((format(printf, 1, 2))) static int given_lap_note(const char *fmt, ...)
{
	va_list args;

	printf("  note: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	return 0;
}

static bool given_matter(double keys)
{
	if (matters)
		step("of %g keys", keys);
	return matters;
}

#define state_pending_undone(...)	   given_undone(__VA_ARGS__)
#define state_lists(...)		   given_lists(__VA_ARGS__)
#define settle(s, state)		   given_settle(s, state)
#define guard_set(...)			   given_guard_set(__VA_ARGS__)
#define guard_all(...)			   given_guard_all(__VA_ARGS__)
#define guard_in_force(g, s, l)		   step("the one in force is guarded")
#define kernel_arrays(c, g)		   given_arrays(c, g)
#define kernel_release(c)		   given_release(c)
#define build_until_placed(...)		   given_place(__VA_ARGS__)
#define plan_sizes(...)			   given_plan(__VA_ARGS__)
#define check_arrays(...)		   given_check(__VA_ARGS__)
#define apply_image(...)		   given_image(__VA_ARGS__)
#define state_setting(...)		   given_setting(__VA_ARGS__)
#define settings_limited(state)		   kept_settings
#define memory_available()		   (1ULL << 40)
#define state_line_times(state)		   ((struct line_times){ 0 })
#define line_times_matter(keys)		   given_matter(keys)
#define state_line_times_tried(state)	   ((void)(state), tried)
#define line_probe(ns)			   ((void)(ns), 0)
#define line_times_judge(times, ns, n)	   ((void)(ns), (void)(n), step("judged"), judged)
#define state_line_times_put(state, times) step("line times are kept")
#define state_filter_bits_put(s, bits)	   step("bits are kept")
#define kernel_scopes(context, c, scopes)  step("scopes")
#define image_kept(state)		   (is_image ? 3u : 0u)
#define trial_until(...)		   given_until(__VA_ARGS__)
#define clock_boot()			   ((int64_t)clock_is)
#define clock_seconds()			   given_seconds()
#define ends_read(ends, state, within)	   step(within ? "some ends" : "ends")
#define live_before(live)		   4
#define live_is_gone(state, live)	   (gone)
#define detector_fill(d, state)		   step("detector")
#define detector_free(d)		   (void)step("detector freed")
#define kernel_detect(...)		   given_detect(__VA_ARGS__)
#define kernel_load(context, c, ends)	   step("programs")
#define attach_list(context, on, n)	   step("attachments, %zu known", *(n))
#define attach_may_refresh(on, n)	   step("may they be refreshed")
#define state_set(state, name, value)	   step("%s is %g", name, (double)(value))
#define state_commit(state)		   step("commit")
#define image_sweep(state, image)	   (void)step("swept but for image %u", (unsigned int)(image))
#define kernel_switch(context, c)	   step("switch")
#define live_look(live)			   (void)step("looked again")
#define attach_refresh(context, on, n)	   (void)step("refreshed")
#define kernel_base(context, known)	   step("base")
#define committed(state)		   ((struct committed){ 0 })
#define agreement(...)			   (is)
#define agreement_known(c, s, g)	   step("is it known")
#define progress(context, what, part)	   CHECK((part) < 0, "%s: how much of it is done, nobody knows", what)
#define progress_end()			   (void)0
#define errand_decline(why)		   because(-ECANCELED, why)
#define note(...)			   given_lap_note(__VA_ARGS__)
#include "change/apply.c"

static struct guard guard;
static struct apply_options options;

static int all_of_it(void)
{
	struct live live = { .context = &given_context, .g = { .number = 5 } };

	return apply_with(STATE, &live, &options);
}

static void applied(const char *what)
{
	int err;

	printf("%s\n", what);
	laps = 0;
	err = all_of_it();
	step("%s", err ? reason(err) : "done");
	CHECK(!mapped, "%d are mapped", mapped);
	mapped = 0;
}

static void again(void)
{
	laps = 0;
	failing = "";
	failing_with = -EIO;
	bans = "45.0.0.1 45.0.0.2 2001:db8::/48";
	counted = spared_set = "";
	spares = needs_many = full_times = 0;
	matters = tried = judged = false;
	is_image = is_ending = is_scoped = false;
	is = AGREED;
	kept_settings = SETTINGS_DEFAULT;
	kept_settings.memory_max = 1 << 30;
	kept_number = 5;
	until = 0;
	gone = false;
	clock_is = 76;
	guard = (struct guard){ 0 };
	options = (struct apply_options){ .guard = &guard };
	errand.here = false;
}

static void in_order(void)
{
	applied("as it is");
	is_ending = true;
	until = 77;
	kept_number = 9;
	options.before_commit = given_before_commit;
	options.arg = &shows;
	options.discard_unknown = true;
	options.guard = NULL;
	applied("with an end, on trial, more to be kept, whoever is in force");
	clock_is = 77;
	applied("on trial that is over");
	options.guard = &guard;
	guard.waits = true;
	applied("its own trial");
	guard.waits = false;
	gone = true;
	applied("on trial, and what it would go back to is gone");
	gone = false;
	clock_is = 76;
	options.guard = NULL;
	is_image = true;
	is_ending = false;
	applied("an image");
	is_image = false;
	counted = "45.0.1.1";
	kept_number = 4;
	applied("with a list that counts, and the state is behind");
	counted = "";
	is_scoped = true;
	applied("with a scope");
	is_scoped = false;
	is_image = true;
	options.dry_run = true;
	mapped = -1; /* it has no maps then */
	applied("an image, dry");
	is_image = false;
	applied("dry");
	errand.here = true;
	applied("of another process");
}

static void each_fails(void)
{
	static const char *const steps[] = { "base",	 "is it known", "settled",	 "guarded",  "planned",
					     "placed",	 "maps",	"checked",	 "scopes",   "until when",
					     "ends",	 "detector",	"its detector",	 "programs", "attachments",
					     "may they", "before the",	"generation is", "edits is", "commit",
					     "switch",	 "bits" };

	is_ending = is_scoped = true;
	options.before_commit = given_before_commit;
	options.arg = &shows;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		char text[64];

		failing = steps[i];
		snprintf(text, sizeof(text), "fails: %s", failing);
		applied(text);
	}
	is_image = true;
	failing = "an image";
	applied("fails: an image");
}

static void goes_back(const char *what)
{
	struct live live = { .context = &given_context, .g = { .number = 5 } };
	int err;

	printf("%s\n", what);
	err = apply_goes_back(STATE, &live);
	step("%s", err ? reason(err) : "it goes");
	CHECK(!mapped, "%d are mapped", mapped);
}

static void going_back(void)
{
	failing = "undone";
	goes_back("what waits is not known");
	failing = "";
	goes_back("with a roster");
	failing = "the lists";
	goes_back("whose lists are not known");
	failing = "";
	is_scoped = true;
	goes_back("and with a scope");
	failing = "settled";
	failing_with = -E2BIG;
	goes_back("and with too many of them");
	failing = "";
	kept_settings.exact = false;
	goes_back("without, and with a scope");
	is_scoped = false;
	counted = "45.0.1.1";
	goes_back("and with a list that counts");
	is_image = true;
	goes_back("and with an image");
	is_image = false;
	counted = "";
	goes_back("and with bans alone");
	spared_set = "45.0.0.9";
	full_times = 1;
	goes_back("some exception is dropped");
	spared_set = "";
	needs_many = 9;
	full_times = 1;
	goes_back("some need is dropped, and then none");
	full_times = 100;
	goes_back("some need is dropped each time");
	full_times = 0;
	failing = "placed";
	failing_with = -ENOMEM;
	goes_back("there is no memory for it now");
	failing_with = -E2BIG;
	goes_back("too much is allowed");
	failing = "planned";
	goes_back("there is no memory for the plan");
	failing = "settled";
	failing_with = -EIO;
	goes_back("it is not read");
}

static void planned(void)
{
	options.dry_run = true;
	kept_number = 9;
	options.filling = true;
	applied("filling");
	kept_settings.headroom = 0.5;
	applied("filling, and there is as much headroom");
	kept_settings.headroom = 1;
	applied("filling, and there is more");
	kept_settings.headroom = 0.25;
	failing = "planned, headroom 0.5";
	failing_with = -E2BIG;
	applied("filling, and there is no memory for it");
	failing = "planned";
	applied("nor for less");
	failing = "planned, headroom 0.5";
	failing_with = -ENOMEM;
	applied("filling, and something else is wrong");
	failing = "";
	options.filling = false;
	options.reverting = true;
	applied("reverting");
	kept_settings.memory_max = 1ULL << 41;
	applied("reverting, and there is more");
	options.reverting = false;
	kept_settings.layout = LAYOUT_LANES2;
	applied("of another layout");
	kept_settings.layout = LAYOUT_AUTO;
	kept_settings.labels = false;
	applied("without labels");
	is_ending = true;
	applied("but with an end");
	is_ending = false;
	is_scoped = true;
	applied("but with a scope");
	is_scoped = false;
	counted = "45.0.1.1 2001:db8:7::/48";
	applied("but with a list that counts");
	kept_settings.exact = false;
	applied("that, and no roster");
	counted = "";
	is_scoped = true;
	applied("a scope, and no roster");
}

static void lines(void)
{
	options.dry_run = true;
	matters = true;
	applied("not judged");
	judged = true;
	applied("judged");
	failing = "line times";
	applied("not kept");
	failing = "";
	tried = true;
	applied("tried before");
	tried = false;
	kept_settings.fpr = 0.01;
	applied("with a rate");
	kept_settings.fpr = 0;
	kept_settings.exact = false;
	applied("without a roster");
}

static void guarded(void)
{
	options.dry_run = true;
	spares = 1;
	applied("one exception");
	spares = 2;
	applied("and again");
}

static void bits_alone(void)
{
	kept_settings.exact = false;
	kept_settings.layout = LAYOUT_LANES;
	kept_settings.bits_per_key = 64;
	options.dry_run = false;
	needs_many = 2; /* both are banned */
	applied("what is banned is no chance");
	failing = "needs";
	applied("the needs are not read");
	failing = "placed";
	failing_with = -EAGAIN;
	applied("no place");
	kept_settings.exact = true;
	applied("no place in the roster");
	failing = "";
	kept_settings.exact = false;
	full_times = 16;
	needs_many = 3;
	applied("each draw hits a need");
	full_times = 15;
	applied("but for the last one");
	full_times = 1;
	needs_many = 0;
	spared_set = "45.0.0.77";
	applied("it hits what is allowed");
	full_times = 1;
	needs_many = 3;
	kept_settings.exact = true;
	applied("behind a roster");
}

static void if_needed(void)
{
	static const char *const names[] = { [NOTHING_LIVE] = "nothing is in force",
					     [AGREED] = "they agree",
					     [BEHIND] = "the kernel is behind",
					     [UNKNOWN] = "it is unknown" };
	struct live live = { .context = &given_context, .g = { .number = 5 } };
	int err;

	for (size_t i = 0; i < 2 * sizeof(names) / sizeof(names[0]) + 3; i++) {
		bool afresh = i >= 4;

		again();
		is = i < 4 ? (enum agreement)i : i < 8 ? (enum agreement)(i - 4) : AGREED;
		guard.afresh = afresh;
		is_image = i == 8;
		guard.spared = i == 9;
		failing = i == 10 ? "the one in force" : "";
		printf("%s%s%s%s\n", names[is], afresh ? ", afresh" : "", is_image ? ", an image" : "",
		       guard.spared ? ", spared" : "");
		err = apply_if_needed(STATE, &live, &guard);
		step("%s%s", err ? reason(err) : "done", guard.fixed ? ", fixed" : "");
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "in order", in_order },   { "each fails", each_fails },
					       { "planned", planned },	   { "lines of memory", lines },
					       { "guarded", guarded },	   { "bits alone", bits_alone },
					       { "if needed", if_needed }, { "going back", going_back } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), again);
	again();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
