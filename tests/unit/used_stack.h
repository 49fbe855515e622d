/* SPDX-License-Identifier: GPL-2.0-only */
/* What a function finds in variables that it does not set: as a set of signals, all of them. */
#ifndef USED_STACK_H
#define USED_STACK_H

#include <stddef.h>

__attribute__((noinline, unused)) static void use_stack(void)
{
	volatile char room[32768];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = (char)0xff;
}

#endif
