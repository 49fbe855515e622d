/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets that need every stage, in the model of in_force.h, and sources at their edges, in frames of every shape. */
#ifndef WORTH_ASKING_H
#define WORTH_ASKING_H

#include "frames.h"
#include "in_force.h"

#define IP6(hi, lo) ((ip6)(hi) << 64 | (lo))

static void add(int family, ip6 first, unsigned int length, unsigned int account)
{
	naive_add(&model, family, first, first | addr_mask(family, length), account);
}

static void hosts_only(void)
{
	model = (struct naive){ .label = { 1, 200, 255 } };
	add(4, 0xc0000201, 32, 0);
	add(4, 0xc0000203, 32, 1);
	add(4, 0, 32, 2);
	add(4, 0xffffffff, 32, 0);
	for (uint32_t i = 0; i < 300; i++)
		add(4, 0x0a000000 + i * 0x10101, 32, i % 3);
}

static void everything(void)
{
	hosts_only();
	add(4, 0x0b000000, 8, 0);
	add(4, 0xc6336400, 24, 1); /* and a host of it on another account: the more important one */
	add(4, 0xc6336407, 32, 0);
	add(4, 0xcb007180, 25, 1);
	add(4, 0xcb007140, 30, 2);
	add(4, 0x0b0b0b00, 24, NAIVE_ALLOWED);
	add(6, IP6(0x20010db800000000, 0), 32, 1);
	add(6, IP6(0x20010db900010000, 0), 48, 0);
	add(6, IP6(0x20010db900020003, 0), 64, 2);
	add(6, IP6(0x20010db9000200ff, 1), 128, 0);
	add(6, 0, 128, 2);
	add(6, ~(ip6)0, 128, 1);
	add(6, IP6(0x20010db800000007, 0), 64, NAIVE_ALLOWED);
}

/* The first and last address of some range, the one before and the one after, or a random one. */
static ip6 worth_asking(int family)
{
	if (family == 6 && !(ktap_random() % 8))
		return IP6(0, 0xffff00000000 | worth_asking(4));
	for (int i = 0; i < 64; i++) {
		const struct naive_range *r = &model.range[ktap_random() % (model.n ? model.n : 1)];
		ip6 end = addr_mask(family, 0);

		if (!model.n || r->family != family)
			continue;
		switch (ktap_random() % 6) {
		case 0:
			return (r->lo - 1) & end;
		case 1:
			return r->lo;
		case 2:
			return r->hi;
		case 3:
			return (r->hi + 1) & end;
		case 4:
			return r->lo + (IP6(ktap_random(), ktap_random()) & (r->hi - r->lo));
		}
	}
	return family == 4 ? (uint32_t)ktap_random() : IP6(ktap_random(), ktap_random());
}

__attribute__((unused)) static bool ask_shape(const struct frame_shape *shape, size_t from, bool exact)
{
	for (size_t size = from; size <= FRAME_MAX; size++) {
		ip6 source = worth_asking(shape->family == 6 ? 6 : 4);
		uint8_t frame[FRAME_MAX];

		frame_make(frame, shape, source);
		if (!judge(shape->name, frame, size, size >= shape->needed ? shape->family : 0, source, exact))
			return false;
	}
	return true;
}

#endif
