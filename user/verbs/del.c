// SPDX-License-Identifier: GPL-2.0-only
/* del: takes live bans back, and reports what is still banned */
#include <errno.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "change/apply.h"
#include "change/ban.h"
#include "kernel/live.h"
#include "kernel/ask.h"
#include "sets/prefixes.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "verbs/errand.h"
#include "verbs/verbs.h"

struct options {
	const char *reason;
	struct scope scope;
};

const struct option_spec del_options[] = {
	/* No limit: a reason that is too long matches no ban. */
	{ "reason", .type = OPTION_TEXT, AT(options, reason), .value = "TEXT",
	  .does = "only bans that were given that reason" },
	SCOPE_OPTIONS(options, scope),
	OPTIONS_END(struct options),
};

static void say_still_banned(const struct prefix *p, const struct ban *wider, const char *list, json_t *array, bool say)
{
	char text[PREFIX_TEXT_MAX], other[PREFIX_TEXT_MAX] = "";

	prefix_text(text, p->first, (int)p->length);
	if (wider)
		prefix_text(other, wider->first, (int)wider->length);
	if (array)
		json_array_append_new(array, json_pack("{s:s, s:s, s:s?}", "prefix", text, "list",
						       wider  ? LIVE_LIST
						       : list ? list
							      : "",
						       "by", wider ? other : NULL));
	else if (say && wider)
		printf("%s stays banned: the ban of %s holds it\n", text, other);
	else if (say)
		printf("%s%s stays banned by %s%s%s\n", addr_width(p->first.family) == p->length ? "" : "some of ",
		       text, list ? "list '" : "another entry", list ? list : "", list ? "'" : "");
}

/* On a terminal the rest is a number. */
#define SAID_MOST 10

/* Reports prefixes that are still dropped, by a wider ban or a list: the first and the last address are tested. */
static void still_banned(struct change *change, const struct prefixes *p, json_t *array)
{
	struct addr *ends = calloc(2 * p->n + 1, sizeof(*ends));
	__u32 *answers = calloc(2 * p->n + 1, sizeof(*answers));
	struct list_info *lists = NULL;
	int64_t now = time(NULL);
	size_t lists_n = 0, said = 0, most = !change->context->verbose && isatty(STDOUT_FILENO) ? SAID_MOST : SIZE_MAX;
	struct ban wider;

	for (size_t i = 0; ends && i < p->n; i++) {
		ends[2 * i] = ends[2 * i + 1] = p->at[i].first;
		ends[2 * i + 1].num |= addr_mask(p->at[i].first.family, p->at[i].length);
	}
	if (!ends || !answers || kernel_ask(change->context, ends, 2 * p->n, answers) ||
	    lists_in_force(change->state, &lists, &lists_n))
		warn("cannot tell what stays banned");
	else
		for (size_t i = 0; i < p->n; i++) {
			bool first = answer_drops(answers[2 * i]);

			if (!first && !answer_drops(answers[2 * i + 1]))
				continue;
			if (!state_ban_around(change->state, p->at[i].first, p->at[i].length, now, &wider))
				say_still_banned(&p->at[i], &wider, NULL, array, said++ < most);
			else
				say_still_banned(&p->at[i], NULL,
						 ban_answer_list(lists, lists_n, answers[first ? 2 * i : 2 * i + 1]),
						 array, said++ < most);
		}
	if (!array && said > most)
		printf("and %zu more stay banned; -v names them all\n", said - most);
	free(lists);
	free(ends);
	free(answers);
}

int verb_del(const struct call *call)
{
	static const struct apply_options anew = { 0 };
	const struct options *o = call->options;
	const struct scope *scope = scope_is_all(&o->scope) ? NULL : &o->scope;
	struct prefixes prefixes = { 0 };
	struct change *change = NULL;
	json_t *array = NULL;
	bool build = false;
	int err;

	if (!scope && errand_prefixes_sent(call, &err))
		return err;
	err = prefixes_read(call->context, &prefixes, call->n, call->operands);
	if (!err)
		prefixes_warn_masked(&prefixes);
	if (!err)
		err = prefixes_once(&prefixes);
	if (!err && (o->scope.any || (scope && o->reason)))
		err = because(-EINVAL, "%s",
			      scope ? "bans with --only, --to or --on have no reasons: leave out --reason"
				    : "--only any is what del does without it: leave it out");
	if (!err)
		err = change_begin(&change, call->context);
	if (!err)
		err = ban_del(change, &prefixes, o->reason, scope, &build);
	if (!err)
		err = change_commit(change, build ? &anew : NULL);
	if (!err && call->context->json)
		array = json_array();
	if (!err && prefixes.n && (call->context->json || !call->context->quiet))
		still_banned(change, &prefixes, array);
	change_end(change);
	if (err)
		err = fail("del: %s; nothing was changed", reason(err));
	else
		err = call->context->json
			      ? out_json(call->context,
					 json_pack("{s:I, s:I, s:o}", "generation",
						   (json_int_t)kernel_live_generation(call->context), "deleted",
						   (json_int_t)prefixes.n, "still_banned", array))
			      : out_end();
	prefixes_free(&prefixes);
	return err;
}
