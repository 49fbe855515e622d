/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packet's way through a program as the verifier left it: how many instructions are executed. All that is read of
 * maps is one byte, repeated: nothing is banned (00), or whatever the program makes of other bits. The verifier's own
 * counts and the program's length say nothing of a single way, which functions off the way do not make longer.
 */
#ifndef WAYS_H
#define WAYS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WAY_MAPS  0x10000000000ULL
#define WAY_LIMIT 100000

/* Addresses of its own; what lies outside reads as 0, or in maps as `fill`. What is written to maps is forgotten. */
struct way {
	const struct bpf_insn *insns;
	const uint8_t *packet;
	size_t size;
	uint8_t fill;
	uint64_t reg[11];
	uint64_t context[2];
	uint8_t stack[4096];
};

enum { WAY_PACKET = 1 << 20, WAY_CONTEXT = 2 << 20, WAY_STACK = 3 << 20 };

static uint64_t way_load(const struct way *w, uint64_t at, unsigned int bytes)
{
	uint64_t value = 0;

	if (at >= WAY_MAPS)
		memset(&value, w->fill, bytes);
	else if (at >= WAY_STACK && at + bytes <= WAY_STACK + sizeof(w->stack))
		memcpy(&value, w->stack + (at - WAY_STACK), bytes);
	else if (at >= WAY_CONTEXT && at + bytes <= WAY_CONTEXT + sizeof(w->context))
		memcpy(&value, (const uint8_t *)w->context + (at - WAY_CONTEXT), bytes);
	else if (at >= WAY_PACKET && at + bytes <= WAY_PACKET + w->size)
		memcpy(&value, w->packet + (at - WAY_PACKET), bytes);
	return value;
}

static void way_store(struct way *w, uint64_t at, unsigned int bytes, uint64_t value)
{
	if (at >= WAY_STACK && at + bytes <= WAY_STACK + sizeof(w->stack))
		memcpy(w->stack + (at - WAY_STACK), &value, bytes);
}

static uint64_t way_swap(uint64_t value, unsigned int bits)
{
	return bits == 16   ? __builtin_bswap16((uint16_t)value)
	       : bits == 32 ? __builtin_bswap32((uint32_t)value)
			    : __builtin_bswap64(value);
}

static bool way_alu(uint64_t *to, const struct bpf_insn *insn, uint64_t value)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	uint64_t mask = wide ? ~0ULL : UINT32_MAX, a = *to & mask, b = value & mask;
	unsigned int bits = wide ? 63 : 31;

	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		a += b;
		break;
	case BPF_SUB:
		a -= b;
		break;
	case BPF_MUL:
		a *= b;
		break;
	case BPF_OR:
		a |= b;
		break;
	case BPF_AND:
		a &= b;
		break;
	case BPF_XOR:
		a ^= b;
		break;
	case BPF_LSH:
		a <<= b & bits;
		break;
	case BPF_RSH:
		a >>= b & bits;
		break;
	case BPF_ARSH:
		a = wide ? (uint64_t)((int64_t)a >> (b & bits)) : (uint32_t)((int32_t)a >> (b & bits));
		break;
	case BPF_MOV:
		a = b;
		break; /* per-CPU addresses, too */
	case BPF_NEG:
		a = -a;
		break;
	case BPF_END:
		a = way_swap(*to, (unsigned int)insn->imm);
		mask = ~0ULL;
		break;
	default:
		return false;
	}
	*to = a & mask;
	return true;
}

static bool way_taken(const struct bpf_insn *insn, uint64_t a, uint64_t b)
{
	bool wide = BPF_CLASS(insn->code) == BPF_JMP;
	int64_t sa = wide ? (int64_t)a : (int32_t)a, sb = wide ? (int64_t)b : (int32_t)b;

	if (!wide) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	default:
		return a & b; /* BPF_JSET */
	}
}

/* How many instructions, or 0 where there is one that this does not know. */
static unsigned int way_length(const struct bpf_insn *insns, const uint8_t *packet, size_t size, uint8_t fill)
{
	static const unsigned int sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };
	struct way w = { .insns = insns, .packet = packet, .size = size, .fill = fill };
	struct {
		const struct bpf_insn *back;
		uint64_t kept[5];
	} calls[8];
	const struct bpf_insn *at = insns;
	unsigned int depth = 0;

	w.context[0] = WAY_PACKET;
	w.context[1] = WAY_PACKET + size;
	w.reg[1] = WAY_CONTEXT;
	w.reg[10] = WAY_STACK + sizeof(w.stack);
	for (unsigned int n = 1; n < WAY_LIMIT; n++) {
		const struct bpf_insn *insn = at++;
		uint64_t *to = &w.reg[insn->dst_reg], from = w.reg[insn->src_reg],
			 number = (uint64_t)(int64_t)insn->imm;
		uint64_t value = BPF_SRC(insn->code) == BPF_X ? from : number;
		unsigned int bytes = sizes[BPF_SIZE(insn->code) >> 3];

		switch (BPF_CLASS(insn->code)) {
		case BPF_LD: /* a wide constant, or a map */
			*to = insn->src_reg ? WAY_MAPS : (uint32_t)insn->imm | (uint64_t)(uint32_t)at->imm << 32;
			at++;
			break;
		case BPF_LDX:
			*to = way_load(&w, from + (uint64_t)(int64_t)insn->off, bytes);
			break;
		case BPF_ST:
			way_store(&w, *to + (uint64_t)(int64_t)insn->off, bytes, number);
			break;
		case BPF_STX:
			way_store(&w, *to + (uint64_t)(int64_t)insn->off, bytes, from);
			break;
		case BPF_ALU:
		case BPF_ALU64:
			if (!way_alu(to, insn, value))
				return 0;
			break;
		default:
			if (insn->code == (BPF_JMP | BPF_EXIT)) {
				if (!depth)
					return n;
				memcpy(&w.reg[6], calls[--depth].kept, sizeof(calls[0].kept));
				at = calls[depth].back;
			} else if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL) {
				if (depth == sizeof(calls) / sizeof(calls[0]))
					return 0;
				memcpy(calls[depth].kept, &w.reg[6], sizeof(calls[0].kept));
				calls[depth++].back = at;
				w.reg[10] -= 512;
				at += insn->off ?: insn->imm; /* compiled, the offset is there */
			} else if (BPF_OP(insn->code) == BPF_CALL) {
				w.reg[0] = w.reg[1] >= WAY_MAPS ? WAY_MAPS : 0; /* what is looked up is found */
			} else if (BPF_OP(insn->code) == BPF_JA) {
				at += BPF_CLASS(insn->code) == BPF_JMP ? insn->off : insn->imm;
			} else if (way_taken(insn, *to, value)) {
				at += insn->off;
			}
		}
	}
	return 0;
}

#endif
