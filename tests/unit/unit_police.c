// SPDX-License-Identifier: GPL-2.0-only
/*
 * What bpf/detect.h drops, on the same code, against a naive model: the times of all packets that a source was charged,
 * and every window that ends with the next one.
 */
#include <math.h>

#include "detector.h"

enum { SOURCES = 40, PACKETS = CHARGED_MOST, CELLS_FEW = 16, BUCKETS_MANY = 4096, ROUNDS = 6 };

/* No clock of theirs begins before. */
#define BEGIN 0

/* --- Against the model -----------------------------------------------------------------------------------------------
 */

struct source_model {
	__u32 addr;
	double pace; /* of the limit */
	__u64 since; /* tracked */
	double next;
	/* What each class was charged since it is tracked; and everything that passed. */
	struct charged charged[CLASS_SYN + 1], passed;
	__u64 over[CLASS_SYN + 1];
};

static bool one_packet(const struct detect *d, struct source_model *s, __u64 *dropped)
{
	bool syn = ktap_random() % 2, above[CLASS_SYN + 1], drop = false;
	struct detect_packet packet = packet_of(d, s->addr, syn ? DETECT_BIT(CLASS_SYN) : 0, 64 + ktap_random() % 1437);
	__u64 now = (1ULL << 62) + (__u64)s->next / TICK * TICK, price[CLASS_SYN + 1];
	enum detected found = detect_packet(d, &packet, now);
	const struct suspect *is = suspect_of(d, &packet);

	if (found != DETECTED_NOTHING && is && is->since != s->since) {
		s->since = is->since;
		for (enum packet_class class = 0; class <= CLASS_SYN; class ++)
			s->charged[class].n = s->over[class] = 0;
	}
	for (enum packet_class class = 0; class <= CLASS_SYN; class ++) {
		price[class] = class == CLASS_SYN && !syn ? 0 : detect_price(d, class, &packet);
		above[class] = price[class] && too_much(&s->charged[class], now, price[class], d->limit[class].burst);
		drop = drop || (above[class] && d->then[THEN_POLICE] & DETECT_BIT(class));
	}
	if (found == DETECTED_NOTHING)
		drop = false;
	for (enum packet_class class = 0; class <= CLASS_SYN && found != DETECTED_NOTHING; class ++) {
		s->over[class] += above[class];
		if (!CHECK(is && is->over[class] == s->over[class], "class %u: not %llu above its limit", class,
			   s->over[class]))
			return false;
	}
	*dropped += drop;
	if (!CHECK((found == DETECTED_DROPPED) == drop, "packet %zu: found %d, to be dropped: %d", s->passed.n, found,
		   drop))
		return false;
	if (drop)
		return true;
	for (enum packet_class class = 0; class <= CLASS_SYN && found != DETECTED_NOTHING; class ++)
		if (!above[class])
			charge(&s->charged[class], now, price[class]);
	/* r * t + 2 * b and a tick, whatever the sketch made of it; the limit has a tick in it. */
	if (!CHECK(!too_much(&s->passed, now, price[CLASS_PACKETS], 2 * d->limit[CLASS_PACKETS].burst),
		   "more passed than r * t + 2 * b and a tick, packet %zu", s->passed.n))
		return false;
	charge(&s->passed, now, price[CLASS_PACKETS]);
	return true;
}

static void against_the_model(void)
{
	static struct source_model sources[SOURCES];
	const double paces[] = { 0.2, 0.99, 1.05, 2, 20 };
	__u64 dropped = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double rate = 20 + (double)(ktap_random() % 400);
		struct limits limits = {
			.on = true,
			.of = { [CLASS_PACKETS] = { rate, ceil(rate * (0.2 + uniform())), THEN_POLICE },
				[CLASS_BYTES] = { 500 * rate, 0, THEN_WATCH },
				[CLASS_SYN] = { rate / 3, ceil(rate * (0.1 + uniform())), THEN_POLICE } }
		};
		struct detect d;

		limits.of[CLASS_BYTES].burst = limit_burst_least(CLASS_BYTES, 500 * rate, TICK);
		d = plan_of(&limits, CELLS_FEW, BUCKETS_MANY, BEGIN);
		memset(sources, 0, sizeof(sources));
		for (size_t i = 0; i < SOURCES; i++) {
			sources[i].addr = (__u32)ktap_random();
			sources[i].pace = paces[ktap_random() % (sizeof(paces) / sizeof(*paces))];
			sources[i].next = SECOND + uniform() * SECOND;
		}
		for (size_t n = 0; n < SOURCES * PACKETS; n++) {
			struct source_model *first = sources;

			for (size_t i = 1; i < SOURCES; i++)
				if (sources[i].passed.n < PACKETS && sources[i].next < first->next)
					first = &sources[i];
			if (first->passed.n == PACKETS || !one_packet(&d, first, &dropped))
				break;
			/* In bursts, and then a pause that makes up for them. */
			first->next += ktap_random() % 20 ? SECOND / rate / 50 : 20 * SECOND / rate / first->pace;
		}
		plan_free(&d);
	}
	CHECK(dropped > 1000, "only %llu were dropped", dropped);
	printf("# %llu dropped\n", dropped);
}

/* --- Whom the operator trusts
 * -------------------------------------------------------------------------------------------
 */

/* How many of n packets at once pass. */
static int passing(const struct detect *d, const struct detect_packet *packet, int n, __u64 now)
{
	int passed = 0;

	for (int i = 0; i < n; i++)
		passed += detect_packet(d, packet, now) != DETECTED_DROPPED;
	return passed;
}

static void trusted(void)
{
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { 100, 50, THEN_POLICE } } };
	struct detect d = plan_of(&limits, 1, 16, BEGIN);
	struct detect_trusted one = { .key = { .family = 4, .addr = { NET32(8) } }, .scale = TRUST_ALL / 10 };
	struct detect_packet packet = packet_of(&d, 7, 0, 64), other = packet_of(&d, 8, 0, 64);
	__u64 now = 1ULL << 62;
	const struct suspect *is;
	int passed;

	CHECK(passing(&d, &other, 1000, now) <= 101, "a stranger was let through");
	d.trusted = (uintptr_t)&one;
	passed = passing(&d, &packet, 5000, now);
	CHECK(passed >= 500 && passed <= 510, "with ten times the limit %d pass", passed);
	/* What is trusted changes with the generation, and then at once. */
	one.scale = 0;
	CHECK(passing(&d, &packet, 100, now) == 0, "it was asked again in the same generation");
	d.number++;
	CHECK(passing(&d, &packet, 5000, now) == 5000, "an allowed source lost packets");
	is = suspect_of(&d, &packet);
	CHECK(is && !is->scale && is->count[CLASS_PACKETS] <= 5100, "an allowed source was counted");
	CHECK(passing(&d, &other, 10, now) == 0, "what is not allowed passes, too");
	d.number++;
	d.trusted = 0;
	CHECK(passing(&d, &packet, 10, now) == 0, "it is allowed for ever");
	plan_free(&d);
}

/* An address of a /64: the others of it are judged on. */
static void trusted_host(void)
{
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { 100, 50, THEN_POLICE } } };
	struct detect d = plan_of(&limits, 1, 16, BEGIN);
	struct detect_packet packet = { .key = 0x20010db800000000, .kind = SUSPECT_IPV6, .rest = 5, .hash = 1 };
	struct detect_trusted one = {
		.key = { .family = 6, .addr = { NET32(0x20010db8), 0, 0, NET32(5) } },
	};
	__u64 now = 1ULL << 62;

	d.trusted = (uintptr_t)&one;
	d.trusts_hosts = 1;
	CHECK(passing(&d, &packet, 1000, now) == 1000, "an allowed address lost packets");
	packet.rest = 6;
	/* Its neighbour's packets were not charged to it. */
	CHECK(passing(&d, &packet, 1000, now) >= 50, "the neighbour of an allowed address was charged its packets");
	CHECK(passing(&d, &packet, 1000, now) == 0, "the neighbour of an allowed address is allowed");
	packet.rest = 5;
	CHECK(passing(&d, &packet, 1000, now) == 1000, "an allowed address lost packets");
	plan_free(&d);
}

/* --- Room -----------------------------------------------------------------------------------------------------------
 */

/* Ten times as many as there is room for: who is tracked is held to the limit, the others pass, and are counted. */
static void full(void)
{
	enum { ALL = 64 * 10, RATE = 100, BURST = 10 };
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { RATE, BURST, THEN_POLICE } } };
	struct detect d = plan_of(&limits, 1, 16, BEGIN);
	__u64 now = 1ULL << 62, passed[ALL] = { 0 }, untracked[ALL] = { 0 };
	const int ticks = 500;

	for (int tick = 0; tick < ticks; tick++, now += TICK)
		for (__u32 i = 0; i < ALL; i++)
			for (int n = 0; n < 4; n++) {
				struct detect_packet packet = packet_of(&d, i * 7919, 0, 64);
				enum detected found = detect_packet(&d, &packet, now);

				passed[i] += found != DETECTED_DROPPED;
				untracked[i] += found == DETECTED_UNTRACKED;
			}
	for (__u32 i = 0; i < ALL; i++) {
		const __u64 may = (__u64)(RATE * (TICK * ticks / SECOND)) + 2 * BURST + 1;

		if (untracked[i])
			CHECK(passed[i] == 4 * ticks, "%u was not tracked, and lost packets", i);
		else
			CHECK(passed[i] >= may - BURST - 2 && passed[i] <= may, "%u: %llu passed, not %llu", i,
			      passed[i], may);
	}
	plan_free(&d);
}

/* Sources that all on a link share: one of them does not use up what others have. */
static void nobody(void)
{
	static const struct {
		__u64 kind, key;
		bool judged;
	} cases[] = {
		{ SUSPECT_IPV6, 0xfe80000000000000, false },
		{ SUSPECT_IPV6, 0xfebfffffffffffff, false },
		{ SUSPECT_IPV6, 0, false },
		{ SUSPECT_IPV4, 0, false },
		{ SUSPECT_IPV6, 0xfe7f000000000000, true },
		{ SUSPECT_IPV6, 0xfec0000000000000, true },
		{ SUSPECT_IPV4, 1, true },
		{ SUSPECT_IPV4, 0xfe800000, true },
	};
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { 100, 50, THEN_POLICE } } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct detect d = plan_of(&limits, 1, 16, BEGIN);
		struct detect_packet packet = { .key = cases[i].key, .kind = cases[i].kind, .bytes = 64, .hash = 1 };
		int passed = passing(&d, &packet, 1000, 1ULL << 62);

		CHECK((passed < 1000) == cases[i].judged, "of %llx %d passed", (unsigned long long)cases[i].key,
		      passed);
		plan_free(&d);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "against the model", against_the_model },	    { "whom the operator trusts", trusted },
		{ "one address of a /64", trusted_host },	    { "nobody's", nobody },
		{ "ten times as many as there is room for", full },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
