/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF object: opened with its shared maps, and loaded with a generation's constants in its instructions. */
#ifndef KERNEL_PROGRAMS_H
#define KERNEL_PROGRAMS_H

#include <stdbool.h>

struct bpf_object;
struct bpf_program;
struct context;
struct generation;
struct xdp_bloom_bpf;

/* Before any object with constants is opened; programs_open() calls it. */
int programs_register(void);
/* Without a context: nothing of it is pinned. */
int programs_open(const struct context *context, struct xdp_bloom_bpf **skel);

/* The object of another match (MATCH_...): of its programs, which have the same names, none is to be loaded yet. */
int programs_open_match(const struct context *context, unsigned int match, struct bpf_object **object);

/* One that is loaded only where something is on trial, with its maps; before may be NULL. */
struct bpf_map;
void programs_add(struct bpf_program *program, struct bpf_map *trial, struct bpf_map *before);

/*
 * The program of a generation, which is another where it has a detector, and where that has limits of interfaces. Those
 * that are not wanted are not loaded.
 */
struct bpf_program *programs_judge(struct xdp_bloom_bpf *skel, const int *maps);

/* Before it is loaded: verifiers are to follow each call of what else they look at apart. */
void programs_not_apart(struct bpf_object *object);

/* For an object that libxdp loads: these constants from now on, until the next call, which has none of all. */
void programs_constants(struct bpf_object *object, const struct generation *g, const int *maps);

/* maps has a descriptor, or -1, for each array; without a generation nothing is written. */
int programs_load(struct bpf_object *object, const struct generation *g, const int *maps);
/* The same for an object of programs_open_match(). */
int programs_load_match(struct bpf_object *object, unsigned int match, const struct generation *g, const int *maps);

#endif
