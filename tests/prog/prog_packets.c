// SPDX-License-Identifier: GPL-2.0-only
/*
 * The real programs in the real kernel, on made packets: every header shape, cut off at every byte, in one buffer and
 * in several. What a set does to the programs is in prog_sets.c.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "worth_asking.h"

#define ETHERNET_BYTES 14 /* the kernel runs no test on less */

/* Before anything is loaded, and after: nothing in the slot lets packets pass and counts nothing. */
static void empty_slot(void)
{
	int slot = get_pin(PIN_SLOT);
	__u32 key = 0;

	if (!CHECK(slot >= 0, "no slot"))
		return;
	bpf_map_delete_elem(slot, &key);
	close(slot);
	for (size_t i = 0; i < FRAME_SHAPES; i++) {
		uint8_t frame[FRAME_MAX];

		frame_make(frame, &frame_shapes[i], 0xc0000201);
		CHECK(run_program(root, frame, FRAME_MAX).result == PASS, "%s is dropped", frame_shapes[i].name);
	}
	check_all_counters();
}

static void every_shape(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	everything();
	if (!install(&settings, NULL))
		return;
	for (size_t i = 0; i < FRAME_SHAPES; i++)
		if (!ask_shape(&frame_shapes[i], ETHERNET_BYTES, true) || !check_all_counters())
			return;
	CHECK(wanted[DROPPED].packets > 1000 && wanted[PASSED].packets > 1000 && wanted[UNPARSED].packets > 1000,
	      "too few packets of a kind");
	printf("# %llu packets dropped, %llu passed, %llu unparsed\n", wanted[DROPPED].packets, wanted[PASSED].packets,
	       wanted[UNPARSED].packets);
}

static void counters_survive(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct generation g;

	everything();
	for (int i = 0; i < 3; i++) {
		if (!install(&settings, NULL) || !check_all_counters())
			return;
		for (size_t s = 0; s < FRAME_SHAPES; s += 5)
			if (!ask_shape(&frame_shapes[s], FRAME_MAX - 3, true))
				return;
	}
	CHECK(!kernel_zero_label(&own_context, 200), "a list's counter is not set to zero");
	wanted_lists[200] = (struct tally){ 0 };
	check_all_counters();
	CHECK(!kernel_live(&own_context, &g) && g.keys4 == live.g.keys4 && g.rungs == live.g.rungs &&
		      g.hash.add == live.g.hash.add,
	      "its own description differs");
}

/* Many addresses, as the test verb asks them: the kernel says what the arrays in memory say. */
static void answers(void)
{
	enum { ASKED = 6000 };
	static struct addr asked[ASKED];
	static __u32 got[ASKED];
	struct settings settings = SETTINGS_DEFAULT;
	int err;

	everything();
	if (!install(&settings, NULL))
		return;
	for (int i = 0; i < ASKED; i++)
		asked[i] = (struct addr){ worth_asking(i & 1 ? 4 : 6), i & 1 ? 4 : 6 };
	err = kernel_ask(&own_context, asked, ASKED, got);
	CHECK(!err, "kernel_ask: %s", reason(err));
	for (int i = 0; i < ASKED && !ktap_failed; i++) {
		int label;
		__u32 mine = answer_for(asked[i].family, asked[i].num, &label);

		CHECK(got[i] == mine, "address %d: %x, not %x", i, got[i], mine);
		CHECK(!(got[i] & ANSWER_DROP) == (label < 0) && (label < 0 || (int)ANSWER_LABEL(got[i]) == label),
		      "address %d: %x, label %d", i, got[i], label);
	}
	check_all_counters();
}

/* One of the addresses that stand for an IPv4 one. */
static ip6 made_of(unsigned int form, uint32_t ipv4)
{
	uint64_t noise = ktap_random();

	switch (form) {
	case 0: /* 6to4 */
		return IP6(0x2002000000000000 | (uint64_t)ipv4 << 16 | (noise & 0xffff), ktap_random());
	case 1: /* Teredo */
		return IP6(0x2001000000000000 | (noise >> 32), noise << 32 | (uint32_t)~ipv4);
	case 2: /* NAT64 */
		return IP6(0x0064ff9b00000000, ipv4);
	case 3: /* ISATAP */
		return IP6(noise | 0x4000000000000000, (noise & 1 ? 0x00005efeULL : 0x02005efeULL) << 32 | ipv4);
	default:
		return ipv4;
	}
}

/* Judged by the IPv4 address within where that is asked for; by themselves always. */
static void within(void)
{
	enum { ASKED = 2000 };
	static struct addr asked[ASKED];
	static uint32_t from[ASKED];
	static __u32 got[ASKED];
	struct settings settings = SETTINGS_DEFAULT;
	unsigned int dropped = 0;

	everything();
	for (int on = 1; on >= 0; on--) {
		settings.embedded = on;
		if (!install(&settings, NULL))
			return;
		for (unsigned int i = 0; i < ASKED; i++) {
			from[i] = (uint32_t)worth_asking(4);
			asked[i] = (struct addr){ made_of(i % 5, from[i]), 6 };
		}
		CHECK(!kernel_ask(&own_context, asked, ASKED, got), "kernel_ask");
		for (unsigned int i = 0; i < ASKED && !ktap_failed; i++) {
			int label = on ? naive_label(&model, 4, from[i]) : -1;

			dropped += label >= 0;
			if (label < 0)
				label = naive_label(&model, 6, asked[i].num);
			CHECK(!(got[i] & ANSWER_DROP) == (label < 0) &&
				      (label < 0 || (int)ANSWER_LABEL(got[i]) == label),
			      "form %u of %x: %x, label %d", i % 5, from[i], got[i], label);
		}
	}
	CHECK(dropped > 300, "%u dropped", dropped);
}

/* The first buffer ends somewhere in the headers: what drivers do that leave it empty, at worst. */
static void frags(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	uint8_t frame[FRAME_MAX] = { 0 };
	struct xdp_md cut = { .data_end = ETHERNET_BYTES };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = FRAME_MAX, .ctx_in = &cut,
		    .ctx_size_in = sizeof(cut), .repeat = 1);

	if (bpf_prog_test_run_opts(ask, &opts))
		return ktap_skip("this kernel makes no such packets");
	everything();
	if (!install(&settings, NULL))
		return;
	for (size_t i = 0; i < FRAME_SHAPES; i++)
		for (first_buffer = ETHERNET_BYTES; first_buffer < frame_shapes[i].needed && !ktap_failed;
		     first_buffer++)
			ask_shape(&frame_shapes[i], FRAME_MAX - 2, true);
	first_buffer = 0;
	check_all_counters();
}

/* Larger than a page: frags, whatever the kernel makes of the first. */
static void jumbo(void)
{
	static uint8_t frame[9000];

	if (kernel_frags(&own_context) != 1)
		return ktap_skip("this kernel has no packets of several buffers");
	for (size_t i = 0; i < FRAME_SHAPES && !ktap_failed; i++) {
		const struct frame_shape *shape = &frame_shapes[i];
		ip6 source = worth_asking(shape->family == 6 ? 6 : 4);

		frame_make(frame, shape, source);
		judge(shape->name, frame, sizeof(frame), shape->family, source, true);
	}
	check_all_counters();
}

/* As before 5.13, for the rest of this process. */
static void no_batches(void)
{
	struct sock_filter refuse[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_bpf, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_MAP_LOOKUP_BATCH, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(refuse) / sizeof(*refuse), refuse };
	__u32 key = 0, count = 1, value[2 * 1024];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return ktap_skip("this kernel has no seccomp filters");
	CHECK(bpf_map_lookup_batch(counters, NULL, &key, &key, value, &count, NULL) && errno == EINVAL,
	      "a batch is read all the same");
	check_all_counters();
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "an empty slot passes packets and counts nothing", empty_slot },
		{ "every header shape, cut off at every byte", every_shape },
		{ "counters outlive generations", counters_survive },
		{ "answers for many addresses", answers },
		{ "IPv4 addresses within IPv6 ones", within },
		{ "headers in several buffers", frags },
		{ "jumbo frames", jumbo },
		{ "an emptied slot passes packets and counts nothing", empty_slot },
		{ "counters that the kernel reads one by one", no_batches },
	};

	return in_force_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	return own_pins_run(run_cases);
}
