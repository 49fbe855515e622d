/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets within packets, made at random: what must be found in each is written down as it is made. */
#ifndef TUNNELS_H
#define TUNNELS_H

#include "worth_asking.h"

#define TUNNEL_MAX 320

struct tunnel {
	uint8_t frame[TUNNEL_MAX];
	size_t size;
	int family[2]; /* of the outer and of the inner one; the inner one 0: there is none to be seen */
	ip6 source[2], destination[2];
	bool hidden; /* behind more tags than are taken off */
	const char *how;
};

static size_t put_addr(uint8_t *frame, size_t at, int family, ip6 addr)
{
	if (family == 6)
		at = frame_put(frame, at, (uint64_t)(addr >> 64), 8);
	return frame_put(frame, at, (uint64_t)addr, family == 6 ? 8 : 4);
}

/* Most outer addresses are nobody's, so that the inner ones decide. */
static void choose_ends(struct tunnel *t, int which)
{
	int family = t->family[which];

	t->source[which] = worth_asking(family);
	t->destination[which] = worth_asking(family);
	if (!which && ktap_random() % 8) {
		t->source[0] = family == 4 ? 0x2d000001 : IP6(0x2a02000000000000, 1);
		t->destination[0] = t->source[0] + 1;
	}
	if (!(ktap_random() % 16))
		t->destination[which] = family == 4 ? 0xe0000005 : IP6(0xff02000000000000, 5);
}

/* Returns where it ends; *protocol_at: where to write what follows. */
static size_t put_outer(struct tunnel *t, size_t at, size_t *protocol_at, bool *first)
{
	size_t begins = at, options = ktap_random() % 11;

	*first = true;
	if (t->family[0] == 4) {
		frame_put(t->frame, at, 0x45 + (ktap_random() % 2 ? options : 0), 1);
		frame_put(t->frame, at + 6, ktap_random() % 2 ? 0x2000 : 0x4000, 2);
		if (!(ktap_random() % 8)) {
			frame_put(t->frame, at + 6, 1 + ktap_random() % 0x1ffe, 2);
			*first = false;
		}
		put_addr(t->frame, put_addr(t->frame, at + 12, 4, t->source[0]), 4, t->destination[0]);
		*protocol_at = at + 9;
		return begins + (t->frame[begins] & 15u) * 4;
	}
	frame_put(t->frame, at, 0x60, 1);
	put_addr(t->frame, put_addr(t->frame, at + 8, 6, t->source[0]), 6, t->destination[0]);
	*protocol_at = at + 6;
	at += 40;
	for (unsigned int n = ktap_random() % 4; n; n--) {
		static const uint8_t between[] = { 0, 43, 44, 51, 60, 135 };
		uint8_t which = between[ktap_random() % sizeof(between)];
		size_t eights = ktap_random() % 2;

		t->frame[*protocol_at] = which;
		*protocol_at = at;
		t->frame[at + 1] = (uint8_t)(which == 51 ? 2 * eights : eights);
		if (which == 44) {
			eights = 0;
			frame_put(t->frame, at + 2, 1, 2);
			if (!(ktap_random() % 4)) {
				frame_put(t->frame, at + 2, 8 << ktap_random() % 13, 2);
				*first = false;
				return at + 8;
			}
		}
		at += 8 * (1 + eights);
	}
	return at;
}

/* Tags in front of what is at that place, which is returned; too many: where these end. */
static size_t put_tags(struct tunnel *t, size_t type_at, size_t at, size_t *too_many)
{
	unsigned int n = ktap_random() % 3 ? 0 : 1 + ktap_random() % 6;
	uint64_t type = (uint64_t)t->frame[type_at] << 8 | t->frame[type_at + 1];

	for (unsigned int i = 1; i <= n; i++) {
		frame_put(t->frame, type_at, ktap_random() % 2 ? 0x8100 : 0x88a8, 2);
		type_at = at + 2;
		at += 4;
		if (i == 4 && n > 4)
			*too_many = at;
	}
	frame_put(t->frame, type_at, type, 2);
	return at;
}

/* What is between the two; true where the stack would find the inner one. */
static bool put_between(struct tunnel *t, size_t *at, size_t protocol_at, size_t *too_many)
{
	unsigned int kind = ktap_random() % 8, flags = (ktap_random() % 8) << 12 & 0x3000;
	uint8_t *frame = t->frame;
	bool six = t->family[1] == 6;

	if (kind < 3) {
		t->how = "plain";
		frame[protocol_at] = six ? 41 : 4;
		return true;
	}
	if (kind == 7) {
		t->how = "none";
		frame[protocol_at] = ktap_random() % 2 ? 17 : 50;
		return false;
	}
	frame[protocol_at] = 47;
	if (ktap_random() % 2)
		flags |= 0x8000;
	frame_put(frame, *at, flags, 2);
	frame_put(frame, *at + 2, six ? 0x86dd : 0x0800, 2);
	*at += 4 + 4 * (unsigned int)__builtin_popcount(flags);
	t->how = "GRE";
	if (kind == 4) {
		size_t type = *at - 2 - 4 * (unsigned int)__builtin_popcount(flags);

		t->how = "GRE with Ethernet";
		frame_put(frame, type, 0x6558, 2);
		*at = frame_put(frame, *at + 12, six ? 0x86dd : 0x0800, 2);
		*at = put_tags(t, *at - 2, *at, too_many);
	} else if (kind == 5) {
		size_t begins = *at - 4 - 4 * (unsigned int)__builtin_popcount(flags);

		t->how = "GRE that nobody reads";
		if (ktap_random() % 2)
			frame_put(frame, begins, flags | (ktap_random() % 2 ? 0x4000 : 1), 2);
		else
			frame_put(frame, begins + 2, 0x8847, 2);
		return false;
	} else if (kind == 6 && !six) {
		t->how = "WCCP";
		frame_put(frame, *at - 2 - 4 * (unsigned int)__builtin_popcount(flags), 0x883e, 2);
		if (!flags && ktap_random() % 2)
			*at = frame_put(frame, *at, 0x12345678, 4);
		return !flags;
	} else {
		*at = put_tags(t, *at - 2 - 4 * (unsigned int)__builtin_popcount(flags), *at, too_many);
	}
	return true;
}

/* A packet with another one in it, or with what only looks so; it may end within. */
static void make_tunnel(struct tunnel *t)
{
	static const char *const links[] = { "", "\x81", "\x88\x81", "\x81\x81", "p" };
	const char *link = links[ktap_random() % 5];
	size_t at = 12, protocol_at, outer, too_many = 0;
	bool first, seen;

	t->family[0] = ktap_random() % 2 ? 6 : 4;
	t->family[1] = ktap_random() % 2 ? 6 : 4;
	choose_ends(t, 0);
	choose_ends(t, 1);
	for (size_t i = 0; i < TUNNEL_MAX; i++)
		t->frame[i] = (uint8_t)ktap_random();
	if (*link == 'p') {
		at = frame_put(t->frame, at, 0x8864, 2);
		at = frame_put(t->frame, at + 6, t->family[0] == 6 ? 0x57 : 0x21, 2);
	} else {
		for (; *link; link++)
			at = frame_put(t->frame, at, *link == '\x81' ? 0x8100 : 0x88a8, 2) + 2;
		at = frame_put(t->frame, at, t->family[0] == 6 ? 0x86dd : 0x0800, 2);
	}
	outer = at + (t->family[0] == 6 ? 40 : 20);
	at = put_outer(t, at, &protocol_at, &first);
	seen = put_between(t, &at, protocol_at, &too_many) && first;
	frame_put(t->frame, at, t->family[1] == 6 ? 0x60 : 0x45, 1);
	put_addr(t->frame, put_addr(t->frame, at + (t->family[1] == 6 ? 8 : 12), t->family[1], t->source[1]),
		 t->family[1], t->destination[1]);
	at += t->family[1] == 6 ? 40 : 20;
	t->size = at + ktap_random() % 16;
	if (!(ktap_random() % 8))
		t->size = outer + ktap_random() % (at - outer + 1);
	if (t->size < 60)
		t->size = 60;
	t->hidden = seen && too_many && t->size >= too_many;
	if (!seen || too_many || t->size < at)
		t->family[1] = 0;
}

#endif
