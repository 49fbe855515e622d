// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bans of the detector's own, in the real kernel: by packets of a real connection, and by an interface where nobody can
 * forge. Who forges a source gets nobody banned, neither with a connection's ports nor with numbers beside its window.
 */
#include <linux/if_link.h>

#include "base/clock.h"
#include "change/ends.h"
#include "by_connection.h"
#include "state/proven.h"

enum { RATE = 1000, BURST = 100, JAIL = 2 };

/* How long a ban takes, in seconds: as long as any test, but where its end is waited for. */
static unsigned int jail = 3600;

/* --- Packets ------------------------------------------------------------------------------------------------------ */

static bool put_in_force(const struct limits *limits, struct proven *proven, size_t proven_n,
			 const struct trusted *trusted)
{
	struct settings settings = SETTINGS_DEFAULT;

	with_limits = *limits;
	with_detector.jail_ns = jail * 1000000000ULL;
	with_detector.proven = proven;
	with_detector.proven_n = proven_n;
	with_detector.trusted = (struct trusted *)trusted;
	with_detector.trusted_n = !!trusted;
	model = (struct naive){ .label = { 3 } };
	naive_add(&model, 4, 0x0b000000, 0x0b00ffff, 0);
	/* As prog_detect.c: a program that is run and on no interface makes the kernel wait. */
	return install(&settings, NULL) &&
	       CHECK(!bpf_xdp_attach(LOOPBACK, program, XDP_FLAGS_SKB_MODE, NULL), "loopback: %s", strerror(errno));
}

/* Each time with limits that the detector has not seen yet: it begins empty. */
static bool begin(enum then then, struct proven *proven, size_t proven_n, const struct trusted *trusted)
{
	static double rate = RATE;

	rate++;
	return put_in_force(
		&(struct limits){
			.on = true,
			.of = { [CLASS_PACKETS] = { rate, BURST, then }, [CLASS_UDP] = { rate, BURST, then } } },
		proven, proven_n, trusted);
}

/* --- Cases -------------------------------------------------------------------------------------------------------- */

static bool proves(void)
{
	if (!kernel_proves())
		ktap_skip("sockets prove nothing in this kernel");
	return kernel_proves();
}

/* Twice the limit, and a burst: in any time. */
#define FLOOD (20 * BURST)

static void by_connection(int family)
{
	uint8_t frame[FRAME];
	struct connection c;
	struct found found;
	double began;

	jail = JAIL;
	if (!proves() || !connection_open(&c, family) || !begin(THEN_BAN, NULL, 0, NULL))
		return;
	jail = 3600;
	frame_of(frame, &c, c.next, c.ours, 0x10, IPPROTO_TCP);
	/* Half a burst bans nobody, and a half again after time for it neither. */
	CHECK(send_frames(frame, BURST / 2) == PASS, "half a burst is dropped");
	found = find(&c);
	CHECK(!found.banned, "half a burst is banned");
	began = (double)clock_ns(CLOCK_BOOTTIME) / 1e9;
	CHECK(send_frames(frame, FLOOD) == DROP, "a flood passes");
	found = find(&c);
	if (!CHECK(found.banned, "a flood is not banned") ||
	    !CHECK(found.is.banned_for == 1u << CLASS_PACKETS, "banned for %x", found.is.banned_for))
		return;
	CHECK(found.is.until - found.now <= JAIL * 1100000000ULL, "banned for %llu ns", found.is.until - found.now);
	CHECK(found.packets[DETECTED_BANNED] == found.is.dropped && found.is.dropped >= FLOOD - 4 * BURST,
	      "%llu packets of the banned, %llu lost", found.packets[DETECTED_BANNED], found.is.dropped);
	/* Whatever it sends, and for as long as it is banned. */
	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	CHECK(send_frames(frame, 1) == DROP || (double)clock_ns(CLOCK_BOOTTIME) / 1e9 - began >= JAIL * 0.9 - 0.02,
	      "another packet of it passes");
	do {
		found = find(&c);
	} while (found.banned && !ktap_failed);
	CHECK(send_frames(frame, 1) == PASS, "it is over, and the packet is dropped");
	CHECK((double)clock_ns(CLOCK_BOOTTIME) / 1e9 - began >= JAIL * 0.9 - 0.02, "it ended too early");
	connection_close(&c);
}

static void by_connection4(void)
{
	by_connection(4);
}

static void by_connection6(void)
{
	by_connection(6);
}

/* Is its sender banned by a flood of it? Afterwards he is not. */
static bool bans(const struct connection *c, const uint8_t *frame)
{
	bool banned;

	CHECK(send_frames(frame, FLOOD) == DROP, "a flood is not policed");
	banned = find(c).banned;
	if (banned)
		kernel_unjail(&own_context, address_of(c), c->family == 4 ? 32 : 128);
	return banned;
}

/* All that a server may send to whom it serves. */
static void no_answer_bans(const struct connection *c, const char *state)
{
	static const int flags[] = { 0x10, 0x11, 0x12, 0x04, 0x14 };
	uint8_t frame[FRAME];

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		frame_of(frame, c, c->next, c->ours, flags[i], IPPROTO_TCP);
		CHECK(!bans(c, frame), "%s, flags %02x: who is asked is banned", state, flags[i]);
	}
	/* In pieces: nobody can say of what connection they are. */
	frame[14 + 6] = 0x20;
	CHECK(c->family != 4 || !bans(c, frame), "%s, in pieces: who is asked is banned", state);
}

/* A connection that this machine has opened answers: what is asked for is no attack, wherever it comes in. */
static void answers(void)
{
	static struct proven loopback = { "lo" };

	for (unsigned int i = 0; i < 4 && !ktap_failed; i++) {
		uint8_t frame[FRAME];
		struct connection c;

		if (!connection_open(&c, i & 1 ? 6 : 4) || !begin(THEN_BAN, &loopback, i >> 1, NULL))
			return;
		/* As a client's port: nobody listens there. */
		close(c.listening);
		c.listening = -1;
		no_answer_bans(&c, "open");
		CHECK(!shutdown(c.server, SHUT_WR), "shutdown: %s", strerror(errno));
		no_answer_bans(&c, "half closed");
		close(c.server);
		c.server = -1;
		no_answer_bans(&c, "closed");
		/* What begins a connection is proven by the interface, or not at all; and so is what has none. */
		frame_of(frame, &c, c.next, 0, 0x02, IPPROTO_TCP);
		CHECK(bans(&c, frame) == (i >> 1), "case %u: by SYN", i);
		frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
		CHECK(bans(&c, frame) == (i >> 1), "case %u: by UDP", i);
		connection_close(&c);
	}
}

/* To a port where somebody listens, what the numbers do not prove the interface does; but never what only answers. */
static void to_a_listener(void)
{
	static const struct {
		int flags;
		bool proves;
	} each[] = { { 0x04, false }, { 0x14, false }, { 0x12, false }, { 0x10, true } };
	static struct proven loopback = { "lo" };
	struct connection c;

	if (!connection_open(&c, ktap_random() & 1 ? 4 : 6) || !begin(THEN_BAN, &loopback, 1, NULL))
		return;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		uint8_t frame[FRAME];

		frame_of(frame, &c, c.next + 0x80000000, c.ours, each[i].flags, IPPROTO_TCP);
		CHECK(bans(&c, frame) == each[i].proves, "flags %02x", each[i].flags);
	}
	connection_close(&c);
}

/* Anybody may listen on the port that another connects from; the server that is asked from there is no attacker. */
static void by_owners(void)
{
	static struct proven loopback = { "lo" };
	static const struct {
		uid_t listens, connected;
		bool proves;
	} each[] = { { 65534, 0, false }, { 65534, 65533, false }, { 65534, 65534, true }, { 0, 65534, true } };

	for (size_t i = 0; i < 2 * sizeof(each) / sizeof(*each); i++) {
		size_t n = i / 2;
		uint8_t frame[FRAME];
		struct connection c;

		if (!proves() || !connection_open(&c, ktap_random() & 1 ? 4 : 6) ||
		    !begin(THEN_BAN, &loopback, i % 2, NULL))
			return;
		CHECK(!fchown(c.listening, each[n].listens, -1) && !fchown(c.server, each[n].connected, -1),
		      "owners: %s", strerror(errno));
		frame_of(frame, &c, c.next, c.ours, 0x10, IPPROTO_TCP);
		CHECK(bans(&c, frame) == each[n].proves, "case %zu", i);
		CHECK(!shutdown(c.server, SHUT_WR), "shutdown: %s", strerror(errno));
		CHECK(bans(&c, frame) == (each[n].proves && i % 2), "case %zu, half closed", i);
		connection_close(&c);
	}
}

/* Whoever forges knows all but the numbers, and hits none of them. */
static void not_by_forgery(void)
{
	uint8_t frame[FRAME];
	struct connection c;
	struct found found;
	unsigned int cases = 0;

	if (!proves() || !connection_open(&c, ktap_random() & 1 ? 4 : 6) || !begin(THEN_BAN, NULL, 0, NULL))
		return;
	for (unsigned int i = 0; i < 9; i++) {
		__u32 sequence = c.next, acknowledged = c.ours;
		int flags = 0x10, protocol = IPPROTO_TCP;
		struct connection as = c;

		switch (i) {
		case 0:
			sequence = c.next + c.window + 1;
			break;
		case 1:
			sequence = c.next - c.window - 1;
			break;
		case 2:
			sequence = c.next + 0x80000000;
			break;
		case 3:
			acknowledged = c.ours + 1;
			break;
		case 4:
			acknowledged = c.ours + 0x80000000;
			break;
		case 5:
			flags = 0x02;
			break;
		case 6:
			flags = 0;
			break;
		case 7:
			protocol = IPPROTO_UDP;
			break;
		case 8:
			as.from_port ^= htons(1);
			break;
		}
		frame_of(frame, &as, sequence, acknowledged, flags, protocol);
		CHECK(send_frames(frame, FLOOD) == DROP, "case %u: a flood is not policed", i);
		found = find(&c);
		CHECK(found.known && !found.banned && !found.is.until, "case %u: somebody forged, and is banned", i);
		cases++;
	}
	/* The connection's own packets pass beside it as far as the limit goes, and are still not a flood. */
	frame_of(frame, &c, c.next, c.ours, 0x10, IPPROTO_TCP);
	send_frames(frame, BURST / 2);
	found = find(&c);
	CHECK(!found.banned, "banned by packets that keep the limit");
	printf("# %u ways to forge\n", cases);
	connection_close(&c);
}

static void by_interface(void)
{
	struct connection c = { .family = 4, .from = { 198, 51, 100, 7 }, .to = { 127, 0, 0, 1 } };
	struct connection mapped = { .family = 6,
				     .from = { [10] = 0xff, 0xff, 203, 0, 113, 9 },
				     .to = { 0x20, 1, 0xd, 0xb8, [15] = 1 } },
			  carried = { .family = 4, .from = { 203, 0, 113, 9 } };
	struct proven loopback = { "lo" }, other = { "other0" };
	struct settings settings = SETTINGS_DEFAULT;
	uint8_t frame[FRAME];
	struct found found;

	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	if (!begin(THEN_BAN, &other, 1, NULL))
		return;
	CHECK(send_frames(frame, FLOOD) == DROP, "a flood passes");
	found = find(&c);
	CHECK(found.known && !found.banned, "banned by another interface's word");
	/* In the generation in force: this one has got the name, and another it has lost. */
	CHECK(!kernel_follow(&own_context, &loopback, 1), "names are not followed");
	CHECK(send_frames(frame, FLOOD) == DROP && find(&c).banned, "not banned where it is proven by now");
	if (!begin(THEN_BAN, &loopback, 1, NULL) ||
	    !CHECK(!kernel_follow(&own_context, &other, 1), "names are not followed"))
		return;
	CHECK(send_frames(frame, FLOOD) == DROP, "a flood passes");
	CHECK(!find(&c).banned, "banned where it is proven no more");
	if (!begin(THEN_BAN, &loopback, 1, NULL))
		return;
	CHECK(send_frames(frame, FLOOD) == DROP, "a flood passes");
	found = find(&c);
	CHECK(found.banned && found.is.banned_for == (1u << CLASS_PACKETS | 1u << CLASS_UDP), "not banned, for %x",
	      found.is.banned_for);
	/* Who validates sources need not know that the stack takes this one for an IPv4 address. */
	frame_of(frame, &mapped, 0, 0, 0, IPPROTO_UDP);
	CHECK(send_frames(frame, FLOOD) == DROP, "a flood passes");
	found = find(&carried);
	CHECK(found.known && !found.banned, "banned by an IPv6 address that carries it");
	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	/* The next generation takes it over. */
	CHECK(install(&settings, NULL), "no generation");
	found = find(&c);
	CHECK(found.banned && send_frames(frame, 1) == DROP, "forgotten by the next generation");
	/* Let out: neither a neighbour nor a network beside it. */
	kernel_unjail(&own_context, (struct addr){ 0xc6336408, 4 }, 32);
	CHECK(find(&c).banned, "let out with its neighbour");
	CHECK(!kernel_unjail(&own_context, (struct addr){ 0xc6336400, 4 }, 24), "it cannot be let out");
	found = find(&c);
	CHECK(found.known && !found.banned, "not let out");
	/* Only policed. */
	if (!begin(THEN_POLICE, &loopback, 1, NULL))
		return;
	send_frames(frame, FLOOD);
	CHECK(!find(&c).banned, "banned where the limit says police");
}

/* How far ahead of the clock the cell of a source is. */
static __u64 cell_ahead(const struct connection *c, __u64 slot)
{
	struct addr addr = address_of(c);
	__u64 key = c->family == 4 ? (__u64)addr.num : (__u64)(addr.num >> 64), ahead = 0, hash;
	struct slot by = { .number = slot };
	struct seen seen;

	if (!CHECK(!kernel_seen_all(&own_context, &seen) && seen.cells == seen.with.cells, "no sketch: %s", reason(0)))
		return 0;
	hash = source_hash(seen.with.hash, (__u64)c->family, key);
	seen.with.sketch = (uintptr_t)seen.cell;
	ahead = stamp_ahead(*sketch_cell(&seen.with, hash_in_slot(&seen.with, hash, slot ? &by : NULL)), seen.now);
	seen_free(&seen);
	return ahead;
}

/* Who is let out while he still sends is not banned by his next packet, nor before he is above the limit again. */
static void let_out_at_once(void)
{
	struct proven loopback = { "lo" };

	for (unsigned int i = 0; i < 4 && !ktap_failed; i++) {
		struct connection c = { .family = i & 1 ? 6 : 4, .to = { 127, 0, 0, 1 } };
		/* So slow that none of the allowance comes back in the meantime. */
		struct limit slow = { i + 1, BURST, THEN_BAN };
		struct limits limits = { .on = true };
		__u64 slot = i >> 1;
		uint8_t frame[FRAME];
		struct found found;

		for (unsigned int byte = 0; byte < (i & 1 ? 16 : 4); byte++)
			c.from[byte] = (uint8_t)(ktap_random() % 100 + 20);
		if (slot)
			CHECK(limits_put_on(&limits, "lo", CLASS_PACKETS, slow), "no limit of an interface");
		else
			limits.of[CLASS_PACKETS] = slow;
		if (!put_in_force(&limits, &loopback, 1, NULL))
			return;
		frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
		CHECK(send_frames(frame, 3 * BURST) == DROP && find(&c).banned, "%u: a flood is not banned", i);
		CHECK(cell_ahead(&c, slot), "%u: the cell of a banned one is not hot", i);
		CHECK(!kernel_unjail(&own_context, address_of(&c), i & 1 ? 128 : 32), "%u: it cannot be let out", i);
		CHECK(!cell_ahead(&c, slot), "%u: its cell stays hot", i);
		CHECK(send_frames(frame, BURST) == PASS, "%u: its next packets are dropped", i);
		found = find(&c);
		CHECK(found.places == 1 && !found.banned, "%u: banned again by a burst, or %zu places", i,
		      found.places);
		CHECK(send_frames(frame, 3 * BURST) == DROP && find(&c).banned, "%u: not banned again", i);
	}
}

static void needed(void)
{
	struct connection c = { .family = 4, .from = { 198, 51, 100, 7 }, .to = { 127, 0, 0, 1 } };
	struct trusted needs = { end_key_of((struct addr){ 0xc6336400, 4 }, 24), TRUST_ALL | TRUST_NO_BAN },
		       allowed = { end_key_of((struct addr){ 0xc6336407, 4 }, 32), 0 };
	struct proven loopback = { "lo" };
	uint8_t frame[FRAME];
	struct found found;

	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	if (!begin(THEN_BAN, &loopback, 1, &needs))
		return;
	CHECK(send_frames(frame, FLOOD) == DROP, "a flood is not policed");
	found = find(&c);
	CHECK(found.known && found.is.dropped && !found.banned, "what this machine needs is banned");
	if (!begin(THEN_BAN, &loopback, 1, &allowed))
		return;
	CHECK(send_frames(frame, FLOOD) == PASS, "what is allowed is dropped");
}

static double coarse_seconds(void)
{
	return (double)clock_ns(CLOCK_MONOTONIC_COARSE) / 1e9;
}

/*
 * Who knows everything but the seeds: so many forged packets it takes until one is policed. Where two of them share a
 * cell, the second is looked at from its first packet on, and still has the whole burst.
 */
static void what_it_takes(void)
{
	double tick = (double)detect_tick() / 1e9;
	__u64 least = ~0ULL, most = 0, formula = 0, alone;
	unsigned int shared = 0;

	for (unsigned int i = 0; i < 200 && !ktap_failed; i++) {
		struct connection c = { .family = 4,
					.from = { 203, 0, (uint8_t)(113 + i), 7 },
					.to = { 127, 0, 0, 1 } };
		uint8_t frame[FRAME];
		struct detect d;
		double began, may;
		__u64 n = 0;

		if (!(i % 20) && !begin(THEN_BAN, NULL, 0, NULL))
			return;
		limits_plan(&d, &with_limits, detect_tick());
		/* The last that the sketch lets pass by itself, and the first that a suspect may not send. */
		alone = d.limit[CLASS_PACKETS].burst / d.limit[CLASS_PACKETS].price + 1;
		formula = d.cap / d.limit[CLASS_PACKETS].price + alone;
		frame_of(frame, &c, 1, 1, 0, IPPROTO_TCP);
		began = coarse_seconds();
		do
			n++;
		while (send_frames(frame, 1) == PASS && n < 10 * formula);
		may = (RATE + 100) * (coarse_seconds() - began + 2 * tick) + 1;
		CHECK(n >= alone && (n < formula || (double)(n - formula) <= may), "policed with packet %llu, not %llu",
		      n, formula);
		shared += n < formula;
		CHECK(!find(&c).is.until, "and banned");
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	/* A pair of twenty out of 16,384 cells, ten times: 0.1 is expected. */
	CHECK(shared <= 4, "%u were policed earlier", shared);
	printf("# to have somebody policed takes %llu to %llu forged packets; by the formula %llu, and what comes meanwhile\n",
	       least, most, formula);
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "who floods a connection of IPv4 is banned, and let in again", by_connection4 },
		{ "the same of IPv6", by_connection6 },
		{ "nobody whom this machine has asked", answers },
		{ "to a listener, what does not only answer", to_a_listener },
		{ "whoever listens on another's port", by_owners },
		{ "who forges gets nobody banned", not_by_forgery },
		{ "where nobody can forge, all classes ban", by_interface },
		{ "who is let out begins anew", let_out_at_once },
		{ "nobody whom this machine needs, or allows", needed },
		{ "what it takes to have somebody policed", what_it_takes },
	};

	return in_force_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	if (!geteuid() && (unshare(CLONE_NEWNET) || !loopback_up())) {
		printf("Bail out! no network namespace: %s\n", strerror(errno));
		return KTAP_FAIL;
	}
	return own_pins_run(run_cases);
}
