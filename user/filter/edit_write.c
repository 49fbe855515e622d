// SPDX-License-Identifier: GPL-2.0-only
/* The writes of an edit, in an order in which no packet sees half of a key as a wrong verdict. */
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter/edit_internal.h"
#include "bpf/filter.h"
#include "bpf/gate.h"
#include "filter/roster_table.h"

bool edit_can_wait(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && commands & MEMBARRIER_CMD_GLOBAL;
}

/* An RCU grace period: packets are judged in read-side sections. */
void edit_wait(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

static void copy_out(const struct generation *g, const struct step *s)
{
	if (s->kind == STEP_HOST || s->kind == STEP_SHIFT) {
		__u32 addr;

		if (addr4_at(g, s->bucket, s->slot, &addr))
			value4_set(g, s->to, s->to_slot, value4(g, s->to, addr), *label4(g, s->bucket, s->slot));
	} else {
		struct bucket6 *from = bucket6(g, s->bucket);

		roster6_set(bucket6(g, s->to), s->to_slot, from->key[s->slot], *label6(from, s->slot));
	}
}

/* The roster, then the filter, then the gate: until the last one is written, packets pass as before. */
static void put_host(const struct generation *g, const struct step *s)
{
	__u32 addr = (__u32)s->key;

	if (g->roster4) {
		if (s->move)
			value4_clear(g, s->bucket, s->slot);
		value4_set(g, s->bucket, s->slot, value4(g, s->bucket, addr), s->label);
	}
	filter_set(g, hash_ipv4(g->hash, addr));
	if (g->gate4 && gate4_test((const __u8 *)g->gate4, addr) == GATE4_CLEAR)
		gate4_set((__u8 *)g->gate4, addr, GATE4_SOME);
}

static void put_key6(const struct generation *g, const struct step *s)
{
	const struct rung *rung = &g->rung[s->rung];
	__u64 hi = (__u64)(s->key >> 64), lo = (__u64)s->key;

	if (g->roster6) {
		if (s->move)
			roster6_clear(bucket6(g, s->bucket), s->slot);
		roster6_set(bucket6(g, s->bucket), s->slot, roster6_tag(g->tag, rung->salt, hi, lo), s->label);
	}
	filter_set(g, key6_hash(g, s->rung, s->key));
	gate6_open(g, s->rung, hi);
}

static void put_net24(const struct generation *g, const struct step *s)
{
	__u32 net24 = (__u32)s->key;

	if (g->gate4_labels)
		((__u8 *)g->gate4_labels)[net24] = s->label;
	gate4_set((__u8 *)g->gate4, net24 << 8, s->gate);
}

static void make(const struct generation *g, const struct step *s)
{
	switch (s->kind) {
	case STEP_HOST:
		put_host(g, s);
		break;
	case STEP_NET24:
		put_net24(g, s);
		break;
	case STEP_RELABEL:
		__atomic_store_n(label4(g, s->bucket, s->slot), s->label, __ATOMIC_RELEASE);
		break;
	case STEP_KEY6:
		put_key6(g, s);
		break;
	case STEP_CLEAR4:
		value4_clear(g, s->bucket, s->slot);
		break;
	case STEP_CLEAR6:
		roster6_clear(bucket6(g, s->bucket), s->slot);
		break;
	case STEP_SHIFT: /* the key that the slot was for has been copied there */
		break;
	}
}

static void touch(const void *at)
{
	(void)*(const volatile char *)at;
}

static void bring_in(const struct generation *g, const struct step *s)
{
	bool six = s->kind == STEP_KEY6 || s->kind == STEP_CLEAR6;

	if (six ? g->roster6 : g->roster4 && s->kind != STEP_NET24) {
		touch(six ? (void *)bucket6(g, s->bucket) : bucket4(g, s->bucket));
		if (s->move)
			touch(six ? (void *)bucket6(g, s->to) : bucket4(g, s->to));
	}
	if (s->kind == STEP_HOST)
		filter_touch(g, hash_ipv4(g->hash, (__u32)s->key));
	if (s->kind == STEP_KEY6) {
		filter_touch(g, key6_hash(g, s->rung, s->key));
		gate6_touch(g, s->rung, (__u64)(s->key >> 64));
	}
	if (g->gate4 && (s->kind == STEP_HOST || s->kind == STEP_NET24))
		touch((const char *)g->gate4 + ((__u32)s->key << (s->kind == STEP_NET24 ? 8 : 0) >> 10));
	if (g->gate4_labels && s->kind == STEP_NET24)
		touch((const char *)g->gate4_labels + (__u32)s->key);
}

void edit_bring_in(const struct edit *e)
{
	for (size_t i = 0; i < e->n; i++)
		bring_in(e->g, &e->steps[i]);
}

void edit_make(struct edit *e)
{
	struct generation *g = e->g;

	for (size_t i = 0; i < e->n; i++)
		if (e->steps[i].move)
			copy_out(g, &e->steps[i]);
	if (e->must_wait)
		e->wait();
	for (size_t i = 0; i < e->n; i++)
		make(g, &e->steps[i]);
	g->keys4 += e->new4 - e->gone4;
	g->keys6 += e->new6 - e->gone6;
	g->prefixes6 += e->new6 - e->gone6;
	g->all24 += e->net24s;
	g->stale += e->gone4 + e->gone6 - e->swept;
	g->edits++;
}
