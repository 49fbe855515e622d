// SPDX-License-Identifier: GPL-2.0-only
/* detect ladder, trust, proven: how long the detector bans, who may send more, and where nobody can forge a source. */
#include <net/if.h>

#include "base/span.h"
#include "change/change.h"
#include "change/ports.h"
#include "state/limits.h"
#include "state/proven.h"
#include "verbs/verbs.h"

/* --- All of them ---------------------------------------------------------------------------------------------------
 */

static json_t *ladder_json(struct state *state, int *err)
{
	unsigned int seconds[LADDER_STEPS];
	json_t *steps = json_array();
	size_t n = 0;

	*err = *err ?: state_ladder(state, seconds, &n);
	for (size_t i = 0; i < n && !*err; i++)
		json_array_append_new(steps, json_integer(seconds[i]));
	return steps;
}

static json_t *proven_json(struct state *state, int *err)
{
	json_t *names = json_array();
	struct proven *proven = NULL;
	size_t n = 0;

	*err = *err ?: state_proven(state, &proven, &n);
	for (size_t i = 0; i < n && !*err; i++)
		json_array_append_new(names, out_text(proven[i].name));
	free(proven);
	return names;
}

static json_t *trusted_json(struct state *state, int *err)
{
	json_t *trusted = json_array();
	struct list_info *lists = NULL;
	size_t n = 0;

	*err = *err ?: state_lists(state, &lists, &n);
	for (size_t i = 0; i < n && !*err; i++)
		if (lists[i].kind == LIST_TRUST)
			json_array_append_new(trusted,
					      json_pack("{s:s, s:i, s:I}", "list", lists[i].name, "times",
							lists[i].times, "prefixes", (json_int_t)lists[i].prefixes));
	free(lists);
	return trusted;
}

int detect_said(struct state *state, json_t **said)
{
	int err = 0;
	json_t *ladder = ladder_json(state, &err), *proven = proven_json(state, &err),
	       *trusted = trusted_json(state, &err);

	*said = json_pack("{s:o, s:o, s:o}", "ladder", ladder, "proven", proven, "trusted", trusted);
	return err ?: *said ? 0 : -ENOMEM;
}

void print_said(const json_t *said)
{
	const json_t *proven = json_object_get(said, "proven"), *trusted = json_object_get(said, "trusted");
	size_t n = json_array_size(trusted), m = json_array_size(proven);

	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(trusted, i);

		printf("%s%s x%lld%s", i ? ", " : "trusted   ", json_string_value(json_object_get(one, "list")),
		       (long long)json_integer_value(json_object_get(one, "times")), i + 1 < n ? "" : "\n");
	}
	for (size_t i = 0; i < m; i++)
		printf("%s%s%s", i ? ", " : "proven    ", json_string_value(json_array_get(proven, i)),
		       i + 1 < m ? "" : "\n");
}

static int show_json(const struct context *context, const char *what)
{
	struct state *state = NULL;
	json_t *said = NULL, *only;
	int err = state_open(&state, context, false) ?: detect_said(state, &said);

	state_close(state);
	only = err ? NULL : json_pack("{s:O}", what, json_object_get(said, what));
	json_decref(said);
	return err ? fail("detect: %s", reason(err)) : out_json(context, only);
}

/* --- ladder --------------------------------------------------------------------------------------------------------
 */

static int read_ladder(struct ladder *ladder, const char *words)
{
	char copy[LADDER_STEPS * SPAN_TEXT_MAX], *rest = copy, *word;

	ladder->n = 0;
	if ((size_t)snprintf(copy, sizeof(copy), "%s", words) >= sizeof(copy))
		return because(-EINVAL, "that is too long for a ladder; as in: 1m,10m,1h,1d,7d");
	while ((word = strsep(&rest, ","))) {
		double seconds = span_seconds(word);

		if (!(seconds >= LADDER_LEAST && seconds <= LADDER_MOST))
			return because(-EINVAL,
				       "a step of the ladder takes 10s to 365d, as in 1m,10m,1h,1d,7d; not '%s'", word);
		if (ladder->n == LADDER_STEPS)
			return because(-EINVAL, "a ladder has %d steps at most", LADDER_STEPS);
		ladder->seconds[ladder->n] = (unsigned int)seconds;
		if (ladder->n && ladder->seconds[ladder->n] <= ladder->seconds[ladder->n - 1])
			return because(-EINVAL, "each step of the ladder is longer than the one before it; '%s' is not",
				       word);
		ladder->n++;
	}
	return 0;
}

static const char *ladder_text(char text[LADDER_STEPS * SPAN_TEXT_MAX], const struct ladder *ladder)
{
	char step[SPAN_TEXT_MAX];
	size_t length = 0;

	*text = '\0';
	for (size_t i = 0; i < ladder->n; i++)
		length += (size_t)snprintf(text + length, LADDER_STEPS * SPAN_TEXT_MAX - length, "%s%s", i ? "," : "",
					   span_text(step, ladder->seconds[i]));
	return text;
}

static int show_ladder(const struct context *context)
{
	char text[LADDER_STEPS * SPAN_TEXT_MAX];
	struct state *state = NULL;
	struct ladder ladder = { .n = 0 };
	int err = state_open(&state, context, false) ?: state_ladder(state, ladder.seconds, &ladder.n);

	state_close(state);
	if (err)
		return fail("detect ladder: %s", reason(err));
	puts(ladder_text(text, &ladder));
	return out_end();
}

/* The program has the first step; all others are the service's. */
static int change_ladder(const struct call *call, const struct ladder *ladder)
{
	static const struct apply_options rebuild = { 0 };
	struct change *change = NULL;
	struct ladder before = { .n = 0 };
	bool first = false;
	int err = change_begin(&change, call->context);

	if (!err) {
		change_bans_less(change);
		/* A damaged one is replaced. */
		first = state_ladder(change->state, before.seconds, &before.n) ||
			before.seconds[0] != ladder->seconds[0];
		err = state_ladder_put(change->state, ladder->seconds, ladder->n);
	}
	if (!err)
		err = change_commit(change, first && state_limits(change->state).on ? &rebuild : NULL);
	change_end(change);
	return err ? fail("detect ladder: %s; nothing was changed", reason(err)) : out_done(call->context);
}

int detect_ladder(const struct call *call)
{
	struct ladder ladder = { .n = 0 };
	int err;

	if (call->n == 1)
		return call->context->json ? show_json(call->context, "ladder") : show_ladder(call->context);
	if (call->n > 2)
		return fail("detect ladder: its steps are one word, as in: 1m,10m,1h,1d,7d");
	err = read_ladder(&ladder, call->operands[1]);
	return err ? fail("detect ladder: %s; nothing was changed", reason(err)) : change_ladder(call, &ladder);
}

/* --- proven --------------------------------------------------------------------------------------------------------
 */

static int show_proven(const struct context *context)
{
	struct proven *proven = NULL;
	struct state *state = NULL;
	size_t n = 0;
	int err = state_open(&state, context, false) ?: state_proven(state, &proven, &n);

	state_close(state);
	if (err)
		return fail("detect proven: %s", reason(err));
	for (size_t i = 0; i < n; i++)
		out_line("%s%s", proven[i].name, if_nametoindex(proven[i].name) ? "" : " (not there)");
	if (!n)
		puts("no interface is proven: 'xdp-bloom detect proven eth1' says that the network behind it validates"
		     " sources");
	free(proven);
	return out_end();
}

static bool is_proven(struct state *state, const char *name, int *err)
{
	struct proven *proven;
	bool is = false;
	size_t n;

	*err = state_proven(state, &proven, &n);
	for (size_t i = 0; i < n && !*err; i++)
		is = is || !strcmp(proven[i].name, name);
	free(proven);
	return is;
}

/* What was said of it under the word that was typed is what that word means. */
static int change_proven(const struct call *call, const char *word, const char *own, bool proves)
{
	static const struct apply_options rebuild = { 0 };
	const char *name = word;
	struct change *change = NULL;
	bool was = proves;
	int err = change_begin(&change, call->context);

	if (!err) {
		change_bans_less(change);
		was = is_proven(change->state, word, &err);
	}
	if (!err && !was) {
		name = own;
		was = is_proven(change->state, own, &err);
	}
	if (!err && !was && !proves)
		err = because(-ENOENT, "'%s' is not proven", name);
	if (!err && was != proves)
		err = state_prove(change->state, name, proves);
	if (!err)
		err = change_commit(change, was != proves && state_limits(change->state).on ? &rebuild : NULL);
	if (!err && proves && !was && if_nametoindex(name))
		ports_say_unfiltered(change->state, name);
	change_end(change);
	if (err)
		return fail("detect proven: %s; nothing was changed", reason(err));
	if (proves && !if_nametoindex(name))
		warn("there is no interface '%s'; the service takes it up when it comes, and without one 'xdp-bloom rotate'",
		     name);
	return out_done(call->context);
}

int detect_proven(const struct call *call)
{
	bool off = call->n == 3 && !strcmp(call->operands[2], "off");
	char own[IF_NAMESIZE];

	if (call->n == 1)
		return call->context->json ? show_json(call->context, "proven") : show_proven(call->context);
	if (call->n > 2 && !off)
		return fail("detect proven: takes an interface, and off where it is no longer; one at a time");
	if (read_interface(call->operands[1], own))
		return EXIT_ERROR;
	return change_proven(call, call->operands[1], own, !off);
}

/* --- trust ---------------------------------------------------------------------------------------------------------
 */

static const char *times_text(char text[16], unsigned int times)
{
	snprintf(text, 16, times > 1 ? "x%u" : "none", times);
	return text;
}

static int show_trust(const struct context *context)
{
	struct list_info *lists = NULL;
	struct state *state = NULL;
	char text[16];
	size_t n = 0, shown = 0;
	int err = state_open(&state, context, false) ?: state_lists(state, &lists, &n);

	state_close(state);
	if (err)
		return fail("detect trust: %s", reason(err));
	for (size_t i = 0; i < n; i++) {
		if (lists[i].kind != LIST_TRUST)
			continue;
		shown++;
		printf("%-20s %5s  %llu prefixes\n", lists[i].name, times_text(text, lists[i].times),
		       (unsigned long long)lists[i].prefixes);
	}
	if (!shown)
		puts("nobody is trusted: 'xdp-bloom load partners FILE --trust' gives its addresses ten times each"
		     " limit");
	free(lists);
	return out_end();
}

static unsigned int read_times(const char *word)
{
	char *end;
	unsigned long times;

	if (!strcmp(word, "none"))
		return 1;
	if (word[0] != 'x' || !(word[1] >= '1' && word[1] <= '9'))
		return 0;
	times = strtoul(word + 1, &end, 10);
	return !*end && times > 1 && times <= TRUST_TIMES_MOST ? (unsigned int)times : 0;
}

static int change_trust(const struct call *call, const char *name, unsigned int times)
{
	static const struct apply_options rebuild = { 0 };
	struct change *change = NULL;
	struct list_info list = { .kind = LIST_BAN };
	bool other = false;
	int err = change_begin(&change, call->context);

	if (!err) {
		change_bans_less(change);
		err = state_list_get(change->state, name, &list);
	}
	if (!err && list.kind != LIST_TRUST)
		err = because(-EINVAL,
			      "'%s' is of another kind (%s); whom you trust is in a list of its own: xdp-bloom load"
			      " NAME FILE --trust",
			      name, list_kind_names[list.kind]);
	if (!err) {
		other = list.times != times;
		err = state_trust(change->state, name, times);
	}
	if (!err)
		err = change_commit(change, other && state_limits(change->state).on ? &rebuild : NULL);
	change_end(change);
	return err ? fail("detect trust: %s; nothing was changed", reason(err)) : out_done(call->context);
}

int detect_trust(const struct call *call)
{
	unsigned int times = call->n == 3 ? read_times(call->operands[2]) : 0;

	if (call->n == 1)
		return call->context->json ? show_json(call->context, "trusted") : show_trust(call->context);
	if (!times)
		return fail("detect trust: takes a list and how many times each limit it has, x2 to x%d, or none",
			    TRUST_TIMES_MOST);
	return change_trust(call, call->operands[1], times);
}
