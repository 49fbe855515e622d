// SPDX-License-Identifier: GPL-2.0-only
/* tune: settings, kept in the state; a change of them rotates */
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
#include "verbs/verbs.h"

#define WANTED_MAX 16

/* The new settings, by their names in the state. */
struct options {
	struct {
		const struct setting *setting;
		double value;
	} wanted[WANTED_MAX];
	size_t n;
	const char *networks;
	struct number confirm;
	bool force;
};

static int read_setting(const struct option_spec *o, void *target, const char *value)
{
	struct options *to = target;
	double number;
	const struct setting *setting = setting_parse(o->name, value, &number);

	if (!setting)
		return EXIT_ERROR;
	to->wanted[to->n % WANTED_MAX].setting = setting;
	to->wanted[to->n++ % WANTED_MAX].value = number;
	return 0;
}

#define WORDS_OF(kind) (kind == SETTING_SWITCH ? option_on_off : kind == SETTING_LAYOUT ? layout_names : NULL)
#define VALUE_OF(kind) ((kind) <= SETTING_LAYOUT ? NULL : (kind) == SETTING_RATE ? "P|auto" : "N")
#define OPTION(c_type, member, option, kind, lowest, highest, fallback, text)                  \
	{ option,	.type = OPTION_READ, .value = VALUE_OF(kind), .words = WORDS_OF(kind), \
	  .does = text, .read = read_setting },

const struct option_spec tune_options[] = {
	SETTINGS_TO_TUNE(OPTION)
		SETTINGS_TO_FETCH(OPTION){ "networks", .type = OPTION_FILE, AT(options, networks), .value = "FILE",
					   .does = "a table that says whose addresses are; none: no more" },
	FORCE_OPTION(options),
	CONFIRM_OPTION(options),
	OPTIONS_END(struct options),
};

static int report(const struct context *context, const struct settings *s)
{
	bool open = settings_auto(s);
	struct settings sized = *s;
	struct layout_plan layout;
	struct networks *networks = networks_open(context->state);
	const struct networks_source *from = networks_from(networks);
	char buf[BYTES_TEXT_MAX], most[BYTES_TEXT_MAX], unpacked[BYTES_TEXT_MAX], path[PATH_MAX] = "none",
										  rows[48] = "";
	json_t *networks_json = json_null();

	if (open)
		sized.bits_per_key = s->lines.kept;
	layout = layout_choose(&sized);
	if (from) {
		clean_copy(path, sizeof(path), from->path);
		snprintf(rows, sizeof(rows), " (%llu networks)", (unsigned long long)from->rows);
		networks_json = json_pack("{s:o, s:I}", "file", out_text(from->path), "rows", (json_int_t)from->rows);
	}
	networks_close(networks);
	if (context->json)
		return out_json(context,
				json_pack("{s:b, s:b, s:b, s:b, s:s, s:i, s:b, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:o}",
					  "exact", s->exact, "labels", s->labels, "embedded", s->embedded, "inner",
					  s->inner, "layout", layout_names[s->layout], "k", (int)layout.k, "fpr_auto",
					  open, "fpr", layout.fpr, "bits_per_key", layout.bits_per_key, "headroom",
					  s->headroom * 100, "samples", (json_int_t)s->samples, "memory",
					  (json_int_t)s->memory_max, "fetch_most", (json_int_t)s->fetch_most,
					  "fetch_unpacked", (json_int_t)s->fetch_unpacked, "networks", networks_json));
	json_decref(networks_json);
	printf("exact     %s\nlabels    %s\nembedded  %s\ninner     %s\nlayout    %s (%s, k = %u)\nfpr       %s%.3g (%.1f bits a key)\nheadroom  %.0f %%\nsamples   %.0f a second and CPU\nmemory    %s\nfetched   %s, %s unpacked\nnetworks  %s%s\n",
	       s->exact ? "on" : "off", s->labels ? "on" : "off", s->embedded ? "on" : "off", s->inner ? "on" : "off",
	       layout_names[s->layout], layout_names[layout.kind], layout.k, open ? "auto, now " : "", layout.fpr,
	       layout.bits_per_key, s->headroom * 100, s->samples,
	       s->memory_max ? bytes_text(buf, s->memory_max) : "half of what is free", bytes_text(most, s->fetch_most),
	       bytes_text(unpacked, s->fetch_unpacked), path, rows);
	return out_end();
}

/* Not by a slip of the hand. */
static int because_not_exact(const struct settings *s)
{
	return guard_because(
		"without the exact table about one innocent address in %.0f is dropped, and drops of hosts are"
		" on no list's account; --force does it",
		1 / layout_choose(s).fpr);
}

/* --check ends before anything is changed, and asks the same. */
static int check(const struct call *call)
{
	const struct options *o = call->options;
	struct state *state = NULL;
	struct settings now, settings;
	int err = state_open(&state, call->context, false);

	now = settings = err ? SETTINGS_DEFAULT : settings_read(state);
	for (size_t i = 0; i < o->n && i < WANTED_MAX; i++) {
		if (!strcmp(o->wanted[i].setting->name, "exact"))
			settings.exact = o->wanted[i].value != 0;
		if (!strcmp(o->wanted[i].setting->name, "fpr"))
			settings.fpr = o->wanted[i].value;
	}
	state_close(state);
	if (now.exact && !settings.exact && !o->force)
		return because_not_exact(&settings);
	if (!o->networks || !strcmp(o->networks, "none") || call->context->check == CHECK_WORDS)
		return 0;
	return networks_make(NULL, o->networks, &(struct networks_source){ 0 });
}

/* The version that is in use already? */
static bool is_same(const struct context *context, const char *file)
{
	struct networks *n = networks_open(context->state);
	char path[PATH_MAX], stamp[SOURCE_STAMP_MAX];
	bool same = n && !source_locate(path, file) && !source_look(stamp, path) &&
		    !strcmp(path, networks_from(n)->path) && !strcmp(stamp, networks_from(n)->stamp);

	networks_close(n);
	return same;
}

static void path_in_use(char path[PATH_MAX], const struct context *context)
{
	struct networks *n = NULL;

	networks_map(&n, context->state);
	snprintf(path, PATH_MAX, "%s", n ? networks_from(n)->path : "");
	networks_close(n);
}

struct taking {
	struct context *context;
	struct change **change;
	char before[PATH_MAX]; /* the table that was in use as reading began */
};

static int begin_change(void *arg)
{
	struct taking *t = arg;
	char now[PATH_MAX];
	int err = change_begin(t->change, t->context);

	if (err)
		return err;
	path_in_use(now, t->context);
	return strcmp(now, t->before) != 0 ? because(-ECANCELED, "another table, or none, was taken meanwhile") : 0;
}

/*
 * Only who looks is told: no filter is built for it. In a batch it would stay where the rest goes back. It is read
 * without the lock, as whoever may write to it may make that take long.
 */
static int take_networks(struct context *context, const char *file, struct change **change)
{
	struct taking t = { .context = context, .change = change };
	struct networks_source source = { 0 };

	if (context->joined)
		return because(-EINVAL, "--networks does not stand in a batch");
	if (!strcmp(file, "none"))
		return change_begin(change, context) ?: networks_forget(context->state);
	if (is_same(context, file)) {
		context->unchanged = true;
		return change_begin(change, context);
	}
	path_in_use(t.before, context);
	return networks_make_when(context->state, file, &source, begin_change, &t);
}

/* Each setting that was given; *news says whether a filter is to be built again for it. */
static int take_settings(const struct call *call, struct change **begun, bool *news)
{
	const struct options *o = call->options;
	int err = change_begin(begun, call->context);
	struct change *change = *begun;
	struct settings before, after;

	if (err)
		return err;
	before = settings_read(change->state);
	for (size_t i = 0; i < o->n && i < WANTED_MAX && !err; i++) {
		const struct setting *setting = o->wanted[i].setting;
		bool same = state_setting(change->state, setting->name, -1) == o->wanted[i].value;

		*news = *news || (!same && setting->kind != SETTING_FETCH);
		/* One that is so already, but goes back, is asked about, too. */
		err = change_pending(change, PENDING_SETTING, setting->name, same ? 0 : (long)o->confirm.value);
		err = err ?: state_set(change->state, setting->name, o->wanted[i].value);
	}
	if (err)
		return err;
	after = settings_read(change->state);
	if (before.exact && !after.exact && !o->force)
		return because_not_exact(&after);
	/* It begins to look where it did not. */
	if (after.inner && !before.inner) {
		change->guard.afresh = true;
		change->guard.until = change->line_waits ? change->deadline : 0;
	}
	return o->force ? change_force(change, NULL) : 0;
}

int verb_tune(const struct call *call)
{
	static const struct apply_options rebuild = { 0 };
	const struct options *o = call->options;
	struct change *change = NULL;
	struct state *look = NULL;
	struct settings settings = { 0 };
	bool news = false;
	int err = call->context->check ? check(call) : 0;

	if (!err && o->networks && o->n)
		err = because(-EINVAL, "--networks stands alone: a file is no setting, and goes back with none");
	if (!err && o->networks && o->confirm.given)
		err = because(-EINVAL, "--networks does not go back by itself: it takes no --confirm");
	if (!err)
		err = o->networks ? take_networks(call->context, o->networks, &change)
		      : o->n	  ? take_settings(call, &change, &news)
				  : state_open(&look, call->context, false);
	if (!err && change)
		err = change_commit(change, news ? &rebuild : NULL);
	if (!err)
		settings = settings_read(change ? change->state : look);
	/* As the filter has been sized by now. */
	if (!err)
		settings.lines = state_line_times(change ? change->state : look);
	if (!err && look)
		err = state_settings_fault(look);
	change_end(change);
	state_close(look);
	if (err)
		return fail("tune: %s; nothing was changed", reason(err));
	if (o->n && !call->context->json)
		return out_confirm(call->context, "tune", &o->confirm);
	return report(call->context, &settings);
}
