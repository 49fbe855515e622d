// SPDX-License-Identifier: GPL-2.0-only
/* detect learn, attacks and suggest: what they take, what is kept, and what is printed; word for word. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/stop.h"
#include "base/trusted_dir.h"
#include "change/change.h"
#include "kernel/root.h"
#include "observe/attack_log.h"
#include "observe/learned.h"
#include "observe/senders_json.h"
#include "observe/suggest.h"
#include "state/limits.h"
#include "state/settings.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_detect_said.txt"
};

static struct shows shows = { .file = "tests/unit/unit_detect_said.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define DATE 1767225600 /* 2026-01-01T00:00:00Z */

static int calls, fails_at, held;
static int64_t from_is, until_is;
static const char *learned_is, *log_is;
static bool damaged, no_directory, no_rights;
static uint64_t missed;
static struct change the_change;

static int call(const char *what)
{
	bool fails = ++calls == fails_at;

	printf("  %s%s\n", what, fails ? ": fails" : "");
	return fails ? because(-EIO, "%s: it was not to be", what) : 0;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	return call(change ? "opens to change" : "opens the state");
}

static double given_setting(struct state *state, const char *name, double fallback)
{
	(void)state;
	return !strcmp(name, "learn_from")    ? (double)from_is
	       : !strcmp(name, "learn_until") ? (double)until_is
					      : fallback;
}

static int given_set(struct state *state, const char *name, double value)
{
	(void)state;
	printf("  %s: %.0f\n", name, value > 1e9 ? value - DATE : value);
	return call("is kept");
}

static int given_begin(struct change **change, struct context *context)
{
	*change = NULL;
	if (call("a change begins"))
		return because(-EIO, "it was not to be");
	the_change = (struct change){ .context = context };
	*change = &the_change;
	held++;
	return 0;
}

static int given_commit(struct change *change, const struct apply_options *options)
{
	(void)change;
	return call(options ? "commits, and builds" : "commits");
}

static int given_look(struct suggest *s, double seconds)
{
	printf("  looks for %g s, at one of %u\n", seconds, s->one_in);
	s->missed = missed;
	return call("looks");
}

static int given_senders(const struct senders *s, unsigned int one_in, json_t **object)
{
	(void)s;
	*object = json_pack("{s:i}", "senders of one in", (int)one_in);
	return call("who sends");
}

static void given_print(const struct context *context, const json_t *senders)
{
	char *text = json_dumps(senders, JSON_COMPACT);

	(void)context;
	printf("  senders %s\n", text ?: "of nobody");
	free(text);
}

static int given_access(const char *path, int how)
{
	(void)path;
	errno = how == F_OK ? ENOENT : EIO;
	return how == F_OK ? -no_directory : -no_rights;
}

#define state_open		 given_open
#define state_close(state)	 ((void)(state))
#define state_setting		 given_setting
#define state_settings_fault(of) (damaged ? because(-EUCLEAN, "a setting is none") : 0)
#define state_set		 given_set
#define change_begin		 given_begin
#define change_commit		 given_commit
#define change_end(change)	 (held -= (change) != NULL)
#define learned_read(of)	 (learned_is ? json_loads(learned_is, 0, NULL) : NULL)
#define print_senders		 given_print
#define time(to)		 ((void)(to), (time_t)DATE)
#define out_done(of)		 (puts("  done"), EXIT_DONE)
#define kernel_ready(of)	 (call("the kernel"))
#define suggest_look		 given_look
#define suggest_free(s)		 ((void)(s))
#define senders_json		 given_senders
#define stop_on(signal)		 printf("  ends by %d\n", signal)
#define trust_directory(path)	 (call("is it ours"))
#define access			 given_access
#define attack_log(of)		 (json_loads(log_is, 0, NULL))
#define change_check(of, words)	 ((void)(of), puts((words) ? "  a check of words?" : "  is it a check"))
#include "verbs/detect_learn.c"
#include "verbs/detect_attacks.c"
#include "verbs/detect_suggest.c"
#undef time
#undef access

static void anew(void)
{
	fails_at = 0;
	from_is = until_is = 0;
	learned_is = NULL;
	log_is = "[]";
	damaged = no_directory = no_rights = false;
	missed = 0;
}

/* True: a call failed, or would have. */
static bool does(const char *what, bool json, int (*verb)(const struct call *call))
{
	char *operands[4], text[100];
	struct context context = CONTEXT_DEFAULT;
	struct call of = { .context = &context, .operands = operands };
	int err = dup(STDERR_FILENO), status;

	snprintf(text, sizeof(text), "%s", what);
	for (char *at = strtok(text, " "); at; at = strtok(NULL, " "))
		operands[of.n++] = at;
	printf("$ %s%s\n", what, json ? ", JSON" : "");
	fflush(stdout);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	calls = held = 0;
	context.json = json;
	status = verb(&of);
	fflush(stdout);
	dup2(err, STDERR_FILENO);
	close(err);
	printf("= %d%s\n", status, held ? ", and something is held" : "");
	return calls >= fails_at;
}

static void learns(void)
{
	static const char *const each[] = { "learn 24h", "learn 1",   "learn 0.9",     "learn 30d", "learn 2592001",
					    "learn off", "learn Off", "learn 1h more", "learn -1",  "learn 1.5" };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		does(each[i], false, detect_learn);
	for (fails_at = 1; does("learn 1h", false, detect_learn); fails_at++)
		;
}

static void learned(void)
{
	static const char *const each[] = {
		NULL,
		"{\"from\": \"a\", \"until\": \"b\", \"seconds\": 59.5, \"missed\": 0, \"detect\": {\"classes\": {}}}",
		"{\"from\": \"a\\tb\", \"until\": \"b\", \"seconds\": 7200, \"missed\": 1, \"detect\": 7}",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		for (int when = -1; when < 2; when++) {
			learned_is = each[i];
			from_is = DATE - 60;
			until_is = DATE + when;
			printf("-- %d\n", when);
			does("learn", false, detect_learn);
			does("learn", true, detect_learn);
		}
	damaged = true;
	does("learn", false, detect_learn);
	damaged = false;
	fails_at = 1;
	does("learn", false, detect_learn);
}

static int attacks_of(const struct call *of)
{
	return detect_attacks(of->context);
}

static void attacks(void)
{
	does("attacks", false, attacks_of);
	does("attacks", true, attacks_of);
	log_is =
		"[{\"began\": \"2026-01-01T00:00:00Z\", \"ended\": \"2026-01-01T00:03:00Z\", \"sources\": 7, \"packets\": 9,"
		" \"above\": 11, \"peak\": 222, \"classes\": [\"packets\", \"syn\"], \"busiest\": \"192.0.2.1\", \"kind\":"
		" \"one source\"},"
		" {\"began\": \"2026-01-01T00:00:00Z\", \"classes\": [], \"busiest\": \"\"}, {},"
		" {\"classes\": [\"a-very-long-class\", 2, \"bbbbbbbbbbbbb\", \"c\", \"dddddddddddd\", \"eeeeeeeeeeee\","
		" \"ffffffffffff\", \"gggggggggggg\", \"hhhhhhhhhhhh\", \"i\"], \"busiest\": \"a\\u001b\"}]";
	does("attacks", false, attacks_of);
	does("attacks", true, attacks_of);
	fails_at = 1;
	does("attacks", false, attacks_of);
	fails_at = 0;
	no_rights = true;
	does("attacks", false, attacks_of);
	no_directory = true;
	does("attacks", false, attacks_of);
}

static int suggests(const struct call *of)
{
	return detect_suggest(of->context, 2.5, 16);
}

static void suggest(void)
{
	does("suggest", false, suggests);
	does("suggest", true, suggests);
	missed = 1;
	does("suggest", false, suggests);
	does("suggest", true, suggests);
	for (fails_at = 1; does("suggest", false, suggests); fails_at++)
		;
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "learns", learns }, { "learned", learned }, { "attacks", attacks }, { "suggests", suggest }
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
