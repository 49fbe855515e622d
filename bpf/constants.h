/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the stages reach a generation's constants and arrays, on both sides.
 *
 * In the kernel a member of struct generation is a 64-bit immediate. The compiler sees an opaque CONSTANT_MAGIC with
 * the member's index in its low bits; the loader replaces it with the value before the verifier sees it. A member that
 * stands for a map becomes a reference to that map, or to its only value. In user space it is the member itself, and
 * the address of the mapped array.
 */
#ifndef CONSTANTS_H
#define CONSTANTS_H

#include <stddef.h>

#include "abi.h"

#define CONSTANT_MAGIC	      0x5bd10c7e00000000ULL
#define SWITCH_MAGIC	      (-0x5bd10c7e)
#define RARE_BELOW	      0xd1 /* no stage gives an answer below 256; with ends it becomes a test of these bits: */
#define RARE_BITS	      ((int)0x80000000 | LABEL_ENDS_BIT) /* the first is extended to all that is negative */
#define CONSTANT_INDEX(field) (offsetof(struct generation, field) / 8)
#define CONSTANT_ENDS	      (sizeof(struct generation) / 8) /* no member: the map of the ends */
/* Behind it the members of struct detect. */
#define CONSTANT_DETECT	    (CONSTANT_ENDS + 1)
#define DETECT_INDEX(field) (offsetof(struct detect, field) / 8)
#define DETECT_MAGIC	    (-0x5bd10c7d) /* another switch: is there a detector? */
/* And behind those the two maps of scopes. */
#define CONSTANT_SCOPES (CONSTANT_DETECT + sizeof(struct detect) / 8)
#define CONSTANT_UNREAD (CONSTANT_SCOPES + 1)
#define CONSTANT_CODES	(CONSTANT_UNREAD + 1) /* the shape of a roster of codes */
#define CODES_MAGIC	(-0x5bd10c79)	      /* a switch: is there one? */
#define ALONE_MAGIC	0x5bd10c78	      /* what the filter's yes comes to without a roster of addresses */
#define SCOPES_MAGIC	(-0x5bd10c7b)	      /* a switch, too */
#define INNER_MAGIC	(-0x5bd10c7a)	      /* another */
#define LEAVES_TO	(ANSWER_TO - 0x1ea)   /* between none and ANSWER_TO: nobody else asks for that */
#define LOOKS_UP_MAGIC	(-0x5bd10c7c)	      /* and one: has it limits of classes that a packet alone does not tell? */

#ifdef __bpf__

#include <bpf/bpf_helpers.h>

#define inline_always static __always_inline
#define inline_never  static __attribute__((noinline, unused)) /* takes no registers from its caller */
#define UNROLL	      _Pragma("unroll")
#define NOT_UNROLLED  _Pragma("clang loop unroll(disable)")

/* Verifiers look at it once and by itself, not on each way to it again; so it takes a context and numbers only. */
#define looked_at_apart __attribute__((noinline))

#include "instructions.h"

inline_always const void *block_at_(__u64 map, __u64 flat, __u64 index)
{
	__u32 key;

	if (flat)
		return (const void *)(map + index * BLOCK_BYTES);
	BRANCH_APART();
	key = index;
	return bpf_map_lookup_elem((void *)map, &key);
}

#else

#define inline_always static inline __attribute__((always_inline, unused))
#define inline_never  static inline __attribute__((unused))
#define UNROLL
#define NOT_UNROLLED

#define GEN(g, field)		  ((g)->field)
#define GEN_LATE(g, field)	  ((g)->field)
#define SWITCH_ON(g, field, word) ((g)->field != 0)

#define BRANCH_APART()		   ((void)0)
#define RARE_ANSWER(answer, label) /* the arrays say LABEL_ENDS, and no clock is asked */ \
	do {                                                                              \
		if (0)                                                                    \
			goto label;                                                       \
	} while (0)
#define RARE(number) ((__s64)(number))
#define KEEP(a, b)   ((void)(a), (void)(b))

#define ANY_BITS(number, any)	 ((void)(any))
#define ANY_15_BITS(number, any) ((void)(any), (number) &= 0x7fff)
#define FORGET(number, any)	 ((void)(any))
#define SETTLE(number)		 ((void)(number))

#define SHIFT_LEFT(word, amount) ((word) <<= ((amount)&63))

#define MULTIPLY(word, constant) ((word) *= (constant))

inline_always const void *block_at_(__u64 map, __u64 flat, __u64 index)
{
	(void)flat;
	return (const void *)(map + index * BLOCK_BYTES);
}

#endif

/* The cache line of that index. NULL never occurs below the map's size, but the verifier requires the check. */
#define BLOCK_AT(g, map, flat, index) block_at_(GEN(g, map), GEN(g, flat), (index))

#endif
