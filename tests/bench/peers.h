/* SPDX-License-Identifier: GPL-2.0-only */
/* The object of lookup.bpf.c with all of its maps: sized for a list, loaded with a generation's constants, filled. */
#ifndef PEERS_H
#define PEERS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lists.h"
#include "lookup.h"
#include "lookup.skel.h"

#define BATCH_KEYS (1u << 14)
#define FLOOR_MAX  (1ULL << 29) /* as far as the verifier lets an offset in one value go */

/* Fills a map from the list's hosts, its networks or both, in batches where the kernel takes them. */
static inline int fill_those(int fd, const struct list *list, size_t key_size,
			     void (*make_key)(void *key, const struct prefix *prefix), bool hosts, bool networks)
{
	char *keys = malloc(BATCH_KEYS * key_size);
	__u8 values[BATCH_KEYS] = { 0 };
	int err = keys ? 0 : -ENOMEM;

	for (size_t i = 0; i < list->n && !err; i += BATCH_KEYS) {
		__u32 n = 0;

		for (size_t k = i; k < list->n && k < i + BATCH_KEYS; k++)
			if (list->at[k].length == addr_width(list->family) ? hosts : networks)
				make_key(keys + n++ * key_size, &list->at[k]);
		if (n && bpf_map_update_batch(fd, keys, values, &n, NULL))
			err = -errno;
	}
	free(keys);
	return err;
}

static inline int fill(int fd, const struct list *list, size_t key_size,
		       void (*make_key)(void *key, const struct prefix *prefix))
{
	return fill_those(fd, list, key_size, make_key, true, true);
}

static inline void make_host4(void *key, const struct prefix *prefix)
{
	*(__u32 *)key = (__u32)prefix->first.num;
}

static inline void make_host6(void *key, const struct prefix *prefix)
{
	*(struct key6 *)key = (struct key6){ (__u64)(prefix->first.num >> 64), (__u64)prefix->first.num };
}

static inline void make_lpm4(void *key, const struct prefix *prefix)
{
	*(struct lpm4 *)key = (struct lpm4){ prefix->length, __builtin_bswap32((__u32)prefix->first.num) };
}

static inline void make_lpm6(void *key, const struct prefix *prefix)
{
	struct lpm6 *lpm = key;

	lpm->length = prefix->length;
	for (int i = 0; i < 4; i++)
		lpm->addr[i] = __builtin_bswap32((__u32)(prefix->first.num >> (96 - 32 * i)));
}

/* A Bloom filter map takes one value at a time. */
static inline int fill_bloom(int fd, const struct list *list)
{
	int err = 0;

	for (size_t i = 0; i < list->n && !err; i++) {
		struct key6 key6;
		__u32 key4;

		make_host4(&key4, &list->at[i]);
		make_host6(&key6, &list->at[i]);
		err = bpf_map_update_elem(fd, NULL, list->family == 4 ? (void *)&key4 : &key6, BPF_ANY) ? -errno : 0;
	}
	return err;
}

static inline int size_map(struct bpf_map *map, __u64 entries)
{
	return bpf_map__set_max_entries(map, entries ? (__u32)entries : 1);
}

/* With room for the list, or for nothing where they would only take memory. */
static inline int peers_size(struct lookup *skel, const struct list *list, bool wanted, __u64 floor_bytes)
{
	__u32 n4 = wanted && list->family == 4 ? (__u32)list->n : 1;
	__u32 n6 = wanted && list->family == 6 ? (__u32)list->n : 1;
	__u32 page = (__u32)getpagesize();
	int err = 0;

	err |= size_map(skel->maps.keys4, list->family == 4 ? KEYS : 1);
	err |= size_map(skel->maps.keys6, list->family == 6 ? KEYS : 1);
	err |= size_map(skel->maps.hash4, n4);
	err |= size_map(skel->maps.cidr4, list->mix ? n4 : 1);
	err |= size_map(skel->maps.hash6, list->mix ? 1 : n6);
	err |= size_map(skel->maps.bloom4, list->mix ? 1 : n4);
	err |= size_map(skel->maps.bloom6, list->mix ? 1 : n6);
	err |= size_map(skel->maps.lpm4, n4);
	err |= size_map(skel->maps.lpm6, n6);
	floor_bytes = (floor_bytes < FLOOR_MAX ? floor_bytes + page - 1 : FLOOR_MAX) & ~(__u64)(page - 1);
	skel->rodata->floor_lines = floor_bytes / BLOCK_BYTES;
	err |= bpf_map__set_value_size(skel->maps.floor_memory, (__u32)floor_bytes);
	return err ? -EINVAL : 0;
}

static inline int peers_fill(struct lookup *skel, const struct list *list)
{
	bool is4 = list->family == 4;
	int err = is4 ? fill(bpf_map__fd(skel->maps.lpm4), list, sizeof(struct lpm4), make_lpm4)
		      : fill(bpf_map__fd(skel->maps.lpm6), list, sizeof(struct lpm6), make_lpm6);

	if (!err && is4 && list->mix)
		err = fill_those(bpf_map__fd(skel->maps.hash4), list, sizeof(__u32), make_host4, true, false)
			      ?: fill_those(bpf_map__fd(skel->maps.cidr4), list, sizeof(struct lpm4), make_lpm4, false,
					    true);
	if (err || list->mix)
		return err;
	err = is4 ? fill(bpf_map__fd(skel->maps.hash4), list, sizeof(__u32), make_host4)
		  : fill(bpf_map__fd(skel->maps.hash6), list, sizeof(struct key6), make_host6);
	return err ? err : fill_bloom(bpf_map__fd(is4 ? skel->maps.bloom4 : skel->maps.bloom6), list);
}

/* One array of the generation, copied into a map of its own and put into the map of maps. */
static inline int fill_inner(int outer, __u32 which, const void *from, __u64 bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	size_t page = (size_t)getpagesize(), size = (bytes + page - 1) & ~(page - 1);
	int fd, err = 0;
	void *mem;

	if (!bytes)
		return 0;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", 4, BLOCK_BYTES, (__u32)(bytes / BLOCK_BYTES), &opts);
	if (fd < 0)
		return -errno;
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED) {
		err = -errno;
	} else {
		memcpy(mem, from, bytes);
		munmap(mem, size);
		err = bpf_map_update_elem(outer, &which, &fd, BPF_ANY) ? -errno : 0;
	}
	close(fd);
	return err;
}

static inline int peers_fill_inner(struct lookup *skel, const struct generation *g)
{
	int outer = bpf_map__fd(skel->maps.generations), err;
	__u32 zero = 0;

	err = bpf_map_update_elem(bpf_map__fd(skel->maps.meta), &zero, g, BPF_ANY) ? -errno : 0;
	if (!err)
		err = fill_inner(outer, INNER_GATE, (void *)g->gate4, array_bytes(g, ARRAY_GATE4));
	if (!err)
		err = fill_inner(outer, INNER_FILTER, (void *)g->filter, array_bytes(g, ARRAY_FILTER));
	return err ? err : fill_inner(outer, INNER_ROSTER, (void *)g->roster4, array_bytes(g, ARRAY_ROSTER4));
}

/* The addresses that the loops ask for. */
static inline int peers_keys(struct lookup *skel, struct list *list, enum traffic traffic)
{
	int fd = bpf_map__fd(list->family == 4 ? skel->maps.keys4 : skel->maps.keys6);
	size_t step = list->family == 4 ? 8 : sizeof(struct key6); /* values lie eight bytes apart at the least */
	char *mem = mmap(NULL, KEYS * step, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < KEYS; i++) {
		struct prefix prefix = { list_sample(list, traffic), 0 };

		if (list->family == 4)
			make_host4(mem + i * step, &prefix);
		else
			make_host6(mem + i * step, &prefix);
	}
	munmap(mem, KEYS * step);
	return 0;
}

#endif
