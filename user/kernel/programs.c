// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/programs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/close_fd.h"
#include "filter/arrays.h"
#include "filter/roster_table.h"
#include "bpf/constants.h"
#include "kernel/pins.h"
#include "xdp_bloom.skel.h"
#include "xdp_bloom_both.skel.h"
#include "xdp_bloom_out.skel.h"
#include "xdp_bloom_out_both.skel.h"
#include "xdp_bloom_out_to.skel.h"
#include "xdp_bloom_to.skel.h"

/*
 * The constants of the object being loaded, for libbpf's callback. They cannot be its cookie: that is fixed when the
 * handler is registered, and after an unregistering libbpf before 1.3 frees its table twice.
 */
static const struct generation *loading;
static const int *loading_maps;
static struct detect loading_detect;
static bool loading_coming; /* by tc */

static void set_wide(struct bpf_insn *insn, __u8 kind, __u64 value)
{
	insn[0].src_reg = kind;
	insn[0].imm = (__s32)value;
	insn[1].imm = (__s32)(value >> 32);
}

static void set_detect_constant(struct bpf_insn *insn, unsigned int offset)
{
	static const struct {
		unsigned int member, map;
		__u8 kind;
	} maps[] = {
		{ offsetof(struct detect, sketch), MAP_SKETCH, BPF_PSEUDO_MAP_VALUE },
		{ offsetof(struct detect, suspects), MAP_SUSPECTS, BPF_PSEUDO_MAP_VALUE },
		{ offsetof(struct detect, claims), MAP_CLAIMS, BPF_PSEUDO_MAP_FD },
		{ offsetof(struct detect, detected), MAP_DETECTED, BPF_PSEUDO_MAP_FD },
		{ offsetof(struct detect, trusted), MAP_TRUSTED, BPF_PSEUDO_MAP_FD },
		{ offsetof(struct detect, policed), MAP_POLICED, BPF_PSEUDO_MAP_FD },
		{ offsetof(struct detect, proven), MAP_PROVEN, BPF_PSEUDO_MAP_FD },
		{ offsetof(struct detect, slots), MAP_SLOTS, BPF_PSEUDO_MAP_VALUE },
		{ offsetof(struct detect, slot_of), MAP_SLOT_OF, BPF_PSEUDO_MAP_FD },
	};

	for (size_t i = 0; loading_detect.cells && i < sizeof(maps) / sizeof(maps[0]); i++)
		if (maps[i].member == offset && loading_maps[maps[i].map] >= 0) {
			set_wide(insn, maps[i].kind, (__u32)loading_maps[maps[i].map]);
			return;
		}
	set_wide(insn, 0, *(const __u64 *)((const char *)&loading_detect + offset));
}

/* Writes one constant into its instruction: a number, a map, or a map's only value. */
static void set_constant(struct bpf_insn *insn, unsigned int offset)
{
	if (offset == 8 * CONSTANT_CODES) {
		set_wide(insn, 0, keeps_codes4(loading) ? loading->roster4_buckets : 0);
		return;
	}
	if (offset == offsetof(struct generation, roster4_buckets) && keeps_codes4(loading)) {
		set_wide(insn, 0, 0);
		return;
	}
	if (offset >= 8 * CONSTANT_SCOPES) {
		if (!loading->scoped || !loading_maps)
			set_wide(insn, 0, 0);
		else if (offset == 8 * CONSTANT_SCOPES)
			set_wide(insn, BPF_PSEUDO_MAP_VALUE, (__u32)loading_maps[MAP_SCOPES]);
		else
			set_wide(insn, BPF_PSEUDO_MAP_FD, (__u32)loading_maps[MAP_UNREAD]);
		return;
	}
	if (offset > sizeof(struct generation)) {
		set_detect_constant(insn, offset - 8 * CONSTANT_DETECT);
		return;
	}
	if (offset == sizeof(struct generation)) {
		if (loading->ends && loading_maps)
			set_wide(insn, BPF_PSEUDO_MAP_FD, (__u32)loading_maps[MAP_ENDS]);
		else
			set_wide(insn, 0, 0);
		return;
	}
	for (enum array a = 0; a < ARRAYS; a++) {
		if (array_kinds[a].member != offset || loading_maps[a] < 0)
			continue;
		if (!array_kinds[a].flat || *generation_member((struct generation *)loading, array_kinds[a].flat))
			set_wide(insn, BPF_PSEUDO_MAP_VALUE, (__u32)loading_maps[a]);
		else
			set_wide(insn, BPF_PSEUDO_MAP_FD, (__u32)loading_maps[a]);
		return;
	}
	set_wide(insn, 0, *generation_member((struct generation *)loading, offset));
}

/* Programs of what leaves become those of what comes in (bpf/tc.h). */
static void turn_round(struct bpf_insn *insn)
{
	if (insn->code == (BPF_LDX | BPF_MEM | BPF_W) && insn->off == offsetof(struct __sk_buff, wire_len))
		insn->off = offsetof(struct __sk_buff, len);
	if ((insn->code == (BPF_ALU | BPF_OR | BPF_K) || insn->code == (BPF_ALU64 | BPF_OR | BPF_K)) &&
	    insn->imm == ANSWER_OUT)
		insn->imm = 0;
	if (insn->code == (BPF_JMP | BPF_JSLT | BPF_K) && insn->imm == (int)LEAVES_TO)
		insn->imm = INT32_MAX;
}

static int interpreted = -1; /* -1: the kernel was not asked yet, or did not say */

/* Are programs interpreted here, or is that not known? Asked by one that lets all pass. */
static bool interprets(void)
{
	const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct pinned is;
	int fd;

	if (interpreted < 0) {
		fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "pass", "GPL", pass, sizeof(pass) / sizeof(pass[0]), NULL);
		if (fd >= 0 && !pinned_info(fd, &is))
			interpreted = !is.jitted;
		close_fd(fd);
	}
	return interpreted;
}

#define STACK_MOST 512 /* of a program */

/*
 * Interpreted, the program that is called last runs on the stack of the first one. Linux 6.12 gives that no more than
 * it asks for itself (6.1 gave all), and what lies behind is overwritten: the machine stops. So it asks for all, by
 * writing there. Returns how many instructions there are now.
 */
static size_t ask_for_stack(struct bpf_insn *insns, size_t n)
{
	bool calls_last = false;

	for (size_t i = 0; i < n; i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL))
			continue;
		if (insns[i].src_reg)
			return n; /* such kernels refuse a program that does both */
		calls_last = calls_last || insns[i].imm == BPF_FUNC_tail_call;
	}
	if (!calls_last || !interprets())
		return n;
	memmove(insns + 1, insns, n * sizeof(*insns));
	insns[0] = (struct bpf_insn){ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -STACK_MOST };
	return n + 1;
}

static int set_constants(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	size_t n = bpf_program__insn_cnt(program);
	struct bpf_insn *insns;
	int err;

	(void)opts;
	(void)cookie;
	if (!loading)
		return 0;
	insns = malloc((n + 1) * sizeof(*insns));
	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(program), n * sizeof(*insns));
	for (size_t i = 0; i + 1 < n; i++) {
		__u64 value = (__u32)insns[i].imm | (__u64)insns[i + 1].imm << 32;

		if (insns[i].code == (BPF_JMP | BPF_JSLT | BPF_K) && insns[i].imm == SWITCH_MAGIC && loading->embedded)
			insns[i].code = BPF_JMP | BPF_JSGE | BPF_K;
		if (insns[i].code == (BPF_JMP | BPF_JSLT | BPF_K) && insns[i].imm == DETECT_MAGIC &&
		    loading_detect.cells)
			insns[i].code = BPF_JMP | BPF_JSGE | BPF_K;
		if (insns[i].code == (BPF_JMP | BPF_JSLT | BPF_K) && insns[i].imm == LOOKS_UP_MAGIC &&
		    loading_detect.looks_up)
			insns[i].code = BPF_JMP | BPF_JSGE | BPF_K;
		if (insns[i].code == (BPF_JMP | BPF_JSLT | BPF_K) && insns[i].imm == SCOPES_MAGIC && loading->scoped)
			insns[i].code = BPF_JMP | BPF_JSGE | BPF_K;
		if (insns[i].code == (BPF_JMP | BPF_JSLT | BPF_K) && insns[i].imm == INNER_MAGIC && loading->inner)
			insns[i].code = BPF_JMP | BPF_JSGE | BPF_K;
		if (insns[i].code == (BPF_JMP | BPF_JSLT | BPF_K) && insns[i].imm == CODES_MAGIC &&
		    keeps_codes4(loading))
			insns[i].code = BPF_JMP | BPF_JSGE | BPF_K;
		if (insns[i].code == (BPF_ALU64 | BPF_MOV | BPF_K) && insns[i].imm == ALONE_MAGIC)
			insns[i].imm = keeps_codes4(loading) ? ANSWER_CODES
							     : ANSWER_DROP | ANSWER(STAGE_FILTER, 0, LABEL_LIVE);
		if (insns[i].code == (BPF_JMP | BPF_JSLT | BPF_K) && insns[i].imm == RARE_BELOW && loading->inner) {
			insns[i].code = BPF_JMP | BPF_JSGE | BPF_K;
			insns[i].imm = INT_MIN; /* each answer */
		}
		if (insns[i].code == (BPF_JMP | BPF_JSLT | BPF_K) && insns[i].imm == RARE_BELOW &&
		    (loading->ends || loading->scoped)) {
			insns[i].code = BPF_JMP | BPF_JSET | BPF_K;
			insns[i].imm = RARE_BITS;
		}
		if (loading_coming)
			turn_round(&insns[i]);
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && !insns[i].src_reg &&
		    value >> 32 == CONSTANT_MAGIC >> 32)
			set_constant(&insns[i], (__u32)value * 8);
	}
	err = bpf_program__set_insns(program, insns, ask_for_stack(insns, n));
	free(insns);
	return err;
}

int programs_register(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, handler, .prog_prepare_load_fn = set_constants);
	static int registered, of_tc;

	if (!registered)
		registered = libbpf_register_prog_handler("xdp", BPF_PROG_TYPE_XDP, BPF_XDP, &handler);
	if (!of_tc)
		of_tc = libbpf_register_prog_handler("tc", BPF_PROG_TYPE_SCHED_CLS, 0, &handler);
	return registered < 0 || of_tc < 0 ? because_kernel(registered < 0 ? registered : of_tc, "libbpf") : 0;
}

/* Their pins have the maps' names: PIN_SLOT and so on. What is on trial has maps of its own. */
static int pin_maps(const struct context *context, unsigned int match, struct bpf_object *object)
{
	int err = context ? pins_are_ours(context) : 0; /* libbpf would say that the kernel refuses the program */
	char path[PIN_PATH_MAX];
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = bpf_map__name(map);

		if (!strcmp(name, "trial") || !strcmp(name, "before")) {
			bpf_map__set_autocreate(map, false);
			continue;
		}
		if (!context)
			continue;
		if (!strcmp(name, PIN_SLOT))
			name = match_pins[match].slot;
		else if (!strcmp(name, PIN_COUNTERS_OUT) && !MATCH_LEAVES(match))
			name = PIN_COUNTERS;
		pin_path(context, path, name);
		bpf_map__set_pin_path(map, path);
	}
	return err;
}

int programs_open_match(const struct context *context, unsigned int match, struct bpf_object **object)
{
	static const void *(*const objects[MATCH_KINDS])(size_t * size) = {
		xdp_bloom_bpf__elf_bytes,     xdp_bloom_to_bpf__elf_bytes,     xdp_bloom_both_bpf__elf_bytes,
		xdp_bloom_out_bpf__elf_bytes, xdp_bloom_out_to_bpf__elf_bytes, xdp_bloom_out_both_bpf__elf_bytes,
		xdp_bloom_out_bpf__elf_bytes, xdp_bloom_out_to_bpf__elf_bytes, xdp_bloom_out_both_bpf__elf_bytes,
	};
	struct bpf_program *program = NULL;
	int err = programs_register();
	const void *bytes;
	size_t size;

	*object = NULL;
	if (err)
		return err;
	bytes = objects[match](&size);
	*object = bpf_object__open_mem(bytes, size, NULL);
	if (!*object)
		return because_kernel(-errno, "the BPF object");
	while ((program = bpf_object__next_program(*object, program)))
		bpf_program__set_autoload(program, false);
	err = pin_maps(context, match, *object);
	if (err) {
		bpf_object__close(*object);
		*object = NULL;
	}
	return err;
}

int programs_open(const struct context *context, struct xdp_bloom_bpf **skel)
{
	int err = programs_register();

	*skel = NULL;
	if (err)
		return err;
	*skel = xdp_bloom_bpf__open();
	if (!*skel)
		return because_kernel(-errno, "the BPF object");
	err = pin_maps(context, MATCH_SOURCE, (*skel)->obj);
	if (err) {
		xdp_bloom_bpf__destroy(*skel);
		*skel = NULL;
		return err;
	}
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_bare, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_bare_trial, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_rates, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_looks, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_slots, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_trial, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_trial_slots, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_trial_shared, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_trial_shared_slots, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_trial_root, false);
	return 0;
}

void programs_add(struct bpf_program *program, struct bpf_map *trial, struct bpf_map *before)
{
	bpf_program__set_autoload(program, true);
	bpf_map__set_autocreate(trial, true);
	if (before)
		bpf_map__set_autocreate(before, true);
}

/* Functions that verifiers look at by themselves, and whose names begin so, are as others. */
static void not_apart(struct bpf_object *object, const char *names)
{
	struct btf *btf = bpf_object__btf(object);

	for (__u32 id = 1; btf && id < btf__type_cnt(btf); id++) {
		struct btf_type *type = (struct btf_type *)btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);

		if (btf_is_func(type) && btf_vlen(type) == BTF_FUNC_GLOBAL && !strncmp(name, names, strlen(names)) &&
		    !bpf_object__find_program_by_name(object, name))
			type->info = BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC;
	}
}

void programs_not_apart(struct bpf_object *object)
{
	not_apart(object, "");
}

struct bpf_program *programs_judge(struct xdp_bloom_bpf *skel, const int *maps)
{
	struct detect detect = { 0 };
	struct bpf_program *judge;
	__u32 key = 0;

	if (maps[MAP_DETECT] >= 0)
		bpf_map_lookup_elem(maps[MAP_DETECT], &key, &detect);
	judge = !detect.cells	       ? skel->progs.xdp_bloom_gen
		: maps[MAP_SLOTS] >= 0 ? skel->progs.xdp_bloom_slots
		: detect.looks_up      ? skel->progs.xdp_bloom_looks
				       : skel->progs.xdp_bloom_rates;
	bpf_program__set_autoload(skel->progs.xdp_bloom_gen, false);
	bpf_program__set_autoload(judge, true);
	return judge;
}

void programs_constants(struct bpf_object *object, const struct generation *g, const int *maps)
{
	__u32 key = 0;

	/* Before 6.8 they are looked at where nothing calls them, too, and stay. */
	if (object && !(g && g->scoped))
		not_apart(object, "scope_");
	if (object && !(g && g->inner))
		not_apart(object, "inner_");
	loading = g;
	loading_maps = maps;
	if (!g || !maps || maps[MAP_DETECT] < 0 || bpf_map_lookup_elem(maps[MAP_DETECT], &key, &loading_detect))
		loading_detect = (struct detect){ 0 };
}

int programs_load_match(struct bpf_object *object, unsigned int match, const struct generation *g, const int *maps)
{
	int err;

	loading_coming = MATCH_BY_TC(match) && !MATCH_LEAVES(match);
	err = programs_load(object, g, maps);
	loading_coming = false;
	return err;
}

int programs_load(struct bpf_object *object, const struct generation *g, const int *maps)
{
	struct bpf_program *program = NULL;
	int err;

	if (g && g->frags)
		while ((program = bpf_object__next_program(object, program)))
			if (bpf_program__type(program) == BPF_PROG_TYPE_XDP)
				bpf_program__set_flags(program, bpf_program__flags(program) | BPF_F_XDP_HAS_FRAGS);
	programs_constants(object, g, maps);
	err = bpf_object__load(object);
	programs_constants(NULL, NULL, NULL);
	return err;
}
