// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is asked about destinations, about both addresses, and by tc of what leaves and comes in: made packets through
 * the real programs and their roots, held against the naive model of who bans what. XDP_BLOOM_PACKETS says how many of
 * each (4000; make match: a million).
 */
#include <linux/pkt_cls.h>

#include "kernel/match.h"
#include "stacks.h"
#include "tunnels.h"

static const struct {
	const char *link, *program, *root;
} kinds[MATCH_KINDS] = {
	{ NULL, "program", PIN_ROOT },
	{ PIN_LINKS "/x%to", "program" PIN_TO, PIN_ROOT PIN_TO },
	{ PIN_LINKS "/x%or", "program" PIN_BOTH, PIN_ROOT PIN_BOTH },
	{ PIN_LINKS "/x%outfrom", "program" PIN_OUT, PIN_ROOT PIN_OUT },
	{ PIN_LINKS "/x%out", "program" PIN_OUT PIN_TO, PIN_ROOT PIN_OUT PIN_TO },
	{ PIN_LINKS "/x%outor", "program" PIN_OUT PIN_BOTH, PIN_ROOT PIN_OUT PIN_BOTH },
	{ PIN_LINKS "/x%in", "program" PIN_IN, PIN_ROOT PIN_IN },
	{ PIN_LINKS "/x%into", "program" PIN_IN PIN_TO, PIN_ROOT PIN_IN PIN_TO },
	{ PIN_LINKS "/x%inor", "program" PIN_IN PIN_BOTH, PIN_ROOT PIN_IN PIN_BOTH },
};

static __u64 shadow[LABELS / 64];

/* Of an address; -1 where nobody bans it. */
static int label_of(int family, ip6 addr)
{
	int label = family == 6 && addr >> 32 == 0xffff ? naive_label(&model, 4, (uint32_t)addr) : -1;

	return label >= 0 ? label : naive_label(&model, family, addr);
}

static bool drops(int family, ip6 addr)
{
	int label = label_of(family, addr);

	return label >= 0 && !(shadow[label / 64] >> label % 64 & 1);
}

/* For all of its link: never dropped on its way out. */
static bool is_spared(int family, ip6 to)
{
	if (family == 4)
		return (__u32)to == ~0u || (__u32)to >> 8 == 0xe00000;
	return (__u32)(to >> 96 & 0xff0f0000) == 0xff020000;
}

static bool is_dropped(unsigned int kind, int family, ip6 source, ip6 destination)
{
	unsigned int match = MATCH_OF(kind);

	return (match != MATCH_DESTINATION && drops(family, source)) ||
	       (match != MATCH_SOURCE && drops(family, destination) &&
		!(MATCH_LEAVES(kind) && is_spared(family, destination)));
}

static __u32 expected(unsigned int kind, const struct frame_shape *shape, size_t size, ip6 source, ip6 destination)
{
	int family = shape->family;

	if (size < shape->needed || !family)
		return PASS;
	if (family == HIDDEN)
		return DROP;
	return is_dropped(kind, family, source, destination) ? DROP : PASS;
}

static bool is_framed(const uint8_t *frame)
{
	unsigned int type = frame[12] << 8 | frame[13];

	return type == ETH_P_8021Q || type == ETH_P_8021AD || type == ETH_P_PPP_SES;
}

/* Of XDP, whichever it is. */
static __u32 verdict(unsigned int kind, __u32 result)
{
	if (!MATCH_BY_TC(kind))
		return result;
	return result == (__u32)TC_ACT_UNSPEC ? PASS : result == TC_ACT_SHOT ? DROP : result;
}

static unsigned int packets_wanted(void)
{
	const char *asked = getenv("XDP_BLOOM_PACKETS");

	return asked ? (unsigned int)strtoul(asked, NULL, 10) : 4000;
}

/* Of each match so many, through the generation's program or through the root's tail call. */
static void random_packets(unsigned int n)
{
	int fds[MATCH_KINDS][2];
	unsigned int dropped[MATCH_KINDS] = { 0 };
	char path[64];

	for (unsigned int m = 0; m < MATCH_KINDS; m++) {
		snprintf(path, sizeof(path), PIN_GENERATIONS "/%llu/%s", live.g.number, kinds[m].program);
		fds[m][0] = get_pin(path);
		fds[m][1] = get_pin(kinds[m].root);
		CHECK(fds[m][0] >= 0 && fds[m][1] >= 0, "no %s", path);
	}
	for (unsigned int i = 0; i < n * MATCH_KINDS && !ktap_failed; i++) {
		const struct frame_shape *shape = &frame_shapes[ktap_random() % FRAME_SHAPES];
		int family = shape->family == 6 ? 6 : 4;
		ip6 source = worth_asking(family), destination = worth_asking(family);
		size_t at = shape->needed - (family == 4 ? 4 : 16), size = FRAME_MAX;
		unsigned int m = i % MATCH_KINDS;
		uint8_t frame[FRAME_MAX];
		struct run run;
		__u32 want;

		frame_make(frame, shape, source);
		if (!(ktap_random() % 16))
			destination = family == 4 ? 0xe0000000 | ktap_random() % 512 : (ip6)0xff02 << 112 | 1;
		if (shape->family == 4)
			frame_put(frame, at, (uint64_t)destination, 4);
		if (shape->family == 6) {
			frame_put(frame, at, (uint64_t)(destination >> 64), 8);
			frame_put(frame, at + 8, (uint64_t)destination, 8);
		}
		/* The kernel runs none for which there is no room in it; a tagged one is judged as if zeros followed.
		 */
		if (!(ktap_random() % 8) && !(MATCH_BY_TC(m) && is_framed(frame)))
			size = (MATCH_BY_TC(m) ? 54 : 14) + ktap_random() % (FRAME_MAX - 54);
		want = expected(m, shape, size, source, destination);
		run = run_program(fds[m][i / MATCH_KINDS % 2], frame, size);
		dropped[m] += want == DROP;
		run.result = verdict(m, run.result);
		CHECK(run.ran && run.result == want, "match %u, %s cut to %zu bytes, %s: verdict %u, not %u", m,
		      shape->name, size, i / MATCH_KINDS % 2 ? "through the root" : "the program itself", run.result,
		      want);
	}
	for (unsigned int m = 0; m < MATCH_KINDS; m++) {
		CHECK(!n || dropped[m] > n / 10, "match %u: only %u dropped", m, dropped[m]);
		close(fds[m][0]);
		close(fds[m][1]);
	}
}

/* The verifier gives up at a million; another compiler's programs, or a larger set's, need more than these. */
static void verified(void)
{
	for (unsigned int m = 0; m < MATCH_KINDS; m++) {
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof(info);
		char path[64];
		int fd, err;

		snprintf(path, sizeof(path), PIN_GENERATIONS "/%llu/%s", live.g.number, kinds[m].program);
		fd = get_pin(path);
		err = bpf_obj_get_info_by_fd(fd, &info, &size);
		CHECK(!err && info.verified_insns < 400000, "match %u: %u instructions are verified", m,
		      info.verified_insns);
		CHECK(stack_fits(fd, kinds[m].program), "match %u: %u bytes of stack", m, stack_of(fd));
		close(fd);
	}
}

static void tunnels(bool looked_into)
{
	unsigned int n = packets_wanted() / 2, inner[MATCH_KINDS] = { 0 }, hides[MATCH_KINDS] = { 0 };
	int fds[MATCH_KINDS];
	struct tunnel t;

	for (unsigned int m = 0; m < MATCH_KINDS; m++) {
		fds[m] = get_pin(kinds[m].root);
		CHECK(fds[m] >= 0, "no root");
	}
	for (unsigned int i = 0; i < n * MATCH_KINDS && !ktap_failed; i++) {
		unsigned int m = i % MATCH_KINDS;
		bool outer, within, hidden;
		struct run run;
		__u32 want;

		make_tunnel(&t);
		outer = is_dropped(m, t.family[0], t.source[0], t.destination[0]);
		within = looked_into && t.family[1] && is_dropped(m, t.family[1], t.source[1], t.destination[1]);
		hidden = looked_into && t.hidden;
		inner[m] += !outer && within;
		hides[m] += !outer && hidden;
		want = outer || within || hidden ? DROP : PASS;
		run = run_program(fds[m], t.frame, t.size);
		run.result = verdict(m, run.result);
		CHECK(run.ran && run.result == want, "match %u, %s, family %d in %d, %zu bytes: verdict %u, not %u", m,
		      t.how, t.family[1], t.family[0], t.size, run.result, want);
	}
	for (unsigned int m = 0; m < MATCH_KINDS; m++) {
		CHECK(!looked_into || !n || (inner[m] > n / 20 && hides[m] > n / 100),
		      "match %u: only %u were dropped for what is within, %u as it is hidden", m, inner[m], hides[m]);
		close(fds[m]);
	}
}

static void packets_in_packets(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	memset(shadow, 0, sizeof(shadow));
	for (int set = 0; set < 3; set++) {
		settings.inner = set != 2;
		if (set == 1)
			hosts_only();
		else
			everything();
		if (set == 0)
			shadow[200 / 64] = 1ULL << 200 % 64;
		if (!install(&settings, set == 0 ? shadow : NULL))
			return;
		verified();
		tunnels(settings.inner);
		memset(shadow, 0, sizeof(shadow));
	}
}

static void some_sets(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	unsigned int n = packets_wanted();

	for (int set = 0; set < 4; set++) {
		memset(shadow, 0, sizeof(shadow));
		if (set == 3)
			shadow[200 / 64] = 1ULL << 200 % 64;
		if (set == 1)
			hosts_only();
		else
			everything();
		/* Of what is for all of a link, and of what is not. */
		add(4, 0xe0000000, 23, 0);
		add(6, (ip6)0xff02 << 112 | 1, 128, 0);
		settings.samples = set == 2 ? 0 : 100;
		if (!install(&settings, set == 3 ? shadow : NULL))
			return;
		verified();
		random_packets(n / 4);
	}
	memset(shadow, 0, sizeof(shadow));
}

/* A packet is counted once, and by the list of the address that it is dropped for. */
static void counted_once(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	uint8_t frame[FRAME_MAX];
	int both;
	char path[64];

	model = (struct naive){ .label = { 3, 200 } };
	add(4, 0x0b000001, 32, 0);
	add(4, 0x0b000002, 32, 1);
	if (!install(&settings, NULL))
		return;
	snprintf(path, sizeof(path), PIN_GENERATIONS "/%llu/%s", live.g.number, kinds[MATCH_BOTH].program);
	both = get_pin(path);
	for (unsigned int i = 0; i < 16; i++) {
		__u32 source = 0x0b000001 + i % 4, destination = 0x0b000001 + i / 4;
		struct tally dropped = read_verdict(DROPPED), passed = read_verdict(PASSED), first, second;

		first = read_tally(list_counters, 3);
		second = read_tally(list_counters, 200);
		frame_make(frame, &frame_shapes[0], source);
		frame_put(frame, 30, destination, 4);
		run_program(both, frame, FRAME_MAX);
		CHECK(read_verdict(DROPPED).packets - dropped.packets == (i % 4 < 2 || i / 4 < 2) &&
			      read_verdict(PASSED).packets - passed.packets == !(i % 4 < 2 || i / 4 < 2),
		      "packet %u: counted as another", i);
		CHECK(read_tally(list_counters, 3).packets - first.packets ==
				      (i % 4 == 0 || (i % 4 > 1 && i / 4 == 0)) &&
			      read_tally(list_counters, 200).packets - second.packets ==
				      (i % 4 == 1 || (i % 4 > 1 && i / 4 == 1)),
		      "packet %u: on another account", i);
	}
	close(both);
}

/* As if interfaces were attached: their pins are looked at. */
static void use_all(void)
{
	bool all = true;

	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS; m++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", own_context.bpffs, kinds[m].link);
		all = all && !bpf_obj_pin(counters, path);
	}
	CHECK(all && !match_ready(&own_context), "no roots");
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "roots for all of it", use_all },
		{ "random packets, held against the model", some_sets },
		{ "a packet within a packet", packets_in_packets },
		{ "a packet is counted once", counted_once },
	};

	return in_force_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	return own_pins_run(run_cases);
}
