// SPDX-License-Identifier: GPL-2.0-only
/* The table of verbs: where each may stand, what is recorded of it, how many operands it takes, what each option takes,
 * and the help that is made of it. */
#include <stdlib.h>

#include "shown.h"
#include "verbs/verbs.h"

static const struct shown known[] = {
#include "unit_verbs.txt"
};

static struct shows shows = { .file = "tests/unit/unit_verbs.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static void where_each_may_stand(void)
{
	static const struct {
		unsigned int flag;
		const char *what;
	} flags[] = {
		{ VERB_CHANGES, "changes" },	 { VERB_SHOWS_ALONE, "shows alone" },
		{ VERB_JOINS, "joins a batch" }, { VERB_NAMES_LIST, "names a list" },
		{ VERB_ERRAND, "an errand" },	 { VERB_IN_CONFIG, "in a config" },
	};

	for (const struct verb *v = verbs; v->name; v++) {
		unsigned int flag = v->flags;

		printf("%s%s%s, %d", v->name, v->with ? " --" : "", v->with ?: "", v->least);
		if (v->most == VERB_MANY)
			printf(" to many");
		else if (v->most != v->least)
			printf(" to %d", v->most);
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
			if (flag & flags[i].flag)
				printf(", %s", flags[i].what);
			flag &= ~flags[i].flag;
		}
		if (flag)
			printf(", and %u, which has no name here", flag);
		puts("");
	}
}

static void option(const struct option_spec *o)
{
	static const char *const types[] = { "",     "kind", "text",  "file",	"directory", "word",
					     "time", "time", "whole", "number", "bytes",     "read" };

	printf("  --%s", o->name);
	if (o->letter)
		printf(", -%c", o->letter);
	printf("%s%s%s", *types[o->type] ? " " : "", types[o->type], o->type == OPTION_TIME_OR_0 ? " or 0" : "");
	if (o->least || o->most)
		printf(" %.10g to %.10g", o->least, o->most);
	for (const char *const *word = o->words; word && *word; word++)
		printf("%s%s", word == o->words ? ": " : "|", *word);
	printf("%s%s%s\n", o->optional ? ", may be left out" : "", o->for_all ? ", for all lines" : "",
	       o->hidden ? ", hidden" : "");
}

/* Those that several have are the same in each. */
static void what_each_option_takes(void)
{
	puts("common");
	for (const struct option_spec *o = options_common; o->name; o++)
		option(o);
	for (const struct verb *v = verbs; v->name; v++) {
		if (v->options)
			printf("%s%s%s\n", v->name, v->with ? " --" : "", v->with ?: "");
		for (const struct option_spec *o = v->options; o && o->name; o++)
			option(o);
	}
}

/* Without options, with many, and of two of one name. */
static void help_of_some(void)
{
	static const char *const each[] = { "state", "tune", "load" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		CHECK(!verb_help(each[i]), "%s: it is not printed", each[i]);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "verbs", where_each_may_stand },
		{ "options", what_each_option_takes },
		{ "help", help_of_some },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

/* What is a change together with others is a change; who reads a config, or an errand's line, knows what to do again.
 */
static void fits(void)
{
	for (const struct verb *v = verbs; v->name; v++) {
		const char *first = v->operands ?: "";

		CHECK(!(v->flags & VERB_JOINS) || v->flags & VERB_CHANGES, "%s joins others, and changes nothing",
		      v->name);
		CHECK(v->least <= v->most, "%s takes at least %d and at most %d", v->name, v->least, v->most);
		CHECK(!v->most || *first || v->with, "%s has operands without a name", v->name);
		CHECK(!(v->flags & VERB_NAMES_LIST) || !strncmp(first, "NAME", 4), "%s names no list", v->name);
		CHECK(v->run && (v->does || v->with), "%s does nothing", v->name);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word }, { "fits", fits } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
