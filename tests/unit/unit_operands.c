// SPDX-License-Identifier: GPL-2.0-only
/* How many operands each verb takes, at both of its ends; none of them runs. */
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "ktap.h"

/* What is said of it is unit_verb's. */
static int refused(void);
#define fail(...) refused()
#include "base/verb.c"

#include "verbs/verbs.h"

static int refused(void)
{
	return EXIT_ERROR;
}

static int took; /* -1: it did not run */

static int runs(const struct call *call)
{
	took = call->n;
	return EXIT_DONE;
}

static int take(const char *line)
{
	struct context context = CONTEXT_DEFAULT;
	struct words words = { 0 };
	const struct verb *found = NULL;
	struct verb verb;

	took = -1;
	if (!CHECK(!words_split(&words, line) && (found = verb_find(verbs, &words)), "no verb: %s", line))
		return -1;
	verb = *found;
	verb.run = runs;
	verb_run(&verb, &context, &words);
	words_free(&words);
	return took;
}

/* Of several; a bar stands between two. */
static void each(const char *lines, bool enough)
{
	char text[1000], *rest = text, *line;

	snprintf(text, sizeof(text), "%s", lines);
	while ((line = strsep(&rest, "|"))) {
		int n = 0;

		for (const char *c = line; *c; c++)
			n += *c == ' ';
		CHECK(take(line) == (enough ? n : -1), "%s: it ran with %d", line, took);
	}
}

static void enough(void)
{
	each("attach a|attach a b c d|detach|detach a b c d|doctor|doctor a b c d|load @a|load a b|unload a|"
	     "unload a b c d|enforce a|enforce a b c d|shadow a|shadow a b c d|lists|lists a|feeds|feeds check a|add a|"
	     "add a b c d|del a|del a b c d|bans|bans a b c d|allow|allow a b c d|disallow a|disallow a b c d|batch a|"
	     "follow a|follow exec a b c d|fleet|fleet accept a|detect|detect limit syn 5|test a|test a b c d|replay a|"
	     "replay a b c d|plan|plan a b c d|set count|set union a b c|compare a b|save a|image show a|"
	     "image union a b c|state check|state recover a",
	     true);
}

static void otherwise(void)
{
	each("attach|load|load a b c|unload|enforce|shadow|lists a b|feeds known a b|add|del|disallow|batch|batch a b|"
	     "follow|fleet forget a b|announce a|guards a|confirm a|detect limit syn 5 6|test|replay|set|compare a|"
	     "compare a b c|save|save a b|state|state recover a b|load --image a b|status a|top a|stats a|report a|"
	     "events a|watch a|metrics a|show a|run a|tune a|rotate a|flush a|restore a|capture a",
	     false);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "as many as it takes", enough },
						  { "one too few, or too many", otherwise } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
