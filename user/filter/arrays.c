// SPDX-License-Identifier: GPL-2.0-only
#include "filter/arrays.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "filter/roster_table.h"

#define MEMBER(name) offsetof(struct generation, name)

const struct array_kind array_kinds[ARRAYS] = {
	[ARRAY_GATE4] = { "gate4", MEMBER(gate4), 0 },
	[ARRAY_GATE4_LABELS] = { "gate4_labels", MEMBER(gate4_labels), MEMBER(no_flat) },
	[ARRAY_GATE6] = { "gate6", MEMBER(gate6), 0 },
	[ARRAY_FILTER] = { "filter", MEMBER(filter), MEMBER(filter_flat) },
	[ARRAY_ROSTER4] = { "roster4", MEMBER(roster4), MEMBER(roster4_flat) },
	[ARRAY_ROSTER6] = { "roster6", MEMBER(roster6), MEMBER(no_flat) },
};

uint64_t array_bytes(const struct generation *g, enum array which)
{
	switch (which) {
	case ARRAY_GATE4:
		return g->gate4 ? GATE4_BYTES : 0;
	case ARRAY_GATE4_LABELS:
		return g->gate4_labels ? GATE4_LABEL_BYTES : 0;
	case ARRAY_GATE6:
		return g->gate6_log2 ? 1ULL << g->gate6_log2 : 0;
	case ARRAY_FILTER:
		return g->filter_blocks * BLOCK_BYTES;
	case ARRAY_ROSTER4:
		return (buckets4(g) + 1) / 2 * BLOCK_BYTES;
	case ARRAY_ROSTER6:
	case ARRAYS: /* is none */
		break;
	}
	return g->roster6_buckets * BLOCK_BYTES;
}

uint64_t arrays_total(const struct generation *g)
{
	uint64_t bytes = 0;

	for (enum array a = 0; a < ARRAYS; a++)
		bytes += array_bytes(g, a);
	return bytes;
}

uint64_t arrays_rosters(const struct generation *g)
{
	return array_bytes(g, ARRAY_ROSTER4) + array_bytes(g, ARRAY_ROSTER6);
}

struct stage_bytes stage_bytes(const __u64 bytes[ARRAYS])
{
	struct stage_bytes s = {
		.gate = bytes[ARRAY_GATE4] + bytes[ARRAY_GATE6],
		.filter = bytes[ARRAY_FILTER],
		.roster = bytes[ARRAY_ROSTER4] + bytes[ARRAY_ROSTER6],
		.labels = bytes[ARRAY_GATE4_LABELS],
	};

	s.total = s.gate + s.filter + s.roster + s.labels;
	return s;
}

int arrays_take(struct generation *g)
{
	struct generation sizes = *g;

	for (enum array a = 0; a < ARRAYS; a++) {
		uint64_t bytes = array_bytes(&sizes, a);
		void *memory = NULL;

		if (bytes)
			memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED) {
			arrays_release(g);
			return -ENOMEM;
		}
		*generation_member(g, array_kinds[a].member) = (__u64)(uintptr_t)memory;
	}
	return 0;
}

void arrays_release(struct generation *g)
{
	for (enum array a = 0; a < ARRAYS; a++) {
		__u64 *member = generation_member(g, array_kinds[a].member);

		if (*member > 1) {
			munmap((void *)(uintptr_t)*member, array_bytes(g, a));
			*member = 1;
		}
	}
}
