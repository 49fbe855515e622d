// SPDX-License-Identifier: GPL-2.0-only
/* doctor: what would be in the way */
#include "change/change.h"
#include "observe/doctor.h"
#include "verbs/verbs.h"

static int show_json(const struct context *context, const struct findings *found, bool ready)
{
	json_t *all = json_array();

	for (size_t i = 0; i < found->n; i++)
		json_array_append_new(all,
				      json_pack("{s:s, s:o, s:b, s:o}", "level", finding_levels[found->of[i].level],
						"about", out_text(found->of[i].about), "interface",
						found->of[i].is_interface, "text", out_text(found->of[i].text)));
	return out_json(context, json_pack("{s:b, s:o}", "ready", ready, "findings", all));
}

int verb_doctor(const struct call *call)
{
	struct findings found = { 0 };
	char(*names)[IF_NAMESIZE];
	bool ready;
	int status;

	if (read_interfaces(call, &names)) {
		free(names);
		return EXIT_ERROR;
	}
	doctor(call->context, call->operands, call->n, &found);
	ready = !found.n || found.of[0].level != FOUND_PROBLEM;
	if (found.lost)
		status = fail("out of memory");
	else if (call->context->json)
		status = show_json(call->context, &found, ready);
	else {
		for (size_t i = 0; i < found.n; i++)
			out_line("%-7s  %-10s  %s", finding_levels[found.of[i].level], found.of[i].about,
				 found.of[i].text);
		status = out_end();
	}
	free(found.of);
	free(names);
	return status ?: ready ? EXIT_DONE : EXIT_REFUSED;
}
