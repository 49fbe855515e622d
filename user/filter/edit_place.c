// SPDX-License-Identifier: GPL-2.0-only
/* Places in rosters that packets are looking at. */
#include <errno.h>
#include <stdlib.h>

#include "filter/edit_internal.h"
#include "base/log.h"
#include "filter/roster_table.h"

bool place_find4(const struct generation *g, __u32 addr, struct step *at)
{
	struct roster_choice choice = choose4(g, addr);

	for (int i = 0; i < 2; i++) {
		__u32 value;

		at->bucket = i ? choice.second : choice.first;
		value = value4(g, at->bucket, addr);
		for (at->slot = 0; at->slot < slots4(g); at->slot++)
			if (value4_at(g, at->bucket, at->slot) == value)
				return true;
	}
	return false;
}

bool place_find6(const struct generation *g, unsigned int rung, ip6 first, struct step *at, __u8 *label)
{
	__u64 tag;
	struct roster_choice choice = choose6(g, rung, first, &tag);

	for (int i = 0; i < 2; i++) {
		struct bucket6 *bucket;

		at->bucket = i ? choice.second : choice.first;
		bucket = bucket6(g, at->bucket);
		for (at->slot = 0; at->slot < ROSTER6_SLOTS; at->slot++) {
			if (bucket->key[at->slot] != tag)
				continue;
			*label = *label6(bucket, at->slot);
			return true;
		}
	}
	return false;
}

/* --- Slots that are taken ------------------------------------------------------------------------------------ */

/* Never 0. */
static __u64 slot_name(int family, __u64 bucket, unsigned int slot)
{
	return bucket << 8 | slot << 4 | (unsigned int)family;
}

static __u64 *taken_at(__u64 *set, size_t room, __u64 name)
{
	size_t at = (size_t)(name * 0x9e3779b97f4a7c15ULL >> 20) & (room - 1);

	while (set[at] && set[at] != name)
		at = (at + 1) & (room - 1);
	return &set[at];
}

bool place_is_taken(const struct edit *e, int family, __u64 bucket, unsigned int slot)
{
	return e->taken_n && *taken_at(e->taken, e->taken_room, slot_name(family, bucket, slot));
}

int place_take(struct edit *e, int family, __u64 bucket, unsigned int slot)
{
	if (2 * e->taken_n >= e->taken_room) {
		size_t room = e->taken_room ? 2 * e->taken_room : 64;
		__u64 *set = calloc(room, sizeof(*set));

		if (!set)
			return -ENOMEM;
		for (size_t i = 0; i < e->taken_room; i++)
			if (e->taken[i])
				*taken_at(set, room, e->taken[i]) = e->taken[i];
		free(e->taken);
		e->taken = set;
		e->taken_room = room;
	}
	*taken_at(e->taken, e->taken_room, slot_name(family, bucket, slot)) = slot_name(family, bucket, slot);
	e->taken_n++;
	return 0;
}

/* --- A place for one more ----------------------------------------------------------------------------------------- */

static int free_slot(const struct edit *e, int family, __u64 at)
{
	__u32 vacant = family == 4 ? no_value4(e->g, at) : 0;

	for (unsigned int i = 0; i < (family == 4 ? slots4(e->g) : ROSTER6_SLOTS); i++)
		if ((family == 4 ? value4_at(e->g, at, i) == vacant : !bucket6(e->g, at)->key[i]) &&
		    !place_is_taken(e, family, at, i))
			return (int)i;
	return -1;
}

static int reserve_slot(struct edit *e, int family, struct step *step, __u64 bucket, int slot)
{
	step->bucket = bucket;
	step->slot = (__u8)slot;
	return place_take(e, family, bucket, step->slot);
}

static int reserve_free(struct edit *e, int family, struct step *step, __u64 bucket)
{
	int slot = free_slot(e, family, bucket);

	return slot < 0 ? -EAGAIN : reserve_slot(e, family, step, bucket, slot);
}

static int reserve_move(struct edit *e, int family, struct step *step, __u64 to, int to_slot)
{
	step->move = true;
	step->to = to;
	step->to_slot = (__u8)to_slot;
	return place_take(e, family, to, step->to_slot);
}

/* Is there an address in the slot that is in its first bucket, and has another? */
static bool may_leave(const struct generation *g, __u64 at, unsigned int slot, struct roster_choice *choice)
{
	__u32 addr;

	if (!addr4_at(g, at, slot, &addr))
		return false;
	*choice = choose4(g, addr);
	return choice->first == at && choice->second != at;
}

/*
 * A key in its first bucket may move to its second: packets look into the first before the second, so a key that has
 * been copied is found in one of them whenever they look. (Where loads are not done in their order, packets on their
 * way must be waited for.)
 */
static int make_room4(struct edit *e, __u64 at, struct step *step)
{
	for (unsigned int i = 0; i < slots4(e->g); i++) {
		struct roster_choice other;
		int slot;

		if (place_is_taken(e, 4, at, i) || !may_leave(e->g, at, i, &other))
			continue;
		slot = free_slot(e, 4, other.second);
		if (slot < 0)
			continue;
#if !defined(__x86_64__)
		if (!e->wait)
			return -EAGAIN;
		e->must_wait = true;
#endif
		return reserve_slot(e, 4, step, at, (int)i) ?: reserve_move(e, 4, step, other.second, slot);
	}
	return -EAGAIN;
}

#if defined(__x86_64__)
/*
 * One more move: where no key can leave, the second bucket of one may hold a key that can. Copies are made in the order
 * of the steps, so the last key to move is in its second bucket before another is copied over it.
 */
static int make_room4_twice(struct edit *e, __u64 at, struct step *step)
{
	for (unsigned int i = 0; i < slots4(e->g); i++) {
		struct step shift = { .kind = STEP_SHIFT };
		struct roster_choice other;
		int err;

		if (place_is_taken(e, 4, at, i) || !may_leave(e->g, at, i, &other))
			continue;
		err = make_room4(e, other.second, &shift);
		if (err_is(err, EAGAIN))
			continue;
		/* make_room4() has reserved its slot for the key that moves there. */
		if (!err)
			err = edit_step(e, &shift);
		if (!err)
			err = reserve_slot(e, 4, step, at, (int)i);
		step->move = true;
		step->to = shift.bucket;
		step->to_slot = shift.slot;
		return err;
	}
	return -EAGAIN;
}
#endif

/* A tag does not say which bucket is its first: packets on their way must be waited for. */
static int make_room6(struct edit *e, __u64 at, struct step *step)
{
	for (unsigned int i = 0; i < ROSTER6_SLOTS && e->wait; i++) {
		__u64 other = roster6_other(at, bucket6(e->g, at)->key[i], e->g->roster6_buckets);
		int slot;

		if (place_is_taken(e, 6, at, i) || other == at)
			continue;
		slot = free_slot(e, 6, other);
		if (slot < 0)
			continue;
		e->must_wait = true;
		return reserve_slot(e, 6, step, at, (int)i) ?: reserve_move(e, 6, step, other, slot);
	}
	return -EAGAIN;
}

int place_choose4(struct edit *e, __u32 addr, struct step *step)
{
	struct roster_choice at = choose4(e->g, addr);
	int err = reserve_free(e, 4, step, at.first);

	if (err_is(err, EAGAIN))
		err = reserve_free(e, 4, step, at.second);
	/* During the move a packet could see the old key's label beside the new key: a shadow's must not drop. */
	if (!err_is(err, EAGAIN) || e->g->shadows || e->g->scoped)
		return err;
	err = make_room4(e, at.first, step);
	if (err_is(err, EAGAIN))
		err = make_room4(e, at.second, step);
#if defined(__x86_64__)
	if (err_is(err, EAGAIN))
		err = make_room4_twice(e, at.first, step);
	if (err_is(err, EAGAIN))
		err = make_room4_twice(e, at.second, step);
#endif
	return err;
}

int place_choose6(struct edit *e, ip6 first, struct step *step)
{
	__u64 tag;
	struct roster_choice at = choose6(e->g, step->rung, first, &tag);
	int err = reserve_free(e, 6, step, at.first);

	if (err_is(err, EAGAIN))
		err = reserve_free(e, 6, step, at.second);
	if (err_is(err, EAGAIN))
		err = make_room6(e, at.first, step);
	return err_is(err, EAGAIN) ? make_room6(e, at.second, step) : err;
}
