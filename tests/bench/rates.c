// SPDX-License-Identifier: GPL-2.0-only
/* What the detector adds to a kept packet, beside the tables that others count sources in: loops, the empty one taken
 * off. */
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/context.h"
#include "kernel/detect.h"
#include "kernel/generation.h"
#include "kernel/programs.h"
#include "lookup.h"
#include "rates.skel.h"

struct loop_run {
	__u64 rounds, random, mask;
};

enum { SUBJECTS = 4, ROUNDS = 1 << 20, REPEATS = 15 };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static const __u64 masks[] = { 1023, (1 << 20) - 1, 0xffffffff };
	struct limits limits = { .on = true };
	struct generation g = { 0 };
	struct candidate c;
	struct rates *skel;
	int maps[MAPS], err;

	for (unsigned int class = 0; class < LIMITED; class ++)
		limits.of[class].rate = 1e6 * (class == CLASS_BYTES ? 1000 : 1);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	err = kernel_detect(&c, NULL, &limits) ?: programs_register();
	for (unsigned int map = 0; map < MAPS; map++)
		maps[map] = map < MAP_DETECT ? -1 : c.detect[map - MAP_DETECT];
	skel = err ? NULL : rates__open();
	if (!skel || programs_load(skel->obj, &g, maps)) {
		fprintf(stderr, "rates: no programs\n");
		return 2;
	}
	struct bpf_program *programs[SUBJECTS] = { skel->progs.empty, skel->progs.detector, skel->progs.lru_hash,
						   skel->progs.lru_percpu_hash };
	for (size_t m = 0; m < sizeof(masks) / sizeof(*masks); m++) {
		static double ns[SUBJECTS][REPEATS];
		struct loop_run run = { ROUNDS, 1, masks[m] };

		for (int r = -1; r < REPEATS; r++) {
			for (unsigned int s = 0; s < SUBJECTS; s++) {
				unsigned char frame[64] = { 0 };
				LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = 64, .repeat = 1);
				__u32 zero = 0;

				run.random = (__u64)(r + 2) * 0x9e3779b97f4a7c15ULL;
				bpf_map_update_elem(bpf_map__fd(skel->maps.runs), &zero, &run, BPF_ANY);
				if (bpf_prog_test_run_opts(bpf_program__fd(programs[s]), &opts))
					return 2;
				if (r >= 0)
					ns[s][r] = (double)opts.duration / ROUNDS;
			}
		}
		for (unsigned int s = 0; s < SUBJECTS; s++)
			qsort(ns[s], REPEATS, sizeof(double), by_size);
		for (unsigned int s = 1; s < SUBJECTS; s++)
			printf("RESULT scenario=rates sources=%llu subject=%s ns=%.2f least=%.2f\n",
			       (unsigned long long)masks[m] + 1, bpf_program__name(programs[s]),
			       ns[s][REPEATS / 2] - ns[0][REPEATS / 2], ns[s][0] - ns[0][0]);
	}
	rates__destroy(skel);
	return 0;
}
