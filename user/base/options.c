// SPDX-License-Identifier: GPL-2.0-only
#include "base/options.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/errand.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/span.h"

#define OPTIONS_MAX  40
#define WORDS_MAX    64
#define FIRST	     256 /* getopt's number of the first: beyond all letters */
#define WAIT_MOST    86400
#define TIME_LONGEST (366.0 * 86400)

const char *const option_on_off[] = { "on", "off", NULL };
static const char *const log_words[] = { "text", "json", NULL };

static int read_wait(const struct option_spec *o, void *target, const char *value)
{
	double seconds = span_seconds(value);

	if (!(seconds >= 0 && seconds <= WAIT_MOST) || fmod(seconds, 1) != 0)
		return fail("--%s takes 0 or " SPAN_EXAMPLES ", a day at most, not '%s'", o->name, value);
	*(long *)target = (long)seconds;
	return 0;
}

static int read_check(const struct option_spec *o, void *target, const char *value)
{
	(void)o;
	*(enum check *)target = strcmp(value, "words") ? CHECK_FILES : CHECK_WORDS;
	return 0;
}

#define AT(member) .target = offsetof(struct context, member)

const struct option_spec options_common[] = {
	{ "json", 'j', AT(json), .does = "one JSON document", .also = "--format --output -o" },
	{ "pretty", 'p', AT(pretty), .does = "the same, indented" },
	{ "quiet", 'q', AT(quiet), .does = "no warnings" },
	{ "verbose", 'v', AT(verbose), .does = "say what is done" },
	{ "state", 'S', .for_all = true, .type = OPTION_DIRECTORY, AT(state), .value = "DIR",
	  .does = "where lists are kept (/var/lib/xdp-bloom)" },
	{ "bpffs", 'B', .for_all = true, .type = OPTION_DIRECTORY, AT(bpffs), .value = "DIR",
	  .does = "where its pins are (/sys/fs/bpf/xdp-bloom)" },
	{ "log", .for_all = true, .type = OPTION_WORD, AT(log), .words = log_words,
	  .does = "how errors and warnings are written" },
	{ "check", .for_all = true, .optional = true, .type = OPTION_READ, AT(check), .read = read_check,
	  .does = "see whether the command is right; touch nothing", .also = "--dry-run --dryrun --test" },
	{ "wait", .for_all = true, .type = OPTION_READ, AT(wait), .read = read_wait, .value = "TIME",
	  .does = "how long to wait for another command (60s)" },
	{ 0 },
};

void options_log(const struct context *context)
{
	log_settings = (struct log_settings){ context->quiet && !context->warns, context->verbose, context->log == 2,
					      context->log };
}

/* "a, b or c" */
static const char *alternatives(char buf[256], const char *const *words)
{
	size_t n = 0;

	for (int i = 0; words[i] && n < 256; i++)
		n += (size_t)snprintf(buf + n, 256 - n, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
	return buf;
}

static int read_word(const struct option_spec *o, void *target, const char *value)
{
	struct nearest near = { .word = value };
	char buf[256];

	for (int i = 0; o->words[i]; i++) {
		nearest_try(&near, o->words[i]);
		if (!strcmp(o->words[i], value)) {
			*(int *)target = i + 1;
			return 0;
		}
	}
	return fail("--%s is %s, not '%s'%s", o->name, o->wants ? o->wants : alternatives(buf, o->words), value,
		    nearest_text(&near, ""));
}

static int number_or(const char * or, const char *name, const char *value, double lowest, double highest,
		     double *number)
{
	char *end;

	*number = strtod(value, &end);
	if (end == value || *end || !(*number >= lowest && *number <= highest))
		return fail("--%s takes a number from %g to %g, %snot '%s'", name, lowest, highest, or, value);
	return 0;
}

int option_number(const char *name, const char *value, double lowest, double highest, double *number)
{
	return number_or("", name, value, lowest, highest, number);
}

int option_rate(const char *name, const char *value, double lowest, double highest, double *rate)
{
	*rate = 0;
	return strcmp(value, "auto") ? number_or("or auto, ", name, value, lowest, highest, rate) : 0;
}

int option_bytes(const char *name, const char *value, double *bytes)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;

	*bytes = strtod(value, &end);
	unit = *end ? strchr(units, *end) : NULL;
	for (int i = 0; unit && i <= unit - units; i++)
		*bytes *= 1024;
	if (end == value || (*end && (!unit || end[1])) || !(*bytes == 0 || (*bytes >= 1 && *bytes <= 1e18)))
		return fail("--%s takes bytes, such as 64M, not '%s'", name, value);
	return 0;
}

static int read_number(const struct option_spec *o, struct number *target, const char *value)
{
	const char *wants = o->wants ? o->wants : o->type == OPTION_BYTES ? "bytes, such as 64M" : SPAN_EXAMPLES;
	bool time = o->type == OPTION_TIME || o->type == OPTION_TIME_OR_0;
	double most = o->most > 0 ? o->most : time ? TIME_LONGEST : HUGE_VAL;
	double least = o->type == OPTION_TIME && !(o->least > 0) ? 1 : o->least;
	double number = 0;
	char *end = NULL, text[SPAN_TEXT_MAX], whole[80];

	if (o->type == OPTION_WHOLE && !o->wants) {
		snprintf(whole, sizeof(whole),
			 most < HUGE_VAL ? "a whole number from %.0f to %.0f" : "a whole number from %.0f on", least,
			 most);
		wants = whole;
	}
	if (o->type == OPTION_NUMBER && !o->wants && option_number(o->name, value, o->least, most, &number))
		return EXIT_ERROR;
	if (o->type == OPTION_BYTES && option_bytes(o->name, value, &number))
		return EXIT_ERROR;
	if (time)
		number = span_seconds(value);
	else if (o->type == OPTION_WHOLE)
		number = (double)strtol(value, &end, 10);
	else if (o->type == OPTION_NUMBER)
		number = strtod(value, &end);
	if (time && number > most)
		return fail("--%s takes no more than %s, not '%s'", o->name, span_text(text, (int64_t)most), value);
	/* Whole seconds, where less than one makes no sense. */
	if ((end && (end == value || *end)) || !(number >= least) || number > most ||
	    (time && !(least < 1 && least > 0) && fmod(number, 1) != 0))
		return fail("--%s takes %s, not '%s'", o->name, wants, value);
	*target = (struct number){ true, number };
	return 0;
}

static int read_one(const struct option_spec *o, void *options, const char *value)
{
	void *target = (char *)options + o->target;

	switch (o->type) {
	case OPTION_SWITCH:
		*(bool *)target = true;
		return 0;
	case OPTION_KIND:
		if (*(int *)target && *(int *)target != (int)o->least)
			return fail("--%s does not go together with %s", o->name, o->wants);
		*(int *)target = (int)o->least;
		return 0;
	case OPTION_TEXT:
	case OPTION_FILE:
	case OPTION_DIRECTORY:
		*(const char **)target = value;
		return !o->most || (double)strlen(value) <= o->most
			       ? 0
			       : fail("--%s takes at most %.0f bytes", o->name, o->most);
	case OPTION_WORD:
		return read_word(o, target, value);
	case OPTION_READ:
		return o->read(o, target, value);
	default:
		return read_number(o, target, value);
	}
}

static int has_value(const struct option_spec *o)
{
	return o->type <= OPTION_KIND ? no_argument : o->optional ? optional_argument : required_argument;
}

/* Both tables as getopt_long() takes them; `of`: the option of each of its numbers and letters. */
struct grammar {
	struct option names[OPTIONS_MAX + 1];
	const struct option_spec *of[FIRST + OPTIONS_MAX];
	char letters[2 * OPTIONS_MAX];
	int n;
};

static void add_grammar(struct grammar *g, const struct option_spec *options)
{
	size_t length = strlen(g->letters);

	for (const struct option_spec *o = options; o && o->name && g->n < OPTIONS_MAX; o++, g->n++) {
		g->names[g->n] = (struct option){ o->name, has_value(o), NULL, FIRST + g->n };
		g->of[FIRST + g->n] = o;
		if (!o->letter)
			continue;
		g->of[(unsigned char)o->letter] = o;
		g->letters[length++] = o->letter;
		if (has_value(o))
			g->letters[length++] = ':';
	}
}

/* The option of that name, which may have "=VALUE" behind it; where there is no name, of that letter. */
static const struct option_spec *find(const struct option_spec *options, const char *name, char letter)
{
	for (const struct option_spec *o = options; o && o->name; o++)
		if (name ? !strncmp(o->name, name, strcspn(name, "=")) : o->letter == letter)
			return o;
	return NULL;
}

static void try_options(struct nearest *near, const struct option_spec *options)
{
	char name[NEAREST_MAX];

	for (const struct option_spec *o = options; o && o->name; o++) {
		if (o->hidden)
			continue;
		snprintf(name, sizeof(name), "--%s", o->name);
		nearest_try(near, name);
		nearest_try_also(near, o->also, name);
	}
}

/* The word that getopt_long() stopped in: within one of several letters it has not gone on to the next. */
static const char *bad_word(int argc, char **argv)
{
	const char *word = optind < argc ? argv[optind] : "";

	return optopt && word[0] == '-' && word[1] != '-' && strchr(word, optopt) ? word : argv[optind - 1];
}

static bool find_exactly(const struct option_spec *options, const char *name)
{
	for (; options && options->name; options++)
		if (!strcmp(options->name, name))
			return true;
	return false;
}

static int bad_option(int c, const struct option_spec *own, int argc, char **argv)
{
	const char *word = c == ':' ? argv[optind - 1] : bad_word(argc, argv);
	struct nearest near = { 0 };
	char name[NEAREST_MAX], otherwise[NEAREST_MAX];

	if (c == ':')
		return fail("%s: option '%s' needs a value", argv[0], word);
	if (optopt >= FIRST)
		return fail("%s: '%s': this option takes no value", argv[0], word);
	/* "-ttl" is a slip, too. */
	snprintf(name, sizeof(name), "%s%.*s", word[1] == '-' || !word[1] || !word[2] ? "" : "-",
		 (int)strcspn(word, "="), word);
	near.word = name;
	option_nearest(&near, own);
	snprintf(otherwise, sizeof(otherwise), "; see xdp-bloom help %.20s", argv[0]);
	return fail("%s: unknown option '%s'%s", argv[0], word, nearest_text(&near, otherwise));
}

int options_read(struct context *context, const struct option_spec *own, void *target, int *argc, char **argv)
{
	const char *state = context->state, *bpffs = context->bpffs;
	struct grammar g = { .letters = ":" };
	const struct option_spec *o;
	int c, operands = 1;

	add_grammar(&g, options_common);
	add_grammar(&g, own);
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(*argc, argv, g.letters, g.names, NULL)) != -1) {
		bool common;

		if (c == '?' || c == ':')
			return bad_option(c, own, *argc, argv);
		o = g.of[c];
		if (context->line && o->for_all)
			return fail("--%s stands on the command line, not in a file of commands", o->name);
		common = find(options_common, o->name, 0) == o;
		if (read_one(o, common ? (void *)context : target, optarg ? optarg : ""))
			return EXIT_ERROR;
		options_log(context); /* messages about the next option follow it */
	}
	context->json = context->json || context->pretty;
	/* A line of a file prints nothing: it is carried out with all others, or not at all. */
	if (context->line)
		context->json = context->pretty = false;
	/* Another process has found this one by them. */
	if (errand.here) {
		context->state = state;
		context->bpffs = bpffs;
	}
	options_log(context);
	for (int i = optind; i < *argc; i++)
		argv[operands++] = argv[i];
	argv[operands] = NULL;
	*argc = operands;
	return 0;
}

/* Of several letters in one word, the first with a value, or else the last. */
static const struct option_spec *option_of(const struct option_spec *own, const char *word)
{
	const struct option_spec *o = NULL;

	if (word[0] != '-' || !word[1] || !strcmp(word, "--"))
		return NULL;
	if (word[1] == '-')
		return find(own, word + 2, 0) ?: find(options_common, word + 2, 0);
	for (const char *letter = word + 1; *letter && (!o || !has_value(o)); letter++) {
		o = find(own, NULL, *letter) ?: find(options_common, NULL, *letter);
		if (!o)
			return NULL;
	}
	return o;
}

size_t options_size(const struct option_spec *options)
{
	while (options && options->name)
		options++;
	return options ? options->target : 0;
}

int option_words(const struct option_spec *own, const char *word)
{
	const struct option_spec *o = option_of(own, word);
	bool inside;

	if (word[0] != '-' || !word[1])
		return 0;
	inside = word[1] == '-' ? strchr(word, '=') != NULL : o && word[strlen(word) - 1] != o->letter;
	return o && has_value(o) == required_argument && !inside ? 2 : 1;
}

bool option_is_common(const char *word)
{
	return option_of(NULL, word);
}

bool option_is_of(const struct option_spec *own, const char *word)
{
	return !strncmp(word, "--", 2) && find_exactly(own, word + 2);
}

void option_nearest(struct nearest *near, const struct option_spec *own)
{
	try_options(near, own);
	try_options(near, options_common);
}

int options_help(const struct option_spec *options, const struct option_spec *before)
{
	int lines = 0, n = 0;

	for (const struct option_spec *o = options; o && o->name; o++) {
		if (o->hidden || find_exactly(before, o->name))
			continue;
		printf(n ? ", " : o->letter ? "  -%c, " : "      ", o->letter);
		n += 2 * !!n + printf("--%s", o->name);
		n += has_value(o) == required_argument ? printf(" %s", o->value ? o->value : "") : 0;
		if (!o->value && o->words)
			for (int i = 0; o->words[i]; i++)
				n += printf("%s%s", i ? "|" : "", o->words[i]);
		if (!o->does)
			continue;
		printf("%*s %s\n", n < 20 ? 20 - n : 0, "", o->does);
		n = 0;
		lines++;
	}
	return lines;
}

/* "watch|police|ban" are words to choose from; of N|default the second is one. NULL: it says nothing that helps. */
static const char *words_of_value(const struct option_spec *o, char text[WORDS_MAX])
{
	char value[WORDS_MAX], *at = value, *word;
	bool others = false;
	size_t n = 0;

	if (o->value && !strcmp(o->value, "IFNAME"))
		return "<interface>";
	if (o->type != OPTION_TEXT || !o->value || !strchr(o->value, '|'))
		return NULL;
	snprintf(value, sizeof(value), "%s", o->value);
	while ((word = strsep(&at, "|")))
		if (islower((unsigned char)*word))
			n += (size_t)snprintf(text + n, WORDS_MAX - n, "%s ", word);
		else
			others = true;
	snprintf(text + n, WORDS_MAX - n, "%s", others ? "<value>" : "");
	return text;
}

void options_list(const struct option_spec *options)
{
	char text[WORDS_MAX];

	for (const struct option_spec *o = options; o && o->name; o++) {
		const char *const *words = o->words ? o->words : o->words_of ? o->words_of() : NULL;
		const char *takes = o->type == OPTION_FILE	  ? "<file>"
				    : o->type == OPTION_DIRECTORY ? "<directory>"
								  : "<value>";

		if (o->hidden)
			continue;
		if (o->letter && has_value(o))
			printf("-%c\t%s\n", o->letter, takes);
		printf("--%s", o->name);
		if (has_value(o) == required_argument)
			printf("\t%s", words ? "" : words_of_value(o, text) ?: takes);
		for (int i = 0; words && words[i]; i++)
			printf("%s%s", i ? " " : "", words[i]);
		putchar('\n');
	}
}
