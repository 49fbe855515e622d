// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the detector adds to a kept packet, beside the tables that others count sources in: loops (rates.bpf.c), the
 * empty one taken off; parsing is not in it. Each is checked before it is timed, and the detector in each run: who is
 * found to be a suspect takes longer. And what a packet of a suspect takes, whose limit drops, or bans and asks for
 * proof. Usage: rates [--quick | --check], which times nothing
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/context.h"
#include "bpf/detect.h"
#include "connection.h"
#include "kernel/detect.h"
#include "kernel/generation.h"
#include "kernel/programs.h"
#include "lookup.h"
#include "rates.h"
#include "rates.skel.h"

#define COLD_BYTES (64u << 20) /* more than a core's caches */

enum {
	ROUNDS = 1 << 17,
	FIRST_ROUNDS = 1 << 22,
	COLD_ROUNDS = 1024,
	CHECKS = 1000,
	FLOODS = 32,
	REPEATS = 51,
	QUICK_REPEATS = 11,
	QUICK_MASK = (1 << 20) - 1
};

/* A flood of one source: is each packet of it counted, or is it found? */
enum counts { NOT, EACH, FINDS };

static struct subject {
	const char *name, *shown;
	enum counts counts;
	int fd, runs;
	const void *frame;
	unsigned int frame_size;
	bool right;
	double ns[REPEATS];
} subjects[] = {
	{ .name = "empty", .shown = "empty-loop" },
	{ .name = "detector", .shown = "detector", .counts = FINDS },
	{ .name = "sketch", .shown = "sketch", .counts = FINDS },
	{ .name = "sketch_atomic", .shown = "sketch-atomic", .counts = FINDS },
	{ .name = "lru_hash", .shown = "lru-hash", .counts = EACH },
	{ .name = "lru_percpu_hash", .shown = "lru-percpu-hash", .counts = EACH },
};

#define SUBJECTS (sizeof(subjects) / sizeof(*subjects))

static struct rates *skel;
static struct detect detect;
static int maps[MAPS];
static unsigned int repeats = REPEATS;
static bool checking;

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const struct subject *s, double q)
{
	return s->ns[(unsigned int)(q * (repeats - 1) + 0.5)];
}

static bool run_loop(const struct subject *s, const struct loop_run *run, double *ns, __u32 *found)
{
	static const unsigned char nothing[64];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = s->frame ?: nothing,
		    .data_size_in = s->frame ? s->frame_size : sizeof(nothing), .repeat = 1);
	__u32 zero = 0;

	if (bpf_map_update_elem(s->runs, &zero, run, BPF_ANY) || bpf_prog_test_run_opts(s->fd, &opts))
		return false;
	*ns = (double)opts.duration / (double)run->rounds;
	*found = opts.retval;
	return true;
}

/* What the detector has seen of a flood. */
static void forget(const struct detect *d, const int *of)
{
	size_t sketch = d->cells * sizeof(__u64), suspects = d->buckets * sizeof(struct suspects);
	void *nothing = calloc(1, sketch > suspects ? sketch : suspects);
	__u32 key = 0;

	if (!nothing || bpf_map_update_elem(of[MAP_SKETCH], &key, nothing, BPF_ANY) ||
	    bpf_map_update_elem(of[MAP_SUSPECTS], &key, nothing, BPF_ANY))
		exit(2);
	free(nothing);
}

/* Nobody else is so loud, and so nothing is found of anybody else. */
static bool is_right(const struct subject *s)
{
	struct loop_run few = { CHECKS, 1, 0, 0 }, many = { checking ? ROUNDS : FIRST_ROUNDS, 1, 0, 0 };
	double ns;
	__u32 found = 0;

	if (!run_loop(s, &few, &ns, &found))
		return false;
	if (s->counts == NOT)
		return true;
	if (s->counts == EACH)
		return found == CHECKS * (CHECKS + 1) / 2;
	if (found)
		return false;
	for (int i = 0; i < FLOODS && !found; i++)
		if (!run_loop(s, &many, &ns, &found))
			return false;
	return found;
}

/* What other work leaves in the caches. */
static void cool(void)
{
	static volatile char *memory;

	if (!memory && !(memory = calloc(COLD_BYTES, 1)))
		exit(2);
	for (size_t i = 0; i < COLD_BYTES; i += 64)
		memory[i]++;
}

/* By turns, so that whatever else the machine does falls on all alike. */
static bool time_all(struct subject *first, size_t n, __u64 mask, bool cold)
{
	for (unsigned int r = 0; r <= repeats; r++) {
		for (struct subject *s = first; s < first + n; s++) {
			struct loop_run run = { r == 0 ? FIRST_ROUNDS
						: cold ? COLD_ROUNDS
						       : ROUNDS,
						(r + 1) * 0x9e3779b97f4a7c15ULL, mask, cold };
			__u32 found;
			double ns;

			if (!s->right)
				continue;
			if (cold && r)
				cool();
			if (!run_loop(s, &run, &ns, &found))
				return false;
			if (s->counts == FINDS && found) {
				fprintf(stderr, "rates: %s: %u found of none: not printed\n", s->shown, found);
				s->right = false;
			}
			if (r) /* the first fills the tables */
				s->ns[r - 1] = ns;
		}
	}
	for (struct subject *s = first; s < first + n; s++)
		qsort(s->ns, repeats, sizeof(double), by_size);
	return true;
}

static void print_rows(const struct subject *empty, size_t n, const char *scenario, __u64 sources)
{
	const struct subject *ours = empty + 1;
	double base = ours->right ? quantile(ours, 0.5) - quantile(empty, 0.5) : 0;

	printf("\n%s, %llu sources; the empty loop takes %.2f ns\n%-16s %9s %9s %9s %9s\n", scenario,
	       (unsigned long long)sources, quantile(empty, 0.5), "subject", "ns", "least", "p99", "ratio");
	for (int results = 0; results < 2; results++) {
		for (const struct subject *s = empty + 1; s < empty + n; s++) {
			double ns = quantile(s, 0.5) - quantile(empty, 0.5),
			       p99 = quantile(s, 0.99) - quantile(empty, 0.5), ratio = base > 0 ? ns / base : 0;

			if (!s->right)
				continue;
			if (results)
				printf("RESULT scenario=%s subject=%s entries=%llu ns=%.2f p99=%.2f ratio=%.2f\n",
				       scenario, s->shown, (unsigned long long)sources, ns, p99, ratio);
			else
				printf("%-16s %9.2f %9.2f %9.2f %9.2f\n", s->shown, ns,
				       quantile(s, 0) - quantile(empty, 0), p99, ratio);
		}
	}
}

/* few: hardly any places in the tables to compare with. */
static int load(struct rates **to, const struct limits *limits, bool few, struct detect *is, int *of)
{
	struct detector detector = { .limits = *limits };
	struct generation g = { 0 };
	struct candidate c = { 0 };
	__u32 key = 0;
	int err = kernel_detect(NULL, &c, NULL, &detector);

	if (err)
		return err;
	for (unsigned int map = 0; map < MAPS; map++)
		of[map] = map < MAP_DETECT || map >= MAPS_DETECT ? -1 : c.detect[map - MAP_DETECT];
	if (bpf_map_lookup_elem(of[MAP_DETECT], &key, is))
		return -1;
	*to = rates__open();
	if (!*to)
		return -1;
	/* Millions of places take longer to make than everything else. */
	if (few) {
		bpf_map__set_max_entries((*to)->maps.lru, CHECKS);
		bpf_map__set_max_entries((*to)->maps.lru_percpu, CHECKS);
	}
	return programs_load((*to)->obj, &g, of);
}

static int fd_of(const struct rates *object, const char *program)
{
	return bpf_program__fd(bpf_object__find_program_by_name(object->obj, program));
}

/* Nobody comes near one, in the milliseconds that a loop takes. */
static int load_honest(void)
{
	struct limits limits = { .on = true };
	int err;

	for (unsigned int class = 0; class < LIMITED; class ++)
		limits.of[class].rate = class == CLASS_BYTES ? LIMIT_BYTES_MOST : checking ? 1e4 : 1e7;
	err = load(&skel, &limits, checking, &detect, maps);
	for (struct subject *s = subjects; s < subjects + SUBJECTS && !err; s++) {
		s->fd = fd_of(skel, s->name);
		s->runs = bpf_map__fd(skel->maps.runs);
	}
	return err;
}

#include "suspects.h"

int main(int argc, char **argv)
{
	static const __u64 masks[] = { 1023, QUICK_MASK, 0xffffffff };
	bool ok = true, all, quick = argc > 1 && !strcmp(argv[1], "--quick");
	cpu_set_t one;

	checking = argc > 1 && !strcmp(argv[1], "--check");
	if (quick)
		repeats = QUICK_REPEATS;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	setvbuf(stdout, NULL, _IOLBF, 0);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	if (programs_register() || load_honest() || load_suspects()) {
		fprintf(stderr, "rates: no programs\n");
		return 2;
	}
	all = suspects_are_right();
	for (struct subject *s = subjects; s < subjects + SUBJECTS; s++) {
		s->right = is_right(s);
		all = all && s->right;
		forget(&detect, maps);
		if (!s->right)
			fprintf(stderr, "rates: %s does not find a flood: not printed\n", s->shown);
	}
	if (checking)
		return all ? 0 : 1;
	for (int cold = 0; cold < (quick ? 1 : 2) && ok; cold++) {
		for (size_t m = 0; m < sizeof(masks) / sizeof(*masks) && ok; m++) {
			if (quick && masks[m] != QUICK_MASK)
				continue;
			ok = time_all(subjects, SUBJECTS, masks[m], cold);
			if (ok)
				print_rows(subjects, SUBJECTS, cold ? "rates-cold" : "rates", masks[m] + 1);
		}
	}
	if (ok && time_all(suspected, SUSPECTED, 0, false) && suspects_are_right())
		print_rows(suspected, SUSPECTED, "rates-suspect", 1);
	connection_close(&connection);
	rates__destroy(skel);
	return ok ? 0 : 2;
}
