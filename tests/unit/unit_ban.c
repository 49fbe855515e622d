// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whom bpf/detect.h bans, on the same code: exactly those who prove that they send too much, against a naive model, for
 * as long as it says, and whatever others do; and networks, which it only polices, and only while they are busy.
 */
#include <math.h>

#include "detector.h"

enum { SOURCES = 30, ROUNDS = 8, CELLS_FEW = 16, BUCKETS_MANY = 4096 };

#define BEGIN 0
#define JAIL  (2 * SECOND)

/* --- Against the model -------------------------------------------------------------------------------------------- */

struct sender {
	__u32 addr;
	unsigned int proves; /* so many of ten of its packets */
	double next, pace;
	struct charged proven; /* while it is tracked */
	struct charged all;    /* all that it proved, tracked or not */
	__u64 since, until;
	size_t packets;
};

static bool one_packet(const struct detect *d, struct sender *s, __u64 *bans)
{
	struct detect_from from = { .proven = ktap_random() % 10 < s->proves };
	struct detect_packet packet = packet_of(d, s->addr, 0, 64);
	__u64 now = (1ULL << 62) + (__u64)s->next / TICK * TICK, price = d->limit[CLASS_PACKETS].price;
	enum detected found;
	const struct suspect *is;
	bool above = false;

	packet.from = &from;
	found = detect_packet(d, &packet, now);
	is = suspect_of(d, &packet);
	s->packets++;
	if (s->until > now)
		return CHECK(found == DETECTED_BANNED, "banned, and found %d", found);
	if (is && is->since != s->since) {
		s->since = is->since;
		s->proven.n = 0;
	}
	if (from.proven && found != DETECTED_NOTHING) {
		above = too_much(&s->proven, now, price, d->limit[CLASS_PACKETS].burst);
		if (!above)
			charge(&s->proven, now, price);
	}
	if (!CHECK((found == DETECTED_BANNED) == above, "found %d, to be banned: %d", found, above))
		return false;
	/* Beside the table: nobody whose own packets keep the limit. */
	if (from.proven) {
		if (!CHECK(!above || too_much(&s->all, now, price, d->limit[CLASS_PACKETS].burst),
			   "one that keeps the limit is banned"))
			return false;
		charge(&s->all, now, price);
	}
	if (above) {
		s->until = is->until;
		++*bans;
		return CHECK(s->until >= now + JAIL * 0.9 - 1 && s->until <= now + JAIL * 1.1 + 1, "for %g s",
			     (double)(s->until - now) / SECOND) &&
		       CHECK(is->banned_for == DETECT_BIT(CLASS_PACKETS), "for %x", is->banned_for);
	}
	return true;
}

static void against_the_model(void)
{
	static struct sender senders[SOURCES];
	__u64 bans = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double rate = 20 + (double)(ktap_random() % 400);
		struct limits limits = {
			.on = true, .of = { [CLASS_PACKETS] = { rate, ceil(rate * (0.2 + uniform())), THEN_BAN } }
		};
		struct detect d = plan_of(&limits, CELLS_FEW, BUCKETS_MANY, BEGIN);

		d.jail = (__u64)JAIL;
		memset(senders, 0, sizeof(senders));
		for (size_t i = 0; i < SOURCES; i++) {
			senders[i].addr = (__u32)ktap_random();
			senders[i].proves = (unsigned int)i % 11;
			senders[i].pace = i % 3 ? 0.9 : 5;
			senders[i].next = SECOND + uniform() * SECOND;
		}
		for (;;) {
			struct sender *first = NULL;

			for (size_t i = 0; i < SOURCES; i++)
				if (senders[i].packets < CHARGED_MOST && (!first || senders[i].next < first->next))
					first = &senders[i];
			if (!first || !one_packet(&d, first, &bans))
				break;
			/* In bursts, and then a pause that makes up for them. */
			first->next += ktap_random() % 20 ? SECOND / rate / 50 : 20 * SECOND / rate / first->pace;
		}
		plan_free(&d);
	}
	CHECK(bans > 10, "only %llu bans", bans);
	printf("# %llu bans\n", bans);
}

/* --- Until its end ------------------------------------------------------------------------------------------------ */

/* One bucket for all, and one cell: a flood of others takes neither from who is banned. */
static void keeps_its_place(void)
{
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { 1000, 50, THEN_BAN } } };
	struct detect d = plan_of(&limits, 1, 1, 1ULL << 40);
	struct detect_from own = { .proven = 1 };
	struct detect_packet packet = packet_of(&d, 7, 0, 64);
	__u64 now = 1ULL << 40, until;
	enum detected found = DETECTED_NOTHING;
	unsigned int n = 0;

	d.jail = (__u64)(600 * SECOND);
	packet.from = &own;
	while (found != DETECTED_BANNED && n++ < 1000)
		found = detect_packet(&d, &packet, now);
	CHECK(n > 50 && n <= 2 * 50 + 10, "banned with packet %u", n);
	until = suspect_of(&d, &packet) ? suspect_of(&d, &packet)->until : 0;
	while (now + SECOND < until && !ktap_failed) {
		now += (__u64)SECOND;
		for (__u32 i = 0; i < 50; i++) {
			struct detect_packet other = packet_of(&d, 1000 + (__u32)ktap_random() % 100, 0, 64);

			CHECK(detect_packet(&d, &other, now) != DETECTED_BANNED, "another is banned");
		}
		if (ktap_random() % 3 == 0)
			CHECK(detect_packet(&d, &packet, now) == DETECTED_BANNED, "it passes before its end");
	}
	CHECK(detect_packet(&d, &packet, until) != DETECTED_BANNED, "it is banned behind its end");
	plan_free(&d);
}

/* --- Networks ----------------------------------------------------------------------------------------------------- */

enum { NET_RATE = 1000, NET_BURST = 100 };

/* How many of the packets that so many hosts send in turn are dropped, at a pace of the network's limit. */
static unsigned int of_network(const struct detect *d, unsigned int hosts, unsigned int packets, double pace, bool is6,
			       __u64 *now)
{
	struct detect_from from = { .proven = 1 };
	double at = (double)(*now - (1ULL << 40));
	unsigned int dropped = 0;

	for (unsigned int i = 0; i < packets && !ktap_failed; i++) {
		struct detect_packet packet = packet_of(d, 0xcb007100 + i % hosts, 0, 64);
		enum detected found;

		if (is6) {
			packet.kind = SUSPECT_IPV6;
			packet.key = 0x20010db800010000 + i % hosts;
			packet.hash = hash_ipv6(d->hash, 0, packet.key, 0);
		}
		packet.from = &from;
		at += SECOND / NET_RATE / pace;
		*now = (1ULL << 40) + (__u64)at / TICK * TICK;
		found = detect_packet(d, &packet, *now);
		CHECK(found != DETECTED_BANNED, "a network, or a host of it that keeps its limit, is banned");
		dropped += found == DETECTED_DROPPED;
	}
	return dropped;
}

/* What is tracked of it, as the network that it is. */
static bool is_known(const struct detect *d, enum suspect_kind kind, __u64 key)
{
	struct hash_seeds seeds = { d->hash.add, d->hash.mul1, d->hash.mul2, 0 };
	struct detect_packet network = { .key = key, .kind = kind, .hash = hash_ipv6(seeds, kind << 1, key, 0) };

	return suspect_of(d, &network);
}

static void networks(void)
{
	/* Of a host so much that none of them is above it. */
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { NET_RATE, NET_BURST, THEN_BAN } } };

	for (int is6 = 0; is6 < 2; is6++) {
		struct detect d = plan_of(&limits, 4096, 64, 1ULL << 40);
		__u64 now = 1ULL << 40;
		unsigned int dropped, n;

		d.jail = (__u64)(60 * SECOND);
		d.networks = TRUST_ALL;
		dropped = of_network(&d, 64, 8 * NET_RATE, 0.9, is6, &now);
		CHECK(!dropped, "one that keeps the limit lost %u", dropped);
		n = 8 * NET_RATE;
		dropped = of_network(&d, 64, n, 4, is6, &now);
		CHECK(dropped >= n - n / 4 - 3 * NET_BURST && dropped <= n - n / 4 + NET_BURST,
		      "at four times the limit %u of %u dropped", dropped, n);
		CHECK(is_known(&d, SUSPECT_NET4, 0xcb0071) == !is6 &&
			      is_known(&d, SUSPECT_NET6, 0x20010db80001) == is6 &&
			      !is_known(&d, is6 ? SUSPECT_NET4 : SUSPECT_NET6, is6 ? 0x20010db80001 : 0xcb0071),
		      "it is tracked as another network");
		printf("# at four times the limit %u of %u dropped\n", dropped, n);
		/* Twice as much as the limit, and that is allowed here: nobody else uses it. */
		now += (__u64)(20 * SECOND);
		d.networks = TRUST_ALL / 4;
		dropped = of_network(&d, 64, n, 2, is6, &now);
		CHECK(!dropped, "with four times the limit of a host %u dropped", dropped);
		/* Seven hosts are no network; each of them keeps its own limit. */
		d.networks = TRUST_ALL;
		now += (__u64)(20 * SECOND);
		dropped = of_network(&d, 7, n, 4, is6, &now);
		CHECK(!dropped, "seven hosts: %u dropped", dropped);
		plan_free(&d);
	}
}

/* What an allow list has is not judged with its network either. */
static void allowed_host(void)
{
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { NET_RATE, NET_BURST, THEN_POLICE } } };
	struct detect d = plan_of(&limits, 4096, 64, 1ULL << 40);
	struct detect_packet host = packet_of(&d, 0xcb007180, 0, 64);
	struct detect_trusted trusted = { .key.addr = { NET32((__u32)host.key) }, .scale = 0 };
	__u64 now = 1ULL << 40;

	d.networks = TRUST_ALL;
	d.trusted = (uintptr_t)&trusted;
	CHECK(of_network(&d, 64, 8 * NET_RATE, 8, false, &now) > NET_RATE, "the network is not policed");
	for (int i = 0; i < 1000; i++)
		CHECK(detect_packet(&d, &host, now) != DETECTED_DROPPED, "an allowed host of it is dropped");
	plan_free(&d);
}

/* Nothing of who had the place before, an address or a network: neither of its bans nor of what it sent. */
static void begins_anew(void)
{
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { NET_RATE, NET_BURST, THEN_BAN } } };
	struct detect d = plan_of(&limits, 1, 1, 1ULL << 40);
	struct suspects *bucket = (struct suspects *)(uintptr_t)d.suspects;
	struct detect_from own = { .proven = 1 };
	struct detect_packet packet = packet_of(&d, 7, 0, 64);
	struct detect_trusted trusted = { .key.addr = { NET32((__u32)packet.key) }, .scale = TRUST_ALL / 2 };
	__u64 now = (1ULL << 40) + TICK;
	enum detected found = DETECTED_NOTHING;
	const struct suspect *is = NULL;
	unsigned int n = 0;

	packet.from = &own;
	for (int i = 0; i < SUSPECTS_OF_BUCKET; i++) {
		struct suspect *before = &bucket->suspect[i];

		memset(before, 0x55, sizeof(*before));
		memset(before->stamp, 0, sizeof(before->stamp));
		for (int class = 0; class < CLASSES; class ++)
			before->stamp[class] = 1ULL << 40;
		before->asked = d.number;
		/* All places but the last are in use. */
		if (i < SUSPECTS_OF_BUCKET - 1) {
			bucket->place[i].key = 1000 + (__u64)i;
			bucket->place[i].mark = MARK(SUSPECT_IPV4, now);
		}
	}
	d.trusted = (uintptr_t)&trusted;
	for (; !is && n < 1000; n++) {
		found = detect_packet(&d, &packet, now);
		is = suspect_of(&d, &packet);
	}
	if (CHECK(is && found == DETECTED_SUSPECT, "packet %u is found %d", n, found)) {
		CHECK(is->count[CLASS_PACKETS] == 1 && is->count[CLASS_BYTES] == 64, "it has sent %llu, %llu bytes",
		      is->count[CLASS_PACKETS], is->count[CLASS_BYTES]);
		CHECK(is->proven[CLASS_PACKETS] == now + d.limit[CLASS_PACKETS].price / 2, "it has proven %llx",
		      is->proven[CLASS_PACKETS]);
		for (int class = 0; class < CLASSES; class ++)
			CHECK(!is->over[class] && (class <= CLASS_BYTES || !is->count[class]) &&
				      (class == CLASS_PACKETS || !is->proven[class]),
			      "class %d is another's", class);
		CHECK(is->since == now && is->scale == TRUST_ALL / 2 && is->asked == d.number,
		      "tracked since %llx, scale %llx", is->since, is->scale);
		CHECK(!is->over_at && !is->dropped && !is->until && !is->banned_for && !is->port && !is->pairs,
		      "%llx, %llx, %llx, %x, %x, %llx", is->over_at, is->dropped, is->until, is->banned_for, is->port,
		      is->pairs);
	}
	plan_free(&d);
}

/* Who comes again has his place for all of the time that one is kept, and he alone: by either way to it. */
static void comes_again(void)
{
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { NET_RATE, NET_BURST, THEN_POLICE } } };
	struct detect d = plan_of(&limits, 1, 1, 1ULL << 40);
	struct suspects *bucket = (struct suspects *)(uintptr_t)d.suspects;
	__u64 now = (1ULL << 40) + TICK, marks[SUSPECTS_OF_BUCKET];

	for (__u32 i = 0; i < SUSPECTS_OF_BUCKET; i++) {
		struct detect_packet packet = packet_of(&d, i, 0, 64);

		for (int n = 0; n < 1000 && !suspect_of(&d, &packet); n++)
			detect_packet(&d, &packet, now);
		CHECK(suspect_of(&d, &packet) == &bucket->suspect[i], "number %u has no place of its own", i);
	}
	for (__u32 turn = 0; turn < 2 * SUSPECTS_OF_BUCKET && !ktap_failed; turn++) {
		__u32 i = turn / 2;
		struct detect_packet packet = packet_of(&d, i, 0, 64);

		for (int k = 0; k < SUSPECTS_OF_BUCKET; k++) {
			bucket->place[k].mark = MARK(SUSPECT_IPV4, now);
			marks[k] = bucket->place[k].mark;
		}
		now += (turn % 2 ? d.keep / 2 : 0) + TICK;
		for (int n = 0; n < 1000 && bucket->place[i].mark == marks[i]; n++)
			detect_packet(&d, &packet, now);
		marks[i] = MARK(SUSPECT_IPV4, now);
		CHECK(!memcmp(&bucket->suspect[i], suspect_of(&d, &packet), sizeof(bucket->suspect[i])),
		      "number %u has another place", i);
		for (__u32 k = 0; k < SUSPECTS_OF_BUCKET; k++)
			CHECK(bucket->place[k].mark == marks[k], "number %u came, and %u is marked %llx, not %llx", i,
			      k, (unsigned long long)bucket->place[k].mark, (unsigned long long)marks[k]);
	}
	plan_free(&d);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "exactly who proves too much", against_the_model },
		{ "it keeps its place until the end", keeps_its_place },
		{ "networks are policed while they are busy", networks },
		{ "but not who is allowed", allowed_host },
		{ "who gets a place begins anew", begins_anew },
		{ "who comes again has his place", comes_again },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
