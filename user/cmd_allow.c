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

/* No list of a user's can have this name. */
#define LIVE_ALLOW "(allow)"

static int read_prefixes(struct ranges *set, int argc, char **argv)
{
	struct addr first;
	unsigned int length;
	int err = 0;

	for (int i = 1; i < argc && !err; i++) {
		const char *fault = prefix_parse(argv[i], strlen(argv[i]), &first, &length);

		err = fault ? because(-EINVAL, "'%s': %s", argv[i], fault) : ranges_add_prefix(set, first, length);
	}
	return err ? err : ranges_finish(set);
}

/* disallow takes back what was allowed here, not what a list allows. */
static int all_allowed(const struct ranges *live, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct ranges one = RANGES_EMPTY, left = RANGES_EMPTY;
		int err = read_prefixes(&one, 2, argv + i - 1);

		if (!err)
			err = ranges_subtract(&left, &one, live);
		if (!err && (left.n4 || left.n6))
			err = because(-ENOENT, "%s is not among the live exceptions", argv[i]);
		ranges_free(&one);
		ranges_free(&left);
		if (err)
			return err;
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
	struct ranges change = RANGES_EMPTY, live = RANGES_EMPTY, after = RANGES_EMPTY;
	struct state *state = NULL;
	int err;

	if (options_read(&argc, argv, options_force, options_force_fn))
		return EXIT_ERROR;
	if (argc < 2)
		return fail("%s: which address or prefix?", argv[0]);
	err = read_prefixes(&change, argc, argv);
	if (!err)
		err = change_begin(&state);
	if (!err)
		err = state_list_set(state, LIVE_ALLOW, &live);
	if (!err && !allow)
		err = all_allowed(&live, argc, argv);
	if (!err)
		err = allow ? ranges_union(&after, &live, &change) : ranges_subtract(&after, &live, &change);
	if (!err && ranges_equal(&live, &after))
		err = change_commit(state, NULL);
	else if (!err)
		err = put_live(state, &after) ?: change_commit(state, &(struct apply_options){ .guarded = !opt_force });
	change_end(state);
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
