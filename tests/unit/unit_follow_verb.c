// SPDX-License-Identifier: GPL-2.0-only
/* follow: what each way of it takes, by default and as it is said, and what it ends with; word for word. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/stdin.h"
#include "change/change.h"
#include "change/load.h"
#include "feeds/crowdsec.h"
#include "feeds/door.h"
#include "feeds/follow.h"
#include "feeds/routes.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_follow_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_follow_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int ends_with;
static bool input_taken;

static int given_end(void)
{
	return ends_with < 0 ? because(ends_with, "it was not to be") : ends_with;
}

static int given_routes(struct context *context, const struct routes_options *o)
{
	(void)context;
	printf("  table %u, family %d, types %llx, list %s%s%s, grace %lld\n", o->wish.table, o->wish.family,
	       (unsigned long long)o->wish.types, o->list ?: "of the table", o->shadow ? ", shadow" : "",
	       o->wide ? ", wide" : "", (long long)o->grace);
	return given_end();
}

static int given_crowdsec(struct context *context, const struct crowdsec_options *o)
{
	(void)context;
	printf("  %s, key %s, of %s, every %g%s%s\n", o->url, o->key_file, o->user ?: "root", o->every,
	       o->insecure ? ", insecure" : "", o->lan ? ", lan" : "");
	return given_end();
}

static int given_door(struct context *context, const char *path, const char *group)
{
	(void)context;
	printf("  %s for %s\n", path ?: "the usual one", group ?: "root");
	return given_end();
}

static int given_lines(struct context *context, const char *path, char *const *command)
{
	(void)context;
	printf("  lines of %s:", path);
	for (; command && *command; command++)
		printf(" %s", *command);
	puts("");
	return given_end();
}

static int given_input(const struct context *context)
{
	(void)context;
	puts("  takes the input");
	return input_taken ? because(-EBUSY, "another reads it") : 0;
}

#define follow_routes		given_routes
#define follow_crowdsec		given_crowdsec
#define follow_door		given_door
#define follow_lines		given_lines
#define standard_input		given_input
#define change_check(of, words) ((void)(of), puts((words) ? "  a check of words?" : "  is it a check"))
#include "verbs/follow.c"

static void anew(void)
{
	ends_with = 0;
	input_taken = false;
}

static void ways(void)
{
	static const char *const each[] = {
		"follow",
		"follow routes",
		"follow routes --table 666",
		"follow routes --table 1",
		"follow routes --table 0",
		"follow routes --table 4294967295",
		"follow routes --table 4294967296",
		"follow routes --table 7 more",
		"follow routes --table 7 --family 4",
		"follow routes --table 7 --family 6",
		"follow routes --table 7 --family 5",
		"follow routes --table 7 --family 3",
		"follow routes --table 7 --family 7",
		"follow routes --table 7 --type blackhole",
		"follow routes --table 7 --type unreachable",
		"follow routes --table 7 --type prohibit",
		"follow routes --table 7 --type prohibit,blackhole,unreachable",
		"follow routes --table 7 --type prohibit --type blackhole",
		"follow routes --table 7 --type prohibi",
		"follow routes --table 7 --type prohibits",
		"follow routes --table 7 --type prohibit,",
		"follow routes --table 7 --type ''",
		"follow routes --table 7 --name mine --shadow",
		"follow routes --table 7 --name 'a b'",
		"follow routes --table 7 --wide --grace 1s",
		"follow routes --table 7 --grace 0",
		"follow crowdsec",
		"follow crowdsec --key-file k",
		"follow crowdsec --key-file k more",
		"follow crowdsec --key-file k --url https://h --interval 0.1 --lan --insecure --agent-user u",
		"follow crowdsec --key-file k --interval 0.09",
		"follow socket",
		"follow socket /a/socket",
		"follow socket /a/socket --group staff",
		"follow socket /a/socket more",
		"follow -",
		"follow - more",
		"follow a-file",
		"follow a-file more",
		"follow exec",
		"follow exec cat",
		"follow exec -- cat -n more",
	};
	static const int ends[] = { 0, 1, -EIO };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		typed(each[i]);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		ends_with = ends[i];
		printf("-- %d\n", i < 2 ? ends_with : -1);
		if (ends_with <= 0)
			typed("follow routes --table 7");
		typed("follow crowdsec --key-file k");
		typed("follow socket");
		typed("follow a-file");
	}
	ends_with = 0;
	input_taken = true;
	typed("follow -");
	typed("follow a-file");
}

/* Each option with each way: whose it is. */
static void options(void)
{
	static const char *const names[] = { "routes --table 7", "crowdsec --key-file k",
					     "socket",		 "a-file",
					     "exec cat",	 "-" };
	static const char *const each[] = { "--family 4", "--type prohibit", "--name n",       "--grace 1s",
					    "--shadow",	  "--wide",	     "--url u",	       "--interval 1",
					    "--lan",	  "--insecure",	     "--agent-user u", "--group g" };
	char line[100];

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++) {
			snprintf(line, sizeof(line), "follow %s %s", each[i], names[j]);
			typed(line);
		}
	typed("follow --table 7 a-file");
	typed("follow --key-file k a-file");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "ways", ways }, { "options", options } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
