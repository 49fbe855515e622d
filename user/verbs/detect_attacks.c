// SPDX-License-Identifier: GPL-2.0-only
/* detect attacks: those that the service has seen, from the event log. */
#include <time.h>
#include <unistd.h>

#include "base/span.h"
#include "base/trusted_dir.h"
#include "change/change.h"
#include "observe/attack_kind.h"
#include "state/events.h"
#include "verbs/verbs.h"

static const char *text_of(const json_t *attack, const char *field)
{
	return json_string_value(json_object_get(attack, field)) ?: "-";
}

static bool is_whole(json_t *attack)
{
	return json_is_string(json_object_get(attack, "began")) && json_is_string(json_object_get(attack, "kind")) &&
	       json_is_array(json_object_get(attack, "classes")) &&
	       json_is_integer(json_object_get(attack, "sources")) &&
	       json_is_integer(json_object_get(attack, "above")) && json_is_integer(json_object_get(attack, "peak"));
}

/* One that has ended takes the place of its beginning. */
static void take(json_t *attacks, json_t *attack)
{
	size_t n = json_array_size(attacks);
	const char *began = text_of(attack, "began");

	if (n && !strcmp(text_of(json_array_get(attacks, n - 1), "began"), began))
		json_array_set(attacks, n - 1, attack);
	else
		json_array_append(attacks, attack);
}

static json_t *read_attacks(const char *directory)
{
	json_t *attacks = json_array();
	char line[EVENT_LINE_MAX];
	struct events_tail tail;

	events_from_start(&tail, directory);
	while (events_next(&tail, line)) {
		json_t *event = json_loads(line, 0, NULL), *attack = json_object_get(event, "attack");

		if (is_whole(attack))
			take(attacks, attack);
		json_decref(event);
	}
	return attacks;
}

static const char *lasted(char text[SPAN_TEXT_MAX], const json_t *attack)
{
	struct tm began = { 0 }, ended = { 0 };

	if (!strptime(text_of(attack, "began"), "%Y-%m-%dT%H:%M:%SZ", &began))
		return "-";
	if (!strptime(text_of(attack, "ended"), "%Y-%m-%dT%H:%M:%SZ", &ended))
		return "not over";
	return span_text(text, timegm(&ended) - timegm(&began));
}

static const char *classes_of(char text[96], const json_t *attack)
{
	const json_t *classes = json_object_get(attack, "classes");
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < json_array_size(classes) && n < 80; i++)
		n += (size_t)snprintf(text + n, 96 - n, "%s%.12s", i ? "," : "",
				      json_string_value(json_array_get(classes, i)) ?: "");
	return text;
}

/* Of what an earlier service has written only who is known. */
static const char *kind_of(char text[160], const json_t *attack)
{
	const char *what = json_string_value(json_object_get(attack, "what"));
	char name[ATTACK_WHAT_MAX];

	snprintf(text, 160, "%.60s%s%s", text_of(attack, "kind"), what ? ", " : "",
		 what ? attack_what_text(name, what, json_string_value(json_object_get(attack, "service"))) : "");
	return text;
}

static void print(const json_t *attack)
{
	char span[SPAN_TEXT_MAX], classes[96], kind[160];

	out_line("%-20s  %-9s %7lld %10lld %10lld  %-16s %-24s %s", text_of(attack, "began"), lasted(span, attack),
		 (long long)json_integer_value(json_object_get(attack, "sources")),
		 (long long)((unsigned long long)json_integer_value(json_object_get(attack, "above")) +
			     (unsigned long long)json_integer_value(json_object_get(attack, "untracked"))),
		 (long long)json_integer_value(json_object_get(attack, "peak")), classes_of(classes, attack),
		 json_string_length(json_object_get(attack, "busiest")) ? text_of(attack, "busiest") : "-",
		 kind_of(kind, attack));
}

int detect_attacks(const struct context *context)
{
	const char *directory = context->state;
	int err = access(directory, F_OK) ? 0 : trust_directory(directory);
	json_t *attacks;

	if (err)
		return fail("%s", reason(err));
	if (!access(directory, F_OK) && access(directory, R_OK | X_OK))
		return fail("%s: %s", directory, strerror(errno));
	change_check(context, false);
	attacks = read_attacks(directory);
	if (context->json)
		return out_json(context, json_pack("{s:o}", "attacks", attacks));
	if (!json_array_size(attacks))
		puts("no attack is on record; the service (xdp-bloom run) keeps one, with 'detect on'");
	else
		printf("%-20s  %-9s %7s %10s %10s  %-16s %-24s %s\n", "BEGAN", "LASTED", "SOURCES", "PACKETS",
		       "A SECOND", "ABOVE", "MOST OFTEN", "KIND");
	for (size_t i = 0; i < json_array_size(attacks); i++)
		print(json_array_get(attacks, i));
	json_decref(attacks);
	return out_end();
}
