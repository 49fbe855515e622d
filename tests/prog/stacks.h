/* SPDX-License-Identifier: GPL-2.0-only */
/* How much stack a loaded program takes, as kernels before 6.9 add it up: each function's is rounded up to 32 bytes. */
#ifndef STACKS_H
#define STACKS_H

#include <bpf/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the function that begins there, and of those that it calls; starts[]: one begins there. */
static unsigned int stack_from(const struct bpf_insn *insns, size_t n, size_t from, const bool *starts,
			       unsigned int *known)
{
	unsigned int own = 1, called = 0;

	if (known[from])
		return known[from];
	for (size_t i = from; i < n && (i == from || !starts[i]); i++) {
		unsigned int class = BPF_CLASS(insns[i].code);
		int at = 0;

		if ((class == BPF_LDX && insns[i].src_reg == BPF_REG_10) ||
		    ((class == BPF_ST || class == BPF_STX) && insns[i].dst_reg == BPF_REG_10))
			at = -insns[i].off;
		else if (insns[i].code == (BPF_ALU64 | BPF_ADD | BPF_K) && i > from &&
			 insns[i - 1].code == (BPF_ALU64 | BPF_MOV | BPF_X) && insns[i - 1].src_reg == BPF_REG_10)
			at = -insns[i].imm;
		own = at > (int)own ? (unsigned int)at : own;
		if (insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].src_reg == BPF_PSEUDO_CALL) {
			size_t to = i + 1 + (insns[i].off ?: insns[i].imm);
			unsigned int its = stack_from(insns, n, to, starts, known);

			called = its > called ? its : called;
		}
		i += class == BPF_LD;
	}
	known[from] = (own + 31) / 32 * 32 + called;
	return known[from];
}

enum { STACK_INSNS = 1 << 14, STACK_MOST = 512 };

/* 0: its instructions cannot be seen. */
static unsigned int stack_of(int program)
{
	static struct bpf_insn insns[STACK_INSNS];
	static bool starts[STACK_INSNS];
	static unsigned int known[STACK_INSNS];
	struct bpf_prog_info info = { .xlated_prog_insns = (__u64)(uintptr_t)insns, .xlated_prog_len = sizeof(insns) };
	__u32 size = sizeof(info);
	size_t n;

	if (bpf_obj_get_info_by_fd(program, &info, &size) || info.xlated_prog_len > sizeof(insns))
		return 0;
	n = info.xlated_prog_len / sizeof(*insns);
	memset(starts, 0, sizeof(starts));
	memset(known, 0, sizeof(known));
	for (size_t i = 0; i < n; i += insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) ? 2 : 1)
		if (insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].src_reg == BPF_PSEUDO_CALL)
			starts[i + 1 + (insns[i].off ?: insns[i].imm)] = true;
	return stack_from(insns, n, 0, starts, known);
}

/* What a compiler other than Debian's makes of it may take more: kernels from 5.18 to 6.8 refuse that program then. */
static bool stack_fits(int program, const char *of)
{
	unsigned int bytes = stack_of(program);

	if (bytes > STACK_MOST)
		printf("# %s: %u bytes of stack by clang " CLANG_VERSION "\n", of, bytes);
	return bytes <= STACK_MOST || (atoi(CLANG_VERSION) != 14 && atoi(CLANG_VERSION) != 19);
}

#endif
