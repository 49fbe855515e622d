// SPDX-License-Identifier: GPL-2.0-only
#include "base/clean_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Takes no room, or turns the direction of what stands around it: the text would read as another than it is. */
static bool misleads(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{ 0xad, 0xad },	      { 0x34f, 0x34f },	  { 0x61c, 0x61c },	{ 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f }, { 0x200b, 0x200f },	{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },   { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },	{ 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && c >= hidden[i].first; i++)
		if (c <= hidden[i].last)
			return true;
	return false;
}

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
	return value < least[n] || value == 0x7f || value > 0x10ffff || value >> 11 == 0x1b || misleads(value) ? 0 : n;
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
