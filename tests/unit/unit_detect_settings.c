// SPDX-License-Identifier: GPL-2.0-only
/*
 * detect ladder, proven, trust: what their words make of the state, when the filter is built again, and what they
 * print; the state is in a directory of the test's own, the filter is made up.
 */
#include "own_state.h"
#include "no_disk.h"

#include <net/if.h>

#include "change/change.h"
#include "made_change.h"
#include "state/limits.h"
#include "state/proven.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_detect_settings.txt"
};

static struct shows shows = { .file = "tests/unit/unit_detect_settings.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static unsigned int given_index(const char *name)
{
	return !strncmp(name, "eth", 3) ? 7 : 0;
}

/* eth0 has the name lan, too. */
static int given_interface(const char *word, char name[IF_NAMESIZE])
{
	if (strchr(word, '/'))
		return fail("'%s' is no interface", word);
	snprintf(name, IF_NAMESIZE, "%.15s", strcmp(word, "lan") ? word : "eth0");
	return 0;
}

static int given_done(const struct context *context)
{
	puts(context->json ? "  done, as JSON" : "  done");
	return EXIT_DONE;
}

#define if_nametoindex given_index
#define read_interface given_interface
#define out_done       given_done
#include "verbs/detect_settings.c"

/* With a list of each kind. */
static void begin(void)
{
	struct ranges set = { 0 };
	struct state *s;

	quiet_calls = false;
	calls = fails_at = 0;
	fails_with = -EIO;
	empty_directory();
	s = opened(true);
	ENOUGH(s && !ranges_add4(&set, 0x2d000000, 0x2d0000ff) && !ranges_finish(&set));
	ENOUGH(!put(s, "banned", LIST_BAN, &set) && !put(s, "allowed", LIST_ALLOW, &set) &&
	       !put(s, "partners", LIST_TRUST, &set) && !put(s, "suppliers", LIST_TRUST, &set));
	ENOUGH(!state_trust(s, "partners", 10) && !state_trust(s, "suppliers", 1) && !state_commit(s));
	state_close(s);
	ranges_free(&set);
}

/* The detector is on: what it has in the filter is built again. */
static void detects(bool on)
{
	struct state *s = opened(true);
	struct limits limits = { .on = on };

	ENOUGH(s && !state_limits_put(s, &limits) && !state_commit(s));
	state_close(s);
	printf("-- the detector is %s\n", on ? "on" : "off");
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		calls = 0;
		typed(lines[i]);
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void ladder(void)
{
	TYPES("detect ladder", "detect ladder --json", "detect ladder 10s", "detect ladder", "detect ladder 10s,365d",
	      "detect ladder --json", "detect ladder", "detect ladder 1m,2m,3m,4m,5m,6m,7m,8m", "detect ladder",
	      "detect ladder 20s --json");
	detects(true);
	TYPES("detect ladder 20s,1h", "detect ladder 21s,1h", "detect ladder 20s,1h", "detect ladder 20s");
	puts("-- wrong words");
	TYPES("detect ladder 9s", "detect ladder 366d", "detect ladder 1m,1m", "detect ladder 2m,1m", "detect ladder x",
	      "detect ladder ''", "detect ladder 1m,", "detect ladder ,1m", "detect ladder 1m 2m",
	      "detect ladder 1m,2m,3m,4m,5m,6m,7m,8m,9m,10m,11m,12m,13m,14m,15m,16m,17m,18m,19m,20m");
}

/* As many steps as there is room for, each as long as a span can be. */
static void long_ladders(void)
{
	char line[LADDER_STEPS * SPAN_TEXT_MAX * 2];

	for (int more = -1; more <= 1; more++) {
		size_t n = (size_t)sprintf(line, "detect ladder ");

		for (int i = 1; i <= LADDER_STEPS + more; i++)
			n += (size_t)sprintf(line + n, "%s%dm", i > 1 ? "," : "", i);
		TYPES(line, "detect ladder");
	}
	for (size_t length = LADDER_STEPS * SPAN_TEXT_MAX - 1; length <= LADDER_STEPS * SPAN_TEXT_MAX; length++) {
		size_t n = (size_t)sprintf(line, "detect ladder ");

		memset(line + n, '0', length);
		strcpy(line + n + length - 3, "30s");
		TYPES(line);
	}
}

static void proven(void)
{
	TYPES("detect proven", "detect proven --json", "detect proven eth1", "detect proven eth1", "detect proven",
	      "detect proven wan", "detect proven wan", "detect proven", "detect proven --json", "detect proven lan",
	      "detect proven lan off", "detect proven eth0 off", "detect proven wan off",
	      "detect proven eth1 off --json", "detect proven");
	detects(true);
	TYPES("detect proven eth1", "detect proven eth1", "detect proven eth1 off", "detect proven eth1 off");
	puts("-- wrong words");
	TYPES("detect proven a/b", "detect proven eth1 on", "detect proven eth1 eth2", "detect proven eth1 off off");
}

/* One was named before it had that other name: it is that one that is meant. */
static void named_before(void)
{
	struct state *s = opened(true);

	ENOUGH(s && !state_prove(s, "lan", true) && !state_commit(s));
	state_close(s);
	TYPES("detect proven", "detect proven lan", "detect proven lan off", "detect proven lan off",
	      "detect proven lan", "detect proven lan off");
}

static void trust(void)
{
	TYPES("detect trust", "detect trust --json", "detect trust suppliers x2", "detect trust suppliers x1000",
	      "detect trust suppliers x1001", "detect trust suppliers none", "detect trust partners x9 --json",
	      "detect trust", "detect trust --json");
	detects(true);
	TYPES("detect trust suppliers x3", "detect trust suppliers x3", "detect trust suppliers none");
	puts("-- wrong words");
	TYPES("detect trust banned x2", "detect trust allowed x2", "detect trust nobody x2", "detect trust partners",
	      "detect trust partners x0", "detect trust partners x1", "detect trust partners x01",
	      "detect trust partners x", "detect trust partners 5", "detect trust partners x5x",
	      "detect trust partners x99999999999999999999", "detect trust partners x2 x3", "detect trust partners xx",
	      "detect trust");
	empty_directory();
	TYPES("detect trust", "detect trust --json");
}

static void said(void)
{
	static const char *const steps[] = { "detect trust suppliers none", "detect proven eth1",
					     "detect proven eth2" };

	for (size_t i = 0; i <= sizeof(steps) / sizeof(*steps); i++) {
		struct state *s = opened(false);
		json_t *all = NULL;

		ENOUGH(s && !detect_said(s, &all));
		print_said(all);
		json_dumpf(all, stdout, JSON_COMPACT);
		puts("");
		json_decref(all);
		state_close(s);
		if (i < sizeof(steps) / sizeof(*steps))
			TYPES(steps[i]);
	}
}

/* A ladder that no word has made: who reads it says so, and the next one replaces it. */
static void damaged(void)
{
	struct state *s = opened(true);
	json_t *all = NULL;
	int err;

	ENOUGH(s && !state_ladder_put(s, &(unsigned int){ LADDER_LEAST - 1 }, 1) && !state_commit(s));
	err = detect_said(s, &all);
	printf("all of them: %s\n", err ? reason(err) : "no error");
	json_decref(all);
	state_close(s);
	TYPES("detect ladder", "detect ladder --json", "detect ladder 20s", "detect ladder");
}

/* A file that is no state. */
static void put_garbage(void)
{
	FILE *to = fopen(file, "w");

	ENOUGH(to);
	fputs("this is no database", to);
	fclose(to);
}

static void failures(void)
{
	detects(true);
	for (fails_at = 1; fails_at <= 3; fails_at++)
		TYPES("detect ladder 20s", "detect proven eth1", "detect trust partners x2");
	fails_at = 0;
	TYPES("detect ladder", "detect proven", "detect trust");
	put_garbage();
	TYPES("detect ladder", "detect ladder 20s", "detect ladder --json", "detect proven", "detect proven eth1",
	      "detect proven --json", "detect trust", "detect trust partners x2", "detect trust --json");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "ladder", ladder },	{ "long ladders", long_ladders },
		{ "proven", proven },	{ "named before", named_before },
		{ "trust", trust },	{ "all of them", said },
		{ "damaged", damaged }, { "failures", failures },
	};

	typed_in(directory, &shows);
	typed_context.state = ".";
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	empty_directory();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
