/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A generation as this process holds it: on its way into force, or the one in force with its arrays mapped. Functions
 * return 0 or -errno with the reason recorded (log.h), and leave nothing behind when they fail.
 */
#ifndef KERNEL_CANDIDATE_H
#define KERNEL_CANDIDATE_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/arrays.h"

struct context;
struct live;

/* A generation on its way into the slot. */
struct candidate {
	struct generation g; /* the members that stand for maps are addresses here */
	struct {
		int fd;
		size_t size;
	} map[ARRAYS];
	int program, ask, meta;
	char dir[256]; /* its pins, once there are any */
};

/* Makes zeroed maps of the planned sizes and maps them into memory. */
int kernel_arrays(struct candidate *c, const struct generation *planned);
/* Verifies the programs with the generation's constants, and pins all of it beside the one in force. */
int kernel_load(const struct context *context, struct candidate *c);
/* From the return on it is in force, on every interface; then the one before is let go. */
int kernel_switch(const struct context *context, struct candidate *c);
/* Unpins what a command that was killed left beside the generation in force. */
void kernel_sweep(struct live *live);
/* Lets go of our hold; unpins it unless it is in force. */
void kernel_release(struct candidate *c);

/* The generation in force, with its arrays mapped into memory, to read or to edit; kernel_release() lets go of them. */
int live_map(const struct live *live, struct candidate *c, bool edit);
/* Did some memory to edit not come? Then zeros were read in its place, and what is written there is lost. */
bool live_map_failed(const struct candidate *c);
/* live_map() to read, for whoever holds no lock. */
int kernel_open_live(const struct context *context, struct candidate *c);

/* The bytes that its maps really hold, as the kernel says. */
void kernel_map_bytes(const struct candidate *c, __u64 bytes[ARRAYS]);

#endif
