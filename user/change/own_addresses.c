// SPDX-License-Identifier: GPL-2.0-only
#include "change/own_addresses.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/nl.h"

#include "base/clean_text.h"
#include "base/grow.h"
#include "bpf/abi.h"
#include "bpf/decide.h"
#include "change/own_internal.h"
#include "sets/bogons.h"
#include "state/ports.h"
#include "state/settings.h"
#include "state/state.h"

const char *own_text(char text[OWN_TEXT_MAX], const struct own_address *own)
{
	snprintf(text, OWN_TEXT_MAX, "%s (%s)", own->what, own->where);
	return text;
}

/* By which that one is judged as well; family 0: none. */
static struct addr within(const struct learned *l, struct addr addr)
{
	__u32 ipv4;

	if (!l->embedded || addr.family != 6 || !ipv4_within((__u64)(addr.num >> 64), (__u64)addr.num, &ipv4))
		return (struct addr){ 0 };
	return (struct addr){ ipv4, 4 };
}

static bool is_same(struct addr a, struct addr b)
{
	return a.num == b.num && a.family == b.family;
}

/* Where it is, or would be; there is room. Without `what`: where anything is that is known of the address. */
static struct known *slot_of(const struct learned *l, const struct own_address *own)
{
	/* Who connects, or sends routes, must not be able to aim at one place. */
	ip6 product = (ip6)((uint64_t)(own->addr.num >> 64) ^ l->seed[0]) * ((uint64_t)own->addr.num ^ l->seed[1]);
	uint64_t hash = ((uint64_t)(product >> 64) ^ (uint64_t)product) * 0x9e3779b97f4a7c15;

	for (size_t i = hash >> 32;; i++) {
		struct known *slot = &l->slots[i & (l->room - 1)];
		const struct own_address *at = slot->at ? &l->at[slot->at - 1] : NULL;

		if (!slot->addr.family ||
		    (is_same(slot->addr, own->addr) &&
		     (!at || !own->what || (is_same(at->source, own->source) && at->what == own->what))))
			return slot;
	}
}

static bool make_room(struct learned *l)
{
	struct learned more = *l;

	if (2 * l->used < l->room)
		return true;
	more.room = l->room ? 2 * l->room : 64;
	more.slots = calloc(more.room, sizeof(*more.slots));
	for (size_t i = 0; i < l->room && more.slots; i++) {
		const struct known *of = &l->slots[i];

		if (of->addr.family)
			*slot_of(&more, of->at ? &l->at[of->at - 1] : &(struct own_address){ .addr = of->addr }) = *of;
	}
	if (!more.slots)
		return false;
	free(l->slots);
	l->slots = more.slots;
	l->room = more.room;
	return true;
}

/* Each address is asked about once, however often it comes: that may be a question to the kernel. */
static bool is_wanted(struct learned *l, struct addr addr)
{
	struct known *slot;

	if (!l->wanted)
		return true;
	if (!make_room(l)) {
		l->err = -ENOMEM;
		return false;
	}
	slot = slot_of(l, &(struct own_address){ .addr = addr });
	if (!slot->addr.family) {
		*slot = (struct known){ .addr = addr, .wanted = l->wanted(l->arg, addr) };
		l->used++;
	}
	return slot->wanted;
}

bool own_wanted(struct learned *l, struct addr addr)
{
	struct addr inner = within(l, addr);

	return is_wanted(l, addr) || (inner.family && is_wanted(l, inner));
}

/* Room for one more; NULL where there is nothing new to learn. */
static struct own_address *add(struct learned *l, struct addr addr, struct addr source, const char *what)
{
	struct own_address own = {
		.addr = addr, .source = source, .what = what, .guest = l->guests, .fetched = l->fetched
	};
	struct known *slot;

	/* Those have a guard rail of their own. */
	if (l->err || !addr.family || source_is_nobodys(addr) || !is_wanted(l, addr))
		return NULL;
	slot = make_room(l) ? slot_of(l, &own) : NULL;
	if (slot && slot->at)
		return NULL;
	if (!slot || !GROW(l->at, l->n)) {
		l->err = -ENOMEM;
		return NULL;
	}
	l->used += !slot->addr.family;
	*slot = (struct known){ addr, true, l->n + 1 };
	l->at[l->n] = own;
	return &l->at[l->n++];
}

void own_learn(struct learned *l, struct addr addr, const char *what, const char *where, ...)
{
	struct own_address *one;
	struct addr inner;
	va_list args;

	addr_unmap(&addr);
	inner = within(l, addr);
	one = add(l, addr, addr, what);
	va_start(args, where);
	if (one) {
		vsnprintf(one->where, sizeof(one->where), where, args);
		clean_text(one->where);
	}
	va_end(args);
	one = add(l, inner, addr, what);
	if (one)
		snprintf(one->where, sizeof(one->where), "it is within %s",
			 prefix_text((char[PREFIX_TEXT_MAX]){ 0 }, addr, -1));
}

struct addr own_bytes(int family, const void *bytes, size_t size)
{
	struct addr addr = { .family = family == AF_INET ? 4 : family == AF_INET6 ? 6 : 0 };

	if (!addr.family || size < addr_width(addr.family) / 8)
		return (struct addr){ 0 };
	for (size_t i = 0; i < addr_width(addr.family) / 8; i++)
		addr.num = addr.num << 8 | ((const unsigned char *)bytes)[i];
	return addr;
}

struct addr own_attr(int family, const struct nlattr *at)
{
	return own_bytes(family, nl_attr_payload(at), nl_attr_len(at));
}

static bool asks_destinations(struct state *state)
{
	struct interface_info *of[2] = { NULL };
	size_t n[2] = { 0 };
	bool asks = false;

	/* What cannot be read is said by who needs it. */
	if (!state_interfaces(state, &of[0], &n[0]) && !state_ports(state, &of[1], &n[1]))
		for (int k = 0; k < 2; k++)
			for (size_t i = 0; i < n[k]; i++)
				asks = asks ||
				       (MATCH_OF(of[k][i].match) != MATCH_SOURCE && !MATCH_LEAVES(of[k][i].match));
	free(of[0]);
	free(of[1]);
	return asks;
}

static int learn(struct state *state, bool destinations, bool guests, own_wanted_fn *wanted, const void *arg,
		 struct own_address **list, size_t *n)
{
	struct learned l = { .wanted = wanted,
			     .arg = arg,
			     .state = state,
			     .groups = destinations || asks_destinations(state),
			     /* or when what waits goes back */
			     .embedded = state_setting(state, "embedded", 0) ||
					 state_pending_has(state, PENDING_SETTING, "embedded") > 0,
			     .seed = { 0xc2b2ae3d27d4eb4f, 0xd6e8feb86659fd93 } };
	int err;

	/* Early after the boot there is none, and nobody waits for it. */
	(void)!getrandom(l.seed, sizeof(l.seed), GRND_NONBLOCK);
	err = own_from_routes(&l) ?: own_from_files(&l);
	if (!err) {
		own_from_fleet(&l, state);
		if (guests) {
			own_from_feeds(&l, state);
			own_from_clocks(&l);
			own_from_people(&l, state);
		}
	}
	free(l.slots);
	ranges_free(&l.ends);
	ranges_free(&l.ends_before);
	*list = l.at;
	*n = l.n;
	return err ?: l.err;
}

int own_addresses(struct state *state, bool destinations, own_wanted_fn *wanted, const void *arg,
		  struct own_address **list, size_t *n)
{
	return learn(state, destinations, true, wanted, arg, list, n);
}

int own_addresses_of_root(struct state *state, own_wanted_fn *wanted, const void *arg, struct own_address **list,
			  size_t *n)
{
	return learn(state, false, false, wanted, arg, list, n);
}

bool own_has_gateway(struct state *state)
{
	struct own_address *own = NULL;
	bool found = false;
	size_t n = 0;

	if (!own_addresses_of_root(state, NULL, NULL, &own, &n))
		for (size_t i = 0; i < n; i++)
			found = found || own[i].what == own_gateway_is;
	free(own);
	return found;
}
