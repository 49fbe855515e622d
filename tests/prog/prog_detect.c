// SPDX-License-Identifier: GPL-2.0-only
/*
 * The detector in the real kernel: made packets through the real program, a million of them, and what the command reads
 * of it. Who keeps the limit is never above it, whatever others send; who sends more than r * t + 2 * b and a tick's
 * worth is, and only watched. XDP_BLOOM_PACKETS: so many, where that takes long.
 */
#include <linux/if_link.h>
#include <sched.h>

#include "base/clock.h"
#include "bpf/detect.h"
#include "frames.h"
#include "in_force.h"

enum {
	GOOD = 200,
	LOUD = 50,
	RATE = 10000,
	BURST = 1000,
	PACKETS = 1000000,
	AT_ONCE = 16,
	ROTATIONS = 8,
	LOUD_AT_ONCE = 10,
	LOOPBACK = 1
};

static uint64_t sent, packets;

/* The first half of each are of IPv4. */
static ip6 address_of(unsigned int i, bool loud, int *family)
{
	unsigned int half = (loud ? LOUD : GOOD) / 2;

	*family = i < half ? 4 : 6;
	if (i < half)
		return 0x64400000 + i * 259 + (loud ? 0x10000 : 0);
	return (ip6)(0x2a00000000000000 + i + (loud ? 0x10000 : 0)) << 64 | ktap_random();
}

/* All of them pass. */
static bool send_from(unsigned int i, bool loud, unsigned int n)
{
	int family;
	ip6 source = address_of(i, loud, &family);
	const char *name = family == 4 ? "IPv4" : "IPv6";
	LIBBPF_OPTS(bpf_test_run_opts, opts, .repeat = (int)n);
	struct xdp_md cut = { .data_end = (__u32)first_buffer };
	uint8_t frame[FRAME_MAX];
	size_t s = 0;
	int err;

	while (strcmp(frame_shapes[s].name, name) != 0)
		s++;
	frame_make(frame, &frame_shapes[s], source);
	opts.data_in = frame;
	opts.data_size_in = sizeof(frame);
	if (first_buffer) {
		opts.ctx_in = &cut;
		opts.ctx_size_in = sizeof(cut);
	}
	err = bpf_prog_test_run_opts(program, &opts);
	sent += n;
	return CHECK(!err && opts.retval == PASS, "%u packets: %s, verdict %u", n, strerror(errno), opts.retval);
}

static const struct suspect_seen *find(const struct seen *seen, __u64 key, __u64 kind)
{
	for (size_t n = 0; n < seen->n; n++)
		if (seen->suspect[n].key == key && MARK_KIND(seen->suspect[n].mark) == kind)
			return &seen->suspect[n];
	return NULL;
}

static __u64 above(const struct seen *seen, unsigned int i, bool loud)
{
	int family;
	ip6 address = address_of(i, loud, &family);
	const struct suspect_seen *is =
		find(seen, family == 4 ? (__u64)address : (__u64)(address >> 64), (__u64)family);

	return is ? is->is.over[CLASS_PACKETS] : 0;
}

static bool good_are_good(const struct seen *seen)
{
	for (unsigned int i = 0; i < GOOD; i++)
		if (!CHECK(!above(seen, i, false), "one that keeps the limit is above it with %llu packets",
			   above(seen, i, false)))
			return false;
	return true;
}

/*
 * The kernel makes a direct jump for each XDP program that is run and for no interface yet, and waits for all CPUs with
 * it, before and after each run: milliseconds. The loopback interface is this test's own.
 */
static bool in_force(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	return install(&settings, NULL) && CHECK(!bpf_xdp_attach(LOOPBACK, program, XDP_FLAGS_SKB_MODE, NULL),
						 "not on the loopback interface: %s", strerror(errno));
}

/* Limits that no case before had: with the same ones it would go on where that one was. */
static bool begin(double rate)
{
	with_limits = (struct limits){ .on = true, .of = { [CLASS_PACKETS] = { .rate = rate, .burst = BURST } } };
	model = (struct naive){ .label = { 3 } };
	naive_add(&model, 4, 0x0b000000, 0x0b00ffff, 0);
	sent = 0;
	return in_force();
}

/* The next generation has other seeds, and knows what this one has seen; but for those that it forgets in time. */
static bool rotate(void)
{
	struct seen before, after;
	int err = kernel_seen(&own_context, &before);
	bool ok = CHECK(!err && before.on, "what was seen: %s", reason(err)) && good_are_good(&before) && in_force();

	if (!ok)
		return false;
	err = kernel_seen(&own_context, &after);
	ok = CHECK(!err && after.on && after.packets[DETECTED_OVER] == before.packets[DETECTED_OVER],
		   "%llu were above the limit before a rotation, and %llu behind it", before.packets[DETECTED_OVER],
		   after.packets[DETECTED_OVER]);
	for (size_t i = 0; i < before.n && ok; i++) {
		const struct suspect_seen *was = &before.suspect[i], *is = find(&after, was->key, MARK_KIND(was->mark));

		ok = CHECK(is ? is->is.over[CLASS_PACKETS] == was->is.over[CLASS_PACKETS]
			      : MARK_AGE(was->mark, after.now) >= (__s64)after.with.keep,
			   "a rotation forgets %llx", was->key);
	}
	seen_free(&before);
	seen_free(&after);
	return ok;
}

/* Half a burst in each time of a whole one's worth: in no window more than r * t + b. */
static void bounds(void)
{
	unsigned int spent[GOOD] = { 0 }, rotations = 0;
	double epoch = 0, began, tick = (double)detect_tick() / 1e9;
	struct seen seen;
	int err;

	if (!begin(RATE))
		return;
	while (sent < packets) {
		unsigned int i = (unsigned int)(ktap_random() % (GOOD + LOUD)),
			     n = 1 + (unsigned int)ktap_random() % AT_ONCE;
		bool loud = i >= GOOD;

		if (clock_seconds() - epoch > (double)BURST / RATE + tick) {
			memset(spent, 0, sizeof(spent));
			epoch = clock_seconds();
		}
		if (loud) {
			i -= GOOD;
			n *= 8;
		} else {
			n = spent[i] + n > BURST / 2 ? BURST / 2 - spent[i] : n;
			spent[i] += n;
		}
		if (n && !send_from(i, loud, n))
			return;
		if (sent > packets / ROTATIONS * (rotations + 1) && (rotations++, !rotate()))
			return;
	}
	/* Those that have not sent enough for all of this time do so now. */
	for (unsigned int i = 0; i < LOUD; i++) {
		began = clock_seconds();
		if (!send_from(i, true, 4 * BURST))
			return;
		/* Where this took so long that it was allowed, again. */
		if (4 * BURST <= RATE * (clock_seconds() - began + tick) + 2 * BURST) {
			i--;
			continue;
		}
		if (i % LOUD_AT_ONCE != LOUD_AT_ONCE - 1)
			continue;
		err = kernel_seen(&own_context, &seen);
		if (!CHECK(!err && seen.on, "what was seen: %s", reason(err)))
			return;
		for (unsigned int j = i + 1 - LOUD_AT_ONCE; j <= i; j++)
			if (!CHECK(above(&seen, j, true), "loud source %u is not found", j))
				return;
		seen_free(&seen);
	}
	err = kernel_seen(&own_context, &seen);
	if (!CHECK(!err && seen.on, "what was seen: %s", reason(err)) || !good_are_good(&seen))
		return;
	CHECK(!seen.packets[DETECTED_UNTRACKED], "%llu were not tracked", seen.packets[DETECTED_UNTRACKED]);
	printf("# %" PRIu64 " packets, %llu above the limit\n", sent, seen.packets[DETECTED_OVER]);
	seen_free(&seen);
}

/* Headers that are not in the packet's first buffer. */
static void several_buffers(void)
{
	struct seen seen;
	int err;

	if (kernel_frags(&own_context) != 1)
		return ktap_skip("this kernel has no packets of several buffers");
	if (!begin(RATE + 1))
		return;
	first_buffer = 14;
	if (!send_from(0, true, 4 * BURST) || !send_from(LOUD - 1, true, 4 * BURST))
		return;
	first_buffer = 0;
	err = kernel_seen(&own_context, &seen);
	CHECK(!err && above(&seen, 0, true) && above(&seen, LOUD - 1, true), "they are not found");
	seen_free(&seen);
}

/* Does this kernel take an array of one value that large? */
static bool takes(__u32 bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "large", 4, bytes, 1, &opts);

	CHECK(map >= 0 || map == -E2BIG, "an array of %u bytes: %s", bytes, strerror(-map));
	if (map >= 0)
		close(map);
	return map >= 0;
}

/* Before 6.8 there are no tables above 4 MiB: that is said, with what to type, and nothing is left behind. */
static void too_large(void)
{
	const double sizes[] = { 1000, 50000, LIMIT_SUSPECTS_MOST };
	unsigned int refused = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct detector detector = { .limits = { .on = true,
							 .of = { [CLASS_PACKETS] = { 1000, 0, THEN_WATCH } } } };
		struct candidate c = { 0 };
		struct detect d;
		__u32 bytes;
		int err;

		for (unsigned int map = 0; map < MAPS_DETECT - MAP_DETECT; map++)
			c.detect[map] = -1;
		detector.limits.suspects = sizes[i];
		limits_plan(&d, &detector.limits, detect_tick());
		bytes = (__u32)(d.buckets * sizeof(struct suspects));
		err = kernel_detect(NULL, &c, NULL, &detector);
		if (takes(bytes)) {
			CHECK(!err, "%u bytes: %s", bytes, reason(err));
		} else {
			CHECK(err_is(err, E2BIG) && strstr(reason(err), "before Linux 6.8 none above 4 MiB") &&
				      strstr(reason(err), "'xdp-bloom detect room' with less"),
			      "%u bytes: %s", bytes, reason(err));
			CHECK(bytes > 4 << 20, "%u bytes are refused", bytes);
			refused++;
		}
		for (unsigned int map = 0; map < MAPS_DETECT - MAP_DETECT; map++)
			if (c.detect[map] >= 0)
				close(c.detect[map]);
	}
	printf("# %u of %zu sizes are refused\n", refused, sizeof(sizes) / sizeof(*sizes));
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "a million packets", bounds },
		{ "headers in another buffer", several_buffers },
		{ "tables that a kernel does not take", too_large },
	};

	return in_force_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	const char *n = getenv("XDP_BLOOM_PACKETS");

	packets = n ? strtoull(n, NULL, 0) : PACKETS;
	if (!geteuid() && unshare(CLONE_NEWNET)) {
		printf("Bail out! no network namespace: %s\n", strerror(errno));
		return KTAP_FAIL;
	}
	return own_pins_run(run_cases);
}
