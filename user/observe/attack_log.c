// SPDX-License-Identifier: GPL-2.0-only
#include "observe/attack_log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "observe/attack_kind.h"
#include "state/events.h"

const char *attack_field(const json_t *attack, const char *field)
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

void attack_take(json_t *attacks, const json_t *event)
{
	json_t *attack = json_object_get(event, "attack");
	size_t n = json_array_size(attacks);

	if (!is_whole(attack))
		return;
	if (n && !strcmp(attack_field(json_array_get(attacks, n - 1), "began"), attack_field(attack, "began")))
		json_array_set(attacks, n - 1, attack);
	else
		json_array_append(attacks, attack);
}

json_t *attack_log(const char *directory)
{
	json_t *attacks = json_array();
	char line[EVENT_LINE_MAX];
	struct events_tail tail;

	events_from_start(&tail, directory);
	while (events_next(&tail, line)) {
		json_t *event = json_loads(line, 0, NULL);

		attack_take(attacks, event);
		json_decref(event);
	}
	return attacks;
}

const char *attack_lasted(char text[SPAN_TEXT_MAX], const json_t *attack)
{
	struct tm began = { 0 }, ended = { 0 };

	if (!strptime(attack_field(attack, "began"), "%Y-%m-%dT%H:%M:%SZ", &began))
		return "-";
	if (!strptime(attack_field(attack, "ended"), "%Y-%m-%dT%H:%M:%SZ", &ended))
		return "not over";
	return span_text(text, timegm(&ended) - timegm(&began));
}

const char *attack_text(char text[ATTACK_TEXT_MAX], const json_t *attack)
{
	const char *what = json_string_value(json_object_get(attack, "what"));
	char name[ATTACK_WHAT_MAX];

	snprintf(text, ATTACK_TEXT_MAX, "%.60s%s%s", attack_field(attack, "kind"), what ? ", " : "",
		 what ? attack_what_text(name, what, json_string_value(json_object_get(attack, "service"))) : "");
	return text;
}

unsigned long long attack_packets(const json_t *attack)
{
	return (unsigned long long)json_integer_value(json_object_get(attack, "above")) +
	       (unsigned long long)json_integer_value(json_object_get(attack, "untracked"));
}
