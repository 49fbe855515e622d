// SPDX-License-Identifier: GPL-2.0-only
#include "base/verb.h"

#include <stddef.h>
#include <string.h>

#include "base/log.h"

static bool has_option(const struct words *words, const char *name)
{
	size_t length = strlen(name);

	for (int i = 1; i < words->n && strcmp(words->words[i], "--"); i++)
		if (!strncmp(words->words[i], "--", 2) && !strncmp(words->words[i] + 2, name, length))
			return true;
	return false;
}

const struct verb *verb_find(const struct verb *table, const struct words *words)
{
	const struct verb *found = NULL;

	for (; table->name; table++)
		if (!strcmp(words->words[0], table->name) && (!table->with || has_option(words, table->with)))
			found = table;
	return found;
}

void verb_nearest(const struct verb *table, struct nearest *near)
{
	for (; table->name; table++) {
		nearest_try(near, table->name);
		nearest_try_also(near, table->also, table->name);
	}
}

int verb_run(const struct verb *verb, struct context *context, const struct words *words)
{
	size_t size = options_size(verb->options);
	_Alignas(max_align_t) char options[size + 1]; /* some verbs have none */
	struct call call = { verb, context, options, words->n, words->words + 1 };

	memset(options, 0, size);
	if (options_read(context, verb->options, options, &call.n, words->words))
		return EXIT_ERROR;
	call.n--;
	if (call.n >= verb->least && call.n <= verb->most)
		return verb->run(&call);
	if (verb->asks && verb->most)
		return fail("%s: %s", verb->name, verb->asks);
	return fail("%s: takes no '%s'; %s%s", verb->name, call.operands[verb->most],
		    verb->asks ? verb->asks : "see xdp-bloom help ", verb->asks ? "" : verb->name);
}

const char *verb_list(const struct verb *verb, const struct words *words)
{
	const char *list;

	/* '@' is for a feed that gives the list its name. */
	return verb->flags & VERB_NAMES_LIST && verb_operands(verb, words, &list, 1) ? list + (*list == '@') : NULL;
}

int verb_operands(const struct verb *verb, const struct words *words, const char **operands, int most)
{
	int n = 0, taken;

	for (int i = 1; i < words->n && n < most; i += taken ? taken : 1) {
		taken = option_words(verb->options, words->words[i]);
		if (!taken)
			operands[n++] = words->words[i];
	}
	return n;
}
