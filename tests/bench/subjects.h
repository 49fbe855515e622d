/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is compared: each a loop of lookup.bpf.c, run, checked and then timed in turn with all others. */
#ifndef SUBJECTS_H
#define SUBJECTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lists.h"
#include "neighbours.h"
#include "lookup.h"
#include "lookup.skel.h"
#include "lookup_options.h"
#include "sets/ranges.h"

#define RUN_NS	  1000000 /* of one run: short beside what disturbs it */
#define WARM_RUNS 8
#define PROBE	  8192 /* questions, while what they need comes back into the caches */

enum { FOR_HOSTS = 1, GUESSES = 2, IN_MAP = 4 /* of the kernel's, that holds the list once more */ };

struct subject {
	const char *program, *name;
	int family;
	unsigned int traits;
	/* of the scenario at hand */
	int fd;
	bool right;
	__u64 rounds;
	double ns[REPEATS_MAX];
};

static struct subject subjects[] = {
	{ .program = "empty4", .name = "empty-loop", .family = 4 },
	{ .program = "floor4", .name = "floor", .family = 4 },
	{ .program = "ours4", .name = "xdp-bloom", .family = 4 },
	{ .program = "map_in_map4", .name = "map-in-map", .family = 4 },
	{ .program = "bloom4_map", .name = "bloom-map", .family = 4, .traits = IN_MAP | FOR_HOSTS | GUESSES },
	{ .program = "bloom4_hash", .name = "bloom+hash", .family = 4, .traits = IN_MAP | FOR_HOSTS },
	{ .program = "hash4_map", .name = "hash-map", .family = 4, .traits = IN_MAP | FOR_HOSTS },
	{ .program = "lpm4_map", .name = "lpm-trie", .family = 4, .traits = IN_MAP },
	{ .program = "lpm4_hash", .name = "lpm+hash", .family = 4, .traits = IN_MAP },
	{ .program = "source4", .name = "by-source", .family = 4 },
	{ .program = "both4", .name = "by-both", .family = 4, .traits = GUESSES },
	{ .program = "empty6", .name = "empty-loop", .family = 6 },
	{ .program = "floor6", .name = "floor", .family = 6 },
	{ .program = "ours6", .name = "xdp-bloom", .family = 6 },
	{ .program = "bloom6_map", .name = "bloom-map", .family = 6, .traits = IN_MAP | FOR_HOSTS | GUESSES },
	{ .program = "bloom6_hash", .name = "bloom+hash", .family = 6, .traits = IN_MAP | FOR_HOSTS },
	{ .program = "hash6_map", .name = "hash-map", .family = 6, .traits = IN_MAP | FOR_HOSTS },
	{ .program = "lpm6_map", .name = "lpm-trie", .family = 6, .traits = IN_MAP },
};

#define SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

/* One run of a loop: nanoseconds, and how many it found. */
static int run_loop(struct lookup *skel, int fd, const struct run *run, double *ns, __u32 *found)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .repeat = 1);
	unsigned char frame[64] = { 0 };
	__u32 zero = 0;

	opts.data_in = frame;
	opts.data_size_in = sizeof(frame);
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.runs), &zero, run, BPF_ANY) || bpf_prog_test_run_opts(fd, &opts))
		return -errno;
	*ns = opts.duration;
	*found = opts.retval;
	return 0;
}

/* How many of the first round's addresses the list holds, by a search of its ranges. */
static __u32 count_truth(const struct list *list, const struct run *run, enum traffic traffic)
{
	__u64 x = run->random;
	__u32 found = 0;

	if (run->from_keys)
		return traffic == TRAFFIC_DROP ? (__u32)run->rounds : 0;
	for (__u64 i = 0; i < run->rounds; i++) {
		x = RANDOM_NEXT(x);
		found += ranges_have(&list->set, (struct addr){ x >> 32, 4 });
	}
	return found;
}

/* A subject that guesses may find a few too many, never too few. */
static bool verdicts_right(const struct subject *subject, __u32 found, __u32 truth, __u64 rounds)
{
	if (subject->traits & GUESSES || opt.inexact)
		return found >= truth && found <= truth + rounds / 20;
	return found == truth;
}

static int check_subject(struct lookup *skel, struct subject *subject, const struct run *run, __u32 truth)
{
	double ns, each;
	__u32 found;
	int err = run_loop(skel, subject->fd, run, &ns, &found);

	if (err)
		return err;
	subject->right = strstr(subject->name, "empty") || !strcmp(subject->name, "floor") ||
			 verdicts_right(subject, found, truth, run->rounds);
	if (!subject->right)
		fprintf(stderr, "lookup: %s: %u found, %u banned: not timed\n", subject->program, found, truth);
	err = run_loop(skel, subject->fd, run, &ns, &found);
	each = ns / (double)run->rounds;
	subject->rounds = (__u64)(RUN_NS / (each > 0.1 ? each : 0.1));
	return err;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const struct subject *subject, double q)
{
	return subject->ns[(unsigned int)(q * (opt.repeats - 1) + 0.5)];
}

static void print_rows(const char *scenario, __u64 entries, const struct subject *first, const struct subject *ours)
{
	double empty = quantile(first, 0.5), base = ours ? quantile(ours, 0.5) - empty : 0;

	printf("\n%s, %llu entries; the empty loop takes %.2f ns\n%-12s %9s %9s %19s %9s %9s\n", scenario,
	       (unsigned long long)entries, empty, "subject", "ns", "least", "middle half", "p99", "ratio");
	for (int results = 0; results < 2; results++) {
		for (const struct subject *s = first + 1; s < subjects + SUBJECTS && s->family == first->family; s++) {
			double ns = quantile(s, 0.5) - empty, p99 = quantile(s, 0.99) - empty;

			if (!s->right)
				continue;
			if (results)
				printf("RESULT scenario=%s subject=%s entries=%llu ns=%.2f p99=%.2f ratio=%.2f q1=%.2f"
				       " q3=%.2f noise=%.3f\n",
				       scenario, s->name, (unsigned long long)entries, ns, p99,
				       base > 0 ? ns / base : 0, quantile(s, 0.25) - empty, quantile(s, 0.75) - empty,
				       (quantile(s, 0.75) - quantile(s, 0.25)) / quantile(s, 0.5));
			else
				printf("%-12s %9.2f %9.2f %8.2f - %8.2f %9.2f %9.2f\n", s->name, ns,
				       quantile(s, 0) - quantile(first, 0), quantile(s, 0.25) - empty,
				       quantile(s, 0.75) - empty, p99, base > 0 ? ns / base : 0);
		}
	}
}

/* Interleaved, so that whatever else the machine does falls on all alike. */
static int time_subjects(struct lookup *skel, struct run *run, struct subject *first, bool beside)
{
	int err = 0;

	for (unsigned int r = 0; r < opt.repeats && !err; r++) {
		for (struct subject *s = first; s < subjects + SUBJECTS && s->family == first->family && !err; s++) {
			__u32 found;
			double ns;

			if (!s->right)
				continue;
			/* The subject before has had the caches, for memory far larger than this one's. */
			run->rounds = beside ? PROBE : s->rounds * WARM_RUNS;
			err = run_loop(skel, s->fd, run, &ns, &found);
			run->first += run->rounds;
			run->rounds = beside ? PROBE : s->rounds;
			run->random = RANDOM_NEXT(run->random ^ r);
			if (beside)
				neighbours_walk();
			if (!err)
				err = run_loop(skel, s->fd, run, &ns, &found);
			s->ns[r] = ns / (double)run->rounds;
		}
	}
	for (struct subject *s = first; s < subjects + SUBJECTS && s->family == first->family; s++)
		qsort(s->ns, opt.repeats, sizeof(s->ns[0]), by_size);
	return err;
}

#endif
