// SPDX-License-Identifier: GPL-2.0-only
/* detect attacks: those that the service has seen, from the event log. */
#include <unistd.h>

#include "base/span.h"
#include "base/trusted_dir.h"
#include "change/change.h"
#include "observe/attack_log.h"
#include "verbs/verbs.h"

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

static void print(const json_t *attack)
{
	char span[SPAN_TEXT_MAX], classes[96], kind[ATTACK_TEXT_MAX];

	out_line("%-20s  %-9s %7lld %10lld %10lld  %-16s %-24s %s", attack_field(attack, "began"),
		 attack_lasted(span, attack), (long long)json_integer_value(json_object_get(attack, "sources")),
		 (long long)attack_packets(attack), (long long)json_integer_value(json_object_get(attack, "peak")),
		 classes_of(classes, attack),
		 json_string_length(json_object_get(attack, "busiest")) ? attack_field(attack, "busiest") : "-",
		 attack_text(kind, attack));
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
	attacks = attack_log(directory);
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
