// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a generation takes to come into force: the time of writing the slot, and until the kernel says that it is
 * done. Writes the program that is there already; prints the nanoseconds of each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <bpf/bpf.h>

#include "bpf/abi.h"
#include "base/options.h"
#include "kernel/pins.h"

#define TIMES 101

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
	struct context context = CONTEXT_DEFAULT;
	const char *bpffs = getenv("XDP_BLOOM_BPFFS");
	__u32 key = 0, id;
	int slot, program;

	if (bpffs)
		context.bpffs = bpffs;
	slot = pin_get(&context, PIN_SLOT);
	if (slot < 0 || bpf_map_lookup_elem(slot, &key, &id))
		return 2;
	program = bpf_prog_get_fd_by_id(id);
	for (int i = 0; i < TIMES; i++) {
		double start = now();

		if (bpf_map_update_elem(slot, &key, &program, BPF_ANY))
			return 2;
		printf("%.0f\n", now() - start);
	}
	return 0;
}
