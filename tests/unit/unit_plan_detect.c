// SPDX-License-Identifier: GPL-2.0-only
/* plan --detect, as a person and as a program read it; over a state in a directory of the test's own. */
#include "own_state.h"
#include "no_disk.h"

#include <math.h>

#include <jansson.h>

#include "base/out.h"
#include "kernel/detect.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_plan_detect.txt"
};

static struct shows shows = { .file = "tests/unit/unit_plan_detect.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static uint64_t given_tick(void)
{
	return 4000000;
}

/* Not to the last digit: libraries differ in it. */
static void given_print(const json_t *json, const char *name)
{
	const char *key;
	size_t i;
	json_t *member;

	if (json_is_object(json)) {
		printf("%s {\n", name);
		json_object_foreach((json_t *)(uintptr_t)json, key, member) given_print(member, key);
		puts("}");
	} else if (json_is_array(json)) {
		json_array_foreach(json, i, member) given_print(member, name);
	} else if (json_is_real(json)) {
		printf("%s about %.3g\n", name, json_real_value(json));
	} else {
		printf("%s %lld\n", name, (long long)json_integer_value(json));
	}
}

static int given_json(const struct context *context, json_t *json)
{
	if (context != &own_context || !json)
		abort();
	given_print(json, "");
	json_decref(json);
	return 0;
}

#define detect_tick given_tick
#define out_json    given_json
#include "verbs/plan_detect.c"

static void asks(double pps, double sources, double attackers, const char *limit)
{
	const struct detect_ask ask = { .pps = pps, .sources = sources, .attackers = attackers, .limit = limit };

	printf("%.0f packets of %.0f, %.0f attackers, %s\n", pps, sources, attackers, limit ?: "the limits");
	for (int json = 0; json < 2; json++) {
		own_context.json = json;
		printf("= %d\n", plan_detect(&own_context, &ask));
	}
	own_context.json = false;
}

static void keep(const struct limits *limits)
{
	struct state *state = opened(true);

	if (!state || state_limits_put(state, limits) || state_commit(state))
		abort();
	state_close(state);
}

static void defaults(void)
{
	asks(1e6, 10000, 0, NULL);
	asks(100, 0, 0, NULL);
}

static void a_limit(void)
{
	asks(5e6, 3000, 20000, "1kpps");
	asks(5e6, 3000, 1, "100M/s");
	asks(1, 1, 1, "0/s");
	asks(1, 1, 1, "many");
}

/* What is asked for needs more room than there is: of cells, of places, of both. */
static void more_room(void)
{
	asks(1e8, 10, 0, "100/s");
	asks(1000, 10, 1e6, "100/s");
	asks(1e8, 1e6, 1e7, "100/s");
	asks(1e8, 1e6, 1e9, "1/s");
}

static void settings(void)
{
	struct limits limits = state_limits(NULL);

	limits.of[CLASS_PACKETS].rate = 0;
	limits.of[CLASS_BYTES].rate = 1000;
	limits.of[CLASS_SYN].rate = 77;
	limits.pps = 3e6;
	limits.suspects = 500;
	keep(&limits);
	asks(1e6, 100, 0, NULL);
	asks(4e6, 100, 900, NULL);
}

static void begin(void)
{
	empty_directory();
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "defaults", defaults },
		{ "a limit", a_limit },
		{ "more room", more_room },
		{ "settings", settings },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
