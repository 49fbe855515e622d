// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/detect_in_force.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "base/grow.h"
#include "base/log.h"
#include "filter/limits.h"
#include "kernel/detect_maps.h"
#include "kernel/pins.h"
#include "sets/ranges.h"

/*
 * Of the room for those that are spared the last is not for guests, who may be as many as they like: what the operator
 * needs, and addresses that this machine gets, have room then.
 */
#define NOT_FOR_GUESTS 256

int kernel_follow(const struct context *context, const struct proven *proven, size_t n)
{
	struct slot slots[SLOTS];
	struct detect with;
	int maps[MAPS], err = detect_open(context, maps, &with);

	if (!err && maps[MAP_DETECT] >= 0)
		err = detect_number_proven(maps[MAP_PROVEN], proven, n);
	if (!err && maps[MAP_SLOT_OF] >= 0 && detect_read_slots(maps[MAP_SLOTS], slots))
		err = detect_number_slots(maps[MAP_SLOT_OF], slots);
	detect_close(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

static bool is_touched(const struct ranges *set, __u64 key, __u64 mark)
{
	bool is4 = MARK_KIND(mark) == SUSPECT_IPV4;
	struct addr first = { is4 ? (ip6)key : (ip6)key << 64, is4 ? 4 : 6 };

	return mark_is_source(mark) && ranges_touch(set, first, is4 ? 32 : 64);
}

/* As one that was never seen: by what it used up until then, its next packet would have it banned again. */
static void let_one_out(const struct detect *with, struct suspects *bucket, size_t i, __u64 *cells, __u64 now)
{
	__u64 mark = bucket->place[i].mark, key = bucket->place[i].key;
	struct slot by = { .number = MARK_SLOT(mark) };
	struct detect in_memory = *with;
	struct suspect *suspect = &bucket->suspect[i];
	__u64 hash = hash_in_slot(with, source_hash(with->hash, MARK_KIND(mark), key), by.number ? &by : NULL);

	for (enum packet_class class = 0; class < LIMITED; class ++) {
		detect_store(&suspect->stamp[class], now);
		detect_store(&suspect->proven[class], now);
	}
	__atomic_store_n(&suspect->until, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&bucket->place[i].mark, MARK(MARK_IS(mark), now), __ATOMIC_RELEASE);
	/* At last: as long as it is banned, its packets make that hot. */
	in_memory.sketch = (uintptr_t)cells;
	detect_store(sketch_cell(&in_memory, hash), now);
}

static int let_out(const int *maps, const struct detect *with, const struct ranges *set)
{
	size_t suspects_size = 0, cells_size = 0;
	struct suspects *buckets = MAP_FAILED;
	__u64 *cells = MAP_FAILED;
	__u64 now = 0;
	int err = detect_clock(with->tick, &now) ?:
		  detect_map_suspects(maps[MAP_SUSPECTS], with, PROT_READ | PROT_WRITE, &buckets, &suspects_size) ?:
		  detect_map_sketch(maps[MAP_SKETCH], with->cells, PROT_READ | PROT_WRITE, &cells, &cells_size);

	for (size_t i = 0; i < with->buckets * SUSPECTS_OF_BUCKET && !err; i++) {
		struct suspects *bucket = &buckets[i / SUSPECTS_OF_BUCKET];
		size_t at = i % SUSPECTS_OF_BUCKET;

		if (stamp_ahead(bucket->suspect[at].until, now) &&
		    is_touched(set, bucket->place[at].key, bucket->place[at].mark))
			let_one_out(with, bucket, at, cells, now);
	}
	if (buckets != MAP_FAILED)
		munmap(buckets, suspects_size);
	if (cells != MAP_FAILED)
		munmap(cells, cells_size);
	return err;
}

bool end_key_holds(const struct end_key *wide, const struct end_key *narrow)
{
	unsigned int left = wide->bits - END_KEY_BITS(0);

	if (wide->family != narrow->family || wide->bits > narrow->bits)
		return false;
	for (unsigned int i = 0; left; i++) {
		unsigned int bits = left < 32 ? left : 32;

		if (be32toh(wide->addr[i] ^ narrow->addr[i]) >> (32 - bits))
			return false;
		left -= bits;
	}
	return true;
}

/* With the trust around it, and within it. */
static int spare(int map, const struct end_key *key)
{
	__u64 scale = TRUST_ALL, within;
	struct end_key at, *last = NULL;

	bpf_map_lookup_elem(map, key, &scale);
	if (!scale)
		return 0;
	scale |= TRUST_NO_BAN;
	if (bpf_map_update_elem(map, key, &scale, BPF_ANY))
		return because_kernel(-errno, PIN_TRUSTED);
	for (; !bpf_map_get_next_key(map, last, &at); last = &at)
		if (end_key_holds(key, &at) && !bpf_map_lookup_elem(map, &at, &within) && within) {
			within |= TRUST_NO_BAN;
			bpf_map_update_elem(map, &at, &within, BPF_EXIST);
		}
	return 0;
}

/* The answer that each suspect has kept is asked for again. */
static int ask_again(int map, const struct detect *with)
{
	struct suspects *buckets;
	size_t bytes;
	int err = detect_map_suspects(map, with, PROT_READ | PROT_WRITE, &buckets, &bytes);

	if (err)
		return err;
	for (size_t i = 0; i < with->buckets * SUSPECTS_OF_BUCKET; i++)
		__atomic_store_n(&buckets[i / SUSPECTS_OF_BUCKET].suspect[i % SUSPECTS_OF_BUCKET].asked, 0,
				 __ATOMIC_RELAXED);
	munmap(buckets, bytes);
	return 0;
}

/* For so many more there is room. */
static size_t room_left(int map)
{
	struct end_key at, *last = NULL;
	struct pinned is;
	size_t n = 0;

	for (; !bpf_map_get_next_key(map, last, &at); last = &at)
		n++;
	return !pinned_info(map, &is) && is.max_entries > n ? is.max_entries - n : 0;
}

/* What fails for one of them is in no other's way. */
static int spare_each(int map, const struct spared *who, size_t n)
{
	size_t left = room_left(map);
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		int one = who[i].guest && left <= NOT_FOR_GUESTS
				  ? because(-ENOSPC,
					    PIN_TRUSTED ": no more room for needs that others than root can make")
				  : spare(map, &who[i].key);

		left -= !one && left;
		err = err ?: one;
	}
	return err;
}

int kernel_spare(const struct context *context, const struct spared *who, size_t n)
{
	int maps[MAPS], err, again;
	struct detect with = { 0 };

	if (!n)
		return 0;
	err = detect_open(context, maps, &with);
	if (!err && maps[MAP_DETECT] >= 0) {
		err = spare_each(maps[MAP_TRUSTED], who, n);
		again = ask_again(maps[MAP_SUSPECTS], &with);
		err = err ?: again;
	}
	detect_close(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

static int read_spared(int map, struct end_key **keys, size_t *n)
{
	struct end_key at, *last = NULL;
	__u64 scale;

	for (; !bpf_map_get_next_key(map, last, &at); last = &at) {
		if (bpf_map_lookup_elem(map, &at, &scale) || !(scale & TRUST_NO_BAN))
			continue;
		if (!GROW(*keys, *n))
			return -ENOMEM;
		(*keys)[(*n)++] = at;
	}
	return 0;
}

int kernel_spared(const struct context *context, struct end_key **keys, size_t *n)
{
	struct detect with = { 0 };
	int maps[MAPS], err = detect_open(context, maps, &with);

	*keys = NULL;
	*n = 0;
	if (!err && maps[MAP_DETECT] >= 0)
		err = read_spared(maps[MAP_TRUSTED], keys, n);
	detect_close(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

/* An entry that says the same as the one around it is none that a list has made. */
static int unspare(int map, const struct end_key *key)
{
	__u64 wide = TRUST_ALL, scale;
	struct end_key around = *key;
	int err;

	if (bpf_map_lookup_elem(map, key, &scale))
		return 0;
	around.bits--;
	bpf_map_lookup_elem(map, &around, &wide);
	scale &= ~TRUST_NO_BAN;
	err = scale == (wide & ~TRUST_NO_BAN) ? bpf_map_delete_elem(map, key)
					      : bpf_map_update_elem(map, key, &scale, BPF_EXIST);
	return err && errno != ENOENT ? because_kernel(-errno, PIN_TRUSTED) : 0;
}

int kernel_unspare(const struct context *context, const struct end_key *keys, size_t n)
{
	struct detect with = { 0 };
	int maps[MAPS], err = detect_open(context, maps, &with), again;

	if (!err && maps[MAP_DETECT] >= 0) {
		for (size_t i = 0; i < n; i++) {
			int one = unspare(maps[MAP_TRUSTED], &keys[i]);

			err = err ?: one;
		}
		again = ask_again(maps[MAP_SUSPECTS], &with);
		err = err ?: again;
	}
	detect_close(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

int kernel_own(const struct context *context, const struct end_key *keys, size_t n, const struct end_key *gone,
	       size_t gone_n)
{
	struct detect with = { 0 };
	int maps[MAPS], err = detect_open(context, maps, &with);
	bool asks = !err && maps[MAP_DETECT] >= 0 && with.looks_up;
	__u64 is = 1;

	/* First, so that there is room. */
	for (size_t i = 0; i < gone_n && asks; i++)
		bpf_map_delete_elem(maps[MAP_TRUSTED], &gone[i]);
	for (size_t i = 0; i < n && asks && !err; i++)
		if (bpf_map_update_elem(maps[MAP_TRUSTED], &keys[i], &is, BPF_ANY))
			err = because_kernel(-errno, PIN_TRUSTED);
	detect_close(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

int kernel_unjail_set(const struct context *context, const struct ranges *set)
{
	int maps[MAPS], err = 0;
	struct detect with = { 0 };

	if (!set->n4 && !set->n6)
		return 0;
	err = detect_open(context, maps, &with);
	if (!err && maps[MAP_DETECT] >= 0)
		err = let_out(maps, &with, set);
	detect_close(maps);
	return err_is(err, ENOENT) ? 0 : err;
}

int kernel_unjail(const struct context *context, struct addr first, unsigned int length)
{
	struct ranges set = RANGES_EMPTY;
	int err = ranges_add_prefix(&set, first, length) ?: ranges_finish(&set) ?: kernel_unjail_set(context, &set);

	ranges_free(&set);
	return err;
}
