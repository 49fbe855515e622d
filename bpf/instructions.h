/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What C cannot say: constants and jumps that the loader replaces before the verifier sees them, and what verifiers and
 * compilers are not to know. All instructions that are written as such are here.
 */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

#define GEN(g, field)                                                                           \
	({                                                                                      \
		__u64 value_;                                                                   \
		(void)(g);                                                                      \
		asm("%0 = %1 ll" : "=r"(value_) : "i"(CONSTANT_MAGIC | CONSTANT_INDEX(field))); \
		value_;                                                                         \
	})

/* What the loader puts there, for that index; loaded only here. */
#define LOADED(index)                                                                      \
	({                                                                                 \
		__u64 value_;                                                              \
		asm volatile("%0 = %1 ll" : "=r"(value_) : "i"(CONSTANT_MAGIC | (index))); \
		value_;                                                                    \
	})

/* The same, but loaded only here: what few packets need costs the others neither a register nor a spill. */
#define GEN_LATE(g, field) ((void)(g), LOADED(CONSTANT_INDEX(field)))

/* Jumps by a number that the loader may replace, or that the compiler does not know. */
#define JUMP_BELOW(word, number, label)	 asm goto("if %0 s< %1 goto %l2" : : "r"(word), "i"(number) : : label)
#define JUMP_IF(word, number, label)	 asm goto("if %0 == %1 goto %l2" : : "r"(word), "i"(number) : : label)
#define JUMP_UNLESS(word, number, label) asm goto("if %0 != %1 goto %l2" : : "r"(word), "i"(number) : : label)

/*
 * A switch costs nothing where it is off: no 32-bit word is less than this, as the verifier knows, so it removes the
 * jump and what is behind it. The loader turns the jump round where it is on.
 */
#define SWITCH(magic, word)                                   \
	({                                                    \
		__label__ on_, end_;                          \
		int is_ = 0;                                  \
		JUMP_BELOW((__u64)(__u32)(word), magic, on_); \
		goto end_;                                    \
	on_:                                                  \
		is_ = 1;                                      \
	end_:                                                 \
		is_;                                          \
	})
#define SWITCH_ON(g, field, word) ((void)(g), SWITCH(SWITCH_MAGIC, word))
/* Has this generation scopes? label: of an answer. */
#define SCOPED(label) SWITCH(SCOPES_MAGIC, label)

/*
 * Is this answer none that the stages gave? It is the one test that each packet's answer passes. Where bans
 * end, the loader puts another test into its place, of LABEL_ENDS_BIT too: so they cost others nothing. Where packets
 * are looked into, each is rare; then the 255th list, whose label is LABEL_ENDS, counts as live bans.
 */
#define RARE_ANSWER(answer, label) JUMP_BELOW((__s64)(answer), RARE_BELOW, label)

/*
 * Begins a branch that a constant decides. With an instruction of its own it shares no code with other branches, so
 * that where it is dead, the jump to it vanishes with it.
 */
#define BRANCH_APART() asm volatile("r0 = 0" ::: "r0")

/* A number that the compiler does not know: it lays out the other ways as if this one were not there. */
#define RARE(number)                                                  \
	({                                                            \
		__s64 value_;                                         \
		asm volatile("%0 = %1" : "=r"(value_) : "i"(number)); \
		value_;                                               \
	})

/* Ends the program here: a way of its own to its end is shorter than the jump to the common one. */
#define LEAVE(action)                                                        \
	do {                                                                 \
		asm volatile("r0 = %0\nexit" : : "i"((int)(action)) : "r0"); \
		__builtin_unreachable();                                     \
	} while (0)

/* Two values that the compiler neither sees through nor takes out of turn. */
#define KEEP(a, b) asm("" : "+r"(a), "+r"(b))

/* Shifts use the low six bits of the amount, as the instruction set defines; C would want them masked once more. */
#define SHIFT_LEFT(word, amount) asm("%0 <<= %1" : "+r"(word) : "r"(amount))

/* Verifiers before 6.10 bound a product only where the constant is the second operand; C leaves the order open. */
#define MULTIPLY(word, constant) asm("%0 *= %1" : "+r"(word) : "r"(constant))

/* To the verifier it is any number from here on: ways that differ in what it knows of it become one. */
#define ANY_BITS(number, any)	 asm volatile("%0 ^= %1\n%0 ^= %1" : "+r"(number) : "r"(any))
#define ANY_15_BITS(number, any) asm volatile("%0 ^= %1\n%0 ^= %1\n%0 &= 0x7fff" : "+r"(number) : "r"(any))

/* What the compiler knows to have no more, and old verifiers (6.1) do not. */
#define LOW_16_BITS(number) asm volatile("%0 &= 0xffff" : "+r"(number))

/* Computed by now: without it compilers load all limits first, and the stack is not large enough. */
#define SETTLE(number) asm volatile("" : "+r"(number))

/* The same number, of which verifiers know nothing any more: they would follow each of its values by itself. */
#define FORGET(number, unknown) asm volatile("%0 ^= %1\n%0 ^= %1" : "+r"(number) : "r"((__u64)(unknown)))

#endif
