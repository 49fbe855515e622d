// SPDX-License-Identifier: GPL-2.0-only
/* Verbs: which of a table a line calls, with which options and operands it runs, and what is said where they are wrong.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ktap.h"
#include "used_stack.h"

static char failed[200];

__attribute__((format(printf, 1, 2))) static int given_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(failed, sizeof(failed), fmt, args);
	va_end(args);
	return EXIT_ERROR;
}

#define fail given_fail
#include "base/verb.c"

struct own {
	const char *as;
	bool all;
};

static const struct option_spec own[] = {
	{ .name = "as", .letter = 'a', .type = OPTION_TEXT, .target = offsetof(struct own, as) },
	{ .name = "all", .type = OPTION_SWITCH, .target = offsetof(struct own, all) },
	OPTIONS_END(struct own),
};

static char ran[200];

static int runs(const struct call *call)
{
	const struct own *o = call->options;
	size_t n = 0;

	if (call->verb->options)
		n = (size_t)snprintf(ran, sizeof(ran), "%s as %s%s%s:", call->verb->name, o->as ?: "-",
				     o->all ? ", all" : "", call->context->json ? ", JSON" : "");
	else
		n = (size_t)snprintf(ran, sizeof(ran), "%s:", call->verb->name);
	for (int i = 0; i < call->n; i++)
		n += (size_t)snprintf(ran + n, sizeof(ran) - n, " %s", call->operands[i]);
	return 5;
}

static const struct verb table[] = {
	{ .name = "show",
	  .options = own,
	  .least = 1,
	  .most = 2,
	  .run = runs,
	  .flags = VERB_NAMES_LIST,
	  .also = "print" },
	{ .name = "show", .with = "ports", .run = runs },
	{ .name = "del", .most = VERB_MANY, .asks = "name something", .least = 1, .run = runs, .also = "rm remove" },
	{ .name = "bare", .asks = "it takes nothing", .run = runs },
	{ 0 },
};

/* The words of a line, which may be put in another order. */
static struct words split(const char *line)
{
	struct words w;
	const char *fault = words_split(&w, line);

	if (fault)
		abort();
	return w;
}

static void found(void)
{
	static const struct {
		const char *line;
		int is; /* -1: none */
	} cases[] = {
		{ "show", 0 },
		{ "show --ports", 1 },
		{ "show --ports=eth0", 1 },
		{ "show a --ports", 1 },
		{ "show -- --ports", 0 },
		{ "show --port", 0 },
		{ "show ports", 0 },
		{ "show xxports", 0 },
		{ "show --all", 0 },
		{ "del", 2 },
		{ "sho", -1 },
		{ "shows", -1 },
		{ "show -xports", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct words w = split(cases[i].line);
		const struct verb *v = verb_find(table, &w);

		CHECK(v == (cases[i].is < 0 ? NULL : &table[cases[i].is]), "'%s' is %td", cases[i].line,
		      v ? v - table : -1);
		words_free(&w);
	}
}

static void nearest(void)
{
	static const char *const typed[][2] = {
		{ "shw", "show" }, { "bar", "bare" }, { "rm", "del" }, { "print", "show" }, { "zzz", "" }
	};

	for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
		struct nearest n = { .word = typed[i][0] };

		verb_nearest(table, &n);
		CHECK(!strcmp(n.name, typed[i][1]), "'%s' is '%s'", typed[i][0], n.name);
	}
}

static void run(void)
{
	static const struct {
		int verb, status;
		const char *line, *ran, *failed;
	} cases[] = {
		{ 0, 5, "show a", "show as -: a", "" },
		{ 0, 5, "show a b", "show as -: a b", "" },
		{ 0, 5, "show --as x a --all", "show as x, all: a", "" },
		{ 0, 5, "show --json a", "show as -, JSON: a", "" },
		{ 0, 5, "show -- --all", "show as -: --all", "" },
		{ 0, 2, "show a b c", "", "show: takes no 'c'; see xdp-bloom help show" },
		{ 0, 2, "show --as", "", "" }, /* the options say what is wrong */
		{ 2, 5, "del a b c", "del: a b c", "" },
		{ 2, 2, "del", "", "del: name something" },
		{ 3, 5, "bare", "bare:", "" },
		{ 3, 2, "bare x", "", "bare: takes no 'x'; it takes nothing" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct context context = CONTEXT_DEFAULT;
		struct words w = split(cases[i].line);
		int status;

		ran[0] = failed[0] = '\0';
		use_stack();
		status = verb_run(&table[cases[i].verb], &context, &w);
		CHECK(status == cases[i].status && !strcmp(ran, cases[i].ran) && !strcmp(failed, cases[i].failed),
		      "'%s': %d, '%s', '%s'", cases[i].line, status, ran, failed);
		words_free(&w);
	}
}

static void operands(void)
{
	static const struct {
		const char *line, *list, *all;
	} cases[] = {
		{ "show a b", "a", "a b " },	      { "show @a", "a", "@a " },
		{ "show --as x a", "a", "a " },	      { "show --as=x a", "a", "a " },
		{ "show --all --json b", "b", "b " }, { "show", NULL, "" },
		{ "show --as x", NULL, "" },	      { "show a b c d", "a", "a b c " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct words w = split(cases[i].line);
		const char *some[4] = { NULL, NULL, NULL, "untouched" }, *list = verb_list(&table[0], &w);
		char all[100] = "";
		int n = verb_operands(&table[0], &w, some, 3);

		CHECK(cases[i].list ? list && !strcmp(list, cases[i].list) : !list, "'%s': '%s'", cases[i].line,
		      list ?: "none");
		CHECK(!verb_list(&table[2], &w), "'%s' names a list", cases[i].line);
		for (int k = 0; k < n; k++)
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ", some[k]);
		CHECK(!strcmp(all, cases[i].all) && !strcmp(some[3], "untouched"), "'%s': '%s'", cases[i].line, all);
		words_free(&w);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "which verb it is", found },
		{ "which was meant", nearest },
		{ "with what it runs", run },
		{ "operands", operands },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
