/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The generation in force, looked up once. Under the state's lock it stays in force until kernel_switch(). A
 * command without the lock may find a pin of it gone, and asks live_overtaken().
 */
#ifndef KERNEL_LIVE_H
#define KERNEL_LIVE_H

#include <stdbool.h>

#include "filter/arrays.h"

struct context;

/*
 * What the state has: the number of its generation, 0 where that is not known, and whether it waits for confirmation.
 * Then nothing of it comes into force without its clock, or it would stay beyond the deadline.
 */
struct committed {
	__u64 number;
	bool on_trial;
};

struct live {
	const struct context *context;
	int err;	      /* 0; -ENOENT: nothing is in force; else it cannot be read, with the reason recorded */
	struct generation g;  /* its description, zeroed with an err; members for maps are 0 or 1 */
	__u64 number, loaded; /* the number of its pins; when it was loaded, in ns since the boot */
	__u32 program;	      /* the id of the program in the slot; 0: it is empty */
	struct trial trial;   /* of the generation in the slot; until is 0 where it is there for good */
	__u64 on_trial;	      /* its number. Its time may be over: then g is the generation before */
	int meta;	      /* a descriptor of its description */
	bool others;	      /* more generations are pinned, left behind by a killed command */
	unsigned int overtaken;
};

/* Both return live->err. */
int live_open(struct live *live, const struct context *context);
/* The same for one that was opened before: only what has changed is looked up. */
int live_look(struct live *live);
void live_close(struct live *live);

/* A descriptor of one of its pins, or -errno. */
int live_pin(const struct live *live, const char *name);
/* Descriptors of its maps, -1 where it has none. The caller closes them. */
int live_maps(const struct live *live, int maps[MAPS]);
/* After -ENOENT from these two: has another generation come into force? Then live is that one. */
bool live_overtaken(struct live *live);
/* The generation to go back to from one that comes next: 0 where there is none. */
__u64 live_before(const struct live *live);
/* While a generation is on trial: the one that the kernel calls afterwards, as if it were in force. Or -errno. */
int live_open_before(const struct live *live, struct live *before);
/* Writes what an edit changed into the description. */
int live_note(struct live *live, const struct generation *edited);

/* Without a struct live: the description, or -errno; the number, 0 where none can be read. */
int kernel_live(const struct context *context, struct generation *g);
unsigned long long kernel_live_generation(const struct context *context);
/* How long ago it was loaded. */
int kernel_age(const struct context *context, double *seconds);

#endif
