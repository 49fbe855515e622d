// SPDX-License-Identifier: GPL-2.0-only
/* Many bans at once, as sets and as arrays. */
#include "state/bans_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"

/* For more ranges than that, and than this part of all bans, one pass over all of them is faster. */
#define WITHIN_MAX  256
#define WITHIN_PART 4

/* What becomes of each row that is in force. */
typedef int each_ban(void *arg, const struct ban *ban);

static int each_row(struct state *state, sqlite3_stmt *stmt, int64_t now, each_ban *each, void *arg)
{
	int code = SQLITE_DONE, err = 0;
	struct ban ban;

	while (!err && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		err = state_read_ban(state, stmt, &ban);
		if (!err && ban_in_force(&ban, now))
			err = each(arg, &ban);
	}
	if (!err && code != SQLITE_DONE)
		err = because_sqlite(state, "reading");
	sqlite3_reset(stmt);
	return err;
}

/* The lengths in use. */
struct lengths {
	unsigned int at[129];
	size_t n;
};

static int read_lengths(struct state *state, int family, struct lengths *lengths)
{
	int length = -1;

	lengths->n = 0;
	while ((length = state_next_length(state, family, length)) >= 0 &&
	       lengths->n < sizeof(lengths->at) / sizeof(*lengths->at))
		lengths->at[lengths->n++] = (unsigned int)length;
	return length == -2 ? because_sqlite(state, "reading") : 0;
}

/* Of each length, the bans that begin between the range's own block and its end. */
static int each_touching(struct state *state, int64_t now, struct addr lo, ip6 hi, const struct lengths *lengths,
			 bool ending, each_ban *each, void *arg)
{
	int err = 0;

	for (size_t i = 0; i < lengths->n && !err; i++) {
		struct addr from = { lo.num & ~addr_mask(lo.family, lengths->at[i]), lo.family };
		sqlite3_stmt *stmt = ending ? state_cached(state, CACHED_BAN_ENDING,
							   "SELECT * FROM ban WHERE family = ?1 AND length = ?2"
							   " AND first BETWEEN ?3 AND ?4 AND expires NOT NULL")
					    : state_cached(state, CACHED_BAN_TOUCHING,
							   "SELECT * FROM ban WHERE family = ?1 AND length = ?2"
							   " AND first BETWEEN ?3 AND ?4");

		err = state_bind_prefix(state, stmt, from, lengths->at[i]) ?:
		      state_bind_addr(state, stmt, 4, (struct addr){ hi, lo.family }) ?:
		      each_row(state, stmt, now, each, arg);
	}
	return err;
}

/* Are they so many that a pass over all bans is faster? Those of a look are not counted. */
static bool are_many(const struct state *state, const struct ranges *within)
{
	size_t n = within->n4 + within->n6;

	return n > WITHIN_MAX && (state->bans < 0 || n > (size_t)state->bans / WITHIN_PART);
}

static int each_within(struct state *state, int64_t now, const struct ranges *within, bool ending, each_ban *each,
		       void *arg)
{
	struct lengths lengths;
	sqlite3_stmt *stmt;
	int err = 0;

	if (!state_has_bans(state))
		return 0;
	if (!within || are_many(state, within)) {
		stmt = ending ? state_cached(state, CACHED_BAN_ENDING_ALL, "SELECT * FROM ban WHERE expires NOT NULL")
			      : state_cached(state, CACHED_BAN_ALL, "SELECT * FROM ban");
		return stmt ? each_row(state, stmt, now, each, arg) : because_sqlite(state, "reading");
	}
	err = within->n4 ? read_lengths(state, 4, &lengths) : 0;
	for (size_t i = 0; i < within->n4 && !err; i++)
		err = each_touching(state, now, (struct addr){ within->v4[i].lo, 4 }, within->v4[i].hi, &lengths,
				    ending, each, arg);
	err = err ?: within->n6 ? read_lengths(state, 6, &lengths) : 0;
	for (size_t i = 0; i < within->n6 && !err; i++)
		err = each_touching(state, now, (struct addr){ within->v6[i].lo, 6 }, within->v6[i].hi, &lengths,
				    ending, each, arg);
	return err;
}

struct sets {
	struct ranges *lasting, *ending;
};

static int into_sets(void *arg, const struct ban *ban)
{
	const struct sets *sets = arg;

	return ranges_add_prefix(ban->expires ? sets->ending : sets->lasting, ban->first, ban->length);
}

int state_bans_sets(struct state *state, int64_t now, const struct ranges *within, struct ranges *lasting,
		    struct ranges *ending)
{
	struct sets sets = { lasting, ending };
	int err;

	*lasting = *ending = RANGES_EMPTY;
	err = each_within(state, now, within, false, into_sets, &sets) ?:
	      ranges_finish(lasting) ?:
	      ranges_finish(ending);
	if (err) {
		ranges_free(lasting);
		ranges_free(ending);
	}
	return err;
}

int state_bans_set(struct state *state, int64_t now, const struct ranges *within, struct ranges *set)
{
	struct sets sets = { set, set };
	int err;

	*set = RANGES_EMPTY;
	err = each_within(state, now, within, false, into_sets, &sets) ?: ranges_finish(set);
	if (err)
		ranges_free(set);
	return err;
}

int state_bans_wider(struct state *state, int64_t now, int family, unsigned int length, struct ranges *set)
{
	struct sets sets = { set, set };
	sqlite3_stmt *stmt;
	int err;

	*set = RANGES_EMPTY;
	if (!state_has_bans(state))
		return 0;
	stmt = state_prepare(state, "SELECT * FROM ban WHERE family = ? AND length < ?");
	if (!stmt)
		return because_sqlite(state, "reading");
	sqlite3_bind_int(stmt, 1, family);
	sqlite3_bind_int(stmt, 2, (int)length);
	err = each_row(state, stmt, now, into_sets, &sets) ?: ranges_finish(set);
	sqlite3_finalize(stmt);
	if (err)
		ranges_free(set);
	return err;
}

struct ban_array {
	struct ban *at;
	size_t n;
};

static int into_array(void *arg, const struct ban *ban)
{
	struct ban_array *bans = arg;

	if (!GROW(bans->at, bans->n))
		return -ENOMEM;
	bans->at[bans->n++] = *ban;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct ban *x = a, *y = b;

	if (x->first.family != y->first.family)
		return x->first.family < y->first.family ? -1 : 1;
	if (x->first.num != y->first.num)
		return x->first.num < y->first.num ? -1 : 1;
	return x->length < y->length ? -1 : x->length > y->length;
}

int state_bans_ending(struct state *state, int64_t now, const struct ranges *within, struct ban **bans, size_t *n)
{
	struct ban_array all = { 0 };
	int err = each_within(state, now, within, true, into_array, &all);

	if (err) {
		free(all.at);
		all = (struct ban_array){ 0 };
	}
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), by_place);
	*bans = all.at;
	*n = 0;
	/* One that touches several of those ranges was found with each. */
	for (size_t i = 0; i < all.n; i++)
		if (!*n || by_place(&all.at[*n - 1], &all.at[i]))
			all.at[(*n)++] = all.at[i];
	return err;
}

/* Rows of those that end are looked at in their order, so that a million of them take no longer than a few. */
int state_bans_first(struct state *state, int64_t now, unsigned int most, struct ban **bans, size_t *n)
{
	static const char *const which[] = { "expires NOT NULL ORDER BY due", "expires NOT NULL ORDER BY expires",
					     "expires IS NULL" };
	struct ban_array first = { 0 };
	char sql[128];
	int err = 0;

	for (int i = state_ends_by_due(state) ? 0 : 1; i < 3 && !err && state_has_bans(state) && first.n < most;
	     i = 2 + (i == 2)) {
		sqlite3_stmt *stmt;

		snprintf(sql, sizeof(sql), "SELECT * FROM ban WHERE %s LIMIT %u", which[i],
			 most - (unsigned int)first.n);
		stmt = state_prepare(state, sql);
		err = stmt ? each_row(state, stmt, now, into_array, &first) : because_sqlite(state, "reading");
		sqlite3_finalize(stmt);
	}
	if (err) {
		free(first.at);
		first = (struct ban_array){ 0 };
	}
	*bans = first.at;
	*n = first.n;
	return err;
}
