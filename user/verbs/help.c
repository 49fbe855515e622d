// SPDX-License-Identifier: GPL-2.0-only
/* help, and what completions ask for: all of it from the one table of verbs */
#include <ctype.h>
#include <net/if.h>
#include <unistd.h>

#include "sets/address.h"
#include "verbs/verbs.h"

#define MANY	  13 /* options: the empty line before them would not fit on a terminal */
#define VERY_MANY 15 /* nor the one before the text */
#define WIDTH	  79 /* of a terminal's 80, so that no line is wrapped there */

/* Words with a blank between them; a line that is full goes on below, as far in as the text begins. */
static int put_word(int column, int indent, const char *word, size_t length)
{
	if (column > indent && column + 1 + (int)length > WIDTH)
		column = printf("\n%*s", indent, "") - 1;
	return column + printf("%s%.*s", column > indent ? " " : "", (int)length, word);
}

static size_t options_count(const struct option_spec *o)
{
	size_t n = 0;

	while (o && o[n].name)
		n++;
	return n;
}

/* As sentences: the first letter a capital, a full stop behind each. */
static void put_sentences(const char *before, const char *does, const char *more, const char *behind)
{
	char text[1024];
	int column = 0;

	printf("%s", before);
	snprintf(text, sizeof(text), "%s.%s%s", does, more ? " " : "", more ? more : "");
	text[0] = (char)toupper((unsigned char)text[0]);
	for (size_t n, at = 0; text[at]; at += n + strspn(text + at + n, " ")) {
		n = strcspn(text + at, " ");
		column = put_word(column, 0, text + at, n);
	}
	printf("\n%s", behind);
}

int verbs_help(void)
{
	static const int indent = 23;
	int column = 0;

	printf("usage: xdp-bloom [OPTIONS] VERB [ARGUMENTS]     xdp-bloom help VERB says more\n");
	for (const struct verb *v = verbs; v->name; v++) {
		if (v->group)
			column = printf("\n  %-*s", indent - 2, v->group) - 1;
		if (!v->with)
			column = put_word(column, indent, v->name, strlen(v->name));
	}
	puts("\n\noptions of every verb:");
	options_help(options_common, NULL);
	puts("  -V, --version;  -h, --help");
	return out_end();
}

/* Two verbs of one name: of the second, the options that the first has not. */
int verb_help(const char *name)
{
	const struct option_spec *before = NULL;

	for (const struct verb *v = verbs; v->name; v++) {
		if (strcmp(v->name, name) != 0)
			continue;
		printf("%s xdp-bloom %s%s%s%s\n", before ? "or:   " : "usage:", name, v->operands ? " " : "",
		       v->operands ? v->operands : "", v->options ? " [OPTIONS]" : "");
		if (!before)
			put_sentences(options_count(v->options) > VERY_MANY ? "" : "\n", v->does, v->more,
				      options_count(v->options) > MANY ? "" : "\n");
		options_help(v->options, before);
		before = v->options;
	}
	printf("%s-j and others that every verb takes: xdp-bloom help\nexamples:\n", before ? "  " : "options: ");
	for (const struct verb *v = verbs; v->name; v++)
		for (size_t i = 0; i < 2 && !strcmp(v->name, name) && v->examples[i]; i++)
			printf("  xdp-bloom %s\n", v->examples[i]);
	return out_end();
}

const char *verb_meant(struct nearest *near, const char *otherwise)
{
	struct addr addr;
	unsigned int length;

	if (!prefix_parse(near->word, strlen(near->word), &addr, &length))
		return " (to ban it: add; to ask about it: test)";
	if (if_nametoindex(near->word))
		return " (to filter there: attach)";
	if (!strcmp(near->word, "xdp-bloom"))
		return ": a line begins with the verb";
	nearest_try_also(near, "version -version -v", "--version");
	verb_nearest(verbs, near);
	if (!near->name[0] && !access(near->word, F_OK))
		return " (to read a list: load NAME FILE)";
	return nearest_text(near, otherwise);
}

int verbs_list(const char *name)
{
	for (const struct verb *v = verbs; v->name; v++) {
		if (!name && !v->with)
			puts(v->name);
		if (!name || strcmp(v->name, name) != 0)
			continue;
		if (v->completes)
			printf("\t%s\n", v->completes);
		options_list(v->options);
	}
	options_list(options_common);
	return out_end();
}
