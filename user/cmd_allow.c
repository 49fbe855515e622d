// SPDX-License-Identifier: GPL-2.0-only
/* allow, disallow: live exceptions, kept as an allow list of their own */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apply.h"
#include "change.h"
#include "cmd.h"
#include "log.h"
#include "out.h"
#include "prefixes.h"

/* No list of a user's can have this name. */
#define LIVE_ALLOW "(allow)"

static int set_of(struct ranges *set, const struct prefixes *p)
{
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++)
		err = ranges_add_prefix(set, p->at[i].first, p->at[i].length);
	return err ? err : ranges_finish(set);
}

/* disallow takes back what was allowed here, not what a list allows. */
static int all_allowed(const struct ranges *live, const struct prefixes *p)
{
	for (size_t i = 0; i < p->n; i++) {
		int covering = ranges_covering(live, p->at[i].first);
		char text[PREFIX_TEXT_MAX];

		if (covering < 0 || covering > (int)p->at[i].length)
			return because(-ENOENT, "%s is not among the live exceptions",
				       prefix_text(text, p->at[i].first, (int)p->at[i].length));
	}
	return 0;
}

static int put_live(struct state *state, const struct ranges *set)
{
	struct list_info list = { .name = LIVE_ALLOW, .kind = LIST_ALLOW, .source = "allow" };
	char number[NUMBER_TEXT_MAX];

	if (!set->n4 && !set->n6)
		return state_list_drop(state, LIVE_ALLOW);
	list.prefixes = ranges_count_prefixes(set);
	snprintf(list.addresses, sizeof(list.addresses), "%s", number_text(number, ranges_count(set)));
	utc_text(list.loaded, time(NULL));
	return state_list_put(state, &list, set);
}

static int change_live(int argc, char **argv, bool allow)
{
	struct prefixes prefixes = { 0 };
	struct ranges change = RANGES_EMPTY, live = RANGES_EMPTY, after = RANGES_EMPTY;
	struct state *state = NULL;
	int err;

	if (options_read(&argc, argv, options_force, options_force_fn))
		return EXIT_ERROR;
	if (argc < 2)
		return fail("%s: which address or prefix? (- reads them from standard input)", argv[0]);
	err = prefixes_read(&prefixes, argc, argv);
	if (!err)
		err = set_of(&change, &prefixes);
	if (!err)
		err = change_begin(&state);
	if (!err)
		err = state_list_set(state, LIVE_ALLOW, &live);
	if (!err && !allow)
		err = all_allowed(&live, &prefixes);
	if (!err)
		err = allow ? ranges_union(&after, &live, &change) : ranges_subtract(&after, &live, &change);
	if (!err && ranges_equal(&live, &after))
		err = change_commit(state, NULL);
	else if (!err)
		err = put_live(state, &after) ?: change_commit(state, &(struct apply_options){ .guarded = !opt_force });
	change_end(state);
	prefixes_free(&prefixes);
	ranges_free(&change);
	ranges_free(&live);
	ranges_free(&after);
	return err ? fail("%s: %s; nothing was changed", argv[0], reason(err)) : out_done();
}

int cmd_allow(int argc, char **argv)
{
	return change_live(argc, argv, true);
}

int cmd_disallow(int argc, char **argv)
{
	return change_live(argc, argv, false);
}
