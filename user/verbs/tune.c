// SPDX-License-Identifier: GPL-2.0-only
/* tune: settings, kept in the state; a change of them rotates */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change/apply.h"
#include "change/change.h"
#include "verbs/cmd.h"
#include "base/log.h"
#include "base/out.h"
#include "filter/layout.h"
#include "state/settings.h"

#define WANTED_MAX 16

/* What was asked for, by the names under which it is kept. */
static struct {
	const char *name;
	double value;
} wanted[WANTED_MAX];
static size_t wanted_n;

static const struct option own[] = {
	{ "exact", required_argument, NULL, 'e' },
	{ "labels", required_argument, NULL, 'l' },
	{ "layout", required_argument, NULL, 'y' },
	{ "k", required_argument, NULL, 'k' },
	{ "fpr", required_argument, NULL, 'f' },
	{ "headroom", required_argument, NULL, 'h' },
	{ "samples", required_argument, NULL, 's' },
	{ "memory", required_argument, NULL, 'm' },
	{ 0 },
};

static int tune_option(int option, const char *value)
{
	const struct option *o = own;
	const struct setting *setting;
	double number;

	while (o->val != option)
		o++;
	setting = setting_parse(o->name, value, &number);
	if (!setting)
		return EXIT_ERROR;
	wanted[wanted_n % WANTED_MAX].name = setting->name;
	wanted[wanted_n++ % WANTED_MAX].value = number;
	return 0;
}

static int report(const struct settings *s)
{
	struct layout_plan layout = layout_choose(s);
	char buf[BYTES_TEXT_MAX];

	if (opt_json)
		return out_json(json_pack("{s:b, s:b, s:s, s:i, s:f, s:f, s:f, s:I, s:I}", "exact", s->exact, "labels",
					  s->labels, "layout", layout_names[s->layout], "k", (int)layout.k, "fpr",
					  layout.fpr, "bits_per_key", layout.bits_per_key, "headroom",
					  s->headroom * 100, "samples", (json_int_t)s->samples, "memory",
					  (json_int_t)s->memory_max));
	printf("exact     %s\nlabels    %s\nlayout    %s (%s, k = %u)\nfpr       %.3g (%.1f bits a key)\nheadroom  %.0f %%\nsamples   %.0f a second and CPU\nmemory    %s\n",
	       s->exact ? "on" : "off", s->labels ? "on" : "off", layout_names[s->layout], layout_names[layout.kind],
	       layout.k, layout.fpr, layout.bits_per_key, s->headroom * 100, s->samples,
	       s->memory_max ? bytes_text(buf, s->memory_max) : "half of what is free");
	return out_end();
}

int cmd_tune(struct context *context, int argc, char **argv)
{
	static const struct apply_options anew = { 0 };
	struct change *change = NULL;
	struct state *look = NULL;
	struct settings settings;
	bool news = false;
	int err;

	wanted_n = 0;
	if (options_read(context, &argc, argv, own, tune_option))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("tune: takes no '%s'", argv[1]);
	err = wanted_n ? change_begin(&change, context) : state_open(&look, false);
	for (size_t i = 0; i < wanted_n && i < WANTED_MAX && !err; i++) {
		news = news || state_setting(change->state, wanted[i].name, -1) != wanted[i].value;
		err = state_set(change->state, wanted[i].name, wanted[i].value);
	}
	if (!err)
		settings = settings_read(change ? change->state : look);
	if (!err && wanted_n)
		err = change_commit(change, news ? &anew : NULL);
	change_end(change);
	state_close(look);
	if (err)
		return fail("tune: %s; nothing was changed", reason(err));
	return wanted_n && !opt_json ? EXIT_DONE : report(&settings);
}
