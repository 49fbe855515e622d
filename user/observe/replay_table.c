// SPDX-License-Identifier: GPL-2.0-only
#include "observe/replay_table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "bpf/hash.h"

#define SLOTS_LEAST 1024

uint64_t replay_seed(void)
{
	static uint64_t value;

	if (!value && getrandom(&value, sizeof(value), 0) != sizeof(value))
		value = 0x9e3779b97f4a7c15;
	return value | 1;
}

static uint64_t place(const struct replay_source *who)
{
	uint64_t x = fold(((uint64_t)who->num + replay_seed()) * 0x9e3779b97f4a7c15ULL) ^ who->fate;

	x = fold((x + (uint64_t)(who->num >> 64)) * (replay_seed() ^ 0xd1b54a32d192ed03ULL));
	return fold(x * 0x9e3779b97f4a7c15ULL);
}

static bool same(const struct replay_source *a, const struct replay_source *b)
{
	return a->num == b->num && a->family == b->family && a->fate == b->fate;
}

/* The slot that has it, or the free one that it would go into. */
static struct replay_source *find(const struct replay_table *t, const struct replay_source *who)
{
	size_t at = place(who) & (t->slots - 1);

	while (t->slot[at].fate && !same(&t->slot[at], who))
		at = (at + 1) & (t->slots - 1);
	return &t->slot[at];
}

/* Into so many slots, without those that the floor is above. */
static int move(struct replay_table *t, size_t slots)
{
	struct replay_table to = { .slot = calloc(slots, sizeof(*to.slot)), .slots = slots, .floor = t->floor };

	if (!to.slot)
		return -ENOMEM;
	for (size_t i = 0; i < t->slots; i++) {
		if (!t->slot[i].fate || t->slot[i].packets + t->slot[i].error <= t->floor)
			continue;
		*find(&to, &t->slot[i]) = t->slot[i];
		to.n++;
	}
	free(t->slot);
	*t = to;
	return 0;
}

static int make_room(struct replay_table *t)
{
	int err;

	if (t->n < t->slots / 2)
		return 0;
	if (t->n < REPLAY_SOURCES_MAX)
		return move(t, t->slots ? 2 * t->slots : SLOTS_LEAST);
	do {
		t->floor = t->floor ? 2 * t->floor : 1;
		err = move(t, t->slots);
	} while (!err && t->n > REPLAY_SOURCES_MAX / 2);
	return err;
}

int replay_table_count(struct replay_table *t, const struct replay_source *who, uint64_t bytes)
{
	int err = make_room(t);
	struct replay_source *slot;

	if (err)
		return err;
	slot = find(t, who);
	if (!slot->fate) {
		*slot = *who;
		slot->packets = slot->bytes = 0;
		slot->error = t->floor;
		t->n++;
	}
	slot->packets++;
	slot->bytes += bytes;
	return 0;
}

static int busier(const void *a, const void *b)
{
	const struct replay_source *x = *(const struct replay_source *const *)a,
				   *y = *(const struct replay_source *const *)b;

	if (x->packets != y->packets)
		return x->packets < y->packets ? 1 : -1;
	if (x->family != y->family)
		return x->family - y->family;
	return x->num < y->num ? -1 : x->num > y->num;
}

int replay_table_top(const struct replay_table *t, enum fate fate, size_t most, const struct replay_source ***top,
		     size_t *n)
{
	*n = 0;
	*top = calloc(t->n + 1, sizeof(const struct replay_source *));
	if (!*top)
		return -ENOMEM;
	for (size_t i = 0; i < t->slots; i++)
		if (t->slot[i].fate == fate)
			(*top)[(*n)++] = &t->slot[i];
	qsort((void *)*top, *n, sizeof(const struct replay_source *), busier);
	if (*n > most)
		*n = most;
	return 0;
}
