/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A generation in this process: a new one, or the one in force with its arrays mapped. Functions return 0 or -errno
 * with the reason recorded (log.h), and leave nothing behind when they fail.
 */
#ifndef KERNEL_GENERATION_H
#define KERNEL_GENERATION_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/arrays.h"

struct context;
struct live;

/* When bans end, for the kernel. */
struct ends {
	struct end {
		struct end_key key;
		__u64 until;
	} * at;
	size_t n;
};

struct candidate {
	struct generation g; /* members for maps are addresses here */
	struct {
		int fd;
		size_t size;
	} map[ARRAYS];
	int ends;			      /* the map of the ends of bans, or -1 */
	int scopes, unread;		      /* those of its scopes, or -1: kernel_scopes() */
	int detect[MAPS_DETECT - MAP_DETECT]; /* those of its detector, or -1: kernel_detect() */
	int program, ask, meta;
	struct trial trial;	    /* before kernel_load(): not in force for good */
	int on_trial, before, term; /* the program that goes into the slot then, and its maps */
	/* The same of what does not ask about sources alone: -1 where that is not in use. */
	struct match_programs {
		int program, on_trial, before;
	} match[MATCH_KINDS];
	char dir[256]; /* its pins, once there are any */
};

/* What comes after the state's commit is tried so often: a lack of memory or descriptors may pass. */
#define TRIES_ONCE_COMMITTED 3

/* Makes zeroed maps of the planned sizes and maps them into memory. */
int kernel_arrays(struct candidate *c, const struct generation *planned);
/* Loads the programs with the generation's constants, and pins all of it beside the one in force. */
int kernel_load(const struct context *context, struct candidate *c, const struct ends *ends);
/* Puts it into force, on every interface, and removes the one before, unless that is to come back. */
int kernel_switch(const struct context *context, struct candidate *c);
/* What is on trial stays. */
int kernel_keep(struct live *live);
/* Removes generations that killed commands left behind. */
void kernel_sweep(struct live *live);
/* Closes everything; unpins it unless it is in force. */
void kernel_release(struct candidate *c);

/* The generation in force, its arrays mapped into memory to read or to edit; end with kernel_release(). */
int live_map(const struct live *live, struct candidate *c, bool edit);
/* Could some memory not be mapped? Then zeros were read in its place, and what was written is lost. */
bool live_map_failed(const struct candidate *c);
/* live_map() to read, for commands without the lock. */
int kernel_open_live(const struct context *context, struct candidate *c);

/* A map of so many ends at most; what it holds, not what it may hold, takes memory. Or -errno. */
int kernel_ends_map(size_t most);
/* Puts them in; and takes those out that are 0. After an error those that are not in end later, or not at all. */
int kernel_ends_put(int map, const struct ends *ends);
/* How many it has room for in all; 0: it cannot be told. */
size_t kernel_ends_room(int map);

/* The size of each map, as the kernel has it. */
int kernel_map_bytes(const struct candidate *c, __u64 bytes[ARRAYS]);

#endif
