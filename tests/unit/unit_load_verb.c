// SPDX-License-Identifier: GPL-2.0-only
/* load: which options a list gets, anew or as it had them, and what is said of what was loaded; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change/load.h"
#include "sets/bogons.h"
#include "state/feeds.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_load_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_load_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int load_err, open_err, get_err, held;
static bool no_memory;
static struct loaded result;
static struct feed feed;

static int given_load(struct context *context, const struct load_options *o, const char *name, const char *path,
		      struct loaded *loaded)
{
	char scope[SCOPE_TEXT_MAX] = "";

	(void)context;
	scope_text(scope, &o->scope);
	printf("  '%s' from '%s': kind %d, bogons %d, format %s%s, where '%s', only '%s'\n", name, path, o->kind,
	       o->bogons, o->reading.format ?: "-", o->reading.skip_bad ? ", skips" : "", o->reading.where, scope);
	printf("  %s%s%s%s%s%s%sconfirm %g\n", o->force ? "force " : "", o->ban_own ? "own " : "",
	       o->big_change ? "big " : "", o->wide ? "wide " : "", o->dry_run ? "dry " : "",
	       o->if_changed ? "if changed " : "", o->spare ? "spares " : "", o->confirm.given ? o->confirm.value : -1);
	printf("  every %g, age %g, then %d%s%s, key %s, headers %s%s\n", o->feed.every.value, o->feed.max_age.value,
	       o->feed.then, o->feed.insecure ? ", insecure" : "", o->feed.lan ? ", lan" : "", o->feed.key ?: "-",
	       o->feed.header_file ?: "-", o->feed.again ? ", again" : "");
	*loaded = result;
	snprintf(loaded->list.name, LIST_NAME_MAX, "%s", name);
	held++;
	return load_err ? because(load_err, "it was not to be") : 0;
}

static void given_free(struct loaded *loaded)
{
	(void)loaded;
	held--;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context, (void)change;
	*state = NULL;
	return open_err ? because(open_err, "it cannot be opened") : 0;
}

static int given_feed(struct state *state, const char *list, struct feed *to)
{
	(void)state;
	*to = feed;
	snprintf(to->list, LIST_NAME_MAX, "%s", list);
	return get_err ? because(get_err, "it cannot be read") : 0;
}

#define load_list	given_load
#define loaded_free	given_free
#define state_open	given_open
#define state_close(of) ((void)(of))
#define state_feed_get	given_feed
#define out_done(of)	(puts((of)->unchanged ? "  nothing has changed" : "  done"), EXIT_DONE)
#define calloc(n, size) (no_memory && ((n) == 1) == (open_err == 77) ? NULL : calloc(n, size))
#include "verbs/load.c"
#undef calloc

static void anew(void)
{
	load_err = open_err = get_err = 0;
	no_memory = false;
	ranges_free(&result.set);
	memset(&result, 0, sizeof(result));
	if (ranges_add4(&result.set, 0x2d000000, 0x2d0000ff) || ranges_finish(&result.set))
		abort();
	result.list.prefixes = 1;
	result.list.kind = LIST_BAN;
	strcpy(result.list.addresses, "256");
	result.read.format = "plain";
	result.read.lines = 7;
	result.read.entries = 6;
	result.read.duplicates = 2;
	result.read.merged = 3;
	memset(&feed, 0, sizeof(feed));
	strcpy(feed.url, "https://h/list");
}

static void types(const char *line)
{
	held = 0;
	typed(line);
	if (held)
		printf("  not given back: %d\n", held);
}

static void both(const char *line)
{
	char json[200];

	types(line);
	snprintf(json, sizeof(json), "%s --json", line);
	types(json);
}

static void options(void)
{
	static const char *const each[] = {
		"load drop file",
		"load",
		"load drop file more",
		"load drop file --allow",
		"load drop file --shadow",
		"load drop file --trust",
		"load drop file --allow --trust",
		"load drop file --format csv --skip-bad --where 'a = b' --where 'c = d'",
		"load drop file --format none",
		"load drop file --only tcp/22 --to 10.0.0.0/8",
		"load drop file --dry-run --confirm 1m",
		"load drop file --force --ban-own --big-change --wide --if-changed",
		"load drop file --spare",
		"load drop file --bogons keep",
		"load drop file --bogons refuse",
		"load drop file --bogons other",
		"load drop https://h/x --every 6h --max-age 2d --then shadow --insecure --lan --key K --header-file F",
		"load drop https://h/x --every 5m --then drop",
		"load drop https://h/x --every 299",
		"load @feed",
		"load @feed --dry-run",
		"load drop @feed",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		types(each[i]);
}

static void again(void)
{
	static const char *const each[] = {
		"load drop",
		"load drop --force --ban-own --big-change --wide --dry-run --if-changed --spare --confirm 1m",
		"load drop --only udp",
		"load drop --allow --format csv --every 6h --key K",
		"load drop --allow",
		"load drop --shadow",
		"load drop --trust",
		"load drop --bogons keep",
		"load drop --format csv",
		"load drop --where a=b",
		"load drop --skip-bad",
		"load drop --key K",
		"load drop --insecure",
		"load drop --lan",
		"load drop --header-file F",
		"load drop --every 6h",
		"load drop --max-age 2d",
		"load drop --then drop",
	};

	for (int how = 0; how < 2; how++) {
		for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
			types(each[i]);
		strcpy(feed.options, "--format csv --where 'a = b' --only tcp/22 --bogons keep --shadow --wide");
		strcpy(feed.key, "key");
		strcpy(feed.headers, "headers");
		feed.insecure = feed.lan = true;
		feed.every = 3600;
	}
	strcpy(feed.options, "'");
	types("load drop");
	strcpy(feed.options, "--none");
	types("load drop");
	feed.options[0] = '\0';
	get_err = -ENOENT;
	types("load drop");
	get_err = -EIO;
	types("load drop");
	get_err = 0;
	open_err = -EBUSY;
	types("load drop");
	no_memory = true;
	open_err = 0;
	types("load drop");
	open_err = 77;
	types("load drop");
}

static void said(void)
{
	both("load drop file");
	types("load drop file --quiet");
	both("load drop file --dry-run");
	types("load drop file --confirm 90s");
	types("load drop file --confirm 90s --dry-run");
	result.replaces = true;
	result.added4 = 1;
	result.removed4 = 22;
	result.kept4 = 333;
	result.read.bad = 5;
	result.read.masked = 9;
	result.every = 3600;
	strcpy(result.signed_comment, "by them");
	strcpy(result.list.scope, "tcp/22");
	both("load drop file");
	types("load drop file --dry-run");
	result.added6 = 4;
	result.removed6 = 55;
	result.kept6 = 666;
	both("load drop file");
	types("load drop");
	result.replaces = false;
	if (ranges_add6(&result.set, 1, 2) || ranges_finish(&result.set))
		abort();
	for (size_t i = 0; i < bogon_table_n; i += bogon_table_n - 1)
		result.bogons_found[i] = true;
	both("load drop file");
	memset(result.bogons_found, 1, sizeof(result.bogons_found));
	types("load drop file --json");
	result.list.prefixes = 0;
	both("load drop file");
	load_err = -EALREADY;
	both("load drop file");
	load_err = -EIO;
	both("load drop file");
	strcpy(result.left_out, "192.0.2.1, somebody who is connected");
	types("load drop file");
	load_err = -EALREADY;
	types("load drop file");
	load_err = 0;
	result.replaces = false;
	memset(result.bogons_found, 0, sizeof(result.bogons_found));
	types("load drop file");
	types("load drop file --dry-run");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "options", options }, { "again", again }, { "what is said", said } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
	ranges_free(&result.set);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
