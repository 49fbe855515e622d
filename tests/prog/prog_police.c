// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits that are policed, in the real kernel: made packets through the real program. Of each source r * t + 2 * b and
 * a tick's worth pass in any time, the first packet beyond is dropped, and who keeps the limit loses nothing beside it.
 * And a network, by packets that somebody sends in its hosts' names.
 */
#include <fcntl.h>
#include <linux/if_link.h>
#include <math.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "bpf/detect.h"
#include "frames.h"
#include "in_force.h"

enum { GOOD = 60, LOUD = 30, RATE = 1000, BURST = 100, PACKETS = 200000, AT_ONCE = 300, FIRSTS = 1000, LOOPBACK = 1 };

static int policed = -1;
static __u32 comes_in; /* by this interface; 0: the loopback one */

/* The first half of each are of IPv4. */
static ip6 address_of(unsigned int i, unsigned int of, int *family)
{
	*family = i < of / 2 ? 4 : 6;
	if (i < of / 2)
		return 0x64400000 + i * 259 + of * 0x10000;
	return (ip6)(0x2a00000000000000 + i + of * 0x10000) << 64 | ktap_random();
}

static void make_from(uint8_t frame[FRAME_MAX], ip6 source, int family)
{
	size_t s = 0;

	while (strcmp(frame_shapes[s].name, family == 4 ? "IPv4" : "IPv6") != 0)
		s++;
	frame_make(frame, &frame_shapes[s], source);
}

/* The verdict of the last of them. */
static __u32 send_frame(const uint8_t frame[FRAME_MAX], unsigned int packets)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .repeat = (int)packets, .data_in = frame, .data_size_in = FRAME_MAX);
	struct xdp_md by = { .data_end = FRAME_MAX, .ingress_ifindex = comes_in };

	if (comes_in) {
		opts.ctx_in = &by;
		opts.ctx_size_in = sizeof(by);
	}
	return CHECK(!bpf_prog_test_run_opts(program, &opts), "test run: %s", strerror(errno)) ? opts.retval : 0;
}

static __u32 send_as(ip6 source, int family, unsigned int packets)
{
	uint8_t frame[FRAME_MAX];

	make_from(frame, source, family);
	return send_frame(frame, packets);
}

static __u32 send_from(unsigned int i, unsigned int of, unsigned int packets)
{
	int family;
	ip6 source = address_of(i, of, &family);

	return send_as(source, family, packets);
}

static __u64 dropped_so_far(void)
{
	return read_tally(policed, PORT_OF(comes_in ? comes_in : LOOPBACK)).packets;
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

	with_limits = (struct limits){ .on = true,
				       .of = { [CLASS_PACKETS] = { rate, burst, THEN_POLICE } },
				       .networks = with_limits.networks };
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

/* --- A network by some of its addresses ----------------------------------------------------------------------------
 */

enum { NETWORKS = 50, TIMES = 2, HOSTS = 40, TOO_FEW = 7, INNOCENT = 250, FEW = 50, SLOW = 50, UNHEARD = 10000 };

static ip6 address_within(unsigned int network, unsigned int host, int *family)
{
	*family = network % 2 ? 6 : 4;
	return *family == 4 ? 0xcb000000 + network * 256 + host
			    : ((ip6)0x20010db80000 + network) << 80 | (ip6)(host + 1) << 64 | 1;
}

/* By turns, until a packet is dropped. */
static __u64 send_within(unsigned int network, unsigned int hosts, __u64 most)
{
	int family;
	__u64 n = 0;

	while (n < most) {
		ip6 source = address_within(network, (unsigned int)(n % hosts), &family);

		n++;
		if (send_as(source, family, 1) != PASS)
			return n;
	}
	return UNHEARD;
}

/*
 * One packet in eight is charged, so of c charged ones the last is packet 8 * c by the mean. By more than this it is
 * another once in a billion, by Chernoff's bound; of so few, six times the deviation would be passed far more often.
 */
static double give_or_take(double charged)
{
	const double billion = log(1e9);

	return NETWORKS_ONE_IN * (billion + sqrt(billion * billion + 2 * billion * charged));
}

/*
 * Who knows everything but the seeds, and forges some addresses of a network: so many packets it takes until the
 * network is policed, and those in it who sent nothing. Fewer than eight hosts never do that.
 */
static void network_by_forgers(void)
{
	double tick = (double)detect_tick() / 1e9, charged = 0, formula = 0, sum = 0, came = 0, beside;
	__u64 least = UNHEARD, most = 0, alone = 0;

	for (unsigned int i = 0; i < NETWORKS && !ktap_failed; i++) {
		double began, may, late;
		struct seen seen;
		struct detect d;
		__u64 n, before;
		int family;
		ip6 innocent;

		if (!(i % 10)) {
			with_limits.networks = TIMES;
			if (!begin(SLOW + i / 10, FEW))
				return;
		}
		limits_plan(&d, &with_limits, detect_tick());
		alone = d.limit[CLASS_PACKETS].burst * TIMES / d.limit[CLASS_PACKETS].price + 1;
		charged = floor((double)d.cap * TIMES / NETWORKS_ONE_IN / (double)d.limit[CLASS_PACKETS].price) + 1;
		formula = NETWORKS_ONE_IN * charged + (double)alone - 1;
		beside = give_or_take(charged);
		/* Too few hosts, whose packets all fit into their own bursts. */
		CHECK(send_within(NETWORKS + i, TOO_FEW, (__u64)TOO_FEW * FEW) == UNHEARD,
		      "a network is policed by %d of its hosts", TOO_FEW);
		began = coarse_seconds();
		n = send_within(i, HOSTS, UNHEARD - 1);
		late = coarse_seconds() - began + 2 * tick;
		may = SLOW * 2 * TIMES * late + 1;
		CHECK(n >= alone && (double)n <= formula + beside + may, "policed with packet %llu, not %.0f", n,
		      formula);
		sum += (double)n;
		came += may;
		least = n < least ? n : least;
		most = n > most ? n : most;
		/* Now one who has not sent anything. */
		innocent = address_within(i, INNOCENT, &family);
		before = dropped_so_far();
		send_as(innocent, family, FEW / 2);
		may = SLOW * 2 * TIMES * (coarse_seconds() - began + 2 * tick) + 1;
		before = dropped_so_far() - before;
		CHECK((double)before >= FEW / 2 - may, "one in a network that is policed lost %llu of %d", before,
		      FEW / 2);
		if (!seen_now(&seen))
			return;
		for (size_t s = 0; s < seen.n; s++)
			CHECK(!seen.suspect[s].is.until, "somebody is banned");
		seen_free(&seen);
	}
	with_limits.networks = 0;
	/* The mean of so many, and what comes meanwhile. */
	beside = give_or_take(charged * NETWORKS) / NETWORKS;
	sum /= NETWORKS;
	came /= NETWORKS;
	CHECK(fabs(sum - formula) <= beside + came, "the mean is %.0f, and %.0f by the formula", sum, formula);
	printf("# to have a network policed takes %llu to %llu packets of %d hosts, %.0f by the mean; by the formula %.0f\n",
	       least, most, HOSTS, sum, formula);
}

/*
 * Who sends too much in the name of a /64 has its hosts' packets dropped, but not those by which neighbours find each
 * other: without them a host whose gateway is in its own /64 has no IPv6 at all.
 */
static void discovery(void)
{
	static const struct {
		uint8_t type, hops;
		bool passes;
	} each[] = { { 132, 255, false }, { 133, 255, true },  { 134, 255, true }, { 135, 255, true },
		     { 136, 255, true },  { 136, 254, false }, { 137, 255, true }, { 138, 255, false } };
	const ip6 gateway = (ip6)0x2a01000000000000 << 64 | 1;
	uint8_t frame[FRAME_MAX], *ip = frame + ETH_HLEN;
	struct seen seen;

	if (!begin(RATE, BURST))
		return;
	CHECK(send_as(gateway + 1, 6, PACKETS) == XDP_DROP, "a flood passes");
	make_from(frame, gateway, 6);
	ip[6] = IP_PROTO_ICMP6;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		__u64 before = dropped_so_far();
		__u32 verdict;

		ip[7] = each[i].hops;
		ip[40] = each[i].type;
		verdict = send_frame(frame, PACKETS);
		before = dropped_so_far() - before;
		CHECK(each[i].passes ? verdict == XDP_PASS && !before : verdict == XDP_DROP,
		      "ICMPv6 of type %d, %d hops: %llu are dropped", each[i].type, each[i].hops, before);
	}
	if (!seen_now(&seen))
		return;
	CHECK(seen.n == 1, "%zu are suspected, not only the network that the flood comes from", seen.n);
	seen_free(&seen);
}

/* --- Limits of interfaces ------------------------------------------------------------------------------------------
 */

#define OTHER "other0"

/* It is there for as long as this is open. */
static int open_other(void)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	strncpy(request.ifr_name, OTHER, IFNAMSIZ - 1);
	if (fd >= 0 && !ioctl(fd, TUNSETIFF, &request))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Older kernels have all test runs on the loopback interface. */
static bool runs_on(__u32 interface)
{
	struct xdp_md by = { .data_end = FRAME_MAX, .ingress_ifindex = interface };
	uint8_t frame[FRAME_MAX] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame), .ctx_in = &by,
		    .ctx_size_in = sizeof(by), .repeat = 1);

	return !bpf_prog_test_run_opts(program, &opts);
}

static __u64 lost_of(unsigned int i, unsigned int n, __u32 interface)
{
	__u64 lost;

	comes_in = interface;
	lost = -dropped_so_far();
	send_from(i, LOUD, n);
	lost += dropped_so_far();
	comes_in = 0;
	return lost;
}

static bool begin_again(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	return install(&settings, NULL) &&
	       CHECK(!bpf_xdp_attach(LOOPBACK, program, XDP_FLAGS_SKB_MODE, NULL), "loopback: %s", strerror(errno));
}

/* begin() with limits of one interface, so many times those of the others. */
static bool begin_with(const char *interface, double rate, unsigned int times)
{
	if (!begin(rate, BURST))
		return false;
	CHECK(limits_put_on(&with_limits, interface, CLASS_PACKETS, (struct limit){ rate, times * BURST, THENS }),
	      "no room for an interface");
	return begin_again();
}

/* They burst, and at the rate nothing to speak of is added. */
static void by_interface(void)
{
	enum { MANY = 40, PACE = 2 }; /* within the hour that a burst may last */
	int other = open_other();
	__u32 index = if_nametoindex(OTHER);
	struct seen seen;
	unsigned int slots = 0;

	/* Where only one interface is at hand, it is that one. */
	if (!begin_with("lo", PACE, MANY))
		return;
	for (unsigned int i = 0; i < LOUD; i += LOUD - 1) {
		CHECK(!lost_of(i, MANY * BURST - 1, 0), "less than the interface's burst is dropped");
		CHECK(lost_of(i, MANY * BURST, 0), "more than it is not");
	}
	if (!begin_with(OTHER, PACE, MANY))
		return;
	for (unsigned int i = 0; i < LOUD; i += LOUD - 1)
		CHECK(lost_of(i, MANY * BURST, 0) >= (MANY - 3) * BURST, "by the general limit not enough is dropped");
	if (other < 0 || !runs_on(index)) {
		printf("# there is no second interface to run on\n");
		goto out;
	}
	/* What came by the one is nothing to the other. */
	for (unsigned int i = 0; i < LOUD; i += LOUD - 1)
		CHECK(!lost_of(i, MANY * BURST - 1, index), "what came by another interface is charged");
	for (unsigned int i = 0; i < LOUD; i += LOUD - 1)
		CHECK(lost_of(i, MANY * BURST, index) >= (MANY - 3) * BURST, "the interface's own limit does not hold");
	/* Another verdict forgets nobody; and it is the interface's alone. */
	with_limits.on_interface[0].of[CLASS_PACKETS].then = THEN_WATCH;
	if (!begin_again())
		goto out;
	/* Two packets a second are added; of one that is forgotten all would pass. */
	CHECK(!lost_of(0, BURST, index) && lost_of(0, BURST, 0) > BURST / 2, "its own verdict");
	if (!seen_now(&seen))
		goto out;
	for (size_t i = 0; i < seen.n; i++)
		if (seen.suspect[i].key == seen.suspect[0].key)
			slots |= 1u << MARK_SLOT(seen.suspect[i].mark);
	CHECK(slots == 3 && !*seen.interface[0] && !strcmp(seen.interface[1], OTHER), "slots %x, and %s", slots,
	      seen.interface[1]);
	seen_free(&seen);
out:
	if (other >= 0)
		close(other);
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "what passes keeps the limit", keeps_the_limit },
		{ "the first packet above it is dropped", first_drop },
		{ "what it takes to have a network policed", network_by_forgers },
		{ "what neighbours find each other by", discovery },
		{ "limits of an interface", by_interface },
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
