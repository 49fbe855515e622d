// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits that are policed, in the real kernel: made packets through the real program. Of each source r * t + 2 * b and
 * a tick's worth pass in any time, the first packet beyond is dropped, and who keeps the limit loses nothing beside it.
 */
#include <linux/if_link.h>
#include <sched.h>

#include "base/clock.h"
#include "bpf/detect.h"
#include "frames.h"
#include "in_force.h"

enum { GOOD = 60, LOUD = 30, RATE = 1000, BURST = 100, PACKETS = 200000, AT_ONCE = 300, FIRSTS = 1000, LOOPBACK = 1 };

static int policed = -1;

/* The first half of each are of IPv4. */
static ip6 address_of(unsigned int i, unsigned int of, int *family)
{
	*family = i < of / 2 ? 4 : 6;
	if (i < of / 2)
		return 0x64400000 + i * 259 + of * 0x10000;
	return (ip6)(0x2a00000000000000 + i + of * 0x10000) << 64 | ktap_random();
}

/* The verdict of the last of them. */
static __u32 send_from(unsigned int i, unsigned int of, unsigned int packets)
{
	int family;
	ip6 source = address_of(i, of, &family);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .repeat = (int)packets);
	uint8_t frame[FRAME_MAX];
	size_t s = 0;

	while (strcmp(frame_shapes[s].name, family == 4 ? "IPv4" : "IPv6") != 0)
		s++;
	frame_make(frame, &frame_shapes[s], source);
	opts.data_in = frame;
	opts.data_size_in = sizeof(frame);
	return CHECK(!bpf_prog_test_run_opts(program, &opts), "test run: %s", strerror(errno)) ? opts.retval : 0;
}

static __u64 dropped_so_far(void)
{
	return read_tally(policed, PORT_OF(1)).packets;
}

static const struct suspect *suspect_of(const struct seen *seen, unsigned int i, unsigned int of)
{
	int family;
	ip6 address = address_of(i, of, &family);
	__u64 key = family == 4 ? (__u64)address : (__u64)(address >> 64);

	for (size_t n = 0; n < seen->n; n++)
		if (seen->suspect[n].key == key && MARK_KIND(seen->suspect[n].mark) == (__u64)family)
			return &seen->suspect[n].is;
	return NULL;
}

static bool begin(double rate, double burst)
{
	struct settings settings = SETTINGS_DEFAULT;

	with_limits = (struct limits){ .on = true, .of = { [CLASS_PACKETS] = { rate, burst, THEN_POLICE } } };
	model = (struct naive){ .label = { 3 } };
	naive_add(&model, 4, 0x0b000000, 0x0b00ffff, 0);
	/* As prog_detect.c: a program that is run and on no interface makes the kernel wait. */
	if (!install(&settings, NULL) ||
	    !CHECK(!bpf_xdp_attach(LOOPBACK, program, XDP_FLAGS_SKB_MODE, NULL), "loopback: %s", strerror(errno)))
		return false;
	if (policed < 0)
		policed = get_pin(PIN_POLICED);
	return CHECK(policed >= 0, "no map of what is policed");
}

static bool seen_now(struct seen *seen)
{
	int err = kernel_seen(&own_context, seen);

	return CHECK(!err && seen->on, "what was seen: %s", reason(err));
}

/* With the detector's ticks: where a CPU sleeps through some of them, both make up for it at once. */
static double coarse_seconds(void)
{
	return (double)clock_ns(CLOCK_MONOTONIC_COARSE) / 1e9;
}

static void keeps_the_limit(void)
{
	static double rate = RATE + FIRSTS; /* one that the detector has not seen yet, however often this is run */
	__u64 sent[LOUD] = { 0 }, lost[LOUD] = { 0 }, all = 0, before, began, passed;
	unsigned int spent[GOOD] = { 0 };
	double tick = (double)detect_tick() / 1e9, epoch = 0, since, seconds;
	static struct counted counted;
	struct seen seen;

	if (!begin(++rate, BURST) || !CHECK(!kernel_counters(&own_context, &counted), "the counters cannot be read"))
		return;
	began = dropped_so_far();
	passed = counted.verdict[PASSED].packets;
	since = coarse_seconds();
	while (all < PACKETS) {
		unsigned int i = (unsigned int)(ktap_random() % (GOOD + LOUD)),
			     n = 1 + (unsigned int)ktap_random() % AT_ONCE;
		bool loud = i < LOUD;

		before = dropped_so_far();
		if (coarse_seconds() - epoch > BURST / rate + tick) {
			memset(spent, 0, sizeof(spent));
			epoch = coarse_seconds();
		}
		if (!loud) {
			i -= LOUD;
			n = spent[i] + n > BURST / 2 ? BURST / 2 - spent[i] : n;
			spent[i] += n;
		}
		if (!n)
			continue;
		send_from(i, loud ? LOUD : GOOD, n);
		all += n;
		if (loud) {
			sent[i] += n;
			lost[i] += dropped_so_far() - before;
		} else if (!CHECK(dropped_so_far() == before, "one that keeps the limit lost %llu packets",
				  dropped_so_far() - before)) {
			return;
		}
	}
	seconds = coarse_seconds() - since;
	if (!seen_now(&seen))
		return;
	for (unsigned int i = 0; i < LOUD; i++) {
		const struct suspect *is = suspect_of(&seen, i, LOUD);
		double may = rate * (seconds + 2 * tick) + 2 * BURST + 1;

		CHECK((double)(sent[i] - lost[i]) <= may, "%llu of %llu passed, not %.0f at most", sent[i] - lost[i],
		      sent[i], may);
		CHECK(sent[i] - lost[i] >= (sent[i] < BURST ? sent[i] : BURST), "only %llu of %llu passed",
		      sent[i] - lost[i], sent[i]);
		CHECK(!is || is->dropped == lost[i], "%llu are known to be dropped, not %llu", is ? is->dropped : 0,
		      lost[i]);
	}
	CHECK(!kernel_counters(&own_context, &counted), "the counters cannot be read");
	CHECK(seen.packets[DETECTED_DROPPED] == dropped_so_far() - began &&
		      seen.packets[DETECTED_DROPPED] > PACKETS / 8,
	      "%llu dropped, and %llu counted", seen.packets[DETECTED_DROPPED], dropped_so_far() - began);
	CHECK(counted.verdict[DROPPED].packets == dropped_so_far() &&
		      counted.verdict[PASSED].packets - passed == all - seen.packets[DETECTED_DROPPED],
	      "%llu passed and %llu were dropped by the counters", counted.verdict[PASSED].packets,
	      counted.verdict[DROPPED].packets);
	CHECK(counted.list[LABEL_DETECTOR].packets == dropped_so_far(), "the detector's account has %llu",
	      counted.list[LABEL_DETECTOR].packets);
	printf("# %llu packets, %llu dropped, in %.1f s\n", all, seen.packets[DETECTED_DROPPED], seconds);
	seen_free(&seen);
}

/* By sequence numbers: each packet is asked for its verdict. */
static void first_drop(void)
{
	enum { LITTLE = 20 };
	double tick = (double)detect_tick() / 1e9;
	unsigned int latest = 0;

	for (unsigned int i = 0; i < FIRSTS; i++) {
		double began, may;
		unsigned int n = 0;
		bool passes;

		/* Other limits: it starts empty, before many of them meet in one bucket. */
		if (!(i % 50) && !begin(RATE + i / 50, LITTLE))
			return;

		began = coarse_seconds();
		do {
			passes = send_from(i, FIRSTS, 1) == PASS;
			may = RATE * (coarse_seconds() - began + 2 * tick) + 2 * LITTLE + 1;
		} while (++n <= may && passes);
		if (!CHECK(!passes, "source %u: packet %u still passes", i, n) ||
		    !CHECK(n > LITTLE, "source %u: packet %u is dropped", i, n))
			return;
		latest = n > latest ? n : latest;
	}
	printf("# of %d sources each lost its packet %u at the latest\n", FIRSTS, latest);
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "what passes keeps the limit", keeps_the_limit },
		{ "the first packet above it is dropped", first_drop },
	};

	return in_force_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	if (!geteuid() && unshare(CLONE_NEWNET)) {
		printf("Bail out! no network namespace: %s\n", strerror(errno));
		return KTAP_FAIL;
	}
	return own_pins_run(run_cases);
}
