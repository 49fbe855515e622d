// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/answer.h"

#include "base/context.h"
#include "base/log.h"
#include "base/out.h"
#include "kernel/live.h"

int out_done(void)
{
	struct generation g;

	if (!opt_json)
		return EXIT_DONE;
	return out_json(
		json_pack("{s:I}", "generation", kernel_live(context_ambient(), &g) ? 0 : (json_int_t)g.number));
}

json_t *out_rungs(const struct generation *g)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < g->rungs; i++)
		json_array_append_new(array, json_integer((json_int_t)g->rung[i].length));
	return array;
}

json_t *out_memory(const struct stage_bytes *bytes)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "gate", (json_int_t)bytes->gate, "filter",
			 (json_int_t)bytes->filter, "roster", (json_int_t)bytes->roster, "labels",
			 (json_int_t)bytes->labels, "total", (json_int_t)bytes->total);
}
