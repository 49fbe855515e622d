// SPDX-License-Identifier: GPL-2.0-only
/* The gates: IPv4 against one byte for each /24, IPv6 against a sorted array and the rate of wrong answers. */
#include "bpf/gate.h"
#include "ktap.h"
#include "naive.h"

#define NETS24	  (1u << 24)
#define CHANGES	  1000000
#define QUESTIONS 200000

static void ipv4_states(void)
{
	static const uint32_t edges[] = { 0, 1, 2, 3, 4, NETS24 / 2 - 1, NETS24 / 2, NETS24 - 2, NETS24 - 1 };
	uint8_t *gate = calloc(1, GATE4_BYTES), *naive = calloc(1, NETS24);

	ENOUGH(gate && naive);
	/* Most changes set what was set before, so that states are replaced too. */
	for (int i = 0; i < CHANGES; i++) {
		uint32_t net = i & 1 ? edges[ktap_random() % (sizeof(edges) / sizeof(*edges))]
				     : (uint32_t)(ktap_random() % NETS24);
		unsigned int state = ktap_random() & 3;

		gate4_set(gate, net << 8 | (ktap_random() & 255), state);
		naive[net] = (uint8_t)state;
	}
	for (uint32_t net = 0; net < NETS24; net++) {
		uint32_t host = (net * 0x9e3779b1u >> 24) & 255;

		if (!CHECK(gate4_test(gate, net << 8 | host) == naive[net], "/24 number %u says %u, not %u", net,
			   gate4_test(gate, net << 8 | host), naive[net]))
			break;
	}
	for (unsigned int i = 0; i < sizeof(edges) / sizeof(*edges); i++)
		for (uint32_t host = 0; host < 256; host++)
			CHECK(gate4_test(gate, edges[i] << 8 | host) == naive[edges[i]], "/24 number %u, host %u",
			      edges[i], host);
	free(gate);
	free(naive);
}

enum net_shape { RANDOM, SEQUENTIAL, EVERY_256TH, HIGH_BITS, NET_SHAPES };

static const char *const net_shape_names[] = { "random", "sequential", "every 256th", "differing at the top" };

static uint32_t net32(enum net_shape shape, uint32_t base, uint32_t i)
{
	switch (shape) {
	case SEQUENTIAL:
		return base + i;
	case EVERY_256TH:
		return base + i * 256;
	case HIGH_BITS:
		return __builtin_bswap32(base + i);
	default:
		return (uint32_t)ktap_random();
	}
}

static uint64_t index6(const struct generation *g, uint32_t net)
{
	return gate6_index(g->gate6_add, g->gate6_mul, g->gate6_log2, net);
}

/* The seldom "yes" to others is what the size of the gate is for: no more often than bytes are taken at most. */
static bool ipv6_gate(enum net_shape shape, uint32_t n, unsigned int log2)
{
	uint64_t bytes = 1ULL << log2, yes = 0, asked = 0;
	uint32_t *nets = malloc((n + 1) * sizeof(*nets)), base = (uint32_t)ktap_random();
	uint8_t *gate = calloc(1, bytes);
	struct generation g = { .gate6 = (uintptr_t)gate,
				.gate6_log2 = log2,
				.gate6_add = ktap_random(),
				.gate6_mul = ktap_random() | 1,
				.rung = { { .length = 48 }, { .length = 32 } } };
	double most = (double)n / (double)bytes;
	bool ok = true;

	ENOUGH(nets && gate);
	for (uint32_t i = 0; i < n; i++) {
		nets[i] = net32(shape, base, i);
		ok = ok &&
		     CHECK(index6(&g, nets[i]) < bytes, "index %" PRIu64 " of %" PRIu64, index6(&g, nets[i]), bytes);
		if (ok)
			gate6_open(&g, i % 2, (uint64_t)nets[i] << 32 | (i & 0xffff0000));
	}
	for (uint32_t i = 0; i < n && ok; i++)
		ok = CHECK(gate[index6(&g, nets[i])] >> i % 2 & 1, "/32 number %08x was lost", nets[i]);
	qsort(nets, n, sizeof(*nets), compare_u32);
	/* Half of the questions are of the set's own kind, half are random. */
	for (uint32_t i = 0; i < QUESTIONS && ok; i++) {
		uint32_t net = net32(i & 1 ? shape : RANDOM, base, n + i);

		if (naive_has(nets, n, net))
			continue;
		asked++;
		yes += gate[index6(&g, net)] != 0;
	}
	ok = ok && CHECK((double)yes <= (double)asked * most + binomial_bound((double)asked, most),
			 "%s, %u nets in 2^%u bytes: wrong for %.4f of %" PRIu64 ", at most %.4f expected",
			 net_shape_names[shape], n, log2, (double)yes / (double)asked, asked, most);
	free(nets);
	free(gate);
	return ok;
}

static void ipv6_sets(void)
{
	for (enum net_shape shape = 0; shape < NET_SHAPES; shape++) {
		for (unsigned int log2 = GATE6_LOG2_MIN; log2 < 24; log2 += 3) {
			if (!ipv6_gate(shape, 0, log2) || !ipv6_gate(shape, 1, log2) ||
			    !ipv6_gate(shape, (uint32_t)(1ULL << log2) / 16, log2) ||
			    !ipv6_gate(shape, (uint32_t)(1ULL << log2) / 31, log2))
				return;
		}
	}
	ipv6_gate(RANDOM, 1000000, GATE6_LOG2_MAX);
}

/* A key of each length opens every /32 that it covers or lies in, and no other, but for those that share a byte. */
static void ipv6_lengths(void)
{
	static uint8_t gate[1 << 20], wanted[1 << 20];
	struct generation g = {
		.gate6 = (uintptr_t)gate, .gate6_log2 = 20, .gate6_add = 5, .gate6_mul = 0x9e3779b97f4a7c15
	};

	for (unsigned int length = 20; length <= 128; length++) {
		uint64_t nets = length < 32 ? 1ULL << (32 - length) : 1,
			 net = (ktap_random() & 0xffffffff) & ~(nets - 1);
		unsigned int rung = length % 3;

		memset(gate, 0, sizeof(gate));
		memset(wanted, 0, sizeof(wanted));
		g.rung[rung].length = length;
		gate6_touch(&g, rung, net << 32);
		CHECK(!memcmp(gate, wanted, sizeof(gate)), "/%u: it is changed by touching it", length);
		for (uint64_t i = 0; i < nets; i++)
			wanted[index6(&g, (uint32_t)(net + i))] |= (uint8_t)(1u << rung);
		gate6_open(&g, rung, net << 32 | (length > 32 ? 0xabcd0000 : 0));
		CHECK(!memcmp(gate, wanted, sizeof(gate)), "/%u: another byte than those of its %" PRIu64 " /32",
		      length, nets);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "IPv4: states against one byte for each /24", ipv4_states },
		{ "IPv6: none lost, and how often it says yes wrongly", ipv6_sets },
		{ "IPv6: keys of each length", ipv6_lengths },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
