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

/* --- Packets ------------------------------------------------------------------------------------------------------ */

/* Each time with limits that the detector has not seen yet: it begins empty. */
static bool begin(enum then then, struct proven *proven, size_t proven_n, const struct trusted *trusted)
{
	static double rate = RATE;
	struct settings settings = SETTINGS_DEFAULT;

	rate++;
	with_limits = (struct limits){
		.on = true, .of = { [CLASS_PACKETS] = { rate, BURST, then }, [CLASS_UDP] = { rate, BURST, then } }
	};
	with_detector.jail_ns = JAIL * 1000000000ULL;
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

	if (!proves() || !connection_open(&c, family) || !begin(THEN_BAN, NULL, 0, NULL))
		return;
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
	CHECK(send_frames(frame, 1) == DROP, "another packet of it passes");
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
		{ "who forges gets nobody banned", not_by_forgery },
		{ "where nobody can forge, all classes ban", by_interface },
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
