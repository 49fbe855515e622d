// SPDX-License-Identifier: GPL-2.0-only
/* tune: what is shown of the settings, what a change of them does in which order, and what it refuses; word for word.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/source_file.h"
#include "change/apply.h"
#include "change/change.h"
#include "change/guard_rails.h"
#include "change/revert_timer.h"
#include "filter/layout.h"
#include "sets/networks.h"
#include "state/line_times.h"
#include "state/settings.h"
#include "typed.h"
#include "verb_change.h"

static const struct shown known[] = {
#include "unit_tune.txt"
};

static struct shows shows = { .file = "tests/unit/unit_tune.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static struct settings kept;
static const char *on_trial; /* the setting of which a change waits */
static bool table_is, same_path, same_stamp, joined, unset_fault;
static bool meanwhile; /* as a table is read another command takes it, or forgets it */

static int given_commit(struct change *change, const struct apply_options *options)
{
	if (change->guard.afresh)
		printf("  the guard looks afresh%s\n", change->guard.until ? ", for now" : "");
	return call(options ? "commits, and builds" : "commits");
}

static int given_pending(struct change *change, enum pending_kind kind, const char *name, long seconds)
{
	(void)change;
	printf("  '%s' waits for %ld%s\n", name, seconds, kind == PENDING_SETTING ? "" : ", as another kind");
	if (seconds) {
		change->context->waits = change->line_waits = true;
		change->deadline = 7;
	}
	if (on_trial && !strcmp(name, on_trial))
		return because(-EBUSY, "a change of it waits");
	return call("waits");
}

static int given_force(struct change *change, const struct ranges *set)
{
	(void)change;
	return call(set ? "forces a set" : "forces all");
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	if (call(change ? "opens to change" : "opens the state"))
		return because(-EIO, "it was not to be");
	*state = (struct state *)&kept;
	held++;
	return 0;
}

static void given_close(struct state *state)
{
	held -= state != NULL;
}

/* Of the settings, by their names in the state. */
#define MEMBER(type, name, option, ...)        \
	if (option && !strcmp(name_is, #name)) \
		return (double)kept.name;

static double given_setting(struct state *state, const char *name_is, double fallback)
{
	(void)state;
	SETTINGS(MEMBER)
	return fallback;
}

#define PUT(type, name, option, ...)           \
	if (option && !strcmp(name_is, #name)) \
		kept.name = (type)value;

static int given_set(struct state *state, const char *name_is, double value)
{
	(void)state;
	printf("  %s is %.9g\n", name_is, value);
	if (call("is kept"))
		return because(-EIO, "it was not to be");
	SETTINGS(PUT)
	return 0;
}

static struct line_times given_lines(struct state *state)
{
	(void)state;
	return (struct line_times){ .kept = 12 };
}

static int given_fault(const struct state *state)
{
	(void)state;
	return unset_fault ? because(-EUCLEAN, "a setting is none") : 0;
}

static struct networks *given_table(const char *state)
{
	if (strcmp(state, typed_context.state) != 0)
		abort();
	held += table_is;
	return table_is ? (struct networks *)&held : NULL;
}

static int given_map(struct networks **n, const char *state)
{
	*n = given_table(state);
	return 0;
}

static void given_table_close(struct networks *n)
{
	held -= n != NULL;
}

static const struct networks_source *given_from(const struct networks *n)
{
	static const struct networks_source from = { .path = "/a/ta\tble", .stamp = "stamp", .rows = 77 };

	return n ? &from : NULL;
}

static int given_locate(char path[PATH_MAX], const char *file)
{
	(void)file;
	strcpy(path, same_path ? "/a/ta\tble" : "/another");
	return call("locates");
}

static int given_look(char stamp[SOURCE_STAMP_MAX], const char *path)
{
	(void)path;
	strcpy(stamp, same_stamp ? "stamp" : "newer");
	return call("looks");
}

static int given_make(const char *state, const char *table, struct networks_source *source)
{
	(void)source;
	if (state)
		abort();
	printf("  networks of %s are looked at\n", table);
	return call("networks");
}

static int given_make_when(const char *state, const char *table, struct networks_source *source, int (*ready)(void *),
			   void *arg)
{
	int err;

	(void)source;
	if (!state)
		abort();
	printf("  networks of %s are read\n", table);
	err = call("networks");
	table_is = table_is != meanwhile;
	err = err ?: ready(arg);
	if (!err)
		puts("  and written");
	return err;
}

#define change_begin	     given_begin
#define change_end	     given_end
#define change_commit	     given_commit
#define change_pending	     given_pending
#define change_force	     given_force
#define state_open	     given_open
#define state_close	     given_close
#define settings_read(state) (kept)
#define state_setting	     given_setting
#define state_set	     given_set
#define state_line_times     given_lines
#define state_settings_fault given_fault
#define networks_open	     given_table
#define networks_close	     given_table_close
#define networks_from	     given_from
#define networks_map	     given_map
#define networks_make	     given_make
#define networks_make_when   given_make_when
#define networks_forget(of)  (call("networks are forgotten"))
#define source_locate	     given_locate
#define source_look	     given_look
#define out_done(of)	     (puts((of)->unchanged ? "  nothing has changed" : "  done"), EXIT_DONE)
#define out_confirm(of, what, confirm) \
	(printf("  %s%s\n", what, (confirm)->given ? ", to be confirmed" : ""), EXIT_DONE)
#include "verbs/tune.c"

static void anew(void)
{
	fails_at = 0;
	on_trial = NULL;
	kept = SETTINGS_DEFAULT;
	table_is = same_path = same_stamp = joined = unset_fault = meanwhile = false;
	typed_context.check = CHECK_NOT;
	typed_context.joined = NULL;
}

/* True: a call failed, or would have. */
static bool types(const char *line)
{
	struct settings before = kept;

	calls = held = 0;
	typed(line);
	kept = before;
	if (held)
		printf("  not given back: %d\n", held);
	return calls >= fails_at;
}

static void looks(void)
{
	types("tune");
	types("tune --json");
	kept.exact = kept.labels = false;
	kept.embedded = kept.inner = true;
	kept.layout = LAYOUT_CLASSIC;
	kept.k = 5;
	kept.fpr = 0.01;
	kept.headroom = 0.5;
	kept.samples = 0;
	kept.memory_max = 1 << 20;
	kept.fetch_most = 1 << 30;
	table_is = true;
	types("tune");
	types("tune --json");
	unset_fault = true;
	types("tune");
	unset_fault = false;
	for (fails_at = 1; types("tune"); fails_at++)
		;
}

static void changes(void)
{
	static const char *const each[] = {
		"tune --samples 7",
		"tune --samples 100",
		"tune --samples 7 --json",
		"tune --fetch-most 1M",
		"tune --fetch-most 1M --samples 7",
		"tune --labels off --headroom 20",
		"tune --inner on",
		"tune --inner on --confirm 1m",
		"tune --embedded on --confirm 1m",
		"tune --exact off",
		"tune --exact off --force",
		"tune --exact on --force",
		"tune --samples 7 --confirm 30s",
		"tune --samples x",
		"tune x",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		types(each[i]);
	for (fails_at = 1; types("tune --samples 7 --labels off --force"); fails_at++)
		;
	fails_at = 0;
	kept.inner = true;
	types("tune --inner off");
	types("tune --inner on --samples 7");
	kept.exact = false;
	types("tune --exact off");
	types("tune --fpr 0.001");
	types("tune --exact on");
}

/* It is so already, and would go back. */
static void waits(void)
{
	static const char *const each[] = {
		"tune --embedded on",  "tune --embedded on --confirm 1h",
		"tune --embedded off", "tune --samples 7 --embedded on",
		"tune --samples 7",    "tune --samples 100 --confirm 1h",
	};

	on_trial = "embedded";
	kept.embedded = true;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		types(each[i]);
}

static void networks(void)
{
	types("tune --networks table");
	types("tune --networks none");
	types("tune --networks table --samples 7");
	types("tune --networks table --confirm 1m");
	types("tune --networks table --json");
	for (int how = 0; how < 4; how++) {
		table_is = true;
		same_path = how & 1;
		same_stamp = how & 2;
		printf("%d\n", how);
		types("tune --networks table");
	}
	for (fails_at = 1; types("tune --networks table"); fails_at++)
		;
	same_stamp = false;
	for (fails_at = 1; types("tune --networks table"); fails_at++)
		;
	for (fails_at = 1; types("tune --networks none"); fails_at++)
		;
	fails_at = 0;
	meanwhile = true;
	types("tune --networks table");
	types("tune --networks table");
	meanwhile = false;
	typed_context.joined = &the_change;
	types("tune --networks table");
	typed_context.joined = NULL;
}

static void checks(void)
{
	static const char *const each[] = {
		"tune --samples 7",	    "tune --exact off",
		"tune --exact off --force", "tune --exact off --fpr 0.25",
		"tune --fpr 0.25",	    "tune --networks table",
		"tune --networks none",	    "tune --networks table --samples 7",
	};

	for (int how = 0; how < 2; how++) {
		typed_context.check = how ? CHECK_WORDS : CHECK_FILES;
		printf("-- %d\n", how);
		for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
			types(each[i]);
	}
	typed_context.check = CHECK_FILES;
	fails_at = 1;
	types("tune --exact off");
	fails_at = 2;
	types("tune --networks table");
	fails_at = 0;
	kept.exact = false;
	types("tune --exact off");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "looks", looks },
					       { "changes", changes },
					       { "waits", waits },
					       { "networks", networks },
					       { "checks", checks } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
