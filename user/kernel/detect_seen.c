// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/detect_seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "filter/limits.h"
#include "kernel/detect_maps.h"
#include "kernel/pins.h"

static int read_counts(int map, __u64 packets[DETECTEDS])
{
	int cpus = libbpf_num_possible_cpus();
	__u64 *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	int err = each ? 0 : -ENOMEM;

	for (__u32 i = 0; i < DETECTEDS && !err; i++) {
		packets[i] = 0;
		if (bpf_map_lookup_elem(map, &i, each))
			err = because_kernel(-errno, PIN_DETECTED);
		for (int cpu = 0; cpu < cpus && !err; cpu++)
			packets[i] += each[cpu];
	}
	free(each);
	return err;
}

int seen_by_source(const void *a, const void *b)
{
	const struct suspect_seen *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (MARK_KIND(x->mark) != MARK_KIND(y->mark))
		return MARK_KIND(x->mark) < MARK_KIND(y->mark) ? -1 : 1;
	if (MARK_SLOT(x->mark) != MARK_SLOT(y->mark))
		return MARK_SLOT(x->mark) < MARK_SLOT(y->mark) ? -1 : 1;
	return (x->is.since > y->is.since) - (x->is.since < y->is.since);
}

static int read_suspects(int map, struct seen *seen)
{
	struct suspects *buckets;
	size_t bytes;
	int err = detect_map_suspects(map, &seen->with, PROT_READ, &buckets, &bytes);

	if (err)
		return err;
	seen->room = seen->with.buckets * SUSPECTS_OF_BUCKET;
	seen->suspect = calloc(seen->room, sizeof(*seen->suspect));
	for (size_t i = 0; seen->suspect && i < seen->room; i++) {
		const struct suspects *bucket = &buckets[i / SUSPECTS_OF_BUCKET];
		__u64 mark = bucket->place[i % SUSPECTS_OF_BUCKET].mark;

		if (!MARK_KIND(mark) || MARK_AGE(mark, seen->now) >= (__s64)seen->with.keep)
			continue;
		seen->suspect[seen->n++] = (struct suspect_seen){ bucket->place[i % SUSPECTS_OF_BUCKET].key, mark,
								  bucket->suspect[i % SUSPECTS_OF_BUCKET] };
	}
	munmap(buckets, bytes);
	if (seen->suspect)
		qsort(seen->suspect, seen->n, sizeof(*seen->suspect), seen_by_source);
	return seen->suspect ? 0 : -ENOMEM;
}

/* A MiB: of a larger one a part tells as much. */
#define SKETCH_LOOK (1u << 17)

static int read_sketch(int map, struct seen *seen)
{
	size_t n = seen->with.cells < SKETCH_LOOK ? seen->with.cells : SKETCH_LOOK, bytes;
	__u64 *cells;
	int err = detect_map_sketch(map, n, PROT_READ, &cells, &bytes);

	if (err)
		return err;
	seen->cell = malloc(n * sizeof(__u64));
	if (seen->cell)
		memcpy(seen->cell, cells, n * sizeof(__u64));
	seen->cells = n;
	munmap(cells, bytes);
	return seen->cell ? 0 : -ENOMEM;
}

static int read_names(int map, struct seen *seen)
{
	struct slot slots[SLOTS];

	if (map >= 0 && !detect_read_slots(map, slots))
		return because(-EPROTO, PIN_SLOTS ": of another version");
	for (size_t i = 1; map >= 0 && i < SLOTS; i++)
		memcpy(seen->interface[i], slots[i].name, sizeof(seen->interface[i]));
	return 0;
}

static int see(const struct context *context, struct seen *seen, bool sketch)
{
	int maps[MAPS], err;

	*seen = (struct seen){ 0 };
	err = detect_open(context, maps, &seen->with);
	seen->on = !err && maps[MAP_DETECT] >= 0;
	if (seen->on)
		err = read_counts(maps[MAP_DETECTED], seen->packets) ?:
		      detect_clock(seen->with.tick, &seen->now) ?:
		      read_suspects(maps[MAP_SUSPECTS], seen) ?:
		      read_names(maps[MAP_SLOTS], seen) ?:
		      sketch ? read_sketch(maps[MAP_SKETCH], seen) : 0;
	detect_close(maps);
	if (err)
		seen_free(seen);
	return err;
}

int kernel_seen(const struct context *context, struct seen *seen)
{
	return see(context, seen, false);
}

int kernel_seen_all(const struct context *context, struct seen *seen)
{
	return see(context, seen, true);
}

bool seen_banned(const struct seen *seen, const struct suspect_seen *suspect)
{
	return mark_is_source(suspect->mark) && stamp_ahead(suspect->is.until, seen->now);
}

/* So long after the last such packet: a need that comes and goes is over by then, before more of them come. */
#define SPARED_NS 10000000000ULL

bool seen_spared(const struct seen *seen)
{
	for (size_t i = 0; i < seen->n; i++) {
		const struct suspect *is = &seen->suspect[i].is;

		if (mark_is_source(seen->suspect[i].mark) && is->scale & TRUST_NO_BAN && is->over_at &&
		    stamp_ahead(is->over_at + SPARED_NS, seen->now))
			return true;
	}
	return false;
}

__u64 suspect_over(const struct suspect_seen *suspect)
{
	__u64 over = 0;

	for (enum packet_class class = 0; class < LIMITED; class ++)
		over = suspect->is.over[class] > over ? suspect->is.over[class] : over;
	return over;
}

bool seen_same_source(const struct suspect_seen *a, const struct suspect_seen *b)
{
	return a->key == b->key && MARK_KIND(a->mark) == MARK_KIND(b->mark);
}

/* A ban says more than any number of packets. Banned or not: that changes with the clock alone. */
static int by_source_and_worst(const void *a, const void *b)
{
	const struct suspect_seen *x = *(const struct suspect_seen *const *)a,
				  *y = *(const struct suspect_seen *const *)b;
	__u64 x_over = suspect_over(x), y_over = suspect_over(y);

	if (!seen_same_source(x, y))
		return seen_by_source(x, y);
	if (x->is.until != y->is.until)
		return x->is.until > y->is.until ? -1 : 1;
	return (x_over < y_over) - (x_over > y_over);
}

size_t seen_once(const struct suspect_seen **who, size_t n)
{
	size_t sources = 0;

	qsort(who, n, sizeof(*who), by_source_and_worst);
	for (size_t i = 0; i < n; i++) {
		const struct suspect_seen *one = who[i];

		if (sources && seen_same_source(who[sources - 1], one))
			continue;
		who[i] = who[sources];
		who[sources++] = one;
	}
	return sources;
}

size_t seen_banned_n(const struct seen *seen)
{
	const struct suspect_seen **who = calloc(seen->n + 1, sizeof(*who));
	size_t n = 0, all = 0;

	for (size_t i = 0; i < seen->n; i++)
		if (seen_banned(seen, &seen->suspect[i]) && ++all && who)
			who[n++] = &seen->suspect[i];
	/* Without memory, as many as there are entries: 0 only if there is none. */
	n = who ? seen_once(who, n) : all;
	free(who);
	return n;
}

void seen_free(struct seen *seen)
{
	free(seen->cell);
	free(seen->suspect);
	*seen = (struct seen){ 0 };
}
