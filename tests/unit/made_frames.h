/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames by words: "e800 4:17 p5:53". */
#ifndef MADE_FRAMES_H
#define MADE_FRAMES_H

#include <arpa/inet.h>
#include <linux/types.h>

#include "ktap.h"

/* As a driver lays it: what is behind the Ethernet header is aligned. */
static _Alignas(4) __u8 room[18 + 2048];
static __u8 *const made = room + 18; /* with room before it */
static __u32 frame_n;

static void put(unsigned int value, unsigned int bytes)
{
	while (bytes--)
		made[frame_n++] = (__u8)(value >> 8 * bytes);
}

static void zeros(unsigned int n)
{
	memset(made + frame_n, 0, n);
	frame_n += n;
}

/* The addresses of the next header of IP, and what is set of them by words. */
static unsigned int next4[2] = { 0xcb007107, 0xcb007108 };
static unsigned char next6[32] = { 0x20, 0x01, 0x0d, 0xb8 };

/* s45.0.0.1 or s2001:db8::1 comes from there, d45.0.0.1 goes there; from this header on. */
static bool is_address(const char *text)
{
	char one[64];
	size_t length = strcspn(text, " ");
	unsigned int to = *text == 'd', n;

	if ((*text != 's' && *text != 'd') || length >= sizeof(one))
		return false;
	snprintf(one, sizeof(one), "%.*s", (int)length - 1, text + 1);
	if (inet_pton(AF_INET, one, &n) == 1)
		next4[to] = ntohl(n);
	else if (inet_pton(AF_INET6, one, next6 + 16 * to) != 1)
		return false;
	return true;
}

/*
 * e800 Ethernet of that type; t800 a tag before that type; 4:6 IPv4 of that protocol, with options: 4o:6, a later
 * fragment: 4f:6, or 32 KiB further: 4l:6, the first of several: 4m:6; 6:6 IPv6; x6:1 a header of IPv6 before that
 * protocol, of 8 + 8 bytes; f6:0 a fragment's at that place; a6:4 AH, of 24 bytes; g3000:800 GRE with these flags and
 * what they want; z4 zeros; p53:80 two ports and four bytes; T2:5:80 TCP with these flags and ports; h4521 these bytes.
 */
static void make(const char *text)
{
	frame_n = 0;
	for (; *text; text += strcspn(text, " "), text += *text == ' ') {
		unsigned int a = 0, b = 0, flags;
		char how = 0;

		if (sscanf(text, "e%x", &a) == 1) {
			zeros(12);
			put(a, 2);
		} else if (sscanf(text, "t%x", &a) == 1) {
			put(7, 2);
			put(a, 2);
		} else if (sscanf(text, "4:%u", &a) == 1 || sscanf(text, "4%c:%u", &how, &a) == 2) {
			put(how == 'o' ? 0x47000000 : 0x45000000, 4);
			put(how == 'f'	 ? 0x00010001
			    : how == 'l' ? 0x00011000
			    : how == 'm' ? 0x00012000
					 : 0x00014000,
			    4);
			put(0x40000000 | a << 16, 4);
			put(next4[0], 4);
			put(next4[1], 4);
			zeros(how == 'o' ? 8 : 0);
		} else if (sscanf(text, "6:%u", &a) == 1) {
			put(0x60000000, 4);
			put(a << 8 | 64, 4);
			memcpy(made + frame_n, next6, sizeof(next6));
			frame_n += sizeof(next6);
		} else if (sscanf(text, "x%u:%u", &a, &b) == 2) {
			put(a << 8 | b, 2);
			zeros(6 + 8 * b);
		} else if (sscanf(text, "f%u:%u", &a, &b) == 2) {
			put(a << 8, 2);
			put(b << 3 | 1, 2);
			zeros(4);
		} else if (sscanf(text, "a%u:%u", &a, &b) == 2) {
			put(a << 8 | b, 2);
			zeros(4 * b + 6);
		} else if (sscanf(text, "g%x:%x", &a, &b) == 2) {
			put(a << 16 | b, 4);
			zeros((a & 0x8000 ? 4 : 0) + (a & 0x2000 ? 4 : 0) + (a & 0x1000 ? 4 : 0));
		} else if (sscanf(text, "z%u", &a) == 1) {
			zeros(a);
		} else if (sscanf(text, "p%u:%u", &a, &b) == 2) {
			put(a << 16 | b, 4);
			zeros(4);
		} else if (sscanf(text, "T%x:%u:%u", &flags, &a, &b) == 3) {
			put(a << 16 | b, 4);
			put(1000, 4);
			put(2000, 4);
			put(0x5000 | flags, 2);
			zeros(6);
		} else if (*text == 'h') {
			for (const char *at = text + 1; sscanf(at, "%2x", &a) == 1; at += 2)
				put(a, 1);
		} else if (is_address(text)) {
			continue;
		} else {
			CHECK(false, "what is '%s'?", text);
		}
	}
}

#endif
