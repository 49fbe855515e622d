// SPDX-License-Identifier: GPL-2.0-only
#include "filter/scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const __u8 ported[SCOPE_PORTED] = { [SCOPE_TCP] = 6, [SCOPE_UDP] = 17, [SCOPE_SCTP] = 132 };

/* The class of these; 0 is that of scopes that take any protocol. */
static int class_of(struct scopes *t, unsigned int *classes, __u64 mask, __u8 *class)
{
	for (unsigned int i = 0; i < *classes; i++)
		if (t->fits[i] == mask) {
			*class = (__u8)i;
			return 0;
		}
	if (*classes == 256)
		return because(-E2BIG, "the lists' scopes tell more than 255 groups of ports apart: give some of them "
				       "the same --only");
	t->fits[*classes] = mask;
	*class = (__u8)(*classes)++;
	return 0;
}

/* Of all scopes that take such a packet; port -1: it has none, or it cannot be read. */
static __u64 takers(const struct scoped *scoped, size_t n, unsigned int protocol, long port)
{
	__u64 mask = 0;

	for (size_t i = 0; i < n; i++) {
		const struct scope *s = &scoped[i].scope;
		bool takes = !s->only_n;

		for (size_t r = 0; r < s->only_n && !takes; r++)
			takes = s->only[r].protocol == protocol &&
				(scope_rule_is_whole(&s->only[r]) || (port >= s->only[r].lo && port <= s->only[r].hi));
		mask |= takes ? 1ULL << i : 0;
	}
	return mask;
}

/* Between two ports of this map all take the same. */
static void mark_edges(bool edge[(1u << 16) + 1], const struct scoped *scoped, size_t n, __u8 protocol)
{
	memset(edge, 0, ((1u << 16) + 1) * sizeof(*edge));
	edge[0] = true;
	for (size_t i = 0; i < n; i++)
		for (size_t r = 0; r < scoped[i].scope.only_n; r++) {
			const struct scope_rule *rule = &scoped[i].scope.only[r];

			if (rule->protocol != protocol)
				continue;
			edge[rule->lo] = true;
			edge[rule->hi + 1] = true;
		}
}

static int make_ports(struct scopes *t, const struct scoped *scoped, size_t n, unsigned int *classes)
{
	bool *edge = malloc(((1u << 16) + 1) * sizeof(*edge));
	int err = edge ? 0 : -ENOMEM;

	for (unsigned int kind = 0; kind < SCOPE_PORTED && !err; kind++) {
		__u8 class = 0;

		mark_edges(edge, scoped, n, ported[kind]);
		for (long port = 0; port < 1 << 16 && !err; port++) {
			if (edge[port])
				err = class_of(t, classes, takers(scoped, n, ported[kind], port), &class);
			t->port[kind][port] = class;
		}
	}
	free(edge);
	return err;
}

static void make_unread(struct scopes *t, const struct scoped *scoped, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct scope *s = &scoped[i].scope;

		if (s->only_n)
			t->unread[SCOPE_UNKNOWN] |= 1ULL << i;
		for (size_t r = 0; r < s->only_n; r++)
			for (unsigned int kind = 0; kind < SCOPE_PORTED; kind++)
				if (s->only[r].protocol == ported[kind])
					t->unread[kind] |= 1ULL << i;
	}
}

static struct scope_net net_of(const struct prefix *p, __u64 bit)
{
	unsigned int length = p->length + (p->first.family == 4 ? 96 : 0);
	ip6 mask = ~addr_mask(6, length), first = p->first.num | (p->first.family == 4 ? (ip6)0xffff << 32 : 0);

	return (struct scope_net){ (__u64)(first >> 64), (__u64)first, (__u64)(mask >> 64), (__u64)mask, bit };
}

static int add_net(struct scopes *t, const struct prefix *p, __u64 bit)
{
	struct scope_net net = net_of(p, bit);

	for (__u64 i = 0; i < t->nets; i++)
		if (!memcmp(&t->net[i], &net, offsetof(struct scope_net, of))) {
			t->net[i].of |= bit;
			return 0;
		}
	if (t->nets == SCOPE_NETS)
		return because(-E2BIG, "the lists' scopes have more than %d prefixes in all for --to", SCOPE_NETS);
	t->net[t->nets++] = net;
	return 0;
}

static int add_name(struct scopes *t, const char *name, __u64 bit)
{
	for (__u64 i = 0; i < t->names; i++)
		if (!strcmp(t->on[i].name, name)) {
			t->on[i].of |= bit;
			return 0;
		}
	if (t->names == SCOPE_NAMES)
		return because(-E2BIG, "the lists' scopes have more than %d interfaces in all for --on", SCOPE_NAMES);
	memcpy(t->on[t->names].name, name, SLOT_NAME);
	t->on[t->names++].of = bit;
	return 0;
}

int scopes_make(struct scopes *t, const struct scoped *scoped, size_t n)
{
	unsigned int classes = 1;
	int err = 0;

	memset(t, 0, sizeof(*t));
	if (n > SCOPES_MAX)
		return because(-E2BIG, "lists with a scope, and shadow lists beside them, are more than %d in all",
			       SCOPES_MAX);
	t->fits[0] = takers(scoped, n, 256, -1);
	for (size_t i = 0; i < n && !err; i++) {
		const struct scope *s = &scoped[i].scope;
		__u64 bit = 1ULL << i;

		t->account[SCOPE_PLACE(bit)] = scoped[i].label;
		t->counts |= scoped[i].counts ? bit : 0;
		t->any_to |= s->to_n ? 0 : bit;
		t->any_on |= s->on_n ? 0 : bit;
		for (size_t k = 0; k < s->to_n && !err; k++)
			err = add_net(t, &s->to[k], bit);
		for (size_t k = 0; k < s->on_n && !err; k++)
			err = add_name(t, s->on[k], bit);
	}
	for (unsigned int protocol = 0; protocol < 256 && !err; protocol++)
		err = class_of(t, &classes, takers(scoped, n, protocol, -1), &t->protocol[protocol]);
	make_unread(t, scoped, n);
	return err ?: make_ports(t, scoped, n, &classes);
}
