// SPDX-License-Identifier: GPL-2.0-only
/* What the program asks of lists with a scope: each port and protocol against the rules themselves, and how much there
 * is room for. */
#include <errno.h>

#include "ktap.h"
#include "base/log.h"
#include "filter/scopes.h"

#define WORLDS 60

static struct scoped scoped[SCOPES_MAX + 1];
static struct scopes made;
static const uint8_t known[] = { 6, 17, 132, 1, 58, 47, 0 };

static void start(void)
{
	memset(scoped, 0, sizeof(scoped));
}

static void rule(unsigned int list, uint8_t protocol, unsigned int lo, unsigned int hi)
{
	struct scope *s = &scoped[list].scope;

	s->only[s->only_n++] = (struct scope_rule){ protocol, (uint16_t)lo, (uint16_t)hi };
}

static uint64_t takers(size_t n, int protocol, long port)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < n; i++) {
		const struct scope *s = &scoped[i].scope;

		for (size_t r = 0; r < s->only_n; r++)
			if (s->only[r].protocol == protocol &&
			    ((s->only[r].lo == 0 && s->only[r].hi == 65535) ||
			     (port >= 0 && s->only[r].lo <= port && port <= s->only[r].hi)))
				mask |= 1ULL << i;
		if (!s->only_n)
			mask |= 1ULL << i;
	}
	return mask;
}

static size_t random_world(void)
{
	size_t n = 1 + ktap_random() % 8;

	start();
	for (unsigned int i = 0; i < n; i++) {
		scoped[i].label = (uint8_t)(i + 3);
		for (unsigned int r = (unsigned int)(ktap_random() % 5); r; r--) {
			uint8_t protocol = known[ktap_random() % sizeof(known)];
			unsigned int lo = (unsigned int)(ktap_random() % 65536), hi = lo;

			if (protocol == 1 || protocol == 58 || protocol == 47 || !protocol || ktap_random() % 8 == 0)
				lo = 0, hi = 65535;
			else if (ktap_random() % 3 == 0)
				hi = lo + (unsigned int)(ktap_random() % (65536 - lo));
			else if (ktap_random() % 8 == 0)
				lo = hi = ktap_random() % 2 ? 65535 : 0;
			rule(i, protocol, lo, hi);
		}
	}
	return n;
}

static void every_port(void)
{
	for (int world = 0; world < WORLDS; world++) {
		size_t n = random_world();
		int err = scopes_make(&made, scoped, n);

		if (!CHECK(!err, "world %d: %s", world, reason(err)))
			return;
		for (unsigned int kind = 0; kind < SCOPE_PORTED; kind++)
			for (long port = 0; port < 65536; port++)
				if (!CHECK(made.fits[made.port[kind][port]] == takers(n, known[kind], port),
					   "world %d: %d/%ld: %llx, not %llx", world, known[kind], port,
					   (unsigned long long)made.fits[made.port[kind][port]],
					   (unsigned long long)takers(n, known[kind], port)))
					return;
		for (int protocol = 0; protocol < 256; protocol++)
			if (!CHECK(made.fits[made.protocol[protocol]] == takers(n, protocol, -1),
				   "world %d: protocol %d", world, protocol))
				return;
		if (!CHECK(made.fits[0] == takers(n, 256, -1), "world %d: of no protocol", world))
			return;
		for (unsigned int i = 0; i < n; i++) {
			bool has[SCOPE_KINDS] = { false };

			for (size_t r = 0; r < scoped[i].scope.only_n; r++)
				for (unsigned int kind = 0; kind < SCOPE_PORTED; kind++)
					has[kind] |= scoped[i].scope.only[r].protocol == known[kind];
			has[SCOPE_UNKNOWN] = scoped[i].scope.only_n;
			for (unsigned int kind = 0; kind < SCOPE_KINDS; kind++)
				if (!CHECK((made.unread[kind] >> i & 1) == has[kind], "world %d, list %u: unread, %u",
					   world, i, kind))
					return;
			if (!CHECK(made.account[SCOPE_PLACE(1ULL << i)] == scoped[i].label,
				   "world %d, list %u: its account", world, i))
				return;
		}
	}
}

static bool refused(size_t n, const char *words)
{
	int err = scopes_make(&made, scoped, n);

	return CHECK(err_is(err, E2BIG) && strstr(reason(err), words), "%d: %s", err, err ? reason(err) : "taken");
}

/* 23 lists, of which each two have a port of their own: with two more of one list, and none, these are 256. */
static void groups_of_ports(void)
{
	unsigned int port = 1000;
	int err;

	start();
	for (unsigned int i = 0; i < 23; i++)
		for (unsigned int j = i + 1; j < 23; j++, port++) {
			rule(i, 6, port, port);
			rule(j, 6, port, port);
		}
	rule(0, 6, port, port);
	rule(1, 6, port + 1, port + 1);
	err = scopes_make(&made, scoped, 23);
	if (!CHECK(!err, "255 groups: %s", reason(err)) ||
	    !CHECK(made.fits[made.port[SCOPE_TCP][port + 1]] == 2, "of the last"))
		return;
	/* The same again is no other group, of whatever protocol. */
	rule(1, 17, 53, 53);
	rule(0, 17, 54, 54);
	err = scopes_make(&made, scoped, 23);
	if (!CHECK(!err, "again: %s", reason(err)))
		return;
	rule(2, 6, port + 2, port + 2);
	refused(23, "more than 255 groups of ports");
}

static struct prefix net(unsigned int n)
{
	return (struct prefix){ .first = { .num = (ip6)0xc0000200 + n, .family = 4 }, .length = 32 };
}

static void networks(void)
{
	int err;

	start();
	for (unsigned int i = 0; i < SCOPE_NETS; i++)
		scoped[i % 2].scope.to[scoped[i % 2].scope.to_n++] = net(i);
	/* One that is there has one place. */
	scoped[0].scope.to[scoped[0].scope.to_n++] = net(1);
	err = scopes_make(&made, scoped, 3);
	if (!CHECK(!err, "%s", reason(err)) || !CHECK(made.nets == SCOPE_NETS, "%llu", (unsigned long long)made.nets) ||
	    !CHECK(made.any_to == 4, "who asks for none: %llx", (unsigned long long)made.any_to))
		return;
	for (unsigned int i = 0; i < made.nets; i++) {
		const struct scope_net *at = &made.net[i];

		if (!CHECK(at->lo >> 32 == 0xffff && at->mask_lo == ~0ULL && at->mask_hi == ~0ULL && !at->hi,
			   "the %uth", i) ||
		    !CHECK(at->of == (at->lo % 256 == 1 ? 3 : at->lo % 2 + 1), "whose is %llx: %llx",
			   (unsigned long long)at->lo, (unsigned long long)at->of))
			return;
	}
	/* An IPv6 network that begins with the same bits is another. */
	scoped[2].scope.to[0] = (struct prefix){ .first = { .num = (ip6)0x20010db8 << 96, .family = 6 }, .length = 32 };
	scoped[2].scope.to_n = 1;
	refused(3, "more than 32 prefixes");
}

static void interfaces(void)
{
	int err;

	start();
	for (unsigned int i = 0; i < SCOPE_NAMES; i++) {
		struct scope *s = &scoped[i % 4].scope;

		snprintf(s->on[s->on_n++], SCOPE_IFNAME, "a%u", i);
	}
	strcpy(scoped[4].scope.on[0], "a0");
	strcpy(scoped[4].scope.on[1], "a7");
	scoped[4].scope.on_n = 2;
	err = scopes_make(&made, scoped, 6);
	if (!CHECK(!err, "%s", reason(err)) ||
	    !CHECK(made.names == SCOPE_NAMES, "%llu", (unsigned long long)made.names) ||
	    !CHECK(made.any_on == 32, "who asks for none: %llx", (unsigned long long)made.any_on))
		return;
	for (unsigned int i = 0; i < made.names; i++) {
		int n = atoi(made.on[i].name + 1);

		if (!CHECK(made.on[i].of == (1ULL << n % 4 | (n == 0 || n == 7 ? 16 : 0)), "whose is %s: %llx",
			   made.on[i].name, (unsigned long long)made.on[i].of))
			return;
	}
	strcpy(scoped[5].scope.on[0], "a70");
	scoped[5].scope.on_n = 1;
	refused(6, "more than 32 interfaces");
}

static void lists(void)
{
	int err;

	start();
	for (unsigned int i = 0; i <= SCOPES_MAX; i++) {
		scoped[i].label = (uint8_t)(i + 1);
		scoped[i].counts = i >= 40;
	}
	err = scopes_make(&made, scoped, SCOPES_MAX);
	if (!CHECK(!err, "%s", reason(err)) ||
	    !CHECK(made.counts == 0xff0000000000ULL, "who only count: %llx", (unsigned long long)made.counts))
		return;
	for (unsigned int i = 0; i < SCOPES_MAX; i++)
		if (!CHECK(made.account[SCOPE_PLACE(1ULL << i)] == i + 1, "the account of %u", i))
			return;
	refused(SCOPES_MAX + 1, "more than 48 in all");
}

static bool only_second(uint64_t mask, unsigned int i, unsigned int j)
{
	return mask >> j & 1 && !(mask >> i & 1);
}

/* Does scope i take all that scope j takes? By asking each port, and each network and interface there is. */
static bool holds(unsigned int i, unsigned int j)
{
	const struct scope *a = &scoped[i].scope, *b = &scoped[j].scope;
	bool all = !a->to_n || b->to_n, on = !a->on_n || b->on_n;

	for (unsigned int kind = 0; kind < SCOPE_PORTED; kind++)
		for (long port = 0; port < 65536; port++)
			if (only_second(takers((i > j ? i : j) + 1, known[kind], port), i, j))
				return false;
	for (int protocol = 0; protocol < 256; protocol++)
		if (only_second(takers((i > j ? i : j) + 1, protocol, -1), i, j))
			return false;
	for (size_t k = 0; k < b->to_n && a->to_n; k++) {
		bool within = false;

		for (size_t l = 0; l < a->to_n; l++)
			within |= a->to[l].first.family == b->to[k].first.family &&
				  a->to[l].length <= b->to[k].length &&
				  !((a->to[l].first.num ^ b->to[k].first.num) &
				    ~addr_mask(a->to[l].first.family, a->to[l].length));
		all &= within;
	}
	for (size_t k = 0; k < b->on_n && a->on_n; k++) {
		bool named = false;

		for (size_t l = 0; l < a->on_n; l++)
			named |= !strcmp(a->on[l], b->on[k]);
		on &= named;
	}
	return all && on;
}

static void networks_of(struct scope *s)
{
	for (uint64_t n = ktap_random() % 3; n; n--) {
		unsigned int six = ktap_random() % 2, length = (six ? 32 : 8) + 8 * (ktap_random() % 2);
		struct addr first = six ? (struct addr){ (ip6)(0x20010d00 + ktap_random() % 2) << 96, 6 }
					: (struct addr){ 0x0a000000, 4 };

		s->to[s->to_n++] = (struct prefix){ .first = first, .length = length };
	}
	for (uint64_t n = ktap_random() % 3; n; n--)
		snprintf(s->on[s->on_n++], SCOPE_IFNAME, "edge%d", (int)(ktap_random() % 2));
}

/* As texts have them. */
static bool is_covered(unsigned int by, unsigned int what)
{
	char texts[2][SCOPE_TEXT_MAX];
	struct scope of[2];

	CHECK(scope_text(texts[0], &scoped[by].scope) && scope_text(texts[1], &scoped[what].scope), "too long");
	CHECK(!scope_parse(&of[0], texts[0]) && !scope_parse(&of[1], texts[1]), "no scope: %s", reason(-EINVAL));
	return scope_covers(&of[0], &of[1]);
}

static void covered(void)
{
	unsigned int seen[2] = { 0 };

	for (int world = 0; world < WORLDS / 4; world++) {
		size_t n = random_world();

		for (unsigned int i = 0; i < n; i++) {
			networks_of(&scoped[i].scope);
			if (ktap_random() % 4 == 0)
				scoped[i].scope = scoped[ktap_random() % n].scope;
			/* A little more than another one, perhaps. */
			if (scoped[i].scope.only_n && ktap_random() % 2)
				scoped[i].scope.only[0].lo /= 2;
			else if (scoped[i].scope.only_n)
				scoped[i].scope.only[0].hi += (UINT16_MAX - scoped[i].scope.only[0].hi) / 2;
		}
		for (unsigned int j = 0; j < n; j++)
			for (unsigned int i = 0; i < n; i++) {
				bool is = holds(i, j);

				seen[is]++;
				if (!CHECK(is_covered(i, j) == is, "world %d: %u of %u, and not %d", world, j, i, is))
					return;
			}
	}
	CHECK(seen[0] > 20 && seen[1] > 20, "seldom: %u and %u", seen[0], seen[1]);
}

static const struct ktap_case cases[] = {
	{ "each port and protocol", every_port },
	{ "groups of ports", groups_of_ports },
	{ "networks", networks },
	{ "interfaces", interfaces },
	{ "lists", lists },
	{ "what is covered", covered },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
