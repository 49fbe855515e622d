// SPDX-License-Identifier: GPL-2.0-only
/* Whose ports are filtered as they come and go, for show and status. */
#include "base/clean_text.h"
#include "bpf/abi.h"
#include "kernel/attachment.h"
#include "state/ports.h"
#include "verbs/verbs.h"

/* The next one that is filtered as its port, from *at on; NULL: no more. */
static const char *next_port(const struct ports_kept *kept, const struct interface_info *rule, size_t *at)
{
	while (*at < kept->rows_n) {
		const struct port_row *row = &kept->rows[(*at)++];

		if (row->leaves != MATCH_LEAVES(rule->match) || strcmp(row->of, rule->name) != 0)
			continue;
		for (size_t i = 0; i < kept->interfaces_n; i++)
			if (!strcmp(kept->interfaces[i].name, row->name) &&
			    MATCH_LEAVES(kept->interfaces[i].match) == row->leaves)
				return row->name;
	}
	return NULL;
}

void ports_text(const struct ports_kept *kept)
{
	char name[IF_NAMESIZE];

	for (size_t i = 0; i < kept->rules_n; i++) {
		const struct interface_info *rule = &kept->rules[i];
		const char *port, *between = "";
		size_t at = 0;

		printf("%-11s %s: ", i ? "" : "ports of", clean_copy(name, sizeof(name), rule->name));
		for (; (port = next_port(kept, rule, &at)); between = ", ")
			printf("%s%s", between, clean_copy(name, sizeof(name), port));
		printf("%s (%s%s%s)\n", *between ? "" : "none yet", rule->mode, rule->shared ? ", shared" : "",
		       match_texts[rule->match]);
	}
}

json_t *out_ports(const struct ports_kept *kept)
{
	json_t *array = json_array();

	for (size_t i = 0; i < kept->rules_n; i++) {
		const struct interface_info *rule = &kept->rules[i];
		json_t *ports = json_array();
		const char *port;
		size_t at = 0;

		while ((port = next_port(kept, rule, &at)))
			json_array_append_new(ports, out_text(port));
		json_array_append_new(array, json_pack("{s:o, s:s, s:s, s:s, s:b, s:o}", "name", out_text(rule->name),
						       "mode", rule->mode, "match", match_names[MATCH_OF(rule->match)],
						       "direction", direction_names[MATCH_LEAVES(rule->match)],
						       "shared", rule->shared, "ports", ports));
	}
	return array;
}
