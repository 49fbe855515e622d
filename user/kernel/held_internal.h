/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts that are held, and what is asked of them. */
#ifndef KERNEL_HELD_INTERNAL_H
#define KERNEL_HELD_INTERNAL_H

#include <sys/stat.h>

#include "kernel/held.h"

enum group { BASE, GENERATION, LINK };

struct part {
	char name[PIN_PATH_MAX / 2]; /* of its pin, below the bpffs directory */
	int fd;
	enum group group;
	struct pinned is;
	dev_t dev; /* of the pin's file, when it was last seen to be right; 0: it was not */
	ino_t ino;
	/* Of a LINK: */
	struct attachment at;
	__u32 on_trial; /* the program that it was attached with until it is confirmed; 0: the root */
	/* The interface that it filters, or filtered until it was detached; 0: none that is there. */
	unsigned int where;
	bool detached;
};

struct held {
	const struct context *context;
	struct part *parts;
	size_t n;
	__u64 number;		    /* of the generation that is in force by its pins; 0: none */
	__u32 in_slot[MATCH_KINDS]; /* the program that is, or is to be; 0: none */
	struct committed expected;
	bool forget; /* those that are detached now were detached by somebody who may */
	unsigned int found;
	char faults[512];
};

struct part *held_find(const struct held *h, const char *name);
const struct part *held_find_id(const struct held *h, enum pinned_kind kind, __u32 id);
__u32 held_id_of(const struct held *h, const char *name);
/* Of the generation that is in force. */
const struct part *held_generation_part(const struct held *h, const char *what);
void held_clear(struct held *h);
/* The program that is in that slot now. */
__u32 held_in_slot(const struct held *h, unsigned int match);

/* Of its own descriptor: 0 where it filters nothing, as the interface is gone or it was detached. */
unsigned int held_filters_where(const struct held *h, const struct part *link);
/* What belongs into a slot for a generation: on trial, or for good. */
__u32 held_program_of(const struct held *h, __u64 number, const char *pin);
/* One of ours, of whatever match. */
bool held_is_root(const struct held *h, __u32 id);
bool held_runs_root(const struct held *h, const struct part *link);
/* That it is to run; NULL: it is not known. */
const struct part *held_root(const struct held *h, const struct part *link);
/* Is anything there under its pin's name? */
bool held_stands(const struct held *h, const struct part *part, struct stat *st);
/* What is pinned there, and its file: a descriptor, or -errno; -EAGAIN: it is being replaced. */
int held_get(const struct held *h, const struct part *part, struct stat *st);
/* Is its pin there, and is it its own? */
bool held_is_right(const struct held *h, struct part *part, struct pinned *is);

/* What is pinned now. -EAGAIN: something changed meanwhile. -EMFILE, -ENFILE: it cannot be seen. */
int held_take(struct held *now);
/* Takes over what commands have changed: base and generation of one, the links of both. */
void held_merge(struct held *h, struct held *now);

#endif
