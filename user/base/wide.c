// SPDX-License-Identifier: GPL-2.0-only
/* What clang calls for numbers of 128 bits, where no library has it: on machines of 32 bits. */
#include <math.h>
#include <stdint.h>

#if __SIZEOF_POINTER__ == 4
typedef unsigned __int128 wide;

wide __udivti3(wide number, wide by);
double __floatuntidf(wide number);

/* Digit by digit. Only texts and shares are divided. */
wide __udivti3(wide number, wide by)
{
	wide quotient = 0, rest = 0;

	for (int i = 127; i >= 0; i--) {
		rest = rest << 1 | (number >> i & 1);
		if (rest < by)
			continue;
		rest -= by;
		quotient |= (wide)1 << i;
	}
	return quotient;
}

/* The upper 64 bits, the last of which says whether any below them is set: so it is rounded once, and rightly. */
double __floatuntidf(wide number)
{
	uint64_t high = (uint64_t)(number >> 64);
	int below = high ? 64 - __builtin_clzll(high) : 0;
	uint64_t kept = (uint64_t)(number >> below);

	return ldexp((double)(kept | (number != (wide)kept << below)), below);
}
#endif
