// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of a program's instructions before it is loaded: constants, switches and what is asked of the stack
 * where programs are interpreted; by naive tables. The kernel and libbpf are made up.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "kernel/pins.h"
#include "ktap.h"

#define FD 77

static int load_err, info_err;
static bool jitted;
static unsigned int asked, open_fds; /* how often the kernel was, and what is not closed */

static int given_load(const char *name, const struct bpf_insn *insns, size_t n)
{
	CHECK(!strcmp(name, "pass") && n == 2 && insns[0].imm == 2 && insns[1].code == (BPF_JMP | BPF_EXIT),
	      "it is not one that lets all pass");
	asked++;
	if (load_err)
		return load_err;
	open_fds++;
	return FD;
}

static int given_info(int fd, struct pinned *is)
{
	CHECK(fd == FD && open_fds, "of another: %d", fd);
	if (!info_err)
		*is = (struct pinned){ .kind = PINNED_PROGRAM, .jitted = jitted };
	return info_err;
}

static int given_close(int fd)
{
	CHECK(fd == FD && open_fds, "closed: %d", fd);
	open_fds--;
	return 0;
}

static struct bpf_insn given[8], was_set[9];
static size_t given_n, set_n;
static int set_err;
static bool no_memory;

static size_t given_count(const struct bpf_program *program)
{
	(void)program;
	return given_n;
}

static const struct bpf_insn *given_insns(const struct bpf_program *program)
{
	(void)program;
	return given;
}

static int given_set(struct bpf_program *program, struct bpf_insn *insns, size_t n)
{
	(void)program;
	memcpy(was_set, insns, n * sizeof(*insns));
	set_n = n;
	return set_err;
}

static void *given_malloc(size_t size)
{
	return no_memory ? NULL : malloc(size);
}

#define bpf_prog_load(type, name, license, insns, n, opts) given_load(name, insns, n)
#define pinned_info					   given_info
#define close						   given_close
#define bpf_program__insn_cnt				   given_count
#define bpf_program__insns				   given_insns
#define bpf_program__set_insns				   given_set
#define malloc						   given_malloc
#include "kernel/programs.c"
#undef malloc
#undef close

/* The kernel is asked until it has said it, and nothing stays open. */
static void is_asked(void)
{
	static const struct {
		int load_err, info_err;
		bool jitted, is, known;
	} each[] = {
		{ -EPERM, 0, false, true, false }, { 0, -EPERM, true, true, false }, { 0, -ENOMEM, false, true, false },
		{ 0, 0, true, false, true },	   { 0, 0, false, true, true },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		interpreted = -1;
		asked = 0;
		load_err = each[i].load_err;
		info_err = each[i].info_err;
		jitted = each[i].jitted;
		for (unsigned int times = 1; times < 4; times++) {
			CHECK(interprets() == each[i].is, "%zu, the %u. time", i, times);
			CHECK(asked == (each[i].known ? 1 : times), "%zu: asked %u times of %u", i, asked, times);
			CHECK(!open_fds, "%zu: %u are left open", i, open_fds);
		}
	}
	load_err = info_err = 0;
	open_fds = 0;
}

#define TAIL_CALL                                                     \
	{                                                             \
		.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call \
	}
#define LOOK_UP                                                             \
	{                                                                   \
		.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem \
	}
#define FUNCTION                                                                  \
	{                                                                         \
		.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 12 \
	}
#define END                                \
	{                                  \
		.code = BPF_JMP | BPF_EXIT \
	}

static const struct bpf_insn tail_call = TAIL_CALL, end = END;

static void stack(void)
{
	static const struct {
		struct bpf_insn insns[3];
		bool asks;
	} each[] = {
		{ { { 0 }, TAIL_CALL, END }, true },	 { { LOOK_UP, TAIL_CALL, END }, true },
		{ { { 0 }, LOOK_UP, END }, false },	 { { FUNCTION, TAIL_CALL, END }, false },
		{ { TAIL_CALL, FUNCTION, END }, false }, { { END }, false },
	};
	struct bpf_insn insns[4];

	for (int is = 0; is < 2; is++)
		for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
			size_t more = is && each[i].asks;

			interpreted = is;
			memcpy(insns, each[i].insns, sizeof(each[i].insns));
			CHECK(ask_for_stack(insns, 3) == 3 + more, "%zu, %s", i, is ? "interpreted" : "compiled");
			CHECK(!memcmp(insns + more, each[i].insns, sizeof(each[i].insns)), "%zu: others", i);
			CHECK(!more || (insns[0].code == (BPF_ST | BPF_MEM | BPF_DW) && insns[0].dst_reg == 10 &&
					insns[0].off == -512 && !insns[0].imm),
			      "%zu: it asks in another way", i);
		}
	interpreted = 0;
}

/* A jump that is never taken, or always. */
static void jump(int imm, bool turned, int then, const char *what)
{
	given[0] = (struct bpf_insn){ .code = BPF_JMP | BPF_JSLT | BPF_K, .dst_reg = 3, .off = 5, .imm = imm };
	given[1] = end;
	given_n = 2;
	CHECK(!set_constants(NULL, NULL, 0) && set_n == 2, "%s: refused", what);
	CHECK(was_set[0].code == (turned ? BPF_JMP | BPF_JSGE | BPF_K : given[0].code) && was_set[0].imm == then &&
		      was_set[0].dst_reg == 3 && was_set[0].off == 5 && !memcmp(&was_set[1], &end, sizeof(end)),
	      "%s: code %x, %d", what, was_set[0].code, was_set[0].imm);
}

static void switches(void)
{
	struct generation g = { 0 };

	loading = &g;
	for (unsigned int on = 0; on < 128; on++) {
		bool codes = on & 1, detects = on & 2, looks_up = on & 4, scoped = on & 8, inner = on & 16;
		bool ends = on & 32, embedded = on & 64;

		g.roster4_buckets = codes ? ROSTER4_CODES : 4;
		g.scoped = scoped;
		g.inner = inner;
		g.ends = ends;
		g.embedded = embedded;
		loading_detect = (struct detect){ .cells = detects, .looks_up = looks_up };
		jump(SWITCH_MAGIC, embedded, SWITCH_MAGIC, "embedded");
		jump(DETECT_MAGIC, detects, DETECT_MAGIC, "detector");
		jump(LOOKS_UP_MAGIC, looks_up, LOOKS_UP_MAGIC, "looks up");
		jump(SCOPES_MAGIC, scoped, SCOPES_MAGIC, "scopes");
		jump(INNER_MAGIC, inner, INNER_MAGIC, "inner");
		jump(CODES_MAGIC, codes, CODES_MAGIC, "codes");
		jump(42, false, 42, "another");
		given[0] = (struct bpf_insn){ .code = BPF_JMP | BPF_JSLT | BPF_K, .imm = RARE_BELOW };
		CHECK(!set_constants(NULL, NULL, 0), "refused");
		CHECK(was_set[0].code == (inner		   ? BPF_JMP | BPF_JSGE | BPF_K
					  : ends || scoped ? BPF_JMP | BPF_JSET | BPF_K
							   : BPF_JMP | BPF_JSLT | BPF_K) &&
			      was_set[0].imm == (inner		  ? INT_MIN
						 : ends || scoped ? RARE_BITS
								  : RARE_BELOW),
		      "%u: what is rare: %x, %x", on, was_set[0].code, (unsigned int)was_set[0].imm);
		given[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = ALONE_MAGIC };
		CHECK(!set_constants(NULL, NULL, 0) &&
			      was_set[0].imm ==
				      (int)(codes ? ANSWER_CODES : ANSWER_DROP | ANSWER(STAGE_FILTER, 0, LABEL_LIVE)),
		      "%u: the filter alone: %d", on, was_set[0].imm);
	}
	loading = NULL;
	loading_detect = (struct detect){ 0 };
}

static void what_comes(void)
{
	static const struct {
		struct bpf_insn is;
		int imm, off;
	} each[] = {
		{ { .code = BPF_LDX | BPF_MEM | BPF_W, .off = offsetof(struct __sk_buff, wire_len) },
		  0,
		  offsetof(struct __sk_buff, len) },
		{ { .code = BPF_LDX | BPF_MEM | BPF_W, .off = offsetof(struct __sk_buff, mark) },
		  0,
		  offsetof(struct __sk_buff, mark) },
		{ { .code = BPF_ALU | BPF_OR | BPF_K, .imm = ANSWER_OUT }, 0, 0 },
		{ { .code = BPF_ALU64 | BPF_OR | BPF_K, .imm = ANSWER_OUT }, 0, 0 },
		{ { .code = BPF_ALU64 | BPF_OR | BPF_K, .imm = 3 }, 3, 0 },
		{ { .code = BPF_ALU64 | BPF_AND | BPF_K, .imm = ANSWER_OUT }, ANSWER_OUT, 0 },
		{ { .code = BPF_JMP | BPF_JSLT | BPF_K, .imm = (int)LEAVES_TO }, INT_MAX, 0 },
		{ { .code = BPF_JMP | BPF_JSLT | BPF_X, .imm = (int)LEAVES_TO }, (int)LEAVES_TO, 0 },
	};
	struct generation g = { 0 };

	loading = &g;
	for (int coming = 0; coming < 2; coming++)
		for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
			loading_coming = coming;
			given[0] = each[i].is;
			given[1] = end;
			given_n = 2;
			CHECK(!set_constants(NULL, NULL, 0) &&
				      was_set[0].imm == (coming ? each[i].imm : each[i].is.imm) &&
				      was_set[0].off == (coming ? each[i].off : each[i].is.off) &&
				      was_set[0].code == each[i].is.code,
			      "%zu, %s: %d, %d", i, coming ? "what comes" : "what leaves", was_set[0].imm,
			      was_set[0].off);
		}
	loading_coming = false;
	loading = NULL;
}

static void wide(__u64 index, __u8 kind, __u64 value, const char *what)
{
	__u64 is = CONSTANT_MAGIC | index;

	given[0] = (struct bpf_insn){ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 2, .imm = (int)is };
	given[1] = (struct bpf_insn){ .imm = (int)(is >> 32) };
	given[2] = end;
	given_n = 3;
	CHECK(!set_constants(NULL, NULL, 0) && set_n == 3, "%s: refused", what);
	is = (__u32)was_set[0].imm | (__u64)was_set[1].imm << 32;
	CHECK(was_set[0].src_reg == kind && is == value && was_set[0].dst_reg == 2, "%s: kind %u, %llx", what,
	      was_set[0].src_reg, (unsigned long long)is);
}

static void constants(void)
{
	struct generation g = { .number = 0x123456789abcULL, .filter = 1, .filter_blocks = 9, .roster4_buckets = 6 };
	int maps[MAPS];

	for (unsigned int i = 0; i < MAPS; i++)
		maps[i] = -1;
	loading = &g;
	loading_maps = maps;
	wide(CONSTANT_INDEX(number), 0, g.number, "a number");
	wide(CONSTANT_INDEX(filter), 0, 1, "an array that is not there");
	maps[ARRAY_FILTER] = 31;
	wide(CONSTANT_INDEX(filter), BPF_PSEUDO_MAP_FD, 31, "an array");
	g.filter_flat = 1;
	wide(CONSTANT_INDEX(filter), BPF_PSEUDO_MAP_VALUE, 31, "a flat one");
	maps[ARRAY_GATE4] = 32;
	wide(CONSTANT_INDEX(gate4), BPF_PSEUDO_MAP_VALUE, 32, "one that always is");
	wide(CONSTANT_INDEX(roster4_buckets), 0, 6, "a roster's shape");
	wide(CONSTANT_CODES, 0, 0, "that of codes, where there are none");
	g.roster4_buckets = ROSTER4_CODES | 6;
	wide(CONSTANT_INDEX(roster4_buckets), 0, 0, "a roster's shape, of codes");
	wide(CONSTANT_CODES, 0, g.roster4_buckets, "that of codes");
	wide(CONSTANT_SCOPES, 0, 0, "scopes that are not there");
	maps[MAP_SCOPES] = 33;
	maps[MAP_UNREAD] = 34;
	g.scoped = 1;
	wide(CONSTANT_SCOPES, BPF_PSEUDO_MAP_VALUE, 33, "scopes");
	wide(CONSTANT_UNREAD, BPF_PSEUDO_MAP_FD, 34, "what was not read");
	wide(CONSTANT_ENDS, 0, 0, "ends that are not there");
	maps[MAP_ENDS] = 35;
	g.ends = 1;
	wide(CONSTANT_ENDS, BPF_PSEUDO_MAP_FD, 35, "ends");
	maps[MAP_SKETCH] = 36;
	maps[MAP_CLAIMS] = 37;
	loading_detect.suspects = 5;
	wide(CONSTANT_DETECT + DETECT_INDEX(sketch), 0, 0, "a sketch without a detector");
	loading_detect.cells = 1024;
	wide(CONSTANT_DETECT + DETECT_INDEX(sketch), BPF_PSEUDO_MAP_VALUE, 36, "a sketch");
	wide(CONSTANT_DETECT + DETECT_INDEX(claims), BPF_PSEUDO_MAP_FD, 37, "claims");
	wide(CONSTANT_DETECT + DETECT_INDEX(suspects), 0, 5, "suspects that are not there");
	wide(CONSTANT_DETECT + DETECT_INDEX(cells), 0, 1024, "a detector's number");
	loading_maps = NULL;
	wide(CONSTANT_SCOPES, 0, 0, "scopes, without maps");
	wide(CONSTANT_ENDS, 0, 0, "ends, without maps");
	loading_detect = (struct detect){ 0 };
	loading = NULL;
}

static void not_loaded(void)
{
	struct generation g = { 0 };

	set_n = 0;
	given[0] = end;
	given_n = 1;
	CHECK(!set_constants(NULL, NULL, 0) && !set_n, "without a generation something is set");
	loading = &g;
	no_memory = true;
	CHECK(err_is(set_constants(NULL, NULL, 0), ENOMEM) && !set_n, "without memory");
	no_memory = false;
	set_err = -EINVAL;
	CHECK(err_is(set_constants(NULL, NULL, 0), EINVAL), "an error is lost");
	set_err = 0;
	given[0] = tail_call;
	given[1] = end;
	given_n = 2;
	interpreted = 1;
	CHECK(!set_constants(NULL, NULL, 0) && set_n == 3 && !memcmp(was_set + 1, given, 2 * sizeof(given[0])),
	      "the stack");
	interpreted = 0;
	loading = NULL;
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "the kernel is asked", is_asked }, { "the stack", stack },	 { "switches", switches },
		{ "what comes in", what_comes },     { "constants", constants }, { "not loaded", not_loaded },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
