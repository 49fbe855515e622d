// SPDX-License-Identifier: GPL-2.0-only
#include "base/clean_text.h"

#include <stdint.h>
#include <stdio.h>

/* The length of the character that begins there; 0: it is none, or not printable. */
static int shown(const unsigned char *c)
{
	static const uint32_t least[] = { 0, ' ', 0xa0, 0x800,
					  0x10000 }; /* below: control characters, and overlong forms */
	int n = *c < 0x80 ? 1 : *c >> 5 == 6 ? 2 : *c >> 4 == 14 ? 3 : *c >> 3 == 30 ? 4 : 0;
	uint32_t value = n > 1 ? *c & (0x7fu >> n) : *c;

	for (int i = 1; i < n; i++) {
		if (c[i] >> 6 != 2)
			return 0;
		value = value << 6 | (c[i] & 0x3f);
	}
	return value < least[n] || value == 0x7f || value > 0x10ffff || value >> 11 == 0x1b ? 0 : n;
}

void clean_text(char *text)
{
	while (*text) {
		int n = shown((unsigned char *)text);

		if (!n)
			*text = '?';
		text += n ? n : 1;
	}
}

const char *clean_copy(char *buf, size_t size, const char *text)
{
	snprintf(buf, size, "%s", text);
	clean_text(buf);
	return buf;
}
