// SPDX-License-Identifier: GPL-2.0-only
/* state: check the file, and save what can be saved of a damaged one */
#include "base/state_path.h"
#include "change/change.h"
#include "kernel/live.h"
#include "sets/networks.h"
#include "state/recover.h"
#include "verbs/verbs.h"

struct faults {
	const struct context *context;
	json_t *array; /* NULL: print them */
};

static void take_fault(void *arg, const char *fault)
{
	struct faults *f = arg;

	if (f->array)
		json_array_append_new(f->array, out_text(fault));
	else
		fail("%s/state.db: %s", f->context->state, fault);
}

static int check(const struct context *context)
{
	struct faults f = { context, context->json ? json_array() : NULL };
	size_t faults;
	int err = state_check(context, take_fault, &f, &faults);

	if (err) {
		json_decref(f.array);
		return fail("%s", reason(err));
	}
	err = networks_check(context->state);
	if (err) {
		faults++;
		if (f.array)
			json_array_append_new(f.array, out_text(reason(err)));
		else
			fail("%s", reason(err));
	}
	if (context->json)
		return out_json(context, f.array) ?: faults ? EXIT_ERROR : EXIT_DONE;
	if (!faults && !context->quiet)
		out_line("%s/state.db: sound", context->state);
	return faults ? EXIT_ERROR : out_end();
}

static json_t *lost_json(const struct recovered *r)
{
	json_t *lost = json_array();

	for (size_t i = 0; i < r->lost_n; i++)
		json_array_append_new(lost, json_pack("{s:s, s:o}", "name", r->lost[i].name, "source",
						      out_text(r->lost[i].source)));
	return lost;
}

static int report(const struct context *context, const struct recovered *r)
{
	if (context->json)
		return out_json(context, json_pack("{s:I, s:I, s:I, s:b, s:b, s:o, s:o}", "lists", (json_int_t)r->lists,
						   "interfaces", (json_int_t)r->interfaces, "bans", (json_int_t)r->bans,
						   "whole", r->whole, "texts", r->texts, "lost", lost_json(r),
						   "damaged", out_text(r->kept)));
	printf("saved: %zu lists, %zu interfaces, %zu bans\n", r->lists, r->interfaces, r->bans);
	for (size_t i = 0; i < r->lost_n; i++)
		out_line("lost: a part of list '%s', so all of it; load it again (it was read from %s)",
			 r->lost[i].name, r->lost[i].source);
	if (!r->texts)
		printf("lost: what lists were read from; test names no lines until they are loaded again\n");
	if (!r->whole)
		printf("lost, perhaps: bans, settings or interfaces; some of the file could not be read\n");
	out_line("the file as it was is %s; 'xdp-bloom restore' puts what was saved into force", r->kept);
	return out_end();
}

static int recover(const struct context *context, const char *file)
{
	struct recovered *r = malloc(sizeof(*r));
	char path[STATE_PATH_MAX];
	int status, err;

	change_check(context, false);
	state_path(path, context->state, STATE_DATABASE);
	err = r ? state_recover(context, file ? file : path, kernel_live_generation, r) : -ENOMEM;
	if (err)
		status = fail("%s; the state is as it was", reason(err));
	else
		status = report(context, r) ?: r->whole ? EXIT_DONE : EXIT_MISSING;
	free(r);
	return status;
}

int verb_state(const struct call *call)
{
	if (call->n == 1 && !strcmp(call->operands[0], "check"))
		return check(call->context);
	if (!strcmp(call->operands[0], "recover"))
		return recover(call->context, call->operands[1]);
	return fail("state: %s", call->verb->asks);
}
